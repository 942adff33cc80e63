// Insertion into dispatch queues as BPF programs see it (kernel/sched/ext.c). From select_cpu() and enqueue() it only marks
// the task of the callback; the task is inserted when the callback has returned (direct dispatch). From dispatch() it goes
// into a buffer that is emptied before anything is moved to the local DSQ, and when the callback returns.
//
// Task state behind TASK_CLASS_STATE:
//     0  u64 direct_flags   of the marked insertion, with ENQ_DSQ_PRIQ for one by vtime
//     8  u64 direct_id      DSQ id
//    16  u32 qseq           counts enqueue() calls, so that the buffer knows a task that was enqueued anew
//    20  u8 state           OPS_NONE, or OPS_QUEUED: handed to the program, in no DSQ
//    21  u8 custody         7.3: dequeue() is owed: handed to the program and not yet in a local or the global DSQ
//
// Entry of the dispatch buffer, 40 B: u32 task, u32 qseq, u64 DSQ id, u64 flags, u64 vtime, u32 call site.

import { KERNEL_7_3, P_KERNEL } from '../abi';
import { param } from '../core/counters';
import { fail, FAIL_BPF_RULE, FAIL_DOUBLE_INSERT } from '../core/failure';
import { DSQ_GLOBAL, DSQ_NONE, dsqIsLocal, dsqInsertVtime, dsqRemove } from '../kernel/dsq';
import { DSQ_DIRECT, ENQ_HEAD, ENQ_PREEMPT, insertFifo, noteMoved, putLocal } from '../kernel/ext';
import { CLASS_EXT } from '../abi';
import { TASK_CLASS, TASK_CLASS_STATE, TASK_CPU, TASK_DIRECT_DSQ, TASK_DSQ, TASK_PID, TASK_SLICE, TASK_VTIME } from '../kernel/task';
import { context, contextCpu, IN_DISPATCH, IN_ENQUEUE, IN_SELECT_CPU } from './context';
import { dsqOfId } from './dsqid';
import { dequeue } from './ops';
import { RULE_BUFFER, RULE_CONTEXT, RULE_FLAGS, RULE_NO_DSQ, RULE_NOT_EXT, RULE_OTHER_TASK } from './rules';
import { CALL_SITE, DISPATCH_BUFFER, MAX_DISPATCH_BATCH } from './state';

const DIRECT_FLAGS: usize = TASK_CLASS_STATE + 0;
const DIRECT_ID: usize = TASK_CLASS_STATE + 8;
const QSEQ: usize = TASK_CLASS_STATE + 16;
export const OPS_STATE: usize = TASK_CLASS_STATE + 20;
export const CUSTODY: usize = TASK_CLASS_STATE + 21;

export const OPS_NONE: u8 = 0;
export const OPS_QUEUED: u8 = 1;

// enum scx_enq_flags of 7.3
export const SCX_ENQ_WAKEUP: u64 = 1;
export const SCX_ENQ_HEAD: u64 = 0x10000;
export const SCX_ENQ_CPU_SELECTED: u64 = 0x100000;
export const SCX_ENQ_PREEMPT: u64 = 1 << 32;
export const SCX_ENQ_REENQ: u64 = 1 << 40;
export const SCX_ENQ_LAST: u64 = 1 << 41;
const ENQ_INTERNAL: u64 = 0xff00_0000_0000_0000;
export const ENQ_DSQ_PRIQ: u64 = 1 << 57;

const DIRECT_NOBODY: u32 = 0xffffffff;
/** Task that the running select_cpu() or enqueue() may insert, 0 = none of these runs, DIRECT_NOBODY = it has been. */
let directTask: u32 = 0;
/** Where the task that was marked last was. */
let markedSite: u32 = 0;
let buffered: u32 = 0;
let batch: u32 = 32;
/** Since 7.3 dequeue() tells of every task that leaves the program's custody, also by a move. */
let tracksCustody: bool = false;

export function insertReset(maxBatch: u32): void {
  directTask = 0;
  buffered = 0;
  batch = maxBatch == 0 ? 32 : maxBatch < MAX_DISPATCH_BATCH ? maxBatch : MAX_DISPATCH_BATCH;
  tracksCustody = param(P_KERNEL) >= KERNEL_7_3;
}

/** select_cpu() or enqueue() of t begins; returns what to hand to directEnd(). */
// @ts-ignore: decorator
@inline
export function directBegin(t: u32): u32 {
  const outer = directTask;
  directTask = t;
  return outer;
}

// @ts-ignore: decorator
@inline
export function directEnd(outer: u32): void {
  directTask = outer;
}

// @ts-ignore: decorator
@inline
function refuse(t: u32, rule: u32): void {
  fail(FAIL_BPF_RULE, load<u32>(t, TASK_PID), contextCpu, rule);
}

/** scx_bpf_dsq_insert() and scx_bpf_dsq_insert_vtime(): false if it is refused (the run ends). */
export function insert(t: u32, id: u64, slice: u64, vtime: u64, flags: u64): bool {
  if ((context & (IN_SELECT_CPU | IN_ENQUEUE | IN_DISPATCH)) == 0) {
    refuse(t, RULE_CONTEXT);
    return false;
  }
  if ((flags & ENQ_INTERNAL & ~ENQ_DSQ_PRIQ) != 0) {
    refuse(t, RULE_FLAGS);
    return false;
  }
  if (t == 0 || load<u8>(t, TASK_CLASS) != CLASS_EXT) {
    refuse(t, RULE_NOT_EXT);
    return false;
  }
  if (slice != 0) store<u64>(t, slice, TASK_SLICE);
  else if (load<u64>(t, TASK_SLICE) == 0) store<u64>(t, 1, TASK_SLICE);
  if ((flags & ENQ_DSQ_PRIQ) != 0) store<u64>(t, vtime, TASK_VTIME);
  if (directTask != 0) return mark(t, id, flags);
  if (buffered == batch) {
    refuse(t, RULE_BUFFER);
    return false;
  }
  const e = DISPATCH_BUFFER + (buffered as usize) * 40;
  store<u32>(e, t);
  store<u32>(e, load<u32>(t, QSEQ), 4);
  store<u64>(e, id, 8);
  store<u64>(e, flags, 16);
  store<u64>(e, vtime, 24);
  store<u32>(e, load<u32>(CALL_SITE), 32);
  buffered++;
  return true;
}

/** mark_direct_dispatch() */
function mark(t: u32, id: u64, flags: u64): bool {
  if (directTask != t) {
    if (directTask == DIRECT_NOBODY) fail(FAIL_DOUBLE_INSERT, load<u32>(t, TASK_PID), load<u32>(t, TASK_CPU), 0);
    else refuse(t, RULE_OTHER_TASK);
    return false;
  }
  if (load<u32>(t, TASK_DIRECT_DSQ) != DSQ_NONE) {
    fail(FAIL_DOUBLE_INSERT, load<u32>(t, TASK_PID), load<u32>(t, TASK_CPU), 0);
    return false;
  }
  directTask = DIRECT_NOBODY;
  markedSite = load<u32>(CALL_SITE);
  store<u32>(t, DSQ_DIRECT, TASK_DIRECT_DSQ);
  store<u64>(t, id, DIRECT_ID);
  store<u64>(t, flags, DIRECT_FLAGS);
  return true;
}

/** direct_dispatch(): the marked task, which belongs to `cpu` now. */
export function insertMarked(t: u32, cpu: u32, flags: u64): void {
  const id = load<u64>(t, DIRECT_ID);
  const all = load<u64>(t, DIRECT_FLAGS) | flags;
  const outer = load<u32>(CALL_SITE);
  store<u32>(CALL_SITE, markedSite);
  finish(t, id, dsqOfId(id, cpu), all, load<u64>(t, TASK_VTIME), false);
  store<u32>(CALL_SITE, outer);
}

/** dispatch_enqueue(): the task leaves the program's hands. */
function finish(t: u32, id: u64, d: u32, flags: u64, vtime: u64, dispatching: bool): void {
  if (d == DSQ_NONE) {
    fail(FAIL_BPF_RULE, load<u32>(t, TASK_PID), contextCpu, RULE_NO_DSQ | (id << 8));
    return;
  }
  if (d > DSQ_GLOBAL) {
    if (tracksCustody) store<u8>(t, 1, CUSTODY);
  } else if (load<u8>(t, CUSTODY) != 0) {
    dequeue(t, true);
  }
  store<u8>(t, OPS_NONE, OPS_STATE);
  if ((flags & ENQ_DSQ_PRIQ) != 0) {
    dsqInsertVtime(d, t, vtime);
    return;
  }
  const head = (flags & (SCX_ENQ_HEAD | SCX_ENQ_PREEMPT)) != 0 ? ENQ_HEAD : 0;
  const preempt = (flags & SCX_ENQ_PREEMPT) != 0 ? ENQ_PREEMPT : 0;
  if (dispatching && dsqIsLocal(d)) putLocal(t, d, head | preempt);
  else insertFifo(t, d, head | preempt);
}

/** enqueue() of t begins. */
// @ts-ignore: decorator
@inline
export function handOver(t: u32): void {
  store<u32>(t, load<u32>(t, QSEQ) + 1, QSEQ);
  store<u8>(t, OPS_QUEUED, OPS_STATE);
}

/** enqueue() has inserted t nowhere: the program's own queues hold it. */
// @ts-ignore: decorator
@inline
export function staysInside(t: u32): void {
  if (tracksCustody) store<u8>(t, 1, CUSTODY);
}

/** ops_dequeue(): t leaves without having run. True if dequeue() is to be called. */
// @ts-ignore: decorator
@inline
export function takeBack(t: u32): bool {
  const told = load<u8>(t, OPS_STATE) == OPS_QUEUED || load<u8>(t, CUSTODY) != 0;
  store<u8>(t, OPS_NONE, OPS_STATE);
  store<u8>(t, 0, CUSTODY);
  return told;
}

/** dispatch() begins. */
// @ts-ignore: decorator
@inline
export function bufferBegin(): void {
  buffered = 0;
}

/** flush_dispatch_buf() of dispatching CPU `cpu`. */
export function bufferFlush(cpu: u32): void {
  const n = buffered;
  if (n == 0) return;
  buffered = 0;
  const outer = load<u32>(CALL_SITE);
  for (let i: u32 = 0; i < n; i++) {
    const e = DISPATCH_BUFFER + (i as usize) * 40;
    const t = load<u32>(e);
    // Not the program's any more, or enqueued anew since: what it said then is void (finish_dispatch()).
    if (load<u8>(t, OPS_STATE) != OPS_QUEUED || load<u32>(t, QSEQ) != load<u32>(e, 4)) continue;
    const id = load<u64>(e, 8);
    store<u32>(CALL_SITE, load<u32>(e, 32));
    finish(t, id, dsqOfId(id, cpu), load<u64>(e, 16), load<u64>(e, 24), true);
  }
  store<u32>(CALL_SITE, outer);
  noteMoved(n);
}

/** scx_bpf_dispatch_nr_slots() */
export function bufferLeft(): u32 {
  return batch - buffered;
}

/** scx_bpf_dispatch_cancel(): the last insertion of this dispatch(). */
export function bufferCancel(): void {
  if (buffered > 0) buffered--;
}

/** scx_bpf_dsq_move(): t goes from its user DSQ to another. */
export function moveTo(t: u32, id: u64, flags: u64): void {
  const d = dsqOfId(id, contextCpu);
  if (d == DSQ_NONE) {
    fail(FAIL_BPF_RULE, load<u32>(t, TASK_PID), contextCpu, RULE_NO_DSQ | (id << 8));
    return;
  }
  if (load<u32>(t, TASK_DSQ) != DSQ_NONE) dsqRemove(t);
  const dispatching = (context & IN_DISPATCH) != 0;
  finish(t, id, d, flags, load<u64>(t, TASK_VTIME), dispatching);
  if (dispatching) noteMoved(1);
}
