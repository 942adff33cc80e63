// A byte scanner for CSV files with very many narrow columns (1440 minutes a row). Rows are split in place in a
// reused buffer and counts are parsed from bytes, so a day of a whole cloud streams through without a string
// per cell. Quoted fields may not contain line breaks (no known trace has any; it is an error, not a guess).

import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { basename } from 'node:path';
import { AbortedError, VtimeError } from '../errors.js';

const CHUNK_BYTES = 1 << 20;
/** A line longer than this is not a CSV line. */
const MAX_LINE_BYTES = 1 << 26;

const LINE_FEED = 10;
const RETURN = 13;
const SPACE = 32;
const TAB = 9;
const QUOTE = 34;
const COMMA = 44;
const ZERO = 48;
const NINE = 57;

/** What `count` returns for an empty or NaN cell. */
export const NO_COUNT = -1;

/** One row, valid until the scanner moves on. */
export class CsvRow {
  /** Base name of the file. */
  readonly file: string;
  /** 1-based line number. */
  line = 0;
  /** Number of fields. */
  fields = 0;
  /** Column names for error messages, once the header is known. */
  names: readonly string[] = [];
  #bytes: Buffer = Buffer.alloc(0);
  #lineStart = 0;
  #starts = new Int32Array(2048);
  #ends = new Int32Array(2048);
  #escaped = new Uint8Array(2048);

  constructor(file: string) {
    this.file = file;
  }

  /** Splits bytes [start, end) into fields; blanks around a field don't belong to it. */
  split(bytes: Buffer, start: number, end: number, line: number): void {
    this.#bytes = bytes;
    this.#lineStart = start;
    this.line = line;
    let n = 0;
    let at = start;
    for (;;) {
      if (n === this.#starts.length) this.#grow();
      while (at < end && (bytes[at] === SPACE || bytes[at] === TAB)) at++;
      if (at < end && bytes[at] === QUOTE) at = this.#quoted(n, at, end);
      else {
        const from = at;
        while (at < end && bytes[at] !== COMMA) at++;
        let to = at;
        while (to > from && (bytes[to - 1] === SPACE || bytes[to - 1] === TAB)) to--;
        this.#starts[n] = from;
        this.#ends[n] = to;
        this.#escaped[n] = 0;
      }
      n++;
      if (at >= end) break;
      at++;
    }
    this.fields = n;
  }

  /** Reads a quoted field and returns the position of the comma after it. */
  #quoted(n: number, open: number, end: number): number {
    const bytes = this.#bytes;
    this.#starts[n] = open + 1;
    this.#escaped[n] = 0;
    let at = open + 1;
    for (;;) {
      if (at >= end) {
        this.#fail(open, 'quoted field is not closed', 'a closing quote on the same line');
      }
      if (bytes[at] === QUOTE) {
        if (at + 1 >= end || bytes[at + 1] !== QUOTE) break;
        this.#escaped[n] = 1;
        at++;
      }
      at++;
    }
    this.#ends[n] = at++;
    while (at < end && (bytes[at] === SPACE || bytes[at] === TAB)) at++;
    if (at < end && bytes[at] !== COMMA) this.#fail(at, 'text after a quoted field', 'a comma');
    return at;
  }

  #fail(position: number, message: string, expected: string): never {
    const column = position - this.#lineStart + 1;
    throw new VtimeError('trace_csv', message, { file: this.file, line: this.line, column, expected });
  }

  #grow(): void {
    const size = this.#starts.length * 2;
    const wider = (old: Int32Array) => {
      const next = new Int32Array(size);
      next.set(old);
      return next;
    };
    this.#starts = wider(this.#starts);
    this.#ends = wider(this.#ends);
    const escaped = new Uint8Array(size);
    escaped.set(this.#escaped);
    this.#escaped = escaped;
  }

  /** 1-based byte position of a field in its line; one past the last field is the end of the line. */
  column(field: number): number {
    const position = field < this.fields ? this.#starts[field] : this.#ends[this.fields - 1];
    return position - this.#lineStart + 1;
  }

  /** `file:line:column` of a field. */
  place(field: number): string {
    return `${this.file}:${this.line}:${this.column(field)}`;
  }

  /** True if blanks stand around a field. */
  isPadded(field: number): boolean {
    const before = this.#starts[field] - 1;
    const after = this.#ends[field];
    const blank = (at: number) => this.#bytes[at] === SPACE || this.#bytes[at] === TAB;
    return (before >= this.#lineStart && blank(before)) || blank(after);
  }

  isEmpty(field: number): boolean {
    return this.#starts[field] === this.#ends[field];
  }

  text(field: number): string {
    const value = this.#bytes.toString('utf8', this.#starts[field], this.#ends[field]);
    return this.#escaped[field] ? value.replaceAll('""', '"') : value;
  }

  /**
   * A count: a whole number in [0, 2³²), also written as `3.0` (a table that once had empty cells). Empty and
   * NaN cells give NO_COUNT, everything else is an error that names the place.
   */
  count(field: number): number {
    const bytes = this.#bytes;
    const end = this.#ends[field];
    let value = 0;
    let at = this.#starts[field];
    if (at === end) return NO_COUNT;
    for (; at < end; at++) {
      const digit = bytes[at];
      if (digit < ZERO || digit > NINE) break;
      value = value * 10 + (digit - ZERO);
    }
    if (at < end) {
      const number = this.number(field);
      if (number === null) return NO_COUNT;
      value = number;
    }
    if (!Number.isInteger(value) || value < 0 || value > 0xffffffff) {
      throw this.error(field, 'a whole number from 0 to 4294967295');
    }
    return value;
  }

  /** A finite number; null for empty and NaN cells. */
  number(field: number): number | null {
    const value = this.text(field);
    if (value === '' || /^[+-]?nan$/i.test(value)) return null;
    if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(value)) throw this.error(field, 'a number');
    return Number(value);
  }

  /** An error about a field's value. */
  error(field: number, expected: string): VtimeError {
    const value = this.text(field);
    const name = this.names[field] ?? field + 1;
    return new VtimeError('trace_value', `column ${name} is "${value.slice(0, 60)}"`, {
      file: this.file,
      line: this.line,
      column: this.column(field),
      value,
      expected,
    });
  }

  /** An error about a row that has not as many fields as the header. */
  ragged(width: number): VtimeError {
    return new VtimeError('trace_ragged', `row has ${this.fields} fields`, {
      file: this.file,
      line: this.line,
      column: this.column(Math.min(this.fields, width)),
      value: this.fields,
      expected: `${width} fields, as in the header`,
    });
  }
}

/** What a scan saw. */
export interface ScanResult {
  sha256: string;
  bytes: number;
  blankLines: number;
  firstBlankLine: number;
}

async function openFile(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'r');
  } catch (error) {
    throw new VtimeError('trace_file', `cannot read: ${(error as NodeJS.ErrnoException).code}`, {
      file: path,
      expected: 'a readable file',
    });
  }
}

/** Refuses what is not UTF-8 text, and returns the length of a byte order mark. */
function startOfText(bytes: Buffer, file: string): number {
  const reject = (what: string, expected: string): never => {
    throw new VtimeError('trace_encoding', what, { file, expected });
  };
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) reject('file is gzip-compressed', 'the unpacked CSV file');
  if (bytes[0] === 0x50 && bytes[1] === 0x4b) reject('file is a ZIP archive', 'the unpacked CSV file');
  if ((bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)) {
    reject('file is UTF-16', 'UTF-8');
  }
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
}

/**
 * Streams a CSV file; `onRow` sees each row that is not blank, the header first. Line ends are LF or CRLF, a byte
 * order mark is skipped. With `onlyHeader` the scan stops after the first row.
 */
export async function scanCsv(
  path: string,
  onRow: (row: CsvRow) => void,
  options: { signal?: AbortSignal; onlyHeader?: boolean } = {},
): Promise<ScanResult> {
  const file = basename(path);
  const handle = await openFile(path);
  try {
    const hash = createHash('sha256');
    const row = new CsvRow(file);
    const result: ScanResult = { sha256: '', bytes: 0, blankLines: 0, firstBlankLine: 0 };
    let buffer = Buffer.allocUnsafe(CHUNK_BYTES);
    let held = 0;
    let line = 0;
    let rows = 0;

    const take = (start: number, end: number): void => {
      line++;
      const stop = end > start && buffer[end - 1] === RETURN ? end - 1 : end;
      if (stop === start) {
        if (result.blankLines++ === 0) result.firstBlankLine = line;
        return;
      }
      row.split(buffer, start, stop, line);
      rows++;
      onRow(row);
    };

    for (;;) {
      if (options.signal?.aborted) throw new AbortedError('aborted', 'trace import was aborted', { file });
      if (held === buffer.length) {
        if (buffer.length >= MAX_LINE_BYTES) {
          throw new VtimeError('trace_csv', `line is longer than ${MAX_LINE_BYTES} bytes`, {
            file,
            line: line + 1,
            expected: 'a CSV file',
          });
        }
        buffer = Buffer.concat([buffer], buffer.length * 2);
      }
      const { bytesRead } = await handle.read(buffer, held, buffer.length - held);
      hash.update(buffer.subarray(held, held + bytesRead));
      const first = result.bytes === 0;
      result.bytes += bytesRead;
      const end = held + bytesRead;
      let start = first ? startOfText(buffer.subarray(0, end), file) : 0;
      for (;;) {
        const feed = buffer.subarray(0, end).indexOf(LINE_FEED, start);
        if (feed < 0) break;
        take(start, feed);
        start = feed + 1;
        if (options.onlyHeader && rows) return result;
      }
      if (bytesRead === 0) {
        if (end > start) take(start, end);
        result.sha256 = hash.digest('hex');
        return result;
      }
      buffer.copyWithin(0, start, end);
      held = end - start;
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EISDIR') {
      throw new VtimeError('trace_file', 'is a folder', { file: path, expected: 'a CSV file' });
    }
    throw error;
  } finally {
    await handle.close();
  }
}
