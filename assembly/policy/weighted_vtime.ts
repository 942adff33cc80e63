// Weighted virtual time, one queue per domain: the classic fair queue of sched_ext's simple examples, extended by
// domains. A task goes straight to an idle CPU of its domain, else of another; else it waits in its domain's DSQ by
// vtime. A free CPU serves its own domain, then the longest other queue. With one domain it is the policy global-vtime.

import { NONE, P_SLICE_NS, P_STEAL, STEAL_NONE } from '../abi';
import { count, param, STEALS } from '../core/counters';
import { CGROUP_DOMAIN, CPU_DOMAIN, DOMAIN_MASK, IDLE_MASK, POLICY_STATE } from '../core/layout';
import { dsqCreate, dsqNr, dsqUser } from '../kernel/dsq';
import { dsqInsertByVtime, dsqInsertDirect, dsqMoveToLocal, pickIdleCpu, testAndClearCpuIdle } from '../kernel/ext';
import { maskAddress, maskFirstAnd, maskTest } from '../kernel/mask';
import { TASK_CGROUP, TASK_INVERSE_WEIGHT, TASK_LAST_STINT, TASK_MASK, TASK_STINT, TASK_VTIME } from '../kernel/task';
import { before } from '../kernel/tree';
import { nrDomains } from './mapping';

let slice: u64 = 0;
let stealing: bool = true;

/** u64 per domain: the largest vtime that has started to run there. */
const VTIME_NOW: usize = POLICY_STATE;

export function init(): void {
  slice = param(P_SLICE_NS);
  stealing = param(P_STEAL) != STEAL_NONE;
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

// @ts-ignore: decorator
@inline
function pickIdle(t: u32, prev: u32, d: u32): i32 {
  const mask = load<u32>(t, TASK_MASK);
  const cpus = domainCpus(d);
  if (mask == 0) {
    if (maskTest(cpus, prev) && testAndClearCpuIdle(prev)) return prev as i32;
    return pickIdleCpu(cpus);
  }
  let cpu = maskFirstAnd(IDLE_MASK, cpus);
  if (cpu < 0 || !maskTest(maskAddress(mask), cpu as u32)) return -1;
  testAndClearCpuIdle(cpu as u32);
  return cpu;
}

export function selectCpu(t: u32, prev: u32): u32 {
  const own = domainOf(t);
  raise(t, own);
  let cpu = pickIdle(t, prev, own);
  if (stealing) {
    for (let d: u32 = 0; d < nrDomains && cpu < 0; d++) if (d != own) cpu = pickIdle(t, prev, d);
  }
  if (cpu < 0) return prev;
  dsqInsertDirect(t, cpu as u32, slice);
  return cpu as u32;
}

/** A waking task's credit is at most one slice. */
// @ts-ignore: decorator
@inline
function raise(t: u32, d: u32): void {
  const floor = load<u64>(d << 3, VTIME_NOW) - slice;
  if (before(load<u64>(t, TASK_VTIME), floor)) store<u64>(t, floor, TASK_VTIME);
}

export function enqueue(t: u32): void {
  const d = domainOf(t);
  raise(t, d);
  dsqInsertByVtime(t, dsqUser(d), slice, load<u64>(t, TASK_VTIME));
}

export function dispatch(cpu: u32): void {
  const own = load<u32>(cpu << 2, CPU_DOMAIN);
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
  if (longest != NONE && dsqMoveToLocal(dsqUser(longest))) count(STEALS);
}

export function running(t: u32): void {
  const d = domainOf(t) << 3;
  const vtime = load<u64>(t, TASK_VTIME);
  if (before(load<u64>(d, VTIME_NOW), vtime)) store<u64>(d, vtime, VTIME_NOW);
}

export function stopping(t: u32): void {
  const charge = (load<u64>(t, TASK_STINT) * (load<u32>(t, TASK_INVERSE_WEIGHT) as u64)) >> 10;
  store<u64>(t, load<u64>(t, TASK_VTIME) + charge, TASK_VTIME);
}

export function enable(t: u32): void {
  store<u64>(t, load<u64>(domainOf(t) << 3, VTIME_NOW), TASK_VTIME);
}
