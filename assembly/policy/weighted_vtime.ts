// Weighted virtual time, one queue per domain: the classic fair queue of sched_ext's simple examples, extended by
// domains. A task goes straight to an idle CPU of its domain, else of another; else it waits in its domain's DSQ by
// vtime. A free CPU serves its own domain, then the longest other queue. With one domain it is the policy global-vtime.

import { CLASS_EXT, NONE, P_CREDIT_CLAMPED, P_KEEP_RUNNING, P_PREEMPT, P_SLICE_NS, P_STEAL, STEAL_NONE } from '../abi';
import { count, param, STEALS } from '../core/counters';
import { CGROUP_DOMAIN, CPU_DOMAIN, CPU_SHIFT, DOMAIN_MASK, IDLE_MASK, POLICY_STATE } from '../core/layout';
import { CPU_CURR } from '../kernel/cpu';
import { dsqCreate, dsqNr, dsqUser } from '../kernel/dsq';
import { now } from '../kernel/events';
import {
  allowed,
  dsqFirstAllowed,
  dsqInsertByVtime,
  dsqInsertDirect,
  dsqMoveToLocal,
  ENQ_WAKEUP,
  KICK_PREEMPT,
  kickCpu,
} from '../kernel/ext';
import { anyCpuIdle, pickIdleAllowed, pickIdleAmong, testAndClearCpuIdle } from '../kernel/ext_idle';
import { maskAddress, maskFirstAnd, maskTest } from '../kernel/mask';
import { FLAG_QUEUED, TASK_CGROUP, TASK_CLASS, TASK_CPU, TASK_EXEC_START, TASK_FLAGS, TASK_INVERSE_WEIGHT, TASK_SLICE, TASK_STINT, TASK_VTIME } from '../kernel/task';
import { before } from '../kernel/tree';
import { nrDomains } from './mapping';

let slice: u64 = 0;
let stealing: bool = true;
let preempting: bool = false;
let clamped: bool = true;
let keeping: bool = false;

/** u64 per domain: the largest vtime that has started to run there. */
const VTIME_NOW: usize = POLICY_STATE;

export function init(): void {
  slice = param(P_SLICE_NS);
  stealing = param(P_STEAL) != STEAL_NONE;
  preempting = param(P_PREEMPT) != 0;
  clamped = param(P_CREDIT_CLAMPED) != 0;
  keeping = param(P_KEEP_RUNNING) != 0;
  for (let d: u32 = 0; d < nrDomains; d++) {
    dsqCreate(d);
    store<u64>(d << 3, 0, VTIME_NOW);
  }
}

/** Unmapped tasks belong to domain 0. */
// @ts-ignore: decorator
@inline
function domainOf(t: u32): u32 {
  const d = load<u32>(load<u32>(t, TASK_CGROUP) << 2, CGROUP_DOMAIN);
  return d < nrDomains ? d : 0;
}

// @ts-ignore: decorator
@inline
function domainCpus(d: u32): usize {
  return maskAddress(load<u32>(d << 2, DOMAIN_MASK));
}

/** An idle CPU of domain d for t, its previous one if possible, taken; -1 if there is none. */
function pickIdle(t: u32, prev: u32, d: u32): i32 {
  const cpus = domainCpus(d);
  if (maskFirstAnd(IDLE_MASK, cpus) < 0) return -1;
  return maskTest(cpus, prev) && allowed(t, prev) && testAndClearCpuIdle(prev) ? (prev as i32) : pickIdleAllowed(t, cpus);
}

export function selectCpu(t: u32, prev: u32): u32 {
  const own = domainOf(t);
  raise(t, own);
  if (!anyCpuIdle()) return prev;
  let cpu = pickIdle(t, prev, own);
  if (stealing) {
    for (let d: u32 = 0; d < nrDomains && cpu < 0; d++) if (d != own) cpu = pickIdle(t, prev, d);
  }
  if (cpu < 0) return prev;
  dsqInsertDirect(t, cpu as u32, slice);
  return cpu as u32;
}

/** A waking task's credit is at most one slice, unless it may keep all of it. */
// @ts-ignore: decorator
@inline
function raise(t: u32, d: u32): void {
  const floor = load<u64>(d << 3, VTIME_NOW) - slice;
  if (clamped && before(load<u64>(t, TASK_VTIME), floor)) store<u64>(t, floor, TASK_VTIME);
}

// @ts-ignore: decorator
@inline
export function enqueue(t: u32, flags: u32): void {
  const d = domainOf(t);
  raise(t, d);
  dsqInsertByVtime(t, dsqUser(d), slice, load<u64>(t, TASK_VTIME));
  if (preempting && (flags & ENQ_WAKEUP) != 0) preemptLater(t);
}

// @ts-ignore: decorator
@inline
function charge(t: u32, ran: u64): u64 {
  return (ran * (load<u32>(t, TASK_INVERSE_WEIGHT) as u64)) >> 10;
}

/** vtime of a running task, charged up to now. */
// @ts-ignore: decorator
@inline
function runningVtime(t: u32): u64 {
  return load<u64>(t, TASK_VTIME) + charge(t, load<u64>(t, TASK_STINT) + (now - load<u64>(t, TASK_EXEC_START)));
}

/** The running task is enqueued only after this decision; it competes by getting another slice. */
function keep(cpu: u32, prev: u32, own: u32): bool {
  const first = dsqFirstAllowed(own, cpu);
  if (first == 0 || (load<u16>(prev, TASK_FLAGS) & FLAG_QUEUED) == 0) return false;
  if (!before(runningVtime(prev), load<u64>(first, TASK_VTIME))) return false;
  store<u64>(prev, slice, TASK_SLICE);
  return true;
}

/** A woken task takes the CPU it ran on last from a task whose vtime is larger. */
function preemptLater(t: u32): void {
  const cpu = load<u32>(t, TASK_CPU);
  const curr = load<u32>(cpu << CPU_SHIFT, CPU_CURR);
  if (curr == 0 || load<u8>(curr, TASK_CLASS) != CLASS_EXT) return;
  if (before(load<u64>(t, TASK_VTIME), runningVtime(curr))) kickCpu(cpu, KICK_PREEMPT);
}

export function dispatch(cpu: u32, prev: u32): void {
  const own = load<u32>(cpu << 2, CPU_DOMAIN);
  if (keeping && prev != 0 && own != NONE && keep(cpu, prev, dsqUser(own))) return;
  if (own != NONE && dsqMoveToLocal(dsqUser(own))) return;
  if (!stealing) return;
  let longest: u32 = NONE;
  let most: u32 = 0;
  for (let d: u32 = 0; d < nrDomains; d++) {
    const n = dsqNr(dsqUser(d));
    if (n > most) {
      most = n;
      longest = d;
    }
  }
  if (longest == NONE) return;
  // Nobody in the longest queue may run here: any other that has somebody.
  let stolen = dsqMoveToLocal(dsqUser(longest));
  for (let d: u32 = 0; d < nrDomains && !stolen; d++) stolen = dsqMoveToLocal(dsqUser(d));
  if (stolen) count(STEALS);
}

export function running(t: u32): void {
  const d = domainOf(t) << 3;
  const vtime = load<u64>(t, TASK_VTIME);
  if (before(load<u64>(d, VTIME_NOW), vtime)) store<u64>(d, vtime, VTIME_NOW);
}

export function stopping(t: u32): void {
  store<u64>(t, load<u64>(t, TASK_VTIME) + charge(t, load<u64>(t, TASK_STINT)), TASK_VTIME);
}

export function enable(t: u32): void {
  store<u64>(t, load<u64>(domainOf(t) << 3, VTIME_NOW), TASK_VTIME);
}
