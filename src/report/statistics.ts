// Intervals over replications. A replication is one observation: what its invocations share (arrivals, service times)
// makes them dependent, so counts of invocations never enter an interval.

/** Confidence of every interval in the report. */
export const CONFIDENCE = 0.95;

/** A mean over replications; the interval is mean ± half. */
export interface Estimate {
  mean: number;
  /** Half width of the 95 % interval; undefined with fewer than two replications. */
  half?: number;
  /** Replications. */
  n: number;
}

/** ln Γ(x) for x > 0: Stirling's series beyond 15, where its next term is below 1e-13, and Γ(x) = Γ(x+1)/x before. */
function logGamma(x: number): number {
  if (x < 15) return logGamma(x + 1) - Math.log(x);
  const series = 1 / (12 * x) - 1 / (360 * x ** 3) + 1 / (1260 * x ** 5) - 1 / (1680 * x ** 7);
  return (x - 0.5) * Math.log(x) - x + Math.log(2 * Math.PI) / 2 + series;
}

/** Continued fraction of the incomplete beta function, by Lentz' method; converges fast for x < (a+1)/(a+b+2). */
function betaFraction(x: number, a: number, b: number): number {
  const tiny = 1e-300;
  const away = (value: number) => (Math.abs(value) < tiny ? tiny : value);
  let c = 1;
  let d = 1 / away(1 - ((a + b) * x) / (a + 1));
  let fraction = d;
  for (let m = 1; m < 1000; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    let step = 1;
    for (const term of [even, odd]) {
      d = 1 / away(1 + term * d);
      c = away(1 + term / c);
      step = c * d;
      fraction *= step;
    }
    if (Math.abs(step - 1) < 1e-15) break;
  }
  return fraction;
}

/** Regularised incomplete beta function I_x(a, b). */
function incompleteBeta(x: number, a: number, b: number): number {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x));
  return x < (a + 1) / (a + b + 2)
    ? (front * betaFraction(x, a, b)) / a
    : 1 - (front * betaFraction(1 - x, b, a)) / b;
}

/** P(|T| > t) of Student's distribution: I_x(df/2, 1/2) at x = df / (df + t²). */
function tTails(t: number, df: number): number {
  return incompleteBeta(df / (df + t * t), df / 2, 0.5);
}

/** The t beyond which both tails of Student's distribution together hold 1 − confidence. */
export function tQuantile(df: number, confidence = CONFIDENCE): number {
  let low = 0;
  let high = 2;
  while (tTails(high, df) > 1 - confidence) high *= 2;
  for (let i = 0; i < 100; i++) {
    const middle = (low + high) / 2;
    if (tTails(middle, df) > 1 - confidence) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** P(F > f) of Fisher's distribution. */
export function fTail(f: number, df1: number, df2: number): number {
  return f <= 0 ? 1 : incompleteBeta(df2 / (df2 + df1 * f), df2 / 2, df1 / 2);
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

/** Mean and t-interval: half = t(n−1) · s / √n, s with n − 1. Undefined without observations. */
export function estimate(values: readonly number[]): Estimate | undefined {
  const n = values.length;
  if (n === 0) return undefined;
  const centre = mean(values);
  if (n === 1) return { mean: centre, n };
  const variance = values.reduce((sum, value) => sum + (value - centre) ** 2, 0) / (n - 1);
  return { mean: centre, half: tQuantile(n - 1) * Math.sqrt(variance / n), n };
}

/**
 * An estimate from pooled replications, for what must not be averaged, like a quantile: `pooled(omit)` computes it from all
 * replications but one, or from all. The interval is the delete-one jackknife's: pseudo-values n·θ − (n−1)·θ₍₋ᵢ₎ with
 * Student's t, around θ itself.
 */
export function jackknife(n: number, pooled: (omit?: number) => number): Estimate | undefined {
  const all = n === 0 ? Number.NaN : pooled();
  if (!Number.isFinite(all)) return undefined;
  if (n === 1) return { mean: all, n };
  const pseudo = Array.from({ length: n }, (_, i) => n * all - (n - 1) * pooled(i));
  const spread = estimate(pseudo);
  return Number.isFinite(spread?.half) ? { mean: all, half: spread?.half, n } : { mean: all, n };
}

/** Relative resolution of a quantile from a histogram: replications can agree on a bucket, yet not to more than its width. */
export const QUANTILE_RESOLUTION = 1e-3;

export const widened = ({ mean, half, n }: Estimate, by: number): Estimate =>
  half === undefined ? { mean, n } : { mean, half: half + by, n };

/** Relative differences below this read 0.00 %: too small to call a difference, however sure. */
const NEGLIGIBLE = 0.5e-4;

/** Whether a relative difference's interval leaves out zero. Without an interval nothing is known to differ. */
export function differs({ mean, half }: Estimate): boolean {
  return half !== undefined && Math.abs(mean) > half && Math.abs(mean) >= NEGLIGIBLE;
}

export interface BlockTest {
  /** Mean square between treatments over that of the residuals. */
  f: number;
  /** Probability of an F at least this large if no treatment mattered. */
  p: number;
  /** Standard deviation of what neither treatment nor block explains. */
  residual: number;
}

/**
 * Do treatments differ beyond the spread of the blocks? `rows[t][b]` is treatment t under block b (here: a cell under a
 * seed). Two-way analysis of variance without interaction: F with (T−1) and (T−1)(B−1) degrees of freedom.
 * Undefined with fewer than two of either.
 */
export function blockTest(rows: readonly (readonly number[])[]): BlockTest | undefined {
  const treatments = rows.length;
  const blocks = rows[0]?.length ?? 0;
  if (treatments < 2 || blocks < 2) return undefined;
  const rowMeans = rows.map(mean);
  const columnMeans = rows[0].map((_, b) => mean(rows.map((row) => row[b])));
  const grand = mean(rowMeans);
  let between = 0;
  let left = 0;
  rows.forEach((row, t) => {
    between += blocks * (rowMeans[t] - grand) ** 2;
    row.forEach((value, b) => {
      left += (value - rowMeans[t] - columnMeans[b] + grand) ** 2;
    });
  });
  const df1 = treatments - 1;
  const df2 = df1 * (blocks - 1);
  // Treatments that agree but for rounding differ in nothing, whatever the residuals.
  const rounding = treatments * blocks * (grand * 1e-12) ** 2;
  const f = between <= rounding ? 0 : between / df1 / (left / df2);
  return { f, p: f === Number.POSITIVE_INFINITY ? 0 : fTail(f, df1, df2), residual: Math.sqrt(left / df2) };
}
