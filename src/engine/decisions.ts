// Recorded decisions of the scheduler: from the engine's records to an Arrow table.

import {
  Dictionary,
  makeData,
  makeVector,
  Table,
  Uint8,
  Uint16,
  Utf8,
  type Vector,
  vectorFromArray,
} from 'apache-arrow';
import * as abi from './abi.js';
import type { EncodedModel } from './encode.js';

/** By DECISION_… number. */
const KINDS = ['', 'wake', 'run', 'stop'];

/** Columns: time_ns, kind (wake, run, stop), cpu, task (slot; used again after an exit), class, runnable. */
export class DecisionCollector {
  readonly #classes: string[];
  readonly #batches: Uint8Array[] = [];

  constructor(model: EncodedModel) {
    this.#classes = model.classes.map(({ name }) => name);
  }

  add(records: Uint8Array): void {
    if (records.length > 0) this.#batches.push(records);
  }

  table(): Table {
    const bytes = Buffer.concat(this.#batches);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const length = bytes.length / abi.DECISION_BYTES;
    const time = new BigUint64Array(length);
    const kind = new Uint8Array(length);
    const cpu = new Uint16Array(length);
    const task = new Uint32Array(length);
    const stats = new Uint16Array(length);
    const runnable = new Uint8Array(length);
    for (let i = 0, at = 0; i < length; i++, at += abi.DECISION_BYTES) {
      time[i] = view.getBigUint64(at, true);
      task[i] = view.getUint32(at + abi.DECISION_TASK, true);
      stats[i] = view.getUint32(at + abi.DECISION_CLASS, true);
      cpu[i] = view.getUint16(at + abi.DECISION_CPU, true);
      kind[i] = view.getUint8(at + abi.DECISION_KIND);
      runnable[i] = view.getUint8(at + abi.DECISION_QUEUED) & 1;
    }
    const columns: Record<string, Vector> = {
      time_ns: makeVector(time),
      kind: makeVector(
        makeData({
          type: new Dictionary(new Utf8(), new Uint8()),
          length,
          nullCount: 0,
          data: kind,
          dictionary: vectorFromArray(KINDS, new Utf8()),
        }),
      ),
      cpu: makeVector(cpu),
      task: makeVector(task),
      class: vectorFromClasses(stats, this.#classes),
      runnable: makeVector(runnable),
    };
    return new Table(columns);
  }
}

function vectorFromClasses(stats: Uint16Array, classes: readonly string[]): Vector {
  const type = new Dictionary(new Utf8(), new Uint16());
  const dictionary = vectorFromArray([...classes], new Utf8());
  return makeVector(makeData({ type, length: stats.length, nullCount: 0, data: stats, dictionary }));
}
