// The way of a request: a call enters the node of a service, leaves it for the next ones, as a copy each, and calls that
// meet at a node wait for one another.

import { HISTOGRAM_KINDS, HISTOGRAM_LATENCY, KIND_THREADS, STAGE_BLOCKS, STAGE_NETWORK } from '../abi';
import { histogramRecord } from '../core/histogram';
import { draw64, mulHigh } from '../core/random';
import { now } from '../kernel/events';
import {
  CALL_BALANCING,
  CALL_ENTERED,
  CALL_FLAGS,
  CALL_FROM,
  CALL_INSTANCE,
  CALL_LEFT,
  CALL_NEXT,
  CALL_NODE,
  CALL_PATH,
  CALL_REPLY,
  CALL_REQUEST,
  CALL_STAGE,
  CALL_THREAD,
  CALL_UNBLOCKS,
  callAllocate,
  callCopy,
  callFree,
  REQUEST_CALLS,
  REQUEST_JOINS,
  REQUEST_KEY,
  REQUEST_START,
} from './call';
import { CALL_CHOSEN, chosenInstance, holds, note, releaseFrom, releaseHeld, takeEdge } from './connection';
import { sendToClient, sendTo } from './network';
import { callEnded, measuredFrom } from './request';
import {
  INSTANCE_EDGES,
  INSTANCE_HOLDS,
  INSTANCE_KIND,
  INSTANCE_PATH_COUNT,
  INSTANCE_PATHS,
  INSTANCE_REACH,
  INSTANCE_REACH_COUNT,
  INSTANCE_STATS,
  INSTANCE_TIER,
  INSTANCE_VISITS,
  NODE_CHILD_COUNT,
  NODE_CHILDREN,
  NODE_FLAGS,
  NODE_INDEX,
  NODE_JOINS,
  NODE_PARENTS,
  NODE_PATH,
  NODE_RELEASES,
  NODE_SERVICE,
  NODE_START,
  NODE_STAYS,
  NODE_SYNC,
  PATH_BYTES,
  PATH_PROBABILITY,
  SERVICE_BALANCER,
  SERVICE_INDEX,
  SERVICE_INSTANCE_COUNT,
  SERVICE_INSTANCES,
  SERVICE_TURN,
  TIER_HISTOGRAM,
} from './records';
import { serverReceive } from './server';
import { threadReceive, visitKey } from './thread';

/** Number that tells the choice of a path from the stages of a visit (visitKey). */
const KEY_PATH: u32 = 0xfffe;
/** Draws of a request: its connection, kind and size come first, then its choice of an instance of each service. */
export const DRAW_INSTANCE: u64 = 16;
/** Path not known yet. */
const PATH_UNKNOWN: u16 = 0xffff;

// ---- entering --------------------------------------------------------------------------------------------

/** The instance of a service that the request goes to, of those that `from` reaches (0 = the client): drawn once, the same in all its calls. */
// @ts-ignore: decorator
@inline
function instanceOf(service: u32, request: u32, from: u32): u32 {
  let list = load<u32>(service, SERVICE_INSTANCES);
  let n = load<u32>(service, SERVICE_INSTANCE_COUNT);
  if (from != 0 && load<u32>(from, INSTANCE_REACH) != 0) {
    const reach = load<u32>(from, INSTANCE_REACH);
    for (let i: u32 = 0, rows = load<u32>(from, INSTANCE_REACH_COUNT); i < rows; i++) {
      const row = reach + i * 12;
      if (load<u32>(row) != service) continue;
      list = load<u32>(row, 4);
      n = load<u32>(row, 8);
    }
  }
  if (n == 1) return load<u32>(list);
  const r = draw64(load<u64>(request, REQUEST_KEY), DRAW_INSTANCE + (load<u32>(service, SERVICE_INDEX) as u64));
  return load<u32>(list + ((mulHigh(r, n as u64) as u32) << 2));
}

/** The call comes to the instance that it goes to. */
export function arrive(call: u32): void {
  const instance = load<u32>(call, CALL_INSTANCE);
  store<u64>(call, now, CALL_ENTERED);
  // It comes back, or on: the connection that it was sent on is free again.
  if (load<u32>(instance, INSTANCE_EDGES) != 0) releaseFrom(instance, call);
  if ((load<u32>(call, CALL_FLAGS) & CALL_BALANCING) != 0) {
    balance(instance, call);
    return;
  }
  if (load<u32>(instance, INSTANCE_HOLDS) == 0 || holds(instance, call)) enter(call);
}

/** The call passes the balancer first. */
function balance(instance: u32, call: u32): void {
  store<u32>(call, 0, CALL_THREAD);
  store<u16>(call, 0, CALL_PATH);
  store<u16>(call, 0, CALL_STAGE);
  if (load<u32>(instance, INSTANCE_PATH_COUNT) > 1) choosePath(instance, call);
  receive(instance, call);
}

// @ts-ignore: decorator
@inline
function receive(instance: u32, call: u32): void {
  if (load<u32>(instance, INSTANCE_KIND) == KIND_THREADS) threadReceive(instance, call);
  else serverReceive(instance, call);
}

/** The balancer has done its work: new requests go to the instances in turn, others where they went before. */
function balanced(call: u32, balancer: u32, network: bool): void {
  store<u32>(call, load<u32>(call, CALL_FLAGS) & ~CALL_BALANCING, CALL_FLAGS);
  const service = load<u32>(load<u32>(call, CALL_NODE), NODE_SERVICE);
  const request = load<u32>(call, CALL_REQUEST);
  let target = chosenInstance(request, service);
  if (target == 0) {
    const turn = load<u32>(service, SERVICE_TURN);
    target = load<u32>(load<u32>(service, SERVICE_INSTANCES) + (turn << 2));
    store<u32>(service, turn + 1 == load<u32>(service, SERVICE_INSTANCE_COUNT) ? 0 : turn + 1, SERVICE_TURN);
    note(request, service, target, CALL_CHOSEN);
  }
  store<u32>(call, balancer, CALL_FROM);
  store<u32>(call, target, CALL_INSTANCE);
  if (load<u32>(balancer, INSTANCE_EDGES) != 0 && !takeEdge(balancer, call, network)) return;
  dispatch(call, balancer, network);
}

/** The call enters the node that it goes to. */
export function enter(call: u32): void {
  const node = load<u32>(call, CALL_NODE);
  store<u32>(call, 0, CALL_THREAD);
  store<u16>(call, load<u32>(node, NODE_PATH) as u16, CALL_PATH);
  store<u16>(call, load<u32>(node, NODE_START) as u16, CALL_STAGE);
  if ((load<u32>(node, NODE_FLAGS) & NODE_JOINS) != 0 && !meet(call, node)) return;
  const instance = load<u32>(call, CALL_INSTANCE);
  if (load<u16>(call, CALL_PATH) == PATH_UNKNOWN) choosePath(instance, call);
  receive(instance, call);
}

function choosePath(instance: u32, call: u32): void {
  const u = draw64(visitKey(call, KEY_PATH), 0) >> 32;
  const last = load<u32>(instance, INSTANCE_PATH_COUNT) - 1;
  let path = load<u32>(instance, INSTANCE_PATHS);
  let index: u32 = 0;
  while (index < last && u >= load<u64>(path, PATH_PROBABILITY)) {
    index++;
    path += PATH_BYTES as u32;
  }
  store<u16>(call, index as u16, CALL_PATH);
}

// ---- meeting ---------------------------------------------------------------------------------------------

/** Record of the calls that wait at a node; made when the first comes, or when a thread begins to wait for replies there. */
function joinAt(request: u32, node: u32): u32 {
  for (let join = load<u32>(request, REQUEST_JOINS); join != 0; join = load<u32>(join, CALL_NEXT)) {
    if (load<u32>(join, CALL_NODE) == node) return join;
  }
  const join = callAllocate();
  if (join == 0) return 0;
  store<u32>(join, node, CALL_NODE);
  store<u32>(join, 0, CALL_THREAD);
  store<u32>(join, 0, CALL_FLAGS);
  store<u16>(join, PATH_UNKNOWN, CALL_PATH);
  store<u32>(join, load<u32>(node, NODE_PARENTS), CALL_LEFT);
  store<u32>(join, load<u32>(request, REQUEST_JOINS), CALL_NEXT);
  store<u32>(request, join, REQUEST_JOINS);
  return join;
}

function joinLeave(request: u32, join: u32): void {
  let before: u32 = 0;
  for (let k = load<u32>(request, REQUEST_JOINS); k != join; k = load<u32>(k, CALL_NEXT)) before = k;
  const next = load<u32>(join, CALL_NEXT);
  if (before != 0) store<u32>(before, next, CALL_NEXT);
  else store<u32>(request, next, REQUEST_JOINS);
  callFree(join);
}

/** A call comes to a node where several meet. True: it is the last, and goes on for all; false: it has ended. */
function meet(call: u32, node: u32): bool {
  const request = load<u32>(call, CALL_REQUEST);
  const join = joinAt(request, node);
  if (join == 0) return false;
  if (load<u32>(join, CALL_THREAD) == 0 && load<u32>(call, CALL_THREAD) != 0) {
    store<u32>(join, load<u32>(call, CALL_THREAD), CALL_THREAD);
    store<u16>(join, load<u16>(call, CALL_PATH), CALL_PATH);
  }
  const left = load<u32>(join, CALL_LEFT) - 1;
  if (left != 0) {
    store<u32>(join, left, CALL_LEFT);
    store<u32>(request, load<u32>(request, REQUEST_CALLS) - 1, REQUEST_CALLS);
    callFree(call);
    return false;
  }
  store<u32>(call, load<u32>(join, CALL_THREAD), CALL_THREAD);
  store<u32>(call, load<u32>(call, CALL_FLAGS) | load<u32>(join, CALL_FLAGS), CALL_FLAGS);
  if (load<u16>(join, CALL_PATH) != PATH_UNKNOWN) store<u16>(call, load<u16>(join, CALL_PATH), CALL_PATH);
  joinLeave(request, join);
  return true;
}

// ---- leaving ---------------------------------------------------------------------------------------------

/** The call that left its node last has also left the service. */
export let serviceLeft: bool = false;

/** The call has passed the last stage of its node; `stageFlags` are the stage's. Returns the call that stays at the instance in another node, 0 if none does. */
export function leaveNode(call: u32, instance: u32, stageFlags: u32): u32 {
  const node = load<u32>(call, CALL_NODE);
  const network = (stageFlags & STAGE_NETWORK) != 0;
  serviceLeft = false;
  if ((load<u32>(call, CALL_FLAGS) & CALL_BALANCING) != 0) {
    visitEnded(call, instance);
    serviceLeft = true;
    balanced(call, instance, network);
    return 0;
  }
  if ((load<u32>(node, NODE_FLAGS) & NODE_RELEASES) != 0) releaseHeld(instance, call);
  const sync = load<u32>(node, NODE_SYNC);
  if (sync != 0) {
    const join = joinAt(load<u32>(call, CALL_REQUEST), sync);
    if (join == 0) return 0;
    store<u32>(join, load<u32>(call, CALL_THREAD), CALL_THREAD);
    store<u16>(join, load<u16>(call, CALL_PATH), CALL_PATH);
    store<u32>(join, CALL_REPLY | ((stageFlags & STAGE_BLOCKS) != 0 ? CALL_UNBLOCKS : 0), CALL_FLAGS);
    sendOn(call, node, 0, instance, network);
    return 0;
  }
  if ((load<u32>(node, NODE_FLAGS) & NODE_STAYS) == 0) {
    visitEnded(call, instance);
    serviceLeft = true;
    sendOn(call, node, 0, instance, network);
    return 0;
  }
  const child = sameService(node);
  sendOn(call, node, child, instance, network);
  store<u32>(call, child, CALL_NODE);
  store<u16>(call, load<u32>(child, NODE_START) as u16, CALL_STAGE);
  store<u32>(call, load<u32>(call, CALL_FLAGS) & ~CALL_REPLY, CALL_FLAGS);
  if ((load<u32>(child, NODE_FLAGS) & NODE_JOINS) != 0 && !meet(call, child)) return 0;
  return call;
}

/** The next node in the same service; the host has checked that there is one. */
function sameService(node: u32): u32 {
  const children = load<u32>(node, NODE_CHILDREN);
  let i: u32 = 0;
  while (load<u32>(load<u32>(children + (i << 2)), NODE_SERVICE) != load<u32>(node, NODE_SERVICE)) i++;
  return load<u32>(children + (i << 2));
}

function visitEnded(call: u32, instance: u32): void {
  store<u64>(instance, load<u64>(instance, INSTANCE_VISITS) + 1, INSTANCE_VISITS);
  const residence = now - load<u64>(call, CALL_ENTERED);
  const tier = load<u32>(instance, INSTANCE_TIER);
  if (tier != 0) histogramRecord(load<u32>(tier, TIER_HISTOGRAM), residence);
  if (load<u64>(load<u32>(call, CALL_REQUEST), REQUEST_START) < measuredFrom) return;
  histogramRecord(load<u32>(instance, INSTANCE_STATS) * HISTOGRAM_KINDS + HISTOGRAM_LATENCY, residence);
}

/** Sends a call to each of the next nodes but `except`: copies, and last the call itself unless it stays (`except` given). */
function sendOn(call: u32, node: u32, except: u32, instance: u32, network: bool): void {
  const children = load<u32>(node, NODE_CHILDREN);
  const n = load<u32>(node, NODE_CHILD_COUNT);
  if (n == 0) {
    callEnded(call, now);
    return;
  }
  const copies = except == 0 ? n - 1 : n;
  for (let i: u32 = 0; i < copies; i++) {
    const child = load<u32>(children + (i << 2));
    if (child == except) continue;
    const copy = callCopy(call);
    if (copy == 0) return;
    send(copy, node, child, instance, network);
  }
  if (except == 0) send(call, node, load<u32>(children + (copies << 2)), instance, network);
}

function send(call: u32, before: u32, node: u32, from: u32, network: bool): void {
  store<u32>(call, node, CALL_NODE);
  store<u32>(call, load<u32>(before, NODE_INDEX) + 1, CALL_LEFT);
  store<u32>(call, from, CALL_FROM);
  const service = load<u32>(node, NODE_SERVICE);
  if (service == 0) {
    sendToClient(call, from);
    return;
  }
  store<u32>(call, load<u32>(call, CALL_FLAGS) & ~CALL_REPLY, CALL_FLAGS);
  aim(call, service, from);
  if (load<u32>(from, INSTANCE_EDGES) != 0 && !takeEdge(from, call, network)) return;
  dispatch(call, from, network);
}

/** Sets where a call for a service goes: to its balancer, if it has one, else to the request's instance of it. */
export function aim(call: u32, service: u32, from: u32): void {
  const balancer = load<u32>(service, SERVICE_BALANCER);
  if (balancer != 0) {
    store<u32>(call, load<u32>(call, CALL_FLAGS) | CALL_BALANCING, CALL_FLAGS);
    store<u32>(call, balancer, CALL_INSTANCE);
  } else {
    store<u32>(call, instanceOf(service, load<u32>(call, CALL_REQUEST), from), CALL_INSTANCE);
  }
}

/** The call is on its way: through the network, or handed over at once. */
export function dispatch(call: u32, from: u32, network: bool): void {
  if (network) sendTo(call, from, load<u32>(call, CALL_INSTANCE));
  else arrive(call);
}
