// The history of one job, for `vtime explain`: every interval it spent in a state, what was moved between states later,
// where its task was queued, and who was served before it. The job is chosen by its number among all arrivals; without
// one, each hook is a comparison with a handle that no job has.
//
// Records of 32 B in the arena:
//
//     0  u64 time       beginning of an interval, else the instant
//     8  u64 length     of an interval or of what is moved, ns
//    16  u32 kind       EXPLAIN_… of abi/
//    20  u32 a, u32 b, u32 c

import {
  CLASS_EXT,
  EXPLAIN_ADMITTED,
  EXPLAIN_BYTES,
  EXPLAIN_CONTROL_RUNS,
  EXPLAIN_ENTERED,
  EXPLAIN_INTERVAL,
  EXPLAIN_LEFT,
  EXPLAIN_QUEUED,
  EXPLAIN_SERVED,
  EXPLAIN_SHIFT,
  NONE,
  P_EXPLAIN_ORDINAL,
  STATE_CONTROL,
  STATE_LOCAL,
  STATE_PREEMPTED,
  STATE_QUEUED,
  STATE_WAKING,
} from '../abi';
import { arenaAllocate } from '../core/arena';
import { ARRIVED, counter, param } from '../core/counters';
import { CGROUP_DOMAIN, CPU_DOMAIN, CPU_SHIFT, DSQ_SHIFT, MAX_CPUS } from '../core/layout';
import { CPU_CURR } from './cpu';
import { now } from './events';
import { JOB_STATE, JOB_STATE_SINCE, JOB_STATS } from './job';
import { TASK_CGROUP, TASK_CLASS, TASK_CPU, TASK_DSQ, TASK_JOB, TASK_PID, TASK_STATS } from './task';

/** Intervals have the rest of the ring for themselves. */
const CAPACITY: u32 = 65536;
const RESERVED: u32 = 16384;

/** Number of the arrival, 0 = none; its job while it is in the system, the task that serves it. */
let wanted: u64 = 0;
export let explainedJob: u32 = NONE;
export let explainedTask: u32 = NONE;
let records: usize = 0;
let used: u32 = 0;

export function explainInit(): void {
  wanted = param(P_EXPLAIN_ORDINAL);
  explainedJob = NONE;
  explainedTask = NONE;
  used = 0;
  records = wanted != 0 ? arenaAllocate(CAPACITY * EXPLAIN_BYTES) : 0;
}

export function explainAddress(): usize {
  return records;
}

export function explainUsed(): u32 {
  return used;
}

/** The run ends: the last stretch of a job that is still in the system. */
export function explainFinish(): void {
  const j = explainedJob;
  if (j != NONE) explainInterval(load<u32>(j, JOB_STATE), load<u64>(j, JOB_STATE_SINCE));
}

function write(kind: u32, time: u64, length: u64, a: u32, b: u32, c: u32): void {
  if (used >= (kind >= EXPLAIN_SERVED ? CAPACITY - RESERVED : CAPACITY)) return;
  const r = records + used * EXPLAIN_BYTES;
  used++;
  store<u64>(r, time);
  store<u64>(r, length, 8);
  store<u32>(r, kind, 16);
  store<u32>(r, a, 20);
  store<u32>(r, b, 24);
  store<u32>(r, c, 28);
}

/** A job has arrived. */
// @ts-ignore: decorator
@inline
export function explainArrival(j: u32): void {
  if (wanted != 0 && counter(ARRIVED) == wanted) {
    explainedJob = j;
    write(EXPLAIN_ENTERED, now, 0, load<u32>(j, JOB_STATS), 0, 0);
  }
}

/** The job leaves; its slot may be another's from now on. */
export function explainLeave(): void {
  write(EXPLAIN_LEFT, now, 0, 0, 0, 0);
  explainedJob = NONE;
  explainedTask = NONE;
}

export function explainAttach(t: u32): void {
  explainedTask = t;
  const cpu = load<u32>(t, TASK_CPU);
  if (load<u32>(cpu << CPU_SHIFT, CPU_CURR) == t) explainControl(1);
}

/** The explained task gets or loses a CPU: told apart only where the job's own state doesn't. */
export function explainControl(runs: u32): void {
  if (load<u32>(explainedJob, JOB_STATE) == STATE_CONTROL) write(EXPLAIN_CONTROL_RUNS, now, 0, runs, 0, 0);
}

export function explainDetach(): void {
  explainControl(0);
  explainedTask = NONE;
}

/** The job was in `state` from `since` until now. */
export function explainInterval(state: u32, since: u64): void {
  if (now == since) return;
  const t = explainedTask;
  const known = t != NONE;
  write(
    EXPLAIN_INTERVAL,
    since,
    now - since,
    state,
    known ? load<u32>(t, TASK_CPU) : NONE,
    known ? (load<u8>(t, TASK_CLASS) as u32) : NONE,
  );
}

export function explainShift(from: u32, to: u32, amount: u64): void {
  if (amount != 0) write(EXPLAIN_SHIFT, now, amount, from, to, 0);
}

/** The job's task was put into DSQ d: a CPU's local one (its number), else NONE and the number of the user DSQ + 1 (0: the global one). */
export function explainQueued(d: u32): void {
  const number = d >> DSQ_SHIFT;
  if (number < MAX_CPUS) write(EXPLAIN_QUEUED, now, 0, number, 0, 0);
  else write(EXPLAIN_QUEUED, now, 0, NONE, number - MAX_CPUS, 0);
}

/** Task t begins to run on `cpu`: before the explained one, if that waits for this CPU. */
export function explainRun(t: u32, cpu: u32): void {
  const waiting = explainedTask;
  if (waiting == NONE) return;
  if (t == waiting) explainControl(1);
  if (t == waiting || load<u32>(t, TASK_JOB) == explainedJob) return;
  const state = load<u32>(explainedJob, JOB_STATE);
  if (state != STATE_WAKING && state != STATE_LOCAL && state != STATE_PREEMPTED) return;
  const dsq = load<u32>(waiting, TASK_DSQ);
  const isShared = (load<u8>(waiting, TASK_CLASS) as u32) == CLASS_EXT && dsq != NONE && dsq >> DSQ_SHIFT >= MAX_CPUS;
  if (isShared) {
    const domain = load<u32>(load<u32>(waiting, TASK_CGROUP) << 2, CGROUP_DOMAIN);
    if (domain != NONE && load<u32>(cpu << 2, CPU_DOMAIN) != domain) return;
  } else if (load<u32>(waiting, TASK_CPU) != cpu) {
    return;
  }
  write(EXPLAIN_SERVED, now, 0, load<u32>(t, TASK_STATS), cpu, load<u32>(t, TASK_PID));
}

/** The worker starts job j: before the explained one, if that waits in its queue. */
export function explainStart(j: u32): void {
  if (j == explainedJob || load<u32>(explainedJob, JOB_STATE) != STATE_QUEUED) return;
  write(EXPLAIN_ADMITTED, now, 0, load<u32>(j, JOB_STATS), 0, 0);
}
