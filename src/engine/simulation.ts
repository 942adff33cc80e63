// One run of the engine: the model goes in, slices are run, books are closed, the result comes out.

import { placePolicy } from '../bpf/runtime/policy.js';
import { exitMessage, failurePlace, violationError } from '../bpf/runtime/runtime.js';
import { AbortedError, EngineError, VtimeError } from '../errors.js';
import * as abi from './abi.js';
import { ArrivalFeed } from './arrival-feed.js';
import type { EncodedModel } from './encode.js';
import { type FailureNumbers, failureError } from './failure.js';
import { type EngineExports, type EngineMemory, instantiate, loadEngine } from './module.js';
import { readWaits, type Wait } from './waits.js';

/** Events per slice: long enough to be free, short enough for progress, signals and V8's optimising tier. */
export const SLICE_EVENTS = 20_000;

const IMAGE_ERRORS: Record<number, string> = {
  1: 'no model image',
  2: 'a model image of another version',
  3: 'the model exceeds a capacity of the engine (assembly/core/layout.ts)',
  4: 'an incomplete model image',
  5: 'an engine built with another memoryBase than its layout has',
};

/** Outcomes after which there is nothing left to run. */
const FINAL = new Set<number>([
  abi.OUTCOME_COMPLETED,
  abi.OUTCOME_HORIZON,
  abi.OUTCOME_STALLED,
  abi.OUTCOME_DEADLOCKED,
  abi.OUTCOME_INVARIANT,
  abi.OUTCOME_ERROR,
]);

/** Slices between two looks at the event loop: progress, signals. */
const SLICES_PER_TURN = 50;

/**
 * Lets the event loop have its turn, from time to time: after slice number `slice`. True if it was the turn. AbortedError once
 * the signal says so.
 */
export async function takeTurn(slice: number, signal: AbortSignal | undefined): Promise<boolean> {
  if (slice % SLICES_PER_TURN !== 0) return false;
  if (signal !== undefined) await new Promise(setImmediate);
  if (signal?.aborted) throw new AbortedError('aborted', 'the run was interrupted');
  return true;
}

export class Simulation {
  readonly model: EncodedModel;
  readonly #engine: EngineExports;
  readonly #feed: ArrivalFeed | undefined;
  readonly #window: number = 0;
  #outcome: number = abi.OUTCOME_BUDGET;

  /** Takes the model over. EngineError if the engine refuses it. */
  constructor(model: EncodedModel) {
    this.model = model;
    this.#engine = instantiate(loadEngine());
    if (model.bpf !== undefined) {
      placePolicy(
        this.#engine,
        model.bpf,
        model.classes.map(({ name }) => name),
      );
    }
    const address = this.#engine.place(model.image.length) >>> 0;
    if (address === 0) throw new EngineError('engine_memory', 'no memory for the model');
    new Uint8Array(this.#engine.memory.buffer).set(model.image, address);
    const error = this.#guard(() => this.#engine.create(address));
    if (error !== 0) throw new VtimeError('model_image', IMAGE_ERRORS[error] ?? `model error ${error}`);
    if (this.#engine.failureCode() !== 0) this.#throwFailure();
    if (model.arrivals === undefined) return;
    this.#window = this.#engine.arrivalWindow(model.arrivals.window_rows) >>> 0;
    if (this.#window === 0) throw new EngineError('engine_memory', 'no memory for the window of arrivals');
    this.#feed = new ArrivalFeed(model.arrivals);
  }

  /** The engine's memory, current until the next step. */
  get memory(): EngineMemory {
    return this.#engine.memory;
  }

  /** Byte address of the run counters (R_… of assembly/abi/, u64 each). */
  get countersAddress(): number {
    return this.#engine.counters() >>> 0;
  }

  /** A run counter, R_… of assembly/abi/. */
  counter(index: number): number {
    return Number(
      new DataView(this.#engine.memory.buffer).getBigUint64(this.countersAddress + 8 * index, true),
    );
  }

  /** Simulated time, ns. */
  get time_ns(): bigint {
    return this.#engine.time();
  }

  /** OUTCOME_… of the last step. */
  get outcome(): number {
    return this.#outcome;
  }

  get done(): boolean {
    return FINAL.has(this.#outcome);
  }

  /** Why the run failed; undefined if it didn't. */
  get failure(): FailureNumbers | undefined {
    const code = this.#engine.failureCode();
    if (code === 0) return undefined;
    return {
      code,
      task: this.#engine.failureTaskSlot() >>> 0,
      cpu: this.#engine.failureCpuIndex() >>> 0,
      detail: BigInt.asUintN(64, this.#engine.failureNumber()),
      dsq: this.#engine.failureDsqIndex() >>> 0,
      other: this.#engine.failureOtherSlot() >>> 0,
      ...(this.model.bpf === undefined
        ? {}
        : { text: exitMessage(this.#engine), place: failurePlace(this.#engine, this.model.bpf.scheduler) }),
    };
  }

  /** What each task waits for now. */
  waits(): Wait[] {
    const address = this.#engine.waits() >>> 0;
    if (address === 0) return [];
    return readWaits(this.#engine.memory.buffer, address, this.#engine.waitCount() >>> 0);
  }

  /** Runs one slice; returns OUTCOME_…. Capacity and program errors throw. */
  step(maxEvents = SLICE_EVENTS, until_ns = (1n << 63n) - 1n): number {
    this.#outcome = this.#guard(() => this.#engine.run(maxEvents, until_ns));
    if (this.#outcome === abi.OUTCOME_NEEDS_INPUT) this.#refill();
    if (this.#outcome === abi.OUTCOME_ERROR || this.#outcome === abi.OUTCOME_INVARIANT) this.#throwFailure();
    return this.#outcome;
  }

  /** Closes the trace's file, if arrivals are streamed. */
  close(): void {
    this.#feed?.close();
  }

  #refill(): void {
    const { rows, last } = this.#feed!.fill(this.#engine.memory.buffer, this.#window);
    this.#engine.refill(rows, last ? 1 : 0);
  }

  /** Closes the books and checks the conservation laws; a violation throws an EngineError. */
  finish(): void {
    const before = this.#engine.failureCode();
    const outcome = this.#guard(() => this.#engine.finish());
    if (outcome === abi.OUTCOME_INVARIANT && before === 0) this.#throwFailure();
  }

  /** Address of the result image in memory; call after finish(). */
  result(): number {
    const address = this.#guard(() => this.#engine.result()) >>> 0;
    if (address === 0) throw new EngineError('engine_memory', 'no memory for the result');
    return address;
  }

  /** The records of the explained job so far, EXPLAIN_BYTES each. */
  explanation(): Uint8Array {
    const count = this.#engine.explanationCount() >>> 0;
    const address = this.#engine.explanation() >>> 0;
    return new Uint8Array(this.#engine.memory.buffer, address, count * abi.EXPLAIN_BYTES).slice();
  }

  /** Copies the rows that wait in the ring and empties it: ROW_BYTES each. */
  drainRows(): Uint8Array {
    const count = this.#engine.rowCount() >>> 0;
    if (count === 0) return new Uint8Array(0);
    const address = this.#engine.rows() >>> 0;
    const rows = new Uint8Array(this.#engine.memory.buffer, address, count * abi.ROW_BYTES).slice();
    this.#engine.clearRows();
    return rows;
  }

  /** Copies the decisions recorded since the last call: DECISION_BYTES each. */
  drainDecisions(): Uint8Array {
    const count = this.#engine.decisionCount() >>> 0;
    if (count === 0) return new Uint8Array(0);
    const address = this.#engine.decisions() >>> 0;
    const records = new Uint8Array(this.#engine.memory.buffer, address, count * abi.DECISION_BYTES).slice();
    this.#engine.clearDecisions();
    return records;
  }

  #throwFailure(): never {
    throw failureError(this.failure!, this.model, this.waits());
  }

  /** A trap is a BPF program's violation or an engine error, never an uncaught exception. */
  #guard<T>(action: () => T): T {
    try {
      return action();
    } catch (error) {
      if (!(error instanceof WebAssembly.RuntimeError)) throw error;
      const { bpf } = this.model;
      const violation = bpf === undefined ? undefined : violationError(this.#engine, bpf.scheduler);
      throw violation ?? new EngineError('engine_trap', `the engine trapped: ${error.message}`);
    }
  }
}
