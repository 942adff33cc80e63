// Task records. Handle t = slot << TASK_SHIFT; slot 0 is never a task, so handle 0 means "none" and, as a
// CPU's current task, "idle".
//
//     0  u32 pid             slot number
//     4  u32 cpu             where it runs, is queued or ran last
//     8  u32 recent_cpu      fair: recently used CPU
//    12  u16 flags           FLAG_… below
//    14  u16 last_cpu        CPU it ran on last
//    16  u64 vtime           p->scx.dsq_vtime
//    24  u64 slice           p->scx.slice, ns left
//    32  u32 weight          1024 = nice 0
//    36  u32 inverse_weight  CPU time × this / 1024 = vtime charge
//    40  u32 cgroup
//    44  u32 mask            index of the allowed-CPU mask
//    48  u32 dsq             handle of the DSQ it is queued on, NONE
//    52  u32 direct_dsq      DSQ chosen by direct dispatch, NONE
//    56  u64 sum_exec        CPU time used so far, ns
//        ---- the first 64 bytes may be seen by BPF programs
//    64  u32 left / next     node of the one queue or tree the task is in
//    68  u32 right / prev
//    72  u32 parent
//    76  u32 priority        treap priority
//    80  u64 node_key        sort key while queued: vtime in a DSQ, deadline in a fair run queue
//    88  u64 work            mode RUN: work left, MHz·ns; mode SPIN: end time; asleep: wake-up time
//    96  u32 pc              instruction to execute next
//   100  u8 state, u8 class, u8 mode, u8 flags of the instruction it sleeps in
//   104  4 × u32 loop registers
//   120  u64 key             of its random draws
//   128  u32 draw            index of its next draw
//   132  u32 job             handle, 0 = none
//   136  u32 queue           own job queue
//   140  u32 parent task
//   144  u32 children        alive
//   148  u32 barrier         own (family) barrier
//   152  u32 wait_next       next in a list of waiters
//   156  u32 stats           statistics class
//   160  u64 runnable_since
//   168  u64 exec_start      CPU time is charged up to here while running
//   176  u64 last_stint      CPU time of the last finished stay on a CPU
//   184  u64 stint           CPU time of the current stay
//   192  u64 woken_at        last wake-up
//   200  56 B of class state: fair (kernel/fair.ts) or the ext policy (policy/)

import { clearRecord } from '../core/record';
import { FAMILIES, FAMILY_OF_TASK, MAX_TASKS, TASKS, TASK_SHIFT } from '../core/layout';

export const TASK_PID: usize = TASKS + 0;
export const TASK_CPU: usize = TASKS + 4;
export const TASK_RECENT_CPU: usize = TASKS + 8;
export const TASK_FLAGS: usize = TASKS + 12;
export const TASK_LAST_CPU: usize = TASKS + 14;
export const TASK_VTIME: usize = TASKS + 16;
export const TASK_SLICE: usize = TASKS + 24;
export const TASK_WEIGHT: usize = TASKS + 32;
export const TASK_INVERSE_WEIGHT: usize = TASKS + 36;
export const TASK_CGROUP: usize = TASKS + 40;
export const TASK_MASK: usize = TASKS + 44;
export const TASK_DSQ: usize = TASKS + 48;
export const TASK_DIRECT_DSQ: usize = TASKS + 52;
export const TASK_SUM_EXEC: usize = TASKS + 56;
export const TASK_LEFT: usize = TASKS + 64;
export const TASK_NEXT: usize = TASK_LEFT;
export const TASK_RIGHT: usize = TASKS + 68;
export const TASK_PREV: usize = TASK_RIGHT;
export const TASK_PARENT_NODE: usize = TASKS + 72;
export const TASK_PRIORITY: usize = TASKS + 76;
export const TASK_NODE_KEY: usize = TASKS + 80;
export const TASK_WORK: usize = TASKS + 88;
export const TASK_PC: usize = TASKS + 96;
export const TASK_STATE: usize = TASKS + 100;
export const TASK_CLASS: usize = TASKS + 101;
export const TASK_MODE: usize = TASKS + 102;
/** Flags of the instruction it sleeps in (abi/, FLAG_DISK). */
export const TASK_WAIT_FLAGS: usize = TASKS + 103;
export const TASK_REGISTERS: usize = TASKS + 104;
export const TASK_KEY: usize = TASKS + 120;
export const TASK_DRAW: usize = TASKS + 128;
export const TASK_JOB: usize = TASKS + 132;
export const TASK_QUEUE: usize = TASKS + 136;
export const TASK_PARENT: usize = TASKS + 140;
export const TASK_CHILDREN: usize = TASKS + 144;
export const TASK_BARRIER: usize = TASKS + 148;
export const TASK_WAIT_NEXT: usize = TASKS + 152;
export const TASK_STATS: usize = TASKS + 156;
export const TASK_RUNNABLE_SINCE: usize = TASKS + 160;
export const TASK_EXEC_START: usize = TASKS + 168;
export const TASK_LAST_STINT: usize = TASKS + 176;
export const TASK_STINT: usize = TASKS + 184;
export const TASK_WOKEN_AT: usize = TASKS + 192;
export const TASK_CLASS_STATE: usize = TASKS + 200;
export const CLASS_STATE_BYTES: u32 = 56;

/** On a run queue (running or waiting for a CPU). */
export const FLAG_QUEUED: u32 = 1;
/** Not counted as progress: alone, it doesn't keep the simulation alive. */
export const FLAG_BACKGROUND: u32 = 2;
/** The task whose states are the states of its job. */
export const FLAG_MAIN: u32 = 4;
/** Fair, since 6.12: asks for a slice of its own (se->custom_slice). */
export const FLAG_SLICE: u32 = 8;
export const FLAG_EXITING: u32 = 16;
/** Became runnable by a wake-up (not by losing its CPU) and has not run since. */
export const FLAG_WOKEN: u32 = 32;
/** Was moved to another CPU since it ran last; pays the migration cost at its next switch. */
export const FLAG_MIGRATED: u32 = 64;
/** Serves jobs on behalf of the control plane: their states are not its states. */
export const FLAG_CONTROL: u32 = 128;
/** Was woken before it blocked: the next block is skipped. */
export const FLAG_WAKE_PENDING: u32 = 256;
/** Has polled at least once. */
export const FLAG_POLLED: u32 = 512;
/** Comes back to a queue that it has found empty. */
export const FLAG_RETRIES: u32 = 2048;

/** Fair, since 6.12: moved, so that its deadline is relative to its virtual time until it is placed (se->rel_deadline). */
export const FLAG_REL_DEADLINE: u32 = 4096;

/** One of the tasks that a template makes at the start: other tasks may name it. */
export const FLAG_MEMBER: u32 = 1024;

/** A class beyond those of the scheduler: the task's time is its own timer's (services/core.ts). */
export const CLASS_DEDICATED: u8 = 7;

export const STATE_FREE: u8 = 0;
export const STATE_RUNNABLE: u8 = 1;
export const STATE_SLEEPING: u8 = 2; // on its timer
export const STATE_BLOCKED: u8 = 3; // until something wakes it
export const STATE_DEAD: u8 = 4;

/** Between instructions. */
export const MODE_NONE: u8 = 0;
/** Using up `work`. */
export const MODE_RUN: u8 = 1;
/** Using up `work` along with all others (kernel/fluid.ts). */
export const MODE_FLUID: u8 = 2;
/** Polling until time `work`. */
export const MODE_SPIN: u8 = 3;
/** Polling until signalled. */
export const MODE_SPIN_EVENT: u8 = 4;

/** Slots are taken from the free list first, then from the end. */
let freeHead: u32 = 0;
let slotsUsed: u32 = 1;
export let tasksAlive: u32 = 0;

export function tasksReset(): void {
  freeHead = 0;
  slotsUsed = 1;
  tasksAlive = 0;
}

/** One more than the highest slot ever used. */
// @ts-ignore: decorator
@inline
export function taskSlots(): u32 {
  return slotsUsed;
}

/** A zeroed task record, or 0 if all MAX_TASKS are alive. */
export function taskAllocate(): u32 {
  let t = freeHead;
  if (t != 0) {
    freeHead = load<u32>(t, TASK_NEXT);
  } else {
    if (slotsUsed >= MAX_TASKS) return 0;
    t = slotsUsed << TASK_SHIFT;
    slotsUsed++;
  }
  clearRecord(TASKS + t, 1 << TASK_SHIFT);
  store<u64>((t >> FAMILY_OF_TASK) as usize, 0, FAMILIES);
  store<u32>(t, t >> TASK_SHIFT, TASK_PID);
  store<u32>(t, 0xffffffff, TASK_DSQ);
  store<u32>(t, 0xffffffff, TASK_DIRECT_DSQ);
  tasksAlive++;
  return t;
}

export function taskFree(t: u32): void {
  store<u8>(t, STATE_FREE, TASK_STATE);
  store<u32>(t, freeHead, TASK_NEXT);
  freeHead = t;
  tasksAlive--;
}
