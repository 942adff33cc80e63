// Rows of finished invocations: from the engine's ring to an Arrow table.

import {
  Dictionary,
  makeData,
  makeVector,
  Table,
  Uint32,
  Utf8,
  type Vector,
  vectorFromArray,
} from 'apache-arrow';
import * as abi from './abi.js';
import { STATES } from './decode.js';

export const STATE_COLUMNS = STATES.map((state) => `${state}_ns` as const);

const WIDE_COLUMNS = [
  ['arrival_ns', abi.ROW_ARRIVAL],
  ['latency_ns', abi.ROW_LATENCY],
  ['worker_duration_ns', abi.ROW_WORKER_DURATION],
  ['cpu_ns', abi.ROW_CPU],
  ['uncontended_ns', abi.ROW_DURATION],
  ['ordinal', abi.ROW_ORDINAL],
  ['number', abi.ROW_NUMBER],
  ...STATE_COLUMNS.map((name, s): [string, number] => [name, abi.ROW_STATES + 8 * s]),
] as const;

const NARROW_COLUMNS = [
  ['domain', abi.ROW_DOMAIN],
  ['container', abi.ROW_CONTAINER],
] as const;

/** Columns: arrival, latency, worker duration, CPU and uncontended time, time per state (ns), class, domain, container. */
export class RowCollector {
  readonly #classes: readonly string[];
  readonly #batches: Uint8Array[] = [];

  constructor(classes: readonly string[]) {
    this.#classes = classes;
  }

  add(rows: Uint8Array): void {
    if (rows.length > 0) this.#batches.push(rows);
  }

  /** Everything collected, in order of completion. `domain` is 4294967295 where none was assigned. */
  table(): Table {
    const total = this.#batches.reduce((sum, batch) => sum + batch.length / abi.ROW_BYTES, 0);
    const views = this.#batches.map((batch) => new DataView(batch.buffer, batch.byteOffset, batch.length));
    const u64 = (offset: number) => {
      const values = new BigUint64Array(total);
      let row = 0;
      for (const view of views) {
        for (let at = 0; at < view.byteLength; at += abi.ROW_BYTES)
          values[row++] = view.getBigUint64(at + offset, true);
      }
      return values;
    };
    const u32 = (offset: number) => {
      const values = new Uint32Array(total);
      let row = 0;
      for (const view of views) {
        for (let at = 0; at < view.byteLength; at += abi.ROW_BYTES)
          values[row++] = view.getUint32(at + offset, true);
      }
      return values;
    };
    const type = new Dictionary(new Utf8(), new Uint32());
    const dictionary = vectorFromArray([...this.#classes], new Utf8());
    const columns: Record<string, Vector> = {
      class: makeVector(
        makeData({ type, length: total, nullCount: 0, data: u32(abi.ROW_CLASS), dictionary }),
      ),
    };
    for (const [name, offset] of WIDE_COLUMNS) columns[name] = makeVector(u64(offset));
    for (const [name, offset] of NARROW_COLUMNS) columns[name] = makeVector(u32(offset));
    return new Table(columns);
  }
}
