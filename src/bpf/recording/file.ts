// Recordings as Arrow IPC files, plain (`.arrow`) or gzipped (`.arrow.gz`).

import { readFileSync } from 'node:fs';
import { gunzipSync, gzipSync } from 'node:zlib';
import { type Table, tableFromIPC, tableToIPC } from 'apache-arrow';
import { VtimeError } from '../../errors.js';
import { inspectIpc, withChecksum } from '../../trace/ipc.js';
import {
  COLUMN_NAMES,
  type ColumnName,
  emptyColumns,
  isKind,
  RECORD_KINDS,
  RECORDING_SCHEMA,
  RECORDING_VERSION,
  type Recording,
  type RecordingColumns,
  type RecordingInfo,
  recordingTable,
} from './schema.js';

/** Beyond this a gzipped file is no recording. */
const MAX_BYTES = 1 << 30;

/** An Arrow IPC file, gzipped if asked for. Equal recordings give equal bytes. */
export function recordingToArrow(recording: Recording, gzip = false): Uint8Array {
  const bytes = withChecksum(tableToIPC(recordingTable(recording), 'file'));
  return gzip ? gzipSync(bytes, { level: 9 }) : bytes;
}

function wrong(what: string, file: string): never {
  throw new VtimeError('recording_file', what, {
    file,
    expected: `an Arrow file that \`vtime kernel record\` wrote (${RECORDING_SCHEMA} ${RECORDING_VERSION})`,
  });
}

function unpacked(bytes: Uint8Array, file: string): Uint8Array {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
  try {
    return gunzipSync(bytes, { maxOutputLength: MAX_BYTES });
  } catch (error) {
    wrong(`cannot unpack: ${error instanceof Error ? error.message : String(error)}`, file);
  }
}

function copyColumn(table: Table, name: ColumnName, into: RecordingColumns, file: string): void {
  const column = table.getChild(name);
  if (column === null || column.nullCount > 0) wrong(`column ${name} is missing or has nulls`, file);
  let at = 0;
  for (const { values, length } of column.data) {
    if (values.constructor !== into[name].constructor) wrong(`column ${name} has another type`, file);
    into[name].set(values.subarray(0, length), at);
    at += length;
  }
}

/** Indices of the file's own dictionary become RECORD_KINDS. */
function translateKinds(table: Table, kinds: Uint8Array, file: string): void {
  const names = table.getChild('kind')?.data[0]?.dictionary;
  for (let i = 0; i < kinds.length; i++) {
    const name: unknown = names?.get(kinds[i]);
    if (!isKind(name)) wrong(`row ${i} is of no known kind`, file);
    kinds[i] = RECORD_KINDS[name];
  }
}

/** The recording of a file's bytes, gzipped or not. `file` is for messages. */
export function recordingFromArrow(given: Uint8Array, file: string): Recording {
  const bytes = unpacked(given, file);
  const read = (offset: number, length: number) => bytes.subarray(offset, offset + length);
  const { metadata } = inspectIpc(read, bytes.length, file);
  if (metadata.get('vtime.schema') !== RECORDING_SCHEMA) wrong('not a recording', file);
  const version = metadata.get('vtime.version');
  if (version !== RECORDING_VERSION) wrong(`a recording of version ${version}`, file);
  const table = tableFromIPC(bytes);
  const columns = emptyColumns(table.numRows);
  for (const name of COLUMN_NAMES) copyColumn(table, name, columns, file);
  translateKinds(table, columns.kind, file);
  try {
    const info = JSON.parse(metadata.get('recording') ?? '') as RecordingInfo;
    return { info, columns, length: table.numRows };
  } catch {
    wrong('its description is missing or damaged', file);
  }
}

/** Reads a recording. */
export function readRecording(file: string): Recording {
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(file);
  } catch (error) {
    throw new VtimeError('recording_file', `cannot read: ${(error as NodeJS.ErrnoException).code}`, { file });
  }
  return recordingFromArrow(bytes, file);
}
