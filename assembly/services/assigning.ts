// Which thread gets a call: that of its connection, the next in turn, or one made on demand; and the end of threads that are idle.

import { now } from '../kernel/events';
import { CALL_CONNECTION } from './call';
import { startTimer, stopService } from './core';
import {
  INSTANCE_ACTIVE,
  INSTANCE_AT_LEAST,
  INSTANCE_CONNECTIONS,
  INSTANCE_IDLE_NS,
  INSTANCE_NEXT,
  INSTANCE_SPAWN_NS,
  INSTANCE_THREAD_COUNT,
  INSTANCE_THREADS,
  THREAD_BATCH,
  THREAD_BEGAN,
  THREAD_INSTANCE,
  THREAD_READY,
  THREAD_STARTING,
  THREAD_STATE,
  THREAD_WAITING,
} from './records';
import { threadStride, threadTry } from './thread';

/** The thread that serves a call with no thread of its own: its connection's, or the next in turn. */
// @ts-ignore: decorator
@inline
export function assignThread(instance: u32, call: u32): u32 {
  const connections = load<u32>(instance, INSTANCE_CONNECTIONS);
  const slot = connections + (load<u32>(call, CALL_CONNECTION) << 2);
  if (connections != 0) {
    const bound = load<u32>(slot);
    if (bound != 0 && bound < endOfThreads(instance)) return bound;
  }
  let thread: u32 = load<u32>(instance, INSTANCE_AT_LEAST) == load<u32>(instance, INSTANCE_THREAD_COUNT) ? 0 : idleOrNew(instance);
  if (thread == 0) {
    const next = load<u32>(instance, INSTANCE_NEXT);
    thread = load<u32>(instance, INSTANCE_THREADS) + next * threadStride(instance);
    store<u32>(instance, next + 1 >= load<u32>(instance, INSTANCE_ACTIVE) ? 0 : next + 1, INSTANCE_NEXT);
  }
  if (connections != 0) store<u32>(slot, thread);
  return thread;
}

/** Address behind the last thread that exists. */
// @ts-ignore: decorator
@inline
function endOfThreads(instance: u32): u32 {
  return load<u32>(instance, INSTANCE_THREADS) + load<u32>(instance, INSTANCE_ACTIVE) * threadStride(instance);
}

/** Serves nothing, and has nothing to serve. */
// @ts-ignore: decorator
@inline
function isIdle(thread: u32): bool {
  return load<u32>(thread, THREAD_STATE) == THREAD_READY && load<u32>(thread, THREAD_WAITING) == 0;
}

/** Where threads are made on demand: one that has nothing to do, or a new one; 0 if there are as many as may be. */
function idleOrNew(instance: u32): u32 {
  const stride = threadStride(instance);
  let active = load<u32>(instance, INSTANCE_ACTIVE);
  let thread = load<u32>(instance, INSTANCE_THREADS);
  for (let i: u32 = 0; i < active; i++, thread += stride) {
    if (isIdle(thread)) return thread;
  }
  // One that had ended is there again, and busy, if a reply came that it had to serve.
  for (; active < load<u32>(instance, INSTANCE_THREAD_COUNT) && !isIdle(thread); active++) thread += stride;
  if (active == load<u32>(instance, INSTANCE_THREAD_COUNT)) {
    store<u32>(instance, active, INSTANCE_ACTIVE);
    return 0;
  }
  store<u32>(instance, active + 1, INSTANCE_ACTIVE);
  const takes = load<u64>(instance, INSTANCE_SPAWN_NS);
  if (takes != 0) {
    store<u32>(thread, THREAD_STARTING, THREAD_STATE);
    startTimer(thread, takes);
  }
  return thread;
}

/** The thread has nothing to do from now on. */
export function idles(thread: u32, idle: u64): void {
  store<u64>(thread, now, THREAD_BEGAN);
  startTimer(thread, idle);
}

/** Made threads that have been idle for long enough end, the youngest first. */
function endIdle(instance: u32): void {
  const stride = threadStride(instance);
  const since = now - load<u64>(instance, INSTANCE_IDLE_NS);
  let active = load<u32>(instance, INSTANCE_ACTIVE);
  while (active > load<u32>(instance, INSTANCE_AT_LEAST)) {
    const last = load<u32>(instance, INSTANCE_THREADS) + (active - 1) * stride;
    if (!isIdle(last) || load<u64>(last, THREAD_BEGAN) > since) break;
    active--;
  }
  store<u32>(instance, active, INSTANCE_ACTIVE);
  if (load<u32>(instance, INSTANCE_NEXT) >= active) store<u32>(instance, 0, INSTANCE_NEXT);
}

/** The timer of a thread that serves nothing: it has been made, or has been idle for long enough. */
export function timerOnly(thread: u32): void {
  if (load<u32>(thread, THREAD_STATE) == THREAD_STARTING) {
    store<u32>(thread, THREAD_READY, THREAD_STATE);
    threadTry(thread);
    if (load<u32>(thread, THREAD_BATCH) == 0) stopService(thread);
    return;
  }
  stopService(thread);
  endIdle(load<u32>(thread, THREAD_INSTANCE));
}
