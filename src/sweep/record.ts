// What a journal keeps of a finished cell: JSON without anything that the grid already knows.

import { Histogram } from '../engine/histogram.js';
import { EngineError, VtimeError } from '../errors.js';
import type {
  ClassResult,
  FailureReason,
  HistogramKind,
  Metrics,
  Outcome,
  SimulationResult,
} from '../types.js';
import { CLASS, type Column, columnsOf, leafOf, METRICS, nestedFrom } from './shape.js';
import type { CellPlace, StoredHistogram, SweepCell } from './store.js';

/** [kind, class, sum, min, max, bucket indices as differences, counts]; the sum may exceed 2^53. */
type HistogramRecord = [HistogramKind, string, string, number | null, number | null, number[], number[]];

interface FinishedRecord {
  cell_id: string;
  outcome: Outcome;
  reason?: FailureReason;
  metrics: Metrics;
  classes: ClassResult[];
  histograms: HistogramRecord[];
  statements: Record<string, unknown>;
  /** Time the simulation took; only run.json repeats it. */
  wall_ms: number;
}

interface FailedRecord {
  cell_id: string;
  outcome: 'failed';
  error: { code: string; message: string; exit_code: number };
  wall_ms: number;
}

export type CellRecord = FinishedRecord | FailedRecord;

/** Kinds that are kept for each class too. For the others a class has its quantiles in `classes`. */
const PER_CLASS: ReadonlySet<HistogramKind> = new Set(['latency', 'worker_duration']);

/** All classes merged, kind by kind, then the single classes of the kinds that need them. */
function keptHistograms({ histograms }: Pick<SimulationResult, 'histograms'>): StoredHistogram[] {
  const merged = new Map<HistogramKind, Histogram>();
  for (const { kind, histogram } of histograms) {
    merged.set(kind, (merged.get(kind) ?? Histogram.empty).merge(histogram));
  }
  return [
    ...Array.from(merged, ([kind, histogram]) => ({ kind, class: '', histogram })),
    ...histograms.filter(({ kind, histogram }) => PER_CLASS.has(kind) && histogram.count > 0),
  ];
}

function histogramRecord({ kind, class: name, histogram }: StoredHistogram): HistogramRecord {
  const steps = Array.from(histogram.indices, (index, i) => index - (i === 0 ? 0 : histogram.indices[i - 1]));
  const { sum, min, max, counts } = histogram;
  return [kind, name, String(sum), min, max, steps, Array.from(counts)];
}

function storedHistogram([kind, name, sum, min, max, steps, counts]: HistogramRecord): StoredHistogram {
  const indices = Uint32Array.from(steps);
  for (let i = 1; i < indices.length; i++) indices[i] += indices[i - 1];
  const histogram = new Histogram(BigInt(sum), min ?? 0, max ?? 0, indices, Float64Array.from(counts));
  return { kind, class: name, histogram };
}

export function finishedRecord(cell_id: string, result: SimulationResult, wall_ms: number): CellRecord {
  const { outcome, reason, metrics, classes, provenance } = result;
  return {
    cell_id,
    outcome,
    ...(reason === undefined ? {} : { reason }),
    metrics,
    classes,
    histograms: keptHistograms(result).map(histogramRecord),
    statements: provenance.statements,
    wall_ms,
  };
}

/** An unexpected exception is the engine's fault. */
export function failedRecord(cell_id: string, error: unknown, wall_ms: number): CellRecord {
  const { code, message, exitCode } =
    error instanceof VtimeError
      ? error
      : new EngineError(
          'unexpected',
          error instanceof Error ? `${error.name}: ${error.message}` : String(error),
        );
  return { cell_id, outcome: 'failed', error: { code, message, exit_code: exitCode }, wall_ms };
}

const METRIC_COLUMNS = columnsOf(METRICS);
const CLASS_COLUMNS = columnsOf(CLASS);

/** The value with NaN where JSON wrote null. */
function restored<T extends object>(columns: readonly Column[], value: T): T {
  return nestedFrom<T>(columns, (column) => leafOf(value, column));
}

/** The cell at `place` with the result of its record. */
export function cellFrom(place: CellPlace, record: CellRecord): SweepCell {
  if (record.outcome === 'failed') return { ...place, outcome: record.outcome, error: record.error };
  const { outcome, reason, metrics, classes, histograms, statements } = record;
  return {
    ...place,
    outcome,
    ...(reason === undefined ? {} : { reason }),
    metrics: restored(METRIC_COLUMNS, metrics),
    classes: classes.map((one) => restored(CLASS_COLUMNS, one)),
    histograms: histograms.map(storedHistogram),
    statements,
  };
}
