// MSER-5: where a series leaves its empty start behind. White, Cobb and Spratt, "A comparison of five steady-state truncation
// heuristics for simulation" (Winter Simulation Conference 2000); rejection beyond the half as Hoad, Robinson and Davies,
// "Automating warm-up length estimation" (Journal of the Operational Research Society 61, 2010).

/** Observations a batch. */
export const BATCH = 5;
/** Batches that always stay: over a shorter rest the statistic is small by chance. */
const KEPT_BATCHES = 5;

export interface Truncation {
  /** What to leave out at the beginning: of mser5 observations, a multiple of BATCH; of mser batches. */
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
  const means = new Float64Array(Math.floor(observations.length / BATCH));
  for (let i = 0; i < means.length * BATCH; i++) means[Math.floor(i / BATCH)] += observations[i] / BATCH;
  const truncation = mser(means);
  return truncation === undefined ? undefined : { ...truncation, cut: truncation.cut * BATCH };
}

/** The same rule for means of batches that are known already; `cut` counts batches. */
export function mser(means: ArrayLike<number>): Truncation | undefined {
  const m = means.length;
  if (m < 2 * KEPT_BATCHES) return undefined;
  const half = Math.floor(m / 2);
  // Mean and sum of squares grow from the end (Welford), so that large offsets cancel nothing.
  let mean = 0;
  let squares = 0;
  let best = Number.POSITIVE_INFINITY;
  let cut = half;
  let bestBeyond = Number.POSITIVE_INFINITY;
  for (let d = m - 1; d >= 0; d--) {
    const left = m - d;
    const away = means[d] - mean;
    mean += away / left;
    squares += away * (means[d] - mean);
    if (left < KEPT_BATCHES) continue;
    const statistic = squares / left ** 2;
    if (d > half) {
      bestBeyond = Math.min(bestBeyond, statistic);
    } else if (statistic <= best) {
      best = statistic;
      cut = d;
    }
  }
  return { cut, statistic: best, settled: best <= bestBeyond };
}
