// Sums over the stretches of a task's time, by state and place.

import type { Ahead, LastStretch, TaskState, TimePart } from '../types.js';

export interface Window {
  from_ns: number;
  until_ns: number;
}

export interface Stretch {
  state: TaskState;
  where: string;
  from: number;
  until: number;
  behind: Map<string, Ahead>;
}

type Part = TimePart & { ahead: Map<string, Ahead>; takers: Map<string, number> };

export class TimeParts {
  readonly #window: Window;
  readonly #parts = new Map<string, Part>();
  #last: Stretch | undefined;

  constructor(window: Window) {
    this.#window = window;
  }

  #part(state: TaskState, where: string): Part {
    const key = `${state} ${where}`;
    let part = this.#parts.get(key);
    if (part === undefined) {
      part = {
        state,
        where,
        length_ns: 0,
        times: 0,
        longest_ns: 0,
        longest_from_ns: 0,
        behind: [],
        by: [],
        ahead: new Map(),
        takers: new Map(),
      };
      this.#parts.set(key, part);
    }
    return part;
  }

  /** Counts what of a stretch is in the window. */
  count(stretch: Stretch): void {
    const from = Math.max(stretch.from, this.#window.from_ns);
    const until = Math.min(stretch.until, this.#window.until_ns);
    if (until <= from) return;
    const part = this.#part(stretch.state, stretch.where);
    const length = until - from;
    part.length_ns += length;
    part.times++;
    if (length > part.longest_ns) {
      part.longest_ns = length;
      part.longest_from_ns = from;
    }
    for (const ahead of stretch.behind.values()) addAhead(part.ahead, ahead);
    this.#last = { ...stretch, from, until };
  }

  /** Who took the CPU from it at `time`, so that it waits there. */
  countTaker(time: number, where: string, who: string): void {
    if (time < this.#window.from_ns || time >= this.#window.until_ns) return;
    const { takers } = this.#part('preempted', where);
    takers.set(who, (takers.get(who) ?? 0) + 1);
  }

  /** There is nothing that it does last. */
  ends(): void {
    this.#last = undefined;
  }

  /** Longest first. */
  parts(): TimePart[] {
    return [...this.#parts.values()]
      .filter(({ length_ns }) => length_ns > 0)
      .map(({ ahead, takers, ...part }) => ({
        ...part,
        behind: byLength(ahead),
        by: [...takers].map(([who, count]) => ({ who, count })).sort((a, b) => b.count - a.count),
      }))
      .sort((a, b) => b.length_ns - a.length_ns);
  }

  last(): LastStretch | undefined {
    if (this.#last === undefined) return undefined;
    const { state, where, from, until, behind } = this.#last;
    return { state, where, since_ns: from, length_ns: until - from, behind: byLength(behind) };
  }
}

export function addAhead(into: Map<string, Ahead>, { who, count, length_ns }: Ahead): void {
  const known = into.get(who);
  if (known === undefined) {
    into.set(who, { who, count, length_ns });
    return;
  }
  known.count += count;
  known.length_ns += length_ns;
}

function byLength(ahead: ReadonlyMap<string, Ahead>): Ahead[] {
  return [...ahead.values()].sort((a, b) => b.length_ns - a.length_ns || (a.who < b.who ? -1 : 1));
}
