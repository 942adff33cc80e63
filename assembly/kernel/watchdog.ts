// Periodic system events: the frequency of a package, and the watchdog. The watchdog looks for ext tasks that have been
// runnable for longer than the timeout, as the kernel's does every half timeout, and for work in the system that
// nothing can move any more.

import { CLASS_EXT, NONE, P_ENERGY_END_NS, P_HZ, P_ON_STALL_FALLBACK, P_WATCHDOG_NS } from '../abi';
import {
  ALIVE,
  counter,
  ENERGY_CORES,
  ENERGY_TAKEN,
  ENERGY_UNCORES,
  param,
  QUEUE_AREA,
  RUNNABLE_AREA,
  setCounter,
  WINDOW_BUSY,
  WINDOW_QUEUE,
  WINDOW_RUNNABLE,
} from '../core/counters';
import { fail, FAIL_DEADLOCK, FAIL_WATCHDOG, failureChain } from '../core/failure';
import { CPU_SHIFT, DSQ_SHIFT, TASK_SHIFT } from '../core/layout';
import { energyCpu, energyPackage } from '../machine/energy';
import { cpuMhz, frequencyEvaluate, frequencySet, frequencyTarget } from '../machine/frequency';
import { cpuPackage } from '../machine/topology';
import { deliveriesPending } from '../workload/delivery';
import { sourcesActive } from '../workload/arrivals';
import { opsTimer } from '../policy/ops';
import { serving } from '../services/tables';
import { integrateQueue } from '../workload/workerqueue';
import { CPU_BUSY_NS, CPU_CURR, CPU_STATE_SINCE } from './cpu';
import { CLASS_POLICY_TIMER, CLASS_SAMPLE, CLASS_WATCHDOG, now, systemSet, timerPending } from './events';
import { extEnabled } from './ext';
import { DSQ_NONE } from './dsq';
import { fallBackToFair } from './fallback';
import { loadAverageInit, onLoadAverage } from './loadavg';
import { nrCpus } from './mask';
import { anyQueued } from './queue';
import { frequencyHandled } from './idling';
import { integrateRunnable } from './observe';
import { retime } from './sched';
import {
  FLAG_BACKGROUND,
  FLAG_RETRIES,
  MODE_SPIN_EVENT,
  STATE_RUNNABLE,
  STATE_SLEEPING,
  TASK_CLASS,
  TASK_CPU,
  TASK_DSQ,
  TASK_FLAGS,
  TASK_JOB,
  TASK_MODE,
  TASK_RUNNABLE_SINCE,
  TASK_STATE,
  taskSlots,
} from './task';

const CHECK_WITHOUT_TIMEOUT_NS: u64 = 10000000000;

/** Number of packages; the watchdog's system slot follows theirs. */
let packages: u32 = 1;
let timeout: u64 = 0;
let fallback: bool = false;
let period: u64 = CHECK_WITHOUT_TIMEOUT_NS;

export function watchdogInit(nrPackages: u32): void {
  packages = nrPackages;
  timeout = param(P_WATCHDOG_NS);
  fallback = param(P_ON_STALL_FALLBACK) != 0;
  period = timeout != 0 ? timeout / 2 : CHECK_WITHOUT_TIMEOUT_NS;
  systemSet(packages, CLASS_WATCHDOG, period);
  loadAverageInit(packages + 3, 1000000000 / param(P_HZ), param(P_HZ));
  const energyEnd = param(P_ENERGY_END_NS);
  if (energyEnd != 0) systemSet(packages + 1, CLASS_SAMPLE, energyEnd);
}

/** System events beside the packages': the watchdog's, the energy sample's, the policy's timer, the load average's. */
export const SYSTEM_EVENTS: u32 = 4;

/** bpf_timer_start(): ops.timer() runs at `time`. */
export function policyTimer(time: u64): void {
  systemSet(packages + 2, CLASS_POLICY_TIMER, time);
}

export function onPolicyTimer(): void {
  systemSet(packages + 2, CLASS_POLICY_TIMER, u64.MAX_VALUE);
  if (extEnabled) opsTimer();
}

/** The sample in system slot `leaf` - CPUs: of the load average, or at the end of the trace. */
export function onSample(leaf: u32): void {
  if (leaf - nrCpus == packages + 3) onLoadAverage();
  else onTraceEnd();
}

/** The end of the trace: what the run draws and does later, while it drains, is not the trace's. */
function onTraceEnd(): void {
  const end = param(P_ENERGY_END_NS);
  if (end > now) {
    // Beyond the reach of a key: armed in steps.
    systemSet(packages + 1, CLASS_SAMPLE, end);
    return;
  }
  systemSet(packages + 1, CLASS_SAMPLE, u64.MAX_VALUE);
  takeWindow(now);
}

/** Takes energy, busy time and queue lengths up to `time`, once; later than now means that the machine idles until then. */
export function takeWindow(time: u64): void {
  if (counter(ENERGY_TAKEN) != 0) return;
  setCounter(ENERGY_TAKEN, 1);
  let cores: u64 = 0;
  for (let cpu: u32 = 0; cpu < nrCpus; cpu++) cores += energyCpu(cpu, time);
  let uncores: u64 = 0;
  for (let pkg: u32 = 0; pkg < packages; pkg++) uncores += energyPackage(pkg, time);
  setCounter(ENERGY_CORES, cores);
  setCounter(ENERGY_UNCORES, uncores);
  let busy: u64 = 0;
  for (let c: u32 = 0; c < nrCpus << CPU_SHIFT; c += 1 << CPU_SHIFT) {
    busy += load<u64>(c, CPU_BUSY_NS);
    if (load<u32>(c, CPU_CURR) != 0) busy += now - load<u64>(c, CPU_STATE_SINCE);
  }
  setCounter(WINDOW_BUSY, busy);
  integrateRunnable();
  setCounter(WINDOW_RUNNABLE, counter(RUNNABLE_AREA));
  integrateQueue();
  setCounter(WINDOW_QUEUE, counter(QUEUE_AREA));
}

/** The frequency event of the package in system slot `leaf` - CPUs. */
export function onFrequency(leaf: u32): void {
  const pkg = leaf - nrCpus;
  systemSet(pkg, 0, u64.MAX_VALUE);
  frequencyEvaluate(pkg, now);
  for (let cpu: u32 = 0; cpu < nrCpus; cpu++) {
    if (cpuPackage(cpu) != pkg || load<u32>(cpu << CPU_SHIFT, CPU_CURR) == 0) continue;
    const mhz = frequencyTarget(cpu, now);
    if (mhz == cpuMhz(cpu)) continue;
    frequencySet(cpu, mhz, now);
    retime(cpu);
  }
  frequencyHandled(pkg);
}

export function onWatchdog(): void {
  systemSet(packages, CLASS_WATCHDOG, now + period);
  const end = taskSlots() << TASK_SHIFT;
  if (timeout != 0) {
    for (let t: u32 = 1 << TASK_SHIFT; t < end; t += 1 << TASK_SHIFT) {
      if (load<u8>(t, TASK_STATE) != STATE_RUNNABLE || load<u8>(t, TASK_CLASS) != CLASS_EXT) continue;
      const cpu = load<u32>(t, TASK_CPU);
      if (load<u32>(cpu << CPU_SHIFT, CPU_CURR) == t) continue;
      const since = load<u64>(t, TASK_RUNNABLE_SINCE);
      if (now - since >= timeout) {
        if (fallback) {
          fallBackToFair();
          return;
        }
        const dsq = load<u32>(t, TASK_DSQ);
        failureChain(dsq == DSQ_NONE ? NONE : dsq >> DSQ_SHIFT, load<u32>(cpu << CPU_SHIFT, CPU_CURR) >> TASK_SHIFT);
        fail(FAIL_WATCHDOG, t >> TASK_SHIFT, cpu, since);
        return;
      }
    }
  }
  if (!anyForeground()) fail(FAIL_DEADLOCK, 0, 0, counter(ALIVE));
}

/** Something that is pending can still change what foreground tasks and jobs do. */
export function anyForeground(): bool {
  if (sourcesActive != 0 || deliveriesPending != 0) return true;
  // Every timer of services moves a request or is its client's.
  if (serving && timerPending()) return true;
  const jobsWait = anyQueued();
  const end = taskSlots() << TASK_SHIFT;
  for (let t: u32 = 1 << TASK_SHIFT; t < end; t += 1 << TASK_SHIFT) {
    const state = load<u8>(t, TASK_STATE);
    if (state != STATE_RUNNABLE && state != STATE_SLEEPING) continue;
    const flags = load<u16>(t, TASK_FLAGS);
    const returns = jobsWait && (flags & FLAG_RETRIES) != 0;
    if ((flags & FLAG_BACKGROUND) != 0 && load<u32>(t, TASK_JOB) == 0 && !returns) continue;
    if (load<u8>(t, TASK_MODE) != MODE_SPIN_EVENT) return true;
  }
  return false;
}
