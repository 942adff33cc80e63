// Who waits for whom when nothing moves any more: written once, after a deadlock, for the host to find the cycle in.
//
// A row (SVW_BYTES): u32 kind, u32 instance or edge, u32 thread or connection, u32 reserved, u64 request.

import {
  KIND_THREADS,
  NONE,
  SVW_BLOCKED,
  SVW_BYTES,
  SVW_EDGE_HELD,
  SVW_EDGE_WAITING,
  SVW_LINE_HELD,
  SVW_LINE_WAITING,
  SVW_QUEUED,
} from '../abi';
import { REQUESTS } from '../core/layout';
import {
  CALL_CONNECTION,
  CALL_FLAGS,
  CALL_NEXT,
  CALL_NODE,
  CALL_REQUEST,
  CALL_THREAD,
  CALL_UNBLOCKS,
  REQUEST_JOINS,
  REQUEST_ORDINAL,
  REQUEST_STATE,
  requestsMade,
} from './call';
import { CALL_HELD, CALL_TAKEN, EDGE_BYTES, EDGE_FIRST, EDGE_LINES, LINE_FIRST, LINE_SHIFT } from './connection';
import { connections, edgeCount, edges, instanceCount, instances } from './tables';
import {
  CONNECTION_FIRST,
  CONNECTION_NEXT,
  INSTANCE_BYTES,
  INSTANCE_HOLDS,
  INSTANCE_KIND,
  INSTANCE_THREAD_COUNT,
  INSTANCE_THREADS,
  STAGE_QUEUE_CONNECTIONS,
  STAGE_QUEUE_FIRST,
  STAGE_QUEUE_SHIFT,
  THREAD_INSTANCE,
  THREAD_QUEUE_COUNT,
  THREAD_QUEUES,
} from './records';
import { threadStride } from './thread';

/** Enough to show a cycle. */
export const MOST_WAITS: u32 = 4096;

let at: usize = 0;
let used: u32 = 0;

/** Writes at most MOST_WAITS rows and returns their number. */
export function writeServiceWaits(address: usize): u32 {
  at = address;
  used = 0;
  for (let k: u32 = 0; k < requestsMade(); k++) requestRows((REQUESTS as u32) + (k << 6));
  for (let i: u32 = 0; i < instanceCount; i++) instanceRows(i);
  for (let e: u32 = 0; e < edgeCount; e++) edgeRows(e);
  return used;
}

function add(kind: u32, where: u32, which: u32, request: u32): void {
  if (used == MOST_WAITS) return;
  used++;
  store<u32>(at, kind);
  store<u32>(at, where, 4);
  store<u32>(at, which, 8);
  store<u64>(at, load<u64>(request, REQUEST_ORDINAL), 16);
  at += SVW_BYTES;
}

// @ts-ignore: decorator
@inline
function indexOf(instance: u32): u32 {
  return (instance - instances) / (INSTANCE_BYTES as u32);
}

/** Threads that wait for replies to the request, and what it holds. */
function requestRows(request: u32): void {
  if (load<u16>(request, REQUEST_STATE) == 0) return;
  for (let record = load<u32>(request, REQUEST_JOINS); record != 0; record = load<u32>(record, CALL_NEXT)) {
    const flags = load<u32>(record, CALL_FLAGS);
    const what = load<u32>(record, CALL_NODE);
    if ((flags & CALL_TAKEN) != 0) {
      add(SVW_EDGE_HELD, (what - edges) / (EDGE_BYTES as u32), load<u32>(record, CALL_CONNECTION), request);
    } else if ((flags & CALL_HELD) != 0) {
      add(SVW_LINE_HELD, instanceOfLine(what), load<u32>(record, CALL_CONNECTION), request);
    } else if ((flags & CALL_UNBLOCKS) != 0) {
      const thread = load<u32>(record, CALL_THREAD);
      add(SVW_BLOCKED, indexOf(load<u32>(thread, THREAD_INSTANCE)), ordinalOf(thread), request);
    }
  }
}

function ordinalOf(thread: u32): u32 {
  const instance = load<u32>(thread, THREAD_INSTANCE);
  return (thread - load<u32>(instance, INSTANCE_THREADS)) / threadStride(instance);
}

function instanceOfLine(line: u32): u32 {
  for (let i: u32 = 0; i < instanceCount; i++) {
    const holds = load<u32>(instances + i * (INSTANCE_BYTES as u32), INSTANCE_HOLDS);
    if (holds != 0 && line >= holds && line < holds + (connections << LINE_SHIFT)) return i;
  }
  return NONE;
}

/** Calls in queues of threads, and calls that wait for a connection of the service. */
function instanceRows(index: u32): void {
  const instance = instances + index * (INSTANCE_BYTES as u32);
  const holds = load<u32>(instance, INSTANCE_HOLDS);
  if (holds != 0) {
    for (let c: u32 = 0; c < connections; c++) callRows(SVW_LINE_WAITING, index, c, load<u32>(holds + (c << LINE_SHIFT), LINE_FIRST));
  }
  if (load<u32>(instance, INSTANCE_KIND) != KIND_THREADS) return;
  const stride = threadStride(instance);
  for (let k: u32 = 0, n = load<u32>(instance, INSTANCE_THREAD_COUNT); k < n; k++) {
    const thread = load<u32>(instance, INSTANCE_THREADS) + k * stride;
    for (let q: u32 = 0; q < load<u32>(thread, THREAD_QUEUE_COUNT); q++) {
      const queue = load<u32>(thread, THREAD_QUEUES) + (q << STAGE_QUEUE_SHIFT);
      const first = load<u32>(queue, STAGE_QUEUE_FIRST);
      if (load<u32>(queue, STAGE_QUEUE_CONNECTIONS) == 0) callRows(SVW_QUEUED, index, k, first);
      else for (let line = first; line != 0; line = load<u32>(line, CONNECTION_NEXT)) callRows(SVW_QUEUED, index, k, load<u32>(line, CONNECTION_FIRST));
    }
  }
}

function edgeRows(index: u32): void {
  const edge = edges + index * (EDGE_BYTES as u32);
  callRows(SVW_EDGE_WAITING, index, NONE, load<u32>(edge, EDGE_FIRST));
  const lines = load<u32>(edge, EDGE_LINES);
  if (lines == 0) return;
  for (let c: u32 = 0; c < connections; c++) callRows(SVW_EDGE_WAITING, index, c, load<u32>(lines + (c << LINE_SHIFT), LINE_FIRST));
}

function callRows(kind: u32, where: u32, which: u32, first: u32): void {
  for (let call = first; call != 0; call = load<u32>(call, CALL_NEXT)) add(kind, where, which, load<u32>(call, CALL_REQUEST));
}
