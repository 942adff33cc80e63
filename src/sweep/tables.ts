// The Arrow tables of a result store.
//
// results      cell_id, point, replication, seed, is_baseline, outcome; one text column `axis.<path>` per path that
//              the sweep varies; every metric flat, unit in the name (shape.ts); reason, error, values, config,
//              inputs and statements as JSON; config_sha256. A failed cell has no metrics.
// classes      cell_id, then the class's name, kind and metrics
// histograms   every kind with all classes merged (class ''), latency and worker duration also per class: cell_id, kind,
//              class, count, sum (decimal text: it may exceed 2^64), min, max,
//              indices and counts of the non-empty buckets, of values in ns; the value range of a bucket is
//              bucketBounds of engine/histogram.ts
//
// Schema metadata: vtime.schema, vtime.version, and the sweep's provenance as JSON.

import { Schema, type Table, tableFromIPC, tableToIPC, type Vector } from 'apache-arrow';
import { canonicalJson, configHash } from '../config/canonical.js';
import { Histogram } from '../engine/histogram.js';
import { VtimeError } from '../errors.js';
import { inspectIpc } from '../trace/ipc.js';
import { tableOf } from '../trace/schema.js';
import type { ClassResult, FailureReason, HistogramKind, Metrics, Outcome } from '../types.js';
import { type ColumnKind, type ColumnValue, columnData, fieldOf, listKindFor, rowReader } from './columns.js';
import { CLASS, type Column, columnsOf, leafOf, METRICS, nestedFrom } from './shape.js';
import type { CellPlace, StoredHistogram, SweepCell } from './store.js';

/** Part of every cell's id: raise it when the meaning of a stored result changes. */
export const STORE_VERSION = 1;

const METRIC_COLUMNS = columnsOf(METRICS);
const CLASS_COLUMNS = columnsOf(CLASS);
const AXIS = 'axis.';

type Name = 'results' | 'classes' | 'histograms';

function largestItem(lists: readonly ColumnValue[]): number {
  let largest = 0;
  for (const list of lists) {
    if (typeof list !== 'object' || list === null) continue;
    for (let i = 0; i < list.length; i++) largest = Math.max(largest, list[i]);
  }
  return largest;
}

/** Columns that grow row by row. Lists of numbers beyond 32 bits become lists of 64. */
class TableBuilder {
  readonly #columns: { name: string; kind: ColumnKind; values: ColumnValue[] }[];

  constructor(columns: readonly (readonly [name: string, kind: ColumnKind])[]) {
    this.#columns = columns.map(([name, kind]) => ({ name, kind, values: [] }));
  }

  add(row: readonly ColumnValue[]): void {
    if (row.length !== this.#columns.length) throw new RangeError(`${row.length} values in a row`);
    row.forEach((value, i) => {
      this.#columns[i].values.push(value);
    });
  }

  bytes(name: Name, provenance: string): Uint8Array {
    for (const column of this.#columns) {
      if (column.kind === 'u32s') column.kind = listKindFor(largestItem(column.values));
    }
    const schema = new Schema(
      this.#columns.map((column) => fieldOf(column.name, column.kind)),
      new Map([
        ['vtime.schema', `vtime.${name}`],
        ['vtime.version', String(STORE_VERSION)],
        ['provenance', provenance],
      ]),
    );
    const data = this.#columns.map(({ kind, values }) => columnData(kind, values));
    return tableToIPC(tableOf(schema, this.#columns[0].values.length, data), 'file');
  }
}

const flat = (columns: readonly Column[]) =>
  columns.map(({ name, kind }): [string, ColumnKind] => [name, kind === 'names' ? 'text' : kind]);

function leafValue(value: object, column: Column): ColumnValue {
  const leaf = leafOf(value, column);
  if (Array.isArray(leaf)) return leaf.join(' ');
  return typeof leaf === 'string' || typeof leaf === 'number' ? leaf : null;
}

const json = (value: unknown): string | null => (value === undefined ? null : canonicalJson(value));

/** Text of an axis value: as written if it is text, else JSON. */
function axisText(value: unknown): string | null {
  if (value === undefined) return null;
  return typeof value === 'string' ? value : canonicalJson(value);
}

/** Collects cells in grid order and gives the bytes of the three files. */
export class ResultTables {
  readonly #axes: string[];
  /** Points of one grid may agree in all that matters; classes and histograms are kept once per id. */
  readonly #seen = new Set<string>();
  readonly #results: TableBuilder;
  readonly #classes = new TableBuilder([['cell_id', 'text'], ...flat(CLASS_COLUMNS)]);
  readonly #histograms = new TableBuilder([
    ['cell_id', 'text'],
    ['kind', 'text'],
    ['class', 'text'],
    ['count', 'count'],
    ['sum', 'text'],
    ['min', 'number'],
    ['max', 'number'],
    ['indices', 'u16s'],
    ['counts', 'u32s'],
  ]);

  constructor(places: readonly CellPlace[]) {
    this.#axes = [...new Set(places.flatMap(({ values }) => Object.keys(values)))];
    this.#results = new TableBuilder([
      ['cell_id', 'text'],
      ['point', 'index'],
      ['replication', 'index'],
      ['seed', 'count'],
      ['is_baseline', 'flag'],
      ['outcome', 'text'],
      ...this.#axes.map((path): [string, ColumnKind] => [AXIS + path, 'text']),
      ...flat(METRIC_COLUMNS),
      ['reason', 'text'],
      ['error', 'text'],
      ['values', 'text'],
      ['config', 'text'],
      ['config_sha256', 'text'],
      ['inputs', 'text'],
      ['statements', 'text'],
    ]);
  }

  add(cell: SweepCell): void {
    const { cell_id, point, replication } = cell;
    const finished = cell.outcome === 'failed' ? undefined : cell;
    this.#results.add([
      cell_id,
      point,
      replication,
      cell.seed,
      cell.is_baseline,
      cell.outcome,
      ...this.#axes.map((path) => axisText(cell.values[path])),
      ...METRIC_COLUMNS.map((column) => (finished ? leafValue(finished.metrics, column) : null)),
      json(finished?.reason),
      json(cell.outcome === 'failed' ? cell.error : undefined),
      canonicalJson(cell.values),
      canonicalJson(cell.config),
      configHash(cell.config),
      canonicalJson(cell.inputs),
      json(finished?.statements),
    ]);
    if (this.#seen.has(cell_id)) return;
    this.#seen.add(cell_id);
    for (const one of finished?.classes ?? []) {
      this.#classes.add([cell_id, ...CLASS_COLUMNS.map((column) => leafValue(one, column))]);
    }
    for (const { kind, class: name, histogram } of finished?.histograms ?? []) {
      const { count, sum, min, max, indices, counts } = histogram;
      this.#histograms.add([cell_id, kind, name, count, String(sum), min, max, indices, counts]);
    }
  }

  bytes(provenance: object): Record<`${Name}.arrow`, Uint8Array> {
    const text = canonicalJson(provenance);
    return {
      'results.arrow': this.#results.bytes('results', text),
      'classes.arrow': this.#classes.bytes('classes', text),
      'histograms.arrow': this.#histograms.bytes('histograms', text),
    };
  }
}

function tableFrom(name: Name, bytes: Uint8Array, file: string): Table {
  let table: Table;
  try {
    inspectIpc((offset, length) => bytes.subarray(offset, offset + length), bytes.length, file);
    table = tableFromIPC(bytes);
  } catch (error) {
    const message =
      error instanceof VtimeError ? error.what : error instanceof Error ? error.message : String(error);
    throw new VtimeError('store_damaged', `not a readable Arrow file: ${message}`, { file });
  }
  const schema = table.schema.metadata.get('vtime.schema');
  const version = table.schema.metadata.get('vtime.version');
  if (schema === `vtime.${name}` && version === String(STORE_VERSION)) return table;
  throw new VtimeError(
    'store_version',
    `holds ${schema ?? 'an unnamed table'}, version ${version ?? 'unknown'}`,
    {
      file,
      expected: `vtime.${name}, version ${STORE_VERSION}`,
    },
  );
}

function listAt(vector: Vector | null, row: number): ArrayLike<number | bigint> {
  return vector?.get(row)?.toArray() ?? [];
}

function byCell<T>(
  table: Table,
  read: (row: number, cell: (name: string) => unknown) => T,
): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  const cell = rowReader(table);
  for (let row = 0; row < table.numRows; row++) {
    const id = String(cell('cell_id', row));
    const group = groups.get(id) ?? [];
    if (group.length === 0) groups.set(id, group);
    group.push(read(row, (name) => cell(name, row)));
  }
  return groups;
}

function parsed<T>(text: unknown): T {
  return JSON.parse(String(text)) as T;
}

/** The cells of the three files' bytes, in grid order. `folder` is named in errors. */
export function cellsFromTables(bytes: Record<`${Name}.arrow`, Uint8Array>, folder: string): SweepCell[] {
  const open = (name: Name) => tableFrom(name, bytes[`${name}.arrow`], `${folder}/${name}.arrow`);
  const results = open('results');
  const classes = byCell(open('classes'), (_, cell) =>
    nestedFrom<ClassResult>(CLASS_COLUMNS, ({ name }) => cell(name)),
  );
  const histogramTable = open('histograms');
  const indices = histogramTable.getChild('indices');
  const counts = histogramTable.getChild('counts');
  const histograms = byCell(histogramTable, (row, cell): StoredHistogram => {
    let read: Histogram | undefined;
    return {
      kind: String(cell('kind')) as HistogramKind,
      class: String(cell('class')),
      // Most readers look at a few: the others stay in the file's buffer.
      get histogram() {
        read ??= new Histogram(
          BigInt(String(cell('sum'))),
          Number(cell('min') ?? 0),
          Number(cell('max') ?? 0),
          Uint32Array.from(listAt(indices, row), Number),
          Float64Array.from(listAt(counts, row), Number),
        );
        return read;
      },
    };
  });
  const value = rowReader(results);
  return Array.from({ length: results.numRows }, (_, row): SweepCell => {
    const cell = (name: string) => value(name, row);
    const cell_id = String(cell('cell_id'));
    const place: CellPlace = {
      cell_id,
      index: row,
      point: Number(cell('point')),
      values: parsed(cell('values')),
      replication: Number(cell('replication')),
      seed: Number(cell('seed')),
      is_baseline: cell('is_baseline') === true,
      config: parsed(cell('config')),
      inputs: parsed(cell('inputs')),
    };
    const outcome = String(cell('outcome')) as Outcome | 'failed';
    if (outcome === 'failed') return { ...place, outcome, error: parsed(cell('error')) };
    const reason = cell('reason');
    return {
      ...place,
      outcome,
      ...(reason === null ? {} : { reason: parsed<FailureReason>(reason) }),
      metrics: nestedFrom<Metrics>(METRIC_COLUMNS, ({ name }) => cell(name)),
      classes: classes.get(cell_id) ?? [],
      histograms: histograms.get(cell_id) ?? [],
      statements: parsed(cell('statements')),
    };
  });
}
