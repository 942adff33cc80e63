// Which group and which CPU of a level have most to give: find_busiest_group() and find_busiest_queue() of
// kernel/sched/fair.c, 6.11, and the balancing environment they work in.

import { CPU_SHIFT, MASK_BYTES, ONLINE_MASK, OVERLOADED_MASK, SCRATCH_MASK } from '../core/layout';
import { cpuLoad, cpuRq, cpuUtil, RQ_NR_RUNNING, SCALE } from './fairrq';
import { maskFirstAnd, maskNextAnd } from './mask';
import {
  adjustNumaImbalance,
  BAL_NR_IDLE_SCAN,
  domainOf,
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
  IMBALANCE_PCT,
  LEVEL_MC,
  LEVEL_NUMA,
  llcFirst,
  nextGroup,
  SD_IMB_NUMA_NR,
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

/** enum cpu_idle_type */
export const NOT_IDLE: u32 = 0;
export const IDLE: u32 = 1;
export const NEWLY_IDLE: u32 = 2;

/** enum migration_type: what `imbalance` counts. */
export const MIGRATE_LOAD: u32 = 0;
export const MIGRATE_UTIL: u32 = 1;
export const MIGRATE_TASK: u32 = 2;

/** struct lb_env: one balancing at a time. Its CPUs (env->cpus) are SCRATCH_MASK. */
export let dstCpu: u32 = 0;
export let level: u32 = 0;
export let idle: u32 = 0;
export let migrationType: u32 = 0;
export let imbalance: u64 = 0;

/** Statistics of the destination's group, of the busiest other one, and of the one being looked at. */
const local: usize = memory.data(64, 8);
let busiest: usize = memory.data(64, 8);
let work: usize = memory.data(64, 8);
let busiestFound: bool = false;
let totalLoad: u64 = 0;
let totalCapacity: u64 = 0;

/** Begins a balancing of `cpu` at a level, among the online CPUs of its span. */
export function envBegin(cpu: u32, atLevel: u32, cpuIdle: u32): void {
  dstCpu = cpu;
  level = atLevel;
  idle = cpuIdle;
  const span = domainSpan(level, cpu);
  for (let w: usize = 0; w < MASK_BYTES; w += 8) {
    store<u64>(SCRATCH_MASK + w, load<u64>(span + w) & load<u64>(ONLINE_MASK + w));
  }
}

/** Tasks go to another CPU of the group from now on. */
export function envSetDst(cpu: u32): void {
  dstCpu = cpu;
}

/** `amount` of the imbalance was moved. */
export function envMoved(amount: u64): void {
  imbalance -= min(amount, imbalance);
}

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
export function findBusiestGroup(): bool {
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
export function findBusiestQueue(): i32 {
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
