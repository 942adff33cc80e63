// Delayed dequeue of the fair class, since 6.12 (DELAY_DEQUEUE and DELAY_ZERO of kernel/sched/fair.c): a task that goes
// to sleep ahead of its share stays in the run queue, competing with its virtual time, until the average has caught up
// with it: then it is picked, and leaves instead of running, with lag 0. A short sleep is no way to shed debt. A group
// that its last task leaves is treated the same. Woken before that, the task goes on where it is, on the same CPU.
//
// Such an entity (SE_ON_RQ = DELAYED) counts in nr_entities and load, but not in nr_running, nor is it in cfs_tasks:
// unlike 6.12, but like its successors, load balancing doesn't see it.

import { CPU_SHIFT, ONLINE_MASK } from '../core/layout';
import { returnRuntime } from './bandwidth';
import { pickEevdf, placeEntity, updateEntityLag } from './fair';
import {
  cpuRq,
  eligible,
  insertEntity,
  listAdd,
  listRemove,
  removeEntity,
  RQ_CURR,
  RQ_NR_ENTITIES,
  SE_ON_RQ,
  SE_VLAG,
} from './fairrq';
import { changeRunning, dequeueEntity, GROUP_PARENT, GROUP_THROTTLED, grouping, groupOf, groupRq, isGroup, joinAbove, leaveAbove } from './group';
import { maskAddress, maskTest } from './mask';
import { updateCurr } from './charge';
import { TASK_MASK } from './task';

/** Value of SE_ON_RQ: se->sched_delayed */
const DELAYED: u32 = 2;

/** The kernel has delayed dequeue. */
export let delaysDequeue: bool = false;

export function delayedInit(delays: bool): void {
  delaysDequeue = delays;
}

// @ts-ignore: decorator
@inline
export function isDelayed(se: u32): bool {
  return load<u32>(se, SE_ON_RQ) == DELAYED;
}

// @ts-ignore: decorator
@inline
function queueOf(t: u32, cpu: u32): u32 {
  return grouping ? groupOf(t, cpu) : 0;
}

/** set_delayed(): an entity of q that should leave stays if it isn't eligible. */
export function delayEntity(q: usize, se: u32): bool {
  if (!delaysDequeue || eligible(q, se)) return false;
  store<u32>(se, DELAYED, SE_ON_RQ);
  return true;
}

/** The same for a task that goes to sleep on `cpu`. */
export function delayDequeue(t: u32, cpu: u32): bool {
  let g = queueOf(t, cpu);
  if (!delayEntity(groupRq(g, cpu), t)) return false;
  listRemove(cpuRq(cpu), t);
  changeRunning(g, cpu, -1);
  while (g != 0 && load<u32>(g, GROUP_THROTTLED) == 0) {
    g = load<u32>(g, GROUP_PARENT);
    changeRunning(g, cpu, -1);
  }
  return true;
}

/** requeue_delayed_entity(): what its lag has grown beyond 0 meanwhile it doesn't get. */
export function requeueDelayed(q: usize, se: u32): void {
  updateEntityLag(q, se);
  if (load<i64>(se, SE_VLAG) > 0) {
    const waits = load<u32>(q, RQ_CURR) != se;
    if (waits) removeEntity(q, se);
    store<u32>(q, load<u32>(q, RQ_NR_ENTITIES) - 1, RQ_NR_ENTITIES);
    store<u32>(se, 0, SE_ON_RQ);
    store<i64>(se, 0, SE_VLAG);
    placeEntity(q, se, false);
    if (waits) insertEntity(q, se);
    store<u32>(q, load<u32>(q, RQ_NR_ENTITIES) + 1, RQ_NR_ENTITIES);
  }
  store<u32>(se, 1, SE_ON_RQ);
}

/** enqueue_task_fair() of a delayed task. False if it has to wait for a throttled group. */
export function resumeDelayed(t: u32, cpu: u32): bool {
  const g = queueOf(t, cpu);
  requeueDelayed(groupRq(g, cpu), t);
  listAdd(cpuRq(cpu), t);
  changeRunning(g, cpu, 1);
  if (g == 0) return true;
  return load<u32>(g, GROUP_THROTTLED) == 0 && joinAbove(g, cpu, 1);
}

/** dequeue_entities() with DEQUEUE_DELAYED: the entity leaves, and the groups above that it leaves empty may follow. */
function finishDequeue(se: u32, cpu: u32): void {
  const g = isGroup(se) ? load<u32>(se, GROUP_PARENT) : queueOf(se, cpu);
  dequeueEntity(se, g, cpu);
  if (g == 0) return;
  const empty = load<u32>(groupRq(g, cpu), RQ_NR_ENTITIES) == 0;
  if (empty) returnRuntime(g, cpu);
  if (load<u32>(g, GROUP_THROTTLED) == 0) leaveAbove(g, cpu, empty, 0, true);
}

function pickThroughLevels(cpu: u32): u32 {
  let se = pickEevdf(cpuRq(cpu));
  while (isGroup(se) && !isDelayed(se)) se = pickEevdf(groupRq(se, cpu));
  return se;
}

/** pick_task_fair() */
export function pickRunnable(cpu: u32): u32 {
  let se = pickThroughLevels(cpu);
  while (se != 0 && isDelayed(se)) {
    finishDequeue(se, cpu);
    se = pickThroughLevels(cpu);
  }
  return se;
}

/** ttwu_runnable(): whether the sleeping fair task t is still queued on its CPU, so that it wakes up there. */
export function wakesInPlace(t: u32, cpu: u32): bool {
  if (!isDelayed(t)) return false;
  if (maskTest(ONLINE_MASK, cpu) && maskTest(maskAddress(load<u32>(t, TASK_MASK)), cpu)) return true;
  updateCurr(cpu << CPU_SHIFT);
  finishDequeue(t, cpu);
  return false;
}
