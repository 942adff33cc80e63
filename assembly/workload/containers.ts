// Containers: one cgroup, one server master, one worker task, one invocation at a time. Handle k = index << CONTAINER_SHIFT.
//
//     0  u32 next free of the same function
//     4  u32 function
//     8  u32 worker task
//    12  u32 queue
//    16  u32 cgroup

import {
  CLASS_EXT,
  FN_PC,
  FN_STATS,
  FN_STRIDE,
  NONE,
  P_CONTAINER_CLASS,
  P_MASTER_PC,
  P_SEED,
} from '../abi';
import { param } from '../core/counters';
import { fail, FAIL_CONTAINERS } from '../core/failure';
import { CGROUP_DOMAIN, CONTAINERS, CONTAINER_SHIFT, FUNCTIONS, FUNCTION_SHIFT, MAX_CONTAINERS, TASK_SHIFT } from '../core/layout';
import { draw64, entityKey, mulHigh, PURPOSE_START, streamKey } from '../core/random';
import { now, timerSet } from '../kernel/events';
import { nrCpus } from '../kernel/mask';
import { queueAddWaiter, queueCreate } from '../kernel/queue';
import { CGROUP_CONTAINERS, taskCreate } from '../kernel/spawn';
import { STATE_BLOCKED, STATE_SLEEPING, TASK_CPU, TASK_LAST_CPU, TASK_QUEUE, TASK_RECENT_CPU, TASK_STATE } from '../kernel/task';

export const CONTAINER_NEXT: usize = CONTAINERS + 0;
export const CONTAINER_FUNCTION: usize = CONTAINERS + 4;
export const CONTAINER_TASK: usize = CONTAINERS + 8;
export const CONTAINER_QUEUE: usize = CONTAINERS + 12;
export const CONTAINER_CGROUP: usize = CONTAINERS + 16;

/** u32 head of the function's free containers. */
const FREE: usize = FUNCTIONS + FN_STRIDE + 16;
const SECOND: u64 = 1000000000;

let used: u32 = 1;
let containerClass: u32 = CLASS_EXT;
let masterPc: u32 = NONE;
let masterStats: u32 = 0;

export function containersInit(statsOfMasters: u32): void {
  used = 1;
  containerClass = param(P_CONTAINER_CLASS) as u32;
  masterPc = param(P_MASTER_PC) as u32;
  masterStats = statsOfMasters;
}

/** A new container of function f, its worker blocked in receive; 0 if there is no room (the run fails). */
export function containerCreate(f: u32): u32 {
  if (used >= MAX_CONTAINERS) {
    fail(FAIL_CONTAINERS, 0, 0, MAX_CONTAINERS);
    return 0;
  }
  const index = used++;
  const k = index << CONTAINER_SHIFT;
  const fn = f << FUNCTION_SHIFT;
  const cgroup = CGROUP_CONTAINERS + index;
  const key = entityKey(streamKey(param(P_SEED), PURPOSE_START, 0), index);
  store<u32>(cgroup << 2, NONE, CGROUP_DOMAIN);
  store<u32>(k, f, CONTAINER_FUNCTION);
  store<u32>(k, cgroup, CONTAINER_CGROUP);
  const q = queueCreate(0);
  store<u32>(k, q, CONTAINER_QUEUE);
  // The worker's first instruction is the receive it already waits in.
  const t = taskCreate(load<u32>(fn, FUNCTIONS + FN_PC) + 1, containerClass, 1024, 0, 0, cgroup, load<u32>(fn, FUNCTIONS + FN_STATS), true, key);
  if (t == 0) return 0;
  store<u32>(k, t, CONTAINER_TASK);
  store<u32>(t, q, TASK_QUEUE);
  store<u8>(t, STATE_BLOCKED, TASK_STATE);
  placeAt(t, index % nrCpus);
  queueAddWaiter(q, t);
  if (masterPc != NONE) {
    const master = taskCreate(masterPc, containerClass, 1024, 0, 0, cgroup, masterStats, true, key);
    if (master == 0) return 0;
    store<u8>(master, STATE_SLEEPING, TASK_STATE);
    placeAt(master, index % nrCpus);
    timerSet(master >> TASK_SHIFT, master, now + mulHigh(draw64(key, 0), SECOND));
  }
  return k;
}

function placeAt(t: u32, cpu: u32): void {
  store<u32>(t, cpu, TASK_CPU);
  store<u32>(t, cpu, TASK_RECENT_CPU);
  store<u16>(t, cpu as u16, TASK_LAST_CPU);
}

/** A free container of the function, most recently used first; 0 if all are busy. */
export function containerTake(f: u32): u32 {
  const fn = f << FUNCTION_SHIFT;
  const k = load<u32>(fn, FREE);
  if (k != 0) store<u32>(fn, load<u32>(k, CONTAINER_NEXT), FREE);
  return k;
}

export function containerReturn(k: u32): void {
  const fn = load<u32>(k, CONTAINER_FUNCTION) << FUNCTION_SHIFT;
  store<u32>(k, load<u32>(fn, FREE), CONTAINER_NEXT);
  store<u32>(fn, k, FREE);
}

export function containersReset(functions: u32): void {
  for (let f: u32 = 0; f < functions; f++) store<u32>(f << FUNCTION_SHIFT, 0, FREE);
}
