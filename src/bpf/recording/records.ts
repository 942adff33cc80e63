// From the file that bpf/loader/recording.c writes to the columns of a recording; bpf/record.h draws a record.

import { VtimeError } from '../../errors.js';
import { emptyColumns, kindName, type RecordingColumns } from './schema.js';

const MAGIC = 'VTIMEREC';
const VERSION = 1;
const HEADER_BYTES = 64;
const RECORD_BYTES = 64;
const UNKNOWN = 0xffffffffffffffffn;

export interface LoaderRecords {
  columns: RecordingColumns;
  length: number;
  /** Records that found no room in the ring buffer. */
  dropped: number;
}

function damaged(what: string): never {
  throw new VtimeError('recording_records', `the loader's recording is damaged: ${what}`);
}

/** The records of a loader's file, in their order. */
export function loaderRecords(bytes: Uint8Array): LoaderRecords {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < HEADER_BYTES || Buffer.from(bytes.subarray(0, 8)).toString('latin1') !== MAGIC) {
    damaged('it does not begin as one');
  }
  const version = view.getUint32(8, true);
  if (version !== VERSION || view.getUint32(12, true) !== RECORD_BYTES) damaged(`it has version ${version}`);
  const stated = view.getBigUint64(16, true);
  const dropped = view.getBigUint64(24, true);
  const length = Math.floor((bytes.length - HEADER_BYTES) / RECORD_BYTES);
  if (stated !== BigInt(length)) {
    damaged(stated === UNKNOWN ? 'it was not finished' : `${length} of ${stated} records are there`);
  }
  const columns = emptyColumns(length);
  for (let i = 0, at = HEADER_BYTES; i < length; i++, at += RECORD_BYTES) {
    columns.time_ns[i] = view.getBigUint64(at, true);
    columns.pid[i] = view.getUint32(at + 8, true);
    columns.cpu[i] = view.getUint16(at + 12, true);
    columns.kind[i] = view.getUint8(at + 14);
    columns.result[i] = view.getUint8(at + 15);
    columns.flags[i] = view.getBigUint64(at + 16, true);
    columns.dsq[i] = view.getBigUint64(at + 24, true);
    columns.slice_ns[i] = view.getBigUint64(at + 32, true);
    columns.vtime[i] = view.getBigUint64(at + 40, true);
    columns.exec_ns[i] = view.getBigUint64(at + 48, true);
    columns.target[i] = view.getInt32(at + 56, true);
    columns.group[i] = view.getUint32(at + 60, true);
    if (kindName(columns.kind[i]) === undefined) damaged(`record ${i} has kind ${columns.kind[i]}`);
  }
  return { columns, length, dropped: Number(dropped) };
}
