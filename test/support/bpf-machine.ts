// A small machine around translated code: one page of each kind of memory, helpers in JavaScript.

import type { BpfObject } from '../../src/bpf/object/program.js';
import { type Translation, translate } from '../../src/bpf/wasm/translate.js';
import { Endless, Interpreter, type MachineOptions, Violation } from './bpf-interpreter.js';

/** Readable bytes that must not be written, then writable ones, then the stack of 8 frames. */
export const READ_ONLY = 0x10000;
export const DATA = 0x20000;
export const STACK = 0x30000;
const STACK_BYTES = 8 * 512;
export const END = STACK + STACK_BYTES;
const MEMORY_PAGES = 4;
const BUDGET = 0x1000;
const CALL_SITE = 0x1008;
const TABLE_BASE = 10;

export interface MachineSettings {
  nullLoads?: 'zero' | 'violation';
  /** Values of `map.<i>`, DATA for all by default. */
  maps?: bigint[];
  helpers?: Record<string, (...parameters: bigint[]) => bigint>;
  roots?: number[];
  budget?: number;
  writeTask?: MachineOptions['writeTask'];
  /** First bytes of the writable memory. */
  data?: Uint8Array;
}

export interface Outcome {
  r0?: bigint;
  violation?: { kind: number; fn: number; instruction: number };
  /** Where translated code called a helper last. */
  called?: { fn: number; instruction: number };
  /** The interpreter gave up. */
  endless?: true;
  /** The writable memory, stack included. */
  memory: Uint8Array;
  budget: number;
}

export interface Machine {
  translation: Translation;
  /** Calls function `fn` once, with fresh memory. */
  run(parameters?: bigint[], fn?: number): Outcome;
  /** The same in the interpreter. */
  interpret(parameters?: bigint[], fn?: number): Outcome;
}

function freshMemory(bytes: Uint8Array, settings: MachineSettings): void {
  bytes.fill(0);
  for (let i = 0; i < 256; i++) bytes[READ_ONLY + i] = i;
  bytes.set(settings.data ?? [], DATA);
}

export function machine(object: BpfObject, settings: MachineSettings = {}): Machine {
  const helpers = settings.helpers ?? {};
  const ranges = {
    readLow: READ_ONLY,
    readHigh: END,
    writeLow: DATA,
    writeHigh: END,
    stackLow: STACK,
    stackHigh: END,
    nullLoads: settings.nullLoads ?? 'zero',
  };
  const budget = settings.budget ?? 10000;
  const writeTask = settings.writeTask ?? (() => 0);
  const maps = object.maps.map((_, i) => settings.maps?.[i] ?? BigInt(DATA));
  const translation = translate(object, {
    ...ranges,
    budget: BUDGET,
    callSite: CALL_SITE,
    roots: settings.roots ?? [0],
    parameters: (_kind, name) => helpers[name]?.length,
  });
  const memory = new WebAssembly.Memory({ initial: MEMORY_PAGES });
  const bytes = new Uint8Array(memory.buffer);
  const module = new WebAssembly.Module(translation.wasm);
  const functions = Object.entries(helpers).flatMap(([name, call]) => [
    [`bpf_helper_${name}`, call],
    [`bpf_kfunc_${name}`, call],
  ]);
  const globals = maps.map((value, i) => [`map.${i}`, new WebAssembly.Global({ value: 'i64' }, value)]);

  const run = (parameters: bigint[] = [], fn = 0): Outcome => {
    const table = new WebAssembly.Table({
      element: 'anyfunc',
      initial: TABLE_BASE + translation.table.length,
    });
    let violation: Outcome['violation'];
    const instance = new WebAssembly.Instance(module, {
      engine: {
        memory,
        table,
        table_base: new WebAssembly.Global({ value: 'i32' }, TABLE_BASE),
        bpf_violation: (kind: number, site: number) => {
          const { function: index, instruction } = translation.sites[site];
          violation = { kind, fn: index, instruction };
        },
        bpf_write_task: (address: bigint, value: bigint, size: number) =>
          writeTask(BigInt.asUintN(64, address), BigInt.asUintN(64, value), size),
        ...Object.fromEntries([...functions, ...globals]),
      },
    });
    freshMemory(bytes, settings);
    const words = new DataView(memory.buffer);
    words.setInt32(BUDGET, budget, true);
    words.setInt32(CALL_SITE, 0, true);
    const call = instance.exports[`f${fn}`] as (...values: bigint[]) => bigint;
    const outcome = (rest: Partial<Outcome>): Outcome => {
      const site = translation.sites[words.getInt32(CALL_SITE, true) - 1];
      return {
        ...rest,
        ...(site === undefined ? {} : { called: { fn: site.function, instruction: site.instruction } }),
        memory: bytes.slice(DATA, END),
        budget: words.getInt32(BUDGET, true),
      };
    };
    try {
      const all = [...parameters, 0n, 0n, 0n, 0n, 0n].slice(0, 5);
      return outcome({ r0: BigInt.asUintN(64, call(...all)) });
    } catch (error) {
      if (!violation) throw error;
      return outcome({ violation });
    }
  };

  const interpret = (parameters: bigint[] = [], fn = 0): Outcome => {
    const plain = new Uint8Array(MEMORY_PAGES * 65536);
    freshMemory(plain, settings);
    const options = { ...ranges, maps, tableBase: TABLE_BASE, table: translation.table, helpers, writeTask };
    const interpreter = new Interpreter(object, plain, options);
    interpreter.budget = budget;
    const outcome = (rest: Partial<Outcome>): Outcome => ({
      ...rest,
      memory: plain.slice(DATA, END),
      budget: interpreter.budget,
    });
    try {
      return outcome({ r0: interpreter.run(fn, [...parameters, 0n, 0n, 0n, 0n, 0n].slice(0, 5)) });
    } catch (error) {
      if (error instanceof Endless) return outcome({ endless: true });
      if (!(error instanceof Violation)) throw error;
      return outcome({ violation: { kind: error.kind, fn: error.fn, instruction: error.instruction } });
    }
  };
  return { translation, run, interpret };
}
