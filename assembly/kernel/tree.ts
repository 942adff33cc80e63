// Intrusive balanced search tree over task records: a treap, ordered by the wrapping comparison of node_key,
// first in first out among equal keys. It serves vtime-ordered DSQs (plain) and fair run queues (augmented by the
// smallest vruntime of each subtree); `augmented` is a compile-time constant at every call, so each use gets its
// own specialised code.
//
// The heap priority of a node is a hash of its slot and key: expected depth O(log n), and the same on every machine.

import { mix64 } from '../core/random';
import {
  TASK_CLASS_STATE,
  TASK_LEFT,
  TASK_NODE_KEY,
  TASK_PARENT_NODE,
  TASK_PRIORITY,
  TASK_RIGHT,
} from './task';

/** Fair class state used by the augmentation; kernel/fair.ts owns the rest. */
export const TASK_VRUNTIME: usize = TASK_CLASS_STATE + 0;
export const TASK_MIN_VRUNTIME: usize = TASK_CLASS_STATE + 8;

/** a strictly before b in circular u64 order, as (s64)(a - b) < 0 in the kernel. */
// @ts-ignore: decorator
@inline
export function before(a: u64, b: u64): bool {
  return ((a - b) as i64) < 0;
}

/** Recomputes the augmentation of one node from its children. */
// @ts-ignore: decorator
@inline
function refresh(n: u32): void {
  let m = load<u64>(n, TASK_VRUNTIME);
  const l = load<u32>(n, TASK_LEFT);
  const r = load<u32>(n, TASK_RIGHT);
  if (l != 0) {
    const v = load<u64>(l, TASK_MIN_VRUNTIME);
    m = select<u64>(v, m, before(v, m));
  }
  if (r != 0) {
    const v = load<u64>(r, TASK_MIN_VRUNTIME);
    m = select<u64>(v, m, before(v, m));
  }
  store<u64>(n, m, TASK_MIN_VRUNTIME);
}

/** Puts `child` in the place of `n` under n's parent; returns the new root. */
// @ts-ignore: decorator
@inline
function replaceChild(root: u32, n: u32, child: u32): u32 {
  const p = load<u32>(n, TASK_PARENT_NODE);
  if (child != 0) store<u32>(child, p, TASK_PARENT_NODE);
  if (p == 0) return child;
  if (load<u32>(p, TASK_LEFT) == n) store<u32>(p, child, TASK_LEFT);
  else store<u32>(p, child, TASK_RIGHT);
  return root;
}

/** Lifts n above its parent, keeping the order; returns the new root. */
// @ts-ignore: decorator
@inline
function rotateUp(root: u32, n: u32, augmented: bool): u32 {
  const p = load<u32>(n, TASK_PARENT_NODE);
  const top = replaceChild(root, p, n);
  if (load<u32>(p, TASK_LEFT) == n) {
    const inner = load<u32>(n, TASK_RIGHT);
    store<u32>(p, inner, TASK_LEFT);
    if (inner != 0) store<u32>(inner, p, TASK_PARENT_NODE);
    store<u32>(n, p, TASK_RIGHT);
  } else {
    const inner = load<u32>(n, TASK_LEFT);
    store<u32>(p, inner, TASK_RIGHT);
    if (inner != 0) store<u32>(inner, p, TASK_PARENT_NODE);
    store<u32>(n, p, TASK_LEFT);
  }
  store<u32>(p, n, TASK_PARENT_NODE);
  if (augmented) {
    refresh(p);
    refresh(n);
  }
  return top;
}

// @ts-ignore: decorator
@inline
function refreshUpwards(n: u32): void {
  while (n != 0) {
    refresh(n);
    n = load<u32>(n, TASK_PARENT_NODE);
  }
}

/** Inserts n, whose node_key is set, behind all nodes with the same key; returns the new root. */
// @ts-ignore: decorator
@inline
export function treeInsert(root: u32, n: u32, augmented: bool): u32 {
  const key = load<u64>(n, TASK_NODE_KEY);
  let p: u32 = 0;
  let x = root;
  let left = false;
  while (x != 0) {
    p = x;
    left = before(key, load<u64>(x, TASK_NODE_KEY));
    x = left ? load<u32>(x, TASK_LEFT) : load<u32>(x, TASK_RIGHT);
  }
  const priority = mix64(key ^ ((n as u64) << 40)) as u32;
  store<u32>(n, 0, TASK_LEFT);
  store<u32>(n, 0, TASK_RIGHT);
  store<u32>(n, p, TASK_PARENT_NODE);
  store<u32>(n, priority, TASK_PRIORITY);
  if (p == 0) {
    if (augmented) refresh(n);
    return n;
  }
  if (left) store<u32>(p, n, TASK_LEFT);
  else store<u32>(p, n, TASK_RIGHT);
  if (augmented) refreshUpwards(n);
  while (p != 0 && load<u32>(p, TASK_PRIORITY) < priority) {
    root = rotateUp(root, n, augmented);
    p = load<u32>(n, TASK_PARENT_NODE);
  }
  return root;
}

/** Removes n; returns the new root. */
// @ts-ignore: decorator
@inline
export function treeRemove(root: u32, n: u32, augmented: bool): u32 {
  let l = load<u32>(n, TASK_LEFT);
  let r = load<u32>(n, TASK_RIGHT);
  while (l != 0 && r != 0) {
    const lift = load<u32>(l, TASK_PRIORITY) >= load<u32>(r, TASK_PRIORITY) ? l : r;
    root = rotateUp(root, lift, augmented);
    l = load<u32>(n, TASK_LEFT);
    r = load<u32>(n, TASK_RIGHT);
  }
  const p = load<u32>(n, TASK_PARENT_NODE);
  root = replaceChild(root, n, l == 0 ? r : l);
  if (augmented) refreshUpwards(p);
  return root;
}

/** Leftmost node of the subtree at n. */
// @ts-ignore: decorator
@inline
export function treeFirst(n: u32): u32 {
  if (n == 0) return 0;
  let l = load<u32>(n, TASK_LEFT);
  while (l != 0) {
    n = l;
    l = load<u32>(n, TASK_LEFT);
  }
  return n;
}

/** In-order successor of n, 0 at the end. */
// @ts-ignore: decorator
@inline
export function treeNext(n: u32): u32 {
  const r = load<u32>(n, TASK_RIGHT);
  if (r != 0) return treeFirst(r);
  let p = load<u32>(n, TASK_PARENT_NODE);
  while (p != 0 && load<u32>(p, TASK_RIGHT) == n) {
    n = p;
    p = load<u32>(n, TASK_PARENT_NODE);
  }
  return p;
}
