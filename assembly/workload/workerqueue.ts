// The worker's queue: a binary heap of jobs by (priority, number of entry), so that equal priorities leave in the order in
// which they came, and a job whose client gives up can leave from the middle. Slot 1 is the head.
//
// An entry, 16 B, has its keys with it, since the records of jobs that wait for long are in no cache:
//
//     0  u64 priority
//     8  u64 ticket      number of entry << 18 | slot of the job

import {
  P_QUEUE_ORDER,
  QUEUE_COLD_LAST,
  QUEUE_EARLIEST_DEADLINE,
  QUEUE_SHORTEST_EXPECTED,
  QUEUE_SMALLEST_IAT,
} from '../abi';
import { count, counter, param, QUEUE_AREA, QUEUE_PEAK, QUEUE_SINCE, setCounter } from '../core/counters';
import { JOB_SHIFT, MAX_JOBS, WORKER_QUEUE } from '../core/layout';
import { now } from '../kernel/events';
import { JOB_ARRIVAL, JOB_FUNCTION, JOB_QUEUE_SLOT } from '../kernel/job';
import { hasFreeContainer } from './containers';
import { functionExpected, functionIat } from './iat';

const SLOT_BITS: u32 = 18;

let order: u32 = 0;
let length: u32 = 0;
let entered: u64 = 0;

export function workerQueueInit(): void {
  order = param(P_QUEUE_ORDER) as u32;
  length = 0;
  entered = 0;
}

export function workerQueueLength(): u32 {
  return length;
}

/** Brings the integral of the queue's length up to the clock. */
export function integrateQueue(): void {
  count(QUEUE_AREA, (length as u64) * (now - counter(QUEUE_SINCE)));
  setCounter(QUEUE_SINCE, now);
}

/** Lower leaves first. */
function priorityOf(j: u32): u64 {
  const f = load<u32>(j, JOB_FUNCTION);
  switch (order) {
    case QUEUE_SHORTEST_EXPECTED:
      return functionExpected(f);
    case QUEUE_EARLIEST_DEADLINE:
      return load<u64>(j, JOB_ARRIVAL) + functionExpected(f);
    case QUEUE_SMALLEST_IAT:
      return functionIat(f);
    case QUEUE_COLD_LAST:
      return hasFreeContainer(f) ? 0 : 1;
  }
  return 0;
}

// @ts-ignore: decorator
@inline
function priorityAt(slot: u32): u64 {
  return load<u64>(slot << 4, WORKER_QUEUE - 16);
}

// @ts-ignore: decorator
@inline
function ticketAt(slot: u32): u64 {
  return load<u64>(slot << 4, WORKER_QUEUE - 8);
}

// @ts-ignore: decorator
@inline
function jobOf(ticket: u64): u32 {
  return ((ticket as u32) & (MAX_JOBS - 1)) << JOB_SHIFT;
}

// @ts-ignore: decorator
@inline
function place(slot: u32, priority: u64, ticket: u64): void {
  store<u64>(slot << 4, priority, WORKER_QUEUE - 16);
  store<u64>(slot << 4, ticket, WORKER_QUEUE - 8);
  store<u32>(jobOf(ticket), slot, JOB_QUEUE_SLOT);
}

/** The entry in `slot` leaves after one with these keys. */
// @ts-ignore: decorator
@inline
function isBehind(slot: u32, priority: u64, ticket: u64): bool {
  const other = priorityAt(slot);
  return other != priority ? priority < other : ticket < ticketAt(slot);
}

export function workerQueuePush(j: u32): void {
  integrateQueue();
  const ticket = (entered++ << SLOT_BITS) | ((j >> JOB_SHIFT) as u64);
  length++;
  if ((length as u64) > counter(QUEUE_PEAK)) setCounter(QUEUE_PEAK, length);
  siftUp(length, priorityOf(j), ticket);
}

/** The job to be served next, 0 if none waits. */
export function workerQueueHead(): u32 {
  return length == 0 ? 0 : jobOf(ticketAt(1));
}

/** Takes j out, wherever it is. */
export function workerQueueRemove(j: u32): void {
  integrateQueue();
  const slot = load<u32>(j, JOB_QUEUE_SLOT);
  store<u32>(j, 0, JOB_QUEUE_SLOT);
  const priority = priorityAt(length);
  const ticket = ticketAt(length);
  length--;
  if (jobOf(ticket) == j) return;
  if (slot > 1 && isBehind(slot >> 1, priority, ticket)) siftUp(slot, priority, ticket);
  else siftDown(slot, priority, ticket);
}

function siftUp(from: u32, priority: u64, ticket: u64): void {
  let slot = from;
  for (; slot > 1 && isBehind(slot >> 1, priority, ticket); slot >>= 1) {
    place(slot, priorityAt(slot >> 1), ticketAt(slot >> 1));
  }
  place(slot, priority, ticket);
}

function siftDown(from: u32, priority: u64, ticket: u64): void {
  let slot = from;
  for (;;) {
    let child = slot << 1;
    if (child > length) break;
    if (child < length && isBehind(child, priorityAt(child + 1), ticketAt(child + 1))) child++;
    if (isBehind(child, priority, ticket)) break;
    place(slot, priorityAt(child), ticketAt(child));
    slot = child;
  }
  place(slot, priority, ticket);
}
