// Random numbers without state: a draw is a function of (seed, purpose, source, entity ordinal, draw index), so
// that two policies see the same arrivals and the same service times, whatever the order in which they ask.
// The mixer is the finaliser of splitmix64 (Steele, Lea, Flood, OOPSLA 2014), applied once per coordinate.

import { LN_TABLE } from './layout';

const GOLDEN: u64 = 0x9e3779b97f4a7c15;
/** ln 2 as Q32. */
const LN2_Q32: u64 = 2977044472;

/** What a stream is for; part of every key, so that one purpose never shares numbers with another. */
export const PURPOSE_ARRIVAL: u32 = 1;
export const PURPOSE_COUNT: u32 = 2;
export const PURPOSE_DURATION: u32 = 3;
export const PURPOSE_PROGRAM: u32 = 4;
export const PURPOSE_START: u32 = 5;
export const PURPOSE_OVERHEAD: u32 = 6;
export const PURPOSE_POLICY: u32 = 7;

// @ts-ignore: decorator
@inline
export function mix64(x: u64): u64 {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/** Key of one stream of draws. `source` is the index of the arrival source, task template or function. */
// @ts-ignore: decorator
@inline
export function streamKey(seed: u64, purpose: u32, source: u32): u64 {
  return mix64(mix64(seed + GOLDEN) ^ (((purpose as u64) << 32) | (source as u64)));
}

/** Key of one entity's draws inside a stream; `ordinal` counts the entities of that source from 0. */
// @ts-ignore: decorator
@inline
export function entityKey(stream: u64, ordinal: u64): u64 {
  return mix64(stream + (ordinal + 1) * GOLDEN);
}

/** Draw number `index` of an entity: 64 uniform bits. */
// @ts-ignore: decorator
@inline
export function draw64(key: u64, index: u64): u64 {
  return mix64(key + (index + 1) * GOLDEN);
}

/** High 64 bits of a × b. */
// @ts-ignore: decorator
@inline
export function mulHigh(a: u64, b: u64): u64 {
  const al = a & 0xffffffff;
  const ah = a >> 32;
  const bl = b & 0xffffffff;
  const bh = b >> 32;
  const middle = ah * bl + ((al * bl) >> 32);
  const cross = al * bh + (middle & 0xffffffff);
  return ah * bh + (middle >> 32) + (cross >> 32);
}

/** (a × q) >> 32 for a Q32 factor q, exact as long as the result fits. */
// @ts-ignore: decorator
@inline
export function mulQ32(a: u64, q: u64): u64 {
  const fraction = q & 0xffffffff;
  return a * (q >> 32) + (a >> 32) * fraction + (((a & 0xffffffff) * fraction) >> 32);
}

/** ln(1 + m/2^64) as Q32 by linear interpolation in 1024 steps (error below 1.2e-7). */
// @ts-ignore: decorator
@inline
export function ln1pQ32(m: u64): u64 {
  const i = ((m >> 54) as u32) << 3;
  const low = load<u64>(i, LN_TABLE);
  const step = load<u64>(i, LN_TABLE + 8) - low;
  return low + ((step * ((m >> 22) & 0xffffffff)) >> 32);
}

/** -ln u as Q32 of the uniform u in (0, 1) that the bits r stand for: an exponential variate of mean 1. */
// @ts-ignore: decorator
@inline
export function exponentialQ32(r: u64): u64 {
  // r = 2^-(c+1) × (1 + m/2^64): c leading zeros, then the bits of the mantissa.
  const c = clz(r | 1);
  const m = (r << c) << 1;
  return (c + 1) * LN2_Q32 - ln1pQ32(m);
}

/** Fills the table of ln; its values come from AssemblyScript's own software logarithm, the same on every machine. */
export function initRandom(): void {
  for (let i: u32 = 0; i <= 1024; i++) {
    const x = NativeMath.log(1.0 + (i as f64) / 1024.0);
    store<u64>(i << 3, (x * 4294967296.0 + 0.5) as u64, LN_TABLE);
  }
}
