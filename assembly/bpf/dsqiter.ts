// bpf_for_each(scx_dsq, …): walks a user DSQ and moves tasks out of it. The iterator is 48 B of the program's stack:
//
//     0  u32 DSQ handle + 1, 0 = over   4  u32 next task   8  u64 flags   16  u64 slice   24  u64 vtime
//
// The task that comes next is known when one is given out, since that one may be moved. All of it is checked when used: a
// program can write its stack.

import { MAX_DSQS, DSQ_SHIFT } from '../core/layout';
import { DSQ_GLOBAL, DSQ_NONE, dsqFirst, dsqNext } from '../kernel/dsq';
import { TASK_DSQ, TASK_SLICE, TASK_VTIME, taskSlots } from '../kernel/task';
import { TASK_SHIFT } from '../core/layout';
import { userDsq } from './dsqid';
import { ENQ_DSQ_PRIQ, moveTo } from './insert';
import { taskOf, taskPointer, writable } from './region';

const BYTES: u64 = 48;
const REVERSE: u64 = 1 << 16;
const HAS_SLICE: u64 = 1 << 30;
const HAS_VTIME: u64 = 1 << 31;

const EINVAL: i64 = 22;
const ENOENT: i64 = 2;

export function bpf_kfunc_bpf_iter_scx_dsq_new(iterator: u64, id: u64, flags: u64): u64 {
  const it = writable(iterator, BYTES);
  memory.fill(it, 0, BYTES as usize);
  if ((flags & ~REVERSE) != 0) return (-EINVAL) as u64;
  const d = userDsq(id);
  if (d == DSQ_NONE) return (-ENOENT) as u64;
  store<u32>(it, d + 1);
  store<u64>(it, flags, 8);
  store<u32>(it, flags == 0 ? dsqFirst(d) : lastBefore(d, 0), 4);
  return 0;
}

/** The task whose successor in d is t; of 0 the last one. */
function lastBefore(d: u32, t: u32): u32 {
  let at = dsqFirst(d);
  let before: u32 = 0;
  while (at != 0 && at != t) {
    before = at;
    at = dsqNext(d, at);
  }
  return before;
}

/** Its DSQ, DSQ_NONE if it has none. */
function dsqOf(it: usize): u32 {
  const d = load<u32>(it) - 1;
  const valid = d > DSQ_GLOBAL && d < MAX_DSQS << DSQ_SHIFT && (d & ((1 << DSQ_SHIFT) - 1)) == 0;
  return valid ? d : DSQ_NONE;
}

export function bpf_kfunc_bpf_iter_scx_dsq_next(iterator: u64): u64 {
  const it = writable(iterator, BYTES);
  const d = dsqOf(it);
  const t = load<u32>(it, 4);
  const valid = t != 0 && t < taskSlots() << TASK_SHIFT && (t & ((1 << TASK_SHIFT) - 1)) == 0;
  if (d == DSQ_NONE || !valid || load<u32>(t, TASK_DSQ) != d) return 0;
  store<u32>(it, (load<u64>(it, 8) & REVERSE) == 0 ? dsqNext(d, t) : lastBefore(d, t), 4);
  return taskPointer(t);
}

export function bpf_kfunc_bpf_iter_scx_dsq_destroy(iterator: u64): u64 {
  store<u32>(writable(iterator, BYTES), 0);
  return 0;
}

export function bpf_kfunc_scx_bpf_dsq_move_set_slice(iterator: u64, slice: u64): u64 {
  const it = writable(iterator, BYTES);
  store<u64>(it, slice, 16);
  store<u64>(it, load<u64>(it, 8) | HAS_SLICE, 8);
  return 0;
}

export function bpf_kfunc_scx_bpf_dsq_move_set_vtime(iterator: u64, vtime: u64): u64 {
  const it = writable(iterator, BYTES);
  store<u64>(it, vtime, 24);
  store<u64>(it, load<u64>(it, 8) | HAS_VTIME, 8);
  return 0;
}

function move(iterator: u64, task: u64, id: u64, flags: u64): u64 {
  const it = writable(iterator, BYTES);
  const t = taskOf(task);
  const d = dsqOf(it);
  const given = load<u64>(it, 8);
  // What was set holds for one move.
  store<u64>(it, given & ~(HAS_SLICE | HAS_VTIME), 8);
  if (d == DSQ_NONE || load<u32>(t, TASK_DSQ) != d) return 0;
  if ((given & HAS_SLICE) != 0) store<u64>(t, load<u64>(it, 16), TASK_SLICE);
  if ((given & HAS_VTIME) != 0) store<u64>(t, load<u64>(it, 24), TASK_VTIME);
  moveTo(t, id, flags);
  return 1;
}

export function bpf_kfunc_scx_bpf_dsq_move(iterator: u64, task: u64, id: u64, flags: u64): u64 {
  return move(iterator, task, id, flags & ~ENQ_DSQ_PRIQ);
}

export function bpf_kfunc_scx_bpf_dsq_move_vtime(iterator: u64, task: u64, id: u64, flags: u64): u64 {
  return move(iterator, task, id, flags | ENQ_DSQ_PRIQ);
}

// Names of 6.12.

export function bpf_kfunc_scx_bpf_dispatch_from_dsq_set_slice(iterator: u64, slice: u64): u64 {
  return bpf_kfunc_scx_bpf_dsq_move_set_slice(iterator, slice);
}

export function bpf_kfunc_scx_bpf_dispatch_from_dsq_set_vtime(iterator: u64, vtime: u64): u64 {
  return bpf_kfunc_scx_bpf_dsq_move_set_vtime(iterator, vtime);
}

export function bpf_kfunc_scx_bpf_dispatch_from_dsq(iterator: u64, task: u64, id: u64, flags: u64): u64 {
  return bpf_kfunc_scx_bpf_dsq_move(iterator, task, id, flags);
}

export function bpf_kfunc_scx_bpf_dispatch_vtime_from_dsq(iterator: u64, task: u64, id: u64, flags: u64): u64 {
  return bpf_kfunc_scx_bpf_dsq_move_vtime(iterator, task, id, flags);
}
