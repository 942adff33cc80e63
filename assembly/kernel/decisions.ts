// A record of every decision of the scheduler, for timelines and for comparing schedules: (time, kind, CPU, task). It is
// filled only if the model asks for it. The host empties it between slices; an event that decides more than there is room
// for makes it grow, so nothing is lost.

import {
  DECISION_BYTES,
  DECISION_CALLBACK,
  DECISION_CLASS,
  DECISION_CPU,
  DECISION_DSQ,
  DECISION_KEYS,
  DECISION_KIND,
  DECISION_QUEUED,
  DECISION_TASK,
  DECISION_VALUE,
  DECISION_VTIME,
  DECISIONS_COMPARED,
  DECISIONS_DETAILED,
} from '../abi';
import { arenaAllocate } from '../core/arena';
import { TASK_SHIFT } from '../core/layout';
import { now } from './events';
import { FLAG_QUEUED, TASK_CLASS, TASK_CPU, TASK_FLAGS, TASK_SLICE, TASK_STATS } from './task';

/** Records after which the host is asked to empty it. */
const FULL: u32 = 1 << 15;

/** Who asks for it wants to know where a task's time goes: queues, waits, costs. */
export let detailing: bool = false;
/** Who asks for it compares schedulers: callbacks and their effects. */
export let comparing: bool = false;
let records: usize = 0;
let capacity: u32 = 0;
let used: u32 = 0;

export function decisionsInit(recording: u64): void {
  detailing = recording == DECISIONS_DETAILED;
  comparing = recording == DECISIONS_COMPARED;
  used = 0;
  capacity = 0;
  records = 0;
  if (recording != 0) grow(FULL << 1);
}

function grow(to: u32): void {
  const larger = arenaAllocate((to as usize) * DECISION_BYTES);
  if (larger == 0) return;
  memory.copy(larger, records, (used as usize) * DECISION_BYTES);
  records = larger;
  capacity = to;
}

export function recordDecision(kind: u32, cpu: u32, t: u32): void {
  if (used == capacity) {
    grow(capacity << 1);
    if (used == capacity) return;
  }
  const r = records + (used as usize) * DECISION_BYTES;
  used++;
  store<u64>(r, now);
  store<u32>(r, t >> TASK_SHIFT, DECISION_TASK);
  store<u32>(r, load<u32>(t, TASK_STATS), DECISION_CLASS);
  store<u16>(r, cpu as u16, DECISION_CPU);
  store<u8>(r, kind as u8, DECISION_KIND);
  store<u8>(r, (((load<u16>(t, TASK_FLAGS) & FLAG_QUEUED) != 0 ? 1 : 0) | (load<u8>(t, TASK_CLASS) << 1)) as u8, DECISION_QUEUED);
}

/** Only if `detailing` or `comparing`. */
export function recordDetail(kind: u32, t: u32, value: u64): void {
  recordDetailAt(kind, load<u32>(t, TASK_CPU), t, value);
}

export function recordDetailAt(kind: u32, cpu: u32, t: u32, value: u64): void {
  recordDecision(kind, cpu, t);
  store<u32>(records + ((used - 1) as usize) * DECISION_BYTES, min(value, u32.MAX_VALUE as u64) as u32, DECISION_VALUE);
}

/** An insertion with the task's slice; vtime is 0 in FIFO queues. Only if `comparing`. */
export function recordInsertion(t: u32, dsq: u32, vtime: u64): void {
  recordDetail(DECISION_DSQ, t, dsq);
  recordDecision(DECISION_KEYS, load<u32>(t, TASK_CPU), t);
  const r = records + ((used - 1) as usize) * DECISION_BYTES;
  store<u64>(r, load<u64>(t, TASK_SLICE));
  store<u64>(r, vtime, DECISION_VTIME);
}

/** A callback of the scheduler begins, on `cpu` and for task t (0 = none). */
// @ts-ignore: decorator
@inline
export function noteCallback(op: u32, cpu: u32, t: u32): void {
  if (comparing) recordDetailAt(DECISION_CALLBACK, cpu, t, op);
}

// @ts-ignore: decorator
@inline
export function decisionsFull(): bool {
  return used >= FULL;
}

export function decisionsAddress(): usize {
  return records;
}

export function decisionsUsed(): u32 {
  return used;
}

export function decisionsClear(): void {
  used = 0;
}
