// Dispatch queues. Handle d = index << DSQ_SHIFT; index = CPU for local DSQs, then the global one, then user DSQs.
//
//     0  u32 kind     DSQ_EMPTY until the first insertion, then DSQ_FIFO or DSQ_VTIME (user DSQs are never mixed)
//     4  u32 nr       tasks queued
//     8  u32 first    head
//    12  u32 last     FIFO: tail; vtime: root of the tree
//
// A FIFO is a doubly linked list through the task records, a vtime queue a tree (kernel/tree.ts) over the same fields.

import { DECISION_DSQ } from '../abi';
import { comparing, detailing, recordDetail, recordInsertion } from './decisions';
import { explainedTask, explainQueued } from './explain';
import { DSQS, DSQ_SHIFT, MAX_CPUS } from '../core/layout';
import { fail, FAIL_DOUBLE_INSERT, FAIL_MIXED_DSQ, FAIL_VTIME_INTO_BUILTIN } from '../core/failure';
import { TASK_CPU, TASK_DSQ, TASK_NEXT, TASK_NODE_KEY, TASK_PID, TASK_PREV } from './task';
import { before, treeInsert, treeNext, treeRemove } from './tree';

export const DSQ_KIND: usize = DSQS + 0;
export const DSQ_NR: usize = DSQS + 4;
export const DSQ_FIRST: usize = DSQS + 8;
export const DSQ_LAST: usize = DSQS + 12;

const EMPTY: u32 = 0;
const FIFO: u32 = 1;
const VTIME: u32 = 2;

export const DSQ_NONE: u32 = 0xffffffff;
export const DSQ_GLOBAL: u32 = MAX_CPUS << DSQ_SHIFT;
/** The first user DSQ; the k-th is k records further. */
export const DSQ_USER: u32 = (MAX_CPUS + 1) << DSQ_SHIFT;

// @ts-ignore: decorator
@inline
export function dsqLocal(cpu: u32): u32 {
  return cpu << DSQ_SHIFT;
}

// @ts-ignore: decorator
@inline
export function dsqUser(k: u32): u32 {
  return DSQ_USER + (k << DSQ_SHIFT);
}

// @ts-ignore: decorator
@inline
export function dsqIsLocal(d: u32): bool {
  return d < DSQ_GLOBAL;
}

// @ts-ignore: decorator
@inline
export function dsqNr(d: u32): u32 {
  return load<u32>(d, DSQ_NR);
}

export function dsqReset(): void {
  memory.fill(DSQS, 0, (MAX_CPUS + 1) << DSQ_SHIFT);
}

/** Empties user DSQ k before the policy uses it. */
export function dsqCreate(k: u32): u32 {
  const d = dsqUser(k);
  memory.fill(DSQS + d, 0, 1 << DSQ_SHIFT);
  return d;
}

// @ts-ignore: decorator
@inline
function admit(d: u32, t: u32, kind: u32, vtime: u64): bool {
  if (load<u32>(t, TASK_DSQ) != DSQ_NONE) {
    fail(FAIL_DOUBLE_INSERT, load<u32>(t, TASK_PID), load<u32>(t, TASK_CPU), d >> DSQ_SHIFT);
    return false;
  }
  const known = load<u32>(d, DSQ_KIND);
  if (known != kind) {
    if (known != EMPTY) {
      fail(FAIL_MIXED_DSQ, load<u32>(t, TASK_PID), load<u32>(t, TASK_CPU), d >> DSQ_SHIFT);
      return false;
    }
    store<u32>(d, kind, DSQ_KIND);
  }
  if (t == explainedTask) explainQueued(d);
  if (detailing) recordDetail(DECISION_DSQ, t, d >> DSQ_SHIFT);
  if (comparing) recordInsertion(t, d >> DSQ_SHIFT, vtime);
  store<u32>(t, d, TASK_DSQ);
  store<u32>(d, load<u32>(d, DSQ_NR) + 1, DSQ_NR);
  return true;
}

export function dsqPushTail(d: u32, t: u32): void {
  if (!admit(d, t, FIFO, 0)) return;
  const last = load<u32>(d, DSQ_LAST);
  store<u32>(t, 0, TASK_NEXT);
  store<u32>(t, last, TASK_PREV);
  if (last != 0) store<u32>(last, t, TASK_NEXT);
  else store<u32>(d, t, DSQ_FIRST);
  store<u32>(d, t, DSQ_LAST);
}

export function dsqPushHead(d: u32, t: u32): void {
  if (!admit(d, t, FIFO, 0)) return;
  const first = load<u32>(d, DSQ_FIRST);
  store<u32>(t, first, TASK_NEXT);
  store<u32>(t, 0, TASK_PREV);
  if (first != 0) store<u32>(first, t, TASK_PREV);
  else store<u32>(d, t, DSQ_LAST);
  store<u32>(d, t, DSQ_FIRST);
}

/** Inserts by vtime, first in first out among equals. Built-in DSQs refuse it. */
export function dsqInsertVtime(d: u32, t: u32, vtime: u64): void {
  if (d <= DSQ_GLOBAL) {
    fail(FAIL_VTIME_INTO_BUILTIN, load<u32>(t, TASK_PID), load<u32>(t, TASK_CPU), d >> DSQ_SHIFT);
    return;
  }
  if (!admit(d, t, VTIME, vtime)) return;
  store<u64>(t, vtime, TASK_NODE_KEY);
  const first = load<u32>(d, DSQ_FIRST);
  if (first == 0 || before(vtime, load<u64>(first, TASK_NODE_KEY))) store<u32>(d, t, DSQ_FIRST);
  store<u32>(d, treeInsert(load<u32>(d, DSQ_LAST), t, false), DSQ_LAST);
}

/** Takes t out of the DSQ it is on. */
export function dsqRemove(t: u32): void {
  const d = load<u32>(t, TASK_DSQ);
  store<u32>(t, DSQ_NONE, TASK_DSQ);
  store<u32>(d, load<u32>(d, DSQ_NR) - 1, DSQ_NR);
  if (load<u32>(d, DSQ_KIND) == FIFO) {
    const next = load<u32>(t, TASK_NEXT);
    const prev = load<u32>(t, TASK_PREV);
    if (next != 0) store<u32>(next, prev, TASK_PREV);
    else store<u32>(d, prev, DSQ_LAST);
    if (prev != 0) store<u32>(prev, next, TASK_NEXT);
    else store<u32>(d, next, DSQ_FIRST);
  } else {
    if (load<u32>(d, DSQ_FIRST) == t) store<u32>(d, treeNext(t), DSQ_FIRST);
    store<u32>(d, treeRemove(load<u32>(d, DSQ_LAST), t, false), DSQ_LAST);
  }
}

/** Head of the queue, 0 if empty. */
// @ts-ignore: decorator
@inline
export function dsqFirst(d: u32): u32 {
  return load<u32>(d, DSQ_FIRST);
}

/** The task behind t in its queue, 0 at the end. */
// @ts-ignore: decorator
@inline
export function dsqNext(d: u32, t: u32): u32 {
  return load<u32>(d, DSQ_KIND) == FIFO ? load<u32>(t, TASK_NEXT) : treeNext(t);
}
