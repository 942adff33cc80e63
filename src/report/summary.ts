// From cells to what the report states: points grouped by load, means with intervals over the seeds, differences to the
// baseline paired by seed, distributions pooled over the seeds.

import { canonicalJson } from '../config/canonical.js';
import { chainLines } from '../engine/chain-text.js';
import { Histogram } from '../engine/histogram.js';
import type { FinishedCell, Store, SweepCell } from '../sweep/store.js';
import type { ClassResult, HistogramKind, Metrics, StateTimes } from '../types.js';
import { label, policyLabel } from './labels.js';
import { type Estimate, estimate, jackknife, QUANTILE_RESOLUTION, widened } from './statistics.js';

/** What the report is made from; the folder itself plays no part. */
export type ReportInput = Omit<Store, 'dir'>;

export interface Measure {
  key: 'energy' | 'latency' | 'latency_p99' | 'cost' | 'worker_duration' | 'response';
  name: string;
  /** For narrow columns. */
  short: string;
  unit: 'J' | 'ms';
  /** What it is, for captions. */
  meaning: string;
  /** Per cell; NaN where the cell has nothing to measure. */
  of?: (metrics: Metrics) => number;
  /** Of the pooled histogram (ns), in place of `of`. */
  quantile?: { kind: HistogramKind; p: number };
  /** Only where functions run in containers. */
  serverless?: boolean;
}

/** In the order of tables and figures. */
export const MEASURES: readonly Measure[] = [
  {
    key: 'energy',
    name: 'Energy',
    short: 'energy',
    unit: 'J',
    meaning: 'energy of all packages, integrated to the same end of the trace for every policy',
    // A machine without power figures uses none.
    of: (m) => (m.energy_j > 0 ? m.energy_j : Number.NaN),
  },
  {
    key: 'latency',
    name: 'Mean latency',
    short: 'latency',
    unit: 'ms',
    meaning:
      'time from arrival to completion, queues included, over all jobs, so a function weighs as much as it is called',
    of: (m) => (m.latency_ms.count === 0 ? Number.NaN : m.latency_ms.mean),
  },
  {
    key: 'latency_p99',
    name: 'p99 latency',
    short: 'p99',
    unit: 'ms',
    meaning: '99th percentile of the latencies of all seeds pooled',
    quantile: { kind: 'latency', p: 0.99 },
  },
  {
    key: 'cost',
    name: 'Invocation cost',
    short: 'cost',
    unit: 'ms',
    meaning: 'latency × CPU utilisation (CPU time / worker duration), mean over invocations',
    serverless: true,
    of: (m) => (m.worker_duration_ms.count === 0 ? Number.NaN : m.cost_ms),
  },
  {
    key: 'worker_duration',
    name: 'Worker duration',
    short: 'duration',
    unit: 'ms',
    meaning: 'time of the call into the container, without the worker’s queue',
    serverless: true,
    of: (m) => (m.worker_duration_ms.count === 0 ? Number.NaN : m.worker_duration_ms.mean),
  },
  {
    key: 'response',
    name: 'Mean response',
    short: 'response',
    unit: 'ms',
    meaning: 'time from a task’s wake-up to when it sleeps or exits',
    // Jobs have a latency, which says the same and more.
    of: (m) => (m.latency_ms.count === 0 && m.response_ms.count > 0 ? m.response_ms.mean : Number.NaN),
  },
];
export type MeasureKey = Measure['key'];

/** A function (or arrival source) at a point, over the seeds. */
export interface FunctionSummary {
  name: string;
  kind: ClassResult['kind'];
  /** Mean number of measured invocations per run. */
  invocations: number;
  latency_ms?: Estimate;
  /** Against the same function under the baseline with the same seed, as a fraction. */
  relative_latency?: Estimate;
}

/** One place in the grid: cells that differ in the seed only. */
export interface Point {
  index: number;
  values: Record<string, unknown>;
  /** Within its scenario: the policy and whatever else the scenario leaves open. */
  label: string;
  is_baseline: boolean;
  /** Cells that ended as planned; all figures are over these. */
  cells: FinishedCell[];
  /** Cells that stalled, deadlocked or failed; listed, never averaged. */
  failures: SweepCell[];
  absolute: Partial<Record<MeasureKey, Estimate>>;
  /** Relative to the baseline at the same load, as a fraction; absent for the baseline itself. */
  relative: Partial<Record<MeasureKey, Estimate>>;
  /** Measures whose quantile the pooled sample does not support. */
  unsupported: MeasureKey[];
  /** Measures whose quantile jobs still in the system could have raised; the value is a lower bound. */
  censored: MeasureKey[];
  functions: FunctionSummary[];
}

/** The points that share a load, and so arrivals and service times under one seed. */
export interface Scenario {
  /** "offered load 0.8"; empty if the grid has one only. */
  label: string;
  baseline?: Point;
  /** Baseline first, then in grid order. */
  points: Point[];
}

export interface Summary {
  name?: string;
  scenarios: Scenario[];
  /** Paths that tell scenarios apart. */
  scenarioAxes: string[];
  /** Measures that at least one point has. */
  measures: Measure[];
  /** What the workload's jobs are called. */
  jobs: 'invocations' | 'jobs';
  seeds: number[];
  cells: number;
  events: number;
  failures: { scenario: string; point: string; cell: SweepCell }[];
  input: ReportInput;
}

/** The histogram of all classes of one cell. */
function wholeHistogram(cell: FinishedCell, kind: HistogramKind): Histogram {
  return (
    cell.histograms.find((entry) => entry.kind === kind && entry.class === '')?.histogram ?? Histogram.empty
  );
}

/** Distribution of all seeds of a point, ns; `omit` leaves one of them out. */
export function pooledHistogram(point: Point, kind: HistogramKind, omit?: number): Histogram {
  return point.cells
    .filter((_, i) => i !== omit)
    .reduce((merged, cell) => merged.merge(wholeHistogram(cell, kind)), Histogram.empty);
}

/** Mean over the seeds of each state's time per job, ms. Undefined without jobs. */
export function meanStates(point: Point): Record<string, number> | undefined {
  const cells = point.cells.filter(({ metrics }) => metrics.measured > 0);
  if (cells.length === 0) return undefined;
  const names = Object.keys(cells[0].metrics.states_ms) as (keyof StateTimes)[];
  return Object.fromEntries(
    names.map((name) => [
      name,
      cells.reduce((sum, { metrics }) => sum + metrics.states_ms[name], 0) / cells.length,
    ]),
  );
}

/** Mean over the seeds of any figure of the metrics. */
export function meanOf(point: Point, of: (metrics: Metrics) => number): number {
  return point.cells.reduce((sum, { metrics }) => sum + of(metrics), 0) / point.cells.length;
}

/**
 * Jobs without an end may all have been slow. They matter to the p-quantile once they are more than a tenth of the
 * observations beyond it.
 */
function censors(point: Point, p: number): boolean {
  const open = point.cells.reduce((sum, { metrics }) => sum + metrics.in_system, 0);
  const measured = point.cells.reduce((sum, { metrics }) => sum + metrics.measured, 0);
  return open > 0.1 * (1 - p) * (measured + open);
}

/** Values of one measure under the seeds that both points have, in the same order. */
function paired(
  point: Point,
  baseline: Point,
  of: (cell: FinishedCell) => number | undefined,
): { value: number; reference: number }[] {
  return point.cells.flatMap((cell) => {
    const partner = baseline.cells.find(({ seed }) => seed === cell.seed);
    const value = of(cell);
    const reference = partner && of(partner);
    return value !== undefined && reference !== undefined && Number.isFinite(value) && reference > 0
      ? [{ value, reference }]
      : [];
  });
}

const relativeEstimate = (pairs: { value: number; reference: number }[]): Estimate | undefined =>
  estimate(pairs.map(({ value, reference }) => value / reference - 1));

function absoluteOf(point: Point, measure: Measure): Estimate | undefined {
  const { of, quantile } = measure;
  if (quantile !== undefined) {
    const pooled = (omit?: number) => pooledHistogram(point, quantile.kind, omit).quantile(quantile.p) / 1e6;
    const value = jackknife(point.cells.length, pooled);
    return value && widened(value, QUANTILE_RESOLUTION * value.mean);
  }
  return estimate(point.cells.map(({ metrics }) => of!(metrics)).filter(Number.isFinite));
}

function relativeOf(point: Point, baseline: Point, measure: Measure): Estimate | undefined {
  const { of, quantile } = measure;
  if (quantile === undefined) return relativeEstimate(paired(point, baseline, (cell) => of!(cell.metrics)));
  const seeds = point.cells.map(({ seed }) => seed);
  const shared = seeds.filter((seed) => baseline.cells.some((cell) => cell.seed === seed));
  const only = (side: Point): Point => ({
    ...side,
    cells: shared.map((seed) => side.cells.find((cell) => cell.seed === seed)!),
  });
  const [own, reference] = [only(point), only(baseline)];
  const at = (side: Point, omit?: number) => pooledHistogram(side, quantile.kind, omit).quantile(quantile.p);
  const value = jackknife(shared.length, (omit) => at(own, omit) / at(reference, omit) - 1);
  return value && widened(value, 2 * QUANTILE_RESOLUTION);
}

function summarizeFunctions(point: Point, baseline: Point | undefined): FunctionSummary[] {
  const named = (cell: FinishedCell, name: string) => cell.classes.find((entry) => entry.name === name);
  const latency = (name: string) => (cell: FinishedCell) => {
    const distribution = named(cell, name)?.latency_ms;
    return distribution === undefined || distribution.count === 0 ? undefined : distribution.mean;
  };
  const names = new Map(
    point.cells.flatMap(({ classes }) =>
      classes
        .filter(({ kind }) => kind === 'function' || kind === 'source')
        .map((entry): [string, ClassResult['kind']] => [entry.name, entry.kind]),
    ),
  );
  return [...names].map(([name, kind]) => {
    const counts = point.cells.map((cell) => named(cell, name)?.measured ?? 0);
    const means = point.cells.map(latency(name)).filter((value) => value !== undefined);
    return {
      name,
      kind,
      invocations: counts.reduce((sum, n) => sum + n, 0) / counts.length,
      latency_ms: estimate(means),
      relative_latency:
        baseline === undefined || baseline === point
          ? undefined
          : relativeEstimate(paired(point, baseline, latency(name))),
    };
  });
}

/** Axes of the load rather than of the scheduler, for grids without a baseline. */
const isLoadAxis = (path: string): boolean =>
  path.startsWith('machine') || (path.startsWith('workload.') && !/\.(assignment|worker)\./.test(path));

/**
 * The axes that tell scenarios apart: those in which the baseline's own points differ and that every point sets. What is
 * compared are points that agree in them.
 */
function scenarioAxesOf(points: readonly Point[]): string[] {
  const paths = [...new Set(points.flatMap(({ values }) => Object.keys(values)))];
  const baselines = points.filter((point) => point.is_baseline);
  return paths.filter((path) => {
    if (!points.every(({ values }) => path in values)) return false;
    const seen = new Set(
      (baselines.length > 0 ? baselines : points).map((p) => canonicalJson(p.values[path])),
    );
    return seen.size > 1 && (baselines.length > 0 || isLoadAxis(path));
  });
}

function groupPoints(input: ReportInput): Point[] {
  const points = new Map<number, Point>();
  for (const cell of input.cells) {
    let point = points.get(cell.point);
    if (point === undefined) {
      point = {
        index: cell.point,
        values: cell.values,
        label: '',
        is_baseline: cell.is_baseline,
        cells: [],
        failures: [],
        absolute: {},
        relative: {},
        unsupported: [],
        censored: [],
        functions: [],
      };
      points.set(cell.point, point);
    }
    if (cell.outcome === 'completed' || cell.outcome === 'horizon') point.cells.push(cell);
    else point.failures.push(cell);
  }
  return [...points.values()].sort((a, b) => a.index - b.index);
}

function labelPoints(points: readonly Point[], scenarioAxes: readonly string[], policy: unknown): void {
  for (const point of points) {
    const paths = Object.keys(point.values).filter((path) => !scenarioAxes.includes(path));
    const varying = paths.filter(
      (path) => new Set(points.map(({ values }) => canonicalJson(values[path] ?? null))).size > 1,
    );
    point.label = label(point.values, varying) || policyLabel(policy);
  }
}

/** What the report states about these cells. */
export function summarize(input: ReportInput): Summary {
  const points = groupPoints(input);
  const scenarioAxes = scenarioAxesOf(points);
  labelPoints(points, scenarioAxes, input.config.policy);

  const groups = new Map<string, Scenario>();
  for (const point of points) {
    const key = canonicalJson(scenarioAxes.map((path) => point.values[path]));
    const scenario = groups.get(key) ?? { label: label(point.values, scenarioAxes), points: [] };
    groups.set(key, scenario);
    if (point.is_baseline) scenario.baseline ??= point;
    scenario.points.push(point);
  }
  const scenarios = [...groups.values()];
  const isServerless = input.config.workload.serverless !== undefined;
  const candidates = MEASURES.filter(({ serverless }) => isServerless || serverless !== true);
  for (const scenario of scenarios) {
    const { baseline } = scenario;
    if (baseline !== undefined) {
      scenario.points = [baseline, ...scenario.points.filter((point) => point !== baseline)];
    }
    for (const point of scenario.points) {
      if (point.cells.length === 0) continue;
      for (const measure of candidates) {
        const absolute = absoluteOf(point, measure);
        if (absolute === undefined) continue;
        point.absolute[measure.key] = absolute;
        if (measure.quantile !== undefined) {
          const { kind, p } = measure.quantile;
          if (!pooledHistogram(point, kind).supports(p)) point.unsupported.push(measure.key);
          if (censors(point, p)) point.censored.push(measure.key);
        }
        if (baseline === undefined || baseline === point || baseline.cells.length === 0) continue;
        point.relative[measure.key] = relativeOf(point, baseline, measure);
      }
      point.functions = summarizeFunctions(point, baseline);
    }
  }
  return {
    name: input.config.name,
    scenarios,
    scenarioAxes,
    jobs: isServerless ? 'invocations' : 'jobs',
    measures: candidates.filter(({ key }) => points.some(({ absolute }) => absolute[key] !== undefined)),
    seeds: [...new Set(input.cells.map(({ seed }) => seed))].sort((a, b) => a - b),
    cells: input.cells.length,
    events: input.cells.reduce((sum, cell) => sum + ('metrics' in cell ? cell.metrics.events : 0), 0),
    failures: scenarios.flatMap((scenario) =>
      scenario.points.flatMap((point) =>
        point.failures.map((cell) => ({ scenario: scenario.label, point: point.label, cell })),
      ),
    ),
    input,
  };
}

export interface FailureGroup {
  /** Scenario and point. */
  place: string;
  outcome: SweepCell['outcome'];
  /** Message and code. */
  reason: string;
  /** Of the first seed, line by line. */
  chain: string[];
  seeds: number[];
}

/** Failures of one point that differ in the seed only, together. */
export function groupFailures({ failures }: Summary): FailureGroup[] {
  const groups = new Map<string, FailureGroup>();
  for (const { scenario, point, cell } of failures) {
    const place = [scenario, point].filter(Boolean).join(', ');
    const given = cell.outcome === 'failed' ? cell.error : cell.reason;
    const reason = given === undefined ? 'no reason given' : `${given.message} (${given.code})`;
    const chain = cell.outcome === 'failed' || cell.reason === undefined ? [] : chainLines(cell.reason);
    const key = canonicalJson([place, cell.outcome, reason]);
    const group = groups.get(key) ?? { place, outcome: cell.outcome, reason, chain, seeds: [] };
    group.seeds.push(cell.seed);
    groups.set(key, group);
  }
  return [...groups.values()];
}
