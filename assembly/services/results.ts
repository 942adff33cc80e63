// What instances have done, and the invariant that ties it to their threads.

import { KIND_THREADS, SVR_BATCHES, SVR_BUSY_NS, SVR_COUNT, SVR_JOBS, SVR_VISITS } from '../abi';
import { fail, FAIL_CPU_TIME } from '../core/failure';
import { now } from '../kernel/events';
import { TASK_SUM_EXEC } from '../kernel/task';
import { areScheduled } from './core';
import { chargeStep, meterUsed } from './meter';
import { EDGE_BYTES, EDGE_CALLS, EDGE_MOST_WAITING, EDGE_WAITED, EDGE_WAITED_NS } from './connection';
import { edgeCount, edges, instanceCount, instances } from './tables';
import {
  INSTANCE_BATCHES,
  INSTANCE_BUSY_NS,
  INSTANCE_BYTES,
  INSTANCE_JOBS,
  INSTANCE_KIND,
  INSTANCE_STEP_BUSY,
  INSTANCE_STEPS,
  INSTANCE_THREAD_COUNT,
  INSTANCE_THREADS,
  INSTANCE_VISITS,
  THREAD_BATCH,
  THREAD_BEGAN,
  THREAD_BYTES,
  THREAD_TASK,
} from './records';
import { threadStride } from './thread';

/** Closes the books: busy time of an instance = Σ of its threads', in exact integers, with what runs now up to now. */
export function checkServices(): void {
  for (let i: u32 = 0; i < instanceCount; i++) {
    const instance = instances + i * (INSTANCE_BYTES as u32);
    let used: u64 = 0;
    let running: u64 = 0;
    const stride = load<u32>(instance, INSTANCE_KIND) == KIND_THREADS ? threadStride(instance) : (THREAD_BYTES as u32);
    for (let k: u32 = 0, n = load<u32>(instance, INSTANCE_THREAD_COUNT); k < n; k++) {
      const thread = load<u32>(instance, INSTANCE_THREADS) + k * stride;
      const task = load<u32>(thread, THREAD_TASK);
      used += load<u64>(task, TASK_SUM_EXEC);
      if (areScheduled) {
        meterUsed(thread, task);
      } else if (load<u32>(thread, THREAD_BATCH) != 0) {
        const time = now - load<u64>(thread, THREAD_BEGAN);
        chargeStep(thread, instance, time);
        running += time;
      }
    }
    if (areScheduled) store<u64>(instance, used, INSTANCE_BUSY_NS);
    else if (used != load<u64>(instance, INSTANCE_BUSY_NS)) fail(FAIL_CPU_TIME, 0, i, used);
    store<u64>(instance, load<u64>(instance, INSTANCE_BUSY_NS) + running, INSTANCE_BUSY_NS);
  }
}

export function writeInstances(at: usize): void {
  for (let i: u32 = 0; i < instanceCount; i++) {
    const instance = instances + i * (INSTANCE_BYTES as u32);
    const row = at + (i as usize) * (SVR_COUNT as usize) * 8;
    store<u64>(row + (SVR_BUSY_NS << 3), load<u64>(instance, INSTANCE_BUSY_NS));
    store<u64>(row + (SVR_VISITS << 3), load<u64>(instance, INSTANCE_VISITS));
    store<u64>(row + (SVR_BATCHES << 3), load<u64>(instance, INSTANCE_BATCHES));
    store<u64>(row + (SVR_JOBS << 3), load<u64>(instance, INSTANCE_JOBS));
  }
}

/** Rows of SECTION_SV_STEPS. */
export function stepRows(): u32 {
  let rows: u32 = 0;
  for (let i: u32 = 0; i < instanceCount; i++) {
    const instance = instances + i * (INSTANCE_BYTES as u32);
    if (load<u32>(instance, INSTANCE_STEP_BUSY) != 0) rows += load<u32>(instance, INSTANCE_STEPS);
  }
  return rows;
}

export function writeSteps(at: usize): void {
  for (let i: u32 = 0; i < instanceCount; i++) {
    const instance = instances + i * (INSTANCE_BYTES as u32);
    const busy = load<u32>(instance, INSTANCE_STEP_BUSY);
    if (busy == 0) continue;
    for (let step: u32 = 0, n = load<u32>(instance, INSTANCE_STEPS); step < n; step++) {
      store<u32>(at, i);
      store<u32>(at, step, 4);
      store<u64>(at, load<u64>(busy + (step << 3)), 8);
      at += 16;
    }
  }
}

/** Rows of SECTION_SV_EDGE_RESULTS. */
export function writeEdges(at: usize): void {
  for (let i: u32 = 0; i < edgeCount; i++) {
    const edge = edges + i * (EDGE_BYTES as u32);
    store<u64>(at, load<u64>(edge, EDGE_CALLS));
    store<u64>(at, load<u64>(edge, EDGE_WAITED), 8);
    store<u64>(at, load<u64>(edge, EDGE_WAITED_NS), 16);
    store<u64>(at, load<u64>(edge, EDGE_MOST_WAITING), 24);
    at += 32;
  }
}
