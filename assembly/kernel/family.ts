// Tasks and the tasks they fork: the barrier they share, waiting for them, and what becomes of a job or of children when
// the other side is gone first.

import { FLAG_SPIN, STATE_SIBLINGS } from '../abi';
import { CPU_SHIFT, TASK_SHIFT } from '../core/layout';
import { entityKey } from '../core/random';
import {
  BARRIER_OWNER,
  barrierAddWaiter,
  barrierArrive,
  barrierCreate,
  barrierFree,
  barrierRelease,
  releaseWaiter,
} from './barrier';
import { CONTINUE, LEFT, poll, TIMED, WAITS_IN_JOIN } from './program';
import { deactivate, wakeUpNew } from './wakeup';
import { taskFork } from './spawn';
import {
  FLAG_MAIN,
  MODE_SPIN_EVENT,
  STATE_BLOCKED,
  STATE_FREE,
  TASK_BARRIER,
  TASK_CHILDREN,
  TASK_DRAW,
  TASK_FLAGS,
  TASK_JOB,
  TASK_KEY,
  TASK_PARENT,
  TASK_PC,
  TASK_STATE,
  TASK_WAIT_NEXT,
  taskSlots,
} from './task';

/** OP_JOIN */
export function join(flags: u32, c: u32, t: u32): u32 {
  return load<u32>(t, TASK_CHILDREN) == 0 ? joined(t) : wait(flags, c, t);
}

/** Waits asleep, or polling with FLAG_SPIN, until another task ends the wait. */
function wait(flags: u32, c: u32, t: u32): u32 {
  store<u32>(t, WAITS_IN_JOIN, TASK_WAIT_NEXT);
  if ((flags & FLAG_SPIN) != 0) {
    poll(t, MODE_SPIN_EVENT);
    store<u32>(t, load<u32>(t, TASK_PC) - 1, TASK_PC);
    return TIMED;
  }
  store<u32>(t, load<u32>(t, TASK_PC) - 1, TASK_PC);
  deactivate(c, t, STATE_BLOCKED, STATE_SIBLINGS);
  return LEFT;
}

/** All children have exited: the family's barrier is no longer needed, t meets its own siblings again. */
function joined(t: u32): u32 {
  const b = load<u32>(t, TASK_BARRIER);
  if (b != 0 && load<u32>(b, BARRIER_OWNER) == t) {
    barrierFree(b);
    const parent = load<u32>(t, TASK_PARENT);
    store<u32>(t, parent != 0 ? load<u32>(parent, TASK_BARRIER) : 0, TASK_BARRIER);
  }
  return CONTINUE;
}

export function barrier(b: u32, flags: u32, c: u32, t: u32): u32 {
  if (barrierArrive(b)) {
    barrierRelease(b, (c >> CPU_SHIFT) as i32, t);
    return CONTINUE;
  }
  barrierAddWaiter(b, t);
  if ((flags & FLAG_SPIN) != 0) {
    poll(t, MODE_SPIN_EVENT);
    return TIMED;
  }
  deactivate(c, t, STATE_BLOCKED, STATE_SIBLINGS);
  return LEFT;
}

/** The parent and its `n` children share a barrier of n + 1 parties. */
export function fork(pc: u32, n: u32, c: u32, t: u32): u32 {
  if (n == 0) return CONTINUE;
  if (load<u32>(t, TASK_CHILDREN) == 0) {
    joined(t);
    const b = barrierCreate(n + 1);
    store<u32>(b, t, BARRIER_OWNER);
    store<u32>(t, b, TASK_BARRIER);
  }
  store<u32>(t, load<u32>(t, TASK_CHILDREN) + n, TASK_CHILDREN);
  for (let k: u32 = 0; k < n; k++) {
    const index = load<u32>(t, TASK_DRAW);
    store<u32>(t, index + 1, TASK_DRAW);
    const child = taskFork(t, pc, entityKey(load<u64>(t, TASK_KEY), index));
    if (child == 0) return CONTINUE;
    store<u32>(child, load<u32>(t, TASK_JOB), TASK_JOB);
    wakeUpNew(child, c >> CPU_SHIFT);
  }
  return CONTINUE;
}

/** The job leaves t: children that still work no longer work for it, since its record may be another job's soon. */
export function disownJob(t: u32, j: u32): void {
  if (load<u32>(t, TASK_CHILDREN) == 0) return;
  for (let u: u32 = 1 << TASK_SHIFT, end = taskSlots() << TASK_SHIFT; u < end; u += 1 << TASK_SHIFT) {
    if (u != t && load<u32>(u, TASK_JOB) == j && load<u8>(u, TASK_STATE) != STATE_FREE) store<u32>(u, 0, TASK_JOB);
  }
}

/** t exits before its children: nobody joins them, and they work for no job any more. */
function orphanChildren(t: u32): void {
  for (let u: u32 = 1 << TASK_SHIFT, end = taskSlots() << TASK_SHIFT; u < end; u += 1 << TASK_SHIFT) {
    if (load<u32>(u, TASK_PARENT) != t || load<u8>(u, TASK_STATE) == STATE_FREE) continue;
    store<u32>(u, 0, TASK_PARENT);
    leaveJob(u);
  }
}

function leaveJob(t: u32): void {
  if (load<u32>(t, TASK_JOB) == 0 || (load<u16>(t, TASK_FLAGS) & FLAG_MAIN) != 0) return;
  store<u32>(t, 0, TASK_JOB);
  if (load<u32>(t, TASK_CHILDREN) == 0) return;
  for (let u: u32 = 1 << TASK_SHIFT, end = taskSlots() << TASK_SHIFT; u < end; u += 1 << TASK_SHIFT) {
    if (load<u32>(u, TASK_PARENT) == t && load<u8>(u, TASK_STATE) != STATE_FREE) leaveJob(u);
  }
}

/** t exits: the family's barrier goes with it if its children are gone, else they are on their own. */
export function leaveChildren(t: u32): void {
  if (load<u32>(t, TASK_CHILDREN) == 0) joined(t);
  else orphanChildren(t);
}

/** t has exited: the last child ends its parent's join. */
export function leaveParent(c: u32, t: u32): void {
  const parent = load<u32>(t, TASK_PARENT);
  if (parent != 0) {
    const left = load<u32>(parent, TASK_CHILDREN) - 1;
    store<u32>(parent, left, TASK_CHILDREN);
    if (left == 0 && load<u32>(parent, TASK_WAIT_NEXT) == WAITS_IN_JOIN) {
      store<u32>(parent, 0, TASK_WAIT_NEXT);
      releaseWaiter(parent, (c >> CPU_SHIFT) as i32, t);
    }
  }
}
