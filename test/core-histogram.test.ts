import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { bucketBounds, bucketIndex, Histogram } from '../src/engine/histogram.js';
import { loadUnits } from './support/units.js';

const units = loadUnits('core');
const NONE = 0xffffffff;
const BOUND = 1 / 1024; // half a bucket of 1/512 of its octave: below 0.1 %

function reset(...ids: number[]): void {
  units.call('arenaReset', units.call('arenaBase'));
  for (const id of ids) units.call('histogramReset', id);
}

/** Records values in the engine and leaves them there. */
function record(id: number, values: readonly bigint[]): void {
  for (const value of values) units.call('record', id, value);
}

/** The engine's histogram, through an image laid out as SECTION_HISTOGRAMS and SECTION_BUCKETS are. */
function read(id: number): Histogram {
  const rows = units.call('histogramBucketCount', id);
  const image = new DataView(new ArrayBuffer(64 + rows * 16));
  const engine = new DataView(units.memory.buffer, units.call('histogramAddress', id));
  for (let offset = 0; offset < 40; offset += 8) {
    image.setBigUint64(8 + offset, engine.getBigUint64(offset, true), true);
  }
  image.setUint32(52, rows, true);
  let index = 0;
  for (let row = 0; row < rows; row++) {
    index = units.call('histogramNextBucket', id, index);
    image.setUint32(64 + row * 16, index, true);
    image.setBigUint64(64 + row * 16 + 8, units.call64('histogramCountAt', id, index), true);
    index++;
  }
  assert.is(units.call('histogramNextBucket', id, index), NONE);
  return Histogram.decode(image, 0, 64).histogram;
}

function repeat(value: bigint, times: number): bigint[] {
  return new Array<bigint>(times).fill(value);
}

function ascending(values: readonly bigint[]): bigint[] {
  return [...values].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
}

function rank(sorted: readonly bigint[], p: number): bigint {
  return sorted[Math.max(1, Math.ceil(p * sorted.length - 1e-9)) - 1];
}

/** u64 values of every magnitude; a plain uniform one would nearly always be near 2^64. */
const anyU64 = fc
  .tuple(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), fc.integer({ min: 0, max: 63 }))
  .map(([value, shift]) => value >> BigInt(shift));

test('statsite#180: 1000 times 1 and one 10^7 give p99 = 1', () => {
  // Rank ⌈.99 × 1001⌉ = 991 of 1001 values, of which the first 1000 are 1.
  reset(0);
  record(0, [...repeat(1n, 1000), 10_000_000n]);
  const histogram = read(0);
  assert.is(histogram.quantile(0.99), 1);
  assert.is(histogram.quantile(1), 10_000_000);
  assert.is(units.call64('histogramValueAt', 0, 991n), 1n);
  assert.is(units.call64('histogramValueAt', 0, 1001n), 10_000_000n);
  // (1000 × 1 + 10^7) / 1001
  assert.is(histogram.mean, 10_001_000 / 1001);
});

test('tropel#314: 1000 × 10 ms and 10 × 2000 ms from two series give p95 = 10 ms', () => {
  // Rank ⌈.95 × 1010⌉ = 960 of the union; the average of the two p95 would be 1005 ms.
  reset(0, 1);
  record(0, repeat(10_000_000n, 1000));
  record(1, repeat(2_000_000_000n, 10));
  const merged = read(0).merge(read(1));
  assert.is(merged.count, 1010);
  assert.ok(Math.abs(merged.quantile(0.95) / 10_000_000 - 1) <= 0.001);
  units.call('histogramMerge', 0, 1);
  assert.equal(read(0), merged);
});

test('micrometer#312: min ≤ p50 ≤ … ≤ max whatever the values', () => {
  fc.assert(
    fc.property(fc.array(anyU64, { minLength: 1, maxLength: 50 }), (values) => {
      reset(0);
      record(0, values);
      const h = read(0);
      const ladder = [0, 0.5, 0.9, 0.95, 0.99, 0.999, 1].map((p) => h.quantile(p));
      assert.is(ladder[0], h.min);
      assert.is(ladder[6], h.max);
      for (let i = 1; i < ladder.length; i++) assert.ok(ladder[i - 1] <= ladder[i]);
    }),
    { numRuns: 200 },
  );
});

test('every quantile is within 0.1 % of the value of its rank', () => {
  fc.assert(
    fc.property(
      fc.array(anyU64, { minLength: 1, maxLength: 60 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (values, p) => {
        reset(0);
        record(0, values);
        const sorted = ascending(values);
        const exact = rank(sorted, p);
        const quantile = read(0).quantile(p);
        assert.ok(
          Math.abs(quantile - Number(exact)) <= Number(exact) * BOUND + 1e-9,
          `${quantile} for ${exact}`,
        );
        if (exact < 1024n) assert.is(quantile, Number(exact));
      },
    ),
    { numRuns: 300 },
  );
});

test('count, sum, minimum, maximum and mean are exact', () => {
  fc.assert(
    fc.property(fc.array(anyU64, { minLength: 1, maxLength: 60 }), (values) => {
      reset(0);
      record(0, values);
      const h = read(0);
      const sum = values.reduce((a, b) => a + b, 0n);
      const sorted = ascending(values);
      assert.is(h.count, values.length);
      assert.is(h.sum, sum); // sixty values below 2^64 need more than 64 bits
      assert.is(h.min, Number(sorted[0]));
      assert.is(h.max, Number(sorted[sorted.length - 1]));
      assert.ok(Math.abs(h.mean / (Number(sum) / values.length) - 1) < 1e-15 || sum === 0n);
    }),
    { numRuns: 200 },
  );
});

test('the merge of two histograms is the histogram of both samples, in the engine and on the host', () => {
  fc.assert(
    fc.property(fc.array(anyU64, { maxLength: 40 }), fc.array(anyU64, { maxLength: 40 }), (a, b) => {
      reset(0, 1, 2);
      record(0, a);
      record(1, b);
      record(2, [...a, ...b]);
      const both = read(2);
      assert.equal(read(0).merge(read(1)), both);
      assert.equal(read(1).merge(read(0)), both);
      units.call('histogramMerge', 0, 1);
      assert.equal(read(0), both);
    }),
    { numRuns: 150 },
  );
});

test('host and engine agree on buckets, and a bucket contains its values', () => {
  fc.assert(
    fc.property(
      fc.bigInt({ min: 0n, max: 2n ** 53n - 1n }),
      fc.integer({ min: 0, max: 52 }),
      (big, shift) => {
        const value = Number(big >> BigInt(shift));
        const index = bucketIndex(value);
        assert.is(units.call('bucketIndex', BigInt(value)), index);
        const { low, high } = bucketBounds(index);
        assert.ok(low <= value && value <= high);
        assert.is(Number(units.call64('histogramBucketValue', index)), low + Math.floor((high - low) / 2));
      },
    ),
  );
  // The edges: last exact value, first pair, and the last bucket of the last octave.
  assert.is(bucketIndex(1023), 1023);
  assert.equal(bucketBounds(bucketIndex(1024)), { low: 1024, high: 1025 });
  assert.is(units.call('bucketIndex', 2n ** 64n - 1n), 56 * 512 - 1);
});

test('the host builds the same histogram from values as the engine', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }), { maxLength: 50 }),
      (values) => {
        reset(0);
        record(0, values.map(BigInt));
        assert.equal(read(0), Histogram.fromValues(values));
      },
    ),
    { numRuns: 100 },
  );
});

test('a quantile needs ten values beyond it to be supported', () => {
  const of = (n: number): Histogram => Histogram.fromValues(Array.from({ length: n }, (_, i) => i));
  assert.ok(of(100).supports(0.9)); // 100 × .1 = 10, in floating point 9.999999999999998
  assert.not(of(99).supports(0.9));
  assert.ok(of(1000).supports(0.99));
  assert.not(of(999).supports(0.99));
  assert.not(of(100_000).supports(1));
});

test('quantiles count ranks exactly where p × count is not exact in floating point', () => {
  // .07 × 100 = 7.000000000000001; the 7th of 1 … 100 is 7.
  const h = Histogram.fromValues(Array.from({ length: 100 }, (_, i) => i + 1));
  for (let k = 1; k <= 100; k++) assert.is(h.quantile(k / 100), k);
  assert.is(h.quantile(0.505), 51);
});

test('an empty histogram has no statistics and is neutral in a merge', () => {
  reset(0);
  const empty = read(0);
  assert.ok(Number.isNaN(empty.mean) && Number.isNaN(empty.quantile(0.5)) && Number.isNaN(empty.min));
  assert.not(empty.supports(0));
  const one = Histogram.fromValues([5]);
  assert.equal(empty.merge(one), one);
  assert.equal(one.merge(Histogram.empty), one);
  assert.throws(() => one.quantile(95), /expected a fraction between 0 and 1/);
});

test('bucket rows that do not add up are an engine error', () => {
  const image = new DataView(new ArrayBuffer(64));
  image.setBigUint64(8, 3n, true);
  assert.throws(() => Histogram.decode(image, 0, 64), /lost values; expected 3 values/);
});

test('the arena hands out zeroed memory again after a reset', () => {
  const base = units.call('arenaBase');
  units.call('arenaReset', base);
  const first = units.call('arenaAllocate', 100);
  assert.is(first, base);
  new Uint8Array(units.memory.buffer, first, 104).fill(255);
  assert.is(units.call('arenaAllocate', 8), base + 104);
  units.call('arenaReset', base);
  // One allocation over what was dirtied and 40 MiB beyond it, which makes memory grow.
  const again = units.call('arenaAllocate', 40 << 20);
  assert.is(again, base);
  assert.ok(new Uint8Array(units.memory.buffer, again, 200).every((byte) => byte === 0));
  assert.ok(units.memory.buffer.byteLength >= base + (40 << 20));
});

test('an arena that cannot grow fails the run and stays usable', () => {
  const FAIL_MEMORY = 3; // assembly/core/failure.ts
  const base = units.call('arenaBase');
  units.call('arenaReset', base);
  units.call('failureReset');
  assert.is(units.call('arenaAllocate', 0xf0000000), 0);
  assert.is(units.call('failureCode'), FAIL_MEMORY);
  assert.is(units.call('arenaAllocate', 8), base);
});

test.run();
