// Entry of the module under test in test/machine-*.test.ts (built by test/support/units.ts).

import { ARENA, PARAMS } from '../../assembly/core/layout';

export { energyCpu, energyPackage, energyTotal, machineFinish } from '../../assembly/machine/energy';
export {
  cpuMhz,
  decayQ32,
  frequencyBusy,
  frequencyDirty,
  frequencyEvaluate,
  frequencyIdle,
  frequencySet,
  frequencyTarget,
} from '../../assembly/machine/frequency';
export { idleEnter, idleExit, idleExitLatency, idleStateAt, typicalIntervalNs } from '../../assembly/machine/idle';
export { machineLoadTables, machineReset } from '../../assembly/machine/machine';
export {
  MC_BUSY_NS,
  MC_IDLE_ENTRIES,
  MC_IDLE_NS,
  MP_ACTIVE,
  MP_IDLE_TIME,
  MP_LIMIT,
} from '../../assembly/machine/record';
export { cpuLlc, cpuNode, cpuPackage, llcMask, nodeMask, packageMask, topologyLoad } from '../../assembly/machine/topology';
export { FREQUENCY_TIME } from '../../assembly/core/layout';

/** Where the test writes the sections. */
export function scratch(): usize {
  return ARENA;
}

export function setParam(index: u32, value: u64): void {
  store<u64>(PARAMS + ((index as usize) << 3), value);
}

import { frequencyBusy, frequencyEvaluate, frequencyIdle, frequencySet, frequencyTarget } from '../../assembly/machine/frequency';
import { idleEnter, idleExit } from '../../assembly/machine/idle';

/** Does what the kernel does `n` times on CPU 0: 200 µs idle, 100 µs busy. Returns the instant reached. */
export function wakeAndSleep(from: u64, n: u32): u64 {
  let now = from;
  for (let i: u32 = 0; i < n; i++) {
    idleExit(0, now);
    frequencyBusy(0, now);
    now += 100_000;
    idleEnter(0, now, u64.MAX_VALUE);
    frequencyIdle(0, now);
    now += 200_000;
  }
  return now;
}

/** Evaluates package 0 of `cpus` CPUs as the kernel does. */
export function evaluateAll(cpus: u32, now: u64): void {
  frequencyEvaluate(0, now);
  for (let cpu: u32 = 0; cpu < cpus; cpu++) frequencySet(cpu, frequencyTarget(cpu, now), now);
}
