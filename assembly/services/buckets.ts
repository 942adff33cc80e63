// What µqSim's power management has learnt (power.ts): buckets of tuples of per-tier tails, by the end-to-end tail that they were seen with.
//
// A bucket also keeps the tuples that failed: a new one that is nowhere tighter than such a one is not taken (in the text; the
// release has no such list).
//
// Bucket, 32 B: u32 points, u32 their number, u32 failed, u32 their number, f64 weight, u32 1: has been seen.
// Tuple: u64 tail per tier.

import { P_SEED, SVC_BUCKETS, SVC_FAILING_LIST } from '../abi';
import { arenaAllocate } from '../core/arena';
import { param } from '../core/counters';
import { draw64, PURPOSE_POLICY, streamKey } from '../core/random';
import { tierAt } from './monitor';
import { TIER_TAIL } from './records';

const RAISE: f64 = 1.1;
const LOWER: f64 = 4.0;

/** Tuples kept of each kind in a bucket; none dominates another, and a further one is not taken. */
const MOST_TUPLES: u32 = 512;
const BUCKET_BYTES: u32 = 32;
const POINTS: usize = 0;
const POINT_COUNT: usize = 4;
const FAILED: usize = 8;
const FAILED_COUNT: usize = 12;
export const WEIGHT: usize = 16;
const SEEN: usize = 24;
export let tiers: u32 = 0;
let buckets: u32 = 0;
let bucketCount: u32 = 0;
let failingList: bool = false;
export let aim: u32 = 0;
export let aimBucket: i32 = -1;
let blamedBucket: i32 = -1;

export function aimAt(bucket: i32): void {
  aimBucket = bucket;
}

export function blame(bucket: i32): void {
  blamedBucket = bucket;
}

let drawKey: u64 = 0;
let draws: u64 = 0;

export function bucketsInit(record: usize, count: u32): void {
  tiers = count;
  bucketCount = load<u64>(record + SVC_BUCKETS * 8) as u32;
  failingList = load<u64>(record + SVC_FAILING_LIST * 8) != 0;
  buckets = arenaAllocate((bucketCount * BUCKET_BYTES) as usize) as u32;
  for (let i: u32 = 0; i < bucketCount; i++) {
    store<u32>(bucketAt(i), arenaAllocate(((MOST_TUPLES * tiers) as usize) << 3) as u32, POINTS);
    store<u32>(bucketAt(i), arenaAllocate(((MOST_TUPLES * tiers) as usize) << 3) as u32, FAILED);
  }
  // The tuple aimed at is a copy: its bucket may drop it.
  aim = arenaAllocate((tiers as usize) << 3) as u32;
  aimBucket = -1;
  blamedBucket = -1;
  drawKey = streamKey(param(P_SEED), PURPOSE_POLICY, 0x5e7);
  draws = 0;
}

// @ts-ignore: decorator
@inline
export function bucketAt(index: u32): u32 {
  return buckets + index * BUCKET_BYTES;
}

// @ts-ignore: decorator
@inline
function tupleAt(list: u32, index: u32): u32 {
  return list + ((index * tiers) << 3);
}

// @ts-ignore: decorator
@inline
export function tail(tier: u32): u64 {
  return load<u64>(tierAt(tier), TIER_TAIL);
}

export function draw(): u64 {
  return draw64(drawKey, draws++);
}

/** True with the probability `weight`. */
export function accept(weight: f64): bool {
  return ((draw() >> 11) as f64) * (1.0 / 9007199254740992.0) < weight;
}

/** a is larger than b in every tier. */
function dominates(a: u32, b: u32): bool {
  for (let i: u32 = 0; i < tiers; i++) if (load<u64>(a + (i << 3)) <= load<u64>(b + (i << 3))) return false;
  return true;
}

function copyTuple(to: u32, from: u32): void {
  for (let i: u32 = 0; i < tiers; i++) store<u64>(to + (i << 3), load<u64>(from + (i << 3)));
}

/** The tuple of the last interval is nowhere tighter than one that failed. */
function failedBefore(bucket: u32): bool {
  const list = load<u32>(bucket, FAILED);
  for (let k: u32 = 0, n = load<u32>(bucket, FAILED_COUNT); k < n; k++) {
    const other = tupleAt(list, k);
    let relaxed = true;
    for (let i: u32 = 0; i < tiers; i++) if (tail(i) < load<u64>(other + (i << 3))) relaxed = false;
    if (relaxed) return true;
  }
  return false;
}

/** Adds the tuple of the last interval unless a more relaxed one is there; drops those that it dominates. */
function insertPoint(bucket: u32): void {
  if (failingList && failedBefore(bucket)) return;
  const list = load<u32>(bucket, POINTS);
  const n = load<u32>(bucket, POINT_COUNT);
  const added = tupleAt(list, MOST_TUPLES - 1);
  for (let i: u32 = 0; i < tiers; i++) store<u64>(added + (i << 3), tail(i));
  for (let k: u32 = 0; k < n; k++) if (dominates(tupleAt(list, k), added)) return;
  let kept: u32 = 0;
  for (let k: u32 = 0; k < n; k++) {
    if (dominates(added, tupleAt(list, k))) continue;
    if (kept != k) copyTuple(tupleAt(list, kept), tupleAt(list, k));
    kept++;
  }
  if (kept < MOST_TUPLES - 1) {
    copyTuple(tupleAt(list, kept), added);
    kept++;
  }
  store<u32>(bucket, kept, POINT_COUNT);
}

/** The tuple aimed at has failed: out of its bucket. */
export function deleteAim(bucket: u32): void {
  const list = load<u32>(bucket, POINTS);
  let kept: u32 = 0;
  for (let k: u32 = 0, n = load<u32>(bucket, POINT_COUNT); k < n; k++) {
    let same = true;
    for (let i: u32 = 0; i < tiers; i++) if (load<u64>(tupleAt(list, k) + (i << 3)) != load<u64>(aim + (i << 3))) same = false;
    if (same) continue;
    if (kept != k) copyTuple(tupleAt(list, kept), tupleAt(list, k));
    kept++;
  }
  store<u32>(bucket, kept, POINT_COUNT);
  const failed = load<u32>(bucket, FAILED_COUNT);
  if (failed == MOST_TUPLES) return;
  copyTuple(tupleAt(load<u32>(bucket, FAILED), failed), aim);
  store<u32>(bucket, failed + 1, FAILED_COUNT);
}

/** Aims at the tuple of the bucket with the least Σ target/current. */
export function choosePoint(): void {
  const bucket = bucketAt(aimBucket as u32);
  const list = load<u32>(bucket, POINTS);
  let least: f64 = -1;
  for (let k: u32 = 0, n = load<u32>(bucket, POINT_COUNT); k < n; k++) {
    let sum: f64 = 0;
    for (let i: u32 = 0; i < tiers; i++) sum += (load<u64>(tupleAt(list, k) + (i << 3)) as f64) / (max(tail(i), 1) as f64);
    if (least >= 0 && sum >= least) continue;
    least = sum;
    copyTuple(aim, tupleAt(list, k));
  }
}

export function bucketOf(endToEnd: u64, target: u64): i32 {
  const index = (endToEnd * (bucketCount as u64)) / target;
  return min(index, (bucketCount - 1) as u64) as i32;
}

/** The last interval met the target. True: it was the first in the highest bucket seen so far. */
export function learn(endToEnd: u64, target: u64): bool {
  const index = bucketOf(endToEnd, target);
  const bucket = bucketAt(index as u32);
  let highest = false;
  if (load<u32>(bucket, SEEN) == 0) {
    store<u32>(bucket, 1, SEEN);
    highest = true;
    for (let k = index + 1; k < (bucketCount as i32); k++) if (load<u32>(bucketAt(k as u32), SEEN) != 0) highest = false;
    let weight: f64 = 1;
    for (let k = index - 1; k >= 0; k--) {
      if (load<u32>(bucketAt(k as u32), POINT_COUNT) == 0) continue;
      weight = load<f64>(bucketAt(k as u32), WEIGHT);
      break;
    }
    store<f64>(bucket, weight, WEIGHT);
  }
  insertPoint(bucket);
  return highest;
}

/** The bucket aimed at and all lower ones have done well. */
export function raiseWeights(): void {
  for (let k = aimBucket; k >= 0; k--) {
    const at = bucketAt(k as u32);
    store<f64>(at, min(1.0, load<f64>(at, WEIGHT) * RAISE), WEIGHT);
  }
}

/** The bucket blamed and all higher ones have not. */
export function lowerWeights(): void {
  for (let k = blamedBucket; k < (bucketCount as i32); k++) {
    const at = bucketAt(k as u32);
    store<f64>(at, load<f64>(at, WEIGHT) / LOWER, WEIGHT);
  }
}

/** Moves up from the bucket aimed at, one non-empty bucket after the other, each with its weight. False: there is none at all. */
export function climb(): bool {
  let least = -1;
  for (let k = aimBucket + 1; k < (bucketCount as i32); k++) {
    const bucket = bucketAt(k as u32);
    if (load<u32>(bucket, POINT_COUNT) == 0) continue;
    if (least < 0) least = k;
    if (!accept(load<f64>(bucket, WEIGHT))) break;
    aimBucket = k;
  }
  if (aimBucket < 0) aimBucket = least;
  if (aimBucket < 0) return false;
  // Its last tuple may have failed meanwhile.
  if (load<u32>(bucketAt(aimBucket as u32), POINT_COUNT) != 0) return true;
  return descend();
}

/** The next lower non-empty bucket that its weight accepts, else the lowest. False: there is none. */
export function descend(): bool {
  const from = aimBucket >= 0 ? aimBucket - 1 : blamedBucket >= 0 ? blamedBucket - 1 : (bucketCount as i32) - 1;
  let lowest = -1;
  for (let k = from; k >= 0; k--) {
    const bucket = bucketAt(k as u32);
    if (load<u32>(bucket, POINT_COUNT) == 0) continue;
    lowest = k;
    if (accept(load<f64>(bucket, WEIGHT))) break;
  }
  aimBucket = lowest;
  return lowest >= 0;
}
