// The engine's records of what each task waits for when a run has failed (assembly/kernel/waits.ts).

import * as abi from './abi.js';

/** What a task does, or what it waits for. */
export type WaitKind =
  | 'running'
  | 'dsq'
  | 'run-queue'
  | 'sleep'
  | 'receive'
  | 'barrier'
  | 'event'
  | 'block'
  | 'join'
  | 'jobs';

const KINDS: Record<number, WaitKind> = {
  [abi.WAIT_RUNNING]: 'running',
  [abi.WAIT_DSQ]: 'dsq',
  [abi.WAIT_RUN_QUEUE]: 'run-queue',
  [abi.WAIT_SLEEP]: 'sleep',
  [abi.WAIT_RECEIVE]: 'receive',
  [abi.WAIT_BARRIER]: 'barrier',
  [abi.WAIT_EVENT]: 'event',
  [abi.WAIT_BLOCK]: 'block',
  [abi.WAIT_JOIN]: 'join',
  [abi.WAIT_JOBS]: 'jobs',
};

const CLASSES = {
  [abi.CLASS_FAIR]: 'fair',
  [abi.CLASS_EXT]: 'ext',
  [abi.CLASS_REALTIME]: 'realtime',
} as const;

export type SchedulingClass = 'fair' | 'ext' | 'realtime';

export interface Wait {
  kind: WaitKind;
  /** 0: jobs that wait in a queue. */
  slot: number;
  /** Statistics class. */
  stats: number;
  class: SchedulingClass;
  cpu: number;
  /** Index of its mask. */
  mask: number;
  /** Index of DSQ, job queue, or barrier or event; NONE = in none, or the barrier of a family. */
  place: number;
  /** Children, parties that have not arrived, or jobs. */
  number: number;
  /** Slot of the task that forked it, 0 = none. */
  parent: number;
  polling: boolean;
  /** It has been there from the start; other tasks may have the slots of those that have gone. */
  member: boolean;
  since_ns: number;
}

export function readWaits(buffer: ArrayBuffer, address: number, count: number): Wait[] {
  const view = new DataView(buffer, address, count * abi.WAIT_BYTES);
  return Array.from({ length: count }, (_, i) => {
    const at = i * abi.WAIT_BYTES;
    const u32 = (field: number) => view.getUint32(at + field, true);
    return {
      kind: KINDS[view.getUint8(at + abi.WAIT_KIND)],
      slot: u32(abi.WAIT_SLOT),
      stats: u32(abi.WAIT_STATS),
      class: CLASSES[view.getUint8(at + abi.WAIT_CLASS) as keyof typeof CLASSES],
      cpu: u32(abi.WAIT_CPU),
      mask: u32(abi.WAIT_MASK),
      place: u32(abi.WAIT_PLACE),
      number: u32(abi.WAIT_NUMBER),
      parent: u32(abi.WAIT_PARENT),
      polling: view.getUint8(at + abi.WAIT_POLLING) !== 0,
      member: view.getUint8(at + abi.WAIT_MEMBER) !== 0,
      since_ns: Number(view.getBigUint64(at + abi.WAIT_SINCE, true)),
    };
  });
}
