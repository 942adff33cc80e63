// Which CPUs are idle, as a policy sees it (kernel/sched/ext_idle.c): one bit a CPU, cleared by who takes the CPU.

import { DECISION_IDLE } from '../abi';
import { IDLE_MASK, SCRATCH_MASK } from '../core/layout';
import { comparing, recordDetailAt } from './decisions';
import { allowed } from './ext';
import { maskAddress, maskClear, maskFirstAnd, maskNextAnd, maskTest, nrWords } from './mask';
import { TASK_MASK } from './task';

/** The CPU is no longer idle to others. */
// @ts-ignore: decorator
@inline
function takeIdle(cpu: u32): void {
  maskClear(IDLE_MASK, cpu);
  if (comparing) recordDetailAt(DECISION_IDLE, cpu, 0, 0);
}

/** scx_bpf_test_and_clear_cpu_idle() */
// @ts-ignore: decorator
@inline
export function testAndClearCpuIdle(cpu: u32): bool {
  if (!maskTest(IDLE_MASK, cpu)) return false;
  takeIdle(cpu);
  return true;
}

/** Under load mostly not: asked first, it saves the search. */
// @ts-ignore: decorator
@inline
export function anyCpuIdle(): bool {
  for (let w: u32 = 0; w < nrWords; w++) if (load<u64>(IDLE_MASK + (w << 3)) != 0) return true;
  return false;
}

/** scx_bpf_pick_idle_cpu() among the CPUs of a mask: the lowest idle one, no longer idle to others; -1 if none. */
// @ts-ignore: decorator
@inline
export function pickIdleCpu(mask: usize): i32 {
  const cpu = maskFirstAnd(IDLE_MASK, mask);
  if (cpu >= 0) takeIdle(cpu as u32);
  return cpu;
}

/** The lowest idle CPU of a mask that t may run on, no longer idle to others; -1 if none. */
export function pickIdleAmong(t: u32, mask: usize): i32 {
  const own = maskAddress(load<u32>(t, TASK_MASK));
  for (let cpu = maskFirstAnd(IDLE_MASK, mask); cpu >= 0; cpu = maskNextAnd(IDLE_MASK, mask, (cpu as u32) + 1)) {
    if (!maskTest(own, cpu as u32)) continue;
    takeIdle(cpu as u32);
    return cpu;
  }
  return -1;
}

/** The lowest idle CPU of a mask that the task may run on, taken; -1 if there is none. */
// @ts-ignore: decorator
@inline
export function pickIdleAllowed(t: u32, cpus: usize): i32 {
  const mask = load<u32>(t, TASK_MASK);
  return mask == 0 ? pickIdleCpu(cpus) : pickIdleOfBoth(cpus, maskAddress(mask));
}

function pickIdleOfBoth(a: usize, b: usize): i32 {
  for (let w: u32 = 0; w < nrWords; w++) store<u64>(SCRATCH_MASK + (w << 3), load<u64>(a + (w << 3)) & load<u64>(b + (w << 3)));
  return pickIdleCpu(SCRATCH_MASK);
}

/** scx_bpf_select_cpu_and(): as pickIdleNear(), within a mask. */
export function pickIdleWithin(t: u32, prev: u32, mask: usize): i32 {
  if (allowed(t, prev) && maskTest(mask, prev) && testAndClearCpuIdle(prev)) return prev as i32;
  return pickIdleOfBoth(mask, maskAddress(load<u32>(t, TASK_MASK)));
}

/** The previous CPU if it is idle and allowed, else any idle allowed one; -1 if none. */
export function pickIdleNear(t: u32, prev: u32): i32 {
  if (allowed(t, prev) && testAndClearCpuIdle(prev)) return prev as i32;
  return pickIdleCpu(maskAddress(load<u32>(t, TASK_MASK)));
}
