// Smart function scheduling, after Fu et al., "SFS: smart OS scheduling for serverless functions" (SC 2022): requests run
// first in first out in a filter, each for one slice; what doesn't finish in it is demoted to a fair level below. The
// slice is the mean inter-arrival time of the last requests times the number of CPUs, so that the filter keeps up. A
// request that finds the filter's queue late by several slices skips it (transient overload).
//
// The paper's filter is SCHED_FIFO and its fair level CFS, switched from user space; here both are levels of one policy,
// and a waiting task keeps what is left of its filter slice.

import { CLASS_EXT, P_FIRST_SLICE_NS, P_OVERLOAD, P_SLICE_NS, P_WINDOW } from '../abi';
import { param } from '../core/counters';
import { CPU_SHIFT, POLICY_STATE } from '../core/layout';
import { CPU_CURR } from '../kernel/cpu';
import { dsqCreate, dsqFirst, dsqUser } from '../kernel/dsq';
import { now } from '../kernel/events';
import {
  dsqInsert,
  dsqInsertByVtime,
  dsqInsertDirect,
  dsqMoveToLocal,
  KICK_PREEMPT,
  kickCpu,
} from '../kernel/ext';
import { pickIdleNear } from '../kernel/ext_idle';
import { JOB_KEY } from '../kernel/job';
import { maskAddress, maskTest, nrCpus } from '../kernel/mask';
import { FLAG_MAIN, TASK_CLASS, TASK_CLASS_STATE, TASK_CPU, TASK_FLAGS, TASK_INVERSE_WEIGHT, TASK_JOB, TASK_MASK, TASK_RUNNABLE_SINCE, TASK_STINT, TASK_VTIME } from '../kernel/task';
import { before } from '../kernel/tree';

// Task state: u64 key of the request it serves, u64 what is left of its filter slice (0 = it is in the fair level), u32 1: it
// has served a request.
const REQUEST: usize = TASK_CLASS_STATE + 0;
const FILTER_LEFT: usize = TASK_CLASS_STATE + 8;
const SEEN: usize = TASK_CLASS_STATE + 16;

const FILTER: u32 = 0;
const FAIR: u32 = 1;

/** u32 by CPU: 1 = it runs a task of the fair level. */
const RUNS_FAIR: usize = POLICY_STATE;

let fairSlice: u64 = 0;
let filterSlice: u64 = 0;
let window: u64 = 0;
let overload: u64 = 0;
let requests: u64 = 0;
let windowBegan: u64 = 0;
/** The largest vtime of the fair level that has started to run. */
let vtimeNow: u64 = 0;

export function init(): void {
  fairSlice = param(P_SLICE_NS);
  filterSlice = param(P_FIRST_SLICE_NS);
  window = param(P_WINDOW);
  overload = param(P_OVERLOAD);
  requests = 0;
  windowBegan = 0;
  vtimeNow = 0;
  dsqCreate(FILTER);
  dsqCreate(FAIR);
  for (let cpu: u32 = 0; cpu < nrCpus; cpu++) store<u32>(cpu << 2, 0, RUNS_FAIR);
}

/** A task that begins to serve another request enters the filter. A task without a job is one request. */
function noteRequest(t: u32): void {
  const j = load<u32>(t, TASK_JOB);
  const request = j != 0 ? load<u64>(j, JOB_KEY) : 0;
  if (load<u32>(t, SEEN) != 0 && (j == 0 || request == load<u64>(t, REQUEST))) return;
  store<u32>(t, 1, SEEN);
  store<u64>(t, request, REQUEST);
  // The threads of a request are not requests of their own.
  if ((load<u16>(t, TASK_FLAGS) & FLAG_MAIN) != 0 || j == 0) learn();
  if (isOverloaded()) demote(t);
  else store<u64>(t, filterSlice, FILTER_LEFT);
}

function learn(): void {
  if (++requests < window) return;
  filterSlice = ((now - windowBegan) / requests) * (nrCpus as u64);
  if (filterSlice == 0) filterSlice = 1;
  requests = 0;
  windowBegan = now;
}

// @ts-ignore: decorator
@inline
function isOverloaded(): bool {
  const first = dsqFirst(dsqUser(FILTER));
  return overload != 0 && first != 0 && now - load<u64>(first, TASK_RUNNABLE_SINCE) > overload * filterSlice;
}

function demote(t: u32): void {
  store<u64>(t, 0, FILTER_LEFT);
  store<u64>(t, vtimeNow, TASK_VTIME);
}

export function selectCpu(t: u32, prev: u32): u32 {
  noteRequest(t);
  const cpu = pickIdleNear(t, prev);
  if (cpu < 0) return prev;
  const left = load<u64>(t, FILTER_LEFT);
  dsqInsertDirect(t, cpu as u32, left != 0 ? left : fairSlice);
  return cpu as u32;
}

export function enqueue(t: u32): void {
  noteRequest(t);
  const left = load<u64>(t, FILTER_LEFT);
  if (left != 0) {
    dsqInsert(t, dsqUser(FILTER), left, 0);
    preemptFair(t);
    return;
  }
  const floor = vtimeNow - fairSlice;
  if (before(load<u64>(t, TASK_VTIME), floor)) store<u64>(t, floor, TASK_VTIME);
  dsqInsertByVtime(t, dsqUser(FAIR), fairSlice, load<u64>(t, TASK_VTIME));
}

/** The filter is above the fair level. */
function preemptFair(t: u32): void {
  const allowed = maskAddress(load<u32>(t, TASK_MASK));
  for (let cpu: u32 = 0; cpu < nrCpus; cpu++) {
    if (load<u32>(cpu << 2, RUNS_FAIR) == 0 || !maskTest(allowed, cpu)) continue;
    const curr = load<u32>(cpu << CPU_SHIFT, CPU_CURR);
    if (curr == 0 || load<u8>(curr, TASK_CLASS) != CLASS_EXT) continue;
    store<u32>(cpu << 2, 0, RUNS_FAIR);
    kickCpu(cpu, KICK_PREEMPT);
    return;
  }
}

export function dispatch(cpu: u32): void {
  if (!dsqMoveToLocal(dsqUser(FILTER))) dsqMoveToLocal(dsqUser(FAIR));
}

export function running(t: u32): void {
  const isFair = load<u64>(t, FILTER_LEFT) == 0;
  store<u32>(load<u32>(t, TASK_CPU) << 2, isFair ? 1 : 0, RUNS_FAIR);
  const vtime = load<u64>(t, TASK_VTIME);
  if (isFair && before(vtimeNow, vtime)) vtimeNow = vtime;
}

export function stopping(t: u32): void {
  store<u32>(load<u32>(t, TASK_CPU) << 2, 0, RUNS_FAIR);
  const stint = load<u64>(t, TASK_STINT);
  const left = load<u64>(t, FILTER_LEFT);
  if (left == 0) {
    const charge = (stint * (load<u32>(t, TASK_INVERSE_WEIGHT) as u64)) >> 10;
    store<u64>(t, load<u64>(t, TASK_VTIME) + charge, TASK_VTIME);
  } else if (stint < left) {
    store<u64>(t, left - stint, FILTER_LEFT);
  } else {
    demote(t);
  }
}
