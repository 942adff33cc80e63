// The worker's queue: a binary heap of job handles by (priority, number of entry), so that equal priorities leave in the
// order in which they came, and a job whose client gives up can leave from the middle. Slot 1 is the head.

import {
  P_QUEUE_ORDER,
  QUEUE_COLD_LAST,
  QUEUE_EARLIEST_DEADLINE,
  QUEUE_SHORTEST_EXPECTED,
  QUEUE_SMALLEST_IAT,
} from '../abi';
import { count, counter, param, QUEUE_AREA, QUEUE_PEAK, QUEUE_SINCE, setCounter } from '../core/counters';
import { WORKER_QUEUE } from '../core/layout';
import { now } from '../kernel/events';
import { JOB_ARRIVAL, JOB_FUNCTION, JOB_PRIORITY, JOB_QUEUE_SEQUENCE, JOB_QUEUE_SLOT } from '../kernel/job';
import { hasFreeContainer } from './containers';
import { functionExpected, functionIat } from './iat';

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
function at(slot: u32): u32 {
  return load<u32>(slot << 2, WORKER_QUEUE - 4);
}

// @ts-ignore: decorator
@inline
function place(slot: u32, j: u32): void {
  store<u32>(slot << 2, j, WORKER_QUEUE - 4);
  store<u32>(j, slot, JOB_QUEUE_SLOT);
}

// @ts-ignore: decorator
@inline
function before(a: u32, b: u32): bool {
  const pa = load<u64>(a, JOB_PRIORITY);
  const pb = load<u64>(b, JOB_PRIORITY);
  return pa != pb ? pa < pb : load<u64>(a, JOB_QUEUE_SEQUENCE) < load<u64>(b, JOB_QUEUE_SEQUENCE);
}

export function workerQueuePush(j: u32): void {
  integrateQueue();
  store<u64>(j, priorityOf(j), JOB_PRIORITY);
  store<u64>(j, entered++, JOB_QUEUE_SEQUENCE);
  length++;
  if ((length as u64) > counter(QUEUE_PEAK)) setCounter(QUEUE_PEAK, length);
  siftUp(length, j);
}

/** The job to be served next, 0 if none waits. */
export function workerQueueHead(): u32 {
  return length == 0 ? 0 : at(1);
}

/** Takes j out, wherever it is. */
export function workerQueueRemove(j: u32): void {
  integrateQueue();
  const slot = load<u32>(j, JOB_QUEUE_SLOT);
  store<u32>(j, 0, JOB_QUEUE_SLOT);
  const last = at(length);
  length--;
  if (last == j) return;
  if (slot > 1 && before(last, at(slot >> 1))) siftUp(slot, last);
  else siftDown(slot, last);
}

function siftUp(from: u32, j: u32): void {
  let slot = from;
  while (slot > 1) {
    const parent = at(slot >> 1);
    if (!before(j, parent)) break;
    place(slot, parent);
    slot >>= 1;
  }
  place(slot, j);
}

function siftDown(from: u32, j: u32): void {
  let slot = from;
  for (;;) {
    let child = slot << 1;
    if (child > length) break;
    if (child < length && before(at(child + 1), at(child))) child++;
    if (!before(at(child), j)) break;
    place(slot, at(child));
    slot = child;
  }
  place(slot, j);
}
