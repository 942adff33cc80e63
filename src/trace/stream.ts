// Tables of invocations that stay on disk: what is kept in memory is where their columns lie. Reading is synchronous, in
// windows of rows, since the engine asks for the next window in the middle of a run.

import { closeSync, openSync, readSync } from 'node:fs';
import { VtimeError } from '../errors.js';
import { functionRow, INTERVAL_NS, MAX_INTERVALS } from './invocations.js';
import type { BatchPlace, IpcLayout, ReadBytes } from './ipc.js';
import { makeTrace, type Provenance, type Trace } from './schema.js';

/** Rows read at a time. */
const CHUNK_ROWS = 1 << 16;

/** Where the rows of a batch lie in the file, byte offsets. */
export interface ColumnPlaces {
  rows: number;
  function_index: number;
  start_ns: number;
  duration_ns: number;
  /** Validity bits of duration_ns, LSB first; undefined = all valid. */
  valid: number | undefined;
}

/** A selection of the invocations of a file. Plain data: it can be posted to a worker. */
export interface InvocationStream {
  /** Path of the Arrow file. */
  path: string;
  bytes: number;
  batches: ColumnPlaces[];
  /** Functions of the selection; the table's order. */
  function_ids: string[];
  /** Index into function_ids of each function of the file, -1 if it isn't selected. */
  selected: number[];
  /** Starts in [from_ns, to_ns) are selected, and count from from_ns. */
  from_ns: number;
  to_ns: number;
  /** Selected rows. */
  rows: number;
}

/** A piece of a stream, flat columns of which the first `length` rows are valid. */
export interface StreamChunk {
  length: number;
  function_index: Uint32Array;
  start_ns: BigUint64Array;
  duration_ns: BigUint64Array;
  /** 0 where the duration is unknown. */
  known: Uint8Array;
}

function readExactly(handle: number, path: string, at: number, into: Uint8Array): void {
  for (let done = 0; done < into.length; ) {
    const n = readSync(handle, into, done, into.length - done, at + done);
    if (n === 0) {
      throw new VtimeError('trace_arrow', 'the Arrow file became shorter while it was read', {
        file: path,
        expected: 'a file that does not change',
      });
    }
    done += n;
  }
}

/** All rows of the file of a stream, in file order, whatever is selected. */
export function* chunksOf(path: string, batches: readonly ColumnPlaces[]): Generator<StreamChunk> {
  const handle = openSync(path, 'r');
  try {
    const chunk: StreamChunk = {
      length: 0,
      function_index: new Uint32Array(CHUNK_ROWS),
      start_ns: new BigUint64Array(CHUNK_ROWS),
      duration_ns: new BigUint64Array(CHUNK_ROWS),
      known: new Uint8Array(CHUNK_ROWS),
    };
    const bits = new Uint8Array(CHUNK_ROWS / 8);
    const bytesOf = (column: Uint32Array | BigUint64Array, rows: number) =>
      new Uint8Array(column.buffer, 0, rows * column.BYTES_PER_ELEMENT);
    for (const places of batches) {
      for (let row = 0; row < places.rows; row += CHUNK_ROWS) {
        const length = Math.min(CHUNK_ROWS, places.rows - row);
        readExactly(handle, path, places.function_index + 4 * row, bytesOf(chunk.function_index, length));
        readExactly(handle, path, places.start_ns + 8 * row, bytesOf(chunk.start_ns, length));
        readExactly(handle, path, places.duration_ns + 8 * row, bytesOf(chunk.duration_ns, length));
        if (places.valid === undefined) chunk.known.fill(1);
        else {
          readExactly(handle, path, places.valid + row / 8, bits.subarray(0, Math.ceil(length / 8)));
          for (let i = 0; i < length; i++) chunk.known[i] = (bits[i >> 3] >> (i & 7)) & 1;
        }
        chunk.length = length;
        yield chunk;
      }
    }
  } finally {
    closeSync(handle);
  }
}

function damaged(file: string, what: string): VtimeError {
  return new VtimeError('trace_arrow', `the Arrow file is damaged: ${what}`, {
    file,
    expected: 'a table of invocations written by vtime',
  });
}

/** Columns of a batch: function_id (dictionary), start_ns, duration_ns, each with a validity and a data buffer. */
function columnsIn({ rows, nodes, buffers }: BatchPlace, file: string): ColumnPlaces {
  const [, index, , start, valid, duration] = buffers;
  if (nodes.length !== 3 || buffers.length !== 6)
    throw damaged(file, 'a batch has other columns than its schema');
  const nulls = nodes[2].nulls;
  const complete =
    nodes.every(({ length }) => length === rows) &&
    nodes[0].nulls === 0 &&
    nodes[1].nulls === 0 &&
    index.length >= 4 * rows &&
    start.length >= 8 * rows &&
    duration.length >= 8 * rows &&
    (nulls === 0 || valid.length >= Math.ceil(rows / 8));
  if (!complete) throw damaged(file, 'a column is shorter than its batch');
  return {
    rows,
    function_index: index.offset,
    start_ns: start.offset,
    duration_ns: duration.offset,
    valid: nulls === 0 ? undefined : valid.offset,
  };
}

/** Texts of the dictionary of function ids; later batches of it add to it. */
function dictionaryOf(batches: readonly BatchPlace[], read: ReadBytes, file: string): string[] {
  return batches.flatMap(({ rows, buffers }) => {
    if (buffers.length !== 3 || buffers[1].length < 4 * (rows + 1))
      throw damaged(file, 'its dictionary is incomplete');
    const offsets = read(buffers[1].offset, 4 * (rows + 1));
    const view = new DataView(offsets.buffer, offsets.byteOffset, offsets.byteLength);
    const data = Buffer.from(read(buffers[2].offset, buffers[2].length));
    return Array.from({ length: rows }, (_, i) => {
      const from = view.getUint32(4 * i, true);
      const to = view.getUint32(4 * i + 4, true);
      if (from > to || to > data.length) throw damaged(file, 'its dictionary is incomplete');
      return data.toString('utf8', from, to);
    });
  });
}

/** A reader of pieces of a file. */
export function fileReader(handle: number): ReadBytes {
  return (offset, length) => {
    const bytes = new Uint8Array(length);
    let done = 0;
    while (done < length) {
      const n = readSync(handle, bytes, done, length - done, offset + done);
      if (n === 0) break;
      done += n;
    }
    return bytes.subarray(0, done);
  };
}

const COLUMNS = [
  { name: 'function_id', type: 'Dictionary<Uint32, Utf8>' },
  { name: 'start_ns', type: 'Uint64' },
  { name: 'duration_ns', type: 'Uint64' },
] as const;

/** The whole of a table of invocations, given the layout of its file. */
export function streamOf(
  layout: IpcLayout,
  read: ReadBytes,
  path: string,
  bytes: number,
  file: string,
): InvocationStream {
  COLUMNS.forEach(({ name, type }, i) => {
    const found = layout.columns[i];
    if (found?.name !== name || found.type !== type) {
      throw new VtimeError(
        'trace_arrow',
        `column ${i + 1} is ${found?.name ?? 'missing'} of ${found?.type ?? 'no type'}`,
        {
          file,
          expected: `a column ${name} of type ${type}`,
        },
      );
    }
  });
  const batches = layout.batches.map((batch) => columnsIn(batch, file));
  const function_ids = dictionaryOf(layout.dictionaries, read, file);
  return {
    path,
    bytes,
    batches,
    function_ids,
    selected: function_ids.map((_, i) => i),
    from_ns: 0,
    to_ns: Number.MAX_SAFE_INTEGER,
    rows: batches.reduce((sum, { rows }) => sum + rows, 0),
  };
}

/**
 * A trace whose invocations stay in their file. Its functions table is the same as that of a trace in memory: exact
 * statistics, for which the durations (8 bytes a row) are in memory until they are sorted. Rows must be in time order.
 */
export function traceFromStream(stream: InvocationStream, provenance: Provenance, file: string): Trace {
  const functions = stream.function_ids.length;
  const known = new Float64Array(functions);
  let last = 0n;
  let row = 0;
  for (const chunk of chunksOf(stream.path, stream.batches)) {
    for (let i = 0; i < chunk.length; i++, row++) {
      const start = chunk.start_ns[i];
      if (chunk.function_index[i] >= functions)
        throw damaged(file, `row ${row} has function ${chunk.function_index[i]}`);
      if (start < last) {
        throw new VtimeError('trace_unsorted', `row ${row} starts before the row above it`, {
          file,
          expected: 'rows in time order in a file of this size; `vtime trace import` sorts them',
        });
      }
      last = start;
      known[chunk.function_index[i]] += chunk.known[i];
    }
  }
  if (row === 0)
    throw new VtimeError('trace_empty', 'no invocations', { file, expected: 'at least one row' });
  if (last / INTERVAL_NS >= MAX_INTERVALS) {
    throw new VtimeError('trace_shape', `an invocation starts ${last} ns after the beginning`, {
      file,
      expected: 'start_ns relative to the beginning of the trace, within two years',
    });
  }
  const intervals = Number(last / INTERVAL_NS) + 1;
  const interval_ns = Number(INTERVAL_NS);
  const counts = new Uint32Array(functions * intervals);
  const durations = Array.from(known, (n) => new Float64Array(n));
  const filled = new Uint32Array(functions);
  for (const chunk of chunksOf(stream.path, stream.batches)) {
    for (let i = 0; i < chunk.length; i++) {
      const f = chunk.function_index[i];
      counts[f * intervals + Math.floor(Number(chunk.start_ns[i]) / interval_ns)]++;
      if (chunk.known[i] === 1) durations[f][filled[f]++] = Number(chunk.duration_ns[i]) / 1e6;
    }
  }
  const rows = stream.function_ids.map((id, f) => functionRow(id, durations[f].sort()));
  const trace = makeTrace(rows, counts, { interval_ns, first_minute: 1, intervals }, provenance);
  return { ...trace, stream };
}

/** The part of a stream with some functions (indices of function_ids) and a window of time, ns of the stream. */
export function narrowStream(
  stream: InvocationStream,
  chosen: readonly number[],
  from_ns: number,
  to_ns: number,
  rows: number,
): InvocationStream {
  const position = new Map(chosen.map((index, i) => [index, i]));
  return {
    ...stream,
    function_ids: chosen.map((index) => stream.function_ids[index]),
    selected: stream.selected.map((index) => position.get(index) ?? -1),
    from_ns: stream.from_ns + from_ns,
    to_ns: stream.from_ns + to_ns,
    rows,
  };
}

/** The selected rows, starts counted from from_ns. Numbers are exact for 104 days, and rounded as elsewhere beyond. */
export function* selectedRows({ path, batches, selected, from_ns, to_ns }: InvocationStream): Generator<{
  function_index: number;
  start_ns: number;
  duration_ns: bigint;
  known: boolean;
}> {
  for (const { length, function_index, start_ns, duration_ns, known } of chunksOf(path, batches)) {
    for (let i = 0; i < length; i++) {
      const start = Number(start_ns[i]);
      if (start >= to_ns) return;
      const index = selected[function_index[i]];
      if (start < from_ns || index < 0) continue;
      yield {
        function_index: index,
        start_ns: start - from_ns,
        duration_ns: duration_ns[i],
        known: known[i] === 1,
      };
    }
  }
}
