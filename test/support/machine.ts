// A machine in the unit module: the profile's tables in its memory, and the calls the kernel would make.

import type { Machine } from '../../src/config/machine.js';
import * as abi from '../../src/engine/abi.js';
import { loadUnits, type Units } from './units.js';

export const NEVER = (1n << 64n) - 1n;
export const US = 1_000n;
export const MS = 1_000_000n;
export const S = 1_000_000_000n;

const GOVERNORS = {
  performance: abi.GOVERNOR_PERFORMANCE,
  schedutil: abi.GOVERNOR_SCHEDUTIL,
  hwp: abi.GOVERNOR_HWP,
  powersave: abi.GOVERNOR_POWERSAVE,
};

export class TestMachine {
  readonly units: Units = loadUnits('machine');
  readonly machine: Machine;

  constructor(machine: Machine, hz = 250) {
    this.machine = machine;
    const { units } = this;
    const base = units.call('scratch');
    const view = new DataView(units.memory.buffer);
    let at = base;
    const u32 = (value: number) => {
      view.setUint32(at, value, true);
      at += 4;
    };
    const u64 = (value: number) => {
      view.setBigUint64(at, BigInt(value), true);
      at += 8;
    };
    const sections = [at];
    for (const cpu of machine.cpus) for (const field of [cpu.package, cpu.node, cpu.llc, 0]) u32(field);
    sections.push(at);
    for (const row of machine.turbo) for (const field of [row.active_cores, row.mhz]) u32(field);
    sections.push(at);
    for (const state of machine.idle_states) {
      for (const field of [state.exit_ns, state.residency_ns, state.power_mw, state.inactive ? 1 : 0])
        u64(field);
    }
    sections.push(at);
    for (const row of machine.core_power) for (const field of [row.mhz, row.mw]) u64(field);
    const parameters: [number, number][] = [
      [abi.P_CPUS, machine.cpus.length],
      [abi.P_HZ, hz],
      [abi.P_GOVERNOR, GOVERNORS[machine.governor]],
      [abi.P_MIN_MHZ, machine.min_mhz],
      [abi.P_BASE_MHZ, machine.base_mhz],
      [abi.P_REFERENCE_MHZ, machine.reference_mhz],
      [abi.P_FREQUENCY_RAMP_NS, machine.frequency_ramp_ns],
      [abi.P_UNCORE_MW, machine.uncore_mw],
      [abi.P_UNCORE_IDLE_MW, machine.uncore_idle_mw],
    ];
    for (const [index, value] of parameters) units.call('setParam', index, BigInt(value));
    units.call('topologyLoad', sections[0], machine.cpus.length);
    const [, turbo, idle, power] = sections;
    const { turbo: t, idle_states: i, core_power: p } = machine;
    units.call('machineLoadTables', turbo, t.length, idle, i.length, power, p.length);
    units.call('machineReset');
  }

  /** Exit latency, ns. */
  wake(cpu: number, now: bigint): bigint {
    return this.units.call64('wake', cpu, now);
  }

  sleep(cpu: number, now: bigint, nextTimer = NEVER): void {
    this.units.call('sleep', cpu, now, nextTimer);
  }

  /** Re-evaluates the frequencies of a package whose CPUs are numbered in a row. */
  evaluate(pkg: number, now: bigint): void {
    const first = this.machine.cpus.findIndex((cpu) => cpu.package === pkg);
    const last = this.machine.cpus.findLastIndex((cpu) => cpu.package === pkg);
    this.units.call('evaluate', pkg, first, last, now);
  }

  mhz(cpu: number): number {
    return this.units.call('cpuMhz', cpu);
  }

  idleState(cpu: number, now: bigint): number {
    return this.units.call('idleStateAt', cpu, now);
  }

  /** pJ. */
  cpuEnergy(cpu: number, now: bigint): bigint {
    return this.units.call64('energyCpu', cpu, now);
  }

  /** Of the uncore, pJ. */
  uncoreEnergy(pkg: number, now: bigint): bigint {
    return this.units.call64('energyPackage', pkg, now);
  }

  /** J, of everything. */
  joules(now: bigint): number {
    return Number(this.units.call64('energyTotal', now)) / 1e12;
  }
}
