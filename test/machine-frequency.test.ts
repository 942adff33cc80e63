// Frequencies: turbo by active cores, and what each governor does with the limit.

import * as fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadMachine } from '../src/config/machine.js';
import type { Governor } from '../src/config/machine-profile.js';
import { MS, S, TestMachine, US } from './support/machine.js';

const xeon = (governor: Governor, name = 'xeon-8160-2s') =>
  new TestMachine({ ...loadMachine(name), governor });

const dirty = (m: TestMachine) => m.units.call('frequencyDirty', 0) !== 0;

test('the turbo limit follows the number of active cores', () => {
  const m = xeon('performance');
  const limits: Record<number, number> = {};
  for (let n = 1; n <= 24; n++) {
    m.wake(n - 1, 0n);
    m.evaluate(0, 0n);
    assert.is(m.units.call('packageActive', 0), n);
    limits[n] = m.mhz(0);
  }
  const at = (n: number) => limits[n];
  assert.equal([1, 2, 3, 4, 5, 12].map(at), [3700, 3700, 3500, 3500, 3400, 3400]);
  assert.equal([13, 16, 17, 20, 21, 24].map(at), [3200, 3200, 3000, 3000, 2800, 2800]);
  // The other package has its own.
  m.wake(24, 0n);
  m.evaluate(1, 0n);
  assert.is(m.mhz(24), 3700);
});

test('a core in C1 is still active, one in C6 is not', () => {
  const m = xeon('performance');
  for (let cpu = 0; cpu < 3; cpu++) m.wake(cpu, 0n);
  m.sleep(1, MS, MS + 10n * US);
  m.evaluate(0, MS);
  assert.is(m.units.call('packageActive', 0), 3);
  assert.is(m.mhz(0), 3500);
  m.wake(1, MS + 10n * US);
  m.sleep(1, MS + 20n * US);
  m.evaluate(0, 2n * MS);
  assert.is(m.units.call('packageActive', 0), 2);
  assert.is(m.mhz(0), 3700);
});

test('a package is dirty until its frequencies have settled', () => {
  const m = xeon('performance');
  assert.is(dirty(m), false);
  m.wake(0, 0n);
  assert.is(dirty(m), true);
  m.evaluate(0, MS);
  assert.is(dirty(m), false);
  m.sleep(0, 2n * MS);
  assert.is(dirty(m), true);
  m.evaluate(0, 3n * MS);
  assert.is(dirty(m), false);
});

test('a package waits for the tick at which a core goes to C6', () => {
  const m = xeon('performance');
  let now = 0n;
  m.wake(1, 0n);
  for (let i = 0; i < 8; i++) {
    m.sleep(1, now + 50n * US);
    now += 100n * US;
    m.wake(1, now);
  }
  for (const cpu of [0, 2]) m.wake(cpu, now);
  m.sleep(1, now);
  m.evaluate(0, MS);
  assert.is(m.mhz(0), 3500);
  assert.is(dirty(m), true);
  m.evaluate(0, 4n * MS);
  assert.is(m.mhz(0), 3700);
  assert.is(dirty(m), false);
});

test('one frequency: nothing is ever dirty', () => {
  const m = new TestMachine(loadMachine('ideal-4'));
  for (let cpu = 0; cpu < 4; cpu++) m.wake(cpu, 0n);
  assert.is(dirty(m), false);
  assert.is(m.mhz(0), 1);
});

test('powersave stays at the lowest frequency', () => {
  const m = xeon('powersave');
  m.wake(0, 0n);
  m.evaluate(0, 10n * MS);
  assert.is(m.mhz(0), 1000);
  assert.is(dirty(m), false);
});

test('hwp climbs from the lowest frequency to the limit in the ramp time', () => {
  const m = xeon('hwp');
  m.wake(0, 0n);
  assert.is(m.mhz(0), 1000);
  // 2700 MHz in 30 ms is 90 MHz per ms, rounded down to steps of 100 MHz
  for (const [ms, mhz] of [
    [1n, 1000],
    [2n, 1100],
    [10n, 1900],
    [20n, 2800],
    [29n, 3600],
    [30n, 3700],
    [40n, 3700],
  ] as const) {
    m.evaluate(0, ms * MS);
    assert.is(m.mhz(0), mhz, `${ms} ms`);
    assert.is(dirty(m), mhz < 3700);
  }
});

test('hwp cools down while idle: a warm core starts where it was, a cold one at the bottom', () => {
  for (const [idleMs, mhz] of [
    [0n, 3700],
    [10n, 2800],
    [20n, 1900],
    [30n, 1000],
    [3000n, 1000],
  ] as const) {
    const m = xeon('hwp');
    m.wake(0, 0n);
    m.evaluate(0, 40n * MS);
    m.sleep(0, 40n * MS);
    m.wake(0, (40n + idleMs) * MS);
    assert.is(m.mhz(0), mhz, `${idleMs} ms`);
  }
});

test('hwp climbs from a lowered limit, it does not jump', () => {
  const m = xeon('hwp');
  for (let cpu = 0; cpu < 24; cpu++) m.wake(cpu, 0n);
  m.evaluate(0, MS);
  m.evaluate(0, 40n * MS);
  assert.is(m.mhz(0), 2800);
  for (let cpu = 1; cpu < 24; cpu++) m.sleep(cpu, 50n * MS);
  m.evaluate(0, 50n * MS);
  assert.is(m.mhz(0), 2800);
  m.evaluate(0, 55n * MS);
  // 2800 + 5 × 90
  assert.is(m.mhz(0), 3200);
  m.evaluate(0, 61n * MS);
  assert.is(m.mhz(0), 3700);
});

test('the result of a ramp does not depend on how often it is evaluated', () => {
  fc.assert(
    fc.property(fc.array(fc.bigInt(1n, 10n * MS), { maxLength: 20 }), (gaps) => {
      const m = xeon('hwp');
      m.wake(0, 0n);
      let now = 0n;
      for (const gap of gaps) {
        now += gap;
        m.evaluate(0, now);
      }
      const khz = 1_000_000n + (now * 2_700_000n) / (30n * MS);
      const expected = Math.min(3700, Math.floor(Number(khz) / 100_000) * 100);
      // Each evaluation may lose less than 1 kHz.
      assert.ok(m.mhz(0) === expected || (Number(khz) % 100_000 < 20 && m.mhz(0) === expected - 100));
    }),
    { numRuns: 50 },
  );
});

test('the decay of utilisation halves every 32 ms', () => {
  const m = xeon('schedutil');
  for (const ns of [0n, 1n, 999_999n, MS, 7n * MS + 123_456n, 31_999_999n, 32n * MS, 100n * MS, S]) {
    const exact = 2 ** (-Number(ns) / 32e6);
    const y = Number(m.units.call64('decayQ32', ns)) / 2 ** 32;
    assert.ok(Math.abs(y - exact) <= 3e-6 * exact + 2 ** -32, `${ns} ns: ${y} against ${exact}`);
  }
});

test('schedutil asks for 1.25 × utilisation and reaches the limit by steps', () => {
  const m = xeon('schedutil');
  m.wake(0, 0n);
  assert.is(m.mhz(0), 1000);
  // Busy at 1000 of 3700 MHz the utilisation approaches 1000/3700; after 64 ms it is 3/4 of that:
  // 1.25 × 0.75 × 1000 = 937.5 < 1000. After 128 ms 15/16: 1171 → 1100.
  m.evaluate(0, 64n * MS);
  assert.is(m.mhz(0), 1000);
  m.evaluate(0, 128n * MS);
  assert.is(m.mhz(0), 1100);
  let now = 128n * MS;
  while (dirty(m)) {
    now += MS;
    m.evaluate(0, now);
  }
  assert.is(m.mhz(0), 3700);
  assert.ok(now < S, `settled after ${now} ns`);
});

test('schedutil forgets an idle core', () => {
  const m = xeon('schedutil');
  m.wake(0, 0n);
  let now = 0n;
  while (m.mhz(0) < 3700) {
    now += MS;
    m.evaluate(0, now);
  }
  now += 400n * MS;
  m.evaluate(0, now);
  m.sleep(0, now);
  // Utilisation 1 halves to 0.5 in 32 ms: 1.25 × 0.5 × 3700 = 2312 → 2300
  m.wake(0, now + 32n * MS);
  assert.is(m.mhz(0), 2300);
});

test.run();
