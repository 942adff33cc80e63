// Azure Functions 2019 (Shahrad et al., USENIX ATC 2020): per day one table of invocations per minute, one of
// duration statistics per function, one of memory per app. Counts are recorded after execution; durations leave
// out cold starts, are whole milliseconds, and their percentiles are of 30-second averages.

import { readdir, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { VtimeError } from '../errors.js';
import {
  type AzureHeader,
  type AzureTable,
  azureTableOf,
  headerNames,
  keyText,
  PERCENTILES,
  readHeader,
  requireFields,
} from './azure-header.js';
import { type CsvRow, NO_COUNT, scanCsv } from './csv.js';
import { AZURE_MINUTE_CAP, RuleCounter, type RuleName } from './rules.js';
import {
  type DurationStatistics,
  type FunctionRow,
  type InputFile,
  makeTrace,
  type ProvenanceStep,
  type Trace,
} from './schema.js';

export const MINUTE_NS = 60_000_000_000;
const MINUTES_PER_DAY = 1440;

export interface AzureOptions {
  signal?: AbortSignal;
}

type AzureFiles = { [table in AzureTable]?: string };

const NO_DURATIONS: DurationStatistics = {
  duration_average_ms: null,
  duration_minimum_ms: null,
  duration_maximum_ms: null,
  duration_p0_ms: null,
  duration_p1_ms: null,
  duration_p25_ms: null,
  duration_p50_ms: null,
  duration_p75_ms: null,
  duration_p99_ms: null,
  duration_p100_ms: null,
  duration_count: null,
};

async function filesOf(path: string): Promise<{ files: string[]; folder: boolean }> {
  const info = await stat(path).catch((error: NodeJS.ErrnoException) => {
    throw new VtimeError('trace_file', `cannot read: ${error.code}`, {
      file: path,
      expected: 'a trace file or a folder of them',
    });
  });
  if (!info.isDirectory()) return { files: [path], folder: false };
  const names = (await readdir(path)).filter((name) => name.toLowerCase().endsWith('.csv')).sort();
  return { files: names.map((name) => join(path, name)), folder: true };
}

/** Finds the three tables among files and folders by their headers. */
async function findTables(paths: readonly string[], rules: RuleCounter): Promise<AzureFiles> {
  const found: AzureFiles = {};
  for (const path of paths) {
    const { files, folder } = await filesOf(path);
    for (const file of files) {
      let names: string[] = [];
      const header = (row: CsvRow) => {
        names = headerNames(row);
      };
      await scanCsv(file, header, { onlyHeader: true });
      const table = azureTableOf(names);
      if (table === undefined) {
        if (folder) {
          rules.add('files.ignored', () => basename(file));
          continue;
        }
        throw new VtimeError('trace_format', names.length ? 'unknown table' : 'file is empty', {
          file,
          line: 1,
          value: names.slice(0, 6).join(','),
          expected:
            'the header of an Azure 2019 table: HashOwner,HashApp,HashFunction with minutes 1…1440, ' +
            'with Average,Count,Minimum,Maximum,percentile_Average_…, or with SampleCount,AverageAllocatedMb; ' +
            'or of Azure 2021, Ilúvatar, OpenDC, Huawei or Alibaba (docs/traces.md)',
        });
      }
      const other = found[table];
      if (other !== undefined) {
        throw new VtimeError('trace_ambiguous', `a second ${table} table beside ${basename(other)}`, {
          file,
          expected: 'one day; name its files instead of a folder',
        });
      }
      found[table] = file;
    }
  }
  if (found.invocations === undefined) {
    throw new VtimeError('trace_format', 'no invocations table', {
      file: paths.join(', '),
      expected: 'a CSV file with HashOwner, HashApp, HashFunction and a column per minute',
    });
  }
  return found;
}

/** Functions and counts while they are being read. */
interface Draft {
  rows: FunctionRow[];
  index: Map<string, number>;
  counts: Uint32Array;
  intervals: number;
  firstMinute: number;
}

const functionId = (row: CsvRow, header: AzureHeader): string =>
  ['HashOwner', 'HashApp', 'HashFunction'].map((name) => keyText(row, header, name)).join('/');

/** Scans one table: header first, then rows; `onRow` returns whether the row was used. */
async function scanTable(
  path: string,
  table: AzureTable,
  rules: RuleCounter,
  options: AzureOptions,
  onHeader: (header: AzureHeader, row: CsvRow) => void,
  onRow: (row: CsvRow, header: AzureHeader) => boolean,
): Promise<InputFile> {
  let header: AzureHeader | undefined;
  const input: InputFile = {
    file: basename(path),
    kind: table,
    sha256: '',
    bytes: 0,
    rows_read: 0,
    rows_kept: 0,
    rows_dropped: 0,
  };
  const visit = (row: CsvRow) => {
    if (header === undefined) {
      header = readHeader(row, table, rules);
      row.names = headerNames(row);
      onHeader(header, row);
      return;
    }
    requireFields(row, header);
    input.rows_read++;
    if (onRow(row, header)) input.rows_kept++;
    else input.rows_dropped++;
  };
  const scan = await scanCsv(path, visit, { signal: options.signal });
  if (scan.blankLines)
    rules.add('lines.blank', () => `${input.file}:${scan.firstBlankLine}`, scan.blankLines);
  return { ...input, sha256: scan.sha256, bytes: scan.bytes };
}

async function readInvocations(
  path: string,
  draft: Draft,
  rules: RuleCounter,
  options: AzureOptions,
): Promise<InputFile> {
  // Rows seen for keys that occur more than once: an exact repeat of any of them is a duplicate, not more calls.
  const seen = new Map<number, { trigger: string | null; cells: Uint32Array }[]>();
  let trigger: number | undefined;

  const onHeader = (header: AzureHeader, row: CsvRow) => {
    draft.intervals = header.minuteFields.length;
    draft.firstMinute = header.firstMinute;
    trigger = header.field.get('Trigger');
    if (trigger === undefined) rules.add('header.no-trigger', () => `${row.file}:${row.line}`);
  };

  const readCounts = (row: CsvRow, { minuteFields }: AzureHeader): Uint32Array => {
    const { intervals } = draft;
    const base = draft.rows.length * intervals;
    if (base + intervals > draft.counts.length) {
      const wider = new Uint32Array(Math.max(64 * intervals, draft.counts.length * 2));
      wider.set(draft.counts);
      draft.counts = wider;
    }
    const { counts } = draft;
    for (let i = 0; i < intervals; i++) {
      const field = minuteFields[i];
      let count = row.count(field);
      if (count === NO_COUNT) {
        rules.add('invocations.nan', () => row.place(field));
        count = 0;
      } else if (count >= AZURE_MINUTE_CAP) rules.add('invocations.minute-cap', () => row.place(field));
      counts[base + i] = count;
    }
    return counts.subarray(base, base + intervals);
  };

  const triggerOf = (row: CsvRow): string | null =>
    trigger === undefined || row.isEmpty(trigger) ? null : row.text(trigger);

  const addTo = (known: number, cells: Uint32Array, row: CsvRow): boolean => {
    const stored = draft.counts.subarray(known * draft.intervals, (known + 1) * draft.intervals);
    const earlier = seen.get(known) ?? [{ trigger: draft.rows[known].trigger, cells: stored.slice() }];
    seen.set(known, earlier);
    const source = triggerOf(row);
    if (earlier.some((other) => other.trigger === source && other.cells.every((n, i) => n === cells[i]))) {
      rules.add('invocations.duplicate-key', () => `${row.file}:${row.line}`);
      return false;
    }
    rules.add('invocations.split-key', () => `${row.file}:${row.line}`);
    earlier.push({ trigger: source, cells: cells.slice() });
    for (let i = 0; i < cells.length; i++) {
      if (stored[i] + cells[i] > 0xffffffff) {
        throw new VtimeError(
          'trace_value',
          'rows of one function add up to more than 4294967295 calls a minute',
          {
            file: row.file,
            line: row.line,
            expected: 'counts whose sum fits 32 bits',
          },
        );
      }
      stored[i] += cells[i];
    }
    return true;
  };

  const onRow = (row: CsvRow, header: AzureHeader): boolean => {
    const id = functionId(row, header);
    const cells = readCounts(row, header);
    const known = draft.index.get(id);
    if (known !== undefined) return addTo(known, cells, row);
    draft.index.set(id, draft.rows.length);
    draft.rows.push({
      function_id: id,
      owner: keyText(row, header, 'HashOwner'),
      app: keyText(row, header, 'HashApp'),
      function: keyText(row, header, 'HashFunction'),
      trigger: triggerOf(row),
      ...NO_DURATIONS,
      memory_mb: null,
    });
    return true;
  };

  const input = await scanTable(path, 'invocations', rules, options, onHeader, onRow);
  if (draft.rows.length === 0) {
    throw new VtimeError('trace_empty', 'no functions', {
      file: path,
      expected: 'at least one row below the header',
    });
  }
  return input;
}

/** A statistic that may be missing: null and negative values become null, under a named rule. */
function statistic(row: CsvRow, field: number, table: 'durations' | 'memory', rules: RuleCounter) {
  const value = row.number(field);
  if (value !== null && value >= 0) return value;
  const rule: RuleName =
    table === 'memory' ? 'memory.nan' : value === null ? 'durations.nan' : 'durations.negative';
  rules.add(rule, () => row.place(field));
  return null;
}

function readDurationRow(row: CsvRow, header: AzureHeader, rules: RuleCounter): DurationStatistics {
  const read = (name: string) => statistic(row, header.field.get(name)!, 'durations', rules);
  const percentiles = PERCENTILES.map((p) => [`duration_p${p}_ms`, read(`percentile_Average_${p}`)] as const);
  const count = read('Count');
  if (count !== null && !Number.isSafeInteger(count)) {
    throw row.error(header.field.get('Count')!, 'a whole number');
  }
  return {
    ...NO_DURATIONS,
    ...Object.fromEntries(percentiles),
    duration_average_ms: read('Average'),
    duration_minimum_ms: read('Minimum'),
    duration_maximum_ms: read('Maximum'),
    duration_count: count,
  };
}

async function readDurations(
  path: string,
  draft: Draft,
  rules: RuleCounter,
  options: AzureOptions,
): Promise<InputFile> {
  const seen = new Set<number>();
  const onRow = (row: CsvRow, header: AzureHeader): boolean => {
    const known = draft.index.get(functionId(row, header));
    const statistics = readDurationRow(row, header, rules);
    if (known === undefined) {
      rules.add('durations.orphan', () => `${row.file}:${row.line}`);
      return false;
    }
    const target = draft.rows[known];
    if (seen.has(known)) {
      rules.add('durations.duplicate-key', () => `${row.file}:${row.line}`);
      if ((statistics.duration_count ?? 0) > (target.duration_count ?? 0)) Object.assign(target, statistics);
      return false;
    }
    seen.add(known);
    Object.assign(target, statistics);
    return true;
  };
  return scanTable(path, 'durations', rules, options, () => {}, onRow);
}

async function readMemory(
  path: string,
  draft: Draft,
  rules: RuleCounter,
  options: AzureOptions,
): Promise<InputFile> {
  const perKey = new Map<string, { samples: number; memory_mb: number | null }>();
  const apps = new Set(draft.rows.map((row) => `${row.owner}/${row.app}`));
  let perFunction = false;

  const onHeader = (header: AzureHeader, row: CsvRow) => {
    perFunction = header.field.has('HashFunction');
    if (perFunction) rules.add('memory.per-function', () => `${row.file}:${row.line}`);
  };
  const onRow = (row: CsvRow, header: AzureHeader): boolean => {
    const key = perFunction
      ? functionId(row, header)
      : `${keyText(row, header, 'HashOwner')}/${keyText(row, header, 'HashApp')}`;
    const read = (name: string) => statistic(row, header.field.get(name)!, 'memory', rules);
    const entry = { samples: read('SampleCount') ?? 0, memory_mb: read('AverageAllocatedMb') };
    if (!(perFunction ? draft.index.has(key) : apps.has(key))) {
      rules.add('memory.orphan', () => `${row.file}:${row.line}`);
      return false;
    }
    const earlier = perKey.get(key);
    if (earlier === undefined || entry.samples > earlier.samples) perKey.set(key, entry);
    if (earlier !== undefined) rules.add('memory.duplicate-key', () => `${row.file}:${row.line}`);
    return earlier === undefined;
  };
  const input = await scanTable(path, 'memory', rules, options, onHeader, onRow);
  for (const row of draft.rows) {
    const entry = perKey.get(perFunction ? row.function_id : `${row.owner}/${row.app}`);
    if (entry === undefined) rules.add('memory.missing', () => row.function_id);
    row.memory_mb = entry?.memory_mb ?? null;
  }
  return input;
}

/** Counts what is odd about each function once all tables are read. */
function inspect(draft: Draft, hasDurations: boolean, rules: RuleCounter): void {
  const wholeDay = draft.intervals === MINUTES_PER_DAY;
  if (hasDurations && !wholeDay) {
    rules.add(
      'header.partial-day',
      () => `minutes ${draft.firstMinute} to ${draft.firstMinute + draft.intervals - 1}`,
    );
  }
  const apps = new Map<string | null, string>();
  draft.rows.forEach((row, index) => {
    const where = () => row.function_id;
    const app = `${row.owner}/${row.app}`;
    if ((apps.get(row.function) ?? app) !== app) rules.add('keys.function-reused', where);
    apps.set(row.function, app);
    let total = 0;
    for (let i = index * draft.intervals; i < (index + 1) * draft.intervals; i++) total += draft.counts[i];
    if (total === 0) rules.add('invocations.never-called', where);
    if (row.duration_average_ms === 0) rules.add('durations.average-zero', where);
    if (row.duration_maximum_ms === 0) rules.add('durations.maximum-zero', where);
    const { duration_average_ms: average, duration_minimum_ms: least, duration_maximum_ms: most } = row;
    if (average !== null && ((least !== null && average < least) || (most !== null && average > most)))
      rules.add('durations.average-outside', where);
    const count = row.duration_count;
    if (count !== null && (wholeDay ? count !== total : count < total))
      rules.add('durations.count-disagrees', where);
    const percentiles = PERCENTILES.map((p) => row[`duration_p${p}_ms`]).filter((value) => value !== null);
    if (percentiles.some((value, i) => i > 0 && value < percentiles[i - 1])) {
      rules.add('durations.percentiles-decrease', where);
    }
  });
}

/**
 * Reads one day of Azure Functions 2019 from a folder or from explicit files (invocations, and optionally
 * durations and memory, recognised by their headers). Functions keep the order of the invocations table.
 *
 * Malformed data is a VtimeError with file, line and column: trace_file, trace_format, trace_ambiguous,
 * trace_header, trace_ragged, trace_value, trace_csv, trace_encoding, trace_empty. Quirks of real data are
 * counted by rule in the provenance, see rules.ts.
 */
export async function readAzure2019(
  paths: string | readonly string[],
  options: AzureOptions = {},
): Promise<Trace> {
  const rules = new RuleCounter();
  const files = await findTables(typeof paths === 'string' ? [paths] : paths, rules);
  const draft: Draft = {
    rows: [],
    index: new Map(),
    counts: new Uint32Array(0),
    intervals: 0,
    firstMinute: 0,
  };
  const inputs = [await readInvocations(files.invocations!, draft, rules, options)];
  if (files.durations !== undefined) inputs.push(await readDurations(files.durations, draft, rules, options));
  for (const row of draft.rows) {
    const hasStatistics = Object.keys(NO_DURATIONS).some(
      (name) => row[name as keyof DurationStatistics] !== null,
    );
    if (!hasStatistics) rules.add('durations.missing', () => row.function_id);
  }
  if (files.memory !== undefined) inputs.push(await readMemory(files.memory, draft, rules, options));
  inspect(draft, files.durations !== undefined, rules);

  const counts = draft.counts.slice(0, draft.rows.length * draft.intervals);
  const shape = { interval_ns: MINUTE_NS, first_minute: draft.firstMinute, intervals: draft.intervals };
  const steps: ProvenanceStep[] = [];
  return makeTrace(draft.rows, counts, shape, { format: 'azure2019', inputs, rules: rules.list(), steps });
}
