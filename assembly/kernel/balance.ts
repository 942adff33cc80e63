// Load balancing of the fair class: one balancing of one level (sched_balance_rq(), formerly load_balance(), of
// kernel/sched/fair.c, 6.11). It pulls towards one CPU: busiest group of the level, busiest queue of the group, then its
// least recently run tasks, as far as affinity, cache heat and the computed imbalance allow. It sees fair tasks only; a
// CPU is idle if it is idle to every class. rebalance.ts says when this happens.
//
// Simpler than 6.11:
//   * load is the weight of the runnable tasks at the moment of the decision, not an average over time;
//   * a task's utilisation is taken as an equal share of its queue's;
//   * tasks move one by one, where the kernel first takes off all and then puts on all;
//   * active balancing happens inside the busy CPU's schedule(), not in a stopper thread.

import { P_MIGRATION_COST_NS } from '../abi';
import { param } from '../core/counters';
import { CPU_SHIFT, ONLINE_MASK, OVERLOADED_MASK, SCRATCH_MASK } from '../core/layout';
import {
  dstCpu,
  envBegin,
  envMoved,
  envSetDst,
  findBusiestGroup,
  findBusiestQueue,
  idle,
  imbalance,
  level,
  MIGRATE_LOAD,
  MIGRATE_TASK,
  MIGRATE_UTIL,
  migrationType,
  NEWLY_IDLE,
  NOT_IDLE,
} from './busiest';
import { CPU_CURR } from './cpu';
import { isDelayed } from './delayed';
import { grouping, runningTask, taskLoad, throttledOn } from './group';
import { now, resched } from './events';
import { fairDequeue, fairEnqueue, fairPutPrev, fairSetNext, fairWakeupPreempt } from './fair';
import {
  cpuRq,
  cpuUtil,
  listMoveToNewest,
  RQ_NR_RUNNING,
  RQ_OLDEST,
  RQ_PUSH_CPU,
  SE_NEWER,
  SE_ON_RQ,
} from './fairrq';
import { maskAddress, maskClear, maskFirst, maskFirstAnd, maskNextAnd, maskTest } from './mask';
import { updateCurr } from './charge';
import { taskMove, wakeIdleCpu } from './wakeup';
import {
  domainOf,
  domainSpan,
  groupFirst,
  groupMask,
  idleCpu,
  LEVEL_MC,
  LEVEL_NUMA,
  LEVEL_PKG,
  LEVELS,
  SD_BALANCE_INTERVAL,
  SD_IMBALANCE,
  SD_NR_FAILED,
  SD_SPAN_WEIGHT,
  spanWeight,
} from './scheddomain';
import { TASK_EXEC_START, TASK_MASK } from './task';

/** sysctl_sched_nr_migrate */
const NR_MIGRATE: u32 = 32;
/** ms */
const MAX_PINNED_INTERVAL: u32 = 512;

/** CPU that tasks are taken from. */
let srcCpu: u32 = 0;
/** No task of srcCpu may run on the destination; some may not; another CPU of its group where one may, -1 = none. */
let allPinned: bool = false;
let somePinned: bool = false;
let newDstCpu: i32 = -1;
/** Tasks looked at on srcCpu. */
let loop: u32 = 0;
/** False: another CPU of the group balances this level and those above. */
export let continueBalancing: bool = true;

// ---- moving tasks ---------------------------------------------------------------------------------------

/** Moves a waiting task of srcCpu to `dst`: detach_task(), attach_task(). */
function migrate(t: u32, src: u32, dst: u32, newlyIdle: bool): void {
  updateCurr(dst << CPU_SHIFT);
  fairDequeue(t, src, false);
  taskMove(t, dst);
  fairEnqueue(t, dst, false, false);
  // A CPU that becomes idle is about to pick anyway.
  if (newlyIdle) return;
  if (load<u32>(dst << CPU_SHIFT, CPU_CURR) == 0) wakeIdleCpu(dst);
  else fairWakeupPreempt(dst, t);
}

/** can_migrate_task() */
function canMigrate(t: u32): bool {
  const allowed = maskAddress(load<u32>(t, TASK_MASK));
  if (!maskTest(allowed, dstCpu)) {
    somePinned = true;
    if (idle == NEWLY_IDLE || newDstCpu >= 0 || level == LEVEL_MC) return false;
    const group = groupMask(level, dstCpu);
    for (let i = maskFirstAnd(group, SCRATCH_MASK); i >= 0; i = maskNextAnd(group, SCRATCH_MASK, (i as u32) + 1)) {
      if (maskTest(allowed, i as u32)) {
        newDstCpu = i;
        break;
      }
    }
    return false;
  }
  allPinned = false;
  if (runningTask(srcCpu) == t) return false;
  if (grouping && (throttledOn(t, srcCpu) || throttledOn(t, dstCpu))) return false;
  return !taskHot(t) || load<u32>(domainOf(level, dstCpu), SD_NR_FAILED) > cacheNiceTries();
}

/** task_hot() */
// @ts-ignore: decorator
@inline
function taskHot(t: u32): bool {
  return now - load<u64>(t, TASK_EXEC_START) < param(P_MIGRATION_COST_NS);
}

/** sd->cache_nice_tries */
// @ts-ignore: decorator
@inline
function cacheNiceTries(): u32 {
  return level == LEVEL_NUMA ? 2 : 1;
}

/** detach_tasks() and attach_tasks(): takes the least recently run first; returns how many moved. */
function detachTasks(): u32 {
  const q = cpuRq(srcCpu);
  const failed = min(load<u32>(domainOf(level, dstCpu), SD_NR_FAILED), 63) as u64;
  const loopMax = min(NR_MIGRATE, load<u32>(q, RQ_NR_RUNNING));
  updateCurr(srcCpu << CPU_SHIFT);
  let moved: u32 = 0;
  while (imbalance != 0) {
    const nr = load<u32>(q, RQ_NR_RUNNING);
    if (nr == 0 || (idle != NOT_IDLE && nr <= 1)) break;
    if (++loop > loopMax) break;
    const t = load<u32>(q, RQ_OLDEST);
    let share: u64 = 1;
    if (migrationType == MIGRATE_LOAD) share = taskLoad(t, srcCpu);
    else if (migrationType == MIGRATE_UTIL) share = cpuUtil(q) / (nr as u64);
    if (!canMigrate(t) || (migrationType != MIGRATE_TASK && share >> failed > imbalance)) {
      listMoveToNewest(q, t);
      continue;
    }
    migrate(t, srcCpu, dstCpu, idle == NEWLY_IDLE);
    moved++;
    // With a preemptible kernel newidle balancing stops after the first.
    if (idle == NEWLY_IDLE) break;
    envMoved(share);
  }
  return moved;
}

// ---- one balancing --------------------------------------------------------------------------------------

/** should_we_balance(): one CPU of a group does it for all: the first idle one, else the first. */
function shouldWeBalance(): bool {
  if (!maskTest(SCRATCH_MASK, dstCpu)) return false;
  if (idle == NEWLY_IDLE) return load<u32>(cpuRq(dstCpu), RQ_NR_RUNNING) == 0;
  if (level == LEVEL_MC) return true;
  const mask = groupMask(level, dstCpu);
  for (let i = maskFirstAnd(mask, SCRATCH_MASK); i >= 0; i = maskNextAnd(mask, SCRATCH_MASK, (i as u32) + 1)) {
    if (idleCpu(i as u32)) return (i as u32) == dstCpu;
  }
  return maskFirstAnd(mask, SCRATCH_MASK) == (dstCpu as i32);
}

/** The next level above that exists for the CPU, LEVELS if none. */
function parentLevel(cpu: u32): u32 {
  let above = level + 1;
  while (above < LEVELS && spanWeight(above, cpu) == 0) above++;
  return above;
}

function setGroupImbalance(cpu: u32, value: u32): void {
  const above = parentLevel(cpu);
  if (above < LEVELS) store<u32>(domainOf(above, groupFirst(above, cpu)), value, SD_IMBALANCE);
}

/** sched_balance_rq(): returns the number of tasks pulled to `cpu` or, if they may not run there, its group. */
export function loadBalance(cpu: u32, atLevel: u32, cpuIdle: u32): u32 {
  envBegin(cpu, atLevel, cpuIdle);
  continueBalancing = true;
  allPinned = false;
  const sd = domainOf(level, cpu);
  // An LLC without waiting tasks has nothing for a CPU that becomes idle: balanced, whatever the statistics say.
  if (level == LEVEL_MC && idle == NEWLY_IDLE && maskFirstAnd(OVERLOADED_MASK, SCRATCH_MASK) < 0) {
    return balanced(sd, cpu);
  }
  let moved: u32 = 0;
  while (true) {
    if (!shouldWeBalance()) {
      continueBalancing = false;
      return balanced(sd, cpu);
    }
    if (!findBusiestGroup()) return balanced(sd, cpu);
    const queue = findBusiestQueue();
    if (queue < 0) return balanced(sd, cpu);
    srcCpu = queue as u32;
    if (load<u32>(cpuRq(srcCpu), RQ_NR_RUNNING) <= 1) break;
    allPinned = true;
    somePinned = false;
    for (;;) {
      newDstCpu = -1;
      loop = 0;
      moved += detachTasks();
      // Tasks that may not run here, but on another CPU of the group, go there.
      if (newDstCpu < 0 || imbalance == 0) break;
      maskClear(SCRATCH_MASK, dstCpu);
      envSetDst(newDstCpu as u32);
    }
    if (somePinned && imbalance != 0) setGroupImbalance(cpu, 1);
    if (!allPinned) break;
    maskClear(SCRATCH_MASK, srcCpu);
    if (!othersLeft(cpu)) return pinned(sd);
    envSetDst(cpu);
  }
  if (moved != 0) {
    store<u32>(sd, 0, SD_NR_FAILED);
  } else {
    if (idle != NEWLY_IDLE) store<u32>(sd, load<u32>(sd, SD_NR_FAILED) + 1, SD_NR_FAILED);
    if (needActiveBalance(sd)) {
      const curr = runningTask(srcCpu);
      if (curr == 0 || !maskTest(maskAddress(load<u32>(curr, TASK_MASK)), cpu)) return 0;
      if (load<u32>(cpuRq(srcCpu), RQ_PUSH_CPU) == 0) {
        store<u32>(cpuRq(srcCpu), cpu + 1, RQ_PUSH_CPU);
        resched(srcCpu);
      }
    }
  }
  store<u32>(sd, load<u32>(sd, SD_SPAN_WEIGHT), SD_BALANCE_INTERVAL);
  return moved;
}

/** Are there CPUs left outside the local group to pull from? */
function othersLeft(cpu: u32): bool {
  for (let i = maskFirst(SCRATCH_MASK); i >= 0; i = maskNextAnd(SCRATCH_MASK, SCRATCH_MASK, (i as u32) + 1)) {
    if (groupFirst(level, i as u32) != groupFirst(level, cpu)) return true;
  }
  return false;
}

/** out_balanced */
function balanced(sd: usize, cpu: u32): u32 {
  if (!allPinned) setGroupImbalance(cpu, 0);
  return pinned(sd);
}

/** out_all_pinned: the longer it stays balanced the less often it is looked at. */
function pinned(sd: usize): u32 {
  store<u32>(sd, 0, SD_NR_FAILED);
  if (idle == NEWLY_IDLE) return 0;
  const interval = load<u32>(sd, SD_BALANCE_INTERVAL);
  const longest = load<u32>(sd, SD_SPAN_WEIGHT) << 1;
  if ((allPinned && interval < MAX_PINNED_INTERVAL) || interval < longest) {
    store<u32>(sd, interval << 1, SD_BALANCE_INTERVAL);
  }
  return 0;
}

// ---- active balancing -----------------------------------------------------------------------------------

/** need_active_balance(): only the running task could be moved, and moving waiting ones has failed for long. */
function needActiveBalance(sd: usize): bool {
  return migrationType == MIGRATE_TASK && load<u32>(sd, SD_NR_FAILED) > cacheNiceTries() + 2;
}

/**
 * active_load_balance_cpu_stop(), done inside schedule() of the busy CPU in place of the stopper thread: the least
 * recently run task that may go there, which is the current one if it is alone, is pushed to the CPU that asked.
 */
export function pushCurrent(cpu: u32): void {
  const q = cpuRq(cpu);
  const target = load<u32>(q, RQ_PUSH_CPU) - 1;
  store<u32>(q, 0, RQ_PUSH_CPU);
  const curr = runningTask(cpu);
  if (curr == 0 || !maskTest(ONLINE_MASK, target)) return;
  fairPutPrev(cpu, curr);
  let t = load<u32>(q, RQ_OLDEST);
  while (t != 0 && !mayPush(t, cpu, target)) t = load<u32>(t, SE_NEWER);
  if (t != 0) {
    migrate(t, cpu, target, false);
    store<u32>(domainOf(commonLevel(cpu, target), target), 0, SD_NR_FAILED);
  }
  if (t != curr && load<u32>(curr, SE_ON_RQ) != 0 && !isDelayed(curr)) fairSetNext(cpu, curr);
}

function mayPush(t: u32, cpu: u32, target: u32): bool {
  return maskTest(maskAddress(load<u32>(t, TASK_MASK)), target) && !(grouping && throttledOn(t, cpu));
}

/** The lowest level whose span holds both CPUs. */
function commonLevel(a: u32, b: u32): u32 {
  if (maskTest(domainSpan(LEVEL_MC, a), b)) return LEVEL_MC;
  return maskTest(domainSpan(LEVEL_PKG, a), b) ? LEVEL_PKG : LEVEL_NUMA;
}
