// The compiled engine: one WebAssembly module, compiled once, instantiated per simulation.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { instantiateSync } from '@assemblyscript/loader';
import { VtimeError } from '../errors.js';

const FILE = new URL('../../../build/vtime.wasm', import.meta.url);

/** The engine's memory; its buffer is replaced when it grows. */
export interface EngineMemory {
  readonly buffer: ArrayBuffer;
}

/** The engine's exports (assembly/index.ts). Addresses and counts come as signed 32-bit numbers. */
export interface EngineExports extends Record<string, unknown> {
  memory: EngineMemory;
  place(bytes: number): number;
  create(address: number): number;
  arrivalWindow(rows: number): number;
  refill(rows: number, last: number): void;
  run(maxEvents: number, untilNs: bigint): number;
  finish(): number;
  result(): number;
  time(): bigint;
  failureCode(): number;
  failureTaskSlot(): number;
  failureCpuIndex(): number;
  failureNumber(): bigint;
  failureDsqIndex(): number;
  failureOtherSlot(): number;
  failurePlace(): number;
  waits(): number;
  waitCount(): number;
  counters(): number;
  rows(): number;
  rowCount(): number;
  clearRows(): void;
  explanation(): number;
  explanationCount(): number;
  decisions(): number;
  decisionCount(): number;
  clearDecisions(): void;
  /** Functions of a BPF object are behind the engine's own. */
  table: EngineTable;
  bpfReserve(bytes: number): number;
  bpfRegion(headersEnd: number, writeLow: number, writeHigh: number): void;
  bpfHeap(low: number, high: number, tables: number): void;
  bpfMapping(map: number): void;
  bpfFunctions(low: number, count: number): void;
  bpfOp(op: number, slot: number): void;
  bpfViolation(): number;
  bpfViolationSite(): number;
  bpfViolationValue(): bigint;
  bpfViolationOp(): number;
}

/** The engine's table of functions. */
export interface EngineTable {
  readonly length: number;
  /** Returns the length before. */
  grow(slots: number): number;
}

/** What a worker needs to make instances; can be posted to it. */
export interface Engine {
  /** The compiled WebAssembly.Module; the name is not in Node's own types, and users should not need the DOM's. */
  module: object;
  /** SHA-256 of the module's bytes. */
  sha256: string;
}

let loaded: Engine | undefined;

/** Compiles the engine on first use. */
export function loadEngine(): Engine {
  if (loaded === undefined) {
    let bytes: Buffer<ArrayBuffer>;
    try {
      bytes = readFileSync(FILE);
    } catch {
      throw new VtimeError('engine_missing', 'the engine is not built', {
        expected: '`npm run setup` to have run',
      });
    }
    loaded = {
      module: new WebAssembly.Module(bytes),
      sha256: createHash('sha256').update(bytes).digest('hex'),
    };
  }
  return loaded;
}

/** Uses an engine that was compiled elsewhere, e.g. posted by the main thread. */
export function adoptEngine(engine: Engine): void {
  loaded = engine;
}

export function instantiate(engine: Engine): EngineExports {
  const { instance } = instantiateSync<EngineExports>(engine.module as WebAssembly.Module, {});
  // The loader's own `exports` are wrappers in JavaScript: imported by another module, each call would pass through one.
  return instance.exports as unknown as EngineExports;
}
