// µqSim's power management (Algorithm 1 of the paper, with what its release adds). The range of the end-to-end tail below the target is
// divided into buckets. A bucket keeps the tuples of per-tier tails that were seen with such an end-to-end tail, and a weight: how
// likely it is worth aiming at. The tuple aimed at is the tiers' target; a tier that is later than its part speeds up, of those with slack
// one slows down.
//
//   EXPLORE   slow down one tier after the other, as long as the target is met
//   NORMAL    keep to a tuple; now and then look for a more relaxed one in higher buckets
//   RECOVER   the target is violated: speed up until it is met

import { mulHigh } from '../core/random';
import {
  accept,
  aim,
  aimAt,
  aimBucket,
  blame,
  bucketAt,
  bucketOf,
  bucketsInit,
  choosePoint,
  climb,
  deleteAim,
  descend,
  draw,
  learn,
  lowerWeights,
  raiseWeights,
  tail,
  tiers,
  WEIGHT,
} from './buckets';
import { tierAt } from './monitor';
import { TIER_STEP, TIER_STEPS } from './records';

const EXPLORE: u32 = 0;
const NORMAL: u32 = 1;
const RECOVER: u32 = 2;

/** Intervals before a more relaxed tuple is looked for, and those to watch what slowing down does. */
const STATIC_INTERVALS: i32 = 20;
const OBSERVE_INTERVALS: i32 = 5;

/** Loads that differ by less are one. */
const RATE_STEP: u64 = 5000;
let state: u32 = EXPLORE;
let observedBucket: i32 = -1;
let staticLeft: i32 = 0;
let observeLeft: i32 = 0;

/** Distinct loads since the aim was chosen or exploring began: none, one, more. */
let loads: u32 = 0;
let firstLoad: u64 = 0;

export function algorithm1Init(record: usize, count: u32): void {
  bucketsInit(record, count);
  state = EXPLORE;
  observedBucket = -1;
  staticLeft = 0;
  observeLeft = 0;
  loads = 0;
}

// @ts-ignore: decorator
@inline
function mayRise(tier: u32): bool {
  return load<u32>(tierAt(tier), TIER_STEP) + 1 < load<u32>(tierAt(tier), TIER_STEPS);
}

function change(tier: u32, by: i32): void {
  store<u32>(tierAt(tier), load<u32>(tierAt(tier), TIER_STEP) + by, TIER_STEP);
}

/** One of the tiers that can, by chance, slows down a step: of all (`slackOnly` false), or of those ahead of their target. */
function slowOne(slackOnly: bool): void {
  let candidates: u32 = 0;
  for (let i: u32 = 0; i < tiers; i++) if (maySlow(i, slackOnly)) candidates++;
  if (candidates == 0) {
    if (!slackOnly) observeLeft = 0;
    return;
  }
  observeLeft = OBSERVE_INTERVALS;
  let chosen = mulHigh(draw(), candidates as u64) as u32;
  for (let i: u32 = 0; i < tiers; i++) {
    if (!maySlow(i, slackOnly)) continue;
    if (chosen == 0) {
      change(i, -1);
      return;
    }
    chosen--;
  }
}

function maySlow(tier: u32, slackOnly: bool): bool {
  if (load<u32>(tierAt(tier), TIER_STEP) == 0) return false;
  return !slackOnly || load<u64>(aim + (tier << 3)) > tail(tier);
}

/** Tiers at or behind their target speed up. */
function speedUpLate(): void {
  for (let i: u32 = 0; i < tiers; i++) if (load<u64>(aim + (i << 3)) <= tail(i) && mayRise(i)) change(i, 1);
}

/** The target is violated: tiers behind theirs speed up, or all if none is. */
function speedUp(): void {
  let any = false;
  if (aimBucket >= 0) {
    for (let i: u32 = 0; i < tiers; i++) {
      if (load<u64>(aim + (i << 3)) >= tail(i) || !mayRise(i)) continue;
      any = true;
      change(i, 1);
    }
  }
  if (any) return;
  for (let i: u32 = 0; i < tiers; i++) if (mayRise(i)) change(i, 1);
}

/** Which tiers may slow down is judged before any speeds up. */
function adjust(): void {
  slowOne(true);
  speedUpLate();
}

function noteLoad(range: u64): void {
  if (loads == 0) {
    loads = 1;
    firstLoad = range;
  } else if (range != firstLoad) {
    loads = 2;
  }
}

function slowForExploration(bucket: i32): void {
  observedBucket = bucket;
  slowOne(false);
}

/** An interval has ended with this end-to-end tail at this load. */
export function algorithm1(endToEnd: u64, target: u64, rate: u64): void {
  const violated = endToEnd > target;
  const range = ((rate + RATE_STEP - 1) / RATE_STEP) * RATE_STEP;
  let explore = false;
  if (!violated && learn(endToEnd, target)) explore = accept(load<f64>(bucketAt(bucketOf(endToEnd, target) as u32), WEIGHT));
  if (state == NORMAL) {
    if (violated) fallBack();
    else keep(endToEnd, target, range, explore);
  } else if (state == EXPLORE) {
    if (violated) {
      state = RECOVER;
      blame(loads == 1 ? observedBucket : -1);
      if (descend()) choosePoint();
      loads = 0;
    } else {
      noteLoad(range);
      observeLeft--;
      if (observeLeft <= 0) slowForExploration(bucketOf(endToEnd, target));
    }
  } else if (violated) {
    speedUp();
  } else {
    state = NORMAL;
    loads = 0;
    noteLoad(range);
    if (climb()) {
      choosePoint();
      adjust();
    }
  }
}

/** NORMAL, violated. If the load has changed since the aim was chosen, the aim is not to blame. */
function fallBack(): void {
  state = RECOVER;
  blame(-1);
  if (loads == 1 && aimBucket >= 0) {
    blame(aimBucket);
    deleteAim(bucketAt(aimBucket as u32));
    lowerWeights();
  }
  loads = 0;
  if (descend()) choosePoint();
  speedUp();
}

/** NORMAL, met. */
function keep(endToEnd: u64, target: u64, range: u64, explore: bool): void {
  noteLoad(range);
  if (explore) {
    aimAt(-1);
    state = EXPLORE;
    slowForExploration(bucketOf(endToEnd, target));
    return;
  }
  raiseWeights();
  staticLeft--;
  observeLeft--;
  if (observeLeft > 0) {
    if (aimBucket >= 0) speedUpLate();
    return;
  }
  if (staticLeft <= 0 || aimBucket < 0) {
    staticLeft = STATIC_INTERVALS;
    if (!climb()) return;
    choosePoint();
  }
  adjust();
}
