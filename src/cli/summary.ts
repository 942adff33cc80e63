// What `vtime run` prints.

import { basename } from 'node:path';
import type { Distribution, SimulationResult } from '../types.js';
import { number, significant, table } from './shared.js';

const QUANTILES = { p50: 0.5, p90: 0.9, p95: 0.95, p99: 0.99, p99_9: 0.999 } as const;

/** A quantile that the sample can't support is marked. */
function quantile(distribution: Distribution, name: keyof typeof QUANTILES): string {
  const mark = distribution.unsupported.includes(name) ? '?' : '';
  return `${significant(distribution[name])}${mark}`;
}

function distributionRow(name: string, distribution: Distribution): string[] {
  const { count, mean, max } = distribution;
  return [
    name,
    number(count),
    significant(mean),
    ...(['p50', 'p95', 'p99'] as const).map((p) => quantile(distribution, p)),
    significant(max),
  ];
}

function headline({ outcome, config, metrics }: SimulationResult, wall_s: number): string {
  const { name, policy, machine, seed } = config;
  const title = name === undefined ? '' : `${name}: `;
  const domains = 'domains' in policy && typeof policy.domains === 'number' ? `:${policy.domains}` : '';
  return (
    `${title}${policy.name === 'bpf' ? basename(policy.object) : policy.name}${domains} on ${machine.cpus} CPUs (${machine.profile}), seed ${seed}\n` +
    `  ${outcome} after ${significant(metrics.duration_s)} s simulated, ${number(metrics.events)} events, ` +
    `${number(metrics.events / Math.max(wall_s, 1e-3))} events/s\n`
  );
}

/** The terminal's summary of one run. */
export function summary(result: SimulationResult, wall_s: number): string {
  const { metrics } = result;
  const counts = [
    ['arrived', 'completed', 'dropped', 'in system', 'measured'],
    [metrics.arrived, metrics.completed, metrics.dropped, metrics.in_system, metrics.measured].map((n) =>
      number(n),
    ),
  ];
  const distributions = [
    ['', 'n', 'mean', 'p50', 'p95', 'p99', 'max'],
    distributionRow('latency ms', metrics.latency_ms),
    distributionRow('worker duration ms', metrics.worker_duration_ms),
    distributionRow('response ms', metrics.response_ms),
    distributionRow('wake-up to CPU µs', metrics.wake_latency_us),
    distributionRow('stint on CPU µs', metrics.stint_us),
  ].filter((row, i) => i === 0 || row[1] !== '0');
  const machine = [
    ['utilisation', 'wasted CPU s', 'load average', 'energy J', 'power W', 'MHz', 'switches', 'migrations'],
    [
      `${number(metrics.utilization * 100, 1)} %`,
      significant(metrics.wasted_core_s.total),
      significant(metrics.load_average),
      significant(metrics.energy_j),
      significant(metrics.power_w),
      number(metrics.frequency_mhz),
      number(metrics.switches),
      number(metrics.migrations),
    ],
  ];
  const isMarked = distributions.some((row) => row.some((cell) => cell.endsWith('?')));
  return (
    headline(result, wall_s) +
    table(counts) +
    table(distributions) +
    (isMarked ? '  ? fewer than ten observations beyond this quantile\n' : '') +
    table(machine)
  );
}

/** The result as JSON: histograms as quantiles, null where there is nothing to measure. Times in ns. */
export function summaryJson(result: SimulationResult): object {
  const { invocations: _, histograms, ...rest } = result;
  return {
    ...rest,
    histograms: histograms.map(({ kind, class: name, histogram }) => ({
      kind,
      class: name,
      count: histogram.count,
      mean_ns: histogram.mean,
      min_ns: histogram.min,
      max_ns: histogram.max,
      ...Object.fromEntries(
        Object.entries(QUANTILES).map(([key, p]) => [`${key}_ns`, histogram.quantile(p)]),
      ),
    })),
  };
}
