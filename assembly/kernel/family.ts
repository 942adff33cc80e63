// Tasks and the tasks they fork: the barrier they share, waiting for them, and what becomes of a job or of children when
// the other side is gone first.

import { FLAG_SPIN, STATE_SIBLINGS } from '../abi';
import { count, FAMILY_VISITS } from '../core/counters';
import { CPU_SHIFT, FAMILIES, FAMILY_OF_TASK } from '../core/layout';
import { entityKey } from '../core/random';
import {
  BARRIER_ORPHANS,
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
  MODE_SPIN_EVENT,
  STATE_BLOCKED,
  TASK_BARRIER,
  TASK_CHILDREN,
  TASK_DRAW,
  TASK_JOB,
  TASK_KEY,
  TASK_PARENT,
  TASK_PC,
  TASK_WAIT_NEXT,
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
    leaveBarrier(t);
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
    giveBirth(t, child);
    wakeUpNew(child, c >> CPU_SHIFT);
  }
  return CONTINUE;
}

// ---- who belongs to whom --------------------------------------------------------------------------------
//
// A family record per task, 16 B at FAMILIES + (t >> FAMILY_OF_TASK):
//
//     0  u32 helping       first child that works for t's job
//     4  u32 children      first other child
//     8  u32 next          sibling in the same list
//    12  u32 prev          0 = the list's first
//
// While t serves a job, the children that it forks work for that job: their CPU time is the job's. When the job leaves t
// they change lists, so that ending a job, and leaving children behind, costs as much as there are tasks concerned.

const HELPING: usize = FAMILIES + 0;
const CHILDREN: usize = FAMILIES + 4;
const NEXT: usize = FAMILIES + 8;
const PREV: usize = FAMILIES + 12;

// @ts-ignore: decorator
@inline
function family(t: u32): usize {
  return (t >> FAMILY_OF_TASK) as usize;
}

function adopt(list: usize, child: u32): void {
  const first = load<u32>(list);
  const f = family(child);
  store<u32>(f, first, NEXT);
  store<u32>(f, 0, PREV);
  if (first != 0) store<u32>(family(first), child, PREV);
  store<u32>(list, child);
}

function abandon(parent: u32, child: u32): void {
  const f = family(child);
  const next = load<u32>(f, NEXT);
  const prev = load<u32>(f, PREV);
  if (next != 0) store<u32>(family(next), prev, PREV);
  if (prev != 0) {
    store<u32>(family(prev), next, NEXT);
    return;
  }
  const list = HELPING + family(parent);
  store<u32>(load<u32>(list) == child ? list : CHILDREN + family(parent), next);
}

/** A new child of t works for t's job, if there is one. */
function giveBirth(t: u32, child: u32): void {
  const j = load<u32>(t, TASK_JOB);
  store<u32>(child, j, TASK_JOB);
  adopt((j != 0 ? HELPING : CHILDREN) + family(t), child);
}

/**
 * The job leaves t: what t's children do from now on, and their children, is not for this job, whose record may be another's
 * soon. A child that has received a job of its own keeps that.
 */
export function disownJob(t: u32, j: u32): void {
  let u = t;
  while (true) {
    const child = load<u32>(family(u), HELPING);
    if (child != 0) {
      count(FAMILY_VISITS);
      abandon(u, child);
      adopt(CHILDREN + family(u), child);
      if (load<u32>(child, TASK_JOB) != j) continue;
      store<u32>(child, 0, TASK_JOB);
      u = child;
    } else if (u == t) {
      return;
    } else {
      u = load<u32>(u, TASK_PARENT);
    }
  }
}

/** t exits before its children: nobody joins them, and they work for no job any more. */
function orphanChildren(t: u32): void {
  disownJob(t, load<u32>(t, TASK_JOB));
  const b = load<u32>(t, TASK_BARRIER);
  let users: u32 = 0;
  let child = load<u32>(family(t), CHILDREN);
  while (child != 0) {
    count(FAMILY_VISITS);
    store<u32>(child, 0, TASK_PARENT);
    if (load<u32>(child, TASK_BARRIER) == b) users++;
    child = load<u32>(family(child), NEXT);
  }
  store<u32>(t, 0, TASK_BARRIER);
  if (users == 0) {
    barrierFree(b);
    return;
  }
  store<u32>(b, 0, BARRIER_OWNER);
  store<u32>(b, users, BARRIER_ORPHANS);
}

/** An orphan no longer uses the barrier of the family that it was born into; the last one frees it. */
function leaveBarrier(t: u32): void {
  const b = load<u32>(t, TASK_BARRIER);
  if (b == 0 || load<u32>(t, TASK_PARENT) != 0 || load<u32>(b, BARRIER_OWNER) != 0) return;
  const users = load<u32>(b, BARRIER_ORPHANS) - 1;
  store<u32>(b, users, BARRIER_ORPHANS);
  if (users == 0) barrierFree(b);
}

/** t exits: the family's barrier goes with it if its children are gone, else they are on their own. */
export function leaveChildren(t: u32): void {
  if (load<u32>(t, TASK_CHILDREN) == 0) joined(t);
  else orphanChildren(t);
  leaveBarrier(t);
}

/** t has exited: the last child ends its parent's join. */
export function leaveParent(c: u32, t: u32): void {
  const parent = load<u32>(t, TASK_PARENT);
  if (parent != 0) {
    abandon(parent, t);
    const left = load<u32>(parent, TASK_CHILDREN) - 1;
    store<u32>(parent, left, TASK_CHILDREN);
    if (left == 0 && load<u32>(parent, TASK_WAIT_NEXT) == WAITS_IN_JOIN) {
      store<u32>(parent, 0, TASK_WAIT_NEXT);
      releaseWaiter(parent, (c >> CPU_SHIFT) as i32, t);
    }
  }
}
