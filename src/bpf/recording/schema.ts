// Recordings of a scheduler in a real kernel as one Arrow table: a row for each event, in the order of the recording.
// docs/real-kernel.md says what each column holds for each kind.

import {
  Dictionary,
  makeData,
  makeVector,
  Schema,
  Table,
  Uint8,
  Utf8,
  type Vector,
  vectorFromArray,
} from 'apache-arrow';

export const RECORDING_SCHEMA = 'vtime.recording';
export const RECORDING_VERSION = '1';

/** The numbers up to 23 are those of bpf/record.h; those that only tracepoints have begin at 64. */
export const RECORD_KINDS = {
  init: 1,
  exit: 2,
  enable: 3,
  disable: 4,
  exit_task: 5,
  set_cpumask: 6,
  set_weight: 7,
  select_cpu: 8,
  runnable: 9,
  enqueue: 10,
  dequeue: 11,
  dispatch: 12,
  move: 13,
  set_slice: 14,
  running: 15,
  stopping: 16,
  tick: 17,
  quiescent: 18,
  pick_idle: 19,
  kick: 20,
  update_idle: 21,
  timer: 22,
  sample: 23,
  waking: 64,
  migrate: 65,
  fork: 66,
  task_exit: 67,
} as const;

export type RecordKind = keyof typeof RECORD_KINDS;

/** Name by number, '' where there is none. */
const KIND_NAMES = Array.from({ length: Math.max(...Object.values(RECORD_KINDS)) + 1 }, () => '');
for (const [name, number] of Object.entries(RECORD_KINDS)) KIND_NAMES[number] = name;

export function isKind(name: unknown): name is RecordKind {
  return typeof name === 'string' && Object.hasOwn(RECORD_KINDS, name);
}

/** Name of a kind's number; undefined for numbers without one. */
export function kindName(kind: number): RecordKind | undefined {
  const name = KIND_NAMES[kind];
  return isKind(name) ? name : undefined;
}

/** One array for each column, all of the same length. */
export interface RecordingColumns {
  time_ns: BigUint64Array;
  /** RECORD_KINDS */
  kind: Uint8Array;
  result: Uint8Array;
  cpu: Uint16Array;
  pid: Uint32Array;
  target: Int32Array;
  group: Uint32Array;
  flags: BigUint64Array;
  dsq: BigUint64Array;
  slice_ns: BigUint64Array;
  vtime: BigUint64Array;
  exec_ns: BigUint64Array;
}

export type ColumnName = keyof RecordingColumns;

/** Columns of zeros. */
export function emptyColumns(length: number): RecordingColumns {
  return {
    time_ns: new BigUint64Array(length),
    kind: new Uint8Array(length),
    result: new Uint8Array(length),
    cpu: new Uint16Array(length),
    pid: new Uint32Array(length),
    target: new Int32Array(length),
    group: new Uint32Array(length),
    flags: new BigUint64Array(length),
    dsq: new BigUint64Array(length),
    slice_ns: new BigUint64Array(length),
    vtime: new BigUint64Array(length),
    exec_ns: new BigUint64Array(length),
  };
}

export const COLUMN_NAMES = Object.keys(emptyColumns(0)) as ColumnName[];

/** A task of the workload. */
export interface RecordedTask {
  pid: number;
  /** pid of the task that forked it, 0 for those that exist from the start. */
  parent: number;
  /** Index into the config's tasks. */
  template: number;
  name: string;
}

/** What a recording says about itself (metadata key `recording`, as JSON). */
export interface RecordingInfo {
  /** `uname -r` of the guest. */
  kernel: string;
  /** Debian version of QEMU. */
  emulator: string;
  /** exact: the guest's clock counts instructions, and a second recording is equal; fast: it follows the host's. */
  mode: 'exact' | 'fast';
  /** Exact mode: rounds of the emulator per second at least. */
  metronome_hz?: number;
  cpus: number;
  /** Name of the sched_ext object without `.record.bpf.o`, or of the fair class: eevdf, cfs, eevdf-7.3. */
  scheduler: string;
  /** SHA-256 of the object as loaded; empty for the fair class. */
  object_sha256: string;
  /** The loader's input: read-only variables and maps. Empty for the fair class. */
  loader_input: string;
  /** Contents of /sys/kernel/debug/sched/features; empty for sched_ext. */
  features: string;
  /** The resolved config. */
  config: unknown;
  tasks: RecordedTask[];
  /** Cgroups of the workload; domain −1 is none. */
  cgroups: { path: string; domain: number }[];
  /** completed, or horizon if the run was ended there. */
  outcome: string;
  /** Earliest start of the tasks on the recording's clock, as decimal digits. */
  start_ns: string;
  duration_ns: string;
  /** Events that found no room; 0, or it would not have been kept. */
  dropped: number;
}

export interface Recording {
  info: RecordingInfo;
  columns: RecordingColumns;
  length: number;
}

/** Given, because the library would count its dictionaries up and no two files would be equal. */
const KIND_DICTIONARY = 0;

function kindVector(kinds: Uint8Array): Vector {
  const type = new Dictionary(new Utf8(), new Uint8(), KIND_DICTIONARY);
  const dictionary = vectorFromArray(KIND_NAMES, new Utf8());
  return makeVector(makeData({ type, length: kinds.length, nullCount: 0, data: kinds, dictionary }));
}

/** The recording as a table with its metadata. */
export function recordingTable({ info, columns }: Recording): Table {
  const vectors = COLUMN_NAMES.map((name): [string, Vector] => [
    name,
    name === 'kind' ? kindVector(columns.kind) : makeVector(columns[name]),
  ]);
  const table = new Table(Object.fromEntries(vectors));
  const metadata = new Map([
    ['vtime.schema', RECORDING_SCHEMA],
    ['vtime.version', RECORDING_VERSION],
    ['recording', JSON.stringify(info)],
  ]);
  return new Table(new Schema(table.schema.fields, metadata), table.batches);
}
