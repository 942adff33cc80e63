// Wasted-core time: CPU time idle while tasks waited, by what kept them apart. At any instant, as many CPUs are wasted as
// there are both idle CPUs and waiting tasks; the state between two events is integrated when the clock moves, exactly,
// and only if there are both.
//
//   WASTED_EXIT      the CPU is leaving an idle state
//   WASTED_AFFINITY  no idle CPU is in the task's mask
//   WASTED_NO_KICK   the task waits in a shared DSQ that an idle CPU serves, and nobody told that CPU
//   WASTED_DOMAIN    the task waits in the DSQ of a domain whose CPUs are all busy
//   WASTED_QUEUE     the task waits in the queue of one busy CPU (fair run queue, local DSQ), to be balanced, at a tick or later
//
// Where several fit, tasks are counted in this order.

import {
  CLASS_EXT,
  OP_AFFINITY,
  P_POLICY,
  POLICY_DOMAINS,
  POLICY_DOMAINS_AS_CODED,
  POLICY_NONE,
  POLICY_WEIGHTED_VTIME,
  TT_MASK,
} from '../abi';
import { count, counter, param, RUNNABLE, WASTED } from '../core/counters';
import { CPU_SHIFT, DOMAIN_MASK, MASK_BYTES, TASK_SHIFT, TEMPLATE_SHIFT, TEMPLATES, WASTED_MASK } from '../core/layout';
import { nrDomains } from '../policy/mapping';
import { CPU_CURR, CPU_FLAGS, CPU_OFFLINE, CPU_WAKING } from './cpu';
import { DSQ_GLOBAL, dsqLocal, dsqNr, dsqUser } from './dsq';
import { fairNrRunning } from './fair';
import { maskAddress, maskFirstAnd, maskSet, maskWeightAnd, nrCpus } from './mask';
import { busyCpus } from './idling';
import { wakingCpus } from './sched';
import { STATE_RUNNABLE, TASK_CLASS, TASK_CPU, TASK_MASK, TASK_STATE, taskSlots } from './task';

export const WASTED_EXIT: u32 = WASTED + 0;
export const WASTED_AFFINITY: u32 = WASTED + 1;
export const WASTED_NO_KICK: u32 = WASTED + 2;
export const WASTED_DOMAIN: u32 = WASTED + 3;
export const WASTED_QUEUE: u32 = WASTED + 4;

let policy: u32 = 0;
let hasDomainQueues: bool = false;
/** Some task may be restricted to some CPUs. */
let hasMasks: bool = false;

/** The program is `length` instructions of 16 B at `program`, the first byte of each its op. */
export function wastedInit(templates: u32, program: usize, length: u32): void {
  policy = param(P_POLICY) as u32;
  hasDomainQueues = policy == POLICY_DOMAINS || policy == POLICY_DOMAINS_AS_CODED || policy == POLICY_WEIGHTED_VTIME;
  hasMasks = false;
  for (let i: u32 = 0; i < templates; i++) {
    if (load<u32>(TEMPLATES + (i << TEMPLATE_SHIFT) + TT_MASK) != 0) hasMasks = true;
  }
  for (let i: u32 = 0; i < length; i++) {
    if ((load<u8>(program + ((i as usize) << 4)) as u32) == OP_AFFINITY) hasMasks = true;
  }
}

/** The clock moves on by `dt`; the state has been what it is since it moved last. */
// @ts-ignore: decorator
@inline
export function integrateWasted(dt: u64): void {
  if (busyCpus != nrCpus && (counter(RUNNABLE) as u32) > busyCpus) split(dt);
}

function split(dt: u64): void {
  const waiting = (counter(RUNNABLE) as u32) - busyCpus;
  let left = min(waiting, nrCpus - busyCpus);
  left -= note(WASTED_EXIT, min(left, wakingCpus), dt);
  if (left == 0) return;
  findIdle();
  if (hasMasks) left -= note(WASTED_AFFINITY, min(left, keptByMask()), dt);
  if (left == 0) return;
  if (policy == POLICY_NONE) {
    note(WASTED_QUEUE, left, dt);
    return;
  }
  const shared = waiting - min(waiting, onCpuQueues());
  if (!hasDomainQueues) {
    left -= note(WASTED_NO_KICK, min(left, shared), dt);
    note(WASTED_QUEUE, left, dt);
    return;
  }
  // Behind those of the domains is that of the tasks without one, which all CPUs serve.
  let notKicked = dsqNr(DSQ_GLOBAL) + dsqNr(dsqUser(nrDomains));
  for (let d: u32 = 0; d < nrDomains; d++) {
    const n = dsqNr(dsqUser(d));
    if (n != 0) notKicked += min(n, maskWeightAnd(WASTED_MASK, maskAddress(load<u32>(d << 2, DOMAIN_MASK))));
  }
  notKicked = note(WASTED_NO_KICK, min(left, notKicked), dt);
  left -= notKicked;
  left -= note(WASTED_DOMAIN, min(left, shared - min(shared, notKicked)), dt);
  note(WASTED_QUEUE, left, dt);
}

/** Idle CPUs that nobody wakes. The kernel's idle mask lacks those that a policy has claimed and not kicked. */
function findIdle(): void {
  memory.fill(WASTED_MASK, 0, MASK_BYTES);
  for (let cpu: u32 = 0; cpu < nrCpus; cpu++) {
    const c = cpu << CPU_SHIFT;
    if (load<u32>(c, CPU_CURR) == 0 && (load<u32>(c, CPU_FLAGS) & (CPU_WAKING | CPU_OFFLINE)) == 0) maskSet(WASTED_MASK, cpu);
  }
}

// @ts-ignore: decorator
@inline
function note(cause: u32, cpus: u32, dt: u64): u32 {
  count(cause, (cpus as u64) * dt);
  return cpus;
}

/** Tasks that wait in the queues of single CPUs. */
function onCpuQueues(): u32 {
  let n: u32 = 0;
  for (let cpu: u32 = 0; cpu < nrCpus; cpu++) {
    const curr = load<u32>(cpu << CPU_SHIFT, CPU_CURR);
    n += dsqNr(dsqLocal(cpu)) + fairNrRunning(cpu);
    if (curr != 0 && (load<u8>(curr, TASK_CLASS) as u32) != CLASS_EXT && fairNrRunning(cpu) != 0) n--;
  }
  return n;
}

/** Waiting tasks that no idle CPU may run. */
function keptByMask(): u32 {
  let n: u32 = 0;
  for (let t: u32 = 1 << TASK_SHIFT, end = taskSlots() << TASK_SHIFT; t < end; t += 1 << TASK_SHIFT) {
    const mask = load<u32>(t, TASK_MASK);
    if (mask == 0 || load<u8>(t, TASK_STATE) != STATE_RUNNABLE) continue;
    if (load<u32>(load<u32>(t, TASK_CPU) << CPU_SHIFT, CPU_CURR) == t) continue;
    if (maskFirstAnd(WASTED_MASK, maskAddress(mask)) < 0) n++;
  }
  return n;
}
