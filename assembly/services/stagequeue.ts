// Queues of stages: first come, first served, replies before requests; or by connection, for stages that take the calls of
// one connection or the first call of each. Such a queue is a list of the connections with calls, in the order of their
// first calls, and a list of calls for each; so a batch costs as much as it has calls, however long the queue is.

import { TAKE_ALL, TAKE_CONNECTION, TAKE_HEADS, TAKE_ONE } from '../abi';
import { CALL_BYTES, CALL_CONNECTION, CALL_FLAGS, CALL_NEXT, CALL_REPLY, CALL_TIME } from './call';
import {
  CONNECTION_COUNT,
  CONNECTION_FIRST,
  CONNECTION_LAST,
  CONNECTION_NEXT,
  CONNECTION_SHIFT,
  STAGE_QUEUE_ACTIVE,
  STAGE_QUEUE_CONNECTIONS,
  STAGE_QUEUE_COUNT,
  STAGE_QUEUE_FIRST,
  STAGE_QUEUE_LAST,
  STAGE_QUEUE_REPLY,
} from './records';

/** The batch under construction: list of calls, their number, connections and bytes. */
export let batchFirst: u32 = 0;
export let batchJobs: u32 = 0;
export let batchConnections: u32 = 0;
export let batchBytes: u64 = 0;
let batchLast: u32 = 0;

export function batchBegin(): void {
  batchFirst = 0;
  batchLast = 0;
  batchJobs = 0;
  batchConnections = 0;
  batchBytes = 0;
}

// @ts-ignore: decorator
@inline
function batchAdd(c: u32): void {
  store<u32>(c, 0, CALL_NEXT);
  if (batchLast != 0) store<u32>(batchLast, c, CALL_NEXT);
  else batchFirst = c;
  batchLast = c;
  batchJobs++;
  batchBytes += load<u32>(c, CALL_BYTES) as u64;
}

/** The call that is next in the queue, which is not empty. */
// @ts-ignore: decorator
@inline
export function stageQueueHead(q: u32): u32 {
  const first = load<u32>(q, STAGE_QUEUE_FIRST);
  return load<u32>(q, STAGE_QUEUE_CONNECTIONS) == 0 ? first : load<u32>(first, CONNECTION_FIRST);
}

// @ts-ignore: decorator
@inline
function changeCount(q: u32, change: i32): void {
  store<u32>(q, load<u32>(q, STAGE_QUEUE_COUNT) + change, STAGE_QUEUE_COUNT);
}

/** Puts a call into the queue. `reverse`: before the calls of the same instant, as the µqSim release does, except the first of all. */
// @ts-ignore: decorator
@inline
export function stageQueuePush(q: u32, c: u32, reverse: bool): void {
  changeCount(q, 1);
  store<u32>(c, 0, CALL_NEXT);
  if (load<u32>(q, STAGE_QUEUE_CONNECTIONS) != 0) {
    if (reverse) pushByConnectionReversed(q, c);
    else pushByConnection(q, c);
    return;
  }
  const last = load<u32>(q, STAGE_QUEUE_LAST);
  if ((load<u32>(c, CALL_FLAGS) & CALL_REPLY) != 0) {
    pushReply(q, c, last);
    return;
  }
  if (last == 0) {
    store<u32>(q, c, STAGE_QUEUE_FIRST);
  } else {
    if (reverse && load<u64>(last, CALL_TIME) == load<u64>(c, CALL_TIME)) {
      pushReversed(q, c);
      return;
    }
    store<u32>(last, c, CALL_NEXT);
  }
  store<u32>(q, c, STAGE_QUEUE_LAST);
}

function pushReply(q: u32, c: u32, last: u32): void {
  const reply = load<u32>(q, STAGE_QUEUE_REPLY);
  if (reply != 0) {
    store<u32>(c, load<u32>(reply, CALL_NEXT), CALL_NEXT);
    store<u32>(reply, c, CALL_NEXT);
  } else {
    store<u32>(c, load<u32>(q, STAGE_QUEUE_FIRST), CALL_NEXT);
    store<u32>(q, c, STAGE_QUEUE_FIRST);
  }
  if (last == 0 || last == reply) store<u32>(q, c, STAGE_QUEUE_LAST);
  store<u32>(q, c, STAGE_QUEUE_REPLY);
}

/** Behind the last call of an earlier instant, but never before the first of the queue. */
function pushReversed(q: u32, c: u32): void {
  const time = load<u64>(c, CALL_TIME);
  let after = load<u32>(q, STAGE_QUEUE_FIRST);
  for (let k = load<u32>(after, CALL_NEXT); k != 0; k = load<u32>(k, CALL_NEXT)) {
    if (load<u64>(k, CALL_TIME) == time && (load<u32>(k, CALL_FLAGS) & CALL_REPLY) == 0) break;
    after = k;
  }
  store<u32>(c, load<u32>(after, CALL_NEXT), CALL_NEXT);
  store<u32>(after, c, CALL_NEXT);
  if (load<u32>(c, CALL_NEXT) == 0) store<u32>(q, c, STAGE_QUEUE_LAST);
}

function pushByConnection(q: u32, c: u32): void {
  const k = load<u32>(q, STAGE_QUEUE_CONNECTIONS) + (load<u32>(c, CALL_CONNECTION) << CONNECTION_SHIFT);
  const calls = load<u32>(k, CONNECTION_COUNT);
  store<u32>(k, calls + 1, CONNECTION_COUNT);
  if (calls != 0) {
    store<u32>(load<u32>(k, CONNECTION_LAST), c, CALL_NEXT);
  } else {
    store<u32>(k, c, CONNECTION_FIRST);
    store<u32>(q, load<u32>(q, STAGE_QUEUE_ACTIVE) + 1, STAGE_QUEUE_ACTIVE);
    store<u32>(k, 0, CONNECTION_NEXT);
    const last = load<u32>(q, STAGE_QUEUE_LAST);
    if (last != 0) store<u32>(last, k, CONNECTION_NEXT);
    else store<u32>(q, k, STAGE_QUEUE_FIRST);
    store<u32>(q, k, STAGE_QUEUE_LAST);
  }
  store<u32>(k, c, CONNECTION_LAST);
}

/** As pushReversed(), in a queue by connection. */
function pushByConnectionReversed(q: u32, c: u32): void {
  const k = load<u32>(q, STAGE_QUEUE_CONNECTIONS) + (load<u32>(c, CALL_CONNECTION) << CONNECTION_SHIFT);
  const time = load<u64>(c, CALL_TIME);
  const first = load<u32>(q, STAGE_QUEUE_FIRST);
  if (first == 0 || (load<u32>(k, CONNECTION_COUNT) != 0 && load<u64>(load<u32>(k, CONNECTION_LAST), CALL_TIME) < time)) {
    pushByConnection(q, c);
    return;
  }
  let before: u32 = k == first ? load<u32>(k, CONNECTION_FIRST) : 0;
  let next: u32 = before != 0 ? load<u32>(before, CALL_NEXT) : load<u32>(k, CONNECTION_COUNT) != 0 ? load<u32>(k, CONNECTION_FIRST) : 0;
  while (next != 0 && load<u64>(next, CALL_TIME) < time) {
    before = next;
    next = load<u32>(next, CALL_NEXT);
  }
  store<u32>(c, next, CALL_NEXT);
  if (next == 0) store<u32>(k, c, CONNECTION_LAST);
  const calls = load<u32>(k, CONNECTION_COUNT);
  store<u32>(k, calls + 1, CONNECTION_COUNT);
  if (before != 0) {
    store<u32>(before, c, CALL_NEXT);
    return;
  }
  store<u32>(k, c, CONNECTION_FIRST);
  if (calls == 0) store<u32>(q, load<u32>(q, STAGE_QUEUE_ACTIVE) + 1, STAGE_QUEUE_ACTIVE);
  else unlinkConnection(q, k);
  let after = load<u32>(q, STAGE_QUEUE_FIRST);
  for (let i = load<u32>(after, CONNECTION_NEXT); i != 0 && load<u64>(load<u32>(i, CONNECTION_FIRST), CALL_TIME) < time; i = load<u32>(i, CONNECTION_NEXT)) after = i;
  linkConnection(q, k, after);
}

/** The first call, which is taken out of a queue that is not by connection and not empty. */
// @ts-ignore: decorator
@inline
export function stageQueuePop(q: u32): u32 {
  const c = load<u32>(q, STAGE_QUEUE_FIRST);
  const next = load<u32>(c, CALL_NEXT);
  store<u32>(q, next, STAGE_QUEUE_FIRST);
  if (next == 0) store<u32>(q, 0, STAGE_QUEUE_LAST);
  if (load<u32>(q, STAGE_QUEUE_REPLY) == c) store<u32>(q, 0, STAGE_QUEUE_REPLY);
  changeCount(q, -1);
  return c;
}

/** Adds to the batch what a stage takes from its queue: TAKE_…, at most `limit` (0 = no bound), of `connection` with TAKE_CONNECTION. Returns the number of calls. */
export function stageQueueTake(q: u32, take: u32, limit: u32, connection: u32): u32 {
  const before = batchJobs;
  if (limit == 0) limit = u32.MAX_VALUE;
  if (take == TAKE_ONE) {
    batchAdd(stageQueuePop(q));
  } else if (take == TAKE_ALL) {
    for (let n: u32 = 0; n < limit && load<u32>(q, STAGE_QUEUE_COUNT) != 0; n++) batchAdd(stageQueuePop(q));
  } else if (take == TAKE_CONNECTION) {
    takeConnection(q, connection, limit);
  } else {
    takeHeads(q, limit);
  }
  return batchJobs - before;
}

/** Up to `limit` calls of connection record k; its list afterwards begins with what is left. */
function takeOf(q: u32, k: u32, limit: u32): void {
  let c = load<u32>(k, CONNECTION_FIRST);
  const have = load<u32>(k, CONNECTION_COUNT);
  const n = have < limit ? have : limit;
  for (let i: u32 = 0; i < n; i++) {
    const next = load<u32>(c, CALL_NEXT);
    batchAdd(c);
    c = next;
  }
  store<u32>(k, c, CONNECTION_FIRST);
  store<u32>(k, have - n, CONNECTION_COUNT);
  changeCount(q, -(n as i32));
  batchConnections++;
  if (have == n) store<u32>(q, load<u32>(q, STAGE_QUEUE_ACTIVE) - 1, STAGE_QUEUE_ACTIVE);
}

function takeConnection(q: u32, connection: u32, limit: u32): void {
  const k = load<u32>(q, STAGE_QUEUE_CONNECTIONS) + (connection << CONNECTION_SHIFT);
  if (load<u32>(k, CONNECTION_COUNT) == 0) return;
  unlinkConnection(q, k);
  takeOf(q, k, limit);
  if (load<u32>(k, CONNECTION_COUNT) != 0) insertConnection(q, k);
}

function unlinkConnection(q: u32, k: u32): void {
  let before: u32 = 0;
  for (let i = load<u32>(q, STAGE_QUEUE_FIRST); i != k; i = load<u32>(i, CONNECTION_NEXT)) before = i;
  const next = load<u32>(k, CONNECTION_NEXT);
  if (before != 0) store<u32>(before, next, CONNECTION_NEXT);
  else store<u32>(q, next, STAGE_QUEUE_FIRST);
  if (next == 0) store<u32>(q, before, STAGE_QUEUE_LAST);
}

/** Puts connection k behind `before`, 0 = first. */
function linkConnection(q: u32, k: u32, before: u32): void {
  const next = before != 0 ? load<u32>(before, CONNECTION_NEXT) : load<u32>(q, STAGE_QUEUE_FIRST);
  store<u32>(k, next, CONNECTION_NEXT);
  if (before != 0) store<u32>(before, k, CONNECTION_NEXT);
  else store<u32>(q, k, STAGE_QUEUE_FIRST);
  if (next == 0) store<u32>(q, k, STAGE_QUEUE_LAST);
}

function takeHeads(q: u32, limit: u32): void {
  let k = load<u32>(q, STAGE_QUEUE_FIRST);
  store<u32>(q, 0, STAGE_QUEUE_FIRST);
  store<u32>(q, 0, STAGE_QUEUE_LAST);
  while (k != 0) {
    const next = load<u32>(k, CONNECTION_NEXT);
    takeOf(q, k, limit);
    if (load<u32>(k, CONNECTION_COUNT) != 0) insertConnection(q, k);
    k = next;
  }
}

/** Puts a connection back in the order of first calls, behind those of the same time. */
function insertConnection(q: u32, k: u32): void {
  const time = load<u64>(load<u32>(k, CONNECTION_FIRST), CALL_TIME);
  const last = load<u32>(q, STAGE_QUEUE_LAST);
  let before: u32 = 0;
  if (last != 0 && load<u64>(load<u32>(last, CONNECTION_FIRST), CALL_TIME) <= time) {
    before = last;
  } else {
    for (let i = load<u32>(q, STAGE_QUEUE_FIRST); i != 0; i = load<u32>(i, CONNECTION_NEXT)) {
      if (load<u64>(load<u32>(i, CONNECTION_FIRST), CALL_TIME) > time) break;
      before = i;
    }
  }
  linkConnection(q, k, before);
}

/** TAKE_… that need a queue by connection. */
export function byConnection(take: u32): bool {
  return take == TAKE_CONNECTION || take == TAKE_HEADS;
}
