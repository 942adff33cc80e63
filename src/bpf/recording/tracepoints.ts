// The scheduler's tracepoints as rows of a recording. Where a field of an event lies is read from the kernel's own
// description of it (events/sched/*/format), since it differs between kernels.

import { VtimeError } from '../../errors.js';
import { type RawEvent, traceEvents } from './ringbuffer.js';
import { emptyColumns, RECORD_KINDS, type RecordingColumns } from './schema.js';

/** What has to be enabled in the guest. */
export const TRACEPOINTS = [
  'sched_switch',
  'sched_wakeup',
  'sched_wakeup_new',
  'sched_waking',
  'sched_migrate_task',
  'sched_process_fork',
  'sched_process_exit',
] as const;
type Tracepoint = (typeof TRACEPOINTS)[number];

interface Format {
  name: Tracepoint;
  /** Byte offset of a field in the payload, and its size. */
  fields: Map<string, { offset: number; size: number }>;
}

/** `prev_state` of a task that stays runnable; the bit above says that it was preempted. */
const STATE_MASK = 0xffn;

function damaged(what: string): never {
  throw new VtimeError('recording_trace', `the trace is damaged: ${what}`);
}

function formatsOf(text: string): Map<number, Format> {
  const formats = new Map<number, Format>();
  for (const part of text.split(/^name: /m).slice(1)) {
    const name = TRACEPOINTS.find((known) => part.startsWith(`${known}\n`));
    const id = /^ID: (\d+)$/m.exec(part)?.[1];
    if (name === undefined || id === undefined) continue;
    const fields = new Map<string, { offset: number; size: number }>();
    for (const [, field, offset, size] of part.matchAll(
      /^\tfield:[^;]*?(\w+)(?:\[\w*\])?;\s*offset:(\d+);\s*size:(\d+);/gm,
    )) {
      fields.set(field, { offset: Number(offset), size: Number(size) });
    }
    formats.set(Number(id), { name, fields });
  }
  for (const name of TRACEPOINTS) {
    if (![...formats.values()].some((format) => format.name === name)) damaged(`no format of ${name}`);
  }
  return formats;
}

/** One row; what it leaves out is 0. */
interface Row {
  kind: keyof typeof RECORD_KINDS;
  pid?: bigint;
  target?: bigint;
  group?: bigint;
  flags?: bigint;
  result?: number;
}

type Fields = (name: string) => bigint;

function switchRows(field: Fields, cpu: number): Row[] {
  const prev = field('prev_pid');
  const next = field('next_pid');
  const state = field('prev_state');
  const idle = (result: number): Row => ({ kind: 'update_idle', target: BigInt(cpu), result });
  const runnable = (state & STATE_MASK) === 0n ? 1 : 0;
  return [
    prev === 0n ? idle(0) : { kind: 'stopping', pid: prev, flags: state, result: runnable },
    next === 0n ? idle(1) : { kind: 'running', pid: next },
  ];
}

function rowsOf(name: Tracepoint, field: Fields, cpu: number): Row[] {
  switch (name) {
    case 'sched_switch':
      return switchRows(field, cpu);
    case 'sched_wakeup':
      return [{ kind: 'runnable', pid: field('pid'), target: field('target_cpu') }];
    case 'sched_wakeup_new':
      return [{ kind: 'runnable', pid: field('pid'), target: field('target_cpu'), flags: 1n }];
    case 'sched_waking':
      return [{ kind: 'waking', pid: field('pid'), target: field('target_cpu') }];
    case 'sched_migrate_task':
      return [{ kind: 'migrate', pid: field('pid'), group: field('orig_cpu'), target: field('dest_cpu') }];
    case 'sched_process_fork':
      return [{ kind: 'fork', pid: field('child_pid'), group: field('parent_pid') }];
    case 'sched_process_exit':
      return [{ kind: 'task_exit', pid: field('pid') }];
  }
}

function fieldsOf(view: DataView, { at }: RawEvent, { name, fields }: Format): Fields {
  return (field) => {
    const place = fields.get(field);
    if (place === undefined || at + place.offset + place.size > view.byteLength)
      damaged(`${name} has no ${field}`);
    if (place.size === 8) return view.getBigUint64(at + place.offset, true);
    if (place.size === 4) return BigInt(view.getInt32(at + place.offset, true));
    damaged(`${field} of ${name} has ${place.size} bytes`);
  };
}

/**
 * Rows of a dump of the trace buffers. `formats` is the text of the events' format files, `stats` that of per_cpu/cpu*\/stats:
 * events that were overwritten are counted as dropped.
 */
export function tracepointRows(
  dump: Uint8Array,
  formats: string,
  stats: string,
): { columns: RecordingColumns; length: number; dropped: number } {
  const known = formatsOf(formats);
  const view = new DataView(dump.buffer, dump.byteOffset, dump.byteLength);
  const rows: { row: Row; event: RawEvent }[] = [];
  for (const event of traceEvents(dump)) {
    const format = known.get(view.getUint16(event.at, true));
    if (format === undefined) continue;
    for (const row of rowsOf(format.name, fieldsOf(view, event, format), event.cpu))
      rows.push({ row, event });
  }
  const columns = emptyColumns(rows.length);
  rows.forEach(({ row, event }, i) => {
    columns.time_ns[i] = event.time_ns;
    columns.cpu[i] = event.cpu;
    columns.kind[i] = RECORD_KINDS[row.kind];
    columns.result[i] = row.result ?? 0;
    columns.pid[i] = Number(row.pid ?? 0n);
    columns.target[i] = Number(row.target ?? 0n);
    columns.group[i] = Number(row.group ?? 0n);
    columns.flags[i] = row.flags ?? 0n;
  });
  const lost = [...stats.matchAll(/^(?:overrun|dropped events): (\d+)$/gm)].map(([, count]) => Number(count));
  return { columns, length: rows.length, dropped: lost.reduce((sum, count) => sum + count, 0) };
}
