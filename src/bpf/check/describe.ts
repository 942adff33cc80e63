// Records of compared runs in words.

import * as abi from '../../engine/abi.js';
import { dsqName } from '../../engine/chain.js';
import { opName } from '../runtime/violation.js';

/** Milliseconds with nanoseconds behind the point. */
const timeText = (ns: bigint): string => `${(Number(ns) / 1e6).toFixed(6).padStart(14)} ms`;

/** KICK_… of assembly/kernel/ext.ts. */
const KICKS: [number, string][] = [
  [1, 'IDLE'],
  [2, 'PREEMPT'],
];

/** The record at byte `offset`; `className` names the group of the task in a slot. */
export function describeRecord(
  view: DataView,
  offset: number,
  className: (slot: number) => string | undefined,
): string {
  const kind = view.getUint8(offset + abi.DECISION_KIND);
  if (kind === abi.DECISION_KEYS) {
    const slice = view.getBigUint64(offset, true);
    const vtime = view.getBigUint64(offset + abi.DECISION_VTIME, true);
    return `${' '.repeat(17)}          slice ${slice} ns, vtime ${vtime}`;
  }
  const slot = view.getUint32(offset + abi.DECISION_TASK, true);
  const value = view.getUint32(offset + abi.DECISION_VALUE, true);
  const cpu = view.getUint16(offset + abi.DECISION_CPU, true);
  const runnable = (view.getUint8(offset + abi.DECISION_QUEUED) & 1) !== 0;
  const name = className(slot);
  const task = slot === 0 ? '' : name === undefined ? `task ${slot}` : `${name} (task ${slot})`;
  const place = `${timeText(view.getBigUint64(offset, true))}  CPU ${`${cpu}`.padEnd(3)}`;
  switch (kind) {
    case abi.DECISION_WAKE:
      return `${place} ${task} wakes up`;
    case abi.DECISION_RUN:
      return `${place} ${task} begins to run`;
    case abi.DECISION_STOP:
      return `${place} ${task} stops, ${runnable ? 'runnable' : 'not runnable'}`;
    case abi.DECISION_CALLBACK:
      return `${place} ${opName(value)}(${task})`;
    case abi.DECISION_SELECTED:
      return `${place}   names CPU ${value} for ${task}`;
    case abi.DECISION_DSQ:
      return `${place}   puts ${task} into ${dsqName(value)}`;
    case abi.DECISION_KICK: {
      const flags = KICKS.filter(([flag]) => (value & flag) !== 0).map(([, flag]) => flag);
      return `${place}   is kicked${flags.length === 0 ? '' : ` (${flags.join(', ')})`}`;
    }
    case abi.DECISION_IDLE:
      return `${place}   is taken from the idle CPUs`;
    default:
      return `${place} decision ${kind} of ${task}: ${value}`;
  }
}
