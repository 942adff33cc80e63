// Choosing functions and minutes of a trace. Nothing is drawn: a sample ranks functions by a hash of seed and
// id, so that a larger sample of the same seed contains the smaller one.

import { createHash } from 'node:crypto';
import { nearestName, VtimeError } from '../errors.js';
import { type DurationModel, fitDuration } from './duration.js';
import { columnsOf, type InvocationColumns, traceFromInvocations } from './invocations.js';
import {
  countsMatrix,
  type FunctionRow,
  functionRows,
  invocationTotals,
  makeTrace,
  type ProvenanceStep,
  type Trace,
  type TraceShape,
  traceShape,
} from './schema.js';
import { narrowStream } from './stream.js';

export interface FunctionSelection {
  /** Function ids, or prefixes of an id or of the function's own name that fit exactly one function. */
  ids?: readonly string[];
  /** Only functions that the paper's trace generator takes: more than one invocation, Maximum > 0, p25 > 0. */
  eligible?: boolean;
  /** Only functions whose mean duration under `durations` is at most this, ms. */
  maximum_mean_ms?: number;
  /** How many functions to keep; all without it. */
  functions?: number;
  /** How functions are ranked for `functions`: most invocations, most offered load, or a hash of the seed. */
  by?: 'invocations' | 'offered' | 'hash';
  /** Seed of `by: hash`. */
  seed?: number | string;
  /**
   * No function may carry more than this fraction of the offered load (invocations × mean duration) of those
   * selected: the largest is left out and the next in rank enters until none does.
   */
  maximum_share?: number;
  /** Duration model for means and offered load; default `percentiles`. */
  durations?: DurationModel;
}

/** A window of minutes by their labels in the trace. */
export interface MinuteWindow {
  /** Label of the first minute, e.g. 480. */
  from: number;
  /** Number of minutes. */
  minutes: number;
}

interface Candidate {
  index: number;
  row: FunctionRow;
  invocations: number;
  /** NaN if the function has no durations. */
  mean_ms: number;
  rank: string | number;
}

/** True if the paper's trace generator would take the function. */
export function isEligible(row: FunctionRow, invocations: number): boolean {
  return invocations > 1 && (row.duration_maximum_ms ?? 0) > 0 && (row.duration_p25_ms ?? 0) > 0;
}

function meanMs(row: FunctionRow, model: DurationModel): number {
  try {
    return fitDuration(row, model, row.function_id).mean_ns / 1e6;
  } catch (error) {
    if (error instanceof VtimeError && error.code === 'duration_missing') return Number.NaN;
    throw error;
  }
}

function byIds(candidates: Candidate[], ids: readonly string[]): Candidate[] {
  const wanted = ids.map((id) => {
    const fits = candidates.filter(
      ({ row }) => row.function_id.startsWith(id) || row.function?.startsWith(id),
    );
    const exact = fits.filter(({ row }) => row.function_id === id);
    const found = exact.length ? exact : fits;
    if (found.length === 1) return found[0];
    if (found.length > 1) {
      throw new VtimeError('select_ambiguous', `"${id}" fits ${found.length} functions`, {
        value: id,
        expected: 'a longer prefix or the whole owner/app/function',
      });
    }
    const near = nearestName(
      id,
      candidates.flatMap(({ row }) => [row.function_id, row.function ?? '']),
    );
    throw new VtimeError('select_unknown', `no function "${id}"`, {
      value: id,
      expected: near ? `"${near}"?` : 'a function of the trace, or a prefix of one',
    });
  });
  return candidates.filter((candidate) => wanted.includes(candidate));
}

function ranked(candidates: Candidate[], selection: FunctionSelection): Candidate[] {
  const by = selection.by ?? 'invocations';
  for (const candidate of candidates) {
    if (by === 'invocations') candidate.rank = -candidate.invocations;
    else if (by === 'offered') candidate.rank = -candidate.invocations * (candidate.mean_ms || 0);
    else {
      const key = `${selection.seed ?? 1}/${candidate.row.function_id}`;
      candidate.rank = createHash('sha256').update(key).digest('hex');
    }
  }
  // Ties go to the function that comes first in the trace.
  return [...candidates].sort((a, b) => (a.rank < b.rank ? -1 : a.rank > b.rank ? 1 : a.index - b.index));
}

/** Leaves out the largest of the first `count` (all without it) until none carries more than `share` of their load. */
function withoutDominant(
  order: Candidate[],
  count: number | undefined,
  share: number,
): { kept: Candidate[]; left: string[] } {
  const load = (candidate: Candidate) => candidate.invocations * (candidate.mean_ms || 0);
  const pool = [...order];
  const left: string[] = [];
  for (;;) {
    const kept = pool.slice(0, count);
    const total = kept.reduce((sum, candidate) => sum + load(candidate), 0);
    const largest = kept.reduce((best, candidate) => (load(candidate) > load(best) ? candidate : best));
    if (load(largest) <= share * total) return { kept, left };
    if (pool.length <= (count ?? 1)) {
      throw new VtimeError('select_share', `no choice keeps every function within ${share} of the load`, {
        path: 'maximum_share',
        value: share,
        expected: 'a larger share or fewer functions',
      });
    }
    left.push(largest.row.function_id);
    pool.splice(pool.indexOf(largest), 1);
  }
}

function noFunctions(path: string): VtimeError {
  return new VtimeError('select_empty', 'no function is left', {
    path,
    expected: 'a selection that keeps some',
  });
}

function requireCount(value: number | undefined, path: string): void {
  if (value === undefined || (Number.isInteger(value) && value >= 1)) return;
  throw new VtimeError('select_value', `is ${value}`, { path, value, expected: 'a whole number from 1' });
}

/** Keeps the given functions of a trace; they stay in trace order. Errors: select_… with the option's name. */
export function selectFunctions(trace: Trace, selection: FunctionSelection): Trace {
  requireCount(selection.functions, 'functions');
  const share = selection.maximum_share;
  if (share !== undefined && !(share > 0 && share <= 1)) {
    throw new VtimeError('select_value', `is ${share}`, {
      path: 'maximum_share',
      value: share,
      expected: 'in (0, 1]',
    });
  }
  const model = selection.durations ?? 'percentiles';
  const totals = invocationTotals(trace);
  const rows = functionRows(trace);
  let candidates = rows.map(
    (row, index): Candidate => ({
      index,
      row,
      invocations: totals[index],
      mean_ms: meanMs(row, model),
      rank: 0,
    }),
  );
  if (selection.ids) candidates = byIds(candidates, selection.ids);
  if (selection.eligible)
    candidates = candidates.filter(({ row, invocations }) => isEligible(row, invocations));
  const maximum = selection.maximum_mean_ms;
  if (maximum !== undefined) candidates = candidates.filter(({ mean_ms }) => mean_ms <= maximum);
  if (candidates.length === 0) throw noFunctions('functions');
  const count = selection.functions ?? candidates.length;
  if (count > candidates.length) {
    throw new VtimeError('select_too_few', `only ${candidates.length} functions fit the selection`, {
      path: 'functions',
      value: count,
      expected: `at most ${candidates.length}`,
    });
  }
  const order = ranked(candidates, selection);
  const { kept, left } =
    share === undefined
      ? { kept: order.slice(0, count), left: [] }
      : withoutDominant(order, selection.functions, share);
  const chosen = kept.map(({ index }) => index).sort((a, b) => a - b);
  const step: ProvenanceStep = {
    step: 'select functions',
    ...selection,
    functions_before: rows.length,
    functions_after: chosen.length,
    ...(left.length ? { left_out_as_dominant: left } : {}),
  };
  return rebuild(trace, chosen, { from: 0, minutes: traceShape(trace).intervals }, step);
}

/** Keeps a window of minutes. Error select_minutes if the trace does not cover it. */
export function selectMinutes(trace: Trace, window: MinuteWindow): Trace {
  const { first_minute, intervals } = traceShape(trace);
  const from = window.from - first_minute;
  const fits = Number.isInteger(from) && from >= 0 && Number.isInteger(window.minutes) && window.minutes >= 1;
  if (!fits || from + window.minutes > intervals) {
    throw new VtimeError(
      'select_minutes',
      `minutes ${window.from} + ${window.minutes} are not in the trace`,
      {
        value: window.from,
        expected: `minutes from ${first_minute} to ${first_minute + intervals - 1}`,
      },
    );
  }
  const all = Array.from({ length: trace.functions.numRows }, (_, i) => i);
  const step: ProvenanceStep = { step: 'select minutes', from: window.from, minutes: window.minutes };
  return rebuild(trace, all, { from, minutes: window.minutes }, step);
}

/** The trace of some rows and a window given as interval indices. */
function rebuild(trace: Trace, chosen: number[], window: MinuteWindow, step: ProvenanceStep): Trace {
  const old = traceShape(trace);
  const rows = functionRows(trace);
  const counts = countsMatrix(trace);
  const kept = new Uint32Array(chosen.length * window.minutes);
  chosen.forEach((row, i) => {
    const start = row * old.intervals + window.from;
    kept.set(counts.subarray(start, start + window.minutes), i * window.minutes);
  });
  const shape: TraceShape = {
    ...old,
    first_minute: old.first_minute + window.from,
    intervals: window.minutes,
  };
  const provenance = { ...trace.provenance, steps: [...trace.provenance.steps, step] };
  const selected = makeTrace(
    chosen.map((index) => rows[index]),
    kept,
    shape,
    provenance,
  );
  if (trace.stream !== undefined) {
    const from_ns = window.from * old.interval_ns;
    const to_ns = from_ns + window.minutes * old.interval_ns;
    const rows_left = kept.reduce((sum, count) => sum + count, 0);
    if (rows_left === 0) throw noFunctions('minutes');
    return { ...selected, stream: narrowStream(trace.stream, chosen, from_ns, to_ns, rows_left) };
  }
  if (trace.invocations === undefined) return selected;
  const ids = chosen.map((index) => rows[index].function_id);
  const inside = invocationsInside(
    columnsOf(trace.invocations, 'trace'),
    ids,
    window,
    BigInt(old.interval_ns),
  );
  if (inside.start_ns.length === 0) throw noFunctions('minutes');
  return { ...selected, invocations: traceFromInvocations(inside, provenance).invocations };
}

/** Invocations of some functions in a window, with starts relative to it. */
function invocationsInside(
  columns: InvocationColumns,
  ids: string[],
  window: MinuteWindow,
  interval_ns: bigint,
): InvocationColumns {
  const newIndex = new Map(ids.map((id, i) => [id, i]));
  const index = columns.function_ids.map((id) => newIndex.get(id) ?? -1);
  const from = BigInt(window.from) * interval_ns;
  const to = from + BigInt(window.minutes) * interval_ns;
  const inside = Uint32Array.from(columns.start_ns.keys()).filter((i) => {
    const start = columns.start_ns[i];
    return start >= from && start < to && index[columns.function_index[i]] >= 0;
  });
  return {
    function_ids: ids,
    function_index: Uint32Array.from(inside, (i) => index[columns.function_index[i]]),
    start_ns: BigUint64Array.from(inside, (i) => columns.start_ns[i] - from),
    duration_ns: BigUint64Array.from(inside, (i) => columns.duration_ns[i]),
  };
}
