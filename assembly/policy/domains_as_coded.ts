// Scheduling domains as the paper's author coded them (abrehman94/iluvatar-faas at e521d9b), where that differs from the
// paper's text (domains.ts): vtime moves at stopping, the counter that should make resets rare is never incremented, a
// dispatch always takes one task each from the CPU's own and the global queue, and tasks whose instruction pointer
// hardly moves are taken for busy pollers.

import { NONE, P_COUNT_ENQUEUES, P_PINNED_CPUS, P_PINNED_SLICE_NS, P_RESET_EVERY, P_SAMPLE, P_SLICE_NS, P_TIMER_NS, SAMPLE_TICK } from '../abi';
import { count, param, POLLERS_CLEARED, POLLERS_FOUND, POLLERS_MISSED, POLLERS_MISTAKEN, STEALS } from '../core/counters';
import { CGROUP_DOMAIN, CPU_DOMAIN, DOMAIN_MASK } from '../core/layout';
import { dsqCreate, dsqLocal, dsqNr, dsqUser } from '../kernel/dsq';
import { now } from '../kernel/events';
import { dsqInsert, dsqInsertByVtime, dsqMoveToLocal, KICK_IDLE, kickCpu, kickIdleCpus } from '../kernel/ext';
import { maskAddress, maskTest, maskWeightAnd, nrCpus } from '../kernel/mask';
import { instructionPointer } from '../kernel/lookahead';
import { FLAG_POLLED, TASK_CGROUP, TASK_CLASS_STATE, TASK_FLAGS, TASK_MASK, TASK_STINT, TASK_VTIME } from '../kernel/task';
import { policyTimer } from '../kernel/watchdog';
import { nrDomains } from './mapping';

// Task state: u32 enqueues, u32 busy factor, u32 sleeps since stamp, u32 sleeps per second (0 = none measured), u64 stamp,
// u64 mean and u64 variance of the instruction pointer, u32 samples taken.
const ENQUEUE_COUNT: usize = TASK_CLASS_STATE + 0;
const BUSY_FACTOR: usize = TASK_CLASS_STATE + 4;
const SLEEP_COUNT: usize = TASK_CLASS_STATE + 8;
const SLEEP_FREQUENCY: usize = TASK_CLASS_STATE + 12;
const SLEEP_STAMP: usize = TASK_CLASS_STATE + 16;
const IP_MEAN: usize = TASK_CLASS_STATE + 24;
const IP_VARIANCE: usize = TASK_CLASS_STATE + 32;
const IP_SAMPLES: usize = TASK_CLASS_STATE + 40;

const SECOND: u64 = 1000000000;
const STEAL_REACH: u32 = 11;
/** B². A variance of the instruction pointer up to this is a busy poller's. */
const POLLER_VARIANCE: u64 = 16;
const POLLER_FACTOR: u32 = 3;

let slice: u64 = 0;
let pinnedSlice: u64 = 0;
let pinnedCpus: u32 = 0;
let resetEvery: u32 = 10;
let countsEnqueues: bool = false;
let samplesAtTick: bool = false;
let heartbeat: u64 = SECOND;

export function init(): void {
  slice = param(P_SLICE_NS);
  pinnedSlice = param(P_PINNED_SLICE_NS);
  pinnedCpus = param(P_PINNED_CPUS) as u32;
  resetEvery = param(P_RESET_EVERY) as u32;
  countsEnqueues = param(P_COUNT_ENQUEUES) != 0;
  samplesAtTick = param(P_SAMPLE) == SAMPLE_TICK;
  heartbeat = param(P_TIMER_NS);
  for (let k: u32 = 0; k <= nrDomains + nrCpus; k++) dsqCreate(k);
  policyTimer(heartbeat);
}

// @ts-ignore: decorator
@inline
function globalDsq(): u32 {
  return dsqUser(nrDomains);
}

// @ts-ignore: decorator
@inline
function cpuDsq(cpu: u32): u32 {
  return dsqUser(nrDomains + 1 + cpu);
}

// @ts-ignore: decorator
@inline
function domainCpus(d: u32): usize {
  return maskAddress(load<u32>(d << 2, DOMAIN_MASK));
}

export function selectCpu(t: u32, prev: u32): u32 {
  return prev;
}

export function enqueue(t: u32): void {
  if (countsEnqueues) store<u32>(t, load<u32>(t, ENQUEUE_COUNT) + 1, ENQUEUE_COUNT);
  const mask = load<u32>(t, TASK_MASK);
  if (mask != 0 && maskWeightAnd(maskAddress(mask), maskAddress(0)) <= pinnedCpus) {
    enqueueOnLeastLoadedCpu(t, maskAddress(mask));
    return;
  }
  const vtime = load<u64>(t, TASK_VTIME);
  const domain = load<u32>(load<u32>(t, TASK_CGROUP) << 2, CGROUP_DOMAIN);
  if (domain >= nrDomains) {
    dsqInsertByVtime(t, globalDsq(), pinnedSlice, vtime);
    kickIdleCpus(maskAddress(0));
    return;
  }
  // The factor is 0 until the first judgement, and BPF divides by 0 to 0: the task keeps what is left of its slice.
  const factor = load<u32>(t, BUSY_FACTOR) as u64;
  // The code asks after the insertion, which takes place only when enqueue() has returned: the task does not count yet.
  const waiting = dsqNr(dsqUser(domain));
  dsqInsertByVtime(t, dsqUser(domain), factor == 0 ? 0 : slice / factor, vtime);
  const cpus = domainCpus(domain);
  const isLong = waiting > maskWeightAnd(cpus, maskAddress(0));
  kickIdleCpus(isLong ? maskAddress(0) : cpus);
}

/** A task restricted to few CPUs waits in the queue of the one where fewest wait. */
function enqueueOnLeastLoadedCpu(t: u32, allowed: usize): void {
  let best: u32 = 0;
  let fewest = u32.MAX_VALUE;
  for (let cpu: u32 = 0; cpu < nrCpus; cpu++) {
    if (!maskTest(allowed, cpu)) continue;
    const waiting = dsqNr(dsqLocal(cpu)) + dsqNr(cpuDsq(cpu));
    if (waiting < fewest) {
      fewest = waiting;
      best = cpu;
    }
  }
  dsqInsert(t, cpuDsq(best), pinnedSlice, 0);
  kickIdleCpus(allowed);
}

export function dispatch(cpu: u32): void {
  const domain = load<u32>(cpu << 2, CPU_DOMAIN);
  // A CPU outside all domains serves domain 0.
  const own = domain != NONE ? domain : 0;
  if (!dsqMoveToLocal(dsqUser(own))) stealFromNeighbours(own);
  dsqMoveToLocal(cpuDsq(cpu));
  dsqMoveToLocal(globalDsq());
}

/** Domains −1, +1, −2, +2, … up to 11 away. */
function stealFromNeighbours(own: u32): void {
  for (let distance: u32 = 1; distance <= STEAL_REACH; distance++) {
    if (own >= distance && dsqMoveToLocal(dsqUser(own - distance))) {
      count(STEALS);
      return;
    }
    if (own + distance < nrDomains && dsqMoveToLocal(dsqUser(own + distance))) {
      count(STEALS);
      return;
    }
  }
}

export function stopping(t: u32): void {
  const frequency = load<u32>(t, SLEEP_FREQUENCY);
  const charge = (load<u64>(t, TASK_STINT) * (load<u32>(t, BUSY_FACTOR) as u64)) / ((frequency > 1 ? frequency : 1) as u64);
  store<u64>(t, load<u64>(t, TASK_VTIME) + charge, TASK_VTIME);
  if (load<u32>(t, ENQUEUE_COUNT) % resetEvery == 0) store<u64>(t, now, TASK_VTIME);
  if (!samplesAtTick) judge(t);
}

export function tick(t: u32): void {
  if (samplesAtTick) judge(t);
}

/** Exponentially weighted mean and variance with α = ½. The first sample has variance 0: everybody begins as a poller. */
function judge(t: u32): void {
  const samples = load<u32>(t, IP_SAMPLES);
  const ip = instructionPointer(t, samples);
  const weight: u64 = samples != 0 ? 1 : 0;
  const before = load<u64>(t, IP_MEAN);
  const mean = (before * weight + ip) / (weight + 1);
  const squares = (((ip as i64) - (mean as i64)) * ((ip as i64) - (before as i64))) as u64;
  const variance = (load<u64>(t, IP_VARIANCE) * weight + squares) / (weight + 1);
  store<u64>(t, mean, IP_MEAN);
  store<u64>(t, variance, IP_VARIANCE);
  store<u32>(t, samples + 1, IP_SAMPLES);
  const isPoller = variance <= POLLER_VARIANCE;
  store<u32>(t, isPoller ? POLLER_FACTOR : 1, BUSY_FACTOR);
  if ((load<u16>(t, TASK_FLAGS) & FLAG_POLLED) != 0) count(isPoller ? POLLERS_FOUND : POLLERS_MISSED);
  else count(isPoller ? POLLERS_MISTAKEN : POLLERS_CLEARED);
}

/** Sleeps per second, updated at most once a second: an integer mean of ¾ old and ¼ new. */
export function quiescent(t: u32): void {
  const sleeps = load<u32>(t, SLEEP_COUNT) + 1;
  store<u32>(t, sleeps, SLEEP_COUNT);
  const seconds = (now - load<u64>(t, SLEEP_STAMP)) / SECOND;
  if (seconds == 0) return;
  const rate = sleeps / (seconds as u32);
  const measured = rate > 1 ? rate : 1;
  const known = load<u32>(t, SLEEP_FREQUENCY);
  const old = known != 0 ? known : measured;
  store<u32>(t, old - (old >> 2) + (measured >> 2), SLEEP_FREQUENCY);
  store<u64>(t, now, SLEEP_STAMP);
  store<u32>(t, 0, SLEEP_COUNT);
}

export function enable(t: u32): void {
  store<u64>(t, now, TASK_VTIME);
  store<u64>(t, now, SLEEP_STAMP);
}

/**
 * The heartbeat wakes idle CPUs of domains where tasks wait: what ENQ_LAST left behind. The code leaves out the CPUs' own
 * queues; a real CPU looks into its queue after any interrupt or kernel thread, a simulated one would sleep on.
 */
export function timer(): void {
  for (let cpu: u32 = 0; cpu < nrCpus; cpu++) {
    if (dsqNr(cpuDsq(cpu)) != 0) kickCpu(cpu, KICK_IDLE);
  }
  for (let d: u32 = 0; d < nrDomains; d++) {
    if (dsqNr(dsqUser(d)) != 0) kickIdleCpus(domainCpus(d));
  }
  policyTimer(now + heartbeat);
}
