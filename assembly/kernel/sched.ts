// The scheduling core: charging CPU time, wake-ups, schedule() and the switch, class by class (realtime above fair
// above ext above idle). Names follow kernel/sched/core.c. One event may ask several CPUs to reschedule; they do so in CPU order before
// the next event (runResched), so nothing here recurses.

import { CLASS_EXT, CLASS_FAIR, CLASS_REALTIME, DECISION_COLD, DECISION_COST, DECISION_MOVE, DECISION_POLL, DECISION_RUN, DECISION_STOP, DECISION_WAIT, DECISION_WAKE, FLAG_DISK, HISTOGRAM_KINDS, HISTOGRAM_RESPONSE, HISTOGRAM_STINT, HISTOGRAM_WAKE_LATENCY, NONE, P_COST_DISPATCH_NS, P_COST_MIGRATION_LLC_NS, P_COST_MIGRATION_NODE_NS, P_COST_SWITCH_NS, P_DECISIONS, P_DIGEST, P_FREQUENCY_INTERVAL_NS, P_HZ, P_SLICE_EXACT, P_TICK_SKEW_NS, STATE_COLD, STATE_LOCAL, STATE_PREEMPTED, STATE_RUNNING, STATE_WAKING, WAIT_EXIT, WAIT_SLEEP } from '../abi';
import { count, counter, DIGEST, EXITED_CPU, MIGRATIONS, param, POLL_NS, PREEMPTIONS, RUNNABLE, RUNNABLE_AREA, RUNNABLE_SINCE, setCounter, SWITCHES, WAKEUPS } from '../core/counters';
import { fail, FAIL_LIVELOCK, failure } from '../core/failure';
import { histogramRecord } from '../core/histogram';
import { CPU_SHIFT, IDLE_MASK, ONLINE_MASK, RESCHED_MASK, TASK_SHIFT } from '../core/layout';
import { cpuMhz, frequencyBusy, frequencyDirty, frequencyIdle } from '../machine/frequency';
import { idleEnter, idleExit } from '../machine/idle';
import { cpuLlc, cpuNode, cpuPackage } from '../machine/topology';
import { CPU_BUSY_NS, CPU_COLD_NS, CPU_COST, CPU_CURR, CPU_FLAGS, CPU_IDLE_NS, CPU_MHZ, CPU_MIGRATIONS, CPU_OVERHEAD_NS, CPU_STATE_SINCE, CPU_SWITCHES, CPU_WAKING, CPU_WORK_BEGIN } from './cpu';
import { decisionsInit, detailing, recordDecision, recordDetail } from './decisions';
import { CLASS_COMPLETION, CLASS_FREQUENCY, CLASS_IDLE_EXIT, CLASS_TICK, LANE_COMPLETION, LANE_IDLE_EXIT, LANE_TICK, laneClear, laneSet, now, resched, systemSet } from './events';
import { explainControl, explainedTask, explainRun } from './explain';
import { extDequeue, extEnabled, extEnqueue, extPick, extPutPrev, extSelectCpu, extSetNext, extTick } from './ext';
import { fluidBegan, fluidDone, fluidEnd } from './fluid';
import { opsBegan } from '../policy/ops';
import { delaysDequeue, wakesInPlace } from './delayed';
import { fairCharge, fairDequeue, fairEnqueue, fairNewidle, fairNrRunning, fairPick, fairPutPrev, fairSelectCpu, fairSetNext, fairSliceLeft, fairTick, fairWakeupPreempt, hrtick, hrtickLeft } from './fair';
import { grouping } from './group';
import { noteQuota } from './bandwidth';
import { JOB_CPU_NS, JOB_STATE, JOB_STATE_SINCE, jobShift, jobState } from './job';
import { maskClear, maskFirst, maskSet, maskTest } from './mask';
import { advance, startsRun } from './program';
import { rtCharge, rtDequeue, rtEnqueue, rtExit, rtPick, rtSelectCpu, rtServed, rtServedNothing, rtServerLeft, rtServes, rtSliceLeft, rtTasks, rtWakeupPreempt } from './rt';
import { FLAG_MAIN, FLAG_MIGRATED, FLAG_QUEUED, FLAG_WOKEN, MODE_FLUID, MODE_NONE, MODE_RUN, MODE_SPIN, STATE_DEAD, STATE_RUNNABLE, STATE_SLEEPING, TASK_CLASS, TASK_CPU, TASK_EXEC_START, TASK_FLAGS, TASK_JOB, TASK_LAST_CPU, TASK_LAST_STINT, TASK_MODE, TASK_RECENT_CPU, TASK_RUNNABLE_SINCE, TASK_SLICE, TASK_STATE, TASK_STATS, TASK_STINT, TASK_SUM_EXEC, TASK_WAIT_FLAGS, TASK_WOKEN_AT, TASK_WORK, taskFree } from './task';
import { waitCause } from './waits';

const DIGESTING: u32 = 1;
const RECORDING: u32 = 2;

let exactSlices: bool = false;
/** Who wants to know of each decision: bits DIGESTING and RECORDING. */
let observers: u32 = 0;
let tickNs: u64 = 4000000;
let tickSkewNs: u64 = 0;
let costSwitch: u64 = 0;
let costLlc: u64 = 0;
let costNode: u64 = 0;
let costDispatch: u64 = 0;
let frequencyInterval: u64 = 0;
/** Packages whose frequency event is pending, one bit each. */
let frequencyPending: u32 = 0;
/** Fair tasks alive anywhere: without any, newidle balancing has nothing to look for. */
let fairTasks: u32 = 0;
/** CPUs that run a task. */
export let busyCpus: u32 = 0;
/** CPUs that leave an idle state. */
export let wakingCpus: u32 = 0;
/** Set by ext when ops.dispatch() was called during the current schedule(). */
let dispatched: bool = false;

export function schedInit(): void {
  exactSlices = param(P_SLICE_EXACT) != 0;
  observers = (param(P_DIGEST) != 0 ? DIGESTING : 0) | (param(P_DECISIONS) != 0 ? RECORDING : 0);
  decisionsInit(param(P_DECISIONS));
  tickNs = 1000000000 / param(P_HZ);
  tickSkewNs = param(P_TICK_SKEW_NS);
  costSwitch = param(P_COST_SWITCH_NS);
  costLlc = param(P_COST_MIGRATION_LLC_NS);
  costNode = param(P_COST_MIGRATION_NODE_NS);
  costDispatch = param(P_COST_DISPATCH_NS);
  frequencyInterval = param(P_FREQUENCY_INTERVAL_NS);
  frequencyPending = 0;
  fairTasks = 0;
  busyCpus = 0;
  wakingCpus = 0;
  dispatched = false;
  roundsAt = 0;
  rounds = 0;
}

export function noteDispatch(): void {
  dispatched = true;
}

export function noteFairTask(change: i32): void {
  fairTasks += change;
}

// @ts-ignore: decorator
@inline
function decided(kind: u32, cpu: u32, t: u32): void {
  if (observers != 0) observe(kind, cpu, t);
}

/** Folds a decision into the fingerprint of the whole schedule, and records it. */
function observe(kind: u32, cpu: u32, t: u32): void {
  if ((observers & RECORDING) != 0) recordDecision(kind, cpu, t);
  if ((observers & DIGESTING) == 0) return;
  const what = ((kind as u64) << 56) | ((cpu as u64) << 32) | ((t >> TASK_SHIFT) as u64);
  let h = (counter(DIGEST) ^ now) * 0x9e3779b97f4a7c15;
  h = (h ^ (h >> 29) ^ what) * 0xbf58476d1ce4e5b9;
  setCounter(DIGEST, h ^ (h >> 32));
}

// @ts-ignore: decorator
@inline
function record(t: u32, kind: u32, value: u64): void {
  histogramRecord(load<u32>(t, TASK_STATS) * HISTOGRAM_KINDS + kind, value);
}

// @ts-ignore: decorator
@inline
function changeRunnable(change: i64): void {
  const n = counter(RUNNABLE);
  count(RUNNABLE_AREA, n * (now - counter(RUNNABLE_SINCE)));
  setCounter(RUNNABLE_SINCE, now);
  setCounter(RUNNABLE, n + change);
}

/** Brings RUNNABLE_AREA up to the clock. */
export function integrateRunnable(): void {
  changeRunnable(0);
}

// ---- charging -------------------------------------------------------------------------------------------

/** Charges the running task of c with the CPU time since it was charged last. */
export function updateCurr(c: u32): void {
  const t = load<u32>(c, CPU_CURR);
  if (t == 0) return;
  const delta = now - load<u64>(t, TASK_EXEC_START);
  if (delta == 0) return;
  store<u64>(t, now, TASK_EXEC_START);
  store<u64>(t, load<u64>(t, TASK_SUM_EXEC) + delta, TASK_SUM_EXEC);
  store<u64>(t, load<u64>(t, TASK_STINT) + delta, TASK_STINT);
  const j = load<u32>(t, TASK_JOB);
  if (j != 0) store<u64>(j, load<u64>(j, JOB_CPU_NS) + delta, JOB_CPU_NS);
  if (load<u8>(t, TASK_MODE) >= MODE_SPIN) count(POLL_NS, delta);
  if (load<u8>(t, TASK_CLASS) == CLASS_EXT) {
    const slice = load<u64>(t, TASK_SLICE);
    store<u64>(t, slice > delta ? slice - delta : 0, TASK_SLICE);
  } else if (load<u8>(t, TASK_CLASS) == CLASS_REALTIME) {
    if (rtCharge(t, c >> CPU_SHIFT, delta)) resched(c >> CPU_SHIFT);
    return;
  } else if (fairCharge(c >> CPU_SHIFT, t, delta)) {
    resched(c >> CPU_SHIFT);
  }
  if (rtTasks != 0 && rtServed(t, c >> CPU_SHIFT, delta)) resched(c >> CPU_SHIFT);
}

/** Takes off the work that the running task of c has done since it was timed last. */
// @ts-ignore: decorator
@inline
export function progress(c: u32): void {
  const t = load<u32>(c, CPU_CURR);
  const begin = load<u64>(c, CPU_WORK_BEGIN);
  if (t == 0 || load<u8>(t, TASK_MODE) != MODE_RUN || now <= begin) return;
  const done = (now - begin) * (load<u32>(c, CPU_MHZ) as u64);
  const work = load<u64>(t, TASK_WORK);
  store<u64>(t, work > done ? work - done : 0, TASK_WORK);
  store<u64>(c, now, CPU_WORK_BEGIN);
}

/** Times the end of what the running task of c is doing; it must have been charged up to now. */
export function armCompletion(c: u32): void {
  const t = load<u32>(c, CPU_CURR);
  const mode = load<u8>(t, TASK_MODE);
  const begin = load<u64>(c, CPU_WORK_BEGIN);
  let end: u64 = u64.MAX_VALUE;
  if (mode == MODE_RUN) {
    const work = load<u64>(t, TASK_WORK);
    const mhz = load<u32>(c, CPU_MHZ) as u64;
    end = begin + (mhz == 1 ? work : (work + mhz - 1) / mhz);
  } else if (mode == MODE_SPIN) {
    const until = load<u64>(t, TASK_WORK);
    end = until > begin ? until : begin;
  } else if (mode == MODE_NONE) {
    end = begin;
  } else if (mode == MODE_FLUID) {
    end = fluidEnd(c, t);
    if (fluidBegan) opsBegan(c >> CPU_SHIFT, t);
  }
  if (end < now) end = now;
  if (exactSlices) {
    const schedClass = load<u8>(t, TASK_CLASS);
    let left =
      schedClass == CLASS_EXT
        ? load<u64>(t, TASK_SLICE)
        : schedClass == CLASS_FAIR
          ? fairSliceLeft(c >> CPU_SHIFT, t)
          : rtSliceLeft(t, c >> CPU_SHIFT);
    if (rtTasks != 0 && schedClass != CLASS_REALTIME) left = min(left, rtServerLeft(t, c >> CPU_SHIFT));
    if (left < end - now) end = now + left;
  } else if (hrtick && load<u8>(t, TASK_CLASS) == CLASS_FAIR) {
    const left = hrtickLeft(c >> CPU_SHIFT, t);
    if (left < end - now) end = now + left;
  }
  if (end == u64.MAX_VALUE) laneClear(c, LANE_COMPLETION);
  else laneSet(c, LANE_COMPLETION, CLASS_COMPLETION, end);
}

// ---- becoming runnable ----------------------------------------------------------------------------------

/** Changes the CPU a waiting task belongs to. */
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
  if (!fairEnqueue(t, cpu, wakeup, !wakeup)) noteQuota(t, cpu);
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
  const cpu =
    load<u8>(t, TASK_CLASS) == CLASS_EXT
      ? extSelectCpu(t, prev, true)
      : load<u8>(t, TASK_CLASS) == CLASS_FAIR
        ? fairSelectCpu(t, prev, wakerCpu, wakerTask, false)
        : rtSelectCpu(t, prev);
  if (cpu != prev) taskMove(t, cpu);
  activate(t, cpu, true);
}

/** wake_up_new_task(): `parentCpu` is where the fork happens. */
export function wakeUpNew(t: u32, parentCpu: u32): void {
  store<u32>(t, parentCpu, TASK_CPU);
  store<u32>(t, parentCpu, TASK_RECENT_CPU);
  store<u16>(t, parentCpu as u16, TASK_LAST_CPU);
  const cpu =
    load<u8>(t, TASK_CLASS) == CLASS_EXT
      ? extSelectCpu(t, parentCpu, false)
      : load<u8>(t, TASK_CLASS) == CLASS_FAIR
        ? fairSelectCpu(t, parentCpu, parentCpu as i32, 0, true)
        : rtSelectCpu(t, parentCpu);
  store<u32>(t, cpu, TASK_CPU);
  activate(t, cpu, false);
}

// ---- ceasing to run -------------------------------------------------------------------------------------

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

// ---- schedule() -----------------------------------------------------------------------------------------

/** Next tick on the grid strictly after now. */
// @ts-ignore: decorator
@inline
function nextTick(cpu: u32): u64 {
  const skew = tickSkewNs * (cpu as u64);
  const since = now >= skew ? now - skew : 0;
  return (since / tickNs + 1) * tickNs + skew;
}

function frequencyChanged(cpu: u32): void {
  const pkg = cpuPackage(cpu);
  if (((frequencyPending >> pkg) & 1) == 0 && frequencyDirty(pkg)) {
    frequencyPending |= 1 << pkg;
    systemSet(pkg, CLASS_FREQUENCY, (now / frequencyInterval + 1) * frequencyInterval);
  }
}

/** The frequency event of a package was handled: the next may be armed. */
export function frequencyHandled(pkg: u32): void {
  frequencyPending &= ~(1 << pkg);
  if (frequencyDirty(pkg)) {
    frequencyPending |= 1 << pkg;
    systemSet(pkg, CLASS_FREQUENCY, (now / frequencyInterval + 1) * frequencyInterval);
  }
}

function leaveIdle(cpu: u32, c: u32): void {
  busyCpus++;
  maskClear(IDLE_MASK, cpu);
  store<u64>(c, load<u64>(c, CPU_IDLE_NS) + (now - load<u64>(c, CPU_STATE_SINCE)), CPU_IDLE_NS);
  store<u64>(c, now, CPU_STATE_SINCE);
  store<u32>(c, frequencyBusy(cpu, now), CPU_MHZ);
  if (frequencyInterval != 0) frequencyChanged(cpu);
  if (!exactSlices) laneSet(c, LANE_TICK, CLASS_TICK, nextTick(cpu));
}

function enterIdle(cpu: u32, c: u32): void {
  busyCpus--;
  laneClear(c, LANE_COMPLETION);
  if (!exactSlices) laneClear(c, LANE_TICK);
  store<u64>(c, load<u64>(c, CPU_BUSY_NS) + (now - load<u64>(c, CPU_STATE_SINCE)), CPU_BUSY_NS);
  store<u64>(c, now, CPU_STATE_SINCE);
  frequencyIdle(cpu, now);
  idleEnter(cpu, now, u64.MAX_VALUE);
  if (maskTest(ONLINE_MASK, cpu)) maskSet(IDLE_MASK, cpu);
  if (frequencyInterval != 0) frequencyChanged(cpu);
}

function stopRunning(cpu: u32, c: u32, t: u32): void {
  const stint = load<u64>(t, TASK_STINT);
  store<u64>(t, stint, TASK_LAST_STINT);
  record(t, HISTOGRAM_STINT, stint);
  if (t == explainedTask) explainControl(0);
  decided(DECISION_STOP, cpu, t);
}

function startRunning(cpu: u32, c: u32, t: u32): void {
  if (explainedTask != NONE) explainRun(t, cpu);
  const flags = (load<u16>(t, TASK_FLAGS) as u32);
  let cost = costSwitch;
  if (dispatched) cost += costDispatch;
  if ((flags & FLAG_MIGRATED) != 0) {
    const from = load<u16>(t, TASK_LAST_CPU) as u32;
    if (from != cpu) {
      count(MIGRATIONS);
      store<u64>(c, load<u64>(c, CPU_MIGRATIONS) + 1, CPU_MIGRATIONS);
      if (cpuNode(from) != cpuNode(cpu)) cost += costNode;
      else if (cpuLlc(from) != cpuLlc(cpu)) cost += costLlc;
    }
  }
  store<u16>(t, cpu as u16, TASK_LAST_CPU);
  if ((flags & FLAG_WOKEN) != 0) record(t, HISTOGRAM_WAKE_LATENCY, now - load<u64>(t, TASK_WOKEN_AT));
  store<u16>(t, (flags & ~(FLAG_MIGRATED | FLAG_WOKEN)) as u16, TASK_FLAGS);
  store<u64>(t, now, TASK_EXEC_START);
  // Not before: ops.stopping() of a preempted task still charges the stint.
  store<u64>(t, 0, TASK_STINT);
  store<u64>(c, cost, CPU_COST);
  store<u64>(c, load<u64>(c, CPU_OVERHEAD_NS) + cost, CPU_OVERHEAD_NS);
  store<u64>(c, now + cost, CPU_WORK_BEGIN);
  store<u64>(c, load<u64>(c, CPU_SWITCHES) + 1, CPU_SWITCHES);
  count(SWITCHES);
  if ((flags & FLAG_MAIN) != 0) {
    const j = load<u32>(t, TASK_JOB);
    const waitedIn = load<u32>(j, JOB_STATE);
    const cold = load<u32>(c, CPU_COLD_NS) as u64;
    const waited = now - load<u64>(j, JOB_STATE_SINCE);
    jobState(j, STATE_RUNNING);
    if (cold != 0) jobShift(j, waitedIn, STATE_COLD, cold < waited ? cold : waited);
  }
  if (detailing) {
    if (load<u32>(c, CPU_COLD_NS) != 0) recordDetail(DECISION_COLD, t, load<u32>(c, CPU_COLD_NS));
    if (cost != 0) recordDetail(DECISION_COST, t, cost);
  }
  store<u32>(c, 0, CPU_COLD_NS);
  decided(DECISION_RUN, cpu, t);
}

/** Picks the next task of a CPU: fair first, with newidle balancing before the CPU would leave the class, then ext. */
// @ts-ignore: decorator
@inline
function pickNext(cpu: u32, prev: u32): u32 {
  if (rtTasks != 0) {
    const next = pickAbove(cpu, prev);
    if (next != 0) return next;
  }
  if (fairTasks != 0) {
    let next = fairPick(cpu);
    if (next == 0 && prev != 0 && load<u8>(prev, TASK_CLASS) == CLASS_FAIR && fairNewidle(cpu) != 0) next = fairPick(cpu);
    if (next != 0) return next;
  }
  return extEnabled ? extPick(cpu, prev) : 0;
}

/** What comes before the fair class: classes whose server is active, and realtime tasks. */
function pickAbove(cpu: u32, prev: u32): u32 {
  if (rtServes(cpu, false)) {
    const next = fairPick(cpu);
    if (next != 0) return next;
    rtServedNothing(cpu, false);
  }
  if (rtServes(cpu, true)) {
    const next = extEnabled ? extPick(cpu, prev) : 0;
    if (next != 0) return next;
    rtServedNothing(cpu, true);
  }
  return rtPick(cpu);
}

/** More switches than this at one instant are a livelock: tasks that yield or wake each other without using the CPU. */
const MAX_ROUNDS_AT_ONCE: u32 = 10000000;

/** Instant of the last round of schedule(), and rounds at it. */
let roundsAt: u64 = 0;
let rounds: u32 = 0;

// @ts-ignore: decorator
@inline
function turnsInCircles(cpu: u32, prev: u32): bool {
  if (roundsAt != now) {
    roundsAt = now;
    rounds = 0;
  }
  if (++rounds <= MAX_ROUNDS_AT_ONCE) return false;
  fail(FAIL_LIVELOCK, prev >> TASK_SHIFT, cpu, rounds);
  return true;
}

/** schedule() on one CPU: runs until the CPU has something timed to do, or idles. */
export function schedule(cpu: u32): void {
  const c = cpu << CPU_SHIFT;
  for (;;) {
    const prev = load<u32>(c, CPU_CURR);
    if (prev != 0) {
      updateCurr(c);
      progress(c);
    }
    maskClear(RESCHED_MASK, cpu);
    if (turnsInCircles(cpu, prev)) return;
    dispatched = false;
    const next = pickNext(cpu, prev);
    if (next != prev) {
      if (prev != 0) putPrev(cpu, c, prev, next);
      store<u32>(c, next, CPU_CURR);
      if (next == 0) {
        enterIdle(cpu, c);
        return;
      }
      if (prev == 0) leaveIdle(cpu, c);
      if (load<u8>(next, TASK_CLASS) == CLASS_EXT) extSetNext(cpu, next);
      else if (load<u8>(next, TASK_CLASS) == CLASS_FAIR) fairSetNext(cpu, next);
      startRunning(cpu, c, next);
    } else if (next == 0) {
      // Woken for nothing: back to sleep.
      idleEnter(cpu, now, u64.MAX_VALUE);
      if (maskTest(ONLINE_MASK, cpu)) maskSet(IDLE_MASK, cpu);
      return;
    }
    if (load<u8>(next, TASK_MODE) == MODE_NONE && (now >= load<u64>(c, CPU_WORK_BEGIN) || startsRun(next))) {
      if (!advance(c, next)) continue;
      if (((load<u64>(RESCHED_MASK + ((cpu >> 6) << 3)) >> (cpu & 63)) & 1) != 0) continue;
    }
    armCompletion(c);
    return;
  }
}

function putPrev(cpu: u32, c: u32, prev: u32, next: u32): void {
  const flags = (load<u16>(prev, TASK_FLAGS) as u32);
  if ((flags & FLAG_QUEUED) != 0) {
    count(PREEMPTIONS);
    store<u64>(prev, now, TASK_RUNNABLE_SINCE);
    if ((flags & FLAG_MAIN) != 0) leaveRunning(c, prev, load<u32>(prev, TASK_JOB), STATE_PREEMPTED);
  }
  stopRunning(cpu, c, prev);
  if (load<u8>(prev, TASK_CLASS) == CLASS_EXT) extPutPrev(cpu, prev, next);
  else if (load<u8>(prev, TASK_CLASS) == CLASS_FAIR) {
    fairPutPrev(cpu, prev, next != 0 && load<u8>(next, TASK_CLASS) == CLASS_FAIR ? next : 0);
    if (grouping && (flags & FLAG_QUEUED) != 0) noteQuota(prev, cpu);
  }
  if (load<u8>(prev, TASK_STATE) == STATE_DEAD) {
    count(EXITED_CPU, load<u64>(prev, TASK_SUM_EXEC));
    if (load<u8>(prev, TASK_CLASS) == CLASS_FAIR) fairTasks--;
    else if (load<u8>(prev, TASK_CLASS) == CLASS_REALTIME) rtExit();
    taskFree(prev);
  }
}

/** Reschedules every CPU that was asked to, in CPU order; idle ones first leave their idle state. */
export function runResched(): void {
  for (;;) {
    const found = maskFirst(RESCHED_MASK);
    // The run ends here if it has failed.
    if (found < 0 || failure != 0) return;
    const cpu = found as u32;
    const c = cpu << CPU_SHIFT;
    if (load<u32>(c, CPU_CURR) == 0) {
      maskClear(RESCHED_MASK, cpu);
      maskClear(IDLE_MASK, cpu);
      if ((load<u32>(c, CPU_FLAGS) & CPU_WAKING) != 0) continue;
      const latency = idleExit(cpu, now);
      if (latency != 0) {
        store<u32>(c, load<u32>(c, CPU_FLAGS) | CPU_WAKING, CPU_FLAGS);
        wakingCpus++;
        store<u32>(c, latency as u32, CPU_COLD_NS);
        laneSet(c, LANE_IDLE_EXIT, CLASS_IDLE_EXIT, now + latency);
        continue;
      }
    }
    schedule(cpu);
  }
}

// ---- events of a CPU ------------------------------------------------------------------------------------

/** What the running task was timed for is over, or its slice is (exact expiry). */
export function onCompletion(c: u32): void {
  laneClear(c, LANE_COMPLETION);
  const t = load<u32>(c, CPU_CURR);
  const cpu = c >> CPU_SHIFT;
  updateCurr(c);
  progress(c);
  const mode = load<u8>(t, TASK_MODE);
  const finished =
    mode == MODE_NONE
      ? now >= load<u64>(c, CPU_WORK_BEGIN)
      : mode == MODE_RUN
        ? load<u64>(t, TASK_WORK) == 0 && now >= load<u64>(c, CPU_WORK_BEGIN)
        : mode == MODE_SPIN
          ? load<u64>(t, TASK_WORK) <= now && now >= load<u64>(c, CPU_WORK_BEGIN)
          : mode == MODE_FLUID && fluidDone(t);
  if (finished) {
    if (detailing && mode == MODE_SPIN) recordDetail(DECISION_POLL, t, 0);
    store<u8>(t, MODE_NONE, TASK_MODE);
    if (!advance(c, t)) return;
  }
  if (exactSlices && load<u8>(t, TASK_CLASS) == CLASS_EXT && load<u64>(t, TASK_SLICE) == 0) resched(cpu);
  armCompletion(c);
}

export function onTick(c: u32): void {
  const cpu = c >> CPU_SHIFT;
  laneSet(c, LANE_TICK, CLASS_TICK, now + tickNs);
  const t = load<u32>(c, CPU_CURR);
  if (t == 0) return;
  updateCurr(c);
  if (load<u8>(t, TASK_CLASS) == CLASS_EXT) extTick(cpu, t);
  if (fairTasks != 0) fairTick(cpu);
  // The weights of groups follow the tick, and what is left of slices with them.
  if (hrtick && grouping && load<u8>(t, TASK_CLASS) == CLASS_FAIR) armCompletion(c);
}

export function onIdleExit(c: u32): void {
  laneClear(c, LANE_IDLE_EXIT);
  store<u32>(c, load<u32>(c, CPU_FLAGS) & ~CPU_WAKING, CPU_FLAGS);
  wakingCpus--;
  schedule(c >> CPU_SHIFT);
}

/** A frequency change: what runs is timed anew. */
export function retime(cpu: u32): void {
  const c = cpu << CPU_SHIFT;
  const t = load<u32>(c, CPU_CURR);
  if (t == 0) return;
  updateCurr(c);
  progress(c);
  store<u32>(c, cpuMhz(cpu), CPU_MHZ);
  armCompletion(c);
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
