// When fair tasks are balanced (kernel/sched/fair.c, 6.11): periodically, by one idle CPU for all idle ones (nohz), and
// on becoming idle (newidle).
//
// Simpler than 6.11:
//   * the root domain counts as overloaded exactly while some CPU has two fair tasks, the kernel's flag lags behind;
//   * a CPU has all of its capacity for fair tasks, the kernel takes off what realtime tasks use (scale_rt_capacity());
//   * newidle balancing takes a fixed time per CPU looked at, which is compared with avg_idle but not charged to anybody.

import { BALANCE_PULLS, count, NEWIDLE_PULLS } from '../core/counters';
import { CPU_SHIFT, IDLE_MASK, MASK_BYTES, ONLINE_MASK, OVERLOADED_MASK } from '../core/layout';
import { continueBalancing, loadBalance } from './balance';
import { IDLE, NEWLY_IDLE, NOT_IDLE } from './busiest';
import { CLASS_BALANCE, LANE_BALANCE, laneClear, laneSet, now } from './events';
import { cpuRq, RQ_AVG_IDLE, RQ_IDLE_STAMP, RQ_NR_RUNNING } from './fairrq';
import { maskFirst, maskTest, nrCpus } from './mask';
import {
  BAL_NEXT_BALANCE,
  BAL_NOHZ_KICK,
  domainOf,
  domainsInit,
  domainSpan,
  idleCpu,
  LEVEL_MC,
  LEVELS,
  SD_BALANCE_INTERVAL,
  SD_LAST_BALANCE,
  spanWeight,
} from './scheddomain';

/** sd->busy_factor */
const BUSY_FACTOR: u64 = 16;
/** Modelled duration of newidle balancing at one level, ns: fixed part and part per CPU of the span (estimates). */
const NEWIDLE_COST_NS: u64 = 500;
const NEWIDLE_COST_PER_CPU_NS: u64 = 100;

let tickPeriodNs: u64 = 4000000;
/** Earliest time of the next nohz balancing (nohz.next_balance). */
let nohzNextBalance: u64 = 0;

export function balanceInit(tickNs: u64): void {
  tickPeriodNs = tickNs;
  nohzNextBalance = 0;
  domainsInit();
}

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
  for (let l: u32 = 0; l < LEVELS; l++) {
    if (spanWeight(l, cpu) == 0) continue;
    const sd = domainOf(l, cpu);
    const balanced = now >= load<u64>(sd, SD_LAST_BALANCE) + balanceInterval(sd, busy);
    if (balanced) {
      const pulled = loadBalance(cpu, l, busy ? NOT_IDLE : IDLE);
      if (pulled != 0) {
        count(BALANCE_PULLS, pulled);
        busy = !idleCpu(cpu);
      }
      store<u64>(sd, now, SD_LAST_BALANCE);
    }
    next = min(next, load<u64>(sd, SD_LAST_BALANCE) + balanceInterval(sd, busy));
    if (balanced && !continueBalancing) break;
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
  if (pulled != 0) {
    count(NEWIDLE_PULLS, pulled);
    store<u64>(q, 0, RQ_IDLE_STAMP);
  }
  return pulled;
}
