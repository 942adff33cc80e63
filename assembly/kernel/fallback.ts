// What the kernel does when the watchdog ejects a scheduler: every ext task becomes fair, and the run goes on.

import { detailing, recordDetail } from './decisions';
import { CLASS_EXT, CLASS_FAIR, DECISION_MOVE } from '../abi';
import { FALLBACK_NS, setCounter } from '../core/counters';
import { CPU_SHIFT, TASK_SHIFT } from '../core/layout';
import { CPU_CURR } from './cpu';
import { DSQ_NONE, dsqRemove } from './dsq';
import { now, resched } from './events';
import { extDisable } from './ext';
import { fairEnqueue, fairSetNext } from './fair';
import { nrCpus } from './mask';
import { updateCurr } from './charge';
import { noteFairTask } from './sched';
import {
  FLAG_QUEUED,
  STATE_DEAD,
  STATE_FREE,
  TASK_CLASS,
  TASK_CLASS_STATE,
  TASK_CPU,
  TASK_DIRECT_DSQ,
  TASK_DSQ,
  TASK_FLAGS,
  TASK_STATE,
  CLASS_STATE_BYTES,
  taskSlots,
} from './task';

export function fallBackToFair(): void {
  setCounter(FALLBACK_NS, now);
  for (let cpu: u32 = 0; cpu < nrCpus; cpu++) updateCurr(cpu << CPU_SHIFT);
  extDisable();
  for (let t: u32 = 1 << TASK_SHIFT, end = taskSlots() << TASK_SHIFT; t < end; t += 1 << TASK_SHIFT) {
    const state = load<u8>(t, TASK_STATE);
    if (state == STATE_FREE || state == STATE_DEAD || load<u8>(t, TASK_CLASS) != CLASS_EXT) continue;
    if (load<u32>(t, TASK_DSQ) != DSQ_NONE) dsqRemove(t);
    store<u32>(t, DSQ_NONE, TASK_DIRECT_DSQ);
    store<u8>(t, CLASS_FAIR as u8, TASK_CLASS);
    memory.fill((t as usize) + TASK_CLASS_STATE, 0, CLASS_STATE_BYTES);
    noteFairTask(1);
    if ((load<u16>(t, TASK_FLAGS) & FLAG_QUEUED) == 0) continue;
    const cpu = load<u32>(t, TASK_CPU);
    if (detailing) recordDetail(DECISION_MOVE, t, 0);
    fairEnqueue(t, cpu, false, true);
    if (load<u32>(cpu << CPU_SHIFT, CPU_CURR) == t) fairSetNext(cpu, t);
  }
  for (let cpu: u32 = 0; cpu < nrCpus; cpu++) resched(cpu);
}
