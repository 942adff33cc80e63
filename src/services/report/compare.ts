// A sweep beside a reference: relative differences at the loads that both have.

import { percent } from '../../report/format.js';
import { busiest, type PointSummary, QUANTILES, type RunSummary } from '../run/summary.js';
import { type ReferencePoint, referenceQuantile } from './reference.js';

export interface Comparison {
  load: number;
  scheduler: string;
  /** Relative: 0.01 is 1 % above the reference. */
  mean: number;
  /** By quantile, as far as the sample supports it. */
  quantiles: Partial<Record<(typeof QUANTILES)[number], number>>;
  /** Largest difference of a tier's utilisation, absolute. */
  utilisation: number;
  /** Whether the busiest tier is below the limit. */
  isBelow: boolean;
}

/** Loads below this utilisation of the busiest tier are held to the tolerances. */
export const SATURATION_LIMIT = 0.9;

export function compare(summary: RunSummary, reference: readonly ReferencePoint[]): Comparison[] {
  return summary.points.flatMap((point) => {
    const at = reference.find(({ kqps }) => Math.abs(kqps * 1000 - point.load) < 1e-6 * point.load);
    return at === undefined || point.unit !== '/s' ? [] : [compareAt(point, at)];
  });
}

function compareAt(point: PointSummary, at: ReferencePoint): Comparison {
  const quantiles: Comparison['quantiles'] = {};
  for (const q of QUANTILES) {
    const own = point.quantiles_ms[q]?.mean;
    if (own !== undefined && !point.unsupported.includes(q))
      quantiles[q] = own / referenceQuantile(at, q) - 1;
  }
  const used = point.tiers.flatMap(({ name, utilisation }) => {
    const theirs = at.util[name];
    // The release does not count the cores of services without threads.
    return theirs === undefined || utilisation === undefined || (theirs === 0 && utilisation.mean > 0.01)
      ? []
      : [Math.abs(utilisation.mean - theirs)];
  });
  return {
    load: point.load,
    scheduler: point.scheduler,
    mean: (point.mean_ms?.mean ?? Number.NaN) / at.mean_ms - 1,
    quantiles,
    utilisation: Math.max(0, ...used),
    isBelow: (busiest(point)?.utilisation ?? 0) < SATURATION_LIMIT,
  };
}

/** Rows of a table: load, mean, quantiles, utilisation. */
export function comparisonRows(comparisons: readonly Comparison[]): string[][] {
  return comparisons.map(({ load, mean, quantiles, utilisation, isBelow }) => [
    `${load.toLocaleString('en-US')}/s`,
    percent(mean, 2),
    ...QUANTILES.map((q) => (quantiles[q] === undefined ? '–' : percent(quantiles[q], 2))),
    utilisation.toFixed(3),
    isBelow ? '' : `above ${SATURATION_LIMIT * 100} %`,
  ]);
}

export const COMPARISON_HEADER = [
  'load',
  'mean',
  ...QUANTILES.map((q) => `p${Number((100 * q).toPrecision(4))}`),
  'utilisation, at most',
  'saturation',
];
