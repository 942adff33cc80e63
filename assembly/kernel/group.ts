// Group scheduling of the fair class (CONFIG_FAIR_GROUP_SCHED of kernel/sched/fair.c, 6.11): a cgroup with shares has a
// run queue on every CPU, and an entity in its parent's run queue that stands for it there. fair.ts handles the queue
// of a CPU as long as no cgroup has shares; the walks through several levels are here.
//
// Weight of a group's entity on a CPU = shares × load of its run queue there / load of all its run queues, brought up to
// date, as in the kernel, when something joins or leaves on that CPU and at its tick. Load is the weight of what is
// queued or runs at that moment, where the kernel averages it over time.
//
// Cgroup, 128 B at CGROUPS (the fields from quota on belong to bandwidth.ts):
//
//     0  u32 shares          0 = no group of its own: its tasks are in the root's queues
//     4  u32 parent          cgroup, NONE = the root
//     8  u32 queues          handle of the record for CPU 0, 0 = none made yet
//    16  u64 load            Σ of its run queues' load
//    24  u64 quota           ns per period, 0 = no limit
//    32  u64 period          ns
//    40  u64 runtime         of this period, not yet handed to a CPU
//    48  u64 period_end
//    56  u32 period_active
//    60  u32 idle            nobody asked for runtime in the period
//    64  u32 throttled, last list of throttled run queues, the longest throttled first
//    72  u32 slack_started
//
// Group on a CPU, 512 B in the arena, addressed like a task (handle = address - TASKS), so that the tree and the entity
// functions take both. Its handle lies above all tasks':
//
//     0  u32 parent          handle of the parent's record on this CPU, 0 = the root
//     4  u32 cgroup
//     8  u32 cpu
//    32  u32 weight, 64 node, 200 class state: as in a task
//   256  128 B run queue     (kernel/fairrq.ts)
//   384  i64 runtime_remaining
//   392  u32 throttled
//   396  u32 next throttled run queue of the cgroup

import {
  CG_DOMAIN,
  CG_PARENT,
  CG_PERIOD,
  CG_QUOTA,
  CG_SHARES,
  CG_STRIDE,
  NONE,
  P_BANDWIDTH_SLICE_NS,
  P_GROUP_SCHED,
  P_SLICE_EXACT,
} from '../abi';
import { arenaAllocate } from '../core/arena';
import { param } from '../core/counters';
import { CGROUP_DOMAIN, CGROUP_SHIFT, CGROUPS, MAX_CGROUPS, OVERLOADED_MASK, TASKS } from '../core/layout';
import { account, accountCurrent, bandwidthInit, checkEnqueueThrottle, returnRuntime } from './bandwidth';
import { delayEntity, isDelayed, requeueDelayed } from './delayed';
import { loseProtection, placeEntity, pickEevdf, updateDeadline, updateEntityLag } from './fair';
import {
  avgVruntime,
  calcDeltaFair,
  cpuRq,
  insertEntity,
  invertDeltaFair,
  listAdd,
  listMoveToNewest,
  listRemove,
  removeEntity,
  RQ_CURR,
  RQ_LOAD,
  RQ_NR_ENTITIES,
  RQ_NR_RUNNING,
  RQ_SLICE_USED,
  rqReset,
  SE_ON_RQ,
  SE_VLAG,
  updateMinVruntime,
  weightOf,
} from './fairrq';
import { maskClear, maskSet, nrCpus } from './mask';
import { TASK_CGROUP, TASK_NODE_KEY, TASK_WEIGHT } from './task';
import { TASK_VRUNTIME } from './tree';

export const CGROUP_SHARES: usize = CGROUPS + 0;
export const CGROUP_PARENT: usize = CGROUPS + 4;
export const CGROUP_QUEUES: usize = CGROUPS + 8;
export const CGROUP_LOAD: usize = CGROUPS + 16;
export const CGROUP_QUOTA: usize = CGROUPS + 24;
export const CGROUP_PERIOD: usize = CGROUPS + 32;

export const GROUP_PARENT: usize = TASKS + 0;
export const GROUP_CGROUP: usize = TASKS + 4;
export const GROUP_CPU: usize = TASKS + 8;
const GROUP_RQ: usize = TASKS + 256;
export const GROUP_RUNTIME: usize = TASKS + 384;
export const GROUP_THROTTLED: usize = TASKS + 392;
export const GROUP_NEXT: usize = TASKS + 396;
export const GROUP_SHIFT: u32 = 9;

/** Handles from here on are groups: tasks end below (64 MiB). */
const GROUP_HANDLES: u32 = 0x0400_0000;
/** MIN_SHARES, in the unscaled units of weights that scale_load_down() yields. */
const MIN_SHARES: u64 = 2;

/** Cgroups of SECTION_CGROUPS are numbered from here on, behind those of domains and containers (kernel/spawn.ts). */
export const CGROUP_NAMED: u32 = 1024 + 65536;

/** Some cgroup has shares. */
export let grouping: bool = false;
/** Cgroups of SECTION_CGROUPS. */
export let namedCgroups: u32 = 0;
let enabled: bool = false;

/** Cgroups of the model; none of a model without group scheduling has shares. */
export function groupsInit(rows: usize, count: u32): void {
  enabled = param(P_GROUP_SCHED) != 0;
  grouping = false;
  namedCgroups = count;
  if (enabled) memory.fill(CGROUPS, 0, MAX_CGROUPS << CGROUP_SHIFT);
  bandwidthInit(param(P_BANDWIDTH_SLICE_NS), param(P_SLICE_EXACT) != 0);
  for (let i: u32 = 0; i < count; i++) {
    const r = rows + i * CG_STRIDE;
    const cgroup = CGROUP_NAMED + i;
    store<u32>(cgroup << 2, load<u32>(r, CG_DOMAIN), CGROUP_DOMAIN);
    groupSet(cgroup, namedCgroup(load<u32>(r, CG_PARENT)), load<u32>(r, CG_SHARES), load<u64>(r, CG_QUOTA), load<u64>(r, CG_PERIOD));
  }
}

/** Cgroup of an index + 1 of SECTION_CGROUPS, NONE for 0. */
export function namedCgroup(indexPlus1: u32): u32 {
  return indexPlus1 == 0 ? NONE : CGROUP_NAMED + indexPlus1 - 1;
}

/** Makes a cgroup a group of the fair class. */
export function groupSet(cgroup: u32, parent: u32, shares: u32, quota: u64, period: u64): void {
  if (!enabled) return;
  grouping = true;
  const g = cgroup << CGROUP_SHIFT;
  memory.fill(CGROUPS + g, 0, 1 << CGROUP_SHIFT);
  store<u32>(g, shares, CGROUP_SHARES);
  store<u32>(g, parent, CGROUP_PARENT);
  store<u64>(g, quota, CGROUP_QUOTA);
  store<u64>(g, period, CGROUP_PERIOD);
}

// ---- records --------------------------------------------------------------------------------------------

// @ts-ignore: decorator
@inline
export function isGroup(se: u32): bool {
  return se >= GROUP_HANDLES;
}

/** Run queue that the entities of group g are in; g = 0: the CPU's. */
// @ts-ignore: decorator
@inline
export function groupRq(g: u32, cpu: u32): usize {
  return g == 0 ? cpuRq(cpu) : GROUP_RQ + g;
}

/** The group on `cpu` that the cgroup's entities are in, 0 = the root. */
function groupOn(cgroup: u32, cpu: u32): u32 {
  if (cgroup == NONE) return 0;
  const r = cgroup << CGROUP_SHIFT;
  if (load<u32>(r, CGROUP_SHARES) == 0) return 0;
  let queues = load<u32>(r, CGROUP_QUEUES);
  if (queues == 0) queues = makeQueues(cgroup);
  return queues == 0 ? 0 : queues + (cpu << GROUP_SHIFT);
}

// @ts-ignore: decorator
@inline
export function groupOf(t: u32, cpu: u32): u32 {
  return groupOn(load<u32>(t, TASK_CGROUP), cpu);
}

/** The run queues of a cgroup and of those above it; 0 if there is no memory (the run fails). */
function makeQueues(cgroup: u32): u32 {
  const r = cgroup << CGROUP_SHIFT;
  const address = arenaAllocate((nrCpus as usize) << GROUP_SHIFT);
  if (address == 0) return 0;
  const queues = (address - TASKS) as u32;
  store<u32>(r, queues, CGROUP_QUEUES);
  for (let cpu: u32 = 0; cpu < nrCpus; cpu++) {
    const g = queues + (cpu << GROUP_SHIFT);
    store<u32>(g, groupOn(load<u32>(r, CGROUP_PARENT), cpu), GROUP_PARENT);
    store<u32>(g, cgroup, GROUP_CGROUP);
    store<u32>(g, cpu, GROUP_CPU);
    store<u32>(g, load<u32>(r, CGROUP_SHARES), TASK_WEIGHT);
    rqReset(groupRq(g, cpu));
  }
  return queues;
}

/** The running fair task of a CPU's queue, 0 if none. */
// @ts-ignore: decorator
@inline
export function runningTask(cpu: u32): u32 {
  let se = load<u32>(cpuRq(cpu), RQ_CURR);
  while (isGroup(se)) se = load<u32>(groupRq(se, cpu), RQ_CURR);
  return se;
}

// ---- weights --------------------------------------------------------------------------------------------

/** An entity's weight joins (or leaves) the load of the run queue of g. */
// @ts-ignore: decorator
@inline
function changeLoad(g: u32, q: usize, change: i64): void {
  store<u64>(q, load<u64>(q, RQ_LOAD) + (change as u64), RQ_LOAD);
  if (g == 0) return;
  const r = load<u32>(g, GROUP_CGROUP) << CGROUP_SHIFT;
  store<u64>(r, load<u64>(r, CGROUP_LOAD) + (change as u64), CGROUP_LOAD);
}

/** update_cfs_group(): the entity's weight by its run queue's share of the cgroup's load; an empty one keeps it. */
export function updateGroupWeight(se: u32, cpu: u32): void {
  const local = load<u64>(groupRq(se, cpu), RQ_LOAD);
  if (local == 0) return;
  const r = load<u32>(se, GROUP_CGROUP) << CGROUP_SHIFT;
  const shares = load<u32>(r, CGROUP_SHARES) as u64;
  const weight = max(min((shares * local) / load<u64>(r, CGROUP_LOAD), shares), MIN_SHARES);
  if (weight != weightOf(se)) reweight(se, weight, cpu);
}

/** reweight_entity() and reweight_eevdf(): its lag and what is left of its request stay the same CPU time. */
function reweight(se: u32, weight: u64, cpu: u32): void {
  const old = weightOf(se) as i64;
  const w = weight as i64;
  if (load<u32>(se, SE_ON_RQ) == 0) {
    store<i64>(se, (load<i64>(se, SE_VLAG) * old) / w, SE_VLAG);
    store<u32>(se, weight as u32, TASK_WEIGHT);
    return;
  }
  const parent = load<u32>(se, GROUP_PARENT);
  const q = groupRq(parent, cpu);
  const average = avgVruntime(q);
  const waits = load<u32>(q, RQ_CURR) != se;
  if (waits) removeEntity(q, se);
  const lag = ((average - load<u64>(se, TASK_VRUNTIME)) as i64) * old / w;
  store<u64>(se, average - (lag as u64), TASK_VRUNTIME);
  const ahead = ((load<u64>(se, TASK_NODE_KEY) - average) as i64) * old / w;
  store<u64>(se, average + (ahead as u64), TASK_NODE_KEY);
  store<u32>(se, weight as u32, TASK_WEIGHT);
  changeLoad(parent, q, w - old);
  if (waits) insertEntity(q, se);
  updateMinVruntime(q);
}

/** task_h_load(): the part of the CPU's load that t makes up, or would if it were queued there. */
export function taskLoad(t: u32, cpu: u32): u64 {
  let share = weightOf(t);
  if (!grouping) return share;
  for (let g = groupOf(t, cpu); g != 0; g = load<u32>(g, GROUP_PARENT)) {
    share = (weightOf(g) * share) / max(load<u64>(groupRq(g, cpu), RQ_LOAD), share);
  }
  return max(share, 1);
}

// ---- joining and leaving --------------------------------------------------------------------------------

/** enqueue_entity() of `se` in the run queue of group g. */
function enqueueEntity(se: u32, g: u32, cpu: u32, initial: bool): void {
  const q = groupRq(g, cpu);
  placeEntity(q, se, initial);
  store<u32>(q, load<u32>(q, RQ_NR_ENTITIES) + 1, RQ_NR_ENTITIES);
  changeLoad(g, q, weightOf(se) as i64);
  store<u32>(se, 1, SE_ON_RQ);
  if (load<u32>(q, RQ_CURR) != se) insertEntity(q, se);
}

/** dequeue_entity() */
export function dequeueEntity(se: u32, g: u32, cpu: u32): void {
  const q = groupRq(g, cpu);
  updateEntityLag(q, se);
  // DELAY_ZERO
  if (isDelayed(se) && load<i64>(se, SE_VLAG) > 0) store<i64>(se, 0, SE_VLAG);
  if (load<u32>(q, RQ_CURR) != se) removeEntity(q, se);
  store<u32>(q, load<u32>(q, RQ_NR_ENTITIES) - 1, RQ_NR_ENTITIES);
  changeLoad(g, q, -(weightOf(se) as i64));
  store<u32>(se, 0, SE_ON_RQ);
  updateMinVruntime(q);
}

/** h_nr_running of the run queue of group g changes; that of a CPU says whether it has tasks to give. */
export function changeRunning(g: u32, cpu: u32, change: i32): void {
  const q = groupRq(g, cpu);
  const nr = load<u32>(q, RQ_NR_RUNNING) + (change as u32);
  store<u32>(q, nr, RQ_NR_RUNNING);
  if (g != 0) return;
  if (nr >= 2) maskSet(OVERLOADED_MASK, cpu);
  else maskClear(OVERLOADED_MASK, cpu);
}

/**
 * enqueue_task_fair() of a task in group g of `cpu`: the task, then each group above that isn't queued yet. False if it
 * has to wait for a throttled group.
 */
export function groupEnqueue(t: u32, g: u32, cpu: u32, initial: bool): bool {
  enqueueEntity(t, g, cpu, initial);
  listAdd(cpuRq(cpu), t);
  changeRunning(g, cpu, 1);
  if (load<u32>(groupRq(g, cpu), RQ_NR_ENTITIES) == 1) checkEnqueueThrottle(g, cpu);
  if (load<u32>(g, GROUP_THROTTLED) != 0) return false;
  return joinAbove(g, cpu, 1);
}

/** `tasks` more of group g may run: g and the groups above it are queued. False if one of these is throttled. */
export function joinAbove(g: u32, cpu: u32, tasks: i32): bool {
  let se = g;
  while (se != 0) {
    const parent = load<u32>(se, GROUP_PARENT);
    updateGroupWeight(se, cpu);
    if (load<u32>(se, SE_ON_RQ) == 0) {
      enqueueEntity(se, parent, cpu, false);
      if (parent != 0 && load<u32>(groupRq(parent, cpu), RQ_NR_ENTITIES) == 1) checkEnqueueThrottle(parent, cpu);
    } else if (isDelayed(se)) {
      requeueDelayed(groupRq(parent, cpu), se);
    }
    changeRunning(parent, cpu, tasks);
    if (parent != 0 && load<u32>(parent, GROUP_THROTTLED) != 0) return false;
    se = parent;
  }
  return true;
}

/** dequeue_task_fair(): the task, then each group above that it leaves empty. */
export function groupDequeue(t: u32, g: u32, cpu: u32): void {
  dequeueEntity(t, g, cpu);
  listRemove(cpuRq(cpu), t);
  changeRunning(g, cpu, -1);
  const empty = load<u32>(groupRq(g, cpu), RQ_NR_ENTITIES) == 0;
  if (empty) returnRuntime(g, cpu);
  if (load<u32>(g, GROUP_THROTTLED) == 0) leaveAbove(g, cpu, empty, 1, true);
}

/**
 * `tasks` of group g no longer run; if `leaves`, neither does g, nor the groups above that have nothing else; `delay`:
 * unless their dequeue is delayed.
 */
export function leaveAbove(g: u32, cpu: u32, leaves: bool, tasks: i32, delay: bool): void {
  let se = g;
  while (se != 0) {
    const parent = load<u32>(se, GROUP_PARENT);
    if (leaves) {
      const delayed = delay && load<u32>(se, SE_ON_RQ) != 0 && delayEntity(groupRq(parent, cpu), se);
      if (!delayed && load<u32>(se, SE_ON_RQ) != 0) dequeueEntity(se, parent, cpu);
      if (load<u32>(groupRq(parent, cpu), RQ_NR_ENTITIES) != 0) leaves = false;
      else if (parent != 0) returnRuntime(parent, cpu);
    } else {
      updateGroupWeight(se, cpu);
    }
    changeRunning(parent, cpu, -tasks);
    if (parent != 0 && load<u32>(parent, GROUP_THROTTLED) != 0) return;
    se = parent;
  }
}

// ---- running --------------------------------------------------------------------------------------------

/** set_next_entity() of the task and of the groups above it, up to the first that is current already. */
export function groupSetNext(t: u32, cpu: u32): void {
  let se = t;
  let g = groupOf(t, cpu);
  for (;;) {
    const q = groupRq(g, cpu);
    if (load<u32>(q, RQ_CURR) == se) return;
    if (load<u32>(se, SE_ON_RQ) != 0) {
      removeEntity(q, se);
      store<u64>(se, load<u64>(se, TASK_NODE_KEY), SE_VLAG);
      if (se == t) listMoveToNewest(cpuRq(cpu), t);
    }
    store<u32>(q, se, RQ_CURR);
    if (g == 0) return;
    se = g;
    g = load<u32>(se, GROUP_PARENT);
  }
}

/** put_prev_entity() of the task and of the groups above it that `next` (0 = none of the class) isn't in. */
export function groupPutPrev(t: u32, next: u32, cpu: u32): void {
  let se = t;
  let g = groupOf(t, cpu);
  for (;;) {
    const q = groupRq(g, cpu);
    if (load<u32>(q, RQ_CURR) == se) {
      if (load<u32>(se, SE_ON_RQ) != 0) insertEntity(q, se);
      store<u32>(q, 0, RQ_CURR);
    }
    if (g == 0 || (next != 0 && holds(g, next, cpu))) return;
    se = g;
    g = load<u32>(se, GROUP_PARENT);
  }
}

/** Is t in group g or in one below it? */
export function holds(g: u32, t: u32, cpu: u32): bool {
  for (let above = groupOf(t, cpu); above != 0; above = load<u32>(above, GROUP_PARENT)) if (above == g) return true;
  return false;
}

/** update_curr() on every level. True: a slice is over on one of them, or a quota used up. */
export function groupCharge(t: u32, delta: u64, cpu: u32): bool {
  let se = t;
  let g = groupOf(t, cpu);
  let over = false;
  let used = false;
  for (;;) {
    const q = groupRq(g, cpu);
    store<u64>(se, load<u64>(se, TASK_VRUNTIME) + calcDeltaFair(delta, se), TASK_VRUNTIME);
    if (updateDeadline(q, se)) used = true;
    updateMinVruntime(q);
    if (g == 0) break;
    if (!accountCurrent(g, delta)) over = true;
    se = g;
    g = load<u32>(se, GROUP_PARENT);
  }
  if (used) store<u32>(cpuRq(cpu), 1, RQ_SLICE_USED);
  return used || over;
}

/** CPU time after which groupCharge() says so, ns. */
export function groupSliceLeft(t: u32, cpu: u32): u64 {
  let se = t;
  let g = groupOf(t, cpu);
  let least: u64 = u64.MAX_VALUE;
  for (;;) {
    const left = (load<u64>(se, TASK_NODE_KEY) - load<u64>(se, TASK_VRUNTIME)) as i64;
    // A change of weight may round what was left to nothing; no time, no charge, and the slice would never end.
    least = min(least, left > 0 ? invertDeltaFair(left as u64, se) : 1);
    if (g == 0) break;
    least = min(least, account(g));
    se = g;
    g = load<u32>(se, GROUP_PARENT);
  }
  return least;
}

/** entity_tick(): the weights of the groups that the running task is in. */
export function groupTick(t: u32, cpu: u32): void {
  for (let g = groupOf(t, cpu); g != 0; g = load<u32>(g, GROUP_PARENT)) updateGroupWeight(g, cpu);
}

/** The entities of two tasks in the queue that both descend from: would the second's be picked? (find_matching_se()) */
export function groupPicksOver(curr: u32, t: u32, cpu: u32): bool {
  let se = t;
  for (let g = groupOf(t, cpu); g != 0 && !holds(g, curr, cpu); g = load<u32>(g, GROUP_PARENT)) se = g;
  const g = isGroup(se) ? load<u32>(se, GROUP_PARENT) : groupOf(se, cpu);
  const q = groupRq(g, cpu);
  loseProtection(q, se);
  return pickEevdf(q) == se;
}

/** Is t in a group that is throttled on `cpu`, or below one? */
export function throttledOn(t: u32, cpu: u32): bool {
  for (let g = groupOf(t, cpu); g != 0; g = load<u32>(g, GROUP_PARENT)) {
    if (load<u32>(g, GROUP_THROTTLED) != 0) return true;
  }
  return false;
}
