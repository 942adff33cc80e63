// Fluid service: all runnable tasks of a group are served at the same rate at the same time, as if slices had no length.
// The policy processor-sharing uses it; no kernel can do it.
//
// A group (the tasks of a cgroup; those outside any are one) has a virtual time V that advances at the rate r of each of
// its tasks. A task with work w that joins at V leaves at F = V + w, whoever comes and goes. With n tasks on k CPUs,
// r = min(1, k/n); with several groups the CPUs are divided in proportion to their shares, and what a group cannot use
// because a task is on one CPU at most is divided among the others.
//
// Only as many tasks as there are CPUs are on one. Which ones decides nothing, as long as the next to finish is among
// them; the policy keeps those with the earliest ends there. So CPU time is charged to the tasks that stand for the others,
// and the times per state of a job say when it was on a CPU, not what it received. Costs of switches are not counted. Masks
// say where a task may be, not how much it gets.
//
// Group, 64 B at POLICY_STATE:
//
//     0  u64 virtual time    ns << FRACTION
//     8  u32 runnable        number of its tasks
//    12  u32 shares
//    16  u64 rate, u64 over  each task's rate is their quotient
//    32  u32 cgroup
//    36  u32 capped          a task can use no more: rate 1

import { CLASS_EXT } from '../abi';
import { fail, FAIL_GROUPS } from '../core/failure';
import { CGROUP_SHIFT, CPU_SHIFT, POLICY_STATE } from '../core/layout';
import { CPU_CURR, CPU_MHZ } from './cpu';
import { dsqCreate } from './dsq';
import { now } from './events';
import { CGROUP_SHARES } from './group';
import { nrCpus } from './mask';
import { burstLeft } from './lookahead';
import { retime } from './sched';
import { CGROUP_CONTAINERS } from './spawn';
import { FLAG_QUEUED, MODE_FLUID, TASK_CGROUP, TASK_CLASS, TASK_CLASS_STATE, TASK_FLAGS, TASK_MODE, TASK_WORK } from './task';

const GROUP_SHIFT: u32 = 6;
const MAX_GROUPS: u32 = 1024;
const VIRTUAL: usize = POLICY_STATE + 0;
const RUNNABLE: usize = POLICY_STATE + 8;
const SHARES: usize = POLICY_STATE + 12;
const RATE: usize = POLICY_STATE + 16;
const OVER: usize = POLICY_STATE + 24;
const CGROUP: usize = POLICY_STATE + 32;
const CAPPED: usize = POLICY_STATE + 36;

/** u64 virtual time at which the burst ends; u32 group, as an offset; u32 1: the end is known. */
export const TASK_FINISH: usize = TASK_CLASS_STATE + 0;
export const TASK_GROUP: usize = TASK_CLASS_STATE + 8;
const TASK_TIMED: usize = TASK_CLASS_STATE + 12;

/** Virtual times are kept in 1/256 ns. */
const FRACTION: u64 = 8;
const ROOT_SHARES: u32 = 1024;

let groups: u32 = 0;
let since: u64 = 0;
/** The policy serves fluidly. */
export let fluid: bool = false;

export function fluidReset(on: bool): void {
  fluid = on;
  groups = 0;
  since = 0;
}

export function fluidGroups(): u32 {
  return groups;
}

/** A new task: finds its group, or makes it. */
export function fluidEnable(t: u32): void {
  const own = load<u32>(t, TASK_CGROUP);
  const given = own >= CGROUP_CONTAINERS ? load<u32>(own << CGROUP_SHIFT, CGROUP_SHARES) : 0;
  const cgroup = given != 0 ? own : 0;
  let g: u32 = 0;
  while (g < groups && load<u32>(g << GROUP_SHIFT, CGROUP) != cgroup) g++;
  if (g == MAX_GROUPS) {
    fail(FAIL_GROUPS, 0, 0, MAX_GROUPS);
    g = 0;
  }
  const at = g << GROUP_SHIFT;
  if (g == groups) {
    groups++;
    memory.fill(POLICY_STATE + at, 0, 1 << GROUP_SHIFT);
    store<u32>(at, cgroup, CGROUP);
    store<u32>(at, given != 0 ? given : ROOT_SHARES, SHARES);
    dsqCreate(g);
  }
  store<u32>(t, at, TASK_GROUP);
}

/** User DSQ of the task's group. */
export function fluidQueue(t: u32): u32 {
  return load<u32>(t, TASK_GROUP) >> GROUP_SHIFT;
}

/** Brings all virtual times up to the clock. */
function elapse(): void {
  const units = (now - since) << FRACTION;
  if (units == 0) return;
  since = now;
  for (let at: u32 = 0, end = groups << GROUP_SHIFT; at < end; at += 1 << GROUP_SHIFT) {
    if (load<u32>(at, RUNNABLE) == 0) continue;
    const rate = load<u64>(at, RATE);
    const over = load<u64>(at, OVER);
    const passed = rate == over ? units : (units / over) * rate + ((units % over) * rate) / over;
    store<u64>(at, load<u64>(at, VIRTUAL) + passed, VIRTUAL);
  }
}

function divisor(a: u64, b: u64): u64 {
  while (b != 0) {
    const rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/** Divides the CPUs anew; whether any rate has changed. */
function divide(): bool {
  const end = groups << GROUP_SHIFT;
  let capacity: u64 = nrCpus;
  let weights: u64 = 0;
  for (let at: u32 = 0; at < end; at += 1 << GROUP_SHIFT) {
    store<u32>(at, 0, CAPPED);
    if (load<u32>(at, RUNNABLE) != 0) weights += load<u32>(at, SHARES) as u64;
  }
  for (let again = true; again; ) {
    again = false;
    for (let at: u32 = 0; at < end; at += 1 << GROUP_SHIFT) {
      const n = load<u32>(at, RUNNABLE) as u64;
      const shares = load<u32>(at, SHARES) as u64;
      if (n == 0 || load<u32>(at, CAPPED) != 0 || capacity * shares < weights * n) continue;
      store<u32>(at, 1, CAPPED);
      capacity -= n;
      weights -= shares;
      again = true;
    }
  }
  let changed = false;
  for (let at: u32 = 0; at < end; at += 1 << GROUP_SHIFT) {
    const n = load<u32>(at, RUNNABLE) as u64;
    if (n == 0) continue;
    let rate: u64 = 1;
    let over: u64 = 1;
    if (load<u32>(at, CAPPED) == 0) {
      rate = capacity * (load<u32>(at, SHARES) as u64);
      over = weights * n;
      const common = divisor(rate, over);
      rate /= common;
      over /= common;
    }
    if (rate == load<u64>(at, RATE) && over == load<u64>(at, OVER)) continue;
    store<u64>(at, rate, RATE);
    store<u64>(at, over, OVER);
    changed = true;
  }
  return changed;
}

/** The number of the group's runnable tasks has changed. */
function share(at: u32, change: i32): void {
  store<u32>(at, load<u32>(at, RUNNABLE) + change, RUNNABLE);
  if (!divide()) return;
  for (let cpu: u32 = 0; cpu < nrCpus; cpu++) {
    const curr = load<u32>(cpu << CPU_SHIFT, CPU_CURR);
    if (curr == 0 || load<u8>(curr, TASK_CLASS) != CLASS_EXT || load<u8>(curr, TASK_MODE) != MODE_FLUID) continue;
    if ((load<u16>(curr, TASK_FLAGS) & FLAG_QUEUED) != 0) retime(cpu);
  }
}

/** The task becomes runnable. One that begins with something that takes no time is served at once. */
export function fluidJoin(t: u32): void {
  elapse();
  const at = load<u32>(t, TASK_GROUP);
  const burst = burstLeft(t);
  store<u64>(t, load<u64>(at, VIRTUAL) + (burst << FRACTION), TASK_FINISH);
  store<u32>(t, burst != 0 ? 1 : 0, TASK_TIMED);
  share(at, 1);
}

export function fluidLeave(t: u32): void {
  elapse();
  share(load<u32>(t, TASK_GROUP), -1);
}

/** ns until the task's burst ends if the rates stay as they are. */
export function fluidLeft(t: u32): u64 {
  elapse();
  const at = load<u32>(t, TASK_GROUP);
  const finish = load<u64>(t, TASK_FINISH);
  const virtual = load<u64>(at, VIRTUAL);
  if (finish <= virtual) return 0;
  const rate = load<u64>(at, RATE) << FRACTION;
  return ((finish - virtual) * load<u64>(at, OVER) + (rate >> 1)) / rate;
}

/** When the burst that runs on c will end; true in `fluidBegan` if it has just begun. */
export function fluidEnd(c: u32, t: u32): u64 {
  fluidBegan = load<u32>(t, TASK_TIMED) == 0;
  if (fluidBegan) {
    elapse();
    const work = load<u64>(t, TASK_WORK) / (load<u32>(c, CPU_MHZ) as u64);
    store<u64>(t, load<u64>(load<u32>(t, TASK_GROUP), VIRTUAL) + (work << FRACTION), TASK_FINISH);
    store<u32>(t, 1, TASK_TIMED);
  }
  return now + fluidLeft(t);
}

export let fluidBegan: bool = false;

/** Whether the burst that runs is over: V has reached F, to the nearest ns. */
export function fluidDone(t: u32): bool {
  elapse();
  const finish = load<u64>(t, TASK_FINISH);
  if (finish > load<u64>(load<u32>(t, TASK_GROUP), VIRTUAL) + (1 << FRACTION)) return false;
  store<u32>(t, 0, TASK_TIMED);
  return true;
}
