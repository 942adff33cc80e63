// One FIFO per CPU: a task that finds no idle CPU waits where it ran last, whatever happens elsewhere.

import { P_SLICE_NS } from '../abi';
import { param } from '../core/counters';
import { dsqLocal } from '../kernel/dsq';
import { dsqInsert, dsqInsertDirect, pickIdleNear } from '../kernel/ext';
import { TASK_CPU } from '../kernel/task';

let slice: u64 = 0;

export function init(): void {
  slice = param(P_SLICE_NS);
}

export function selectCpu(t: u32, prev: u32): u32 {
  const cpu = pickIdleNear(t, prev);
  if (cpu < 0) return prev;
  dsqInsertDirect(t, cpu as u32, slice);
  return cpu as u32;
}

export function enqueue(t: u32, flags: u32): void {
  dsqInsert(t, dsqLocal(load<u32>(t, TASK_CPU)), slice, flags);
}
