// Kfuncs about CPUs, by the kernel's names behind bpf_kfunc_: kicks, idle CPUs, masks, performance.

import { IDLE_MASK, ONLINE_MASK } from '../core/layout';
import { kickCpu } from '../kernel/ext';
import { pickIdleCpu, pickIdleNear, pickIdleWithin, testAndClearCpuIdle } from '../kernel/ext_idle';
import { maskAddress, maskFirstAnd, nrCpus } from '../kernel/mask';
import { idleIsPolicys } from './ops';
import { readable, taskOf, writable } from './region';
import { refuse, RULE_IDLE, validCpu } from './rules';

const EBUSY: i64 = 16;
const CPUPERF_ONE: u64 = 1024;
const MASK_BYTES: u64 = 64;

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
