// The latencies of requests in the order in which they began, as means of batches: what a warm-up is found in.
//
// A batch is 5 × 2^k requests that began one after the other; when the series is full, neighbours are joined and k grows, so that
// memory does not depend on the number of requests. Record, 24 B: u64 start of the first request, u64 sum of latencies ns,
// u64 requests that have ended.

import { SERIES_BATCH, SERIES_BATCHES, SVB_STRIDE } from '../abi';
import { arenaAllocate } from '../core/arena';

const START: usize = 0;
const SUM: usize = 8;
const ENDED: usize = 16;

let base: usize = 0;
let doublings: u32 = 0;
/** Batches in which a request has begun. */
export let seriesLength: u32 = 0;

export function seriesInit(): void {
  base = arenaAllocate((SERIES_BATCHES as usize) * (SVB_STRIDE as usize));
  doublings = 0;
  seriesLength = 0;
}

// @ts-ignore: decorator
@inline
function batchOf(ordinal: u64): u32 {
  return ((ordinal / (SERIES_BATCH as u64)) >> (doublings as u64)) as u32;
}

function join(): void {
  for (let i: u32 = 0; i < SERIES_BATCHES >> 1; i++) {
    const to = base + (i as usize) * (SVB_STRIDE as usize);
    const from = base + (i as usize) * 2 * (SVB_STRIDE as usize);
    const next = from + (SVB_STRIDE as usize);
    store<u64>(to, load<u64>(from, START), START);
    store<u64>(to, load<u64>(from, SUM) + load<u64>(next, SUM), SUM);
    store<u64>(to, load<u64>(from, ENDED) + load<u64>(next, ENDED), ENDED);
  }
  const half = (SERIES_BATCHES >> 1) as usize;
  memory.fill(base + half * (SVB_STRIDE as usize), 0, half * (SVB_STRIDE as usize));
  seriesLength = SERIES_BATCHES >> 1;
  doublings++;
}

/** Request number `ordinal` begins; they begin in the order of their numbers. */
export function seriesBegin(ordinal: u64, start: u64): void {
  let batch = batchOf(ordinal);
  if (batch < seriesLength) return;
  if (batch == SERIES_BATCHES) {
    join();
    batch = batchOf(ordinal);
    if (batch < seriesLength) return;
  }
  store<u64>(base + (batch as usize) * (SVB_STRIDE as usize), start, START);
  seriesLength = batch + 1;
}

/** It ends. */
export function seriesEnd(ordinal: u64, latency: u64): void {
  const record = base + (batchOf(ordinal) as usize) * (SVB_STRIDE as usize);
  store<u64>(record, load<u64>(record, SUM) + latency, SUM);
  store<u64>(record, load<u64>(record, ENDED) + 1, ENDED);
}

export function writeSeries(at: usize): void {
  memory.copy(at, base, (seriesLength as usize) * (SVB_STRIDE as usize));
}
