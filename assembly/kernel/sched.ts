// schedule() and the switch, class by class: realtime above fair above ext above idle. Names follow kernel/sched/core.c.
// One event may ask several CPUs to reschedule; they do so in CPU order before the next event (runResched), so nothing
// here recurses.

import {
  CLASS_EXT,
  CLASS_FAIR,
  CLASS_REALTIME,
  DECISION_COLD,
  DECISION_COST,
  DECISION_POLL,
  DECISION_RUN,
  DECISION_STOP,
  HISTOGRAM_STINT,
  HISTOGRAM_WAKE_LATENCY,
  NONE,
  P_COST_DISPATCH_NS,
  P_COST_MIGRATION_LLC_NS,
  P_COST_MIGRATION_NODE_NS,
  P_COST_SWITCH_NS,
  P_SLICE_EXACT,
  STATE_COLD,
  STATE_PREEMPTED,
  STATE_RUNNING,
} from '../abi';
import { count, EXITED_CPU, MIGRATIONS, param, PREEMPTIONS, SWITCHES } from '../core/counters';
import { fail, FAIL_LIVELOCK, failure } from '../core/failure';
import { CPU_SHIFT, IDLE_MASK, ONLINE_MASK, RESCHED_MASK, TASK_SHIFT } from '../core/layout';
import { cpuMhz } from '../machine/frequency';
import { idleEnter, idleExit } from '../machine/idle';
import { cpuLlc, cpuNode } from '../machine/topology';
import { opsExitTask } from '../policy/ops';
import { lastOnCpus, switchCost } from '../services/core';
import { noteQuota } from './bandwidth';
import { pushMisplaced } from './affinity';
import { armCompletion, chargeInit, progress, updateCurr } from './charge';
import {
  CPU_COLD_NS,
  CPU_COST,
  CPU_CURR,
  CPU_FLAGS,
  CPU_MHZ,
  CPU_MIGRATIONS,
  CPU_OVERHEAD_NS,
  CPU_PUSHES,
  CPU_SWITCHES,
  CPU_WAKING,
  CPU_WORK_BEGIN,
} from './cpu';
import { detailing, recordDetail } from './decisions';
import { CLASS_IDLE_EXIT, LANE_COMPLETION, LANE_IDLE_EXIT, laneClear, laneSet, now, resched } from './events';
import { explainControl, explainedTask, explainRun } from './explain';
import { extEnabled, extPick, extPutPrev, extSetNext, extTick } from './ext';
import { fairNewidle, fairPick, fairPutPrev, fairSetNext, fairTick, hrtick } from './fair';
import { fluidDone } from './fluid';
import { grouping } from './group';
import { armTick, enterIdle, idleInit, leaveIdle } from './idling';
import { JOB_STATE, JOB_STATE_SINCE, jobShift, jobState } from './job';
import { maskClear, maskFirst, maskSet, maskTest } from './mask';
import { decided, observeInit, record } from './observe';
import { metersEnergy, meterSwitch } from '../services/meter';
import { advance, startsRun } from './program';
import { rtExit, rtPick, rtServedNothing, rtServes, rtTasks } from './rt';
import {
  FLAG_MAIN,
  FLAG_MIGRATED,
  FLAG_QUEUED,
  FLAG_WOKEN,
  MODE_FLUID,
  MODE_NONE,
  MODE_RUN,
  MODE_SPIN,
  STATE_DEAD,
  TASK_CLASS,
  TASK_CPU,
  TASK_EXEC_START,
  TASK_FLAGS,
  TASK_JOB,
  TASK_LAST_CPU,
  TASK_LAST_STINT,
  TASK_MODE,
  TASK_RUNNABLE_SINCE,
  TASK_SLICE,
  TASK_STATE,
  TASK_STINT,
  TASK_SUM_EXEC,
  TASK_WOKEN_AT,
  TASK_WORK,
  taskFree,
} from './task';
import { leaveRunning } from './wakeup';

let exactSlices: bool = false;
let costSwitch: u64 = 0;
let costLlc: u64 = 0;
let costNode: u64 = 0;
let costDispatch: u64 = 0;
/** Fair tasks alive anywhere: without any, newidle balancing has nothing to look for. */
let fairTasks: u32 = 0;
/** CPUs that leave an idle state. */
export let wakingCpus: u32 = 0;
/** Set by ext when ops.dispatch() was called during the current schedule(). */
let dispatched: bool = false;

export function schedInit(): void {
  observeInit();
  chargeInit();
  idleInit();
  exactSlices = param(P_SLICE_EXACT) != 0;
  costSwitch = param(P_COST_SWITCH_NS);
  costLlc = param(P_COST_MIGRATION_LLC_NS);
  costNode = param(P_COST_MIGRATION_NODE_NS);
  costDispatch = param(P_COST_DISPATCH_NS);
  fairTasks = 0;
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
  if (lastOnCpus != 0) cost += switchCost(t, cpu);
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
  if (metersEnergy) meterSwitch(t, cpu);
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

/** Instant of the last round of schedule(), rounds at it, and the last task that left a CPU in one. */
let roundsAt: u64 = 0;
let rounds: u32 = 0;
let leftLast: u32 = 0;

// @ts-ignore: decorator
@inline
function turnsInCircles(cpu: u32, prev: u32): bool {
  if (roundsAt != now) {
    roundsAt = now;
    rounds = 0;
  }
  if (prev != 0) leftLast = prev;
  if (++rounds <= MAX_ROUNDS_AT_ONCE) return false;
  fail(FAIL_LIVELOCK, leftLast >> TASK_SHIFT, cpu, 0);
  return true;
}

/** schedule() on one CPU: runs until the CPU has something timed to do, or idles. */
// @ts-ignore: decorator
@inline
export function schedule(cpu: u32): void {
  while (switchTask(cpu)) {}
}

/** One round of schedule(): true if there has to be another. */
function switchTask(cpu: u32): bool {
  const c = cpu << CPU_SHIFT;
  const prev = load<u32>(c, CPU_CURR);
  if (prev != 0) {
    updateCurr(c);
    progress(c);
  }
  maskClear(RESCHED_MASK, cpu);
  if (turnsInCircles(cpu, prev)) return false;
  if ((load<u32>(c, CPU_FLAGS) & CPU_PUSHES) != 0) pushMisplaced(cpu, prev);
  dispatched = false;
  const next = pickNext(cpu, prev);
  if (next != prev) {
    if (prev != 0) putPrev(cpu, c, prev, next);
    store<u32>(c, next, CPU_CURR);
    if (next == 0) {
      enterIdle(cpu, c);
      return false;
    }
    if (prev == 0) leaveIdle(cpu, c);
    if (load<u8>(next, TASK_CLASS) == CLASS_EXT) extSetNext(cpu, next);
    else if (load<u8>(next, TASK_CLASS) == CLASS_FAIR) fairSetNext(cpu, next);
    startRunning(cpu, c, next);
  } else if (next == 0) {
    // Woken for nothing: back to sleep.
    idleEnter(cpu, now, u64.MAX_VALUE);
    if (maskTest(ONLINE_MASK, cpu)) maskSet(IDLE_MASK, cpu);
    return false;
  }
  if (load<u8>(next, TASK_MODE) == MODE_NONE && (now >= load<u64>(c, CPU_WORK_BEGIN) || startsRun(next))) {
    if (!advance(c, next)) return true;
    if (maskTest(RESCHED_MASK, cpu)) return true;
  }
  armCompletion(c);
  return false;
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
    if (grouping && (flags & FLAG_QUEUED) != 0) noteQuota(prev, load<u32>(prev, TASK_CPU));
  }
  if (load<u8>(prev, TASK_STATE) == STATE_DEAD) {
    count(EXITED_CPU, load<u64>(prev, TASK_SUM_EXEC));
    if (load<u8>(prev, TASK_CLASS) == CLASS_FAIR) fairTasks--;
    else if (load<u8>(prev, TASK_CLASS) == CLASS_REALTIME) rtExit();
    opsExitTask(prev);
    taskFree(prev);
  }
}

/** Reschedules every CPU that was asked to, in CPU order; idle ones first leave their idle state. */
// @ts-ignore: decorator
@inline
export function runResched(): void {
  for (let found = maskFirst(RESCHED_MASK); found >= 0; found = maskFirst(RESCHED_MASK)) {
    // The run ends here.
    if (failure != 0) break;
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
  armTick(c);
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
