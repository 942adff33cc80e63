// Warm cores, after Lawall et al., "OS scheduling with Nest: keeping tasks close together on warm cores" (EuroSys 2022), and
// its port scx_nest. Tasks prefer idle cores of the primary nest, then of the reserve nest, then others; a core used from
// the reserve joins the primary nest, a core of the primary nest that stays idle is demoted. A task that keeps missing
// its core is impatient: what it finds joins the primary nest at once.
//
// The port demotes by a timer; here a core that has idled for long enough counts as demoted when somebody looks.

import { P_NEST_IMPATIENT, P_NEST_REMOVE_NS, P_NEST_RESERVE, P_SLICE_NS } from '../abi';
import { param } from '../core/counters';
import { CPU_SHIFT, IDLE_MASK, MASK_BYTES, POLICY_STATE } from '../core/layout';
import { CPU_STATE_SINCE } from '../kernel/cpu';
import { dsqCreate, dsqUser } from '../kernel/dsq';
import { now } from '../kernel/events';
import { dsqInsertByVtime, dsqInsertDirect, dsqMoveToLocal } from '../kernel/ext';
import { pickIdleAllowed, pickIdleCpu, testAndClearCpuIdle } from '../kernel/ext_idle';
import { maskAddress, maskClear, maskFirstAnd, maskNextAnd, maskSet, maskTest, maskWeightAnd } from '../kernel/mask';
import { TASK_CLASS_STATE, TASK_INVERSE_WEIGHT, TASK_MASK, TASK_STINT, TASK_VTIME } from '../kernel/task';
import { before } from '../kernel/tree';

const PRIMARY: usize = POLICY_STATE;
const RESERVE: usize = POLICY_STATE + MASK_BYTES;

// Task state: u32 the core it has stayed on + 1 (0 = none), u32 times in a row that the primary nest had no core for it.
const ATTACHED: usize = TASK_CLASS_STATE + 0;
const MISSES: usize = TASK_CLASS_STATE + 4;

let slice: u64 = 0;
let removeAfter: u64 = 0;
let mostReserved: u32 = 0;
let impatientAfter: u32 = 0;
/** The largest vtime that has started to run. */
let vtimeNow: u64 = 0;

export function init(): void {
  slice = param(P_SLICE_NS);
  removeAfter = param(P_NEST_REMOVE_NS);
  mostReserved = param(P_NEST_RESERVE) as u32;
  impatientAfter = param(P_NEST_IMPATIENT) as u32;
  vtimeNow = 0;
  memory.fill(PRIMARY, 0, 2 * MASK_BYTES);
  dsqCreate(0);
}

/** Cores of the primary nest that have idled for too long go to the reserve, or out of the nests if it is full. */
function compact(): void {
  for (let cpu = maskFirstAnd(PRIMARY, IDLE_MASK); cpu >= 0; cpu = maskNextAnd(PRIMARY, IDLE_MASK, (cpu as u32) + 1)) {
    if (now - load<u64>((cpu as u32) << CPU_SHIFT, CPU_STATE_SINCE) < removeAfter) continue;
    maskClear(PRIMARY, cpu as u32);
    reserve(cpu as u32);
  }
}

function reserve(cpu: u32): void {
  if (maskWeightAnd(RESERVE, RESERVE) < mostReserved) maskSet(RESERVE, cpu);
}

// @ts-ignore: decorator
@inline
function takeIfWarm(cpu: u32, allowed: usize): bool {
  return maskTest(PRIMARY, cpu) && maskTest(allowed, cpu) && testAndClearCpuIdle(cpu);
}

export function selectCpu(t: u32, prev: u32): u32 {
  compact();
  const allowed = maskAddress(load<u32>(t, TASK_MASK));
  const prevIsWarm = maskTest(PRIMARY, prev);
  const attached = load<u32>(t, ATTACHED);
  let cpu: i32 = -1;
  if (attached != 0 && takeIfWarm(attached - 1, allowed)) cpu = attached - 1;
  else if (takeIfWarm(prev, allowed)) cpu = prev;
  else cpu = pickIdleAllowed(t, PRIMARY);
  if (cpu >= 0) {
    if (prevIsWarm) store<u32>(t, 0, MISSES);
    return take(t, prev, cpu as u32);
  }

  const misses = load<u32>(t, MISSES) + 1;
  const isImpatient = impatientAfter != 0 && misses >= impatientAfter;
  store<u32>(t, isImpatient ? 0 : misses, MISSES);
  cpu = pickIdleAllowed(t, RESERVE);
  if (cpu >= 0) {
    maskClear(RESERVE, cpu as u32);
    maskSet(PRIMARY, cpu as u32);
    return take(t, prev, cpu as u32);
  }
  cpu = pickIdleCpu(allowed);
  if (cpu < 0) return prev;
  if (isImpatient) maskSet(PRIMARY, cpu as u32);
  else reserve(cpu as u32);
  return take(t, prev, cpu as u32);
}

/** The task runs on `cpu`, and is attached to it once it has stayed there. */
function take(t: u32, prev: u32, cpu: u32): u32 {
  if (cpu == prev) store<u32>(t, cpu + 1, ATTACHED);
  dsqInsertDirect(t, cpu, slice);
  return cpu;
}

/** No core is idle: tasks wait by vtime, with a credit of one slice at most. */
export function enqueue(t: u32): void {
  const floor = vtimeNow - slice;
  if (before(load<u64>(t, TASK_VTIME), floor)) store<u64>(t, floor, TASK_VTIME);
  dsqInsertByVtime(t, dsqUser(0), slice, load<u64>(t, TASK_VTIME));
}

export function dispatch(cpu: u32): void {
  dsqMoveToLocal(dsqUser(0));
}

export function running(t: u32): void {
  const vtime = load<u64>(t, TASK_VTIME);
  if (before(vtimeNow, vtime)) vtimeNow = vtime;
}

export function stopping(t: u32): void {
  const charge = (load<u64>(t, TASK_STINT) * (load<u32>(t, TASK_INVERSE_WEIGHT) as u64)) >> 10;
  store<u64>(t, load<u64>(t, TASK_VTIME) + charge, TASK_VTIME);
}

export function enable(t: u32): void {
  store<u64>(t, vtimeNow, TASK_VTIME);
}
