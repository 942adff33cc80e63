// Kfuncs of sched_ext, by the kernel's names behind bpf_kfunc_: those of 7.3 and, where programs fall back to them, of 6.12.
// Those that older kernels had under another name are the same functions.

import { CPU_SHIFT } from '../core/layout';
import { CPU_CURR } from '../kernel/cpu';
import { DSQ_NONE, dsqFirst, dsqLocal, dsqNr, dsqRemove } from '../kernel/dsq';
import { dsqMoveToLocal, reenqueue } from '../kernel/ext';
import { TASK_CGROUP, TASK_CPU, TASK_SLICE, TASK_VTIME } from '../kernel/task';
import { cgroupPointer } from './cgroup';
import { clock } from './clock';
import { context, contextCpu, IN_CPU_RELEASE, IN_DISPATCH } from './context';
import { createDsq, destroyDsq, dsqOfId, userDsq } from './dsqid';
import { bufferCancel, bufferFlush, bufferLeft, ENQ_DSQ_PRIQ, insert } from './insert';
import { EXIT_ERROR_BPF, EXIT_UNREG_BPF, printed, programExits } from './message';
import { readable, taskOf, taskPointer, writable } from './region';
import { refuse, RULE_CONTEXT, RULE_DSQ_IN_USE, RULE_NO_DSQ, validCpu } from './rules';
import { RQ_SHIFT, RQS } from './state';

const ENOENT: i64 = 2;

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
