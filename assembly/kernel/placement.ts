// Where a fair task goes when it wakes up or is forked: select_task_rq_fair() of kernel/sched/fair.c, 6.11.
//
// A wake-up chooses between the waker's and the previous CPU (wake_affine), then looks for an idle CPU in that CPU's LLC
// and nowhere else. A fork looks at the whole machine: idlest group, then idlest CPU, level by level.
//
// Simpler than 6.11: wake-ups are never WF_SYNC; what an interrupt or a timer wakes doesn't count in anybody's
// wakee_flips; per-CPU kernel threads, SMT, clusters and unequal capacities don't exist.

import { CPU_SHIFT, IDLE_MASK, ONLINE_MASK } from '../core/layout';
import { idleExitLatency } from '../machine/idle';
import { llcMask, nodeMask } from '../machine/topology';
import { now } from './events';
import {
  cpuLoad,
  cpuRq,
  RQ_IDLE_STAMP,
  SCALE,
  SE_FLIP_DECAY,
  SE_LAST_WAKEE,
  SE_WAKEE_FLIPS,
} from './fairrq';
import { taskLoad } from './group';
import { maskAddress, maskFirstAnd, maskNextAnd, maskTest, maskWeightAnd, nrWords } from './mask';
import {
  adjustNumaImbalance,
  BAL_NR_IDLE_SCAN,
  cpusShareCache,
  domainOf,
  domainSpan,
  GROUP_FULLY_BUSY,
  GROUP_HAS_SPARE,
  GROUP_IMBALANCED,
  GROUP_OVERLOADED,
  groupFirst,
  groupMask,
  groupStats,
  idleCpu,
  IMBALANCE_PCT,
  LEVEL_MC,
  LEVEL_NUMA,
  llcFirst,
  llcWeight,
  nextGroup,
  SD_IMB_NUMA_NR,
  setAvgLoad,
  SGS_AVG_LOAD,
  SGS_BYTES,
  SGS_IDLE_CPUS,
  SGS_NR_RUNNING,
  SGS_TYPE,
  SGS_UTIL,
  spanWeight,
} from './scheddomain';
import { TASK_MASK, TASK_RECENT_CPU } from './task';

const FLIP_DECAY_NS: u64 = 1000000000;

/** Allowed and online CPUs of the task being placed; local, idlest and working group. */
const candidates: usize = memory.data(64, 8);
const localStats: usize = memory.data(64, 8);
const idlestStats: usize = memory.data(64, 8);
const workStats: usize = memory.data(64, 8);

/**
 * CPU for a task that wakes up or is forked; always one it may run on. `wakerCpu` is the CPU whose current task wakes
 * it, -1 an interrupt or timer, which then happens on the previous CPU; `wakerTask` that task or 0.
 */
export function fairSelectCpu(t: u32, prevCpu: u32, wakerCpu: i32, wakerTask: u32, fork: bool): u32 {
  const mask = load<u32>(t, TASK_MASK);
  const allowed = maskAddress(mask);
  if (mask != 0) {
    const first = maskFirstAnd(allowed, ONLINE_MASK);
    if (first >= 0 && maskNextAnd(allowed, ONLINE_MASK, (first as u32) + 1) < 0) return first as u32;
  }
  const thisCpu = wakerCpu >= 0 ? (wakerCpu as u32) : prevCpu;
  let cpu: u32;
  if (fork) {
    store<u32>(t, prevCpu, TASK_RECENT_CPU);
    cpu = findIdlestCpu(t, thisCpu, prevCpu);
  } else {
    let target = prevCpu;
    if (wakerTask != 0) recordWakee(wakerTask, t);
    if (thisCpu != prevCpu && maskTest(allowed, thisCpu) && !wakeWide(wakerTask, t, thisCpu)) {
      target = wakeAffine(t, thisCpu, prevCpu);
    }
    cpu = selectIdleSibling(t, prevCpu, target, allowed);
  }
  if (maskTest(allowed, cpu) && maskTest(ONLINE_MASK, cpu)) return cpu;
  return selectFallback(cpu, allowed);
}

/** select_fallback_rq(): any allowed CPU of the same node, else any at all. */
function selectFallback(cpu: u32, allowed: usize): u32 {
  for (let w: u32 = 0; w < 64; w += 8) {
    store<u64>(candidates + w, load<u64>(allowed + w) & load<u64>(ONLINE_MASK + w));
  }
  let found = maskFirstAnd(candidates, nodeMask(cpu));
  if (found < 0) found = maskFirstAnd(candidates, ONLINE_MASK);
  return found < 0 ? cpu : (found as u32);
}

// ---- wake-up --------------------------------------------------------------------------------------------

/** record_wakee(): a task that keeps waking others than the last time collects flips, halved every second. */
function recordWakee(waker: u32, t: u32): void {
  if (now > load<u64>(waker, SE_FLIP_DECAY) + FLIP_DECAY_NS) {
    store<u32>(waker, load<u32>(waker, SE_WAKEE_FLIPS) >> 1, SE_WAKEE_FLIPS);
    store<u64>(waker, now, SE_FLIP_DECAY);
  }
  if (load<u32>(waker, SE_LAST_WAKEE) != t) {
    store<u32>(waker, t, SE_LAST_WAKEE);
    store<u32>(waker, load<u32>(waker, SE_WAKEE_FLIPS) + 1, SE_WAKEE_FLIPS);
  }
}

/** wake_wide(): one that wakes more partners than the LLC has CPUs shouldn't draw them all to itself. */
function wakeWide(waker: u32, t: u32, thisCpu: u32): bool {
  if (waker == 0) return false;
  const a = load<u32>(waker, SE_WAKEE_FLIPS);
  const b = load<u32>(t, SE_WAKEE_FLIPS);
  const master = max(a, b) as u64;
  const slave = min(a, b) as u64;
  const factor = llcWeight(thisCpu) as u64;
  return slave >= factor && master >= slave * factor;
}

/** wake_affine(): the waker's CPU or the previous one, by idleness, then by load. */
function wakeAffine(t: u32, thisCpu: u32, prevCpu: u32): u32 {
  // The waker's CPU is idle only if an interrupt wakes: then the task moves within its LLC at most.
  if (idleCpu(thisCpu) && cpusShareCache(thisCpu, prevCpu)) return idleCpu(prevCpu) ? prevCpu : thisCpu;
  if (idleCpu(prevCpu)) return prevCpu;
  // wake_affine_weight(). The load of the previous CPU is that of its runnable tasks: the sleeping t isn't part of it.
  const thisLoad = (cpuLoad(cpuRq(thisCpu)) + taskLoad(t, thisCpu)) * 100;
  const prevLoad = cpuLoad(cpuRq(prevCpu)) * (100 + (IMBALANCE_PCT - 100) / 2);
  return thisLoad < prevLoad ? thisCpu : prevCpu;
}

/** select_idle_sibling(): an idle CPU that shares the target's cache, else the target. */
function selectIdleSibling(t: u32, prev: u32, target: u32, allowed: usize): u32 {
  if (idleCpu(target) && maskTest(allowed, target)) return target;
  if (prev != target && cpusShareCache(prev, target) && idleCpu(prev) && maskTest(allowed, prev)) return prev;
  const recent = load<u32>(t, TASK_RECENT_CPU);
  store<u32>(t, prev, TASK_RECENT_CPU);
  if (
    recent != prev &&
    recent != target &&
    cpusShareCache(recent, target) &&
    idleCpu(recent) &&
    maskTest(allowed, recent)
  ) {
    return recent;
  }
  const found = selectIdleCpu(target, allowed);
  return found < 0 ? target : (found as u32);
}

/**
 * select_idle_cpu(): the first idle one among the next nr_idle_scan allowed CPUs of the LLC, from target + 1 on and
 * round (SIS_UTIL: the number shrinks as the LLC fills up, see updateIdleCpuScan()).
 */
function selectIdleCpu(target: u32, allowed: usize): i32 {
  const depth = load<u32>(llcFirst(target) << CPU_SHIFT, BAL_NR_IDLE_SCAN);
  if (depth == 0) return -1;
  const llc = llcMask(target);
  const begin = target + 1 < nrWords << 6 ? target + 1 : 0;
  const tail = (-1 as u64) << (begin & 63);
  let seen: u32 = 0;
  // The word that holds the beginning is visited twice: its upper part first, its lower part last.
  for (let i: u32 = 0; i <= nrWords; i++) {
    let w = (begin >> 6) + i;
    if (w >= nrWords) w -= nrWords;
    const at = w << 3;
    let bits = load<u64>(llc + at) & load<u64>(allowed + at) & load<u64>(ONLINE_MASK + at);
    if (i == 0) bits &= tail;
    else if (i == nrWords) bits &= ~tail;
    const idle = bits & load<u64>(IDLE_MASK + at);
    if (idle != 0) {
      const bit = ctz(idle);
      seen += popcnt(bits & (((1 as u64) << bit) - 1)) as u32;
      return seen < depth ? ((w << 6) as i32) + (bit as i32) : -1;
    }
    seen += popcnt(bits) as u32;
    if (seen >= depth) return -1;
  }
  return -1;
}

// ---- fork -----------------------------------------------------------------------------------------------

/** sched_balance_find_dst_cpu(): down the levels, in each the idlest group and in it the idlest CPU. */
function findIdlestCpu(t: u32, thisCpu: u32, prevCpu: u32): u32 {
  const allowed = maskAddress(load<u32>(t, TASK_MASK));
  for (let w: u32 = 0; w < 64; w += 8) {
    store<u64>(candidates + w, load<u64>(allowed + w) & load<u64>(ONLINE_MASK + w));
  }
  if (maskFirstAnd(candidates, candidates) < 0) return prevCpu;
  let cpu = thisCpu;
  for (let level: i32 = LEVEL_NUMA; level >= 0; level--) {
    if (spanWeight(level, cpu) == 0 || maskFirstAnd(domainSpan(level, cpu), candidates) < 0) continue;
    const group = findIdlestGroup(level, t, cpu);
    if (group >= 0) cpu = findIdlestGroupCpu(level, group as u32, cpu);
  }
  return cpu;
}

/** update_pick_idlest(): is the group in workStats idler than the one in idlestStats? */
function pickIdlest(): bool {
  const type = load<u32>(workStats, SGS_TYPE);
  const best = load<u32>(idlestStats, SGS_TYPE);
  if (type != best) return type < best;
  if (type == GROUP_IMBALANCED) return false;
  if (type == GROUP_HAS_SPARE) {
    const idle = load<u32>(workStats, SGS_IDLE_CPUS);
    const bestIdle = load<u32>(idlestStats, SGS_IDLE_CPUS);
    return idle != bestIdle ? idle > bestIdle : load<u64>(workStats, SGS_UTIL) < load<u64>(idlestStats, SGS_UTIL);
  }
  return load<u64>(workStats, SGS_AVG_LOAD) < load<u64>(idlestStats, SGS_AVG_LOAD);
}

function wakeupStats(sgs: usize, level: u32, first: u32): bool {
  if (!groupStats(sgs, level, first, candidates, true)) return false;
  const type = load<u32>(sgs, SGS_TYPE);
  if (type == GROUP_FULLY_BUSY || type == GROUP_OVERLOADED) setAvgLoad(sgs);
  return true;
}

/** find_idlest_group(): first CPU of the group to go to, -1 to stay in the one of `cpu`. */
function findIdlestGroup(level: u32, t: u32, cpu: u32): i32 {
  const local = groupFirst(level, cpu);
  const localAllowed = wakeupStats(localStats, level, local);
  store<u32>(idlestStats, GROUP_OVERLOADED, SGS_TYPE);
  store<u64>(idlestStats, u64.MAX_VALUE, SGS_AVG_LOAD);
  let idlest: i32 = -1;
  for (let g = nextGroup(level, local); g != local; g = nextGroup(level, g)) {
    if (wakeupStats(workStats, level, g) && pickIdlest()) {
      memory.copy(idlestStats, workStats, SGS_BYTES);
      idlest = g as i32;
    }
  }
  if (idlest < 0 || !localAllowed) return idlest;

  const type = load<u32>(localStats, SGS_TYPE);
  const idlestType = load<u32>(idlestStats, SGS_TYPE);
  if (type != idlestType) return type < idlestType ? -1 : idlest;
  if (type == GROUP_IMBALANCED) return -1;
  if (type == GROUP_HAS_SPARE) {
    const idle = load<u32>(localStats, SGS_IDLE_CPUS);
    const idlestIdle = load<u32>(idlestStats, SGS_IDLE_CPUS);
    if (level == LEVEL_NUMA) {
      // Near its parent, as long as the node is nearly empty.
      const here = maskWeightAnd(groupMask(level, cpu), candidates);
      const imbNuma = min(load<u32>(domainOf(level, cpu), SD_IMB_NUMA_NR), here);
      const imbalance = (idle > idlestIdle ? idle - idlestIdle : idlestIdle - idle) as u64;
      if (adjustNumaImbalance(imbalance, load<u32>(localStats, SGS_NR_RUNNING) + 1, imbNuma) == 0) return -1;
    }
    return idle >= idlestIdle ? -1 : idlest;
  }
  const here = load<u64>(localStats, SGS_AVG_LOAD);
  const there = load<u64>(idlestStats, SGS_AVG_LOAD);
  const margin = (SCALE * (IMBALANCE_PCT - 100)) / 100;
  if (level == LEVEL_NUMA && there + margin >= here) return -1;
  if (there >= here + margin || 100 * here <= IMBALANCE_PCT * there) return -1;
  return idlest;
}

/** find_idlest_group_cpu(): idle in the shallowest state, the latest idled of those; else the least loaded. */
function findIdlestGroupCpu(level: u32, group: u32, cpu: u32): u32 {
  if (level == LEVEL_MC) return group;
  const mask = groupMask(level, group);
  let idlest: i32 = -1;
  let minLatency: u64 = u64.MAX_VALUE;
  let latest: u64 = 0;
  let least = cpu;
  let minLoad: u64 = u64.MAX_VALUE;
  for (let i = maskFirstAnd(mask, candidates); i >= 0; i = maskNextAnd(mask, candidates, (i as u32) + 1)) {
    const q = cpuRq(i as u32);
    if (idleCpu(i as u32)) {
      const latency = idleExitLatency(i as u32, now);
      const stamp = load<u64>(q, RQ_IDLE_STAMP);
      if (latency < minLatency || (latency == minLatency && stamp > latest)) {
        minLatency = latency;
        latest = stamp;
        idlest = i;
      }
    } else if (idlest < 0 && cpuLoad(q) < minLoad) {
      minLoad = cpuLoad(q);
      least = i as u32;
    }
  }
  return idlest >= 0 ? (idlest as u32) : least;
}
