// Job queues: first in, first out, with the tasks that wait to receive. Handle q = index << QUEUE_SHIFT.
//
//     0  u32 head, u32 tail            jobs waiting
//     8  u32 nr                        number of them
//    12  u32 waiter head, u32 tail     tasks blocked in receive
//    20  u32 capacity                  0 = unbounded
//    24  u64 peak

import { fail, FAIL_QUEUES } from '../core/failure';
import { MAX_QUEUES, QUEUES, QUEUE_SHIFT } from '../core/layout';
import { JOB_NEXT } from './job';
import { TASK_WAIT_NEXT } from './task';

export const QUEUE_HEAD: usize = QUEUES + 0;
export const QUEUE_TAIL: usize = QUEUES + 4;
export const QUEUE_NR: usize = QUEUES + 8;
export const QUEUE_WAITER_HEAD: usize = QUEUES + 12;
export const QUEUE_WAITER_TAIL: usize = QUEUES + 16;
export const QUEUE_CAPACITY: usize = QUEUES + 20;

let used: u32 = 0;

export function queuesReset(): void {
  used = 0;
}

/** A new empty queue; one too many ends the run. */
export function queueCreate(capacity: u32): u32 {
  if (used >= MAX_QUEUES) {
    fail(FAIL_QUEUES, 0, 0, MAX_QUEUES);
    return 0;
  }
  const q = used << QUEUE_SHIFT;
  used++;
  memory.fill(QUEUES + q, 0, 1 << QUEUE_SHIFT);
  store<u32>(q, capacity, QUEUE_CAPACITY);
  return q;
}

export function queuesUsed(): u32 {
  return used;
}

/** A job waits in any of the queues. */
export function anyQueued(): bool {
  for (let k: u32 = 0; k < used; k++) if (!queueIsEmpty(k << QUEUE_SHIFT)) return true;
  return false;
}

export function queuePush(q: u32, j: u32): void {
  store<u32>(j, 0, JOB_NEXT);
  const tail = load<u32>(q, QUEUE_TAIL);
  if (tail != 0) store<u32>(tail, j, JOB_NEXT);
  else store<u32>(q, j, QUEUE_HEAD);
  store<u32>(q, j, QUEUE_TAIL);
  store<u32>(q, load<u32>(q, QUEUE_NR) + 1, QUEUE_NR);
}

/** As many jobs wait as may. A queue with a receiver waiting is empty. */
export function queueIsFull(q: u32): bool {
  const capacity = load<u32>(q, QUEUE_CAPACITY);
  return capacity != 0 && load<u32>(q, QUEUE_NR) >= capacity;
}

// @ts-ignore: decorator
@inline
export function queueIsEmpty(q: u32): bool {
  return load<u32>(q, QUEUE_HEAD) == 0;
}

/** The first job, 0 if none. */
export function queuePop(q: u32): u32 {
  const j = load<u32>(q, QUEUE_HEAD);
  if (j == 0) return 0;
  const next = load<u32>(j, JOB_NEXT);
  store<u32>(q, next, QUEUE_HEAD);
  if (next == 0) store<u32>(q, 0, QUEUE_TAIL);
  store<u32>(q, load<u32>(q, QUEUE_NR) - 1, QUEUE_NR);
  return j;
}

export function queueAddWaiter(q: u32, t: u32): void {
  store<u32>(t, 0, TASK_WAIT_NEXT);
  const tail = load<u32>(q, QUEUE_WAITER_TAIL);
  if (tail != 0) store<u32>(tail, t, TASK_WAIT_NEXT);
  else store<u32>(q, t, QUEUE_WAITER_HEAD);
  store<u32>(q, t, QUEUE_WAITER_TAIL);
}

/** The task that has waited longest, 0 if none. */
export function queueTakeWaiter(q: u32): u32 {
  const t = load<u32>(q, QUEUE_WAITER_HEAD);
  if (t == 0) return 0;
  const next = load<u32>(t, TASK_WAIT_NEXT);
  store<u32>(q, next, QUEUE_WAITER_HEAD);
  if (next == 0) store<u32>(q, 0, QUEUE_WAITER_TAIL);
  return t;
}
