// What an object may touch. Pointers in BPF programs are engine addresses in 64 bits. Translated loads and stores check
// themselves (src/bpf/wasm/); here is what helpers and kfuncs check before they follow a pointer that a program gave them.

import { BPF_READ_LOW } from '../abi';
import { TASK_SHIFT, TASKS } from '../core/layout';
import { taskSlots } from '../kernel/task';
import { violate, VIOLATION_POINTER } from './context';
import { viewExists } from './task';

/** Loads may start here: below are tables of the engine and the page of NULL. */
export const READ_LOW: usize = BPF_READ_LOW;

/** Stack, map values and heap: [writeLow, writeHigh). Nothing of an object lies behind. */
export let writeLow: usize = 0;
export let writeHigh: usize = 0;

export function regionSet(low: usize, high: usize): void {
  writeLow = low;
  writeHigh = high;
}

/** Whether `bytes` at a pointer can be read: what follows a pointer without a check faults elsewhere. */
// @ts-ignore: decorator
@inline
export function isReadable(pointer: u64, bytes: u64): bool {
  return pointer >= (READ_LOW as u64) && pointer <= (writeHigh as u64) && bytes <= (writeHigh as u64) - pointer;
}

/** An address of `bytes` that a program may read. */
// @ts-ignore: decorator
@inline
export function readable(pointer: u64, bytes: u64): usize {
  if (!isReadable(pointer, bytes)) violate(VIOLATION_POINTER, pointer);
  return pointer as usize;
}

/** An address of `bytes` that a program may write. */
// @ts-ignore: decorator
@inline
export function writable(pointer: u64, bytes: u64): usize {
  if (pointer < (writeLow as u64) || pointer > (writeHigh as u64) || bytes > (writeHigh as u64) - pointer) violate(VIOLATION_POINTER, pointer);
  return pointer as usize;
}

/** Whether `t`, a multiple of the record's size, is the handle of a task. */
export function isTask(t: u32): bool {
  return t != 0 && (t as u64) < ((taskSlots() as u64) << TASK_SHIFT) && viewExists(t);
}

/** Task handle of a struct task_struct *; 0 is the idle task. */
// @ts-ignore: decorator
@inline
export function taskOf(pointer: u64): u32 {
  const t = pointer - (TASKS as u64);
  if (t >= ((taskSlots() as u64) << TASK_SHIFT) || (t & ((1 << TASK_SHIFT) - 1)) != 0) violate(VIOLATION_POINTER, pointer);
  if (!viewExists(t as u32)) violate(VIOLATION_POINTER, pointer);
  return t as u32;
}

/** struct task_struct * of a task. */
// @ts-ignore: decorator
@inline
export function taskPointer(t: u32): u64 {
  return (TASKS + t) as u64;
}
