// The engine's record of decisions, as the host reads it (assembly/kernel/decisions.ts).

import * as abi from './abi.js';

export interface Decision {
  time: number;
  task: number;
  /** Statistics class, or the value of a detail. */
  value: number;
  cpu: number;
  kind: number;
  runnable: boolean;
  class: number;
}

/** Records of a batch, in order. */
export function* decisionsOf(bytes: Uint8Array): Generator<Decision> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let at = 0; at < bytes.length; at += abi.DECISION_BYTES) {
    const flags = view.getUint8(at + abi.DECISION_QUEUED);
    yield {
      time: Number(view.getBigUint64(at, true)),
      task: view.getUint32(at + abi.DECISION_TASK, true),
      value: view.getUint32(at + abi.DECISION_VALUE, true),
      cpu: view.getUint16(at + abi.DECISION_CPU, true),
      kind: view.getUint8(at + abi.DECISION_KIND),
      runnable: (flags & 1) !== 0,
      class: flags >> 1,
    };
  }
}
