// What the machine model keeps in memory. Offsets only; the rules are in topology, idle, frequency and energy.
//
// CPU, 128 B at MACHINE_CPUS + (cpu << 7):
//
//    0 u32 package          4 u32 node             8 u32 llc             12 u32 next CPU of the package + 1, 0 = last
//   16 u32 MHz             20 u32 mW at that MHz  24 u32 state          28 u32 state from promote_at on
//   32 u64 since           40 u64 energy          48 u64 busy ns        56 u64 idle ns
//   64 u64 idle entries    72 u64 idle_since      80 u64 promote_at     88 u64 demand_since
//   96 u32 demand         100 u32 demand limit   104 u32 working        108 u32 history length
//  112 u16 × 8 history
//
// Package, 128 B at MACHINE_PACKAGES + (package << 7):
//
//    0 u32 first CPU + 1    4 u32 cores            8 u32 busy cores      12 u32 limit MHz
//   16 u32 active cores    20 u32 dirty           24 u64 since           32 u64 uncore energy
//   40 u64 quiet_at        48 …                   64 u64 × 8 idle ns by state
//
// Times are ns, energy is mW·ns = pJ. Machine-wide scalars follow the last package.

import {
  MACHINE_CPU_SHIFT,
  MACHINE_CPUS,
  MACHINE_PACKAGE_SHIFT,
  MACHINE_PACKAGES,
  MAX_PACKAGES,
} from '../core/layout';

export const MC_PACKAGE: usize = MACHINE_CPUS;
export const MC_NODE: usize = MACHINE_CPUS + 4;
export const MC_LLC: usize = MACHINE_CPUS + 8;
export const MC_NEXT: usize = MACHINE_CPUS + 12;
export const MC_MHZ: usize = MACHINE_CPUS + 16;
/** Power of the core when it is busy at MC_MHZ. */
export const MC_BUSY_MW: usize = MACHINE_CPUS + 20;
/** BUSY, or the index of the idle state it entered. */
export const MC_STATE: usize = MACHINE_CPUS + 24;
export const MC_PROMOTED: usize = MACHINE_CPUS + 28;
/** Energy and times are charged up to here. */
export const MC_SINCE: usize = MACHINE_CPUS + 32;
export const MC_ENERGY: usize = MACHINE_CPUS + 40;
export const MC_BUSY_NS: usize = MACHINE_CPUS + 48;
export const MC_IDLE_NS: usize = MACHINE_CPUS + 56;
export const MC_IDLE_ENTRIES: usize = MACHINE_CPUS + 64;
export const MC_IDLE_SINCE: usize = MACHINE_CPUS + 72;
/** From here on an idle CPU is in MC_PROMOTED; NEVER if it stays. */
export const MC_PROMOTE_AT: usize = MACHINE_CPUS + 80;
/** MC_DEMAND holds at this instant. */
export const MC_DEMAND_SINCE: usize = MACHINE_CPUS + 88;
/** hwp: frequency reached, kHz. schedutil: utilisation, fraction of 2^20. */
export const MC_DEMAND: usize = MACHINE_CPUS + 96;
/** MHz above which the ramp could not climb since MC_DEMAND_SINCE. */
export const MC_DEMAND_LIMIT: usize = MACHINE_CPUS + 100;
/** 1 between frequencyBusy and frequencyIdle. */
export const MC_WORKING: usize = MACHINE_CPUS + 104;
/** Idle intervals seen; the newest is at (length − 1) mod 8. */
export const MC_HISTORY_LENGTH: usize = MACHINE_CPUS + 108;
/** Last idle intervals, µs, 65535 standing for all longer ones. */
export const MC_HISTORY: usize = MACHINE_CPUS + 112;

export const MP_FIRST: usize = MACHINE_PACKAGES;
export const MP_CORES: usize = MACHINE_PACKAGES + 4;
export const MP_BUSY: usize = MACHINE_PACKAGES + 8;
/** Turbo limit of the last evaluation, MHz. */
export const MP_LIMIT: usize = MACHINE_PACKAGES + 12;
/** Active cores of the last evaluation. */
export const MP_ACTIVE: usize = MACHINE_PACKAGES + 16;
export const MP_DIRTY: usize = MACHINE_PACKAGES + 20;
export const MP_SINCE: usize = MACHINE_PACKAGES + 24;
export const MP_ENERGY: usize = MACHINE_PACKAGES + 32;
/** With no busy core the uncore draws its idle power from here on. */
export const MP_QUIET_AT: usize = MACHINE_PACKAGES + 40;
export const MP_IDLE_TIME: usize = MACHINE_PACKAGES + 64;

export const MACHINE_SCALARS: usize = MACHINE_PACKAGES + ((MAX_PACKAGES as usize) << MACHINE_PACKAGE_SHIFT);
export const MS_CPUS: usize = MACHINE_SCALARS;
export const MS_PACKAGES: usize = MACHINE_SCALARS + 4;
export const MS_TURBO_ROWS: usize = MACHINE_SCALARS + 8;
/** At least 1: a machine without idle states has one that costs and draws nothing. */
export const MS_IDLE_STATES: usize = MACHINE_SCALARS + 12;
export const MS_POWER_ROWS: usize = MACHINE_SCALARS + 16;
/** Where no governor changes a frequency: that at which work is done; else 0. */
export const MS_FIXED_MHZ: usize = MACHINE_SCALARS + 20;
/** Highest turbo limit, MHz. */
export const MS_MAX_MHZ: usize = MACHINE_SCALARS + 24;
/** Length of a tick, ns; 0 = no ticks. */
export const MS_TICK_NS: usize = MACHINE_SCALARS + 32;

export const BUSY: u32 = 0xffffffff;
export const NEVER: u64 = u64.MAX_VALUE;

/** Offset of a CPU's record; MC_ constants are addresses, so load<T>(cpuOffset(c), MC_X) is one instruction. */
// @ts-ignore: decorator
@inline
export function cpuOffset(cpu: u32): usize {
  return (cpu as usize) << MACHINE_CPU_SHIFT;
}

// @ts-ignore: decorator
@inline
export function packageOffset(pkg: u32): usize {
  return (pkg as usize) << MACHINE_PACKAGE_SHIFT;
}
