// MSER-5: the cut that leaves the most certain mean, on series small enough for a pencil.

import * as fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { BATCH, mser5 } from '../src/statistics/mser.js';

/** A series whose batches have these means: five equal observations each. */
const batches = (means: readonly number[]) => means.flatMap((mean) => Array<number>(BATCH).fill(mean));

test('the transient goes, the rest stays', () => {
  // 12 batches: 10, 4, then 1, 3 five times. With the first d left out, Σ(Y − mean)² / (12 − d)²:
  // d = 2: mean 2, ten squares of 1: 10 / 100 = 0.1.
  // d = 1: mean 24/11, squares Σ Y² − n mean² = 16 + 50 − 576/11 = 13.636: / 121 = 0.1127.
  // d = 0: mean 34/12, 100 + 16 + 50 − 1156/12 = 69.667: / 144 = 0.4838.
  // d = 3: 3 and then (1, 3) four times: mean 19/9, 49 − 361/9 = 8.889: / 81 = 0.1097. d = 4: 8 / 64 = 0.125. And so on upwards.
  const truncation = mser5(batches([10, 4, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3]))!;
  assert.is(truncation.cut, 2 * BATCH);
  assert.ok(Math.abs(truncation.statistic - 0.1) < 1e-12, `${truncation.statistic}`);
  assert.is(truncation.settled, true);
});

test('batches are means of five: what averages out within one is no transient', () => {
  // 0 and 10 in turns, twice five a pair of batches: means 4, 6, 4, 6 … of which d = 0 leaves 12 / 144, any other cut more.
  const series = Array.from({ length: 60 }, (_, i) => (i % 2 === 0 ? 0 : 10));
  assert.is(mser5(series)!.cut, 0);
  assert.ok(Math.abs(mser5(series)!.statistic - 12 / 144) < 1e-12);
});

test('a constant series loses nothing', () => {
  assert.equal(mser5(batches(Array<number>(10).fill(7))), { cut: 0, statistic: 0, settled: true });
});

test('a level that is reached in the second half is not called settled', () => {
  // 12 batches: seven times 0 or 8 in turns, then five times 4: the last five alone have statistic 0, beyond the half.
  const truncation = mser5(batches([0, 8, 0, 8, 0, 8, 0, 4, 4, 4, 4, 4]))!;
  assert.is(truncation.settled, false);
  assert.ok(truncation.cut <= 30);
});

test('fewer than ten batches tell nothing, and an incomplete last one is left out', () => {
  assert.is(mser5(batches(Array<number>(9).fill(1))), undefined);
  assert.is(mser5([]), undefined);
  const whole = batches([9, 9, 1, 1, 1, 1, 1, 1, 1, 1]);
  assert.equal(mser5([...whole, 1e6, 1e6]), mser5(whole));
});

test('the same cut as the formula, written down as it stands', () => {
  const value = fc.double({ min: 0, max: 1000, noNaN: true });
  fc.assert(
    fc.property(fc.array(value, { minLength: 50, maxLength: 300 }), (series) => {
      const m = Math.floor(series.length / BATCH);
      const means = Array.from(
        { length: m },
        (_, j) => series.slice(j * BATCH, (j + 1) * BATCH).reduce((a, b) => a + b, 0) / BATCH,
      );
      const statistic = (d: number) => {
        const rest = means.slice(d);
        const mean = rest.reduce((a, b) => a + b, 0) / rest.length;
        return rest.reduce((sum, y) => sum + (y - mean) ** 2, 0) / rest.length ** 2;
      };
      const { cut, statistic: found } = mser5(series)!;
      const all = Array.from({ length: Math.floor(m / 2) + 1 }, (_, d) => statistic(d));
      const near = (a: number, b: number) => Math.abs(a - b) <= 1e-9 * (1 + b);
      assert.ok(near(found, Math.min(...all)) && near(statistic(cut / BATCH), found));
    }),
    { numRuns: 200 },
  );
});

test('a series that decays to its level is cut where the decay is within the noise', () => {
  // 100 e^(−i/100) + 10 ± 1: at i = 460 the decay is 1. The cut lies thereabouts, and the rest has the level's mean.
  const series = Array.from({ length: 10_000 }, (_, i) => 100 * Math.exp(-i / 100) + 10 + (i % 7) / 3 - 1);
  const { cut, settled } = mser5(series)!;
  assert.ok(settled && cut > 300 && cut < 1500, `${cut}`);
  const rest = series.slice(cut);
  assert.ok(Math.abs(rest.reduce((a, b) => a + b, 0) / rest.length - 10) < 0.05);
});

test.run();
