// Run counters, u64 each at COUNTERS, in memory so that the host can read (and a test can falsify) them between
// slices. The two sides of each conservation law are kept by different code.

import { COUNTERS, PARAMS } from './layout';

export const EVENTS: u32 = 0;
export const ARRIVED: u32 = 1;
export const COMPLETED: u32 = 2;
export const DROPPED: u32 = 3;
export const ALIVE: u32 = 4;
/** ∫ N dt, taken at each change of N, ns. */
export const NUMBER_AREA: u32 = 5;
export const NUMBER_SINCE: u32 = 6;
/** Σ time in system of finished jobs, ns. */
export const SOJOURN: u32 = 7;
/** Σ CPU time of tasks that have exited, ns. */
export const EXITED_CPU: u32 = 8;
export const SWITCHES: u32 = 9;
export const MIGRATIONS: u32 = 10;
export const WAKEUPS: u32 = 11;
export const DISPATCHES: u32 = 12;
export const STEALS: u32 = 13;
export const KICKS: u32 = 14;
export const PREEMPTIONS: u32 = 15;
export const DIGEST: u32 = 16;
export const ROWS: u32 = 17;
export const INSTRUCTIONS: u32 = 18;
export const BALANCE_PULLS: u32 = 19;
export const NEWIDLE_PULLS: u32 = 20;
export const CONTAINERS_GROWN: u32 = 21;
export const REASSIGNMENTS: u32 = 22;
export const UNMAPPED: u32 = 23;
export const BUCKETS_OCCUPIED: u32 = 24;
export const BUCKET_LARGEST: u32 = 25;
export const ASSIGNED: u32 = 26;
export const END_NS: u32 = 27;
export const POLL_NS: u32 = 28;
export const QUEUE_PEAK: u32 = 29;
/** ∫ (runnable tasks) dt, ns: its mean is the load the kernel would average. */
export const RUNNABLE_AREA: u32 = 30;
export const RUNNABLE_SINCE: u32 = 31;
export const RUNNABLE: u32 = 32;
export const PEAK_TASKS: u32 = 33;
/** ∫ (jobs in the worker's FIFO) dt, ns, and the instant it is integrated to. */
export const QUEUE_AREA: u32 = 34;
export const QUEUE_SINCE: u32 = 35;
/** Energy to the end of the trace (P_ENERGY_END_NS, else the end of the run), pJ: cores, uncores; 1 once taken. */
export const ENERGY_CORES: u32 = 36;
export const ENERGY_UNCORES: u32 = 37;
export const ENERGY_TAKEN: u32 = 38;
/** At the end of the trace: Σ busy time of the CPUs, RUNNABLE_AREA, QUEUE_AREA, ns. */
export const WINDOW_BUSY: u32 = 44;
export const WINDOW_RUNNABLE: u32 = 45;
export const WINDOW_QUEUE: u32 = 46;
/** When the watchdog gave all ext tasks to the fair class, 0 = never. */
export const FALLBACK_NS: u32 = 39;
/** Judgements of busy-poll detection: right and wrong alarms, pollers missed, others let be. */
export const POLLERS_FOUND: u32 = 40;
export const POLLERS_MISTAKEN: u32 = 41;
export const POLLERS_MISSED: u32 = 42;
export const POLLERS_CLEARED: u32 = 43;
/** Tasks looked at as jobs and parents left them (kernel/family.ts). */
export const FAMILY_VISITS: u32 = 47;
/** Jobs that left the system after their client had given up, and those of them that had begun to run. */
export const TIMED_OUT: u32 = 48;
export const ABANDONED: u32 = 49;
export const COLD_STARTS: u32 = 50;
export const COLD_FAILURES: u32 = 51;
export const BYPASSED: u32 = 52;
export const EVICTED: u32 = 53;
export const PREWARMED: u32 = 54;
export const REBALANCED: u32 = 55;
/** Wasted-core time by cause, ns (kernel/wasted.ts). */
export const WASTED: u32 = 56;
/** Load average over a minute in 1/2048: the last one, the highest, the sum of all and their number (kernel/loadavg.ts). */
export const LOAD_AVERAGE: u32 = 64;
export const LOAD_AVERAGE_MAX: u32 = 65;
export const LOAD_AVERAGE_SUM: u32 = 66;
export const LOAD_AVERAGE_SAMPLES: u32 = 67;
export const COUNTERS_USED: u32 = 72;

// @ts-ignore: decorator
@inline
export function counter(index: u32): u64 {
  return load<u64>(COUNTERS + ((index as usize) << 3));
}

// @ts-ignore: decorator
@inline
export function count(index: u32, amount: u64 = 1): void {
  const at = COUNTERS + ((index as usize) << 3);
  store<u64>(at, load<u64>(at) + amount);
}

// @ts-ignore: decorator
@inline
export function setCounter(index: u32, value: u64): void {
  store<u64>(COUNTERS + ((index as usize) << 3), value);
}

/** Parameter of the model, P_… in abi/. */
// @ts-ignore: decorator
@inline
export function param(index: u32): u64 {
  return load<u64>(PARAMS + ((index as usize) << 3));
}
