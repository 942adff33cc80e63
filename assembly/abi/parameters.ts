// Parameters of a run (SECTION_PARAMS) and the enumerations in them.

export const P_SEED: u32 = 0;
export const P_CPUS: u32 = 1;
export const P_HZ: u32 = 2;
export const P_TICK_SKEW_NS: u32 = 3;
/** 1: a slice ends exactly when it is used up; 0: it is seen at the tick. */
export const P_SLICE_EXACT: u32 = 4;
/** 0 = no watchdog. */
export const P_WATCHDOG_NS: u32 = 5;
/** Kernel version, see the KERNEL_ constants. */
export const P_KERNEL: u32 = 6;
export const P_COST_SWITCH_NS: u32 = 7;
export const P_COST_MIGRATION_LLC_NS: u32 = 8;
export const P_COST_MIGRATION_NODE_NS: u32 = 9;
/** CPU time of one BPF dispatch. */
export const P_COST_DISPATCH_NS: u32 = 10;
/** Policy of the ext class, see the POLICY_ constants; POLICY_NONE = every task is fair. */
export const P_POLICY: u32 = 11;
export const P_SLICE_NS: u32 = 12;
/** n of the domains policy: every n-th enqueue resets vtime. */
export const P_RESET_EVERY: u32 = 13;
/** See the STEAL_ constants. */
export const P_STEAL: u32 = 14;
/** EEVDF base slice. */
export const P_BASE_SLICE_NS: u32 = 15;
/** 1: drain after the last arrival, 0: stop at the horizon. */
export const P_DRAIN: u32 = 16;
/** Last instant of arrivals; with P_DRAIN = 0 also the end of the run. */
export const P_HORIZON_NS: u32 = 17;
/** A draining run ends here at the latest. */
export const P_LIMIT_NS: u32 = 18;
/** Jobs arriving earlier are served but not measured. */
export const P_WARMUP_NS: u32 = 19;
/** Governor, see the GOVERNOR_ constants. */
export const P_GOVERNOR: u32 = 20;
export const P_MIN_MHZ: u32 = 21;
export const P_BASE_MHZ: u32 = 22;
/** Frequency in which run lengths are stated. */
export const P_REFERENCE_MHZ: u32 = 23;
export const P_FREQUENCY_INTERVAL_NS: u32 = 24;
/** Time from the lowest to the highest frequency. */
export const P_FREQUENCY_RAMP_NS: u32 = 25;
export const P_UNCORE_MW: u32 = 26;
export const P_TDP_MW: u32 = 27;
/** Power of a package whose cores all idle in the deepest state: the uncore's share, mW. */
export const P_UNCORE_IDLE_MW: u32 = 28;
/** Every n-th finished invocation leaves a row; 0 = none. */
export const P_ROWS_EVERY: u32 = 29;
/** Length of one interval of SECTION_COUNTS after time scaling. */
export const P_COUNT_INTERVAL_NS: u32 = 30;
/** Number of intervals in SECTION_COUNTS. */
export const P_COUNT_INTERVALS: u32 = 31;
/** Factor on counts, fraction of 2^32. */
export const P_LOAD_SCALE: u32 = 32;
/** Energy is integrated to this instant even if the run drains earlier; 0 = to the end of the run. */
export const P_ENERGY_END_NS: u32 = 33;
/** Assignment of invocations to domains, see the ASSIGN_ constants. */
export const P_ASSIGN: u32 = 34;
/** Bucket width of IATCHBL in ns of simulated time. */
export const P_BUCKET_NS: u32 = 35;
/** 1: an invocation that finds no domain waits; 0: it runs unmapped. */
export const P_ON_FULL_WAIT: u32 = 36;
/** Concurrency limit of the worker; 0 = none. */
export const P_CONCURRENCY: u32 = 37;
/** Control-plane threads; 0 = no worker. */
export const P_WORKER_THREADS: u32 = 38;
/** Distribution of the CPU work before and after an invocation; NONE = none. */
export const P_OVERHEAD_BEFORE: u32 = 39;
export const P_OVERHEAD_AFTER: u32 = 40;
/** 1: overheads are pure delays, 0: work of the control-plane tasks. */
export const P_OVERHEAD_DELAY: u32 = 41;
/** Program of the container's server master (NONE = no master). */
export const P_MASTER_PC: u32 = 42;
/** Entry of the worker task's loop is in FN_PC. Class of container tasks: CLASS_EXT or CLASS_FAIR. */
export const P_CONTAINER_CLASS: u32 = 43;
/** 1: emit the schedule digest. */
export const P_DIGEST: u32 = 44;
/** 1: ENQ_LAST in the native policies. */
export const P_ENQ_LAST: u32 = 45;
/** 0: a stall ends the run, 1: all ext tasks fall back to fair. */
export const P_ON_STALL_FALLBACK: u32 = 46;
/** Number of statistics classes. */
export const P_CLASSES: u32 = 47;
/** First instruction of a control-plane task (its receive); statistics classes of these tasks and of server masters. */
export const P_CONTROL_PC: u32 = 48;
export const P_CONTROL_STATS: u32 = 49;
export const P_MASTER_STATS: u32 = 50;
/** 1: record every decision of the scheduler. */
export const P_DECISIONS: u32 = 51;
// 52 to 63 are free.
/** The head of the worker's queue tries again after this time (IATCHBL as coded). */
export const P_ASSIGN_RETRY_NS: u32 = 64;
/** What consistent hashing rebalances by, see the REBALANCE_ constants. */
export const P_REBALANCE: u32 = 65;
/** Guardrails: base c of the ranks and tightness g, fractions of 2^32. */
export const P_GUARD_BASE: u32 = 66;
export const P_GUARD_TIGHTNESS: u32 = 67;
/** Order of the worker's queue, see the QUEUE_ constants. */
export const P_QUEUE_ORDER: u32 = 68;
/** Most invocations waiting in the worker's queue, 0 = no bound. */
export const P_QUEUE_LIMIT: u32 = 69;
/** Invocations that find a warm container and are expected to take less pass the queue by; 0 = none. */
export const P_BYPASS_NS: u32 = 70;
/** CPUs of a domain that may be promised for each there is, fraction of 2^32. */
export const P_OVERCOMMIT: u32 = 71;
/** Clients give up this long after sending; 0 = never. */
export const P_TIMEOUT_NS: u32 = 72;
/** Distribution of a container's start, NONE = at once. */
export const P_COLD_START: u32 = 73;
/** 1: a cold start is CPU work of the container's worker task, 0: a delay. */
export const P_COLD_CPU: u32 = 74;
/** Probability that a cold start fails, fraction of 2^32. */
export const P_COLD_FAILURE: u32 = 75;
/** An OP_BLOCK where the server master of an evicted container waits. */
export const P_MASTER_PARK_PC: u32 = 76;
/** Which idle containers are kept, see the KEEP_ constants, and for how long (KEEP_FIXED, and KEEP_HISTOGRAM while it knows too little). */
export const P_KEEP: u32 = 77;
export const P_KEEP_NS: u32 = 78;
/** Most containers, and most memory of them in MB; 0 = no bound. Beyond it the least recently used idle one goes. */
export const P_KEEP_CONTAINERS: u32 = 79;
export const P_KEEP_MEMORY_MB: u32 = 80;
/** Width of a bin of the idle-time histograms. */
export const P_KEEP_BIN_NS: u32 = 81;
// 82 is free.
/** Record the history of the job with this number among all arrivals, counted from 1; 0 = none. */
export const P_EXPLAIN_ORDINAL: u32 = 83;
/** Policies with a queue for restricted tasks: the most CPUs a mask may have to be one; their slice, which unmapped tasks have too. */
export const P_PINNED_CPUS: u32 = 88;
export const P_PINNED_SLICE_NS: u32 = 89;
/** Domains as coded: when the instruction pointer is sampled, see the SAMPLE_ constants; 1: enqueues are counted. */
export const P_SAMPLE: u32 = 90;
export const P_COUNT_ENQUEUES: u32 = 91;
/** Period of the policy's timer. */
export const P_TIMER_NS: u32 = 92;
/** CPU that dispatches for all. */
export const P_CENTRAL_CPU: u32 = 93;
/** 1: a lower level is served only if all above are empty. */
export const P_STRICT: u32 = 94;
/** A strict policy serves a task that has waited this long, whatever its level; 0 = never. */
export const P_STARVATION_NS: u32 = 95;
/** Nest: idle time after which a core leaves the primary nest, most cores in the reserve, misses that make a task impatient. */
export const P_NEST_REMOVE_NS: u32 = 96;
export const P_NEST_RESERVE: u32 = 97;
export const P_NEST_IMPATIENT: u32 = 98;
/** SFS: requests per estimate of the inter-arrival time; slices that a request may wait before it skips the filter. */
export const P_WINDOW: u32 = 99;
export const P_OVERLOAD: u32 = 100;
/** 1: a waking task with the smaller vtime takes the CPU of a running one. */
export const P_PREEMPT: u32 = 101;
/** 0: a sleeper keeps all its credit, 1: at most one slice. */
export const P_CREDIT_CLAMPED: u32 = 102;
/** Where a policy of local queues puts a task, see the PLACE_ constants. */
export const P_PLACE: u32 = 103;
/** 1: a task whose slice is over goes back into the local DSQ of its CPU (the defect of sched-ext/scx#1185). */
export const P_REQUEUE_LOCAL: u32 = 104;
/** SFS: slice in the filter until the first estimate. */
export const P_FIRST_SLICE_NS: u32 = 105;
/** 1: a task whose vtime is still the smallest keeps its CPU when its slice is over. */
export const P_KEEP_RUNNING: u32 = 106;
/** What the policy service-order goes by, see the ORDER_ constants. */
export const P_ORDER: u32 = 107;
/** BPF objects: SCX_OPS_ flags, and dispatch_max_batch. */
export const P_BPF_FLAGS: u32 = 108;
export const P_BPF_BATCH: u32 = 109;
/** What an object's clock shows when the simulation begins, ns. */
export const P_BPF_UPTIME_NS: u32 = 110;
/** 1: fair groups of SECTION_CGROUPS and of the containers (kernel/group.ts). */
export const P_GROUP_SCHED: u32 = 112;
/** Runtime handed to a CPU at once (sched_cfs_bandwidth_slice()). */
export const P_BANDWIDTH_SLICE_NS: u32 = 113;
/** Containers: the cgroup they are in and that of the control plane, as index + 1 of SECTION_CGROUPS, 0 = the root. */
export const P_CONTAINER_PARENT: u32 = 114;
export const P_CONTROL_CGROUP: u32 = 115;
export const P_CONTAINER_SHARES: u32 = 116;
/** 0 = none, all ones = the function's CPUs times the period. */
export const P_CONTAINER_QUOTA_NS: u32 = 117;
export const P_CONTAINER_PERIOD_NS: u32 = 118;
/** sysctl_sched_migration_cost: a fair task that ran within it is cache-hot. */
export const P_MIGRATION_COST_NS: u32 = 119;
export const P_COUNT: u32 = 120;

export const KERNEL_6_11_SCX: u32 = 0;
export const KERNEL_6_12: u32 = 1;
export const KERNEL_7_3: u32 = 2;

export const POLICY_NONE: u32 = 0;
export const POLICY_DOMAINS: u32 = 1;
export const POLICY_GLOBAL_FIFO: u32 = 2;
export const POLICY_GLOBAL_VTIME: u32 = 3;
export const POLICY_PERCPU_FIFO: u32 = 4;
export const POLICY_WEIGHTED_VTIME: u32 = 5;
export const POLICY_DOMAINS_AS_CODED: u32 = 6;
export const POLICY_CENTRAL: u32 = 7;
export const POLICY_FIVE_LEVEL: u32 = 8;
export const POLICY_NEST: u32 = 9;
export const POLICY_SHORTEST_REMAINING: u32 = 10;
export const POLICY_SFS: u32 = 11;
export const POLICY_SERVICE_ORDER: u32 = 12;
export const POLICY_PROCESSOR_SHARING: u32 = 13;
/** A BPF object (bpf/). */
export const POLICY_BPF: u32 = 14;

export const ORDER_REMAINING: u32 = 0;
export const ORDER_SIZE: u32 = 1;
export const ORDER_ATTAINED: u32 = 2;
export const ORDER_WEIGHT: u32 = 3;

export const SAMPLE_STOPPING: u32 = 0;
export const SAMPLE_TICK: u32 = 1;

/** An idle CPU, else the previous one; always the previous one; one after the other, whatever the mask says. */
export const PLACE_IDLE: u32 = 0;
export const PLACE_PREVIOUS: u32 = 1;
export const PLACE_ROUND_ROBIN: u32 = 2;

export const STEAL_NONE: u32 = 0;
export const STEAL_NEIGHBOURS: u32 = 1;
export const STEAL_LONGEST: u32 = 2;

export const GOVERNOR_PERFORMANCE: u32 = 0;
export const GOVERNOR_SCHEDUTIL: u32 = 1;
export const GOVERNOR_HWP: u32 = 2;
export const GOVERNOR_POWERSAVE: u32 = 3;

export const ASSIGN_NONE: u32 = 0;
export const ASSIGN_IATCHBL: u32 = 1;
export const ASSIGN_ROUND_ROBIN: u32 = 2;
export const ASSIGN_FUNCTION_HASH: u32 = 3;
export const ASSIGN_IATCHBL_AS_CODED: u32 = 4;
export const ASSIGN_DOMAIN_ZERO: u32 = 5;
export const ASSIGN_ROUND_ROBIN_STICKY: u32 = 6;
export const ASSIGN_CONSISTENT_HASH: u32 = 7;
export const ASSIGN_GUARDRAILS: u32 = 8;
export const ASSIGN_LEAST_RUNNING: u32 = 9;
export const ASSIGN_STATIC: u32 = 10;
export const ASSIGN_WARM_CORE_MAXIMUS: u32 = 11;
export const ASSIGN_FIRST_FIT: u32 = 12;
export const ASSIGN_RANDOM: u32 = 13;

export const REBALANCE_NONE: u32 = 0;
export const REBALANCE_IAT: u32 = 1;
export const REBALANCE_UTILISATION: u32 = 2;
export const REBALANCE_ENERGY: u32 = 3;

export const QUEUE_FCFS: u32 = 0;
export const QUEUE_SHORTEST_EXPECTED: u32 = 1;
export const QUEUE_EARLIEST_DEADLINE: u32 = 2;
export const QUEUE_SMALLEST_IAT: u32 = 3;
export const QUEUE_COLD_LAST: u32 = 4;
/** Nothing waits: an invocation starts at once, without a permit. */
export const QUEUE_NONE: u32 = 5;

export const KEEP_FOREVER: u32 = 0;
export const KEEP_NONE: u32 = 1;
export const KEEP_FIXED: u32 = 2;
export const KEEP_HISTOGRAM: u32 = 3;

export const CLASS_FAIR: u32 = 0;
export const CLASS_EXT: u32 = 1;
export const CLASS_REALTIME: u32 = 2;
