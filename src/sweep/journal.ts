// The append-only journal of a result store. A line is
//
//   <first 16 hex digits of the SHA-256 of the JSON> <JSON of a record> \n
//
// and nothing is ever rewritten, so that a crash can only damage the tail: that is named and cut off when the journal is opened.

import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { VtimeError } from '../errors.js';
import type { JournalDamage } from '../types.js';
import type { CellRecord } from './record.js';

const CHECKSUM_DIGITS = 16;
const READ_BYTES = 1 << 20;
const NEWLINE = 10;

interface Place {
  offset: number;
  length: number;
  outcome: CellRecord['outcome'];
}

export type { JournalDamage } from '../types.js';

function checksum(json: string | Buffer): string {
  return createHash('sha256').update(json).digest('hex').slice(0, CHECKSUM_DIGITS);
}

/** The line that stores a record, newline included. */
export function journalLine(record: CellRecord): string {
  const json = JSON.stringify(record);
  return `${checksum(json)} ${json}\n`;
}

/** The record of a line made by `journalLine`. */
export function recordOf(line: string): CellRecord {
  return JSON.parse(line.slice(CHECKSUM_DIGITS + 1)) as CellRecord;
}

function parseLine(line: Buffer): CellRecord | undefined {
  const json = line.subarray(CHECKSUM_DIGITS + 1);
  if (line[CHECKSUM_DIGITS] !== 32) return undefined;
  if (line.subarray(0, CHECKSUM_DIGITS).toString('latin1') !== checksum(json)) return undefined;
  return JSON.parse(json.toString('utf8')) as CellRecord;
}

/** Lines of a file, without their newline; the last one may lack it. */
async function* linesOf(file: FileHandle): AsyncGenerator<{ line: Buffer; offset: number; ended: boolean }> {
  const chunk = Buffer.alloc(READ_BYTES);
  let parts: Buffer[] = [];
  let offset = 0;
  let position = 0;
  for (;;) {
    const { bytesRead } = await file.read(chunk, 0, READ_BYTES, position);
    if (bytesRead === 0) break;
    position += bytesRead;
    let start = 0;
    for (;;) {
      const end = chunk.subarray(0, bytesRead).indexOf(NEWLINE, start);
      if (end < 0) break;
      parts.push(Buffer.from(chunk.subarray(start, end)));
      const line = Buffer.concat(parts);
      yield { line, offset, ended: true };
      offset += line.length + 1;
      parts = [];
      start = end + 1;
    }
    parts.push(Buffer.from(chunk.subarray(start, bytesRead)));
  }
  const rest = Buffer.concat(parts);
  if (rest.length > 0) yield { line: rest, offset, ended: false };
}

export class Journal {
  readonly #file: FileHandle;
  readonly #places = new Map<string, Place>();
  /** What was found damaged on opening. */
  readonly damage: JournalDamage[] = [];
  #end = 0;

  private constructor(file: FileHandle) {
    this.#file = file;
  }

  /** Opens or creates the journal, verifies every line, and cuts off a damaged tail. */
  static async open(path: string): Promise<Journal> {
    const file = await open(path, 'a+').catch((error: NodeJS.ErrnoException) => {
      throw new VtimeError('store_unwritable', `cannot open: ${error.code}`, {
        file: path,
        expected: 'a writable folder',
      });
    });
    const journal = new Journal(file);
    try {
      await journal.#verify();
    } catch (error) {
      await file.close();
      throw error;
    }
    return journal;
  }

  async #verify(): Promise<void> {
    let number = 0;
    let bad: { line: number; offset: number } | undefined;
    let size = 0;
    for await (const { line, offset, ended } of linesOf(this.#file)) {
      number++;
      size = offset + line.length + (ended ? 1 : 0);
      const record = ended ? parseLine(line) : undefined;
      if (record === undefined) {
        bad ??= { line: number, offset };
        continue;
      }
      if (bad !== undefined) {
        this.damage.push({ line: bad.line, bytes: offset - bad.offset, cut: false });
        bad = undefined;
      }
      this.#places.set(record.cell_id, { offset, length: line.length, outcome: record.outcome });
      this.#end = size;
    }
    if (bad !== undefined) {
      await this.#file.truncate(this.#end);
      this.damage.push({ line: bad.line, bytes: size - bad.offset, cut: true });
    }
  }

  /** Outcome of a cell's latest record. */
  outcome(cell_id: string): CellRecord['outcome'] | undefined {
    return this.#places.get(cell_id)?.outcome;
  }

  /** Appends a line made by `journalLine`. Calls must not overlap. */
  async append(cell_id: string, outcome: CellRecord['outcome'], line: string): Promise<void> {
    const bytes = Buffer.from(line);
    await this.#file.appendFile(bytes);
    this.#places.set(cell_id, { offset: this.#end, length: bytes.length - 1, outcome });
    this.#end += bytes.length;
  }

  /** The latest record of a cell. */
  async read(cell_id: string): Promise<CellRecord> {
    const place = this.#places.get(cell_id);
    if (place === undefined) throw new RangeError(`no record of cell ${cell_id}`);
    const line = Buffer.alloc(place.length);
    const { bytesRead } = await this.#file.read(line, 0, place.length, place.offset);
    const record = bytesRead === place.length ? parseLine(line) : undefined;
    if (record === undefined) {
      throw new VtimeError('store_damaged', `the record of cell ${cell_id} changed while the sweep ran`);
    }
    return record;
  }

  /** Flushes to disk and closes. */
  async close(): Promise<void> {
    await this.#file.datasync();
    await this.#file.close();
  }
}
