// Every address of the engine, in one place. The whole state is laid out statically, so that a load or store
// is one instruction with a constant offset; nothing is allocated per event and nothing is ever collected.
// Pages that a model does not touch cost nothing.
//
//   0x0000_0000  guard: address 0 is never valid
//   0x0000_1000  scalars and small tables          (core/, machine/)
//   0x0010_0000  CPUs, event trees, DSQs, sources  (kernel/, workload/)
//   0x0200_0000  tasks                             64 MiB
//   0x0600_0000  jobs                              64 MiB
//   0x0a00_0000  containers, queues, barriers, counts of cgroups
//   0x1000_0000  AssemblyScript's own static data  (memoryBase in asconfig.json)
//   0x1010_0000  arena: model image, histogram pages, row ring, result image; before it what a BPF object uses
//
// Records are addressed by their byte offset inside the region ("handle"), regions by constants:
// load<u64>(t, TASK_VTIME) reads field vtime of the task with handle t = slot << TASK_SHIFT.

import { BPF_MAPS_AT, BPF_STATE_AT, BPF_TASK_EXTENSION } from '../abi/bpf';

// ---- capacities -----------------------------------------------------------------------------------------

export const MAX_CPUS: u32 = 512;
export const MASK_WORDS: u32 = MAX_CPUS / 64;
export const MASK_BYTES: u32 = MASK_WORDS * 8;
export const MAX_MASKS: u32 = 4096;
export const MAX_PACKAGES: u32 = 16;
export const MAX_DOMAINS: u32 = 512;
export const MAX_TASKS: u32 = 262144;
export const MAX_JOBS: u32 = 262144;
export const MAX_DSQS: u32 = 4096;
export const MAX_SOURCES: u32 = 4096;
export const MAX_QUEUES: u32 = 65536;
export const MAX_BARRIERS: u32 = 65536;
export const MAX_CONTAINERS: u32 = 65536;
export const MAX_FUNCTIONS: u32 = 4096;
export const MAX_CLASSES: u32 = 4096;
export const MAX_HISTOGRAMS: u32 = 32768;
export const MAX_IDLE_STATES: u32 = 8;
export const MAX_TURBO_ROWS: u32 = 64;
export const MAX_POWER_ROWS: u32 = 256;

// ---- core -----------------------------------------------------------------------------------------------

/** ln(1 + i/1024) as Q32, i = 0…1024 (core/random.ts). */
export const LN_TABLE: usize = 0x1000;
/** 2^(i/1024) as Q32, i = 0…1024 (core/distribution.ts). */
export const EXP2_TABLE: usize = LN_TABLE + 1025 * 8 + 56; // keep 64-byte alignment
/** |z| of a standard normal as Q32 by e = -ln P(|Z| > z) in steps of 1/128 up to 45 (core/distribution.ts). */
export const NORMAL_TABLE: usize = EXP2_TABLE + 1025 * 8 + 56;
export const NORMAL_ENTRIES: u32 = 45 * 128 + 1;
/** u64 array of the model's parameters (abi/, P_…). */
export const PARAMS: usize = 0x14000;
/** u64 array of run counters (core/counters.ts). */
export const COUNTERS: usize = 0x15000;

/** Wheel: 11 levels × 64 slots of { u32 head, u32 tail }, plus one occupancy word per level (core/wheel.ts). */
export const WHEEL_SLOTS: usize = 0x16000;
export const WHEEL_OCCUPIED: usize = WHEEL_SLOTS + 11 * 64 * 8;
/** Values that wait to be recorded, 16 B each, and a counter behind them (core/histogram.ts). */
export const PENDING_VALUES: u32 = 128;
export const VALUES: usize = 0x18000;
/** Wheel nodes, 32 B: u64 time, u32 next, u32 prev, u32 kind, u32 a, u64 b. Node 0 is unused. */
export const MAX_WHEEL_NODES: u32 = 524288; // 16 MiB
export const WHEEL_NODES: usize = 0x0d00_0000;

// ---- machine (machine/) ---------------------------------------------------------------------------------

/** Per CPU, 128 B; fields are named in machine/. */
export const MACHINE_CPU_SHIFT: u32 = 7;
export const MACHINE_CPUS: usize = 0x20000;
/** Per package, 128 B; fields are named in machine/. */
export const MACHINE_PACKAGE_SHIFT: u32 = 7;
export const MACHINE_PACKAGES: usize = 0x30000;
export const TURBO_TABLE: usize = 0x31000;
export const IDLE_TABLE: usize = 0x32000;
export const POWER_TABLE: usize = 0x33000;
/** u64 busy ns by MHz, indexed by MHz / 10 (0…10230 MHz). */
export const FREQUENCY_TIME: usize = 0x34000;
/** Masks of 64 B: all CPUs of a package, of a node, of an LLC. */
export const PACKAGE_MASKS: usize = 0x38000;
export const NODE_MASKS: usize = 0x39000;
export const LLC_MASKS: usize = 0x3a000;

// ---- kernel: CPUs and events (kernel/) ------------------------------------------------------------------

/** CPU records, 512 B, fields in kernel/cpu.ts. */
export const CPU_SHIFT: u32 = 9;
export const CPUS: usize = 0x0010_0000;
/** Winner tree over CPUs: u64 nodes 1…2n-1, leaf of CPU c at n + c. */
export const CPU_TREE: usize = 0x0014_0000;
/** Winner tree over arrival sources. */
export const SOURCE_TREE: usize = 0x0015_0000;
export const MASKS: usize = 0x0016_0000; // MAX_MASKS × 64 B
export const IDLE_MASK: usize = 0x001a_0000;
export const RESCHED_MASK: usize = 0x001a_0040;
export const ONLINE_MASK: usize = 0x001a_0080;
export const SCRATCH_MASK: usize = 0x001a_00c0;
/** CPUs with two or more fair tasks. */
export const OVERLOADED_MASK: usize = 0x001a_0140;
/** Idle CPUs, while wasted time is split (kernel/wasted.ts). */
export const WASTED_MASK: usize = 0x001a_0f00;
/** Domains: u32 mask index by domain; u32 domain by CPU. */
export const DOMAIN_MASK: usize = 0x001a_1000;
export const CPU_DOMAIN: usize = 0x001a_2000;
/** Realtime run queues and servers, 64 B per CPU (kernel/rt.ts). */
export const RT_SHIFT: u32 = 6;
export const RT_CPUS: usize = 0x001a_4000;
/** Replayed recordings: outcomes of a dispatch's attempts to move a task (u8), and what it asked for (u32 DSQ). */
export const MAX_ATTEMPTS: u32 = 2048;
export const REPLAY_OUTCOMES: usize = 0x001a_c000;
export const REPLAY_ATTEMPTS: usize = 0x001a_d000;
/** State of the running policy, 64 KiB. */
export const POLICY_STATE: usize = 0x001b_0000;
/** Task templates, 64 B: TT_ record with the first slot and the number of tasks made so far behind it (kernel/spawn.ts). */
export const TEMPLATE_SHIFT: u32 = 6;
export const TEMPLATES: usize = 0x001c_0000;
export const MAX_TEMPLATES: u32 = 4096;
/** DSQ records, 64 B, fields in kernel/dsq.ts. The first MAX_CPUS are the local DSQs, then the global one, then user DSQs. */
export const DSQ_SHIFT: u32 = 6;
export const DSQS: usize = 0x0020_0000;
/** Winner tree over task timers; grown to the power of two that holds all task slots. */
export const TIMER_TREE: usize = 0x0030_0000; // up to 2 × 262144 × 8 B = 4 MiB
/** Arrival sources, 256 B: 128 B as in the model image, then the running state (workload/arrivals.ts). */
export const SOURCE_SHIFT: u32 = 8;
export const SOURCES: usize = 0x0080_0000; // 1 MiB
export const DISTRIBUTIONS: usize = 0x0090_0000; // DIST_STRIDE each, 16384
export const MAX_DISTRIBUTIONS: u32 = 16384;
export const FUNCTIONS: usize = 0x00a0_0000; // 256 B each: FN_ record, then running state (workload/worker.ts)
export const FUNCTION_SHIFT: u32 = 8;
/** Control-plane state, 1 MiB: domain counters (workload/capacity.ts), index of IATCHBL's buckets, guardrails. */
export const WORKER_STATE: usize = 0x00b0_0000;
/** IATCHBL's buckets, 1152 B each (workload/iatchbl.ts). */
export const MAX_BUCKETS: u32 = 8192;
export const BUCKETS: usize = 0x0e00_0000; // 9 MiB
/** The worker's queue: a heap of jobs with their keys, 16 B each (workload/workerqueue.ts). */
export const WORKER_QUEUE: usize = 0x01c0_0000; // 4 MiB
/** Idle times of each function, 256 bins of u32 (workload/keepalive.ts). */
export const IDLE_HISTOGRAMS: usize = 0x0ec0_0000; // 4 MiB
/** Statistics classes, 256 B of u64 counters each. */
export const CLASS_SHIFT: u32 = 8;
export const CLASSES: usize = 0x00c0_0000; // 1 MiB
/** Histograms, 320 B each (core/histogram.ts). */
export const HISTOGRAM_STRIDE: u32 = 320;
export const HISTOGRAMS: usize = 0x00d0_0000; // 10 MiB

// ---- kernel: tasks --------------------------------------------------------------------------------------

export const TASK_SHIFT: u32 = 8;
export const TASKS: usize = 0x0200_0000;

// ---- workload: jobs, containers, queues -----------------------------------------------------------------

export const JOB_SHIFT: u32 = 8;
export const JOBS: usize = 0x0600_0000;
/** Containers, 64 B (workload/containers.ts). */
export const CONTAINER_SHIFT: u32 = 6;
export const CONTAINERS: usize = 0x0a00_0000; // 4 MiB
/** Job queues, 64 B (kernel/queue.ts). */
export const QUEUE_SHIFT: u32 = 6;
export const QUEUES: usize = 0x0a40_0000; // 4 MiB
/** Barriers, events and join groups, 32 B (kernel/barrier.ts). */
export const BARRIER_SHIFT: u32 = 5;
export const BARRIERS: usize = 0x0a80_0000; // 2 MiB
/** Domain of each cgroup (the paper's cMap), u32. One cgroup per container plus one per task template. */
export const MAX_CGROUPS: u32 = 131072;
export const CGROUP_DOMAIN: usize = 0x0ac0_0000;

/** Parents and children, 16 B per task: at its handle >> FAMILY_OF_TASK (kernel/family.ts). */
export const FAMILY_OF_TASK: u32 = TASK_SHIFT - 4;
export const FAMILIES: usize = 0x0180_0000; // 4 MiB

/** Services: copies of requests on their way, and requests, 64 B each (services/call.ts). */
export const MAX_CALLS: u32 = 262144;
export const CALLS: usize = 0x0b00_0000; // 16 MiB
export const MAX_REQUESTS: u32 = 262144;
export const REQUESTS: usize = 0x0c00_0000; // 16 MiB

/** Cgroups as groups of the fair class, 128 B (kernel/group.ts); their run queues are in the arena. */
export const CGROUP_SHIFT: u32 = 7;
export const CGROUPS: usize = 0x0f00_0000; // 16 MiB

/** AssemblyScript's static data begins here (memoryBase); the engine's own regions end below. */
export const STATIC_DATA: usize = 0x1000_0000;
/** Everything of variable size; grows to the end of memory. */
export const ARENA: usize = 0x1010_0000;

// ---- what BPF programs see (bpf/) -----------------------------------------------------------------------
// Begins where the arena would, which it moves up; reserved only if an object is the policy. Read-only to the object but for
// what lies behind BPF_MAPS: there the host places maps, stack and heap (src/bpf/runtime/region.ts).

/** Always zero. The extension record of a task is this far behind the task, so this is what NULL->field reads. */
export const BPF_NULL: usize = BPF_TASK_EXTENSION;
/** Cgroups as BPF sees them, 64 B (bpf/cgroup.ts). */
export const BPF_CGROUP_SHIFT: u32 = 6;
export const BPF_CGROUPS: usize = ARENA; // 8 MiB
/** Extension of each task record, 256 B (bpf/task.ts). */
export const BPF_TASKS: usize = TASKS + BPF_NULL; // 0x1090_0000, 64 MiB
/** The runtime's own state, 1 MiB (bpf/state.ts). */
export const BPF_STATE: usize = BPF_STATE_AT; // 0x1490_0000
/** Maps, stack and heap. */
export const BPF_MAPS: usize = BPF_MAPS_AT; // 0x14a0_0000
