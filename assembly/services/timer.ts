// Where the kernel enters the services engine: timers (the end of a thread's stage, a call at the end of a wire, the client's next
// request), and threads that have a CPU.

import { TASK_QUEUE } from '../kernel/task';
import { clientDue } from './client';
import { setWaker } from './core';
import { metering, meterNext, meterSettle } from './meter';
import { monitorDue } from './monitor';
import { wireDue } from './network';
import { TIMED_CLIENT, TIMED_SERVER, TIMED_THREAD, TIMED_WIRE } from './records';
import { serverDone, serverServe } from './server';
import { threadDone, threadServe } from './thread';

/** The timer of task t is due; the handler sets it anew or clears it. */
export function onServiceTimer(t: u32): void {
  const record = load<u32>(t, TASK_QUEUE);
  const timed = load<u32>(record);
  if (timed == TIMED_THREAD) threadDone(record);
  else if (timed == TIMED_SERVER) serverDone(record);
  else if (timed == TIMED_WIRE) wireDue(record);
  else if (timed == TIMED_CLIENT) clientDue();
  else monitorDue();
  if (metering) meterSettle();
}

/** Scheduled thread t runs on a CPU: hands on what it has served and takes the next batch. Its time, ns; u64.MAX_VALUE if there is none. */
export function serviceNext(t: u32, cpu: i32): u64 {
  const record = load<u32>(t, TASK_QUEUE);
  setWaker(cpu, t);
  if (metering) meterNext(record, t, cpu);
  const time = load<u32>(record) == TIMED_THREAD ? threadServe(record) : serverServe(record);
  setWaker(-1, 0);
  return time;
}
