// Records for explanations: the history of a job, what each task waits for, decisions of the scheduler.

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
/** u8 1: it has been there from the start, so that its slot tells its name */
export const WAIT_MEMBER: u32 = 31;
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
/** The task is new: forked by the task in this slot, or made for this arrival of a source (which is in the CPU's place). */
export const DECISION_FORK: u32 = 11;
export const DECISION_SPAWN: u32 = 12;
export const DECISIONS_DETAILED: u32 = 2;
// Recorded only if P_DECISIONS is DECISIONS_COMPARED, for comparing two schedulers callback by callback: callbacks, and what
// they do to the kernel. Insertions are DECISION_DSQ.
/** A callback of the scheduler begins: BPF_OP_… */
export const DECISION_CALLBACK: u32 = 13;
/** select_cpu() has named this CPU. */
export const DECISION_SELECTED: u32 = 14;
/** Follows an insertion: u64 slice, ns, then u64 vtime (0 in FIFO queues), in place of time, task and class. */
export const DECISION_KEYS: u32 = 15;
/** scx_bpf_kick_cpu() of the CPU, with these KICK_… flags. */
export const DECISION_KICK: u32 = 16;
/** The CPU's idle bit is taken by the scheduler. */
export const DECISION_IDLE: u32 = 17;
export const DECISIONS_COMPARED: u32 = 3;

// A recorded decision, 24 B: u64 time, u32 task slot, u32 statistics class, u16 CPU, u8 kind, u8 1 if the task is runnable +
// 2 × its scheduling class.
export const DECISION_BYTES: u32 = 24;
export const DECISION_TASK: u32 = 8;
export const DECISION_CLASS: u32 = 12;
export const DECISION_VALUE: u32 = 12;
export const DECISION_CPU: u32 = 16;
export const DECISION_KIND: u32 = 18;
export const DECISION_QUEUED: u32 = 19;
/** Of DECISION_KEYS. */
export const DECISION_VTIME: u32 = 8;
