// cgroup bandwidth control (CONFIG_CFS_BANDWIDTH of kernel/sched/fair.c, 6.11): a cgroup may use `quota` of CPU time per
// `period`. CPUs take it in slices from the cgroup's pool; a run queue that finds the pool empty is throttled: its entity
// leaves the tree until the period's refill, or the slack of CPUs that went idle, pays its debt.
//
// CPU time is charged when the kernel charges it: at ticks and switches, so that a CPU may overdraw by a tick, which the
// next period pays. With exact slice expiry a CPU stops the moment its runtime is used up.

import { CLASS_EXT, DECISION_QUOTA, STATE_PREEMPTED, STATE_QUOTA, STATE_WAKING } from '../abi';
import { fail, FAIL_WHEEL } from '../core/failure';
import { CGROUP_SHIFT, CGROUPS, CPU_SHIFT } from '../core/layout';
import { deliver, DELIVERY_PERIOD, DELIVERY_SLACK } from '../workload/delivery';
import { CPU_CURR } from './cpu';
import { detailing, recordDetail } from './decisions';
import { now, resched } from './events';
import { isDelayed } from './delayed';
import { cpuRq, RQ_CURR, RQ_NR_ENTITIES, RQ_NR_RUNNING, RQ_OLDEST, SE_NEWER, SE_ON_RQ } from './fairrq';
import {
  CGROUP_PERIOD,
  CGROUP_QUOTA,
  GROUP_CGROUP,
  GROUP_CPU,
  GROUP_NEXT,
  GROUP_PARENT,
  GROUP_RUNTIME,
  GROUP_THROTTLED,
  groupOf,
  groupRq,
  holds,
  joinAbove,
  leaveAbove,
  throttledOn,
} from './group';
import { JOB_STATE, jobState } from './job';
import { updateCurr } from './charge';
import { wakeIdleCpu } from './wakeup';
import { FLAG_MAIN, FLAG_WOKEN, TASK_CLASS, TASK_FLAGS, TASK_JOB } from './task';

const CGROUP_RUNTIME: usize = CGROUPS + 40;
const CGROUP_PERIOD_END: usize = CGROUPS + 48;
const CGROUP_PERIOD_ACTIVE: usize = CGROUPS + 56;
const CGROUP_IDLE: usize = CGROUPS + 60;
const CGROUP_THROTTLED: usize = CGROUPS + 64;
const CGROUP_THROTTLED_LAST: usize = CGROUPS + 68;
const CGROUP_SLACK_STARTED: usize = CGROUPS + 72;

/** min_cfs_rq_runtime: what a run queue that becomes empty keeps. */
const MIN_RUNTIME: i64 = 1000000;
/** cfs_bandwidth_slack_period, min_bandwidth_expiration */
const SLACK_PERIOD: u64 = 5000000;
const MIN_EXPIRATION: u64 = 2000000;

/** sched_cfs_bandwidth_slice() */
let slice: i64 = 5000000;
let exact: bool = false;

export function bandwidthInit(sliceNs: u64, exactExpiry: bool): void {
  slice = sliceNs as i64;
  exact = exactExpiry;
}

// @ts-ignore: decorator
@inline
function cgroupOf(g: u32): u32 {
  return load<u32>(g, GROUP_CGROUP) << CGROUP_SHIFT;
}

/** CPU time that group g may use before it asks its cgroup again, ns. */
// @ts-ignore: decorator
@inline
export function account(g: u32): u64 {
  if (!exact || load<u64>(cgroupOf(g), CGROUP_QUOTA) == 0) return u64.MAX_VALUE;
  const left = load<i64>(g, GROUP_RUNTIME);
  return left > 0 ? (left as u64) : u64.MAX_VALUE;
}

/** account_cfs_rq_runtime(): false if group g, which runs, has no runtime left and its cgroup neither. */
// @ts-ignore: decorator
@inline
export function accountCurrent(g: u32, delta: u64): bool {
  const r = cgroupOf(g);
  if (load<u64>(r, CGROUP_QUOTA) == 0) return true;
  const left = load<i64>(g, GROUP_RUNTIME) - (delta as i64);
  store<i64>(g, left, GROUP_RUNTIME);
  if (left > 0 || load<u32>(g, GROUP_THROTTLED) != 0) return true;
  return assign(g, r, slice);
}

/** __assign_cfs_rq_runtime(): fills g up to `target` from the pool. */
function assign(g: u32, r: u32, target: i64): bool {
  startPeriod(r);
  const left = load<i64>(g, GROUP_RUNTIME);
  const pool = load<u64>(r, CGROUP_RUNTIME) as i64;
  if (pool > 0) {
    const amount = min(pool, target - left);
    store<u64>(r, (pool - amount) as u64, CGROUP_RUNTIME);
    store<i64>(g, left + amount, GROUP_RUNTIME);
    store<u32>(r, 0, CGROUP_IDLE);
  }
  return load<i64>(g, GROUP_RUNTIME) > 0;
}

// ---- throttling -----------------------------------------------------------------------------------------

/** check_enqueue_throttle(): group g gets its first entity. */
export function checkEnqueueThrottle(g: u32, cpu: u32): void {
  const r = cgroupOf(g);
  if (load<u64>(r, CGROUP_QUOTA) == 0 || load<u32>(groupRq(g, cpu), RQ_CURR) != 0) return;
  if (load<u32>(g, GROUP_THROTTLED) != 0) return;
  accountCurrent(g, 0);
  if (load<i64>(g, GROUP_RUNTIME) <= 0) throttle(g, cpu);
}

/** check_cfs_rq_runtime() of the groups that the running task is in, before the next one is picked. */
export function checkRuntime(t: u32, cpu: u32): void {
  for (let g = groupOf(t, cpu); g != 0; g = load<u32>(g, GROUP_PARENT)) {
    if (load<u64>(cgroupOf(g), CGROUP_QUOTA) == 0 || load<u32>(groupRq(g, cpu), RQ_CURR) == 0) continue;
    if (load<i64>(g, GROUP_RUNTIME) <= 0 && load<u32>(g, GROUP_THROTTLED) == 0) throttle(g, cpu);
  }
}

/** throttle_cfs_rq() */
function throttle(g: u32, cpu: u32): void {
  const r = cgroupOf(g);
  if (assign(g, r, 1)) return;
  store<u32>(g, 1, GROUP_THROTTLED);
  store<u32>(g, 0, GROUP_NEXT);
  const last = load<u32>(r, CGROUP_THROTTLED_LAST);
  if (last != 0) store<u32>(last, g, GROUP_NEXT);
  else store<u32>(r, g, CGROUP_THROTTLED);
  store<u32>(r, g, CGROUP_THROTTLED_LAST);
  // One that gets its first entity isn't queued above yet (or delayed), and its tasks aren't counted there.
  if (load<u32>(g, SE_ON_RQ) != 0) {
    leaveAbove(g, cpu, true, isDelayed(g) ? 0 : (load<u32>(groupRq(g, cpu), RQ_NR_RUNNING) as i32), false);
  }
  noteJobs(g, cpu);
}

/** unthrottle_cfs_rq() */
function unthrottle(g: u32): void {
  const cpu = load<u32>(g, GROUP_CPU);
  const c = cpu << CPU_SHIFT;
  updateCurr(c);
  store<u32>(g, 0, GROUP_THROTTLED);
  if (load<u32>(groupRq(g, cpu), RQ_NR_ENTITIES) == 0) return;
  const runs = joinAbove(g, cpu, load<u32>(groupRq(g, cpu), RQ_NR_RUNNING) as i32);
  noteJobs(g, cpu);
  if (!runs) return;
  const curr = load<u32>(c, CPU_CURR);
  if (curr == 0) wakeIdleCpu(cpu);
  else if (load<u8>(curr, TASK_CLASS) == CLASS_EXT) resched(cpu);
}

/** The jobs whose tasks wait in group g wait for its quota, or no longer. */
function noteJobs(g: u32, cpu: u32): void {
  const curr = load<u32>(cpu << CPU_SHIFT, CPU_CURR);
  for (let t = load<u32>(cpuRq(cpu), RQ_OLDEST); t != 0; t = load<u32>(t, SE_NEWER)) {
    // The running one stops in schedule(), which then asks jobWaitState().
    if (t != curr && holds(g, t, cpu)) noteQuota(t, cpu);
  }
}

/** Puts the job of the waiting task t, if it has one, into the state that its cgroup's throttling means. */
export function noteQuota(t: u32, cpu: u32): void {
  if (detailing) recordDetail(DECISION_QUOTA, t, throttledOn(t, cpu) ? 1 : 0);
  const flags = load<u16>(t, TASK_FLAGS);
  if ((flags & FLAG_MAIN) == 0) return;
  const j = load<u32>(t, TASK_JOB);
  if (throttledOn(t, cpu)) jobState(j, STATE_QUOTA);
  else if (load<u32>(j, JOB_STATE) == STATE_QUOTA) jobState(j, (flags & FLAG_WOKEN) != 0 ? STATE_WAKING : STATE_PREEMPTED);
}

// ---- refill ---------------------------------------------------------------------------------------------

/** start_cfs_bandwidth(): the periods stay on the grid of the first one. */
function startPeriod(r: u32): void {
  if (load<u32>(r, CGROUP_PERIOD_ACTIVE) != 0) return;
  const period = load<u64>(r, CGROUP_PERIOD);
  const end = load<u64>(r, CGROUP_PERIOD_END);
  if (end == 0) store<u64>(r, load<u64>(r, CGROUP_QUOTA), CGROUP_RUNTIME);
  store<u32>(r, 1, CGROUP_PERIOD_ACTIVE);
  const next = end == 0 ? now + period : end > now ? end : end + ((now - end) / period + 1) * period;
  armPeriod(r, next);
}

function armPeriod(r: u32, at: u64): void {
  store<u64>(r, at, CGROUP_PERIOD_END);
  if (!deliver(at, DELIVERY_PERIOD, r)) fail(FAIL_WHEEL, 0, 0, 0);
}

/** do_sched_cfs_period_timer() of the cgroup at r: the pool is filled and the debts paid, in order of throttling. */
export function onPeriod(r: u32): void {
  store<u64>(r, load<u64>(r, CGROUP_QUOTA), CGROUP_RUNTIME);
  const throttled = load<u32>(r, CGROUP_THROTTLED) != 0;
  if (load<u32>(r, CGROUP_IDLE) != 0 && !throttled) {
    store<u32>(r, 0, CGROUP_PERIOD_ACTIVE);
    return;
  }
  armPeriod(r, now + load<u64>(r, CGROUP_PERIOD));
  if (!throttled) {
    store<u32>(r, 1, CGROUP_IDLE);
    return;
  }
  distribute(r);
  store<u32>(r, 0, CGROUP_IDLE);
}

/**
 * distribute_cfs_runtime(): each gets what makes its runtime positive, a single ns more than its debt; with exact expiry,
 * where nobody has a debt and a ns would only be lost, a slice, if it has tasks to use it.
 */
function distribute(r: u32): void {
  let g = load<u32>(r, CGROUP_THROTTLED);
  let kept: u32 = 0;
  let last: u32 = 0;
  store<u32>(r, 0, CGROUP_THROTTLED);
  store<u32>(r, 0, CGROUP_THROTTLED_LAST);
  while (g != 0) {
    const next = load<u32>(g, GROUP_NEXT);
    const pool = load<u64>(r, CGROUP_RUNTIME) as i64;
    const left = load<i64>(g, GROUP_RUNTIME);
    const needsNone = exact && load<u32>(groupRq(g, load<u32>(g, GROUP_CPU)), RQ_NR_ENTITIES) == 0;
    const amount = needsNone ? 0 : min(pool, (exact ? slice : 1) - left);
    store<u64>(r, (pool - amount) as u64, CGROUP_RUNTIME);
    store<i64>(g, left + amount, GROUP_RUNTIME);
    if (needsNone || left + amount > 0) {
      unthrottle(g);
    } else {
      store<u32>(g, 0, GROUP_NEXT);
      if (last != 0) store<u32>(last, g, GROUP_NEXT);
      else kept = g;
      last = g;
    }
    g = next;
  }
  // Those that stay come before those that were throttled anew meanwhile.
  if (last == 0) return;
  const anew = load<u32>(r, CGROUP_THROTTLED);
  store<u32>(last, anew, GROUP_NEXT);
  store<u32>(r, kept, CGROUP_THROTTLED);
  if (anew == 0) store<u32>(r, last, CGROUP_THROTTLED_LAST);
}

/** return_cfs_rq_runtime(): group g is empty; all but 1 ms goes back, and others may have it after the slack period. */
export function returnRuntime(g: u32, cpu: u32): void {
  const r = cgroupOf(g);
  if (load<u64>(r, CGROUP_QUOTA) == 0) return;
  const slack = load<i64>(g, GROUP_RUNTIME) - MIN_RUNTIME;
  if (slack <= 0) return;
  store<i64>(g, MIN_RUNTIME, GROUP_RUNTIME);
  const pool = load<u64>(r, CGROUP_RUNTIME) + (slack as u64);
  store<u64>(r, pool, CGROUP_RUNTIME);
  if (pool <= (slice as u64) || load<u32>(r, CGROUP_THROTTLED) == 0) return;
  if (load<u32>(r, CGROUP_SLACK_STARTED) != 0 || refreshWithin(r, SLACK_PERIOD + MIN_EXPIRATION)) return;
  store<u32>(r, 1, CGROUP_SLACK_STARTED);
  if (!deliver(now + SLACK_PERIOD, DELIVERY_SLACK, r)) fail(FAIL_WHEEL, 0, 0, 0);
}

/** runtime_refresh_within() */
function refreshWithin(r: u32, ns: u64): bool {
  return load<u64>(r, CGROUP_PERIOD_END) <= now + ns;
}

/** do_sched_cfs_slack_timer() */
export function onSlack(r: u32): void {
  store<u32>(r, 0, CGROUP_SLACK_STARTED);
  if (refreshWithin(r, MIN_EXPIRATION) || load<u64>(r, CGROUP_RUNTIME) <= (slice as u64)) return;
  distribute(r);
}
