// The client: when requests come, what they are, and when their replies are back.
//
// Record, timed as TIMED_CLIENT: u32 timed, u32 task. One client only, so the rest of its state is here.

import {
  HISTOGRAM_KINDS,
  HISTOGRAM_LATENCY,
  NONE,
  P_SEED,
  P_WARMUP_NS,
  SVC_BYTES,
  SVC_BYTES_DRAWN,
  SVC_CLIENTS,
  SVC_CONNECTIONS,
  SVC_DURATION_NS,
  SVC_REQUESTS,
  SVC_STATS,
  SVC_THINK,
} from '../abi';
import { COMPLETED, count, param, SOJOURN } from '../core/counters';
import { drawValue } from '../core/distribution';
import { fail, FAIL_WHEEL } from '../core/failure';
import { histogramRecord } from '../core/histogram';
import { TASK_SHIFT } from '../core/layout';
import { draw64, entityKey, exponentialQ32, mulHigh, mulQ32, PURPOSE_ARRIVAL, PURPOSE_PROGRAM, PURPOSE_START, streamKey } from '../core/random';
import { now, timerClear, timerSet } from '../kernel/events';
import { deliver, DELIVERY_SV_CLIENT } from '../workload/delivery';
import {
  CALL_INSTANCE,
  CALL_NODE,
  CALL_REQUEST,
  callFree,
  REQUEST_CALLS,
  REQUEST_END,
  REQUEST_ORDINAL,
  REQUEST_START,
  REQUEST_STATS,
  requestEnter,
  requestLeave,
} from './call';
import { sendFromClient } from './network';
import { NODE_SERVICE } from './records';
import { instanceOf } from './route';
import { seriesBegin, seriesEnd, seriesInit } from './series';

const DRAW_CONNECTION: u64 = 0;
const DRAW_ROUTE: u64 = 1;
const DRAW_BYTES: u64 = 2;

/** Requests may still come. */
export let clientActive: bool = false;
/** Something happens at the client when a reply comes. */
export let clientWaits: bool = false;
/** Where latencies of the current interval go, NONE = nowhere (monitor.ts). */
export let intervalHistogram: u32 = NONE;
/** Requests that start earlier are not measured. */
export let measuredFrom: u64 = 0;

let task: u32 = 0;
let connections: u64 = 1;
let mostRequests: u64 = 0;
let duration: u64 = 0;
let bytes: u64 = 0;
let bytesDrawn: bool = false;
let think: u32 = 0;
let stats: u32 = 0;
let epoch: usize = 0;
let epochsEnd: usize = 0;
let routes: usize = 0;
let routeCount: u32 = 0;
let sent: u64 = 0;
let requestKeys: u64 = 0;
let arrivalKey: u64 = 0;
let thinkKey: u64 = 0;

// @ts-ignore: decorator
@inline
function field(record: usize, index: u32): u64 {
  return load<u64>(record + ((index as usize) << 3));
}

/** Takes over the client (SVC_), epochs and kinds of requests, whose entry nodes are addresses by now. */
export function clientInit(record: usize, clientTask: u32, epochs: usize, epochCount: u32, firstRoute: usize, kinds: u32): void {
  const seed = param(P_SEED);
  task = clientTask;
  connections = field(record, SVC_CONNECTIONS);
  mostRequests = field(record, SVC_REQUESTS);
  duration = field(record, SVC_DURATION_NS);
  bytes = field(record, SVC_BYTES);
  bytesDrawn = field(record, SVC_BYTES_DRAWN) != 0;
  think = field(record, SVC_THINK) as u32;
  stats = field(record, SVC_STATS) as u32;
  epoch = epochs;
  epochsEnd = epochs + ((epochCount as usize) << 4);
  routes = firstRoute;
  routeCount = kinds;
  sent = 0;
  seriesInit();
  measuredFrom = param(P_WARMUP_NS);
  intervalHistogram = NONE;
  requestKeys = streamKey(seed, PURPOSE_PROGRAM, 0);
  arrivalKey = streamKey(seed, PURPOSE_ARRIVAL, 0);
  thinkKey = streamKey(seed, PURPOSE_START, 0);
  const clients = field(record, SVC_CLIENTS);
  clientWaits = clients != 0;
  clientActive = true;
  if (clients == 0) {
    timerSet(task >> TASK_SHIFT, task, 0);
    return;
  }
  for (let i: u64 = 0; i < clients; i++) thinkUntilNext(i);
}

export function recordIntervals(histogram: u32): void {
  intervalHistogram = histogram;
}

/** The client's rate now, requests per second; 0 in a closed loop. */
export function currentRate(): u64 {
  return epoch < epochsEnd ? (load<u32>(epoch, 12) as u64) : 0;
}

// ---- requests begin --------------------------------------------------------------------------------------

/** The next request of an open loop is due. */
export function clientDue(): void {
  send(now);
  if (mostRequests != 0 && sent >= mostRequests) {
    stop();
    return;
  }
  const next = now + drawValue(load<u32>(epoch, 8), arrivalKey, sent);
  while (next >= load<u64>(epoch)) {
    epoch += 16;
    if (epoch == epochsEnd) {
      stop();
      return;
    }
  }
  timerSet(task >> TASK_SHIFT, task, next);
}

function stop(): void {
  clientActive = false;
  timerClear(task >> TASK_SHIFT);
}

/** One of the clients of a closed loop has thought: it sends its next request. */
export function onThought(): void {
  if (!clientActive) return;
  if (duration != 0 && now >= duration) {
    clientActive = false;
    return;
  }
  send(now);
  if (mostRequests != 0 && sent >= mostRequests) clientActive = false;
}

/** A client of a closed loop begins to think; `ordinal` numbers its draws. */
function thinkUntilNext(ordinal: u64): void {
  if (!clientActive) return;
  if (!deliver(now + drawValue(think, thinkKey, ordinal), DELIVERY_SV_CLIENT, 0)) fail(FAIL_WHEEL, 0, 0, 0);
}

function send(start: u64): void {
  const key = entityKey(requestKeys, sent);
  const connection = mulHigh(draw64(key, DRAW_CONNECTION), connections) as u32;
  const size = bytesDrawn ? max(1, mulQ32(bytes, exponentialQ32(draw64(key, DRAW_BYTES)))) : bytes;
  const call = requestEnter(key, sent, connection, size as u32, start);
  seriesBegin(sent, start);
  sent++;
  if (call == 0) return;
  let route = routes;
  if (routeCount > 1) {
    const u = draw64(key, DRAW_ROUTE) >> 32;
    for (let i: u32 = 1; i < routeCount && u >= load<u64>(route, 8); i++) route += 16;
  }
  const node = load<u32>(route);
  store<u32>(load<u32>(call, CALL_REQUEST), load<u32>(route, 4), REQUEST_STATS);
  store<u32>(call, node, CALL_NODE);
  store<u32>(call, instanceOf(load<u32>(node, NODE_SERVICE), load<u32>(call, CALL_REQUEST)), CALL_INSTANCE);
  sendFromClient(call);
}

// ---- requests end ----------------------------------------------------------------------------------------

/** A reply is at the client. */
export function replyArrives(call: u32): void {
  callEnded(call, now);
}

/** The call is over; `end` is when the client knows. The request is over with its last call. */
export function callEnded(call: u32, end: u64): void {
  const request = load<u32>(call, CALL_REQUEST);
  callFree(call);
  if (end > load<u64>(request, REQUEST_END)) store<u64>(request, end, REQUEST_END);
  const calls = load<u32>(request, REQUEST_CALLS) - 1;
  store<u32>(request, calls, REQUEST_CALLS);
  if (calls != 0) return;
  const start = load<u64>(request, REQUEST_START);
  count(COMPLETED);
  count(SOJOURN, now - start);
  const latency = load<u64>(request, REQUEST_END) - start;
  if (intervalHistogram != NONE) histogramRecord(intervalHistogram, latency);
  if (start >= measuredFrom) {
    histogramRecord(stats * HISTOGRAM_KINDS + HISTOGRAM_LATENCY, latency);
    const kind = load<u32>(request, REQUEST_STATS);
    if (kind != NONE) histogramRecord(kind * HISTOGRAM_KINDS + HISTOGRAM_LATENCY, latency);
  }
  const ordinal = load<u64>(request, REQUEST_ORDINAL);
  seriesEnd(ordinal, load<u64>(request, REQUEST_END) - start);
  requestLeave(request);
  if (clientWaits) thinkUntilNext(ordinal + connections);
}
