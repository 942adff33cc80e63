// Values with units: exact decimals, and a clear message for everything that is none.

import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import * as units from '../src/config/units.js';

test('times are exact decimals of their unit', () => {
  for (const [text, ns] of [
    ['3ms', 3_000_000n],
    ['1.5us', 1_500n],
    ['1.5 µs', 1_500n],
    ['0.001us', 1n],
    ['2h', 7_200_000_000_000n],
    ['1.5min', 90_000_000_000n],
    ['1d', 86_400_000_000_000n],
    ['0s', 0n],
    // A double holds 4.35 as 4.34999…: 4.35 s through a float would lose a nanosecond.
    ['4.35s', 4_350_000_000n],
  ] as const) {
    assert.is(units.durationNs(text), ns, text);
  }
});

test('a remainder below a nanosecond is an error, not a rounding', () => {
  assert.throws(() => units.durationNs('0.1ns'), /"0.1ns" is not a whole number of nanoseconds/);
  assert.throws(() => units.durationNs('1.0005us'), /not a whole number of nanoseconds/);
  assert.is(units.durationNs('1.000us'), 1_000n);
});

test('a time without unit, with an ambiguous or unknown one, or of another kind is refused', () => {
  for (const [text, message] of [
    ['1000', /"1000" has no unit; a time needs one, like "3ms"/],
    ['5m', /unknown unit "m" \("m" could be minutes or milliseconds: write min or ms\)/],
    ['5 sec', /unknown unit "sec"; known units are ns, us, ms, s, min, h, d/],
    ['-3ms', /is negative/],
    ['+3ms', /has a sign/],
    ['1e3ms', /unknown unit "e3ms"/],
    ['', /is not a time/],
    ['ms', /is not a time/],
    ['5/s', /is a rate where a time is meant/],
    ['250Hz', /is a rate where a time is meant/],
    ['5%', /is a percentage where a time is meant/],
    ['200000d', /longer than 2\^62 ns/],
  ] as const) {
    assert.throws(() => units.durationNs(text), message, text);
  }
});

test('a time is written in the largest unit that needs no decimals', () => {
  assert.is(units.canonicalDuration('0.5ms'), '500us');
  assert.is(units.canonicalDuration('3000us'), '3ms');
  assert.is(units.canonicalDuration('90s'), '90s');
  assert.is(units.canonicalDuration('3600s'), '1h');
  assert.is(units.canonicalDuration('0ms'), '0s');
});

test('reading what was written gives the same nanoseconds', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 1n << 62n }), (ns) => {
      assert.is(units.durationNs(units.formatDuration(ns)), ns);
    }),
    { numRuns: 300 },
  );
});

test('rates become the mean time between events, rounded to a nanosecond', () => {
  // 10⁹ / 43.2 = 23148148.148…
  assert.is(units.rateToMeanNs('43.2/s'), 23_148_148n);
  assert.is(units.rateToMeanNs('0.8/s'), 1_250_000_000n);
  assert.is(units.rateToMeanNs('5000/s'), 200_000n);
  assert.is(units.rateToMeanNs('120/min'), 500_000_000n);
  assert.is(units.rateToMeanNs('250Hz'), 4_000_000n);
  // 10⁹ / 1.5 = 666666666.67, to the nearest.
  assert.is(units.rateToMeanNs('1.5/s'), 666_666_667n);
  assert.is(units.canonicalRate('043.20 / s'), '43.2/s');
  assert.is(units.canonicalRate('2kHz'), '2/ms');
});

test('what is no rate says so', () => {
  assert.throws(() => units.rateToMeanNs('43.2'), /has no unit; a rate needs one, like "43.2\/s"/);
  assert.throws(() => units.rateToMeanNs('3ms'), /is a time where a rate is meant/);
  assert.throws(() => units.rateToMeanNs('0/s'), /is zero/);
  assert.throws(() => units.rateToMeanNs('3000/us'), /more than one event per nanosecond/);
});

test('frequencies and powers', () => {
  assert.is(units.hertz('250Hz'), 250);
  assert.is(units.hertz('1kHz'), 1000);
  assert.is(units.megahertz('2.1GHz'), 2100);
  assert.throws(() => units.megahertz('2.1005GHz'), /not a whole number of megahertz/);
  assert.is(units.milliwatts('190.738W'), 190_738);
  assert.throws(() => units.milliwatts('95'), /has no unit/);
  assert.is(units.formatWatts(190_738), '190738mW');
});

test('fractions and percentages are told apart', () => {
  assert.is(units.parseFraction(0.8), 0.8);
  assert.throws(
    () => units.parseFraction('80%'),
    /"80%" is a percentage where a fraction from 0 to 1 is meant: write 0.8/,
  );
  assert.throws(
    () => units.parseFraction(80),
    /80 is above 1; expected a fraction from 0 to 1 \(80 % is 0.8\)/,
  );
  assert.throws(() => units.parseFraction(-0.1), /negative/);
  assert.throws(() => units.parseFraction('0.8'), /is not a fraction/);
  assert.is(units.q32(0.5), 1n << 31n);
  assert.is(units.q32(1), 1n << 32n);
});

test('CPU lists are ranges, each CPU once', () => {
  assert.equal(units.parseCpuList('8, 0-3'), [0, 1, 2, 3, 8]);
  assert.is(units.formatCpuList([0, 1, 2, 3, 8, 10, 11]), '0-3,8,10-11');
  assert.throws(() => units.parseCpuList('3-1'), /runs backwards/);
  assert.throws(() => units.parseCpuList('0-3,2'), /CPU 2 is named twice/);
  assert.throws(() => units.parseCpuList('0..3'), /is not a list of CPUs; write it like "0-3,8"/);
  fc.assert(
    fc.property(fc.uniqueArray(fc.nat(511), { minLength: 1, maxLength: 64 }), (cpus) => {
      const sorted = [...cpus].sort((a, b) => a - b);
      assert.equal(units.parseCpuList(units.formatCpuList(sorted)), sorted);
    }),
    { numRuns: 100 },
  );
});

test.run();
