// The client: when requests are due, in an open loop by epochs, in a closed one after thinking.
//
// Record, timed as TIMED_CLIENT: u32 timed, u32 task. One client only, so the rest of its state is here.

import { P_SEED, SVC_CLIENTS, SVC_DURATION_NS, SVC_REQUESTS, SVC_THINK } from '../abi';
import { param } from '../core/counters';
import { drawValue } from '../core/distribution';
import { TASK_SHIFT } from '../core/layout';
import { PURPOSE_ARRIVAL, PURPOSE_START, streamKey } from '../core/random';
import { now, timerClear, timerSet } from '../kernel/events';
import { deliverLater, DELIVERY_SV_CLIENT } from '../workload/delivery';
import { requestBegin } from './request';

/** Requests may still come. */
export let clientActive: bool = false;

let task: u32 = 0;
let mostRequests: u64 = 0;
let duration: u64 = 0;
let clients: u64 = 0;
let think: u32 = 0;
let epoch: usize = 0;
let epochsEnd: usize = 0;
let begun: u64 = 0;
let arrivalKey: u64 = 0;
let thinkKey: u64 = 0;

// @ts-ignore: decorator
@inline
function field(record: usize, index: u32): u64 {
  return load<u64>(record + ((index as usize) << 3));
}

export function clientReset(): void {
  clientActive = false;
}

/** Takes over the client (SVC_) and its epochs. */
export function clientInit(record: usize, clientTask: u32, epochs: usize, epochCount: u32): void {
  const seed = param(P_SEED);
  task = clientTask;
  mostRequests = field(record, SVC_REQUESTS);
  duration = field(record, SVC_DURATION_NS);
  clients = field(record, SVC_CLIENTS);
  think = field(record, SVC_THINK) as u32;
  epoch = epochs;
  epochsEnd = epochs + ((epochCount as usize) << 4);
  begun = 0;
  arrivalKey = streamKey(seed, PURPOSE_ARRIVAL, 0);
  thinkKey = streamKey(seed, PURPOSE_START, 0);
  clientActive = true;
  if (clients == 0) timerSet(task >> TASK_SHIFT, task, 0);
  else for (let i: u64 = 0; i < clients; i++) thinkUntilNext(i);
}

/** The client's rate now, requests per second; 0 in a closed loop. */
export function currentRate(): u64 {
  return epoch < epochsEnd ? (load<u32>(epoch, 12) as u64) : 0;
}

/** The next request of an open loop is due. */
export function clientDue(): void {
  requestBegin(begun);
  begun++;
  if (mostRequests != 0 && begun >= mostRequests) {
    stop();
    return;
  }
  const next = now + drawValue(load<u32>(epoch, 8), arrivalKey, begun);
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

/** A client of a closed loop has thought. */
export function onThought(): void {
  if (!clientActive) return;
  if (duration != 0 && now >= duration) {
    clientActive = false;
    return;
  }
  const ordinal = begun;
  begun++;
  if (mostRequests != 0 && begun >= mostRequests) clientActive = false;
  requestBegin(ordinal);
}

/** Think times are numbered: the first ones by client, then by request. */
function thinkUntilNext(number: u64): void {
  deliverLater(now + drawValue(think, thinkKey, number), DELIVERY_SV_CLIENT, 0);
}

/** A request is answered or given up: its client, in a closed loop, begins to think. */
export function requestOver(ordinal: u64): void {
  if (clients != 0 && clientActive) thinkUntilNext(clients + ordinal);
}
