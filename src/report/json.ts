// The summary for scripts. Relative differences are fractions; their names say so.

import { findings } from './findings.js';
import type { Estimate } from './statistics.js';
import type { Measure, Point, Summary } from './summary.js';

interface EstimateJson {
  value: number;
  /** Half width of the 95 % interval over seeds; null with one seed. */
  half_width_95: number | null;
  n: number;
}

function estimateJson({ mean, half, n }: Estimate): EstimateJson {
  return { value: mean, half_width_95: half ?? null, n };
}

const names: Record<Measure['key'], string> = {
  energy: 'energy_j',
  latency: 'latency_ms_mean',
  latency_p99: 'latency_ms_p99',
  cost: 'cost_ms',
  worker_duration: 'worker_duration_ms_mean',
  response: 'response_ms_mean',
};

function estimatesJson(estimates: Point['absolute'], suffix = ''): Record<string, EstimateJson> {
  return Object.fromEntries(
    Object.entries(estimates).map(([key, value]) => [
      `${names[key as Measure['key']]}${suffix}`,
      estimateJson(value),
    ]),
  );
}

export function summaryJson(summary: Summary): object {
  return {
    name: summary.name,
    cells: summary.cells,
    seeds: summary.seeds,
    events: summary.events,
    scenarios: summary.scenarios.map(({ label, baseline, points }) => ({
      label,
      baseline: baseline?.label ?? null,
      points: points.map((point) => ({
        point: point.index,
        label: point.label,
        values: point.values,
        is_baseline: point.is_baseline,
        replications: point.cells.length,
        replications_left_out: point.failures.length,
        absolute: estimatesJson(point.absolute),
        relative_to_baseline: estimatesJson(point.relative, '_fraction'),
        unsupported: point.unsupported.map((key) => names[key]),
        lower_bounds: point.censored.map((key) => names[key]),
      })),
    })),
    failures: summary.failures.map(({ scenario, point, cell }) => ({
      scenario,
      point,
      cell_id: cell.cell_id,
      seed: cell.seed,
      outcome: cell.outcome,
      reason: cell.outcome === 'failed' ? cell.error : (cell.reason ?? null),
    })),
    findings: findings(summary),
  };
}
