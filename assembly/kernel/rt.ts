// The realtime class (kernel/sched/rt.c): static priorities, first in first out within one, or round robin in slices of
// 100 ms. It is above the fair class, and what keeps a realtime hog from starving the others depends on the kernel:
//
//   6.11   throttling: at most 950 ms per second and CPU, whether or not others want the rest
//   6.12   a fair server: fair tasks that have got nothing for 950 ms get 50 ms
//   7.3    the same, and an ext server: 50 ms for ext tasks
//
// Simpler: throttling counts per CPU on one grid of seconds; a server's period begins when it finds its class starved.
//
// Per CPU, 64 B at RT_CPUS:
//
//     0  u32 first      highest priority; the running one stays in the list
//     4  u32 nr
//     8  u64 rt_time    CPU time used in this second
//    16  u64 second     number of the second that rt_time belongs to
//    24  u64 fair: due, ns (0 = not armed)    32  i64 fair: CPU time left while it serves
//    40  u64 ext: due                         48  i64 ext: CPU time left

import { CLASS_EXT, CLASS_REALTIME, KERNEL_6_12, KERNEL_7_3, P_KERNEL } from '../abi';
import { param } from '../core/counters';
import { fail, FAIL_WHEEL } from '../core/failure';
import { CPU_SHIFT, MAX_CPUS, ONLINE_MASK, RT_CPUS, RT_SHIFT } from '../core/layout';
import { deliver, DELIVERY_SERVER, DELIVERY_UNTHROTTLE } from '../workload/delivery';
import { CPU_CURR } from './cpu';
import { now, resched } from './events';
import { maskAddress, maskFirstAnd, maskNextAnd, maskTest, nrCpus } from './mask';
import { TASK_CLASS, TASK_CLASS_STATE, TASK_CPU, TASK_MASK, TASK_NEXT, TASK_PREV, TASK_SLICE } from './task';
import { taskMove, wakeIdleCpu } from './wakeup';

const RT_FIRST: usize = RT_CPUS + 0;
const RT_NR: usize = RT_CPUS + 4;
const RT_TIME: usize = RT_CPUS + 8;
const RT_SECOND: usize = RT_CPUS + 16;
const SERVER_DUE: usize = RT_CPUS + 24;
const SERVER_LEFT: usize = RT_CPUS + 32;
/** From the fair server's fields to the ext server's. */
const EXT_SERVER: u32 = 16;

/** u32 priority (1 to 99, the higher the sooner), u32 1 = round robin */
const RT_PRIORITY: usize = TASK_CLASS_STATE + 0;
const RT_ROUND_ROBIN: usize = TASK_CLASS_STATE + 4;

const PERIOD_NS: u64 = 1000000000;
/** sysctl_sched_rt_runtime */
const RUNTIME_NS: u64 = 950000000;
/** Runtime of a server. */
const SERVER_NS: u64 = 50000000;
/** RR_TIMESLICE */
const ROUND_ROBIN_NS: u64 = 100000000;

/** Realtime tasks alive. */
export let rtTasks: u32 = 0;
let throttling: bool = true;
let fairServer: bool = false;
let extServer: bool = false;

export function rtInit(): void {
  const kernel = param(P_KERNEL);
  rtTasks = 0;
  throttling = kernel < KERNEL_6_12;
  fairServer = kernel >= KERNEL_6_12;
  extServer = kernel >= KERNEL_7_3;
  memory.fill(RT_CPUS, 0, MAX_CPUS << RT_SHIFT);
}

/** `attributes`: priority | round robin << 8. */
export function rtEnable(t: u32, attributes: u32): void {
  rtTasks++;
  store<u32>(t, attributes & 0xff, RT_PRIORITY);
  store<u32>(t, attributes >> 8, RT_ROUND_ROBIN);
  store<u64>(t, ROUND_ROBIN_NS, TASK_SLICE);
}

export function rtAttributes(t: u32): u32 {
  return load<u32>(t, RT_PRIORITY) | (load<u32>(t, RT_ROUND_ROBIN) << 8);
}

export function rtExit(): void {
  rtTasks--;
}

// @ts-ignore: decorator
@inline
function priorityOf(t: u32): u32 {
  return t != 0 && load<u8>(t, TASK_CLASS) == CLASS_REALTIME ? load<u32>(t, RT_PRIORITY) : 0;
}

/** Behind its equals, before all lower ones. */
function insert(t: u32, cpu: u32): void {
  const r = cpu << RT_SHIFT;
  const priority = load<u32>(t, RT_PRIORITY);
  let before: u32 = 0;
  let next = load<u32>(r, RT_FIRST);
  while (next != 0 && load<u32>(next, RT_PRIORITY) >= priority) {
    before = next;
    next = load<u32>(next, TASK_NEXT);
  }
  store<u32>(t, next, TASK_NEXT);
  store<u32>(t, before, TASK_PREV);
  if (before != 0) store<u32>(before, t, TASK_NEXT);
  else store<u32>(r, t, RT_FIRST);
  if (next != 0) store<u32>(next, t, TASK_PREV);
  store<u32>(r, load<u32>(r, RT_NR) + 1, RT_NR);
}

function remove(t: u32, cpu: u32): void {
  const r = cpu << RT_SHIFT;
  const next = load<u32>(t, TASK_NEXT);
  const before = load<u32>(t, TASK_PREV);
  if (before != 0) store<u32>(before, next, TASK_NEXT);
  else store<u32>(r, next, RT_FIRST);
  if (next != 0) store<u32>(next, before, TASK_PREV);
  store<u32>(r, load<u32>(r, RT_NR) - 1, RT_NR);
}

/** select_task_rq_rt(), find_lowest_rq(): the previous CPU unless a task of its priority or above runs there. */
export function rtSelectCpu(t: u32, prev: u32): u32 {
  const mask = maskAddress(load<u32>(t, TASK_MASK));
  const mine = load<u32>(t, RT_PRIORITY);
  const usable = maskTest(mask, prev) && maskTest(ONLINE_MASK, prev);
  if (usable && priorityOf(load<u32>(prev << CPU_SHIFT, CPU_CURR)) < mine) return prev;
  let best: i32 = -1;
  let least: u32 = mine;
  for (let i = maskFirstAnd(mask, ONLINE_MASK); i >= 0; i = maskNextAnd(mask, ONLINE_MASK, (i as u32) + 1)) {
    const curr = load<u32>((i as u32) << CPU_SHIFT, CPU_CURR);
    if (curr == 0) return i as u32;
    const there = priorityOf(curr);
    if (there < least) {
      least = there;
      best = i;
    }
  }
  if (best >= 0) return best as u32;
  return usable ? prev : (maskFirstAnd(mask, ONLINE_MASK) as u32);
}

export function rtEnqueue(t: u32, cpu: u32): void {
  store<u32>(t, cpu, TASK_CPU);
  insert(t, cpu);
}

export function rtDequeue(t: u32, cpu: u32): void {
  remove(t, cpu);
}

/** check_preempt_curr_rt(): t, woken on a busy CPU, gets it if it is the higher one. */
export function rtWakeupPreempt(t: u32, cpu: u32): void {
  if (priorityOf(load<u32>(cpu << CPU_SHIFT, CPU_CURR)) < load<u32>(t, RT_PRIORITY)) resched(cpu);
}

/** pull_rt_task(): the highest waiting task of other CPUs that may run here and is above what is here. */
function pull(cpu: u32): void {
  let best: u32 = 0;
  let above = priorityOf(load<u32>(cpu << RT_SHIFT, RT_FIRST));
  for (let other: u32 = 0; other < nrCpus; other++) {
    if (other == cpu || load<u32>(other << RT_SHIFT, RT_NR) < 2) continue;
    const curr = load<u32>(other << CPU_SHIFT, CPU_CURR);
    for (let t = load<u32>(other << RT_SHIFT, RT_FIRST); t != 0; t = load<u32>(t, TASK_NEXT)) {
      if (t == curr || load<u32>(t, RT_PRIORITY) <= above) continue;
      if (!maskTest(maskAddress(load<u32>(t, TASK_MASK)), cpu)) continue;
      above = load<u32>(t, RT_PRIORITY);
      best = t;
    }
  }
  if (best == 0) return;
  remove(best, load<u32>(best, TASK_CPU));
  taskMove(best, cpu);
  insert(best, cpu);
}

/** The CPU has gone offline: its tasks go to where they would wake up. */
function evacuate(cpu: u32): void {
  for (let t = load<u32>(cpu << RT_SHIFT, RT_FIRST); t != 0; t = load<u32>(cpu << RT_SHIFT, RT_FIRST)) {
    rtMove(t, cpu, rtSelectCpu(t, cpu));
  }
}

export function rtMove(t: u32, from: u32, to: u32): void {
  remove(t, from);
  taskMove(t, to);
  rtEnqueue(t, to);
  if (load<u32>(to << CPU_SHIFT, CPU_CURR) == 0) wakeIdleCpu(to);
  else rtWakeupPreempt(t, to);
}

/** What of the class runs next, 0 if nothing, or if others have their turn. */
export function rtPick(cpu: u32): u32 {
  const r = cpu << RT_SHIFT;
  if (!maskTest(ONLINE_MASK, cpu)) evacuate(cpu);
  if (throttled(r)) return 0;
  if (maskTest(ONLINE_MASK, cpu)) pull(cpu);
  const t = load<u32>(r, RT_FIRST);
  if (t != 0) {
    if (fairServer) arm(r, cpu);
    if (extServer) arm(r + EXT_SERVER, cpu);
  } else {
    store<u64>(r, 0, SERVER_DUE);
    store<u64>(r + EXT_SERVER, 0, SERVER_DUE);
  }
  return t;
}

/** yield_task_rt(): behind its equals. */
export function rtYield(t: u32, cpu: u32): void {
  remove(t, cpu);
  insert(t, cpu);
  resched(cpu);
}

/** update_curr_rt() and task_tick_rt(): true if something else is to run. */
export function rtCharge(t: u32, cpu: u32, delta: u64): bool {
  const r = cpu << RT_SHIFT;
  let over = false;
  if (throttling) {
    throttled(r);
    const used = load<u64>(r, RT_TIME) + delta;
    store<u64>(r, used, RT_TIME);
    if (used >= RUNTIME_NS) {
      over = true;
      if (!deliver((load<u64>(r, RT_SECOND) + 1) * PERIOD_NS, DELIVERY_UNTHROTTLE, cpu)) fail(FAIL_WHEEL, 0, 0, 0);
    }
  }
  if (load<u32>(t, RT_ROUND_ROBIN) == 0) return over;
  const slice = load<u64>(t, TASK_SLICE);
  if (slice > delta) {
    store<u64>(t, slice - delta, TASK_SLICE);
    return over;
  }
  store<u64>(t, ROUND_ROBIN_NS, TASK_SLICE);
  remove(t, cpu);
  insert(t, cpu);
  return true;
}

/** CPU time after which rtCharge() says so, ns. */
export function rtSliceLeft(t: u32, cpu: u32): u64 {
  let left: u64 = load<u32>(t, RT_ROUND_ROBIN) != 0 ? load<u64>(t, TASK_SLICE) : u64.MAX_VALUE;
  if (throttling) left = min(left, RUNTIME_NS - min(load<u64>(cpu << RT_SHIFT, RT_TIME), RUNTIME_NS));
  return left;
}

/** Is the CPU's time of this second used up? A new second begins with none used, but for what was overdrawn. */
function throttled(r: u32): bool {
  if (!throttling) return false;
  const second = now / PERIOD_NS;
  const passed = second - load<u64>(r, RT_SECOND);
  if (passed != 0) {
    const used = load<u64>(r, RT_TIME);
    const paid = passed * RUNTIME_NS;
    store<u64>(r, used > paid ? used - paid : 0, RT_TIME);
    store<u64>(r, second, RT_SECOND);
  }
  return load<u64>(r, RT_TIME) >= RUNTIME_NS;
}

export function onUnthrottle(cpu: u32): void {
  if (load<u32>(cpu << RT_SHIFT, RT_FIRST) == 0) return;
  if (load<u32>(cpu << CPU_SHIFT, CPU_CURR) == 0) wakeIdleCpu(cpu);
  else resched(cpu);
}

// ---- servers --------------------------------------------------------------------------------------------

function arm(r: u32, cpu: u32): void {
  if (load<u64>(r, SERVER_DUE) != 0) return;
  armAt(r, cpu, now + PERIOD_NS - SERVER_NS);
}

function armAt(r: u32, cpu: u32, due: u64): void {
  store<u64>(r, due, SERVER_DUE);
  store<i64>(r, 0, SERVER_LEFT);
  const ext = (r & EXT_SERVER) != 0 ? 1 : 0;
  if (!deliver(due, DELIVERY_SERVER, cpu | (ext << 16))) fail(FAIL_WHEEL, 0, 0, 0);
}

/** A server is due: its class runs next, and for 50 ms. */
export function onServer(a: u32): void {
  const cpu = a & 0xffff;
  const r = (cpu << RT_SHIFT) + (a >> 16) * EXT_SERVER;
  if (load<u64>(r, SERVER_DUE) != now) return;
  store<i64>(r, SERVER_NS as i64, SERVER_LEFT);
  resched(cpu);
}

/** The class (ext or fair) is served before the realtime tasks of the CPU. */
export function rtServes(cpu: u32, ext: bool): bool {
  return load<i64>((cpu << RT_SHIFT) + (ext ? EXT_SERVER : 0), SERVER_LEFT) > 0;
}

/** The class has nothing to run: its server waits for the next period. */
export function rtServedNothing(cpu: u32, ext: bool): void {
  const r = (cpu << RT_SHIFT) + (ext ? EXT_SERVER : 0);
  store<i64>(r, 0, SERVER_LEFT);
  store<u64>(r, 0, SERVER_DUE);
}

/** A task of a served class has used `delta` ns; true if that was the rest of its server's time. */
export function rtServed(t: u32, cpu: u32, delta: u64): bool {
  const r = (cpu << RT_SHIFT) + (load<u8>(t, TASK_CLASS) == CLASS_EXT ? EXT_SERVER : 0);
  const left = load<i64>(r, SERVER_LEFT);
  if (left <= 0) return false;
  store<i64>(r, left - (delta as i64), SERVER_LEFT);
  if (left > (delta as i64)) return false;
  armAt(r, cpu, load<u64>(r, SERVER_DUE) + PERIOD_NS);
  return true;
}

export function rtServerLeft(t: u32, cpu: u32): u64 {
  const left = load<i64>((cpu << RT_SHIFT) + (load<u8>(t, TASK_CLASS) == CLASS_EXT ? EXT_SERVER : 0), SERVER_LEFT);
  return left > 0 ? (left as u64) : u64.MAX_VALUE;
}
