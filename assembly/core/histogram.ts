// Mergeable log-linear histograms of u64 values: exact below 1024, then 512 buckets per octave. A bucket's midpoint is
// within 1/1024 < 0.1 % of every value in it. Count, sum (128 bits), minimum and maximum are exact.
//
// A record, HISTOGRAM_STRIDE = 320 bytes:
//
//   0   u64 count
//   8   u64 sum, low half
//   16  u64 sum, high half
//   24  u64 minimum (u64.MAX_VALUE if empty)
//   32  u64 maximum
//   40  56 × u32 address of a page of counters, 0 = none yet
//
// Page p holds 512 u64 counters of buckets 512p … 512p + 511 (4 KiB): the values below 512 for p = 0, else those of octave
// [2^(p+8), 2^(p+9)). Pages come from the arena when a first value needs them.
//
// Bucket of v: with s = max(0, floor(log2 v) − 9), index = 512 s + (v >> s).
//
// A bucket is seldom in the cache. So values wait, 16 B each (u32 offset of the record, u64 value), until there are
// PENDING_VALUES of them: then the misses of many buckets overlap. Whoever reads takes the address of a record, and
// meets all values.

import { NONE } from '../abi';
import { arenaAllocate } from './arena';
import { HISTOGRAM_STRIDE, HISTOGRAMS, PENDING_VALUES, VALUES } from './layout';

export const HISTOGRAM_COUNT: usize = 0;
export const HISTOGRAM_SUM_LOW: usize = 8;
export const HISTOGRAM_SUM_HIGH: usize = 16;
export const HISTOGRAM_MIN: usize = 24;
export const HISTOGRAM_MAX: usize = 32;
const PAGE_TABLE: usize = 40;

const PAGES: u32 = 56;
const PAGE_BUCKETS: u32 = 512;
const PAGE_BYTES: usize = 4096;
/** Counts what nobody reads, behind the waiting values. */
const NO_BUCKET: usize = VALUES + (PENDING_VALUES << 4);

/** End of the waiting values, as an offset. */
let pending: u32 = 0;

/** What waits belongs to an earlier model. */
export function histogramsReset(): void {
  pending = 0;
}

/** Address of a record, for the HISTOGRAM_ fields. */
export function histogramAddress(id: u32): usize {
  if (pending != 0) histogramsSettle();
  return HISTOGRAMS + id * HISTOGRAM_STRIDE;
}

/** Empties a histogram. Its pages stay with the arena until the arena's own reset. */
export function histogramReset(id: u32): void {
  const record = histogramAddress(id);
  memory.fill(record, 0, HISTOGRAM_STRIDE);
  store<u64>(record, u64.MAX_VALUE, HISTOGRAM_MIN);
}

// @ts-ignore: decorator
@inline
export function histogramBucketIndex(value: u64): u32 {
  const shift = 54 - clz(value | 512);
  return ((shift as u32) << 9) + ((value >> shift) as u32);
}

/** Empties a histogram that will be filled again: its pages are kept. */
export function histogramClear(id: u32): void {
  const record = histogramAddress(id);
  store<u64>(record, 0, HISTOGRAM_COUNT);
  store<u64>(record, 0, HISTOGRAM_SUM_LOW);
  store<u64>(record, 0, HISTOGRAM_SUM_HIGH);
  store<u64>(record, u64.MAX_VALUE, HISTOGRAM_MIN);
  store<u64>(record, 0, HISTOGRAM_MAX);
  for (let p: u32 = 0; p < PAGES; p++) {
    const page = load<u32>(record + (p << 2), PAGE_TABLE) as usize;
    if (page != 0) memory.fill(page, 0, PAGE_BYTES);
  }
}

/** Middle of a bucket, rounded down: the value that stands for it. */
export function histogramBucketValue(index: u32): u64 {
  if (index < 2 * PAGE_BUCKETS) return index as u64;
  const shift = ((index >> 9) - 1) as u64;
  const low = ((PAGE_BUCKETS + (index & 511)) as u64) << shift;
  return low + (((1 as u64) << shift) - 1) / 2;
}

// @ts-ignore: decorator
@inline
export function histogramRecord(id: u32, value: u64): void {
  const at = pending;
  store<u32>(at, id * HISTOGRAM_STRIDE, VALUES);
  store<u64>(at, value, VALUES + 8);
  pending = at + 16;
  if (at == (PENDING_VALUES - 1) << 4) histogramsSettle();
}

/** Records the values that wait. */
export function histogramsSettle(): void {
  const end = pending;
  pending = 0;
  // First all that is at hand, then the buckets: a short loop has most misses under way at once.
  for (let at: u32 = 0; at < end; at += 16) {
    store<u32>(at, recordTotals(load<u32>(at, VALUES), load<u64>(at, VALUES + 8)) as u32, VALUES);
  }
  for (let at: u32 = 0; at < end; at += 16) {
    const counter = load<u32>(at, VALUES) as usize;
    store<u64>(counter, load<u64>(counter) + 1);
  }
}

/** Records all but the bucket, whose address it returns: NO_BUCKET with memory exhausted, when the arena has failed the run. */
// @ts-ignore: decorator
@inline
function recordTotals(record: usize, value: u64): usize {
  store<u64>(record, load<u64>(record, HISTOGRAMS + HISTOGRAM_COUNT) + 1, HISTOGRAMS + HISTOGRAM_COUNT);
  const sum = load<u64>(record, HISTOGRAMS + HISTOGRAM_SUM_LOW) + value;
  store<u64>(record, sum, HISTOGRAMS + HISTOGRAM_SUM_LOW);
  if (sum < value) {
    store<u64>(record, load<u64>(record, HISTOGRAMS + HISTOGRAM_SUM_HIGH) + 1, HISTOGRAMS + HISTOGRAM_SUM_HIGH);
  }
  if (value < load<u64>(record, HISTOGRAMS + HISTOGRAM_MIN)) {
    store<u64>(record, value, HISTOGRAMS + HISTOGRAM_MIN);
  }
  if (value > load<u64>(record, HISTOGRAMS + HISTOGRAM_MAX)) {
    store<u64>(record, value, HISTOGRAMS + HISTOGRAM_MAX);
  }
  const index = histogramBucketIndex(value);
  let page = load<u32>(record + ((index >> 9) << 2), HISTOGRAMS + PAGE_TABLE) as usize;
  if (page == 0) {
    page = addPage(record, index >> 9);
    if (page == 0) return NO_BUCKET;
  }
  return page + ((index & 511) << 3);
}

function addPage(record: usize, page: u32): usize {
  const address = arenaAllocate(PAGE_BYTES);
  store<u32>(record + (page << 2), address as u32, HISTOGRAMS + PAGE_TABLE);
  return address;
}

/** Adds the values of histogram `from` to `into`. */
export function histogramMerge(into: u32, from: u32): void {
  const a = histogramAddress(into);
  const b = histogramAddress(from);
  store<u64>(a, load<u64>(a, HISTOGRAM_COUNT) + load<u64>(b, HISTOGRAM_COUNT), HISTOGRAM_COUNT);
  const added = load<u64>(b, HISTOGRAM_SUM_LOW);
  const sum = load<u64>(a, HISTOGRAM_SUM_LOW) + added;
  const carry = (sum < added) as u64;
  store<u64>(a, sum, HISTOGRAM_SUM_LOW);
  store<u64>(a, load<u64>(a, HISTOGRAM_SUM_HIGH) + load<u64>(b, HISTOGRAM_SUM_HIGH) + carry, HISTOGRAM_SUM_HIGH);
  store<u64>(a, min(load<u64>(a, HISTOGRAM_MIN), load<u64>(b, HISTOGRAM_MIN)), HISTOGRAM_MIN);
  store<u64>(a, max(load<u64>(a, HISTOGRAM_MAX), load<u64>(b, HISTOGRAM_MAX)), HISTOGRAM_MAX);
  for (let p: u32 = 0; p < PAGES; p++) {
    const source = load<u32>(b + (p << 2), PAGE_TABLE) as usize;
    if (source == 0) continue;
    let target = load<u32>(a + (p << 2), PAGE_TABLE) as usize;
    if (target == 0) target = addPage(a - HISTOGRAMS, p);
    if (target == 0) return;
    for (let i: usize = 0; i < PAGE_BYTES; i += 8) {
      store<u64>(target + i, load<u64>(target + i) + load<u64>(source + i));
    }
  }
}

/** First non-empty bucket at or after `fromIndex`, NONE if there is none. */
export function histogramNextBucket(id: u32, fromIndex: u32): u32 {
  const record = histogramAddress(id);
  let index = fromIndex;
  while (index < PAGES * PAGE_BUCKETS) {
    const page = load<u32>(record + ((index >> 9) << 2), PAGE_TABLE) as usize;
    const end = (index | 511) + 1;
    if (page != 0) {
      for (; index < end; index++) {
        if (load<u64>(page + ((index & 511) << 3)) != 0) return index;
      }
    }
    index = end;
  }
  return NONE;
}

/** Number of non-empty buckets. */
export function histogramBucketCount(id: u32): u32 {
  let count: u32 = 0;
  for (let i = histogramNextBucket(id, 0); i != NONE; i = histogramNextBucket(id, i + 1)) count++;
  return count;
}

export function histogramCountAt(id: u32, index: u32): u64 {
  const page = load<u32>(histogramAddress(id) + ((index >> 9) << 2), PAGE_TABLE) as usize;
  return page == 0 ? 0 : load<u64>(page + ((index & 511) << 3));
}

/** The rank-th smallest value (1 … count) within 0.1 %, never outside [minimum, maximum]; 0 if there is no such rank. */
export function histogramValueAt(id: u32, rank: u64): u64 {
  const record = histogramAddress(id);
  const lowest = load<u64>(record, HISTOGRAM_MIN);
  const highest = load<u64>(record, HISTOGRAM_MAX);
  let seen: u64 = 0;
  for (let i = histogramNextBucket(id, 0); i != NONE; i = histogramNextBucket(id, i + 1)) {
    seen += histogramCountAt(id, i);
    if (seen >= rank) return max(lowest, min(highest, histogramBucketValue(i)));
  }
  return 0;
}
