// Task programs (SECTION_PROGRAM), task templates (SECTION_TASKS), cgroups (SECTION_CGROUPS) and timed events.
//
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
/** A thread of a service: hand on what it has served, take the next batch and use the CPU for its time, or wait for calls; for ever. */
export const OP_SERVE: u32 = 22;

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
