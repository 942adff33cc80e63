// Loops that bench/micro.ts times: DSQ operations through the functions that the kernel and its policies use, without a
// crossing into Wasm per operation. CPU 0 dispatches; mask 1 of the model holds CPU 1 only.

import { CPU_SHIFT, CPUS, MASK_BYTES, MASKS, TASK_SHIFT, TASKS } from '../../assembly/core/layout';
import { mix64 } from '../../assembly/core/random';
import { CPU_CURR } from '../../assembly/kernel/cpu';
import { dsqCreate, dsqFirst, dsqInsertVtime, dsqPushTail, dsqRemove, dsqReset } from '../../assembly/kernel/dsq';
import { dsqMoveToLocal } from '../../assembly/kernel/ext';
import { maskInit, maskSet } from '../../assembly/kernel/mask';
import { TASK_CPU, TASK_DIRECT_DSQ, TASK_DSQ, TASK_MASK, TASK_NODE_KEY } from '../../assembly/kernel/task';

/** A new vtime lies up to twice the queue's own spread behind the head's, so that the spread stays what it is. */
const SPREAD: u64 = 2;

let queue: u32 = 0;
let length: u32 = 0;
let draws: u64 = 0;

// @ts-ignore: decorator
@inline
function draw(): u64 {
  return mix64(++draws * 0x9e3779b97f4a7c15);
}

// @ts-ignore: decorator
@inline
function nextKey(from: u64): u64 {
  return from + (draw() % (SPREAD * (length as u64) * 1000));
}

function begin(tasks: u32): void {
  maskInit(2);
  memory.fill(MASKS, 0xff, MASK_BYTES);
  memory.fill(MASKS + MASK_BYTES, 0, MASK_BYTES);
  maskSet(MASKS + MASK_BYTES, 1);
  memory.fill(CPUS, 0, 2 << CPU_SHIFT);
  // Something runs on CPU 0, so that nothing is woken.
  store<u32>(0, 1 << TASK_SHIFT, CPU_CURR);
  dsqReset();
  queue = dsqCreate(0);
  length = tasks;
  draws = 0;
  memory.fill(TASKS, 0, ((tasks + 1) as usize) << TASK_SHIFT);
  for (let i: u32 = 1; i <= tasks; i++) {
    store<u32>(i << TASK_SHIFT, 0xffffffff, TASK_DSQ);
    store<u32>(i << TASK_SHIFT, 0xffffffff, TASK_DIRECT_DSQ);
    store<u32>(i << TASK_SHIFT, 0, TASK_CPU);
  }
}

export function fillVtime(tasks: u32): void {
  begin(tasks);
  for (let i: u32 = 1; i <= tasks; i++) dsqInsertVtime(queue, i << TASK_SHIFT, nextKey(0));
}

export function fillFifo(tasks: u32): void {
  begin(tasks);
  for (let i: u32 = 1; i <= tasks; i++) dsqPushTail(queue, i << TASK_SHIFT);
}

/** The first `pinned` tasks in the queue may run on CPU 1 only. */
export function fillPinned(tasks: u32, pinned: u32): void {
  begin(tasks);
  for (let i: u32 = 1; i <= tasks; i++) {
    const far: u64 = i <= pinned ? 0 : 1 << 50;
    if (i <= pinned) store<u32>(i << TASK_SHIFT, 1, TASK_MASK);
    dsqInsertVtime(queue, i << TASK_SHIFT, nextKey(far));
  }
}

/** Takes the first task that may run there into CPU 0's local DSQ, from there to run, and queues it again behind others. */
export function serveVtime(times: u32): void {
  for (let n: u32 = 0; n < times; n++) {
    dsqMoveToLocal(queue);
    const t = dsqFirst(0);
    dsqRemove(t);
    dsqInsertVtime(queue, t, nextKey(load<u64>(t, TASK_NODE_KEY)));
  }
}

export function serveFifo(times: u32): void {
  for (let n: u32 = 0; n < times; n++) {
    dsqMoveToLocal(queue);
    const t = dsqFirst(0);
    dsqRemove(t);
    dsqPushTail(queue, t);
  }
}

/** Takes any task out and queues it again: what a change of its weight or affinity does. */
export function requeueVtime(times: u32): void {
  for (let n: u32 = 0; n < times; n++) {
    const t = ((draw() % (length as u64)) as u32 + 1) << TASK_SHIFT;
    const key = load<u64>(t, TASK_NODE_KEY);
    dsqRemove(t);
    dsqInsertVtime(queue, t, key);
  }
}

/** The draw that every operation above makes, alone. */
export function drawOnly(times: u32): u64 {
  let sum: u64 = 0;
  for (let n: u32 = 0; n < times; n++) sum += nextKey(n as u64);
  return sum;
}
