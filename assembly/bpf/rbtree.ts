// bpf_rb_root and bpf_rb_node: a search tree ordered by the program's own less(). Root (16 B): u32 first node, u32 leftmost.
// Node (32 B), inside an object of the heap:
//
//     0  u32 left   4  u32 right   8  u32 parent   12  u32 priority   16  u64 root it is in, 0 = none
//
// It is a treap whose priorities are hashes of addresses. Links are in the program's reach: each is checked before use.

import { mix64 } from '../core/random';
import { callFunction, spend } from './context';
import { writable } from './region';

const EINVAL: i64 = 22;
const NODE_BYTES: u64 = 32;
const LEFT: usize = 0;
const RIGHT: usize = 4;
const PARENT: usize = 8;
const PRIORITY: usize = 12;
const OWNER: usize = 16;
const TOP: usize = 0;
const FIRST: usize = 4;

/** A link, 0 or checked. */
// @ts-ignore: decorator
@inline
function link(at: usize): usize {
  const to = load<u32>(at) as u64;
  return to == 0 ? 0 : writable(to, NODE_BYTES);
}

function setLink(at: usize, to: usize): void {
  store<u32>(at, to as u32);
}

function replaceChild(root: usize, parent: usize, old: usize, child: usize): void {
  if (child != 0) setLink(child + PARENT, parent);
  if (parent == 0) setLink(root + TOP, child);
  else if (link(parent + LEFT) == old) setLink(parent + LEFT, child);
  else setLink(parent + RIGHT, child);
}

/** Lifts n above its parent. */
function rotateUp(root: usize, n: usize): void {
  const p = link(n + PARENT);
  if (p == 0) return;
  const isLeft = link(p + LEFT) == n;
  const inner = link(n + (isLeft ? RIGHT : LEFT));
  replaceChild(root, link(p + PARENT), p, n);
  setLink(p + (isLeft ? LEFT : RIGHT), inner);
  if (inner != 0) setLink(inner + PARENT, p);
  setLink(n + (isLeft ? RIGHT : LEFT), p);
  setLink(p + PARENT, n);
}

export function bpf_kfunc_bpf_rbtree_add_impl(root: u64, node: u64, less: u64, meta: u64, offset: u64): u64 {
  const r = writable(root, 16);
  const n = writable(node, NODE_BYTES);
  if (load<u64>(n, OWNER) != 0) return (-EINVAL) as u64;
  let parent: usize = 0;
  let at = link(r + TOP);
  let isLeft = false;
  let isFirst = true;
  while (at != 0) {
    spend();
    parent = at;
    isLeft = callFunction(less, node, at as u64, 0, 0) != 0;
    if (!isLeft) isFirst = false;
    at = link(at + (isLeft ? LEFT : RIGHT));
  }
  const priority = mix64(node) as u32;
  store<u64>(n, 0);
  store<u32>(n, parent as u32, PARENT);
  store<u32>(n, priority, PRIORITY);
  store<u64>(n, root, OWNER);
  if (parent == 0) setLink(r + TOP, n);
  else setLink(parent + (isLeft ? LEFT : RIGHT), n);
  if (isFirst) setLink(r + FIRST, n);
  while (parent != 0 && load<u32>(parent, PRIORITY) < priority) {
    spend();
    rotateUp(r, n);
    parent = link(n + PARENT);
  }
  return 0;
}

export function bpf_kfunc_bpf_rbtree_add(root: u64, node: u64, less: u64, meta: u64, offset: u64): u64 {
  return bpf_kfunc_bpf_rbtree_add_impl(root, node, less, meta, offset);
}

export function bpf_kfunc_bpf_rbtree_first(root: u64): u64 {
  return link(writable(root, 16) + FIRST) as u64;
}

export function bpf_kfunc_bpf_rbtree_root(root: u64): u64 {
  return link(writable(root, 16) + TOP) as u64;
}

export function bpf_kfunc_bpf_rbtree_left(root: u64, node: u64): u64 {
  return link(writable(node, NODE_BYTES) + LEFT) as u64;
}

export function bpf_kfunc_bpf_rbtree_right(root: u64, node: u64): u64 {
  return link(writable(node, NODE_BYTES) + RIGHT) as u64;
}

/** The node itself, 0 if it is not in this tree. */
export function bpf_kfunc_bpf_rbtree_remove(root: u64, node: u64): u64 {
  const r = writable(root, 16);
  const n = writable(node, NODE_BYTES);
  if (load<u64>(n, OWNER) != root) return 0;
  if (link(r + FIRST) == n) setLink(r + FIRST, nextOf(n));
  let left = link(n + LEFT);
  let right = link(n + RIGHT);
  while (left != 0 && right != 0) {
    spend();
    rotateUp(r, load<u32>(left, PRIORITY) >= load<u32>(right, PRIORITY) ? left : right);
    left = link(n + LEFT);
    right = link(n + RIGHT);
  }
  replaceChild(r, link(n + PARENT), n, left != 0 ? left : right);
  store<u64>(n, 0, OWNER);
  return node;
}

/** The node behind n in order, 0 at the end. */
function nextOf(n: usize): usize {
  let at = link(n + RIGHT);
  if (at != 0) {
    for (let left = link(at + LEFT); left != 0; left = link(at + LEFT)) {
      spend();
      at = left;
    }
    return at;
  }
  let below = n;
  at = link(n + PARENT);
  while (at != 0 && link(at + RIGHT) == below) {
    spend();
    below = at;
    at = link(at + PARENT);
  }
  return at;
}
