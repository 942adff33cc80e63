// Which idle containers are kept, and which are started before they are needed.
//
//   KEEP_FOREVER     all
//   KEEP_NONE        none: every invocation is a cold start
//   KEEP_FIXED       for a fixed time
//   KEEP_HISTOGRAM   as the hybrid histogram policy (Shahrad et al., Serverless in the Wild, 2020), simple: from a function's
//                    idle times, in bins, the container is unloaded at once, started again at the 5th percentile (rounded
//                    down to a bin), and kept until the 99th (rounded up). With fewer than 10 idle times, or with more than
//                    half of them beyond the bins, for the fixed time.
//
// With a bound on containers or memory, the least recently used idle ones make room for a new one, under any policy.
//
// Behind the FN_ record: 40 u64 instant + 1 since when nothing of the function runs (0 = it runs, or never ran),
// 48 u32 busy containers, 52 u32 idle times seen, 56 u32 of them beyond the bins, 60 u32 pending prewarm,
// 64 u64 instant until which a prewarmed container is kept. Bins: 240 of 256 × u32 at IDLE_HISTOGRAMS.

import {
  FN_MEMORY_MB,
  FN_STRIDE,
  KEEP_FIXED,
  KEEP_FOREVER,
  KEEP_HISTOGRAM,
  KEEP_NONE,
  NONE,
  P_COLD_START,
  P_KEEP,
  P_KEEP_BIN_NS,
  P_KEEP_CONTAINERS,
  P_KEEP_MEMORY_MB,
  P_KEEP_NS,
  P_SEED,
} from '../abi';
import { count, counter, EVICTED, param, PREWARMED } from '../core/counters';
import { drawValue } from '../core/distribution';
import { FUNCTIONS, FUNCTION_SHIFT, IDLE_HISTOGRAMS } from '../core/layout';
import { entityKey, PURPOSE_START, streamKey } from '../core/random';
import { now } from '../kernel/events';
import {
  CONTAINER_EXPIRY,
  CONTAINER_FUNCTION,
  CONTAINER_PREWARMED,
  containerCreate,
  containerEvict,
  containerReturn,
  containersAlive,
  containersBusy,
  containersMemory,
  FUNCTION_BUSY,
  hasFreeContainer,
  leastRecentlyUsed,
} from './containers';
import { cancelDelivery, deliverLater, DELIVERY_EXPIRY, DELIVERY_PREWARM, DELIVERY_WARM } from './delivery';

const IDLE_SINCE: usize = FUNCTIONS + FN_STRIDE + 40;
const SEEN: usize = FUNCTIONS + FN_STRIDE + 52;
const BEYOND: usize = FUNCTIONS + FN_STRIDE + 56;
const PREWARM: usize = FUNCTIONS + FN_STRIDE + 60;
const KEEP_UNTIL: usize = FUNCTIONS + FN_STRIDE + 64;
const BINS: u32 = 240;
const BIN_SHIFT: u32 = 10;
const ENOUGH: u32 = 10;
/** Draws of prewarmed containers' starts, apart from those of server masters. */
const STREAM_PREWARM: u32 = 1;

let policy: u32 = KEEP_FOREVER;
let keepNs: u64 = 0;
let binNs: u64 = 1;
let maxContainers: u32 = 0;
let maxMemory: u64 = 0;

export function keepAliveInit(functions: u32): void {
  policy = param(P_KEEP) as u32;
  keepNs = param(P_KEEP_NS);
  binNs = param(P_KEEP_BIN_NS);
  maxContainers = param(P_KEEP_CONTAINERS) as u32;
  maxMemory = param(P_KEEP_MEMORY_MB);
  if (policy != KEEP_HISTOGRAM) return;
  memory.fill(IDLE_HISTOGRAMS, 0, functions << BIN_SHIFT);
  for (let f: u32 = 0; f < functions; f++) {
    const r = f << FUNCTION_SHIFT;
    store<u64>(r, 0, IDLE_SINCE);
    store<u32>(r, 0, SEEN);
    store<u32>(r, 0, BEYOND);
    store<u32>(r, 0, PREWARM);
    store<u64>(r, 0, KEEP_UNTIL);
  }
}

/** Whether a new container of f fits, with idle ones evicted if it must. Where nothing runs, one always does. */
export function roomForContainer(f: u32): bool {
  while (!fits(f)) {
    const k = leastRecentlyUsed();
    if (k == 0) return containersBusy == 0;
    evict(k);
  }
  return true;
}

/** A new container of f stays within the bounds. */
export function fits(f: u32): bool {
  if (maxContainers != 0 && containersAlive >= maxContainers) return false;
  const memory = load<u32>(f << FUNCTION_SHIFT, FUNCTIONS + FN_MEMORY_MB) as u64;
  return maxMemory == 0 || containersMemory + memory <= maxMemory;
}

function evict(k: u32): void {
  forgetExpiry(k);
  containerEvict(k);
  count(EVICTED);
}

/** The container serves again. */
export function forgetExpiry(k: u32): void {
  const node = load<u32>(k, CONTAINER_EXPIRY);
  if (node == 0) return;
  cancelDelivery(node);
  store<u32>(k, 0, CONTAINER_EXPIRY);
}

/** An invocation of f has arrived: its idle time is known. */
export function noteIdleEnds(f: u32): void {
  if (policy != KEEP_HISTOGRAM) return;
  const r = f << FUNCTION_SHIFT;
  const since = load<u64>(r, IDLE_SINCE);
  if (since == 0) return;
  store<u64>(r, 0, IDLE_SINCE);
  const bin = (now + 1 - since) / binNs;
  store<u32>(r, load<u32>(r, SEEN) + 1, SEEN);
  if (bin >= (BINS as u64)) {
    store<u32>(r, load<u32>(r, BEYOND) + 1, BEYOND);
  } else {
    const at = IDLE_HISTOGRAMS + (f << BIN_SHIFT) + ((bin as u32) << 2);
    store<u32>(at, load<u32>(at) + 1);
  }
  const pending = load<u32>(r, PREWARM);
  if (pending != 0) {
    cancelDelivery(pending);
    store<u32>(r, 0, PREWARM);
  }
}

/** A container has served its invocation and is free. */
export function keepOrEvict(k: u32): void {
  containerReturn(k);
  if (policy == KEEP_FOREVER) return;
  if (policy == KEEP_NONE) {
    evict(k);
    return;
  }
  if (policy == KEEP_FIXED || !keepByHistogram(k)) expireAt(k, now + keepNs);
}

function expireAt(k: u32, time: u64): void {
  store<u32>(k, deliverLater(time, DELIVERY_EXPIRY, k), CONTAINER_EXPIRY);
}

/** False if the histogram says nothing yet. */
function keepByHistogram(k: u32): bool {
  const f = load<u32>(k, CONTAINER_FUNCTION);
  const r = f << FUNCTION_SHIFT;
  if (load<u32>(r, FUNCTION_BUSY) == 0) store<u64>(r, now + 1, IDLE_SINCE);
  const seen = load<u32>(r, SEEN);
  const beyond = load<u32>(r, BEYOND);
  if (seen < ENOUGH || beyond > seen - beyond) return false;
  const within = seen - beyond;
  const head = quantileBin(f, within, 5);
  const tail = ((quantileBin(f, within, 99) + 1) as u64) * binNs;
  if (head == 0) {
    expireAt(k, now + tail);
    return true;
  }
  evict(k);
  if (load<u32>(r, FUNCTION_BUSY) != 0) return true;
  const pending = load<u32>(r, PREWARM);
  if (pending != 0) cancelDelivery(pending);
  store<u64>(r, now + tail, KEEP_UNTIL);
  store<u32>(r, deliverLater(now + (head as u64) * binNs, DELIVERY_PREWARM, f), PREWARM);
  return true;
}

/** Bin of the smallest idle time that at least `percent` of `total` do not exceed. */
function quantileBin(f: u32, total: u32, percent: u32): u32 {
  let sum: u64 = 0;
  for (let bin: u32 = 0; bin < BINS; bin++) {
    sum += load<u32>(IDLE_HISTOGRAMS + (f << BIN_SHIFT) + (bin << 2)) as u64;
    if (sum * 100 >= (total as u64) * (percent as u64)) return bin;
  }
  return BINS - 1;
}

export function onExpiry(k: u32): void {
  store<u32>(k, 0, CONTAINER_EXPIRY);
  evict(k);
}

export function onPrewarm(f: u32): void {
  store<u32>(f << FUNCTION_SHIFT, 0, PREWARM);
  if (hasFreeContainer(f) || !roomForContainer(f)) return;
  const k = containerCreate(f, false);
  if (k == 0) return;
  store<u32>(k, 1, CONTAINER_PREWARMED);
  const dist = param(P_COLD_START) as u32;
  const key = entityKey(streamKey(param(P_SEED), PURPOSE_START, STREAM_PREWARM), counter(PREWARMED));
  count(PREWARMED);
  if (dist == NONE) onWarm(k);
  else deliverLater(now + drawValue(dist, key, 0), DELIVERY_WARM, k);
}

export function onWarm(k: u32): void {
  store<u32>(k, 0, CONTAINER_PREWARMED);
  containerReturn(k);
  const until = load<u64>(load<u32>(k, CONTAINER_FUNCTION) << FUNCTION_SHIFT, KEEP_UNTIL);
  expireAt(k, until > now ? until : now);
}
