// Egalitarian processor sharing with fluid completion: n tasks on k CPUs are each served at the rate min(1, k/n), as if
// slices had no length (kernel/fluid.ts). Cgroups divide the CPUs by their shares, and their tasks divide what the cgroup
// has. The tasks with the earliest ends are on the CPUs; the others wait in the DSQ of their group by their ends.

import { CLASS_EXT, POLICY_PROCESSOR_SHARING, P_POLICY } from '../abi';
import { param } from '../core/counters';
import { CPU_SHIFT } from '../core/layout';
import { CPU_CURR } from '../kernel/cpu';
import { dsqUser } from '../kernel/dsq';
import {
  dsqFirstAllowed,
  dsqInsertByVtime,
  dsqInsertDirect,
  dsqMoveToLocal,
  KICK_PREEMPT,
  kickCpu,
} from '../kernel/ext';
import { pickIdleNear } from '../kernel/ext_idle';
import { fluidGroups, fluidLeft, fluidQueue, fluidReset, TASK_FINISH } from '../kernel/fluid';
import { maskAddress, maskTest, nrCpus } from '../kernel/mask';
import { FLAG_QUEUED, TASK_CLASS, TASK_FLAGS, TASK_MASK, TASK_SLICE } from '../kernel/task';

/** Nobody loses a CPU because time has passed: 146 years. */
const SLICE: u64 = 1 << 62;

export function init(): void {
  fluidReset(param(P_POLICY) == (POLICY_PROCESSOR_SHARING as u64));
}

export function selectCpu(t: u32, prev: u32): u32 {
  const cpu = pickIdleNear(t, prev);
  if (cpu < 0) return prev;
  dsqInsertDirect(t, cpu as u32, SLICE);
  return cpu as u32;
}

export function enqueue(t: u32): void {
  dsqInsertByVtime(t, dsqUser(fluidQueue(t)), SLICE, load<u64>(t, TASK_FINISH));
  preemptLatest(t);
}

/** The CPU whose task ends last gives it up if that is after the end of t. */
function preemptLatest(t: u32): void {
  const allowed = maskAddress(load<u32>(t, TASK_MASK));
  let victim: i32 = -1;
  let latest = fluidLeft(t);
  for (let cpu: u32 = 0; cpu < nrCpus; cpu++) {
    if (!maskTest(allowed, cpu)) continue;
    const curr = load<u32>(cpu << CPU_SHIFT, CPU_CURR);
    if (curr == 0 || curr == t || load<u8>(curr, TASK_CLASS) != CLASS_EXT || load<u64>(curr, TASK_SLICE) == 0) continue;
    const left = fluidLeft(curr);
    if (left <= latest) continue;
    victim = cpu;
    latest = left;
  }
  if (victim >= 0) kickCpu(victim as u32, KICK_PREEMPT);
}

/** The task that runs on a CPU has begun a burst: one that waits may end earlier. */
export function began(cpu: u32, t: u32): void {
  const first = earliest(cpu);
  if (first != 0 && fluidLeft(first) < fluidLeft(t)) kickCpu(cpu, KICK_PREEMPT);
}

/** Of the tasks that wait and may run on a CPU, the one that ends first; 0 = none. */
function earliest(cpu: u32): u32 {
  let found: u32 = 0;
  let soonest = u64.MAX_VALUE;
  for (let g: u32 = 0, end = fluidGroups(); g < end; g++) {
    const t = dsqFirstAllowed(dsqUser(g), cpu);
    if (t == 0) continue;
    const left = fluidLeft(t);
    if (left >= soonest) continue;
    found = t;
    soonest = left;
  }
  return found;
}

export function dispatch(cpu: u32, prev: u32): void {
  const first = earliest(cpu);
  if (prev != 0 && (load<u16>(prev, TASK_FLAGS) & FLAG_QUEUED) != 0) {
    if (first == 0 || fluidLeft(prev) <= fluidLeft(first)) {
      store<u64>(prev, SLICE, TASK_SLICE);
      return;
    }
  }
  if (first != 0) dsqMoveToLocal(dsqUser(fluidQueue(first)));
}
