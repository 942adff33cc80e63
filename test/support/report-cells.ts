// Made-up results for the report's tests: the grid is real, its figures are drawn here.

import { configFrom, loadConfig } from '../../src/config/load.js';
import type { Config } from '../../src/config/schema.js';
import { distribution } from '../../src/engine/decode.js';
import { Histogram } from '../../src/engine/histogram.js';
import { domainCount } from '../../src/report/labels.js';
import type { ReportInput } from '../../src/report/summary.js';
import { type Cell, expandSweep } from '../../src/sweep/grid.js';
import type { FinishedCell, SweepCell } from '../../src/sweep/store.js';
import type { ClassResult, Metrics } from '../../src/types.js';

/** Uniform on [0, 1), repeatable. */
function uniforms(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const normal = (uniform: () => number): number =>
  Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());

/** What a cell's figures are made from. */
export interface Drawn {
  energy_j: number;
  /** ns. */
  latencies: number[];
  stints?: number[];
  /** Latency without the worker's queue, as a share of it. */
  worker_share?: number;
  functions?: { name: string; latencies: number[] }[];
  in_system?: number;
}

const STATES = {
  control: 1.9,
  worker_queue: 0,
  run_queue: 0,
  local_queue: 0,
  preempted: 0,
  running: 0,
  cold: 0.2,
  io: 0,
  siblings: 0,
  quota: 0,
  container_start: 0,
};

export function metricsOf(drawn: Drawn): Metrics {
  const latency = Histogram.fromValues(drawn.latencies);
  const workerShare = drawn.worker_share ?? 0.8;
  const worker = Histogram.fromValues(drawn.latencies.map((value) => Math.round(value * workerShare)));
  const stint = Histogram.fromValues(drawn.stints ?? []);
  const n = latency.count;
  const mean = n === 0 ? 0 : latency.mean / 1e6;
  return {
    events: 1_000_000,
    duration_s: 60,
    arrived: n + (drawn.in_system ?? 0),
    completed: n,
    dropped: 0,
    timed_out: 0,
    in_system: drawn.in_system ?? 0,
    measured: n,
    latency_ms: distribution(latency, 1e6),
    worker_duration_ms: distribution(worker, 1e6),
    cpu_ms: mean * 0.5,
    cost_ms: mean * 0.6,
    states_ms: {
      ...STATES,
      worker_queue: mean * (1 - workerShare),
      run_queue: mean * 0.1,
      local_queue: mean * 0.02,
      preempted: mean * 0.05,
      io: mean * 0.1,
      siblings: mean * 0.03,
      quota: 0,
      container_start: 0,
      running: Math.max(0, mean * (workerShare - 0.3) - 2.1),
    },
    stint_us: distribution(stint, 1e3),
    wake_latency_us: distribution(stint, 1e3),
    response_ms: distribution(latency, 1e6),
    utilization: 0.5,
    overhead_share: 0.004,
    wasted_core_s: { total: 0, exit_latency: 0, affinity: 0, no_kick: 0, domain: 0, cpu_queue: 0 },
    load_average: 23.4,
    load_average_1min: { final: 21, mean: 22.5, max: 30 },
    worker_queue: { mean: 0.4, peak: 17 },
    energy_j: drawn.energy_j,
    energy_cores_j: drawn.energy_j * 0.7,
    energy_uncore_j: drawn.energy_j * 0.3,
    power_w: drawn.energy_j / 60,
    frequency_mhz: 2950,
    polling_s: 3.1,
    fallback_s: 0,
    switches: 123_456,
    migrations: 12_345,
    wakeups: 100_000,
    preemptions: 23_456,
    dispatches: 110_000,
    steals: 4_567,
    kicks: 99_000,
    balance_pulls: 0,
    newidle_pulls: 0,
    peak_tasks: 400,
    containers_grown: 0,
    poll_detection: { true_positives: 0, false_positives: 0, false_negatives: 0, true_negatives: 0 },
    containers: { cold_starts: 0, failures: 0, evicted: 0, prewarmed: 0 },
    bypassed: 0,
    abandoned: 0,
    assignment: {
      assigned: n,
      unmapped: 12,
      reassigned: 34,
      rebalanced: 0,
      buckets: 9,
      largest_bucket_share: 0.61,
    },
    schedule_digest: '0123456789abcdef',
  };
}

export function classOf(
  name: string,
  latencies: number[],
  kind: ClassResult['kind'] = 'function',
): ClassResult {
  const metrics = metricsOf({ energy_j: 0, latencies });
  return {
    name,
    kind,
    arrived: latencies.length,
    completed: latencies.length,
    dropped: 0,
    timed_out: 0,
    cold_starts: 0,
    measured: latencies.length,
    latency_ms: metrics.latency_ms,
    worker_duration_ms: metrics.worker_duration_ms,
    stint_us: metrics.stint_us,
    wake_latency_us: metrics.wake_latency_us,
    cpu_ms: metrics.cpu_ms,
    cost_ms: metrics.cost_ms,
    uncontended_ms: metrics.latency_ms.mean * 0.7,
    states_ms: metrics.states_ms,
  };
}

/** A finished cell with these figures at this place of a grid. */
export function finished(cell: Cell, drawn: Drawn): FinishedCell {
  const histogram = (kind: 'latency' | 'stint', values: number[]) => ({
    kind,
    class: '',
    histogram: Histogram.fromValues(values),
  });
  return {
    cell_id: cell.index.toString(16).padStart(64, '0'),
    index: cell.index,
    point: cell.point,
    values: cell.values,
    replication: cell.replication,
    seed: cell.config.seed,
    is_baseline: cell.is_baseline,
    config: cell.config,
    inputs: [{ kind: 'trace', file: 'azure2019-28', sha256: 'ab'.repeat(32) }],
    outcome: 'completed',
    metrics: metricsOf(drawn),
    classes: (drawn.functions ?? []).map(({ name, latencies }) => classOf(name, latencies)),
    histograms: [histogram('latency', drawn.latencies), histogram('stint', drawn.stints ?? [])],
    statements: {
      load_scale: 194.2,
      offered_load: 0.8,
      mapping: { mapping: 'nearest-duration', mean_error: 0.21, maximum_error: 0.6, functions: {} },
    },
  };
}

export function storeOf(config: Config, cells: SweepCell[]): ReportInput {
  return {
    cells,
    config,
    run: {
      vtime: '0.1.0',
      node: 'v20.20.2',
      engine_sha256: 'cd'.repeat(32),
      config_sha256: 'ef'.repeat(32),
      started_at: '2026-11-30T16:00:00.000Z',
      wall_s: 81.5,
      host_cpus: 2,
      workers: 2,
      cells: {
        total: cells.length,
        simulated: cells.length,
        resumed: 0,
        failed: 0,
        stalled: 0,
        deadlocked: 0,
      },
      events: cells.length * 1e6,
      events_per_s: 1.2e6,
      files: { 'results.arrow': '12'.repeat(32) },
    },
  };
}

/** A sweep of M/M/k points whose figures `draw` decides. */
export function smallSweep(
  sweep: object,
  draw: (cell: Cell) => Drawn | Pick<FinishedCell, 'outcome' | 'reason'>,
): ReportInput {
  const config = configFrom({
    name: 'small',
    machine: 'ideal-4',
    workload: {
      arrivals: [{ name: 'web', rate: '100/s', spawn: { program: [{ run: '1ms' }] } }],
    },
    run: { horizon: '10s' },
    sweep,
  });
  const cells = expandSweep(config).map((cell): SweepCell => {
    const drawn = draw(cell);
    if ('energy_j' in drawn) return finished(cell, drawn);
    return { ...finished(cell, { energy_j: 1, latencies: [] }), ...drawn };
  });
  return storeOf(config, cells);
}

const LOAD_AXIS = 'workload.serverless.offered_load';
const BUCKET_AXIS = 'workload.serverless.assignment.bucket_size';

/** Relative effects in the shape of the paper's: on energy and on latency, by load and number of domains. */
function effects(load: number, domains: number): { energy: number; latency: number } {
  const saving = domains <= 8 ? 0.15 - 0.01 * Math.log2(domains) : 0.01;
  if (load < 0.5) return { energy: -saving / 4, latency: 0.1 };
  if (load < 1) return { energy: -saving, latency: domains === 8 ? 0.05 : 0.1 };
  return { energy: -0.01, latency: -0.5 + 0.01 * domains };
}

/** examples/azure.yaml, all 126 cells, with made-up results. */
export function azureSweep(invocations = 1500): ReportInput {
  const config = loadConfig('examples/azure.yaml');
  const names = Array.from(
    { length: 28 },
    (_, i) => `o${i}/a${i}/${(i * 0x9e3779b1 + 0xabcdef).toString(16)}`,
  );
  const cells = expandSweep(config).map((cell): SweepCell => {
    const load = Number(cell.values[LOAD_AXIS]);
    const domains = domainCount(cell.values);
    const { energy, latency } = domains === undefined ? { energy: 0, latency: 0 } : effects(load, domains);
    const bucket = cell.values[BUCKET_AXIS] === '1s' ? 0.01 : 0;
    const common = normal(uniforms(cell.config.seed * 7919 + Math.round(load * 100)));
    const uniform = uniforms(cell.index * 104729 + 17);
    const own = normal(uniform);
    const functions = names.map((name, i) => {
      const count = Math.max(1, Math.round((invocations * 2) / (i + 1) / 4));
      const latencies = Array.from({ length: count }, () => {
        const value = 60 * (1 + (i % 7)) * Math.exp(0.9 * normal(uniform)) * (load > 1 ? 12 : 1 + load / 2);
        return Math.round(value * 1e6 * (1 + latency) * (1 + 0.05 * common));
      });
      return { name, latencies };
    });
    const stints = Array.from({ length: 3000 }, () => {
      const k = Math.floor(-Math.log(1 - uniform()) * 2.2);
      return Math.round(2000 * 2 ** Math.min(17, k + uniform()));
    });
    return finished(cell, {
      energy_j:
        60 * (120 + 200 * Math.min(load, 1)) * (1 + energy + bucket) * (1 + 0.03 * common + 0.003 * own),
      latencies: functions.flatMap((entry) => entry.latencies),
      stints,
      worker_share: load > 1 ? 0.35 : 0.9,
      functions,
    });
  });
  return storeOf(config, cells);
}
