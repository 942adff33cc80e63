// Run counters (SECTION_SUMMARY), in the order of core/counters.ts.

/** Events handled. */
export const R_EVENTS: u32 = 0;
export const R_ARRIVED: u32 = 1;
export const R_COMPLETED: u32 = 2;
export const R_DROPPED: u32 = 3;
/** In the system at the end. */
export const R_ALIVE: u32 = 4;
/** ∫ N dt, ns. */
export const R_NUMBER_AREA: u32 = 5;
export const R_SWITCHES: u32 = 9;
export const R_MIGRATIONS: u32 = 10;
export const R_WAKEUPS: u32 = 11;
export const R_DISPATCHES: u32 = 12;
export const R_STEALS: u32 = 13;
export const R_KICKS: u32 = 14;
export const R_PREEMPTIONS: u32 = 15;
/** Fingerprint of every (time, CPU, task, decision). */
export const R_DIGEST: u32 = 16;
export const R_INSTRUCTIONS: u32 = 18;
export const R_BALANCE_PULLS: u32 = 19;
export const R_NEWIDLE_PULLS: u32 = 20;
export const R_CONTAINERS_GROWN: u32 = 21;
export const R_REASSIGNMENTS: u32 = 22;
export const R_UNMAPPED: u32 = 23;
export const R_BUCKETS_OCCUPIED: u32 = 24;
export const R_BUCKET_LARGEST: u32 = 25;
export const R_ASSIGNED: u32 = 26;
/** Simulated time at the end, ns. */
export const R_END_NS: u32 = 27;
/** CPU time spent polling, ns. */
export const R_POLL_NS: u32 = 28;
export const R_QUEUE_PEAK: u32 = 29;
/** ∫ runnable tasks dt, ns. */
export const R_RUNNABLE_AREA: u32 = 30;
export const R_PEAK_TASKS: u32 = 33;
/** ∫ worker queue length dt, ns. */
export const R_QUEUE_AREA: u32 = 34;
/** Energy of cores and uncores to the end of the trace (P_ENERGY_END_NS, else the end of the run), pJ. */
export const R_ENERGY_CORES: u32 = 36;
export const R_ENERGY_UNCORES: u32 = 37;
/** At the end of the trace (as for the energy): Σ busy time of the CPUs, ∫ runnable tasks dt, ∫ worker queue dt, ns. */
export const R_WINDOW_BUSY: u32 = 44;
export const R_WINDOW_RUNNABLE: u32 = 45;
export const R_WINDOW_QUEUE: u32 = 46;
/** When the watchdog gave all ext tasks to the fair class, ns; 0 = never. */
export const R_FALLBACK_NS: u32 = 39;
/** Judgements of busy-poll detection, by whether the task has polled: right and wrong alarms, pollers missed, others let be. */
export const R_POLLERS_FOUND: u32 = 40;
export const R_POLLERS_MISTAKEN: u32 = 41;
export const R_POLLERS_MISSED: u32 = 42;
export const R_POLLERS_CLEARED: u32 = 43;
/** Tasks looked at as jobs and parents left them: linear in the tasks that there were. */
export const R_FAMILY_VISITS: u32 = 47;
/** Jobs that left the system after their client had given up, and those of them that had begun to run. */
export const R_TIMED_OUT: u32 = 48;
export const R_ABANDONED: u32 = 49;
export const R_COLD_STARTS: u32 = 50;
/** Jobs dropped because their container did not start (part of R_DROPPED). */
export const R_COLD_FAILURES: u32 = 51;
export const R_BYPASSED: u32 = 52;
/** Containers evicted by the keep-alive policy, and containers it started before their invocation. */
export const R_EVICTED: u32 = 53;
export const R_PREWARMED: u32 = 54;
/** Functions that consistent hashing moved to another domain. */
export const R_REBALANCED: u32 = 55;
/** CPU time idle while a task that was allowed there waited, by cause, ns (kernel/wasted.ts). */
export const R_WASTED: u32 = 56;

/** Load average over a minute in 1/2048: the last one, the highest, the sum of all and their number. */
export const R_LOAD_AVERAGE: u32 = 64;
export const R_LOAD_AVERAGE_MAX: u32 = 65;
export const R_LOAD_AVERAGE_SUM: u32 = 66;
export const R_LOAD_AVERAGE_SAMPLES: u32 = 67;
