// The end of a job: checks, statistics, its row, and the news to its source. The kernel's interpreter calls this file.

import {
  CLS_COMPLETED,
  CLS_COST_NS,
  CLS_CPU_NS,
  CLS_DROPPED,
  CLS_DURATION_NS,
  CLS_LATENCY_NS,
  CLS_MEASURED,
  CLS_STATES_NS,
  CLS_WORKER_DURATION_NS,
  HISTOGRAM_KINDS,
  HISTOGRAM_LATENCY,
  HISTOGRAM_WORKER_DURATION,
  STATE_COUNT,
  STATE_RUNNING,
} from '../abi';
import { COMPLETED, count, DROPPED, SOJOURN } from '../core/counters';
import { fail, FAIL_STATE_SUM } from '../core/failure';
import { histogramRecord } from '../core/histogram';
import { CLASS_SHIFT, CLASSES } from '../core/layout';
import { now } from '../kernel/events';
import {
  JOB_ARRIVAL,
  JOB_CPU_NS,
  JOB_DURATION,
  JOB_FINISHED,
  JOB_MEASURED,
  JOB_SOURCE,
  JOB_STARTED,
  JOB_STATE,
  JOB_STATS,
  JOB_TIMES,
  jobLeave,
  jobState,
  jobTimes,
} from '../kernel/job';
import { sourceJobLeft } from './arrivals';
import { writeRow } from './rows';
import { workerStep } from './worker';

// @ts-ignore: decorator
@inline
export function classAdd(stats: u32, field: u32, amount: u64): void {
  const at = CLASSES + ((stats as usize) << CLASS_SHIFT) + ((field as usize) << 3);
  store<u64>(at, load<u64>(at) + amount);
}

/** OP_FINISH: a job without control plane is done. */
export function jobFinished(j: u32): void {
  store<u64>(j, now, JOB_FINISHED);
  complete(j);
}

/** A job in the system that a full queue refuses leaves it without an answer. */
export function jobDropped(j: u32): void {
  count(DROPPED);
  count(SOJOURN, now - load<u64>(j, JOB_ARRIVAL));
  classAdd(load<u32>(j, JOB_STATS), CLS_DROPPED, 1);
  const source = load<u32>(j, JOB_SOURCE);
  jobLeave(j);
  sourceJobLeft(source);
}

/** OP_CONTROL: the worker's control plane takes the job over. */
export function controlStep(j: u32, cpu: i32, task: u32): void {
  workerStep(j, cpu, task);
}

/** A job leaves the system without a response, counted in `counter`; `tell`: its source does not know yet. */
export function depart(j: u32, counter: u32, classField: u32, tell: bool): void {
  jobState(j, load<u32>(j, JOB_STATE));
  const time = now - load<u64>(j, JOB_ARRIVAL);
  if (jobTimes(j) != time) fail(FAIL_STATE_SUM, 0, 0, time);
  count(counter);
  count(SOJOURN, time);
  classAdd(load<u32>(j, JOB_STATS), classField, 1);
  const source = load<u32>(j, JOB_SOURCE);
  jobLeave(j);
  if (tell) sourceJobLeft(source);
}

/** Adds the job's time per state to its class; returns their sum. */
function addTimes(j: u32, stats: u32): u64 {
  let sum: u64 = 0;
  for (let s: u32 = 0; s < STATE_COUNT; s++) {
    const time = load<u64>(j + (s << 3), JOB_TIMES);
    sum += time;
    classAdd(stats, CLS_STATES_NS + s, time);
  }
  return sum;
}

/** The response leaves the system. */
export function complete(j: u32): void {
  jobState(j, load<u32>(j, JOB_STATE));
  const latency = now - load<u64>(j, JOB_ARRIVAL);
  count(COMPLETED);
  count(SOJOURN, latency);
  const stats = load<u32>(j, JOB_STATS);
  classAdd(stats, CLS_COMPLETED, 1);
  const isMeasured = load<u32>(j, JOB_MEASURED) != 0;
  if ((isMeasured ? addTimes(j, stats) : jobTimes(j)) != latency) fail(FAIL_STATE_SUM, 0, 0, latency);
  if (isMeasured) {
    const started = load<u64>(j, JOB_STARTED);
    const duration = load<u64>(j, JOB_FINISHED) - (started != 0 ? started : load<u64>(j, JOB_ARRIVAL));
    const cpu = load<u64>(j, JOB_CPU_NS);
    classAdd(stats, CLS_MEASURED, 1);
    classAdd(stats, CLS_LATENCY_NS, latency);
    classAdd(stats, CLS_WORKER_DURATION_NS, duration);
    classAdd(stats, CLS_CPU_NS, cpu);
    classAdd(stats, CLS_COST_NS, cost(latency, cpu, duration));
    classAdd(stats, CLS_DURATION_NS, load<u64>(j, JOB_DURATION));
    histogramRecord(stats * HISTOGRAM_KINDS + HISTOGRAM_LATENCY, latency);
    histogramRecord(stats * HISTOGRAM_KINDS + HISTOGRAM_WORKER_DURATION, duration);
    writeRow(j, latency, duration);
  }
  const source = load<u32>(j, JOB_SOURCE);
  jobLeave(j);
  sourceJobLeft(source);
}

/** Invocation cost: latency × CPU utilisation, where utilisation = CPU time / worker duration. */
// @ts-ignore: decorator
@inline
function cost(latency: u64, cpu: u64, duration: u64): u64 {
  if (duration == 0) return 0;
  return ((latency as f64) * ((cpu as f64) / (duration as f64))) as u64;
}
