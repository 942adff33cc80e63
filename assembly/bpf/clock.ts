// The clock of BPF programs: simulated time, and how long the kernel has been up when that begins.

import { P_BPF_UPTIME_NS } from '../abi';
import { param } from '../core/counters';
import { now } from '../kernel/events';

let uptime: u64 = 0;

export function clockInit(): void {
  uptime = param(P_BPF_UPTIME_NS);
}

// @ts-ignore: decorator
@inline
export function clock(): u64 {
  return now + uptime;
}

/** Simulated time at which the clock shows `at`; now if that is past. */
export function timeOf(at: u64): u64 {
  return at > clock() ? at - uptime : now;
}
