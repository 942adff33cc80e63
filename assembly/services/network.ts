// The network: a call leaves through the stack of the sender's machine, crosses a wire if the receiver is on another, and
// comes in through the stack of that machine; one to the client leaves the same way. A machine without a stack takes no time.
//
// Everything takes a wire's latency, so what enters it first leaves it first: a wire is a list with one timer for its head.

import { KIND_THREADS } from '../abi';
import { TASK_SHIFT } from '../core/layout';
import { now, timerClear, timerSet } from '../kernel/events';
import {
  CALL_HOP,
  CALL_INSTANCE,
  CALL_NEXT,
  CALL_NODE,
  CALL_PATH,
  CALL_STAGE,
  CALL_THREAD,
  CALL_TIME,
  HOP_RECEIVE_REMOTE,
  HOP_SEND_LOCAL,
  HOP_SEND_REMOTE,
} from './call';
import { callEnded, clientWaits } from './request';
import {
  INSTANCE_KIND,
  INSTANCE_MACHINE,
  INSTANCE_PATHS,
  MACHINE_LINK_COUNT,
  MACHINE_LINKS,
  MACHINE_NETWORK,
  NODE_SERVICE,
  PATH_BYTES,
  PATH_STAGE_COUNT,
  WIRE_BYTES,
  WIRE_FIRST,
  WIRE_LAST,
  WIRE_LATENCY,
  WIRE_TASK,
} from './records';
import { arrive } from './route';
import { serverReceive } from './server';
import { threadReceive } from './thread';

/** Wires: 0 between machines, 1 between client and machines (abi/services.ts). */
let wires: u32 = 0;

export function networkInit(firstWire: u32): void {
  wires = firstWire;
}

// @ts-ignore: decorator
@inline
function clientWire(): u32 {
  return wires + (WIRE_BYTES as u32);
}

function wireBetween(from: u32, to: u32): u32 {
  const links = load<u32>(from, MACHINE_LINKS);
  for (let i: u32 = 0, n = load<u32>(from, MACHINE_LINK_COUNT); i < n; i++) {
    if (load<u32>(links + (i << 3)) == to) return load<u32>(links + (i << 3), 4);
  }
  return wires;
}

function cross(wire: u32, call: u32): void {
  const latency = load<u64>(wire, WIRE_LATENCY);
  if (latency == 0) {
    landed(call);
    return;
  }
  store<u64>(call, now + latency, CALL_TIME);
  store<u32>(call, 0, CALL_NEXT);
  const last = load<u32>(wire, WIRE_LAST);
  store<u32>(wire, call, WIRE_LAST);
  if (last != 0) {
    store<u32>(last, call, CALL_NEXT);
    return;
  }
  store<u32>(wire, call, WIRE_FIRST);
  const t = load<u32>(wire, WIRE_TASK);
  timerSet(t >> TASK_SHIFT, t, now + latency);
}

/** The head of a wire is due; with it everything that entered at the same instant. */
export function wireDue(wire: u32): void {
  const t = load<u32>(wire, WIRE_TASK);
  while (true) {
    const call = load<u32>(wire, WIRE_FIRST);
    if (call == 0) {
      timerClear(t >> TASK_SHIFT);
      return;
    }
    const due = load<u64>(call, CALL_TIME);
    if (due > now) {
      timerSet(t >> TASK_SHIFT, t, due);
      return;
    }
    const next = load<u32>(call, CALL_NEXT);
    store<u32>(wire, next, WIRE_FIRST);
    if (next == 0) store<u32>(wire, 0, WIRE_LAST);
    landed(call);
  }
}

/** Off the wire: at the client, or at the machine of the instance that it goes to. */
function landed(call: u32): void {
  if (load<u32>(load<u32>(call, CALL_NODE), NODE_SERVICE) == 0) {
    callEnded(call, now);
    return;
  }
  const network = load<u32>(load<u32>(load<u32>(call, CALL_INSTANCE), INSTANCE_MACHINE), MACHINE_NETWORK);
  if (network == 0) {
    arrive(call);
    return;
  }
  store<u32>(call, HOP_RECEIVE_REMOTE, CALL_HOP);
  networkReceive(network, call);
}

/** From one instance to another. */
export function sendTo(call: u32, from: u32, to: u32): void {
  const source = load<u32>(from, INSTANCE_MACHINE);
  const target = load<u32>(to, INSTANCE_MACHINE);
  const network = load<u32>(source, MACHINE_NETWORK);
  if (network != 0) {
    store<u32>(call, source == target ? HOP_SEND_LOCAL : HOP_SEND_REMOTE, CALL_HOP);
    networkReceive(network, call);
  } else if (source == target) {
    arrive(call);
  } else {
    cross(wireBetween(source, target), call);
  }
}

export function sendToClient(call: u32, from: u32): void {
  const network = load<u32>(load<u32>(from, INSTANCE_MACHINE), MACHINE_NETWORK);
  if (network == 0) {
    leaveForClient(call);
    return;
  }
  store<u32>(call, HOP_SEND_REMOTE, CALL_HOP);
  networkReceive(network, call);
}

/** From the client. */
export function sendFromClient(call: u32): void {
  cross(clientWire(), call);
}

function leaveForClient(call: u32): void {
  // Nothing at the client depends on when the reply comes: its latency is known now.
  if (clientWaits) cross(clientWire(), call);
  else callEnded(call, now + load<u64>(clientWire(), WIRE_LATENCY));
}

/** The call comes to a network stack for the leg CALL_HOP. */
// @ts-ignore: decorator
@inline
function networkReceive(network: u32, call: u32): void {
  const hop = load<u32>(call, CALL_HOP);
  const path = load<u32>(network, INSTANCE_PATHS) + hop * (PATH_BYTES as u32);
  if (load<u32>(path, PATH_STAGE_COUNT) == 0) {
    hopDone(network, call);
  } else if (load<u32>(network, INSTANCE_KIND) == KIND_THREADS) {
    store<u32>(call, 0, CALL_THREAD);
    store<u16>(call, hop as u16, CALL_PATH);
    store<u16>(call, 0, CALL_STAGE);
    threadReceive(network, call);
  } else {
    serverReceive(network, call);
  }
}

/** A network stack has done a leg of the call's way. */
export function hopDone(network: u32, call: u32): void {
  const hop = load<u32>(call, CALL_HOP);
  if (hop != HOP_SEND_REMOTE) {
    arrive(call);
    return;
  }
  if (load<u32>(load<u32>(call, CALL_NODE), NODE_SERVICE) == 0) {
    leaveForClient(call);
    return;
  }
  cross(wireBetween(load<u32>(network, INSTANCE_MACHINE), load<u32>(load<u32>(call, CALL_INSTANCE), INSTANCE_MACHINE)), call);
}
