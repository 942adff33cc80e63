// One FIFO per CPU: the local DSQs, whatever happens elsewhere. `place` says which: an idle CPU's, else that of the CPU it
// ran on last; always the latter; or one after the other, even where the task's mask forbids it (the kernel then ejects
// the policy, as in the public report sched-ext/scx#583).

import { P_PLACE, P_SLICE_NS, PLACE_IDLE, PLACE_ROUND_ROBIN } from '../abi';
import { param } from '../core/counters';
import { dsqLocal } from '../kernel/dsq';
import { dsqInsert, dsqInsertDirect } from '../kernel/ext';
import { pickIdleNear } from '../kernel/ext_idle';
import { nrCpus } from '../kernel/mask';
import { TASK_CPU } from '../kernel/task';

let slice: u64 = 0;
let place: u32 = PLACE_IDLE;
/** Next CPU in turn. */
let turn: u32 = 0;

export function init(): void {
  slice = param(P_SLICE_NS);
  place = param(P_PLACE) as u32;
  turn = 0;
}

export function selectCpu(t: u32, prev: u32): u32 {
  if (place != PLACE_IDLE) return prev;
  const cpu = pickIdleNear(t, prev);
  if (cpu < 0) return prev;
  dsqInsertDirect(t, cpu as u32, slice);
  return cpu as u32;
}

export function enqueue(t: u32, flags: u32): void {
  let cpu = load<u32>(t, TASK_CPU);
  if (place == PLACE_ROUND_ROBIN) {
    cpu = turn;
    turn = (turn + 1) % nrCpus;
  }
  dsqInsert(t, dsqLocal(cpu), slice, flags);
}
