// Intervals over seeds: quantiles of Student's t and Fisher's F from tables, and small samples worked out by hand.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { blockTest, differs, estimate, fTail, jackknife, tQuantile } from '../src/report/statistics.js';

function near(actual: number | undefined, expected: number, tolerance = 1e-6): void {
  assert.ok(
    actual !== undefined && Math.abs(actual - expected) <= tolerance * Math.max(1, Math.abs(expected)),
    `${actual} is not ${expected}`,
  );
}

test("quantiles of Student's t agree with tables", () => {
  // Two-sided 95 %: the columns "0.975" of any table; 1 degree of freedom is tan(0.475 π).
  near(tQuantile(1), Math.tan(0.475 * Math.PI));
  near(tQuantile(2), 4.302653);
  near(tQuantile(4), 2.776445);
  near(tQuantile(9), 2.262157);
  near(tQuantile(30), 2.042272);
  near(tQuantile(1e6), 1.959966, 1e-5);
  // 99 % with 2 degrees of freedom: p = 1 − t / √(2 + t²) gives t = 0.99 √(2 / (1 − 0.99²)).
  near(tQuantile(2, 0.99), 0.99 * Math.sqrt(2 / (1 - 0.99 ** 2)));
});

test("the tail of Fisher's F agrees with closed forms", () => {
  // F(2, d): P(F > f) = (1 + 2 f / d)^(−d/2). F(2, 9) at 4.256: (1 + 8.512 / 9)^−4.5 = 0.0500.
  near(fTail(4.256, 2, 9), (1 + (2 * 4.256) / 9) ** -4.5);
  near(fTail(19, 2, 2), 0.05);
  // F(1, d) is T² : the two-sided tail of t at its 95 % quantile.
  near(fTail(tQuantile(7) ** 2, 1, 7), 0.05);
  assert.is(fTail(0, 3, 8), 1);
});

test('the interval of a mean is t(n − 1) · s / √n', () => {
  // 10, 12, 14: mean 12, s = 2, half = 4.302653 · 2 / √3 = 4.968275.
  const three = estimate([10, 12, 14])!;
  assert.is(three.mean, 12);
  assert.is(three.n, 3);
  near(three.half, 4.968275);
  assert.equal(estimate([7]), { mean: 7, n: 1 });
  assert.is(estimate([]), undefined);
});

test('a jackknifed mean has the interval of the mean', () => {
  // For a mean the pseudo-values are the observations themselves.
  const values = [10, 12, 14];
  const mean = (omit?: number) => {
    const kept = values.filter((_, i) => i !== omit);
    return kept.reduce((sum, value) => sum + value, 0) / kept.length;
  };
  const value = jackknife(3, mean)!;
  assert.is(value.mean, 12);
  near(value.half, 4.968275);
  assert.is(jackknife(0, mean), undefined);
  assert.equal(
    jackknife(1, () => 5),
    { mean: 5, n: 1 },
  );
});

test('a difference needs an interval that leaves out zero, and a size', () => {
  assert.ok(differs({ mean: -0.03, half: 0.02, n: 3 }));
  assert.not(differs({ mean: -0.03, half: 0.04, n: 3 }));
  assert.not(differs({ mean: -0.03, n: 1 }));
  // Sure, but 0.00 %.
  assert.not(differs({ mean: 2e-5, half: 1e-5, n: 3 }));
});

test('treatments beyond the spread of the blocks are found, within it not', () => {
  // Rows 1, 2, 3 and 3, 4, 8: row means 2 and 5, column means 2, 3, 5.5, grand mean 3.5.
  // Between: 3 · (1.5² + 1.5²) = 13.5 with 1 degree of freedom.
  // Residuals of row 1: 1 − 2 − 2 + 3.5 = .5, 2 − 2 − 3 + 3.5 = .5, 3 − 2 − 5.5 + 3.5 = −1; row 2 opposite.
  // Within: 2 · (.25 + .25 + 1) = 3 with 2 degrees of freedom; F = 13.5 / 1.5 = 9; p = P(|T(2)| > 3) = 1 − 3/√11.
  const result = blockTest([
    [1, 2, 3],
    [3, 4, 8],
  ])!;
  near(result.f, 9);
  near(result.p, 1 - 3 / Math.sqrt(11));
  near(result.residual, Math.sqrt(1.5));
  // A common change with the seed explains nothing about treatments, and equal treatments differ in nothing.
  const equal = [
    [0.1, 20.3, 300.7],
    [0.1, 20.3, 300.7],
    [0.1, 20.3, 300.7],
  ];
  assert.is(blockTest(equal)!.f, 0);
  assert.is(blockTest(equal)!.p, 1);
  assert.is(blockTest([[1], [2]]), undefined);
});

test.run();
