// Event set for entities that may have several pending events: an exact hierarchical wheel with 64 slots per level.
// Events leave in order of time, equal times in the order of insertion.
//
//   level l, slot s   WHEEL_SLOTS + (64 l + s) × 8      { u32 head node, u32 tail node }, valid if its occupied bit is set
//   occupied bits     WHEEL_OCCUPIED + 8 l              u64, bit s
//   node n            WHEEL_NODES + 32 n                0 u64 time, 8 u32 next, 12 u32 previous, 16 u32 kind, 20 u32 a, 24 u64 b
//
// The cursor is the time of the last event taken. An event sits at the level of the highest base-64 digit in which
// its time differs from the cursor, in the slot of that digit; level 0 for the cursor's own time. So
//   * each slot at or below the cursor's digit is empty, except the cursor's own at level 0;
//   * every event of a level precedes every event of a higher one, and slots of a level are in order of time;
//   * a level 0 slot holds one instant.
// Taking the earliest event moves the cursor to it. Only the slot that held it must then be redistributed, in list
// order, and all lower levels are empty at that moment: later insertions queue up behind, which keeps equal times in
// order. Looking at the next time does not move the cursor, since earlier events may still come; it searches the
// earliest slot once, then again only after the earliest event has been taken or cancelled.

import { MAX_WHEEL_NODES, WHEEL_NODES, WHEEL_OCCUPIED, WHEEL_SLOTS } from './layout';

export const WHEEL_TIME: usize = WHEEL_NODES;
const NEXT: usize = WHEEL_NODES + 8;
const PREVIOUS: usize = WHEEL_NODES + 12;
export const WHEEL_KIND: usize = WHEEL_NODES + 16;
export const WHEEL_A: usize = WHEEL_NODES + 20;
export const WHEEL_B: usize = WHEEL_NODES + 24;
const NODE_SHIFT: u32 = 5;

const HEAD: usize = WHEEL_SLOTS;
const TAIL: usize = WHEEL_SLOTS + 4;
const LEVELS: u32 = 11;

let cursor: u64 = 0;
/** Bit l: level l is not empty. */
let levels: u32 = 0;
/** Time of the earliest event while earliestKnown, u64.MAX_VALUE if there is none. */
let earliest: u64 = u64.MAX_VALUE;
let earliestKnown: bool = true;
/** Freed nodes, linked by next; 0 ends the list. */
let freeNodes: u32 = 0;
let unusedFrom: u32 = 1;

/** Empties the wheel. Events may be inserted from `now` on. */
export function wheelReset(now: u64): void {
  for (let l: u32 = 0; l < LEVELS; l++) store<u64>(l << 3, 0, WHEEL_OCCUPIED);
  cursor = now;
  levels = 0;
  earliest = u64.MAX_VALUE;
  earliestKnown = true;
  freeNodes = 0;
  unusedFrom = 1;
}

/** Node of the new event, 0 if the wheel is full. `time` is below u64.MAX_VALUE and not before the last event taken. */
export function wheelInsert(time: u64, kind: u32, a: u32, b: u64): u32 {
  let node = freeNodes;
  if (node != 0) {
    freeNodes = load<u32>(node << NODE_SHIFT, NEXT);
  } else {
    if (unusedFrom == MAX_WHEEL_NODES) return 0;
    node = unusedFrom++;
  }
  const at = node << NODE_SHIFT;
  store<u64>(at, time, WHEEL_TIME);
  store<u32>(at, kind, WHEEL_KIND);
  store<u32>(at, a, WHEEL_A);
  store<u64>(at, b, WHEEL_B);
  append(node, time);
  if (time < earliest) earliest = time;
  return node;
}

/** Removes a pending event and frees its node. */
export function wheelCancel(node: u32): void {
  const time = load<u64>(node << NODE_SHIFT, WHEEL_TIME);
  unlink(node, time);
  if (time == earliest) forgetEarliest();
  wheelFree(node);
}

/** Time of the earliest event, u64.MAX_VALUE if there is none. */
export function wheelNextTime(): u64 {
  if (!earliestKnown) {
    earliest = findEarliest();
    earliestKnown = true;
  }
  return earliest;
}

/** Takes the earliest event, 0 if there is none. The caller reads the node's fields, then frees it. */
export function wheelPop(): u32 {
  if (levels == 0) return 0;
  const level = ctz(levels);
  const digit = ctz(load<u64>(level << 3, WHEEL_OCCUPIED)) as u32;
  const slot = ((level << 6) + digit) << 3;
  const head = load<u32>(slot, HEAD);
  const next = load<u32>(head << NODE_SHIFT, NEXT);
  if (level != 0 && next != 0) return redistribute(level, digit, wheelNextTime());
  cursor = load<u64>(head << NODE_SHIFT, WHEEL_TIME);
  if (next != 0) {
    store<u32>(slot, next, HEAD);
    store<u32>(next << NODE_SHIFT, 0, PREVIOUS);
  } else {
    vacate(level, digit);
  }
  forgetEarliest();
  return head;
}

export function wheelFree(node: u32): void {
  store<u32>(node << NODE_SHIFT, freeNodes, NEXT);
  freeNodes = node;
}

// @ts-ignore: decorator
@inline
function levelOf(time: u64): u32 {
  // 63 − clz = highest differing bit; × 43 >> 8 divides by 6 for 0 … 63.
  return (((63 - clz((time ^ cursor) | 1)) as u32) * 43) >> 8;
}

// @ts-ignore: decorator
@inline
function digitOf(time: u64, level: u32): u32 {
  return ((time >> ((level * 6) as u64)) & 63) as u32;
}

// @ts-ignore: decorator
@inline
function append(node: u32, time: u64): void {
  const level = levelOf(time);
  const digit = digitOf(time, level);
  const slot = ((level << 6) + digit) << 3;
  const at = node << NODE_SHIFT;
  const occupied = load<u64>(level << 3, WHEEL_OCCUPIED);
  const bit = (1 as u64) << (digit as u64);
  store<u32>(at, 0, NEXT);
  if (occupied & bit) {
    const tail = load<u32>(slot, TAIL);
    store<u32>(tail << NODE_SHIFT, node, NEXT);
    store<u32>(at, tail, PREVIOUS);
  } else {
    store<u64>(level << 3, occupied | bit, WHEEL_OCCUPIED);
    levels |= (1 as u32) << level;
    store<u32>(slot, node, HEAD);
    store<u32>(at, 0, PREVIOUS);
  }
  store<u32>(slot, node, TAIL);
}

function unlink(node: u32, time: u64): void {
  const level = levelOf(time);
  const digit = digitOf(time, level);
  const slot = ((level << 6) + digit) << 3;
  const at = node << NODE_SHIFT;
  const next = load<u32>(at, NEXT);
  const previous = load<u32>(at, PREVIOUS);
  if (next != 0) store<u32>(next << NODE_SHIFT, previous, PREVIOUS);
  else store<u32>(slot, previous, TAIL);
  if (previous != 0) store<u32>(previous << NODE_SHIFT, next, NEXT);
  else store<u32>(slot, next, HEAD);
  if ((next | previous) == 0) vacate(level, digit);
}

// @ts-ignore: decorator
@inline
function vacate(level: u32, digit: u32): void {
  const occupied = load<u64>(level << 3, WHEEL_OCCUPIED) & ~((1 as u64) << (digit as u64));
  store<u64>(level << 3, occupied, WHEEL_OCCUPIED);
  if (occupied == 0) levels &= ~((1 as u32) << level);
}

// While it is unknown, `earliest` is a bound that no insertion may pass: 0, so that insertions leave it alone.
// @ts-ignore: decorator
@inline
function forgetEarliest(): void {
  earliest = 0;
  earliestKnown = false;
}

/** Level 0 tells the time by its slot; a slot of a higher level is searched, once before it is redistributed. */
function findEarliest(): u64 {
  if (levels == 0) return u64.MAX_VALUE;
  const level = ctz(levels);
  const digit = ctz(load<u64>(level << 3, WHEEL_OCCUPIED));
  if (level == 0) return (cursor & ~63) | digit;
  let node = load<u32>(((level << 6) + (digit as u32)) << 3, HEAD);
  let lowest: u64 = u64.MAX_VALUE;
  while (node != 0) {
    const at = node << NODE_SHIFT;
    lowest = min(lowest, load<u64>(at, WHEEL_TIME));
    node = load<u32>(at, NEXT);
  }
  return lowest;
}

/** Moves the cursor to `time`, the earliest, spreads its slot over lower levels and returns the first event then. */
function redistribute(level: u32, digit: u32, time: u64): u32 {
  let first: u32 = 0;
  let node = load<u32>(((level << 6) + digit) << 3, HEAD);
  cursor = time;
  vacate(level, digit);
  while (node != 0) {
    const next = load<u32>(node << NODE_SHIFT, NEXT);
    const nodeTime = load<u64>(node << NODE_SHIFT, WHEEL_TIME);
    if (first == 0 && nodeTime == time) first = node;
    else append(node, nodeTime);
    node = next;
  }
  forgetEarliest();
  return first;
}
