// Calls and requests. A request is what the client sends; a call is one copy of it on its way: to a service, in a queue of it,
// on a wire. A request ends with its last call. Both are addressed directly; freed records are linked through their first field.
//
// Call, 64 B:
//    0  u32 next        in a queue, batch or wire        32  u64 entered     arrival at the service
//    4  u32 request                                      40  u64 time        since when it waits; on a wire: when it is due
//    8  u32 node        that it goes to or is at         48  u32 bytes
//   12  u32 connection                                   52  u32 left        a join: calls still to come; else node it
//                                                            comes from, as index + 1, 0 = the client
//   16  u32 instance   that it goes to or is at          56  u32 from        instance it was sent by, 0 = the client
//   20  u32 thread      that must serve it, 0 = any      60  u32 hop         HOP_
//   24  u32 flags
//   28  u16 path, u16 stage
//
// A join (node with NODE_JOINS) keeps a call record of its own in the request's list until all calls have come; so does a
// connection that the request holds (connection.ts).
//
// Request, 64 B:
//    0  u32 calls       on their way                     32  u32 joins       list of join records
//    4  u32 connection                                   36  u32 timer       delivery at which the client gives up, 0
//    8  u64 start                                        40  u64 end         of the calls that have ended, latest
//   16  u64 key         of its random draws              48  u16 state, u16 attempt
//   24  u64 ordinal                                     52  u32 stats       class of its kind, NONE
//                                                       56  u64 due         what its latency counts from

import { ALIVE, ARRIVED, count, counter, setCounter } from '../core/counters';
import { fail, FAIL_CALLS, FAIL_REQUESTS } from '../core/failure';
import { CALLS, MAX_CALLS, MAX_REQUESTS, REQUESTS } from '../core/layout';
import { now } from '../kernel/events';
import { integrateNumber } from '../kernel/job';
import { releaseAll } from './connection';

export const CALL_NEXT: usize = 0;
export const CALL_REQUEST: usize = 4;
export const CALL_NODE: usize = 8;
export const CALL_CONNECTION: usize = 12;
export const CALL_INSTANCE: usize = 16;
export const CALL_THREAD: usize = 20;
export const CALL_FLAGS: usize = 24;
export const CALL_PATH: usize = 28;
export const CALL_STAGE: usize = 30;
export const CALL_ENTERED: usize = 32;
export const CALL_TIME: usize = 40;
export const CALL_BYTES: usize = 48;
export const CALL_LEFT: usize = 52;
export const CALL_FROM: usize = 56;
export const CALL_HOP: usize = 60;

/** The reply to a synchronous call: it comes before requests until it has been served once. */
export const CALL_REPLY: u32 = 1;
/** Its thread is blocked until it comes. */
export const CALL_UNBLOCKS: u32 = 2;
/** Has been through a stage with STAGE_PASSES. */
export const CALL_PASSED: u32 = 4;
/** On its way through the balancer of the service of its node. */
export const CALL_BALANCING: u32 = 0x800;
/** What a copy inherits. */
const CALL_INHERITED: u32 = CALL_PASSED;

/** Legs of a network hop: codes of the paths of the network stack's model. */
export const HOP_SEND_LOCAL: u32 = 0;
export const HOP_SEND_REMOTE: u32 = 1;
export const HOP_RECEIVE_LOCAL: u32 = 2;
export const HOP_RECEIVE_REMOTE: u32 = 3;

const RECORD_SHIFT: u32 = 6;

export const REQUEST_CALLS: usize = 0;
export const REQUEST_CONNECTION: usize = 4;
export const REQUEST_START: usize = 8;
export const REQUEST_KEY: usize = 16;
export const REQUEST_ORDINAL: usize = 24;
export const REQUEST_JOINS: usize = 32;
export const REQUEST_TIMER: usize = 36;
export const REQUEST_END: usize = 40;
export const REQUEST_STATE: usize = 48;
export const REQUEST_ATTEMPT: usize = 50;
export const REQUEST_STATS: usize = 52;
export const REQUEST_DUE: usize = 56;

const REQUEST_FREE: u16 = 0;
const REQUEST_ALIVE: u16 = 1;
/** The client has given it up; its calls go on. */
export const REQUEST_ABANDONED: u16 = 2;

let freeCall: u32 = 0;
let callsUsed: u32 = 0;
let freeRequest: u32 = 0;
let requestsUsed: u32 = 0;

export function callsReset(): void {
  freeCall = 0;
  callsUsed = 0;
  freeRequest = 0;
  requestsUsed = 0;
}

/** A call record with undefined contents, 0 if all MAX_CALLS are on their way (the run then fails). */
// @ts-ignore: decorator
@inline
export function callAllocate(): u32 {
  const c = freeCall;
  if (c != 0) {
    freeCall = load<u32>(c, CALL_NEXT);
    return c;
  }
  return callUnused();
}

function callUnused(): u32 {
  if (callsUsed == MAX_CALLS) {
    fail(FAIL_CALLS, 0, 0, MAX_CALLS);
    return 0;
  }
  return (CALLS as u32) + (callsUsed++ << RECORD_SHIFT);
}

// @ts-ignore: decorator
@inline
export function callFree(c: u32): void {
  store<u32>(c, freeCall, CALL_NEXT);
  freeCall = c;
}

/** A copy of the call for another next node, 0 if there is no room. */
export function callCopy(c: u32): u32 {
  const copy = callAllocate();
  if (copy == 0) return 0;
  const request = load<u32>(c, CALL_REQUEST);
  store<u32>(request, load<u32>(request, REQUEST_CALLS) + 1, REQUEST_CALLS);
  store<u32>(copy, request, CALL_REQUEST);
  store<u32>(copy, load<u32>(c, CALL_CONNECTION), CALL_CONNECTION);
  store<u32>(copy, load<u32>(c, CALL_BYTES), CALL_BYTES);
  store<u32>(copy, load<u32>(c, CALL_FLAGS) & CALL_INHERITED, CALL_FLAGS);
  return copy;
}

/** A request that enters the system now with its first call; that call, 0 if there is no room. */
export function requestEnter(key: u64, ordinal: u64, connection: u32, bytes: u32, attempt: u32, due: u64): u32 {
  let request = freeRequest;
  if (request != 0) {
    freeRequest = load<u32>(request, REQUEST_CALLS);
  } else {
    if (requestsUsed == MAX_REQUESTS) {
      fail(FAIL_REQUESTS, 0, 0, MAX_REQUESTS);
      return 0;
    }
    request = (REQUESTS as u32) + (requestsUsed++ << RECORD_SHIFT);
  }
  const c = callAllocate();
  if (c == 0) return 0;
  integrateNumber();
  count(ALIVE);
  count(ARRIVED);
  store<u32>(request, 1, REQUEST_CALLS);
  store<u32>(request, connection, REQUEST_CONNECTION);
  store<u64>(request, now, REQUEST_START);
  store<u64>(request, key, REQUEST_KEY);
  store<u64>(request, ordinal, REQUEST_ORDINAL);
  store<u32>(request, 0, REQUEST_JOINS);
  store<u32>(request, 0, REQUEST_TIMER);
  store<u64>(request, 0, REQUEST_END);
  store<u16>(request, REQUEST_ALIVE, REQUEST_STATE);
  store<u16>(request, attempt as u16, REQUEST_ATTEMPT);
  store<u64>(request, due, REQUEST_DUE);
  store<u32>(c, request, CALL_REQUEST);
  store<u32>(c, connection, CALL_CONNECTION);
  store<u32>(c, bytes, CALL_BYTES);
  store<u32>(c, 0, CALL_FLAGS);
  store<u32>(c, 0, CALL_FROM);
  store<u32>(c, 0, CALL_LEFT);
  return c;
}

/** The request leaves the system now; joins of calls that never come, and connections that it holds, go with it. */
export function requestLeave(request: u32): void {
  integrateNumber();
  setCounter(ALIVE, counter(ALIVE) - 1);
  if (load<u32>(request, REQUEST_JOINS) != 0) releaseAll(request);
  store<u16>(request, REQUEST_FREE, REQUEST_STATE);
  store<u32>(request, freeRequest, REQUEST_CALLS);
  freeRequest = request;
}

/** Σ time in the system of the requests that are in it; `liveRequests` afterwards is their number. */
export function timeOfLiveRequests(): u64 {
  let sum: u64 = 0;
  liveRequests = 0;
  for (let k: u32 = 0; k < requestsUsed; k++) {
    const request = (REQUESTS as u32) + (k << RECORD_SHIFT);
    if (load<u16>(request, REQUEST_STATE) == REQUEST_FREE) continue;
    liveRequests++;
    sum += now - load<u64>(request, REQUEST_START);
  }
  return sum;
}

export let liveRequests: u64 = 0;

/** Request records that have ever been used, from REQUESTS on. */
export function requestsMade(): u32 {
  return requestsUsed;
}
