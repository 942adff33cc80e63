// What a translated module and the engine agree on. There is no verifier here, so the module itself keeps the program
// inside its bounds: each load, store, loop and call is checked, and a check that fails names its place.
//
// The module imports, all from `engine`:
//
//   memory            the engine's memory; a pointer in a BPF program is an engine byte address, zero-extended to 64 bits
//   table             the engine's funcref table; a function pointer in a BPF program is an index of it
//   table_base        immutable i32 global: the module fills table[table_base + i] with function `table[i]` of the
//                     translation when it is instantiated; the host grows the table first
//   map.<i>           immutable i64 globals: for a data map the address of its value, for any other map its handle
//   bpf_helper_<name>, bpf_kfunc_<name>   (i64 × parameters) → i64, 0 where the kernel's function returns nothing
//   bpf_violation     (kind: i32, site: i32, value: i64) → (): records what happened; the module traps right after it.
//                     `site` indexes the translation's `sites`; `value` is the address, or the index of a call
//   bpf_write_task    (address: i64, value: i64, bytes: i32) → i32: a store outside the writable region; 1 if it was a
//                     permitted field of a task and is done, 0 if it is a violation
//
// and exports `f<i>` for each translated function i, (i64 × 5) → i64: r1 … r5 → r0. Callbacks of a scheduler take, like
// every struct_ops program, the address of an array of u64 arguments in r1; it has to be inside the readable region.
// Callbacks of helpers (timers, loops) take their arguments in r1 … r5. The engine calls either through the table.
//
// The budget is an i32 in the engine's memory. Each loop back edge takes one from it, as does each call that could multiply
// work, and taking from 0 is a violation: the engine sets it before every callback, and takes from it in its own loops over
// callbacks.
// The stack is part of the module: a frame of STACK_FRAME_BYTES for each function that uses one, from `stackHigh` downwards.
// An instance that has trapped must not be used again.

/** Bytes of a BPF stack frame (MAX_BPF_STACK). */
export const STACK_FRAME_BYTES = 512;
/** Deepest nesting of calls (MAX_CALL_FRAMES): the stack should have room for as many frames. */
export const STACK_FRAMES = 8;

/** Pointers below it are NULL, or a field's address computed from NULL. */
export const NULL_BYTES = 2048;

// Kinds of violations that the module reports; those of the runtime (a helper's bad argument) are numbered from 64.
export const VIOLATION_LOAD = 1;
export const VIOLATION_STORE = 2;
/** The budget is used up. */
export const VIOLATION_LOOP = 3;
export const VIOLATION_STACK = 4;
/** The program reached an instruction that needs what vtime lacks. */
export const VIOLATION_MISSING = 5;
/** An indirect call of something that is no function of this object. */
export const VIOLATION_CALL = 6;

/** The instruction that a violation is about. */
export interface Site {
  /** Index in the object's `functions`. */
  function: number;
  /** Position in the function's `instructions`. */
  instruction: number;
}

/** Addresses are engine byte addresses; ranges are [low, high) and not empty. */
export interface TranslateOptions {
  readLow: number;
  readHigh: number;
  /** Inside the readable range. Values of read-only maps must lie outside of it. */
  writeLow: number;
  writeHigh: number;
  /** Inside the writable range; multiples of 8. */
  stackLow: number;
  stackHigh: number;
  /** Address of the budget, an i32. */
  budget: number;
  /**
   * Address of an i32 that is set to 1 + the site of each call of a helper or kfunc before it is made, so that what goes
   * wrong inside one has a place too.
   */
  callSite?: number;
  /** How many parameters the engine's function of this name has, or undefined if it has none. */
  parameters(kind: 'helper' | 'kfunc', name: string): number | undefined;
  /** Functions that the engine calls; by default the callbacks of all schedulers. What they reach is translated. */
  roots?: number[];
  /**
   * What a load through a pointer below NULL_BYTES does. In the kernel a load through a pointer to a kernel structure yields
   * 0 when it faults (PROBE_MEM), so programs follow chains of pointers without testing each; other pointers had to be
   * tested before the verifier lets them be used. `zero` (the default) makes every such load yield 0; it needs the page
   * at address 0 to hold zeros, and an offset beyond it must not lead from there into the readable region.
   */
  nullLoads?: 'zero' | 'violation';
}

export interface Translation {
  wasm: Uint8Array;
  sites: Site[];
  /** Functions in the order of their table slots: roots and all whose address is taken. */
  table: number[];
  /** Functions translated, ascending. */
  functions: number[];
  /** Names imported. */
  helpers: string[];
  kfuncs: string[];
  /** Maps whose globals are imported. */
  maps: number[];
}
