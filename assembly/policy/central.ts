// One CPU takes all decisions, after sched_ext's example scx_central: tasks wait in one FIFO; a CPU that runs out of work
// asks the central one, which puts a task into its local DSQ and wakes it. Slices never end by themselves: a timer on
// the central CPU preempts what has run for a slice while others wait.
//
// Simpler than the example: restricted tasks wait in the same queue (the first that may run on the asking CPU is taken), so
// it needs no fallback DSQ.

import { P_CENTRAL_CPU, P_SLICE_NS, P_TIMER_NS } from '../abi';
import { param } from '../core/counters';
import { CPU_SHIFT, MASK_BYTES, POLICY_STATE } from '../core/layout';
import { CPU_CURR } from '../kernel/cpu';
import { dsqCreate, dsqLocal, dsqNr, dsqUser } from '../kernel/dsq';
import { now } from '../kernel/events';
import { dsqInsert, dsqMoveToCpu, KICK_PREEMPT, kickCpu } from '../kernel/ext';
import { maskClear, maskFirstAnd, maskNextAnd, maskSet, nrCpus } from '../kernel/mask';
import { TASK_CPU } from '../kernel/task';
import { policyTimer } from '../kernel/watchdog';

const SLICE_INFINITE: u64 = u64.MAX_VALUE;

/** CPUs that have asked for a task. */
const ASKING: usize = POLICY_STATE;
/** u64 by CPU: when its task began to run, + 1; 0 = it runs none. */
const STARTED: usize = POLICY_STATE + MASK_BYTES;

let slice: u64 = 0;
let period: u64 = 0;
let central: u32 = 0;
let turns: u32 = 0;

export function init(): void {
  slice = param(P_SLICE_NS);
  period = param(P_TIMER_NS);
  central = param(P_CENTRAL_CPU) as u32;
  turns = 0;
  dsqCreate(0);
  memory.fill(ASKING, 0, MASK_BYTES);
  // Every CPU has looked for work once before the policy was loaded.
  for (let cpu: u32 = 0; cpu < nrCpus; cpu++) {
    maskSet(ASKING, cpu);
    store<u64>(cpu << 3, 0, STARTED);
  }
  policyTimer(period);
}

export function selectCpu(t: u32, prev: u32): u32 {
  return central;
}

export function enqueue(t: u32): void {
  // A task that is only losing its CPU needs no kick: that CPU has just asked. The kick comes first: it takes the slice of
  // whatever the central CPU runs, which may still be a task that is being moved.
  const isRunning = load<u32>(load<u32>(t, TASK_CPU) << CPU_SHIFT, CPU_CURR) == t;
  if (!isRunning) kickCpu(central, KICK_PREEMPT);
  dsqInsert(t, dsqUser(0), SLICE_INFINITE, 0);
}

export function dispatch(cpu: u32): void {
  maskSet(ASKING, cpu);
  if (cpu != central) {
    kickCpu(central, KICK_PREEMPT);
    return;
  }
  // The others first: the central CPU serves itself last.
  for (let asking = maskFirstAnd(ASKING, ASKING); asking >= 0; asking = maskNextAnd(ASKING, ASKING, (asking as u32) + 1)) {
    if ((asking as u32) != central) serve(asking as u32);
  }
  serve(central);
}

function serve(cpu: u32): void {
  if (dsqMoveToCpu(dsqUser(0), cpu)) maskClear(ASKING, cpu);
}

export function running(t: u32): void {
  store<u64>(load<u32>(t, TASK_CPU) << 3, now + 1, STARTED);
}

export function stopping(t: u32): void {
  store<u64>(load<u32>(t, TASK_CPU) << 3, 0, STARTED);
}

/** Preempts what has had its slice, as many CPUs as tasks wait, another one first each time; the central CPU sees to itself. */
export function timer(): void {
  let wanted = dsqNr(dsqUser(0));
  turns++;
  for (let i: u32 = 0; i < nrCpus; i++) {
    const cpu = (turns + i) % nrCpus;
    if (cpu == central) continue;
    const started = load<u64>(cpu << 3, STARTED);
    if (started != 0 && now + 1 < started + slice) continue;
    if (dsqNr(dsqLocal(cpu)) == 0) {
      if (wanted == 0) continue;
      wanted--;
    }
    kickCpu(cpu, KICK_PREEMPT);
  }
  policyTimer(now + period);
}
