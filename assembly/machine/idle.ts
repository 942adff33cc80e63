// Idle states and the governor that chooses them, after Linux's menu governor (drivers/cpuidle/governors/menu.c):
// predict how long the CPU will be idle, then enter the deepest state whose target residency is not longer.
//
// Prediction: the time to the next known timer, or the typical idle interval if the last eight agree and it is
// shorter. They agree if their standard deviation is at most 20 µs or a sixth of their mean; else the longest is
// left out and the rest is asked again, down to six of them. Until eight intervals are known only the timer counts.
// Left out of the original: its correction of the timer by past ratios, and latency limits of tasks.
//
// The kernel keeps the tick running in a CPU that is predicted to wake soon, so a wrong short prediction is seen
// at the next tick, and the CPU then goes as deep as its timer allows. That needs no event here: the instant is
// known on entry, and whoever asks later compares with it.

import { P_TICK_SKEW_NS } from '../abi';
import { IDLE_TABLE, PARAMS } from '../core/layout';
import { chargeCpu, uncoreBusy, uncoreIdle } from './energy';
import {
  BUSY,
  cpuOffset,
  MC_HISTORY,
  MC_HISTORY_LENGTH,
  MC_IDLE_ENTRIES,
  MC_IDLE_SINCE,
  MC_PACKAGE,
  MC_PROMOTE_AT,
  MC_PROMOTED,
  MC_STATE,
  MS_IDLE_STATES,
  MS_TICK_NS,
  NEVER,
  packageOffset,
} from './record';

const INTERVALS: u32 = 8;
const LONGEST_US: u64 = 65535;

// @ts-ignore: decorator
@inline
function exitNs(state: u32): u64 {
  return load<u64>((state as usize) << 5, IDLE_TABLE);
}

// @ts-ignore: decorator
@inline
function residencyNs(state: u32): u64 {
  return load<u64>((state as usize) << 5, IDLE_TABLE + 8);
}

/** Deepest state that pays off in `ns`; state 0 if none does. */
function deepestState(ns: u64): u32 {
  let state = load<u32>(MS_IDLE_STATES) - 1;
  while (state > 0 && residencyNs(state) > ns) state--;
  return state;
}

/** Typical length of the last eight idle intervals, ns; NEVER if they don't agree on one. */
export function typicalIntervalNs(cpu: u32): u64 {
  const c = cpuOffset(cpu);
  if (load<u32>(c, MC_HISTORY_LENGTH) < INTERVALS) return NEVER;
  let threshold = LONGEST_US;
  while (true) {
    let n: u64 = 0;
    let sum: u64 = 0;
    let squares: u64 = 0;
    let longest: u64 = 0;
    for (let i: usize = 0; i < 8; i++) {
      const us = load<u16>(c + (i << 1), MC_HISTORY) as u64;
      if (us > threshold) continue;
      n++;
      sum += us;
      squares += us * us;
      longest = max(longest, us);
    }
    if (n * 4 < (INTERVALS as u64) * 3) return NEVER;
    // n²·variance = n·Σx² − (Σx)²; compared with (20 µs)² and (mean/6)², both times n².
    const spread = n * squares - sum * sum;
    if (spread <= 400 * n * n || spread * 36 <= sum * sum) return (sum * 1000) / n;
    if (longest == 0) return NEVER;
    threshold = longest - 1;
  }
}

/** First tick of the CPU after `now`; all CPUs share one grid, shifted by the skew per CPU. */
function nextTick(cpu: u32, now: u64): u64 {
  const tick = load<u64>(MS_TICK_NS);
  if (tick == 0) return NEVER;
  const shift = ((cpu as u64) * load<u64>(PARAMS + P_TICK_SKEW_NS * 8)) % tick;
  return now < shift ? shift : now + tick - ((now - shift) % tick);
}

/**
 * The CPU goes idle (or, idle already, chooses again).
 * `nextTimerNs` is the instant of its next known timer, NEVER if it has none; the tick, which idle stops, is no timer.
 */
export function idleEnter(cpu: u32, now: u64, nextTimerNs: u64): void {
  const c = cpuOffset(cpu);
  chargeCpu(c, now);
  if (load<u32>(c, MC_STATE) == BUSY) {
    uncoreIdle(packageOffset(load<u32>(c, MC_PACKAGE)), now);
    store<u64>(c, load<u64>(c, MC_IDLE_ENTRIES) + 1, MC_IDLE_ENTRIES);
    store<u64>(c, now, MC_IDLE_SINCE);
  }
  const deepest = load<u32>(MS_IDLE_STATES) - 1;
  let state: u32 = 0;
  let promoted: u32 = 0;
  let promoteAt = NEVER;
  if (deepest > 0) {
    const toTimer = nextTimerNs == NEVER ? NEVER : nextTimerNs > now ? nextTimerNs - now : 0;
    state = deepestState(min(toTimer, typicalIntervalNs(cpu)));
    promoted = state;
    if (state < deepest) {
      const tickAt = nextTick(cpu, now);
      if (tickAt < nextTimerNs) {
        const later = deepestState(nextTimerNs == NEVER ? NEVER : nextTimerNs - tickAt);
        if (later > state) {
          promoted = later;
          promoteAt = tickAt;
        }
      }
    }
  }
  store<u32>(c, state, MC_STATE);
  store<u32>(c, promoted, MC_PROMOTED);
  store<u64>(c, promoteAt, MC_PROMOTE_AT);
}

/** The CPU leaves idle. Returns how long it takes to, ns; that time is busy time. 0 if it wasn't idle. */
export function idleExit(cpu: u32, now: u64): u64 {
  const c = cpuOffset(cpu);
  if (load<u32>(c, MC_STATE) == BUSY) return 0;
  chargeCpu(c, now);
  const state = idleStateAt(cpu, now);
  store<u32>(c, BUSY, MC_STATE);
  uncoreBusy(packageOffset(load<u32>(c, MC_PACKAGE)), now);
  if (load<u32>(MS_IDLE_STATES) > 1 && load<u64>(c, MC_IDLE_ENTRIES) != 0) {
    const length = load<u32>(c, MC_HISTORY_LENGTH);
    const us = min((now - load<u64>(c, MC_IDLE_SINCE)) / 1000, LONGEST_US);
    store<u16>(c + (((length & (INTERVALS - 1)) as usize) << 1), us as u16, MC_HISTORY);
    store<u32>(c, length + 1 == 0 ? INTERVALS : length + 1, MC_HISTORY_LENGTH);
  }
  return exitNs(state);
}

/** Idle state in which the CPU is at `now`, 0 = shallowest; BUSY if it isn't idle. */
export function idleStateAt(cpu: u32, now: u64): u32 {
  const c = cpuOffset(cpu);
  return now >= load<u64>(c, MC_PROMOTE_AT) && load<u32>(c, MC_STATE) != BUSY
    ? load<u32>(c, MC_PROMOTED)
    : load<u32>(c, MC_STATE);
}

/** Exit latency a wake-up at `now` would meet, ns. */
export function idleExitLatency(cpu: u32, now: u64): u64 {
  const state = idleStateAt(cpu, now);
  return state == BUSY ? 0 : exitNs(state);
}
