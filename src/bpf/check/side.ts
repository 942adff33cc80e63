// One of the two runs that are compared: its records as they come.

import type { ResolvedConfig } from '../../config/schema.js';
import * as abi from '../../engine/abi.js';
import { encode } from '../../engine/encode.js';
import { recording } from '../../engine/served.js';
import { outcomeOf } from '../../engine/simulate.js';
import { Simulation, takeTurn } from '../../engine/simulation.js';
import { SimulationError } from '../../errors.js';

/** Words of a record: six u32, of which the last is not used. */
export const WORDS = abi.DECISION_BYTES / 4;
export const QUEUE_WORD = abi.DECISION_VALUE / 4;
export const CPU_WORD = abi.DECISION_CPU / 4;

/** Records that are kept after they have been compared. */
export const KEPT = 12;

export class Side {
  /** Class names, for messages. */
  readonly classes: readonly string[];
  readonly #simulation: Simulation;
  /** The records at hand: the last ones that have been compared, then those that have not. */
  words = new Uint32Array(0);
  view = new DataView(new ArrayBuffer(0));
  /** First record that has not been compared. */
  at = 0;
  #slices = 0;
  #failure: string | undefined;

  constructor(config: ResolvedConfig) {
    const model = encode(config);
    this.classes = model.classes.map(({ name }) => name);
    this.#simulation = new Simulation(recording(model, abi.DECISIONS_COMPARED));
  }

  get length(): number {
    return this.words.length / WORDS;
  }

  get isOver(): boolean {
    return this.#failure !== undefined || this.#simulation.done;
  }

  /** How the run ended: it has to be the same on both sides. */
  get end(): string {
    const code = this.#simulation.failure?.code;
    const outcome = outcomeOf(this.#simulation);
    return this.#failure ?? (code === undefined ? outcome : `${outcome}, failure ${code}`);
  }

  kind(at: number): number {
    return this.view.getUint8(at * abi.DECISION_BYTES + abi.DECISION_KIND);
  }

  value(at: number): number {
    return this.words[at * WORDS + QUEUE_WORD];
  }

  /** Runs on until record `at` is there, or the run is over. */
  async fill(signal: AbortSignal | undefined, ahead = 0): Promise<void> {
    while (this.at + ahead >= this.length && !this.isOver) {
      try {
        this.#simulation.step();
      } catch (error) {
        // A broken rule of the kernel ends the run; both have to break it.
        if (!(error instanceof SimulationError)) throw error;
        this.#failure = error.code;
      }
      this.#append(this.#simulation.drainDecisions());
      await takeTurn(++this.#slices, signal);
    }
  }

  #append(batch: Uint8Array): void {
    const kept = this.words.subarray(Math.max(0, this.at - KEPT) * WORDS);
    const words = new Uint32Array(kept.length + batch.length / 4);
    words.set(kept);
    words.set(new Uint32Array(batch.buffer, batch.byteOffset, batch.length / 4), kept.length);
    this.at = Math.min(this.at, KEPT);
    this.words = words;
    this.view = new DataView(words.buffer);
  }

  close(): void {
    this.#simulation.close();
  }
}
