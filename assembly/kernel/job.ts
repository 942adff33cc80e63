// Jobs: what arrives, waits in queues and is served by tasks. A job keeps the time it has spent in each state, so that
// the parts sum to its latency exactly. Handle j = slot << JOB_SHIFT; slot 0 is never a job.
//
//     0  u32 next          link in the queue it waits in
//     4  u32 stage         STAGE_… of the control plane
//     8  u32 source        arrival source
//    12  u32 function      function index, NONE
//    16  u32 container     handle, 0 = none
//    20  u32 domain        assigned domain, NONE
//    24  u32 stats         statistics class
//    28  u32 cpus          CPUs it asks for
//    32  u64 arrival
//    40  u64 duration      uncontended run length, ns at the reference frequency
//    48  u64 started       call into the container
//    56  u64 finished      end of the function's code
//    64  u64 cpu_ns        CPU time used by its tasks
//    72  u64 state_since
//    80  u32 state         STATE_… of abi/
//    84  u32 measured      1 if it arrived after the warm-up
//    88  u64 key           of its random draws
//    96  u64 ordinal       number of this arrival within its source
//   104  11 × u64          time spent per state
//   192  16 B              unused
//   208  u32 slot          in the worker's queue, 0 = not there
//   212  u32 flags         of the worker
//   216  u32 timer         pending delivery at which its client gives up, 0 = none
//   220  u32 sends         how often a program has sent it on: each service has draws of its own
//   224  u64 number        among all arrivals, counted from 1
//   248  u64 overhead      CPU work of the control plane for it, ns

import { clearRecord } from '../core/record';
import { JOB_SHIFT, JOBS, MAX_JOBS } from '../core/layout';
import { fail, FAIL_JOBS } from '../core/failure';
import { ALIVE, ARRIVED, count, counter, NUMBER_AREA, NUMBER_SINCE, setCounter } from '../core/counters';
import { STATE_COUNT } from '../abi';
import { now } from './events';
import { explainedJob, explainInterval, explainLeave, explainShift } from './explain';

export const JOB_NEXT: usize = JOBS + 0;
export const JOB_STAGE: usize = JOBS + 4;
export const JOB_SOURCE: usize = JOBS + 8;
export const JOB_FUNCTION: usize = JOBS + 12;
export const JOB_CONTAINER: usize = JOBS + 16;
export const JOB_DOMAIN: usize = JOBS + 20;
export const JOB_STATS: usize = JOBS + 24;
export const JOB_CPUS: usize = JOBS + 28;
export const JOB_ARRIVAL: usize = JOBS + 32;
export const JOB_DURATION: usize = JOBS + 40;
export const JOB_STARTED: usize = JOBS + 48;
export const JOB_FINISHED: usize = JOBS + 56;
export const JOB_CPU_NS: usize = JOBS + 64;
export const JOB_STATE_SINCE: usize = JOBS + 72;
export const JOB_STATE: usize = JOBS + 80;
export const JOB_MEASURED: usize = JOBS + 84;
export const JOB_KEY: usize = JOBS + 88;
export const JOB_ORDINAL: usize = JOBS + 96;
export const JOB_TIMES: usize = JOBS + 104;
export const JOB_QUEUE_SLOT: usize = JOBS + 208;
export const JOB_FLAGS: usize = JOBS + 212;
export const JOB_TIMER: usize = JOBS + 216;
export const JOB_SENDS: usize = JOBS + 220;
export const JOB_NUMBER: usize = JOBS + 224;
export const JOB_OVERHEAD: usize = JOBS + 248;

let freeHead: u32 = 0;
let slotsUsed: u32 = 1;

export function jobsReset(): void {
  freeHead = 0;
  slotsUsed = 1;
}

/** One more than the highest slot ever used. */
export function jobSlots(): u32 {
  return slotsUsed;
}

// @ts-ignore: decorator
@inline
export function integrateNumber(): void {
  count(NUMBER_AREA, counter(ALIVE) * (now - counter(NUMBER_SINCE)));
  setCounter(NUMBER_SINCE, now);
}

/** A zeroed job that enters the system now, or 0 if all MAX_JOBS are alive (the run then fails). */
export function jobEnter(): u32 {
  let j = freeHead;
  if (j != 0) {
    freeHead = load<u32>(j, JOB_NEXT);
  } else {
    if (slotsUsed >= MAX_JOBS) {
      fail(FAIL_JOBS, 0, 0, MAX_JOBS);
      return 0;
    }
    j = slotsUsed << JOB_SHIFT;
    slotsUsed++;
  }
  clearRecord(JOBS + j, 1 << JOB_SHIFT);
  integrateNumber();
  count(ALIVE);
  store<u64>(j, counter(ARRIVED), JOB_NUMBER);
  store<u64>(j, now, JOB_ARRIVAL);
  store<u64>(j, now, JOB_STATE_SINCE);
  return j;
}

/** The job leaves the system now; its record is free again. */
export function jobLeave(j: u32): void {
  if (j == explainedJob) explainLeave();
  integrateNumber();
  setCounter(ALIVE, counter(ALIVE) - 1);
  store<u64>(j, NEVER_ARRIVED, JOB_ARRIVAL);
  store<u32>(j, freeHead, JOB_NEXT);
  freeHead = j;
}

/** Arrival time of a free record. */
export const NEVER_ARRIVED: u64 = 0xffff_ffff_ffff_ffff;

/** Charges the time since the last change to the state the job was in and puts it into `state`. */
// @ts-ignore: decorator
@inline
export function jobState(j: u32, state: u32): void {
  if (j == explainedJob) explainInterval(load<u32>(j, JOB_STATE), load<u64>(j, JOB_STATE_SINCE));
  const at = j + (load<u32>(j, JOB_STATE) << 3);
  store<u64>(at, load<u64>(at, JOB_TIMES) + (now - load<u64>(j, JOB_STATE_SINCE)), JOB_TIMES);
  store<u64>(j, now, JOB_STATE_SINCE);
  store<u32>(j, state, JOB_STATE);
}

/** Moves up to `amount` ns of what has been charged to state `from` to state `to`. */
// @ts-ignore: decorator
@inline
export function jobShift(j: u32, from: u32, to: u32, amount: u64): void {
  const a = j + (from << 3);
  const b = j + (to << 3);
  const have = load<u64>(a, JOB_TIMES);
  const moved = have < amount ? have : amount;
  if (j == explainedJob) explainShift(from, to, moved);
  store<u64>(a, have - moved, JOB_TIMES);
  store<u64>(b, load<u64>(b, JOB_TIMES) + moved, JOB_TIMES);
}

/** Σ of the time per state. */
export function jobTimes(j: u32): u64 {
  let sum: u64 = 0;
  for (let s: u32 = 0; s < STATE_COUNT; s++) sum += load<u64>(j + (s << 3), JOB_TIMES);
  return sum;
}
