// MSER-5: where the transient of a run ends, from the run itself.

import type { LatencySeries } from '../../engine/services.js';

export interface Cut {
  /** Requests that begin earlier are the warm-up, ns. */
  from_ns: number;
  /** Batches cut off. */
  batches: number;
  /** Whether the least error was found in the first half, as it must: otherwise the run is too short to tell. */
  found: boolean;
}

/**
 * Cuts off the d batches for which the marginal standard error of the mean of the others, Σ (x − mean)² / (m − d)², is least, d ≤ m / 2
 * (K. P. White: An effective truncation heuristic for bias reduction in simulation output, Simulation 69(6), 1997; batches of five: White,
 * Cobb, Spratt, WSC 2000). Of runs with more than 20,480 requests the batches are longer, 5 × 2^k requests, so that there are at most 4096.
 */
export function mser5({ start_ns, mean_ns }: Pick<LatencySeries, 'start_ns' | 'mean_ns'>): Cut {
  const known = Array.from(mean_ns, (mean, i) => ({ mean, start: start_ns[i] })).filter(({ mean }) =>
    Number.isFinite(mean),
  );
  const m = known.length;
  let best = { error: Number.POSITIVE_INFINITY, d: 0 };
  // From the end, mean and squared deviations grow by Welford's recursion.
  let mean = 0;
  let squares = 0;
  let n = 0;
  for (let d = m - 1; d >= 0; d--) {
    n++;
    const delta = known[d].mean - mean;
    mean += delta / n;
    squares += delta * (known[d].mean - mean);
    const error = squares / (n * n);
    // Of equal errors the earliest cut.
    if (d <= m / 2 && error <= best.error) best = { error, d };
  }
  return {
    from_ns: best.d === 0 ? 0 : known[best.d].start,
    batches: best.d,
    found: m >= 10 && best.d < Math.floor(m / 2),
  };
}
