// The worker: an invocation passes its control plane, waits for a permit and a domain, runs in a container, and passes
// the control plane again. The control plane's work is CPU work of fair tasks, or a pure delay.
//
//   arrival ─ before ─▶ queue ─ permit, domain, container ─▶ (cold start) ─▶ container's queue ─ code ─▶ after ─▶ response
//
// An invocation may also be dropped (the queue is full, its container does not start), pass the queue by, or lose its
// client: then it leaves the queue, or is served to the end and counted as timed out. What it holds it gives back in
// every case; checkWorker() compares with the jobs that are left.

import {
  CLASS_FAIR,
  CLS_COLD_STARTS,
  CLS_DROPPED,
  CLS_TIMED_OUT,
  FN_CONTAINERS,
  FN_CPUS,
  NONE,
  P_BYPASS_NS,
  P_COLD_CPU,
  P_COLD_FAILURE,
  P_COLD_START,
  P_CONCURRENCY,
  P_CONTROL_CGROUP,
  P_ON_FULL_WAIT,
  P_OVERHEAD_AFTER,
  P_OVERHEAD_BEFORE,
  P_OVERHEAD_DELAY,
  P_QUEUE_LIMIT,
  P_QUEUE_ORDER,
  P_TIMEOUT_NS,
  P_WORKER_THREADS,
  QUEUE_NONE,
  STATE_CONTROL,
  STATE_QUEUED,
  STATE_STARTING,
  STATE_WAKING,
} from '../abi';
import { ABANDONED, ASSIGNED, BYPASSED, COLD_FAILURES, COLD_STARTS, CONTAINERS_GROWN, count, DROPPED, param, REASSIGNMENTS, TIMED_OUT, UNMAPPED } from '../core/counters';
import { drawValue } from '../core/distribution';
import { fail, FAIL_CONSERVATION, FAIL_WHEEL } from '../core/failure';
import { CGROUP_DOMAIN, FUNCTIONS, FUNCTION_SHIFT, JOB_SHIFT } from '../core/layout';
import { draw64, entityKey } from '../core/random';
import { now } from '../kernel/events';
import { explainedJob, explainStart } from '../kernel/explain';
import { JOB_ARRIVAL, JOB_CONTAINER, JOB_CPU_NS, JOB_CPUS, JOB_DOMAIN, JOB_FINISHED, JOB_FLAGS, JOB_FUNCTION, JOB_KEY, JOB_OVERHEAD, JOB_QUEUE_SLOT, JOB_SOURCE, JOB_STAGE, JOB_STARTED, JOB_STATS, JOB_TIMER, jobSlots, jobState, NEVER_ARRIVED } from '../kernel/job';
import { namedCgroup } from '../kernel/group';
import { nrCpus } from '../kernel/mask';
import { queueSend } from '../kernel/program';
import { queueAddWaiter, queueCreate } from '../kernel/queue';
import { CGROUP_UNMAPPED, taskCreate } from '../kernel/spawn';
import { FLAG_BACKGROUND, FLAG_CONTROL, STATE_BLOCKED, TASK_CPU, TASK_FLAGS, TASK_LAST_CPU, TASK_QUEUE, TASK_RECENT_CPU, TASK_STATE } from '../kernel/task';
import { nrDomains } from '../policy/mapping';
import { opsMapped } from '../policy/ops';
import { sourceJobLeft } from './arrivals';
import { assignDomain, assignmentInit, assigns, noteServed, retryAfter } from './assignment';
import { domainRelease, domainRunning, domainUsed } from './capacity';
import { CONTAINER_CGROUP, CONTAINER_QUEUE, containerCreate, containerDiscard, containersInit, containerTake, hasFreeContainer } from './containers';
import { cancelDelivery, deliver, deliverLater, DELIVERY_CONTROL, DELIVERY_EXPIRY, DELIVERY_PREWARM, DELIVERY_RETRY, DELIVERY_STARTED, DELIVERY_TIMEOUT, DELIVERY_WARM } from './delivery';
import { functionExpected, iatInit, noteArrival, noteExecution } from './iat';
import { fits, forgetExpiry, keepAliveInit, keepOrEvict, noteIdleEnds, onExpiry, onPrewarm, onWarm, roomForContainer } from './keepalive';
import { classAdd, complete, depart } from './service';
import { workerQueueHead, workerQueueInit, workerQueueLength, workerQueuePush, workerQueueRemove } from './workerqueue';

/** Stages of an invocation: which control-plane step comes next. */
const STAGE_ADMIT: u32 = 0;
const STAGE_CODE: u32 = 1;
const STAGE_RESPOND: u32 = 2;
const STAGE_COLD: u32 = 3;

/** JOB_FLAGS: holds a permit; its client has given up; its container started for it. */
const JOB_PERMIT: u32 = 1;
const JOB_ABANDONED: u32 = 2;
const JOB_COLD: u32 = 4;

/** Draws of a job's key. */
const DRAW_COLD_START: u64 = 200;
const DRAW_COLD_FAILURE: u64 = 201;

let concurrency: u32 = 0;
let running: u32 = 0;
let onFullWait: bool = false;
let delays: bool = false;
let before: u32 = NONE;
let after: u32 = NONE;
let noQueue: bool = false;
let queueLimit: u32 = 0;
let bypassNs: u64 = 0;
let timeoutNs: u64 = 0;
let coldStart: u32 = NONE;
let coldCpu: bool = false;
let coldFailure: u64 = 0;
/** The head of the queue waits for the release of a domain, or for room for a container; nothing overtakes it. */
let waitsForDomain: bool = false;
let waitsForRoom: bool = false;
/** Delivery that ends the wait for a domain, 0 = none. */
let retry: u32 = 0;
/** Jobs that wait for a control-plane task. */
let control: u32 = 0;

/** `controlPc` is the loop of a control-plane task: receive, run the job's overhead, OP_CONTROL. */
export function workerInit(functions: u32, controlPc: u32, controlStats: u32, masterStats: u32): void {
  concurrency = param(P_CONCURRENCY) as u32;
  running = 0;
  onFullWait = param(P_ON_FULL_WAIT) != 0;
  delays = param(P_OVERHEAD_DELAY) != 0;
  before = param(P_OVERHEAD_BEFORE) as u32;
  after = param(P_OVERHEAD_AFTER) as u32;
  noQueue = (param(P_QUEUE_ORDER) as u32) == QUEUE_NONE;
  queueLimit = param(P_QUEUE_LIMIT) as u32;
  bypassNs = param(P_BYPASS_NS);
  timeoutNs = param(P_TIMEOUT_NS);
  coldStart = param(P_COLD_START) as u32;
  coldCpu = param(P_COLD_CPU) != 0;
  coldFailure = param(P_COLD_FAILURE);
  waitsForDomain = false;
  waitsForRoom = false;
  retry = 0;
  workerQueueInit();
  assignmentInit(functions);
  if (functions == 0) return;
  iatInit(functions);
  containersInit(masterStats, functions);
  keepAliveInit(functions);
  control = queueCreate(0);
  const threads = param(P_WORKER_THREADS) as u32;
  const ofSystem = param(P_CONTROL_CGROUP) as u32;
  const controlCgroup = ofSystem != 0 ? namedCgroup(ofSystem) : CGROUP_UNMAPPED;
  for (let i: u32 = 0; i < threads; i++) {
    const t = taskCreate(controlPc + 1, CLASS_FAIR, 1024, 0, 0, controlCgroup, controlStats, true, i);
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
    for (let k: u32 = 0; k < n && fits(f); k++) {
      const made = containerCreate(f, false);
      if (made == 0) return;
      keepOrEvict(made);
    }
  }
}

export function functionArrival(j: u32, f: u32): void {
  noteArrival(f);
  noteIdleEnds(f);
  store<u32>(j, f, JOB_FUNCTION);
  store<u32>(j, NONE, JOB_DOMAIN);
  store<u32>(j, load<u32>(f << FUNCTION_SHIFT, FUNCTIONS + FN_CPUS), JOB_CPUS);
  if (timeoutNs != 0) store<u32>(j, deliverLater(now + timeoutNs, DELIVERY_TIMEOUT, j), JOB_TIMER);
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

/** A control-plane task has done its work on j, or the container's worker its cold start or the function's code. */
export function workerStep(j: u32, cpu: i32, task: u32): void {
  const stage = load<u32>(j, JOB_STAGE);
  if (stage == STAGE_CODE) codeEnds(j, cpu, task);
  else if (stage == STAGE_COLD) containerStarted(j, cpu, task);
  else step(j, cpu, task);
}

export function onWorkerDelivery(kind: u32, a: u32): void {
  switch (kind) {
    case DELIVERY_CONTROL:
      step(a, -1, 0);
      break;
    case DELIVERY_STARTED:
      containerStarted(a, -1, 0);
      break;
    case DELIVERY_TIMEOUT:
      clientGivesUp(a);
      break;
    case DELIVERY_RETRY:
      retry = 0;
      waitsForDomain = false;
      admit(-1, 0);
      break;
    case DELIVERY_EXPIRY:
      onExpiry(a);
      roomMade(-1, 0);
      break;
    case DELIVERY_PREWARM:
      onPrewarm(a);
      break;
    case DELIVERY_WARM:
      onWarm(a);
      roomMade(-1, 0);
      break;
  }
}

// ---- the queue ------------------------------------------------------------------------------------------

function step(j: u32, cpu: i32, task: u32): void {
  if (load<u32>(j, JOB_STAGE) == STAGE_ADMIT) {
    if ((load<u32>(j, JOB_FLAGS) & JOB_ABANDONED) != 0) {
      leave(j, TIMED_OUT, CLS_TIMED_OUT);
      return;
    }
    enqueue(j, cpu, task);
  } else {
    release(j);
    if ((load<u32>(j, JOB_FLAGS) & JOB_ABANDONED) != 0) {
      count(ABANDONED);
      leave(j, TIMED_OUT, CLS_TIMED_OUT);
    } else {
      forgetTimeout(j);
      complete(j);
    }
  }
  admit(cpu, task);
}

function enqueue(j: u32, cpu: i32, task: u32): void {
  jobState(j, STATE_QUEUED);
  if (passesBy(j)) {
    const d = domainFor(j);
    if (d != NONE || !assigns() || !onFullWait) {
      if (!noQueue) count(BYPASSED);
      start(j, d, cpu, task);
      return;
    }
  }
  if (queueLimit != 0 && workerQueueLength() >= queueLimit) leave(j, DROPPED, CLS_DROPPED);
  else workerQueuePush(j);
}

/** Without a queue nothing waits; else what is short and finds a warm container needs no permit. */
function passesBy(j: u32): bool {
  if (noQueue) return true;
  if (bypassNs == 0) return false;
  const f = load<u32>(j, JOB_FUNCTION);
  return functionExpected(f) < bypassNs && hasFreeContainer(f);
}

function domainFor(j: u32): u32 {
  if (!assigns()) return NONE;
  return assignDomain(load<u32>(j, JOB_FUNCTION), load<u32>(j, JOB_CPUS), load<u64>(j, JOB_KEY));
}

/** Starts invocations from the head of the queue while there are permits; a head that must wait blocks the rest. */
function admit(cpu: i32, task: u32): void {
  while (!waitsForDomain && !waitsForRoom && (concurrency == 0 || running < concurrency)) {
    const j = workerQueueHead();
    if (j == 0) return;
    const f = load<u32>(j, JOB_FUNCTION);
    if (!hasFreeContainer(f) && !roomForContainer(f)) {
      waitsForRoom = true;
      return;
    }
    const d = domainFor(j);
    if (d == NONE && assigns() && onFullWait) {
      waitsForDomain = true;
      const wait = retryAfter(f);
      if (wait != 0) retry = deliverLater(now + wait, DELIVERY_RETRY, 0);
      return;
    }
    workerQueueRemove(j);
    running++;
    store<u32>(j, load<u32>(j, JOB_FLAGS) | JOB_PERMIT, JOB_FLAGS);
    start(j, d, cpu, task);
  }
}

function headMayGo(): void {
  waitsForDomain = false;
  if (retry == 0) return;
  cancelDelivery(retry);
  retry = 0;
}

/** A container is free or gone: a head that waits for room tries again. */
function roomMade(cpu: i32, task: u32): void {
  if (!waitsForRoom) return;
  waitsForRoom = false;
  admit(cpu, task);
}

// ---- in the container -----------------------------------------------------------------------------------

function start(j: u32, d: u32, cpu: i32, task: u32): void {
  const f = load<u32>(j, JOB_FUNCTION);
  if (explainedJob != NONE) explainStart(j);
  store<u32>(j, d, JOB_DOMAIN);
  if (assigns()) count(d == NONE ? UNMAPPED : ASSIGNED);
  let k = containerTake(f);
  const cold = k == 0;
  if (cold) {
    k = containerCreate(f, true);
    if (k == 0) return;
    count(CONTAINERS_GROWN);
    count(COLD_STARTS);
    classAdd(load<u32>(j, JOB_STATS), CLS_COLD_STARTS, 1);
  } else {
    forgetExpiry(k);
  }
  const cgroup = load<u32>(k, CONTAINER_CGROUP) << 2;
  const previous = load<u32>(cgroup, CGROUP_DOMAIN);
  if (previous != d) {
    if (previous != NONE) count(REASSIGNMENTS);
    store<u32>(cgroup, d, CGROUP_DOMAIN);
    opsMapped(cgroup >> 2, d);
  }
  store<u32>(j, k, JOB_CONTAINER);
  if (cold) startContainer(j, cpu, task);
  else call(j, cpu, task);
}

function startContainer(j: u32, cpu: i32, task: u32): void {
  store<u32>(j, STAGE_COLD, JOB_STAGE);
  store<u32>(j, load<u32>(j, JOB_FLAGS) | JOB_COLD, JOB_FLAGS);
  if (coldStart == NONE) {
    containerStarted(j, cpu, task);
    return;
  }
  const work = drawValue(coldStart, entityKey(load<u64>(j, JOB_KEY), DRAW_COLD_START), 0);
  if (coldCpu) {
    store<u64>(j, work, JOB_OVERHEAD);
    queueSend(load<u32>(load<u32>(j, JOB_CONTAINER), CONTAINER_QUEUE), j, STATE_WAKING, cpu, task);
    return;
  }
  jobState(j, STATE_STARTING);
  deliverLater(now + work, DELIVERY_STARTED, j);
}

function containerStarted(j: u32, cpu: i32, task: u32): void {
  const failed = draw64(entityKey(load<u64>(j, JOB_KEY), DRAW_COLD_FAILURE), 0) >> 32 < coldFailure;
  if (!failed) {
    call(j, cpu, task);
    return;
  }
  count(COLD_FAILURES);
  containerDiscard(load<u32>(j, JOB_CONTAINER));
  release(j);
  if ((load<u32>(j, JOB_FLAGS) & JOB_ABANDONED) != 0) leave(j, TIMED_OUT, CLS_TIMED_OUT);
  else leave(j, DROPPED, CLS_DROPPED);
  roomMade(cpu, task);
  admit(cpu, task);
}

function call(j: u32, cpu: i32, task: u32): void {
  store<u32>(j, STAGE_CODE, JOB_STAGE);
  store<u64>(j, now, JOB_STARTED);
  queueSend(load<u32>(load<u32>(j, JOB_CONTAINER), CONTAINER_QUEUE), j, STATE_WAKING, cpu, task);
}

function codeEnds(j: u32, cpu: i32, task: u32): void {
  store<u64>(j, now, JOB_FINISHED);
  const f = load<u32>(j, JOB_FUNCTION);
  noteExecution(f, now - load<u64>(j, JOB_STARTED));
  noteServed(f, load<u64>(j, JOB_CPU_NS));
  keepOrEvict(load<u32>(j, JOB_CONTAINER));
  roomMade(cpu, task);
  controlWork(j, STAGE_RESPOND, after, cpu, task);
}

// ---- leaving --------------------------------------------------------------------------------------------

/** Permit and domain go back. */
function release(j: u32): void {
  const d = load<u32>(j, JOB_DOMAIN);
  if (d != NONE) domainRelease(d, load<u32>(j, JOB_CPUS));
  if ((load<u32>(j, JOB_FLAGS) & JOB_PERMIT) != 0) running--;
  headMayGo();
}

function forgetTimeout(j: u32): void {
  const node = load<u32>(j, JOB_TIMER);
  if (node == 0) return;
  cancelDelivery(node);
  store<u32>(j, 0, JOB_TIMER);
}

/** Leaves without a response. The source of a job whose client has given up knows already. */
function leave(j: u32, counter: u32, classField: u32): void {
  forgetTimeout(j);
  depart(j, counter, classField, (load<u32>(j, JOB_FLAGS) & JOB_ABANDONED) == 0);
}

/** What waits leaves at once; what the control plane or a container has begun is done to its end. */
function clientGivesUp(j: u32): void {
  store<u32>(j, 0, JOB_TIMER);
  store<u32>(j, load<u32>(j, JOB_FLAGS) | JOB_ABANDONED, JOB_FLAGS);
  sourceJobLeft(load<u32>(j, JOB_SOURCE));
  if (load<u32>(j, JOB_QUEUE_SLOT) == 0) return;
  if (workerQueueHead() == j) {
    headMayGo();
    waitsForRoom = false;
  }
  workerQueueRemove(j);
  leave(j, TIMED_OUT, CLS_TIMED_OUT);
  admit(-1, 0);
}

/** At the end: permits, CPUs of domains and containers are held by exactly the jobs that are still in the system. */
export function checkWorker(): void {
  let permits: u32 = 0;
  let cpus: u32 = 0;
  let mapped: u32 = 0;
  let queued: u32 = 0;
  for (let j: u32 = 1 << JOB_SHIFT, end = jobSlots() << JOB_SHIFT; j < end; j += 1 << JOB_SHIFT) {
    if (load<u64>(j, JOB_ARRIVAL) == NEVER_ARRIVED) continue;
    if ((load<u32>(j, JOB_FLAGS) & JOB_PERMIT) != 0) permits++;
    if (load<u32>(j, JOB_QUEUE_SLOT) != 0) queued++;
    if (load<u32>(j, JOB_CONTAINER) == 0 || load<u32>(j, JOB_DOMAIN) == NONE) continue;
    cpus += load<u32>(j, JOB_CPUS);
    mapped++;
  }
  for (let d: u32 = 0; d < nrDomains; d++) {
    cpus -= domainUsed(d);
    mapped -= domainRunning(d);
  }
  if (permits != running || cpus != 0 || mapped != 0 || queued != workerQueueLength()) fail(FAIL_CONSERVATION, 0, 0, running);
}
