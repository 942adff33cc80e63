// What the simulated kernel did below the services of a point, per request.

import { Histogram } from '../../engine/histogram.js';
import type { KernelResult, ServicesResult } from '../../engine/services.js';
import { share, significant } from '../../report/format.js';
import { type Estimate, estimate } from '../../report/statistics.js';

export interface KernelSummary {
  cpus: number;
  /** Share of the CPUs' time that threads and network stacks used, until the last reply. */
  utilisation?: Estimate;
  /** Share of the CPUs' time that is idle although a thread waits that may run there. */
  wasted: number;
  /** Per request; what they are: KernelResult. */
  switches: number;
  migrations: number;
  preemptions: number;
  steals: number;
  pulls: number;
  /** From a thread's wake-up until it has a CPU. */
  wake_mean_us: number;
  wake_p99_us: number;
}

export function kernelOf(results: readonly ServicesResult[]): { kernel?: KernelSummary } {
  const kernels = results.flatMap(({ kernel }) => (kernel === undefined ? [] : [kernel]));
  if (kernels.length === 0) return {};
  const [{ cpus }] = kernels;
  const used = results.map(
    ({ instances, end_ns }) => instances.reduce((sum, { busy_ns }) => sum + busy_ns, 0) / (cpus * end_ns),
  );
  const arrived = results.reduce((sum, result) => sum + result.arrived, 0);
  const each = (key: Exclude<keyof KernelResult, 'cpus' | 'wasted_ns' | 'wake_latency'>) =>
    kernels.reduce((sum, kernel) => sum + kernel[key], 0) / Math.max(1, arrived);
  const waits = kernels.reduce((all, { wake_latency }) => all.merge(wake_latency), Histogram.empty);
  const time = results.reduce((sum, { end_ns }) => sum + cpus * end_ns, 0);
  return {
    kernel: {
      cpus,
      utilisation: estimate(used.filter(Number.isFinite)),
      wasted: kernels.reduce((sum, { wasted_ns }) => sum + wasted_ns, 0) / time,
      switches: each('switches'),
      migrations: each('migrations'),
      preemptions: each('preemptions'),
      steals: each('steals'),
      pulls: each('pulls'),
      wake_mean_us: waits.mean / 1e3,
      wake_p99_us: waits.quantile(0.99) / 1e3,
    },
  };
}

/** Counts are per request. */
export const KERNEL_HEADER = [
  'CPUs used',
  'idle while a thread waits',
  'switches',
  'to another CPU',
  'preempted',
  'stolen',
  'balanced',
  'wake-up to CPU, µs',
  'p99, µs',
];

/** Cells under KERNEL_HEADER. */
export function kernelCells(kernel: KernelSummary | undefined): string[] {
  if (kernel === undefined) return KERNEL_HEADER.map(() => '–');
  const { utilisation, wasted, switches, migrations, preemptions, steals, pulls, wake_mean_us, wake_p99_us } =
    kernel;
  const numbers = [switches, migrations, preemptions, steals, pulls, wake_mean_us, wake_p99_us];
  return [
    share(utilisation?.mean ?? Number.NaN),
    share(wasted),
    ...numbers.map((value) => significant(value, 3)),
  ];
}
