// Core frequencies: every core has its own, below the turbo limit that its package's active cores leave it.
//
//   performance   the turbo limit
//   powersave     P_MIN_MHZ
//   schedutil     1.25 × utilisation × highest turbo, within [P_MIN_MHZ, limit]. Utilisation is the decaying average
//                 (half-life 32 ms, as Linux's PELT) of the frequency while busy over the highest turbo, 0 while idle
//   hwp           climbs towards the limit while busy and falls towards P_MIN_MHZ while idle, the whole way from
//                 P_MIN_MHZ to the highest turbo in P_FREQUENCY_RAMP_NS: a core used a moment ago is still warm
//
// schedutil and hwp choose among the rows of POWER_TABLE, downwards. Between two evaluations of a package a core
// that wakes is held to the limit of the last one, so the limit is late by at most one control interval.

import {
  GOVERNOR_HWP,
  GOVERNOR_PERFORMANCE,
  GOVERNOR_POWERSAVE,
  GOVERNOR_SCHEDUTIL,
  P_BASE_MHZ,
  P_FREQUENCY_RAMP_NS,
  P_GOVERNOR,
  P_MIN_MHZ,
} from '../abi';
import { IDLE_TABLE, PARAMS, POWER_TABLE, TURBO_TABLE } from '../core/layout';
import { busyMw, chargeCpu } from './energy';
import { idleStateAt } from './idle';
import {
  BUSY,
  cpuOffset,
  MC_BUSY_MW,
  MC_DEMAND,
  MC_DEMAND_LIMIT,
  MC_DEMAND_SINCE,
  MC_MHZ,
  MC_NEXT,
  MC_PACKAGE,
  MC_PROMOTE_AT,
  MC_PROMOTED,
  MC_STATE,
  MC_WORKING,
  MP_ACTIVE,
  MP_DIRTY,
  MP_FIRST,
  MP_LIMIT,
  MS_CPUS,
  MS_FIXED_MHZ,
  MS_MAX_MHZ,
  MS_PACKAGES,
  MS_POWER_ROWS,
  MS_TURBO_ROWS,
  NEVER,
  packageOffset,
} from './record';

const HALF_LIFE_NS: u64 = 32_000_000;
/** Utilisation 1. */
const FULL: u64 = 1 << 20;
const Q32_ONE: u64 = 1 << 32;
/** 2^(−1/32), 2^(−2/32), … 2^(−16/32) as Q32. */
const Y1: u64 = 4202935003;
const Y2: u64 = 4112874773;
const Y4: u64 = 3938502376;
const Y8: u64 = 3611622603;
const Y16: u64 = 3037000500;

// @ts-ignore: decorator
@inline
export function cpuMhz(cpu: u32): u32 {
  return load<u32>(cpuOffset(cpu), MC_MHZ);
}

/** Whether a package's frequencies may have to change: a core went busy or idle, or is still on its way. */
// @ts-ignore: decorator
@inline
export function frequencyDirty(pkg: u32): bool {
  return load<u32>(packageOffset(pkg), MP_DIRTY) != 0;
}

// @ts-ignore: decorator
@inline
function minMhz(): u32 {
  return load<u64>(PARAMS + P_MIN_MHZ * 8) as u32;
}

// @ts-ignore: decorator
@inline
function governor(): u32 {
  return load<u64>(PARAMS + P_GOVERNOR * 8) as u32;
}

function inactive(state: u32): bool {
  return state != BUSY && (load<u64>(((state as usize) << 5) + IDLE_TABLE, 24) & 1) != 0;
}

function turboLimit(active: u32): u32 {
  const rows = load<u32>(MS_TURBO_ROWS);
  if (rows == 0) return load<u64>(PARAMS + P_BASE_MHZ * 8) as u32;
  let row: u32 = 0;
  while (row + 1 < rows && load<u32>((row as usize) << 3, TURBO_TABLE) < active) row++;
  return load<u32>((row as usize) << 3, TURBO_TABLE + 4);
}

/** Largest frequency step not above `mhz`, at least the minimum. */
function stepBelow(mhz: u32): u32 {
  let low: u32 = 0;
  let high = load<u32>(MS_POWER_ROWS);
  while (low < high) {
    const middle = (low + high) >> 1;
    if (load<u64>((middle as usize) << 4, POWER_TABLE) <= (mhz as u64)) low = middle + 1;
    else high = middle;
  }
  const step = low == 0 ? mhz : (load<u64>(((low - 1) as usize) << 4, POWER_TABLE) as u32);
  return max(step, minMhz());
}

/** 2^(−ns/32 ms) as Q32. */
export function decayQ32(ns: u64): u64 {
  const halves = ns / HALF_LIFE_NS;
  if (halves >= 32) return 0;
  const rest = ns % HALF_LIFE_NS;
  const ms = rest / 1_000_000;
  let y = Q32_ONE;
  if ((ms & 1) != 0) y = Y1;
  if ((ms & 2) != 0) y = (y * Y2) >> 32;
  if ((ms & 4) != 0) y = (y * Y4) >> 32;
  if ((ms & 8) != 0) y = (y * Y8) >> 32;
  if ((ms & 16) != 0) y = (y * Y16) >> 32;
  // z = ln 2 × rest / 32 ms < 0.022 as Q32 (6096987/2^16 = 2^32 ln 2 / 32e6); e^−z ≈ 1 − z + z²/2, short by z³/6 < 2e-6.
  const z = ((rest % 1_000_000) * 6096987) >> 16;
  return (y - ((y * (z - ((z * z) >> 33))) >> 32)) >> halves;
}

/** Utilisation of a CPU at `now`, fraction of 2^20. */
function utilisation(c: usize, now: u64): u64 {
  const old = load<u32>(c, MC_DEMAND) as u64;
  const since = load<u64>(c, MC_DEMAND_SINCE);
  if (now <= since) return old;
  const y = decayQ32(now - since);
  const highest = load<u32>(MS_MAX_MHZ) as u64;
  const share = load<u32>(c, MC_WORKING) == 0 ? 0 : ((load<u32>(c, MC_MHZ) as u64) * FULL) / highest;
  return (old * y + share * (Q32_ONE - y) + (1 << 31)) >> 32;
}

/** Frequency to which the ramp of hwp has got at `now`, kHz. */
function rampKhz(c: usize, now: u64): u64 {
  const old = load<u32>(c, MC_DEMAND) as u64;
  const since = load<u64>(c, MC_DEMAND_SINCE);
  const lowest = (minMhz() as u64) * 1000;
  const range = (load<u32>(MS_MAX_MHZ) as u64) * 1000 - lowest;
  const ramp = load<u64>(PARAMS + P_FREQUENCY_RAMP_NS * 8);
  const ns = now > since ? now - since : 0;
  const way = ns >= ramp ? range : (ns * range) / ramp;
  if (load<u32>(c, MC_WORKING) != 0) return min(old + way, (load<u32>(c, MC_DEMAND_LIMIT) as u64) * 1000);
  return old > lowest + way ? old - way : lowest;
}

/** Brings what the governor remembers of a CPU to `now`; before the CPU's use, frequency or limit changes. */
function rememberDemand(c: usize, now: u64): void {
  const policy = governor();
  if (policy == GOVERNOR_SCHEDUTIL) store<u32>(c, utilisation(c, now) as u32, MC_DEMAND);
  else if (policy == GOVERNOR_HWP) store<u32>(c, rampKhz(c, now) as u32, MC_DEMAND);
  else return;
  store<u64>(c, max(now, load<u64>(c, MC_DEMAND_SINCE)), MC_DEMAND_SINCE);
  store<u32>(c, load<u32>(packageOffset(load<u32>(c, MC_PACKAGE)), MP_LIMIT), MC_DEMAND_LIMIT);
}

/** Utilisation × 1.25 × highest turbo, MHz, not yet held to any limit. */
// @ts-ignore: decorator
@inline
function wantedMhz(c: usize): u32 {
  return (((load<u32>(c, MC_DEMAND) as u64) * (load<u32>(MS_MAX_MHZ) as u64) * 5) >> 22) as u32;
}

function chosenMhz(c: usize, limit: u32): u32 {
  const policy = governor();
  if (policy == GOVERNOR_PERFORMANCE) return limit;
  if (policy == GOVERNOR_POWERSAVE) return minMhz();
  const wanted = policy == GOVERNOR_SCHEDUTIL ? wantedMhz(c) : load<u32>(c, MC_DEMAND) / 1000;
  return wanted >= limit ? limit : stepBelow(wanted);
}

/** The CPU leaves idle. Returns the frequency at which it starts, which is set. */
export function frequencyBusy(cpu: u32, now: u64): u32 {
  const fixed = load<u32>(MS_FIXED_MHZ);
  if (fixed != 0) return fixed;
  const c = cpuOffset(cpu);
  const p = packageOffset(load<u32>(c, MC_PACKAGE));
  rememberDemand(c, now);
  store<u32>(c, 1, MC_WORKING);
  store<u32>(p, 1, MP_DIRTY);
  const mhz = chosenMhz(c, load<u32>(p, MP_LIMIT));
  frequencySet(cpu, mhz, now);
  return mhz;
}

/** The CPU goes idle. It keeps its frequency for a quick return, but hwp and schedutil begin to forget it. */
export function frequencyIdle(cpu: u32, now: u64): void {
  if (load<u32>(MS_FIXED_MHZ) != 0) return;
  const c = cpuOffset(cpu);
  rememberDemand(c, now);
  store<u32>(c, 0, MC_WORKING);
  if (load<u32>(MS_TURBO_ROWS) > 1) store<u32>(packageOffset(load<u32>(c, MC_PACKAGE)), 1, MP_DIRTY);
}

/**
 * Counts the package's active cores (busy, or in an idle state that isn't flagged inactive) and looks up the turbo
 * limit they leave. frequencyTarget of each CPU follows; it also says again if there is more to come (frequencyDirty).
 */
export function frequencyEvaluate(pkg: u32, now: u64): void {
  const p = packageOffset(pkg);
  let active: u32 = 0;
  let dirty: u32 = 0;
  for (let next = load<u32>(p, MP_FIRST); next != 0; ) {
    const c = cpuOffset(next - 1);
    if (!inactive(idleStateAt(next - 1, now))) {
      active++;
      const promoteAt = load<u64>(c, MC_PROMOTE_AT);
      if (load<u32>(c, MC_STATE) != BUSY && promoteAt > now && promoteAt != NEVER) {
        if (inactive(load<u32>(c, MC_PROMOTED))) dirty = 1;
      }
    }
    next = load<u32>(c, MC_NEXT);
  }
  store<u32>(p, active, MP_ACTIVE);
  store<u32>(p, turboLimit(active), MP_LIMIT);
  store<u32>(p, load<u32>(MS_TURBO_ROWS) > 1 ? dirty : 0, MP_DIRTY);
}

/** Frequency at which the CPU should run from `now` on, MHz, under the limit of its package's last evaluation. */
export function frequencyTarget(cpu: u32, now: u64): u32 {
  const fixed = load<u32>(MS_FIXED_MHZ);
  if (fixed != 0) return fixed;
  const c = cpuOffset(cpu);
  const p = packageOffset(load<u32>(c, MC_PACKAGE));
  rememberDemand(c, now);
  const limit = load<u32>(p, MP_LIMIT);
  const mhz = chosenMhz(c, limit);
  if (load<u32>(c, MC_WORKING) != 0 && mhz < limit && governor() != GOVERNOR_POWERSAVE) store<u32>(p, 1, MP_DIRTY);
  return mhz;
}

/** Changes the CPU's frequency at `now`; the time before is charged at the old one. */
export function frequencySet(cpu: u32, mhz: u32, now: u64): void {
  const c = cpuOffset(cpu);
  if (load<u32>(c, MC_MHZ) == mhz) return;
  chargeCpu(c, now);
  rememberDemand(c, now);
  store<u32>(c, mhz, MC_MHZ);
  store<u32>(c, busyMw(mhz), MC_BUSY_MW);
}

/** Start of a run: all cores cold. Needs parameters, topology and tables. */
export function frequencyReset(): void {
  const rows = load<u32>(MS_TURBO_ROWS);
  let highest = turboLimit(0);
  let lowest = highest;
  for (let row: u32 = 0; row < rows; row++) {
    const mhz = load<u32>((row as usize) << 3, TURBO_TABLE + 4);
    highest = max(highest, mhz);
    lowest = min(lowest, mhz);
  }
  store<u32>(MS_MAX_MHZ, max(highest, minMhz()));
  const policy = governor();
  const fixed =
    policy == GOVERNOR_POWERSAVE || minMhz() >= highest || (policy == GOVERNOR_PERFORMANCE && lowest == highest);
  const limit = turboLimit(0);
  for (let pkg: u32 = 0, packages = load<u32>(MS_PACKAGES); pkg < packages; pkg++) {
    store<u32>(packageOffset(pkg), limit, MP_LIMIT);
  }
  const mhz = policy == GOVERNOR_PERFORMANCE ? limit : minMhz();
  store<u32>(MS_FIXED_MHZ, fixed ? mhz : 0);
  for (let cpu: u32 = 0, cpus = load<u32>(MS_CPUS); cpu < cpus; cpu++) {
    const c = cpuOffset(cpu);
    store<u32>(c, mhz, MC_MHZ);
    store<u32>(c, busyMw(mhz), MC_BUSY_MW);
    store<u32>(c, policy == GOVERNOR_HWP ? minMhz() * 1000 : 0, MC_DEMAND);
    store<u32>(c, limit, MC_DEMAND_LIMIT);
    store<u64>(c, 0, MC_DEMAND_SINCE);
    store<u32>(c, 0, MC_WORKING);
  }
}
