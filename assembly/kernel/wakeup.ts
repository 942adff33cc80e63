// Tasks become runnable and cease to be: try_to_wake_up(), wake_up_new_task(), deactivate_task() of kernel/sched/core.c.

import {
  CLASS_EXT,
  CLASS_FAIR,
  CLASS_REALTIME,
  DECISION_MOVE,
  DECISION_WAIT,
  DECISION_WAKE,
  FLAG_DISK,
  HISTOGRAM_RESPONSE,
  STATE_COLD,
  STATE_LOCAL,
  STATE_RUNNING,
  STATE_WAKING,
  WAIT_EXIT,
  WAIT_SLEEP,
} from '../abi';
import { count, WAKEUPS } from '../core/counters';
import { CPU_SHIFT, IDLE_MASK } from '../core/layout';
import { opsCausedBy } from '../policy/ops';
import { noteQuota } from './bandwidth';
import { updateCurr } from './charge';
import { CPU_COST, CPU_CURR } from './cpu';
import { detailing, recordDetail } from './decisions';
import { delaysDequeue, wakesInPlace } from './delayed';
import { now, resched } from './events';
import { extDequeue, extEnqueue, extSelectCpu } from './ext';
import { fairDequeue, fairEnqueue, fairSelectCpu, fairWakeupPreempt } from './fair';
import { JOB_STATE, jobShift, jobState } from './job';
import { maskClear } from './mask';
import { changeRunnable, decided, record } from './observe';
import { rtDequeue, rtEnqueue, rtSelectCpu, rtWakeupPreempt } from './rt';
import { schedule } from './sched';
import {
  FLAG_MAIN,
  FLAG_MIGRATED,
  FLAG_QUEUED,
  FLAG_WOKEN,
  STATE_DEAD,
  STATE_RUNNABLE,
  STATE_SLEEPING,
  TASK_CLASS,
  TASK_CPU,
  TASK_FLAGS,
  TASK_JOB,
  TASK_LAST_CPU,
  TASK_RECENT_CPU,
  TASK_RUNNABLE_SINCE,
  TASK_STATE,
  TASK_STINT,
  TASK_WAIT_FLAGS,
  TASK_WOKEN_AT,
} from './task';
import { waitCause } from './waits';

/** Changes the CPU a waiting task belongs to. */
// @ts-ignore: decorator
@inline
export function taskMove(t: u32, cpu: u32): void {
  store<u32>(t, cpu, TASK_CPU);
  store<u16>(t, (load<u16>(t, TASK_FLAGS) | FLAG_MIGRATED) as u16, TASK_FLAGS);
  if (detailing) recordDetail(DECISION_MOVE, t, 0);
}

/** An idle CPU got something to do: it is idle to nobody any more. */
// @ts-ignore: decorator
@inline
export function wakeIdleCpu(cpu: u32): void {
  maskClear(IDLE_MASK, cpu);
  resched(cpu);
}

function activate(t: u32, cpu: u32, wakeup: bool): void {
  const flags = (load<u16>(t, TASK_FLAGS) as u32) | FLAG_QUEUED | FLAG_WOKEN;
  store<u16>(t, flags as u16, TASK_FLAGS);
  store<u8>(t, STATE_RUNNABLE, TASK_STATE);
  store<u64>(t, now, TASK_WOKEN_AT);
  store<u64>(t, now, TASK_RUNNABLE_SINCE);
  changeRunnable(1);
  if ((flags & FLAG_MAIN) != 0) jobState(load<u32>(t, TASK_JOB), STATE_WAKING);
  decided(DECISION_WAKE, cpu, t);
  const c = cpu << CPU_SHIFT;
  const curr = load<u32>(c, CPU_CURR);
  if (load<u8>(t, TASK_CLASS) == CLASS_EXT) {
    extEnqueue(t, cpu, wakeup);
    if (curr == 0) wakeIdleCpu(cpu);
    return;
  }
  updateCurr(c);
  if (load<u8>(t, TASK_CLASS) == CLASS_REALTIME) {
    rtEnqueue(t, cpu);
    if (curr == 0) wakeIdleCpu(cpu);
    else rtWakeupPreempt(t, cpu);
    return;
  }
  fairArrives(t, cpu, wakeup, !wakeup);
}

/** A fair task joins a run queue, whose current task has been charged, and gets the CPU if it should have it before that. */
export function fairArrives(t: u32, cpu: u32, wakeup: bool, initial: bool): void {
  const curr = load<u32>(cpu << CPU_SHIFT, CPU_CURR);
  if (!fairEnqueue(t, cpu, wakeup, initial)) noteQuota(t, cpu);
  else if (curr == 0) wakeIdleCpu(cpu);
  else if (load<u8>(curr, TASK_CLASS) == CLASS_EXT) resched(cpu);
  else if (load<u8>(curr, TASK_CLASS) == CLASS_FAIR) fairWakeupPreempt(cpu, t);
}

/** try_to_wake_up(): `wakerCpu` is -1 when a timer or an arrival wakes it. */
export function wakeUp(t: u32, wakerCpu: i32, wakerTask: u32): void {
  count(WAKEUPS);
  const prev = load<u32>(t, TASK_CPU);
  // It has given up its CPU, which hasn't switched yet: a waker waits for that (p->on_cpu), or the task would be on two CPUs.
  if (load<u32>(prev << CPU_SHIFT, CPU_CURR) == t) schedule(prev);
  if (delaysDequeue && load<u8>(t, TASK_CLASS) == CLASS_FAIR && wakesInPlace(t, prev)) {
    activate(t, prev, true);
    return;
  }
  opsCausedBy(wakerCpu);
  const cpu =
    load<u8>(t, TASK_CLASS) == CLASS_EXT
      ? extSelectCpu(t, prev, true)
      : load<u8>(t, TASK_CLASS) == CLASS_FAIR
        ? fairSelectCpu(t, prev, wakerCpu, wakerTask, false)
        : rtSelectCpu(t, prev);
  if (cpu != prev) taskMove(t, cpu);
  activate(t, cpu, true);
  opsCausedBy(-1);
}

/** wake_up_new_task(): `parentCpu` is where the fork happens. */
export function wakeUpNew(t: u32, parentCpu: u32): void {
  store<u32>(t, parentCpu, TASK_CPU);
  store<u32>(t, parentCpu, TASK_RECENT_CPU);
  store<u16>(t, parentCpu as u16, TASK_LAST_CPU);
  opsCausedBy(parentCpu as i32);
  const cpu =
    load<u8>(t, TASK_CLASS) == CLASS_EXT
      ? extSelectCpu(t, parentCpu, false)
      : load<u8>(t, TASK_CLASS) == CLASS_FAIR
        ? fairSelectCpu(t, parentCpu, parentCpu as i32, 0, true)
        : rtSelectCpu(t, parentCpu);
  store<u32>(t, cpu, TASK_CPU);
  activate(t, cpu, false);
  opsCausedBy(-1);
}

/** The job of the task that runs on c is no longer served: what the switch had cost is not running time. */
// @ts-ignore: decorator
@inline
export function leaveRunning(c: u32, t: u32, j: u32, state: u32): void {
  const cost = load<u64>(c, CPU_COST);
  const stint = load<u64>(t, TASK_STINT);
  jobState(j, state);
  if (cost != 0) {
    jobShift(j, STATE_RUNNING, STATE_COLD, cost < stint ? cost : stint);
    store<u64>(c, 0, CPU_COST);
  }
}

function reasonToLeave(t: u32, state: u8): u32 {
  if (state == STATE_DEAD) return WAIT_EXIT;
  if (state == STATE_SLEEPING) return WAIT_SLEEP | ((load<u8>(t, TASK_WAIT_FLAGS) & FLAG_DISK) != 0 ? 1 << 8 : 0);
  return waitCause(t);
}

/** The running task of c leaves its run queue: STATE_SLEEPING, STATE_BLOCKED or STATE_DEAD. */
export function deactivate(c: u32, t: u32, state: u8, jobStateAfter: u32): void {
  updateCurr(c);
  if (detailing) recordDetail(DECISION_WAIT, t, reasonToLeave(t, state));
  const flags = (load<u16>(t, TASK_FLAGS) as u32);
  store<u16>(t, (flags & ~(FLAG_QUEUED | FLAG_WOKEN)) as u16, TASK_FLAGS);
  store<u8>(t, state, TASK_STATE);
  changeRunnable(-1);
  if ((flags & FLAG_MAIN) != 0) leaveRunning(c, t, load<u32>(t, TASK_JOB), jobStateAfter);
  record(t, HISTOGRAM_RESPONSE, now - load<u64>(t, TASK_WOKEN_AT));
  if (load<u8>(t, TASK_CLASS) == CLASS_EXT) extDequeue(t, true);
  else if (load<u8>(t, TASK_CLASS) == CLASS_REALTIME) rtDequeue(t, c >> CPU_SHIFT);
  else fairDequeue(t, c >> CPU_SHIFT, true);
  resched(c >> CPU_SHIFT);
}

/** The task's job waits in the local DSQ of a CPU from now on. */
// @ts-ignore: decorator
@inline
export function noteLocal(t: u32): void {
  if (((load<u16>(t, TASK_FLAGS) as u32) & FLAG_MAIN) != 0) {
    const j = load<u32>(t, TASK_JOB);
    if (load<u32>(j, JOB_STATE) == STATE_WAKING) jobState(j, STATE_LOCAL);
  }
}
