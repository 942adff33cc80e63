// Scheduling domains (kernel/sched/topology.c) and the statistics of their groups that placement and balancing compare.
//
// Up to three levels above a CPU; one that adds nothing is absent there, as the kernel drops degenerate domains:
//
//     level  span               groups           exists if
//     MC     its LLC            single CPUs      the LLC has several CPUs
//     PKG    its node           LLCs             the node has several LLCs
//     NUMA   the whole machine  nodes            there are several nodes
//
// An LLC must not reach across nodes. Groups are walked in the kernel's ring order, the CPU's own group first; a group
// is named by its first online CPU.
//
// Per CPU, at CPU_BALANCE, three records of 64 B, then the CPU's own fields:
//
//     0  u64 last_balance
//     8  u32 balance_interval   ms
//    12  u32 nr_balance_failed
//    16  u32 span_weight        online CPUs of the span, 0 = the level is absent
//    20  u32 imbalance          of the group at this level that this CPU is the first of: pinned tasks spoil its balance
//    24  u32 imb_numa_nr        with up to so many tasks a node may be busier than another
//    28  u32 group_first        first CPU of the CPU's group at this level
//    32  u32 next_first         first CPU of the next group of the ring
//    36  u32 group_weight       online CPUs of the group
//    40  u32 group_before       first CPU of the group before
//   192  u64 next_balance
//   200  u32 nr_idle_scan       of the LLC that this CPU is the first of: CPUs a wake-up may look at
//   204  u32 nohz_kick          the next balancing is for all idle CPUs
//
// Statistics of a group (struct sg_lb_stats), 64 B: one for the local group, one for the best other, one to work in.
//
//     0  u64 group_load
//     8  u64 group_util
//    16  u64 group_runnable
//    24  u64 avg_load
//    32  u32 sum_nr_running
//    36  u32 idle_cpus
//    40  u32 group_weight
//    44  u32 group_type
//    48  u32 first

import { CPU_SHIFT, IDLE_MASK, ONLINE_MASK } from '../core/layout';
import { cpuLlc, llcMask, nodeMask } from '../machine/topology';
import { CPU_BALANCE } from './cpu';
import { cpuLoad, cpuRq, cpuRunnable, cpuUtil, RQ_NR_RUNNING, SCALE, updateLoadAvg } from './fairrq';
import { maskAddress, maskFirstAnd, maskNextAnd, maskTest, maskWeightAnd, nrCpus, nrWords } from './mask';

export const LEVEL_MC: u32 = 0;
export const LEVEL_PKG: u32 = 1;
export const LEVEL_NUMA: u32 = 2;
export const LEVELS: u32 = 3;

export const SD_SHIFT: u32 = 6;
export const SD_LAST_BALANCE: usize = 0;
export const SD_BALANCE_INTERVAL: usize = 8;
export const SD_NR_FAILED: usize = 12;
export const SD_SPAN_WEIGHT: usize = 16;
export const SD_IMBALANCE: usize = 20;
export const SD_IMB_NUMA_NR: usize = 24;
export const SD_GROUP_FIRST: usize = 28;
const SD_NEXT_FIRST: usize = 32;
const SD_GROUP_WEIGHT: usize = 36;
const SD_GROUP_BEFORE: usize = 40;
export const BAL_NEXT_BALANCE: usize = CPU_BALANCE + 192;
export const BAL_NR_IDLE_SCAN: usize = CPU_BALANCE + 200;
export const BAL_NOHZ_KICK: usize = CPU_BALANCE + 204;
const BALANCE_BYTES: usize = 256;

export const SGS_LOAD: usize = 0;
export const SGS_UTIL: usize = 8;
export const SGS_RUNNABLE: usize = 16;
export const SGS_AVG_LOAD: usize = 24;
export const SGS_NR_RUNNING: usize = 32;
export const SGS_IDLE_CPUS: usize = 36;
export const SGS_WEIGHT: usize = 40;
export const SGS_TYPE: usize = 44;
export const SGS_FIRST: usize = 48;
export const SGS_BYTES: usize = 64;

/** enum group_type, without the types of asymmetric and SMT machines. */
export const GROUP_HAS_SPARE: u32 = 0;
export const GROUP_FULLY_BUSY: u32 = 1;
export const GROUP_IMBALANCED: u32 = 2;
export const GROUP_OVERLOADED: u32 = 3;

/** sd->imbalance_pct of every level. */
export const IMBALANCE_PCT: u64 = 117;

/** Domain record of a level of a CPU. */
// @ts-ignore: decorator
@inline
export function domainOf(level: u32, cpu: u32): usize {
  return CPU_BALANCE + ((cpu as usize) << CPU_SHIFT) + ((level as usize) << SD_SHIFT);
}

// @ts-ignore: decorator
@inline
export function spanWeight(level: u32, cpu: u32): u32 {
  return load<u32>(domainOf(level, cpu), SD_SPAN_WEIGHT);
}

/** Mask of a level's span. */
// @ts-ignore: decorator
@inline
export function domainSpan(level: u32, cpu: u32): usize {
  return level == LEVEL_MC ? llcMask(cpu) : level == LEVEL_PKG ? nodeMask(cpu) : maskAddress(0);
}

/** Mask of the group that a CPU is in at PKG or NUMA level; at MC level a group is the CPU itself. */
// @ts-ignore: decorator
@inline
export function groupMask(level: u32, cpu: u32): usize {
  return level == LEVEL_PKG ? llcMask(cpu) : nodeMask(cpu);
}

// @ts-ignore: decorator
@inline
export function groupFirst(level: u32, cpu: u32): u32 {
  return load<u32>(domainOf(level, cpu), SD_GROUP_FIRST);
}

// @ts-ignore: decorator
@inline
export function cpusShareCache(a: u32, b: u32): bool {
  return cpuLlc(a) == cpuLlc(b);
}

/** available_idle_cpu() */
// @ts-ignore: decorator
@inline
export function idleCpu(cpu: u32): bool {
  return maskTest(IDLE_MASK, cpu);
}

/** First online CPU of the LLC: where what all its CPUs share is kept (struct sched_domain_shared). */
// @ts-ignore: decorator
@inline
export function llcFirst(cpu: u32): u32 {
  return load<u32>(domainOf(LEVEL_PKG, cpu), SD_GROUP_FIRST);
}

/** Online CPUs that share the CPU's cache. */
// @ts-ignore: decorator
@inline
export function llcWeight(cpu: u32): u32 {
  return load<u32>(domainOf(LEVEL_PKG, cpu), SD_GROUP_WEIGHT);
}

/** The next group of the ring after the one that the CPU is in, by its first CPU. */
// @ts-ignore: decorator
@inline
export function nextGroup(level: u32, cpu: u32): u32 {
  return load<u32>(domainOf(level, cpu), SD_NEXT_FIRST);
}

/** The CPU before in the ring of an LLC. */
// @ts-ignore: decorator
@inline
export function groupBefore(cpu: u32): u32 {
  return load<u32>(domainOf(LEVEL_MC, cpu), SD_GROUP_BEFORE);
}

/** Builds the domains of all CPUs; again when a CPU goes on- or offline. */
export function domainsInit(): void {
  const all = maskWeightAnd(maskAddress(0), ONLINE_MASK);
  for (let cpu: u32 = 0; cpu < nrCpus; cpu++) {
    memory.fill(domainOf(0, cpu), 0, BALANCE_BYTES);
    if (!maskTest(ONLINE_MASK, cpu)) continue;
    const llc = maskWeightAnd(llcMask(cpu), ONLINE_MASK);
    const node = maskWeightAnd(nodeMask(cpu), ONLINE_MASK);
    // build_sched_domains(): an eighth of a node with a single LLC, else one task per LLC.
    const imbNuma = max(1, node == llc ? node >> 3 : node / llc);
    domainInit(LEVEL_MC, cpu, llc, 1, imbNuma, cpu);
    domainInit(LEVEL_PKG, cpu, node, llc, imbNuma, maskFirstAnd(llcMask(cpu), ONLINE_MASK) as u32);
    domainInit(LEVEL_NUMA, cpu, all, node, imbNuma, maskFirstAnd(nodeMask(cpu), ONLINE_MASK) as u32);
    store<u32>(cpu << CPU_SHIFT, llc, BAL_NR_IDLE_SCAN);
  }
  for (let cpu: u32 = 0; cpu < nrCpus; cpu++) {
    if (!maskTest(ONLINE_MASK, cpu)) continue;
    for (let level: u32 = 0; level < LEVELS; level++) {
      const span = domainSpan(level, cpu);
      let next = cpu;
      do {
        let above = maskNextAnd(span, ONLINE_MASK, next + 1);
        if (above < 0) above = maskFirstAnd(span, ONLINE_MASK);
        next = above as u32;
      } while (next != cpu && groupFirst(level, next) != next);
      const first = groupFirst(level, next);
      store<u32>(domainOf(level, cpu), first, SD_NEXT_FIRST);
      store<u32>(domainOf(level, first), groupFirst(level, cpu), SD_GROUP_BEFORE);
    }
  }
}

/** A level whose only group is the whole span is absent. */
function domainInit(level: u32, cpu: u32, span: u32, group: u32, imbNuma: u32, first: u32): void {
  const sd = domainOf(level, cpu);
  const weight = span > group ? span : 0;
  store<u32>(sd, weight, SD_BALANCE_INTERVAL);
  store<u32>(sd, weight, SD_SPAN_WEIGHT);
  store<u32>(sd, imbNuma, SD_IMB_NUMA_NR);
  store<u32>(sd, first, SD_GROUP_FIRST);
  store<u32>(sd, group, SD_GROUP_WEIGHT);
}

/**
 * Sums up the CPUs of the group that begins at `first` and lie in `filter`; false if there are none. The averages over
 * time are added if the group's type depends on them, or if asked for. A CPU that is idle has no fair task.
 */
export function groupStats(sgs: usize, level: u32, first: u32, filter: usize, averages: bool): bool {
  let nr: u32 = 0;
  let idle: u32 = 0;
  let sum: u64 = 0;
  let weight: u32 = 0;
  store<u32>(sgs, 0, SGS_WEIGHT);
  store<u32>(sgs, first, SGS_FIRST);
  if (level == LEVEL_MC) {
    if (!maskTest(filter, first)) return false;
    const q = cpuRq(first);
    nr = load<u32>(q, RQ_NR_RUNNING);
    sum = cpuLoad(q);
    idle = nr == 0 && idleCpu(first) ? 1 : 0;
    weight = 1;
  } else {
    const mask = groupMask(level, first);
    let any: u64 = 0;
    for (let w: u32 = 0; w < nrWords; w++) {
      const cpus = load<u64>(mask + (w << 3)) & load<u64>(filter + (w << 3));
      const idleCpus = cpus & load<u64>(IDLE_MASK + (w << 3));
      any |= cpus;
      idle += popcnt(idleCpus) as u32;
      for (let busy = cpus & ~idleCpus; busy != 0; busy &= busy - 1) {
        const q = cpuRq((w << 6) + (ctz(busy) as u32));
        nr += load<u32>(q, RQ_NR_RUNNING);
        sum += cpuLoad(q);
      }
    }
    if (any == 0) return false;
    weight = load<u32>(domainOf(level, first), SD_GROUP_WEIGHT);
  }
  store<u32>(sgs, weight, SGS_WEIGHT);
  store<u32>(sgs, nr, SGS_NR_RUNNING);
  store<u32>(sgs, idle, SGS_IDLE_CPUS);
  store<u64>(sgs, sum, SGS_LOAD);
  store<u64>(sgs, 0, SGS_AVG_LOAD);
  if (averages || nr >= weight) groupAverages(sgs, level, filter);
  const imbalanced = load<u32>(domainOf(level, first), SD_IMBALANCE) != 0;
  store<u32>(sgs, groupClassify(sgs, nr, weight, imbalanced), SGS_TYPE);
  return true;
}

/** Utilisation and length of queues over the last tens of milliseconds. */
export function groupAverages(sgs: usize, level: u32, filter: usize): void {
  const first = load<u32>(sgs, SGS_FIRST);
  let util: u64 = 0;
  let runnable: u64 = 0;
  if (level == LEVEL_MC) {
    const q = cpuRq(first);
    updateLoadAvg(q);
    util = cpuUtil(q);
    runnable = cpuRunnable(q);
  } else {
    const mask = groupMask(level, first);
    for (let w: u32 = 0; w < nrWords; w++) {
      for (let cpus = load<u64>(mask + (w << 3)) & load<u64>(filter + (w << 3)); cpus != 0; cpus &= cpus - 1) {
        const q = cpuRq((w << 6) + (ctz(cpus) as u32));
        updateLoadAvg(q);
        util += cpuUtil(q);
        runnable += cpuRunnable(q);
      }
    }
  }
  store<u64>(sgs, util, SGS_UTIL);
  store<u64>(sgs, runnable, SGS_RUNNABLE);
}

// @ts-ignore: decorator
@inline
export function groupCapacity(sgs: usize): u64 {
  return (load<u32>(sgs, SGS_WEIGHT) as u64) * SCALE;
}

/** Weight of runnable tasks per full CPU; the kernel computes it only where a comparison needs it. */
// @ts-ignore: decorator
@inline
export function setAvgLoad(sgs: usize): void {
  store<u64>(sgs, (load<u64>(sgs, SGS_LOAD) * SCALE) / groupCapacity(sgs), SGS_AVG_LOAD);
}

/** group_classify(), with group_is_overloaded() and group_has_capacity(). */
// @ts-ignore: decorator
@inline
function groupClassify(sgs: usize, nr: u32, weight: u32, imbalanced: bool): u32 {
  if (nr < weight) return imbalanced ? GROUP_IMBALANCED : GROUP_HAS_SPARE;
  const capacity = (weight as u64) * SCALE;
  const util = load<u64>(sgs, SGS_UTIL) * IMBALANCE_PCT;
  const queuesAreLong = capacity * IMBALANCE_PCT < load<u64>(sgs, SGS_RUNNABLE) * 100;
  if (nr > weight && (queuesAreLong || capacity * 100 < util)) return GROUP_OVERLOADED;
  if (imbalanced) return GROUP_IMBALANCED;
  return queuesAreLong || capacity * 100 <= util ? GROUP_FULLY_BUSY : GROUP_HAS_SPARE;
}

/** adjust_numa_imbalance(): a pair of tasks that talk may stay together on a node that is nearly empty. */
export function adjustNumaImbalance(imbalance: u64, running: u32, imbNumaNr: u32): u64 {
  return running <= imbNumaNr && imbalance <= 2 ? 0 : imbalance;
}
