// Helpers, by the kernel's names behind bpf_helper_. All parameters and results are 64 bits, as in the BPF calling convention;
// src/bpf/runtime/supported.ts lists them. Negative results are errnos.

import { BPF_NULL, CPU_SHIFT, TASK_SHIFT, TASKS } from '../core/layout';
import { MAP_CGRP_STORAGE, MAP_TASK_STORAGE, MAP_TYPE, P_HZ } from '../abi';
import { param } from '../core/counters';
import { CPU_CURR } from '../kernel/cpu';
import { nrCpus } from '../kernel/mask';
import { TASK_CGROUP, TASK_PID, TASK_SLICE, TASK_VTIME } from '../kernel/task';
import { cgroupOf, cgroupPointer } from './cgroup';
import { clock } from './clock';
import { callFunction, contextCpu, noteViolation, spend, violate, VIOLATION_LOCK, VIOLATION_POINTER } from './context';
import { formatInto } from './format';
import { EINVAL, ENOENT, mapDelete, mapForEach, mapLookup, mapLookupOn, mapOf, mapUpdate, queuePush, queueTake } from './map';
import { printed } from './message';
import { drawU32 } from './random';
import { isReadable, isTask, readable, taskOf, taskPointer, writable } from './region';
import { ringReserve } from './ringbuf';
import { PRINTK_ARGUMENTS } from './state';
import { storageDelete, storageGet } from './storage';
import { VIEW_COMM, VIEW_DISALLOW, VIEW_TGID, viewRegs } from './task';
import { timerCancel, timerInit, timerSetCallback, timerStart } from './timer';

const E2BIG: i64 = 7;
const EFAULT: i64 = 14;
/** BPF_MAX_LOOPS */
const MAX_LOOPS: u64 = 8388608;

// ---- what translated modules need beside helpers ------------------------------------------------------------------------

export function bpf_violation(kind: u32, site: u32, value: u64): void {
  noteViolation(kind, site, value);
}

/** A store outside the writable region: permitted for slice, dsq_vtime and disallow of a task. */
export function bpf_write_task(address: u64, value: u64, bytes: u32): u32 {
  const at = address - (TASKS as u64);
  const t = (at & ~255) as u32;
  if (at < (BPF_NULL as u64)) {
    if (bytes != 8 || !isTask(t)) return 0;
    if ((t as usize) + TASK_SLICE == address) store<u64>(t, value, TASK_SLICE);
    else if ((t as usize) + TASK_VTIME == address) store<u64>(t, value, TASK_VTIME);
    else return 0;
    return 1;
  }
  const v = ((at - (BPF_NULL as u64)) & ~255) as u32;
  if (bytes != 1 || !isTask(v) || (v as usize) + VIEW_DISALLOW != address) return 0;
  store<u8>(v, value as u8, VIEW_DISALLOW);
  return 1;
}

// ---- maps ---------------------------------------------------------------------------------------------------------------

export function bpf_helper_map_lookup_elem(map: u64, key: u64): u64 {
  return mapLookup(mapOf(map), key);
}

export function bpf_helper_map_lookup_percpu_elem(map: u64, key: u64, cpu: u64): u64 {
  return mapLookupOn(mapOf(map), key, cpu as u32);
}

export function bpf_helper_map_update_elem(map: u64, key: u64, value: u64, flags: u64): u64 {
  return mapUpdate(mapOf(map), key, value, flags) as u64;
}

export function bpf_helper_map_delete_elem(map: u64, key: u64): u64 {
  return mapDelete(mapOf(map), key) as u64;
}

export function bpf_helper_map_push_elem(map: u64, value: u64, flags: u64): u64 {
  return queuePush(mapOf(map), value, flags) as u64;
}

export function bpf_helper_map_pop_elem(map: u64, value: u64): u64 {
  return queueTake(mapOf(map), value, true) as u64;
}

export function bpf_helper_map_peek_elem(map: u64, value: u64): u64 {
  return queueTake(mapOf(map), value, false) as u64;
}

export function bpf_helper_for_each_map_elem(map: u64, callback: u64, context: u64, flags: u64): u64 {
  return flags != 0 ? ((-EINVAL) as u64) : (mapForEach(mapOf(map), callback, context) as u64);
}

export function bpf_helper_task_storage_get(map: u64, task: u64, value: u64, flags: u64): u64 {
  if (task == 0) return 0;
  const m = mapOf(map);
  if (load<u32>(m, MAP_TYPE) != MAP_TASK_STORAGE) violate(VIOLATION_POINTER, map);
  return storageGet(m, taskOf(task) >> TASK_SHIFT, value, flags);
}

export function bpf_helper_task_storage_delete(map: u64, task: u64): u64 {
  if (task == 0) return (-EINVAL) as u64;
  const m = mapOf(map);
  if (load<u32>(m, MAP_TYPE) != MAP_TASK_STORAGE) violate(VIOLATION_POINTER, map);
  return storageDelete(m, taskOf(task) >> TASK_SHIFT) ? 0 : ((-ENOENT) as u64);
}

export function bpf_helper_cgrp_storage_get(map: u64, cgroup: u64, value: u64, flags: u64): u64 {
  if (cgroup == 0) return 0;
  const m = mapOf(map);
  if (load<u32>(m, MAP_TYPE) != MAP_CGRP_STORAGE) violate(VIOLATION_POINTER, map);
  return storageGet(m, cgroupOf(cgroup), value, flags);
}

export function bpf_helper_cgrp_storage_delete(map: u64, cgroup: u64): u64 {
  if (cgroup == 0) return (-EINVAL) as u64;
  const m = mapOf(map);
  if (load<u32>(m, MAP_TYPE) != MAP_CGRP_STORAGE) violate(VIOLATION_POINTER, map);
  return storageDelete(m, cgroupOf(cgroup)) ? 0 : ((-ENOENT) as u64);
}

export function bpf_helper_kptr_xchg(at: u64, pointer: u64): u64 {
  const a = writable(at, 8);
  const old = load<u64>(a);
  store<u64>(a, pointer);
  return old;
}

// ---- loops, timers, locks -----------------------------------------------------------------------------------------------

export function bpf_helper_loop(count: u64, callback: u64, context: u64, flags: u64): u64 {
  if (flags != 0) return (-EINVAL) as u64;
  const n = count & 0xffffffff;
  if (n > MAX_LOOPS) return (-E2BIG) as u64;
  for (let i: u64 = 0; i < n; i++) {
    spend();
    if (callFunction(callback, i, context, 0, 0) != 0) return i + 1;
  }
  return n;
}

export function bpf_helper_timer_init(timer: u64, map: u64, flags: u64): u64 {
  return timerInit(timer, mapOf(map)) as u64;
}

export function bpf_helper_timer_set_callback(timer: u64, callback: u64): u64 {
  return timerSetCallback(timer, callback) as u64;
}

export function bpf_helper_timer_start(timer: u64, ns: u64, flags: u64): u64 {
  return timerStart(timer, ns, flags) as u64;
}

export function bpf_helper_timer_cancel(timer: u64): u64 {
  return timerCancel(timer) as u64;
}

/** One CPU after the other: a lock is free unless its own holder asks again. */
export function bpf_helper_spin_lock(lock: u64): u64 {
  const at = writable(lock, 4);
  if (load<u32>(at) != 0) violate(VIOLATION_LOCK, lock);
  store<u32>(at, 1);
  return 0;
}

export function bpf_helper_spin_unlock(lock: u64): u64 {
  const at = writable(lock, 4);
  if (load<u32>(at) == 0) violate(VIOLATION_LOCK, lock);
  store<u32>(at, 0);
  return 0;
}

// ---- where, when, who ---------------------------------------------------------------------------------------------------

export function bpf_helper_ktime_get_ns(): u64 {
  return clock();
}

export function bpf_helper_ktime_get_boot_ns(): u64 {
  return clock();
}

/** The clock of the last tick; here it is exact. */
export function bpf_helper_ktime_get_coarse_ns(): u64 {
  return clock();
}

export function bpf_helper_jiffies64(): u64 {
  return (clock() * param(P_HZ)) / 1000000000;
}

export function bpf_helper_get_smp_processor_id(): u64 {
  return contextCpu as u64;
}

export function bpf_helper_get_numa_node_id(): u64 {
  return 0;
}

export function bpf_helper_get_prandom_u32(): u64 {
  return drawU32() as u64;
}

// @ts-ignore: decorator
@inline
function current(): u32 {
  return load<u32>(contextCpu << CPU_SHIFT, CPU_CURR);
}

export function bpf_helper_get_current_task(): u64 {
  return taskPointer(current());
}

export function bpf_helper_get_current_task_btf(): u64 {
  return taskPointer(current());
}

export function bpf_helper_task_pt_regs(task: u64): u64 {
  return viewRegs(taskOf(task));
}

export function bpf_helper_get_current_pid_tgid(): u64 {
  const t = current();
  return ((load<u32>(t, VIEW_TGID) as u64) << 32) | (load<u32>(t, TASK_PID) as u64);
}

export function bpf_helper_get_current_comm(buffer: u64, bytes: u64): u64 {
  const size = bytes < 16 ? bytes : 16;
  memory.copy(writable(buffer, bytes), VIEW_COMM + current(), size as usize);
  return 0;
}

export function bpf_helper_get_current_cgroup_id(): u64 {
  return load<u64>((cgroupPointer(load<u32>(current(), TASK_CGROUP)) as usize) + 8);
}

/** Per-CPU variables of the kernel: there are none, so these see pointers of the program's own only. */
export function bpf_helper_per_cpu_ptr(pointer: u64, cpu: u64): u64 {
  return (cpu as u32) < nrCpus ? pointer : 0;
}

export function bpf_helper_this_cpu_ptr(pointer: u64): u64 {
  return pointer;
}

// ---- ring buffers -------------------------------------------------------------------------------------------------------

export function bpf_helper_ringbuf_reserve(map: u64, bytes: u64, flags: u64): u64 {
  return ringReserve(mapOf(map), bytes);
}

export function bpf_helper_ringbuf_submit(record: u64, flags: u64): u64 {
  return 0;
}

export function bpf_helper_ringbuf_discard(record: u64, flags: u64): u64 {
  return 0;
}

export function bpf_helper_ringbuf_output(map: u64, data: u64, bytes: u64, flags: u64): u64 {
  const to = ringReserve(mapOf(map), bytes);
  if (to == 0) return (-11 as i64) as u64;
  memory.copy(to as usize, readable(data, bytes), bytes as usize);
  return 0;
}

/** Nothing ever waits in it. */
export function bpf_helper_ringbuf_query(map: u64, flags: u64): u64 {
  return 0;
}

// ---- text and memory ----------------------------------------------------------------------------------------------------

export function bpf_helper_trace_printk(format: u64, bytes: u64, a: u64, b: u64, c: u64): u64 {
  store<u64>(PRINTK_ARGUMENTS, a);
  store<u64>(PRINTK_ARGUMENTS, b, 8);
  store<u64>(PRINTK_ARGUMENTS, c, 16);
  return printed(format, PRINTK_ARGUMENTS as u64, 24) as u64;
}

export function bpf_helper_trace_vprintk(format: u64, bytes: u64, data: u64, dataBytes: u64): u64 {
  return printed(format, data, dataBytes) as u64;
}

export function bpf_helper_snprintf(to: u64, size: u64, format: u64, data: u64, dataBytes: u64): u64 {
  const at: usize = size == 0 ? (0 as usize) : writable(to, size);
  return (formatInto(at, size as u32, format, data, dataBytes) + 1) as u64;
}

/** A fault zeroes the destination. */
export function bpf_helper_probe_read_kernel(to: u64, bytes: u64, from: u64): u64 {
  const at = writable(to, bytes);
  if (!isReadable(from, bytes)) {
    memory.fill(at, 0, bytes as usize);
    return (-EFAULT) as u64;
  }
  memory.copy(at, from as usize, bytes as usize);
  return 0;
}

/** Length with the NUL. */
export function bpf_helper_probe_read_kernel_str(to: u64, bytes: u64, from: u64): u64 {
  const at = writable(to, bytes);
  for (let i: u64 = 0; i < bytes; i++) {
    if (!isReadable(from + i, 1)) {
      memory.fill(at, 0, bytes as usize);
      return (-EFAULT) as u64;
    }
    const c = i + 1 == bytes ? 0 : load<u8>((from + i) as usize);
    store<u8>(at + (i as usize), c);
    if (c == 0) return i + 1;
  }
  return 0;
}

export function bpf_helper_strncmp(a: u64, bytes: u64, b: u64): u64 {
  for (let i: u64 = 0; i < bytes; i++) {
    const x = load<u8>(readable(a + i, 1)) as i32;
    const y = load<u8>(readable(b + i, 1)) as i32;
    if (x != y) return ((x - y) as i64) as u64;
    if (x == 0) break;
  }
  return 0;
}
