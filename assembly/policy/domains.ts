// Scheduling domains with virtual-time priority, as the paper says: Algorithm 1 (vtime) and Algorithm 2 (queues) of
// "Serverless platform driven CPU loadbalancing". One vtime DSQ per domain and a global one for unmapped cgroups.
// The text has no rule for waking CPUs; an enqueue wakes one idle CPU of the domain that the task may use.

import { NONE, P_RESET_EVERY, P_SLICE_NS, P_STEAL, STEAL_NONE } from '../abi';
import { count, param, STEALS } from '../core/counters';
import { CGROUP_DOMAIN, CPU_DOMAIN, DOMAIN_MASK } from '../core/layout';
import { dsqCreate, dsqUser } from '../kernel/dsq';
import { now } from '../kernel/events';
import { dsqInsertByVtime, dsqMoveToLocal, KICK_IDLE, kickCpu } from '../kernel/ext';
import { pickIdleAmong } from '../kernel/ext_idle';
import { maskAddress } from '../kernel/mask';
import { TASK_CGROUP, TASK_CLASS_STATE, TASK_LAST_STINT, TASK_VTIME } from '../kernel/task';
import { nrDomains } from './mapping';

// Task state: u32 enqueue count, u32 sleeps since stamp, u32 sleeps per second (0 = none measured), u64 stamp.
const ENQUEUE_COUNT: usize = TASK_CLASS_STATE + 0;
const SLEEP_COUNT: usize = TASK_CLASS_STATE + 4;
export const SLEEP_FREQUENCY: usize = TASK_CLASS_STATE + 8;
const SLEEP_STAMP: usize = TASK_CLASS_STATE + 16;

const SECOND: u64 = 1000000000;

let slice: u64 = 0;
let resetEvery: u32 = 10;
let stealing: bool = true;

export function init(): void {
  slice = param(P_SLICE_NS);
  resetEvery = param(P_RESET_EVERY) as u32;
  stealing = param(P_STEAL) != STEAL_NONE;
  for (let d: u32 = 0; d <= nrDomains; d++) dsqCreate(d);
}

/** DSQ of a domain; the one behind the last domain's is the global one. */
// @ts-ignore: decorator
@inline
function domainDsq(d: u32): u32 {
  return dsqUser(d < nrDomains ? d : nrDomains);
}

export function selectCpu(t: u32, prev: u32): u32 {
  return prev;
}

export function enqueue(t: u32): void {
  const enqueues = load<u32>(t, ENQUEUE_COUNT);
  if (enqueues % resetEvery == 0) {
    store<u64>(t, now, TASK_VTIME);
  } else {
    const frequency = load<u32>(t, SLEEP_FREQUENCY);
    const charge = load<u64>(t, TASK_LAST_STINT) / ((frequency > 1 ? frequency : 1) as u64);
    store<u64>(t, load<u64>(t, TASK_VTIME) + charge, TASK_VTIME);
  }
  store<u32>(t, enqueues + 1, ENQUEUE_COUNT);

  const domain = load<u32>(load<u32>(t, TASK_CGROUP) << 2, CGROUP_DOMAIN);
  dsqInsertByVtime(t, domainDsq(domain), slice, load<u64>(t, TASK_VTIME));
  const idle = pickIdleAmong(t, maskAddress(domain < nrDomains ? load<u32>(domain << 2, DOMAIN_MASK) : 0));
  if (idle >= 0) kickCpu(idle as u32, KICK_IDLE);
}

export function dispatch(cpu: u32): void {
  const own = load<u32>(cpu << 2, CPU_DOMAIN);
  if (own != NONE && dsqMoveToLocal(domainDsq(own))) return;
  if (dsqMoveToLocal(domainDsq(NONE))) return;
  if (stealing && own != NONE) stealFromNeighbours(own);
}

/** Domains −1, +1, −2, +2, … until all have been asked. */
function stealFromNeighbours(own: u32): void {
  for (let distance: u32 = 1; distance < nrDomains; distance++) {
    if (own >= distance && dsqMoveToLocal(domainDsq(own - distance))) {
      count(STEALS);
      return;
    }
    if (own + distance < nrDomains && dsqMoveToLocal(domainDsq(own + distance))) {
      count(STEALS);
      return;
    }
  }
}

/** Sleeps per second, updated at most once a second: ¾ of the old value and ¼ of the new, at least 1. */
export function quiescent(t: u32): void {
  const sleeps = load<u32>(t, SLEEP_COUNT) + 1;
  const stamp = load<u64>(t, SLEEP_STAMP);
  const seconds = (now - stamp) / SECOND;
  if (seconds == 0) {
    store<u32>(t, sleeps, SLEEP_COUNT);
    return;
  }
  const rate = sleeps / (seconds as u32);
  const old = load<u32>(t, SLEEP_FREQUENCY);
  const mean = old == 0 ? rate : (3 * old + rate) / 4;
  store<u32>(t, mean > 1 ? mean : 1, SLEEP_FREQUENCY);
  store<u32>(t, 0, SLEEP_COUNT);
  store<u64>(t, now, SLEEP_STAMP);
}

export function enable(t: u32): void {
  store<u64>(t, now, SLEEP_STAMP);
}
