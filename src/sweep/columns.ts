// Arrow columns from plain values, and back. Built buffer by buffer, so that equal values give equal bytes.

import {
  Bool,
  type Data,
  type DataType,
  Field,
  Float64,
  List,
  makeData,
  type Table,
  Uint16,
  Uint32,
  Uint64,
  Utf8,
} from 'apache-arrow';

/** count: uint64; number: float64, null where there is none; u16s, u32s and u64s: lists. */
export type ColumnKind = 'text' | 'flag' | 'index' | 'count' | 'number' | ListKind;
type ListKind = 'u16s' | 'u32s' | 'u64s';

export type ColumnValue = string | number | boolean | null | ArrayLike<number>;

function typeOf(kind: ColumnKind): DataType {
  switch (kind) {
    case 'text':
      return new Utf8();
    case 'flag':
      return new Bool();
    case 'index':
      return new Uint32();
    case 'count':
      return new Uint64();
    case 'number':
      return new Float64();
    case 'u16s':
      return new List(new Field('item', new Uint16(), false));
    case 'u32s':
      return new List(new Field('item', new Uint32(), false));
    case 'u64s':
      return new List(new Field('item', new Uint64(), false));
  }
}

export function fieldOf(name: string, kind: ColumnKind): Field {
  return new Field(name, typeOf(kind), kind === 'text' || kind === 'count' || kind === 'number');
}

function bitmap(bits: readonly boolean[]): Uint8Array {
  // Arrow buffers are padded to 64 bits.
  const bytes = new Uint8Array(((bits.length + 63) >> 6) << 3);
  bits.forEach((bit, i) => {
    if (bit) bytes[i >> 3] |= 1 << (i & 7);
  });
  return bytes;
}

function validity(values: readonly ColumnValue[]): { nullBitmap?: Uint8Array; nullCount: number } {
  const nullCount = values.reduce<number>((n, value) => n + (value === null ? 1 : 0), 0);
  return nullCount === 0
    ? { nullCount }
    : { nullCount, nullBitmap: bitmap(values.map((value) => value !== null)) };
}

/** Running sums from 0: the offsets of elements of these lengths. */
function offsetsOf(lengths: readonly number[]): Int32Array {
  const offsets = new Int32Array(lengths.length + 1);
  lengths.forEach((length, i) => {
    offsets[i + 1] = offsets[i] + length;
  });
  return offsets;
}

function textData(values: readonly ColumnValue[]): Data {
  const parts = values.map((value) => Buffer.from(value === null ? '' : String(value)));
  return makeData({
    type: new Utf8(),
    length: values.length,
    ...validity(values),
    valueOffsets: offsetsOf(parts.map(({ length }) => length)),
    data: Uint8Array.from(Buffer.concat(parts)),
  });
}

/** The narrowest list that holds whole numbers up to `largest`. */
export function listKindFor(largest: number): 'u32s' | 'u64s' {
  return largest < 2 ** 32 ? 'u32s' : 'u64s';
}

function itemData(
  kind: ListKind,
  length: number,
  fill: (write: (at: number, value: number) => void) => void,
): Data {
  if (kind === 'u64s') {
    const data = new BigUint64Array(length);
    fill((at, value) => {
      data[at] = BigInt(value);
    });
    return makeData({ type: new Uint64(), length, nullCount: 0, data });
  }
  const data = kind === 'u16s' ? new Uint16Array(length) : new Uint32Array(length);
  fill((at, value) => {
    data[at] = value;
  });
  return data instanceof Uint16Array
    ? makeData({ type: new Uint16(), length, nullCount: 0, data })
    : makeData({ type: new Uint32(), length, nullCount: 0, data });
}

function listData(kind: ListKind, values: readonly ColumnValue[]): Data {
  const lists = values.map((value): ArrayLike<number> => (typeof value === 'object' && value ? value : []));
  const valueOffsets = offsetsOf(lists.map(({ length }) => length));
  const child = itemData(kind, valueOffsets[lists.length], (write) => {
    lists.forEach((list, i) => {
      for (let j = 0; j < list.length; j++) write(valueOffsets[i] + j, list[j]);
    });
  });
  const type = typeOf(kind) as List;
  return makeData({ type, length: lists.length, nullCount: 0, valueOffsets, child });
}

/** The data of one column. NaN counts as null. */
export function columnData(kind: ColumnKind, given: readonly ColumnValue[]): Data {
  const values = given.map((value) => (typeof value === 'number' && Number.isNaN(value) ? null : value));
  const { length } = values;
  switch (kind) {
    case 'text':
      return textData(values);
    case 'u16s':
    case 'u32s':
    case 'u64s':
      return listData(kind, values);
    case 'flag': {
      const data = bitmap(values.map((value) => value === true));
      return makeData({ type: new Bool(), length, nullCount: 0, data });
    }
    case 'index': {
      const data = Uint32Array.from(values, Number);
      return makeData({ type: new Uint32(), length, nullCount: 0, data });
    }
    case 'count': {
      const data = BigUint64Array.from(values, (value) => BigInt(Number(value)));
      return makeData({ type: new Uint64(), length, ...validity(values), data });
    }
    case 'number': {
      const data = Float64Array.from(values, Number);
      return makeData({ type: new Float64(), length, ...validity(values), data });
    }
  }
}

/** Reads cells of a table by column name; whole numbers come as numbers. */
export function rowReader(table: Table): (name: string, row: number) => unknown {
  const vectors = new Map(table.schema.fields.map(({ name }) => [name, table.getChild(name)]));
  return (name, row) => {
    const value: unknown = vectors.get(name)?.get(row);
    return typeof value === 'bigint' ? Number(value) : value;
  };
}
