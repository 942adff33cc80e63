// Curves and shares from merged histograms.

import { bucketBounds, type Histogram } from '../engine/histogram.js';
import { LISTING_BUCKETS_US } from './paper.js';

/** Observations that must lie beyond the end of a drawn tail. */
const TAIL_OBSERVATIONS = 10;

export interface CurvePoint {
  /** ms. */
  x: number;
  /** Share of the observations above x. */
  above: number;
}

/**
 * The complementary distribution function of a histogram of ns, thinned to what a figure can show: a step of 1 % of the
 * observations or 5 % of the tail. It begins where 1 % lie below and ends where ten observations are left.
 */
export function exceedance(histogram: Histogram): CurvePoint[] {
  const { count, indices, counts } = histogram;
  const points: CurvePoint[] = [];
  if (count === 0) return points;
  let left = count;
  let drawn = 1;
  for (let i = 0; i < indices.length; i++) {
    left -= counts[i];
    const above = left / count;
    if (left < TAIL_OBSERVATIONS) break;
    if (drawn - above >= 0.01 || above <= 0.95 * drawn) {
      points.push({ x: Math.min(histogram.max, bucketBounds(indices[i]).high) / 1e6, above });
      drawn = above;
    }
  }
  return points;
}

export interface StintShare {
  /** Lower bound of the bucket, µs; 0 stands for everything below the first. */
  from_us: number;
  share: number;
}

/**
 * Shares of stints (ns) in the listings' buckets. Histogram buckets that straddle a bound (0.1 % wide) count where their
 * midpoint falls; the last bucket takes everything above.
 */
export function stintShares(histogram: Histogram): StintShare[] {
  const bounds = [0, ...LISTING_BUCKETS_US];
  const totals = bounds.map(() => 0);
  histogram.indices.forEach((index, i) => {
    const { low, high } = bucketBounds(index);
    const middle_us = (low + high) / 2000;
    totals[bounds.findLastIndex((bound) => bound <= middle_us)] += histogram.counts[i];
  });
  return bounds.map((from_us, i) => ({ from_us, share: totals[i] / histogram.count }));
}

/** "4", "1K", "128K". */
export function bucketLabel(from_us: number): string {
  if (from_us === 0) return '<2';
  return from_us < 1024 ? String(from_us) : `${from_us / 1024}K`;
}
