// The event loop: the earliest of the pending events, its handler, then every CPU that was asked to reschedule.

import {
  OUTCOME_BUDGET,
  OUTCOME_COMPLETED,
  OUTCOME_DEADLOCKED,
  OUTCOME_ERROR,
  OUTCOME_HORIZON,
  OUTCOME_INVARIANT,
  OUTCOME_NEEDS_INPUT,
  OUTCOME_OUTPUT_FULL,
  OUTCOME_STALLED,
  OUTCOME_UNTIL,
  P_DRAIN,
  P_HORIZON_NS,
  P_LIMIT_NS,
} from './abi';
import { ALIVE, count, counter, EVENTS, param } from './core/counters';
import { fail, FAIL_CLOCK, FAIL_CONSERVATION, FAIL_DEADLOCK, FAIL_LIVELOCK, FAIL_WATCHDOG, failure } from './core/failure';
import { CPU_SHIFT, CPU_TREE, SOURCE_TREE, TASK_SHIFT, TIMER_TREE } from './core/layout';
import { NEVER } from './core/winner';
import { WHEEL_A, WHEEL_KIND, wheelFree, wheelNextTime, wheelPop } from './core/wheel';
import { onPeriod, onSlack } from './kernel/bandwidth';
import { CPU_CURR } from './kernel/cpu';
import { decisionsFull } from './kernel/decisions';
import { fairBalance } from './kernel/fair';
import {
  absolute,
  CLASS_BALANCE,
  CLASS_COMPLETION,
  CLASS_DELIVERY,
  CLASS_FREQUENCY,
  CLASS_IDLE_EXIT,
  CLASS_TICK,
  CLASS_WAKE,
  CLASS_SAMPLE,
  CLASS_WATCHDOG,
  eventsDefer,
  eventsFlush,
  LANE_BALANCE,
  laneClear,
  nextCpuEvent,
  nextSource,
  nextTimer,
  now,
  rebaseIfNeeded,
  relative,
  setNow,
  timerClear,
  timerSet,
} from './kernel/events';
import { onMachineEvent } from './kernel/hotplug';
import { onCompletion, onIdleExit, onTick, runResched } from './kernel/sched';
import { wakeUp } from './kernel/wakeup';
import { onServer, onUnthrottle } from './kernel/rt';
import { foregroundTasks } from './kernel/spawn';
import { TASK_CPU, TASK_WORK } from './kernel/task';
import { onFrequency, onPolicyTimer, onSample, onWatchdog } from './kernel/watchdog';
import { integrateWasted } from './kernel/wasted';
import { clientActive, onThought } from './services/client';
import { onRetry, onTimeout, requestsPending } from './services/request';
import { serving } from './services/tables';
import { onServiceTimer } from './services/timer';
import { arrivalsStarved, onArrival, onClient, sourcesActive } from './workload/arrivals';
import { deliveriesPending, DELIVERY_CLIENT, DELIVERY_SV_CLIENT, DELIVERY_SV_RETRY, DELIVERY_SV_TIMEOUT, DELIVERY_MACHINE, DELIVERY_PERIOD, DELIVERY_SERVER, DELIVERY_SLACK, DELIVERY_UNTHROTTLE, noteDelivered } from './workload/delivery';
import { rowsFull } from './workload/rows';
import { onWorkerDelivery } from './workload/worker';

const NO_EVENT: u64 = NEVER >> 12;
/** More events than this at one instant is a livelock. */
const MAX_EVENTS_AT_ONCE: u32 = 20000000;

let drain: bool = true;
let horizon: u64 = 0;
let limit: u64 = 0;
let eventsAtOnce: u32 = 0;

export function runInit(): void {
  drain = param(P_DRAIN) != 0;
  horizon = param(P_HORIZON_NS);
  limit = drain ? param(P_LIMIT_NS) : horizon;
  eventsAtOnce = 0;
}

/** Nothing is left to do: no arrivals to come, nothing in the system, no foreground task. */
// @ts-ignore: decorator
@inline
function drained(): bool {
  return sourcesActive == 0 && foregroundTasks == 0 && counter(ALIVE) == 0 && !clientActive && requestsPending == 0;
}

function outcomeOfFailure(): u32 {
  if (failure == FAIL_WATCHDOG || failure == FAIL_LIVELOCK) return OUTCOME_STALLED;
  if (failure == FAIL_DEADLOCK) return OUTCOME_DEADLOCKED;
  return failure >= FAIL_CONSERVATION && failure < FAIL_LIVELOCK ? OUTCOME_INVARIANT : OUTCOME_ERROR;
}

/** Handles up to `maxEvents` events, none later than `until`; says why it stopped. */
export function runEvents(maxEvents: u32, until: u64): u32 {
  if (arrivalsStarved) return OUTCOME_NEEDS_INPUT;
  for (let n: u32 = 0; n < maxEvents; n++) {
    // The wheel is empty in most models: one load tells.
    const cpuNext = nextCpuEvent();
    const timerNext = nextTimer();
    const sourceNext = nextSource();
    let next = cpuNext < timerNext ? cpuNext : timerNext;
    if (sourceNext < next) next = sourceNext;
    if (deliveriesPending != 0) {
      const delivery = (relative(wheelNextTime()) << 4) | (CLASS_DELIVERY as u64);
      if (delivery < next) next = delivery;
    }
    if (next == NO_EVENT) {
      if (drained()) return OUTCOME_COMPLETED;
      if (!drain || sourcesActive != 0) return OUTCOME_HORIZON;
      fail(FAIL_DEADLOCK, 0, 0, counter(ALIVE));
      return OUTCOME_DEADLOCKED;
    }
    const time = absolute(next);
    if (time > until) return OUTCOME_UNTIL;
    if (limit != 0 && time > limit) {
      setNow(limit);
      return OUTCOME_HORIZON;
    }
    if (time != now) {
      if (time < now) {
        fail(FAIL_CLOCK, 0, 0, now - time);
        return OUTCOME_INVARIANT;
      }
      integrateWasted(time - now);
      setNow(time);
      eventsAtOnce = 0;
      rebaseIfNeeded();
    } else if (++eventsAtOnce > MAX_EVENTS_AT_ONCE) {
      failInCircles(next, cpuNext);
      return OUTCOME_STALLED;
    }
    count(EVENTS);
    const eventClass = (next & 15) as u32;
    if (next == cpuNext) {
      const slot = (load<u64>(CPU_TREE + 8) & 0xfff) as u32;
      if (eventClass >= CLASS_FREQUENCY) {
        if (eventClass == CLASS_FREQUENCY) onFrequency(slot);
        else if (eventClass == CLASS_WATCHDOG) onWatchdog();
        else if (eventClass == CLASS_SAMPLE) onSample(slot);
        else onPolicyTimer();
      } else {
        const c = slot << CPU_SHIFT;
        eventsDefer(c);
        if (eventClass == CLASS_COMPLETION) {
          onCompletion(c);
        } else if (eventClass == CLASS_TICK) {
          onTick(c);
        } else if (eventClass == CLASS_IDLE_EXIT) {
          onIdleExit(c);
        } else if (eventClass == CLASS_BALANCE) {
          laneClear(c, LANE_BALANCE);
          fairBalance(slot);
        }
      }
    } else if (eventClass == CLASS_WAKE) {
      onTimer((load<u64>(TIMER_TREE + 8) & 0x3ffff) as u32);
    } else if (eventClass == CLASS_DELIVERY) {
      onDelivery();
    } else {
      onArrival((load<u64>(SOURCE_TREE + 8) & 0xfff) as u32);
    }
    runResched();
    eventsFlush();
    if (failure != 0) return outcomeOfFailure();
    if (rowsFull() || decisionsFull()) return OUTCOME_OUTPUT_FULL;
    if (arrivalsStarved) return OUTCOME_NEEDS_INPUT;
    if (drained()) return OUTCOME_COMPLETED;
  }
  return OUTCOME_BUDGET;
}

/** No time passes any more: names whom the next event is about. */
function failInCircles(next: u64, cpuNext: u64): void {
  const eventClass = (next & 15) as u32;
  let task: u32 = 0;
  let cpu: u32 = 0;
  let source: u32 = 0;
  if (next == cpuNext) {
    if (eventClass < CLASS_FREQUENCY) {
      cpu = (load<u64>(CPU_TREE + 8) & 0xfff) as u32;
      task = load<u32>(cpu << CPU_SHIFT, CPU_CURR) >> TASK_SHIFT;
    }
  } else if (eventClass == CLASS_WAKE) {
    task = (load<u64>(TIMER_TREE + 8) & 0x3ffff) as u32;
    cpu = load<u32>(task << TASK_SHIFT, TASK_CPU);
  } else if (eventClass == CLASS_DELIVERY) {
    const at = wheelPop() << 5;
    if (load<u32>(at, WHEEL_KIND) == DELIVERY_CLIENT) source = load<u32>(at, WHEEL_A) + 1;
  } else {
    source = ((load<u64>(SOURCE_TREE + 8) & 0xfff) as u32) + 1;
  }
  fail(FAIL_LIVELOCK, task, cpu, source);
}

function onTimer(slot: u32): void {
  const t = slot << TASK_SHIFT;
  const due = load<u64>(t, TASK_WORK);
  if (due > now) {
    // Beyond the reach of a key: armed in steps.
    timerSet(slot, t, due);
    return;
  }
  if (serving) {
    onServiceTimer(t);
    return;
  }
  timerClear(slot);
  wakeUp(t, -1, 0);
}

function onDelivery(): void {
  const node = wheelPop();
  const at = node << 5;
  const kind = load<u32>(at, WHEEL_KIND);
  const a = load<u32>(at, WHEEL_A);
  wheelFree(node);
  noteDelivered();
  if (kind == DELIVERY_CLIENT) onClient(a);
  else if (kind == DELIVERY_PERIOD) onPeriod(a);
  else if (kind == DELIVERY_SLACK) onSlack(a);
  else if (kind == DELIVERY_UNTHROTTLE) onUnthrottle(a);
  else if (kind == DELIVERY_SERVER) onServer(a);
  else if (kind == DELIVERY_MACHINE) onMachineEvent(a);
  else if (kind == DELIVERY_SV_CLIENT) onThought();
  else if (kind == DELIVERY_SV_TIMEOUT) onTimeout(a);
  else if (kind == DELIVERY_SV_RETRY) onRetry(a);
  else onWorkerDelivery(kind, a);
}
