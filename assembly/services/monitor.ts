// Looks at the system at regular times: tail latencies of the interval that ends, of requests and of each tier; a row of them; then
// the power controller may set the frequencies of tiers. What is served at the moment is finished as it was begun.
//
// A tier is a service under control; its instances share a frequency step.

import {
  CONTROLLER_ALGORITHM_1,
  CONTROLLER_PID,
  HISTOGRAM_KINDS,
  HISTOGRAM_WORKER_DURATION,
  INTERVAL_END_NS,
  INTERVAL_ENERGY,
  INTERVAL_RATE,
  INTERVAL_REQUESTS,
  INTERVAL_TAIL_NS,
  INTERVAL_TIERS,
  SVC_CONTROLLER,
  SVC_DURATION_NS,
  SVC_INTERVAL_NS,
  SVC_QUANTILE,
  SVC_STATS,
  SVC_TARGET_NS,
} from '../abi';
import { arenaAllocate } from '../core/arena';
import { ALIVE, counter } from '../core/counters';
import { HISTOGRAM_COUNT, histogramAddress, histogramClear, histogramReset, histogramValueAt } from '../core/histogram';
import { TASK_SHIFT } from '../core/layout';
import { mulQ32 } from '../core/random';
import { now, timerClear, timerSet } from '../kernel/events';
import { energyTotal } from '../machine/energy';
import { clientActive, currentRate } from './client';
import { metersEnergy } from './meter';
import { recordIntervals } from './request';
import { algorithm1, algorithm1Init } from './power';
import { pid, pidInit } from './pid';
import { setStep } from './loadstages';
import { instanceCount, instances } from './tables';
import {
  INSTANCE_BYTES,
  INSTANCE_PATH_COUNT,
  INSTANCE_PATHS,
  INSTANCE_STATS,
  INSTANCE_STEP,
  INSTANCE_STEPS,
  INSTANCE_TIER,
  PATH_BYTES,
  TIER_BYTES,
  TIER_HISTOGRAM,
  TIER_STEP,
  TIER_STEPS,
  TIER_TAIL,
} from './records';

/** Rows kept if the length of the run is not known. */
const ROWS_UNBOUNDED: u64 = 65536;
const MOST_ROWS: u64 = 1048576;

let task: u32 = 0;
let interval: u64 = 0;
let quantile: u64 = 0;
let target: u64 = 0;
let controller: u32 = 0;
let requests: u32 = 0;
let tiers: u32 = 0;
let tierCount: u32 = 0;
let rows: usize = 0;
let rowLimit: u32 = 0;
let rowsUsed: u32 = 0;

export function monitorReset(count: u32): void {
  tierCount = count;
  tiers = arenaAllocate((count as usize) * TIER_BYTES) as u32;
  rowsUsed = 0;
  interval = 0;
}

// @ts-ignore: decorator
@inline
export function tierAt(index: u32): u32 {
  return tiers + index * (TIER_BYTES as u32);
}

/** The tier of an instance; its first instance lends it the statistics class and says how many steps there are. */
export function tierOf(index: u32, instance: u32): u32 {
  const tier = tierAt(index);
  if (load<u32>(tier, TIER_STEPS) == 0) {
    // A kind of histogram that services have no other use for.
    store<u32>(tier, load<u32>(instance, INSTANCE_STATS) * HISTOGRAM_KINDS + HISTOGRAM_WORKER_DURATION, TIER_HISTOGRAM);
    store<u32>(tier, load<u32>(instance, INSTANCE_STEP), TIER_STEP);
    store<u32>(tier, load<u32>(instance, INSTANCE_STEPS), TIER_STEPS);
  }
  return tier;
}

/** Takes over the client's record (SVC_). */
export function monitorInit(record: usize, monitorTask: u32): void {
  task = monitorTask;
  interval = load<u64>(record + SVC_INTERVAL_NS * 8);
  if (interval == 0) return;
  quantile = load<u64>(record + SVC_QUANTILE * 8);
  target = load<u64>(record + SVC_TARGET_NS * 8);
  controller = load<u64>(record + SVC_CONTROLLER * 8) as u32;
  requests = (load<u64>(record + SVC_STATS * 8) as u32) * HISTOGRAM_KINDS + HISTOGRAM_WORKER_DURATION;
  recordIntervals(requests);
  const duration = load<u64>(record + SVC_DURATION_NS * 8);
  rowLimit = (duration == 0 ? ROWS_UNBOUNDED : min(duration / interval + 1, MOST_ROWS)) as u32;
  rows = arenaAllocate((rowLimit as usize) * rowBytes());
  if (controller == CONTROLLER_ALGORITHM_1) algorithm1Init(record, tierCount);
  else if (controller == CONTROLLER_PID) pidInit(record, tierCount);
  timerSet(task >> TASK_SHIFT, task, interval);
}

// @ts-ignore: decorator
@inline
function rowBytes(): usize {
  return ((INTERVAL_TIERS + 2 * tierCount) as usize) << 3;
}

/** The value of rank ⌊q n⌋ + 1 of the n of the interval, as the release takes it; 0 if there is none. */
function tailOf(histogram: u32): u64 {
  const n = load<u64>(histogramAddress(histogram), HISTOGRAM_COUNT);
  if (n == 0) return 0;
  return histogramValueAt(histogram, min(mulQ32(n, quantile) + 1, n));
}

/** The end of an interval. */
export function monitorDue(): void {
  const ended = load<u64>(histogramAddress(requests), HISTOGRAM_COUNT);
  // Nothing has come back although something is under way: as late as can be.
  const tail = ended != 0 ? tailOf(requests) : counter(ALIVE) != 0 ? u64.MAX_VALUE : 0;
  for (let i: u32 = 0; i < tierCount; i++) store<u64>(tierAt(i), tailOf(load<u32>(tierAt(i), TIER_HISTOGRAM)), TIER_TAIL);
  writeRow(ended, tail);
  if (ended != 0 || tail != 0) {
    if (controller == CONTROLLER_ALGORITHM_1) algorithm1(tail, target, currentRate());
    else if (controller == CONTROLLER_PID) pid(tail, target);
    applySteps();
  }
  histogramClear(requests);
  for (let i: u32 = 0; i < tierCount; i++) histogramClear(load<u32>(tierAt(i), TIER_HISTOGRAM));
  if (clientActive) {
    timerSet(task >> TASK_SHIFT, task, now + interval);
    return;
  }
  timerClear(task >> TASK_SHIFT);
  recordIntervals(0xffffffff);
}

function writeRow(ended: u64, tail: u64): void {
  if (rowsUsed == rowLimit || rows == 0) return;
  const row = rows + (rowsUsed as usize) * rowBytes();
  rowsUsed++;
  store<u64>(row + INTERVAL_END_NS * 8, now);
  store<u64>(row + INTERVAL_REQUESTS * 8, ended);
  store<u64>(row + INTERVAL_TAIL_NS * 8, tail);
  store<u64>(row + INTERVAL_RATE * 8, currentRate());
  if (metersEnergy) store<u64>(row + INTERVAL_ENERGY * 8, energyTotal(now));
  for (let i: u32 = 0; i < tierCount; i++) {
    const at = row + ((INTERVAL_TIERS + 2 * i) << 3);
    store<u64>(at, load<u64>(tierAt(i), TIER_TAIL));
    store<u64>(at, load<u32>(tierAt(i), TIER_STEP), 8);
  }
}

/** Instances take over the steps of their tiers. */
function applySteps(): void {
  for (let i: u32 = 0; i < instanceCount; i++) {
    const instance = instances + i * (INSTANCE_BYTES as u32);
    const tier = load<u32>(instance, INSTANCE_TIER);
    if (tier == 0) continue;
    const step = load<u32>(tier, TIER_STEP);
    if (step == load<u32>(instance, INSTANCE_STEP)) continue;
    store<u32>(instance, step, INSTANCE_STEP);
    let path = load<u32>(instance, INSTANCE_PATHS);
    for (let p: u32 = 0, n = load<u32>(instance, INSTANCE_PATH_COUNT); p < n; p++, path += PATH_BYTES as u32) setStep(path, step);
  }
}

/** Histograms of the last interval are not results. */
export function monitorFinish(): void {
  if (interval == 0) return;
  histogramReset(requests);
  for (let i: u32 = 0; i < tierCount; i++) histogramReset(load<u32>(tierAt(i), TIER_HISTOGRAM));
}

export function intervalRows(): u32 {
  return interval == 0 ? 0 : rowsUsed;
}

export function intervalRowBytes(): u32 {
  return rowBytes() as u32;
}

export function intervalRowsAddress(): usize {
  return rows;
}
