// Inter-arrival time of each function, as the control plane knows it: an exponentially weighted mean, 0.9 old + 0.1 new,
// started from the history before the run (FN_IAT) or from the first value seen; 0 while unknown.

import { FN_IAT, FN_STRIDE } from '../abi';
import { FUNCTIONS, FUNCTION_SHIFT } from '../core/layout';
import { now } from '../kernel/events';

/** u64 time of the last arrival + 1 (0 = none yet); u64 mean, ns. */
const LAST_ARRIVAL: usize = FUNCTIONS + FN_STRIDE + 0;
const MEAN_IAT: usize = FUNCTIONS + FN_STRIDE + 8;

export function iatInit(functions: u32): void {
  for (let f: u32 = 0; f < functions; f++) {
    const r = f << FUNCTION_SHIFT;
    store<u64>(r, 0, LAST_ARRIVAL);
    store<u64>(r, load<u64>(r, FUNCTIONS + FN_IAT), MEAN_IAT);
  }
}

export function noteArrival(f: u32): void {
  const r = f << FUNCTION_SHIFT;
  const last = load<u64>(r, LAST_ARRIVAL);
  if (last != 0) {
    const iat = now + 1 - last;
    const mean = load<u64>(r, MEAN_IAT);
    store<u64>(r, mean == 0 ? iat : (9 * mean + iat) / 10, MEAN_IAT);
  }
  store<u64>(r, now + 1, LAST_ARRIVAL);
}

// @ts-ignore: decorator
@inline
export function functionIat(f: u32): u64 {
  return load<u64>(f << FUNCTION_SHIFT, MEAN_IAT);
}
