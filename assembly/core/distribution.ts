// Values of the model's distributions: functions of one 64-bit draw each, by integer arithmetic and tables, so that
// every machine and a native program agree bit for bit.
//
// A record of SECTION_DISTRIBUTIONS, DIST_STRIDE = 64 bytes:
//
//   0  u32 kind (DIST_…)   4  u32 points   8  u64 first point   16  u64 p0   24  u64 p1   32  u64 p2 …
//
// A point of an empirical distribution, 16 bytes: u64 cumulative probability as Q32 (ascending), u64 value (ascending).
//
// Bounds: a value saturates at MAX_VALUE = 2^62 ns (146 years). A value of 0 may occur. Exponential values are
// rounded down, so that their mean is half a nanosecond short; log-normal and Pareto values are rounded to nearest.
// Error of the tables: exponential below 1.3e-7 of the mean, e^x below 1e-7 of itself, |z| below 1e-7.

import {
  DIST_CONSTANT,
  DIST_EMPIRICAL,
  DIST_EXPONENTIAL,
  DIST_HYPEREXPONENTIAL,
  DIST_LOGNORMAL,
  DIST_PARETO,
  DIST_STRIDE,
  DIST_UNIFORM,
} from '../abi';
import { DISTRIBUTIONS, EXP2_TABLE, NORMAL_ENTRIES, NORMAL_TABLE } from './layout';
import { draw64, exponentialQ32, mulHigh, mulQ32 } from './random';

const KIND: usize = 0;
const POINTS: usize = 4;
const FIRST_POINT: usize = 8;
const P0: usize = 16;
const P1: usize = 24;
const P2: usize = 32;

const POINT_BYTES: usize = 16;
const POINT_PROBABILITY: usize = 0;
const POINT_VALUE: usize = 8;

export const MAX_VALUE: u64 = 0x4000000000000000;
/** A mean below this times the largest exponential variate (64 ln 2) stays below MAX_VALUE. */
const SAFE_MEAN: u64 = 0x0100000000000000;
/** Q32 factors are clamped to 2^20, where every value saturates or vanishes: products stay below 2^63. */
const MAX_FACTOR_Q32: u64 = 0x0010000000000000;
/** log2 e as Q63. */
const LOG2_E_Q63: u64 = 13306513097844322492;
const HALF_PI_ROOT: f64 = 1.2533141373155002512; // sqrt(pi / 2)

let pointsBase: usize = 0;

/** Address of the model's SECTION_POINTS. */
export function setPointsBase(address: usize): void {
  pointsBase = address;
}

/** Draw number `index` of the entity with stream key `key` from distribution `dist`, in ns. */
// @ts-ignore: decorator
@inline
export function drawValue(dist: u32, key: u64, index: u64): u64 {
  const record = dist * DIST_STRIDE;
  const kind = load<u32>(record, DISTRIBUTIONS + KIND);
  const p0 = load<u64>(record, DISTRIBUTIONS + P0);
  if (kind == DIST_CONSTANT) return p0;
  const r = draw64(key, index);
  if (kind == DIST_EXPONENTIAL && p0 < SAFE_MEAN) return mulQ32(p0, exponentialQ32(r));
  return valueOf(record, kind, p0, r);
}

function valueOf(record: usize, kind: u32, p0: u64, r: u64): u64 {
  const p1 = load<u64>(record, DISTRIBUTIONS + P1);
  switch (kind) {
    case DIST_UNIFORM:
      return p1 > p0 ? p0 + mulHigh(r, p1 - p0) : p0;
    case DIST_EXPONENTIAL:
      return exponential(p0, r);
    case DIST_LOGNORMAL:
      return logNormal(p0, p1, r);
    case DIST_HYPEREXPONENTIAL: {
      // The branch takes the high half of the draw; the value takes a draw of its own, keyed by it.
      const mean = r >> 32 < p0 ? p1 : load<u64>(record, DISTRIBUTIONS + P2);
      return exponential(mean, draw64(r, 0));
    }
    case DIST_PARETO: // scale × U^(-1/shape) = scale × e^(E / shape)
      return scaleByExp(p0, mulQ32(exponentialQ32(r), min(p1, MAX_FACTOR_Q32)) as i64);
    case DIST_EMPIRICAL:
      return empirical(record, p0 == 1, r);
  }
  return 0;
}

function exponential(mean: u64, r: u64): u64 {
  const e = exponentialQ32(r);
  if (mean < SAFE_MEAN) return mulQ32(mean, e);
  const high = mulHigh(mean, e);
  return high >= MAX_VALUE >> 32 ? MAX_VALUE : (high << 32) | ((mean * e) >> 32);
}

function logNormal(median: u64, sigma: u64, r: u64): u64 {
  // The top bit is the sign; the other 63 give -ln P(|Z| > z), an exponential variate.
  const z = halfNormalQ32(exponentialQ32(r << 1));
  const x = mulQ32(z, min(sigma, MAX_FACTOR_Q32)) as i64;
  return scaleByExp(median, (r >> 63) != 0 ? -x : x);
}

/** |z| as Q32 with -ln P(|Z| > z) = e, by quadratic interpolation between steps of 1/128. */
export function halfNormalQ32(e: u64): u64 {
  const i = ((e >> 25) as u32) << 3;
  const t = (e & 0x1ffffff) << 7;
  const z0 = load<u64>(i, NORMAL_TABLE);
  const z1 = load<u64>(i, NORMAL_TABLE + 8);
  // z is concave in e, so minus the second difference is positive.
  const bend = 2 * z1 - z0 - load<u64>(i, NORMAL_TABLE + 16);
  const halfTOneMinusT = (t * (0x100000000 - t)) >> 33;
  return z0 + (((z1 - z0) * t + bend * halfTOneMinusT) >> 32);
}

/** scale × e^(x / 2^32), rounded to nearest, at most MAX_VALUE. |x| < 2^62. */
export function scaleByExp(scale: u64, x: i64): u64 {
  if (scale == 0) return 0;
  const magnitude = mulHigh(((x < 0 ? -x : x) as u64) << 1, LOG2_E_Q63) as i64;
  const exponent = x < 0 ? -magnitude : magnitude;
  // 2^exponent = mantissa × 2^whole with the mantissa in [1, 2) as Q32.
  const whole = exponent >> 32;
  const i = ((exponent as u32) >> 22) << 3;
  const low = load<u64>(i, EXP2_TABLE);
  const step = load<u64>(i, EXP2_TABLE + 8) - low;
  const mantissa = low + ((step * ((exponent as u64) & 0x3fffff)) >> 22);
  // product = scale × mantissa × 2^(leading − 1), at least 2^62.
  const leading = clz(scale) as i64;
  const product = mulHigh(scale << (leading as u64), mantissa << 31);
  const shift = leading - 1 - whole;
  if (shift <= 0) return MAX_VALUE;
  if (shift >= 64) return shift == 64 ? product >> 63 : 0;
  const rounded = (product >> (shift as u64)) + ((product >> ((shift - 1) as u64)) & 1);
  return min(rounded, MAX_VALUE);
}

/** Inverse of the cumulative distribution at r / 2^64. The first point whose probability exceeds it bounds it above. */
function empirical(record: usize, step: bool, r: u64): u64 {
  const points = load<u32>(record, DISTRIBUTIONS + POINTS);
  if (points == 0) return 0;
  const first = pointsBase + (load<u64>(record, DISTRIBUTIONS + FIRST_POINT) as usize) * POINT_BYTES;
  const u = r >> 32;
  // The point sought lies in [upper, upper + n). No branch depends on the draw: it would be mispredicted half the time.
  let upper = first;
  for (let n = points as usize; n > 1; ) {
    const half = n >> 1;
    const middle = upper + half * POINT_BYTES;
    upper = select(middle, upper, load<u64>(middle - POINT_BYTES, POINT_PROBABILITY) <= u);
    n -= half;
  }
  const value = load<u64>(upper, POINT_VALUE);
  if (step || upper == first) return value;
  const lower = upper - POINT_BYTES;
  const p = load<u64>(lower, POINT_PROBABILITY);
  const width = load<u64>(upper, POINT_PROBABILITY) - p;
  if (u - p >= width) return value; // probabilities that end below 1: the rest belongs to the last point
  const from = load<u64>(lower, POINT_VALUE);
  return from + mulQ32(value - from, (((u - p) << 32) | (r & 0xffffffff)) / width);
}

/** Fills the tables; the normal one (some ms) only for models with a log-normal. */
export function initDistributions(needsNormal: bool): void {
  for (let i: u32 = 0; i <= 1024; i++) {
    const x = NativeMath.exp((i as f64) * (NativeMath.LN2 / 1024.0));
    store<u64>(i << 3, (x * 4294967296.0 + 0.5) as u64, EXP2_TABLE);
  }
  if (needsNormal && load<u64>(8, NORMAL_TABLE) == 0) fillNormalTable();
}

/**
 * |z| by e = -ln P(|Z| > z) = z²/2 − ln(R(z) √(2/π)) with Mills' ratio R(z) = P(Z > z) / φ(z). Because dz/de = R and
 * R' = zR − 1, each entry is predicted from the one before to second order (error below 3e-7) and corrected by
 * one Newton step on e(z) itself (error below 1e-13): errors do not accumulate.
 */
function fillNormalTable(): void {
  const h = 1.0 / 128.0;
  let z = 0.0;
  let mills = HALF_PI_ROOT;
  store<u64>(0, 0, NORMAL_TABLE);
  for (let k: u32 = 1; k < NORMAL_ENTRIES; k++) {
    z += h * mills * (1.0 + 0.5 * h * (z * mills - 1.0));
    mills = millsRatio(z);
    const e = 0.5 * z * z - NativeMath.log(mills / HALF_PI_ROOT);
    const excess = (e - (k as f64) * h) * mills;
    mills -= excess * (z * mills - 1.0);
    z -= excess;
    store<u64>(k << 3, (z * 4294967296.0 + 0.5) as u64, NORMAL_TABLE);
  }
}

/** P(Z > z) / φ(z): the power series of erf where it is stable, Laplace's continued fraction above. */
function millsRatio(z: f64): f64 {
  if (z < 3.0) {
    let term = z;
    let sum = z;
    for (let k: u32 = 3; term > sum * 1e-17; k += 2) {
      term *= (z * z) / (k as f64);
      sum += term;
    }
    return HALF_PI_ROOT * NativeMath.exp(0.5 * z * z) - sum;
  }
  let tail = z;
  for (let k: i32 = 40; k > 0; k--) tail = z + (k as f64) / tail;
  return 1.0 / tail;
}
