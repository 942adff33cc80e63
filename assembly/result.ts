// The end of a run: the invariants, checked in exact integers with both sides kept by different code, and the result
// image (abi/, SECTION_… from 101 on).

import {
  HISTOGRAM_KINDS,
  IMAGE_HEADER_BYTES,
  IMAGE_MAGIC,
  IMAGE_SECTION_BYTES,
  IMAGE_VERSION,
  P_CLASSES,
  P_ENERGY_END_NS,
  SECTION_BUCKETS,
  SECTION_CLASS_RESULTS,
  SECTION_CPU_RESULTS,
  SECTION_FREQUENCY_RESULTS,
  SECTION_HISTOGRAMS,
  SECTION_PACKAGE_RESULTS,
  SECTION_SUMMARY,
  SECTION_SV_CLIENT_RESULTS,
  SECTION_SV_EDGE_RESULTS,
  SECTION_SV_INTERVALS,
  SECTION_SV_RESULTS,
  SECTION_SV_SERIES,
  SVB_STRIDE,
  SECTION_SV_STEPS,
  SECTION_SV_WAITS,
  SVO_COUNT,
  SVR_COUNT,
  SVW_BYTES,
  CLS_COUNT,
} from './abi';
import { arenaAllocate } from './core/arena';
import {
  ALIVE,
  ARRIVED,
  COMPLETED,
  count,
  counter,
  COUNTERS_USED,
  DROPPED,
  END_NS,
  EXITED_CPU,
  NUMBER_AREA,
  NUMBER_SINCE,
  param,
  setCounter,
  SOJOURN,
  TIMED_OUT,
} from './core/counters';
import { fail, FAIL_CONSERVATION, FAIL_CPU_TIME, FAIL_DEADLOCK, FAIL_LITTLE, failure } from './core/failure';
import {
  HISTOGRAM_COUNT,
  HISTOGRAM_MAX,
  HISTOGRAM_MIN,
  HISTOGRAM_SUM_HIGH,
  HISTOGRAM_SUM_LOW,
  histogramAddress,
  histogramBucketCount,
  histogramCountAt,
  histogramNextBucket,
  histogramsSettle,
} from './core/histogram';
import { CLASS_SHIFT, CLASSES, COUNTERS, CPU_SHIFT, JOB_SHIFT, TASK_SHIFT } from './core/layout';
import { energyCpu, energyPackage, frequencyTimeNs, cpuIdleEntries, machineFinish, packageIdleNs } from './machine/energy';
import { packageCount } from './machine/topology';
import { CPU_BUSY_NS, CPU_CURR, CPU_IDLE_NS, CPU_MIGRATIONS, CPU_OVERHEAD_NS, CPU_STATE_SINCE, CPU_SWITCHES } from './kernel/cpu';
import { now } from './kernel/events';
import { explainFinish } from './kernel/explain';
import { JOB_ARRIVAL, jobSlots, NEVER_ARRIVED } from './kernel/job';
import { nrCpus } from './kernel/mask';
import { updateCurr } from './kernel/charge';
import { integrateRunnable } from './kernel/observe';
import { CLASS_DEDICATED, STATE_FREE, TASK_CLASS, TASK_STATE, TASK_SUM_EXEC, taskSlots } from './kernel/task';
import { takeWindow } from './kernel/watchdog';
import { liveRequests, timeOfLiveRequests } from './services/call';
import { edgeCount, instanceCount, serving } from './services/tables';
import { seriesLength, writeSeries } from './services/series';
import { intervalRowBytes, intervalRows, intervalRowsAddress, monitorFinish } from './services/monitor';
import { clientResults } from './services/request';
import { checkServices, stepRows, writeEdges, writeInstances, writeSteps } from './services/results';
import { MOST_WAITS, writeServiceWaits } from './services/waits';
import { checkWorker } from './workload/worker';
import { integrateQueue } from './workload/workerqueue';

/** Brings every integral up to the clock and checks the conservation laws; a violation is a failure of the run. */
export function finish(): void {
  histogramsSettle();
  setCounter(END_NS, now);
  explainFinish();
  for (let cpu: u32 = 0; cpu < nrCpus; cpu++) {
    const c = cpu << CPU_SHIFT;
    updateCurr(c);
    const span = now - load<u64>(c, CPU_STATE_SINCE);
    store<u64>(c, now, CPU_STATE_SINCE);
    if (load<u32>(c, CPU_CURR) != 0) store<u64>(c, load<u64>(c, CPU_BUSY_NS) + span, CPU_BUSY_NS);
    else store<u64>(c, load<u64>(c, CPU_IDLE_NS) + span, CPU_IDLE_NS);
  }
  integrateRunnable();
  integrateQueue();
  takeWindow(energyTime());
  machineFinish(energyTime());
  checkJobs();
  checkCpuTime();
  checkWorker();
  checkServices();
  monitorFinish();
}

/** arrived = completed + dropped + timed out + in system, and Little's law: ∫ N dt = Σ time in system of finished and live jobs. */
function checkJobs(): void {
  if (counter(ARRIVED) != counter(COMPLETED) + counter(DROPPED) + counter(TIMED_OUT) + counter(ALIVE)) {
    fail(FAIL_CONSERVATION, 0, 0, counter(ARRIVED));
  }
  count(NUMBER_AREA, counter(ALIVE) * (now - counter(NUMBER_SINCE)));
  setCounter(NUMBER_SINCE, now);
  let sojourn = counter(SOJOURN) + timeOfLiveRequests();
  let live: u64 = liveRequests;
  for (let j: u32 = 1 << JOB_SHIFT, end = jobSlots() << JOB_SHIFT; j < end; j += 1 << JOB_SHIFT) {
    const arrival = load<u64>(j, JOB_ARRIVAL);
    if (arrival == NEVER_ARRIVED) continue;
    live++;
    sojourn += now - arrival;
  }
  if (live != counter(ALIVE)) fail(FAIL_CONSERVATION, 0, 0, live);
  if (sojourn != counter(NUMBER_AREA)) fail(FAIL_LITTLE, 0, 0, sojourn);
}

/** busy + idle = CPUs × duration, and Σ busy of the CPUs = Σ CPU time of the tasks. */
function checkCpuTime(): void {
  let busy: u64 = 0;
  for (let cpu: u32 = 0; cpu < nrCpus; cpu++) {
    const c = cpu << CPU_SHIFT;
    busy += load<u64>(c, CPU_BUSY_NS);
    if (load<u64>(c, CPU_BUSY_NS) + load<u64>(c, CPU_IDLE_NS) != now) fail(FAIL_CPU_TIME, 0, cpu, load<u64>(c, CPU_IDLE_NS));
  }
  let used = counter(EXITED_CPU);
  for (let t: u32 = 1 << TASK_SHIFT, end = taskSlots() << TASK_SHIFT; t < end; t += 1 << TASK_SHIFT) {
    if (load<u8>(t, TASK_STATE) != STATE_FREE && load<u8>(t, TASK_CLASS) != CLASS_DEDICATED) used += load<u64>(t, TASK_SUM_EXEC);
  }
  if (used != busy) fail(FAIL_CPU_TIME, 0, nrCpus, used);
}

/** Most sections of a result image. */
const RESULT_SECTIONS: u32 = 15;

let image: usize = 0;
let sections: u32 = 0;
let end: usize = 0;

/** Opens a section of `count` records of `stride` bytes; returns its address. */
function open(id: u32, records: u32, stride: u32): usize {
  const entry = image + IMAGE_HEADER_BYTES + sections * IMAGE_SECTION_BYTES;
  sections++;
  store<u32>(entry, id);
  store<u32>(entry, records, 4);
  store<u32>(entry, (end - image) as u32, 8);
  store<u32>(entry, stride, 12);
  const at = end;
  end += (records * stride + 7) & ~7;
  return at;
}

/** Writes the result image into the arena; returns its address, 0 if there is no memory. */
export function writeResult(): usize {
  const classes = param(P_CLASSES) as u32;
  let used: u32 = 0;
  let buckets: u32 = 0;
  for (let h: u32 = 0; h < classes * HISTOGRAM_KINDS; h++) {
    if (load<u64>(histogramAddress(h) + HISTOGRAM_COUNT) == 0) continue;
    used++;
    buckets += histogramBucketCount(h);
  }
  const frequencies = busyFrequencies();
  let waits: usize = 0;
  let waitCount: u32 = 0;
  if (serving && failure == FAIL_DEADLOCK) {
    waits = arenaAllocate((MOST_WAITS * SVW_BYTES) as usize);
    if (waits != 0) waitCount = writeServiceWaits(waits);
  }
  const series = instanceCount == 0 ? 0 : seriesLength;
  const bytes =
    IMAGE_HEADER_BYTES + RESULT_SECTIONS * IMAGE_SECTION_BYTES + instanceCount * SVR_COUNT * 8 + series * SVB_STRIDE + stepRows() * 16 + SVO_COUNT * 8 + (serving ? edgeCount : 0) * 32 + waitCount * SVW_BYTES + intervalRows() * intervalRowBytes() + COUNTERS_USED * 8 + nrCpus * 64 + packageCount() * 64 + classes * CLS_COUNT * 8 + used * 64 + buckets * 16 + frequencies * 16 + 64;
  image = arenaAllocate(bytes);
  if (image == 0) return 0;
  sections = 0;
  end = image + IMAGE_HEADER_BYTES + RESULT_SECTIONS * IMAGE_SECTION_BYTES;
  memory.copy(open(SECTION_SUMMARY, COUNTERS_USED, 8), COUNTERS, COUNTERS_USED * 8);
  writeCpus(open(SECTION_CPU_RESULTS, nrCpus, 64));
  writePackages(open(SECTION_PACKAGE_RESULTS, packageCount(), 64));
  const rows = open(SECTION_CLASS_RESULTS, classes, CLS_COUNT * 8);
  for (let s: u32 = 0; s < classes; s++) memory.copy(rows + s * CLS_COUNT * 8, CLASSES + (s << CLASS_SHIFT), CLS_COUNT * 8);
  writeFrequencies(open(SECTION_FREQUENCY_RESULTS, frequencies, 16));
  writeHistograms(open(SECTION_HISTOGRAMS, used, 64), open(SECTION_BUCKETS, buckets, 16), classes);
  memory.copy(open(SECTION_SV_INTERVALS, intervalRows(), intervalRowBytes()), intervalRowsAddress(), intervalRows() * intervalRowBytes());
  if (serving) {
    memory.copy(open(SECTION_SV_CLIENT_RESULTS, SVO_COUNT, 8), clientResults, SVO_COUNT * 8);
    writeEdges(open(SECTION_SV_EDGE_RESULTS, edgeCount, 32));
    if (waits != 0) memory.copy(open(SECTION_SV_WAITS, waitCount, SVW_BYTES), waits, waitCount * SVW_BYTES);
  }
  writeSteps(open(SECTION_SV_STEPS, stepRows(), 16));
  writeInstances(open(SECTION_SV_RESULTS, instanceCount, SVR_COUNT * 8));
  if (series != 0) writeSeries(open(SECTION_SV_SERIES, series, SVB_STRIDE));
  store<u32>(image, IMAGE_MAGIC);
  store<u32>(image, IMAGE_VERSION, 4);
  store<u32>(image, (end - image) as u32, 8);
  store<u32>(image, sections, 12);
  return image;
}

function writeCpus(at: usize): void {
  for (let cpu: u32 = 0; cpu < nrCpus; cpu++) {
    const c = cpu << CPU_SHIFT;
    store<u64>(at, load<u64>(c, CPU_BUSY_NS));
    store<u64>(at, load<u64>(c, CPU_IDLE_NS), 8);
    store<u64>(at, load<u64>(c, CPU_OVERHEAD_NS), 16);
    store<u64>(at, energyCpu(cpu, energyTime()), 24);
    store<u64>(at, load<u64>(c, CPU_SWITCHES), 32);
    store<u64>(at, load<u64>(c, CPU_MIGRATIONS), 40);
    store<u64>(at, cpuIdleEntries(cpu), 48);
    at += 64;
  }
}

// @ts-ignore: decorator
@inline
function energyTime(): u64 {
  const energyEnd = param(P_ENERGY_END_NS);
  return energyEnd > now ? energyEnd : now;
}

function writePackages(at: usize): void {
  for (let pkg: u32 = 0; pkg < packageCount(); pkg++) {
    store<u64>(at, energyPackage(pkg, energyTime()));
    for (let state: u32 = 0; state < 7; state++) store<u64>(at + (state << 3), packageIdleNs(pkg, state), 8);
    at += 64;
  }
}

function busyFrequencies(): u32 {
  let n: u32 = 0;
  for (let mhz: u32 = 0; mhz < 10240; mhz += 10) if (frequencyTimeNs(mhz) != 0) n++;
  return n;
}

function writeFrequencies(at: usize): void {
  for (let mhz: u32 = 0; mhz < 10240; mhz += 10) {
    const ns = frequencyTimeNs(mhz);
    if (ns == 0) continue;
    store<u64>(at, mhz);
    store<u64>(at, ns, 8);
    at += 16;
  }
}

function writeHistograms(at: usize, buckets: usize, classes: u32): void {
  let row: u32 = 0;
  for (let h: u32 = 0; h < classes * HISTOGRAM_KINDS; h++) {
    const r = histogramAddress(h);
    if (load<u64>(r + HISTOGRAM_COUNT) == 0) continue;
    store<u32>(at, h % HISTOGRAM_KINDS);
    store<u32>(at, h / HISTOGRAM_KINDS, 4);
    store<u64>(at, load<u64>(r + HISTOGRAM_COUNT), 8);
    store<u64>(at, load<u64>(r + HISTOGRAM_SUM_LOW), 16);
    store<u64>(at, load<u64>(r + HISTOGRAM_SUM_HIGH), 24);
    store<u64>(at, load<u64>(r + HISTOGRAM_MIN), 32);
    store<u64>(at, load<u64>(r + HISTOGRAM_MAX), 40);
    store<u32>(at, row, 48);
    const first = row;
    for (let b = histogramNextBucket(h, 0); b != u32.MAX_VALUE; b = histogramNextBucket(h, b + 1)) {
      store<u32>(buckets, b);
      store<u64>(buckets, histogramCountAt(h, b), 8);
      buckets += 16;
      row++;
    }
    store<u32>(at, row - first, 52);
    at += 64;
  }
}
