// Entry of the module under test in test/machine-*.test.ts (built by test/support/units.ts).

import { ARENA, PARAMS } from '../../assembly/core/layout';
import {
  cpuMhz,
  decayQ32,
  frequencyBusy,
  frequencyDirty,
  frequencyEvaluate,
  frequencyIdle,
  frequencySet,
  frequencyTarget,
} from '../../assembly/machine/frequency';
import { idleEnter, idleExit, idleExitLatency, idleStateAt, typicalIntervalNs } from '../../assembly/machine/idle';
import { MP_ACTIVE, MP_LIMIT, packageOffset } from '../../assembly/machine/record';

export {
  cpuBusyNs,
  cpuIdleEntries,
  cpuIdleNs,
  energyCpu,
  energyPackage,
  energyTotal,
  frequencyTimeNs,
  machineFinish,
  packageIdleNs,
} from '../../assembly/machine/energy';
export { machineLoadTables, machineReset } from '../../assembly/machine/machine';
export { cpuLlc, cpuNode, cpuPackage, llcMask, nodeMask, packageMask, topologyLoad } from '../../assembly/machine/topology';
export {
  cpuMhz,
  decayQ32,
  frequencyDirty,
  frequencyEvaluate,
  frequencySet,
  frequencyTarget,
  idleExitLatency,
  idleStateAt,
  typicalIntervalNs,
};

/** Where the test writes the sections; 64 KiB. The module begins with no memory beyond its static layout. */
export function scratch(): usize {
  if (((memory.size() as usize) << 16) < ARENA + 0x10000) memory.grow(1);
  return ARENA;
}

export function setParam(index: u32, value: u64): void {
  store<u64>(PARAMS + ((index as usize) << 3), value);
}

export function packageActive(pkg: u32): u32 {
  return load<u32>(packageOffset(pkg), MP_ACTIVE);
}

export function packageLimit(pkg: u32): u32 {
  return load<u32>(packageOffset(pkg), MP_LIMIT);
}

/** As the kernel does when a CPU finds a task. Returns the exit latency. */
export function wake(cpu: u32, now: u64): u64 {
  const latency = idleExit(cpu, now);
  frequencyBusy(cpu, now);
  return latency;
}

/** As the kernel does when a CPU finds none. */
export function sleep(cpu: u32, now: u64, nextTimerNs: u64): void {
  frequencyIdle(cpu, now);
  idleEnter(cpu, now, nextTimerNs);
}

/** As the kernel does once per control interval, for one package and its CPUs first to last. */
export function evaluate(pkg: u32, first: u32, last: u32, now: u64): void {
  frequencyEvaluate(pkg, now);
  for (let cpu = first; cpu <= last; cpu++) frequencySet(cpu, frequencyTarget(cpu, now), now);
}

/** `n` times 100 µs busy and 200 µs idle on CPU 0, for timing. Returns the instant reached. */
export function wakeAndSleep(from: u64, n: u32): u64 {
  let now = from;
  for (let i: u32 = 0; i < n; i++) {
    wake(0, now);
    now += 100_000;
    sleep(0, now, u64.MAX_VALUE);
    now += 200_000;
  }
  return now;
}

/** `n` evaluations of package 0, for timing. */
export function evaluateOften(cpus: u32, n: u32): void {
  for (let i: u32 = 0; i < n; i++) evaluate(0, 0, cpus - 1, (i as u64) * 1_000_000);
}
