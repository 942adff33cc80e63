// A CPU leaves and enters the idle class: its time, its tick, its frequency.

import { P_FREQUENCY_INTERVAL_NS, P_HZ, P_SLICE_EXACT, P_TICK_SKEW_NS } from '../abi';
import { param } from '../core/counters';
import { IDLE_MASK, ONLINE_MASK } from '../core/layout';
import { frequencyBusy, frequencyDirty, frequencyIdle } from '../machine/frequency';
import { idleEnter } from '../machine/idle';
import { cpuPackage } from '../machine/topology';
import { opsUpdateIdle } from '../policy/ops';
import { CPU_BUSY_NS, CPU_IDLE_NS, CPU_MHZ, CPU_STATE_SINCE } from './cpu';
import {
  CLASS_FREQUENCY,
  CLASS_TICK,
  LANE_COMPLETION,
  LANE_TICK,
  laneClear,
  laneSet,
  now,
  systemSet,
} from './events';
import { maskClear, maskSet, maskTest } from './mask';

let ticking: bool = true;
let tickNs: u64 = 4000000;
let tickSkewNs: u64 = 0;
let frequencyInterval: u64 = 0;
/** Packages whose frequency event is pending, one bit each. */
let frequencyPending: u32 = 0;
/** CPUs that run a task. */
export let busyCpus: u32 = 0;

export function idleInit(): void {
  ticking = param(P_SLICE_EXACT) == 0;
  tickNs = 1000000000 / param(P_HZ);
  tickSkewNs = param(P_TICK_SKEW_NS);
  frequencyInterval = param(P_FREQUENCY_INTERVAL_NS);
  frequencyPending = 0;
  busyCpus = 0;
}

/** Next tick on the grid strictly after now. */
// @ts-ignore: decorator
@inline
function nextTick(cpu: u32): u64 {
  const skew = tickSkewNs * (cpu as u64);
  const since = now >= skew ? now - skew : 0;
  return (since / tickNs + 1) * tickNs + skew;
}

// @ts-ignore: decorator
@inline
function frequencyChanged(cpu: u32): void {
  const pkg = cpuPackage(cpu);
  if (frequencyDirty(pkg) && ((frequencyPending >> pkg) & 1) == 0) armFrequency(pkg);
}

function armFrequency(pkg: u32): void {
  frequencyPending |= 1 << pkg;
  systemSet(pkg, CLASS_FREQUENCY, (now / frequencyInterval + 1) * frequencyInterval);
}

/** The frequency event of a package was handled: the next may be armed. */
export function frequencyHandled(pkg: u32): void {
  frequencyPending &= ~(1 << pkg);
  if (frequencyDirty(pkg)) armFrequency(pkg);
}

export function leaveIdle(cpu: u32, c: u32): void {
  busyCpus++;
  maskClear(IDLE_MASK, cpu);
  store<u64>(c, load<u64>(c, CPU_IDLE_NS) + (now - load<u64>(c, CPU_STATE_SINCE)), CPU_IDLE_NS);
  store<u64>(c, now, CPU_STATE_SINCE);
  store<u32>(c, frequencyBusy(cpu, now), CPU_MHZ);
  if (frequencyInterval != 0) frequencyChanged(cpu);
  if (ticking) laneSet(c, LANE_TICK, CLASS_TICK, nextTick(cpu));
  opsUpdateIdle(cpu, false);
}

export function enterIdle(cpu: u32, c: u32): void {
  busyCpus--;
  laneClear(c, LANE_COMPLETION);
  if (ticking) laneClear(c, LANE_TICK);
  store<u64>(c, load<u64>(c, CPU_BUSY_NS) + (now - load<u64>(c, CPU_STATE_SINCE)), CPU_BUSY_NS);
  store<u64>(c, now, CPU_STATE_SINCE);
  frequencyIdle(cpu, now);
  idleEnter(cpu, now, u64.MAX_VALUE);
  if (maskTest(ONLINE_MASK, cpu)) maskSet(IDLE_MASK, cpu);
  if (frequencyInterval != 0) frequencyChanged(cpu);
  opsUpdateIdle(cpu, true);
}

/** The tick after the one that is handled. */
// @ts-ignore: decorator
@inline
export function armTick(c: u32): void {
  laneSet(c, LANE_TICK, CLASS_TICK, now + tickNs);
}
