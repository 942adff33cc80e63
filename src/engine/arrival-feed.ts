// Fills the engine's window of arrivals from a table of invocations on disk (SOURCE_STREAM of assembly/abi/).

import { type InvocationStream, selectedRows } from '../trace/stream.js';
import * as abi from './abi.js';

/** Rows of the window: 1.5 MiB. */
export const WINDOW_ROWS = 1 << 16;

/** What a model says about its streamed arrivals. */
export interface StreamedArrivals {
  stream: InvocationStream;
  time_scale: number;
  /** Source of each function of the stream. */
  sources: number[];
  window_rows: number;
}

interface Row {
  start_ns: number;
  duration_ns: bigint;
  source: number;
}

/** One pass over the arrivals, by time and then by source. */
export class ArrivalFeed {
  readonly #given: StreamedArrivals;
  readonly #rows: ReturnType<typeof selectedRows>;
  /** Rows of one instant, sorted, not yet in a window. */
  #instant: Row[] = [];
  #taken = 0;
  /** First row of the next instant. */
  #next: Row | undefined;

  constructor(given: StreamedArrivals) {
    this.#given = given;
    this.#rows = selectedRows(given.stream);
    this.#next = this.#read();
  }

  get windowRows(): number {
    return this.#given.window_rows;
  }

  /** Writes at most as many rows as the window has; returns how many, and whether they are the last. */
  fill(memory: ArrayBuffer, address: number): { rows: number; last: boolean } {
    const view = new DataView(memory, address, this.windowRows * abi.ARRIVAL_BYTES);
    let rows = 0;
    for (; rows < this.windowRows; rows++) {
      if (this.#taken === this.#instant.length && !this.#nextInstant()) break;
      const { start_ns, duration_ns, source } = this.#instant[this.#taken++];
      const at = rows * abi.ARRIVAL_BYTES;
      // A start is below 2^53 and fits two halves; a BigInt per row would cost more than the rest.
      view.setUint32(at, start_ns % 2 ** 32, true);
      view.setUint32(at + 4, Math.floor(start_ns / 2 ** 32), true);
      view.setBigUint64(at + 8, duration_ns, true);
      view.setUint32(at + 16, source, true);
      view.setUint32(at + 20, 0, true);
    }
    return { rows, last: this.#taken === this.#instant.length && this.#next === undefined };
  }

  /** Closes the file, if the run ends before the rows do. */
  close(): void {
    this.#rows.return(undefined);
  }

  #read(): Row | undefined {
    const { value, done } = this.#rows.next();
    if (done) return undefined;
    return {
      start_ns: Math.round(value.start_ns * this.#given.time_scale),
      // 0 means drawn from the function's statistics.
      duration_ns: value.known ? value.duration_ns : 0n,
      source: this.#given.sources[value.function_index],
    };
  }

  /** Gathers the rows of the next instant; false if there are none. */
  #nextInstant(): boolean {
    if (this.#next === undefined) return false;
    const { start_ns } = this.#next;
    this.#instant = [];
    this.#taken = 0;
    while (this.#next !== undefined && this.#next.start_ns === start_ns) {
      this.#instant.push(this.#next);
      this.#next = this.#read();
    }
    if (this.#instant.length > 1) this.#instant.sort((a, b) => a.source - b.source);
    return true;
  }
}
