// Kfuncs of general use: references, iterators, sections without preemption, objects of the program's own types.

import { TASK_SHIFT } from '../core/layout';
import { TASK_CGROUP, taskSlots } from '../kernel/task';
import { cgroupAncestor, cgroupOf, cgroupPointer, cgroupWithId } from './cgroup';
import { violate, VIOLATION_POINTER } from './context';
import { heapAllocate, heapFree, heapKind, KIND_TYPE } from './heap';
import { taskOf, taskPointer, writable } from './region';
import { MAX_TYPES, TYPES } from './state';
import { viewExists } from './task';

const EINVAL: i64 = 22;
const E2BIG: i64 = 7;
const MAX_LOOPS: i64 = 8388608;

// ---- references: nothing that a program holds goes away within a callback -----------------------------------------------

export function bpf_kfunc_bpf_task_acquire(task: u64): u64 {
  taskOf(task);
  return task;
}

export function bpf_kfunc_bpf_task_release(task: u64): u64 {
  return 0;
}

export function bpf_kfunc_bpf_task_from_pid(pid: u64): u64 {
  const slot = pid as u32;
  if (slot == 0 || slot >= taskSlots()) return 0;
  const t = slot << TASK_SHIFT;
  return viewExists(t) ? taskPointer(t) : 0;
}

export function bpf_kfunc_bpf_task_from_vpid(pid: u64): u64 {
  return bpf_kfunc_bpf_task_from_pid(pid);
}

export function bpf_kfunc_bpf_cgroup_acquire(cgroup: u64): u64 {
  cgroupOf(cgroup);
  return cgroup;
}

export function bpf_kfunc_bpf_cgroup_release(cgroup: u64): u64 {
  return 0;
}

export function bpf_kfunc_bpf_cgroup_ancestor(cgroup: u64, level: u64): u64 {
  return cgroupAncestor(cgroup, level as i32);
}

export function bpf_kfunc_bpf_cgroup_from_id(id: u64): u64 {
  return cgroupWithId(id);
}

export function bpf_kfunc_bpf_task_under_cgroup(task: u64, ancestor: u64): u64 {
  const own = cgroupPointer(load<u32>(taskOf(task), TASK_CGROUP));
  for (let level: i32 = 0; ; level++) {
    const at = cgroupAncestor(own, level);
    if (at == 0) return 0;
    if (at == ancestor) return 1;
  }
  return 0;
}

// ---- sections -----------------------------------------------------------------------------------------------------------

export function bpf_kfunc_bpf_rcu_read_lock(): u64 {
  return 0;
}

export function bpf_kfunc_bpf_rcu_read_unlock(): u64 {
  return 0;
}

export function bpf_kfunc_bpf_preempt_disable(): u64 {
  return 0;
}

export function bpf_kfunc_bpf_preempt_enable(): u64 {
  return 0;
}

export function bpf_kfunc_bpf_local_irq_save(flags: u64): u64 {
  return 0;
}

export function bpf_kfunc_bpf_local_irq_restore(flags: u64): u64 {
  return 0;
}

export function bpf_kfunc_bpf_rdonly_cast(pointer: u64, type: u64): u64 {
  return pointer;
}

export function bpf_kfunc_bpf_cast_to_kern_ctx(pointer: u64): u64 {
  return pointer;
}

// ---- bpf_for(): 8 B of the stack, s32 current and s32 end ---------------------------------------------------------------

export function bpf_kfunc_bpf_iter_num_new(iterator: u64, start: u64, end: u64): u64 {
  const it = writable(iterator, 8);
  const from = start as i32;
  const to = end as i32;
  store<u64>(it, 0);
  if (from > to) return (-EINVAL) as u64;
  if ((to as i64) - (from as i64) > MAX_LOOPS) return (-E2BIG) as u64;
  store<i32>(it, from - 1);
  store<i32>(it, to, 4);
  return 0;
}

export function bpf_kfunc_bpf_iter_num_next(iterator: u64): u64 {
  const it = writable(iterator, 8);
  const next = load<i32>(it) + 1;
  if (next >= load<i32>(it, 4)) {
    store<u64>(it, 0);
    return 0;
  }
  store<i32>(it, next);
  return iterator;
}

export function bpf_kfunc_bpf_iter_num_destroy(iterator: u64): u64 {
  return 0;
}

// ---- objects ------------------------------------------------------------------------------------------------------------

/** Entry of a BTF id in TYPES, −1 if the object has no such type. */
function typeOf(id: u64): i32 {
  for (let i: u32 = 0; i < MAX_TYPES; i++) {
    const at = TYPES + ((i as usize) << 4);
    if (load<u32>(at, 4) == 0) return -1;
    if ((load<u32>(at) as u64) == id) return i as i32;
  }
  return -1;
}

export function bpf_kfunc_bpf_obj_new_impl(id: u64, meta: u64): u64 {
  const type = typeOf(id);
  // Kinds are bytes: the last types share one, and with it where their count of references is.
  if (type < 0 || type >= 256 - (KIND_TYPE as i32)) violate(VIOLATION_POINTER, id);
  const r = TYPES + ((type as usize) << 4);
  const at = heapAllocate(load<u32>(r, 4), (KIND_TYPE as i32 + type) as u8);
  const count = load<u32>(r, 8);
  if (at != 0 && count != 0) store<u32>(at + count - 1, 1);
  return at as u64;
}

export function bpf_kfunc_bpf_obj_new(id: u64, meta: u64): u64 {
  return bpf_kfunc_bpf_obj_new_impl(id, meta);
}

/** Address of an object's count of references, 0 if its type has none. */
function countOf(object: u64): usize {
  const kind = heapKind(object);
  if (kind < KIND_TYPE) violate(VIOLATION_POINTER, object);
  const count = load<u32>(TYPES + (((kind - KIND_TYPE) as usize) << 4), 8);
  return count == 0 ? 0 : (object as usize) + count - 1;
}

export function bpf_kfunc_bpf_obj_drop_impl(object: u64, meta: u64): u64 {
  const count = countOf(object);
  if (count != 0) {
    const left = load<u32>(count) - 1;
    store<u32>(count, left);
    if (left != 0) return 0;
  }
  heapFree(object as usize);
  return 0;
}

export function bpf_kfunc_bpf_obj_drop(object: u64, meta: u64): u64 {
  return bpf_kfunc_bpf_obj_drop_impl(object, meta);
}

export function bpf_kfunc_bpf_refcount_acquire_impl(object: u64, meta: u64): u64 {
  const count = countOf(object);
  if (count == 0) violate(VIOLATION_POINTER, object);
  store<u32>(count, load<u32>(count) + 1);
  return object;
}

export function bpf_kfunc_bpf_refcount_acquire(object: u64, meta: u64): u64 {
  return bpf_kfunc_bpf_refcount_acquire_impl(object, meta);
}
