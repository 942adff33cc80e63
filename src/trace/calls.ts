// Single calls while they are being read, and per-interval series: the two shapes that readers fill.

import { VtimeError } from '../errors.js';
import { percentileColumns, traceFromInvocations, UNKNOWN_DURATION_NS } from './invocations.js';
import type { NamedRow } from './named-table.js';
import type { RuleCounter } from './rules.js';
import {
  type FunctionRow,
  type InputFile,
  makeTrace,
  type ProvenanceStep,
  type Trace,
  type TraceFormat,
} from './schema.js';

const MINUTE_NS = 60_000_000_000;
/** 300 years. As a number, a time in ns is exact for 104 days and to a quarter of a microsecond for half a century. */
const MAX_SECONDS = 1e10;

/** Two years, less than the minutes that a functions table may have. */
const MAX_SPAN_NS = 2 * 365 * 86_400e9;

/** Collects calls in columns that grow. */
export class CallDraft {
  readonly #ids = new Map<string, number>();
  readonly #functions: number[] = [];
  readonly #starts: number[] = [];
  readonly #durations: number[] = [];

  get length(): number {
    return this.#starts.length;
  }

  get functionIds(): string[] {
    return [...this.#ids.keys()];
  }

  /** Calls of each function so far, in the order of functionIds. */
  get totals(): number[] {
    const totals = this.functionIds.map(() => 0);
    for (const index of this.#functions) totals[index]++;
    return totals;
  }

  /** First and last start, in the unit they were given in, ns. */
  get span_ns(): number {
    let first = Number.POSITIVE_INFINITY;
    let last = Number.NEGATIVE_INFINITY;
    for (const start of this.#starts) {
      if (start < first) first = start;
      if (start > last) last = start;
    }
    return last - first;
  }

  /** A call; `duration_ns` null = unknown. */
  add(function_id: string, start_ns: number, duration_ns: number | null): void {
    let index = this.#ids.get(function_id);
    if (index === undefined) {
      index = this.#ids.size;
      this.#ids.set(function_id, index);
    }
    this.#functions.push(index);
    this.#starts.push(start_ns);
    this.#durations.push(duration_ns ?? -1);
  }

  /** Gives every call of a function the same duration, where it has none. */
  fillDurations(duration_ns: ReadonlyMap<string, number>): void {
    const known = this.functionIds.map((id) => duration_ns.get(id) ?? -1);
    this.#durations.forEach((duration, i) => {
      if (duration < 0) this.#durations[i] = known[this.#functions[i]];
    });
  }

  /** The trace, its clock beginning with the whole minute before the first start. */
  finish(format: TraceFormat, inputs: InputFile[], rules: RuleCounter, path: string): Trace {
    if (this.length === 0) {
      throw new VtimeError('trace_empty', 'no invocations', {
        file: path,
        expected: 'at least one row that is a call',
      });
    }
    let first = Number.POSITIVE_INFINITY;
    for (const start of this.#starts) if (start < first) first = start;
    const origin = Math.floor(first / MINUTE_NS) * MINUTE_NS;
    if (this.span_ns > MAX_SPAN_NS) {
      throw new VtimeError(
        'trace_shape',
        `${Math.round(this.span_ns / 1e9)} s between the first and the last call`,
        {
          file: path,
          expected: 'a trace of at most two years',
        },
      );
    }
    if (origin !== 0) rules.add('arrivals.shifted', () => `by ${-origin / 1e9} s`);
    return traceFromInvocations(
      {
        function_ids: this.functionIds,
        function_index: Uint32Array.from(this.#functions),
        start_ns: BigUint64Array.from(this.#starts, (start) => BigInt(start - origin)),
        duration_ns: BigUint64Array.from(this.#durations, (duration) =>
          duration < 0 ? UNKNOWN_DURATION_NS : BigInt(duration),
        ),
      },
      { format, inputs, rules: rules.list(), steps: [] },
    );
  }
}

/** A time of a row in ns; `unit_ns` is the unit of the column. */
export function timeNs(row: NamedRow, name: string, unit_ns: number): number {
  const value = row.number(name);
  if (Math.abs(value) * unit_ns > MAX_SECONDS * 1e9) throw row.error(name, 'a time within 300 years');
  return Math.round(value * unit_ns);
}

/**
 * The duration of a call in ns; null if it has none. A recorded 0 means "below the resolution" and stands for half of it.
 */
export function durationOf(
  row: NamedRow,
  name: string,
  unit_ns: number,
  resolution_ns: number,
  rules: RuleCounter,
): number | null {
  const value = row.optionalNumber(name);
  if (value === null) {
    rules.add('durations.unknown-call', () => row.place(name));
    return null;
  }
  if (value < 0) {
    rules.add('durations.negative-call', () => row.place(name));
    return null;
  }
  if (value * unit_ns > MAX_SECONDS * 1e9) throw row.error(name, 'a duration below 300 years');
  const ns = Math.round(value * unit_ns);
  if (ns > 0) return ns;
  rules.add('durations.zero-call', () => row.place(name));
  return resolution_ns / 2;
}

/** Counts and average durations per function and minute, while they are being read. */
export class SeriesDraft {
  readonly #rows = new Map<
    string,
    Map<number, { calls: number | undefined; average_ms: number | undefined }>
  >();
  readonly memory_mb = new Map<string, number>();
  #first = Number.POSITIVE_INFINITY;
  #last = Number.NEGATIVE_INFINITY;

  /** What is known about a function in a minute. */
  cell(function_id: string, minute: number): { calls: number | undefined; average_ms: number | undefined } {
    let series = this.#rows.get(function_id);
    if (series === undefined) {
      series = new Map();
      this.#rows.set(function_id, series);
    }
    let cell = series.get(minute);
    if (cell === undefined) {
      cell = { calls: undefined, average_ms: undefined };
      series.set(minute, cell);
      if (minute < this.#first) this.#first = minute;
      if (minute > this.#last) this.#last = minute;
    }
    return cell;
  }

  /** A minute of the trace, even if no function has a cell in it. */
  cover(minute: number): void {
    if (minute < this.#first) this.#first = minute;
    if (minute > this.#last) this.#last = minute;
  }

  /** Minutes from the first to the last. */
  finish(
    format: TraceFormat,
    inputs: InputFile[],
    rules: RuleCounter,
    path: string,
    onGap: (function_id: string, minute: number) => void = () => {},
    steps: ProvenanceStep[] = [],
  ): Trace {
    const intervals = this.#last - this.#first + 1;
    const called = [...this.#rows].filter(([, series]) =>
      [...series.values()].some(({ calls }) => calls !== undefined),
    );
    if (called.length === 0) {
      throw new VtimeError('trace_empty', 'no invocations', {
        file: path,
        expected: 'at least one row with calls',
      });
    }
    if (intervals > 1 << 20) {
      throw new VtimeError('trace_shape', `${intervals} minutes from the first to the last row`, {
        file: path,
        expected: 'a trace of at most two years',
      });
    }
    const counts = new Uint32Array(called.length * intervals);
    const rows = called.map(([function_id, series], f): FunctionRow => {
      const averages: { ms: number; calls: number }[] = [];
      for (let i = 0; i < intervals; i++) {
        const cell = series.get(this.#first + i);
        if (cell?.calls === undefined) onGap(function_id, this.#first + i);
        const calls = cell?.calls ?? 0;
        counts[f * intervals + i] = calls;
        if (cell?.average_ms === undefined) continue;
        if (calls > 0) averages.push({ ms: cell.average_ms, calls });
        else rules.add('durations.without-calls', () => `${function_id} minute ${this.#first + i}`);
      }
      if (averages.length === 0) rules.add('durations.missing', () => function_id);
      return { ...rowOf(function_id, averages), memory_mb: this.memory_mb.get(function_id) ?? null };
    });
    if (rows.some(({ duration_average_ms }) => duration_average_ms !== null)) {
      rules.add('durations.of-averages', () => inputs[0].file);
    }
    const shape = { interval_ns: MINUTE_NS, first_minute: this.#first + 1, intervals };
    return makeTrace(rows, counts, shape, { format, inputs, rules: rules.list(), steps });
  }
}

/** Statistics of a function from averages per minute, weighted by the calls behind them. */
function rowOf(
  function_id: string,
  averages: { ms: number; calls: number }[],
): Omit<FunctionRow, 'memory_mb'> {
  const sorted = [...averages].sort((a, b) => a.ms - b.ms);
  const total = sorted.reduce((sum, { calls }) => sum + calls, 0);
  const at = (percent: number): number | null => {
    let seen = 0;
    for (const { ms, calls } of sorted) {
      seen += calls;
      if (seen > 0 && seen >= (percent / 100) * total) return ms;
    }
    return sorted.length === 0 ? null : sorted[sorted.length - 1].ms;
  };
  return {
    function_id,
    owner: null,
    app: null,
    function: function_id,
    trigger: null,
    duration_average_ms:
      total === 0 ? null : sorted.reduce((sum, { ms, calls }) => sum + ms * calls, 0) / total,
    ...percentileColumns(at),
    duration_count: total === 0 ? null : total,
  };
}
