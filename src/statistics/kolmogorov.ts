// The two-sample Kolmogorov–Smirnov distance, for samples whose values are known to within a resolution.

/** Number of values of a sorted sample that are at most `limit`. */
function countUpTo(sorted: Float64Array, limit: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** sup (F(x) − G(x + resolution)): how far F is ahead of G even if every value of G may be smaller by the resolution. */
function lead(f: Float64Array, g: Float64Array, resolution: number): number {
  let largest = 0;
  for (let i = 0; i < f.length; i++) {
    if (f[i + 1] === f[i]) continue;
    largest = Math.max(largest, (i + 1) / f.length - countUpTo(g, f[i] + resolution) / g.length);
  }
  return largest;
}

/**
 * Largest difference between the empirical distribution functions of two samples, sup |F − G|; 1 if one is empty, 0 if both
 * are. With a resolution (in the unit of the values), differences that shifting values by up to it explains do not count.
 */
export function kolmogorovDistance(a: ArrayLike<number>, b: ArrayLike<number>, resolution = 0): number {
  if (a.length === 0 || b.length === 0) return a.length === b.length ? 0 : 1;
  const f = Float64Array.from(a).sort();
  const g = Float64Array.from(b).sort();
  return Math.max(lead(f, g, resolution), lead(g, f, resolution));
}
