// Records of the fair class: the run queue of a CPU (struct cfs_rq) and the entity state of a task (struct
// sched_entity), with what keeps them consistent. Functions take the run queue's address, not a CPU, so that the run
// queues of groups can lie elsewhere.
//
// Run queue, 128 B (one per CPU at CPU_FAIR, one per group and CPU in kernel/group.ts):
//
//     0  u32 root            tree of queued entities by deadline, augmented by the smallest vruntime; not the current
//     4  u32 leftmost        the one with the earliest deadline
//     8  u32 curr            running entity, 0 = none of this queue
//    12  u32 nr_running      tasks queued or running, those of groups below included, delayed ones not (h_nr_runnable)
//    16  u64 min_vruntime    reference of all keys; only advances
//    24  i64 avg_vruntime    Σ weight × (vruntime − min_vruntime) over the tree
//    32  u64 avg_load        Σ weight over the tree
//    40  u64 load            Σ weight, the current included
//    48  u32 newest, oldest  cfs_tasks: most and least recently queued or run, for load balancing
//    56  u64 pelt_time       util and runnable are decayed up to here
//    64  u64 runnable_avg    decayed number of runnable entities, 2^20 = 1
//    72  u64 idle_stamp      when the CPU ran out of fair tasks, 0 = it has some
//    80  u32 util_avg        decayed share of time running fair tasks, 2^30 = always
//    84  u32 avg_idle        average length of idle times, ns
//    88  u32 slice_used      the current has used up its slice while others wait
//    92  u32 push_cpu        1 + CPU that the current is to be pushed to (active balancing), 0 = none
//    96  u32 nr_entities     queued or running at this level: without groups the same as nr_running
//
// Entity, 56 B of a task's class state:
//
//     0  u64 vruntime
//     8  u64 min_vruntime    smallest vruntime of its subtree (kernel/tree.ts)
//    16  i64 vlag            off the queue: lag it left with; current: its deadline when it was picked
//    24  u32 slice           ns of CPU time asked for
//    28  u32 on_rq          1 = queued, 2 = asleep but not dequeued yet (kernel/delayed.ts)
//    32  u32 wakee_flips     how often it woke another task than the last time
//    36  u32 last_wakee
//    40  u64 wakee_flip_decay_ts
//    48  u32 older, newer    neighbours in cfs_tasks
//
// The deadline is TASK_NODE_KEY.

import { CPU_SHIFT } from '../core/layout';
import { CPU_FAIR } from './cpu';
import { now } from './events';
import { TASK_CLASS_STATE, TASK_NODE_KEY, TASK_WEIGHT } from './task';
import { before, TASK_MIN_VRUNTIME, TASK_VRUNTIME, treeInsert, treeNext, treeRemove } from './tree';

export const RQ_BYTES: usize = 128;
export const RQ_ROOT: usize = 0;
export const RQ_LEFTMOST: usize = 4;
export const RQ_CURR: usize = 8;
export const RQ_NR_RUNNING: usize = 12;
export const RQ_MIN_VRUNTIME: usize = 16;
export const RQ_AVG_VRUNTIME: usize = 24;
export const RQ_AVG_LOAD: usize = 32;
export const RQ_LOAD: usize = 40;
export const RQ_NEWEST: usize = 48;
export const RQ_OLDEST: usize = 52;
export const RQ_PELT_TIME: usize = 56;
export const RQ_RUNNABLE_AVG: usize = 64;
export const RQ_IDLE_STAMP: usize = 72;
export const RQ_UTIL_AVG: usize = 80;
export const RQ_AVG_IDLE: usize = 84;
export const RQ_SLICE_USED: usize = 88;
export const RQ_PUSH_CPU: usize = 92;
export const RQ_NR_ENTITIES: usize = 96;

export const SE_VLAG: usize = TASK_CLASS_STATE + 16;
export const SE_SLICE: usize = TASK_CLASS_STATE + 24;
export const SE_ON_RQ: usize = TASK_CLASS_STATE + 28;
export const SE_WAKEE_FLIPS: usize = TASK_CLASS_STATE + 32;
export const SE_LAST_WAKEE: usize = TASK_CLASS_STATE + 36;
export const SE_FLIP_DECAY: usize = TASK_CLASS_STATE + 40;
export const SE_OLDER: usize = TASK_CLASS_STATE + 48;
export const SE_NEWER: usize = TASK_CLASS_STATE + 52;

/** Weight of nice 0 and full capacity of a CPU. */
export const SCALE: u64 = 1024;
/** sysctl_sched_migration_cost, ns. */
export const MIGRATION_COST_NS: u64 = 500000;

// @ts-ignore: decorator
@inline
export function cpuRq(cpu: u32): usize {
  return CPU_FAIR + ((cpu as usize) << CPU_SHIFT);
}

// @ts-ignore: decorator
@inline
export function weightOf(t: u32): u64 {
  return load<u32>(t, TASK_WEIGHT) as u64;
}

export function rqReset(q: usize): void {
  memory.fill(q, 0, RQ_BYTES);
  // As init_cfs_rq(): the wrap of vruntime comes early, where it would be noticed.
  store<u64>(q, (0 as u64) - ((1 as u64) << 20), RQ_MIN_VRUNTIME);
  store<u32>(q, (MIGRATION_COST_NS << 1) as u32, RQ_AVG_IDLE);
}

// ---- virtual time ---------------------------------------------------------------------------------------

/** WMULT_CONST / weight × 1024, shifted right until it fits 32 bits: calc_delta_fair() is a multiplication by it. */
let wmultFactor: u64 = 0;
let wmultShift: u64 = 0;

// @ts-ignore: decorator
@inline
function setWmult(weight: u64): void {
  const factor = ((0xffffffff as u64) / weight) << 10;
  const excess = 64 - clz(factor);
  const down: u64 = excess > 32 ? excess - 32 : 0;
  wmultFactor = factor >> down;
  wmultShift = 32 - down;
}

/** calc_delta_fair(): the virtual time of `delta` ns of CPU time, delta × 1024 / weight in the kernel's fixed point. */
export function calcDeltaFair(delta: u64, t: u32): u64 {
  const weight = weightOf(t);
  if (weight == SCALE) return delta;
  setWmult(weight);
  const low = ((delta & 0xffffffff) * wmultFactor) >> wmultShift;
  const high = delta >> 32;
  return high == 0 ? low : low + ((high * wmultFactor) << (32 - wmultShift));
}

/** The least CPU time whose virtual time is at least `virtual`: inverse of calcDeltaFair(). */
export function invertDeltaFair(virtual: u64, t: u32): u64 {
  const weight = weightOf(t);
  if (weight == SCALE) return virtual;
  setWmult(weight);
  if (clz(virtual) <= wmultShift) return (virtual / SCALE) * weight;
  return ((virtual << wmultShift) + wmultFactor - 1) / wmultFactor;
}

// @ts-ignore: decorator
@inline
function entityKey(q: usize, t: u32): i64 {
  return (load<u64>(t, TASK_VRUNTIME) - load<u64>(q, RQ_MIN_VRUNTIME)) as i64;
}

/** The current entity if it takes part in the queue's average, else 0. */
// @ts-ignore: decorator
@inline
export function currOnRq(q: usize): u32 {
  const curr = load<u32>(q, RQ_CURR);
  return curr != 0 && load<u32>(curr, SE_ON_RQ) != 0 ? curr : 0;
}

/** avg_vruntime(): V, the weighted average of vruntime, rounded down; an entity at or before it is eligible. */
export function avgVruntime(q: usize): u64 {
  let avg = load<i64>(q, RQ_AVG_VRUNTIME);
  let weight = load<u64>(q, RQ_AVG_LOAD) as i64;
  const curr = currOnRq(q);
  if (curr != 0) {
    const w = weightOf(curr) as i64;
    avg += entityKey(q, curr) * w;
    weight += w;
  }
  if (weight != 0) {
    if (avg < 0) avg -= weight - 1;
    avg /= weight;
  }
  return load<u64>(q, RQ_MIN_VRUNTIME) + (avg as u64);
}

/** entity_eligible(): its vruntime isn't beyond V; without the division of avg_vruntime(). */
export function eligible(q: usize, se: u32): bool {
  let avg = load<i64>(q, RQ_AVG_VRUNTIME);
  let weight = load<u64>(q, RQ_AVG_LOAD) as i64;
  const curr = currOnRq(q);
  if (curr != 0) {
    const w = weightOf(curr) as i64;
    avg += entityKey(q, curr) * w;
    weight += w;
  }
  return avg >= entityKey(q, se) * weight;
}

/** update_min_vruntime(): the reference follows the smallest vruntime, never back, and the sum of keys with it. */
export function updateMinVruntime(q: usize): void {
  const min = load<u64>(q, RQ_MIN_VRUNTIME);
  const root = load<u32>(q, RQ_ROOT);
  const curr = currOnRq(q);
  let vruntime = min;
  if (curr != 0) vruntime = load<u64>(curr, TASK_VRUNTIME);
  if (root != 0) {
    const queued = load<u64>(root, TASK_MIN_VRUNTIME);
    if (curr == 0 || before(queued, vruntime)) vruntime = queued;
  }
  const delta = (vruntime - min) as i64;
  if (delta <= 0) return;
  const sum = load<i64>(q, RQ_AVG_VRUNTIME) - (load<u64>(q, RQ_AVG_LOAD) as i64) * delta;
  store<i64>(q, sum, RQ_AVG_VRUNTIME);
  store<u64>(q, vruntime, RQ_MIN_VRUNTIME);
}

// ---- the tree and the list ------------------------------------------------------------------------------

/** __enqueue_entity() */
export function insertEntity(q: usize, t: u32): void {
  const weight = weightOf(t);
  store<i64>(q, load<i64>(q, RQ_AVG_VRUNTIME) + entityKey(q, t) * (weight as i64), RQ_AVG_VRUNTIME);
  store<u64>(q, load<u64>(q, RQ_AVG_LOAD) + weight, RQ_AVG_LOAD);
  const leftmost = load<u32>(q, RQ_LEFTMOST);
  if (leftmost == 0 || before(load<u64>(t, TASK_NODE_KEY), load<u64>(leftmost, TASK_NODE_KEY))) {
    store<u32>(q, t, RQ_LEFTMOST);
  }
  store<u32>(q, treeInsert(load<u32>(q, RQ_ROOT), t, true), RQ_ROOT);
}

/** __dequeue_entity() */
export function removeEntity(q: usize, t: u32): void {
  const weight = weightOf(t);
  store<i64>(q, load<i64>(q, RQ_AVG_VRUNTIME) - entityKey(q, t) * (weight as i64), RQ_AVG_VRUNTIME);
  store<u64>(q, load<u64>(q, RQ_AVG_LOAD) - weight, RQ_AVG_LOAD);
  if (load<u32>(q, RQ_LEFTMOST) == t) store<u32>(q, treeNext(t), RQ_LEFTMOST);
  store<u32>(q, treeRemove(load<u32>(q, RQ_ROOT), t, true), RQ_ROOT);
}

/** Puts t at the recent end of cfs_tasks. */
export function listAdd(q: usize, t: u32): void {
  const newest = load<u32>(q, RQ_NEWEST);
  store<u32>(t, newest, SE_OLDER);
  store<u32>(t, 0, SE_NEWER);
  if (newest != 0) store<u32>(newest, t, SE_NEWER);
  else store<u32>(q, t, RQ_OLDEST);
  store<u32>(q, t, RQ_NEWEST);
}

export function listRemove(q: usize, t: u32): void {
  const older = load<u32>(t, SE_OLDER);
  const newer = load<u32>(t, SE_NEWER);
  if (older != 0) store<u32>(older, newer, SE_NEWER);
  else store<u32>(q, newer, RQ_OLDEST);
  if (newer != 0) store<u32>(newer, older, SE_OLDER);
  else store<u32>(q, older, RQ_NEWEST);
}

// @ts-ignore: decorator
@inline
export function listMoveToNewest(q: usize, t: u32): void {
  if (load<u32>(q, RQ_NEWEST) == t) return;
  listRemove(q, t);
  listAdd(q, t);
}

// ---- load tracking --------------------------------------------------------------------------------------
// In the place of PELT: two averages per run queue with PELT's half-life, brought up to date when what they average
// changes. Blocked time decays where the task ran; a migration moves no history. Neither is scaled by the frequency.

/** runnable_avg_yN_inv: 2^(-n/32) as Q32, n = 0…32 periods of 2^20 ns. */
const DECAY: usize = memory.data<u32>([
  0xffffffff, 0xfa83b2da, 0xf5257d14, 0xefe4b99b, 0xeac0c6e7, 0xe5b906e7, 0xe0ccdeeb, 0xdbfbb797, 0xd744fcca,
  0xd2a81d91, 0xce248c14, 0xc9b9bd86, 0xc5672a11, 0xc12c4cca, 0xbd08a39f, 0xb8fbaf47, 0xb504f333, 0xb123f581,
  0xad583eea, 0xa9a15ab4, 0xa5fed6a9, 0xa2704302, 0x9ef53260, 0x9b8d39b9, 0x9837f051, 0x94f4efa8, 0x91c3d373,
  0x8ea4398b, 0x8b95c1e3, 0x88980e80, 0x85aac367, 0x82cd8698, 0x80000000,
]);

/** What is left after `ns`, as Q24 so that 2^18 runnable tasks times it still fit; linear between periods (6·10⁻⁵). */
// @ts-ignore: decorator
@inline
function decayQ24(ns: u64): u64 {
  const periods = ns >> 20;
  if (periods >= 24 * 32) return 0;
  const at = DECAY + (((periods as usize) & 31) << 2);
  // The table stops short of 1 by 2^-32; half-lives shall be exact.
  const high = (load<u32>(at) as u64) + 1;
  const low = load<u32>(at, 4) as u64;
  return (high - (((high - low) * ((ns >> 4) & 0xffff)) >> 16)) >> (8 + (periods >> 5));
}

// @ts-ignore: decorator
@inline
function decayed(old: u64, target: u64, y: u64): u64 {
  return (old * y + target * (((1 as u64) << 24) - y)) >> 24;
}

/** update_load_avg(): before the number of runnable entities, or whether one runs, changes. */
export function updateLoadAvg(q: usize): void {
  const since = now - load<u64>(q, RQ_PELT_TIME);
  if (since == 0) return;
  const y = decayQ24(since);
  const running: u64 = load<u32>(q, RQ_CURR) != 0 ? 1 << 30 : 0;
  const nr = (load<u32>(q, RQ_NR_RUNNING) as u64) << 20;
  store<u64>(q, now, RQ_PELT_TIME);
  store<u32>(q, decayed(load<u32>(q, RQ_UTIL_AVG), running, y) as u32, RQ_UTIL_AVG);
  store<u64>(q, decayed(load<u64>(q, RQ_RUNNABLE_AVG), nr, y), RQ_RUNNABLE_AVG);
}

/** cpu_util_cfs(): 1024 = busy with fair tasks all the time. Call updateLoadAvg() first. */
// @ts-ignore: decorator
@inline
export function cpuUtil(q: usize): u64 {
  return (load<u32>(q, RQ_UTIL_AVG) as u64) >> 20;
}

/** cpu_runnable(): 1024 per runnable task. Call updateLoadAvg() first. */
// @ts-ignore: decorator
@inline
export function cpuRunnable(q: usize): u64 {
  return load<u64>(q, RQ_RUNNABLE_AVG) >> 10;
}

/** cpu_load(): weight of the runnable tasks at this moment, where the kernel averages it over time. */
// @ts-ignore: decorator
@inline
export function cpuLoad(q: usize): u64 {
  return load<u64>(q, RQ_LOAD);
}
