// Entry of the module under test in test/event-order.test.ts (built by test/support/units.ts): the calendar alone. The
// test sets lanes, timers, sources, system events and deliveries and takes the earliest as the run loop does.

import { CPU_SHIFT, CPU_TREE, CPUS, SOURCE_TREE, TASK_SHIFT, TIMER_TREE } from '../../assembly/core/layout';
import { NEVER } from '../../assembly/core/winner';
import { wheelFree, wheelInsert, wheelNextTime, wheelPop, wheelReset, WHEEL_A } from '../../assembly/core/wheel';
import {
  absolute,
  CLASS_DELIVERY,
  CLASS_WAKE,
  eventsReset,
  laneClear,
  laneSet,
  nextCpuEvent,
  nextSource,
  nextTimer,
  now,
  rebaseIfNeeded,
  relative,
  setNow,
  sourceSet,
  systemSet,
  timerClear,
  timerSet,
} from '../../assembly/kernel/events';
import { maskInit } from '../../assembly/kernel/mask';

let pending: u32 = 0;
let eventClass: u32 = 0;
let eventSlot: u32 = 0;

export function setup(cpus: u32, systemEvents: u32, sources: u32): void {
  maskInit(cpus);
  memory.fill(CPUS, 0, (cpus as usize) << CPU_SHIFT);
  eventsReset(systemEvents, sources);
  wheelReset(0);
  pending = 0;
}

export function setLane(cpu: u32, lane: u32, laneClass: u32, time: u64): void {
  laneSet(cpu << CPU_SHIFT, lane << 3, laneClass, time);
}
export function clearLane(cpu: u32, lane: u32): void {
  laneClear(cpu << CPU_SHIFT, lane << 3);
}
export function setTimer(slot: u32, time: u64): void {
  timerSet(slot, slot << TASK_SHIFT, time);
}
export { sourceSet as setSource, systemSet as setSystem, timerClear as clearTimer };
export function deliver(time: u64, what: u32): void {
  wheelInsert(time, 0, what, 0);
  pending++;
}

/** Moves the clock to the earliest event and takes it off; false if there is none. */
export function take(): bool {
  const cpuNext = nextCpuEvent();
  const timerNext = nextTimer();
  const sourceNext = nextSource();
  let next = cpuNext < timerNext ? cpuNext : timerNext;
  if (sourceNext < next) next = sourceNext;
  if (pending != 0) {
    const delivery = (relative(wheelNextTime()) << 4) | (CLASS_DELIVERY as u64);
    if (delivery < next) next = delivery;
  }
  if (next == NEVER >> 12) return false;
  setNow(absolute(next));
  rebaseIfNeeded();
  eventClass = (next & 15) as u32;
  if (eventClass == CLASS_DELIVERY) {
    const node = wheelPop();
    eventSlot = load<u32>(node << 5, WHEEL_A);
    wheelFree(node);
    pending--;
  } else if (eventClass == CLASS_WAKE) {
    eventSlot = (load<u64>(TIMER_TREE + 8) & 0x3ffff) as u32;
    timerClear(eventSlot);
  } else if (next == cpuNext) {
    eventSlot = (load<u64>(CPU_TREE + 8) & 0xfff) as u32;
  } else {
    eventSlot = (load<u64>(SOURCE_TREE + 8) & 0xfff) as u32;
    sourceSet(eventSlot, NEVER);
  }
  return true;
}
export function time(): u64 {
  return now;
}
export function takenClass(): u32 {
  return eventClass;
}
export function takenSlot(): u32 {
  return eventSlot;
}
