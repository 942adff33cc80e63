// Two schedulers on the same workload, compared callback by callback: what each of them does to the kernel, and the schedule
// that comes of it.
//
// Within a callback, insertions are compared in their order and everything else in its order, but not one with the other: the
// kernel carries out a BPF program's insertion only when the callback returns, and acts on kicks after that.

import type { ResolvedConfig } from '../../config/schema.js';
import * as abi from '../../engine/abi.js';
import { MAX_CPUS } from '../../engine/chain.js';
import { describeRecord } from './describe.js';
import { CPU_WORD, KEPT, QUEUE_WORD, Side, WORDS } from './side.js';

/** Records of each side that are shown from the difference on. */
const SHOWN_AFTER = 6;

export interface Difference {
  /** Number of the first record that differs, from 0. */
  record: number;
  time_ns: number;
  /** What both did before, oldest first. */
  before: string[];
  /** What each does then; the end of the run if it does nothing more. */
  left: string[];
  right: string[];
}

export interface Comparison {
  /** Callbacks that both made alike. */
  callbacks: number;
  records: number;
  /** Simulated time that both have in common. */
  time_ns: number;
  difference?: Difference;
}

/** What callbacks do; all other records are callbacks and decisions of the kernel. */
const EFFECTS = new Set<number>([
  abi.DECISION_SELECTED,
  abi.DECISION_DSQ,
  abi.DECISION_KEYS,
  abi.DECISION_KICK,
  abi.DECISION_IDLE,
]);

export interface CompareOptions {
  /**
   * One of the schedulers keeps waiting tasks to itself instead of in user DSQs: only what goes to CPUs is compared. Otherwise
   * user DSQs are compared by who is in them, not by their numbers, which schedulers choose as they like.
   */
  ignore_user_queues?: boolean;
  /** Stops after so many callbacks. */
  limit?: number;
  signal?: AbortSignal;
}

/** Runs both configs, which should differ in their policies only, until they differ or end. */
export async function compareRuns(
  left: ResolvedConfig,
  right: ResolvedConfig,
  { ignore_user_queues = false, limit = Number.POSITIVE_INFINITY, signal }: CompareOptions = {},
): Promise<Comparison> {
  const sides = [new Side(left), new Side(right)] as const;
  try {
    return await new Lockstep(...sides, ignore_user_queues).run(limit, signal);
  } finally {
    for (const side of sides) side.close();
  }
}

/**
 * dequeue() tells what has happened to a waiting task; when it is told depends on where the scheduler keeps it. What it does
 * belongs to what caused it.
 */
function isDequeue(side: Side, at: number): boolean {
  return side.kind(at) === abi.DECISION_CALLBACK && side.value(at) === abi.BPF_OP_DEQUEUE;
}

/** Positions in a side: a record, the effects that follow it counted from it, and where the next one begins. */
interface Segment {
  start: number;
  end: number;
  insertions: number[];
  others: number[];
}

class Lockstep {
  #callbacks = 0;
  #records = 0;
  #time_ns = 0;
  /** DSQ of the left side → of the right side, and back. */
  readonly #there = new Map<number, number>();
  readonly #back = new Map<number, number>();
  /** Statistics class by task slot. */
  readonly #classOf = new Map<number, number>();

  constructor(
    readonly left: Side,
    readonly right: Side,
    readonly ignoreUserQueues: boolean,
  ) {}

  async run(limit: number, signal: AbortSignal | undefined): Promise<Comparison> {
    const { left, right } = this;
    while (true) {
      const a = await this.#segment(left, signal);
      const b = await this.#segment(right, signal);
      if (a === undefined || b === undefined) break;
      if (!this.#same(a, b)) return this.#result(await this.#difference(signal));
      this.#note(a);
      left.at = a.end;
      right.at = b.end;
      if (this.#callbacks >= limit) return this.#result(undefined);
    }
    const isAlike = left.at === left.length && right.at === right.length && left.end === right.end;
    return this.#result(isAlike ? undefined : await this.#difference(signal));
  }

  /** The next callback or decision of a side, with what it does; undefined at the end of the run. */
  async #segment(side: Side, signal: AbortSignal | undefined): Promise<Segment | undefined> {
    await side.fill(signal);
    if (side.at === side.length) return undefined;
    const insertions: number[] = [];
    const others: number[] = [];
    let ahead = 1;
    for (; ; ahead++) {
      await side.fill(signal, ahead);
      const at = side.at + ahead;
      if (at >= side.length) break;
      const kind = side.kind(at);
      if (!EFFECTS.has(kind)) {
        if (!isDequeue(side, at)) break;
      } else if (kind === abi.DECISION_DSQ) {
        if (!this.ignoreUserQueues || side.value(at) <= MAX_CPUS) insertions.push(ahead);
      } else if (kind !== abi.DECISION_KEYS) others.push(ahead);
    }
    return { start: side.at, end: side.at + ahead, insertions, others };
  }

  #result(difference: Difference | undefined): Comparison {
    return {
      callbacks: this.#callbacks,
      records: this.#records,
      time_ns: this.#time_ns,
      ...(difference === undefined ? {} : { difference }),
    };
  }

  #same(a: Segment, b: Segment): boolean {
    const isAlike = (left: number, right: number) => this.#sameRecord(a.start + left, b.start + right);
    return (
      isAlike(0, 0) &&
      a.insertions.length === b.insertions.length &&
      a.others.length === b.others.length &&
      // An insertion and the keys that follow it.
      a.insertions.every((i, n) => isAlike(i, b.insertions[n]) && isAlike(i + 1, b.insertions[n] + 1)) &&
      a.others.every((i, n) => isAlike(i, b.others[n]))
    );
  }

  #sameRecord(at: number, other: number): boolean {
    const { left, right } = this;
    const kind = left.kind(at);
    if (kind !== right.kind(other)) return false;
    const isQueue = kind === abi.DECISION_DSQ;
    // Whether the task belongs to its new CPU before it is inserted there, or after, is the same in the end.
    const words = isQueue || kind === abi.DECISION_KEYS ? CPU_WORD : WORDS - 1;
    for (let word = 0; word < words; word++) {
      const [l, r] = [left.words[at * WORDS + word], right.words[other * WORDS + word]];
      const isUserQueue = isQueue && word === QUEUE_WORD && Math.min(l, r) > MAX_CPUS;
      if (isUserQueue ? !this.#pair(l, r) : l !== r) return false;
    }
    return true;
  }

  /** User DSQs that have the same task first belong together from then on. */
  #pair(left: number, right: number): boolean {
    if (!this.#there.has(left) && !this.#back.has(right)) {
      this.#there.set(left, right);
      this.#back.set(right, left);
    }
    return this.#there.get(left) === right;
  }

  /** What later records need to be understood. */
  #note({ start, end }: Segment): void {
    const { view } = this.left;
    const offset = start * abi.DECISION_BYTES;
    const kind = this.left.kind(start);
    this.#records += end - start;
    this.#time_ns = Number(view.getBigUint64(offset, true));
    if (kind === abi.DECISION_CALLBACK) this.#callbacks++;
    else if (kind <= abi.DECISION_STOP) {
      const task = view.getUint32(offset + abi.DECISION_TASK, true);
      this.#classOf.set(task, view.getUint32(offset + abi.DECISION_CLASS, true));
    }
  }

  async #difference(signal: AbortSignal | undefined): Promise<Difference> {
    const describe = (side: Side, at: number) =>
      describeRecord(side.view, at * abi.DECISION_BYTES, (slot) => {
        const index = this.#classOf.get(slot);
        return index === undefined ? undefined : side.classes[index];
      });
    const { left, right } = this;
    const before: string[] = [];
    for (let i = Math.max(0, left.at - KEPT); i < left.at; i++) before.push(describe(left, i));
    const after = async (side: Side): Promise<string[]> => {
      const lines: string[] = [];
      for (; lines.length < SHOWN_AFTER; side.at++) {
        await side.fill(signal);
        if (side.at === side.length) {
          lines.push(`ends: ${side.end}`);
          break;
        }
        lines.push(describe(side, side.at));
      }
      return lines;
    };
    const record = this.#records;
    return {
      record,
      time_ns: this.#time_ns,
      before,
      left: await after(left),
      right: await after(right),
    };
  }
}
