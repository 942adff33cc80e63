// Charging CPU time (update_curr()), work done, and the time at which what runs will be over.

import { CLASS_EXT, CLASS_FAIR, CLASS_REALTIME, P_SLICE_EXACT } from '../abi';
import { count, param, POLL_NS } from '../core/counters';
import { CPU_SHIFT } from '../core/layout';
import { opsBegan } from '../policy/ops';
import { CPU_CURR, CPU_MHZ, CPU_WORK_BEGIN } from './cpu';
import { CLASS_COMPLETION, LANE_COMPLETION, laneClear, laneSet, now, resched } from './events';
import { fairCharge, fairSliceLeft, hrtick, hrtickLeft } from './fair';
import { fluidBegan, fluidEnd } from './fluid';
import { JOB_CPU_NS } from './job';
import { rtCharge, rtServed, rtServerLeft, rtSliceLeft, rtTasks } from './rt';
import {
  MODE_FLUID,
  MODE_NONE,
  MODE_RUN,
  MODE_SPIN,
  TASK_CLASS,
  TASK_EXEC_START,
  TASK_JOB,
  TASK_MODE,
  TASK_SLICE,
  TASK_STINT,
  TASK_SUM_EXEC,
  TASK_WORK,
} from './task';

let exactSlices: bool = false;

export function chargeInit(): void {
  exactSlices = param(P_SLICE_EXACT) != 0;
}

/** Charges the running task of c with the CPU time since it was charged last: most often nothing, one event asks several times. */
// @ts-ignore: decorator
@inline
export function updateCurr(c: u32): void {
  const t = load<u32>(c, CPU_CURR);
  if (t != 0 && load<u64>(t, TASK_EXEC_START) != now) charge(c, t);
}

function charge(c: u32, t: u32): void {
  const delta = now - load<u64>(t, TASK_EXEC_START);
  store<u64>(t, now, TASK_EXEC_START);
  store<u64>(t, load<u64>(t, TASK_SUM_EXEC) + delta, TASK_SUM_EXEC);
  store<u64>(t, load<u64>(t, TASK_STINT) + delta, TASK_STINT);
  const j = load<u32>(t, TASK_JOB);
  if (j != 0) store<u64>(j, load<u64>(j, JOB_CPU_NS) + delta, JOB_CPU_NS);
  if (load<u8>(t, TASK_MODE) >= MODE_SPIN) count(POLL_NS, delta);
  if (load<u8>(t, TASK_CLASS) == CLASS_EXT) {
    const slice = load<u64>(t, TASK_SLICE);
    store<u64>(t, slice > delta ? slice - delta : 0, TASK_SLICE);
  } else if (load<u8>(t, TASK_CLASS) == CLASS_REALTIME) {
    if (rtCharge(t, c >> CPU_SHIFT, delta)) resched(c >> CPU_SHIFT);
    return;
  } else if (fairCharge(c >> CPU_SHIFT, t, delta)) {
    resched(c >> CPU_SHIFT);
  }
  if (rtTasks != 0 && rtServed(t, c >> CPU_SHIFT, delta)) resched(c >> CPU_SHIFT);
}

/** Takes off the work that the running task of c has done since it was timed last. */
// @ts-ignore: decorator
@inline
export function progress(c: u32): void {
  const t = load<u32>(c, CPU_CURR);
  const begin = load<u64>(c, CPU_WORK_BEGIN);
  if (t == 0 || load<u8>(t, TASK_MODE) != MODE_RUN || now <= begin) return;
  const done = (now - begin) * (load<u32>(c, CPU_MHZ) as u64);
  const work = load<u64>(t, TASK_WORK);
  store<u64>(t, work > done ? work - done : 0, TASK_WORK);
  store<u64>(c, now, CPU_WORK_BEGIN);
}

/** Times the end of what the running task of c is doing; it must have been charged up to now. */
export function armCompletion(c: u32): void {
  const t = load<u32>(c, CPU_CURR);
  const mode = load<u8>(t, TASK_MODE);
  const begin = load<u64>(c, CPU_WORK_BEGIN);
  let end: u64 = u64.MAX_VALUE;
  if (mode == MODE_RUN) {
    const work = load<u64>(t, TASK_WORK);
    const mhz = load<u32>(c, CPU_MHZ) as u64;
    end = begin + (mhz == 1 ? work : (work + mhz - 1) / mhz);
  } else if (mode == MODE_SPIN) {
    const until = load<u64>(t, TASK_WORK);
    end = until > begin ? until : begin;
  } else if (mode == MODE_NONE) {
    end = begin;
  } else if (mode == MODE_FLUID) {
    end = fluidEnd(c, t);
    if (fluidBegan) opsBegan(c >> CPU_SHIFT, t);
  }
  if (end < now) end = now;
  if (exactSlices) {
    const schedClass = load<u8>(t, TASK_CLASS);
    let left =
      schedClass == CLASS_EXT
        ? load<u64>(t, TASK_SLICE)
        : schedClass == CLASS_FAIR
          ? fairSliceLeft(c >> CPU_SHIFT, t)
          : rtSliceLeft(t, c >> CPU_SHIFT);
    if (rtTasks != 0 && schedClass != CLASS_REALTIME) left = min(left, rtServerLeft(t, c >> CPU_SHIFT));
    if (left < end - now) end = now + left;
  } else if (hrtick && load<u8>(t, TASK_CLASS) == CLASS_FAIR) {
    const left = hrtickLeft(c >> CPU_SHIFT, t);
    if (left < end - now) end = now + left;
  }
  if (end == u64.MAX_VALUE) laneClear(c, LANE_COMPLETION);
  else laneSet(c, LANE_COMPLETION, CLASS_COMPLETION, end);
}
