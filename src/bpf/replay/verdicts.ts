// What a replay found: counts by decision and verdict, and the first unexplained decisions.

import type { Overlap } from './overlaps.js';

/** What is decided. `move`: which task leaves a DSQ; `empty`: that none does; `order`: which DSQs a dispatch asks, one after the other. */
export type Decision = 'select_cpu' | 'enqueue' | 'move' | 'empty' | 'order' | 'run' | 'slice' | 'vtime';

export const DECISIONS: readonly Decision[] = [
  'select_cpu',
  'enqueue',
  'move',
  'empty',
  'order',
  'run',
  'slice',
  'vtime',
];

export interface Counts {
  exact: number;
  consistent: number;
  unexplained: number;
}

/** A decision that the simulator would have made differently. */
export interface Unexplained {
  /** Index of the record. */
  record: number;
  decision: Decision;
  expected: string;
  found: string;
}

export interface ReplayResult {
  records: number;
  cpus: number;
  decisions: Record<Decision, Counts>;
  overlaps: Record<Overlap, number>;
  /** In the order of records, at most `keep` of them. */
  unexplained: Unexplained[];
}

export class Verdicts {
  readonly #keep: number;
  readonly #decisions: Record<Decision, Counts>;
  readonly #overlaps: Record<Overlap, number> = { insertion: 0, removal: 0, switch: 0 };
  readonly #unexplained: Unexplained[] = [];

  /** `keep`: unexplained decisions to remember. */
  constructor(keep: number) {
    this.#keep = keep;
    const none = (): Counts => ({ exact: 0, consistent: 0, unexplained: 0 });
    this.#decisions = Object.fromEntries(DECISIONS.map((decision) => [decision, none()])) as Record<
      Decision,
      Counts
    >;
  }

  exact(decision: Decision): void {
    this.#decisions[decision].exact++;
  }

  consistent(decision: Decision, overlap: Overlap): void {
    this.#decisions[decision].consistent++;
    this.#overlaps[overlap]++;
  }

  unexplained(record: number, decision: Decision, expected: string, found: string): void {
    this.#decisions[decision].unexplained++;
    if (this.#unexplained.length < this.#keep) this.#unexplained.push({ record, decision, expected, found });
  }

  /** Exact if both say the same. */
  compare(record: number, decision: Decision, expected: string, found: string): void {
    if (expected === found) this.exact(decision);
    else this.unexplained(record, decision, expected, found);
  }

  result(records: number, cpus: number): ReplayResult {
    const unexplained = this.#unexplained.toSorted((a, b) => a.record - b.record);
    return { records, cpus, decisions: this.#decisions, overlaps: this.#overlaps, unexplained };
  }
}
