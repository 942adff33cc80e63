// Services: instances with threads and stage queues, the network between them, the requests that visit them. All sections
// are arrays of fixed records; a reference is an index into the section named, NONE = none.
//
// A thread serves one stage at a time: it takes calls from the queue of the stage (TAKE_), holds a core for the time of the
// stage, and hands the calls on. A call is one copy of a request on its way along the nodes of its route.

/** Machines, 16 B (SVM_). */
export const SECTION_SV_MACHINES: u32 = 40;
/** Instances of services and of network stacks, 88 B (SVI_). */
export const SECTION_SV_INSTANCES: u32 = 41;
/** Cores, 8 B: u32 machine, u32 CPU of the machine model that it is, NONE = it costs no energy. */
export const SECTION_SV_CORES: u32 = 42;
/** u32 numbers that other records point into. */
export const SECTION_SV_LISTS: u32 = 43;
/** Code paths of instances, 32 B (SVP_). */
export const SECTION_SV_PATHS: u32 = 44;
/** Stages of code paths, 48 B (SVS_). */
export const SECTION_SV_STAGES: u32 = 45;
/** Timings of stages, 64 B (SVT_): of each stage one per frequency step, the lowest first. */
export const SECTION_SV_TIMINGS: u32 = 46;
/** Points of timings by count, 16 B: u64 count up to and including, u64 mean ns. */
export const SECTION_SV_POINTS: u32 = 47;
/** Services, 16 B: u32 first of their instances in SECTION_SV_LISTS, u32 number, u32 instance that calls pass first (NONE), u32 reserved. */
export const SECTION_SV_SERVICES: u32 = 48;
/** Nodes of routes, 64 B (SVN_). */
export const SECTION_SV_NODES: u32 = 49;
/** Kinds of requests, 16 B: u32 entry node, u32 statistics class (NONE = that of all), u64 cumulative probability (fraction of 2^32). */
export const SECTION_SV_ROUTES: u32 = 50;
/** Wires, 8 B: u64 latency ns. Wire 0 joins machines, wire 1 client and machines; further ones have their own latencies. */
export const SECTION_SV_WIRES: u32 = 51;
/** Wires of pairs of machines, 16 B, by the first machine: u32 from, u32 to, u32 wire, u32 reserved. */
export const SECTION_SV_LINKS: u32 = 52;
/** The client, one record of u64 (SVC_). */
export const SECTION_SV_CLIENT: u32 = 53;
/** Epochs of the client, 16 B: u64 end ns, u32 distribution of the times between requests, u32 rate per second. */
export const SECTION_SV_EPOCHS: u32 = 54;

// ---- machines -------------------------------------------------------------------------------------------

export const SVM_STRIDE: u32 = 16;
/** u32 instance of its network stack, NONE = the network takes no time. */
export const SVM_NETWORK: u32 = 0;
/** u32 first link of SECTION_SV_LISTS…LINKS from it, u32 number */
export const SVM_LINKS: u32 = 4;
export const SVM_LINK_COUNT: u32 = 8;

// ---- instances ------------------------------------------------------------------------------------------

export const SVI_STRIDE: u32 = 88;
/** u32 KIND_ */
export const SVI_KIND: u32 = 0;
/** u32 number of threads, or of queues (pairs) */
export const SVI_COUNT: u32 = 4;
/** u32 first core in SECTION_SV_LISTS, u32 number */
export const SVI_CORES: u32 = 8;
export const SVI_CORE_COUNT: u32 = 12;
/** u32 first of its pinnings in SECTION_SV_LISTS, two numbers a thread or queue: first core in SECTION_SV_LISTS, number (0 = all); NONE = no pinning */
export const SVI_PINNING: u32 = 16;
/** u32 first path, u32 number */
export const SVI_PATHS: u32 = 20;
export const SVI_PATH_COUNT: u32 = 24;
/** u32 SV_ flags */
export const SVI_FLAGS: u32 = 28;
/** u32 statistics class of its visits, NONE = a network stack's */
export const SVI_STATS: u32 = 32;
/** u32 machine */
export const SVI_MACHINE: u32 = 36;
/** u32 frequency step at the start, u32 number of steps (0 = one timing a stage) */
export const SVI_STEP: u32 = 40;
export const SVI_STEPS: u32 = 44;
/** u32 task template of its first thread in scheduled mode, the others follow; NONE = dedicated */
export const SVI_TEMPLATE: u32 = 48;
/** u32 tier that the controller sees it in, NONE = none */
export const SVI_TIER: u32 = 52;
/** u32 threads at the start; more are made, up to SVI_COUNT, when a call comes and all are busy or blocked */
export const SVI_ACTIVE: u32 = 56;
/** u32 time of a core that goes from one thread to another, ns (dedicated) */
export const SVI_SWITCH_NS: u32 = 60;
/** u64 until a made thread takes its first call; idle time after which it ends, 0 = never; ns (dedicated) */
export const SVI_SPAWN_NS: u32 = 64;
export const SVI_IDLE_NS: u32 = 72;
/** u32 first of the frequencies of its steps in SECTION_SV_LISTS, MHz */
export const SVI_MHZ: u32 = 80;

/** Threads, each with a queue per path and stage. */
export const KIND_THREADS: u32 = 0;
/** No threads: a call from one of the queues, filled in turn, holds a core for all its stages. */
export const KIND_QUEUES: u32 = 1;
/** As many queues for what comes as for what goes, filled in turn together. */
export const KIND_QUEUE_PAIRS: u32 = 2;

/** All calls of a connection go to the thread that got its first one. */
export const SV_BIND: u32 = 1;
/** Calls of one instant enter the queue of a stage in reverse, as in the µqSim release. */
export const SV_REVERSE_TIES: u32 = 2;

// ---- code paths and stages ------------------------------------------------------------------------------

export const SVP_STRIDE: u32 = 32;
/** u32 first stage, u32 number */
export const SVP_STAGES: u32 = 0;
export const SVP_STAGE_COUNT: u32 = 4;
/** u32 first of its stages in order of priority, in SECTION_SV_LISTS */
export const SVP_PRIORITY: u32 = 8;
/** u64 cumulative probability of the paths of the instance, fraction of 2^32 */
export const SVP_PROBABILITY: u32 = 16;

export const SVS_STRIDE: u32 = 48;
/** u32 TAKE_ */
export const SVS_TAKE: u32 = 0;
/** u32 bound on what is taken (of each connection with TAKE_HEADS), 0 = none */
export const SVS_LIMIT: u32 = 4;
/** u32 STAGE_ flags */
export const SVS_FLAGS: u32 = 8;
/** u32 identity within the instance: stages of several paths with the same one are served together */
export const SVS_IDENTITY: u32 = 12;
/** u32 first timing */
export const SVS_TIMING: u32 = 16;
/** u32 draws of the time that are added up, u32 1: exponential with that mean, rounded up */
export const SVS_REPEAT: u32 = 20;
export const SVS_REPEAT_DRAWN: u32 = 24;
/** u32 most threads of the instance in the stage at once, 0 = no bound */
export const SVS_CRITICAL: u32 = 28;

export const TAKE_ONE: u32 = 0;
/** The queue. */
export const TAKE_ALL: u32 = 1;
/** The calls of the connection of the first one. */
export const TAKE_CONNECTION: u32 = 2;
/** The first call of every connection that has any. */
export const TAKE_HEADS: u32 = 3;

/** A thread that issues a synchronous call here waits for the reply without its core. */
export const STAGE_BLOCKS: u32 = 1;
/** A call that leaves the service after this stage goes through the network stack. */
export const STAGE_NETWORK: u32 = 2;
/** The timing tells a request's first pass from later ones (SVT_AGAIN). */
export const STAGE_PASSES: u32 = 4;

export const SVT_STRIDE: u32 = 64;
/** u32 TIMING_ */
export const SVT_KIND: u32 = 0;
/** u32 distribution (TIMING_DISTRIBUTION) */
export const SVT_DISTRIBUTION: u32 = 4;
/** u32 COUNT_: what the mean depends on */
export const SVT_OF: u32 = 8;
/** u32 TIMING flags */
export const SVT_FLAGS: u32 = 12;
/** u32 first point, u32 number (TIMING_TABLE) */
export const SVT_POINTS: u32 = 16;
export const SVT_POINT_COUNT: u32 = 20;
/** u64 base, u64 each, u64 unit to round to, 0 = none (TIMING_LINEAR), ns */
export const SVT_BASE: u32 = 24;
export const SVT_EACH: u32 = 32;
export const SVT_ROUND: u32 = 40;
/** u64 factors on the time, fractions of 2^32: on the first pass, on later ones */
export const SVT_FIRST: u32 = 48;
export const SVT_AGAIN: u32 = 56;

export const TIMING_DISTRIBUTION: u32 = 0;
/** Mean = base + each × count. */
export const TIMING_LINEAR: u32 = 1;
/** Mean by the first point that is not below the count. */
export const TIMING_TABLE: u32 = 2;

export const COUNT_JOBS: u32 = 0;
export const COUNT_CONNECTIONS: u32 = 1;
export const COUNT_BYTES: u32 = 2;

/** The mean is the time; otherwise an exponential variate is drawn. */
export const TIMING_CONSTANT: u32 = 1;
/** Above the last point: as many draws of its mean as its count goes into the count. */
export const TIMING_REPEAT: u32 = 2;

// ---- routes ---------------------------------------------------------------------------------------------

export const SVN_STRIDE: u32 = 64;
/** u32 service, NONE = the client */
export const SVN_SERVICE: u32 = 0;
/** u32 code path, NONE = drawn */
export const SVN_PATH: u32 = 4;
/** u32 first stage; u32 last stage, NONE = the last of the path */
export const SVN_START: u32 = 8;
export const SVN_END: u32 = 12;
/** u32 nodes that lead here */
export const SVN_PARENTS: u32 = 16;
/** u32 node until whose end no other call of the connection enters the service, NONE */
export const SVN_HOLD: u32 = 32;
/** u32 node where the thread goes on after a synchronous call, NONE = not synchronous */
export const SVN_SYNC: u32 = 20;
/** u32 first of the next nodes in SECTION_SV_LISTS, u32 number */
export const SVN_CHILDREN: u32 = 24;
export const SVN_CHILD_COUNT: u32 = 28;

// ---- the client -----------------------------------------------------------------------------------------

/** u64 connections */
export const SVC_CONNECTIONS: u32 = 0;
/** u64 most requests, 0 = no bound */
export const SVC_REQUESTS: u32 = 1;
/** u64 last instant of arrivals, ns */
export const SVC_DURATION_NS: u32 = 2;
/** u64 bytes of a request; 1: the mean of an exponential */
export const SVC_BYTES: u32 = 3;
export const SVC_BYTES_DRAWN: u32 = 4;
/** u64 closed loop: number of clients, 0 = open loop; distribution of their thinking */
export const SVC_CLIENTS: u32 = 5;
export const SVC_THINK: u32 = 6;
/** u64 statistics class of requests */
export const SVC_STATS: u32 = 7;
/** u64 time between looks at the system, ns; 0 = none. Tail latencies are of the requests and visits that end within one. */
export const SVC_INTERVAL_NS: u32 = 8;
/** u64 quantile looked at, fraction of 2^32; bound on it that the power controller keeps, ns; CONTROLLER_ */
export const SVC_QUANTILE: u32 = 9;
export const SVC_TARGET_NS: u32 = 10;
export const SVC_CONTROLLER: u32 = 11;
/** u64 tiers under control; 1: tuples that failed are remembered; ranges of latency */
export const SVC_TIERS: u32 = 12;
export const SVC_FAILING_LIST: u32 = 13;
export const SVC_BUCKETS: u32 = 14;
/** i64 gains in steps per relative error, 1/65536: proportional, integral, derivative */
export const SVC_GAIN: u32 = 15;
/** u64 the client gives up after this, ns; 0 = never. Most retries; backoff ns, factor on it from one to the next (fraction of 2^32), longest, 0 = no bound; share of it that is drawn (fraction of 2^32) */
export const SVC_TIMEOUT_NS: u32 = 18;
export const SVC_RETRIES: u32 = 19;
export const SVC_BACKOFF_NS: u32 = 20;
export const SVC_BACKOFF_FACTOR: u32 = 21;
export const SVC_BACKOFF_LIMIT_NS: u32 = 22;
export const SVC_JITTER: u32 = 23;
/** u64 a connection that timed out is not there for so long, ns */
export const SVC_RECONNECT_NS: u32 = 24;
/** u64 1: latency counts from when a request was due, not from its last attempt */
export const SVC_FROM_DUE: u32 = 25;
export const SVC_COUNT: u32 = 32;

/** Frequencies stay as they are. */
export const CONTROLLER_NONE: u32 = 0;
/** µqSim's power management. */
export const CONTROLLER_ALGORITHM_1: u32 = 1;
export const CONTROLLER_PID: u32 = 2;

// ---- connections between instances ----------------------------------------------------------------------

/** Edges with a bound on what is under way, 16 B: u32 from (instance, NONE = client), u32 to, u32 most requests (0 = no bound), u32 1: one request a connection. */
export const SECTION_SV_EDGES: u32 = 55;
/** Instances of a service that an instance reaches, where not all, 16 B: u32 from, u32 service, u32 first of them in SECTION_SV_LISTS, u32 number. */
export const SECTION_SV_REACH: u32 = 56;

// ---- results --------------------------------------------------------------------------------------------

/** Per instance, 64 B u64: busy ns of its cores, visits ended, batches served, jobs in them, residence ns, longest wait for a core … */
export const SECTION_SV_RESULTS: u32 = 110;
export const SVR_BUSY_NS: u32 = 0;
export const SVR_VISITS: u32 = 1;
export const SVR_BATCHES: u32 = 2;
export const SVR_JOBS: u32 = 3;
export const SVR_COUNT: u32 = 8;

/** Means of the latencies of requests in the order in which they began, SVB_STRIDE = 24 B: u64 start of the first, sum ns, requests ended. */
export const SECTION_SV_SERIES: u32 = 111;
export const SVB_STRIDE: u32 = 24;
/** Most batches; a batch has SERIES_BATCH × 2^k requests, k so that they suffice. */
export const SERIES_BATCHES: u32 = 4096;
export const SERIES_BATCH: u32 = 5;
/** Per interval, u64: end ns, requests that ended, their tail latency ns, the client's rate per second, energy so far pJ, then for each tier its tail latency and step. */
export const SECTION_SV_INTERVALS: u32 = 112;
export const INTERVAL_END_NS: u32 = 0;
export const INTERVAL_REQUESTS: u32 = 1;
export const INTERVAL_TAIL_NS: u32 = 2;
export const INTERVAL_RATE: u32 = 3;
export const INTERVAL_ENERGY: u32 = 4;
export const INTERVAL_TIERS: u32 = 5;
/** Busy time of instances by frequency step, 16 B: u32 instance, u32 step, u64 ns. */
export const SECTION_SV_STEPS: u32 = 113;

/** The client, u64: requests, attempts, those that timed out, requests given up. */
export const SECTION_SV_CLIENT_RESULTS: u32 = 114;
export const SVO_REQUESTS: u32 = 0;
export const SVO_ATTEMPTS: u32 = 1;
export const SVO_TIMEOUTS: u32 = 2;
export const SVO_GIVEN_UP: u32 = 3;
export const SVO_COUNT: u32 = 4;
/** Per edge of SECTION_SV_EDGES, 32 B u64: calls that took it, calls that waited for it, time they waited ns, most waiting at once. */
export const SECTION_SV_EDGE_RESULTS: u32 = 115;

/** After a deadlock, who waits for whom (services/waits.ts), SVW_BYTES: u32 SVW_ kind, u32 instance or edge, u32 thread or connection, u32 reserved, u64 request. */
export const SECTION_SV_WAITS: u32 = 116;
export const SVW_BYTES: u32 = 24;
/** A thread of an instance is blocked until a reply of the request comes. */
export const SVW_BLOCKED: u32 = 1;
/** A call of the request is in the queue of a thread. */
export const SVW_QUEUED: u32 = 2;
/** A call of the request waits for a connection of an edge (NONE: for any of its pool); the request has one. */
export const SVW_EDGE_WAITING: u32 = 3;
export const SVW_EDGE_HELD: u32 = 4;
/** Likewise for a connection that a request holds in an instance. */
export const SVW_LINE_WAITING: u32 = 5;
export const SVW_LINE_HELD: u32 = 6;
