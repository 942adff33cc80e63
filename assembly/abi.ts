// What host and engine agree on: the model image, the result image and every enumeration in them.
// Plain constants, so that the same file compiles as AssemblyScript (engine) and as TypeScript (host).
//
// An image is little-endian:
//
//   0   u32  magic            IMAGE_MAGIC
//   4   u32  version          IMAGE_VERSION
//   8   u32  byte length of the whole image
//   12  u32  number of sections n
//   16  u64  engine hash (first 8 bytes of the SHA-256 of the Wasm module; 0 in a model image = not checked)
//   24  u64  reserved, 0
//   32  n ×  { u32 section id, u32 record count, u32 byte offset from the image start, u32 record stride }
//   ...      section bodies, each aligned to 8 bytes
//
// Times are u64 nanoseconds, work is MHz·ns (run length at a frequency in MHz times that frequency),
// power is mW, energy is mW·ns = pJ, probabilities are fractions of 2^32.

export const IMAGE_MAGIC: u32 = 0x494d5456; // "VTMI"
export const IMAGE_VERSION: u32 = 1;
export const IMAGE_HEADER_BYTES: u32 = 32;
export const IMAGE_SECTION_BYTES: u32 = 16;
export const NONE: u32 = 0xffffffff;

// ---- model sections -------------------------------------------------------------------------------------

/** u64 array indexed by the P_ constants. */
export const SECTION_PARAMS: u32 = 1;
/** Per CPU, 16 B: u32 package, u32 node, u32 llc, u32 reserved. */
export const SECTION_CPUS: u32 = 2;
/** Turbo limit by active cores, 8 B: u32 active cores up to and including, u32 MHz. Ascending; the last row holds for more. */
export const SECTION_TURBO: u32 = 3;
/** Idle states, shallow to deep, 32 B: u64 exit latency ns, u64 target residency ns, u64 power mW, u64 flags (1: counts as inactive for turbo). */
export const SECTION_IDLE_STATES: u32 = 4;
/** Core power while running, 16 B: u64 MHz, u64 mW. Ascending, one row per frequency step; looked up by the nearest row not below. */
export const SECTION_CORE_POWER: u32 = 5;
/** CPU masks, 64 B each (512 bits). Mask 0 is "all CPUs of the machine". */
export const SECTION_MASKS: u32 = 6;
/** Scheduling domains, 8 B: u32 mask index, u32 reserved. They don't overlap. */
export const SECTION_DOMAINS: u32 = 7;
/** Distributions, 64 B: u32 kind, u32 point count, u64 first point index, then six u64 parameters (see the DIST_ constants). */
export const SECTION_DISTRIBUTIONS: u32 = 8;
/** Points of empirical distributions, 16 B: u64 cumulative probability (fraction of 2^32, last = 2^32), u64 value. */
export const SECTION_POINTS: u32 = 9;
/** Instructions, 16 B: u8 op, u8 flags, u16 reg, u32 a, u64 value (see the OP_ constants). */
export const SECTION_PROGRAM: u32 = 10;
/** Tasks that exist from the start, 64 B (see the TT_ offsets). */
export const SECTION_TASKS: u32 = 11;
/** Arrival sources, 128 B (see the SRC_ offsets). */
export const SECTION_SOURCES: u32 = 12;
/** Invocation counts, u32, row-major: source × interval. */
export const SECTION_COUNTS: u32 = 13;
/** Explicit arrivals in time order, ARRIVAL_BYTES each: u64 time ns, u64 duration ns (0 = draw), u32 source, u32 reserved. */
export const SECTION_ARRIVALS: u32 = 14;
/** Job queues, 8 B: u32 capacity (0 = unbounded), u32 reserved. */
export const SECTION_QUEUES: u32 = 15;
/** Barriers and events, 8 B: u32 parties, u32 flags. */
export const SECTION_BARRIERS: u32 = 16;
/** Serverless functions, 64 B (see the FN_ offsets); function i is fed by source i of its kind. */
export const SECTION_FUNCTIONS: u32 = 17;

/** Cgroups of the fair class, 64 B (see the CG_ offsets); parents come before their children. */
export const SECTION_CGROUPS: u32 = 18;
/** What is done to the machine at a time, 32 B in time order: u64 time ns, u32 EVENT_ kind, u32 CPU. */
export const SECTION_EVENTS: u32 = 19;

// ---- parameters (SECTION_PARAMS) ------------------------------------------------------------------------

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

// ---- distributions --------------------------------------------------------------------------------------
// Values and parameters are u64 ns unless said otherwise; p0…p5 are the six parameters of a record.

export const DIST_STRIDE: u32 = 64;
/** p0 value */
export const DIST_CONSTANT: u32 = 0;
/** p0 low, p1 high (excluded) */
export const DIST_UNIFORM: u32 = 1;
/** p0 mean */
export const DIST_EXPONENTIAL: u32 = 2;
/** p0 median, p1 sigma as Q32 */
export const DIST_LOGNORMAL: u32 = 3;
/** p0 probability of the first branch as Q32, p1 its mean, p2 mean of the second */
export const DIST_HYPEREXPONENTIAL: u32 = 4;
/** p0 scale (minimum), p1 1/shape as Q32 */
export const DIST_PARETO: u32 = 5;
/** Piecewise linear inverse of the points' CDF (the first point's value is the minimum). p0 = 1: a step function instead. */
export const DIST_EMPIRICAL: u32 = 6;

// ---- programs -------------------------------------------------------------------------------------------
// u8 op, u8 flags, u16 reg, u32 a, u64 value. A time operand is `value` in ns (for OP_RUN at the reference frequency) unless a flag says otherwise.

export const INSTRUCTION_BYTES: u32 = 16;
/** The operand is a draw from distribution a. */
export const FLAG_DRAW: u32 = 1;
/** The operand is the job's duration times value (fraction of 2^32). */
export const FLAG_OF_JOB: u32 = 2;
/** Waiting counts as I/O on disk (uninterruptible). */
export const FLAG_DISK: u32 = 4;
/** The wait burns CPU instead of sleeping. */
export const FLAG_SPIN: u32 = 8;
/** Queue or barrier operand is the task's own (container) one. */
export const FLAG_OWN: u32 = 16;

/** The operand is the control-plane work of the current job. */
export const FLAG_OVERHEAD: u32 = 32;
/** If there is nothing to take, go to instruction `value` instead of waiting. */
export const FLAG_TRY: u32 = 64;

/** Use the CPU for an amount of work. */
export const OP_RUN: u32 = 1;
/** Leave the CPU for a time. */
export const OP_SLEEP: u32 = 2;
/** Leave the CPU until another task wakes this one. */
export const OP_BLOCK: u32 = 3;
/** Wake task group a's member (task template index a, ordinal value). */
export const OP_WAKE: u32 = 4;
/** Poll, using the CPU, until a time has passed since the instruction began. */
export const OP_SPIN: u32 = 5;
/** Poll, using the CPU, until event (barrier record) a is signalled. */
export const OP_SPIN_EVENT: u32 = 6;
/** Signal event a. */
export const OP_SIGNAL: u32 = 7;
/** Start `value` children at instruction a; they inherit job, cgroup, class, weight and mask. */
export const OP_FORK: u32 = 8;
/** Wait until all children have exited. FLAG_SPIN burns CPU. */
export const OP_JOIN: u32 = 9;
/** Wait at the barrier of the fork family (FLAG_OWN) or barrier a. FLAG_SPIN burns CPU. */
export const OP_BARRIER: u32 = 10;
/** Take a job from queue a (FLAG_OWN: the task's queue). */
export const OP_RECEIVE: u32 = 11;
/** Put the current job into queue a. */
export const OP_SEND: u32 = 12;
export const OP_YIELD: u32 = 13;
export const OP_EXIT: u32 = 14;
/** reg = value (FLAG_DRAW: a draw). */
export const OP_SET: u32 = 15;
/** If --reg > 0 (as unsigned count, reg set to the number of passes) go to instruction a. */
export const OP_LOOP: u32 = 16;
export const OP_JUMP: u32 = 17;
/** The current job is finished. */
export const OP_FINISH: u32 = 18;
/** Hand the current job to the worker's control plane (admission or completion, by the job's stage). */
export const OP_CONTROL: u32 = 19;
/** Restrict a task to mask a: this one if value is 0, else member (value & 0xffffffff) of template (value >> 32) - 1. */
export const OP_AFFINITY: u32 = 20;
/** Go to a with probability value (fraction of 2^32). */
export const OP_BRANCH: u32 = 21;

// ---- task templates (SECTION_TASKS) ---------------------------------------------------------------------

export const TT_STRIDE: u32 = 64;
/** u32 first instruction */
export const TT_PC: u32 = 0;
/** u32 number of tasks */
export const TT_COUNT: u32 = 4;
/** u32 CLASS_ */
export const TT_CLASS: u32 = 8;
/** u32 weight, 1024 = nice 0 */
export const TT_WEIGHT: u32 = 12;
/** u32 mask index */
export const TT_MASK: u32 = 16;
/** u32 domain, NONE = unmapped */
export const TT_DOMAIN: u32 = 20;
/** u32 1: domain of task i is (domain + i) mod domains */
export const TT_DOMAIN_SPREAD: u32 = 24;
/** u32 1: background */
export const TT_BACKGROUND: u32 = 28;
/** u64 start time ns */
export const TT_START: u32 = 32;
/** u32 distribution of an additional start offset, NONE */
export const TT_START_DIST: u32 = 40;
/** u32 inverse weight per 1024 (vtime charge); 0: 1024·1024/weight */
export const TT_INVERSE_WEIGHT: u32 = 44;
/** u32 number of the statistics class */
export const TT_STATS: u32 = 48;
/** u32 cgroup as index + 1 of SECTION_CGROUPS, 0 = none (behind the engine's own fields) */
export const TT_CGROUP: u32 = 60;

// ---- cgroups (SECTION_CGROUPS) --------------------------------------------------------------------------

export const CG_STRIDE: u32 = 64;
/** u32 index + 1 of the parent, 0 = the root */
export const CG_PARENT: u32 = 0;
/** u32 cpu.shares, 1024 = those of a task of nice 0 */
export const CG_SHARES: u32 = 4;
/** u64 CPU time per period, 0 = no limit */
export const CG_QUOTA: u32 = 8;
/** u64 */
export const CG_PERIOD: u32 = 16;
/** u32 scheduling domain, NONE */
export const CG_DOMAIN: u32 = 24;

/** The CPU goes offline, comes online. */
export const EVENT_OFFLINE: u32 = 0;
export const EVENT_ONLINE: u32 = 1;

// ---- arrival sources (SECTION_SOURCES) ------------------------------------------------------------------

export const SRC_STRIDE: u32 = 128;
/** u32 SOURCE_ kind */
export const SRC_KIND: u32 = 0;
/** u32 DELIVER_ kind */
export const SRC_DELIVER: u32 = 4;
/** u32 task template (spawn), queue (send) or function */
export const SRC_TARGET: u32 = 8;
/** u32 most jobs alive at once, 0 = no limit; others are dropped */
export const SRC_LIMIT: u32 = 12;
/** u32 inter-arrival distribution (SOURCE_RENEWAL), or think time (SOURCE_CLOSED) */
export const SRC_DIST: u32 = 16;
/** u32 duration distribution, NONE = the program has its own lengths */
export const SRC_DURATION: u32 = 20;
/** u32 row of SECTION_COUNTS */
export const SRC_COUNT_ROW: u32 = 24;
/** u32 clients of a closed source */
export const SRC_CLIENTS: u32 = 28;
/** u64 most arrivals, 0 = no limit */
export const SRC_MAX_ARRIVALS: u32 = 32;
/** u64 first arrival not before, ns */
export const SRC_START: u32 = 40;
/** u32 statistics class */
export const SRC_STATS: u32 = 48;
/** u32 domain of the spawned tasks: NONE (the template's), a domain, DOMAIN_ROUND_ROBIN or DOMAIN_RANDOM */
export const SRC_DOMAIN: u32 = 52;
/** u32 jobs per arrival (SOURCE_RENEWAL) */
export const SRC_BATCH: u32 = 56;

export const DOMAIN_ROUND_ROBIN: u32 = 0xfffffffe;
export const DOMAIN_RANDOM: u32 = 0xfffffffd;

export const SOURCE_RENEWAL: u32 = 0;
export const SOURCE_COUNTS: u32 = 1;
export const SOURCE_LIST: u32 = 2;
export const SOURCE_CLOSED: u32 = 3;
/** From the window of arrivals that the host refills; rows as in SECTION_ARRIVALS, by time and then by source. */
export const SOURCE_STREAM: u32 = 4;

export const ARRIVAL_BYTES: u32 = 24;

export const DELIVER_SPAWN: u32 = 0;
export const DELIVER_QUEUE: u32 = 1;
export const DELIVER_FUNCTION: u32 = 2;

// ---- serverless functions (SECTION_FUNCTIONS) -----------------------------------------------------------

export const FN_STRIDE: u32 = 64;
/** u32 first instruction of the worker task: receives from its own queue, runs the profile, OP_CONTROL, jumps back */
export const FN_PC: u32 = 0;
/** u32 CPUs an invocation asks for */
export const FN_CPUS: u32 = 4;
/** u32 prewarmed containers */
export const FN_CONTAINERS: u32 = 8;
/** u32 statistics class */
export const FN_STATS: u32 = 12;
/** u64 inter-arrival time known before the run, ns (0 = none) */
export const FN_IAT: u32 = 16;
/** u64 hash of the function's name */
export const FN_HASH: u32 = 24;
/** u32 1: busy poller */
export const FN_POLLER: u32 = 32;
/** u32 domain of ASSIGN_STATIC, NONE = unmapped */
export const FN_DOMAIN: u32 = 36;
/** u64 execution time expected before any has been seen, ns */
export const FN_EXPECTED: u32 = 40;
/** u32 first instruction of a new container's worker task: receives, does the cold start's work, OP_CONTROL, jumps to FN_PC */
export const FN_COLD_PC: u32 = 48;
/** u32 memory of a container, MB */
export const FN_MEMORY_MB: u32 = 52;

// ---- run counters (SECTION_SUMMARY), in the order of assembly/core/counters.ts ---------------------------

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
// 44 to 47 are free.
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

// ---- results --------------------------------------------------------------------------------------------

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

// Records of kernel/explain.ts, 32 B: u64 time, u64 length, u32 kind, u32 a, b, c.
export const EXPLAIN_BYTES: u32 = 32;
/** In state a on CPU b (NONE: no task serves it) in class c. */
export const EXPLAIN_INTERVAL: u32 = 1;
/** Part of the last time in state a was time in state b: its end if the job waited, its beginning if it ran. */
export const EXPLAIN_SHIFT: u32 = 2;
/** Its task is queued: in the local DSQ of CPU a, or a = NONE: in user DSQ b - 1 (b = 0: the global one). */
export const EXPLAIN_QUEUED: u32 = 3;
/** The job of statistics class a arrives; it leaves. */
export const EXPLAIN_ENTERED: u32 = 4;
export const EXPLAIN_LEFT: u32 = 5;
/** While it waits for a CPU, a task of class a (slot c) begins to run on CPU b. */
export const EXPLAIN_SERVED: u32 = 6;
/** While it waits in the worker's queue, the worker starts a job of class a. */
export const EXPLAIN_ADMITTED: u32 = 7;
/** A task of the control plane that serves the job runs from now on (a = 1), or no longer (0). */
export const EXPLAIN_CONTROL_RUNS: u32 = 8;

// Records of kernel/waits.ts, 64 B, one per task that lives and one per job queue that is not empty.
export const WAIT_BYTES: u32 = 64;
/** u32 task slot, 0 = a queue of jobs */
export const WAIT_SLOT: u32 = 0;
/** u32 statistics class */
export const WAIT_STATS: u32 = 4;
/** u32 CPU where it runs, is queued or ran last */
export const WAIT_CPU: u32 = 8;
/** u32 mask index */
export const WAIT_MASK: u32 = 12;
/** u32 index of DSQ, job queue, or barrier or event; NONE = in none, or the barrier of a family */
export const WAIT_PLACE: u32 = 16;
/** u32 children (WAIT_JOIN), parties that have not arrived (WAIT_BARRIER), jobs (WAIT_JOBS) */
export const WAIT_NUMBER: u32 = 20;
/** u32 slot of the task that forked it, 0 = none */
export const WAIT_PARENT: u32 = 24;
/** u8 WAIT_… kind below */
export const WAIT_KIND: u32 = 28;
/** u8 CLASS_ */
export const WAIT_CLASS: u32 = 29;
/** u8 1: it polls for what it waits for */
export const WAIT_POLLING: u32 = 30;
/** u64 when the wait (WAIT_RUNNING: the stay on the CPU) began, ns */
export const WAIT_SINCE: u32 = 32;

export const WAIT_RUNNING: u32 = 1;
export const WAIT_DSQ: u32 = 2;
export const WAIT_RUN_QUEUE: u32 = 3;
export const WAIT_SLEEP: u32 = 4;
export const WAIT_RECEIVE: u32 = 5;
export const WAIT_BARRIER: u32 = 6;
export const WAIT_EVENT: u32 = 7;
export const WAIT_BLOCK: u32 = 8;
export const WAIT_JOIN: u32 = 9;
export const WAIT_JOBS: u32 = 10;
/** The task has exited. */
export const WAIT_EXIT: u32 = 11;

/** Kinds of decisions, in the schedule digest and in the record of decisions. */
export const DECISION_WAKE: u32 = 1;
export const DECISION_RUN: u32 = 2;
export const DECISION_STOP: u32 = 3;
// Recorded only if P_DECISIONS is DECISIONS_DETAILED, for `vtime explain --task`; a value takes the statistics class's place.
/** The task is put into the DSQ with this number (local ones first, by CPU; then the global one, then user DSQs). */
export const DECISION_DSQ: u32 = 4;
/** The running task leaves its CPU to wait: WAIT_… kind | (place + 1) << 8, of WAIT_SLEEP 1 << 8 for a disk. */
export const DECISION_WAIT: u32 = 5;
/** The task begins to run next: what the switch costs, ns, and how long its CPU has been leaving an idle state, ns. */
export const DECISION_COST: u32 = 6;
export const DECISION_COLD: u32 = 7;
/** The task polls from now on, like DECISION_WAIT; 0: no longer. */
export const DECISION_POLL: u32 = 8;
/** The waiting task's cgroup is throttled on its CPU: 1, or 0 = no longer. */
export const DECISION_QUOTA: u32 = 9;
/** The waiting task belongs to this CPU from now on. */
export const DECISION_MOVE: u32 = 10;
export const DECISIONS_DETAILED: u32 = 2;

// A recorded decision, 24 B: u64 time, u32 task slot, u32 statistics class, u16 CPU, u8 kind, u8 1 if the task is runnable +
// 2 × its scheduling class.
export const DECISION_BYTES: u32 = 24;
export const DECISION_TASK: u32 = 8;
export const DECISION_CLASS: u32 = 12;
export const DECISION_VALUE: u32 = 12;
export const DECISION_CPU: u32 = 16;
export const DECISION_KIND: u32 = 18;
export const DECISION_QUEUED: u32 = 19;

export const HISTOGRAM_LATENCY: u32 = 0;
export const HISTOGRAM_WORKER_DURATION: u32 = 1;
export const HISTOGRAM_STINT: u32 = 2;
export const HISTOGRAM_WAKE_LATENCY: u32 = 3;
export const HISTOGRAM_RESPONSE: u32 = 4;
export const HISTOGRAM_KINDS: u32 = 5;
