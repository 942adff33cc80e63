// The summary of a services run for programs.

import { type PointSummary, QUANTILES, type RunSummary } from './summary.js';

function pointJson({ latency: _latency, latencies: _latencies, quantiles_ms, ...point }: PointSummary) {
  return {
    ...point,
    quantiles_ms: Object.fromEntries(
      QUANTILES.map((q) => [`p${Number((100 * q).toPrecision(4))}`, quantiles_ms[q]]),
    ),
    unsupported: point.unsupported.map((q) => `p${Number((100 * q).toPrecision(4))}`),
  };
}

/** Everything but the histograms and what depends on the host. */
export function runJson({ name, points, knees }: RunSummary): unknown {
  return { name, points: points.map(pointJson).map(({ wall_ms: _, ...rest }) => rest), knees };
}
