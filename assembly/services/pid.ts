// PID control of the tail: e = tail/target − 1; every tier moves by Kp e + Ki Σ e + Kd Δe steps, rounded. The sum stops where all tiers
// are at an end of their range, so that it does not wind up.

import { SVC_GAIN } from '../abi';
import { tierAt } from './monitor';
import { TIER_STEP, TIER_STEPS } from './records';

/** Errors count at most this much: a system that returns nothing has no number. */
const MOST_ERROR: f64 = 10;

let tiers: u32 = 0;
let proportional: f64 = 0;
let integral: f64 = 0;
let derivative: f64 = 0;
let sum: f64 = 0;
let before: f64 = 0;

function gain(record: usize, index: u32): f64 {
  return (load<i64>(record + ((SVC_GAIN + index) as usize) * 8) as f64) / 65536.0;
}

export function pidInit(record: usize, count: u32): void {
  tiers = count;
  proportional = gain(record, 0);
  integral = gain(record, 1);
  derivative = gain(record, 2);
  sum = 0;
  before = 0;
}

export function pid(tail: u64, target: u64): void {
  const error = min((tail as f64) / (target as f64) - 1.0, MOST_ERROR);
  const change = proportional * error + integral * (sum + error) + derivative * (error - before);
  before = error;
  const steps = nearest(change);
  let moved = false;
  for (let i: u32 = 0; i < tiers; i++) {
    const tier = tierAt(i);
    const step = load<u32>(tier, TIER_STEP) as i64;
    const highest = (load<u32>(tier, TIER_STEPS) as i64) - 1;
    const next = max(0, min(highest, step + steps));
    if (next != step) moved = true;
    store<u32>(tier, next as u32, TIER_STEP);
  }
  if (moved || steps == 0) sum += error;
}

function nearest(value: f64): i64 {
  return (value < 0 ? value - 0.5 : value + 0.5) as i64;
}
