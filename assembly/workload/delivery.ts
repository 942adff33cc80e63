// Deliveries: things on their way, several per entity, kept on the wheel.

import { fail, FAIL_WHEEL } from '../core/failure';
import { wheelCancel, wheelInsert } from '../core/wheel';

/** A client of closed source `a` sends its next request. */
export const DELIVERY_CLIENT: u32 = 1;
/** Job `a` has passed a control-plane delay. */
export const DELIVERY_CONTROL: u32 = 2;
/** The container of job `a` has started. */
export const DELIVERY_STARTED: u32 = 3;
/** The client of job `a` gives up. */
export const DELIVERY_TIMEOUT: u32 = 4;
/** The head of the worker's queue tries again. */
export const DELIVERY_RETRY: u32 = 5;
/** Idle container `a` has been kept long enough. */
export const DELIVERY_EXPIRY: u32 = 6;
/** Function `a` is expected soon: start a container. */
export const DELIVERY_PREWARM: u32 = 7;
/** Container `a`, prewarmed, has started. */
export const DELIVERY_WARM: u32 = 8;
/** A period of the quota of cgroup record `a` ends; what its idle CPUs gave back is handed out (kernel/bandwidth.ts). */
export const DELIVERY_PERIOD: u32 = 16;
export const DELIVERY_SLACK: u32 = 17;
/** Realtime tasks of CPU `a` may run again; the server of a class (`a` >> 16: 1 = ext) is due on it (kernel/rt.ts). */
export const DELIVERY_UNTHROTTLE: u32 = 18;
export const DELIVERY_SERVER: u32 = 19;
/** Event number `a` of SECTION_EVENTS (kernel/hotplug.ts). */
export const DELIVERY_MACHINE: u32 = 20;
/** A client of a closed loop has thought (services/client.ts). */
export const DELIVERY_SV_CLIENT: u32 = 24;
/** The client gives request `a` up; it tries the request that waits in `a`. */
export const DELIVERY_SV_TIMEOUT: u32 = 25;
export const DELIVERY_SV_RETRY: u32 = 26;

/** Deliveries under way. */
export let deliveriesPending: u32 = 0;

export function deliveriesReset(): void {
  deliveriesPending = 0;
}

/** False if the wheel is full. */
export function deliver(time: u64, kind: u32, a: u32): bool {
  if (wheelInsert(time, kind, a, 0) == 0) return false;
  deliveriesPending++;
  return true;
}

/** A delivery that may be cancelled until it is made; 0 if the wheel is full (the run fails). */
export function deliverLater(time: u64, kind: u32, a: u32): u32 {
  const node = wheelInsert(time, kind, a, 0);
  if (node == 0) fail(FAIL_WHEEL, 0, 0, 0);
  else deliveriesPending++;
  return node;
}

export function cancelDelivery(node: u32): void {
  wheelCancel(node);
  deliveriesPending--;
}

export function noteDelivered(): void {
  deliveriesPending--;
}
