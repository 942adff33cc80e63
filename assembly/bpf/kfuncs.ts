// Kfuncs of sched_ext, by the kernel's names behind bpf_kfunc_: those of 7.3 and, where programs fall back to them, of 6.12.
// Those that older kernels had under another name are the same functions.

import { CPU_SHIFT, DSQ_SHIFT, IDLE_MASK, ONLINE_MASK } from '../core/layout';
import { fail, FAIL_BPF_RULE } from '../core/failure';
import { CPU_CURR } from '../kernel/cpu';
import { DSQ_GLOBAL, DSQ_NONE, dsqFirst, dsqLocal, dsqNr, dsqRemove } from '../kernel/dsq';
import { dsqMoveToLocal, kickCpu, pickIdleCpu, pickIdleNear, pickIdleWithin, reenqueue, testAndClearCpuIdle } from '../kernel/ext';
import { maskAddress, maskFirstAnd, nrCpus } from '../kernel/mask';
import { FLAG_QUEUED, TASK_CGROUP, TASK_CPU, TASK_FLAGS, TASK_PID, TASK_SLICE, TASK_VTIME } from '../kernel/task';
import { cgroupPointer } from './cgroup';
import { clock } from './clock';
import { context, contextCpu, IN_CPU_RELEASE, IN_DISPATCH } from './context';
import { createDsq, destroyDsq, dsqOfId, userDsq } from './dsqid';
import { bufferCancel, bufferFlush, bufferLeft, ENQ_DSQ_PRIQ, insert } from './insert';
import { EXIT_ERROR_BPF, EXIT_UNREG_BPF, printed, programExits } from './message';
import { idleIsPolicys } from './ops';
import { readable, taskOf, taskPointer, writable } from './region';
import { RULE_CONTEXT, RULE_CPU, RULE_DSQ_IN_USE, RULE_IDLE, RULE_NO_DSQ } from './rules';
import { RQ_SHIFT, RQS } from './state';

const EBUSY: i64 = 16;
const ENOENT: i64 = 2;
const CPUPERF_ONE: u64 = 1024;
const MASK_BYTES: u64 = 64;

// @ts-ignore: decorator
@inline
function refuse(rule: u32, detail: u64): void {
  fail(FAIL_BPF_RULE, 0, contextCpu, (rule as u64) | (detail << 8));
}

/** A CPU that a program named; the run ends if there is none such. */
function validCpu(cpu: u64): bool {
  if ((cpu as u32) < nrCpus) return true;
  refuse(RULE_CPU, cpu & 0xffffffff);
  return false;
}

// ---- queues -------------------------------------------------------------------------------------------------------------

export function bpf_kfunc_scx_bpf_create_dsq(id: u64, node: u64): u64 {
  return (createDsq(id) as i64) as u64;
}

export function bpf_kfunc_scx_bpf_destroy_dsq(id: u64): u64 {
  if (!destroyDsq(id)) refuse(RULE_DSQ_IN_USE, id);
  return 0;
}

export function bpf_kfunc_scx_bpf_dsq_insert(task: u64, id: u64, slice: u64, flags: u64): u64 {
  insert(taskOf(task), id, slice, 0, flags & ~ENQ_DSQ_PRIQ);
  return 0;
}

export function bpf_kfunc_scx_bpf_dsq_insert___v2(task: u64, id: u64, slice: u64, flags: u64): u64 {
  return insert(taskOf(task), id, slice, 0, flags & ~ENQ_DSQ_PRIQ) ? 1 : 0;
}

export function bpf_kfunc_scx_bpf_dsq_insert_vtime(task: u64, id: u64, slice: u64, vtime: u64, flags: u64): u64 {
  insert(taskOf(task), id, slice, vtime, flags | ENQ_DSQ_PRIQ);
  return 0;
}

/** struct scx_bpf_dsq_insert_vtime_args: u64 DSQ id, slice, vtime, flags. */
export function bpf_kfunc___scx_bpf_dsq_insert_vtime(task: u64, args: u64): u64 {
  const a = readable(args, 32);
  return insert(taskOf(task), load<u64>(a), load<u64>(a, 8), load<u64>(a, 16), load<u64>(a, 24) | ENQ_DSQ_PRIQ) ? 1 : 0;
}

export function bpf_kfunc_scx_bpf_dispatch(task: u64, id: u64, slice: u64, flags: u64): u64 {
  return bpf_kfunc_scx_bpf_dsq_insert(task, id, slice, flags);
}

export function bpf_kfunc_scx_bpf_dispatch_vtime(task: u64, id: u64, slice: u64, vtime: u64, flags: u64): u64 {
  return bpf_kfunc_scx_bpf_dsq_insert_vtime(task, id, slice, vtime, flags);
}

export function bpf_kfunc_scx_bpf_dispatch_nr_slots(): u64 {
  return (context & IN_DISPATCH) != 0 ? (bufferLeft() as u64) : 0;
}

export function bpf_kfunc_scx_bpf_dispatch_cancel(): u64 {
  if ((context & IN_DISPATCH) != 0) bufferCancel();
  return 0;
}

export function bpf_kfunc_scx_bpf_dsq_move_to_local(id: u64): u64 {
  if ((context & IN_DISPATCH) == 0) {
    refuse(RULE_CONTEXT, 0);
    return 0;
  }
  bufferFlush(contextCpu);
  const d = userDsq(id);
  if (d == DSQ_NONE) {
    refuse(RULE_NO_DSQ, id);
    return 0;
  }
  return dsqNr(d) != 0 && dsqMoveToLocal(d) ? 1 : 0;
}

export function bpf_kfunc_scx_bpf_dsq_move_to_local___v2(id: u64, flags: u64): u64 {
  return bpf_kfunc_scx_bpf_dsq_move_to_local(id);
}

export function bpf_kfunc_scx_bpf_consume(id: u64): u64 {
  return bpf_kfunc_scx_bpf_dsq_move_to_local(id);
}

export function bpf_kfunc_scx_bpf_dsq_nr_queued(id: u64): u64 {
  const d = dsqOfId(id, contextCpu);
  return d == DSQ_NONE ? ((-ENOENT) as u64) : (dsqNr(d) as u64);
}

export function bpf_kfunc_scx_bpf_dsq_peek(id: u64): u64 {
  const d = userDsq(id);
  if (d == DSQ_NONE) {
    refuse(RULE_NO_DSQ, id);
    return 0;
  }
  const t = dsqFirst(d);
  return t == 0 ? 0 : taskPointer(t);
}

/** Tasks of this CPU's local DSQ go back to enqueue(); in cpu_release(). */
export function bpf_kfunc_scx_bpf_reenqueue_local(): u64 {
  if ((context & IN_CPU_RELEASE) == 0) {
    refuse(RULE_CONTEXT, 0);
    return 0;
  }
  return reenqueueLocal(contextCpu) as u64;
}

export function bpf_kfunc_scx_bpf_reenqueue_local___v2(): u64 {
  reenqueueLocal(contextCpu);
  return 0;
}

function reenqueueLocal(cpu: u32): u32 {
  const d = dsqLocal(cpu);
  const n = dsqNr(d);
  for (let i: u32 = 0; i < n; i++) {
    const t = dsqFirst(d);
    if (t == 0) return i;
    dsqRemove(t);
    reenqueue(t, cpu);
  }
  return n;
}

// ---- CPUs ---------------------------------------------------------------------------------------------------------------

export function bpf_kfunc_scx_bpf_kick_cpu(cpu: u64, flags: u64): u64 {
  if (validCpu(cpu)) kickCpu(cpu as u32, flags as u32);
  return 0;
}

/** Every CPU can run at its full speed. */
export function bpf_kfunc_scx_bpf_cpuperf_cap(cpu: u64): u64 {
  return validCpu(cpu) ? CPUPERF_ONE : 0;
}

export function bpf_kfunc_scx_bpf_cpuperf_cur(cpu: u64): u64 {
  return validCpu(cpu) ? CPUPERF_ONE : 0;
}

/** Loading a scheduler has asked for full speed (src/engine/encode.ts); less is not asked for. */
export function bpf_kfunc_scx_bpf_cpuperf_set(cpu: u64, performance: u64): u64 {
  validCpu(cpu);
  return 0;
}

export function bpf_kfunc_scx_bpf_nr_cpu_ids(): u64 {
  return nrCpus as u64;
}

export function bpf_kfunc_scx_bpf_nr_node_ids(): u64 {
  return 1;
}

export function bpf_kfunc_scx_bpf_cpu_node(cpu: u64): u64 {
  validCpu(cpu);
  return 0;
}

export function bpf_kfunc_scx_bpf_get_possible_cpumask(): u64 {
  return maskAddress(0) as u64;
}

export function bpf_kfunc_scx_bpf_get_online_cpumask(): u64 {
  return ONLINE_MASK as u64;
}

export function bpf_kfunc_scx_bpf_put_cpumask(mask: u64): u64 {
  return 0;
}

function builtinIdle(): bool {
  if (!idleIsPolicys) return true;
  refuse(RULE_IDLE, 0);
  return false;
}

export function bpf_kfunc_scx_bpf_get_idle_cpumask(): u64 {
  builtinIdle();
  return IDLE_MASK as u64;
}

/** SMT is off: an idle CPU is an idle core. */
export function bpf_kfunc_scx_bpf_get_idle_smtmask(): u64 {
  builtinIdle();
  return IDLE_MASK as u64;
}

export function bpf_kfunc_scx_bpf_get_idle_cpumask_node(node: u64): u64 {
  return bpf_kfunc_scx_bpf_get_idle_cpumask();
}

export function bpf_kfunc_scx_bpf_get_idle_smtmask_node(node: u64): u64 {
  return bpf_kfunc_scx_bpf_get_idle_smtmask();
}

export function bpf_kfunc_scx_bpf_put_idle_cpumask(mask: u64): u64 {
  return 0;
}

export function bpf_kfunc_scx_bpf_test_and_clear_cpu_idle(cpu: u64): u64 {
  return builtinIdle() && validCpu(cpu) && testAndClearCpuIdle(cpu as u32) ? 1 : 0;
}

export function bpf_kfunc_scx_bpf_pick_idle_cpu(mask: u64, flags: u64): u64 {
  const at = readable(mask, MASK_BYTES);
  const cpu = builtinIdle() ? pickIdleCpu(at) : -1;
  return cpu >= 0 ? (cpu as u64) : ((-EBUSY) as u64);
}

export function bpf_kfunc_scx_bpf_pick_idle_cpu_node(mask: u64, node: u64, flags: u64): u64 {
  return bpf_kfunc_scx_bpf_pick_idle_cpu(mask, flags);
}

/** An idle CPU of the mask, else any; here the lowest. */
export function bpf_kfunc_scx_bpf_pick_any_cpu(mask: u64, flags: u64): u64 {
  const at = readable(mask, MASK_BYTES);
  let cpu = idleIsPolicys ? -1 : pickIdleCpu(at);
  if (cpu < 0) cpu = maskFirstAnd(at, maskAddress(0));
  return cpu >= 0 ? (cpu as u64) : ((-EBUSY) as u64);
}

export function bpf_kfunc_scx_bpf_pick_any_cpu_node(mask: u64, node: u64, flags: u64): u64 {
  return bpf_kfunc_scx_bpf_pick_any_cpu(mask, flags);
}

export function bpf_kfunc_scx_bpf_select_cpu_dfl(task: u64, prev: u64, wakeFlags: u64, isIdle: u64): u64 {
  const t = taskOf(task);
  const idle = writable(isIdle, 1);
  if (!builtinIdle() || !validCpu(prev)) return prev;
  const cpu = pickIdleNear(t, prev as u32);
  store<u8>(idle, cpu >= 0 ? 1 : 0);
  return cpu >= 0 ? (cpu as u64) : prev & 0xffffffff;
}

export function bpf_kfunc_scx_bpf_select_cpu_and(task: u64, prev: u64, wakeFlags: u64, mask: u64, flags: u64): u64 {
  const t = taskOf(task);
  const at = readable(mask, MASK_BYTES);
  if (!builtinIdle() || !validCpu(prev)) return (-EBUSY) as u64;
  const cpu = pickIdleWithin(t, prev as u32, at);
  return cpu >= 0 ? (cpu as u64) : ((-EBUSY) as u64);
}

/** struct scx_bpf_select_cpu_and_args: s32 previous CPU, u64 wake flags, flags. */
export function bpf_kfunc___scx_bpf_select_cpu_and(task: u64, mask: u64, args: u64): u64 {
  const a = readable(args, 24);
  return bpf_kfunc_scx_bpf_select_cpu_and(task, load<u32>(a) as u64, load<u64>(a, 8), mask, load<u64>(a, 16));
}

// ---- tasks --------------------------------------------------------------------------------------------------------------

export function bpf_kfunc_scx_bpf_task_running(task: u64): u64 {
  const t = taskOf(task);
  return load<u32>(load<u32>(t, TASK_CPU) << CPU_SHIFT, CPU_CURR) == t ? 1 : 0;
}

export function bpf_kfunc_scx_bpf_task_cpu(task: u64): u64 {
  return load<u32>(taskOf(task), TASK_CPU) as u64;
}

export function bpf_kfunc_scx_bpf_task_cgroup(task: u64): u64 {
  return cgroupPointer(load<u32>(taskOf(task), TASK_CGROUP));
}

export function bpf_kfunc_scx_bpf_task_set_slice(task: u64, slice: u64): u64 {
  store<u64>(taskOf(task), slice, TASK_SLICE);
  return 1;
}

export function bpf_kfunc_scx_bpf_task_set_dsq_vtime(task: u64, vtime: u64): u64 {
  store<u64>(taskOf(task), vtime, TASK_VTIME);
  return 1;
}

/** struct rq as in src/bpf/runtime/kernel-types.ts: u64 curr, u64 idle, u64 clock, u32 cpu, u32 nr_running. */
export function bpf_kfunc_scx_bpf_cpu_rq(cpu: u64): u64 {
  if (!validCpu(cpu)) return 0;
  const r = RQS + ((cpu as usize) << RQ_SHIFT);
  const curr = load<u32>((cpu as u32) << CPU_SHIFT, CPU_CURR);
  store<u64>(r, taskPointer(curr));
  store<u64>(r, taskPointer(0), 8);
  store<u64>(r, clock(), 16);
  store<u32>(r, cpu as u32, 24);
  store<u32>(r, dsqNr(dsqLocal(cpu as u32)) + (curr != 0 ? 1 : 0), 28);
  return r as u64;
}

export function bpf_kfunc_scx_bpf_locked_rq(): u64 {
  return bpf_kfunc_scx_bpf_cpu_rq(contextCpu as u64);
}

export function bpf_kfunc_scx_bpf_cpu_curr(cpu: u64): u64 {
  return validCpu(cpu) ? taskPointer(load<u32>((cpu as u32) << CPU_SHIFT, CPU_CURR)) : 0;
}

export function bpf_kfunc_scx_bpf_now(): u64 {
  return clock();
}

// ---- what a program says ------------------------------------------------------------------------------------------------

export function bpf_kfunc_scx_bpf_error_bstr(format: u64, data: u64, bytes: u64): u64 {
  programExits(EXIT_ERROR_BPF, 0, format, data, bytes & 0xffffffff);
  return 0;
}

export function bpf_kfunc_scx_bpf_exit_bstr(code: u64, format: u64, data: u64, bytes: u64): u64 {
  programExits(EXIT_UNREG_BPF, code, format, data, bytes & 0xffffffff);
  return 0;
}

export function bpf_kfunc_scx_bpf_dump_bstr(format: u64, data: u64, bytes: u64): u64 {
  printed(format, data, bytes & 0xffffffff);
  return 0;
}

/** struct scx_event_stats: nothing of it happens here. */
export function bpf_kfunc_scx_bpf_events(events: u64, bytes: u64): u64 {
  memory.fill(writable(events, bytes), 0, bytes as usize);
  return 0;
}
