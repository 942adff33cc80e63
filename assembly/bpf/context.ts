// Calling BPF programs: where they run, what they may call, and how they fail.
//
// A callback runs on a CPU (bpf_get_smp_processor_id()) and in a context that decides which kfuncs it may call
// (scx_kf_allowed()). Callbacks nest: moving a task inside dispatch() may call dequeue() or quiescent().

import { fail, FAIL_BPF_VIOLATION, failure } from '../core/failure';
import { ARGUMENTS, BUDGET, CALL_SITE, MAX_NESTING, OPS_SLOTS } from './state';

/** Loop passes and calls of one callback, with all that it calls back. */
export const CALLBACK_BUDGET: i32 = 8388608;

export const IN_SELECT_CPU: u32 = 1;
export const IN_ENQUEUE: u32 = 2;
export const IN_DISPATCH: u32 = 4;
export const IN_CPU_RELEASE: u32 = 8;
/** May sleep: init(), exit(), init_task(), cgroup_init(). */
export const IN_SLEEPABLE: u32 = 16;

/** CPU that the callback runs on. */
export let contextCpu: u32 = 0;
/** IN_… of the callback; 0 outside and in callbacks that may neither insert nor move. */
export let context: u32 = 0;
/** Callbacks under way. */
export let nesting: u32 = 0;
/** Number of the innermost callback under way, for messages. */
export let contextOp: u32 = 0;

// ---- violations ---------------------------------------------------------------------------------------------------------
// Kinds below 64 are the translated module's (src/bpf/wasm/contract.ts).

/** An indirect call of something that is no function of this object (one of the module's kinds). */
const VIOLATION_CALL: u32 = 6;
/** A helper or kfunc got a pointer to something it cannot take. */
export const VIOLATION_POINTER: u32 = 64;
/** The heap or a table of the runtime is full. */
export const VIOLATION_MEMORY: u32 = 65;
/** Callbacks nest too deeply. */
export const VIOLATION_NESTING: u32 = 66;
/** A lock is taken twice or released without being held. */
export const VIOLATION_LOCK: u32 = 67;

export let violationKind: u32 = 0;
export let violationSite: u32 = 0;
export let violationValue: u64 = 0;

export function contextReset(): void {
  contextCpu = 0;
  context = 0;
  nesting = 0;
  contextOp = 0;
  violationKind = 0;
  violationSite = 0xffffffff;
  violationValue = 0;
}

/** Notes what a program did; the caller traps. The first one counts. */
export function noteViolation(kind: u32, site: u32, value: u64): void {
  if (violationKind != 0) return;
  violationKind = kind;
  violationSite = site;
  violationValue = value;
  fail(FAIL_BPF_VIOLATION, 0, contextCpu, kind);
}

/** A program did what the verifier would have refused: the run ends here. */
export function violate(kind: u32, value: u64): void {
  noteViolation(kind, 0xffffffff, value);
  unreachable();
}

/** Table slots of the object's functions: what a function pointer may be. */
let functionsLow: u32 = 0;
let functionCount: u32 = 0;

export function functionsSet(low: u32, count: u32): void {
  functionsLow = low;
  functionCount = count;
}

/** The table slot that a function pointer stands for: the table also holds functions that are not the object's. */
export function slotOf(pointer: u64): u32 {
  if (pointer - (functionsLow as u64) >= (functionCount as u64)) violate(VIOLATION_CALL, pointer);
  return pointer as u32;
}

// ---- calls --------------------------------------------------------------------------------------------------------------

/** Calls a function of the object as a callback of a helper. */
// @ts-ignore: decorator
@inline
export function callFunction(slot: u64, a: u64, b: u64, c: u64, d: u64): u64 {
  return call_indirect<u64>(slotOf(slot), a, b, c, d, 0 as u64);
}

/** Takes one from the budget, like a loop pass inside the program. */
// @ts-ignore: decorator
@inline
export function spend(): void {
  const left = load<i32>(BUDGET);
  if (left == 0) violate(3, 0);
  store<i32>(BUDGET, left - 1);
}

/** Calls callback `op` (its slot is not 0) on `cpu` with kfuncs allowed by `allowed`. */
export function callOp(op: u32, cpu: u32, allowed: u32, a: u64, b: u64, c: u64): u64 {
  // The run has failed already: nothing that a program does counts any more.
  if (failure != 0) return 0;
  const outerCpu = contextCpu;
  const outerContext = context;
  const outerOp = contextOp;
  if (nesting == MAX_NESTING) violate(VIOLATION_NESTING, 0);
  const outerSite = load<u32>(CALL_SITE);
  const args = ARGUMENTS + ((nesting as usize) << 6);
  if (nesting == 0) store<i32>(BUDGET, CALLBACK_BUDGET);
  nesting++;
  contextCpu = cpu;
  context = allowed;
  contextOp = op;
  store<u64>(args, a);
  store<u64>(args, b, 8);
  store<u64>(args, c, 16);
  const r = call_indirect<u64>(load<u32>(OPS_SLOTS + (op << 2)), args as u64, 0 as u64, 0 as u64, 0 as u64, 0 as u64);
  nesting--;
  store<u32>(CALL_SITE, outerSite);
  contextCpu = outerCpu;
  context = outerContext;
  contextOp = outerOp;
  return r;
}

/** Calls a timer's callback on `cpu`. */
export function callTimer(slot: u32, cpu: u32, map: u64, key: u64, value: u64): void {
  if (failure != 0) return;
  store<i32>(BUDGET, CALLBACK_BUDGET);
  nesting++;
  contextCpu = cpu;
  context = 0;
  call_indirect<u64>(slot, map, key, value, 0 as u64, 0 as u64);
  store<u32>(CALL_SITE, 0);
  nesting--;
}
