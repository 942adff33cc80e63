// The two-sample Kolmogorov–Smirnov distance, by hand.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { kolmogorovDistance } from '../src/statistics/kolmogorov.js';

const test = suite('Kolmogorov–Smirnov distance');

test('the largest gap between the steps', () => {
  // F: ¼ at 1, ½ at 2, ¾ at 3, 1 at 4. G: ½ at 3, 1 at 5. Gaps: ¼ at 1, ½ at 2, ¼ at 3, ½ at 4.
  assert.is(kolmogorovDistance([4, 2, 3, 1], [5, 3]), 0.5);
  assert.is(kolmogorovDistance([5, 3], [4, 2, 3, 1]), 0.5);
});

test('equal samples, disjoint samples, none', () => {
  assert.is(kolmogorovDistance([1, 2, 2], [2, 1, 2]), 0);
  assert.is(kolmogorovDistance([1, 2], [3, 4]), 1);
  assert.is(kolmogorovDistance([], [1]), 1);
  assert.is(kolmogorovDistance([], []), 0);
});

test('ties count together', () => {
  // At 2 both reach ⅔.
  assert.ok(Math.abs(kolmogorovDistance([2, 2, 3], [1, 2, 3]) - 1 / 3) < 1e-12);
});

test('shifts within the resolution do not count', () => {
  assert.ok(Math.abs(kolmogorovDistance([10, 20, 30], [11, 21, 31]) - 1 / 3) < 1e-12);
  assert.is(kolmogorovDistance([10, 20, 30], [11, 21, 31], 1), 0);
  // One of three is further away: F(10 + 1) has ⅓ where G has none.
  assert.ok(Math.abs(kolmogorovDistance([10, 20, 30], [12, 21, 31], 1) - 1 / 3) < 1e-12);
});

test.run();
