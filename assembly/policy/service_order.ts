// Service orders of queueing theory, by an oracle that knows every task's work: the task with the smallest key runs, and,
// where the order preempts, one that arrives with a smaller key than a running one has takes its CPU. Bounds for other
// policies, not policies for a kernel.
//
//   remaining   what is left of the job (SRPT; Schrage, 1968)
//   size        all of its work: preempting PSJF, else SJF
//   attained    the service it has had so far: least attained service (foreground-background)
//   weight      heaviest first: priority classes, first come first served within a class
//
// Work is that of the job's uncontended duration, waits included; of the current or next CPU burst for tasks whose job has
// none. Time on a CPU counts as it passed, at whatever frequency.

import { CLASS_EXT, ORDER_ATTAINED, ORDER_REMAINING, ORDER_SIZE, P_ORDER, P_POLICY, P_PREEMPT, P_SLICE_NS, POLICY_SHORTEST_REMAINING, STATE_IO, STATE_RUNNING } from '../abi';
import { param } from '../core/counters';
import { CPU_SHIFT, POLICY_STATE } from '../core/layout';
import { CPU_CURR } from '../kernel/cpu';
import { dsqCreate, dsqUser } from '../kernel/dsq';
import { now } from '../kernel/events';
import {
  dsqFirstAllowed,
  dsqInsertByVtime,
  dsqInsertDirect,
  dsqMoveToLocal,
  KICK_PREEMPT,
  kickCpu,
} from '../kernel/ext';
import { pickIdleNear } from '../kernel/ext_idle';
import { JOB_CPU_NS, JOB_DURATION, JOB_STATE, JOB_STATE_SINCE, JOB_TIMES } from '../kernel/job';
import { maskAddress, maskTest, nrCpus } from '../kernel/mask';
import { burstLeft } from '../kernel/lookahead';
import { FLAG_MAIN, FLAG_QUEUED, FLAG_WOKEN, TASK_CLASS, TASK_CPU, TASK_EXEC_START, TASK_FLAGS, TASK_JOB, TASK_MASK, TASK_SLICE, TASK_SUM_EXEC, TASK_VTIME, TASK_WEIGHT } from '../kernel/task';

/** u64 by CPU: remaining: when its task will have nothing left; else 1; 0 = it is about to leave. */
const HOLDS: usize = POLICY_STATE;
const MAX_WEIGHT: u64 = 88761;
/** Key of a weight: the arrivals are counted below. */
const WEIGHT_SHIFT: u64 = 40;

let slice: u64 = 0;
let order: u32 = 0;
let preempting: bool = false;
let arrivals: u64 = 0;

export function init(): void {
  slice = param(P_SLICE_NS);
  const alias = param(P_POLICY) == (POLICY_SHORTEST_REMAINING as u64);
  order = alias ? ORDER_REMAINING : (param(P_ORDER) as u32);
  preempting = alias || param(P_PREEMPT) != 0;
  arrivals = 0;
  dsqCreate(0);
  for (let cpu: u32 = 0; cpu < nrCpus; cpu++) store<u64>(cpu << 3, 0, HOLDS);
}

function workLeft(t: u32): u64 {
  const j = load<u32>(t, TASK_JOB);
  const duration = j != 0 ? load<u64>(j, JOB_DURATION) : 0;
  if (duration == 0) return burstLeft(t);
  let done = load<u64>(j + (STATE_RUNNING << 3), JOB_TIMES) + load<u64>(j + (STATE_IO << 3), JOB_TIMES);
  const state = load<u32>(j, JOB_STATE);
  if (state == STATE_RUNNING || state == STATE_IO) done += now - load<u64>(j, JOB_STATE_SINCE);
  return duration > done ? duration - done : 0;
}

function size(t: u32): u64 {
  const j = load<u32>(t, TASK_JOB);
  const duration = j != 0 ? load<u64>(j, JOB_DURATION) : 0;
  return duration != 0 ? duration : burstLeft(t);
}

function attained(t: u32): u64 {
  return (load<u16>(t, TASK_FLAGS) & FLAG_MAIN) != 0 ? load<u64>(load<u32>(t, TASK_JOB), JOB_CPU_NS) : load<u64>(t, TASK_SUM_EXEC);
}

/** Key of a task that becomes runnable, or of one that has lost its CPU. */
function keyOf(t: u32, woken: bool): u64 {
  if (order == ORDER_REMAINING) return workLeft(t);
  if (order == ORDER_ATTAINED) return attained(t);
  if (!woken) return load<u64>(t, TASK_VTIME);
  if (order == ORDER_SIZE) return size(t);
  return ((MAX_WEIGHT - (load<u32>(t, TASK_WEIGHT) as u64)) << WEIGHT_SHIFT) | ++arrivals;
}

/** Key, at this moment, of the task that runs on a CPU. */
function keyOfRunning(cpu: u32, curr: u32): u64 {
  if (order == ORDER_REMAINING) {
    const ends = load<u64>(cpu << 3, HOLDS);
    return ends > now ? ends - now : 0;
  }
  if (order == ORDER_ATTAINED) return attained(curr) + (now - load<u64>(curr, TASK_EXEC_START));
  return load<u64>(curr, TASK_VTIME);
}

export function selectCpu(t: u32, prev: u32): u32 {
  const cpu = pickIdleNear(t, prev);
  if (cpu < 0) return prev;
  store<u64>(t, keyOf(t, true), TASK_VTIME);
  dsqInsertDirect(t, cpu as u32, slice);
  return cpu as u32;
}

export function enqueue(t: u32): void {
  const key = keyOf(t, (load<u16>(t, TASK_FLAGS) & FLAG_WOKEN) != 0);
  store<u64>(t, key, TASK_VTIME);
  dsqInsertByVtime(t, dsqUser(0), slice, key);
  if (preempting) preemptLargest(t, key);
}

/** The CPU whose task has the largest key gives it up if that is above `key`. */
function preemptLargest(t: u32, key: u64): void {
  const allowed = maskAddress(load<u32>(t, TASK_MASK));
  let victim: i32 = -1;
  let largest = key;
  for (let cpu: u32 = 0; cpu < nrCpus; cpu++) {
    if (load<u64>(cpu << 3, HOLDS) == 0 || !maskTest(allowed, cpu)) continue;
    const curr = load<u32>(cpu << CPU_SHIFT, CPU_CURR);
    if (curr == 0 || curr == t || load<u8>(curr, TASK_CLASS) != CLASS_EXT) continue;
    const other = keyOfRunning(cpu, curr);
    if (other <= largest) continue;
    victim = cpu;
    largest = other;
  }
  if (victim < 0) return;
  store<u64>((victim as u32) << 3, 0, HOLDS);
  kickCpu(victim as u32, KICK_PREEMPT);
}

export function dispatch(cpu: u32, prev: u32): void {
  const first = dsqFirstAllowed(dsqUser(0), cpu);
  if (prev != 0 && (load<u16>(prev, TASK_FLAGS) & FLAG_QUEUED) != 0) {
    const key = keyOf(prev, false);
    if (first == 0 || !preempting || key <= load<u64>(first, TASK_VTIME)) {
      store<u64>(prev, slice, TASK_SLICE);
      store<u64>(cpu << 3, now + key + 1, HOLDS);
      return;
    }
  }
  if (first != 0) dsqMoveToLocal(dsqUser(0));
}

export function running(t: u32): void {
  const left = order == ORDER_REMAINING ? load<u64>(t, TASK_VTIME) : 0;
  store<u64>(load<u32>(t, TASK_CPU) << 3, now + left + 1, HOLDS);
}
