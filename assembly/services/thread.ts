// Threads: what they take from the queue of a stage, for how long they hold a core with it, and what becomes of it.

import { NONE, STAGE_BLOCKS, STAGE_PASSES, SV_REVERSE_TIES, TAKE_CONNECTION, TAKE_ONE } from '../abi';
import { entityKey } from '../core/random';
import { now } from '../kernel/events';
import { assignThread, idles, timerOnly } from './assigning';
import {
  CALL_BALANCING,
  CALL_CONNECTION,
  CALL_FLAGS,
  CALL_HOP,
  CALL_LEFT,
  CALL_NEXT,
  CALL_NODE,
  CALL_PASSED,
  CALL_PATH,
  CALL_REPLY,
  CALL_REQUEST,
  CALL_STAGE,
  CALL_THREAD,
  CALL_TIME,
  CALL_UNBLOCKS,
  REQUEST_KEY,
} from './call';
import { pick, queueOf, setNext } from './choosing';
import {
  acquireCore,
  endService,
  releaseCore,
  startService,
  stopService,
  wakeThread,
} from './core';
import { hopDone } from './network';
import {
  INSTANCE_BATCHES,
  INSTANCE_CONNECTIONS,
  INSTANCE_FLAGS,
  INSTANCE_IDLE_NS,
  INSTANCE_JOBS,
  INSTANCE_PATH_COUNT,
  INSTANCE_PATHS,
  INSTANCE_STARVED,
  INSTANCE_STATS,
  INSTANCE_THREAD_COUNT,
  INSTANCE_THREADS,
  NODE_END,
  NODE_INDEX,
  NODE_SYNC,
  PATH_BYTES,
  PATH_INDEX,
  PATH_STAGE_COUNT,
  PATH_STAGES,
  STAGE_BYTES,
  STAGE_CRITICAL,
  STAGE_FLAGS,
  STAGE_INDEX,
  STAGE_LAST,
  STAGE_LIMIT,
  STAGE_PATH,
  STAGE_PEER_COUNT,
  STAGE_PEERS,
  STAGE_QUEUE_COUNT,
  STAGE_TAKE,
  THREAD_BATCH,
  THREAD_BLOCKED,
  THREAD_BYTES,
  THREAD_CRITICAL,
  THREAD_DECIDED,
  THREAD_FLAGS,
  THREAD_INSTANCE,
  THREAD_OWNS_CORE,
  THREAD_PATHS,
  THREAD_READY,
  THREAD_RUNNING,
  THREAD_STAGE,
  THREAD_STARVED,
  THREAD_STATE,
  THREAD_WAITING,
} from './records';
import { leaveNode, serviceLeft } from './route';
import {
  batchBegin,
  batchFirst,
  batchJobs,
  stageQueueHead,
  stageQueuePush,
  stageQueueTake,
} from './stagequeue';
import { stageTime } from './stagetime';

/** Bytes from a thread of the instance to the next. */
// @ts-ignore: decorator
@inline
export function threadStride(instance: u32): u32 {
  return ((THREAD_BYTES as u32) + 2 * load<u32>(instance, INSTANCE_PATH_COUNT) + 7) & ~7;
}

/** First of the numbers that tell a balancer's stages from those of the visit that it is on the way to. */
const KEY_BALANCER: u32 = 0x4000;

/** Key of the draws for a visit's stage, or for its choice of a path. */
// @ts-ignore: decorator
@inline
export function visitKey(call: u32, what: u32): u64 {
  const index = load<u32>(load<u32>(call, CALL_NODE), NODE_INDEX);
  if ((load<u32>(call, CALL_FLAGS) & CALL_BALANCING) != 0) what += KEY_BALANCER;
  return entityKey(load<u64>(load<u32>(call, CALL_REQUEST), REQUEST_KEY), (((index as u64) + 1) << 16) | (what as u64));
}

/** Key of the draws for a stage of a network's leg. Calls that meet at a node come from different ones. */
// @ts-ignore: decorator
@inline
export function hopKey(call: u32, hop: u32, stage: u32): u64 {
  const index = load<u32>(load<u32>(call, CALL_NODE), NODE_INDEX);
  const leg = (((load<u32>(call, CALL_LEFT) as u64) + 1) << 40) | (((index as u64) + 1) << 16);
  return entityKey(load<u64>(load<u32>(call, CALL_REQUEST), REQUEST_KEY), leg | ((hop << 8) as u64) | (stage as u64));
}

/** A call comes to an instance with threads; its path and stage are set. */
export function threadReceive(instance: u32, call: u32): void {
  let thread = load<u32>(call, CALL_THREAD);
  if (thread == 0) {
    thread = assignThread(instance, call);
    store<u32>(call, thread, CALL_THREAD);
  } else if (load<u32>(instance, INSTANCE_CONNECTIONS) != 0) {
    store<u32>(load<u32>(instance, INSTANCE_CONNECTIONS) + (load<u32>(call, CALL_CONNECTION) << 2), thread);
  }
  enqueue(thread, instance, call);
  threadTry(thread);
}

function enqueue(thread: u32, instance: u32, call: u32): void {
  const path = load<u32>(instance, INSTANCE_PATHS) + (load<u16>(call, CALL_PATH) as u32) * (PATH_BYTES as u32);
  const stage = load<u16>(call, CALL_STAGE) as u32;
  store<u64>(call, now, CALL_TIME);
  const flags = load<u32>(call, CALL_FLAGS);
  if ((flags & CALL_UNBLOCKS) != 0) {
    store<u32>(call, flags & ~CALL_UNBLOCKS, CALL_FLAGS);
    store<u32>(thread, THREAD_READY, THREAD_STATE);
    setNext(thread, path, stage);
  }
  stageQueuePush(queueOf(thread, path, stage), call, (load<u32>(instance, INSTANCE_FLAGS) & SV_REVERSE_TIES) != 0);
  store<u32>(thread, load<u32>(thread, THREAD_WAITING) + 1, THREAD_WAITING);
}

/** A thread that may have something to do begins, if it is ready and finds a core. */
export function threadTry(thread: u32): void {
  if (load<u32>(thread, THREAD_STATE) != THREAD_READY || wakeThread(thread)) return;
  const stage = pick(thread);
  if (stage == 0 || !acquireCore(thread)) {
    if (load<u32>(thread, THREAD_WAITING) != 0) starve(thread);
    return;
  }
  feed(thread);
  startService(thread, begin(thread, stage));
}

/** It has work but no core, or all its work is before critical sections that are full. */
function starve(thread: u32): void {
  const flags = load<u16>(thread, THREAD_FLAGS);
  if ((flags & THREAD_STARVED) != 0) return;
  const instance = load<u32>(thread, THREAD_INSTANCE);
  store<u16>(thread, (flags | THREAD_STARVED) as u16, THREAD_FLAGS);
  store<u32>(instance, load<u32>(instance, INSTANCE_STARVED) + 1, INSTANCE_STARVED);
}

// @ts-ignore: decorator
@inline
function feed(thread: u32): void {
  const flags = load<u16>(thread, THREAD_FLAGS);
  if ((flags & THREAD_STARVED) == 0) return;
  const instance = load<u32>(thread, THREAD_INSTANCE);
  store<u16>(thread, (flags & ~THREAD_STARVED) as u16, THREAD_FLAGS);
  store<u32>(instance, load<u32>(instance, INSTANCE_STARVED) - 1, INSTANCE_STARVED);
}

/** Starved threads try again, in order. */
export function retryThreads(instance: u32): void {
  const stride = threadStride(instance);
  let thread = load<u32>(instance, INSTANCE_THREADS);
  for (let i: u32 = 0, n = load<u32>(instance, INSTANCE_THREAD_COUNT); i < n; i++, thread += stride) {
    if (load<u32>(instance, INSTANCE_STARVED) == 0) return;
    if ((load<u16>(thread, THREAD_FLAGS) & THREAD_STARVED) != 0) threadTry(thread);
  }
}

/** Takes the stage's batch and returns its time, ns. The thread has a core. */
function begin(thread: u32, stage: u32): u64 {
  const instance = load<u32>(thread, THREAD_INSTANCE);
  const path = load<u32>(stage, STAGE_PATH);
  const q = queueOf(thread, path, load<u32>(stage, STAGE_INDEX));
  const take = load<u32>(stage, STAGE_TAKE);
  batchBegin();
  if (take == TAKE_ONE) {
    stageQueueTake(q, TAKE_ONE, 0, 0);
  } else {
    const connection = take == TAKE_CONNECTION ? load<u32>(stageQueueHead(q), CALL_CONNECTION) : 0;
    stageQueueTake(q, take, load<u32>(stage, STAGE_LIMIT), connection);
    if (load<u32>(stage, STAGE_PEERS) != 0) takeOfPeers(thread, stage, connection);
  }
  const call = batchFirst;
  store<u32>(thread, call, THREAD_BATCH);
  store<u32>(thread, stage, THREAD_STAGE);
  store<u32>(thread, load<u32>(thread, THREAD_WAITING) - batchJobs, THREAD_WAITING);
  store<u64>(instance, load<u64>(instance, INSTANCE_BATCHES) + 1, INSTANCE_BATCHES);
  store<u64>(instance, load<u64>(instance, INSTANCE_JOBS) + (batchJobs as u64), INSTANCE_JOBS);
  const critical = load<u32>(stage, STAGE_CRITICAL);
  if (critical != 0) {
    store<u32>(critical, load<u32>(critical) - 1);
    store<u32>(thread, critical, THREAD_CRITICAL);
  }
  const flags = load<u32>(stage, STAGE_FLAGS);
  let again = false;
  if ((flags & STAGE_PASSES) != 0) {
    const callFlags = load<u32>(call, CALL_FLAGS);
    again = (callFlags & CALL_PASSED) != 0;
    store<u32>(call, callFlags | CALL_PASSED, CALL_FLAGS);
  }
  store<u32>(thread, THREAD_RUNNING, THREAD_STATE);
  const waits = isSynchronous(call, stage);
  if (waits && (flags & STAGE_BLOCKS) != 0) {
    // It blocks when the stage is over, and goes on in this path with the reply.
    store<u32>(thread, THREAD_BLOCKED, THREAD_STATE);
  } else {
    follow(thread, path, stage, waits);
  }
  const index = load<u32>(stage, STAGE_INDEX);
  const key = load<u32>(instance, INSTANCE_STATS) == NONE ? hopKey(call, load<u32>(call, CALL_HOP), index) : visitKey(call, index);
  return stageTime(stage, key, again);
}

/** The call issues a synchronous call at the end of this stage. */
// @ts-ignore: decorator
@inline
function isSynchronous(call: u32, stage: u32): bool {
  const node = load<u32>(call, CALL_NODE);
  return load<u32>(node, NODE_SYNC) != 0 && (load<u32>(call, CALL_FLAGS) & CALL_BALANCING) == 0 && load<u32>(node, NODE_END) == load<u32>(stage, STAGE_INDEX);
}

// @ts-ignore: decorator
@inline
function follow(thread: u32, path: u32, stage: u32, waits: bool): void {
  if (waits || load<u32>(stage, STAGE_LAST) != 0) store<u8>(thread + (load<u32>(path, PATH_INDEX) << 1), 0, THREAD_DECIDED);
  else setNext(thread, path, load<u32>(stage, STAGE_INDEX) + 1);
}

/** The same stage in other paths: what waits there is served along. */
function takeOfPeers(thread: u32, stage: u32, connection: u32): void {
  const peers = load<u32>(stage, STAGE_PEERS);
  for (let i: u32 = 0, n = load<u32>(stage, STAGE_PEER_COUNT); i < n; i++) {
    const peer = load<u32>(peers + (i << 2));
    if (peer == stage) continue;
    const path = load<u32>(peer, STAGE_PATH);
    const q = queueOf(thread, path, load<u32>(peer, STAGE_INDEX));
    if (load<u32>(q, STAGE_QUEUE_COUNT) == 0) continue;
    const before = batchJobs;
    stageQueueTake(q, load<u32>(peer, STAGE_TAKE), load<u32>(peer, STAGE_LIMIT), connection);
    if (batchJobs == before) continue;
    const at = thread + (load<u32>(path, PATH_INDEX) << 1);
    if (load<u8>(at, THREAD_DECIDED) != 0 && (load<u8>(at, THREAD_PATHS) as u32) == load<u32>(peer, STAGE_INDEX)) follow(thread, path, peer, false);
  }
}

// @ts-ignore: decorator
@inline
function advance(thread: u32, instance: u32, call: u32, stage: u32): void {
  store<u16>(call, (stage + 1) as u16, CALL_STAGE);
  store<u32>(call, load<u32>(call, CALL_FLAGS) & ~CALL_REPLY, CALL_FLAGS);
  enqueue(thread, instance, call);
}

/** The batch is served: its calls go on. True: one has left the service. */
function handOn(thread: u32): bool {
  const instance = load<u32>(thread, THREAD_INSTANCE);
  const critical = load<u32>(thread, THREAD_CRITICAL);
  if (critical != 0) {
    store<u32>(critical, load<u32>(critical) + 1);
    store<u32>(thread, 0, THREAD_CRITICAL);
  }
  const network = load<u32>(instance, INSTANCE_STATS) == NONE;
  let left = network;
  let first = true;
  for (let call = load<u32>(thread, THREAD_BATCH); call != 0; ) {
    const next = load<u32>(call, CALL_NEXT);
    const at = load<u16>(call, CALL_STAGE) as u32;
    const path = load<u32>(instance, INSTANCE_PATHS) + (load<u16>(call, CALL_PATH) as u32) * (PATH_BYTES as u32);
    const last = at + 1 == load<u32>(path, PATH_STAGE_COUNT);
    if (network) {
      if (last) hopDone(instance, call);
      else advance(thread, instance, call, at);
    } else if (last || (load<u32>(load<u32>(call, CALL_NODE), NODE_END) == at && (load<u32>(call, CALL_FLAGS) & CALL_BALANCING) == 0)) {
      const stage = load<u32>(path, PATH_STAGES) + at * (STAGE_BYTES as u32);
      const staying = leaveNode(call, instance, load<u32>(stage, STAGE_FLAGS));
      if (first) left = serviceLeft;
      first = false;
      if (staying != 0) enqueue(thread, instance, staying);
    } else {
      advance(thread, instance, call, at);
    }
    call = next;
  }
  store<u32>(thread, 0, THREAD_BATCH);
  return left;
}

/** The time of the stage is over: the thread goes on to the next with its core, unless a call left the service or nothing is there. */
export function threadDone(thread: u32): void {
  if (load<u32>(thread, THREAD_BATCH) == 0) {
    timerOnly(thread);
    return;
  }
  endService(thread);
  const critical = load<u32>(thread, THREAD_CRITICAL) != 0;
  const left = handOn(thread);
  const flags = load<u16>(thread, THREAD_FLAGS);
  if (load<u32>(thread, THREAD_STATE) == THREAD_RUNNING) {
    if (!left || (flags & THREAD_OWNS_CORE) != 0) {
      const stage = pick(thread);
      if (stage != 0) {
        startService(thread, begin(thread, stage));
        if (critical) retryThreads(load<u32>(thread, THREAD_INSTANCE));
        return;
      }
    }
    store<u32>(thread, THREAD_READY, THREAD_STATE);
  }
  if ((flags & THREAD_OWNS_CORE) == 0) releaseCore(thread);
  const instance = load<u32>(thread, THREAD_INSTANCE);
  if (load<u32>(instance, INSTANCE_STARVED) == 0) {
    threadTry(thread);
  } else {
    if (load<u32>(thread, THREAD_STATE) == THREAD_READY && load<u32>(thread, THREAD_WAITING) != 0) starve(thread);
    retryThreads(instance);
  }
  if (load<u32>(thread, THREAD_BATCH) != 0) return;
  const idle = load<u64>(instance, INSTANCE_IDLE_NS);
  if (idle != 0 && load<u32>(thread, THREAD_STATE) == THREAD_READY) idles(thread, idle);
  else stopService(thread);
}

/** Scheduled: the thread has a CPU. Hands on what it served and takes the next batch; its time, u64.MAX_VALUE if there is none. */
export function threadServe(thread: u32): u64 {
  const critical = load<u32>(thread, THREAD_CRITICAL) != 0;
  if (load<u32>(thread, THREAD_BATCH) != 0) handOn(thread);
  if (critical) retryThreads(load<u32>(thread, THREAD_INSTANCE));
  if (load<u32>(thread, THREAD_STATE) == THREAD_BLOCKED) return u64.MAX_VALUE;
  const stage = pick(thread);
  if (stage != 0) {
    feed(thread);
    return begin(thread, stage);
  }
  store<u32>(thread, THREAD_READY, THREAD_STATE);
  const idle = load<u64>(load<u32>(thread, THREAD_INSTANCE), INSTANCE_IDLE_NS);
  if (load<u32>(thread, THREAD_WAITING) != 0) starve(thread);
  else if (idle != 0) idles(thread, idle);
  return u64.MAX_VALUE;
}
