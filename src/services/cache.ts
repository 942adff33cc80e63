// Hit ratio of a least-recently-used cache under independent requests with Zipf popularity.

import type { Cache } from './schema/values.js';
import { bytesOf } from './schema/values.js';

/** Items counted one by one; the others in ranges that grow by 1 %. */
const EXACT_ITEMS = 4096;
const GROWTH = 1.01;
const STEPS = 200;

/** Ranks in ranges: [mean weight rank^−zipf, items in the range]. */
function popularity(items: number, zipf: number): { weight: number; items: number }[] {
  const ranges: { weight: number; items: number }[] = [];
  for (let rank = 1; rank <= Math.min(items, EXACT_ITEMS); rank++)
    ranges.push({ weight: rank ** -zipf, items: 1 });
  // A range [a, b] of ranks by the integral from a − 1/2 to b + 1/2.
  const integral = (x: number) => (zipf === 1 ? Math.log(x) : x ** (1 - zipf) / (1 - zipf));
  for (let first = EXACT_ITEMS + 1; first <= items; ) {
    const last = Math.min(items, Math.floor(first * GROWTH));
    const inRange = last - first + 1;
    ranges.push({ weight: (integral(last + 0.5) - integral(first - 0.5)) / inRange, items: inRange });
    first = last + 1;
  }
  return ranges;
}

/**
 * Probability that a request finds its item, by Che's approximation: with popularities p_i and a cache of C items,
 * Σ p_i (1 − e^(−p_i T)), where T solves Σ (1 − e^(−p_i T)) = C (Che, Tung, Wang, IEEE JSAC 20(7), 2002).
 */
export function hitRatio({ memory, working_set, item, zipf }: Cache): number {
  const items = Math.max(1, Math.floor(bytesOf(working_set) / bytesOf(item)));
  const capacity = Math.floor(bytesOf(memory) / bytesOf(item));
  if (capacity >= items) return 1;
  if (capacity === 0) return 0;
  const ranges = popularity(items, zipf);
  const total = ranges.reduce((sum, range) => sum + range.weight * range.items, 0);
  const sumOf = (value: (p: number) => number) =>
    ranges.reduce((sum, range) => sum + range.items * value(range.weight / total), 0);
  const held = (time: number) => sumOf((p) => -Math.expm1(-p * time));
  let low = 0;
  let high = 1;
  while (held(high) < capacity) high *= 2;
  for (let step = 0; step < STEPS && high - low > 1e-12 * high; step++) {
    const middle = (low + high) / 2;
    if (held(middle) < capacity) low = middle;
    else high = middle;
  }
  return sumOf((p) => -p * Math.expm1(-p * high));
}
