// The fair class, EEVDF as in Linux 6.11 (kernel/sched/fair.c): of the eligible entities (vruntime not beyond the
// queue's weighted average) the one with the earliest virtual deadline runs. Deadline = vruntime + slice / weight.
// Functions bear the kernel's names; those that begin with `fair` are the class's operations, called by sched.ts.
//
// Where this is simpler than 6.11:
//   * no idle policy, no core scheduling, no NEXT_BUDDY (off by default there);
//   * load averages as in fairrq.ts;
//   * a task's own utilisation isn't tracked (balance.ts says what stands in for it).
//
// Since 6.12 sleepers are dequeued late (delayed.ts), tasks may ask for slices of their own, and one with a shorter slice
// that wakes up ends the protection that RUN_TO_PARITY gives the current one (PREEMPT_SHORT). A group's slice stays the
// base slice, where 6.12 takes the shortest in it. In 7.3 the high-resolution tick (HRTICK) ends slices between ticks.

import { CLASS_FAIR, KERNEL_6_12, KERNEL_7_3 } from '../abi';
import { CPU_SHIFT, MASK_BYTES, OVERLOADED_MASK, RESCHED_MASK } from '../core/layout';
import { pushCurrent } from './balance';
import { checkRuntime } from './bandwidth';
import { CPU_CURR } from './cpu';
import { delayDequeue, delayedInit, delaysDequeue, isDelayed, pickRunnable, resumeDelayed } from './delayed';
import {
  avgVruntime,
  calcDeltaFair,
  cpuRq,
  currOnRq,
  eligible,
  insertEntity,
  invertDeltaFair,
  listAdd,
  listMoveToNewest,
  listRemove,
  MIGRATION_COST_NS,
  removeEntity,
  RQ_AVG_IDLE,
  RQ_AVG_LOAD,
  RQ_AVG_VRUNTIME,
  RQ_CURR,
  RQ_IDLE_STAMP,
  RQ_LEFTMOST,
  RQ_LOAD,
  RQ_MIN_VRUNTIME,
  RQ_NR_ENTITIES,
  RQ_NR_RUNNING,
  RQ_PUSH_CPU,
  RQ_ROOT,
  RQ_SLICE_USED,
  rqReset,
  SE_ON_RQ,
  SE_SLICE,
  SE_VLAG,
  updateLoadAvg,
  updateMinVruntime,
  weightOf,
} from './fairrq';
import {
  groupCharge,
  groupDequeue,
  groupEnqueue,
  grouping,
  groupOf,
  groupPicksOver,
  groupPutPrev,
  groupRq,
  groupSetNext,
  groupSliceLeft,
  groupTick,
  isGroup,
  runningTask,
  throttledOn,
} from './group';
import { now, resched } from './events';
import { maskClear, maskSet, maskTest, nrCpus } from './mask';
import { balanceInit, triggerLoadBalance } from './rebalance';
import { armCompletion } from './charge';
import { noteFairTask } from './sched';
import { FLAG_REL_DEADLINE, FLAG_SLICE, STATE_DEAD, TASK_CLASS, TASK_FLAGS, TASK_LEFT, TASK_NODE_KEY, TASK_RIGHT, TASK_STATE } from './task';
import { before, TASK_MIN_VRUNTIME, TASK_VRUNTIME } from './tree';

export { fairSelectCpu } from './placement';
export { fairBalance, fairNewidle } from './rebalance';

/** sysctl_sched_base_slice, ns of CPU time. */
let baseSliceNs: u32 = 3000000;
let tickPeriodNs: u64 = 4000000;
/** Slices end at an event of their own; the tick has nothing to enforce. */
let exactExpiry: bool = false;
/** Tasks may have slices of their own, and shorter ones preempt. */
let preemptsShort: bool = false;
/** Deadlines survive a move to another CPU. */
let keepsDeadline: bool = false;
/** HRTICK: a timer ends the current's slice if others wait. */
export let hrtick: bool = false;
/** hrtick_start(): shorter delays aren't programmed. */
const HRTICK_MIN_NS: u64 = 10000;

/** After topology, online mask and CPU count are set, before any task. */
export function fairInit(baseSlice: u64, exact: bool, tickNs: u64, kernel: u32): void {
  baseSliceNs = baseSlice as u32;
  exactExpiry = exact;
  preemptsShort = kernel >= KERNEL_6_12;
  keepsDeadline = kernel >= KERNEL_6_12;
  delayedInit(kernel >= KERNEL_6_12);
  hrtick = kernel >= KERNEL_7_3 && !exact;
  tickPeriodNs = tickNs;
  memory.fill(OVERLOADED_MASK, 0, MASK_BYTES as usize);
  for (let cpu: u32 = 0; cpu < nrCpus; cpu++) rqReset(cpuRq(cpu));
  balanceInit(tickNs);
}

// ---- entities -------------------------------------------------------------------------------------------

/** A new task asks for a slice of its own (sched_attr::sched_runtime), µs; 0: for the system's. */
export function fairEnable(t: u32, sliceUs: u32): void {
  noteFairTask(1);
  if (sliceUs == 0) return;
  store<u16>(t, (load<u16>(t, TASK_FLAGS) | FLAG_SLICE) as u16, TASK_FLAGS);
  store<u32>(t, sliceUs * 1000, SE_SLICE);
}

/** What fairEnable() made of a task, for its children. */
export function fairAttributes(t: u32): u32 {
  return (load<u16>(t, TASK_FLAGS) & FLAG_SLICE) != 0 ? load<u32>(t, SE_SLICE) / 1000 : 0;
}

/** The slice that an entity asks for, its own or the system's. */
// @ts-ignore: decorator
@inline
function renewSlice(t: u32): u64 {
  if (!preemptsShort || (load<u16>(t, TASK_FLAGS) & FLAG_SLICE) == 0) store<u32>(t, baseSliceNs, SE_SLICE);
  return load<u32>(t, SE_SLICE) as u64;
}

/** place_entity(): where an entity that joins the queue stands, lag and all. */
export function placeEntity(q: usize, t: u32, initial: bool): void {
  let lag: i64 = 0;
  let vslice = calcDeltaFair(renewSlice(t), t);
  if (load<u32>(q, RQ_NR_ENTITIES) != 0) {
    // Joining moves the average towards the newcomer: to keep its lag it must stand (W + w) / W times as far away.
    const curr = currOnRq(q);
    let weight = load<u64>(q, RQ_AVG_LOAD) as i64;
    if (curr != 0) weight += weightOf(curr) as i64;
    lag = load<i64>(t, SE_VLAG) * (weight + (weightOf(t) as i64));
    if (weight != 0) lag /= weight;
  }
  const vruntime = avgVruntime(q) - (lag as u64);
  store<u64>(t, vruntime, TASK_VRUNTIME);
  if (keepsDeadline && !isGroup(t) && (load<u16>(t, TASK_FLAGS) & FLAG_REL_DEADLINE) != 0) {
    store<u16>(t, (load<u16>(t, TASK_FLAGS) & ~FLAG_REL_DEADLINE) as u16, TASK_FLAGS);
    store<u64>(t, load<u64>(t, TASK_NODE_KEY) + vruntime, TASK_NODE_KEY);
    return;
  }
  // A forked task joins in the middle of a slice, as it were.
  if (initial) vslice /= 2;
  store<u64>(t, vruntime + vslice, TASK_NODE_KEY);
}

/** PLACE_REL_DEADLINE, since 6.12: a task that is moved, and not put to sleep, has as much of its request left as before. */
function keepDeadline(t: u32): void {
  store<u16>(t, (load<u16>(t, TASK_FLAGS) | FLAG_REL_DEADLINE) as u16, TASK_FLAGS);
  store<u64>(t, load<u64>(t, TASK_NODE_KEY) - load<u64>(t, TASK_VRUNTIME), TASK_NODE_KEY);
}

/** update_entity_lag(): how far behind (+) or ahead (-) of its share it is, within two slices or a tick. */
export function updateEntityLag(q: usize, t: u32): void {
  const lag = (avgVruntime(q) - load<u64>(t, TASK_VRUNTIME)) as i64;
  const slices = (load<u32>(t, SE_SLICE) as u64) << 1;
  const limit = calcDeltaFair(max(slices, tickPeriodNs), t) as i64;
  store<i64>(t, min(max(lag, -limit), limit), SE_VLAG);
}

/**
 * update_deadline(): a request that is served is followed by the next. True if others wait for their turn, or if the
 * current has lost its protection and isn't eligible any more (did_preempt_short()).
 */
export function updateDeadline(q: usize, t: u32): bool {
  const vruntime = load<u64>(t, TASK_VRUNTIME);
  if (before(vruntime, load<u64>(t, TASK_NODE_KEY))) {
    return preemptsShort && load<u64>(t, SE_VLAG) != load<u64>(t, TASK_NODE_KEY) && load<u32>(q, RQ_NR_ENTITIES) > 1 && !eligible(q, t);
  }
  store<u64>(t, vruntime + calcDeltaFair(renewSlice(t), t), TASK_NODE_KEY);
  return load<u32>(q, RQ_NR_ENTITIES) > 1;
}

/** pick_eevdf(): of the eligible entities the one with the earliest deadline; 0 if the queue is empty. */
export function pickEevdf(q: usize): u32 {
  let curr = currOnRq(q);
  const leftmost = load<u32>(q, RQ_LEFTMOST);
  if (load<u32>(q, RQ_NR_ENTITIES) <= 1) return curr != 0 ? curr : leftmost;

  // vruntime_eligible(v): Σ w·(v_i − min) ≥ (v − min)·Σ w, without the division of avg_vruntime().
  const min = load<u64>(q, RQ_MIN_VRUNTIME);
  let avg = load<i64>(q, RQ_AVG_VRUNTIME);
  let weight = load<u64>(q, RQ_AVG_LOAD) as i64;
  if (curr != 0) {
    const w = weightOf(curr) as i64;
    const key = (load<u64>(curr, TASK_VRUNTIME) - min) as i64;
    avg += key * w;
    weight += w;
    if (avg < key * weight) curr = 0;
    // RUN_TO_PARITY: once picked it stays until its request is served or it is no longer eligible.
    else if (load<i64>(curr, SE_VLAG) == load<i64>(curr, TASK_NODE_KEY)) return curr;
  }

  let best: u32 = 0;
  if (leftmost != 0 && avg >= ((load<u64>(leftmost, TASK_VRUNTIME) - min) as i64) * weight) {
    best = leftmost;
  } else {
    let node = load<u32>(q, RQ_ROOT);
    while (node != 0) {
      const left = load<u32>(node, TASK_LEFT);
      if (left != 0 && avg >= ((load<u64>(left, TASK_MIN_VRUNTIME) - min) as i64) * weight) {
        node = left;
        continue;
      }
      if (avg >= ((load<u64>(node, TASK_VRUNTIME) - min) as i64) * weight) {
        best = node;
        break;
      }
      node = load<u32>(node, TASK_RIGHT);
    }
  }
  if (best == 0 || (curr != 0 && before(load<u64>(curr, TASK_NODE_KEY), load<u64>(best, TASK_NODE_KEY)))) return curr;
  return best;
}

/** do_preempt_short(): the current of q has the CPU to the end of its slice, but not against t, which asks for less. */
export function loseProtection(q: usize, t: u32): void {
  const curr = load<u32>(q, RQ_CURR);
  if (!preemptsShort || curr == 0 || load<u32>(t, SE_SLICE) >= load<u32>(curr, SE_SLICE) || !eligible(q, t)) return;
  const deadline = load<u64>(curr, TASK_NODE_KEY);
  if (!before(load<u64>(t, TASK_NODE_KEY), deadline) && eligible(q, curr)) return;
  if (load<u64>(curr, SE_VLAG) == deadline) store<u64>(curr, deadline + 1, SE_VLAG);
}

// ---- class operations -----------------------------------------------------------------------------------

// @ts-ignore: decorator
@inline
export function fairNrRunning(cpu: u32): u32 {
  return load<u32>(cpuRq(cpu), RQ_NR_RUNNING);
}

/**
 * enqueue_task_fair(): the caller has charged the CPU's current task up to now. `initial`: t is newly forked. False if a
 * throttled group keeps it from running.
 */
export function fairEnqueue(t: u32, cpu: u32, wakeup: bool, initial: bool): bool {
  const q = cpuRq(cpu);
  updateLoadAvg(q);
  if (load<u64>(q, RQ_IDLE_STAMP) != 0) idleEnds(q, wakeup);
  if (delaysDequeue && isDelayed(t)) return resumeDelayed(t, cpu);
  if (grouping) {
    const g = groupOf(t, cpu);
    if (g != 0) return groupEnqueue(t, g, cpu, initial);
  }
  placeEntity(q, t, initial);
  const nr = load<u32>(q, RQ_NR_RUNNING) + 1;
  store<u32>(q, nr, RQ_NR_RUNNING);
  store<u32>(q, load<u32>(q, RQ_NR_ENTITIES) + 1, RQ_NR_ENTITIES);
  store<u64>(q, load<u64>(q, RQ_LOAD) + weightOf(t), RQ_LOAD);
  store<u32>(t, 1, SE_ON_RQ);
  listAdd(q, t);
  if (load<u32>(q, RQ_CURR) != t) insertEntity(q, t);
  if (nr == 2) maskSet(OVERLOADED_MASK, cpu);
  return true;
}

/** dequeue_task_fair(): t may be the current task or a waiting one; the current one has been charged up to now. */
export function fairDequeue(t: u32, cpu: u32, sleep: bool): void {
  const q = cpuRq(cpu);
  updateLoadAvg(q);
  if (delaysDequeue && sleep && load<u8>(t, TASK_STATE) != STATE_DEAD && delayDequeue(t, cpu)) return;
  if (grouping) {
    const g = groupOf(t, cpu);
    if (g != 0) {
      groupDequeue(t, g, cpu);
      if (keepsDeadline && !sleep) keepDeadline(t);
      return;
    }
  }
  updateEntityLag(q, t);
  if (load<u32>(q, RQ_CURR) != t) removeEntity(q, t);
  if (keepsDeadline && !sleep) keepDeadline(t);
  const nr = load<u32>(q, RQ_NR_RUNNING) - 1;
  store<u32>(q, nr, RQ_NR_RUNNING);
  store<u32>(q, load<u32>(q, RQ_NR_ENTITIES) - 1, RQ_NR_ENTITIES);
  store<u64>(q, load<u64>(q, RQ_LOAD) - weightOf(t), RQ_LOAD);
  store<u32>(t, 0, SE_ON_RQ);
  listRemove(q, t);
  updateMinVruntime(q);
  if (nr == 1) maskClear(OVERLOADED_MASK, cpu);
}

/** What should run: the current task (fairSetNext() is not called again for it), another one, or 0. */
export function fairPick(cpu: u32): u32 {
  const q = cpuRq(cpu);
  if (load<u32>(q, RQ_PUSH_CPU) != 0) pushCurrent(cpu);
  store<u32>(q, 0, RQ_SLICE_USED);
  if (grouping) {
    const curr = runningTask(cpu);
    if (curr != 0) checkRuntime(curr, cpu);
  }
  if (delaysDequeue) return pickRunnable(cpu);
  let se = pickEevdf(q);
  while (isGroup(se)) se = pickEevdf(groupRq(se, cpu));
  return se;
}

/** set_next_entity() */
export function fairSetNext(cpu: u32, t: u32): void {
  const q = cpuRq(cpu);
  const prev = load<u32>(q, RQ_CURR);
  if (prev == t) return;
  updateLoadAvg(q);
  if (grouping) {
    groupSetNext(t, cpu);
    return;
  }
  if (prev != 0) fairPutPrev(cpu, prev);
  if (load<u32>(t, SE_ON_RQ) != 0) {
    removeEntity(q, t);
    // vlag is free while on the queue: it remembers the deadline of the pick, see RUN_TO_PARITY.
    store<u64>(t, load<u64>(t, TASK_NODE_KEY), SE_VLAG);
    listMoveToNewest(q, t);
  }
  store<u32>(q, t, RQ_CURR);
}

/** put_prev_entity(): back into the tree if it didn't go to sleep. `next`: the fair task that runs next, 0 = none. */
export function fairPutPrev(cpu: u32, t: u32, next: u32 = 0): void {
  const q = cpuRq(cpu);
  if (grouping) {
    updateLoadAvg(q);
    groupPutPrev(t, next, cpu);
    return;
  }
  if (load<u32>(q, RQ_CURR) != t) return;
  updateLoadAvg(q);
  if (load<u32>(t, SE_ON_RQ) != 0) insertEntity(q, t);
  store<u32>(q, 0, RQ_CURR);
}

/** Fair part of update_curr(): t, the current task, has used `delta` ns. True: its slice is over and others wait. */
export function fairCharge(cpu: u32, t: u32, delta: u64): bool {
  if (grouping) {
    const over = groupCharge(t, delta, cpu);
    // Without a tick the weights of groups have no other time to follow.
    if (exactExpiry) groupTick(t, cpu);
    return over;
  }
  const q = cpuRq(cpu);
  store<u64>(t, load<u64>(t, TASK_VRUNTIME) + calcDeltaFair(delta, t), TASK_VRUNTIME);
  const used = updateDeadline(q, t);
  updateMinVruntime(q);
  if (used) store<u32>(q, 1, RQ_SLICE_USED);
  return used;
}

/** CPU time after which fairCharge() finds the slice of the current task used up, ns. */
export function fairSliceLeft(cpu: u32, t: u32): u64 {
  if (grouping) return groupSliceLeft(t, cpu);
  const left = (load<u64>(t, TASK_NODE_KEY) - load<u64>(t, TASK_VRUNTIME)) as i64;
  return left > 0 ? invertDeltaFair(left as u64, t) : 0;
}

/** hrtick_start_fair(): when the timer interrupts t, the current task, ns from now; only if others wait. */
export function hrtickLeft(cpu: u32, t: u32): u64 {
  const q = cpuRq(cpu);
  if (max(load<u32>(q, RQ_NR_RUNNING), load<u32>(q, RQ_NR_ENTITIES)) <= 1) return u64.MAX_VALUE;
  return max(fairSliceLeft(cpu, t), HRTICK_MIN_NS);
}

/** hrtick_update(): another task has joined the queue. */
function hrtickUpdate(cpu: u32): void {
  const curr = load<u32>(cpu << CPU_SHIFT, CPU_CURR);
  if (curr != 0 && load<u8>(curr, TASK_CLASS) == CLASS_FAIR) armCompletion(cpu << CPU_SHIFT);
}

/** task_tick_fair() and sched_balance_trigger(); at each tick of a CPU that is not idle, whatever class it runs. */
export function fairTick(cpu: u32): void {
  if (grouping) {
    const curr = runningTask(cpu);
    if (curr != 0) groupTick(curr, cpu);
  }
  if (!exactExpiry && load<u32>(cpuRq(cpu), RQ_SLICE_USED) != 0) resched(cpu);
  triggerLoadBalance(cpu);
}

/** check_preempt_wakeup_fair(): the newcomer gets the CPU if it would be picked. */
export function fairWakeupPreempt(cpu: u32, t: u32): void {
  if (maskTest(RESCHED_MASK, cpu)) return;
  const q = cpuRq(cpu);
  if (grouping) {
    if (throttledOn(t, cpu)) return;
    const curr = runningTask(cpu);
    if (curr == 0 || groupPicksOver(curr, t, cpu)) resched(cpu);
    else if (hrtick) hrtickUpdate(cpu);
    return;
  }
  if (preemptsShort) loseProtection(q, t);
  if (load<u32>(q, RQ_CURR) == 0 || pickEevdf(q) == t) resched(cpu);
  else if (hrtick) hrtickUpdate(cpu);
}

/** yield_task_fair(): gives up its place in the order, not its share. */
export function fairYield(cpu: u32, t: u32): void {
  // rq->nr_running
  if (load<u32>(cpuRq(cpu), RQ_NR_RUNNING) <= 1) return;
  store<u64>(t, load<u64>(t, TASK_NODE_KEY) + calcDeltaFair(load<u32>(t, SE_SLICE) as u64, t), TASK_NODE_KEY);
  resched(cpu);
}

/** The CPU has fair tasks again. A wake-up, not a pull, ends an idle time that counts (ttwu_do_activate()). */
function idleEnds(q: usize, wakeup: bool): void {
  if (wakeup) {
    const average = load<u32>(q, RQ_AVG_IDLE) as i64;
    const sample = (now - load<u64>(q, RQ_IDLE_STAMP)) as i64;
    const next = average + (sample - average) / 8;
    store<u32>(q, min(next, (MIGRATION_COST_NS << 1) as i64) as u32, RQ_AVG_IDLE);
  }
  store<u64>(q, 0, RQ_IDLE_STAMP);
}
