// Recordings of a real kernel's scheduler: from what the guest sends to an Arrow file and back.

import { gzipSync } from 'node:zlib';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { recordingFromArrow, recordingToArrow } from '../src/bpf/recording/file.js';
import { loaderRecords } from '../src/bpf/recording/records.js';
import { kindName, RECORD_KINDS, type Recording } from '../src/bpf/recording/schema.js';
import { tracepointRows } from '../src/bpf/recording/tracepoints.js';

/** A file as the loader writes it: header of 64 bytes, then one ENQUEUE and one RUNNING of 64 bytes each. */
function loaderFile(): Uint8Array {
  const view = new DataView(new ArrayBuffer(64 * 3));
  Buffer.from(view.buffer).write('VTIMEREC');
  view.setUint32(8, 1, true);
  view.setUint32(12, 64, true);
  view.setBigUint64(16, 2n, true);
  const record = (at: number, time: bigint, kind: number, vtime: bigint, target: number) => {
    view.setBigUint64(at, time, true);
    view.setUint32(at + 8, 137, true);
    view.setUint16(at + 12, 3, true);
    view.setUint8(at + 14, kind);
    view.setUint8(at + 15, 1);
    view.setBigUint64(at + 40, vtime, true);
    view.setInt32(at + 56, target, true);
    view.setUint32(at + 60, 0xffffffff, true);
  };
  record(64, 1_000n, RECORD_KINDS.enqueue, 0xffff_ffff_ffff_fff0n, -1);
  record(128, 2_000n, RECORD_KINDS.running, 5n, 2);
  return new Uint8Array(view.buffer);
}

function recordingOf(bytes: Uint8Array): Recording {
  const { columns, length, dropped } = loaderRecords(bytes);
  return {
    info: {
      kernel: '7.3.4',
      emulator: '10',
      mode: 'exact',
      cpus: 4,
      scheduler: 'domains',
      object_sha256: '',
      loader_input: '',
      features: '',
      config: {},
      tasks: [{ pid: 137, parent: 0, template: 0, name: 'hog' }],
      cgroups: [],
      outcome: 'completed',
      start_ns: '900',
      duration_ns: '1000',
      dropped,
    },
    columns,
    length,
  };
}

test("the loader's records keep every bit, times and vtimes as 64 bits", () => {
  const { columns, length, dropped } = loaderRecords(loaderFile());
  assert.is(length, 2);
  assert.is(dropped, 0);
  assert.equal([...columns.time_ns], [1_000n, 2_000n]);
  assert.equal([...columns.kind].map(kindName), ['enqueue', 'running']);
  assert.equal([...columns.vtime], [0xffff_ffff_ffff_fff0n, 5n]);
  assert.equal([...columns.target], [-1, 2]);
  assert.equal([...columns.group], [0xffffffff, 0xffffffff]);
  assert.equal([...columns.cpu], [3, 3]);
});

test('what is no whole file of the loader is refused', () => {
  const file = loaderFile();
  assert.throws(() => loaderRecords(file.subarray(0, 40)), /does not begin/);
  assert.throws(() => loaderRecords(file.subarray(0, 128)), /1 of 2 records/);
  const unknown = file.slice();
  unknown[64 + 14] = 50;
  assert.throws(() => loaderRecords(unknown), /record 0 has kind 50/);
  const unfinished = file.slice().fill(0xff, 16, 24);
  assert.throws(() => loaderRecords(unfinished), /not finished/);
});

test('a recording comes back from its Arrow file, plain and gzipped; equal ones are equal bytes', () => {
  const recording = recordingOf(loaderFile());
  const plain = recordingToArrow(recording);
  assert.ok(Buffer.from(plain).equals(recordingToArrow(recordingOf(loaderFile()))));
  for (const bytes of [plain, recordingToArrow(recording, true)]) {
    const back = recordingFromArrow(bytes, 'x.arrow');
    assert.equal(back.info, recording.info);
    assert.equal(back.columns, recording.columns);
    assert.is(back.length, 2);
  }
});

test('damaged files and other tables are refused by name', () => {
  const bytes = recordingToArrow(recordingOf(loaderFile()));
  const flipped = bytes.slice();
  flipped[200] ^= 1;
  for (const wrong of [flipped, bytes.subarray(0, 300), gzipSync(bytes).subarray(0, 200), new Uint8Array()]) {
    assert.throws(() => recordingFromArrow(wrong, 'x.arrow'), /x\.arrow/);
  }
});

const FORMAT_TEXT = [
  'name: sched_switch\nID: 310\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;',
  '\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;',
  '\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n',
  ...['wakeup', 'wakeup_new', 'waking', 'migrate_task', 'process_fork', 'process_exit'].map(
    (name, i) =>
      `name: sched_${name}\nID: ${311 + i}\nformat:\n\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n`,
  ),
].join('\n');

/** One page of CPU `cpu` that begins at `time`, with events as [delta, payload]. */
function page(cpu: number, time: bigint, events: [delta: number, payload: Buffer][]): Buffer {
  const parts = events.map(([delta, payload]) => {
    const head = Buffer.alloc(4);
    head.writeUInt32LE(((delta << 5) | (payload.length / 4)) >>> 0);
    return Buffer.concat([head, payload]);
  });
  const data = Buffer.concat(parts);
  const bytes = Buffer.alloc(8 + 4096);
  bytes.writeUInt32LE(cpu, 0);
  bytes.writeUInt32LE(4096, 4);
  bytes.writeBigUInt64LE(time, 8);
  bytes.writeBigUInt64LE(BigInt(data.length), 16);
  data.copy(bytes, 24);
  return bytes;
}

function switchTo(prev: number, state: bigint, next: number): Buffer {
  const payload = Buffer.alloc(64);
  payload.writeUInt16LE(310, 0);
  payload.writeInt32LE(prev, 24);
  payload.writeBigInt64LE(state, 32);
  payload.writeInt32LE(next, 56);
  return payload;
}

test('pages of the trace buffers become rows by time; a switch ends one stint and begins another', () => {
  // CPU 0: at 1000 + 0 idle → 7, at 1000 + 500 task 7 sleeps (state 1) and the CPU idles.
  // CPU 1: at 1200 task 8 is preempted (0x100: still runnable) by 9.
  const dump = Buffer.concat([
    page(0, 1_000n, [
      [0, switchTo(0, 0n, 7)],
      [500, switchTo(7, 1n, 0)],
    ]),
    page(1, 1_200n, [[0, switchTo(8, 0x100n, 9)]]),
  ]);
  const { columns, length, dropped } = tracepointRows(dump, FORMAT_TEXT, 'overrun: 0\ndropped events: 0\n');
  assert.is(dropped, 0);
  const rows = Array.from({ length }, (_, i) => [
    Number(columns.time_ns[i]),
    columns.cpu[i],
    kindName(columns.kind[i]),
    columns.pid[i],
    columns.result[i],
  ]);
  assert.equal(rows, [
    [1000, 0, 'update_idle', 0, 0],
    [1000, 0, 'running', 7, 0],
    [1200, 1, 'stopping', 8, 1],
    [1200, 1, 'running', 9, 0],
    [1500, 0, 'stopping', 7, 0],
    [1500, 0, 'update_idle', 0, 1],
  ]);
});

test('long times are extended: upper bits of a time word count 2^27 ns', () => {
  // A time extend (type 30) of 3 · 2^27 + 5, then a switch 10 later.
  const extend = Buffer.alloc(8);
  extend.writeUInt32LE((5 << 5) | 30, 0);
  extend.writeUInt32LE(3, 4);
  const bytes = page(0, 1_000n, []);
  const head = Buffer.alloc(4);
  head.writeUInt32LE((10 << 5) | 16);
  const data = Buffer.concat([extend, head, switchTo(1, 0n, 2)]);
  bytes.writeBigUInt64LE(BigInt(data.length), 16);
  data.copy(bytes, 24);
  const { columns } = tracepointRows(bytes, FORMAT_TEXT, '');
  // 1000 + 3 · 134217728 + 5 + 10
  assert.is(columns.time_ns[0], 402_654_199n);
});

test('overwritten events count as dropped; incomplete pages are refused', () => {
  const dump = page(0, 1_000n, [[0, switchTo(0, 0n, 7)]]);
  assert.is(tracepointRows(dump, FORMAT_TEXT, 'overrun: 3\ndropped events: 0\noverrun: 4\n').dropped, 7);
  assert.throws(() => tracepointRows(dump.subarray(0, 100), FORMAT_TEXT, ''), /incomplete/);
  assert.throws(() => tracepointRows(dump, '', ''), /no format of sched_switch/);
});

test.run();
