// Huawei's public traces. 2023: one table per metric and day, `day,time,0,1,2…` with a row per minute and a column per
// function; requests and function delay look alike, so their file or folder names tell them apart, as in the release
// (`requests_minute/day_000.csv`). 2025: a row per request, with times in seconds; the cold start table beside it says
// nothing about requests and is not used.

import { VtimeError } from '../errors.js';
import { CallDraft, durationOf, SeriesDraft, timeNs } from './calls.js';
import { type CsvRow, NO_COUNT, scanCsv } from './csv.js';
import type { FormatFiles, ReaderOptions } from './formats.js';
import { scanNamedTable } from './named-table.js';
import type { RuleCounter } from './rules.js';
import type { InputFile, Trace } from './schema.js';

const SECOND = 1e9;
const MINUTES_PER_DAY = 1440;
const MAX_DAY = 10_000;

/** Scans a table of one metric; `onCell` sees each cell by function and minute. */
async function scanMetric(
  path: string,
  kind: InputFile['kind'],
  rules: RuleCounter,
  signal: AbortSignal | undefined,
  onCell: (row: CsvRow, field: number, function_id: string, minute: number) => void,
): Promise<InputFile> {
  let width = 0;
  const input: InputFile = {
    file: path.split(/[\\/]/).pop()!,
    kind,
    sha256: '',
    bytes: 0,
    rows_read: 0,
    rows_kept: 0,
    rows_dropped: 0,
  };
  const seen = new Set<number>();
  const scan = await scanCsv(
    path,
    (row) => {
      if (width === 0) {
        width = row.fields;
        row.names = Array.from({ length: width }, (_, i) => row.text(i));
        row.names.forEach((name, i) => {
          if (i > 1 && !/^\d{1,9}$/.test(name)) throw row.error(i, 'the number of a function');
          if (row.names.indexOf(name) !== i) throw row.error(i, `the name ${name} only once`);
        });
        return;
      }
      if (row.fields !== width) {
        throw row.ragged(width);
      }
      input.rows_read++;
      const day = row.number(0);
      const time = row.number(1);
      if (day === null || !Number.isInteger(day) || day < 0 || day > MAX_DAY)
        throw row.error(0, 'the number of a day');
      if (time === null || time < 0 || time % 60 !== 0) throw row.error(1, 'a multiple of 60 s');
      // Some files count the seconds of the day, others those of the whole trace.
      const minute = time < 86_400 ? day * MINUTES_PER_DAY + time / 60 : time / 60;
      if (minute > MAX_DAY * MINUTES_PER_DAY) throw row.error(1, 'a time within the trace');
      if (seen.has(minute)) {
        rules.add('intervals.duplicate-key', () => `${row.file}:${row.line}`);
        input.rows_dropped++;
        return;
      }
      seen.add(minute);
      input.rows_kept++;
      for (let field = 2; field < width; field++) onCell(row, field, row.names[field], minute);
    },
    signal === undefined ? {} : { signal },
  );
  if (scan.blankLines)
    rules.add('lines.blank', () => `${input.file}:${scan.firstBlankLine}`, scan.blankLines);
  return { ...input, sha256: scan.sha256, bytes: scan.bytes };
}

export async function readHuawei2023(
  files: FormatFiles,
  rules: RuleCounter,
  { signal }: ReaderOptions,
): Promise<Trace> {
  const requests = files.all('huawei2023', 'requests');
  const delays = files.all('huawei2023', 'durations');
  if (requests.length === 0) {
    throw new VtimeError('trace_format', 'no requests table', {
      file: delays[0],
      expected: 'a file or folder named requests_minute… beside function_delay_minute…',
    });
  }
  const draft = new SeriesDraft();
  const inputs: InputFile[] = [];
  for (const path of requests) {
    inputs.push(
      await scanMetric(path, 'requests', rules, signal, (row, field, id, minute) => {
        draft.cover(minute);
        const calls = row.count(field);
        if (calls === NO_COUNT) rules.add('intervals.empty-cell', () => row.place(field));
        else draft.cell(id, minute).calls = calls;
      }),
    );
  }
  for (const path of delays) {
    inputs.push(
      await scanMetric(path, 'durations', rules, signal, (row, field, id, minute) => {
        const average_ms = row.number(field);
        if (average_ms === null) return;
        if (average_ms < 0) rules.add('durations.negative', () => row.place(field));
        else draft.cell(id, minute).average_ms = average_ms;
      }),
    );
  }
  if (delays.length > 0) rules.add('durations.unit-assumed', () => inputs[requests.length].file);
  return draft.finish('huawei2023', inputs, rules, requests[0]);
}

const REQUESTS = {
  kind: 'requests',
  required: ['time_worker', 'requestID', 'funcName', 'podID', 'userID', 'runtimeCost'],
  optional: [
    'time_frontend',
    'clusterName',
    'totalCost_worker',
    'workerCost',
    'totalCost_frontend',
    'frontendCost',
    'busCost',
    'readBodyCost',
    'writeRspCost',
    'cpu_usage',
    'memory_usage',
    'requestBodySize',
  ],
} as const;
const COLD_STARTS = {
  kind: 'cold starts',
  required: ['day', 'time', 'funcName', 'totalCost_cold_start'],
  optional: [
    'clusterName',
    'userID',
    'requestID',
    'podAllocationCost',
    'deployCodeCost',
    'deployDependencyCost',
    'schedulingCost',
    'podID',
  ],
} as const;

/** The pool's name inside a pod's: "pool22-300-128" of "pool22-300-128-0000618412". */
function poolOf(pod: string): string {
  const cut = pod.lastIndexOf('-');
  return cut > 0 ? pod.slice(0, cut) : pod;
}

/** A function is funcName---userID---pool, as its publishers identify it. */
export async function readHuawei2025(
  files: FormatFiles,
  rules: RuleCounter,
  { signal }: ReaderOptions,
): Promise<Trace> {
  const requests = files.all('huawei2025', 'requests');
  const cold = files.all('huawei2025', 'cold starts');
  if (requests.length === 0) {
    throw new VtimeError('trace_format', 'no requests table', {
      file: cold[0],
      expected: 'a CSV file with time_worker,requestID,funcName,… beside the cold starts',
    });
  }
  const draft = new CallDraft();
  const ids = new Set<string>();
  const inputs: InputFile[] = [];
  for (const path of requests) {
    inputs.push(
      await scanNamedTable(path, REQUESTS, rules, signal, (row) => {
        const request = row.key('requestID');
        const id = `${row.key('funcName')}---${row.key('userID')}---${poolOf(row.key('podID'))}`;
        const at_ns = timeNs(row, 'time_worker', SECOND);
        const duration_ns = durationOf(row, 'runtimeCost', SECOND, 1000, rules);
        if (ids.has(request)) {
          rules.add('invocations.duplicate-id', () => row.place('requestID'));
          return false;
        }
        ids.add(request);
        draft.add(id, at_ns, duration_ns);
        return true;
      }),
    );
  }
  for (const path of cold) {
    inputs.push(
      await scanNamedTable(path, COLD_STARTS, rules, signal, (row) => {
        rules.add('cold-starts.unused', () => row.place());
        return false;
      }),
    );
  }
  return draft.finish('huawei2025', inputs, rules, requests[0]);
}
