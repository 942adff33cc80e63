// What a trace asks for: invocations, offered concurrency, inter-arrival times.

import { VtimeError } from '../errors.js';
import { type DurationModel, fitDuration } from './duration.js';
import { functionRows, invocationTotals, type Provenance, type Trace, traceShape } from './schema.js';

export interface FunctionSummary {
  function_id: string;
  trigger: string | null;
  invocations: number;
  /** Recorded average, ms. */
  average_ms: number | null;
  /** Mean under the duration model, ms; null without statistics. */
  mean_ms: number | null;
  /** Invocations × mean_ms / length of the trace: how many run at once without any waiting. */
  offered_concurrency: number;
  /** Fraction of the trace's offered concurrency. */
  offered_share: number;
  /** Length of the trace / invocations, ms; null if never called. */
  mean_interarrival_ms: number | null;
}

export interface TraceSummary {
  functions: number;
  /** Functions without statistics for the duration model: no offered load, cannot be simulated. */
  functions_without_durations: number;
  first_minute: number;
  last_minute: number;
  intervals: number;
  interval_s: number;
  duration_s: number;
  invocations: number;
  /** Rows of the invocations table, 0 without one. */
  single_invocations: number;
  invocations_per_s: number;
  duration_model: DurationModel;
  /** Under the duration model. */
  offered_concurrency: number;
  /** With the recorded averages. */
  offered_concurrency_of_averages: number;
  /** Of the largest contributor, a fraction. */
  largest_offered_share: number;
  /** By invocations, most first. */
  top: FunctionSummary[];
  provenance: Provenance;
}

/** Mean inter-arrival time of each function over the whole trace, ns: length / invocations; 0 if never called. */
export function meanInterArrivalNs(trace: Trace): Float64Array {
  const { interval_ns, intervals } = traceShape(trace);
  return invocationTotals(trace).map((calls) => (calls ? (interval_ns * intervals) / calls : 0));
}

function meanMs(row: Parameters<typeof fitDuration>[0], model: DurationModel): number | null {
  try {
    return fitDuration(row, model).mean_ns / 1e6;
  } catch (error) {
    if (error instanceof VtimeError && error.code === 'duration_missing') return null;
    throw error;
  }
}

/** Every function of a trace, in trace order. */
export function summarizeFunctions(trace: Trace, model: DurationModel = 'percentiles'): FunctionSummary[] {
  const { interval_ns, intervals } = traceShape(trace);
  const length_ms = (interval_ns * intervals) / 1e6;
  const totals = invocationTotals(trace);
  const list = functionRows(trace).map((row, i): FunctionSummary => {
    const mean_ms = meanMs(row, model);
    return {
      function_id: row.function_id,
      trigger: row.trigger,
      invocations: totals[i],
      average_ms: row.duration_average_ms,
      mean_ms,
      offered_concurrency: (totals[i] * (mean_ms ?? 0)) / length_ms,
      offered_share: 0,
      mean_interarrival_ms: totals[i] ? length_ms / totals[i] : null,
    };
  });
  const offered = list.reduce((sum, row) => sum + row.offered_concurrency, 0);
  for (const row of list) row.offered_share = offered > 0 ? row.offered_concurrency / offered : 0;
  return list;
}

/** Totals of a trace and its `top` most called functions. */
export function summarizeTrace(
  trace: Trace,
  { model = 'percentiles', top = 10 }: { model?: DurationModel; top?: number } = {},
): TraceSummary {
  const { interval_ns, first_minute, intervals } = traceShape(trace);
  const duration_s = (interval_ns * intervals) / 1e9;
  const list = summarizeFunctions(trace, model);
  const sum = (of: (row: FunctionSummary) => number) => list.reduce((total, row) => total + of(row), 0);
  const invocations = sum((row) => row.invocations);
  return {
    functions: list.length,
    functions_without_durations: list.filter(({ mean_ms }) => mean_ms === null).length,
    first_minute,
    last_minute: first_minute + intervals - 1,
    intervals,
    interval_s: interval_ns / 1e9,
    duration_s,
    invocations,
    single_invocations: trace.invocations?.numRows ?? trace.stream?.rows ?? 0,
    invocations_per_s: invocations / duration_s,
    duration_model: model,
    offered_concurrency: sum((row) => row.offered_concurrency),
    offered_concurrency_of_averages: sum(
      (row) => (row.invocations * (row.average_ms ?? 0)) / 1e3 / duration_s,
    ),
    largest_offered_share: list.reduce((largest, row) => Math.max(largest, row.offered_share), 0),
    top: [...list].sort((a, b) => b.invocations - a.invocations).slice(0, top),
    provenance: trace.provenance,
  };
}
