// What can be said of a recording's order. Records carry the order of their reservation, decisions are made a little
// before or after; three overlaps are real concurrency, not error:
//
//   insertion   an enqueue is recorded before the task is in its DSQ: the kernel inserts it after ops.enqueue() has returned
//               (direct_dispatch()). It has, at the latest, when the same CPU writes a record that is not that callback's
//   removal     a move of a remote task unlinks it, then waits for the lock of the task's run queue. It happened somewhere
//               between the CPU's last record before and the record of its dequeue
//   switch      while BPF code runs, migration of the current task is disabled: other CPUs skip a task whose CPU has put
//               it back but is still inside that switch

import { RECORD_KINDS as KIND, type RecordingColumns } from '../recording/schema.js';

export type Overlap = 'insertion' | 'removal' | 'switch';

/** A task's stay in a DSQ, as record indices. */
export interface Stay {
  pid: number;
  /** The enqueue, the CPU that did it, and when it is done for sure. */
  enqueue: number;
  cpu: number;
  inserted: number;
  /** When the switch that put the task back is over; 0 if it came by a wake-up. */
  switched: number;
  /** From when the task may be gone, and when it is for sure; Infinity if it never left. */
  leaving: number;
  left: number;
}

export class Order {
  /** Index of the same CPU's next and previous record; the length and -1 if there is none. */
  readonly next: Int32Array;
  readonly previous: Int32Array;
  /** By the index of an enqueue. */
  readonly stays = new Map<number, Stay>();

  constructor(records: RecordingColumns) {
    const { cpu } = records;
    const { length } = cpu;
    this.next = new Int32Array(length).fill(length);
    this.previous = new Int32Array(length).fill(-1);
    const last = new Map<number, number>();
    for (let i = 0; i < length; i++) {
      const before = last.get(cpu[i]);
      if (before !== undefined) {
        this.next[before] = i;
        this.previous[i] = before;
      }
      last.set(cpu[i], i);
    }
    this.#findStays(records);
  }

  #findStays(records: RecordingColumns): void {
    const { kind, pid, cpu } = records;
    const open = new Map<number, Stay>();
    for (let i = 0; i < kind.length; i++) {
      if (kind[i] === KIND.enqueue) {
        const stay: Stay = {
          pid: pid[i],
          enqueue: i,
          cpu: cpu[i],
          inserted: this.#callbackEnd(records, i),
          switched: this.#switchEnd(records, i),
          leaving: Number.POSITIVE_INFINITY,
          left: Number.POSITIVE_INFINITY,
        };
        this.stays.set(i, stay);
        open.set(pid[i], stay);
      } else if (kind[i] === KIND.dequeue) {
        const stay = open.get(pid[i]);
        if (stay === undefined) continue;
        stay.left = i;
        stay.leaving = this.isMove(records, i) ? this.previous[i] : i;
        open.delete(pid[i]);
      }
    }
  }

  /** The dequeue is part of a dispatch(), not of a sleep or a change of the task. */
  isMove({ kind }: RecordingColumns, dequeue: number): boolean {
    const before = this.previous[dequeue];
    return before >= 0 && (kind[before] === KIND.dispatch || kind[before] === KIND.move);
  }

  /** The first record of the same CPU that the enqueue callback has not written. */
  #callbackEnd({ kind, pid }: RecordingColumns, enqueue: number): number {
    let i = this.next[enqueue];
    while ((kind[i] === KIND.pick_idle || kind[i] === KIND.kick) && pid[i] === pid[enqueue]) i = this.next[i];
    return i;
  }

  /** The enqueue belongs to a switch if the same CPU has just stopped the task: over with the record after the next run or idleness. */
  #switchEnd({ kind, pid, result }: RecordingColumns, enqueue: number): number {
    let before = this.previous[enqueue];
    while (before >= 0 && kind[before] === KIND.sample) before = this.previous[before];
    if (before < 0 || kind[before] !== KIND.stopping || pid[before] !== pid[enqueue]) return 0;
    let i = this.next[enqueue];
    while (i < kind.length && kind[i] !== KIND.running && !(kind[i] === KIND.update_idle && result[i] === 1))
      i = this.next[i];
    return i < kind.length ? this.next[i] : kind.length;
  }

  /**
   * Why a task that the DSQ holds by the order of records need not have been there, or not to be had, for CPU `cpu` at some
   * moment between the records `from` and `to`; undefined if it was.
   */
  excuse(stay: Stay, cpu: number, from: number, to: number): Overlap | undefined {
    if (stay.inserted > from) return 'insertion';
    if (stay.leaving < to) return 'removal';
    if (stay.switched > from && stay.cpu !== cpu) return 'switch';
    return undefined;
  }

  /** The insertions of two tasks may have happened in either order. */
  mayTie(a: Stay, b: Stay): boolean {
    return a.enqueue < b.inserted && b.enqueue < a.inserted;
  }
}
