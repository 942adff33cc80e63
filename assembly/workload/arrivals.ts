// What arrives and when. A source makes jobs: by renewal (Poisson and others), from counts per interval, from a list of
// invocations, or from clients that wait for the response (closed loop). Each source has at most one arrival pending,
// so sources are leaves of a winner tree; thinking clients are deliveries on the wheel.
//
// A list longer than memory comes through a window that the host refills: of all its sources only the one of the next
// row is armed. When the window is used up, no event may be handled before it is refilled, since the next row may be
// earlier than all of them; so results don't depend on the window's size.
//
// A source record is 256 B: SRC_ fields as in the model, then
//   128  u64 next arrival time     152  u64 key of arrival times     176  u32 interval, u32 arrivals left in it
//   136  u64 arrivals so far       160  u64 key of the jobs' draws   184  u64 key of the counts' rounding
//   144  u32 alive, u32 rotation   168  u64 key of durations         192  u64 list cursor

import {
  ARRIVAL_BYTES,
  CLS_ARRIVED,
  CLS_DROPPED,
  DECISION_SPAWN,
  DELIVER_FUNCTION,
  DELIVER_QUEUE,
  DOMAIN_RANDOM,
  DOMAIN_ROUND_ROBIN,
  NONE,
  P_COUNT_INTERVAL_NS,
  P_COUNT_INTERVALS,
  P_HORIZON_NS,
  P_LOAD_SCALE,
  P_SEED,
  P_WARMUP_NS,
  SOURCE_CLOSED,
  SOURCE_COUNTS,
  SOURCE_LIST,
  SOURCE_RENEWAL,
  SOURCE_STREAM,
  SRC_BATCH,
  SRC_CLIENTS,
  SRC_COUNT_ROW,
  SRC_DELIVER,
  SRC_DIST,
  SRC_DOMAIN,
  SRC_DURATION,
  SRC_KIND,
  SRC_LIMIT,
  SRC_MAX_ARRIVALS,
  SRC_START,
  SRC_STATS,
  SRC_TARGET,
  STATE_QUEUED,
} from '../abi';
import { arenaAllocate } from '../core/arena';
import { ARRIVED, count, DROPPED, param } from '../core/counters';
import { drawValue, scaleByExp } from '../core/distribution';
import { fail, FAIL_WHEEL } from '../core/failure';
import { QUEUE_SHIFT, SOURCE_SHIFT, SOURCES } from '../core/layout';
import {
  draw64,
  entityKey,
  exponentialQ32,
  mulHigh,
  PURPOSE_ARRIVAL,
  PURPOSE_COUNT,
  PURPOSE_DURATION,
  PURPOSE_PROGRAM,
  streamKey,
} from '../core/random';
import { NEVER } from '../core/winner';
import { detailing, recordDetailAt } from '../kernel/decisions';
import { now, sourceSet } from '../kernel/events';
import { explainArrival } from '../kernel/explain';
import {
  JOB_DURATION,
  JOB_KEY,
  JOB_MEASURED,
  JOB_ORDINAL,
  JOB_SOURCE,
  JOB_STATS,
  jobEnter,
} from '../kernel/job';
import { attachJob, queueSend } from '../kernel/program';
import { queueIsFull } from '../kernel/queue';
import { wakeUpNew } from '../kernel/wakeup';
import { taskFromTemplate } from '../kernel/spawn';
import { nrCpus } from '../kernel/mask';
import { nrDomains } from '../policy/mapping';
import { deliver, DELIVERY_CLIENT } from './delivery';
import { classAdd } from './service';
import { functionArrival } from './worker';

const NEXT: usize = SOURCES + 128;
const ORDINAL: usize = SOURCES + 136;
const ALIVE: usize = SOURCES + 144;
const ROTATION: usize = SOURCES + 148;
const ARRIVAL_KEY: usize = SOURCES + 152;
const JOB_STREAM: usize = SOURCES + 160;
const DURATION_KEY: usize = SOURCES + 168;
const INTERVAL: usize = SOURCES + 176;
const LEFT: usize = SOURCES + 180;
const COUNT_KEY: usize = SOURCES + 184;
const CURSOR: usize = SOURCES + 192;

let nrSources: u32 = 0;
/** Sources that will still make an arrival, and clients thinking. */
export let sourcesActive: u32 = 0;
let horizon: u64 = 0;
let warmup: u64 = 0;
let counts: usize = 0;
let list: usize = 0;
let listLength: u32 = 0;

let window: usize = 0;
let windowRows: u32 = 0;
/** Row of the window that is armed. */
let windowAt: u32 = 0;
/** No rows come after the window's. */
let windowLast: bool = false;
/** The next arrival of the stream is not known: the host has to refill the window. */
export let arrivalsStarved: bool = false;

export function arrivalsInit(sources: u32, countsAddress: usize, listAddress: usize, listRows: u32): void {
  nrSources = sources;
  sourcesActive = 0;
  horizon = param(P_HORIZON_NS);
  warmup = param(P_WARMUP_NS);
  counts = countsAddress;
  list = listAddress;
  listLength = listRows;
  arrivalsStarved = false;
  windowRows = 0;
  windowAt = 0;
  windowLast = false;
  const seed = param(P_SEED);
  for (let s: u32 = 0; s < sources; s++) {
    const r = s << SOURCE_SHIFT;
    store<u64>(r, entityKey(streamKey(seed, PURPOSE_ARRIVAL, s), 0), ARRIVAL_KEY);
    store<u64>(r, streamKey(seed, PURPOSE_PROGRAM, s), JOB_STREAM);
    store<u64>(r, entityKey(streamKey(seed, PURPOSE_DURATION, s), 0), DURATION_KEY);
    store<u64>(r, entityKey(streamKey(seed, PURPOSE_COUNT, s), 0), COUNT_KEY);
    store<u32>(r, NONE, INTERVAL);
    store<u64>(r, load<u64>(r, SOURCES + SRC_START), NEXT);
    if (load<u32>(r, SOURCES + SRC_KIND) == SOURCE_CLOSED) {
      const clients = load<u32>(r, SOURCES + SRC_CLIENTS);
      for (let k: u32 = 0; k < clients; k++) clientThinks(s, load<u64>(r, SOURCES + SRC_START));
    } else if (load<u32>(r, SOURCES + SRC_KIND) == SOURCE_STREAM) {
      // The stream as a whole is one active source.
      if (!arrivalsStarved) sourcesActive++;
      arrivalsStarved = true;
      sourceSet(s, NEVER);
    } else {
      sourcesActive++;
      armNext(s);
    }
  }
}

/** Makes room for `rows` arrivals; address of the window, 0 if there is no memory. Call once, after the model is loaded. */
export function windowAllocate(rows: u32): usize {
  window = arenaAllocate((rows as usize) * ARRIVAL_BYTES);
  return window;
}

/** The window holds `rows` new rows from its start; `last`: none will follow. */
export function windowRefilled(rows: u32, last: bool): void {
  windowRows = rows;
  windowAt = 0;
  windowLast = last;
  if (!arrivalsStarved) return;
  arrivalsStarved = false;
  armStream();
}

/** Arms the source of the window's next row. */
function armStream(): void {
  if (windowAt == windowRows) {
    if (windowLast) sourcesActive--;
    else arrivalsStarved = true;
    return;
  }
  const row = window + (windowAt as usize) * ARRIVAL_BYTES;
  const time = load<u64>(row);
  if (horizon != 0 && time > horizon) {
    // All later rows are beyond it too.
    sourcesActive--;
    return;
  }
  sourceSet(load<u32>(row, 16), time);
}

/** Sets the source's next arrival, or retires it. */
function armNext(s: u32): void {
  const r = s << SOURCE_SHIFT;
  const limit = load<u64>(r, SOURCES + SRC_MAX_ARRIVALS);
  const kind = load<u32>(r, SOURCES + SRC_KIND);
  let time: u64 = NEVER;
  if (limit == 0 || load<u64>(r, ORDINAL) < limit) {
    if (kind == SOURCE_RENEWAL) {
      time = load<u64>(r, NEXT) + drawValue(load<u32>(r, SOURCES + SRC_DIST), load<u64>(r, ARRIVAL_KEY), load<u64>(r, ORDINAL));
    } else if (kind == SOURCE_COUNTS) {
      time = nextOfCounts(r);
    } else {
      time = nextOfList(s, r);
    }
  }
  if (time == NEVER || (horizon != 0 && time > horizon)) {
    sourceSet(s, NEVER);
    sourcesActive--;
    return;
  }
  store<u64>(r, time, NEXT);
  sourceSet(s, time);
}

/**
 * Next arrival of a Poisson process given the number of arrivals in each interval: with k of them left, the earliest of
 * k uniform times in what remains of the interval, remaining × (1 − U^(1/k)) = remaining × (1 − e^(−E/k)).
 */
function nextOfCounts(r: u32): u64 {
  const width = param(P_COUNT_INTERVAL_NS);
  let left = load<u32>(r, LEFT);
  let interval = load<u32>(r, INTERVAL);
  let from = load<u64>(r, NEXT);
  while (left == 0) {
    interval++;
    if (interval >= (param(P_COUNT_INTERVALS) as u32)) return NEVER;
    from = (interval as u64) * width;
    left = scaledCount(r, interval);
  }
  store<u32>(r, interval, INTERVAL);
  store<u32>(r, left - 1, LEFT);
  const remaining = ((interval as u64) + 1) * width - from;
  const e = exponentialQ32(draw64(load<u64>(r, ARRIVAL_KEY), load<u64>(r, ORDINAL)));
  return from + (remaining - scaleByExp(remaining, -((e / (left as u64)) as i64)));
}

/** The count of an interval times the load scale; the fraction is rounded up with its own probability. */
function scaledCount(r: u32, interval: u32): u32 {
  const row = (load<u32>(r, SOURCES + SRC_COUNT_ROW) as u64) * param(P_COUNT_INTERVALS) + (interval as u64);
  const exact = (load<u32>(counts + ((row as usize) << 2)) as u64) * param(P_LOAD_SCALE);
  const dice = draw64(load<u64>(r, COUNT_KEY), interval) >> 32;
  return ((exact >> 32) + ((exact & 0xffffffff) > dice ? 1 : 0)) as u32;
}

/** The list is shared and in time order; each source walks it from its own cursor. */
function nextOfList(s: u32, r: u32): u64 {
  let k = load<u64>(r, CURSOR);
  while (k < (listLength as u64)) {
    const row = list + (k as usize) * ARRIVAL_BYTES;
    k++;
    if (load<u32>(row, 16) == s) {
      store<u64>(r, k, CURSOR);
      return load<u64>(row);
    }
  }
  store<u64>(r, k, CURSOR);
  return NEVER;
}

/** A client of a closed source sends its next request after thinking, beginning at `from`. */
function clientThinks(s: u32, from: u64): void {
  const r = s << SOURCE_SHIFT;
  const made = load<u64>(r, ORDINAL) + (load<u32>(r, ROTATION) as u64);
  const limit = load<u64>(r, SOURCES + SRC_MAX_ARRIVALS);
  if (limit != 0 && made >= limit) return;
  const dist = load<u32>(r, SOURCES + SRC_DIST);
  const time = dist == NONE ? from : from + drawValue(dist, load<u64>(r, ARRIVAL_KEY), made);
  if (horizon != 0 && time > horizon) return;
  // Requests under way count against the limit.
  store<u32>(r, load<u32>(r, ROTATION) + 1, ROTATION);
  sourcesActive++;
  if (!deliver(time, DELIVERY_CLIENT, s)) fail(FAIL_WHEEL, 0, 0, s);
}

export function onClient(s: u32): void {
  const r = s << SOURCE_SHIFT;
  sourcesActive--;
  store<u32>(r, load<u32>(r, ROTATION) - 1, ROTATION);
  arrive(s, r);
}

export function onArrival(s: u32): void {
  const r = s << SOURCE_SHIFT;
  const due = load<u64>(r, NEXT);
  if (due > now) {
    // Beyond the reach of a key: armed in steps.
    sourceSet(s, due);
    return;
  }
  arrive(s, r);
  for (let k: u32 = 1, batch = load<u32>(r, SOURCES + SRC_BATCH); k < batch; k++) arrive(s, r);
  if (load<u32>(r, SOURCES + SRC_KIND) == SOURCE_STREAM) {
    sourceSet(s, NEVER);
    windowAt++;
    armStream();
  } else {
    armNext(s);
  }
}

function arrive(s: u32, r: u32): void {
  const ordinal = load<u64>(r, ORDINAL);
  store<u64>(r, ordinal + 1, ORDINAL);
  const stats = load<u32>(r, SOURCES + SRC_STATS);
  count(ARRIVED);
  classAdd(stats, CLS_ARRIVED, 1);
  const limit = load<u32>(r, SOURCES + SRC_LIMIT);
  const full =
    load<u32>(r, SOURCES + SRC_DELIVER) == DELIVER_QUEUE && queueIsFull(load<u32>(r, SOURCES + SRC_TARGET) << QUEUE_SHIFT);
  if (full || (limit != 0 && load<u32>(r, ALIVE) >= limit)) {
    count(DROPPED);
    classAdd(stats, CLS_DROPPED, 1);
    // A client whose request is refused thinks again; without thinking time it is a livelock, and reported as one.
    if (load<u32>(r, SOURCES + SRC_KIND) == SOURCE_CLOSED) clientThinks(s, now);
    return;
  }
  const j = jobEnter();
  if (j == 0) return;
  store<u32>(r, load<u32>(r, ALIVE) + 1, ALIVE);
  store<u32>(j, s, JOB_SOURCE);
  store<u32>(j, stats, JOB_STATS);
  explainArrival(j);
  store<u64>(j, ordinal, JOB_ORDINAL);
  store<u32>(j, now >= warmup ? 1 : 0, JOB_MEASURED);
  store<u64>(j, entityKey(load<u64>(r, JOB_STREAM), ordinal), JOB_KEY);
  store<u64>(j, duration(r, ordinal), JOB_DURATION);
  const deliverTo = load<u32>(r, SOURCES + SRC_DELIVER);
  const target = load<u32>(r, SOURCES + SRC_TARGET);
  if (deliverTo == DELIVER_FUNCTION) {
    functionArrival(j, target);
  } else if (deliverTo == DELIVER_QUEUE) {
    queueSend(target << QUEUE_SHIFT, j, STATE_QUEUED, -1, 0);
  } else {
    spawn(j, r, target, ordinal);
  }
}

function duration(r: u32, ordinal: u64): u64 {
  const kind = load<u32>(r, SOURCES + SRC_KIND);
  if (kind == SOURCE_LIST || kind == SOURCE_STREAM) {
    const row =
      kind == SOURCE_STREAM
        ? window + (windowAt as usize) * ARRIVAL_BYTES
        : list + ((load<u64>(r, CURSOR) - 1) as usize) * ARRIVAL_BYTES;
    const given = load<u64>(row, 8);
    if (given != 0) return given;
  }
  const dist = load<u32>(r, SOURCES + SRC_DURATION);
  return dist == NONE ? 0 : drawValue(dist, load<u64>(r, DURATION_KEY), ordinal);
}

/** A task of its own for the job; it starts on the CPU that its number picks, as if interrupts were spread evenly. */
function spawn(j: u32, r: u32, template: u32, ordinal: u64): void {
  let domain = load<u32>(r, SOURCES + SRC_DOMAIN);
  if (domain == DOMAIN_ROUND_ROBIN) domain = (ordinal % (nrDomains as u64)) as u32;
  else if (domain == DOMAIN_RANDOM) domain = mulHigh(draw64(load<u64>(j, JOB_KEY), 0xffffffff), nrDomains) as u32;
  const t = taskFromTemplate(template, ordinal as u32, domain, load<u32>(j, JOB_STATS), 0);
  if (t == 0) return;
  if (detailing) recordDetailAt(DECISION_SPAWN, r >> SOURCE_SHIFT, t, ordinal);
  attachJob(t, j, 0);
  wakeUpNew(t, (ordinal % (nrCpus as u64)) as u32);
}

/** A job of the source has left the system. */
export function sourceJobLeft(s: u32): void {
  const r = s << SOURCE_SHIFT;
  store<u32>(r, load<u32>(r, ALIVE) - 1, ALIVE);
  if (load<u32>(r, SOURCES + SRC_KIND) == SOURCE_CLOSED) clientThinks(s, now);
}
