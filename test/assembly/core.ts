// Entry of the module under test in test/core-*.test.ts (built by test/support/units.ts). Bulk loops are here, so that
// the tests read arrays of results from memory instead of crossing the boundary per value.

import { DIST_STRIDE } from '../../assembly/abi';
import { arenaAllocate, arenaReset, arenaTop } from '../../assembly/core/arena';
import {
  drawValue,
  halfNormalQ32,
  initDistributions,
  scaleByExp,
  setPointsBase,
} from '../../assembly/core/distribution';
import { failure, failureReset } from '../../assembly/core/failure';
import {
  histogramAddress,
  histogramBucketCount,
  histogramBucketIndex,
  histogramBucketValue,
  histogramCountAt,
  histogramMerge,
  histogramNextBucket,
  histogramRecord,
  histogramReset,
  histogramValueAt,
} from '../../assembly/core/histogram';
import { ARENA, DISTRIBUTIONS } from '../../assembly/core/layout';
import { draw64, entityKey, exponentialQ32, initRandom, streamKey } from '../../assembly/core/random';
import {
  WHEEL_A,
  WHEEL_B,
  WHEEL_KIND,
  WHEEL_TIME,
  wheelCancel,
  wheelFree,
  wheelInsert,
  wheelNextTime,
  wheelPop,
  wheelReset,
} from '../../assembly/core/wheel';

export {
  arenaAllocate,
  failureReset,
  arenaReset,
  arenaTop,
  exponentialQ32,
  halfNormalQ32,
  histogramAddress,
  histogramBucketCount,
  histogramBucketValue,
  histogramCountAt,
  histogramMerge,
  histogramNextBucket,
  histogramReset,
  histogramValueAt,
  initDistributions,
  initRandom,
  scaleByExp,
  setPointsBase,
  wheelCancel,
  wheelFree,
  wheelInsert,
  wheelNextTime,
  wheelPop,
  wheelReset,
};

export function failureCode(): u32 {
  return failure;
}

export function arenaBase(): usize {
  return ARENA;
}

export function distributionAddress(dist: u32): usize {
  return DISTRIBUTIONS + dist * DIST_STRIDE;
}

export function keyOf(seed: u64, purpose: u32, source: u32, ordinal: u64): u64 {
  return entityKey(streamKey(seed, purpose, source), ordinal);
}

export function bitsOf(key: u64, index: u64): u64 {
  return draw64(key, index);
}

export function draw(dist: u32, key: u64, index: u64): u64 {
  return drawValue(dist, key, index);
}

/** Draws 0 … n − 1 of one entity into a u64 array. */
export function drawMany(dist: u32, key: u64, n: u32, target: usize): void {
  for (let i: u32 = 0; i < n; i++) store<u64>(target + (i << 3), drawValue(dist, key, i));
}

/** Sum of n draws: the cost of drawing without the cost of storing. */
export function drawSum(dist: u32, key: u64, n: u32): u64 {
  let sum: u64 = 0;
  for (let i: u32 = 0; i < n; i++) sum += drawValue(dist, key, i);
  return sum;
}

export function bucketIndex(value: u64): u32 {
  return histogramBucketIndex(value);
}

export function record(id: u32, value: u64): void {
  histogramRecord(id, value);
}

export function recordMany(id: u32, source: usize, n: u32): void {
  for (let i: u32 = 0; i < n; i++) histogramRecord(id, load<u64>(source + (i << 3)));
}

export function nodeTime(node: u32): u64 {
  return load<u64>(node << 5, WHEEL_TIME);
}

export function nodeKind(node: u32): u32 {
  return load<u32>(node << 5, WHEEL_KIND);
}

export function nodeA(node: u32): u32 {
  return load<u32>(node << 5, WHEEL_A);
}

export function nodeB(node: u32): u64 {
  return load<u64>(node << 5, WHEEL_B);
}

/** `steps` times: take the earliest event and insert it again after an exponential time. */
export function wheelHold(dist: u32, key: u64, population: u32, steps: u32): u64 {
  wheelReset(0);
  for (let i: u32 = 0; i < population; i++) wheelInsert(drawValue(dist, key, i), 0, i, 0);
  let time: u64 = 0;
  for (let i: u32 = 0; i < steps; i++) {
    time = wheelNextTime();
    const node = wheelPop();
    const a = load<u32>(node << 5, WHEEL_A);
    wheelFree(node);
    wheelInsert(time + drawValue(dist, key, population + i), 0, a, 0);
  }
  return time;
}
