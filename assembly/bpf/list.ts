// bpf_list_head and bpf_list_node: doubly linked lists. Head (16 B): u32 first, u32 last. Node (24 B), inside an object of the
// heap: u32 next, u32 previous, u64 unused, u64 head it is in (0 = none). Links are checked before use.

import { writable } from './region';

const EINVAL: i64 = 22;
const NODE_BYTES: u64 = 24;
const NEXT: usize = 0;
const PREVIOUS: usize = 4;
const OWNER: usize = 16;

function link(at: usize): usize {
  const to = load<u32>(at) as u64;
  return to == 0 ? 0 : writable(to, NODE_BYTES);
}

/** Inserts at one end; `end` and `other` are the links towards it and away from it. */
function push(head: u64, node: u64, front: bool): u64 {
  const h = writable(head, 16);
  const n = writable(node, NODE_BYTES);
  if (load<u64>(n, OWNER) != 0) return (-EINVAL) as u64;
  const end: usize = front ? NEXT : PREVIOUS;
  const other: usize = front ? PREVIOUS : NEXT;
  const neighbour = link(h + end);
  store<u32>(n + end, neighbour as u32);
  store<u32>(n + other, 0);
  store<u64>(n, head, OWNER);
  store<u32>(h + end, n as u32);
  store<u32>(neighbour != 0 ? neighbour + other : h + other, n as u32);
  return 0;
}

function pop(head: u64, front: bool): u64 {
  const h = writable(head, 16);
  const end: usize = front ? NEXT : PREVIOUS;
  const other: usize = front ? PREVIOUS : NEXT;
  const n = link(h + end);
  if (n == 0) return 0;
  const neighbour = link(n + end);
  store<u32>(h + end, neighbour as u32);
  store<u32>(neighbour != 0 ? neighbour + other : h + other, 0);
  store<u64>(n, 0, OWNER);
  return n as u64;
}

export function bpf_kfunc_bpf_list_push_front_impl(head: u64, node: u64, meta: u64, offset: u64): u64 {
  return push(head, node, true);
}

export function bpf_kfunc_bpf_list_push_back_impl(head: u64, node: u64, meta: u64, offset: u64): u64 {
  return push(head, node, false);
}

export function bpf_kfunc_bpf_list_push_front(head: u64, node: u64, meta: u64, offset: u64): u64 {
  return push(head, node, true);
}

export function bpf_kfunc_bpf_list_push_back(head: u64, node: u64, meta: u64, offset: u64): u64 {
  return push(head, node, false);
}

export function bpf_kfunc_bpf_list_pop_front(head: u64): u64 {
  return pop(head, true);
}

export function bpf_kfunc_bpf_list_pop_back(head: u64): u64 {
  return pop(head, false);
}

export function bpf_kfunc_bpf_list_front(head: u64): u64 {
  return link(writable(head, 16) + NEXT) as u64;
}

export function bpf_kfunc_bpf_list_back(head: u64): u64 {
  return link(writable(head, 16) + PREVIOUS) as u64;
}
