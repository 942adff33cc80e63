// Entry of the module under test in test/fair-*.test.ts (built by test/support/units.ts): the fair class between a
// minimal schedule() and clock, so that a test says when who wakes, sleeps and ticks.

import {
  CPU_SHIFT,
  CPUS,
  IDLE_MASK,
  MASKS,
  ONLINE_MASK,
  OVERLOADED_MASK,
  PARAMS,
  RESCHED_MASK,
  SOURCES,
} from '../../assembly/core/layout';
import { KERNEL_6_11_SCX, P_MIGRATION_COST_NS } from '../../assembly/abi';
import { CPU_CURR } from '../../assembly/kernel/cpu';
import { wakesInPlace } from '../../assembly/kernel/delayed';
import { eventsReset, LANE_BALANCE, lanePending, now, setNow } from '../../assembly/kernel/events';
import {
  fairBalance,
  fairDequeue,
  fairEnable,
  fairEnqueue,
  fairInit,
  fairNewidle,
  fairPick,
  fairPutPrev,
  fairSelectCpu,
  fairSetNext,
  fairSliceLeft,
  fairTick,
  fairWakeupPreempt,
  fairYield,
} from '../../assembly/kernel/fair';
import {
  avgVruntime,
  calcDeltaFair,
  cpuRq,
  cpuUtil,
  RQ_AVG_IDLE,
  RQ_IDLE_STAMP,
  RQ_MIN_VRUNTIME,
  RQ_NR_RUNNING,
  RQ_RUNNABLE_AVG,
  RQ_UTIL_AVG,
  SE_ON_RQ,
  SE_VLAG,
  updateLoadAvg,
} from '../../assembly/kernel/fairrq';
import { maskClear, maskFirst, maskInit, maskSet, maskTest, nrCpus } from '../../assembly/kernel/mask';
import { updateCurr } from '../../assembly/kernel/charge';
import { taskMove, wakeIdleCpu } from '../../assembly/kernel/wakeup';
import { BAL_NEXT_BALANCE, BAL_NR_IDLE_SCAN, domainOf, SD_BALANCE_INTERVAL } from '../../assembly/kernel/scheddomain';
import {
  FLAG_QUEUED,
  TASK_CPU,
  TASK_EXEC_START,
  TASK_FLAGS,
  TASK_MASK,
  TASK_NODE_KEY,
  TASK_RECENT_CPU,
  TASK_SUM_EXEC,
  TASK_WEIGHT,
  taskAllocate,
  tasksReset,
} from '../../assembly/kernel/task';
import { TASK_VRUNTIME } from '../../assembly/kernel/tree';
import { topologyLoad } from '../../assembly/machine/topology';

export { fairSliceLeft, fairYield, fairNewidle };

let kernel: u32 = KERNEL_6_11_SCX;

/** Version of the machines to be set up. */
export function setKernel(version: u32): void {
  kernel = version;
}

/** An idle machine of `cpus` CPUs in consecutive nodes and LLCs of the given sizes, at time 0. */
export function setup(cpus: u32, perNode: u32, perLlc: u32, sliceNs: u64, tickNs: u64): void {
  memory.fill(CPUS, 0, (cpus as usize) << CPU_SHIFT);
  for (let cpu: u32 = 0; cpu < cpus; cpu++) {
    const row = SOURCES + ((cpu as usize) << 4);
    store<u32>(row, cpu / perNode);
    store<u32>(row, cpu / perNode, 4);
    store<u32>(row, cpu / perLlc, 8);
  }
  topologyLoad(SOURCES, cpus);
  maskInit(cpus);
  memory.fill(MASKS, 0, 64 * 64);
  memory.fill(IDLE_MASK, 0, 0x180);
  for (let cpu: u32 = 0; cpu < cpus; cpu++) {
    maskSet(MASKS, cpu);
    maskSet(ONLINE_MASK, cpu);
    maskSet(IDLE_MASK, cpu);
  }
  store<u64>(PARAMS + ((P_MIGRATION_COST_NS as usize) << 3), 500000);
  tasksReset();
  eventsReset(1, 1);
  fairInit(sliceNs, false, tickNs, kernel);
}

export function setTime(time: u64): void {
  setNow(time);
}

/** Allowed-CPU mask `index` of up to 64 CPUs. */
export function setMask(index: u32, bits: u64): void {
  store<u64>(MASKS + ((index as usize) << 6), bits);
}

/** A task with a slice of its own. */
export function newTaskWithSlice(sliceUs: u32): u32 {
  const t = newTask(1024, 0);
  fairEnable(t, sliceUs);
  return t;
}

export function newTask(weight: u32, mask: u32): u32 {
  const t = taskAllocate();
  store<u32>(t, weight, TASK_WEIGHT);
  store<u32>(t, mask, TASK_MASK);
  return t;
}

/** schedule() of one CPU, newidle balancing included. Returns what runs now. */
export function schedule(cpu: u32): u32 {
  const c = cpu << CPU_SHIFT;
  const prev = load<u32>(c, CPU_CURR);
  if (prev != 0) updateCurr(c);
  maskClear(RESCHED_MASK, cpu);
  let next = fairPick(cpu);
  if (next == 0 && prev != 0 && fairNewidle(cpu) != 0) next = fairPick(cpu);
  if (next == prev) return next;
  if (prev != 0) fairPutPrev(cpu, prev);
  store<u32>(c, next, CPU_CURR);
  if (next == 0) {
    maskSet(IDLE_MASK, cpu);
    return 0;
  }
  maskClear(IDLE_MASK, cpu);
  fairSetNext(cpu, next);
  store<u64>(next, now, TASK_EXEC_START);
  return next;
}

/** Reschedules all CPUs that were asked to. */
export function settle(): void {
  for (let cpu = maskFirst(RESCHED_MASK); cpu >= 0; cpu = maskFirst(RESCHED_MASK)) schedule(cpu as u32);
}

export function enqueueOn(t: u32, cpu: u32, wakeup: bool, initial: bool): void {
  if (load<u32>(t, TASK_CPU) != cpu) taskMove(t, cpu);
  updateCurr(cpu << CPU_SHIFT);
  store<u16>(t, (load<u16>(t, TASK_FLAGS) | FLAG_QUEUED) as u16, TASK_FLAGS);
  fairEnqueue(t, cpu, wakeup, initial);
  if (load<u32>(cpu << CPU_SHIFT, CPU_CURR) == 0) wakeIdleCpu(cpu);
  else fairWakeupPreempt(cpu, t);
}

export function selectCpu(t: u32, wakerCpu: i32, wakerTask: u32, fork: bool): u32 {
  return fairSelectCpu(t, load<u32>(t, TASK_CPU), wakerCpu, wakerTask, fork);
}

/** Takes t off its queue, whether it runs or waits; the CPU is rescheduled by settle(). */
export function sleep(t: u32): void {
  const cpu = load<u32>(t, TASK_CPU);
  updateCurr(cpu << CPU_SHIFT);
  store<u16>(t, (load<u16>(t, TASK_FLAGS) & ~FLAG_QUEUED) as u16, TASK_FLAGS);
  fairDequeue(t, cpu, true);
  if (load<u32>(cpu << CPU_SHIFT, CPU_CURR) == t) maskSet(RESCHED_MASK, cpu);
}

/** Another CPU takes t, which runs where it is. */
export function move(t: u32, cpu: u32): void {
  const from = load<u32>(t, TASK_CPU);
  updateCurr(from << CPU_SHIFT);
  fairPutPrev(from, t);
  fairDequeue(t, from, false);
  store<u32>(from << CPU_SHIFT, 0, CPU_CURR);
  maskSet(IDLE_MASK, from);
  enqueueOn(t, cpu, false, false);
}

/** The tick of all busy CPUs, then what it brought about: balancing in CPU order, then rescheduling. */
export function tickAll(): void {
  for (let cpu: u32 = 0; cpu < nrCpus; cpu++) {
    if (load<u32>(cpu << CPU_SHIFT, CPU_CURR) == 0) continue;
    updateCurr(cpu << CPU_SHIFT);
    fairTick(cpu);
  }
  settle();
  for (let cpu: u32 = 0; cpu < nrCpus; cpu++) {
    if (lanePending(cpu << CPU_SHIFT, LANE_BALANCE)) fairBalance(cpu);
  }
  settle();
}

/** try_to_wake_up() on the CPU where it is queued still, or else on `cpu`. */
export function wake(t: u32, cpu: u32): void {
  enqueueOn(t, wakesInPlace(t, load<u32>(t, TASK_CPU)) ? load<u32>(t, TASK_CPU) : cpu, true, false);
}
export function isQueued(t: u32): bool {
  return load<u32>(t, SE_ON_RQ) != 0;
}

export function charge(cpu: u32): void {
  updateCurr(cpu << CPU_SHIFT);
}

/** Begins the vruntimes of an empty queue somewhere else. */
export function setMinVruntime(cpu: u32, v: u64): void {
  store<u64>(cpuRq(cpu), v, RQ_MIN_VRUNTIME);
}

export function setAvgIdle(cpu: u32, ns: u32): void {
  store<u32>(cpuRq(cpu), ns, RQ_AVG_IDLE);
}

export function setUtil(cpu: u32, util: u32): void {
  updateLoadAvg(cpuRq(cpu));
  store<u32>(cpuRq(cpu), util << 20, RQ_UTIL_AVG);
}

/** 1024 per runnable task. */
export function setRunnable(cpu: u32, runnable: u32): void {
  updateLoadAvg(cpuRq(cpu));
  store<u64>(cpuRq(cpu), (runnable as u64) << 10, RQ_RUNNABLE_AVG);
}

export function setRecentCpu(t: u32, cpu: u32): void {
  store<u32>(t, cpu, TASK_RECENT_CPU);
}

export function setCpu(t: u32, cpu: u32): void {
  store<u32>(t, cpu, TASK_CPU);
}

export function balance(cpu: u32): void {
  fairBalance(cpu);
}

export function current(cpu: u32): u32 {
  return load<u32>(cpu << CPU_SHIFT, CPU_CURR);
}
export function needResched(cpu: u32): bool {
  return maskTest(RESCHED_MASK, cpu);
}
export function isIdle(cpu: u32): bool {
  return maskTest(IDLE_MASK, cpu);
}
export function isOverloaded(cpu: u32): bool {
  return maskTest(OVERLOADED_MASK, cpu);
}
export function cpuOf(t: u32): u32 {
  return load<u32>(t, TASK_CPU);
}
export function sumExec(t: u32): u64 {
  return load<u64>(t, TASK_SUM_EXEC);
}
export function vruntime(t: u32): u64 {
  return load<u64>(t, TASK_VRUNTIME);
}
export function deadline(t: u32): u64 {
  return load<u64>(t, TASK_NODE_KEY);
}
export function vlag(t: u32): u64 {
  return load<u64>(t, SE_VLAG);
}
export function average(cpu: u32): u64 {
  return avgVruntime(cpuRq(cpu));
}
export function minVruntime(cpu: u32): u64 {
  return load<u64>(cpuRq(cpu), RQ_MIN_VRUNTIME);
}
export function nrRunning(cpu: u32): u32 {
  return load<u32>(cpuRq(cpu), RQ_NR_RUNNING);
}
export function virtualTime(delta: u64, t: u32): u64 {
  return calcDeltaFair(delta, t);
}
export function idleStamp(cpu: u32): u64 {
  return load<u64>(cpuRq(cpu), RQ_IDLE_STAMP);
}
export function avgIdle(cpu: u32): u32 {
  return load<u32>(cpuRq(cpu), RQ_AVG_IDLE);
}
export function idleScan(cpu: u32): u32 {
  return load<u32>(cpu << CPU_SHIFT, BAL_NR_IDLE_SCAN);
}
export function nextBalance(cpu: u32): u64 {
  return load<u64>(cpu << CPU_SHIFT, BAL_NEXT_BALANCE);
}
export function intervalMs(level: u32, cpu: u32): u32 {
  return load<u32>(domainOf(level, cpu), SD_BALANCE_INTERVAL);
}
export function util(cpu: u32): u64 {
  updateLoadAvg(cpuRq(cpu));
  return cpuUtil(cpuRq(cpu));
}
