// Who watches decisions: the fingerprint of the schedule, the record of decisions, histograms of tasks, ∫ runnable tasks dt.

import { HISTOGRAM_KINDS, P_DECISIONS, P_DIGEST } from '../abi';
import {
  count,
  counter,
  DIGEST,
  param,
  RUNNABLE,
  RUNNABLE_AREA,
  RUNNABLE_SINCE,
  setCounter,
} from '../core/counters';
import { histogramRecord } from '../core/histogram';
import { TASK_SHIFT } from '../core/layout';
import { decisionsInit, recordDecision } from './decisions';
import { now } from './events';
import { TASK_STATS } from './task';

const DIGESTING: u32 = 1;
const RECORDING: u32 = 2;

/** Who wants to know of each decision: bits DIGESTING and RECORDING. */
let observers: u32 = 0;

export function observeInit(): void {
  observers = (param(P_DIGEST) != 0 ? DIGESTING : 0) | (param(P_DECISIONS) != 0 ? RECORDING : 0);
  decisionsInit(param(P_DECISIONS));
}

// @ts-ignore: decorator
@inline
export function decided(kind: u32, cpu: u32, t: u32): void {
  if (observers == 0) return;
  if ((observers & RECORDING) != 0) recordDecision(kind, cpu, t);
  if ((observers & DIGESTING) != 0) digest(kind, cpu, t);
}

/** Folds a decision into the fingerprint of the whole schedule. */
// @ts-ignore: decorator
@inline
function digest(kind: u32, cpu: u32, t: u32): void {
  const what = ((kind as u64) << 56) | ((cpu as u64) << 32) | ((t >> TASK_SHIFT) as u64);
  let h = (counter(DIGEST) ^ now) * 0x9e3779b97f4a7c15;
  h = (h ^ (h >> 29) ^ what) * 0xbf58476d1ce4e5b9;
  setCounter(DIGEST, h ^ (h >> 32));
}

// @ts-ignore: decorator
@inline
export function record(t: u32, kind: u32, value: u64): void {
  histogramRecord(load<u32>(t, TASK_STATS) * HISTOGRAM_KINDS + kind, value);
}

// @ts-ignore: decorator
@inline
export function changeRunnable(change: i64): void {
  const n = counter(RUNNABLE);
  count(RUNNABLE_AREA, n * (now - counter(RUNNABLE_SINCE)));
  setCounter(RUNNABLE_SINCE, now);
  setCounter(RUNNABLE, n + change);
}

/** Brings RUNNABLE_AREA up to the clock. */
export function integrateRunnable(): void {
  changeRunnable(0);
}
