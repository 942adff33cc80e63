// Requests as the client sees them: one is tried, given up after a time, tried again; its latency counts once, from when it was due.
//
// Every attempt is a request record of its own, so that an attempt which the client has given up goes on to burden the services. A
// request that waits to be tried (again) is a call record: u64 due, u64 ordinal, u32 attempt.

import {
  HISTOGRAM_KINDS,
  HISTOGRAM_LATENCY,
  NONE,
  P_SEED,
  P_WARMUP_NS,
  SVC_BACKOFF_FACTOR,
  SVC_BACKOFF_LIMIT_NS,
  SVC_BACKOFF_NS,
  SVC_BYTES,
  SVC_BYTES_DRAWN,
  SVC_CLIENTS,
  SVC_CONNECTIONS,
  SVC_FROM_DUE,
  SVC_JITTER,
  SVC_RECONNECT_NS,
  SVC_RETRIES,
  SVC_STATS,
  SVC_TIMEOUT_NS,
  SVO_COUNT,
} from '../abi';
import { arenaAllocate } from '../core/arena';
import { COMPLETED, count, param, SOJOURN, TIMED_OUT } from '../core/counters';
import { histogramRecord } from '../core/histogram';
import { draw64, entityKey, exponentialQ32, mulHigh, mulQ32, PURPOSE_PROGRAM, streamKey } from '../core/random';
import { now } from '../kernel/events';
import { cancelDelivery, deliverLater, DELIVERY_SV_RETRY, DELIVERY_SV_TIMEOUT } from '../workload/delivery';
import {
  CALL_ENTERED,
  CALL_INSTANCE,
  CALL_LEFT,
  CALL_NODE,
  CALL_REQUEST,
  CALL_TIME,
  callAllocate,
  callFree,
  REQUEST_ABANDONED,
  REQUEST_ATTEMPT,
  REQUEST_CALLS,
  REQUEST_CONNECTION,
  REQUEST_DUE,
  REQUEST_END,
  REQUEST_ORDINAL,
  REQUEST_START,
  REQUEST_STATE,
  REQUEST_STATS,
  REQUEST_TIMER,
  requestEnter,
  requestLeave,
} from './call';
import { requestOver } from './client';
import { EDGE_TO, releaseClient, take } from './connection';
import { sendFromClient } from './network';
import { NODE_SERVICE } from './records';
import { aim } from './route';
import { seriesBegin, seriesEnd, seriesInit } from './series';

const DRAW_CONNECTION: u64 = 0;
const DRAW_ROUTE: u64 = 1;
const DRAW_BYTES: u64 = 2;
const DRAW_JITTER: u64 = 3;
/** Attempts have draws of their own. */
const KEY_ATTEMPTS: u64 = 0x8000;

/** Something happens at the client when a reply comes. */
export let clientWaits: bool = false;
/** Requests that begin earlier are not measured. */
export let measuredFrom: u64 = 0;
/** Requests that wait to be tried. */
export let requestsPending: u32 = 0;
/** Where latencies of the current interval go, NONE = nowhere (monitor.ts). */
let intervalHistogram: u32 = NONE;

let connections: u64 = 1;
let bytes: u64 = 0;
let bytesDrawn: bool = false;
let stats: u32 = 0;
let routes: u32 = 0;
let routeCount: u32 = 0;
let requestKeys: u64 = 0;
/** Edges of the client: list of addresses, their number. */
let edges: u32 = 0;
let edgeCount: u32 = 0;
let timeout: u64 = 0;
let retries: u32 = 0;
let backoff: u64 = 0;
let backoffFactor: u64 = 0;
let backoffLimit: u64 = 0;
let jitter: u64 = 0;
let reconnect: u64 = 0;
let fromDue: bool = true;
/** When each connection is there again, u64; 0 = connections don't close. */
let readyAt: usize = 0;
/** SVO_ counters. */
export let clientResults: usize = 0;

// @ts-ignore: decorator
@inline
function field(record: usize, index: u32): u64 {
  return load<u64>(record + ((index as usize) << 3));
}

/** Takes over the client (SVC_) and the kinds of requests, 16 B: u32 entry node's address, u32 statistics class, u64 cumulative probability. */
export function requestsInit(record: usize, kinds: u32, kindCount: u32, clientEdges: u32, clientEdgeCount: u32): void {
  connections = field(record, SVC_CONNECTIONS);
  bytes = field(record, SVC_BYTES);
  bytesDrawn = field(record, SVC_BYTES_DRAWN) != 0;
  stats = field(record, SVC_STATS) as u32;
  routes = kinds;
  routeCount = kindCount;
  edges = clientEdges;
  edgeCount = clientEdgeCount;
  measuredFrom = param(P_WARMUP_NS);
  intervalHistogram = NONE;
  requestKeys = streamKey(param(P_SEED), PURPOSE_PROGRAM, 0);
  timeout = field(record, SVC_TIMEOUT_NS);
  retries = field(record, SVC_RETRIES) as u32;
  backoff = field(record, SVC_BACKOFF_NS);
  backoffFactor = field(record, SVC_BACKOFF_FACTOR);
  backoffLimit = field(record, SVC_BACKOFF_LIMIT_NS);
  jitter = field(record, SVC_JITTER);
  reconnect = field(record, SVC_RECONNECT_NS);
  fromDue = field(record, SVC_FROM_DUE) != 0;
  clientWaits = timeout != 0 || edgeCount != 0 || field(record, SVC_CLIENTS) != 0;
  readyAt = reconnect != 0 ? arenaAllocate((connections as usize) << 3) : 0;
  requestsPending = 0;
  clientResults = arenaAllocate(SVO_COUNT * 8);
  seriesInit();
}

export function recordIntervals(histogram: u32): void {
  intervalHistogram = histogram;
}

// @ts-ignore: decorator
@inline
function tally(index: u32): void {
  const at = clientResults + ((index as usize) << 3);
  store<u64>(at, load<u64>(at) + 1);
}

// ---- attempts --------------------------------------------------------------------------------------------

/** A request that is due now. */
export function requestBegin(ordinal: u64): void {
  seriesBegin(ordinal, now);
  tally(0);
  attempt(ordinal, now, 0);
}

function attempt(ordinal: u64, due: u64, number: u32): void {
  let key = entityKey(requestKeys, ordinal);
  if (number != 0) key = entityKey(key, KEY_ATTEMPTS + (number as u64));
  const connection = mulHigh(draw64(key, DRAW_CONNECTION), connections) as u32;
  if (readyAt != 0) {
    const ready = load<u64>(readyAt + ((connection as usize) << 3));
    if (ready > now) {
      // The same draws again when its connection is there.
      tryLater(ordinal, due, number, ready);
      return;
    }
  }
  tally(1);
  const size = bytesDrawn ? max(1, mulQ32(bytes, exponentialQ32(draw64(key, DRAW_BYTES)))) : bytes;
  const call = requestEnter(key, ordinal, connection, size as u32, number, fromDue ? due : now);
  if (call == 0) return;
  let route = routes;
  if (routeCount > 1) {
    const u = draw64(key, DRAW_ROUTE) >> 32;
    for (let i: u32 = 1; i < routeCount && u >= load<u64>(route, 8); i++) route += 16;
  }
  const node = load<u32>(route);
  const request = load<u32>(call, CALL_REQUEST);
  store<u32>(request, load<u32>(route, 4), REQUEST_STATS);
  store<u32>(call, node, CALL_NODE);
  aim(call, load<u32>(node, NODE_SERVICE), 0);
  if (timeout != 0) store<u32>(request, deliverLater(now + timeout, DELIVERY_SV_TIMEOUT, request), REQUEST_TIMER);
  if (edgeCount == 0 || takeClientEdge(call)) sendFromClient(call);
}

function takeClientEdge(call: u32): bool {
  const to = load<u32>(call, CALL_INSTANCE);
  for (let i: u32 = 0; i < edgeCount; i++) {
    const edge = load<u32>(edges + (i << 2));
    if (load<u32>(edge, EDGE_TO) == to) return take(edge, call, true);
  }
  return true;
}

/** The connection that the client's call has waited for is there. */
export function dispatchFromClient(call: u32): void {
  sendFromClient(call);
}

function tryLater(ordinal: u64, due: u64, number: u32, time: u64): void {
  const pending = callAllocate();
  if (pending == 0) return;
  store<u64>(pending, due, CALL_ENTERED);
  store<u64>(pending, ordinal, CALL_TIME);
  store<u32>(pending, number, CALL_LEFT);
  if (deliverLater(time, DELIVERY_SV_RETRY, pending) != 0) requestsPending++;
}

export function onRetry(pending: u32): void {
  requestsPending--;
  const due = load<u64>(pending, CALL_ENTERED);
  const ordinal = load<u64>(pending, CALL_TIME);
  const number = load<u32>(pending, CALL_LEFT);
  callFree(pending);
  attempt(ordinal, due, number);
}

/** backoff × factor^number, bounded, of which a share is drawn. */
function backoffOf(request: u32, number: u32): u64 {
  let time = backoff;
  for (let k: u32 = 0; k < number && (backoffLimit == 0 || time < backoffLimit) && time < 0x1000_0000_0000; k++) time = mulQ32(time, backoffFactor);
  if (backoffLimit != 0 && time > backoffLimit) time = backoffLimit;
  if (jitter == 0) return time;
  const share = mulQ32(time, jitter);
  const key = entityKey(requestKeys, load<u64>(request, REQUEST_ORDINAL));
  return time - share + mulHigh(draw64(key, DRAW_JITTER + (number as u64)), share);
}

/** The client gives the attempt up; its calls go on. */
export function onTimeout(request: u32): void {
  store<u32>(request, 0, REQUEST_TIMER);
  store<u16>(request, REQUEST_ABANDONED, REQUEST_STATE);
  tally(2);
  releaseClient(request);
  if (readyAt != 0) store<u64>(readyAt + ((load<u32>(request, REQUEST_CONNECTION) as usize) << 3), now + reconnect);
  const number = load<u16>(request, REQUEST_ATTEMPT) as u32;
  const ordinal = load<u64>(request, REQUEST_ORDINAL);
  if (number < retries) {
    tryLater(ordinal, load<u64>(request, REQUEST_DUE), number + 1, now + backoffOf(request, number));
    return;
  }
  tally(3);
  requestOver(ordinal);
}

// ---- ends ------------------------------------------------------------------------------------------------

/** The call is over; `end` is when the client knows. The attempt is over with its last call. */
export function callEnded(call: u32, end: u64): void {
  const request = load<u32>(call, CALL_REQUEST);
  callFree(call);
  if (end > load<u64>(request, REQUEST_END)) store<u64>(request, end, REQUEST_END);
  const calls = load<u32>(request, REQUEST_CALLS) - 1;
  store<u32>(request, calls, REQUEST_CALLS);
  if (calls != 0) return;
  count(SOJOURN, now - load<u64>(request, REQUEST_START));
  if (load<u16>(request, REQUEST_STATE) == REQUEST_ABANDONED) {
    count(TIMED_OUT);
    requestLeave(request);
    return;
  }
  count(COMPLETED);
  const timer = load<u32>(request, REQUEST_TIMER);
  if (timer != 0) cancelDelivery(timer);
  const due = load<u64>(request, REQUEST_DUE);
  const latency = load<u64>(request, REQUEST_END) - due;
  if (intervalHistogram != NONE) histogramRecord(intervalHistogram, latency);
  if (due >= measuredFrom) {
    histogramRecord(stats * HISTOGRAM_KINDS + HISTOGRAM_LATENCY, latency);
    const kind = load<u32>(request, REQUEST_STATS);
    if (kind != NONE) histogramRecord(kind * HISTOGRAM_KINDS + HISTOGRAM_LATENCY, latency);
  }
  const ordinal = load<u64>(request, REQUEST_ORDINAL);
  seriesEnd(ordinal, latency);
  requestLeave(request);
  if (clientWaits) requestOver(ordinal);
}
