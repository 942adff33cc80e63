// Load balancing of the fair class (kernel/sched/fair.c, 6.11): periodic, on becoming idle (newidle), and by one idle
// CPU for all idle ones (nohz). It sees fair tasks only; a CPU is idle if it is idle to every class.
//
// load_balance() pulls towards one CPU: busiest group of a level, busiest queue of the group, then its least recently
// run tasks, as far as affinity, cache heat and the computed imbalance allow.
//
// Simpler than 6.11:
//   * load is the weight of the runnable tasks at the moment of the decision, not an average over time;
//   * a task's utilisation is taken as an equal share of its queue's;
//   * the root domain counts as overloaded exactly while some CPU has two fair tasks, the kernel's flag lags behind;
//   * newidle balancing costs a fixed time per CPU looked at, compared with avg_idle but not charged to anybody;
//   * tasks move one by one, where the kernel first takes off all and then puts on all.

import {
  CPU_SHIFT,
  IDLE_MASK,
  MASK_BYTES,
  ONLINE_MASK,
  OVERLOADED_MASK,
  SCRATCH_MASK,
} from '../core/layout';
import { CPU_CURR } from './cpu';
import { CLASS_BALANCE, LANE_BALANCE, laneClear, laneSet, now, resched } from './events';
import { fairDequeue, fairEnqueue, fairPutPrev, fairSetNext, fairWakeupPreempt } from './fair';
import {
  cpuLoad,
  cpuRq,
  cpuUtil,
  listMoveToNewest,
  MIGRATION_COST_NS,
  RQ_AVG_IDLE,
  RQ_CURR,
  RQ_IDLE_STAMP,
  RQ_NR_RUNNING,
  RQ_OLDEST,
  RQ_PUSH_CPU,
  SCALE,
  SE_NEWER,
  SE_ON_RQ,
  weightOf,
} from './fairrq';
import { maskAddress, maskClear, maskFirst, maskFirstAnd, maskNextAnd, maskTest, nrCpus } from './mask';
import { taskMove, updateCurr, wakeIdleCpu } from './sched';
import {
  adjustNumaImbalance,
  BAL_NEXT_BALANCE,
  BAL_NOHZ_KICK,
  BAL_NR_IDLE_SCAN,
  domainOf,
  domainsInit,
  domainSpan,
  GROUP_FULLY_BUSY,
  GROUP_HAS_SPARE,
  GROUP_IMBALANCED,
  GROUP_OVERLOADED,
  groupAverages,
  groupBefore,
  groupCapacity,
  groupFirst,
  groupMask,
  groupStats,
  idleCpu,
  IMBALANCE_PCT,
  LEVEL_MC,
  LEVEL_NUMA,
  LEVEL_PKG,
  LEVELS,
  llcFirst,
  nextGroup,
  SD_BALANCE_INTERVAL,
  SD_IMB_NUMA_NR,
  SD_IMBALANCE,
  SD_LAST_BALANCE,
  SD_NR_FAILED,
  SD_SPAN_WEIGHT,
  setAvgLoad,
  SGS_AVG_LOAD,
  SGS_FIRST,
  SGS_IDLE_CPUS,
  SGS_LOAD,
  SGS_NR_RUNNING,
  SGS_TYPE,
  SGS_UTIL,
  SGS_WEIGHT,
  spanWeight,
} from './scheddomain';
import { TASK_EXEC_START, TASK_MASK } from './task';

/** enum cpu_idle_type */
const NOT_IDLE: u32 = 0;
const IDLE: u32 = 1;
const NEWLY_IDLE: u32 = 2;

/** enum migration_type: what `imbalance` counts. */
const MIGRATE_LOAD: u32 = 0;
const MIGRATE_UTIL: u32 = 1;
const MIGRATE_TASK: u32 = 2;

/** sysctl_sched_nr_migrate */
const NR_MIGRATE: u32 = 32;
/** sd->busy_factor */
const BUSY_FACTOR: u64 = 16;
/** ms */
const MAX_PINNED_INTERVAL: u32 = 512;
/** Modelled duration of newidle balancing at one level, ns: fixed part and part per CPU of the span (estimates). */
const NEWIDLE_COST_NS: u64 = 500;
const NEWIDLE_COST_PER_CPU_NS: u64 = 100;

/** Statistics of the destination's group, of the busiest other one, and of the one being looked at. */
const local: usize = memory.data(64, 8);
let busiest: usize = memory.data(64, 8);
let work: usize = memory.data(64, 8);

/** struct lb_env: one balancing at a time. Its CPUs (env->cpus) are SCRATCH_MASK. */
let dstCpu: u32 = 0;
let srcCpu: u32 = 0;
let level: u32 = 0;
let idle: u32 = 0;
let migrationType: u32 = 0;
let imbalance: u64 = 0;
let busiestFound: bool = false;
let totalLoad: u64 = 0;
let totalCapacity: u64 = 0;
let allPinned: bool = false;
let somePinned: bool = false;
let newDstCpu: i32 = -1;
let loop: u32 = 0;
let continueBalancing: bool = true;

let tickPeriodNs: u64 = 4000000;
/** Earliest time of the next nohz balancing (nohz.next_balance). */
let nohzNextBalance: u64 = 0;

export function balanceInit(tickNs: u64): void {
  tickPeriodNs = tickNs;
  nohzNextBalance = 0;
  domainsInit();
}

// ---- finding the busiest --------------------------------------------------------------------------------

/** update_sd_pick_busiest(): is the group in `work` busier than the one in `busiest`? */
function pickBusiest(): bool {
  if (load<u32>(work, SGS_NR_RUNNING) == 0) return false;
  if (!busiestFound) return true;
  const type = load<u32>(work, SGS_TYPE);
  const best = load<u32>(busiest, SGS_TYPE);
  if (type != best) return type > best;
  // Any fully busy or imbalanced group is as good as another: the last of the former, the first of the latter.
  if (type == GROUP_FULLY_BUSY) return true;
  if (type == GROUP_IMBALANCED) return false;
  if (type == GROUP_OVERLOADED) return load<u64>(work, SGS_AVG_LOAD) > load<u64>(busiest, SGS_AVG_LOAD);
  const idleCpus = load<u32>(work, SGS_IDLE_CPUS);
  const bestIdle = load<u32>(busiest, SGS_IDLE_CPUS);
  if (idleCpus != bestIdle) return idleCpus < bestIdle;
  return load<u32>(work, SGS_NR_RUNNING) > load<u32>(busiest, SGS_NR_RUNNING);
}

/** update_sd_lb_stats() */
function updateDomainStats(): void {
  const own = groupFirst(level, dstCpu);
  // Only periodic balancing of an LLC sets the depth of its scans.
  const scan = level == LEVEL_MC && idle != NEWLY_IDLE;
  busiestFound = false;
  totalLoad = 0;
  totalCapacity = 0;
  let util: u64 = 0;
  let g = own;
  do {
    const sgs = g == own ? local : work;
    if (groupStats(sgs, level, g, SCRATCH_MASK, scan)) {
      if (load<u32>(sgs, SGS_TYPE) == GROUP_OVERLOADED) setAvgLoad(sgs);
      totalLoad += load<u64>(sgs, SGS_LOAD);
      totalCapacity += groupCapacity(sgs);
      if (scan) util += load<u64>(sgs, SGS_UTIL);
      if (g != own && pickBusiest()) takeWork();
    }
    g = nextGroup(level, g);
  } while (g != own);
  if (scan) updateIdleCpuScan(util);
}

/**
 * What updateDomainStats() comes to for a CPU that becomes idle, at MC level. Groups are CPUs, so the order of types
 * tells who can be the busiest: one of those with waiting tasks if it counts as overloaded; else the last fully busy
 * one of the ring; else, all having spare capacity, the first of the longest queues.
 */
function updateLlcStats(): void {
  busiestFound = false;
  groupStats(local, level, dstCpu, SCRATCH_MASK, false);
  let longest: i32 = -1;
  let most: u32 = 1;
  let i = ringNext(OVERLOADED_MASK, dstCpu);
  while (i >= 0) {
    const nr = load<u32>(cpuRq(i as u32), RQ_NR_RUNNING);
    if (nr > most) {
      most = nr;
      longest = i;
    }
    groupStats(work, level, i as u32, SCRATCH_MASK, false);
    if (load<u32>(work, SGS_TYPE) == GROUP_OVERLOADED) {
      setAvgLoad(work);
      if (pickBusiest()) takeWork();
    }
    i = ringNext(OVERLOADED_MASK, i as u32);
  }
  if (busiestFound) return;
  const end = dstCpu;
  let cpu = groupBefore(end);
  while (cpu != end) {
    const running = load<u32>(cpuRq(cpu), RQ_NR_RUNNING) != 0;
    if (running && groupStats(work, level, cpu, SCRATCH_MASK, false) && load<u32>(work, SGS_TYPE) == GROUP_FULLY_BUSY) {
      takeWork();
      return;
    }
    cpu = groupBefore(cpu);
  }
  if (longest < 0) return;
  groupStats(work, level, longest as u32, SCRATCH_MASK, false);
  takeWork();
}

// @ts-ignore: decorator
@inline
function takeWork(): void {
  const better = work;
  work = busiest;
  busiest = better;
  busiestFound = true;
}

/** The next CPU of the mask and of SCRATCH_MASK after `cpu` in the ring that begins at dstCpu, -1 at its end. */
function ringNext(mask: usize, cpu: u32): i32 {
  let next = maskNextAnd(mask, SCRATCH_MASK, cpu + 1);
  if (cpu < dstCpu) return next >= 0 && (next as u32) < dstCpu ? next : -1;
  if (next < 0) {
    next = maskFirstAnd(mask, SCRATCH_MASK);
    if (next >= 0 && (next as u32) >= dstCpu) next = -1;
  }
  return next;
}

/** update_idle_cpu_scan(): LLC size × (1 − (1.17 × utilisation)²), 0 from about 85 % on. */
function updateIdleCpuScan(util: u64): void {
  const size = spanWeight(LEVEL_MC, dstCpu) as u64;
  const x = util / size;
  const y = (x * x * IMBALANCE_PCT * IMBALANCE_PCT) / (10000 * SCALE);
  const scan = y >= SCALE ? 0 : ((SCALE - y) * size) / SCALE;
  store<u32>(llcFirst(dstCpu) << CPU_SHIFT, scan as u32, BAL_NR_IDLE_SCAN);
}

/** sibling_imbalance(): tasks by which the busiest group exceeds its share of both groups' tasks. */
function siblingImbalance(): u64 {
  const there = load<u32>(busiest, SGS_NR_RUNNING) as u64;
  const here = load<u32>(local, SGS_NR_RUNNING) as u64;
  if (idle == NOT_IDLE || there == 0) return 0;
  const cpusThere = load<u32>(busiest, SGS_WEIGHT) as u64;
  const cpusHere = load<u32>(local, SGS_WEIGHT) as u64;
  if (cpusThere == cpusHere) return there > here ? there - here : 0;
  const a = cpusHere * there;
  const b = cpusThere * here;
  const tasks = (((a > b ? a - b : 0) << 1) + cpusHere + cpusThere) / (cpusHere + cpusThere);
  return tasks <= 1 && here == 0 && there > 1 ? 2 : tasks;
}

/** Children of the PKG and NUMA levels prefer an even spread over siblings (SD_PREFER_SIBLING). */
// @ts-ignore: decorator
@inline
function preferSibling(): bool {
  return level != LEVEL_MC;
}

/** find_busiest_group(): false if the level is balanced; else `busiest`, `migrationType` and `imbalance` are set. */
function findBusiestGroup(): bool {
  imbalance = 0;
  if (level == LEVEL_MC && idle == NEWLY_IDLE) updateLlcStats();
  else updateDomainStats();
  if (!busiestFound) return false;
  const here = load<u32>(local, SGS_TYPE);
  const there = load<u32>(busiest, SGS_TYPE);
  if (there == GROUP_IMBALANCED) return calculateImbalance();
  if (here > there) return false;
  if (here == GROUP_OVERLOADED) {
    const localLoad = load<u64>(local, SGS_AVG_LOAD);
    const busiestLoad = load<u64>(busiest, SGS_AVG_LOAD);
    if (localLoad >= busiestLoad || localLoad >= averageLoad()) return false;
    if (100 * busiestLoad <= IMBALANCE_PCT * localLoad) return false;
  }
  if (preferSibling() && here == GROUP_HAS_SPARE && siblingImbalance() > 1) return calculateImbalance();
  if (there != GROUP_OVERLOADED) {
    if (idle == NOT_IDLE) return false;
    const localIdle = load<u32>(local, SGS_IDLE_CPUS);
    if (load<u32>(busiest, SGS_WEIGHT) > 1 && localIdle <= load<u32>(busiest, SGS_IDLE_CPUS) + 1) return false;
    if (load<u32>(busiest, SGS_NR_RUNNING) == 1) return false;
  }
  return calculateImbalance();
}

// @ts-ignore: decorator
@inline
function averageLoad(): u64 {
  return (totalLoad * SCALE) / totalCapacity;
}

/** calculate_imbalance(): true if something is to be moved. */
function calculateImbalance(): bool {
  const here = load<u32>(local, SGS_TYPE);
  const there = load<u32>(busiest, SGS_TYPE);
  migrationType = MIGRATE_TASK;
  if (there == GROUP_IMBALANCED) {
    imbalance = 1;
    return true;
  }
  if (here == GROUP_HAS_SPARE) {
    if (there > GROUP_FULLY_BUSY && level != LEVEL_MC) {
      // Fill the spare capacity; what that leaves behind is for the next time.
      groupAverages(local, level, SCRATCH_MASK);
      const capacity = groupCapacity(local);
      const util = load<u64>(local, SGS_UTIL);
      migrationType = MIGRATE_UTIL;
      imbalance = capacity > util ? capacity - util : 0;
      if (idle != NOT_IDLE && imbalance == 0) {
        migrationType = MIGRATE_TASK;
        imbalance = 1;
      }
      return imbalance != 0;
    }
    if (load<u32>(busiest, SGS_WEIGHT) == 1 || preferSibling()) {
      imbalance = siblingImbalance();
    } else {
      const localIdle = load<u32>(local, SGS_IDLE_CPUS);
      const busiestIdle = load<u32>(busiest, SGS_IDLE_CPUS);
      imbalance = localIdle > busiestIdle ? ((localIdle - busiestIdle) as u64) : 0;
    }
    if (level == LEVEL_NUMA) {
      const imbNuma = load<u32>(domainOf(level, dstCpu), SD_IMB_NUMA_NR);
      imbalance = adjustNumaImbalance(imbalance, load<u32>(local, SGS_NR_RUNNING) + 1, imbNuma);
    }
    imbalance >>= 1;
    return imbalance != 0;
  }
  const average = averageLoad();
  if (here < GROUP_OVERLOADED) {
    setAvgLoad(local);
    const localLoad = load<u64>(local, SGS_AVG_LOAD);
    if (localLoad >= load<u64>(busiest, SGS_AVG_LOAD) || localLoad >= average) return false;
  }
  migrationType = MIGRATE_LOAD;
  const busiestLoad = load<u64>(busiest, SGS_AVG_LOAD);
  const surplus = busiestLoad > average ? (busiestLoad - average) * groupCapacity(busiest) : 0;
  const room = (average - load<u64>(local, SGS_AVG_LOAD)) * groupCapacity(local);
  imbalance = min(surplus, room) / SCALE;
  return imbalance != 0;
}

/** find_busiest_queue(): the CPU of the busiest group to take from, -1 if none. */
function findBusiestQueue(): i32 {
  const first = load<u32>(busiest, SGS_FIRST);
  const mask = level == LEVEL_MC ? ONLINE_MASK : groupMask(level, first);
  let found: i32 = -1;
  let most: u64 = 0;
  for (let i = maskNextAnd(mask, SCRATCH_MASK, first); i >= 0; i = maskNextAnd(mask, SCRATCH_MASK, (i as u32) + 1)) {
    const q = cpuRq(i as u32);
    const nr = load<u32>(q, RQ_NR_RUNNING) as u64;
    let measure: u64 = 0;
    if (migrationType == MIGRATE_TASK) measure = nr;
    else if (migrationType == MIGRATE_UTIL) measure = nr > 1 ? cpuUtil(q) : 0;
    else if (nr > 1 || cpuLoad(q) <= imbalance) measure = cpuLoad(q);
    if (measure > most) {
      most = measure;
      found = i;
    }
    if (level == LEVEL_MC) break;
  }
  return found;
}

// ---- moving tasks ---------------------------------------------------------------------------------------

/** Moves a waiting task of srcCpu to `dst`: detach_task(), attach_task(). */
function migrate(t: u32, src: u32, dst: u32): void {
  updateCurr(dst << CPU_SHIFT);
  fairDequeue(t, src, false);
  taskMove(t, dst);
  fairEnqueue(t, dst, false, false);
  if (idle == NEWLY_IDLE) return;
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
  if (load<u32>(cpuRq(srcCpu), RQ_CURR) == t) return false;
  return !taskHot(t) || load<u32>(domainOf(level, dstCpu), SD_NR_FAILED) > cacheNiceTries();
}

/** task_hot(): ran less than half a millisecond ago. */
// @ts-ignore: decorator
@inline
function taskHot(t: u32): bool {
  return now - load<u64>(t, TASK_EXEC_START) < MIGRATION_COST_NS;
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
    if (migrationType == MIGRATE_LOAD) share = max(weightOf(t), 1);
    else if (migrationType == MIGRATE_UTIL) share = cpuUtil(q) / (nr as u64);
    if (!canMigrate(t) || (migrationType != MIGRATE_TASK && share >> failed > imbalance)) {
      listMoveToNewest(q, t);
      continue;
    }
    migrate(t, srcCpu, dstCpu);
    moved++;
    // With a preemptible kernel newidle balancing stops after the first.
    if (idle == NEWLY_IDLE) break;
    imbalance -= min(share, imbalance);
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

/** sched_balance_rq(), formerly load_balance(): returns the number of tasks pulled to `cpu`. */
function loadBalance(cpu: u32, atLevel: u32, cpuIdle: u32): u32 {
  level = atLevel;
  idle = cpuIdle;
  dstCpu = cpu;
  allPinned = false;
  const sd = domainOf(level, cpu);
  const span = domainSpan(level, cpu);
  for (let w: usize = 0; w < MASK_BYTES; w += 8) {
    store<u64>(SCRATCH_MASK + w, load<u64>(span + w) & load<u64>(ONLINE_MASK + w));
  }
  // An LLC without waiting tasks has nothing for a CPU that becomes idle: balanced, whatever the statistics say.
  if (level == LEVEL_MC && idle == NEWLY_IDLE && maskFirstAnd(OVERLOADED_MASK, SCRATCH_MASK) < 0) return balanced(sd, cpu);
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
      dstCpu = newDstCpu as u32;
    }
    if (somePinned && imbalance != 0) setGroupImbalance(cpu, 1);
    if (!allPinned) break;
    maskClear(SCRATCH_MASK, srcCpu);
    if (!othersLeft(cpu)) return pinned(sd);
    dstCpu = cpu;
  }
  if (moved != 0) {
    store<u32>(sd, 0, SD_NR_FAILED);
  } else {
    if (idle != NEWLY_IDLE) store<u32>(sd, load<u32>(sd, SD_NR_FAILED) + 1, SD_NR_FAILED);
    if (needActiveBalance(sd)) {
      const curr = load<u32>(cpuRq(srcCpu), RQ_CURR);
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
  const curr = load<u32>(q, RQ_CURR);
  if (curr == 0 || !maskTest(ONLINE_MASK, target)) return;
  fairPutPrev(cpu, curr);
  let t = load<u32>(q, RQ_OLDEST);
  while (t != 0 && !maskTest(maskAddress(load<u32>(t, TASK_MASK)), target)) t = load<u32>(t, SE_NEWER);
  if (t != 0) {
    idle = IDLE;
    migrate(t, cpu, target);
    store<u32>(domainOf(commonLevel(cpu, target), target), 0, SD_NR_FAILED);
  }
  if (t != curr && load<u32>(curr, SE_ON_RQ) != 0) fairSetNext(cpu, curr);
}

/** The lowest level whose span holds both CPUs. */
function commonLevel(a: u32, b: u32): u32 {
  return maskTest(domainSpan(LEVEL_MC, a), b) ? LEVEL_MC : maskTest(domainSpan(LEVEL_PKG, a), b) ? LEVEL_PKG : LEVEL_NUMA;
}

// ---- when to balance ------------------------------------------------------------------------------------

/** get_sd_balance_interval(), ns: whole ticks, one less when busy, so that the levels don't beat. */
function balanceInterval(sd: usize, busy: bool): u64 {
  let ms = load<u32>(sd, SD_BALANCE_INTERVAL) as u64;
  if (busy) ms *= BUSY_FACTOR;
  let ticks = (ms * 1000000 + tickPeriodNs - 1) / tickPeriodNs;
  if (busy) ticks--;
  // update_max_interval(): HZ × CPUs / 10 ticks.
  const most = max(((nrCpus as u64) * 100000000) / tickPeriodNs, 1);
  return min(max(ticks, 1), most) * tickPeriodNs;
}

/** sched_balance_domains(): every level that is due. */
function rebalanceDomains(cpu: u32, cpuIdle: u32): void {
  const c = cpu << CPU_SHIFT;
  let busy = cpuIdle == NOT_IDLE;
  let next: u64 = u64.MAX_VALUE;
  continueBalancing = true;
  for (let l: u32 = 0; l < LEVELS && continueBalancing; l++) {
    if (spanWeight(l, cpu) == 0) continue;
    const sd = domainOf(l, cpu);
    if (now >= load<u64>(sd, SD_LAST_BALANCE) + balanceInterval(sd, busy)) {
      if (loadBalance(cpu, l, busy ? NOT_IDLE : IDLE) != 0) busy = !idleCpu(cpu);
      store<u64>(sd, now, SD_LAST_BALANCE);
    }
    next = min(next, load<u64>(sd, SD_LAST_BALANCE) + balanceInterval(sd, busy));
  }
  if (next != u64.MAX_VALUE) store<u64>(c, next, BAL_NEXT_BALANCE);
}

/** run_rebalance_domains(): handler of the BALANCE event of a CPU. */
export function fairBalance(cpu: u32): void {
  const c = cpu << CPU_SHIFT;
  laneClear(c, LANE_BALANCE);
  const isIdle = idleCpu(cpu);
  if (load<u32>(c, BAL_NOHZ_KICK) != 0) {
    store<u32>(c, 0, BAL_NOHZ_KICK);
    if (isIdle) {
      nohzIdleBalance(cpu);
      return;
    }
  }
  rebalanceDomains(cpu, isIdle ? IDLE : NOT_IDLE);
}

/** nohz_idle_balance(): `cpu` balances for all idle CPUs, itself last, until it has got something to do. */
function nohzIdleBalance(cpu: u32): void {
  let next: u64 = u64.MAX_VALUE;
  for (let n: u32 = 1; n <= nrCpus; n++) {
    const other = cpu + n < nrCpus ? cpu + n : cpu + n - nrCpus;
    if (!idleCpu(other)) continue;
    if (!idleCpu(cpu)) return;
    const c = other << CPU_SHIFT;
    if (now >= load<u64>(c, BAL_NEXT_BALANCE)) rebalanceDomains(other, IDLE);
    next = min(next, load<u64>(c, BAL_NEXT_BALANCE));
  }
  if (next != u64.MAX_VALUE) nohzNextBalance = next;
}

/** sched_balance_trigger(), at the tick of a CPU that is not idle. */
export function triggerLoadBalance(cpu: u32): void {
  const c = cpu << CPU_SHIFT;
  if (nrCpus == 1) return;
  if (now >= load<u64>(c, BAL_NEXT_BALANCE)) laneSet(c, LANE_BALANCE, CLASS_BALANCE, now);
  nohzBalancerKick(cpu);
}

/** nohz_balancer_kick(): with two fair tasks here, or another busy CPU in the LLC, an idle CPU should have a look. */
function nohzBalancerKick(cpu: u32): void {
  if (now < nohzNextBalance) return;
  const ilb = maskFirst(IDLE_MASK);
  if (ilb < 0) return;
  if (load<u32>(cpuRq(cpu), RQ_NR_RUNNING) < 2 && !busyNeighbour(cpu)) return;
  nohzNextBalance = now + tickPeriodNs;
  const c = (ilb as u32) << CPU_SHIFT;
  store<u32>(c, 1, BAL_NOHZ_KICK);
  laneSet(c, LANE_BALANCE, CLASS_BALANCE, now);
}

function busyNeighbour(cpu: u32): bool {
  const llc = domainSpan(LEVEL_MC, cpu);
  for (let w: usize = 0; w < MASK_BYTES; w += 8) {
    let busy = load<u64>(llc + w) & load<u64>(ONLINE_MASK + w) & ~load<u64>(IDLE_MASK + w);
    if (((cpu >> 6) << 3) as usize == w) busy &= ~((1 as u64) << (cpu & 63));
    if (busy != 0) return true;
  }
  return false;
}

/**
 * sched_balance_newidle(): the CPU has run out of fair tasks. Returns the number of tasks pulled, at most 1: only if
 * some CPU has a waiting task and the CPU usually stays idle for longer than the search takes.
 */
export function fairNewidle(cpu: u32): u32 {
  const q = cpuRq(cpu);
  store<u64>(q, now, RQ_IDLE_STAMP);
  if (!maskTest(ONLINE_MASK, cpu)) return 0;
  const avgIdle = load<u32>(q, RQ_AVG_IDLE) as u64;
  const overloaded = maskFirst(OVERLOADED_MASK) >= 0;
  let cost: u64 = 0;
  let next = now + 1000000000;
  let pulled: u32 = 0;
  for (let l: u32 = 0; l < LEVELS; l++) {
    const weight = spanWeight(l, cpu) as u64;
    if (weight == 0) continue;
    const sd = domainOf(l, cpu);
    next = min(next, load<u64>(sd, SD_LAST_BALANCE) + balanceInterval(sd, false));
    if (!overloaded) break;
    cost += NEWIDLE_COST_NS + NEWIDLE_COST_PER_CPU_NS * weight;
    if (avgIdle < cost) break;
    pulled = loadBalance(cpu, l, NEWLY_IDLE);
    if (pulled != 0 || load<u32>(q, RQ_NR_RUNNING) != 0) break;
  }
  const c = cpu << CPU_SHIFT;
  if (next < load<u64>(c, BAL_NEXT_BALANCE)) store<u64>(c, next, BAL_NEXT_BALANCE);
  if (pulled != 0) store<u64>(q, 0, RQ_IDLE_STAMP);
  return pulled;
}
