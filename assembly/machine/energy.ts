// Energy of cores and packages, integrated when something changes: the state just left is the one charged, for
// the whole time since the last change. Power is constant between changes except for two steps whose instants
// are known in advance (a promoted idle state, a quiet uncore), so a query is O(1) and changes nothing, and
// totals can't depend on when or how often they are read. Integers: mW × ns = pJ.
//
// A core draws POWER_TABLE's power while busy (exit latency included) and its idle state's while idle. A package
// adds its uncore: P_UNCORE_MW as long as a core is busy and UNCORE_REACTION_NS longer, then P_UNCORE_IDLE_MW.
// There is no cap at the TDP here: the host lowers the turbo table until no row can exceed it
// (src/config/machine.ts). Between two evaluations of the frequency the power may be above it, as in hardware.

import { P_UNCORE_IDLE_MW, P_UNCORE_MW } from '../abi';
import { FREQUENCY_TIME, IDLE_TABLE, PARAMS, POWER_TABLE } from '../core/layout';
import {
  BUSY,
  cpuOffset,
  MC_BUSY_MW,
  MC_BUSY_NS,
  MC_ENERGY,
  MC_IDLE_ENTRIES,
  MC_IDLE_NS,
  MC_MHZ,
  MC_PACKAGE,
  MC_PROMOTE_AT,
  MC_PROMOTED,
  MC_SINCE,
  MC_STATE,
  MP_BUSY,
  MP_ENERGY,
  MP_IDLE_TIME,
  MP_QUIET_AT,
  MP_SINCE,
  MS_CPUS,
  MS_PACKAGES,
  MS_POWER_ROWS,
  packageOffset,
} from './record';

/** Time for which the uncore keeps its speed after the last core went idle (SCHEDULING.md §6: "about 10 ms"). */
export const UNCORE_REACTION_NS: u64 = 10_000_000;

/** Power of idle state `state`, mW. */
// @ts-ignore: decorator
@inline
export function idleMw(state: u32): u64 {
  return load<u64>(((state as usize) << 5) + IDLE_TABLE, 16);
}

/** Power of a busy core at `mhz`: the nearest row not below, or the last. */
export function busyMw(mhz: u32): u32 {
  const rows = load<u32>(MS_POWER_ROWS);
  if (rows == 0) return 0;
  let low: u32 = 0;
  let high = rows - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (load<u64>((middle as usize) << 4, POWER_TABLE) >= (mhz as u64)) high = middle;
    else low = middle + 1;
  }
  return load<u64>((low as usize) << 4, POWER_TABLE + 8) as u32;
}

/** Energy a CPU has used since it was last charged. */
// @ts-ignore: decorator
@inline
function pending(c: usize, now: u64): u64 {
  const since = load<u64>(c, MC_SINCE);
  if (now <= since) return 0;
  const state = load<u32>(c, MC_STATE);
  if (state == BUSY) return (now - since) * (load<u32>(c, MC_BUSY_MW) as u64);
  const promoteAt = min(max(load<u64>(c, MC_PROMOTE_AT), since), now);
  return (promoteAt - since) * idleMw(state) + (now - promoteAt) * idleMw(load<u32>(c, MC_PROMOTED));
}

// @ts-ignore: decorator
@inline
function addIdleTime(c: usize, state: u32, ns: u64): void {
  const at = packageOffset(load<u32>(c, MC_PACKAGE)) + ((state as usize) << 3);
  store<u64>(at, load<u64>(at, MP_IDLE_TIME) + ns, MP_IDLE_TIME);
}

/** Charges the CPU for what it did up to `now`; to be called before its state or frequency changes. */
export function chargeCpu(c: usize, now: u64): void {
  const since = load<u64>(c, MC_SINCE);
  if (now <= since) return;
  const ns = now - since;
  const state = load<u32>(c, MC_STATE);
  const energy = load<u64>(c, MC_ENERGY);
  if (state == BUSY) {
    store<u64>(c, energy + ns * (load<u32>(c, MC_BUSY_MW) as u64), MC_ENERGY);
    store<u64>(c, load<u64>(c, MC_BUSY_NS) + ns, MC_BUSY_NS);
    const bin = (min(load<u32>(c, MC_MHZ) / 10, 1023) as usize) << 3;
    store<u64>(bin, load<u64>(bin, FREQUENCY_TIME) + ns, FREQUENCY_TIME);
  } else {
    store<u64>(c, energy + pending(c, now), MC_ENERGY);
    store<u64>(c, load<u64>(c, MC_IDLE_NS) + ns, MC_IDLE_NS);
    const promoteAt = load<u64>(c, MC_PROMOTE_AT);
    if (promoteAt >= now) {
      addIdleTime(c, state, ns);
    } else {
      const shallow = max(promoteAt, since) - since;
      addIdleTime(c, state, shallow);
      addIdleTime(c, load<u32>(c, MC_PROMOTED), ns - shallow);
    }
  }
  store<u64>(c, now, MC_SINCE);
}

function uncorePending(p: usize, now: u64): u64 {
  const since = load<u64>(p, MP_SINCE);
  if (now <= since) return 0;
  const active = load<u64>(PARAMS + P_UNCORE_MW * 8);
  if (load<u32>(p, MP_BUSY) != 0) return (now - since) * active;
  const quietAt = min(max(load<u64>(p, MP_QUIET_AT), since), now);
  return (quietAt - since) * active + (now - quietAt) * load<u64>(PARAMS + P_UNCORE_IDLE_MW * 8);
}

function chargeUncore(p: usize, now: u64): void {
  if (now <= load<u64>(p, MP_SINCE)) return;
  store<u64>(p, load<u64>(p, MP_ENERGY) + uncorePending(p, now), MP_ENERGY);
  store<u64>(p, now, MP_SINCE);
}

/** One more core of the package is busy. */
export function uncoreBusy(p: usize, now: u64): void {
  const busy = load<u32>(p, MP_BUSY);
  if (busy == 0) chargeUncore(p, now);
  store<u32>(p, busy + 1, MP_BUSY);
}

/** One core fewer is busy. */
export function uncoreIdle(p: usize, now: u64): void {
  const busy = load<u32>(p, MP_BUSY) - 1;
  if (busy == 0) {
    chargeUncore(p, now);
    store<u64>(p, now + UNCORE_REACTION_NS, MP_QUIET_AT);
  }
  store<u32>(p, busy, MP_BUSY);
}

/** Energy of a core up to `now`, pJ. A core of 10 W reaches 2^64 after 21 days. */
export function energyCpu(cpu: u32, now: u64): u64 {
  const c = cpuOffset(cpu);
  return load<u64>(c, MC_ENERGY) + pending(c, now);
}

/** Energy of a package's uncore up to `now`, pJ. */
export function energyPackage(pkg: u32, now: u64): u64 {
  const p = packageOffset(pkg);
  return load<u64>(p, MP_ENERGY) + uncorePending(p, now);
}

/** Energy of all cores and uncores, pJ. Wraps at 18.4 MJ (17 h of 300 W): for longer runs add the parts as big integers. */
export function energyTotal(now: u64): u64 {
  let total: u64 = 0;
  for (let cpu: u32 = 0, cpus = load<u32>(MS_CPUS); cpu < cpus; cpu++) total += energyCpu(cpu, now);
  for (let pkg: u32 = 0, packages = load<u32>(MS_PACKAGES); pkg < packages; pkg++) total += energyPackage(pkg, now);
  return total;
}

/** Charges everything up to the end of the run, so that records and tables hold the totals. */
export function machineFinish(now: u64): void {
  for (let cpu: u32 = 0, cpus = load<u32>(MS_CPUS); cpu < cpus; cpu++) chargeCpu(cpuOffset(cpu), now);
  for (let pkg: u32 = 0, packages = load<u32>(MS_PACKAGES); pkg < packages; pkg++) chargeUncore(packageOffset(pkg), now);
}

// Counts of a CPU, charged up to its last change; complete after machineFinish.

/** Exit latencies included. */
export function cpuBusyNs(cpu: u32): u64 {
  return load<u64>(cpuOffset(cpu), MC_BUSY_NS);
}

export function cpuIdleNs(cpu: u32): u64 {
  return load<u64>(cpuOffset(cpu), MC_IDLE_NS);
}

export function cpuIdleEntries(cpu: u32): u64 {
  return load<u64>(cpuOffset(cpu), MC_IDLE_ENTRIES);
}

/** Idle time of a package's CPUs in one state, ns. */
export function packageIdleNs(pkg: u32, state: u32): u64 {
  return load<u64>(packageOffset(pkg) + ((state as usize) << 3), MP_IDLE_TIME);
}

/** Busy time of all CPUs at the 10 MHz that hold `mhz`, ns. */
export function frequencyTimeNs(mhz: u32): u64 {
  return load<u64>((min(mhz / 10, 1023) as usize) << 3, FREQUENCY_TIME);
}
