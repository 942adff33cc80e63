// The load average of /proc/loadavg over one minute (kernel/sched/loadavg.c): every 5·HZ + 1 ticks, in fixed point,
//
//     a = (a · 1884 + active · 2048 · (2048 − 1884)) / 2048, rounded up while it rises
//
// active = runnable tasks of all classes and those that wait for the disk. Tasks of throttled groups have left the count.

import { CLASS_FAIR, FLAG_DISK } from '../abi';
import { count, counter, LOAD_AVERAGE, LOAD_AVERAGE_MAX, LOAD_AVERAGE_SAMPLES, LOAD_AVERAGE_SUM, setCounter } from '../core/counters';
import { TASK_SHIFT } from '../core/layout';
import { CLASS_SAMPLE, now, systemSet } from './events';
import { grouping, throttledOn } from './group';
import { STATE_RUNNABLE, STATE_SLEEPING, TASK_CLASS, TASK_CPU, TASK_STATE, TASK_WAIT_FLAGS, taskSlots } from './task';

const FIXED_1: u64 = 2048;
const EXP_1: u64 = 1884;

let slot: u32 = 0;
let period: u64 = 0;

export function loadAverageInit(systemSlot: u32, tickNs: u64, hz: u64): void {
  slot = systemSlot;
  period = (5 * hz + 1) * tickNs;
  systemSet(slot, CLASS_SAMPLE, period);
}

/** Runnable and uninterruptible tasks (nr_active). */
function active(): u64 {
  let n: u64 = 0;
  for (let t: u32 = 1 << TASK_SHIFT, end = taskSlots() << TASK_SHIFT; t < end; t += 1 << TASK_SHIFT) {
    const state = load<u8>(t, TASK_STATE);
    if (state == STATE_RUNNABLE) {
      const throttled = grouping && load<u8>(t, TASK_CLASS) == CLASS_FAIR && throttledOn(t, load<u32>(t, TASK_CPU));
      if (!throttled) n++;
    } else if (state == STATE_SLEEPING && (load<u8>(t, TASK_WAIT_FLAGS) & FLAG_DISK) != 0) {
      n++;
    }
  }
  return n;
}

/** calc_load() */
export function onLoadAverage(): void {
  systemSet(slot, CLASS_SAMPLE, now + period);
  const load = counter(LOAD_AVERAGE);
  const activeFixed = active() * FIXED_1;
  let next = load * EXP_1 + activeFixed * (FIXED_1 - EXP_1);
  if (activeFixed >= load) next += FIXED_1 - 1;
  next /= FIXED_1;
  setCounter(LOAD_AVERAGE, next);
  count(LOAD_AVERAGE_SUM, next);
  count(LOAD_AVERAGE_SAMPLES);
  if (next > counter(LOAD_AVERAGE_MAX)) setCounter(LOAD_AVERAGE_MAX, next);
}
