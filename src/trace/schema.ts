// The two Arrow schemas of a trace, and the type that wraps them.
//
// `functions`, one row per function:
//   function_id      utf8      owner/app/function; unique (HashFunction alone is unique only inside its app)
//   owner, app, function, trigger   utf8, null where the source does not say
//   duration_*_ms    float64   statistics of the execution time, milliseconds, null where unknown
//   duration_count   uint64    number of executions behind the statistics
//   memory_mb        float64   average allocated memory of the app (or function), MB
//   counts           fixed_size_list<uint32>[intervals]   invocations that start in each interval
// `invocations`, one row per invocation, in time order:
//   function_id      dictionary<utf8, uint32>
//   start_ns         uint64    since the start of the first interval
//   duration_ns      uint64    null = to be drawn from the function's statistics
//
// Schema metadata carries name, version, shape and provenance, so a file explains itself.

import {
  type Data,
  type DataType,
  Dictionary,
  Field,
  FixedSizeList,
  Float64,
  makeData,
  RecordBatch,
  Schema,
  Struct,
  Table,
  Uint32,
  Uint64,
  Utf8,
  vectorFromArray,
} from 'apache-arrow';
import { VtimeError } from '../errors.js';
import type { RuleCount } from './rules.js';
import type { InvocationStream } from './stream.js';

export const FUNCTIONS_SCHEMA = 'vtime.functions';
export const INVOCATIONS_SCHEMA = 'vtime.invocations';
export const SCHEMA_VERSION = 1;

/** Statistics of a function's execution time; `null` where the source has none. */
export interface DurationStatistics {
  duration_average_ms: number | null;
  duration_minimum_ms: number | null;
  duration_maximum_ms: number | null;
  /** Percentiles; in Azure 2019 these are percentiles of 30-second averages. */
  duration_p0_ms: number | null;
  duration_p1_ms: number | null;
  duration_p25_ms: number | null;
  duration_p50_ms: number | null;
  duration_p75_ms: number | null;
  duration_p99_ms: number | null;
  duration_p100_ms: number | null;
  /** Executions behind the statistics. */
  duration_count: number | null;
}

/** One function of a trace, without its counts. */
export interface FunctionRow extends DurationStatistics {
  function_id: string;
  owner: string | null;
  app: string | null;
  function: string | null;
  trigger: string | null;
  memory_mb: number | null;
}

export const DURATION_COLUMNS = [
  'duration_average_ms',
  'duration_minimum_ms',
  'duration_maximum_ms',
  'duration_p0_ms',
  'duration_p1_ms',
  'duration_p25_ms',
  'duration_p50_ms',
  'duration_p75_ms',
  'duration_p99_ms',
  'duration_p100_ms',
] as const satisfies readonly (keyof DurationStatistics)[];

/** The interval grid of `counts`. */
export interface TraceShape {
  /** Length of an interval, ns (one minute for Azure 2019). */
  interval_ns: number;
  /** The source's label of the first interval (Azure counts minutes of the day from 1). */
  first_minute: number;
  intervals: number;
}

/** A file that a trace was read from. */
export interface InputFile {
  /** Base name: results don't depend on where a file lies. */
  file: string;
  kind: 'invocations' | 'durations' | 'memory' | 'metadata' | 'requests' | 'cold starts' | 'calls' | 'arrow';
  sha256: string;
  bytes: number;
  rows_read: number;
  rows_kept: number;
  rows_dropped: number;
}

/** Something done to a trace after import, e.g. a selection. */
export interface ProvenanceStep {
  step: string;
  [detail: string]: string | number | boolean | readonly string[] | undefined;
}

/** What a trace was read from or made by. */
export const TRACE_FORMATS = [
  'azure2019',
  'azure2021',
  'iluvatar',
  'opendc',
  'huawei2023',
  'huawei2025',
  'alibaba2021',
  'alibaba2022',
  'generated',
  'invocations',
  'memory',
] as const;
export type TraceFormat = (typeof TRACE_FORMATS)[number];

/** Where a trace comes from and what was done to it. */
export interface Provenance {
  format: TraceFormat;
  inputs: InputFile[];
  rules: RuleCount[];
  steps: ProvenanceStep[];
}

/** A trace: counts per function and interval, and, where the source has them, single invocations. */
export interface Trace {
  functions: Table;
  invocations?: Table;
  /** In place of `invocations` where they stay on disk (ReadArrowOptions.stream_above). */
  stream?: InvocationStream;
  provenance: Provenance;
}

const text = () => new Utf8();

/** The Arrow schema of a `functions` table with the given shape. */
export function functionsSchema(shape: TraceShape, provenance: Provenance): Schema {
  const counts = new FixedSizeList(shape.intervals, new Field('count', new Uint32(), false));
  return new Schema(
    [
      new Field('function_id', text(), false),
      ...['owner', 'app', 'function', 'trigger'].map((name) => new Field(name, text(), true)),
      ...DURATION_COLUMNS.map((name) => new Field(name, new Float64(), true)),
      new Field('duration_count', new Uint64(), true),
      new Field('memory_mb', new Float64(), true),
      new Field('counts', counts, false),
    ],
    new Map([
      ['vtime.schema', FUNCTIONS_SCHEMA],
      ['vtime.version', String(SCHEMA_VERSION)],
      ['interval_ns', String(shape.interval_ns)],
      ['first_minute', String(shape.first_minute)],
      ['intervals', String(shape.intervals)],
      ['provenance', JSON.stringify(provenance)],
    ]),
  );
}

/** The Arrow schema of an `invocations` table. */
export function invocationsSchema(provenance: Provenance): Schema {
  return new Schema(
    [
      // The id is fixed: the library would number dictionaries by a process-wide counter, and equal tables
      // would differ in their bytes.
      new Field('function_id', new Dictionary(text(), new Uint32(), 0), false),
      new Field('start_ns', new Uint64(), false),
      new Field('duration_ns', new Uint64(), true),
    ],
    new Map([
      ['vtime.schema', INVOCATIONS_SCHEMA],
      ['vtime.version', String(SCHEMA_VERSION)],
      ['provenance', JSON.stringify(provenance)],
    ]),
  );
}

function nullBitmap(values: readonly unknown[]): { nullBitmap?: Uint8Array; nullCount: number } {
  const bitmap = new Uint8Array(((values.length + 63) >> 6) << 3);
  let nullCount = 0;
  values.forEach((value, i) => {
    if (value === null) nullCount++;
    else bitmap[i >> 3] |= 1 << (i & 7);
  });
  return nullCount ? { nullBitmap: bitmap, nullCount } : { nullCount: 0 };
}

function column(type: DataType, values: readonly (string | number | null)[]): Data {
  if (type instanceof Float64) {
    return makeData({
      type,
      length: values.length,
      ...nullBitmap(values),
      data: Float64Array.from(values, Number),
    });
  }
  if (type instanceof Uint64) {
    const data = BigUint64Array.from(values, (value) => BigInt(value ?? 0));
    return makeData({ type, length: values.length, ...nullBitmap(values), data });
  }
  if (values.length === 0) return makeData({ type: new Utf8(), length: 0 });
  return vectorFromArray(values, new Utf8()).data[0];
}

/** A table over one record batch whose columns are `children`, in schema order. */
export function tableOf(schema: Schema, length: number, children: Data[]): Table {
  const data = makeData({ type: new Struct(schema.fields), length, nullCount: 0, children });
  return new Table(schema, [new RecordBatch(schema, data)]);
}

/**
 * Builds a trace from rows and a row-major matrix of counts (`rows × shape.intervals`), which is used as it is,
 * not copied. Rows keep their order.
 */
export function makeTrace(
  rows: readonly FunctionRow[],
  counts: Uint32Array,
  shape: TraceShape,
  provenance: Provenance,
): Trace {
  if (shape.intervals < 1 || counts.length !== rows.length * shape.intervals) {
    throw new VtimeError('trace_shape', `${counts.length} counts for ${rows.length} functions`, {
      expected: `${rows.length} × ${shape.intervals} counts and at least one interval`,
    });
  }
  const schema = functionsSchema(shape, provenance);
  const children = schema.fields.map((field) => {
    if (field.name !== 'counts') {
      return column(
        field.type,
        rows.map((row) => row[field.name as keyof FunctionRow]),
      );
    }
    const child = makeData({ type: new Uint32(), length: counts.length, nullCount: 0, data: counts });
    return makeData({ type: field.type as FixedSizeList<Uint32>, length: rows.length, nullCount: 0, child });
  });
  return { functions: tableOf(schema, rows.length, children), provenance };
}

/** The interval grid of a trace. */
export function traceShape(trace: Trace): TraceShape {
  const number = (key: string) => Number(trace.functions.schema.metadata.get(key));
  return {
    interval_ns: number('interval_ns'),
    first_minute: number('first_minute'),
    intervals: number('intervals'),
  };
}

/** The functions of a trace as plain objects, in table order. */
export function functionRows(trace: Trace): FunctionRow[] {
  const table = trace.functions;
  const names = table.schema.fields.map((field) => field.name).filter((name) => name !== 'counts');
  const vectors = names.map((name) => table.getChild(name)!);
  return Array.from({ length: table.numRows }, (_, row) => {
    const entries = names.map((name, i): [string, string | number | null] => {
      const value: string | number | bigint | null = vectors[i].get(row);
      return [name, typeof value === 'bigint' ? Number(value) : value];
    });
    return Object.fromEntries(entries) as unknown as FunctionRow;
  });
}

/** Counts of a trace, row-major (function × interval). A view of the table's buffer, not to be written to. */
export function countsMatrix(trace: Trace): Uint32Array {
  const chunks = trace.functions.getChild('counts')!.data.map((data) => {
    const { intervals } = traceShape(trace);
    const values: Uint32Array = data.children[0].values;
    return values.subarray(0, data.length * intervals);
  });
  if (chunks.length === 1) return chunks[0];
  const whole = new Uint32Array(chunks.reduce((sum, chunk) => sum + chunk.length, 0));
  let offset = 0;
  for (const chunk of chunks) {
    whole.set(chunk, offset);
    offset += chunk.length;
  }
  return whole;
}

/** Invocations of each function, in table order. */
export function invocationTotals(trace: Trace): Float64Array {
  const { intervals } = traceShape(trace);
  const counts = countsMatrix(trace);
  const totals = new Float64Array(trace.functions.numRows);
  for (let row = 0; row < totals.length; row++) {
    let sum = 0;
    for (let i = row * intervals; i < (row + 1) * intervals; i++) sum += counts[i];
    totals[row] = sum;
  }
  return totals;
}
