// The clock and the calendar. Events are ordered by time, then class, then slot:
//
//   CPU tree      one leaf per CPU, the minimum of its four lanes, and one leaf per system event (frequency of a
//                 package, watchdog)        key = (time - epoch) << 16 | class << 12 | slot
//   timer tree    one leaf per task: its sleep             key = (time - epoch) << 18 | slot
//   source tree   one leaf per arrival source              key = (time - epoch) << 16 | class << 12 | source
//   wheel         deliveries on their way: several per entity
//
// A key reaches 2^46 ns (19 h) beyond the epoch. Later times are keyed at that bound and re-armed there; the epoch
// follows the clock, so the length of a run is not limited.

import { CPU_SHIFT, CPU_TREE, RESCHED_MASK, SOURCE_TREE, TIMER_TREE } from '../core/layout';
import { ceilPowerOfTwo, NEVER, winnerGrow, winnerLeaf, winnerRebuild, winnerReset, winnerSet } from '../core/winner';
import { CPU_LANES } from './cpu';
import { maskSet, nrCpus } from './mask';
import { TASK_WORK } from './task';

export const CLASS_ARRIVAL: u32 = 0;
export const CLASS_DELIVERY: u32 = 1;
export const CLASS_COMPLETION: u32 = 2;
export const CLASS_WAKE: u32 = 3;
export const CLASS_IDLE_EXIT: u32 = 4;
export const CLASS_TICK: u32 = 5;
export const CLASS_BALANCE: u32 = 6;
export const CLASS_FREQUENCY: u32 = 7;
export const CLASS_WATCHDOG: u32 = 8;
export const CLASS_SAMPLE: u32 = 9;
export const CLASS_POLICY_TIMER: u32 = 10;

/** Lanes of a CPU, as offsets into its record. */
export const LANE_COMPLETION: u32 = 0;
export const LANE_IDLE_EXIT: u32 = 8;
export const LANE_TICK: u32 = 16;
export const LANE_BALANCE: u32 = 24;

/** Keys reach this far beyond the epoch, ns. */
const SPAN: u64 = 1 << 46;
const REBASE_AFTER: u64 = 1 << 44;

/** Simulated time, ns. */
export let now: u64 = 0;

let epoch: u64 = 0;
let cpuLeaves: u32 = 2;
let timerLeaves: u32 = 2;
let sourceLeaves: u32 = 2;
let systemSlots: u32 = 0;
/** CPU handle whose event is being handled: its leaf is brought up to date once, by eventsFlush(). */
let deferred: u32 = 0xffffffff;

export function eventsReset(systemEvents: u32, sources: u32): void {
  now = 0;
  epoch = 0;
  systemSlots = systemEvents;
  cpuLeaves = ceilPowerOfTwo(nrCpus + systemEvents);
  timerLeaves = 64;
  sourceLeaves = ceilPowerOfTwo(sources);
  winnerReset(CPU_TREE, cpuLeaves);
  winnerReset(TIMER_TREE, timerLeaves);
  winnerReset(SOURCE_TREE, sourceLeaves);
  for (let cpu: u32 = 0; cpu < nrCpus; cpu++) {
    for (let lane: u32 = 0; lane < 32; lane += 8) store<u64>((cpu << CPU_SHIFT) + lane, NEVER, CPU_LANES);
  }
  deferred = 0xffffffff;
}

// @ts-ignore: decorator
@inline
export function setNow(time: u64): void {
  now = time;
}

// @ts-ignore: decorator
@inline
function keyTime(time: u64): u64 {
  const ahead = time - epoch;
  return ahead < SPAN ? ahead : SPAN - 1;
}

// @ts-ignore: decorator
@inline
function cpuKey(c: u32): u64 {
  const a = load<u64>(c, CPU_LANES);
  const b = load<u64>(c, CPU_LANES + 8);
  const d = load<u64>(c, CPU_LANES + 16);
  const e = load<u64>(c, CPU_LANES + 24);
  const ab = select<u64>(a, b, a < b);
  const de = select<u64>(d, e, d < e);
  return select<u64>(ab, de, ab < de);
}

/** Sets one lane of CPU handle c; `eventClass` is the class that belongs to the lane. */
// @ts-ignore: decorator
@inline
function laneStore(c: u32, lane: u32, key: u64): void {
  store<u64>(c + lane, key, CPU_LANES);
  if (c != deferred) winnerSet(CPU_TREE, cpuLeaves, c >> CPU_SHIFT, cpuKey(c));
}

// @ts-ignore: decorator
@inline
export function laneSet(c: u32, lane: u32, eventClass: u32, time: u64): void {
  laneStore(c, lane, (keyTime(time) << 16) | ((eventClass as u64) << 12) | ((c >> CPU_SHIFT) as u64));
}

// @ts-ignore: decorator
@inline
export function laneClear(c: u32, lane: u32): void {
  laneStore(c, lane, NEVER);
}

// @ts-ignore: decorator
@inline
export function lanePending(c: u32, lane: u32): bool {
  return load<u64>(c + lane, CPU_LANES) != NEVER;
}

/** From now on the leaf of CPU handle c is left alone until eventsFlush(). */
// @ts-ignore: decorator
@inline
export function eventsDefer(c: u32): void {
  deferred = c;
}

// @ts-ignore: decorator
@inline
export function eventsFlush(): void {
  const c = deferred;
  if (c != 0xffffffff) {
    deferred = 0xffffffff;
    winnerSet(CPU_TREE, cpuLeaves, c >> CPU_SHIFT, cpuKey(c));
  }
}

/** System event `slot` (0…systemEvents-1) at `time`, NEVER to cancel. */
export function systemSet(slot: u32, eventClass: u32, time: u64): void {
  const leaf = nrCpus + slot;
  const key = time == NEVER ? NEVER : (keyTime(time) << 16) | ((eventClass as u64) << 12) | (leaf as u64);
  winnerSet(CPU_TREE, cpuLeaves, leaf, key);
}

/** Wakes task t at `time`, which is also kept in its record. */
// @ts-ignore: decorator
@inline
export function timerSet(slot: u32, t: u32, time: u64): void {
  store<u64>(t, time, TASK_WORK);
  if (slot >= timerLeaves) timerLeaves = winnerGrow(TIMER_TREE, timerLeaves, slot + 1);
  winnerSet(TIMER_TREE, timerLeaves, slot, (keyTime(time) << 18) | (slot as u64));
}

// @ts-ignore: decorator
@inline
export function timerClear(slot: u32): void {
  winnerSet(TIMER_TREE, timerLeaves, slot, NEVER);
}

// @ts-ignore: decorator
@inline
export function sourceSet(source: u32, time: u64): void {
  const key = time == NEVER ? NEVER : (keyTime(time) << 16) | ((CLASS_ARRIVAL as u64) << 12) | (source as u64);
  winnerSet(SOURCE_TREE, sourceLeaves, source, key);
}

/** Some task sleeps on its timer. */
export function timerPending(): bool {
  return load<u64>(TIMER_TREE + 8) != NEVER;
}

/** Time and class of the next event of each tree, as time << 4 | class relative to the epoch; NEVER >> 12 if none. */
// @ts-ignore: decorator
@inline
export function nextCpuEvent(): u64 {
  return load<u64>(CPU_TREE + 8) >> 12;
}

// @ts-ignore: decorator
@inline
export function nextTimer(): u64 {
  const k = load<u64>(TIMER_TREE + 8);
  return k == NEVER ? NEVER >> 12 : ((k >> 18) << 4) | (CLASS_WAKE as u64);
}

// @ts-ignore: decorator
@inline
export function nextSource(): u64 {
  return load<u64>(SOURCE_TREE + 8) >> 12;
}

/** Absolute time of a key of the form time << 4 | class. */
// @ts-ignore: decorator
@inline
export function absolute(key: u64): u64 {
  return (key >> 4) + epoch;
}

// @ts-ignore: decorator
@inline
export function relative(time: u64): u64 {
  return keyTime(time);
}

/** Moves the epoch to the clock when it has fallen far behind; every pending key is in the future, so none is lost. */
// @ts-ignore: decorator
@inline
export function rebaseIfNeeded(): void {
  if (now - epoch > REBASE_AFTER) rebase();
}

function rebaseTree(base: usize, n: u32, shift: u32, delta: u64): void {
  for (let i: u32 = 0; i < n; i++) {
    const k = winnerLeaf(base, n, i);
    if (k != NEVER) store<u64>(base + (((n + i) as usize) << 3), k - (delta << shift));
  }
  winnerRebuild(base, n);
}

function rebase(): void {
  const delta = now - epoch;
  for (let cpu: u32 = 0; cpu < nrCpus; cpu++) {
    for (let lane: u32 = 0; lane < 32; lane += 8) {
      const at = (cpu << CPU_SHIFT) + lane;
      const k = load<u64>(at, CPU_LANES);
      if (k != NEVER) store<u64>(at, k - (delta << 16), CPU_LANES);
    }
  }
  rebaseTree(CPU_TREE, cpuLeaves, 16, delta);
  rebaseTree(SOURCE_TREE, sourceLeaves, 16, delta);
  rebaseTree(TIMER_TREE, timerLeaves, 18, delta);
  epoch = now;
}

/** Asks for schedule() on a CPU before the next event: the kernel's resched_curr(). */
// @ts-ignore: decorator
@inline
export function resched(cpu: u32): void {
  maskSet(RESCHED_MASK, cpu);
}
