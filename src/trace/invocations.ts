// Traces of single invocations: start, duration, function. The functions table beside them is derived, so that
// everything that reads counts and statistics works on them too.

import {
  type Dictionary,
  makeData,
  type Table,
  type Uint32,
  Uint64,
  Utf8,
  vectorFromArray,
} from 'apache-arrow';
import { VtimeError } from '../errors.js';
import { RuleCounter } from './rules.js';
import {
  type FunctionRow,
  invocationsSchema,
  makeTrace,
  type Provenance,
  type Trace,
  tableOf,
} from './schema.js';

export const INTERVAL_NS = 60_000_000_000n;
/** Two years of minutes: beyond it, starts are not relative to the beginning of the trace. */
export const MAX_INTERVALS = 1 << 20;

/** Stands for "no duration recorded" in `duration_ns`. */
export const UNKNOWN_DURATION_NS = 0xffff_ffff_ffff_ffffn;

/** Invocations as flat columns of equal length. */
export interface InvocationColumns {
  /** Distinct function ids; `function_index` points into them. */
  function_ids: readonly string[];
  function_index: Uint32Array;
  /** ns since the start of the trace. */
  start_ns: BigUint64Array;
  /** ns, UNKNOWN_DURATION_NS where none is recorded. */
  duration_ns: BigUint64Array;
}

/** The columns of an Arrow `invocations` table. */
export function columnsOf(table: Table, file: string): InvocationColumns {
  const rows = table.numRows;
  const columns = {
    function_ids: [] as string[],
    function_index: new Uint32Array(rows),
    start_ns: new BigUint64Array(rows),
    duration_ns: new BigUint64Array(rows),
  };
  let base = 0;
  for (const batch of table.batches) {
    const index = batch.getChild('function_id')!.data[0];
    const duration = batch.getChild('duration_ns')!.data[0];
    columns.function_index.set((index.values as Uint32Array).subarray(0, batch.numRows), base);
    columns.start_ns.set(
      (batch.getChild('start_ns')!.data[0].values as BigUint64Array).subarray(0, batch.numRows),
      base,
    );
    columns.duration_ns.set((duration.values as BigUint64Array).subarray(0, batch.numRows), base);
    if (duration.nullCount > 0) {
      for (let i = 0; i < batch.numRows; i++) {
        if (!duration.getValid(i)) columns.duration_ns[base + i] = UNKNOWN_DURATION_NS;
      }
    }
    // Later batches only add to the dictionary.
    if (index.dictionary) columns.function_ids = index.dictionary.toArray() as string[];
    base += batch.numRows;
  }
  const known = columns.function_ids.length;
  const bad = columns.function_index.findIndex((index) => index >= known);
  if (bad >= 0) {
    throw new VtimeError('trace_arrow', `row ${bad} has function ${columns.function_index[bad]}`, {
      file,
      expected: `an index below ${known}, the number of functions`,
    });
  }
  return columns;
}

function sortByStart(columns: InvocationColumns, rules: RuleCounter): InvocationColumns {
  const { start_ns } = columns;
  for (let i = 1; i < start_ns.length; i++) {
    if (start_ns[i] < start_ns[i - 1]) rules.add('arrivals.unsorted', () => `row ${i}`);
  }
  if (rules.list().length === 0) return columns;
  const order = Uint32Array.from(start_ns, (_, i) => i).sort((a, b) =>
    start_ns[a] < start_ns[b] ? -1 : start_ns[a] > start_ns[b] ? 1 : a - b,
  );
  return {
    function_ids: columns.function_ids,
    function_index: Uint32Array.from(order, (i) => columns.function_index[i]),
    start_ns: BigUint64Array.from(order, (i) => start_ns[i]),
    duration_ns: BigUint64Array.from(order, (i) => columns.duration_ns[i]),
  };
}

/** Extremes and percentiles of a function's durations, ms, of which `at` tells one. */
export function percentileColumns(at: (percent: number) => number | null) {
  return {
    duration_minimum_ms: at(0),
    duration_maximum_ms: at(100),
    duration_p0_ms: at(0),
    duration_p1_ms: at(1),
    duration_p25_ms: at(25),
    duration_p50_ms: at(50),
    duration_p75_ms: at(75),
    duration_p99_ms: at(99),
    duration_p100_ms: at(100),
  };
}

/** The row of a function with the exact statistics of its recorded durations (percentile p: smallest v with F(v) ≥ p). */
export function functionRow(function_id: string, sorted: Float64Array): FunctionRow {
  const parts = function_id.split('/');
  const [owner, app, name] = parts.length === 3 ? parts : [null, null, function_id];
  const n = sorted.length;
  const at = (percent: number) => (n ? sorted[Math.max(0, Math.ceil((percent / 100) * n) - 1)] : null);
  return {
    function_id,
    owner,
    app,
    function: name,
    trigger: null,
    duration_average_ms: n ? sorted.reduce((sum, value) => sum + value, 0) / n : null,
    ...percentileColumns(at),
    duration_count: n,
    memory_mb: null,
  };
}

function invocationsTable(columns: InvocationColumns, provenance: Provenance): Table {
  const length = columns.start_ns.length;
  const schema = invocationsSchema(provenance);
  const bitmap = new Uint8Array(((length + 63) >> 6) << 3);
  let nullCount = 0;
  columns.duration_ns.forEach((duration, i) => {
    if (duration === UNKNOWN_DURATION_NS) nullCount++;
    else bitmap[i >> 3] |= 1 << (i & 7);
  });
  const type = schema.fields[0].type as Dictionary<Utf8, Uint32>;
  const dictionary = vectorFromArray([...columns.function_ids], new Utf8());
  const durations = columns.duration_ns.map((duration) => (duration === UNKNOWN_DURATION_NS ? 0n : duration));
  return tableOf(schema, length, [
    makeData({ type, length, nullCount: 0, data: columns.function_index, dictionary }),
    makeData({ type: new Uint64(), length, nullCount: 0, data: columns.start_ns }),
    makeData({
      type: new Uint64(),
      length,
      nullCount,
      nullBitmap: nullCount ? bitmap : undefined,
      data: durations,
    }),
  ]);
}

/**
 * A trace of single invocations. They are put into time order (equal starts keep their order); the functions
 * table gets a row per id, in the order of `function_ids`, with counts per minute and duration statistics.
 */
export function traceFromInvocations(input: InvocationColumns, provenance: Provenance): Trace {
  const rules = new RuleCounter();
  const columns = sortByStart(input, rules);
  const { function_ids, function_index, start_ns, duration_ns } = columns;
  const rows = start_ns.length;
  if (rows === 0 || function_ids.length === 0) {
    throw new VtimeError('trace_empty', 'no invocations', { expected: 'at least one row' });
  }
  const last = start_ns[rows - 1] / INTERVAL_NS;
  if (last >= MAX_INTERVALS) {
    throw new VtimeError('trace_shape', `an invocation starts ${start_ns[rows - 1]} ns after the beginning`, {
      expected: 'start_ns relative to the beginning of the trace, within two years',
    });
  }
  const intervals = Number(last) + 1;
  const counts = new Uint32Array(function_ids.length * intervals);
  const durations: number[][] = function_ids.map(() => []);
  for (let i = 0; i < rows; i++) {
    counts[function_index[i] * intervals + Number(start_ns[i] / INTERVAL_NS)]++;
    if (duration_ns[i] !== UNKNOWN_DURATION_NS)
      durations[function_index[i]].push(Number(duration_ns[i]) / 1e6);
  }
  const described = { ...provenance, rules: [...provenance.rules, ...rules.list()] };
  const functions = function_ids.map((id, i) => functionRow(id, Float64Array.from(durations[i]).sort()));
  const shape = { interval_ns: Number(INTERVAL_NS), first_minute: 1, intervals };
  const trace = makeTrace(functions, counts, shape, described);
  return { ...trace, invocations: invocationsTable(columns, described) };
}
