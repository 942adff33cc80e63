// Recorded boundaries of stages: a CSV file with a row for each execution, columns stage, begin_ns, end_ns and, where a stage takes
// several at once, count. What is left is the distribution of each stage's time, or its mean by count.

import { VtimeError } from '../../errors.js';
import { scanCsv } from '../../trace/csv.js';
import type { PlainTimeInput } from '../schema/time.js';

const COLUMNS = ['stage', 'begin_ns', 'end_ns'] as const;
const PERCENTILES = 100;

interface Recording {
  /** ns */
  times: number[];
  /** Of the batch, as many as there are times; empty without the column. */
  counts: number[];
}

/** Quantiles at (i + 1/2) / 100 of the sorted times, in equal shares. */
function percentilesOf(times: number[]): PlainTimeInput {
  const sorted = Float64Array.from(times).sort();
  const number = Math.min(PERCENTILES, sorted.length);
  return {
    percentiles: Array.from(
      { length: number },
      (_, i) => `${sorted[Math.floor(((i + 0.5) / number) * sorted.length)]}ns`,
    ),
  };
}

function meansByCount({ times, counts }: Recording): PlainTimeInput {
  const sums = new Map<number, { sum: number; n: number }>();
  times.forEach((time, i) => {
    const known = sums.get(counts[i]) ?? { sum: 0, n: 0 };
    sums.set(counts[i], { sum: known.sum + time, n: known.n + 1 });
  });
  const points = [...sums]
    .sort(([a], [b]) => a - b)
    .map(([count, { sum, n }]): [number, string] => [count, `${Math.max(1, Math.round(sum / n))}ns`]);
  return { table: { of: 'jobs', points, beyond: 'last', draw: 'exponential' } };
}

/** Time models by stage, in the order of their first rows. */
export async function readStamps(file: string): Promise<Record<string, PlainTimeInput>> {
  const recordings = new Map<string, Recording>();
  let columns: { stage: number; begin: number; end: number; count: number } | undefined;
  await scanCsv(file, (row) => {
    if (columns === undefined) {
      const names = Array.from({ length: row.fields }, (_, i) => row.text(i));
      row.names = names;
      const missing = COLUMNS.filter((name) => !names.includes(name));
      if (missing.length > 0) {
        throw new VtimeError('profile_columns', `there is no column ${missing.join(', ')}`, {
          file,
          line: row.line,
          value: names.join(','),
          expected: 'the columns stage, begin_ns, end_ns and perhaps count',
        });
      }
      columns = {
        stage: names.indexOf('stage'),
        begin: names.indexOf('begin_ns'),
        end: names.indexOf('end_ns'),
        count: names.indexOf('count'),
      };
      return;
    }
    const begin = row.number(columns.begin) ?? fail(row.error(columns.begin, 'a time in ns'));
    const end = row.number(columns.end) ?? fail(row.error(columns.end, 'a time in ns'));
    if (!Number.isInteger(end - begin) || end < begin)
      throw row.error(columns.end, 'a whole number of ns, not before begin_ns');
    const stage = row.text(columns.stage);
    const recording = recordings.get(stage) ?? { times: [], counts: [] };
    recordings.set(stage, recording);
    recording.times.push(end - begin);
    if (columns.count < 0) return;
    const count = row.count(columns.count);
    if (count < 1) throw row.error(columns.count, 'a whole number of at least 1');
    recording.counts.push(count);
  });
  if (recordings.size === 0) {
    throw new VtimeError('profile_value', 'there is no row in it', {
      file,
      expected: 'executions of stages',
    });
  }
  return Object.fromEntries(
    [...recordings].map(([stage, recording]) => [
      stage,
      recording.counts.some((count) => count > 1) ? meansByCount(recording) : percentilesOf(recording.times),
    ]),
  );
}

function fail(error: Error): never {
  throw error;
}
