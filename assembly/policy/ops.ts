// The ops table: one function per sched_ext callback, dispatching to the policy of the run. The kernel calls policies
// through this file only, so native policies and translated BPF objects look the same to it. An absent callback costs
// one switch that falls through. The policies of large sweeps and of queueing models are asked for first.

import {
  BPF_OP_DEQUEUE,
  BPF_OP_DISPATCH,
  BPF_OP_ENQUEUE,
  BPF_OP_QUIESCENT,
  BPF_OP_RUNNABLE,
  BPF_OP_RUNNING,
  BPF_OP_SELECT_CPU,
  BPF_OP_STOPPING,
  BPF_OP_TICK,
  DECISION_SELECTED,
  DECISIONS_COMPARED,
  POLICY_BPF,
  POLICY_CENTRAL,
  POLICY_DOMAINS,
  POLICY_DOMAINS_AS_CODED,
  POLICY_FIVE_LEVEL,
  POLICY_GLOBAL_FIFO,
  POLICY_GLOBAL_VTIME,
  POLICY_NEST,
  POLICY_NONE,
  POLICY_PERCPU_FIFO,
  POLICY_PROCESSOR_SHARING,
  POLICY_SERVICE_ORDER,
  POLICY_SFS,
  POLICY_SHORTEST_REMAINING,
  POLICY_WEIGHTED_VTIME,
  P_DECISIONS,
  P_POLICY,
} from '../abi';
import { EXIT_ERROR_STALL, EXIT_UNREG } from '../bpf/message';
import * as bpf from '../bpf/ops';
import { cgroupMade } from '../bpf/cgroups';
import { cgroupMapped } from '../bpf/mapping';
import { timersFire } from '../bpf/timer';
import { param } from '../core/counters';
import { comparing, noteCallback, recordDetail } from '../kernel/decisions';
import { fluidEnable, fluidJoin, fluidLeave } from '../kernel/fluid';
import { TASK_CPU } from '../kernel/task';
import * as central from './central';
import * as domains from './domains';
import * as domainsAsCoded from './domains_as_coded';
import * as fiveLevel from './five_level';
import * as globalFifo from './global_fifo';
import * as nest from './nest';
import * as percpuFifo from './percpu_fifo';
import * as processorSharing from './processor_sharing';
import * as serviceOrder from './service_order';
import * as sfs from './sfs';
import * as weightedVtime from './weighted_vtime';

let policy: u32 = 0;
/** The policy, if it is one of three that are asked for first, and for nothing else, and nobody compares callbacks. */
let fast: u32 = POLICY_NONE;

/** ops.init() */
export function opsInit(): void {
  policy = param(P_POLICY) as u32;
  processorSharing.init();
  // global-vtime is weighted vtime over one domain of all CPUs.
  if (policy == POLICY_GLOBAL_VTIME) policy = POLICY_WEIGHTED_VTIME;
  if (policy == POLICY_SHORTEST_REMAINING) policy = POLICY_SERVICE_ORDER;
  const isFast = policy == POLICY_DOMAINS || policy == POLICY_WEIGHTED_VTIME || policy == POLICY_GLOBAL_FIFO;
  fast = isFast && param(P_DECISIONS) != DECISIONS_COMPARED ? policy : POLICY_NONE;
  switch (policy) {
    case POLICY_DOMAINS: domains.init(); break;
    case POLICY_DOMAINS_AS_CODED: domainsAsCoded.init(); break;
    case POLICY_GLOBAL_FIFO: globalFifo.init(); break;
    case POLICY_PERCPU_FIFO: percpuFifo.init(); break;
    case POLICY_WEIGHTED_VTIME: weightedVtime.init(); break;
    case POLICY_CENTRAL: central.init(); break;
    case POLICY_FIVE_LEVEL: fiveLevel.init(); break;
    case POLICY_NEST: nest.init(); break;
    case POLICY_SERVICE_ORDER: serviceOrder.init(); break;
    case POLICY_SFS: sfs.init(); break;
    case POLICY_BPF: bpf.init(); break;
  }
}

// @ts-ignore: decorator
@inline
export function opsHasSelectCpu(): bool {
  return policy != POLICY_BPF || bpf.has(BPF_OP_SELECT_CPU);
}

// @ts-ignore: decorator
@inline
export function opsSelectCpu(t: u32, prev: u32, flags: u32): u32 {
  if (fast == POLICY_DOMAINS) return domains.selectCpu(t, prev);
  if (fast == POLICY_WEIGHTED_VTIME) return weightedVtime.selectCpu(t, prev);
  if (fast == POLICY_GLOBAL_FIFO) return globalFifo.selectCpu(t, prev);
  noteCallback(BPF_OP_SELECT_CPU, prev, t);
  const cpu = selectCpu(t, prev, flags);
  if (comparing) recordDetail(DECISION_SELECTED, t, cpu);
  return cpu;
}

function selectCpu(t: u32, prev: u32, flags: u32): u32 {
  switch (policy) {
    case POLICY_DOMAINS: return domains.selectCpu(t, prev);
    case POLICY_WEIGHTED_VTIME: return weightedVtime.selectCpu(t, prev);
    case POLICY_BPF: return bpf.selectCpu(t, prev, flags);
    case POLICY_GLOBAL_FIFO: return globalFifo.selectCpu(t, prev);
    case POLICY_DOMAINS_AS_CODED: return domainsAsCoded.selectCpu(t, prev);
    case POLICY_CENTRAL: return central.selectCpu(t, prev);
    case POLICY_FIVE_LEVEL: return fiveLevel.selectCpu(t, prev);
    case POLICY_NEST: return nest.selectCpu(t, prev);
    case POLICY_SERVICE_ORDER: return serviceOrder.selectCpu(t, prev);
    case POLICY_PROCESSOR_SHARING: return processorSharing.selectCpu(t, prev);
    case POLICY_SFS: return sfs.selectCpu(t, prev);
    default: return percpuFifo.selectCpu(t, prev);
  }
}

// @ts-ignore: decorator
@inline
export function opsEnqueue(t: u32, flags: u32): void {
  if (fast == POLICY_DOMAINS) domains.enqueue(t);
  else if (fast == POLICY_WEIGHTED_VTIME) weightedVtime.enqueue(t, flags);
  else if (fast == POLICY_GLOBAL_FIFO) globalFifo.enqueue(t, flags);
  else enqueue(t, flags);
}

function enqueue(t: u32, flags: u32): void {
  noteCallback(BPF_OP_ENQUEUE, load<u32>(t, TASK_CPU), t);
  switch (policy) {
    case POLICY_DOMAINS: domains.enqueue(t); break;
    case POLICY_WEIGHTED_VTIME: weightedVtime.enqueue(t, flags); break;
    case POLICY_BPF: bpf.enqueue(t, flags); break;
    case POLICY_GLOBAL_FIFO: globalFifo.enqueue(t, flags); break;
    case POLICY_DOMAINS_AS_CODED: domainsAsCoded.enqueue(t); break;
    case POLICY_CENTRAL: central.enqueue(t); break;
    case POLICY_FIVE_LEVEL: fiveLevel.enqueue(t, flags); break;
    case POLICY_NEST: nest.enqueue(t); break;
    case POLICY_SERVICE_ORDER: serviceOrder.enqueue(t); break;
    case POLICY_PROCESSOR_SHARING: processorSharing.enqueue(t); break;
    case POLICY_SFS: sfs.enqueue(t); break;
    default: percpuFifo.enqueue(t, flags);
  }
}

/** A waiting task leaves the policy's custody without having run, or `moves` from a user DSQ to a local one (7.3). */
// @ts-ignore: decorator
@inline
export function opsDequeue(t: u32, moves: bool): void {
  if (fast != POLICY_NONE) return;
  noteCallback(BPF_OP_DEQUEUE, load<u32>(t, TASK_CPU), t);
  if (policy == POLICY_BPF) bpf.dequeue(t, moves);
}

/** The task that a BPF program's select_cpu() has inserted. */
export function opsInsertMarked(t: u32, cpu: u32, flags: u32): void {
  bpf.insertSelected(t, cpu, flags);
}

// @ts-ignore: decorator
@inline
export function opsDispatch(cpu: u32, prev: u32): void {
  if (fast == POLICY_DOMAINS) domains.dispatch(cpu);
  else if (fast == POLICY_WEIGHTED_VTIME) weightedVtime.dispatch(cpu, prev);
  else if (fast == POLICY_GLOBAL_FIFO) globalFifo.dispatch(cpu);
  else dispatch(cpu, prev);
}

function dispatch(cpu: u32, prev: u32): void {
  noteCallback(BPF_OP_DISPATCH, cpu, prev);
  switch (policy) {
    case POLICY_DOMAINS: domains.dispatch(cpu); break;
    case POLICY_WEIGHTED_VTIME: weightedVtime.dispatch(cpu, prev); break;
    case POLICY_BPF: bpf.dispatch(cpu, prev); break;
    case POLICY_GLOBAL_FIFO: globalFifo.dispatch(cpu); break;
    case POLICY_DOMAINS_AS_CODED: domainsAsCoded.dispatch(cpu); break;
    case POLICY_CENTRAL: central.dispatch(cpu); break;
    case POLICY_FIVE_LEVEL: fiveLevel.dispatch(cpu, prev); break;
    case POLICY_NEST: nest.dispatch(cpu); break;
    case POLICY_SERVICE_ORDER: serviceOrder.dispatch(cpu, prev); break;
    case POLICY_PROCESSOR_SHARING: processorSharing.dispatch(cpu, prev); break;
    case POLICY_SFS: sfs.dispatch(cpu); break;
  }
}

// @ts-ignore: decorator
@inline
export function opsRunnable(t: u32, flags: u32): void {
  if (fast != POLICY_NONE) return;
  noteCallback(BPF_OP_RUNNABLE, load<u32>(t, TASK_CPU), t);
  if (policy == POLICY_PROCESSOR_SHARING) fluidJoin(t);
  else if (policy == POLICY_BPF) bpf.runnable(t, flags);
}

// @ts-ignore: decorator
@inline
export function opsRunning(t: u32): void {
  if (fast == POLICY_WEIGHTED_VTIME) weightedVtime.running(t);
  else if (fast == POLICY_NONE) running(t);
}

function running(t: u32): void {
  noteCallback(BPF_OP_RUNNING, load<u32>(t, TASK_CPU), t);
  switch (policy) {
    case POLICY_WEIGHTED_VTIME: weightedVtime.running(t); break;
    case POLICY_BPF: bpf.running(t); break;
    case POLICY_CENTRAL: central.running(t); break;
    case POLICY_NEST: nest.running(t); break;
    case POLICY_SERVICE_ORDER: serviceOrder.running(t); break;
    case POLICY_SFS: sfs.running(t); break;
  }
}

// @ts-ignore: decorator
@inline
export function opsStopping(t: u32, runnable: bool): void {
  if (fast == POLICY_WEIGHTED_VTIME) weightedVtime.stopping(t);
  else if (fast == POLICY_NONE) stopping(t, runnable);
}

function stopping(t: u32, runnable: bool): void {
  noteCallback(BPF_OP_STOPPING, load<u32>(t, TASK_CPU), t);
  switch (policy) {
    case POLICY_WEIGHTED_VTIME: weightedVtime.stopping(t); break;
    case POLICY_BPF: bpf.stopping(t, runnable); break;
    case POLICY_DOMAINS_AS_CODED: domainsAsCoded.stopping(t); break;
    case POLICY_CENTRAL: central.stopping(t); break;
    case POLICY_NEST: nest.stopping(t); break;
    case POLICY_SFS: sfs.stopping(t); break;
  }
}

/** ops.tick(): the tick found t running. */
// @ts-ignore: decorator
@inline
export function opsTick(t: u32): void {
  if (fast != POLICY_NONE) return;
  noteCallback(BPF_OP_TICK, load<u32>(t, TASK_CPU), t);
  if (policy == POLICY_DOMAINS_AS_CODED) domainsAsCoded.tick(t);
  else if (policy == POLICY_BPF) bpf.tick(t);
}

// @ts-ignore: decorator
@inline
export function opsQuiescent(t: u32, sleeps: bool): void {
  if (fast == POLICY_DOMAINS) domains.quiescent(t);
  else if (fast == POLICY_NONE) quiescent(t, sleeps);
}

function quiescent(t: u32, sleeps: bool): void {
  noteCallback(BPF_OP_QUIESCENT, load<u32>(t, TASK_CPU), t);
  if (policy == POLICY_BPF) bpf.quiescent(t, sleeps);
  else if (policy == POLICY_DOMAINS) domains.quiescent(t);
  else if (policy == POLICY_DOMAINS_AS_CODED) domainsAsCoded.quiescent(t);
  else if (policy == POLICY_PROCESSOR_SHARING) fluidLeave(t);
}

/** A task of any class begins; `parent` forked it, 0 = nobody. */
// @ts-ignore: decorator
@inline
export function opsBegin(t: u32, parent: u32): void {
  if (policy == POLICY_BPF) bpf.begin(t, parent);
}

/** ops.init_task() and ops.enable(): the task, forked by `parent` (0 = nobody), joins the class. */
export function opsEnable(t: u32, parent: u32): void {
  if (policy == POLICY_DOMAINS) domains.enable(t);
  else if (policy == POLICY_WEIGHTED_VTIME) weightedVtime.enable(t);
  else if (policy == POLICY_DOMAINS_AS_CODED) domainsAsCoded.enable(t);
  else if (policy == POLICY_NEST) nest.enable(t);
  else if (policy == POLICY_PROCESSOR_SHARING) fluidEnable(t);
  else if (policy == POLICY_BPF) bpf.enable(t, parent);
}

/** ops.exit_task(): a task of any class is gone. */
// @ts-ignore: decorator
@inline
export function opsExitTask(t: u32): void {
  if (policy == POLICY_BPF) bpf.exitTask(t);
}

/** ops.set_cpumask() */
// @ts-ignore: decorator
@inline
export function opsSetCpumask(t: u32): void {
  if (policy == POLICY_BPF) bpf.setCpumask(t);
}

/** ops.yield(): false if the policy has none. */
// @ts-ignore: decorator
@inline
export function opsYield(t: u32): bool {
  return policy == POLICY_BPF && bpf.yielded(t);
}

/** ops.cpu_release(): task `next` of a higher class takes the CPU from an ext task. */
// @ts-ignore: decorator
@inline
export function opsCpuRelease(cpu: u32, next: u32): void {
  if (policy == POLICY_BPF) bpf.cpuRelease(cpu, next);
}

/** ops.cpu_acquire(): the CPU is about to look for an ext task. */
// @ts-ignore: decorator
@inline
export function opsCpuAcquire(cpu: u32): void {
  if (policy == POLICY_BPF) bpf.cpuAcquire(cpu);
}

/** ops.cpu_online() or ops.cpu_offline(): false if the policy has no such callback. */
export function opsHotplug(cpu: u32, online: bool): bool {
  return policy == POLICY_BPF && bpf.hotplug(cpu, online);
}

/** ops.exit(): the policy is ejected, or `ends` with the run. */
export function opsExit(ends: bool): void {
  if (policy == POLICY_BPF) bpf.exit(ends ? EXIT_UNREG : EXIT_ERROR_STALL);
}

/** ops.update_idle(): the CPU enters or leaves idleness. */
// @ts-ignore: decorator
@inline
export function opsUpdateIdle(cpu: u32, idle: bool): void {
  if (policy == POLICY_BPF) bpf.updateIdle(cpu, idle);
}

/** What follows is caused by `cpu`, -1 = by an interrupt where it happens. */
// @ts-ignore: decorator
@inline
export function opsCausedBy(cpu: i32): void {
  if (policy == POLICY_BPF) bpf.causedBy(cpu);
}

/** The task that runs on a CPU has begun a burst (fluid service). */
export function opsBegan(cpu: u32, t: u32): void {
  processorSharing.began(cpu, t);
}

/** A container's cgroup was made. */
export function opsCgroupMade(cgroup: u32): void {
  if (policy == POLICY_BPF) cgroupMade(cgroup);
}

/** The control plane has written a cgroup's domain, NONE = none. */
// @ts-ignore: decorator
@inline
export function opsMapped(cgroup: u32, domain: u32): void {
  if (policy == POLICY_BPF) cgroupMapped(cgroup, domain);
}

/** The policy's timer, armed by policyTimer(): a bpf_timer's callback. */
export function opsTimer(): void {
  if (policy == POLICY_DOMAINS_AS_CODED) domainsAsCoded.timer();
  else if (policy == POLICY_CENTRAL) central.timer();
  else if (policy == POLICY_BPF) timersFire();
}
