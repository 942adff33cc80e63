// What serving costs: the time that threads serve at each frequency step of their instance, and, where the model has a machine profile,
// the energy of the cores that they serve on. Each core is then a CPU of the machine model (machine/): busy at the frequency of the
// step from the beginning of a stage to its end, idle while nobody serves on it. A step that changes counts from the next stage on,
// as the times of stages do.
//
// Scheduled: the kernel keeps CPUs busy and idle; here they get the frequency of whoever runs on them. How fast work is done does not
// depend on it: stages have the times of their step already.

import { frequencySet } from '../machine/frequency';
import { idleEnter, idleExit } from '../machine/idle';
import { NEVER } from '../machine/record';
import { now } from '../kernel/events';
import { TASK_QUEUE, TASK_SUM_EXEC } from '../kernel/task';
import {
  CORE_CPU,
  INSTANCE_MHZ,
  INSTANCE_STEP,
  INSTANCE_STEP_BUSY,
  THREAD_BATCH,
  THREAD_BEGAN,
  THREAD_CORE,
  THREAD_INSTANCE,
  THREAD_STEP,
} from './records';

/** Threads are metered: cores are CPUs of the machine model, or instances have several steps. */
export let metering: bool = false;
/** Cores are CPUs of the machine model. */
export let metersEnergy: bool = false;
/** Core whose stage ended in the current event, 0 = none: it is idle unless the next stage begins on it at once. */
let ended: u32 = 0;

export function meterReset(): void {
  metering = false;
  metersEnergy = false;
  ended = 0;
}

export function meterSteps(): void {
  metering = true;
}

export function meterEnergy(): void {
  metering = true;
  metersEnergy = true;
}

// @ts-ignore: decorator
@inline
function mhzOf(instance: u32, step: u32): u32 {
  return load<u32>(load<u32>(instance, INSTANCE_MHZ) + (step << 2));
}

/** Dedicated: the thread begins a stage on its core. */
export function meterBegin(thread: u32): void {
  const instance = load<u32>(thread, THREAD_INSTANCE);
  const step = load<u32>(instance, INSTANCE_STEP);
  store<u16>(thread, step as u16, THREAD_STEP);
  if (!metersEnergy) return;
  const core = load<u32>(thread, THREAD_CORE);
  if (core == ended) ended = 0;
  const cpu = load<u32>(core, CORE_CPU);
  // A core is ideal: leaving an idle state takes no time.
  idleExit(cpu, now);
  frequencySet(cpu, mhzOf(instance, step), now);
}

/** Dedicated: the stage is over after `time` ns. */
export function meterEnd(thread: u32, time: u64): void {
  chargeStep(thread, load<u32>(thread, THREAD_INSTANCE), time);
  if (metersEnergy) ended = load<u32>(thread, THREAD_CORE);
}

/** Dedicated: the end of an event. */
export function meterSettle(): void {
  if (ended == 0) return;
  idleEnter(load<u32>(ended, CORE_CPU), now, NEVER);
  ended = 0;
}

/** Scheduled: the thread has a CPU and takes its next batch. CPU time until now was for the last one. */
export function meterNext(thread: u32, task: u32, cpu: u32): void {
  const instance = load<u32>(thread, THREAD_INSTANCE);
  meterUsed(thread, task);
  const step = load<u32>(instance, INSTANCE_STEP);
  store<u16>(thread, step as u16, THREAD_STEP);
  if (metersEnergy) frequencySet(cpu, mhzOf(instance, step), now);
}

/** Scheduled: CPU time since it was charged last. */
export function meterUsed(thread: u32, task: u32): void {
  const used = load<u64>(task, TASK_SUM_EXEC);
  chargeStep(thread, load<u32>(thread, THREAD_INSTANCE), used - load<u64>(thread, THREAD_BEGAN));
  store<u64>(thread, used, THREAD_BEGAN);
}

/** Scheduled: the task of a thread begins to run on the CPU, perhaps in the midst of a stage. */
export function meterSwitch(task: u32, cpu: u32): void {
  const thread = load<u32>(task, TASK_QUEUE);
  if (load<u32>(thread, THREAD_BATCH) == 0) meterNext(thread, task, cpu);
  else frequencySet(cpu, mhzOf(load<u32>(thread, THREAD_INSTANCE), load<u16>(thread, THREAD_STEP) as u32), now);
}

/** Of the instance's busy time, that at the step of the thread's stage. */
export function chargeStep(thread: u32, instance: u32, time: u64): void {
  const bySteps = load<u32>(instance, INSTANCE_STEP_BUSY);
  if (bySteps == 0) return;
  const at = bySteps + ((load<u16>(thread, THREAD_STEP) as u32) << 3);
  store<u64>(at, load<u64>(at) + time);
}
