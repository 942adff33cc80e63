// Rows of finished invocations, which the host drains between slices. When there are many the run returns; an event that
// finishes more of them than there is room for makes the room grow, so nothing is lost.

import {
  P_ROWS_EVERY,
  ROW_ARRIVAL,
  ROW_BYTES,
  ROW_CLASS,
  ROW_CONTAINER,
  ROW_CPU,
  ROW_DOMAIN,
  ROW_DURATION,
  ROW_LATENCY,
  ROW_NUMBER,
  ROW_ORDINAL,
  ROW_SOURCE,
  ROW_STATES,
  ROW_WORKER_DURATION,
  STATE_COUNT,
} from '../abi';
import { arenaAllocate } from '../core/arena';
import { count, param, ROWS } from '../core/counters';
import {
  JOB_ARRIVAL,
  JOB_CONTAINER,
  JOB_CPU_NS,
  JOB_DOMAIN,
  JOB_DURATION,
  JOB_NUMBER,
  JOB_ORDINAL,
  JOB_SOURCE,
  JOB_STATS,
  JOB_TIMES,
} from '../kernel/job';
import { CONTAINER_SHIFT } from '../core/layout';

/** Rows after which the host is asked to drain them. */
const FULL: u32 = 15360;

let ring: usize = 0;
let capacity: u32 = 0;
let every: u64 = 0;
let used: u32 = 0;
let finished: u64 = 0;

export function rowsInit(): void {
  every = param(P_ROWS_EVERY);
  used = 0;
  finished = 0;
  ring = 0;
  capacity = 0;
  if (every != 0) grow(16384);
}

function grow(to: u32): void {
  const larger = arenaAllocate((to as usize) * ROW_BYTES);
  if (larger == 0) return;
  memory.copy(larger, ring, (used as usize) * ROW_BYTES);
  ring = larger;
  capacity = to;
}

// @ts-ignore: decorator
@inline
export function rowsFull(): bool {
  return used > FULL;
}

export function rowsAddress(): usize {
  return ring;
}

/** Number of rows waiting; the host has read them when it calls rowsClear(). */
export function rowsUsed(): u32 {
  return used;
}

export function rowsClear(): void {
  used = 0;
}

export function writeRow(j: u32, latency: u64, duration: u64): void {
  if (every == 0 || finished++ % every != 0) return;
  if (used == capacity) grow(capacity << 1);
  // Without memory the run has failed.
  if (used == capacity) return;
  const r = ring + used * ROW_BYTES;
  used++;
  count(ROWS);
  store<u64>(r, load<u64>(j, JOB_ARRIVAL), ROW_ARRIVAL);
  store<u64>(r, latency, ROW_LATENCY);
  store<u64>(r, duration, ROW_WORKER_DURATION);
  store<u64>(r, load<u64>(j, JOB_CPU_NS), ROW_CPU);
  store<u64>(r, load<u64>(j, JOB_DURATION), ROW_DURATION);
  store<u32>(r, load<u32>(j, JOB_SOURCE), ROW_SOURCE);
  store<u32>(r, load<u32>(j, JOB_STATS), ROW_CLASS);
  store<u32>(r, load<u32>(j, JOB_DOMAIN), ROW_DOMAIN);
  store<u32>(r, load<u32>(j, JOB_CONTAINER) >> CONTAINER_SHIFT, ROW_CONTAINER);
  store<u64>(r, load<u64>(j, JOB_ORDINAL), ROW_ORDINAL);
  store<u64>(r, load<u64>(j, JOB_NUMBER), ROW_NUMBER);
  for (let s: u32 = 0; s < STATE_COUNT; s++) store<u64>(r + (s << 3), load<u64>(j + (s << 3), JOB_TIMES), ROW_STATES);
}
