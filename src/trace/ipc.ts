// The structure of an Arrow IPC file, read with every offset and length checked against the file. The Arrow library
// trusts what it reads: a damaged length makes it loop or allocate without end. So files go through here first.
//
//   "ARROW1" pad   schema message   dictionary and record batch messages   end of stream
//   [ "VTIMESUM" u64 reserved, SHA-256 of all bytes but this record ]    48 B, files of vtime only
//   footer (flatbuffer)   i32 length of the footer   "ARROW1"
//
// Readers of files find everything from the footer, readers of streams stop before the record: both ignore it.

import { createHash } from 'node:crypto';
import { VtimeError } from '../errors.js';

export const MAGIC = 'ARROW1';
const SUM_MAGIC = 'VTIMESUM';
export const SUM_BYTES = 48;
const TAIL_BYTES = MAGIC.length + 4;
/** Generous for a schema of tens of columns and a provenance of thousands of inputs. */
const MAX_FOOTER_BYTES = 1 << 26;
const MAX_TABLES = 100_000;
const MAX_DEPTH = 32;

/** Where a buffer lies in the file, bytes. */
export interface BufferPlace {
  offset: number;
  length: number;
}

export interface BatchPlace {
  rows: number;
  /** Dictionary id; undefined in a record batch. */
  dictionary: number | undefined;
  compressed: boolean;
  nodes: { length: number; nulls: number }[];
  buffers: BufferPlace[];
}

/** Name and type of a column, the type as far as traces need it: Utf8, Uint64, Dictionary<Uint32, Utf8>… */
export interface ColumnType {
  name: string;
  type: string;
}

export interface IpcLayout {
  batches: BatchPlace[];
  dictionaries: BatchPlace[];
  /** Metadata of the schema. */
  metadata: Map<string, string>;
  columns: ColumnType[];
  footer: BufferPlace;
}

/** Bytes [offset, offset + length) of a file; fewer at its end. */
export type ReadBytes = (offset: number, length: number) => Uint8Array;

class Damaged extends Error {}

const fail = (what: string): never => {
  throw new Damaged(what);
};

/** A flatbuffer whose every access is checked. */
class Flat {
  readonly #view: DataView;
  readonly #bytes: Uint8Array;
  #tables = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  #check(at: number, length: number): number {
    if (at < 0 || at + length > this.#view.byteLength) fail(`offset ${at} lies outside the metadata`);
    return at;
  }

  u8(at: number): number {
    return this.#view.getUint8(this.#check(at, 1));
  }

  u16(at: number): number {
    return this.#view.getUint16(this.#check(at, 2), true);
  }

  u32(at: number): number {
    return this.#view.getUint32(this.#check(at, 4), true);
  }

  i32(at: number): number {
    return this.#view.getInt32(this.#check(at, 4), true);
  }

  /** A length or offset in the file. */
  size(at: number, what: string): number {
    const value = this.#view.getBigInt64(this.#check(at, 8), true);
    if (value < 0n || value > BigInt(Number.MAX_SAFE_INTEGER)) fail(`${what} is ${value}`);
    return Number(value);
  }

  root(): number {
    return this.table(this.u32(0));
  }

  table(at: number): number {
    if (++this.#tables > MAX_TABLES) fail('the metadata has too many parts');
    const vtable = at - this.i32(this.#check(at, 4));
    const size = this.u16(this.#check(vtable, 4));
    if (size < 4 || size % 2 !== 0) fail(`a table of fields has ${size} bytes`);
    this.#check(vtable, size);
    this.#check(at, Math.max(4, this.u16(vtable + 2)));
    return at;
  }

  /** Position of a table's field; 0 if it is absent. */
  field(table: number, index: number): number {
    const vtable = table - this.i32(table);
    if (4 + 2 * index >= this.u16(vtable)) return 0;
    const offset = this.u16(vtable + 4 + 2 * index);
    if (offset === 0) return 0;
    if (offset >= this.u16(vtable + 2)) fail('a field lies outside its table');
    return table + offset;
  }

  inner(field: number): number {
    return this.table(field + this.u32(field));
  }

  /** A vector's first element and length; none if the field is absent. */
  vector(field: number, stride: number): { at: number; length: number } {
    if (field === 0) return { at: 0, length: 0 };
    const at = field + this.u32(field);
    const length = this.u32(at);
    this.#check(at + 4, length * stride);
    return { at: at + 4, length };
  }

  text(field: number): string {
    const { at, length } = this.vector(field, 1);
    return Buffer.from(this.#bytes.subarray(at, at + length)).toString('utf8');
  }

  /** The tables of a vector of tables. */
  tables(field: number): number[] {
    const { at, length } = this.vector(field, 4);
    return Array.from({ length }, (_, i) => this.inner(at + 4 * i));
  }
}

function checkField(flat: Flat, field: number, depth: number): void {
  if (depth > MAX_DEPTH) fail('columns are nested too deeply');
  flat.text(flat.field(field, 0));
  const type = flat.field(field, 3);
  if (type === 0) fail('a column has no type');
  flat.inner(type);
  const dictionary = flat.field(field, 4);
  if (dictionary !== 0) flat.inner(dictionary);
  for (const child of flat.tables(flat.field(field, 5))) checkField(flat, child, depth + 1);
  readMetadata(flat, flat.field(field, 6));
}

function readMetadata(flat: Flat, field: number): Map<string, string> {
  return new Map(
    flat.tables(field).map((pair) => [flat.text(flat.field(pair, 0)), flat.text(flat.field(pair, 1))]),
  );
}

const TYPE_INT = 2;
const TYPE_UTF8 = 5;

function intType(flat: Flat, table: number): string {
  const bits = flat.field(table, 0);
  const signed = flat.field(table, 1);
  const isSigned = signed !== 0 && flat.u8(signed) !== 0;
  return `${isSigned ? 'Int' : 'Uint'}${bits === 0 ? 0 : flat.i32(bits)}`;
}

function columnOf(flat: Flat, field: number): ColumnType {
  const kindField = flat.field(field, 2);
  const kind = kindField === 0 ? 0 : flat.u8(kindField);
  const typeTable = flat.inner(flat.field(field, 3));
  const value = kind === TYPE_INT ? intType(flat, typeTable) : kind === TYPE_UTF8 ? 'Utf8' : `type ${kind}`;
  const dictionary = flat.field(field, 4);
  const name = flat.text(flat.field(field, 0));
  if (dictionary === 0) return { name, type: value };
  // Without an index type the format means Int32.
  const index = flat.field(flat.inner(dictionary), 1);
  const key = index === 0 ? 'Int32' : intType(flat, flat.inner(index));
  return { name, type: `Dictionary<${key}, ${value}>` };
}

const HEADER_DICTIONARY = 2;
const HEADER_RECORD_BATCH = 3;

/** The message of a block, its buffers inside the block's body. */
function readBatch(
  flat: Flat,
  block: number,
  read: ReadBytes,
  end: number,
  wanted: number,
  name: string,
): BatchPlace {
  const offset = flat.size(block, `offset of ${name}`);
  const metadataLength = flat.i32(block + 8);
  const bodyLength = flat.size(block + 16, `body of ${name}`);
  const body = offset + metadataLength;
  if (metadataLength < 8 || body + bodyLength > end) fail(`${name} reaches beyond the end of the data`);
  const bytes = read(offset, metadataLength);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const prefix = view.getUint32(0, true) === 0xffffffff ? 8 : 4;
  const message = new Flat(bytes.subarray(prefix));
  const root = message.root();
  const type = message.field(root, 1);
  const header = message.field(root, 2);
  if (type === 0 || message.u8(type) !== wanted || header === 0) fail(`${name} is another kind of message`);
  let batch = message.inner(header);
  let dictionary: number | undefined;
  if (wanted === HEADER_DICTIONARY) {
    const id = message.field(batch, 0);
    dictionary = id === 0 ? 0 : message.size(id, 'dictionary id');
    const data = message.field(batch, 1);
    if (data === 0) fail(`${name} is empty`);
    batch = message.inner(data);
  }
  const lengthField = message.field(batch, 0);
  const rows = lengthField === 0 ? 0 : message.size(lengthField, `rows of ${name}`);
  // Every column of vtime's tables has at least a byte a row.
  if (rows > bodyLength) fail(`${name} has ${rows} rows in ${bodyLength} bytes`);
  const nodes = message.vector(message.field(batch, 1), 16);
  const buffers = message.vector(message.field(batch, 2), 16);
  return {
    rows,
    dictionary,
    compressed: message.field(batch, 3) !== 0,
    nodes: Array.from({ length: nodes.length }, (_, i) => ({
      length: message.size(nodes.at + 16 * i, `length of a column of ${name}`),
      nulls: message.size(nodes.at + 16 * i + 8, `nulls of a column of ${name}`),
    })),
    buffers: Array.from({ length: buffers.length }, (_, i) => {
      const place = {
        offset: message.size(buffers.at + 16 * i, `a buffer of ${name}`),
        length: message.size(buffers.at + 16 * i + 8, `a buffer of ${name}`),
      };
      if (place.offset + place.length > bodyLength) fail(`a buffer of ${name} reaches beyond it`);
      return { offset: body + place.offset, length: place.length };
    }),
  };
}

function readLayout(read: ReadBytes, size: number): IpcLayout {
  if (size < 2 * TAIL_BYTES) fail('it is too short');
  const tail = read(size - TAIL_BYTES, TAIL_BYTES);
  if (Buffer.from(tail.subarray(4)).toString('latin1') !== MAGIC) {
    fail('it has no footer (is it truncated, or a stream?)');
  }
  const length = new DataView(tail.buffer, tail.byteOffset, 4).getInt32(0, true);
  const start = size - TAIL_BYTES - length;
  if (length < 8 || length > MAX_FOOTER_BYTES || start < 8) fail(`its footer has ${length} bytes`);
  const flat = new Flat(read(start, length));
  const root = flat.root();
  const schema = flat.field(root, 1);
  if (schema === 0) fail('it has no schema');
  const schemaTable = flat.inner(schema);
  const fields = flat.tables(flat.field(schemaTable, 1));
  for (const field of fields) checkField(flat, field, 0);
  const blocks = (index: number, kind: number, name: string) => {
    const { at, length: count } = flat.vector(flat.field(root, index), 24);
    return Array.from({ length: count }, (_, i) =>
      readBatch(flat, at + 24 * i, read, start, kind, `${name} ${i}`),
    );
  };
  return {
    dictionaries: blocks(2, HEADER_DICTIONARY, 'dictionary'),
    batches: blocks(3, HEADER_RECORD_BATCH, 'batch'),
    metadata: readMetadata(flat, flat.field(schemaTable, 2)),
    columns: fields.map((field) => columnOf(flat, field)),
    footer: { offset: start, length },
  };
}

const CHUNK_BYTES = 1 << 22;

/** SHA-256 of a file without its checksum record, and the record's own. */
function checksums(
  read: ReadBytes,
  size: number,
  { offset }: BufferPlace,
): { found: string; stated: string } | undefined {
  const at = offset - SUM_BYTES;
  if (at < 8) return undefined;
  const record = Buffer.from(read(at, SUM_BYTES));
  if (record.toString('latin1', 0, 8) !== SUM_MAGIC) return undefined;
  const hash = createHash('sha256');
  for (let from = 0; from < size; ) {
    const to = from < at ? Math.min(at, from + CHUNK_BYTES) : Math.min(size, from + CHUNK_BYTES);
    hash.update(read(from, to - from));
    from = to === at ? at + SUM_BYTES : to;
  }
  return { found: hash.digest('hex'), stated: record.toString('hex', 16) };
}

/**
 * Where the parts of an Arrow file lie. Error trace_arrow if anything points outside the file or the checksum of a file
 * that has one is wrong.
 */
export function inspectIpc(read: ReadBytes, size: number, file: string): IpcLayout {
  try {
    const layout = readLayout(read, size);
    const sums = checksums(read, size, layout.footer);
    if (sums !== undefined && sums.found !== sums.stated) {
      fail(`its checksum is ${sums.found.slice(0, 16)}… instead of ${sums.stated.slice(0, 16)}…`);
    }
    return layout;
  } catch (error) {
    if (!(error instanceof Damaged) && !(error instanceof RangeError)) throw error;
    throw new VtimeError('trace_arrow', `the Arrow file is damaged: ${error.message}`, {
      file,
      expected: 'a complete Arrow IPC file (uncompressed, as vtime writes it)',
    });
  }
}

/** Puts the checksum record into the bytes of an Arrow file. */
export function withChecksum(bytes: Uint8Array): Uint8Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const at = bytes.length - TAIL_BYTES - view.getInt32(bytes.length - TAIL_BYTES, true);
  const whole = new Uint8Array(bytes.length + SUM_BYTES);
  whole.set(bytes.subarray(0, at));
  whole.set(Buffer.from(SUM_MAGIC, 'latin1'), at);
  whole.set(createHash('sha256').update(bytes).digest(), at + 16);
  whole.set(bytes.subarray(at), at + SUM_BYTES);
  return whole;
}
