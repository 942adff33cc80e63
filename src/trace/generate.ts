// Synthetic traces of single invocations, from a seed.
//
//   poisson   `functions` functions share `rate` calls per second by Zipf's law (weight of rank r: r^-skew); each is a
//             Poisson process with exponential durations of mean `mean_ms`.
//   ecdf      the generator of the paper (iluvatar-ecdf): functions of a trace of counts with more than one invocation,
//             Maximum > 0 and 25th percentile > 0; a sample of `functions` of them, where a larger sample with the same
//             seed holds a smaller one; per function the inter-arrival times of the whole trace with a minute counted as
//             1000 ms and the n calls of a minute spaced 1000/n ms; inter-arrival times are drawn independently from
//             their ECDF, linear between its points, until `minutes` are full. Durations are the 25th percentile.
//
// Draws are a function of (seed, function, purpose, index): a function's calls don't depend on which others there are.

import { createHash } from 'node:crypto';
import { Draws } from '../draws.js';
import { VtimeError } from '../errors.js';
import { type InvocationColumns, traceFromInvocations } from './invocations.js';
import {
  countsMatrix,
  functionRows,
  invocationTotals,
  type Provenance,
  type Trace,
  traceShape,
} from './schema.js';
import { isEligible } from './select.js';

const MINUTE_NS = 60e9;
/** A minute of the source in the paper's generator, ms. */
const COMPRESSED_MINUTE_MS = 1000;
/** More calls than this don't fit the columns in memory. */
const MAX_CALLS = 100_000_000;

export interface PoissonOptions {
  seed: number;
  functions: number;
  minutes: number;
  /** Calls per second of all functions together. */
  rate: number;
  /** Mean duration, ms. */
  mean_ms: number;
  /** Exponent of Zipf's law; 0 = equal shares. */
  skew: number;
}

export interface EcdfOptions {
  seed: number;
  functions: number;
  minutes: number;
}

function requireNumber(name: string, value: number, least: number, most: number, whole = false): void {
  if (value >= least && value <= most && (!whole || Number.isInteger(value))) return;
  throw new VtimeError('generate_value', `is ${value}`, {
    path: name,
    value,
    expected: `a ${whole ? 'whole ' : ''}number from ${least} to ${most}`,
  });
}

function requireShape({ seed, functions, minutes }: EcdfOptions): void {
  requireNumber('seed', seed, 0, Number.MAX_SAFE_INTEGER, true);
  requireNumber('functions', functions, 1, 4096, true);
  requireNumber('minutes', minutes, 1, 1_000_000, true);
}

interface Call {
  function_index: number;
  start_ns: number;
  duration_ns: number;
}

function columnsFrom(calls: Call[], function_ids: string[]): InvocationColumns {
  calls.sort((a, b) => a.start_ns - b.start_ns || a.function_index - b.function_index);
  return {
    function_ids,
    function_index: Uint32Array.from(calls, (call) => call.function_index),
    start_ns: BigUint64Array.from(calls, (call) => BigInt(call.start_ns)),
    duration_ns: BigUint64Array.from(calls, (call) => BigInt(call.duration_ns)),
  };
}

/** A trace of Poisson arrivals. Errors: generate_value, trace_empty. */
export function generatePoisson(options: PoissonOptions): Trace {
  const { seed, functions, minutes, rate, mean_ms, skew } = options;
  requireShape(options);
  requireNumber('rate', rate, 1e-9, 1e9);
  requireNumber('mean_ms', mean_ms, 1e-6, 1e9);
  requireNumber('skew', skew, 0, 10);
  requireNumber('rate × minutes', rate * minutes * 60, 0, MAX_CALLS);
  const ids = Array.from({ length: functions }, (_, f) => `f${f}`);
  const weights = ids.map((_, f) => (f + 1) ** -skew);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const end_ns = minutes * MINUTE_NS;
  const calls: Call[] = [];
  weights.forEach((weight, f) => {
    const gaps = new Draws(seed, f, 'arrivals');
    const lengths = new Draws(seed, f, 'durations');
    const mean_ns = 1e9 / ((rate * weight) / total);
    for (let at = gaps.exponential(mean_ns); at < end_ns; at += gaps.exponential(mean_ns)) {
      const duration_ns = Math.max(1, Math.round(lengths.exponential(mean_ms * 1e6)));
      calls.push({ function_index: f, start_ns: Math.floor(at), duration_ns });
    }
  });
  const steps = [{ step: 'generate poisson', ...options }];
  return traceFromInvocations(columnsFrom(calls, ids), { format: 'generated', inputs: [], rules: [], steps });
}

/** Inter-arrival times of a row of counts in compressed time, ms, ascending. */
export function compressedInterArrivals(counts: ArrayLike<number>): number[] {
  const gaps: number[] = [];
  let last: number | undefined;
  for (let minute = 0; minute < counts.length; minute++) {
    const n = counts[minute];
    for (let i = 0; i < n; i++) {
      const at = minute * COMPRESSED_MINUTE_MS + (i * COMPRESSED_MINUTE_MS) / n;
      if (last !== undefined) gaps.push(at - last);
      last = at;
    }
  }
  return gaps.sort((a, b) => a - b);
}

/** Inverse of the ECDF, linear between the sorted values; u in (0, 1). */
function quantile(sorted: readonly number[], u: number): number {
  const at = u * (sorted.length - 1);
  const low = Math.floor(at);
  const high = Math.min(low + 1, sorted.length - 1);
  return sorted[low] + (sorted[high] - sorted[low]) * (at - low);
}

/** A trace as the paper's generator makes it. Errors: generate_value, select_too_few, trace_empty. */
export function generateEcdf(source: Trace, options: EcdfOptions): Trace {
  requireShape(options);
  const { seed, functions, minutes } = options;
  const rows = functionRows(source);
  const totals = invocationTotals(source);
  const counts = countsMatrix(source);
  const { intervals } = traceShape(source);
  const rank = (id: string) => createHash('sha256').update(`${seed}/${id}`).digest('hex');
  const eligible = rows.flatMap((row, index) =>
    isEligible(row, totals[index]) ? [{ row, index, rank: rank(row.function_id) }] : [],
  );
  if (functions > eligible.length) {
    throw new VtimeError('select_too_few', `only ${eligible.length} functions fit the generator`, {
      path: 'functions',
      value: functions,
      expected: `at most ${eligible.length}`,
    });
  }
  const chosen = eligible.sort((a, b) => (a.rank < b.rank ? -1 : 1)).slice(0, functions);
  chosen.sort((a, b) => a.index - b.index);
  const end_ns = minutes * MINUTE_NS;
  const calls: Call[] = [];
  chosen.forEach(({ row, index }, f) => {
    const gaps = compressedInterArrivals(counts.subarray(index * intervals, (index + 1) * intervals));
    const duration_ns = Math.max(1, Math.round(row.duration_p25_ms! * 1e6));
    const stream = new Draws(seed, row.function_id, 'arrivals');
    for (
      let at = quantile(gaps, stream.next()) * 1e6;
      at < end_ns;
      at += quantile(gaps, stream.next()) * 1e6
    ) {
      calls.push({ function_index: f, start_ns: Math.floor(at), duration_ns });
      if (calls.length > MAX_CALLS) requireNumber('invocations', calls.length, 1, MAX_CALLS);
    }
  });
  const { inputs, rules, steps } = source.provenance;
  const provenance: Provenance = {
    format: 'generated',
    inputs,
    rules,
    steps: [...steps, { step: 'generate ecdf', ...options }],
  };
  const ids = chosen.map(({ row }) => row.function_id);
  return traceFromInvocations(columnsFrom(calls, ids), provenance);
}
