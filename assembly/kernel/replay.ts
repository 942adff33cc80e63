// A recording of a real sched_ext scheduler drives the DSQs and the policy's callbacks, one record at a time, without the
// events of a run. Nobody is idle here and whether a move succeeds comes from the recording, so that a policy's control
// flow is the recorded one; the host compares what it asks for with what was recorded (src/bpf/replay/).

import { CLASS_EXT } from '../abi';
import { CGROUP_DOMAIN, CPU_SHIFT, DSQ_SHIFT, IDLE_MASK, MASK_BYTES, MAX_ATTEMPTS, MAX_MASKS, REPLAY_ATTEMPTS, REPLAY_OUTCOMES, TASK_SHIFT } from '../core/layout';
import { opsDispatch, opsEnable, opsEnqueue, opsQuiescent, opsRunning, opsSelectCpu, opsStopping, opsTick } from '../policy/ops';
import { CPU_CURR } from './cpu';
import { DSQ_NONE, dsqFirst, dsqInsertVtime, dsqLocal, dsqNext, dsqPushHead, dsqPushTail, dsqRemove } from './dsq';
import { setNow } from './events';
import { maskAddress } from './mask';
import { FLAG_QUEUED, STATE_RUNNABLE, TASK_CGROUP, TASK_CLASS, TASK_CPU, TASK_DSQ, TASK_FLAGS, TASK_LAST_STINT, TASK_MASK, TASK_SLICE, TASK_STATE, TASK_STINT, TASK_VTIME, TASK_WEIGHT, taskAllocate } from './task';

export let replaying: bool = false;
/** The recorded instruction pointer of the task that a callback samples. */
export let replayedPointer: u64 = 0;
let attempts: u32 = 0;

export function replayBegin(): void {
  replaying = true;
  memory.fill(IDLE_MASK, 0, MASK_BYTES);
}

/** The policy asks for a task of d. */
export function replayAttempt(d: u32): bool {
  if (attempts == MAX_ATTEMPTS) return false;
  store<u32>(attempts << 2, d >> DSQ_SHIFT, REPLAY_ATTEMPTS);
  return load<u8>(attempts++, REPLAY_OUTCOMES) != 0;
}

/** A task that may run anywhere; its handle, 0 if there are too many. Each has a mask and a cgroup of its own. */
export function replayTask(): u32 {
  const t = taskAllocate();
  if (t == 0 || t >> TASK_SHIFT >= MAX_MASKS) return 0;
  store<u32>(t, t >> TASK_SHIFT, TASK_CGROUP);
  store<u32>(t, 1024, TASK_WEIGHT);
  store<u8>(t, CLASS_EXT as u8, TASK_CLASS);
  store<u8>(t, STATE_RUNNABLE, TASK_STATE);
  store<u16>(t, FLAG_QUEUED as u16, TASK_FLAGS);
  return t;
}

/** 64 CPUs of the task's mask; `all`: it may run on every CPU of the machine. */
export function replayMask(t: u32, word: u32, bits: u64, all: bool): void {
  const mask = t >> TASK_SHIFT;
  store<u64>(maskAddress(mask) + (word << 3), bits);
  store<u32>(t, all ? 0 : mask, TASK_MASK);
}

export function replayEnable(t: u32, time: u64): void {
  setNow(time);
  opsEnable(t, 0);
}

/** ops.select_cpu(): the CPU that the policy returned. */
export function replaySelectCpu(t: u32, time: u64, prev: u32, flags: u32): u32 {
  setNow(time);
  return opsSelectCpu(t, prev, flags);
}

/** ops.enqueue(): the DSQ that the policy chose, by its index; all ones if it inserted the task nowhere. */
export function replayEnqueue(t: u32, time: u64, cpu: u32, domain: u32, flags: u32): u32 {
  setNow(time);
  store<u32>(t, cpu, TASK_CPU);
  store<u32>(load<u32>(t, TASK_CGROUP) << 2, domain, CGROUP_DOMAIN);
  opsEnqueue(t, flags);
  const d = load<u32>(t, TASK_DSQ);
  return d == DSQ_NONE ? DSQ_NONE : d >> DSQ_SHIFT;
}

/** Puts the task where the recording has it, with its vtime; `ordered`: by vtime, else at the tail. */
export function replayInsert(t: u32, dsq: u32, vtime: u64, slice: u64, ordered: bool): void {
  if (load<u32>(t, TASK_DSQ) != DSQ_NONE) dsqRemove(t);
  store<u64>(t, slice, TASK_SLICE);
  if (ordered) {
    store<u64>(t, vtime, TASK_VTIME);
    dsqInsertVtime(dsq << DSQ_SHIFT, t, vtime);
  } else dsqPushTail(dsq << DSQ_SHIFT, t);
}

/** Takes the task out of the queue it is in, if any. */
export function replayRemove(t: u32): void {
  if (load<u32>(t, TASK_DSQ) != DSQ_NONE) dsqRemove(t);
}

/** Moves the task to the tail, or the head, of a CPU's local DSQ. */
export function replayLocal(t: u32, cpu: u32, head: bool): void {
  replayRemove(t);
  store<u32>(t, cpu, TASK_CPU);
  if (head) dsqPushHead(dsqLocal(cpu), t);
  else dsqPushTail(dsqLocal(cpu), t);
}

/** ops.dispatch() with the outcomes at REPLAY_OUTCOMES: how many moves the policy asked for; their DSQs at REPLAY_ATTEMPTS. */
export function replayDispatch(cpu: u32, prev: u32, time: u64): u32 {
  setNow(time);
  attempts = 0;
  opsDispatch(cpu, prev);
  return attempts;
}

export function replayOutcomes(): usize {
  return REPLAY_OUTCOMES;
}

export function replayAttempts(): usize {
  return REPLAY_ATTEMPTS;
}

export function replayRunning(t: u32, cpu: u32, time: u64): void {
  setNow(time);
  replayRemove(t);
  store<u32>(cpu << CPU_SHIFT, t, CPU_CURR);
  store<u64>(t, 0, TASK_STINT);
  opsRunning(t);
}

/** ops.stopping() after `stint` ns on the CPU. */
export function replayStopping(t: u32, time: u64, stint: u64, runnable: bool, pointer: u64): void {
  setNow(time);
  replayedPointer = pointer;
  store<u64>(t, stint, TASK_STINT);
  store<u64>(t, stint, TASK_LAST_STINT);
  opsStopping(t, runnable);
}

export function replayTick(t: u32, time: u64, stint: u64, pointer: u64): void {
  setNow(time);
  replayedPointer = pointer;
  store<u64>(t, stint, TASK_STINT);
  opsTick(t);
}

export function replayQuiescent(t: u32, time: u64): void {
  setNow(time);
  opsQuiescent(t, true);
}

/** The head of a DSQ, and the task behind another; 0 = none. */
export function replayFirst(dsq: u32): u32 {
  return dsqFirst(dsq << DSQ_SHIFT);
}

export function replayNext(dsq: u32, t: u32): u32 {
  return dsqNext(dsq << DSQ_SHIFT, t);
}

export function replayVtime(t: u32): u64 {
  return load<u64>(t, TASK_VTIME);
}

export function replaySlice(t: u32): u64 {
  return load<u64>(t, TASK_SLICE);
}
