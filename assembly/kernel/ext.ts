// The sched_ext core: what the kernel does around a policy's callbacks (kernel/sched/ext.c). Policies call the
// functions in the second half, which carry the names of the kfuncs.

import {
  CLASS_EXT,
  DECISION_KICK,
  KERNEL_6_12,
  KERNEL_7_3,
  P_ENQ_LAST,
  P_KERNEL,
  P_POLICY,
  POLICY_NONE,
  POLICY_PROCESSOR_SHARING,
} from '../abi';
import { count, DISPATCHES, KICKS, param } from '../core/counters';
import { fail, FAIL_DOUBLE_INSERT, FAIL_INVALID_CPU, FAIL_LOCAL_AFFINITY } from '../core/failure';
import { CPU_SHIFT, IDLE_MASK, ONLINE_MASK } from '../core/layout';
import {
  opsCpuAcquire,
  opsCpuRelease,
  opsDequeue,
  opsDispatch,
  opsEnqueue,
  opsExit,
  opsHasSelectCpu,
  opsInsertMarked,
  opsQuiescent,
  opsRunnable,
  opsRunning,
  opsSelectCpu,
  opsSetCpumask,
  opsStopping,
  opsTick,
  opsYield,
} from '../policy/ops';
import { CPU_CURR } from './cpu';
import { comparing, recordDetailAt } from './decisions';
import {
  DSQ_GLOBAL,
  DSQ_NONE,
  dsqFirst,
  dsqInsertVtime,
  dsqIsLocal,
  dsqLocal,
  dsqNext,
  dsqNr,
  dsqPushHead,
  dsqPushTail,
  dsqRemove,
} from './dsq';
import { resched } from './events';
import { pickIdleNear } from './ext_idle';
import { maskAddress, maskFirstAnd, maskNextAnd, maskTest, nrCpus } from './mask';
import { replayAttempt, replaying } from './replay';
import { noteDispatch } from './sched';
import {
  FLAG_QUEUED,
  TASK_CLASS,
  TASK_CPU,
  TASK_DIRECT_DSQ,
  TASK_DSQ,
  TASK_FLAGS,
  TASK_MASK,
  TASK_PID,
  TASK_SLICE,
} from './task';
import { noteLocal, taskMove, wakeIdleCpu } from './wakeup';

/** SCX_SLICE_DFL */
export const SLICE_DEFAULT: u64 = 20000000;
/** SCX_DSP_MAX_LOOPS */
const DISPATCH_MAX_LOOPS: u32 = 32;

/** TASK_DIRECT_DSQ of a task that a BPF program has marked for direct dispatch (bpf/insert.ts). */
export const DSQ_DIRECT: u32 = 0xfffffffe;

export const ENQ_WAKEUP: u32 = 1;
export const ENQ_LAST: u32 = 2;
export const ENQ_HEAD: u32 = 4;
export const ENQ_PREEMPT: u32 = 8;
export const ENQ_REENQ: u32 = 16;

export const KICK_IDLE: u32 = 1;
export const KICK_PREEMPT: u32 = 2;

/** A policy is loaded. */
export let extEnabled: bool = false;
let enqLast: bool = false;
let dequeueOnLeave: bool = false;
/** Before 6.12 a task that is moved to another CPU leaves one run queue and joins another, as if it slept in between. */
let quiescentOnMigration: bool = false;
/** CPU whose dispatch() is running. */
let dispatchCpu: u32 = 0;
/** The task that is losing its CPU: kicks act when the next one is there, so they don't take its slice. */
let leaving: u32 = 0;
/** Tasks that dispatch() has moved so far. */
let dispatchMoved: u32 = 0;

/** Some CPU is offline: a policy that knows hotplug stays. */
let someOffline: bool = false;

/** CPUs went offline or came back; `none` = all are online. */
export function extHotplug(none: bool): void {
  someOffline = !none;
}

// @ts-ignore: decorator
@inline
function isOffline(cpu: u32): bool {
  return someOffline && !maskTest(ONLINE_MASK, cpu);
}

/** What waits in the local DSQ of a CPU that has gone offline goes elsewhere. */
export function extDrain(cpu: u32): void {
  const local = dsqLocal(cpu);
  for (let t = dsqFirst(local); t != 0; t = dsqFirst(local)) {
    dsqRemove(t);
    moveToAllowed(t);
  }
}

/** The policy is ejected. */
export function extDisable(): void {
  extEnabled = false;
  opsExit(false);
}

export function extInit(): void {
  extEnabled = param(P_POLICY) != POLICY_NONE;
  enqLast = param(P_ENQ_LAST) != 0;
  dequeueOnLeave = param(P_KERNEL) >= KERNEL_7_3;
  // The ideal server of processor sharing has no CPUs that its work moves between.
  quiescentOnMigration = param(P_KERNEL) < KERNEL_6_12 && param(P_POLICY) != POLICY_PROCESSOR_SHARING;
  dispatchMoved = 0;
  leaving = 0;
  someOffline = false;
}

// @ts-ignore: decorator
@inline
export function allowed(t: u32, cpu: u32): bool {
  const mask = load<u32>(t, TASK_MASK);
  return mask == 0 || maskTest(maskAddress(mask), cpu);
}

// @ts-ignore: decorator
@inline
function queued(t: u32): bool {
  return (load<u16>(t, TASK_FLAGS) & FLAG_QUEUED) != 0;
}

// ---- class operations, called by sched.ts ---------------------------------------------------------------

/** Not called for tasks that may run on one CPU only. */
// @ts-ignore: decorator
@inline
export function extSelectCpu(t: u32, prev: u32, wakeup: bool): u32 {
  const only = load<u32>(t, TASK_MASK) == 0 ? -1 : onlyCpu(t);
  if (only >= 0) return only as u32;
  const cpu = opsHasSelectCpu() ? opsSelectCpu(t, prev, wakeup ? ENQ_WAKEUP : 0) : selectCpuDefault(t, prev);
  if (cpu >= nrCpus) {
    fail(FAIL_INVALID_CPU, load<u32>(t, TASK_PID), cpu, nrCpus);
    return prev;
  }
  // The policy may name any CPU; the task goes to one it may run on (select_fallback_rq()).
  return allowed(t, cpu) && !isOffline(cpu) ? cpu : fallbackCpu(t);
}

/** The CPU of a task that may run on one only, else -1. */
function onlyCpu(t: u32): i32 {
  const mask = maskAddress(load<u32>(t, TASK_MASK));
  let n: u64 = 0;
  for (let w: u32 = 0; w < 8; w++) n += popcnt(load<u64>(mask + (w << 3)));
  return n == 1 ? maskFirstAnd(mask, maskAddress(0)) : -1;
}

/** The lowest CPU that t may run on now. */
function fallbackCpu(t: u32): u32 {
  const mask = maskAddress(load<u32>(t, TASK_MASK));
  const cpu = maskFirstAnd(mask, ONLINE_MASK);
  return (cpu >= 0 ? cpu : maskFirstAnd(mask, maskAddress(0))) as u32;
}

/** scx_select_cpu_dfl(): the previous CPU if idle, else any idle one; then straight into its local DSQ. */
function selectCpuDefault(t: u32, prev: u32): u32 {
  const cpu = pickIdleNear(t, prev);
  if (cpu < 0) return prev;
  store<u64>(t, SLICE_DEFAULT, TASK_SLICE);
  store<u32>(t, dsqLocal(cpu as u32), TASK_DIRECT_DSQ);
  return cpu as u32;
}

// @ts-ignore: decorator
@inline
export function extEnqueue(t: u32, cpu: u32, wakeup: bool): void {
  store<u32>(t, cpu, TASK_CPU);
  opsRunnable(t, wakeup ? ENQ_WAKEUP : 0);
  doEnqueue(t, cpu, wakeup ? ENQ_WAKEUP : 0);
}

/** do_enqueue_task() */
function doEnqueue(t: u32, cpu: u32, flags: u32): void {
  const direct = load<u32>(t, TASK_DIRECT_DSQ);
  if (direct != DSQ_NONE) {
    store<u32>(t, DSQ_NONE, TASK_DIRECT_DSQ);
    if (direct == DSQ_DIRECT) {
      opsInsertMarked(t, cpu, flags);
      return;
    }
    // SCX_DSQ_LOCAL means the CPU the task ends up on.
    dispatchEnqueue(dsqIsLocal(direct) ? dsqLocal(cpu) : direct, t, flags);
    return;
  }
  if ((flags & ENQ_LAST) != 0 && !enqLast) {
    dispatchEnqueue(dsqLocal(cpu), t, flags);
    return;
  }
  opsEnqueue(t, flags);
}

export function extDequeue(t: u32, sleep: bool): void {
  if (load<u32>(t, TASK_DSQ) != DSQ_NONE) {
    opsDequeue(t, false);
    dsqRemove(t);
  } else {
    opsStopping(t, false);
  }
  if (sleep) opsQuiescent(t, true);
}

/** balance_one() and pick_task_scx(): what runs next on `cpu`, `prev` itself if it keeps the CPU, 0 if nothing. */
export function extPick(cpu: u32, prev: u32): u32 {
  if (isOffline(cpu)) return 0;
  opsCpuAcquire(cpu);
  const prevExt = prev != 0 && load<u8>(prev, TASK_CLASS) == CLASS_EXT;
  // One that may not use this CPU any more goes, whatever slice the policy gives it.
  const prevQueued = prevExt && queued(prev) && allowed(prev, cpu);
  if (prevQueued && load<u64>(prev, TASK_SLICE) != 0) return prev;
  const local = dsqLocal(cpu);
  if (dsqNr(local) == 0 && !consumeAny(DSQ_GLOBAL, cpu)) {
    let loops = DISPATCH_MAX_LOOPS;
    dispatchCpu = cpu;
    do {
      dispatchMoved = 0;
      count(DISPATCHES);
      opsDispatch(cpu, prevExt ? prev : 0);
      if (prevQueued && load<u64>(prev, TASK_SLICE) != 0) return prev;
      if (dsqNr(local) != 0 || consumeAny(DSQ_GLOBAL, cpu)) break;
      if (--loops == 0) {
        resched(cpu);
        break;
      }
    } while (dispatchMoved != 0);
  }
  const t = dsqFirst(local);
  if (t != 0) {
    if (load<u64>(t, TASK_SLICE) == 0) store<u64>(t, SLICE_DEFAULT, TASK_SLICE);
    return t;
  }
  if (prevQueued && !enqLast) {
    store<u64>(prev, SLICE_DEFAULT, TASK_SLICE);
    return prev;
  }
  return 0;
}

/** put_prev_task_scx(); a task that went to sleep has been stopped by extDequeue(). */
export function extPutPrev(cpu: u32, t: u32, next: u32): void {
  if (!queued(t)) return;
  leaving = t;
  putPrev(cpu, t, next);
  leaving = 0;
  if (next != 0 && load<u8>(next, TASK_CLASS) != CLASS_EXT) opsCpuRelease(cpu, next);
}

function putPrev(cpu: u32, t: u32, next: u32): void {
  opsStopping(t, true);
  if (!allowed(t, cpu) || isOffline(cpu)) {
    // Its mask was changed while it ran here, or the CPU goes offline: migration_cpu_stop() takes it away.
    moveToAllowed(t);
    return;
  }
  if (load<u64>(t, TASK_SLICE) != 0) {
    dispatchEnqueue(dsqLocal(cpu), t, ENQ_HEAD);
    return;
  }
  doEnqueue(t, cpu, next == 0 ? ENQ_LAST : 0);
}

export function extSetNext(cpu: u32, t: u32): void {
  if (load<u32>(t, TASK_DSQ) != DSQ_NONE) dsqRemove(t);
  opsRunning(t);
}

export function extTick(cpu: u32, t: u32): void {
  opsTick(t);
  if (load<u64>(t, TASK_SLICE) == 0) resched(cpu);
}

/** sched_yield(): without ops.yield the slice is gone. */
export function extYield(cpu: u32, t: u32): void {
  if (!opsYield(t)) store<u64>(t, 0, TASK_SLICE);
  resched(cpu);
}

/** set_cpus_allowed_ptr(): a queued task is taken out and enqueued anew, a running one leaves a CPU it may not use. */
export function extSetAffinity(t: u32, mask: u32): void {
  const cpu = load<u32>(t, TASK_CPU);
  const isRunning = load<u32>(cpu << CPU_SHIFT, CPU_CURR) == t;
  const waits = queued(t) && !isRunning;
  if (waits) {
    opsDequeue(t, false);
    if (load<u32>(t, TASK_DSQ) != DSQ_NONE) dsqRemove(t);
  }
  store<u32>(t, mask, TASK_MASK);
  opsSetCpumask(t);
  if (waits) {
    if (allowed(t, cpu)) doEnqueue(t, cpu, 0);
    else moveToAllowed(t);
  } else if (queued(t) && !allowed(t, cpu)) {
    store<u64>(t, 0, TASK_SLICE);
    resched(cpu);
  }
}

/** Enqueues a task on the lowest CPU of its mask. */
function moveToAllowed(t: u32): void {
  const cpu = fallbackCpu(t);
  migrate(t, cpu);
  doEnqueue(t, cpu, 0);
  if (load<u32>(cpu << CPU_SHIFT, CPU_CURR) == 0) wakeIdleCpu(cpu);
}

/** move_remote_task_to_local_dsq(), move_queued_task(): deactivate_task() on one run queue, activate_task() on another. */
// @ts-ignore: decorator
@inline
function migrate(t: u32, cpu: u32): void {
  if (quiescentOnMigration) opsQuiescent(t, false);
  taskMove(t, cpu);
  if (quiescentOnMigration) opsRunnable(t, 0);
}

// ---- what policies call ---------------------------------------------------------------------------------

/** dispatch_enqueue(): FIFO insertion; an idle CPU that gets a local task is rescheduled. */
function dispatchEnqueue(given: u32, t: u32, flags: u32): void {
  // Nobody looks into the local DSQ of an offline CPU (task_can_run_on_remote_rq()).
  const d = dsqIsLocal(given) && isOffline(given >> (31 - clz(dsqLocal(1)))) ? DSQ_GLOBAL : given;
  if ((flags & ENQ_HEAD) != 0) dsqPushHead(d, t);
  else dsqPushTail(d, t);
  if (!dsqIsLocal(d)) return;
  const cpu = d >> (31 - clz(dsqLocal(1)));
  if (!allowed(t, cpu)) fail(FAIL_LOCAL_AFFINITY, load<u32>(t, TASK_PID), cpu, load<u32>(t, TASK_MASK));
  if (load<u32>(t, TASK_CPU) != cpu) migrate(t, cpu);
  const curr = load<u32>(cpu << CPU_SHIFT, CPU_CURR);
  if (curr == 0) {
    wakeIdleCpu(cpu);
  } else {
    noteLocal(t);
    if ((flags & ENQ_PREEMPT) != 0 && load<u8>(curr, TASK_CLASS) == CLASS_EXT) {
      store<u64>(curr, 0, TASK_SLICE);
      resched(cpu);
    }
  }
}

/** dispatch_enqueue() of a BPF program's task: ENQ_HEAD and ENQ_PREEMPT of `flags`. */
export function insertFifo(t: u32, d: u32, flags: u32): void {
  dispatchEnqueue(d, t, flags);
}

/** dispatch_to_local_dsq() inside dispatch(): a task goes into the local DSQ d. */
export function putLocal(t: u32, d: u32, flags: u32): void {
  if (d != dsqLocal(dispatchCpu) || !allowed(t, dispatchCpu) || (flags & ENQ_PREEMPT) != 0) {
    dispatchEnqueue(d, t, flags);
    return;
  }
  if (load<u32>(t, TASK_CPU) != dispatchCpu) migrate(t, dispatchCpu);
  if ((flags & ENQ_HEAD) != 0) dsqPushHead(d, t);
  else dsqPushTail(d, t);
  noteDispatch();
}

/** scx_bpf_reenqueue_local(): a task that was taken out of the local DSQ of `cpu` goes back to the policy. */
export function reenqueue(t: u32, cpu: u32): void {
  doEnqueue(t, cpu, ENQ_REENQ);
}

/** refill_task_slice_dfl() */
export function refillSlice(t: u32): void {
  store<u64>(t, SLICE_DEFAULT, TASK_SLICE);
}

/** dispatch() has moved so many tasks more. */
export function noteMoved(n: u32): void {
  dispatchMoved += n;
}

/** scx_bpf_dsq_insert(): FIFO insertion with a slice (0 keeps what is left, at least 1 ns). */
export function dsqInsert(t: u32, d: u32, slice: u64, flags: u32): void {
  setSlice(t, slice);
  dispatchEnqueue(d, t, flags);
}

/** scx_bpf_dsq_insert() from select_cpu(): into the local DSQ of the CPU that is returned; enqueue() is skipped. */
export function dsqInsertDirect(t: u32, cpu: u32, slice: u64): void {
  if (load<u32>(t, TASK_DIRECT_DSQ) != DSQ_NONE) {
    fail(FAIL_DOUBLE_INSERT, load<u32>(t, TASK_PID), cpu, 0);
    return;
  }
  setSlice(t, slice);
  store<u32>(t, dsqLocal(cpu), TASK_DIRECT_DSQ);
}

/** scx_bpf_dsq_insert_vtime() */
// @ts-ignore: decorator
@inline
export function dsqInsertByVtime(t: u32, d: u32, slice: u64, vtime: u64): void {
  setSlice(t, slice);
  dsqInsertVtime(d, t, vtime);
}

// @ts-ignore: decorator
@inline
function setSlice(t: u32, slice: u64): void {
  if (slice != 0) store<u64>(t, slice, TASK_SLICE);
  else if (load<u64>(t, TASK_SLICE) == 0) store<u64>(t, 1, TASK_SLICE);
}

/** The first task of d that may run on `cpu`, 0 if there is none. */
// @ts-ignore: decorator
@inline
export function dsqFirstAllowed(d: u32, cpu: u32): u32 {
  let t = dsqFirst(d);
  while (t != 0 && !allowed(t, cpu)) t = dsqNext(d, t);
  return t;
}

/** consume(), called only if somebody waits: most queues are empty most of the time. */
// @ts-ignore: decorator
@inline
function consumeAny(d: u32, cpu: u32): bool {
  return dsqNr(d) != 0 && consume(d, cpu);
}

/** consume_dispatch_q(): moves the first task of d that may run on `cpu` into the CPU's local DSQ. */
function consume(d: u32, cpu: u32): bool {
  const t = dsqFirstAllowed(d, cpu);
  if (t == 0) return false;
  if (dequeueOnLeave && d > DSQ_GLOBAL) opsDequeue(t, true);
  dsqRemove(t);
  if (load<u32>(t, TASK_CPU) != cpu) migrate(t, cpu);
  dsqPushTail(dsqLocal(cpu), t);
  return true;
}

/** scx_bpf_dsq_move_to_local() inside dispatch(). */
// @ts-ignore: decorator
@inline
export function dsqMoveToLocal(d: u32): bool {
  if (replaying) return replayAttempt(d);
  if (!consumeAny(d, dispatchCpu)) return false;
  dispatchMoved++;
  noteDispatch();
  return true;
}

/** scx_bpf_dsq_move() inside dispatch(): the first task of d that may run on `cpu` goes into that CPU's local DSQ. */
export function dsqMoveToCpu(d: u32, cpu: u32): bool {
  if (cpu == dispatchCpu) return dsqMoveToLocal(d);
  if (!consume(d, cpu)) return false;
  dispatchMoved++;
  if (load<u32>(cpu << CPU_SHIFT, CPU_CURR) == 0) wakeIdleCpu(cpu);
  return true;
}

/** scx_bpf_kick_cpu() */
export function kickCpu(cpu: u32, flags: u32): void {
  count(KICKS);
  if (comparing) recordDetailAt(DECISION_KICK, cpu, 0, flags);
  const curr = load<u32>(cpu << CPU_SHIFT, CPU_CURR);
  if (curr == 0) {
    wakeIdleCpu(cpu);
    return;
  }
  if ((flags & KICK_IDLE) != 0) return;
  if ((flags & KICK_PREEMPT) != 0 && load<u8>(curr, TASK_CLASS) == CLASS_EXT && curr != leaving) store<u64>(curr, 0, TASK_SLICE);
  resched(cpu);
}

/** Kicks every idle CPU of a mask. */
export function kickIdleCpus(mask: usize): void {
  for (let cpu = maskFirstAnd(IDLE_MASK, mask); cpu >= 0; cpu = maskNextAnd(IDLE_MASK, mask, (cpu as u32) + 1)) {
    kickCpu(cpu as u32, KICK_IDLE);
  }
}
