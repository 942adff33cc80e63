// MSER-5: where a series leaves its empty start behind. White, Cobb and Spratt, "A comparison of five steady-state truncation
// heuristics for simulation" (Winter Simulation Conference 2000); rejection beyond the half as Hoad, Robinson and Davies,
// "Automating warm-up length estimation" (Journal of the Operational Research Society 61, 2010).

/** Observations a batch. */
export const BATCH = 5;
/** Batches that always stay: over a shorter rest the statistic is small by chance. */
const KEPT_BATCHES = 5;

export interface Truncation {
  /** Observations to leave out at the beginning, a multiple of BATCH. */
  cut: number;
  /** The rule's statistic there: the variance of the mean of what is left, times (n − 1) / n. */
  statistic: number;
  /**
   * Whether the series is long enough to tell. If the best cut lies beyond the first half, it need not be where the transient
   * ends: the series should be longer. `cut` is then the best within the first half.
   */
  settled: boolean;
}

/**
 * The cut d that minimises Σ_{j>d} (Y_j − mean_d)² / (m − d)² over the m means Y_j of five successive observations, where
 * mean_d is that of Y_{d+1} … Y_m; the earliest of several. An incomplete last batch is left out. Linear in the length.
 * Undefined with fewer than ten batches, of which none could be judged.
 */
export function mser5(observations: ArrayLike<number>): Truncation | undefined {
  const m = Math.floor(observations.length / BATCH);
  if (m < 2 * KEPT_BATCHES) return undefined;
  const half = Math.floor(m / 2);
  // Mean and sum of squares grow from the end (Welford), so that large offsets cancel nothing.
  let mean = 0;
  let squares = 0;
  let best = Number.POSITIVE_INFINITY;
  let cut = half;
  let bestBeyond = Number.POSITIVE_INFINITY;
  for (let d = m - 1; d >= 0; d--) {
    let batch = 0;
    for (let i = 0; i < BATCH; i++) batch += observations[d * BATCH + i];
    batch /= BATCH;
    const left = m - d;
    const away = batch - mean;
    mean += away / left;
    squares += away * (batch - mean);
    if (left < KEPT_BATCHES) continue;
    const statistic = squares / left ** 2;
    if (d > half) {
      bestBeyond = Math.min(bestBeyond, statistic);
    } else if (statistic <= best) {
      best = statistic;
      cut = d;
    }
  }
  return { cut: cut * BATCH, statistic: best, settled: best <= bestBeyond };
}
