// One FIFO for the whole machine: a waking task takes an idle CPU, else it queues at the end.

import { P_SLICE_NS } from '../abi';
import { param } from '../core/counters';
import { dsqCreate, dsqUser } from '../kernel/dsq';
import { dsqInsert, dsqInsertDirect, dsqMoveToLocal, pickIdleNear } from '../kernel/ext';

let slice: u64 = 0;

export function init(): void {
  slice = param(P_SLICE_NS);
  dsqCreate(0);
}

export function selectCpu(t: u32, prev: u32): u32 {
  const cpu = pickIdleNear(t, prev);
  if (cpu < 0) return prev;
  dsqInsertDirect(t, cpu as u32, slice);
  return cpu as u32;
}

export function enqueue(t: u32, flags: u32): void {
  dsqInsert(t, dsqUser(0), slice, flags);
}

export function dispatch(cpu: u32): void {
  dsqMoveToLocal(dsqUser(0));
}
