// Idle states: which one is chosen, what leaving it costs, and what happens at the next tick.
// Xeon states (exit / residency µs): 0 = C1 2/2, 1 = C1E 10/20, 2 = C6 133/600; ticks every 4 ms.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadMachine } from '../src/config/machine.js';
import { MS, NEVER, TestMachine, US } from './support/machine.js';

const BUSY = 0xffffffff;
const xeon = () => new TestMachine(loadMachine('xeon-8160-4'));

test('the deepest state whose residency fits the time to the next timer is chosen', () => {
  for (const [us, state] of [
    [1n, 0],
    [2n, 0],
    [19n, 0],
    [20n, 1],
    [599n, 1],
    [600n, 2],
    [1_000_000n, 2],
  ] as const) {
    const m = xeon();
    m.wake(0, MS);
    m.sleep(0, 2n * MS, 2n * MS + us * US);
    assert.is(m.idleState(0, 2n * MS), state, `${us} µs`);
  }
});

test('without a timer and a history the deepest state is chosen', () => {
  const m = xeon();
  m.wake(0, MS);
  m.sleep(0, 2n * MS, NEVER);
  assert.is(m.idleState(0, 2n * MS), 2);
});

test('a machine starts with all CPUs in their deepest state', () => {
  const m = xeon();
  assert.is(m.idleState(3, 0n), 2);
  assert.is(m.wake(3, 0n), 133n * US);
});

test('leaving idle costs the exit latency of the state', () => {
  const m = xeon();
  m.wake(0, MS);
  for (const [timer, exit] of [
    [10n, 2n],
    [100n, 10n],
    [700n, 133n],
  ]) {
    m.sleep(0, 2n * MS, 2n * MS + timer * US);
    assert.is(m.units.call64('idleExitLatency', 0, 2n * MS), exit * US);
    assert.is(m.wake(0, 2n * MS), exit * US);
  }
  assert.is(m.wake(0, 2n * MS), 0n, 'a busy CPU has nothing to leave');
  assert.is(m.idleState(0, 2n * MS), BUSY);
});

/** Eight idle intervals on CPU 0, each after 100 µs of work. Returns the instant of the last wake-up. */
function idleFor(m: TestMachine, intervals: readonly bigint[]): bigint {
  let now = 0n;
  m.wake(0, now);
  for (const us of intervals) {
    now += 100n * US;
    m.sleep(0, now);
    now += us * US;
    m.wake(0, now);
  }
  return now;
}

test('eight intervals that agree predict their mean', () => {
  const m = xeon();
  idleFor(m, [90n, 100n, 110n, 100n, 90n, 100n, 110n, 100n]);
  // mean 100 µs; standard deviation 7 µs
  assert.is(m.units.call64('typicalIntervalNs', 0), 100n * US);
});

test('intervals that disagree predict nothing', () => {
  const m = xeon();
  idleFor(m, [10n, 1000n, 20n, 2000n, 30n, 3000n, 40n, 4000n]);
  assert.is(m.units.call64('typicalIntervalNs', 0), NEVER);
});

test('up to two long outliers are left out', () => {
  const m = xeon();
  idleFor(m, [100n, 5000n, 100n, 100n, 100n, 60_000n, 100n, 100n]);
  assert.is(m.units.call64('typicalIntervalNs', 0), 100n * US);
});

test('seven intervals are no history yet', () => {
  const m = xeon();
  idleFor(m, [100n, 100n, 100n, 100n, 100n, 100n, 100n]);
  assert.is(m.units.call64('typicalIntervalNs', 0), NEVER);
});

test('a short prediction that fails is corrected at the next tick, and the energy knows the instant', () => {
  const m = xeon();
  const woke = idleFor(m, Array(8).fill(100n));
  assert.is(woke, 1600n * US);
  const before = m.cpuEnergy(0, 2n * MS);
  m.sleep(0, 2n * MS);
  assert.is(m.idleState(0, 2n * MS), 1);
  assert.is(m.idleState(0, 4n * MS - 1n), 1);
  assert.is(m.idleState(0, 4n * MS), 2);
  // C1E for the 2 ms to the tick, then C6 for 6 ms
  assert.is(m.cpuEnergy(0, 10n * MS) - before, 2n * MS * 880n + 6n * MS * 100n);
  assert.is(m.wake(0, 10n * MS), 133n * US);
  assert.is(m.units.call64('packageIdleNs', 0, 1), 2n * MS);
  // C6 too in the 8 × 100 µs without a history; the other CPUs, never charged, don't count yet
  assert.is(m.units.call64('packageIdleNs', 0, 2), 6n * MS + 800n * US);
});

test('the correction goes no deeper than the timer allows', () => {
  const m = xeon();
  idleFor(m, Array(8).fill(10n));
  m.sleep(0, 2n * MS, 4n * MS + 300n * US);
  assert.is(m.idleState(0, 2n * MS), 0);
  // 300 µs from the tick to the timer: C1E's 20 µs fit, C6's 600 µs don't
  assert.is(m.idleState(0, 4n * MS), 1);
});

test('ideal machines idle for nothing', () => {
  const m = new TestMachine(loadMachine('ideal-4'));
  m.wake(0, 0n);
  m.sleep(0, MS);
  assert.is(m.wake(0, 2n * MS), 0n);
  assert.is(m.units.call64('cpuIdleEntries', 0), 1n);
});

test.run();
