// What the control plane knows about a function: exponentially weighted means, 0.9 old + 0.1 new, started from what is
// known before the run or from the first value seen; 0 while unknown.
//
// Behind the FN_ record: u64 time of the last arrival + 1 (0 = none yet), u64 mean inter-arrival time,
// …, u64 mean time from the call into the container to its answer, ns.

import { FN_EXPECTED, FN_IAT, FN_STRIDE } from '../abi';
import { FUNCTIONS, FUNCTION_SHIFT } from '../core/layout';
import { now } from '../kernel/events';

const LAST_ARRIVAL: usize = FUNCTIONS + FN_STRIDE + 0;
const MEAN_IAT: usize = FUNCTIONS + FN_STRIDE + 8;
const EXPECTED: usize = FUNCTIONS + FN_STRIDE + 24;

export function iatInit(functions: u32): void {
  for (let f: u32 = 0; f < functions; f++) {
    const r = f << FUNCTION_SHIFT;
    store<u64>(r, 0, LAST_ARRIVAL);
    store<u64>(r, load<u64>(r, FUNCTIONS + FN_IAT), MEAN_IAT);
    store<u64>(r, load<u64>(r, FUNCTIONS + FN_EXPECTED), EXPECTED);
  }
}

// @ts-ignore: decorator
@inline
function blend(mean: u64, value: u64): u64 {
  return mean == 0 ? value : (9 * mean + value) / 10;
}

export function noteArrival(f: u32): void {
  const r = f << FUNCTION_SHIFT;
  const last = load<u64>(r, LAST_ARRIVAL);
  if (last != 0) store<u64>(r, blend(load<u64>(r, MEAN_IAT), now + 1 - last), MEAN_IAT);
  store<u64>(r, now + 1, LAST_ARRIVAL);
}

/** The function's code took `duration` this time. */
export function noteExecution(f: u32, duration: u64): void {
  const r = f << FUNCTION_SHIFT;
  store<u64>(r, blend(load<u64>(r, EXPECTED), duration), EXPECTED);
}

// @ts-ignore: decorator
@inline
export function functionIat(f: u32): u64 {
  return load<u64>(f << FUNCTION_SHIFT, MEAN_IAT);
}

// @ts-ignore: decorator
@inline
export function functionExpected(f: u32): u64 {
  return load<u64>(f << FUNCTION_SHIFT, EXPECTED);
}
