// What each task waits for, and since when: written on request after a run has failed, so it costs nothing before. The host
// turns it into the reason chain of a stall or deadlock. Idle background tasks are left out; they are what waits by design.

import {
  CLASS_EXT,
  FLAG_OWN,
  NONE,
  OP_BARRIER,
  OP_RECEIVE,
  WAIT_BARRIER,
  WAIT_BLOCK,
  WAIT_BYTES,
  WAIT_CLASS,
  WAIT_CPU,
  WAIT_DSQ,
  WAIT_EVENT,
  WAIT_JOBS,
  WAIT_JOIN,
  WAIT_KIND,
  WAIT_MASK,
  WAIT_NUMBER,
  WAIT_PARENT,
  WAIT_PLACE,
  WAIT_MEMBER,
  WAIT_POLLING,
  WAIT_RECEIVE,
  WAIT_RUNNING,
  WAIT_RUN_QUEUE,
  WAIT_SINCE,
  WAIT_SLEEP,
  WAIT_SLOT,
  WAIT_STATS,
} from '../abi';
import { arenaAllocate } from '../core/arena';
import { BARRIER_SHIFT, CPU_SHIFT, DSQ_SHIFT, QUEUE_SHIFT, TASK_SHIFT } from '../core/layout';
import { BARRIER_ARRIVED, BARRIER_PARTIES } from './barrier';
import { CPU_CURR } from './cpu';
import { DSQ_NONE } from './dsq';
import { JOB_STATE_SINCE } from './job';
import { instructionAt, WAITS_IN_BLOCK, WAITS_IN_JOIN } from './program';
import { QUEUE_HEAD, QUEUE_NR, queuesUsed } from './queue';
import {
  FLAG_BACKGROUND,
  FLAG_MEMBER,
  MODE_SPIN_EVENT,
  STATE_DEAD,
  STATE_FREE,
  STATE_RUNNABLE,
  STATE_SLEEPING,
  TASK_BARRIER,
  TASK_CHILDREN,
  TASK_CLASS,
  TASK_CPU,
  TASK_DSQ,
  TASK_EXEC_START,
  TASK_FLAGS,
  TASK_JOB,
  TASK_MASK,
  TASK_MODE,
  TASK_PARENT,
  TASK_PC,
  TASK_QUEUE,
  TASK_RUNNABLE_SINCE,
  TASK_STATE,
  TASK_STATS,
  TASK_STINT,
  TASK_WAIT_NEXT,
  taskSlots,
} from './task';

/** Enough to tell a cycle or a queue; what is beyond it is not told apart from what has ended. */
const MAX_WAITS: u32 = 16384;

let records: usize = 0;
let used: u32 = 0;

/** Writes the records and returns their address, 0 if there is no memory for them. */
export function writeWaits(): usize {
  used = 0;
  records = arenaAllocate((MAX_WAITS as usize) * WAIT_BYTES);
  if (records == 0) return 0;
  for (let t: u32 = 1 << TASK_SHIFT, end = taskSlots() << TASK_SHIFT; t < end; t += 1 << TASK_SHIFT) {
    const state = load<u8>(t, TASK_STATE);
    if (state == STATE_FREE || state == STATE_DEAD) continue;
    const background = (load<u16>(t, TASK_FLAGS) & FLAG_BACKGROUND) != 0 && load<u32>(t, TASK_JOB) == 0;
    if (background && state != STATE_RUNNABLE) continue;
    if (used == MAX_WAITS) return records;
    writeTask(records + (used as usize) * WAIT_BYTES, t, state);
    used++;
  }
  for (let k: u32 = 0; k < queuesUsed() && used < MAX_WAITS; k++) {
    const q = k << QUEUE_SHIFT;
    if (load<u32>(q, QUEUE_NR) == 0) continue;
    const r = records + (used as usize) * WAIT_BYTES;
    memory.fill(r, 0, WAIT_BYTES);
    store<u8>(r, WAIT_JOBS as u8, WAIT_KIND);
    store<u32>(r, k, WAIT_PLACE);
    store<u32>(r, load<u32>(q, QUEUE_NR), WAIT_NUMBER);
    store<u64>(r, load<u64>(load<u32>(q, QUEUE_HEAD), JOB_STATE_SINCE), WAIT_SINCE);
    used++;
  }
  return records;
}

/** What a task that blocks or polls waits for: WAIT_… kind | (place + 1) << 8. */
export function waitCause(t: u32): u32 {
  const next = load<u32>(t, TASK_WAIT_NEXT);
  if (next == WAITS_IN_JOIN) return WAIT_JOIN;
  if (next == WAITS_IN_BLOCK) return WAIT_BLOCK;
  const i = instructionAt(load<u32>(t, TASK_PC) - 1);
  const op = load<u8>(i) as u32;
  const own = (load<u8>(i, 1) & FLAG_OWN) != 0;
  const named = (load<u32>(i, 4) + 1) << 8;
  if (op == OP_RECEIVE) return WAIT_RECEIVE | (own ? ((load<u32>(t, TASK_QUEUE) >> QUEUE_SHIFT) + 1) << 8 : named);
  return op == OP_BARRIER ? WAIT_BARRIER | (own ? 0 : named) : WAIT_EVENT | named;
}

export function waitsUsed(): u32 {
  return used;
}

function writeTask(r: usize, t: u32, state: u8): void {
  memory.fill(r, 0, WAIT_BYTES);
  const cpu = load<u32>(t, TASK_CPU);
  store<u32>(r, t >> TASK_SHIFT, WAIT_SLOT);
  store<u32>(r, load<u32>(t, TASK_STATS), WAIT_STATS);
  store<u32>(r, cpu, WAIT_CPU);
  store<u32>(r, load<u32>(t, TASK_MASK), WAIT_MASK);
  store<u32>(r, load<u32>(t, TASK_PARENT) >> TASK_SHIFT, WAIT_PARENT);
  store<u8>(r, load<u8>(t, TASK_CLASS), WAIT_CLASS);
  store<u8>(r, ((load<u16>(t, TASK_FLAGS) & FLAG_MEMBER) != 0 ? 1 : 0) as u8, WAIT_MEMBER);
  store<u32>(r, NONE, WAIT_PLACE);
  const running = load<u32>(cpu << CPU_SHIFT, CPU_CURR) == t;
  if (load<u8>(t, TASK_MODE) == MODE_SPIN_EVENT) {
    store<u8>(r, 1, WAIT_POLLING);
    // Polling goes on across preemptions: the beginning is not kept, that of the stay on the CPU is a bound.
    store<u64>(r, running ? load<u64>(t, TASK_EXEC_START) - load<u64>(t, TASK_STINT) : load<u64>(t, TASK_RUNNABLE_SINCE), WAIT_SINCE);
    writeCause(r, t);
    return;
  }
  if (running) {
    store<u8>(r, WAIT_RUNNING as u8, WAIT_KIND);
    store<u64>(r, load<u64>(t, TASK_EXEC_START) - load<u64>(t, TASK_STINT), WAIT_SINCE);
    return;
  }
  if (state == STATE_RUNNABLE) {
    const dsq = load<u32>(t, TASK_DSQ);
    store<u8>(r, (load<u8>(t, TASK_CLASS) == CLASS_EXT ? WAIT_DSQ : WAIT_RUN_QUEUE) as u8, WAIT_KIND);
    if (dsq != DSQ_NONE) store<u32>(r, dsq >> DSQ_SHIFT, WAIT_PLACE);
    store<u64>(r, load<u64>(t, TASK_RUNNABLE_SINCE), WAIT_SINCE);
    return;
  }
  // It was charged last when it left its CPU.
  store<u64>(r, load<u64>(t, TASK_EXEC_START), WAIT_SINCE);
  if (state == STATE_SLEEPING) store<u8>(r, WAIT_SLEEP as u8, WAIT_KIND);
  else writeCause(r, t);
}

/** What a blocked or polling task waits for, by the instruction it is in. */
function writeCause(r: usize, t: u32): void {
  const cause = waitCause(t);
  const kind = cause & 0xff;
  store<u8>(r, kind as u8, WAIT_KIND);
  if (cause >> 8 != 0) store<u32>(r, (cause >> 8) - 1, WAIT_PLACE);
  if (kind == WAIT_JOIN) {
    store<u32>(r, load<u32>(t, TASK_CHILDREN), WAIT_NUMBER);
  } else if (kind == WAIT_BARRIER) {
    const b = cause >> 8 == 0 ? load<u32>(t, TASK_BARRIER) : ((cause >> 8) - 1) << BARRIER_SHIFT;
    store<u32>(r, load<u32>(b, BARRIER_PARTIES) - load<u32>(b, BARRIER_ARRIVED), WAIT_NUMBER);
  }
}
