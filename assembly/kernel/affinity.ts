// sched_setaffinity() on another task: set_cpus_allowed_ptr(), affine_move_task(). A task that waits where it may no longer
// be is moved at once; one that runs there is taken away inside its CPU's schedule(), in place of the stopper thread; one
// that sleeps is placed when it wakes up. The kernel spreads the tasks over their new CPUs (cpumask_any_and_distribute());
// here a fair or ext task goes to the lowest one, a realtime task to where it would be pushed.

import { CLASS_EXT, CLASS_FAIR } from '../abi';
import { CPU_SHIFT, ONLINE_MASK } from '../core/layout';
import { updateCurr } from './charge';
import { CPU_CURR, CPU_FLAGS, CPU_PUSHES } from './cpu';
import { resched } from './events';
import { extSetAffinity } from './ext';
import { fairDequeue, fairPutPrev } from './fair';
import { maskAddress, maskFirstAnd, maskTest } from './mask';
import { rtMove, rtSelectCpu } from './rt';
import { FLAG_QUEUED, TASK_CLASS, TASK_CPU, TASK_FLAGS, TASK_MASK } from './task';
import { fairArrives, taskMove } from './wakeup';

export function setAffinity(t: u32, mask: u32): void {
  if (load<u8>(t, TASK_CLASS) == CLASS_EXT) {
    extSetAffinity(t, mask);
    return;
  }
  store<u32>(t, mask, TASK_MASK);
  const cpu = load<u32>(t, TASK_CPU);
  const c = cpu << CPU_SHIFT;
  if (!misplaced(t, cpu)) return;
  if (load<u32>(c, CPU_CURR) != t) {
    move(t, cpu);
    return;
  }
  store<u32>(c, load<u32>(c, CPU_FLAGS) | CPU_PUSHES, CPU_FLAGS);
  resched(cpu);
}

/** Runnable on a CPU that its mask does not allow. */
function misplaced(t: u32, cpu: u32): bool {
  return (load<u16>(t, TASK_FLAGS) & FLAG_QUEUED) != 0 && !maskTest(maskAddress(load<u32>(t, TASK_MASK)), cpu);
}

/** migration_cpu_stop(): `curr`, which has been charged, leaves the CPU if it still must. */
export function pushMisplaced(cpu: u32, curr: u32): void {
  const c = cpu << CPU_SHIFT;
  store<u32>(c, load<u32>(c, CPU_FLAGS) & ~CPU_PUSHES, CPU_FLAGS);
  if (curr == 0 || load<u8>(curr, TASK_CLASS) == CLASS_EXT || !misplaced(curr, cpu)) return;
  if (load<u8>(curr, TASK_CLASS) == CLASS_FAIR) fairPutPrev(cpu, curr);
  move(curr, cpu);
}

/** move_queued_task() */
function move(t: u32, from: u32): void {
  if (load<u8>(t, TASK_CLASS) != CLASS_FAIR) {
    rtMove(t, from, rtSelectCpu(t, from));
    return;
  }
  const to = maskFirstAnd(maskAddress(load<u32>(t, TASK_MASK)), ONLINE_MASK);
  if (to < 0) return;
  updateCurr(from << CPU_SHIFT);
  updateCurr((to as u32) << CPU_SHIFT);
  fairDequeue(t, from, false);
  taskMove(t, to as u32);
  fairArrives(t, to as u32, false, false);
}
