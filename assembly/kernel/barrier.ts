// Barriers and events: tasks that wait for others, asleep or polling. Handle b = index << BARRIER_SHIFT; index 0 is
// never one.
//
//     0  u32 parties        tasks that must arrive (barriers)
//     4  u32 arrived
//     8  u32 waiters        list through TASK_WAIT_NEXT, in order of arrival
//    12  u32 last waiter
//    16  u32 owner          task that forked the family, 0 = it has exited
//    20  u32 signalled      event: already happened
//    24  u32 orphans        without an owner: tasks of the family that still use it

import { DECISION_POLL } from '../abi';
import { detailing, recordDetail } from './decisions';
import { BARRIERS, BARRIER_SHIFT, CPU_SHIFT, MAX_BARRIERS } from '../core/layout';
import { fail, FAIL_BARRIERS } from '../core/failure';
import { CPU_CURR } from './cpu';
import { armCompletion, updateCurr } from './charge';
import { wakeUp } from './wakeup';
import { MODE_NONE, MODE_SPIN_EVENT, TASK_CPU, TASK_MODE, TASK_WAIT_NEXT } from './task';

export const BARRIER_PARTIES: usize = BARRIERS + 0;
export const BARRIER_ARRIVED: usize = BARRIERS + 4;
export const BARRIER_WAITERS: usize = BARRIERS + 8;
export const BARRIER_LAST: usize = BARRIERS + 12;
export const BARRIER_OWNER: usize = BARRIERS + 16;
export const BARRIER_SIGNALLED: usize = BARRIERS + 20;
export const BARRIER_ORPHANS: usize = BARRIERS + 24;

let freeHead: u32 = 0;
let used: u32 = 1;

export function barriersReset(): void {
  freeHead = 0;
  used = 1;
}

export function barrierCreate(parties: u32): u32 {
  let b = freeHead;
  if (b != 0) {
    freeHead = load<u32>(b, BARRIER_WAITERS);
  } else {
    if (used >= MAX_BARRIERS) {
      fail(FAIL_BARRIERS, 0, 0, MAX_BARRIERS);
      return 0;
    }
    b = used << BARRIER_SHIFT;
    used++;
  }
  memory.fill(BARRIERS + b, 0, 1 << BARRIER_SHIFT);
  store<u32>(b, parties, BARRIER_PARTIES);
  return b;
}

export function barrierFree(b: u32): void {
  store<u32>(b, freeHead, BARRIER_WAITERS);
  freeHead = b;
}

export function barrierAddWaiter(b: u32, t: u32): void {
  store<u32>(t, 0, TASK_WAIT_NEXT);
  const last = load<u32>(b, BARRIER_LAST);
  if (load<u32>(b, BARRIER_WAITERS) != 0) store<u32>(last, t, TASK_WAIT_NEXT);
  else store<u32>(b, t, BARRIER_WAITERS);
  store<u32>(b, t, BARRIER_LAST);
}

/** The task arrives; true if it was the last and nobody has to wait any longer. */
export function barrierArrive(b: u32): bool {
  const arrived = load<u32>(b, BARRIER_ARRIVED) + 1;
  if (arrived < load<u32>(b, BARRIER_PARTIES)) {
    store<u32>(b, arrived, BARRIER_ARRIVED);
    return false;
  }
  store<u32>(b, 0, BARRIER_ARRIVED);
  return true;
}

/** Ends the wait of everybody, in order of arrival. */
export function barrierRelease(b: u32, wakerCpu: i32, wakerTask: u32): void {
  let t = load<u32>(b, BARRIER_WAITERS);
  store<u32>(b, 0, BARRIER_WAITERS);
  while (t != 0) {
    const next = load<u32>(t, TASK_WAIT_NEXT);
    releaseWaiter(t, wakerCpu, wakerTask);
    t = next;
  }
}

/** Ends the wait of one task: a sleeping one is woken, a polling one sees it at once if it has a CPU. */
export function releaseWaiter(t: u32, wakerCpu: i32, wakerTask: u32): void {
  if (load<u8>(t, TASK_MODE) != MODE_SPIN_EVENT) {
    wakeUp(t, wakerCpu, wakerTask);
    return;
  }
  if (detailing) recordDetail(DECISION_POLL, t, 0);
  const c = load<u32>(t, TASK_CPU) << CPU_SHIFT;
  if (load<u32>(c, CPU_CURR) == t) {
    updateCurr(c);
    store<u8>(t, MODE_NONE, TASK_MODE);
    armCompletion(c);
  } else {
    store<u8>(t, MODE_NONE, TASK_MODE);
  }
}
