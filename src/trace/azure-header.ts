// Column names of the Azure Functions 2019 tables, found by name in any order. Public copies of the data start
// at minute 480, call minutes `minute_1`, put HashFunction first, or have no Trigger; values follow their names.

import { nearestName, VtimeError } from '../errors.js';
import type { CsvRow } from './csv.js';
import type { RuleCounter } from './rules.js';

export type AzureTable = 'invocations' | 'durations' | 'memory';

export const PERCENTILES = [0, 1, 25, 50, 75, 99, 100] as const;

const KEYS = ['HashOwner', 'HashApp', 'HashFunction'];
const DURATIONS = [
  'Average',
  'Count',
  'Minimum',
  'Maximum',
  ...PERCENTILES.map((p) => `percentile_Average_${p}`),
];
const MEMORY = ['SampleCount', 'AverageAllocatedMb'];
const MEMORY_UNUSED = [1, 5, 25, 50, 75, 95, 99, 100].map((p) => `AverageAllocatedMb_pct${p}`);
const MINUTE = /^(?:minute_)?(\d{1,7})$/;

const REQUIRED: Record<AzureTable, readonly string[]> = {
  invocations: KEYS,
  durations: [...KEYS, ...DURATIONS],
  memory: ['HashOwner', 'HashApp', ...MEMORY],
};
const OPTIONAL: Record<AzureTable, readonly string[]> = {
  invocations: ['Trigger'],
  durations: [],
  memory: ['HashFunction', ...MEMORY_UNUSED],
};

/** Which table a header row belongs to; undefined if it is none of the three. */
export function azureTableOf(names: readonly string[]): AzureTable | undefined {
  if (names.some((name) => MINUTE.test(name))) return 'invocations';
  if (names.some((name) => name === 'Average' || name.startsWith('percentile_Average_'))) return 'durations';
  if (names.some((name) => name.startsWith('AverageAllocatedMb'))) return 'memory';
  return undefined;
}

/** The names of a header row. */
export function headerNames(row: CsvRow): string[] {
  return Array.from({ length: row.fields }, (_, i) => row.text(i));
}

/** Where the columns of one file are. */
export interface AzureHeader {
  fields: number;
  /** Field index of each named column that the file has. */
  field: ReadonlyMap<string, number>;
  /** Label of the first minute; 0 in tables without minutes. */
  firstMinute: number;
  /** Field index of each minute, in the order of their labels. */
  minuteFields: Int32Array;
}

function minuteColumns(
  row: CsvRow,
  names: readonly string[],
): { firstMinute: number; minuteFields: Int32Array } {
  const byMinute = new Map<number, number>();
  names.forEach((name, field) => {
    const match = MINUTE.exec(name);
    if (!match) return;
    const minute = Number(match[1]);
    if (byMinute.has(minute)) throw row.error(field, `minute ${minute} only once`);
    byMinute.set(minute, field);
  });
  const minutes = [...byMinute.keys()].sort((a, b) => a - b);
  const gap = minutes.findIndex((minute, i) => minute !== minutes[0] + i);
  if (gap > 0) {
    throw new VtimeError('trace_header', `minute ${minutes[0] + gap} is missing`, {
      file: row.file,
      line: row.line,
      column: row.column(byMinute.get(minutes[gap])!),
      expected: `every minute from ${minutes[0]} to ${minutes[minutes.length - 1]}`,
    });
  }
  return { firstMinute: minutes[0] ?? 0, minuteFields: Int32Array.from(minutes, (m) => byMinute.get(m)!) };
}

/** Counts what is unusual about a header that can be read all the same. */
function inspectHeader(row: CsvRow, table: AzureTable, names: readonly string[], rules: RuleCounter): void {
  const start = () => `${row.file}:${row.line}`;
  const known = [...REQUIRED[table], ...OPTIONAL[table]];
  const published =
    table === 'memory' ? ['HashOwner', 'HashApp', 'HashFunction', ...MEMORY, ...MEMORY_UNUSED] : known;
  const order = names.map((name) => published.indexOf(name)).filter((at) => at >= 0);
  const minutes = names.flatMap((name) => (MINUTE.test(name) ? [Number(MINUTE.exec(name)![1])] : []));
  const sorted = (list: number[]) => list.every((value, i) => i === 0 || value > list[i - 1]);
  const lastKey = names.findLastIndex((name) => published.includes(name));
  const firstMinute = names.findIndex((name) => MINUTE.test(name));
  const mixed = table === 'invocations' && firstMinute >= 0 && firstMinute < lastKey;
  if (!sorted(order) || (table === 'invocations' && !sorted(minutes)) || mixed)
    rules.add('header.reordered', start);
  if (table === 'invocations') {
    if (names.some((name) => /^minute_\d/.test(name))) rules.add('header.minute-names', start);
    if (minutes.length > 0 && Math.min(...minutes) !== 1) rules.add('header.late-start', start);
  }
  names.forEach((_, i) => {
    if (row.isPadded(i)) rules.add('header.padded-name', () => row.place(i));
  });
}

/** Finds the columns of a table; a missing column is an error, an unknown one is counted. */
export function readHeader(row: CsvRow, table: AzureTable, rules: RuleCounter): AzureHeader {
  const names = headerNames(row);
  inspectHeader(row, table, names, rules);
  const known = new Set([...REQUIRED[table], ...OPTIONAL[table]]);
  const isMinute = (name: string) => table === 'invocations' && MINUTE.test(name);
  const field = new Map<string, number>();
  const unknown: string[] = [];
  names.forEach((name, i) => {
    if (isMinute(name)) return;
    if (!known.has(name)) {
      unknown.push(name);
      rules.add('header.extra-column', () => row.place(i));
    } else if (field.has(name)) {
      throw row.error(i, `the name ${name} only once`);
    } else field.set(name, i);
  });
  for (const name of REQUIRED[table]) {
    if (field.has(name)) continue;
    const near = nearestName(name, unknown);
    throw new VtimeError('trace_header', `column ${name} is missing from the ${table} table`, {
      file: row.file,
      line: row.line,
      column: near === undefined ? 1 : row.column(names.indexOf(near)),
      value: near,
      expected: near === undefined ? REQUIRED[table].join(', ') : `${name} instead of "${near}"`,
    });
  }
  return {
    fields: row.fields,
    field,
    ...minuteColumns(
      row,
      names.map((name) => (isMinute(name) ? name : '')),
    ),
  };
}

/** Refuses a row with more or fewer fields than the header. */
export function requireFields(row: CsvRow, header: AzureHeader): void {
  if (row.fields === header.fields) return;
  throw row.ragged(header.fields);
}

/** The text of a key column; keys may not be empty. */
export function keyText(row: CsvRow, header: AzureHeader, name: string): string {
  const field = header.field.get(name)!;
  if (row.isEmpty(field)) throw row.error(field, 'a key that is not empty');
  return row.text(field);
}
