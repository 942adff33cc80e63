// The ops table: one function per sched_ext callback, dispatching to the policy of the run. The kernel calls policies
// through this file only, so native policies and translated BPF objects look the same to it. An absent callback costs
// one switch that falls through.

import {
  P_POLICY,
  POLICY_DOMAINS,
  POLICY_GLOBAL_FIFO,
  POLICY_GLOBAL_VTIME,
  POLICY_PERCPU_FIFO,
  POLICY_WEIGHTED_VTIME,
} from '../abi';
import { param } from '../core/counters';
import * as domains from './domains';
import * as globalFifo from './global_fifo';
import * as percpuFifo from './percpu_fifo';
import * as weightedVtime from './weighted_vtime';

let policy: u32 = 0;

/** ops.init() */
export function opsInit(): void {
  policy = param(P_POLICY) as u32;
  // global-vtime is weighted vtime over one domain of all CPUs.
  if (policy == POLICY_GLOBAL_VTIME) policy = POLICY_WEIGHTED_VTIME;
  if (policy == POLICY_DOMAINS) domains.init();
  else if (policy == POLICY_GLOBAL_FIFO) globalFifo.init();
  else if (policy == POLICY_PERCPU_FIFO) percpuFifo.init();
  else if (policy == POLICY_WEIGHTED_VTIME) weightedVtime.init();
}

// @ts-ignore: decorator
@inline
export function opsHasSelectCpu(): bool {
  return true;
}

// @ts-ignore: decorator
@inline
export function opsSelectCpu(t: u32, prev: u32, flags: u32): u32 {
  if (policy == POLICY_DOMAINS) return domains.selectCpu(t, prev);
  if (policy == POLICY_WEIGHTED_VTIME) return weightedVtime.selectCpu(t, prev);
  if (policy == POLICY_GLOBAL_FIFO) return globalFifo.selectCpu(t, prev);
  return percpuFifo.selectCpu(t, prev);
}

// @ts-ignore: decorator
@inline
export function opsEnqueue(t: u32, flags: u32): void {
  if (policy == POLICY_DOMAINS) domains.enqueue(t);
  else if (policy == POLICY_WEIGHTED_VTIME) weightedVtime.enqueue(t);
  else if (policy == POLICY_GLOBAL_FIFO) globalFifo.enqueue(t, flags);
  else percpuFifo.enqueue(t, flags);
}

// @ts-ignore: decorator
@inline
export function opsDequeue(t: u32): void {}

// @ts-ignore: decorator
@inline
export function opsDispatch(cpu: u32, prev: u32): void {
  if (policy == POLICY_DOMAINS) domains.dispatch(cpu);
  else if (policy == POLICY_WEIGHTED_VTIME) weightedVtime.dispatch(cpu);
  else if (policy == POLICY_GLOBAL_FIFO) globalFifo.dispatch(cpu);
}

// @ts-ignore: decorator
@inline
export function opsRunnable(t: u32, flags: u32): void {}

// @ts-ignore: decorator
@inline
export function opsRunning(t: u32): void {
  if (policy == POLICY_WEIGHTED_VTIME) weightedVtime.running(t);
}

// @ts-ignore: decorator
@inline
export function opsStopping(t: u32, runnable: bool): void {
  if (policy == POLICY_WEIGHTED_VTIME) weightedVtime.stopping(t);
}

// @ts-ignore: decorator
@inline
export function opsQuiescent(t: u32): void {
  if (policy == POLICY_DOMAINS) domains.quiescent(t);
}

/** ops.enable(): the task joins the class. */
export function opsEnable(t: u32): void {
  if (policy == POLICY_DOMAINS) domains.enable(t);
  else if (policy == POLICY_WEIGHTED_VTIME) weightedVtime.enable(t);
}
