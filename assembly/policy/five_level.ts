// Five FIFO queues by weight, after sched_ext's example scx_qmap. `weighted`: a CPU takes up to 1, 2, 4, 8 and 16 tasks from
// levels 0 to 4 before it comes back. `strict`: the highest level that has one, whatever the lower ones wait for, unless a
// starvation limit serves them.

import { P_SLICE_NS, P_STARVATION_NS, P_STRICT } from '../abi';
import { param } from '../core/counters';
import { POLICY_STATE } from '../core/layout';
import { dsqCreate, dsqUser } from '../kernel/dsq';
import { now } from '../kernel/events';
import { dsqFirstAllowed, dsqInsert, dsqInsertDirect, dsqMoveToLocal } from '../kernel/ext';
import { pickIdleNear } from '../kernel/ext_idle';
import { nrCpus } from '../kernel/mask';
import { FLAG_QUEUED, TASK_FLAGS, TASK_RUNNABLE_SINCE, TASK_SLICE, TASK_WEIGHT } from '../kernel/task';

const LEVELS: u32 = 5;

/** By CPU: u32 level it serves, u32 tasks it may still take from there. */
const LEVEL: usize = POLICY_STATE;
const LEFT: usize = POLICY_STATE + 4;

let slice: u64 = 0;
let strict: bool = false;
let starvation: u64 = 0;

export function init(): void {
  slice = param(P_SLICE_NS);
  strict = param(P_STRICT) != 0;
  starvation = param(P_STARVATION_NS);
  for (let level: u32 = 0; level < LEVELS; level++) dsqCreate(level);
  for (let cpu: u32 = 0; cpu < nrCpus; cpu++) {
    store<u32>(cpu << 3, 0, LEVEL);
    store<u32>(cpu << 3, 1, LEFT);
  }
}

/** Nice 0 (1024) is in the middle; a quarter, half, twice and four times of it are the bounds. */
// @ts-ignore: decorator
@inline
function levelOf(t: u32): u32 {
  const weight = load<u32>(t, TASK_WEIGHT);
  if (weight <= 256) return 0;
  if (weight <= 512) return 1;
  if (weight < 2048) return 2;
  return weight < 4096 ? 3 : 4;
}

export function selectCpu(t: u32, prev: u32): u32 {
  const cpu = pickIdleNear(t, prev);
  if (cpu < 0) return prev;
  dsqInsertDirect(t, cpu as u32, slice);
  return cpu as u32;
}

export function enqueue(t: u32, flags: u32): void {
  dsqInsert(t, dsqUser(levelOf(t)), slice, flags);
}

export function dispatch(cpu: u32, prev: u32): void {
  if (strict) dispatchStrict(cpu, prev);
  else dispatchWeighted(cpu);
}

/** Level k may take 2^k tasks, then it is the next level's turn; an empty level gives up its turn. */
function dispatchWeighted(cpu: u32): void {
  const at = cpu << 3;
  for (let tries: u32 = 0; tries <= LEVELS; tries++) {
    let level = load<u32>(at, LEVEL);
    const left = load<u32>(at, LEFT);
    if (left != 0 && dsqMoveToLocal(dsqUser(level))) {
      store<u32>(at, left - 1, LEFT);
      return;
    }
    level = (level + 1) % LEVELS;
    store<u32>(at, level, LEVEL);
    store<u32>(at, 1 << level, LEFT);
  }
}

function dispatchStrict(cpu: u32, prev: u32): void {
  for (let level: u32 = 0; level < LEVELS && starvation != 0; level++) {
    const first = dsqFirstAllowed(dsqUser(level), cpu);
    if (first != 0 && now - load<u64>(first, TASK_RUNNABLE_SINCE) >= starvation && dsqMoveToLocal(dsqUser(level))) return;
  }
  // The running task is enqueued only after this decision: a higher level keeps its CPU by getting another slice.
  const isRunnable = prev != 0 && (load<u16>(prev, TASK_FLAGS) & FLAG_QUEUED) != 0;
  for (let level = LEVELS - 1; level < LEVELS; level--) {
    if (dsqMoveToLocal(dsqUser(level))) return;
    if (isRunnable && levelOf(prev) == level) {
      store<u64>(prev, slice, TASK_SLICE);
      return;
    }
  }
}
