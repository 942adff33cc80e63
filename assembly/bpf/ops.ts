// The sched_ext callbacks of a BPF object: what a callback is called with, on which CPU and in which order with what the
// kernel does around it (kernel/sched/ext.c). policy/ops.ts calls these as it calls native policies.

import {
  BPF_KEEP_BUILTIN_IDLE,
  BPF_OP_CPU_ACQUIRE,
  BPF_OP_CPU_OFFLINE,
  BPF_OP_CPU_ONLINE,
  BPF_OP_CPU_RELEASE,
  BPF_OP_DEQUEUE,
  BPF_OP_DISPATCH,
  BPF_OP_ENABLE,
  BPF_OP_ENQUEUE,
  BPF_OP_EXIT,
  BPF_OP_EXIT_TASK,
  BPF_OP_INIT,
  BPF_OP_INIT_TASK,
  BPF_OP_QUIESCENT,
  BPF_OP_RUNNABLE,
  BPF_OP_RUNNING,
  BPF_OP_SELECT_CPU,
  BPF_OP_SET_CPUMASK,
  BPF_OP_SET_WEIGHT,
  BPF_OP_STOPPING,
  BPF_OP_TICK,
  BPF_OP_UPDATE_IDLE,
  BPF_OP_YIELD,
  KERNEL_7_3,
  P_BPF_BATCH,
  P_BPF_FLAGS,
  P_KERNEL,
  P_SEED,
} from '../abi';
import { param } from '../core/counters';
import { fail, FAIL_BPF_CALLBACK, failure } from '../core/failure';
import { MASK_BYTES, TASK_SHIFT } from '../core/layout';
import { PURPOSE_POLICY, streamKey } from '../core/random';
import { DSQ_GLOBAL, DSQ_NONE } from '../kernel/dsq';
import { ENQ_LAST, ENQ_REENQ, ENQ_WAKEUP, insertFifo, refillSlice } from '../kernel/ext';
import { STATE_DEAD, TASK_CGROUP, TASK_CLASS, TASK_CPU, TASK_DIRECT_DSQ, TASK_DSQ, TASK_MASK, TASK_STATE, taskSlots } from '../kernel/task';
import { maskAddress, maskClear, maskSet, maskTest } from '../kernel/mask';
import { CLASS_EXT } from '../abi';
import { cgroupPointer } from './cgroup';
import { cgroupsInit, cgroupExit } from './cgroups';
import { clockInit } from './clock';
import { callOp, contextReset, IN_CPU_RELEASE, IN_DISPATCH, IN_ENQUEUE, IN_SELECT_CPU, IN_SLEEPABLE } from './context';
import { dsqIdsReset } from './dsqid';
import { bufferBegin, bufferFlush, directBegin, directEnd, handOver, insertMarked, insertReset, SCX_ENQ_CPU_SELECTED, SCX_ENQ_HEAD, SCX_ENQ_LAST, SCX_ENQ_REENQ, SCX_ENQ_WAKEUP, staysInside, takeBack } from './insert';
import { cgroupsMapped } from './mapping';
import { exitInfo } from './message';
import { drawsFrom } from './random';
import { CPU_RELEASE_ARGS, INIT_TASK_ARGS, OPS_SLOTS, RELEASED_MASK } from './state';
import { storageFree } from './storage';
import { taskPointer } from './region';
import { PF_EXITING, VIEW_DISALLOW, VIEW_FLAGS, VIEW_NIVCSW, VIEW_NVCSW, VIEW_ON_CPU, VIEW_STATE, VIEW_WEIGHT, viewEnd, viewIdle, viewMask, viewNew, viewQueued } from './task';
import { timersReset } from './timer';

const SCX_WAKE_FORK: u64 = 4;
const SCX_WAKE_TTWU: u64 = 8;
const SCX_DEQ_SLEEP: u64 = 1;
const SCX_DEQ_SCHED_CHANGE: u64 = 1 << 33;
const TASK_INTERRUPTIBLE: u32 = 1;

/** Callbacks that the object has, one bit each. */
let present: u32 = 0;
/** The program keeps track of idle CPUs itself (update_idle() without KEEP_BUILTIN_IDLE). */
export let idleIsPolicys: bool = false;
let custodyIsTold: bool = false;
/** CPU that causes what happens, -1 = an interrupt on the CPU it happens to. */
let causeCpu: i32 = -1;
/** select_cpu() was asked for this task, which is about to be enqueued. */
let selected: u32 = 0;

// @ts-ignore: decorator
@inline
export function has(op: u32): bool {
  return ((present >> op) & 1) != 0;
}

/** Enables the object: its timers, ids and buffers are new, then init() and the cgroups. */
export function init(): void {
  contextReset();
  clockInit();
  insertReset(param(P_BPF_BATCH) as u32);
  dsqIdsReset();
  timersReset();
  drawsFrom(streamKey(param(P_SEED), PURPOSE_POLICY, 0));
  present = 0;
  for (let op: u32 = 0; op < 32; op++) if (load<u32>(OPS_SLOTS + (op << 2)) != 0) present |= 1 << op;
  idleIsPolicys = has(BPF_OP_UPDATE_IDLE) && (param(P_BPF_FLAGS) & (BPF_KEEP_BUILTIN_IDLE as u64)) == 0;
  custodyIsTold = param(P_KERNEL) >= KERNEL_7_3;
  causeCpu = -1;
  selected = 0;
  memory.fill(RELEASED_MASK, 0, MASK_BYTES);
  viewIdle();
  cgroupsMapped();
  if (has(BPF_OP_INIT)) {
    const errno = callOp(BPF_OP_INIT, 0, IN_SLEEPABLE, 0, 0, 0) as i32;
    if (errno != 0) fail(FAIL_BPF_CALLBACK, 0, BPF_OP_INIT, errno as u64);
  }
  cgroupsInit();
}

/** Whose CPU wakes or forks: bpf_get_smp_processor_id() of what follows. */
// @ts-ignore: decorator
@inline
export function causedBy(cpu: i32): void {
  causeCpu = cpu;
}

// @ts-ignore: decorator
@inline
function causeOr(cpu: u32): u32 {
  return causeCpu >= 0 ? (causeCpu as u32) : cpu;
}

// ---- a task's life ------------------------------------------------------------------------------------------------------

/** A task of any class begins; `parent` forked it, 0 = nobody. */
export function begin(t: u32, parent: u32): void {
  viewNew(t, parent);
}

/** It joins the class. */
export function enable(t: u32, parent: u32): void {
  const p = taskPointer(t);
  const cpu = parent == 0 ? 0 : load<u32>(parent, TASK_CPU);
  if (has(BPF_OP_INIT_TASK)) {
    store<u8>(INIT_TASK_ARGS, parent != 0 ? 1 : 0);
    store<u64>(INIT_TASK_ARGS, cgroupPointer(load<u32>(t, TASK_CGROUP)), 8);
    const errno = callOp(BPF_OP_INIT_TASK, cpu, IN_SLEEPABLE, p, INIT_TASK_ARGS as u64, 0) as i32;
    if (errno != 0) fail(FAIL_BPF_CALLBACK, t >> TASK_SHIFT, BPF_OP_INIT_TASK, errno as u64);
    // A task that the program does not want is left to the fair class; here it stays, as tasks have the class they are given.
    store<u8>(t, 0, VIEW_DISALLOW);
  }
  if (has(BPF_OP_ENABLE)) callOp(BPF_OP_ENABLE, cpu, 0, p, 0, 0);
  if (has(BPF_OP_SET_WEIGHT)) callOp(BPF_OP_SET_WEIGHT, cpu, 0, p, load<u32>(t, VIEW_WEIGHT) as u64, 0);
}

/** A task of any class is gone. */
export function exitTask(t: u32): void {
  if (load<u8>(t, TASK_CLASS) == CLASS_EXT && has(BPF_OP_EXIT_TASK)) callOp(BPF_OP_EXIT_TASK, load<u32>(t, TASK_CPU), 0, taskPointer(t), 0, 0);
  storageFree(t >> TASK_SHIFT);
  viewEnd(t);
}

export function setCpumask(t: u32): void {
  viewMask(t);
  if (has(BPF_OP_SET_CPUMASK)) {
    callOp(BPF_OP_SET_CPUMASK, causeOr(load<u32>(t, TASK_CPU)), 0, taskPointer(t), maskAddress(load<u32>(t, TASK_MASK)) as u64, 0);
  }
}

// ---- waking and waiting -------------------------------------------------------------------------------------------------

export function selectCpu(t: u32, prev: u32, flags: u32): u32 {
  const outer = directBegin(t);
  const wake = (flags & ENQ_WAKEUP) != 0 ? SCX_WAKE_TTWU : SCX_WAKE_FORK;
  const cpu = callOp(BPF_OP_SELECT_CPU, causeOr(prev), IN_SELECT_CPU, taskPointer(t), prev as u64, wake) as u32;
  directEnd(outer);
  selected = t;
  return failure == 0 ? cpu : prev;
}

// @ts-ignore: decorator
@inline
function kernelFlags(t: u32, flags: u32): u64 {
  let k: u64 = (flags & ENQ_WAKEUP) != 0 ? SCX_ENQ_WAKEUP : 0;
  if ((flags & ENQ_LAST) != 0) k |= SCX_ENQ_LAST;
  if ((flags & ENQ_REENQ) != 0) k |= SCX_ENQ_REENQ;
  if (selected == t && k == SCX_ENQ_WAKEUP) k |= SCX_ENQ_CPU_SELECTED;
  return k;
}

export function enqueue(t: u32, flags: u32): void {
  const cpu = load<u32>(t, TASK_CPU);
  if (!has(BPF_OP_ENQUEUE)) {
    refillSlice(t);
    insertFifo(t, DSQ_GLOBAL, 0);
    return;
  }
  handOver(t);
  const outer = directBegin(t);
  const k = kernelFlags(t, flags);
  callOp(BPF_OP_ENQUEUE, causeOr(cpu), IN_ENQUEUE, taskPointer(t), k, 0);
  directEnd(outer);
  selected = 0;
  if (load<u32>(t, TASK_DIRECT_DSQ) == DSQ_NONE) {
    staysInside(t);
    return;
  }
  store<u32>(t, DSQ_NONE, TASK_DIRECT_DSQ);
  insertMarked(t, cpu, k);
}

/** The task that select_cpu() has inserted: enqueue() is skipped. */
export function insertSelected(t: u32, cpu: u32, flags: u32): void {
  const k = kernelFlags(t, flags);
  selected = 0;
  insertMarked(t, cpu, k & SCX_ENQ_HEAD);
}

/** A waiting task is taken out of the queues: it is restricted to other CPUs, or since 7.3 moves to a local DSQ. */
export function dequeue(t: u32, moves: bool): void {
  // Before 7.3 only what no DSQ holds is the program's to let go.
  if (!takeBack(t) || (!custodyIsTold && load<u32>(t, TASK_DSQ) != DSQ_NONE)) return;
  if (has(BPF_OP_DEQUEUE)) {
    callOp(BPF_OP_DEQUEUE, causeOr(load<u32>(t, TASK_CPU)), 0, taskPointer(t), moves ? 0 : SCX_DEQ_SCHED_CHANGE, 0);
  }
}

export function runnable(t: u32, flags: u32): void {
  viewQueued(t, true);
  store<u32>(t, 0, VIEW_STATE);
  if (has(BPF_OP_RUNNABLE)) callOp(BPF_OP_RUNNABLE, causeOr(load<u32>(t, TASK_CPU)), 0, taskPointer(t), kernelFlags(t, flags), 0);
}

export function quiescent(t: u32, sleeps: bool): void {
  if (sleeps) {
    viewQueued(t, false);
    store<u32>(t, TASK_INTERRUPTIBLE, VIEW_STATE);
  }
  if (has(BPF_OP_QUIESCENT)) callOp(BPF_OP_QUIESCENT, load<u32>(t, TASK_CPU), 0, taskPointer(t), sleeps ? SCX_DEQ_SLEEP : 0, 0);
}

// ---- running ------------------------------------------------------------------------------------------------------------

export function dispatch(cpu: u32, prev: u32): void {
  if (!has(BPF_OP_DISPATCH)) return;
  bufferBegin();
  callOp(BPF_OP_DISPATCH, cpu, IN_DISPATCH, cpu as u64, prev == 0 ? 0 : taskPointer(prev), 0);
  bufferFlush(cpu);
}

export function running(t: u32): void {
  store<u8>(t, 1, VIEW_ON_CPU);
  if (has(BPF_OP_RUNNING)) callOp(BPF_OP_RUNNING, load<u32>(t, TASK_CPU), 0, taskPointer(t), 0, 0);
}

export function stopping(t: u32, runs: bool): void {
  store<u8>(t, 0, VIEW_ON_CPU);
  if (runs) store<u64>(t, load<u64>(t, VIEW_NIVCSW) + 1, VIEW_NIVCSW);
  else {
    store<u64>(t, load<u64>(t, VIEW_NVCSW) + 1, VIEW_NVCSW);
    if (load<u8>(t, TASK_STATE) == STATE_DEAD) store<u32>(t, load<u32>(t, VIEW_FLAGS) | PF_EXITING, VIEW_FLAGS);
  }
  if (has(BPF_OP_STOPPING)) callOp(BPF_OP_STOPPING, load<u32>(t, TASK_CPU), 0, taskPointer(t), runs ? 1 : 0, 0);
}

export function tick(t: u32): void {
  if (has(BPF_OP_TICK)) callOp(BPF_OP_TICK, load<u32>(t, TASK_CPU), 0, taskPointer(t), 0, 0);
}

/** sched_yield(): false if the kernel is to take the slice. */
export function yielded(t: u32): bool {
  if (!has(BPF_OP_YIELD)) return false;
  callOp(BPF_OP_YIELD, load<u32>(t, TASK_CPU), 0, taskPointer(t), 0, 0);
  return true;
}

export function updateIdle(cpu: u32, idle: bool): void {
  if (has(BPF_OP_UPDATE_IDLE)) callOp(BPF_OP_UPDATE_IDLE, cpu, 0, cpu as u64, idle ? 1 : 0, 0);
}

/** A task of a higher class takes the CPU: told once, until the class gets it back. */
export function cpuRelease(cpu: u32, next: u32): void {
  if (!has(BPF_OP_CPU_RELEASE) || maskTest(RELEASED_MASK, cpu)) return;
  maskSet(RELEASED_MASK, cpu);
  store<u32>(CPU_RELEASE_ARGS, 0);
  store<u64>(CPU_RELEASE_ARGS, taskPointer(next), 8);
  callOp(BPF_OP_CPU_RELEASE, cpu, IN_CPU_RELEASE, cpu as u64, CPU_RELEASE_ARGS as u64, 0);
}

/** The class may use the CPU again. */
export function cpuAcquire(cpu: u32): void {
  if (!has(BPF_OP_CPU_RELEASE) || !maskTest(RELEASED_MASK, cpu)) return;
  maskClear(RELEASED_MASK, cpu);
  if (has(BPF_OP_CPU_ACQUIRE)) callOp(BPF_OP_CPU_ACQUIRE, cpu, 0, cpu as u64, CPU_RELEASE_ARGS as u64, 0);
}

/** A CPU comes or goes: false if the object does not know hotplug, which ejects it. */
export function hotplug(cpu: u32, online: bool): bool {
  const op = online ? BPF_OP_CPU_ONLINE : BPF_OP_CPU_OFFLINE;
  if (!has(op)) return false;
  callOp(op, cpu, IN_SLEEPABLE, cpu as u64, 0, 0);
  return true;
}

/** The object is ejected or the run is over: exit(), with the kind of enum scx_exit_kind; nothing of it is called any more. */
export function exit(kind: u32): void {
  if (has(BPF_OP_EXIT)) callOp(BPF_OP_EXIT, 0, IN_SLEEPABLE, exitInfo(kind, 0), 0, 0);
  present = 0;
}
