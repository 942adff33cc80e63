// The ABI: create, run, read.
//
//   bpf…()                  a BPF object, before place() (bpf/index.ts)
//   place(bytes)            where the host writes a model image of that size; memory may have grown
//   create(address)         takes the image over; 0, or an IMAGE_… error
//   arrivalWindow(rows)     makes room for streamed arrivals; refill(rows, last) after each OUTCOME_NEEDS_INPUT
//   run(events, untilNs)    handles events; OUTCOME_… says why it returned
//   finish()                closes the books; OUTCOME_COMPLETED, or OUTCOME_INVARIANT
//   result()                address of the result image
//   failure…()              what went wrong, with OUTCOME_STALLED and worse
//   waits…()                what every task waits for then
//   rows…()                 rows of finished invocations, to be drained between slices
//   decisions…()            decisions of the scheduler, likewise
//   replay…()               instead of run(): a recording of a real scheduler, record by record (kernel/replay.ts)

import { OUTCOME_COMPLETED, OUTCOME_INVARIANT } from './abi';
import { arenaAllocate, arenaReset } from './core/arena';
import { modelBase } from './bpf/index';
import { COUNTERS_USED } from './core/counters';
import { failure, failureCpu, failureDetail, failureDsq, failureOther, failureSite, failureTask } from './core/failure';
import { COUNTERS } from './core/layout';
import { now } from './kernel/events';
import { decisionsAddress, decisionsClear, decisionsUsed } from './kernel/decisions';
import { explainAddress, explainUsed } from './kernel/explain';
import { waitsUsed, writeWaits } from './kernel/waits';
import { loadModel } from './model';
import { opsExit } from './policy/ops';
import { finish as closeBooks, writeResult } from './result';
import { runEvents } from './run';
import { windowAllocate, windowRefilled } from './workload/arrivals';
import { rowsAddress, rowsClear, rowsUsed } from './workload/rows';

export * from './bpf/index';

export function place(bytes: u32): usize {
  arenaReset(modelBase);
  return arenaAllocate(bytes);
}

export function create(address: usize): u32 {
  return loadModel(address);
}

export function run(maxEvents: u32, untilNs: u64): u32 {
  return runEvents(maxEvents, untilNs);
}

/** Address of a window of `rows` streamed arrivals (SOURCE_STREAM); once, between create() and run(). */
export function arrivalWindow(rows: u32): usize {
  return windowAllocate(rows);
}

/** After OUTCOME_NEEDS_INPUT: the window holds `rows` rows; `last`: no more will come. */
export function refill(rows: u32, last: bool): void {
  windowRefilled(rows, last);
}

export function finish(): u32 {
  opsExit(true);
  closeBooks();
  return failure == 0 ? OUTCOME_COMPLETED : OUTCOME_INVARIANT;
}

export function result(): usize {
  return writeResult();
}

/** Simulated time, ns. */
export function time(): u64 {
  return now;
}

export function failureCode(): u32 {
  return failure;
}

export function failureTaskSlot(): u32 {
  return failureTask;
}

export function failureCpuIndex(): u32 {
  return failureCpu;
}

export function failureNumber(): u64 {
  return failureDetail;
}

export function failureDsqIndex(): u32 {
  return failureDsq;
}

/** 1 + the site of a BPF policy's translation that the failure belongs to, 0 = none. */
export function failurePlace(): u32 {
  return failureSite;
}

export function failureOtherSlot(): u32 {
  return failureOther;
}

/** Writes what each task waits for and returns the address of the records (kernel/waits.ts), 0 if there is no memory. */
export function waits(): usize {
  return writeWaits();
}

export function waitCount(): u32 {
  return waitsUsed();
}

/** Address of the run counters: R_… in abi/, u64 each. */
export function counters(): usize {
  return COUNTERS;
}

export function countersLength(): u32 {
  return COUNTERS_USED;
}

export function rows(): usize {
  return rowsAddress();
}

export function rowCount(): u32 {
  return rowsUsed();
}

/** Records of the explained job (kernel/explain.ts), and how many. */
export function explanation(): usize {
  return explainAddress();
}

export function explanationCount(): u32 {
  return explainUsed();
}

export function clearRows(): void {
  rowsClear();
}

export function decisions(): usize {
  return decisionsAddress();
}

export function decisionCount(): u32 {
  return decisionsUsed();
}

export function clearDecisions(): void {
  decisionsClear();
}

export * from './kernel/replay';
