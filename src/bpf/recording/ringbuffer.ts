// Pages of the kernel's trace ring buffer, as trace_pipe_raw gives them (Documentation/trace/ring-buffer-map.rst,
// include/linux/ring_buffer.h, events/header_page and events/header_event of tracefs):
//
//   page    u64 time ns   u64 commit (bytes of data in the low 20 bits)   data
//   event   u32: 5 bits type_len, 27 bits time since the last event, then
//           1 … 28   type_len words of payload
//           0        u32 length (with itself), payload
//           29       u32 length: padding; with time 0 the rest of the page is empty
//           30       u32: upper bits of a long time since the last event
//           31       u32: upper bits of an absolute time
//   payload begins with u16 number of the event

import { VtimeError } from '../../errors.js';

const HEADER_BYTES = 16;
const COMMIT_MASK = 0xfffff;
const DELTA_BITS = 27n;
const PADDING = 29;
const TIME_EXTEND = 30;
const TIME_STAMP = 31;

/** An event of one CPU; `at` is where its payload begins. */
export interface RawEvent {
  time_ns: bigint;
  cpu: number;
  at: number;
}

function damaged(what: string): never {
  throw new VtimeError('recording_trace', `the trace is damaged: ${what}`);
}

function pageEvents(view: DataView, start: number, bytes: number, cpu: number): RawEvent[] {
  const events: RawEvent[] = [];
  let time = view.getBigUint64(start, true);
  const end = start + HEADER_BYTES + (view.getUint32(start + 8, true) & COMMIT_MASK);
  if (end > start + bytes) damaged(`a page of CPU ${cpu} says it holds more than it does`);
  for (let at = start + HEADER_BYTES; at + 4 <= end; ) {
    const word = view.getUint32(at, true);
    const type = word & 31;
    const delta = BigInt(word >>> 5);
    at += 4;
    if (type === PADDING && delta === 0n) break;
    const extended = type === 0 || type >= PADDING ? view.getUint32(at, true) : 0;
    if (type === TIME_EXTEND) {
      time += delta + (BigInt(extended) << DELTA_BITS);
      at += 4;
    } else if (type === TIME_STAMP) {
      time = delta + (BigInt(extended) << DELTA_BITS);
      at += 4;
    } else {
      time += delta;
      if (type === PADDING) {
        at += extended;
        continue;
      }
      events.push({ time_ns: time, cpu, at: type === 0 ? at + 4 : at });
      at += type === 0 ? extended : type * 4;
    }
    if (at > end) damaged(`an event of CPU ${cpu} reaches beyond its page`);
  }
  return events;
}

/** Events of all CPUs by time, at equal times by CPU. `dump` is what bpf/vm/trace-dump.c writes. */
export function traceEvents(dump: Uint8Array): RawEvent[] {
  const view = new DataView(dump.buffer, dump.byteOffset, dump.byteLength);
  const events: RawEvent[] = [];
  for (let at = 0; at < dump.length; ) {
    if (at + 8 + HEADER_BYTES > dump.length) damaged('it ends inside a page');
    const cpu = view.getUint32(at, true);
    const bytes = view.getUint32(at + 4, true);
    if (bytes < HEADER_BYTES || at + 8 + bytes > dump.length) damaged(`a page of CPU ${cpu} is incomplete`);
    for (const event of pageEvents(view, at + 8, bytes, cpu)) events.push(event);
    at += 8 + bytes;
  }
  // Stable: events of one CPU keep their order.
  return events.sort((a, b) => (a.time_ns < b.time_ns ? -1 : a.time_ns > b.time_ns ? 1 : a.cpu - b.cpu));
}
