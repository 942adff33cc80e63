// Containers: one cgroup, one server master, one worker task, one invocation at a time. Handle k = index << CONTAINER_SHIFT.
// The tasks of an evicted container are parked, not destroyed: the next container, of whatever function, takes them over.
//
//     0  u32 next, 20 u32 previous     free containers of the function, the most recently used first
//     4  u32 function
//     8  u32 worker task
//    12  u32 queue
//    16  u32 cgroup
//    24  u32 next, 28 u32 previous     free containers of all functions, the least recently used first
//    32  u32 expiry                    pending delivery that evicts it, 0 = none
//    36  u32 server master, 0 = none
//    40  u32 prewarmed                 1 while it starts ahead of its invocation

import {
  FN_CPUS,
  CLASS_EXT,
  FN_COLD_PC,
  FN_MEMORY_MB,
  FN_PC,
  FN_STATS,
  FN_STRIDE,
  NONE,
  P_COLD_CPU,
  P_COLD_START,
  P_CONTAINER_CLASS,
  P_CONTAINER_PARENT,
  P_CONTAINER_PERIOD_NS,
  P_CONTAINER_QUOTA_NS,
  P_CONTAINER_SHARES,
  P_MASTER_PARK_PC,
  P_MASTER_PC,
  P_SEED,
} from '../abi';
import { param } from '../core/counters';
import { fail, FAIL_CONTAINERS } from '../core/failure';
import { CGROUP_DOMAIN, CONTAINERS, CONTAINER_SHIFT, FUNCTIONS, FUNCTION_SHIFT, MAX_CONTAINERS, TASK_SHIFT } from '../core/layout';
import { draw64, entityKey, mulHigh, PURPOSE_START, streamKey } from '../core/random';
import { groupSet, namedCgroup } from '../kernel/group';
import { now, timerClear, timerSet } from '../kernel/events';
import { nrCpus } from '../kernel/mask';
import { queueAddWaiter, queueCreate } from '../kernel/queue';
import { CGROUP_CONTAINERS, taskCreate } from '../kernel/spawn';
import { STATE_BLOCKED, STATE_SLEEPING, TASK_CPU, TASK_LAST_CPU, TASK_PC, TASK_QUEUE, TASK_RECENT_CPU, TASK_STATE, TASK_STATS } from '../kernel/task';
import { opsCgroupMade, opsMapped } from '../policy/ops';

export const CONTAINER_NEXT: usize = CONTAINERS + 0;
export const CONTAINER_FUNCTION: usize = CONTAINERS + 4;
export const CONTAINER_TASK: usize = CONTAINERS + 8;
export const CONTAINER_QUEUE: usize = CONTAINERS + 12;
export const CONTAINER_CGROUP: usize = CONTAINERS + 16;
const CONTAINER_PREVIOUS: usize = CONTAINERS + 20;
const CONTAINER_LRU_NEXT: usize = CONTAINERS + 24;
const CONTAINER_LRU_PREVIOUS: usize = CONTAINERS + 28;
export const CONTAINER_EXPIRY: usize = CONTAINERS + 32;
const CONTAINER_MASTER: usize = CONTAINERS + 36;
export const CONTAINER_PREWARMED: usize = CONTAINERS + 40;

/** u32 most recently used of the function's free containers; u32 its containers that serve or start. */
const FREE: usize = FUNCTIONS + FN_STRIDE + 16;
export const FUNCTION_BUSY: usize = FUNCTIONS + FN_STRIDE + 48;
const SECOND: u64 = 1000000000;

let used: u32 = 1;
let containerClass: u32 = CLASS_EXT;
let masterPc: u32 = NONE;
/** Fair group of a container: shares (0 = none), the cgroup above it, quota per period (0 = none). */
let containerShares: u32 = 0;
let containerParent: u32 = NONE;
let containerQuota: u64 = 0;
let containerPeriod: u64 = 0;
let masterStats: u32 = 0;
/** New containers begin with the work of a cold start. */
let coldCode: bool = false;
let parked: u32 = 0;
let lruFirst: u32 = 0;
let lruLast: u32 = 0;
/** Containers that exist, and their memory. */
export let containersAlive: u32 = 0;
export let containersMemory: u64 = 0;
/** Those that serve an invocation or start. */
export let containersBusy: u32 = 0;

export function containersInit(statsOfMasters: u32, functions: u32): void {
  used = 1;
  containerClass = param(P_CONTAINER_CLASS) as u32;
  masterPc = param(P_MASTER_PC) as u32;
  containerShares = param(P_CONTAINER_SHARES) as u32;
  containerParent = namedCgroup(param(P_CONTAINER_PARENT) as u32);
  containerQuota = param(P_CONTAINER_QUOTA_NS);
  containerPeriod = param(P_CONTAINER_PERIOD_NS);
  masterStats = statsOfMasters;
  coldCode = param(P_COLD_CPU) != 0 && (param(P_COLD_START) as u32) != NONE;
  parked = 0;
  lruFirst = 0;
  lruLast = 0;
  containersAlive = 0;
  containersMemory = 0;
  containersBusy = 0;
  for (let f: u32 = 0; f < functions; f++) {
    store<u32>(f << FUNCTION_SHIFT, 0, FREE);
    store<u32>(f << FUNCTION_SHIFT, 0, FUNCTION_BUSY);
  }
}

/** CPU time per period of a container of the function record at `fn`. */
function quotaOf(fn: u32): u64 {
  if (containerQuota != u64.MAX_VALUE) return containerQuota;
  return (load<u32>(fn, FUNCTIONS + FN_CPUS) as u64) * containerPeriod;
}

/** A new container of function f, busy from now on; `cold`: its worker begins with the cold start. 0 if there is no room (the run fails). */
export function containerCreate(f: u32, cold: bool): u32 {
  const fn = f << FUNCTION_SHIFT;
  const entry = cold && coldCode ? load<u32>(fn, FUNCTIONS + FN_COLD_PC) : load<u32>(fn, FUNCTIONS + FN_PC);
  let k = parked;
  if (k != 0) {
    parked = load<u32>(k, CONTAINER_NEXT);
    unpark(k, fn, entry);
  } else {
    k = build(fn, entry);
    if (k == 0) return 0;
  }
  store<u32>(k, f, CONTAINER_FUNCTION);
  containersAlive++;
  containersMemory += load<u32>(fn, FUNCTIONS + FN_MEMORY_MB) as u64;
  noteBusy(fn, 1);
  return k;
}

// @ts-ignore: decorator
@inline
function noteBusy(fn: u32, change: i32): void {
  containersBusy += change;
  store<u32>(fn, load<u32>(fn, FUNCTION_BUSY) + change, FUNCTION_BUSY);
}

function build(fn: u32, entry: u32): u32 {
  if (used >= MAX_CONTAINERS) {
    fail(FAIL_CONTAINERS, 0, 0, MAX_CONTAINERS);
    return 0;
  }
  const index = used++;
  const k = index << CONTAINER_SHIFT;
  memory.fill(CONTAINERS + k, 0, 1 << CONTAINER_SHIFT);
  const cgroup = CGROUP_CONTAINERS + index;
  const key = entityKey(streamKey(param(P_SEED), PURPOSE_START, 0), index);
  store<u32>(cgroup << 2, NONE, CGROUP_DOMAIN);
  opsCgroupMade(cgroup);
  if (containerShares != 0) groupSet(cgroup, containerParent, containerShares, quotaOf(fn), containerPeriod);
  store<u32>(k, cgroup, CONTAINER_CGROUP);
  const q = queueCreate(0);
  store<u32>(k, q, CONTAINER_QUEUE);
  // The worker's first instruction is the receive it already waits in.
  const t = taskCreate(entry + 1, containerClass, 1024, 0, 0, cgroup, load<u32>(fn, FUNCTIONS + FN_STATS), true, key);
  if (t == 0) return 0;
  store<u32>(k, t, CONTAINER_TASK);
  store<u32>(t, q, TASK_QUEUE);
  store<u8>(t, STATE_BLOCKED, TASK_STATE);
  placeAt(t, index % nrCpus);
  queueAddWaiter(q, t);
  if (masterPc != NONE) {
    const master = taskCreate(masterPc, containerClass, 1024, 0, 0, cgroup, masterStats, true, key);
    if (master == 0) return 0;
    store<u32>(k, master, CONTAINER_MASTER);
    placeAt(master, index % nrCpus);
    startMaster(master, key);
  }
  return k;
}

function startMaster(master: u32, key: u64): void {
  store<u8>(master, STATE_SLEEPING, TASK_STATE);
  timerSet(master >> TASK_SHIFT, master, now + mulHigh(draw64(key, 0), SECOND));
}

function placeAt(t: u32, cpu: u32): void {
  store<u32>(t, cpu, TASK_CPU);
  store<u32>(t, cpu, TASK_RECENT_CPU);
  store<u16>(t, cpu as u16, TASK_LAST_CPU);
}

/** The tasks of a parked container become those of a new one. */
function unpark(k: u32, fn: u32, entry: u32): void {
  const t = load<u32>(k, CONTAINER_TASK);
  // A worker that has not yet gone to sleep after its last invocation begins with the receive itself.
  store<u32>(t, load<u8>(t, TASK_STATE) == STATE_BLOCKED ? entry + 1 : entry, TASK_PC);
  store<u32>(t, load<u32>(fn, FUNCTIONS + FN_STATS), TASK_STATS);
  store<u32>(load<u32>(k, CONTAINER_CGROUP) << 2, NONE, CGROUP_DOMAIN);
  opsMapped(load<u32>(k, CONTAINER_CGROUP), NONE);
  const master = load<u32>(k, CONTAINER_MASTER);
  if (master == 0) return;
  store<u32>(master, masterPc, TASK_PC);
  if (load<u8>(master, TASK_STATE) == STATE_BLOCKED) {
    startMaster(master, entityKey(streamKey(param(P_SEED), PURPOSE_START, 0), k >> CONTAINER_SHIFT));
  }
}

/** A free container is removed. Its master stops where it sleeps, or when it has run. */
export function containerEvict(k: u32): void {
  unlink(k);
  destroy(k);
}

/** A busy container is removed without having been free. */
export function containerDiscard(k: u32): void {
  noteBusy(load<u32>(k, CONTAINER_FUNCTION) << FUNCTION_SHIFT, -1);
  destroy(k);
}

function destroy(k: u32): void {
  containersAlive--;
  containersMemory -= load<u32>(load<u32>(k, CONTAINER_FUNCTION) << FUNCTION_SHIFT, FUNCTIONS + FN_MEMORY_MB) as u64;
  const master = load<u32>(k, CONTAINER_MASTER);
  if (master != 0) {
    store<u32>(master, param(P_MASTER_PARK_PC) as u32, TASK_PC);
    if (load<u8>(master, TASK_STATE) == STATE_SLEEPING) {
      timerClear(master >> TASK_SHIFT);
      store<u8>(master, STATE_BLOCKED, TASK_STATE);
    }
  }
  store<u32>(k, parked, CONTAINER_NEXT);
  parked = k;
}

export function hasFreeContainer(f: u32): bool {
  return load<u32>(f << FUNCTION_SHIFT, FREE) != 0;
}

/** The least recently used free container, 0 if none is free. */
export function leastRecentlyUsed(): u32 {
  return lruFirst;
}

/** A free container of the function, most recently used first; 0 if all are busy. */
export function containerTake(f: u32): u32 {
  const k = load<u32>(f << FUNCTION_SHIFT, FREE);
  if (k == 0) return 0;
  unlink(k);
  noteBusy(f << FUNCTION_SHIFT, 1);
  return k;
}

function unlink(k: u32): void {
  const next = load<u32>(k, CONTAINER_NEXT);
  const previous = load<u32>(k, CONTAINER_PREVIOUS);
  if (next != 0) store<u32>(next, previous, CONTAINER_PREVIOUS);
  if (previous != 0) store<u32>(previous, next, CONTAINER_NEXT);
  else store<u32>(load<u32>(k, CONTAINER_FUNCTION) << FUNCTION_SHIFT, next, FREE);
  const newer = load<u32>(k, CONTAINER_LRU_NEXT);
  const older = load<u32>(k, CONTAINER_LRU_PREVIOUS);
  if (newer != 0) store<u32>(newer, older, CONTAINER_LRU_PREVIOUS);
  else lruLast = older;
  if (older != 0) store<u32>(older, newer, CONTAINER_LRU_NEXT);
  else lruFirst = newer;
}

/** A busy container is free again. */
export function containerReturn(k: u32): void {
  const fn = load<u32>(k, CONTAINER_FUNCTION) << FUNCTION_SHIFT;
  const head = load<u32>(fn, FREE);
  store<u32>(k, head, CONTAINER_NEXT);
  store<u32>(k, 0, CONTAINER_PREVIOUS);
  if (head != 0) store<u32>(head, k, CONTAINER_PREVIOUS);
  store<u32>(fn, k, FREE);
  store<u32>(k, lruLast, CONTAINER_LRU_PREVIOUS);
  store<u32>(k, 0, CONTAINER_LRU_NEXT);
  if (lruLast != 0) store<u32>(lruLast, k, CONTAINER_LRU_NEXT);
  else lruFirst = k;
  lruLast = k;
  noteBusy(fn, -1);
}
