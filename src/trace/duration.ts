// Duration models: how the statistics of a function become a distribution to draw execution times from.
//
//   percentiles      empirical, inverse CDF piecewise linear through (p, percentile p), p = 0, 1, 25, 50, 75, 99, 100;
//                    mean = Σ (p₂ − p₁)(v₁ + v₂)/2. Wide gaps (p75 to p99) make it larger than Average for heavy tails.
//   percentiles-log  the same points joined geometrically, v(t) = v₁^(1−t)·v₂^t, each gap cut into 8 linear pieces.
//   lognormal        median e^μ = p50, σ = √(2 ln(Average / p50)), so that the mean is Average; if Average ≤ p50,
//                    σ = ln(p75 / p50) / 0.674490 (upper quartile of the standard normal).
//   average          constant Average.
//   p25              constant 25th percentile: the warm time of the paper's trace generator.
//
// Azure records whole milliseconds, so 0 means "below one": such a value stands for half a millisecond. This and
// every other departure from the recorded numbers is named in `rules`.

import { VtimeError } from '../errors.js';
import type { DurationStatistics } from './schema.js';

export const DURATION_MODELS = ['percentiles', 'percentiles-log', 'lognormal', 'average', 'p25'] as const;
export type DurationModel = (typeof DURATION_MODELS)[number];

/** A point of an inverse CDF: probability in [0, 1], value in ns. */
export interface DurationPoint {
  p: number;
  value_ns: number;
}

/** A distribution of execution times, ns. */
export type DurationDescription =
  | { kind: 'constant'; value_ns: number }
  | { kind: 'lognormal'; median_ns: number; sigma: number }
  | { kind: 'empirical'; points: DurationPoint[] };

/** What a model changed or worked around. */
export type DurationRule =
  /** A recorded 0 ms was read as 0.5 ms. */
  | 'duration.below-resolution'
  /** A percentile below a lower one was raised to it. */
  | 'duration.percentiles-decrease'
  /** A missing percentile was left out (0 and 100: replaced by Minimum and Maximum or the nearest percentile). */
  | 'duration.percentile-missing'
  /** Fewer than two percentiles: constant Average instead. */
  | 'duration.fallback-average'
  /** No Average: the mean of the piecewise linear percentiles instead. */
  | 'duration.fallback-percentiles'
  /** Average not above the median: σ from the upper quartile. */
  | 'duration.lognormal-from-quartile';

export interface DurationFit {
  model: DurationModel;
  description: DurationDescription;
  /** Mean of the description, ns (of the description, not of the recording). */
  mean_ns: number;
  rules: DurationRule[];
}

const NS_PER_MS = 1e6;
/** What a recorded 0 ms (anything below 1 ns) stands for. */
const BELOW_RESOLUTION_MS = 0.5;
/** Upper quartile of the standard normal distribution. */
const NORMAL_P75 = 0.6744897501960817;
const PIECES_PER_GAP = 8;

const PERCENTILE_COLUMNS = [
  [0, 'duration_p0_ms'],
  [0.01, 'duration_p1_ms'],
  [0.25, 'duration_p25_ms'],
  [0.5, 'duration_p50_ms'],
  [0.75, 'duration_p75_ms'],
  [0.99, 'duration_p99_ms'],
  [1, 'duration_p100_ms'],
] as const satisfies readonly (readonly [number, keyof DurationStatistics])[];

const nanoseconds = (ms: number) => Math.round(ms * NS_PER_MS);

/** Mean of a description, ns. */
export function meanOf(description: DurationDescription): number {
  if (description.kind === 'constant') return description.value_ns;
  if (description.kind === 'lognormal') return description.median_ns * Math.exp(description.sigma ** 2 / 2);
  let mean = 0;
  const { points } = description;
  for (let i = 1; i < points.length; i++) {
    mean += ((points[i].p - points[i - 1].p) * (points[i].value_ns + points[i - 1].value_ns)) / 2;
  }
  return mean;
}

/** Reads statistics under the rules above and remembers which applied. */
class Reading {
  readonly rules = new Set<DurationRule>();
  readonly #of: DurationStatistics;

  constructor(statistics: DurationStatistics) {
    this.#of = statistics;
  }

  /** A value in ms, 0 read as half a millisecond, null if not recorded. */
  value(name: keyof DurationStatistics): number | null {
    const recorded = this.#of[name];
    if (recorded === null || !Number.isFinite(recorded)) return null;
    if (recorded * NS_PER_MS >= 1) return recorded;
    this.rules.add('duration.below-resolution');
    return BELOW_RESOLUTION_MS;
  }

  /** The recorded percentiles in ms, from p = 0 to p = 1, never decreasing; empty with fewer than two. */
  percentiles(): { p: number; ms: number }[] {
    const points: { p: number; ms: number }[] = [];
    for (const [p, name] of PERCENTILE_COLUMNS) {
      const ms = this.value(name);
      if (ms === null) this.rules.add('duration.percentile-missing');
      else points.push({ p, ms });
    }
    if (points.length < 2) return [];
    if (points[0].p !== 0) {
      points.unshift({ p: 0, ms: Math.min(this.value('duration_minimum_ms') ?? points[0].ms, points[0].ms) });
    }
    const last = points[points.length - 1];
    if (last.p !== 1)
      points.push({ p: 1, ms: Math.max(this.value('duration_maximum_ms') ?? last.ms, last.ms) });
    for (let i = 1; i < points.length; i++) {
      if (points[i].ms >= points[i - 1].ms) continue;
      points[i].ms = points[i - 1].ms;
      this.rules.add('duration.percentiles-decrease');
    }
    return points;
  }

  average(): number | null {
    const average = this.value('duration_average_ms');
    if (average !== null) return average;
    const points = this.percentiles();
    if (points.length === 0) return null;
    this.rules.add('duration.fallback-percentiles');
    return meanOf(linear(points)) / NS_PER_MS;
  }
}

function linear(points: readonly { p: number; ms: number }[]): DurationDescription {
  return { kind: 'empirical', points: points.map(({ p, ms }) => ({ p, value_ns: nanoseconds(ms) })) };
}

function geometric(points: readonly { p: number; ms: number }[]): DurationDescription {
  const dense = points.slice(0, 1);
  for (let i = 1; i < points.length; i++) {
    const [a, b] = [points[i - 1], points[i]];
    const pieces = a.ms === b.ms ? 1 : PIECES_PER_GAP;
    for (let k = 1; k < pieces; k++) {
      const t = k / pieces;
      dense.push({ p: a.p + (b.p - a.p) * t, ms: a.ms * (b.ms / a.ms) ** t });
    }
    dense.push(b);
  }
  return linear(dense);
}

function lognormal(reading: Reading): DurationDescription | undefined {
  const median = reading.value('duration_p50_ms');
  const average = reading.average();
  if (median === null || average === null) return undefined;
  let sigma = average > median ? Math.sqrt(2 * Math.log(average / median)) : 0;
  if (sigma === 0) {
    reading.rules.add('duration.lognormal-from-quartile');
    sigma = Math.log(Math.max(1, (reading.value('duration_p75_ms') ?? median) / median)) / NORMAL_P75;
  }
  return { kind: 'lognormal', median_ns: nanoseconds(median), sigma };
}

function describe(reading: Reading, model: DurationModel): DurationDescription | undefined {
  const constant = (ms: number | null): DurationDescription | undefined =>
    ms === null ? undefined : { kind: 'constant', value_ns: nanoseconds(ms) };
  switch (model) {
    case 'average':
      return constant(reading.average());
    case 'p25':
      return constant(reading.value('duration_p25_ms'));
    case 'lognormal':
      return lognormal(reading);
    default: {
      const points = reading.percentiles();
      if (points.length) return model === 'percentiles' ? linear(points) : geometric(points);
      reading.rules.add('duration.fallback-average');
      return constant(reading.value('duration_average_ms'));
    }
  }
}

/**
 * The distribution of a function's execution time under a model.
 *
 * Error duration_missing if the statistics that the model needs are not recorded; `name` is the function's id.
 */
export function fitDuration(
  statistics: DurationStatistics,
  model: DurationModel = 'percentiles',
  name = 'function',
): DurationFit {
  const reading = new Reading(statistics);
  const description = describe(reading, model);
  if (description === undefined) {
    throw new VtimeError('duration_missing', `${name} has no duration statistics for the model ${model}`, {
      value: name,
      expected: 'a function with recorded durations (select eligible functions)',
    });
  }
  return { model, description, mean_ns: meanOf(description), rules: [...reading.rules].sort() };
}
