// bpf_timer: up to MAX_TIMERS armed or initialised at once, in a winner tree that the policy's timer event follows. Equal
// times fire in the order of slots. A struct bpf_timer in a map value holds its slot + 1; what counts is kept here:
//
//     0  u32 address of the struct, 0 = slot is free   4  u32 map   8  u32 value   12  u32 entry
//    16  u32 callback, 0 = none   20  u32 cpu   24  u32 armed

import { NEVER, winnerLeaf, winnerReset, winnerRoot, winnerSet } from '../core/winner';
import { now } from '../kernel/events';
import { policyTimer } from '../kernel/watchdog';
import { timeOf } from './clock';
import { callTimer, contextCpu, slotOf, violate, VIOLATION_MEMORY } from './context';
import { entryOf, keyAddress, valueAddress } from './map';
import { writable } from './region';
import { MAX_TIMERS, TIMERS, TIMERS_TREE } from './state';

const SLOT_BITS: u64 = 10;
const ABSOLUTE: u64 = 1;

const EINVAL: i64 = 22;
const EBUSY: i64 = 16;

let used: u32 = 0;

export function timersReset(): void {
  winnerReset(TIMERS_TREE, MAX_TIMERS);
  memory.fill(TIMERS, 0, MAX_TIMERS << 5);
  used = 0;
}

// @ts-ignore: decorator
@inline
function record(slot: u32): usize {
  return TIMERS + ((slot as usize) << 5);
}

/** Slot of a struct bpf_timer, −1 if it is not initialised. */
function timerSlot(timer: u64): i32 {
  const at = writable(timer, 16);
  const slot = load<u32>(at) - 1;
  if (slot >= MAX_TIMERS || load<u32>(record(slot)) != (at as u32)) return -1;
  return slot as i32;
}

function armNext(): void {
  const first = winnerRoot(TIMERS_TREE);
  policyTimer(first == NEVER ? NEVER : first >> SLOT_BITS);
}

/** bpf_timer_init() of the timer in the value of `map` that holds its address. */
export function timerInit(timer: u64, map: usize): i64 {
  if (timerSlot(timer) >= 0) return -EBUSY;
  let slot: u32 = 0;
  while (slot < used && load<u32>(record(slot)) != 0) slot++;
  if (slot == MAX_TIMERS) violate(VIOLATION_MEMORY, MAX_TIMERS as u64);
  if (slot == used) used++;
  const entry = entryOf(map, timer as usize);
  if (entry < 0) return -EINVAL;
  const r = record(slot);
  store<u32>(r, timer as u32);
  store<u32>(r, map as u32, 4);
  store<u32>(r, valueAddress(map, entry as u32) as u32, 8);
  store<u32>(r, entry as u32, 12);
  store<u32>(r, 0, 16);
  store<u32>(timer as usize, slot + 1);
  return 0;
}

export function timerSetCallback(timer: u64, callback: u64): i64 {
  const slot = timerSlot(timer);
  if (slot < 0) return -EINVAL;
  store<u32>(record(slot as u32), slotOf(callback), 16);
  return 0;
}

export function timerStart(timer: u64, ns: u64, flags: u64): i64 {
  const slot = timerSlot(timer);
  if (slot < 0 || load<u32>(record(slot as u32), 16) == 0) return -EINVAL;
  let due = (flags & ABSOLUTE) != 0 ? timeOf(ns) : now + ns;
  if (due < now) due = now;
  store<u32>(record(slot as u32), contextCpu, 20);
  const key = due < NEVER >> SLOT_BITS ? (due << SLOT_BITS) | (slot as u64) : NEVER - (MAX_TIMERS as u64) + (slot as u64);
  winnerSet(TIMERS_TREE, MAX_TIMERS, slot as u32, key);
  armNext();
  return 0;
}

/** 1: it was armed. */
export function timerCancel(timer: u64): i64 {
  const slot = timerSlot(timer);
  if (slot < 0) return -EINVAL;
  const armed = winnerLeaf(TIMERS_TREE, MAX_TIMERS, slot as u32) != NEVER;
  winnerSet(TIMERS_TREE, MAX_TIMERS, slot as u32, NEVER);
  armNext();
  return armed ? 1 : 0;
}

/** The value at `value` ends, and its timer with it. */
export function timersOfValueEnd(value: usize, bytes: u32): void {
  for (let slot: u32 = 0; slot < used; slot++) {
    const at = load<u32>(record(slot)) as usize;
    if (at < value || at >= value + bytes) continue;
    store<u32>(record(slot), 0);
    winnerSet(TIMERS_TREE, MAX_TIMERS, slot, NEVER);
  }
  armNext();
}

/** The policy's timer event: every timer that is due, in order. */
export function timersFire(): void {
  while (true) {
    const first = winnerRoot(TIMERS_TREE);
    if (first == NEVER || first >> SLOT_BITS > now) break;
    const slot = (first & ((1 << SLOT_BITS) - 1)) as u32;
    winnerSet(TIMERS_TREE, MAX_TIMERS, slot, NEVER);
    const r = record(slot);
    const map = load<u32>(r, 4);
    callTimer(load<u32>(r, 16), load<u32>(r, 20), map as u64, keyAddress(map, load<u32>(r, 12)) as u64, load<u32>(r, 8) as u64);
  }
  armNext();
}
