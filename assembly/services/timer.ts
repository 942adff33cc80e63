// Timers of the services engine: the end of a thread's stage, a call at the end of a wire, the client's next request.

import { TASK_QUEUE } from '../kernel/task';
import { clientDue } from './client';
import { wireDue } from './network';
import { TIMED_SERVER, TIMED_THREAD, TIMED_WIRE } from './records';
import { serverDone } from './server';
import { threadDone } from './thread';

/** The timer of dedicated task t is due; the handler sets it anew or clears it. */
export function onServiceTimer(t: u32): void {
  const record = load<u32>(t, TASK_QUEUE);
  const timed = load<u32>(record);
  if (timed == TIMED_THREAD) threadDone(record);
  else if (timed == TIMED_SERVER) serverDone(record);
  else if (timed == TIMED_WIRE) wireDue(record);
  else clientDue();
}
