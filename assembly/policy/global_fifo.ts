// One FIFO for the whole machine: a waking task takes an idle CPU, else it queues at the end.
//
// With `requeue: local` a task whose slice is over goes back into the local DSQ of its CPU instead. Two such tasks on a CPU
// keep its local DSQ from ever being empty, so dispatch() is never called and restricted tasks in the FIFO starve: the
// defect reported as sched-ext/scx#1185.

import { P_REQUEUE_LOCAL, P_SLICE_NS } from '../abi';
import { param } from '../core/counters';
import { dsqCreate, dsqLocal, dsqUser } from '../kernel/dsq';
import { dsqInsert, dsqInsertDirect, dsqMoveToLocal, ENQ_WAKEUP } from '../kernel/ext';
import { pickIdleNear } from '../kernel/ext_idle';
import { TASK_CPU, TASK_SUM_EXEC } from '../kernel/task';

let slice: u64 = 0;
let requeuesLocally: bool = false;

export function init(): void {
  slice = param(P_SLICE_NS);
  requeuesLocally = param(P_REQUEUE_LOCAL) != 0;
  dsqCreate(0);
}

export function selectCpu(t: u32, prev: u32): u32 {
  const cpu = pickIdleNear(t, prev);
  if (cpu < 0) return prev;
  dsqInsertDirect(t, cpu as u32, slice);
  return cpu as u32;
}

export function enqueue(t: u32, flags: u32): void {
  const lostItsCpu = (flags & ENQ_WAKEUP) == 0 && load<u64>(t, TASK_SUM_EXEC) != 0;
  const isLocal = requeuesLocally && lostItsCpu;
  dsqInsert(t, isLocal ? dsqLocal(load<u32>(t, TASK_CPU)) : dsqUser(0), slice, flags);
}

export function dispatch(cpu: u32): void {
  dsqMoveToLocal(dsqUser(0));
}
