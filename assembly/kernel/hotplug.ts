// CPUs go offline and come back at given times.
//
// A CPU that goes offline leaves its tasks to the others (sched_cpu_deactivate(), migrate_tasks()); one that may run
// nowhere else may then run everywhere (select_fallback_rq()). A sched_ext policy without cpu_online() and cpu_offline()
// is ejected, with the request to load it anew: its tasks become fair. The native policies have neither; BPF objects may.

import { CLASS_EXT, EVENT_ONLINE } from '../abi';
import { fail, FAIL_WHEEL } from '../core/failure';
import { CPU_SHIFT, IDLE_MASK, ONLINE_MASK, TASK_SHIFT } from '../core/layout';
import { opsHotplug, opsSetCpumask } from '../policy/ops';
import { deliver, DELIVERY_MACHINE } from '../workload/delivery';
import { CPU_CURR } from './cpu';
import { resched } from './events';
import { extDrain, extEnabled, extHotplug } from './ext';
import { fairDequeue, fairSelectCpu } from './fair';
import { cpuRq, RQ_OLDEST, RQ_PUSH_CPU, SE_NEWER } from './fairrq';
import { fallBackToFair } from './fallback';
import { maskAddress, maskClear, maskFirstAnd, maskSet, maskTest, maskWeightAnd, nrCpus } from './mask';
import { domainsInit } from './scheddomain';
import { updateCurr } from './charge';
import { fairArrives, taskMove } from './wakeup';
import { STATE_FREE, TASK_CLASS, TASK_MASK, TASK_STATE, taskSlots } from './task';

const EVENT_BYTES: u32 = 32;
let events: usize = 0;

export function hotplugInit(rows: usize, count: u32): void {
  events = rows;
  for (let i: u32 = 0; i < count; i++) {
    if (!deliver(load<u64>(rows + i * EVENT_BYTES), DELIVERY_MACHINE, i)) fail(FAIL_WHEEL, 0, 0, 0);
  }
}

/** Event number i of SECTION_EVENTS. */
export function onMachineEvent(i: u32): void {
  const r = events + i * EVENT_BYTES;
  const kind = load<u32>(r, 8);
  const which = load<u32>(r, 12);
  if (maskTest(ONLINE_MASK, which) == (kind == EVENT_ONLINE)) return;
  if (extEnabled && !opsHotplug(which, kind == EVENT_ONLINE)) fallBackToFair();
  if (kind == EVENT_ONLINE) online(which);
  else offline(which);
}

function online(cpu: u32): void {
  maskSet(ONLINE_MASK, cpu);
  extHotplug(maskWeightAnd(ONLINE_MASK, maskAddress(0)) == nrCpus);
  if (load<u32>(cpu << CPU_SHIFT, CPU_CURR) == 0) maskSet(IDLE_MASK, cpu);
  domainsInit();
  // Its first schedule() looks for what waits.
  if (extEnabled) resched(cpu);
}

function offline(cpu: u32): void {
  const c = cpu << CPU_SHIFT;
  updateCurr(c);
  maskClear(ONLINE_MASK, cpu);
  maskClear(IDLE_MASK, cpu);
  domainsInit();
  breakAffinity();
  if (extEnabled) {
    extHotplug(false);
    extDrain(cpu);
  }
  const curr = load<u32>(c, CPU_CURR);
  for (let t = load<u32>(cpuRq(cpu), RQ_OLDEST); t != 0; ) {
    const newer = load<u32>(t, SE_NEWER);
    const to = fairSelectCpu(t, cpu, -1, 0, false);
    if (t == curr) {
      // Taken away inside its CPU's schedule(), as active balancing does.
      store<u32>(cpuRq(cpu), to + 1, RQ_PUSH_CPU);
    } else {
      updateCurr(to << CPU_SHIFT);
      fairDequeue(t, cpu, false);
      taskMove(t, to);
      fairArrives(t, to, false, false);
    }
    t = newer;
  }
  if (curr != 0) resched(cpu);
}

/** Tasks that may run on no online CPU may run on all. */
function breakAffinity(): void {
  for (let t: u32 = 1 << TASK_SHIFT, end = taskSlots() << TASK_SHIFT; t < end; t += 1 << TASK_SHIFT) {
    if (load<u8>(t, TASK_STATE) == STATE_FREE) continue;
    if (maskFirstAnd(maskAddress(load<u32>(t, TASK_MASK)), ONLINE_MASK) >= 0) continue;
    store<u32>(t, 0, TASK_MASK);
    if (load<u8>(t, TASK_CLASS) == CLASS_EXT) opsSetCpumask(t);
  }
}
