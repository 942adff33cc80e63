// Shortest remaining processing time, by an oracle: the task with the least work left runs, and one that arrives with less
// than a running one has left takes its CPU (Schrage, 1968). A bound for other policies, not a policy for a kernel.
//
// Work left is what remains of the job's uncontended duration, waits included; of the current or next CPU burst for tasks
// whose job has none. Time on a CPU counts as it passed, at whatever frequency.

import { CLASS_EXT, P_SLICE_NS, STATE_IO, STATE_RUNNING } from '../abi';
import { param } from '../core/counters';
import { CPU_SHIFT, POLICY_STATE } from '../core/layout';
import { CPU_CURR } from '../kernel/cpu';
import { dsqCreate, dsqUser } from '../kernel/dsq';
import { now } from '../kernel/events';
import { dsqFirstAllowed, dsqInsertByVtime, dsqInsertDirect, dsqMoveToLocal, KICK_PREEMPT, kickCpu, pickIdleNear } from '../kernel/ext';
import { JOB_DURATION, JOB_STATE, JOB_STATE_SINCE, JOB_TIMES } from '../kernel/job';
import { maskAddress, maskTest, nrCpus } from '../kernel/mask';
import { burstLeft } from '../kernel/program';
import { FLAG_QUEUED, TASK_CLASS, TASK_CPU, TASK_FLAGS, TASK_JOB, TASK_MASK, TASK_SLICE, TASK_VTIME } from '../kernel/task';

/** u64 by CPU: when its task will have nothing left; 0 = it is about to leave. */
const ENDS: usize = POLICY_STATE;

let slice: u64 = 0;

export function init(): void {
  slice = param(P_SLICE_NS);
  dsqCreate(0);
  for (let cpu: u32 = 0; cpu < nrCpus; cpu++) store<u64>(cpu << 3, 0, ENDS);
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

export function selectCpu(t: u32, prev: u32): u32 {
  const cpu = pickIdleNear(t, prev);
  if (cpu < 0) return prev;
  store<u64>(t, workLeft(t), TASK_VTIME);
  dsqInsertDirect(t, cpu as u32, slice);
  return cpu as u32;
}

export function enqueue(t: u32): void {
  const left = workLeft(t);
  store<u64>(t, left, TASK_VTIME);
  dsqInsertByVtime(t, dsqUser(0), slice, left);
  preemptLongest(t, left);
}

/** The CPU whose task has most left gives it up if that is more than `left`. */
function preemptLongest(t: u32, left: u64): void {
  const allowed = maskAddress(load<u32>(t, TASK_MASK));
  let victim: i32 = -1;
  let latest = now + left;
  for (let cpu: u32 = 0; cpu < nrCpus; cpu++) {
    const ends = load<u64>(cpu << 3, ENDS);
    if (ends <= latest || !maskTest(allowed, cpu)) continue;
    const curr = load<u32>(cpu << CPU_SHIFT, CPU_CURR);
    if (curr == 0 || curr == t || load<u8>(curr, TASK_CLASS) != CLASS_EXT) continue;
    victim = cpu;
    latest = ends;
  }
  if (victim < 0) return;
  store<u64>((victim as u32) << 3, 0, ENDS);
  kickCpu(victim as u32, KICK_PREEMPT);
}

export function dispatch(cpu: u32, prev: u32): void {
  const first = dsqFirstAllowed(dsqUser(0), cpu);
  if (prev != 0 && (load<u16>(prev, TASK_FLAGS) & FLAG_QUEUED) != 0) {
    const left = workLeft(prev);
    if (first == 0 || left <= load<u64>(first, TASK_VTIME)) {
      store<u64>(prev, slice, TASK_SLICE);
      store<u64>(cpu << 3, now + left, ENDS);
      return;
    }
  }
  if (first != 0) dsqMoveToLocal(dsqUser(0));
}

export function running(t: u32): void {
  store<u64>(load<u32>(t, TASK_CPU) << 3, now + load<u64>(t, TASK_VTIME), ENDS);
}
