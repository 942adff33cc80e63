// Entry of the module under test in test/dsq-*.test.ts (built by test/support/units.ts): dispatch queues and the sched_ext
// core around them, without a clock: a test says which CPU picks, puts back and is kicked. The policy is global FIFO.

import { P_ENQ_LAST, P_KERNEL, P_POLICY, P_RESET_EVERY, P_SLICE_NS, POLICY_DOMAINS, POLICY_GLOBAL_FIFO } from '../../assembly/abi';
import { failure, failureReset } from '../../assembly/core/failure';
import { CPU_SHIFT, CPUS, IDLE_MASK, MASKS, ONLINE_MASK, PARAMS, RESCHED_MASK } from '../../assembly/core/layout';
import { CPU_CURR } from '../../assembly/kernel/cpu';
import {
  DSQ_GLOBAL,
  DSQ_NONE,
  dsqCreate,
  dsqFirst,
  dsqInsertVtime,
  dsqLocal,
  dsqNext,
  dsqNr,
  dsqPushHead,
  dsqRemove,
  dsqReset,
  dsqUser,
} from '../../assembly/kernel/dsq';
import { eventsReset, setNow } from '../../assembly/kernel/events';
import {
  dsqInsert,
  dsqInsertByVtime,
  dsqMoveToLocal,
  extEnqueue,
  extInit,
  extPick,
  extPutPrev,
  extSetNext,
  kickCpu,
} from '../../assembly/kernel/ext';
import { maskClear, maskInit, maskSet, maskTest } from '../../assembly/kernel/mask';
import {
  FLAG_QUEUED,
  TASK_CLASS,
  TASK_CPU,
  TASK_DSQ,
  TASK_FLAGS,
  TASK_MASK,
  TASK_SLICE,
  taskAllocate,
  tasksReset,
} from '../../assembly/kernel/task';
import { SLEEP_FREQUENCY } from '../../assembly/policy/domains';
import { opsInit } from '../../assembly/policy/ops';
import { mappingLoad } from '../../assembly/policy/mapping';
import { CLASS_EXT } from '../../assembly/abi';

export { dsqInsert, dsqInsertByVtime, dsqInsertVtime, dsqMoveToLocal, dsqNr, dsqPushHead, dsqRemove, failureReset, kickCpu };

/** Idle CPUs, empty queues: the policy's (user DSQ 0) and those from 1 to 3. */
export function setup(cpus: u32, sliceNs: u64): void {
  maskInit(cpus);
  memory.fill(CPUS, 0, (cpus as usize) << CPU_SHIFT);
  memory.fill(MASKS, 0, 64 * 64);
  memory.fill(IDLE_MASK, 0, 0x180);
  for (let cpu: u32 = 0; cpu < cpus; cpu++) {
    maskSet(MASKS, cpu);
    maskSet(ONLINE_MASK, cpu);
    maskSet(IDLE_MASK, cpu);
  }
  store<u64>(PARAMS + ((P_POLICY as usize) << 3), POLICY_GLOBAL_FIFO);
  store<u64>(PARAMS + ((P_SLICE_NS as usize) << 3), sliceNs);
  failureReset();
  tasksReset();
  dsqReset();
  eventsReset(1, 1);
  mappingLoad(0, 0);
  extInit();
  opsInit();
  for (let k: u32 = 1; k < 4; k++) dsqCreate(k);
}

/** SCX_OPS_ENQ_LAST */
export function setEnqLast(): void {
  store<u64>(PARAMS + ((P_ENQ_LAST as usize) << 3), 1);
  extInit();
  store<u64>(PARAMS + ((P_ENQ_LAST as usize) << 3), 0);
}

/** The domains policy in a kernel version from time 0 on, which counts how often a task is quiescent. */
export function countQuiescent(kernel: u32): void {
  store<u64>(PARAMS + ((P_POLICY as usize) << 3), POLICY_DOMAINS);
  store<u64>(PARAMS + ((P_KERNEL as usize) << 3), kernel);
  store<u64>(PARAMS + ((P_RESET_EVERY as usize) << 3), 10);
  setNow(0);
  extInit();
  opsInit();
  store<u64>(PARAMS + ((P_KERNEL as usize) << 3), 0);
}

export function setTime(time: u64): void {
  setNow(time);
}

/** As the domains policy measures it, per second; 0 = not yet. */
export function sleepFrequency(t: u32): u32 {
  return load<u32>(t, SLEEP_FREQUENCY);
}

export function setMask(index: u32, bits: u64): void {
  store<u64>(MASKS + ((index as usize) << 6), bits);
}

/** A runnable ext task that belongs to CPU 0 and is queued nowhere. */
export function newTask(mask: u32): u32 {
  const t = taskAllocate();
  store<u8>(t, CLASS_EXT as u8, TASK_CLASS);
  store<u16>(t, FLAG_QUEUED as u16, TASK_FLAGS);
  store<u32>(t, mask, TASK_MASK);
  return t;
}

export function userDsq(k: u32): u32 {
  return dsqUser(k);
}
export function localDsq(cpu: u32): u32 {
  return dsqLocal(cpu);
}
export function globalDsq(): u32 {
  return DSQ_GLOBAL;
}
/** The task at a position of a queue, 0 behind its end. */
export function taskAt(d: u32, position: u32): u32 {
  let t = dsqFirst(d);
  for (let i: u32 = 0; i < position && t != 0; i++) t = dsqNext(d, t);
  return t;
}
export function isQueued(t: u32): bool {
  return load<u32>(t, TASK_DSQ) != DSQ_NONE;
}
export function sliceOf(t: u32): u64 {
  return load<u64>(t, TASK_SLICE);
}
export function setSlice(t: u32, slice: u64): void {
  store<u64>(t, slice, TASK_SLICE);
}
export function cpuOf(t: u32): u32 {
  return load<u32>(t, TASK_CPU);
}

export function enqueue(t: u32, cpu: u32): void {
  extEnqueue(t, cpu, true);
}
export function pick(cpu: u32, prev: u32): u32 {
  return extPick(cpu, prev);
}
export function putPrev(cpu: u32, t: u32, next: u32): void {
  extPutPrev(cpu, t, next);
}
/** The CPU runs t (0: idles) from now on. */
export function setCurrent(cpu: u32, t: u32): void {
  store<u32>(cpu << CPU_SHIFT, t, CPU_CURR);
  if (t != 0) {
    maskClear(IDLE_MASK, cpu);
    extSetNext(cpu, t);
  } else {
    maskSet(IDLE_MASK, cpu);
  }
}
export function needResched(cpu: u32): bool {
  return maskTest(RESCHED_MASK, cpu);
}
export function clearResched(cpu: u32): void {
  maskClear(RESCHED_MASK, cpu);
}
export function isIdle(cpu: u32): bool {
  return maskTest(IDLE_MASK, cpu);
}
export function failureCode(): u32 {
  return failure;
}
