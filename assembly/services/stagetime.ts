// How long a stage takes for what it has taken.
//
// Timing, 64 B: u32 kind, u32 distribution, u32 of, u32 flags, u32 points, u32 count, u64 base, u64 each, u64 unit to round to,
// u64 factor on the first pass, u64 factor on later ones; as in the model image, with the points' address in place of their index.

import {
  COUNT_BYTES,
  COUNT_CONNECTIONS,
  SVT_BASE,
  SVT_DISTRIBUTION,
  SVT_EACH,
  SVT_FLAGS,
  SVT_KIND,
  SVT_OF,
  SVT_POINT_COUNT,
  SVT_POINTS,
  SVT_ROUND,
  TIMING_CONSTANT,
  TIMING_DISTRIBUTION,
  TIMING_LINEAR,
  TIMING_REPEAT,
} from '../abi';
import { drawValue } from '../core/distribution';
import { draw64, exponentialQ32, mulQ32 } from '../core/random';
import { batchBytes, batchConnections, batchJobs } from './stagequeue';
import { STAGE_REPEAT, STAGE_REPEAT_DRAWN, STAGE_TIMING } from './records';

const ONE_Q32: u64 = 0x1_0000_0000;
/** Draws of one batch: 0 … are its times, this one the number of them. */
const DRAW_REPEAT: u64 = 0xffff;

export const TIMING_FIRST: usize = 48;
export const TIMING_AGAIN: usize = 56;

/** Time of a stage for the batch, ns; its draws are those of `key`. */
// @ts-ignore: decorator
@inline
export function stageTime(stage: u32, key: u64, again: bool): u64 {
  const timing = load<u32>(stage, STAGE_TIMING);
  let time: u64;
  if (load<u32>(timing, SVT_KIND) == TIMING_DISTRIBUTION && load<u32>(stage, STAGE_REPEAT) == 1) {
    time = drawValue(load<u32>(timing, SVT_DISTRIBUTION), key, 0);
  } else {
    time = drawnTime(stage, timing, key);
  }
  const factor = again ? load<u64>(timing, TIMING_AGAIN) : load<u64>(timing, TIMING_FIRST);
  return factor == ONE_Q32 ? time : mulQ32(time, factor);
}

function drawnTime(stage: u32, timing: u32, key: u64): u64 {
  let repeat = load<u32>(stage, STAGE_REPEAT) as u64;
  if (load<u32>(stage, STAGE_REPEAT_DRAWN) != 0) {
    repeat = (repeat * exponentialQ32(draw64(key, DRAW_REPEAT)) + (ONE_Q32 - 1)) >> 32;
    if (repeat == 0) repeat = 1;
  }
  const kind = load<u32>(timing, SVT_KIND);
  if (kind == TIMING_DISTRIBUTION) {
    let sum: u64 = 0;
    for (let i: u64 = 0; i < repeat; i++) sum += drawValue(load<u32>(timing, SVT_DISTRIBUTION), key, i);
    return sum;
  }
  const mean = kind == TIMING_LINEAR ? linearMean(timing, countOf(timing)) : tableMean(timing, countOf(timing));
  repeat *= meanDraws;
  if ((load<u32>(timing, SVT_FLAGS) & TIMING_CONSTANT) != 0) return mean * repeat;
  let sum: u64 = 0;
  for (let i: u64 = 0; i < repeat; i++) sum += mulQ32(mean, exponentialQ32(draw64(key, i)));
  return sum;
}

function countOf(timing: u32): u64 {
  const counted = load<u32>(timing, SVT_OF);
  if (counted == COUNT_BYTES) return batchBytes;
  // What was not taken by connection is not counted by connection.
  return (counted == COUNT_CONNECTIONS && batchConnections != 0 ? batchConnections : batchJobs) as u64;
}

/** Draws that the mean found last is for. */
let meanDraws: u64 = 1;

function linearMean(timing: u32, n: u64): u64 {
  meanDraws = 1;
  const mean = load<u64>(timing, SVT_BASE) + load<u64>(timing, SVT_EACH) * n;
  const unit = load<u64>(timing, SVT_ROUND);
  return unit == 0 ? mean : ((mean + (unit >> 1)) / unit) * unit;
}

function tableMean(timing: u32, n: u64): u64 {
  meanDraws = 1;
  let point = load<u32>(timing, SVT_POINTS);
  const last = point + ((load<u32>(timing, SVT_POINT_COUNT) - 1) << 4);
  while (point != last && load<u64>(point) < n) point += 16;
  const upTo = load<u64>(point);
  if (n > upTo && (load<u32>(timing, SVT_FLAGS) & TIMING_REPEAT) != 0) meanDraws = n / upTo;
  return load<u64>(point, 8);
}
