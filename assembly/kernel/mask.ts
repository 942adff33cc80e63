// CPU masks: MASK_WORDS words of 64 bits. `nrWords` words are in use on this machine.

import { MASKS, MASK_BYTES } from '../core/layout';

export let nrWords: u32 = 1;
export let nrCpus: u32 = 1;

export function maskInit(cpus: u32): void {
  nrCpus = cpus;
  nrWords = (cpus + 63) >> 6;
}

/** Address of mask `index` of the model. */
// @ts-ignore: decorator
@inline
export function maskAddress(index: u32): usize {
  return MASKS + index * MASK_BYTES;
}

// @ts-ignore: decorator
@inline
export function maskTest(mask: usize, cpu: u32): bool {
  return ((load<u64>(mask + ((cpu >> 6) << 3)) >> (cpu & 63)) & 1) != 0;
}

// @ts-ignore: decorator
@inline
export function maskSet(mask: usize, cpu: u32): void {
  const word = mask + ((cpu >> 6) << 3);
  store<u64>(word, load<u64>(word) | ((1 as u64) << (cpu & 63)));
}

// @ts-ignore: decorator
@inline
export function maskClear(mask: usize, cpu: u32): void {
  const word = mask + ((cpu >> 6) << 3);
  store<u64>(word, load<u64>(word) & ~((1 as u64) << (cpu & 63)));
}

/** Lowest CPU in a ∩ b, or -1. */
// @ts-ignore: decorator
@inline
export function maskFirstAnd(a: usize, b: usize): i32 {
  const bits = load<u64>(a) & load<u64>(b);
  return bits != 0 ? (ctz(bits) as i32) : maskNextAnd(a, b, 64);
}

/** Lowest CPU ≥ from in a ∩ b, or -1. */
export function maskNextAnd(a: usize, b: usize, from: u32): i32 {
  let w = from >> 6;
  if (w >= nrWords) return -1;
  let bits = load<u64>(a + (w << 3)) & load<u64>(b + (w << 3)) & ((-1 as u64) << (from & 63));
  while (bits == 0) {
    if (++w >= nrWords) return -1;
    bits = load<u64>(a + (w << 3)) & load<u64>(b + (w << 3));
  }
  return ((w << 6) as i32) + (ctz(bits) as i32);
}

/** Lowest CPU in the mask, or -1. */
// @ts-ignore: decorator
@inline
export function maskFirst(a: usize): i32 {
  return maskFirstAnd(a, a);
}

/** Number of CPUs in a ∩ b. */
export function maskWeightAnd(a: usize, b: usize): u32 {
  let n: u32 = 0;
  for (let w: u32 = 0; w < nrWords; w++) n += popcnt(load<u64>(a + (w << 3)) & load<u64>(b + (w << 3))) as u32;
  return n;
}
