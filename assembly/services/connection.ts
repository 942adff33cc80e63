// Connections between instances: pools (so many requests at once from one instance to another), blocking connections (one request
// at a time, as in HTTP/1.1), and connections of a service that a request holds until it leaves a node.
//
// Edge, 80 B:
//    0  u32 most requests, 0 = no bound    16  u32 from, u32 to                     32  u64 calls that took it
//    4  u32 requests on it                 24  u32 lines by connection, 0 = none    40  u64 calls that waited
//    8  u32 first, u32 last call waiting   28  u32 calls waiting                    48  u64 time they waited, ns   56  u64 most waiting
//
// Line, 16 B: u32 request that has the connection, u32 first, u32 last call waiting, u32 reserved. A line per connection.
//
// What a request has taken is in its list (REQUEST_JOINS): a call record whose node is the edge or line, with CALL_TAKEN. The
// connection of an edge is free again when a call of the request comes (back) to the instance that it left from, or when the request
// ends; a client's when the reply has come or it has given up.

import { now } from '../kernel/events';
import {
  CALL_CONNECTION,
  CALL_FLAGS,
  CALL_FROM,
  CALL_INSTANCE,
  CALL_NEXT,
  CALL_NODE,
  CALL_REQUEST,
  CALL_TIME,
  callAllocate,
  callFree,
  REQUEST_JOINS,
} from './call';
import { dispatchFromClient } from './request';
import { dispatch, enter } from './route';
import { INSTANCE_EDGE_COUNT, INSTANCE_EDGES, INSTANCE_HOLDS, NODE_HOLD } from './records';

export const EDGE_BYTES: usize = 80;
export const EDGE_LIMIT: usize = 0;
const EDGE_USED: usize = 4;
export const EDGE_FIRST: usize = 8;
const EDGE_LAST: usize = 12;
export const EDGE_FROM: usize = 16;
export const EDGE_TO: usize = 20;
export const EDGE_LINES: usize = 24;
const EDGE_WAITING: usize = 28;
export const EDGE_CALLS: usize = 32;
export const EDGE_WAITED: usize = 40;
export const EDGE_WAITED_NS: usize = 48;
export const EDGE_MOST_WAITING: usize = 56;

export const LINE_SHIFT: u32 = 4;
const LINE_HOLDER: usize = 0;
export const LINE_FIRST: usize = 4;
const LINE_LAST: usize = 8;

/** Flags of a record in a request's list: not a join but a connection taken, of an edge, or of a service. */
export const CALL_TAKEN: u32 = 0x100;
export const CALL_HELD: u32 = 0x200;
/** … or the instance of a service that its balancer chose for the request. */
export const CALL_CHOSEN: u32 = 0x1000;
/** Of a waiting call: it goes on through the network. */
const CALL_BY_NETWORK: u32 = 0x400;

// ---- what requests have taken ----------------------------------------------------------------------------

/** Keeps in the request's list that it has taken `what`. */
export function note(request: u32, what: u32, connection: u32, flag: u32): void {
  const record = callAllocate();
  if (record == 0) return;
  store<u32>(record, what, CALL_NODE);
  store<u32>(record, connection, CALL_CONNECTION);
  store<u32>(record, flag, CALL_FLAGS);
  store<u32>(record, load<u32>(request, REQUEST_JOINS), CALL_NEXT);
  store<u32>(request, record, REQUEST_JOINS);
}

/** The instance of a service that its balancer chose for the request, 0 if none yet. */
export function chosenInstance(request: u32, service: u32): u32 {
  for (let record = load<u32>(request, REQUEST_JOINS); record != 0; record = load<u32>(record, CALL_NEXT)) {
    if (load<u32>(record, CALL_FLAGS) == CALL_CHOSEN && load<u32>(record, CALL_NODE) == service) return load<u32>(record, CALL_CONNECTION);
  }
  return 0;
}

function forget(request: u32, record: u32): void {
  let before: u32 = 0;
  for (let k = load<u32>(request, REQUEST_JOINS); k != record; k = load<u32>(k, CALL_NEXT)) before = k;
  const next = load<u32>(record, CALL_NEXT);
  if (before != 0) store<u32>(before, next, CALL_NEXT);
  else store<u32>(request, next, REQUEST_JOINS);
  callFree(record);
}

/** The request ends: everything that it has taken is free again, and joins that never came to be are gone. */
export function releaseAll(request: u32): void {
  let record = load<u32>(request, REQUEST_JOINS);
  while (record != 0) {
    const flags = load<u32>(record, CALL_FLAGS);
    const what = load<u32>(record, CALL_NODE);
    const connection = load<u32>(record, CALL_CONNECTION);
    store<u32>(request, load<u32>(record, CALL_NEXT), REQUEST_JOINS);
    callFree(record);
    if ((flags & CALL_TAKEN) != 0) freeEdge(what, connection);
    else if ((flags & CALL_HELD) != 0) freeLine(what);
    record = load<u32>(request, REQUEST_JOINS);
  }
}

/** The client has its reply, or has given up: its own connection is free again. */
export function releaseClient(request: u32): void {
  for (let record = load<u32>(request, REQUEST_JOINS); record != 0; record = load<u32>(record, CALL_NEXT)) {
    if ((load<u32>(record, CALL_FLAGS) & CALL_TAKEN) == 0 || load<u32>(load<u32>(record, CALL_NODE), EDGE_FROM) != 0) continue;
    const edge = load<u32>(record, CALL_NODE);
    const connection = load<u32>(record, CALL_CONNECTION);
    forget(request, record);
    freeEdge(edge, connection);
    return;
  }
}

/** A call of the request comes to `instance`: the connection that leads from there to where it comes from is free again. */
export function releaseFrom(instance: u32, call: u32): void {
  const request = load<u32>(call, CALL_REQUEST);
  const sender = load<u32>(call, CALL_FROM);
  let found: u32 = 0;
  for (let record = load<u32>(request, REQUEST_JOINS); record != 0; record = load<u32>(record, CALL_NEXT)) {
    if ((load<u32>(record, CALL_FLAGS) & CALL_TAKEN) == 0) continue;
    const edge = load<u32>(record, CALL_NODE);
    if (load<u32>(edge, EDGE_FROM) != instance) continue;
    found = record;
    if (load<u32>(edge, EDGE_TO) == sender) break;
  }
  if (found == 0) return;
  const edge = load<u32>(found, CALL_NODE);
  const connection = load<u32>(found, CALL_CONNECTION);
  forget(request, found);
  freeEdge(edge, connection);
}

// ---- edges -----------------------------------------------------------------------------------------------

/** Takes a connection for a call from an instance, if its edge has bounds. False: it waits for one. */
export function takeEdge(from: u32, call: u32, network: bool): bool {
  const edges = load<u32>(from, INSTANCE_EDGES);
  const to = load<u32>(call, CALL_INSTANCE);
  for (let i: u32 = 0, n = load<u32>(from, INSTANCE_EDGE_COUNT); i < n; i++) {
    const edge = load<u32>(edges + (i << 2));
    if (load<u32>(edge, EDGE_TO) == to) return take(edge, call, network);
  }
  return true;
}

/** As takeEdge(), for a given edge. */
export function take(edge: u32, call: u32, network: bool): bool {
  store<u32>(call, (load<u32>(call, CALL_FLAGS) & ~CALL_BY_NETWORK) | (network ? CALL_BY_NETWORK : 0), CALL_FLAGS);
  store<u64>(call, now, CALL_TIME);
  const lines = load<u32>(edge, EDGE_LINES);
  if (lines != 0) {
    const line = lines + (load<u32>(call, CALL_CONNECTION) << LINE_SHIFT);
    if (load<u32>(line, LINE_HOLDER) != 0) {
      append(line + (LINE_FIRST as u32), call);
      countWaiting(edge, 1);
      return false;
    }
    store<u32>(line, load<u32>(call, CALL_REQUEST), LINE_HOLDER);
  }
  return takeSlot(edge, call);
}

/** With its connection, if the edge blocks: one of the pool, too. */
function takeSlot(edge: u32, call: u32): bool {
  const limit = load<u32>(edge, EDGE_LIMIT);
  const used = load<u32>(edge, EDGE_USED);
  if (limit != 0 && used == limit) {
    append(edge + (EDGE_FIRST as u32), call);
    countWaiting(edge, 1);
    return false;
  }
  store<u32>(edge, used + 1, EDGE_USED);
  store<u64>(edge, load<u64>(edge, EDGE_CALLS) + 1, EDGE_CALLS);
  note(load<u32>(call, CALL_REQUEST), edge, load<u32>(call, CALL_CONNECTION), CALL_TAKEN);
  return true;
}

function freeEdge(edge: u32, connection: u32): void {
  store<u32>(edge, load<u32>(edge, EDGE_USED) - 1, EDGE_USED);
  const lines = load<u32>(edge, EDGE_LINES);
  if (lines != 0) {
    const line = lines + (connection << LINE_SHIFT);
    store<u32>(line, 0, LINE_HOLDER);
    const call = takeFirst(line + (LINE_FIRST as u32));
    if (call != 0) {
      countWaiting(edge, -1);
      store<u32>(line, load<u32>(call, CALL_REQUEST), LINE_HOLDER);
      if (takeSlot(edge, call)) goOn(edge, call);
    }
  }
  const limit = load<u32>(edge, EDGE_LIMIT);
  if (limit == 0 || load<u32>(edge, EDGE_USED) == limit) return;
  const call = takeFirst(edge + (EDGE_FIRST as u32));
  if (call == 0) return;
  countWaiting(edge, -1);
  if (takeSlot(edge, call)) goOn(edge, call);
}

/** A call that has waited goes on its way. */
function goOn(edge: u32, call: u32): void {
  store<u64>(edge, load<u64>(edge, EDGE_WAITED) + 1, EDGE_WAITED);
  store<u64>(edge, load<u64>(edge, EDGE_WAITED_NS) + (now - load<u64>(call, CALL_TIME)), EDGE_WAITED_NS);
  const from = load<u32>(edge, EDGE_FROM);
  if (from == 0) dispatchFromClient(call);
  else dispatch(call, from, (load<u32>(call, CALL_FLAGS) & CALL_BY_NETWORK) != 0);
}

function countWaiting(edge: u32, change: i32): void {
  const waiting = load<u32>(edge, EDGE_WAITING) + change;
  store<u32>(edge, waiting, EDGE_WAITING);
  if ((waiting as u64) > load<u64>(edge, EDGE_MOST_WAITING)) store<u64>(edge, waiting, EDGE_MOST_WAITING);
}

// ---- connections held by a service -----------------------------------------------------------------------

/** A call comes to an instance where connections are held. False: another request holds its connection; it waits. */
export function holds(instance: u32, call: u32): bool {
  const line = load<u32>(instance, INSTANCE_HOLDS) + (load<u32>(call, CALL_CONNECTION) << LINE_SHIFT);
  const request = load<u32>(call, CALL_REQUEST);
  const holder = load<u32>(line, LINE_HOLDER);
  if (holder != 0 && holder != request) {
    append(line + (LINE_FIRST as u32), call);
    return false;
  }
  if (holder == 0 && load<u32>(load<u32>(call, CALL_NODE), NODE_HOLD) != 0) {
    store<u32>(line, request, LINE_HOLDER);
    note(request, line, load<u32>(call, CALL_CONNECTION), CALL_HELD);
  }
  return true;
}

/** The call ends the node until which its request holds a connection. */
export function releaseHeld(instance: u32, call: u32): void {
  const holds = load<u32>(instance, INSTANCE_HOLDS);
  if (holds == 0) return;
  const line = holds + (load<u32>(call, CALL_CONNECTION) << LINE_SHIFT);
  const request = load<u32>(call, CALL_REQUEST);
  if (load<u32>(line, LINE_HOLDER) != request) return;
  for (let record = load<u32>(request, REQUEST_JOINS); record != 0; record = load<u32>(record, CALL_NEXT)) {
    if ((load<u32>(record, CALL_FLAGS) & CALL_HELD) == 0 || load<u32>(record, CALL_NODE) != line) continue;
    forget(request, record);
    break;
  }
  freeLine(line);
}

/** Calls that wait for the connection enter, up to the first that holds it. */
function freeLine(line: u32): void {
  store<u32>(line, 0, LINE_HOLDER);
  while (load<u32>(line, LINE_HOLDER) == 0) {
    const call = takeFirst(line + (LINE_FIRST as u32));
    if (call == 0) return;
    const request = load<u32>(call, CALL_REQUEST);
    if (load<u32>(load<u32>(call, CALL_NODE), NODE_HOLD) != 0) {
      store<u32>(line, request, LINE_HOLDER);
      note(request, line, load<u32>(call, CALL_CONNECTION), CALL_HELD);
    }
    enter(call);
  }
}

// ---- lists of waiting calls: u32 first, u32 last ---------------------------------------------------------

function append(list: u32, call: u32): void {
  store<u32>(call, 0, CALL_NEXT);
  const last = load<u32>(list, 4);
  if (last != 0) store<u32>(last, call, CALL_NEXT);
  else store<u32>(list, call);
  store<u32>(list, call, 4);
}

function takeFirst(list: u32): u32 {
  const call = load<u32>(list);
  if (call == 0) return 0;
  const next = load<u32>(call, CALL_NEXT);
  store<u32>(list, next);
  if (next == 0) store<u32>(list, 0, 4);
  return call;
}
