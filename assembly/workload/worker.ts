// The worker: an invocation passes its control plane, waits in one FIFO for a permit and a domain, runs in a container,
// and passes the control plane again. The control plane's work is CPU work of fair tasks, or a pure delay.
//
//   arrival ─ before ─▶ FIFO ─ permit, domain, container ─▶ container's queue ─ code ─▶ after ─▶ response

import {
  CLASS_FAIR,
  FN_CONTAINERS,
  FN_CPUS,
  NONE,
  P_CONCURRENCY,
  P_ON_FULL_WAIT,
  P_OVERHEAD_AFTER,
  P_OVERHEAD_BEFORE,
  P_OVERHEAD_DELAY,
  P_WORKER_THREADS,
  STATE_CONTROL,
  STATE_QUEUED,
  STATE_WAKING,
} from '../abi';
import { ASSIGNED, CONTAINERS_GROWN, count, counter, param, QUEUE_AREA, QUEUE_PEAK, QUEUE_SINCE, REASSIGNMENTS, setCounter, UNMAPPED } from '../core/counters';
import { drawValue } from '../core/distribution';
import { fail, FAIL_WHEEL } from '../core/failure';
import { CGROUP_DOMAIN, FUNCTIONS, FUNCTION_SHIFT } from '../core/layout';
import { entityKey } from '../core/random';
import { now } from '../kernel/events';
import { JOB_CONTAINER, JOB_CPUS, JOB_DOMAIN, JOB_FINISHED, JOB_FUNCTION, JOB_KEY, JOB_OVERHEAD, JOB_STAGE, JOB_STARTED, jobState } from '../kernel/job';
import { nrCpus } from '../kernel/mask';
import { queueSend } from '../kernel/program';
import { queueAddWaiter, queueCreate, queuePop, queuePush, QUEUE_HEAD, QUEUE_NR } from '../kernel/queue';
import { CGROUP_UNMAPPED, taskCreate } from '../kernel/spawn';
import { FLAG_BACKGROUND, FLAG_CONTROL, STATE_BLOCKED, TASK_CPU, TASK_FLAGS, TASK_LAST_CPU, TASK_QUEUE, TASK_RECENT_CPU, TASK_STATE } from '../kernel/task';
import { assignDomain, assignmentInit, assigns, releaseDomain } from './assignment';
import { CONTAINER_CGROUP, CONTAINER_QUEUE, containerCreate, containerReturn, containersInit, containersReset, containerTake } from './containers';
import { deliver, DELIVERY_CONTROL } from './delivery';
import { iatInit, noteArrival } from './iat';
import { complete } from './service';

/** Stages of an invocation: which control-plane step comes next. */
const STAGE_ADMIT: u32 = 0;
const STAGE_CODE: u32 = 1;
const STAGE_RESPOND: u32 = 2;

let concurrency: u32 = 0;
let running: u32 = 0;
let onFullWait: bool = false;
let delays: bool = false;
let before: u32 = NONE;
let after: u32 = NONE;
/** Jobs that wait for a permit; jobs that wait for a control-plane task. */
let fifo: u32 = 0;
let control: u32 = 0;

/** `controlPc` is the loop of a control-plane task: receive, run the job's overhead, OP_CONTROL. */
export function workerInit(functions: u32, controlPc: u32, controlStats: u32, masterStats: u32): void {
  concurrency = param(P_CONCURRENCY) as u32;
  running = 0;
  onFullWait = param(P_ON_FULL_WAIT) != 0;
  delays = param(P_OVERHEAD_DELAY) != 0;
  before = param(P_OVERHEAD_BEFORE) as u32;
  after = param(P_OVERHEAD_AFTER) as u32;
  if (functions == 0) return;
  assignmentInit();
  iatInit(functions);
  containersInit(masterStats);
  containersReset(functions);
  fifo = queueCreate(0);
  control = queueCreate(0);
  const threads = param(P_WORKER_THREADS) as u32;
  for (let i: u32 = 0; i < threads; i++) {
    const t = taskCreate(controlPc + 1, CLASS_FAIR, 1024, 0, 0, CGROUP_UNMAPPED, controlStats, true, i);
    if (t == 0) return;
    const cpu = i % nrCpus;
    store<u16>(t, (FLAG_BACKGROUND | FLAG_CONTROL) as u16, TASK_FLAGS);
    store<u8>(t, STATE_BLOCKED, TASK_STATE);
    store<u32>(t, cpu, TASK_CPU);
    store<u32>(t, cpu, TASK_RECENT_CPU);
    store<u16>(t, cpu as u16, TASK_LAST_CPU);
    store<u32>(t, control, TASK_QUEUE);
    queueAddWaiter(control, t);
  }
  for (let f: u32 = 0; f < functions; f++) {
    const n = load<u32>(f << FUNCTION_SHIFT, FUNCTIONS + FN_CONTAINERS);
    for (let k: u32 = 0; k < n; k++) {
      const made = containerCreate(f);
      if (made == 0) return;
      containerReturn(made);
    }
  }
}

/** Brings the integral of the FIFO's length up to the clock. */
export function integrateQueue(): void {
  count(QUEUE_AREA, (load<u32>(fifo, QUEUE_NR) as u64) * (now - counter(QUEUE_SINCE)));
  setCounter(QUEUE_SINCE, now);
}

export function functionArrival(j: u32, f: u32): void {
  noteArrival(f);
  store<u32>(j, f, JOB_FUNCTION);
  store<u32>(j, NONE, JOB_DOMAIN);
  store<u32>(j, load<u32>(f << FUNCTION_SHIFT, FUNCTIONS + FN_CPUS), JOB_CPUS);
  controlWork(j, STAGE_ADMIT, before, -1, 0);
}

/** The control plane works on j before stage `next`. */
function controlWork(j: u32, next: u32, dist: u32, cpu: i32, task: u32): void {
  store<u32>(j, next, JOB_STAGE);
  if (dist == NONE) {
    jobState(j, STATE_CONTROL);
    step(j, cpu, task);
    return;
  }
  const work = drawValue(dist, entityKey(load<u64>(j, JOB_KEY), 100 + next), 0);
  if (delays) {
    jobState(j, STATE_CONTROL);
    if (!deliver(now + work, DELIVERY_CONTROL, j)) fail(FAIL_WHEEL, 0, 0, 0);
    return;
  }
  store<u64>(j, work, JOB_OVERHEAD);
  queueSend(control, j, STATE_CONTROL, cpu, task);
}

/** A control-plane task has done its work on j, or the container's worker has run the function's code. */
export function workerStep(j: u32, cpu: i32, task: u32): void {
  if (load<u32>(j, JOB_STAGE) != STAGE_CODE) {
    step(j, cpu, task);
    return;
  }
  store<u64>(j, now, JOB_FINISHED);
  containerReturn(load<u32>(j, JOB_CONTAINER));
  controlWork(j, STAGE_RESPOND, after, cpu, task);
}

/** The delay of a control-plane step is over. */
export function onControlDelay(j: u32): void {
  step(j, -1, 0);
}

function step(j: u32, cpu: i32, task: u32): void {
  if (load<u32>(j, JOB_STAGE) == STAGE_ADMIT) {
    jobState(j, STATE_QUEUED);
    integrateQueue();
    queuePush(fifo, j);
    const length = load<u32>(fifo, QUEUE_NR) as u64;
    if (length > counter(QUEUE_PEAK)) setCounter(QUEUE_PEAK, length);
  } else {
    const d = load<u32>(j, JOB_DOMAIN);
    if (d != NONE) releaseDomain(d, load<u32>(j, JOB_CPUS));
    running--;
    complete(j);
  }
  admit(cpu, task);
}

/** Starts invocations from the head of the FIFO while there are permits; a head that finds no domain blocks the rest. */
function admit(cpu: i32, task: u32): void {
  while (concurrency == 0 || running < concurrency) {
    const j = load<u32>(fifo, QUEUE_HEAD);
    if (j == 0) return;
    let d: u32 = NONE;
    if (assigns()) {
      d = assignDomain(load<u32>(j, JOB_FUNCTION), load<u32>(j, JOB_CPUS));
      if (d == NONE) {
        if (onFullWait) return;
        count(UNMAPPED);
      } else {
        count(ASSIGNED);
      }
    }
    integrateQueue();
    queuePop(fifo);
    running++;
    start(j, d, cpu, task);
  }
}

function start(j: u32, d: u32, cpu: i32, task: u32): void {
  const f = load<u32>(j, JOB_FUNCTION);
  let k = containerTake(f);
  if (k == 0) {
    k = containerCreate(f);
    if (k == 0) return;
    count(CONTAINERS_GROWN);
  }
  const cgroup = load<u32>(k, CONTAINER_CGROUP) << 2;
  const previous = load<u32>(cgroup, CGROUP_DOMAIN);
  if (previous != d) {
    if (previous != NONE) count(REASSIGNMENTS);
    store<u32>(cgroup, d, CGROUP_DOMAIN);
  }
  store<u32>(j, d, JOB_DOMAIN);
  store<u32>(j, k, JOB_CONTAINER);
  store<u32>(j, STAGE_CODE, JOB_STAGE);
  store<u64>(j, now, JOB_STARTED);
  queueSend(load<u32>(k, CONTAINER_QUEUE), j, STATE_WAKING, cpu, task);
}
