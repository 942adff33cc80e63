// CSV tables whose columns are found by name, in any order: what the readers of the smaller formats share.

import { basename } from 'node:path';
import { nearestName, VtimeError } from '../errors.js';
import { type CsvRow, scanCsv } from './csv.js';
import type { RuleCounter } from './rules.js';
import type { InputFile } from './schema.js';

export interface NamedTable {
  kind: InputFile['kind'];
  required: readonly string[];
  optional?: readonly string[];
}

/** A row by column names. Cells that must hold something are errors with their place if they don't. */
export class NamedRow {
  readonly row: CsvRow;
  readonly #fields: ReadonlyMap<string, number>;

  constructor(row: CsvRow, fields: ReadonlyMap<string, number>) {
    this.row = row;
    this.#fields = fields;
  }

  has(name: string): boolean {
    return this.#fields.has(name);
  }

  place(name?: string): string {
    return name === undefined ? `${this.row.file}:${this.row.line}` : this.row.place(this.#fields.get(name)!);
  }

  /** '' where the table has no such column. */
  text(name: string): string {
    const field = this.#fields.get(name);
    return field === undefined ? '' : this.row.text(field);
  }

  key(name: string): string {
    const field = this.#fields.get(name)!;
    if (this.row.isEmpty(field)) throw this.row.error(field, 'a key that is not empty');
    return this.row.text(field);
  }

  /** null for an empty or NaN cell. */
  optionalNumber(name: string): number | null {
    const field = this.#fields.get(name);
    return field === undefined ? null : this.row.number(field);
  }

  number(name: string): number {
    const value = this.optionalNumber(name);
    if (value === null || !Number.isFinite(value)) throw this.error(name, 'a number');
    return value;
  }

  /** A number of at least 0. */
  amount(name: string): number {
    const value = this.number(name);
    if (value < 0) throw this.error(name, 'a number of at least 0');
    return value;
  }

  error(name: string, expected: string): VtimeError {
    return this.row.error(this.#fields.get(name)!, expected);
  }
}

/** Fields of the columns of a header; a missing one is an error, unknown ones are counted. */
function fieldsOf(row: CsvRow, table: NamedTable, rules: RuleCounter): Map<string, number> {
  const names = Array.from({ length: row.fields }, (_, i) => row.text(i));
  const known = new Set([...table.required, ...(table.optional ?? [])]);
  const fields = new Map<string, number>();
  const unknown: string[] = [];
  names.forEach((name, i) => {
    if (row.isPadded(i)) rules.add('header.padded-name', () => row.place(i));
    if (!known.has(name)) {
      unknown.push(name);
      rules.add('header.extra-column', () => row.place(i));
    } else if (fields.has(name)) throw row.error(i, `the name ${name} only once`);
    else fields.set(name, i);
  });
  for (const name of table.required) {
    if (fields.has(name)) continue;
    const near = nearestName(name, unknown);
    throw new VtimeError('trace_header', `column ${name} is missing from the ${table.kind} table`, {
      file: row.file,
      line: row.line,
      column: near === undefined ? 1 : row.column(names.indexOf(near)),
      ...(near === undefined ? {} : { value: near }),
      expected: near === undefined ? table.required.join(', ') : `${name} instead of "${near}"`,
    });
  }
  row.names = names;
  return fields;
}

/** Scans one table; `onRow` returns whether the row was used. */
export async function scanNamedTable(
  path: string,
  table: NamedTable,
  rules: RuleCounter,
  signal: AbortSignal | undefined,
  onRow: (row: NamedRow) => boolean,
): Promise<InputFile> {
  const input: InputFile = {
    file: basename(path),
    kind: table.kind,
    sha256: '',
    bytes: 0,
    rows_read: 0,
    rows_kept: 0,
    rows_dropped: 0,
  };
  let named: NamedRow | undefined;
  let width = 0;
  const visit = (row: CsvRow) => {
    if (named === undefined) {
      named = new NamedRow(row, fieldsOf(row, table, rules));
      width = row.fields;
      return;
    }
    if (row.fields !== width) {
      throw row.ragged(width);
    }
    input.rows_read++;
    if (onRow(named)) input.rows_kept++;
    else input.rows_dropped++;
  };
  const scan = await scanCsv(path, visit, signal === undefined ? {} : { signal });
  if (scan.blankLines)
    rules.add('lines.blank', () => `${input.file}:${scan.firstBlankLine}`, scan.blankLines);
  if (input.rows_read === 0) {
    throw new VtimeError('trace_empty', `no ${table.kind}`, {
      file: path,
      expected: 'at least one row below the header',
    });
  }
  return { ...input, sha256: scan.sha256, bytes: scan.bytes };
}
