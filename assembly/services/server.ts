// Instances without threads, as network stacks: calls wait in queues that are filled in turn, and each holds a core for all
// stages of its path at once. A server stands for a core and the queues that may use it, which it serves in order.

import { KIND_QUEUE_PAIRS, NONE, STAGE_PASSES } from '../abi';
import { now } from '../kernel/events';
import { acquireCore, endService, releaseCore, startService, stopService, wakeThread } from './core';
import {
  CALL_BALANCING,
  CALL_FLAGS,
  CALL_HOP,
  CALL_NODE,
  CALL_PASSED,
  CALL_PATH,
  CALL_STAGE,
  CALL_TIME,
  HOP_SEND_REMOTE,
} from './call';
import { hopDone } from './network';
import { leaveNode } from './route';
import {
  INSTANCE_BATCHES,
  INSTANCE_JOBS,
  INSTANCE_KIND,
  INSTANCE_NEXT,
  INSTANCE_PATHS,
  INSTANCE_QUEUE_COUNT,
  INSTANCE_QUEUES,
  INSTANCE_STARVED,
  INSTANCE_STATS,
  INSTANCE_THREAD_COUNT,
  INSTANCE_THREADS,
  NODE_END,
  PATH_BYTES,
  PATH_STAGE_COUNT,
  PATH_STAGES,
  STAGE_BYTES,
  STAGE_FLAGS,
  STAGE_QUEUE_COUNT,
  STAGE_QUEUE_SERVER_COUNT,
  STAGE_QUEUE_SERVERS,
  STAGE_QUEUE_SHIFT,
  THREAD_BATCH,
  THREAD_BYTES,
  THREAD_FLAGS,
  THREAD_INSTANCE,
  THREAD_OWNS_CORE,
  THREAD_QUEUE_COUNT,
  THREAD_QUEUES,
  THREAD_READY,
  THREAD_RUNNING,
  THREAD_STATE,
} from './records';
import { batchBegin, stageQueuePop, stageQueuePush } from './stagequeue';
import { stageTime } from './stagetime';
import { hopKey, visitKey } from './thread';

/** A call comes to an instance without threads. */
export function serverReceive(instance: u32, call: u32): void {
  const next = load<u32>(instance, INSTANCE_NEXT);
  let index = next;
  let turn = load<u32>(instance, INSTANCE_QUEUE_COUNT);
  if (load<u32>(instance, INSTANCE_KIND) == KIND_QUEUE_PAIRS) {
    turn >>= 1;
    if (load<u32>(call, CALL_HOP) <= HOP_SEND_REMOTE) index += turn;
  }
  store<u32>(instance, next + 1 == turn ? 0 : next + 1, INSTANCE_NEXT);
  const q = load<u32>(instance, INSTANCE_QUEUES) + (index << STAGE_QUEUE_SHIFT);
  store<u64>(call, now, CALL_TIME);
  const servers = load<u32>(q, STAGE_QUEUE_SERVERS);
  for (let i: u32 = 0, n = load<u32>(q, STAGE_QUEUE_SERVER_COUNT); i < n; i++) {
    const server = load<u32>(servers + (i << 2));
    if (load<u32>(server, THREAD_STATE) != THREAD_READY) continue;
    if (wakeThread(server)) break;
    if (!acquireCore(server)) continue;
    startService(server, begin(server, instance, call));
    return;
  }
  stageQueuePush(q, call, false);
  store<u32>(instance, load<u32>(instance, INSTANCE_STARVED) + 1, INSTANCE_STARVED);
}

/** Σ of the times of the call's stages. */
function begin(server: u32, instance: u32, call: u32): u64 {
  store<u32>(server, THREAD_RUNNING, THREAD_STATE);
  store<u32>(server, call, THREAD_BATCH);
  store<u64>(instance, load<u64>(instance, INSTANCE_BATCHES) + 1, INSTANCE_BATCHES);
  store<u64>(instance, load<u64>(instance, INSTANCE_JOBS) + 1, INSTANCE_JOBS);
  batchBegin();
  const network = load<u32>(instance, INSTANCE_STATS) == NONE;
  const p = network ? load<u32>(call, CALL_HOP) : (load<u16>(call, CALL_PATH) as u32);
  const path = load<u32>(instance, INSTANCE_PATHS) + p * (PATH_BYTES as u32);
  const first = load<u32>(path, PATH_STAGES);
  if (network && load<u32>(path, PATH_STAGE_COUNT) == 1) return stageTime(first, hopKey(call, p, 0), false);
  let last = load<u32>(path, PATH_STAGE_COUNT) - 1;
  let k: u32 = 0;
  if (!network) {
    k = load<u16>(call, CALL_STAGE) as u32;
    const end = load<u32>(load<u32>(call, CALL_NODE), NODE_END);
    if (end < last && (load<u32>(call, CALL_FLAGS) & CALL_BALANCING) == 0) last = end;
    store<u16>(call, last as u16, CALL_STAGE);
  }
  let time: u64 = 0;
  for (; k <= last; k++) {
    const stage = first + k * (STAGE_BYTES as u32);
    let again = false;
    if ((load<u32>(stage, STAGE_FLAGS) & STAGE_PASSES) != 0) {
      const flags = load<u32>(call, CALL_FLAGS);
      again = (flags & CALL_PASSED) != 0;
      store<u32>(call, flags | CALL_PASSED, CALL_FLAGS);
    }
    time += stageTime(stage, network ? hopKey(call, p, k) : visitKey(call, k), again);
  }
  return time;
}

/** The call of a server goes on: another leg of its hop, or out of the service. */
function handOn(server: u32): void {
  const instance = load<u32>(server, THREAD_INSTANCE);
  const call = load<u32>(server, THREAD_BATCH);
  store<u32>(server, 0, THREAD_BATCH);
  if (load<u32>(instance, INSTANCE_STATS) == NONE) {
    hopDone(instance, call);
    return;
  }
  const path = load<u32>(instance, INSTANCE_PATHS) + (load<u16>(call, CALL_PATH) as u32) * (PATH_BYTES as u32);
  const stage = load<u32>(path, PATH_STAGES) + (load<u16>(call, CALL_STAGE) as u32) * (STAGE_BYTES as u32);
  const staying = leaveNode(call, instance, load<u32>(stage, STAGE_FLAGS));
  if (staying != 0) serverReceive(instance, staying);
}

/** The first of the server's queues that has calls, 0 if none has. */
// @ts-ignore: decorator
@inline
function filledQueue(server: u32, instance: u32): u32 {
  return load<u32>(instance, INSTANCE_STARVED) == 0 ? 0 : searchQueue(server);
}

function searchQueue(server: u32): u32 {
  const queues = load<u32>(server, THREAD_QUEUES);
  for (let i: u32 = 0, n = load<u32>(server, THREAD_QUEUE_COUNT); i < n; i++) {
    const q = load<u32>(queues + (i << 2));
    if (load<u32>(q, STAGE_QUEUE_COUNT) != 0) return q;
  }
  return 0;
}

// @ts-ignore: decorator
@inline
function take(q: u32, instance: u32): u32 {
  store<u32>(instance, load<u32>(instance, INSTANCE_STARVED) - 1, INSTANCE_STARVED);
  return stageQueuePop(q);
}

export function serverDone(server: u32): void {
  endService(server);
  handOn(server);
  store<u32>(server, THREAD_READY, THREAD_STATE);
  // Others that use the core may take it.
  if ((load<u16>(server, THREAD_FLAGS) & THREAD_OWNS_CORE) == 0) releaseCore(server);
  const instance = load<u32>(server, THREAD_INSTANCE);
  const q = filledQueue(server, instance);
  if (q != 0 && acquireCore(server)) startService(server, begin(server, instance, take(q, instance)));
  else stopService(server);
}

/** Calls wait and a core that others use, too, is free: servers that are ready try to get it. */
export function retryServers(instance: u32): void {
  let server = load<u32>(instance, INSTANCE_THREADS);
  for (let i: u32 = 0, n = load<u32>(instance, INSTANCE_THREAD_COUNT); i < n; i++, server += THREAD_BYTES as u32) {
    if (load<u32>(server, THREAD_STATE) != THREAD_READY) continue;
    const q = filledQueue(server, instance);
    if (q != 0 && acquireCore(server)) startService(server, begin(server, instance, take(q, instance)));
  }
}

/** Scheduled: as threadServe(). */
export function serverServe(server: u32): u64 {
  if (load<u32>(server, THREAD_BATCH) != 0) handOn(server);
  const instance = load<u32>(server, THREAD_INSTANCE);
  const q = filledQueue(server, instance);
  if (q != 0) return begin(server, instance, take(q, instance));
  store<u32>(server, THREAD_READY, THREAD_STATE);
  return u64.MAX_VALUE;
}
