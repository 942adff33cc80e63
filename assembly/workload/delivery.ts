// Deliveries: things on their way, several per entity, kept on the wheel.

import { wheelInsert } from '../core/wheel';

/** A client of closed source `a` sends its next request. */
export const DELIVERY_CLIENT: u32 = 1;
/** Job `a` has passed a control-plane delay. */
export const DELIVERY_CONTROL: u32 = 2;

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

export function noteDelivered(): void {
  deliveriesPending--;
}
