// Records of the services engine. They are made once, in the arena, and hold the addresses of one another, so that following
// a reference is one load. Calls and requests have regions of their own (call.ts).
//
// Instance, INSTANCE_BYTES:
//    0  u32 kind, u32 index             40  u32 next          thread or queue that the next call gets in turn
//    8  u32 threads, u32 count          44  u32 stats         statistics class, NONE
//   16  u32 paths, u32 count            48  u32 connections   thread by connection, 0 = not bound
//   24  u32 queues, u32 count           52  u32 starved       threads with work that found no core; calls in queues
//   32  u32 machine                     56  u64 busy ns
//   36  u32 flags                       64  u64 visits   72  u64 batches   80  u64 jobs   88  u32 step, u32 steps   96  u32 tier, u32 busy ns by step
//  104  u32 edges, u32 count   112  u32 holds   116  u32 reach, u32 count   124  u32 switch ns
//  128  u32 active, u32 at least   136  u64 spawn ns   144  u64 idle ns   152  u32 MHz by step
//
// Thread, THREAD_BYTES + 2 B a path:
//    0  u32 timed       TIMED_THREAD or TIMED_SERVER     32  u32 cores, u32 count   that it may hold
//    4  u32 task        handle                           40  u64 began              of what it does
//    8  u32 instance                                     48  u32 queues, u32 count  a queue per path and stage;
//   12  u32 state       THREAD_                                                     a server: the list of its queues
//   16  u32 batch       first call of what it serves     56  u32 waiting            calls in its queues
//   20  u32 stage       that it serves                   60  u32 critical           section that it is in, 0
//   24  u32 core        that it holds                    64  per path: u8 next stage, u8 1: decided
//   28  u16 flags, u16 step      frequency step of what it serves
//
// Queue of a stage, 32 B:
//    0  u32 first, u32 last     calls, or connections with calls      16  u32 connections   table of 16 B each, 0 = not by connection
//    8  u32 count               calls                                 20  u32 active        connections with calls
//   12  u32 last reply          replies come before requests          24  u32 servers, u32 count
//
// Connection of a queue, 16 B: u32 first call, u32 last call, u32 next connection, u32 calls.

export const INSTANCE_BYTES: usize = 160;
export const INSTANCE_KIND: usize = 0;
export const INSTANCE_INDEX: usize = 4;
export const INSTANCE_THREADS: usize = 8;
export const INSTANCE_THREAD_COUNT: usize = 12;
export const INSTANCE_PATHS: usize = 16;
export const INSTANCE_PATH_COUNT: usize = 20;
export const INSTANCE_QUEUES: usize = 24;
export const INSTANCE_QUEUE_COUNT: usize = 28;
export const INSTANCE_MACHINE: usize = 32;
export const INSTANCE_FLAGS: usize = 36;
export const INSTANCE_NEXT: usize = 40;
export const INSTANCE_STATS: usize = 44;
export const INSTANCE_CONNECTIONS: usize = 48;
export const INSTANCE_STARVED: usize = 52;
export const INSTANCE_BUSY_NS: usize = 56;
export const INSTANCE_VISITS: usize = 64;
export const INSTANCE_BATCHES: usize = 72;
export const INSTANCE_JOBS: usize = 80;
export const INSTANCE_STEP: usize = 88;
export const INSTANCE_STEPS: usize = 92;
export const INSTANCE_TIER: usize = 96;
/** Busy ns by frequency step, 0 = one step only. */
export const INSTANCE_STEP_BUSY: usize = 100;
/** Bounded edges from it (list of addresses), their number; connections held, 16 B each, 0 = none are. */
export const INSTANCE_EDGES: usize = 104;
export const INSTANCE_EDGE_COUNT: usize = 108;
export const INSTANCE_HOLDS: usize = 112;
/** Where it does not reach every instance: rows of u32 service, u32 instances (list), u32 number; their number. */
export const INSTANCE_REACH: usize = 116;
export const INSTANCE_REACH_COUNT: usize = 120;
export const INSTANCE_SWITCH_NS: usize = 124;
/** Threads that exist; more are made up to INSTANCE_THREAD_COUNT. */
export const INSTANCE_ACTIVE: usize = 128;
export const INSTANCE_AT_LEAST: usize = 132;
export const INSTANCE_SPAWN_NS: usize = 136;
export const INSTANCE_IDLE_NS: usize = 144;
/** Frequency of each step, u32 MHz. */
export const INSTANCE_MHZ: usize = 152;

/** What a task's timer is for: first field of the record that its TASK_QUEUE names. */
export const TIMED_THREAD: u32 = 0;
export const TIMED_SERVER: u32 = 1;
export const TIMED_WIRE: u32 = 2;
export const TIMED_CLIENT: u32 = 3;
export const TIMED_MONITOR: u32 = 4;

/** Tier, 32 B: u32 histogram of the current interval, u32 step, u32 steps, u64 tail of the last interval. */
export const TIER_BYTES: usize = 32;
export const TIER_HISTOGRAM: usize = 0;
export const TIER_STEP: usize = 4;
export const TIER_STEPS: usize = 8;
export const TIER_TAIL: usize = 16;

export const THREAD_BYTES: usize = 64;
export const THREAD_TIMED: usize = 0;
export const THREAD_TASK: usize = 4;
export const THREAD_INSTANCE: usize = 8;
export const THREAD_STATE: usize = 12;
export const THREAD_BATCH: usize = 16;
export const THREAD_STAGE: usize = 20;
export const THREAD_CORE: usize = 24;
export const THREAD_FLAGS: usize = 28;
export const THREAD_STEP: usize = 30;
export const THREAD_CORES: usize = 32;
export const THREAD_CORE_COUNT: usize = 36;
export const THREAD_BEGAN: usize = 40;
export const THREAD_QUEUES: usize = 48;
export const THREAD_QUEUE_COUNT: usize = 52;
export const THREAD_WAITING: usize = 56;
export const THREAD_CRITICAL: usize = 60;
export const THREAD_PATHS: usize = 64;
export const THREAD_DECIDED: usize = 65;

/** Serves nothing: without work, or without a core. */
export const THREAD_READY: u32 = 0;
export const THREAD_RUNNING: u32 = 1;
/** Waits for the reply to a synchronous call. */
export const THREAD_BLOCKED: u32 = 2;
/** Scheduled: runnable, has not come to serve yet. */
export const THREAD_WOKEN: u32 = 3;
/** Being made. */
export const THREAD_STARTING: u32 = 4;

/** Its core is used by no other thread. */
export const THREAD_OWNS_CORE: u32 = 1;
/** Counted in INSTANCE_STARVED. */
export const THREAD_STARVED: u32 = 2;

/** Core, 24 B: u32 thread that holds it, u32 list of instances that use it, u32 number, u32 thread that held it last, u32 CPU (NONE). */
export const CORE_BYTES: usize = 24;
export const CORE_HOLDER: usize = 0;
export const CORE_SHARERS: usize = 4;
export const CORE_SHARER_COUNT: usize = 8;
export const CORE_LAST: usize = 12;
export const CORE_CPU: usize = 16;

export const STAGE_QUEUE_SHIFT: u32 = 5;
export const STAGE_QUEUE_FIRST: usize = 0;
export const STAGE_QUEUE_LAST: usize = 4;
export const STAGE_QUEUE_COUNT: usize = 8;
export const STAGE_QUEUE_REPLY: usize = 12;
export const STAGE_QUEUE_CONNECTIONS: usize = 16;
export const STAGE_QUEUE_ACTIVE: usize = 20;
export const STAGE_QUEUE_SERVERS: usize = 24;
export const STAGE_QUEUE_SERVER_COUNT: usize = 28;

export const CONNECTION_SHIFT: u32 = 4;
export const CONNECTION_FIRST: usize = 0;
export const CONNECTION_LAST: usize = 4;
export const CONNECTION_NEXT: usize = 8;
export const CONNECTION_COUNT: usize = 12;

/** Code path, 32 B: u32 stages, u32 count, u32 first queue of a thread, u32 priorities (u32 each), u64 cumulative probability, u32 index. */
export const PATH_BYTES: usize = 32;
export const PATH_STAGES: usize = 0;
export const PATH_STAGE_COUNT: usize = 4;
export const PATH_QUEUE: usize = 8;
export const PATH_PRIORITY: usize = 12;
export const PATH_PROBABILITY: usize = 16;
export const PATH_INDEX: usize = 24;

/** Stage of a code path, 64 B. */
export const STAGE_BYTES: usize = 64;
export const STAGE_TAKE: usize = 0;
export const STAGE_LIMIT: usize = 4;
export const STAGE_FLAGS: usize = 8;
/** Position in its path. */
export const STAGE_INDEX: usize = 12;
export const STAGE_PATH: usize = 16;
/** Current timing, and that of step 0. */
export const STAGE_TIMING: usize = 20;
export const STAGE_TIMINGS: usize = 24;
export const STAGE_REPEAT: usize = 28;
export const STAGE_REPEAT_DRAWN: usize = 32;
/** The same stage in other paths of the instance: list of stages in order of paths, its length. */
export const STAGE_PEERS: usize = 36;
export const STAGE_PEER_COUNT: usize = 40;
/** Critical section: u32 threads that may still enter; 0 = none. */
export const STAGE_CRITICAL: usize = 44;
/** 1: the last of its path. */
export const STAGE_LAST: usize = 48;

/** Node of a route, 64 B. */
export const NODE_BYTES: usize = 64;
export const NODE_SERVICE: usize = 0;
export const NODE_PATH: usize = 4;
export const NODE_START: usize = 8;
export const NODE_END: usize = 12;
export const NODE_PARENTS: usize = 16;
export const NODE_SYNC: usize = 20;
export const NODE_CHILDREN: usize = 24;
export const NODE_CHILD_COUNT: usize = 28;
export const NODE_FLAGS: usize = 32;
export const NODE_INDEX: usize = 36;
export const NODE_HOLD: usize = 40;

/** Several copies of a request meet here, or a thread waits for replies here. */
export const NODE_JOINS: u32 = 1;
/** One of its next nodes is in the same service: the call stays at the instance. */
export const NODE_STAYS: u32 = 2;
/** A connection is held until the end of this node. */
export const NODE_RELEASES: u32 = 4;

/** Service, 24 B: u32 instances (list), u32 number, u32 index, u32 balancer (instance, 0), u32 whose turn it is there. */
export const SERVICE_BYTES: usize = 24;
export const SERVICE_INSTANCES: usize = 0;
export const SERVICE_INSTANCE_COUNT: usize = 4;
export const SERVICE_INDEX: usize = 8;
export const SERVICE_BALANCER: usize = 12;
export const SERVICE_TURN: usize = 16;

/** Machine, 16 B: u32 network stack (instance, 0), u32 links, u32 number, u32 index. A link is 8 B: u32 machine, u32 wire. */
export const MACHINE_BYTES: usize = 16;
export const MACHINE_NETWORK: usize = 0;
export const MACHINE_LINKS: usize = 4;
export const MACHINE_LINK_COUNT: usize = 8;
export const MACHINE_INDEX: usize = 12;

/** Wire, 32 B: u32 TIMED_WIRE, u32 task, u32 first, u32 last call on it, u64 latency. What enters it first leaves it first. */
export const WIRE_BYTES: usize = 32;
export const WIRE_TASK: usize = 4;
export const WIRE_FIRST: usize = 8;
export const WIRE_LAST: usize = 12;
export const WIRE_LATENCY: usize = 16;
