// struct task_struct as BPF sees it: the first 64 bytes of the task record (kernel/task.ts), and an extension record
// BPF_NULL bytes behind it, which is kept current only if an object is the policy. src/bpf/runtime/kernel-types.ts names the same
// offsets; a test compares.
//
//     0  u64 cpus_ptr             address of the allowed mask
//     8  u64 real_parent, parent
//    16  u64 group_leader
//    24  u64 cgroups              struct css_set * (bpf/cgroup.ts)
//    32  u64 mm                   the same for all threads of a process
//    40  u32 nr_cpus_allowed
//    44  u32 flags                PF_…
//    48  u32 tgid
//    52  s32 static_prio, normal_prio, prio
//    60  u32 policy               SCHED_EXT
//    64  64 B cpus_mask
//   128  16 B comm
//   144  u16 migration_disabled   always 0
//   146  u8 on_cpu, u8 on_rq
//   148  u32 scx.weight           100 = nice 0
//   152  u32 scx.flags            SCX_TASK_QUEUED
//   156  u8 scx.disallow
//   157  u8 the task exists
//   160  u64 start_time
//   168  u64 nvcsw, 176 u64 nivcsw
//   184  u32 __state, 188 u32 exit_state
//   192  u64 ip                   of struct pt_regs, at 192: set when asked for
//   200  u32 how often it was

import { CLASS_EXT } from '../abi';
import { BPF_TASKS, MASK_BYTES } from '../core/layout';
import { instructionPointer } from '../kernel/lookahead';
import { maskAddress, maskWeightAnd } from '../kernel/mask';
import { TASK_CGROUP, TASK_CLASS, TASK_MASK, TASK_PID, TASK_STATS, TASK_WEIGHT } from '../kernel/task';
import { cssSet } from './cgroup';
import { clock } from './clock';
import { taskPointer } from './region';
import { COMMS } from './state';

export const VIEW_CPUS_PTR: usize = BPF_TASKS + 0;
export const VIEW_PARENT: usize = BPF_TASKS + 8;
export const VIEW_LEADER: usize = BPF_TASKS + 16;
export const VIEW_CGROUPS: usize = BPF_TASKS + 24;
export const VIEW_MM: usize = BPF_TASKS + 32;
export const VIEW_NR_CPUS_ALLOWED: usize = BPF_TASKS + 40;
export const VIEW_FLAGS: usize = BPF_TASKS + 44;
export const VIEW_TGID: usize = BPF_TASKS + 48;
export const VIEW_PRIO: usize = BPF_TASKS + 52;
export const VIEW_POLICY: usize = BPF_TASKS + 60;
export const VIEW_CPUS_MASK: usize = BPF_TASKS + 64;
export const VIEW_COMM: usize = BPF_TASKS + 128;
export const VIEW_ON_CPU: usize = BPF_TASKS + 146;
export const VIEW_ON_RQ: usize = BPF_TASKS + 147;
export const VIEW_WEIGHT: usize = BPF_TASKS + 148;
export const VIEW_SCX_FLAGS: usize = BPF_TASKS + 152;
export const VIEW_DISALLOW: usize = BPF_TASKS + 156;
const VIEW_EXISTS: usize = BPF_TASKS + 157;
export const VIEW_START_TIME: usize = BPF_TASKS + 160;
export const VIEW_NVCSW: usize = BPF_TASKS + 168;
export const VIEW_NIVCSW: usize = BPF_TASKS + 176;
export const VIEW_STATE: usize = BPF_TASKS + 184;
export const VIEW_REGS: usize = BPF_TASKS + 192;
const VIEW_REGS_ASKED: usize = BPF_TASKS + 200;

const PF_IDLE: u32 = 0x2;
export const PF_EXITING: u32 = 0x4;
const PF_KTHREAD: u32 = 0x200000;
const SCHED_NORMAL: u32 = 0;
const SCHED_EXT: u32 = 7;
const SCX_TASK_QUEUED: u32 = 1;
/** Priority of nice 0: MAX_RT_PRIO + 20. */
const PRIO_DEFAULT: i32 = 120;

/** The idle task: slot 0. */
export function viewIdle(): void {
  memory.fill(BPF_TASKS, 0, 256);
  store<u8>(0, 1, VIEW_EXISTS);
  store<u32>(0, PF_IDLE | PF_KTHREAD, VIEW_FLAGS);
  store<u64>(0, taskPointer(0), VIEW_LEADER);
  store<u64>(0, taskPointer(0), VIEW_PARENT);
  store<u64>(0, cssSet(0xffffffff), VIEW_CGROUPS);
  store<u32>(0, PRIO_DEFAULT as u32, VIEW_PRIO);
  store<u32>(0, PRIO_DEFAULT as u32, VIEW_PRIO + 4);
  store<u64>(0, 0x2f72657070617773, VIEW_COMM); // "swapper/"
  viewMask(0);
}

/** sched_weight_to_cgroup(): 100 stands for 1024. */
function weightOfView(weight: u32): u32 {
  const scaled = (weight * 100 + 512) / 1024;
  return scaled < 1 ? 1 : scaled > 10000 ? 10000 : scaled;
}

/** The nice value whose weight is nearest in ratio: each step is a factor of 1.25. */
function niceOf(weight: u32): i32 {
  let nice: i32 = 0;
  let w = (weight as f64) / 1024.0;
  while (w > 1.118 && nice > -20) {
    w /= 1.25;
    nice--;
  }
  while (w < 0.894 && nice < 19) {
    w *= 1.25;
    nice++;
  }
  return nice;
}

/** A new task; `parent` is who forked it, 0 = none. */
export function viewNew(t: u32, parent: u32): void {
  memory.fill(BPF_TASKS + t, 0, 256);
  const leader = parent == 0 ? t : (load<u64>(parent, VIEW_LEADER) - taskPointer(0)) as u32;
  store<u64>(t, taskPointer(parent), VIEW_PARENT);
  store<u64>(t, taskPointer(leader), VIEW_LEADER);
  store<u64>(t, (BPF_TASKS + leader) as u64, VIEW_MM);
  store<u32>(t, load<u32>(leader, TASK_PID), VIEW_TGID);
  store<u64>(t, cssSet(load<u32>(t, TASK_CGROUP)), VIEW_CGROUPS);
  const prio = (PRIO_DEFAULT + niceOf(load<u32>(t, TASK_WEIGHT))) as u32;
  store<u32>(t, prio, VIEW_PRIO);
  store<u32>(t, prio, VIEW_PRIO + 4);
  store<u32>(t, load<u8>(t, TASK_CLASS) == CLASS_EXT ? SCHED_EXT : SCHED_NORMAL, VIEW_POLICY);
  store<u32>(t, weightOfView(load<u32>(t, TASK_WEIGHT)), VIEW_WEIGHT);
  store<u8>(t, 1, VIEW_EXISTS);
  store<u64>(t, clock(), VIEW_START_TIME);
  memory.copy(VIEW_COMM + t, COMMS + ((load<u32>(t, TASK_STATS) as usize) << 4), 16);
  viewMask(t);
}

/** Whether handle t, below the end of the slots, is a task's. */
// @ts-ignore: decorator
@inline
export function viewExists(t: u32): bool {
  return load<u8>(t, VIEW_EXISTS) != 0;
}

/** The task is gone. */
export function viewEnd(t: u32): void {
  store<u8>(t, 0, VIEW_EXISTS);
}

/** The mask of allowed CPUs was changed. */
export function viewMask(t: u32): void {
  const mask = maskAddress(load<u32>(t, TASK_MASK));
  store<u64>(t, mask as u64, VIEW_CPUS_PTR);
  store<u32>(t, maskWeightAnd(mask, maskAddress(0)), VIEW_NR_CPUS_ALLOWED);
  memory.copy(VIEW_CPUS_MASK + t, mask, MASK_BYTES);
}

/** struct pt_regs * of a task: its user instruction pointer, drawn anew each time (kernel/lookahead.ts). */
export function viewRegs(t: u32): u64 {
  const asked = load<u32>(t, VIEW_REGS_ASKED);
  store<u32>(t, asked + 1, VIEW_REGS_ASKED);
  store<u64>(t, instructionPointer(t, asked), VIEW_REGS);
  return (VIEW_REGS + t) as u64;
}

// @ts-ignore: decorator
@inline
export function viewQueued(t: u32, queued: bool): void {
  store<u32>(t, queued ? SCX_TASK_QUEUED : 0, VIEW_SCX_FLAGS);
  store<u8>(t, queued ? 1 : 0, VIEW_ON_RQ);
}
