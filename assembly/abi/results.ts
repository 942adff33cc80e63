// How a run ends and what it leaves: outcomes, states, result sections, statistics classes, rows, histograms.

export const OUTCOME_BUDGET: u32 = 0;
export const OUTCOME_UNTIL: u32 = 1;
export const OUTCOME_NEEDS_INPUT: u32 = 2;
export const OUTCOME_OUTPUT_FULL: u32 = 3;
export const OUTCOME_COMPLETED: u32 = 4;
export const OUTCOME_HORIZON: u32 = 5;
export const OUTCOME_STALLED: u32 = 6;
export const OUTCOME_DEADLOCKED: u32 = 7;
export const OUTCOME_INVARIANT: u32 = 8;
/** A kernel rule broken by the policy, or a capacity exceeded; the ERROR_ code says which. */
export const OUTCOME_ERROR: u32 = 9;

// Where an invocation's time goes; the accumulators sum to its latency.
export const STATE_CONTROL: u32 = 0; // control-plane work before and after, wherever those tasks are
export const STATE_QUEUED: u32 = 1; // worker queue
export const STATE_WAKING: u32 = 2; // runnable, waiting in a domain's or global user DSQ, or a fair run queue
export const STATE_LOCAL: u32 = 3; // runnable, waiting in a CPU's local DSQ
export const STATE_PREEMPTED: u32 = 4; // runnable again after losing the CPU with work left
export const STATE_RUNNING: u32 = 5;
export const STATE_COLD: u32 = 6; // on a CPU that leaves an idle state, or switch and migration costs
export const STATE_IO: u32 = 7;
export const STATE_SIBLINGS: u32 = 8; // asleep in a join or barrier
export const STATE_QUOTA: u32 = 9; // runnable, but its cgroup has used up its quota
export const STATE_STARTING: u32 = 10; // its container starts
export const STATE_COUNT: u32 = 11;

/** u64 array indexed by the R_ constants: the run counters. */
export const SECTION_SUMMARY: u32 = 101;
/** Per CPU, 64 B u64: busy ns, idle ns, overhead ns, energy pJ, switches, migrations in, idle entries, reserved. */
export const SECTION_CPU_RESULTS: u32 = 102;
/** Per statistics class, u64 array of CLS_ constants. */
export const SECTION_CLASS_RESULTS: u32 = 103;
/** Histograms, 64 B: u32 kind, u32 class (NONE = all), u64 count, u64 sum low, u64 sum high, u64 min, u64 max, u32 first bucket row, u32 bucket rows. */
export const SECTION_HISTOGRAMS: u32 = 104;
/** Non-empty histogram buckets, 16 B: u32 bucket index, u32 reserved, u64 count. */
export const SECTION_BUCKETS: u32 = 105;
/** Per package, 64 B u64: uncore energy pJ, then idle ns by state of its cores (at most 7). */
export const SECTION_PACKAGE_RESULTS: u32 = 107;
/** Busy time by frequency, 16 B: u64 MHz, u64 ns. */
export const SECTION_FREQUENCY_RESULTS: u32 = 106;

// CLS_: u64 counters of a statistics class (SECTION_CLASS_RESULTS); only measured jobs count from CLS_MEASURED on.
export const CLS_ARRIVED: u32 = 0;
export const CLS_COMPLETED: u32 = 1;
export const CLS_DROPPED: u32 = 2;
export const CLS_MEASURED: u32 = 3;
export const CLS_LATENCY_NS: u32 = 4;
export const CLS_WORKER_DURATION_NS: u32 = 5;
export const CLS_CPU_NS: u32 = 6;
/** Σ latency × CPU time / worker duration */
export const CLS_COST_NS: u32 = 7;
/** Σ uncontended duration */
export const CLS_DURATION_NS: u32 = 8;
/** STATE_COUNT sums of time per state */
export const CLS_STATES_NS: u32 = 9;
export const CLS_TIMED_OUT: u32 = 20;
export const CLS_COLD_STARTS: u32 = 21;
export const CLS_COUNT: u32 = 22;

// Rows of finished invocations in the ring, 256 B of u64: arrival, latency, worker duration, CPU time, duration,
// source | class << 32, domain | container << 32, ordinal, then STATE_COUNT times.
export const ROW_BYTES: u32 = 256;
export const ROW_ARRIVAL: u32 = 0;
export const ROW_LATENCY: u32 = 8;
export const ROW_WORKER_DURATION: u32 = 16;
export const ROW_CPU: u32 = 24;
export const ROW_DURATION: u32 = 32;
export const ROW_SOURCE: u32 = 40;
export const ROW_CLASS: u32 = 44;
export const ROW_DOMAIN: u32 = 48;
export const ROW_CONTAINER: u32 = 52;
export const ROW_ORDINAL: u32 = 56;
export const ROW_STATES: u32 = 64;
/** u64 number among all arrivals, counted from 1 */
export const ROW_NUMBER: u32 = 160;

export const HISTOGRAM_LATENCY: u32 = 0;
export const HISTOGRAM_WORKER_DURATION: u32 = 1;
export const HISTOGRAM_STINT: u32 = 2;
export const HISTOGRAM_WAKE_LATENCY: u32 = 3;
export const HISTOGRAM_RESPONSE: u32 = 4;
export const HISTOGRAM_KINDS: u32 = 5;
