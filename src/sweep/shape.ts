// How the nested metrics of a result become flat columns and come back. The names are joined with underscores:
// `latency_ms` and its `p99` become `latency_ms_p99`.

import type { ClassResult, Distribution, Metrics, StateTimes } from '../types.js';

/** count: a whole number; number: NaN where there is nothing to measure; names: a list of words. */
export type LeafKind = 'count' | 'number' | 'text' | 'names';
export type Leaf = number | string | string[];

/** A kind for each leaf of T, so that a new metric without a column does not compile. */
export type ShapeOf<T> = {
  [K in keyof T]-?: T[K] extends number
    ? 'count' | 'number'
    : T[K] extends string
      ? 'text'
      : T[K] extends string[]
        ? 'names'
        : ShapeOf<T[K]>;
};

interface AnyShape {
  [key: string]: LeafKind | AnyShape;
}

const DISTRIBUTION: ShapeOf<Distribution> = {
  count: 'count',
  mean: 'number',
  min: 'number',
  max: 'number',
  p50: 'number',
  p90: 'number',
  p95: 'number',
  p99: 'number',
  p99_9: 'number',
  unsupported: 'names',
};

const STATES: ShapeOf<StateTimes> = {
  control: 'number',
  worker_queue: 'number',
  run_queue: 'number',
  local_queue: 'number',
  preempted: 'number',
  running: 'number',
  cold: 'number',
  io: 'number',
  siblings: 'number',
  quota: 'number',
  container_start: 'number',
};

export const METRICS: ShapeOf<Metrics> = {
  events: 'count',
  duration_s: 'number',
  arrived: 'count',
  completed: 'count',
  dropped: 'count',
  timed_out: 'count',
  in_system: 'count',
  measured: 'count',
  latency_ms: DISTRIBUTION,
  worker_duration_ms: DISTRIBUTION,
  cpu_ms: 'number',
  cost_ms: 'number',
  states_ms: STATES,
  stint_us: DISTRIBUTION,
  wake_latency_us: DISTRIBUTION,
  response_ms: DISTRIBUTION,
  utilization: 'number',
  overhead_share: 'number',
  wasted_core_s: {
    total: 'number',
    exit_latency: 'number',
    affinity: 'number',
    no_kick: 'number',
    domain: 'number',
    cpu_queue: 'number',
  },
  load_average: 'number',
  load_average_1min: { final: 'number', mean: 'number', max: 'number' },
  worker_queue: { mean: 'number', peak: 'count' },
  energy_j: 'number',
  energy_cores_j: 'number',
  energy_uncore_j: 'number',
  power_w: 'number',
  frequency_mhz: 'number',
  polling_s: 'number',
  fallback_s: 'number',
  switches: 'count',
  migrations: 'count',
  wakeups: 'count',
  preemptions: 'count',
  dispatches: 'count',
  steals: 'count',
  kicks: 'count',
  balance_pulls: 'count',
  newidle_pulls: 'count',
  peak_tasks: 'count',
  containers_grown: 'count',
  containers: { cold_starts: 'count', failures: 'count', evicted: 'count', prewarmed: 'count' },
  bypassed: 'count',
  abandoned: 'count',
  poll_detection: {
    true_positives: 'count',
    false_positives: 'count',
    false_negatives: 'count',
    true_negatives: 'count',
  },
  assignment: {
    assigned: 'count',
    unmapped: 'count',
    reassigned: 'count',
    rebalanced: 'count',
    buckets: 'count',
    largest_bucket_share: 'number',
  },
  schedule_digest: 'text',
};

export const CLASS: ShapeOf<ClassResult> = {
  name: 'text',
  kind: 'text',
  arrived: 'count',
  completed: 'count',
  dropped: 'count',
  timed_out: 'count',
  cold_starts: 'count',
  measured: 'count',
  latency_ms: DISTRIBUTION,
  worker_duration_ms: DISTRIBUTION,
  stint_us: DISTRIBUTION,
  wake_latency_us: DISTRIBUTION,
  cpu_ms: 'number',
  cost_ms: 'number',
  uncontended_ms: 'number',
  states_ms: STATES,
};

export interface Column {
  name: string;
  kind: LeafKind;
  path: string[];
}

/** The columns of a shape, in its order. */
export function columnsOf(shape: ShapeOf<Metrics> | ShapeOf<ClassResult>): Column[] {
  const columns: Column[] = [];
  const walk = (inner: AnyShape, path: string[]): void => {
    for (const [key, kind] of Object.entries(inner)) {
      const at = [...path, key];
      if (typeof kind === 'object') walk(kind, at);
      else columns.push({ name: at.join('_'), kind, path: at });
    }
  };
  walk(shape, []);
  return columns;
}

/** The leaf of `column` in a nested value. */
export function leafOf(value: object, { path }: Column): unknown {
  return path.reduce<unknown>(
    (inner, key) => (typeof inner === 'object' && inner !== null ? Reflect.get(inner, key) : undefined),
    value,
  );
}

/** The nested value whose leaves `read` yields; what is null becomes NaN, or for words nothing. */
export function nestedFrom<T>(columns: readonly Column[], read: (column: Column) => unknown): T {
  const root: Record<string, unknown> = {};
  for (const column of columns) {
    let at = root;
    for (const key of column.path.slice(0, -1)) {
      at[key] ??= {};
      at = at[key] as Record<string, unknown>;
    }
    at[column.path[column.path.length - 1]] = leafFrom(column.kind, read(column));
  }
  return root as T;
}

function leafFrom(kind: LeafKind, stored: unknown): Leaf {
  if (kind === 'text') return stored === null || stored === undefined ? '' : String(stored);
  if (kind === 'names') {
    if (Array.isArray(stored)) return stored.map(String);
    return typeof stored === 'string' && stored !== '' ? stored.split(' ') : [];
  }
  return stored === null || stored === undefined ? Number.NaN : Number(stored);
}
