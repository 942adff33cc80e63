// Cores and the time on them. Dedicated: a thread that is to serve holds one of its cores until the task's timer says that
// the stage is over; a core is held or free. Scheduled: threads are tasks of the kernel; one that gets work is woken, and serves
// when the scheduler gives it a CPU (OP_SERVE). A core or CPU that goes to another thread than before may cost time.

import { TASK_SHIFT } from '../core/layout';
import { now, timerClear, timerSet } from '../kernel/events';
import { nrCpus } from '../kernel/mask';
import { TASK_QUEUE, TASK_SUM_EXEC } from '../kernel/task';
import { wakeUp } from '../kernel/wakeup';
import { meterBegin, meterEnd, metering } from './meter';
import {
  CORE_HOLDER,
  CORE_LAST,
  CORE_SHARER_COUNT,
  CORE_SHARERS,
  INSTANCE_BUSY_NS,
  INSTANCE_IDLE_NS,
  INSTANCE_KIND,
  INSTANCE_STARVED,
  INSTANCE_SWITCH_NS,
  THREAD_BEGAN,
  THREAD_CORE,
  THREAD_CORE_COUNT,
  THREAD_CORES,
  THREAD_FLAGS,
  THREAD_INSTANCE,
  THREAD_OWNS_CORE,
  THREAD_STATE,
  THREAD_TASK,
  THREAD_WOKEN,
} from './records';
import { KIND_THREADS } from '../abi';
import { retryServers } from './server';
import { allocate } from './tables';
import { retryThreads } from './thread';

/** Threads are tasks of the kernel. */
export let areScheduled: bool = false;
/** Scheduled: the thread that each CPU ran last, where switching costs an instance something; else 0. */
export let lastOnCpus: u32 = 0;
/** Who wakes threads now: the CPU and task that serve, -1 and 0 for what comes from a wire or the client. */
let wakerCpu: i32 = -1;
let wakerTask: u32 = 0;

export function coresReset(): void {
  areScheduled = false;
  lastOnCpus = 0;
  setWaker(-1, 0);
}

export function schedulesThreads(switchesCost: bool): void {
  areScheduled = true;
  if (switchesCost) lastOnCpus = allocate(nrCpus, 4);
}

// @ts-ignore: decorator
@inline
export function setWaker(cpu: i32, task: u32): void {
  wakerCpu = cpu;
  wakerTask = task;
}

/** Scheduled: makes the ready thread runnable. False in dedicated mode. */
// @ts-ignore: decorator
@inline
export function wakeThread(thread: u32): bool {
  if (!areScheduled) return false;
  if (load<u64>(load<u32>(thread, THREAD_INSTANCE), INSTANCE_IDLE_NS) != 0) stopService(thread);
  store<u32>(thread, THREAD_WOKEN, THREAD_STATE);
  wakeUp(load<u32>(thread, THREAD_TASK), wakerCpu, wakerTask);
  return true;
}

/** Takes the first free one of the thread's cores. False: there is none. */
// @ts-ignore: decorator
@inline
export function acquireCore(thread: u32): bool {
  if ((load<u16>(thread, THREAD_FLAGS) & THREAD_OWNS_CORE) != 0) return true;
  return acquireOf(thread);
}

function acquireOf(thread: u32): bool {
  const cores = load<u32>(thread, THREAD_CORES);
  for (let i: u32 = 0, n = load<u32>(thread, THREAD_CORE_COUNT); i < n; i++) {
    const core = load<u32>(cores + (i << 2));
    if (load<u32>(core, CORE_HOLDER) != 0) continue;
    store<u32>(core, thread, CORE_HOLDER);
    store<u32>(thread, core, THREAD_CORE);
    return true;
  }
  return false;
}

/** Gives the core back; other instances that use it get it if they starve. */
export function releaseCore(thread: u32): void {
  const core = load<u32>(thread, THREAD_CORE);
  store<u32>(thread, 0, THREAD_CORE);
  store<u32>(core, 0, CORE_HOLDER);
  const own = load<u32>(thread, THREAD_INSTANCE);
  const sharers = load<u32>(core, CORE_SHARERS);
  for (let i: u32 = 0, n = load<u32>(core, CORE_SHARER_COUNT); i < n; i++) {
    const instance = load<u32>(sharers + (i << 2));
    if (instance == own || load<u32>(instance, INSTANCE_STARVED) == 0) continue;
    if (load<u32>(instance, INSTANCE_KIND) == KIND_THREADS) retryThreads(instance);
    else retryServers(instance);
  }
}

/** What it costs that another thread was there before; `at`: where the last one is kept. */
function switchTo(thread: u32, at: u32): u64 {
  const last = load<u32>(at);
  store<u32>(at, thread);
  return last == 0 || last == thread ? 0 : (load<u32>(load<u32>(thread, THREAD_INSTANCE), INSTANCE_SWITCH_NS) as u64);
}

/** Scheduled: what it costs that the CPU goes to the thread of task t, ns. */
export function switchCost(t: u32, cpu: u32): u64 {
  return switchTo(load<u32>(t, TASK_QUEUE), lastOnCpus + (cpu << 2));
}

/** A timer of the thread that serves nothing. */
export function startTimer(thread: u32, time: u64): void {
  const t = load<u32>(thread, THREAD_TASK);
  timerSet(t >> TASK_SHIFT, t, now + time);
}

/** The thread serves for `time` ns from now. */
// @ts-ignore: decorator
@inline
export function startService(thread: u32, time: u64): void {
  store<u64>(thread, now, THREAD_BEGAN);
  if (metering) meterBegin(thread);
  if ((load<u16>(thread, THREAD_FLAGS) & THREAD_OWNS_CORE) == 0) time += switchTo(thread, load<u32>(thread, THREAD_CORE) + (CORE_LAST as u32));
  const t = load<u32>(thread, THREAD_TASK);
  timerSet(t >> TASK_SHIFT, t, now + time);
}

/** Its time is over: charged to the instance and to the thread. The timer stays until the next startService() or stopService(). */
// @ts-ignore: decorator
@inline
export function endService(thread: u32): void {
  const time = now - load<u64>(thread, THREAD_BEGAN);
  const instance = load<u32>(thread, THREAD_INSTANCE);
  store<u64>(instance, load<u64>(instance, INSTANCE_BUSY_NS) + time, INSTANCE_BUSY_NS);
  if (metering) meterEnd(thread, time);
  const t = load<u32>(thread, THREAD_TASK);
  store<u64>(t, load<u64>(t, TASK_SUM_EXEC) + time, TASK_SUM_EXEC);
}

/** It serves nothing more for now. */
// @ts-ignore: decorator
@inline
export function stopService(thread: u32): void {
  timerClear(load<u32>(thread, THREAD_TASK) >> TASK_SHIFT);
}
