import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  DIST_CONSTANT,
  DIST_EMPIRICAL,
  DIST_EXPONENTIAL,
  DIST_HYPEREXPONENTIAL,
  DIST_LOGNORMAL,
  DIST_PARETO,
  DIST_UNIFORM,
} from '../src/engine/abi.js';
import { loadUnits } from './support/units.js';

const units = loadUnits('core');
units.call('initRandom');
units.call('initDistributions', 1);

const N = 1_000_000;
const Q32 = 2 ** 32;
const MAX_VALUE = 2n ** 62n;
const MS = 1_000_000;

const base = units.call('arenaBase');
units.call('arenaReset', base);
const output = units.call('arenaAllocate', N * 8);
const points = units.call('arenaAllocate', 1024);

function define(kind: number, ...parameters: (number | bigint)[]): void {
  const record = new DataView(units.memory.buffer, units.call('distributionAddress', 0), 64);
  record.setUint32(0, kind, true);
  for (let i = 0; i < 6; i++) record.setBigUint64(16 + i * 8, BigInt(parameters[i] ?? 0), true);
}

/** Points in order: cumulative probability, value. */
function definePoints(step: boolean, ...rows: [number, number][]): void {
  define(DIST_EMPIRICAL, step ? 1 : 0);
  new DataView(units.memory.buffer).setUint32(units.call('distributionAddress', 0) + 4, rows.length, true);
  const table = new BigUint64Array(units.memory.buffer, points, rows.length * 2);
  for (const [i, [probability, value]] of rows.entries()) {
    table[2 * i] = BigInt(Math.round(probability * Q32));
    table[2 * i + 1] = BigInt(value);
  }
  units.call('setPointsBase', points);
}

function key(seed = 1, purpose = 4, source = 0, ordinal = 0): bigint {
  return units.call64('keyOf', BigInt(seed), purpose, source, BigInt(ordinal));
}

function draw(index: number, stream = key()): bigint {
  return units.call64('draw', 0, stream, BigInt(index));
}

/** N draws of one entity. */
function sample(stream = key()): Float64Array {
  units.call('drawMany', 0, stream, N, output);
  return Float64Array.from(new BigUint64Array(units.memory.buffer, output, N), Number);
}

function mean(values: Float64Array): number {
  return values.reduce((sum, v) => sum + v, 0) / values.length;
}

/** Within five standard errors: a right generator fails one such check in 1.7 million. */
function near(actual: number, expected: number, standardDeviation: number, what: string): void {
  const error = (5 * standardDeviation) / Math.sqrt(N);
  assert.ok(Math.abs(actual - expected) <= error, `${what} ${actual}; expected ${expected} ± ${error}`);
}

/** Share of values at or below x against its probability; s.e. of a share is √(p (1 − p) / N). */
function shareBelow(values: Float64Array, x: number, p: number): void {
  let below = 0;
  for (const v of values) if (v <= x) below++;
  near(below / N, p, Math.sqrt(p * (1 - p)), `P(X ≤ ${x})`);
}

test('constant: every draw is the value', () => {
  define(DIST_CONSTANT, 12345);
  assert.is(draw(0), 12345n);
  assert.is(draw(1), 12345n);
});

test('uniform: low included, high excluded, mean of the integers between', () => {
  // Integers 10 … 19: mean 14.5, variance (10² − 1) / 12 = 8.25.
  define(DIST_UNIFORM, 10, 20);
  const values = sample();
  assert.is(Math.min(...new Set(values)), 10);
  assert.is(Math.max(...new Set(values)), 19);
  near(mean(values), 14.5, Math.sqrt(8.25), 'mean');
  define(DIST_UNIFORM, 7, 7);
  assert.is(draw(3), 7n);
});

test('the exponential variate is −ln of the uniform its bits stand for, to 1.3e-7', () => {
  // With c leading zeros and mantissa m the bits stand for 2^-(c+1) (1 + m / 2^64) = r / 2^64, and r = 0 for 2^-64.
  for (let i = 0; i < 20_000; i++) {
    const r = units.call64('bitsOf', key(), BigInt(i)) >> BigInt(i % 40);
    const exact = 64 * Math.LN2 - Math.log(Number(r || 1n));
    const got = Number(units.call64('exponentialQ32', BigInt.asIntN(64, r))) / Q32;
    assert.ok(Math.abs(got - exact) <= 1.3e-7, `bits ${r}: ${got}, exactly ${exact}`);
  }
});

test('exponential: mean, variance and quantiles', () => {
  define(DIST_EXPONENTIAL, MS);
  const values = sample();
  near(mean(values), MS - 0.5, MS, 'mean'); // rounded down: half a nanosecond short
  // E X² = 2 m², sd of X² = √(E X⁴ − (E X²)²) = √(24 − 4) m².
  near(mean(values.map((v) => v * v)), 2 * MS * MS, Math.sqrt(20) * MS * MS, 'second moment');
  for (const p of [0.01, 0.5, 0.9, 0.99, 0.999]) shareBelow(values, -Math.log(1 - p) * MS, p);
});

test('exponential: successive draws of an entity are uncorrelated, and so are equal draws of neighbours', () => {
  // E XY = m² under independence; sd of XY = √(E X² E Y² − m⁴) = √3 m².
  define(DIST_EXPONENTIAL, MS);
  const values = sample();
  const neighbour = sample(key(1, 4, 0, 1));
  near(mean(values.map((v, i) => v * values[(i + 1) % N])), MS * MS, Math.sqrt(3) * MS * MS, 'lag 1');
  near(mean(values.map((v, i) => v * neighbour[i])), MS * MS, Math.sqrt(3) * MS * MS, 'neighbour');
});

test('|Z| by −ln P(|Z| > z) is the inverse of the normal tail', () => {
  // Two-sided tail probabilities of the normal distribution at z = 0, 1, 2, 3, 5 and 8 (Abramowitz & Stegun 26.2, 7.1).
  const table: [number, number][] = [
    [0, 1],
    [1, 0.317310507862914],
    [2, 0.0455002638963584],
    [3, 0.00269979606326021],
    [5, 5.73303143758387e-7],
    [8, 1.24419211485436e-15],
  ];
  for (const [z, tail] of table) {
    const e = BigInt(Math.round(-Math.log(tail) * Q32));
    const got = Number(units.call64('halfNormalQ32', e)) / Q32;
    assert.ok(Math.abs(got - z) <= 2e-7, `z ${got}; expected ${z}`);
  }
});

test('e^x is right to 1e-7 over its range, and saturates instead of wrapping', () => {
  for (let x = -20; x <= 15; x += 0.0137) {
    const q = BigInt(Math.round(x * Q32));
    const exact = 1e12 * Math.exp(Number(q) / Q32);
    const got = Number(units.call64('scaleByExp', 1_000_000_000_000n, q));
    assert.ok(Math.abs(got - exact) <= exact * 1e-7 + 0.5, `e^${x}: ${got}, exactly ${exact}`);
  }
  assert.is(units.call64('scaleByExp', 1n, 0n), 1n);
  assert.is(units.call64('scaleByExp', 1000n, BigInt(50 * Q32)), MAX_VALUE);
  assert.is(units.call64('scaleByExp', 1000n, BigInt(-50 * Q32)), 0n);
  assert.is(units.call64('scaleByExp', 0n, BigInt(50 * Q32)), 0n);
  assert.is(units.call64('scaleByExp', 1n, 2n ** 60n), MAX_VALUE);
  assert.is(units.call64('scaleByExp', 1n, -(2n ** 60n)), 0n);
});

test('log-normal: mean and quantiles', () => {
  // Median 10 ms, σ = ½: mean = median e^(σ²/2), variance = mean² (e^(σ²) − 1).
  define(DIST_LOGNORMAL, 10 * MS, Q32 / 2);
  const values = sample();
  const expected = 10 * MS * Math.exp(0.125);
  near(mean(values), expected, expected * Math.sqrt(Math.exp(0.25) - 1), 'mean');
  // Φ⁻¹ of .01, .05, .5, .95, .99, .999
  const z: [number, number][] = [
    [0.01, -2.3263478740408408],
    [0.05, -1.6448536269514722],
    [0.5, 0],
    [0.95, 1.6448536269514722],
    [0.99, 2.3263478740408408],
    [0.999, 3.090232306167813],
  ];
  for (const [p, quantile] of z) shareBelow(values, 10 * MS * Math.exp(0.5 * quantile), p);
});

test('log-normal: σ = 0 is its median', () => {
  define(DIST_LOGNORMAL, 777, 0);
  for (let i = 0; i < 100; i++) assert.is(draw(i), 777n);
});

test('hyperexponential: mean and variance of two branches', () => {
  // 0.9 × exp(1 ms) + 0.1 × exp(11 ms): mean 2 ms, E X² = 2 (.9 × 1 + .1 × 121) = 26, E X⁴ = 24 (.9 + .1 × 14641) = 35160.
  define(DIST_HYPEREXPONENTIAL, Math.round(0.9 * Q32), MS, 11 * MS);
  const values = sample();
  near(mean(values), 2 * MS - 0.5, Math.sqrt(26 - 4) * MS, 'mean');
  near(mean(values.map((v) => v * v)) / MS ** 2, 26, Math.sqrt(35160 - 26 ** 2), 'second moment');
  // P(X > 30 ms) = .9 e^-30 + .1 e^(-30/11)
  shareBelow(values, 30 * MS, 1 - 0.9 * Math.exp(-30) - 0.1 * Math.exp(-30 / 11));
});

test('Pareto: minimum, tail and mean', () => {
  // Shape 2.5, scale 1 ms: P(X > x) = (1 / x)^2.5, mean 5/3, variance 2.5 / (1.5² × .5) = 20/9.
  define(DIST_PARETO, MS, Math.round(Q32 / 2.5));
  const values = sample();
  assert.ok(values.every((v) => v >= MS));
  near(mean(values), (5 / 3) * MS, Math.sqrt(20 / 9) * MS, 'mean');
  for (const x of [1.1, 2, 5, 20]) shareBelow(values, x * MS, 1 - x ** -2.5);
});

test('empirical: linear between the points, the first value is the minimum', () => {
  // Mass 1/2 uniform on [100, 200], 1/2 on [200, 1000]: mean .5 × 150 + .5 × 600 = 375, E X² = .5 (∫) = see below.
  // E X² of a uniform on [a, b] is (a² + ab + b²) / 3: 23333.3 and 413333.3, together 218333.3.
  definePoints(false, [0, 100_000], [0.5, 200_000], [1, 1_000_000]);
  const values = sample();
  near(mean(values), 375_000, Math.sqrt(218_333.3 - 375 ** 2) * 1000, 'mean');
  for (const [x, p] of [
    [150_000, 0.25],
    [200_000, 0.5],
    [600_000, 0.75],
  ]) {
    shareBelow(values, x, p);
  }
  assert.ok(values.every((v) => v >= 100_000 && v < 1_000_000));
});

test('empirical: a first probability above zero is mass at the minimum', () => {
  definePoints(false, [0.25, 10], [1, 1_000_000]);
  shareBelow(sample(), 10, 0.25);
});

test('empirical: a step function gives only the values of its points', () => {
  definePoints(true, [0.2, 5], [0.7, 50], [1, 500]);
  const values = sample();
  assert.equal(
    [...new Set(values)].sort((a, b) => a - b),
    [5, 50, 500],
  );
  shareBelow(values, 5, 0.2);
  shareBelow(values, 50, 0.7);
});

test('empirical: any number of points, equal probabilities included, inverts as the definition says', () => {
  const invert = (rows: [number, number][], u: number): number => {
    const i = rows.findIndex(([p]) => p > u);
    if (i === -1) return rows[rows.length - 1][1];
    if (i === 0) return rows[0][1];
    const [[p0, v0], [p1, v1]] = [rows[i - 1], rows[i]];
    return v0 + ((v1 - v0) * (u - p0)) / (p1 - p0);
  };
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.integer({ min: 0, max: 64 }), fc.nat(1_000_000)), { minLength: 1, maxLength: 60 }),
      (raw) => {
        const probabilities = raw.map(([p]) => p / 64).sort((a, b) => a - b);
        const values = raw.map(([, v]) => v).sort((a, b) => a - b);
        const rows = probabilities.map((p, i): [number, number] => [p, values[i]]);
        definePoints(false, ...rows);
        for (let i = 0; i < 20; i++) {
          const u = Number(units.call64('bitsOf', key(), BigInt(i))) / 2 ** 64;
          assert.ok(Math.abs(Number(draw(i)) - invert(rows, u)) <= 1.001); // rounded down
        }
      },
    ),
    { numRuns: 200 },
  );
});

test('values saturate at 2^62 instead of wrapping', () => {
  const largest = (): bigint => {
    let seen = 0n;
    for (let i = 0; i < 200; i++) {
      const value = draw(i);
      assert.ok(value <= MAX_VALUE);
      if (value > seen) seen = value;
    }
    return seen;
  };
  define(DIST_EXPONENTIAL, 2n ** 61n);
  assert.is(largest(), MAX_VALUE);
  define(DIST_HYPEREXPONENTIAL, Q32 / 2, 2n ** 61n, 2n ** 63n);
  assert.is(largest(), MAX_VALUE);
  define(DIST_PARETO, 1000, 2n ** 63n);
  assert.is(largest(), MAX_VALUE);
  define(DIST_LOGNORMAL, 1000, 2n ** 63n);
  assert.is(largest(), MAX_VALUE);
});

test('the slow path of large exponential means agrees with the fast one', () => {
  // The mean 2^56 takes the slow path, 2^56 − 1 the fast one; draws below 2^6 means differ by less than 64.
  for (let i = 0; i < 1000; i++) {
    define(DIST_EXPONENTIAL, 2n ** 56n);
    const slow = draw(i);
    define(DIST_EXPONENTIAL, 2n ** 56n - 1n);
    assert.ok(slow - draw(i) >= 0n && slow - draw(i) < 64n);
  }
});

test('a draw is a function of key and index, whatever was drawn in between', () => {
  define(DIST_EXPONENTIAL, MS);
  const forward = Array.from({ length: 50 }, (_, i) => draw(i));
  const backward = Array.from({ length: 50 }, (_, i) => draw(49 - i)).reverse();
  assert.equal(forward, backward);
});

test('hsma6_des_book#66: streams of replication 0 and of every purpose, source and entity differ pairwise', () => {
  const seen = new Set<bigint>();
  let streams = 0;
  for (const seed of [0, 1, 2]) {
    for (const purpose of [1, 2, 3, 4]) {
      for (const source of [0, 1, 7]) {
        for (const ordinal of [0, 1, 2 ** 32]) {
          streams++;
          for (let i = 0; i < 20; i++)
            seen.add(units.call64('bitsOf', key(seed, purpose, source, ordinal), BigInt(i)));
        }
      }
    }
  }
  assert.is(seen.size, streams * 20);
});

test('cluster-experiments#107: seed 0 twice is identical, and unlike seed 1', () => {
  define(DIST_EXPONENTIAL, MS);
  const run = (seed: number): bigint[] => Array.from({ length: 20 }, (_, i) => draw(i, key(seed)));
  assert.equal(run(0), run(0));
  assert.is(new Set([...run(0), ...run(1)]).size, 40);
});

test('values are the same on every machine', () => {
  // Snapshot: integer arithmetic and software logarithms leave nothing to the platform.
  const first = (): string => Array.from({ length: 3 }, (_, i) => draw(i)).join(' ');
  define(DIST_EXPONENTIAL, MS);
  assert.is(first(), '2296101 176190 383615');
  define(DIST_LOGNORMAL, MS, Q32);
  assert.is(first(), '3588929 659236 402497');
  define(DIST_PARETO, MS, Q32);
  assert.is(first(), '9935372 1192665 1467581');
});

test.run();
