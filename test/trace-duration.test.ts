// Duration models: hand-computed descriptions and means, and a name for every departure from the recording.

import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  DURATION_MODELS,
  type DurationStatistics,
  fitDuration,
  isEligible,
  meanOf,
} from '../src/trace/index.js';
import { failure } from './support/traces.js';

/** Statistics with the given percentiles 0, 1, 25, 50, 75, 99, 100 in ms. */
function statistics(
  percentiles: (number | null)[],
  more: Partial<DurationStatistics> = {},
): DurationStatistics {
  const [p0, p1, p25, p50, p75, p99, p100] = percentiles;
  return {
    duration_average_ms: null,
    duration_minimum_ms: null,
    duration_maximum_ms: null,
    duration_p0_ms: p0,
    duration_p1_ms: p1,
    duration_p25_ms: p25,
    duration_p50_ms: p50,
    duration_p75_ms: p75,
    duration_p99_ms: p99,
    duration_p100_ms: p100,
    duration_count: null,
    ...more,
  };
}

const near = (value: number, expected: number, relative = 1e-12) =>
  assert.ok(Math.abs(value - expected) <= relative * Math.abs(expected), `${value} is not ${expected}`);

test('percentiles: the inverse CDF is piecewise linear through the recorded points', () => {
  const { description, mean_ns, rules } = fitDuration(statistics([10, 20, 30, 40, 60, 100, 200]));
  assert.equal(description, {
    kind: 'empirical',
    points: [
      { p: 0, value_ns: 10e6 },
      { p: 0.01, value_ns: 20e6 },
      { p: 0.25, value_ns: 30e6 },
      { p: 0.5, value_ns: 40e6 },
      { p: 0.75, value_ns: 60e6 },
      { p: 0.99, value_ns: 100e6 },
      { p: 1, value_ns: 200e6 },
    ],
  });
  // .01·15 + .24·25 + .25·35 + .25·50 + .24·80 + .01·150 = .15 + 6 + 8.75 + 12.5 + 19.2 + 1.5 = 48.1 ms
  near(mean_ns, 48.1e6);
  assert.equal(rules, []);
});

test('percentiles-log: gaps are joined geometrically', () => {
  const { description, mean_ns } = fitDuration(statistics([1, 1, 1, 1, 1, 1, 256]), 'percentiles-log');
  assert.is(description.kind, 'empirical');
  if (description.kind !== 'empirical') return;
  // The gap from p = .99 (1 ms) to 1 (256 ms) in 8 pieces: factors of 2
  const tail = description.points.filter(({ p }) => p >= 0.99);
  assert.equal(
    tail.map(({ value_ns }) => value_ns / 1e6),
    [1, 2, 4, 8, 16, 32, 64, 128, 256],
  );
  near(tail[4].p, 0.995);
  // .99·1 + .01/8 · ½(1 + 2·(2 + 4 + … + 128) + 256) = .99 + .00125·382.5 = 1.468125 ms
  near(mean_ns, 1.468125e6);
});

test('average and p25 are constants', () => {
  const of = statistics([1, 2, 3, 4, 5, 6, 7], { duration_average_ms: 4.5 });
  assert.equal(fitDuration(of, 'average').description, { kind: 'constant', value_ns: 4.5e6 });
  assert.equal(fitDuration(of, 'p25').description, { kind: 'constant', value_ns: 3e6 });
  assert.is(fitDuration(of, 'p25').mean_ns, 3e6);
});

test('lognormal: the median is p50 and the mean is Average', () => {
  // σ = √(2 ln(e·10 / 10)) = √2; mean = 10 ms · e^(σ²/2) = 10·e
  const of = statistics([1, 2, 5, 10, 20, 90, 300], { duration_average_ms: 10 * Math.E });
  const { description, mean_ns, rules } = fitDuration(of, 'lognormal');
  assert.is(description.kind, 'lognormal');
  if (description.kind !== 'lognormal') return;
  assert.is(description.median_ns, 10e6);
  near(description.sigma, Math.SQRT2);
  near(mean_ns, 10e6 * Math.E);
  assert.equal(rules, []);
});

test('lognormal with an Average not above the median takes sigma from the upper quartile', () => {
  const of = statistics([1, 2, 5, 10, 20, 90, 300], { duration_average_ms: 9 });
  const { description, rules } = fitDuration(of, 'lognormal');
  // ln(20/10) / .6744897501960817 = 1.0276615
  assert.is(description.kind, 'lognormal');
  if (description.kind === 'lognormal') near(description.sigma, 1.0276615, 1e-6);
  assert.equal(rules, ['duration.lognormal-from-quartile']);
});

test('a recorded 0 ms stands for half a millisecond, and says so', () => {
  const { description, rules } = fitDuration(statistics([0, 0, 0, 0, 1, 9, 18]));
  assert.is(description.kind, 'empirical');
  if (description.kind === 'empirical') assert.is(description.points[3].value_ns, 0.5e6);
  assert.equal(rules, ['duration.below-resolution']);
  const zero = fitDuration(statistics([0, 0, 0, 0, 0, 0, 0], { duration_average_ms: 0 }), 'average');
  assert.is(zero.mean_ns, 0.5e6);
  assert.equal(zero.rules, ['duration.below-resolution']);
});

test('a percentile below a lower one is raised, and says so', () => {
  const { description, rules } = fitDuration(statistics([10, 20, 15, 40, 40, 39, 50]));
  assert.is(description.kind, 'empirical');
  if (description.kind !== 'empirical') return;
  assert.equal(
    description.points.map(({ value_ns }) => value_ns / 1e6),
    [10, 20, 20, 40, 40, 40, 50],
  );
  assert.equal(rules, ['duration.percentiles-decrease']);
});

test('missing percentiles: inner ones are left out, the ends come from Minimum and Maximum', () => {
  const of = statistics([null, null, 10, null, 30, null, null], {
    duration_minimum_ms: 4,
    duration_maximum_ms: 80,
  });
  const { description, rules } = fitDuration(of);
  assert.is(description.kind, 'empirical');
  if (description.kind !== 'empirical') return;
  assert.equal(description.points, [
    { p: 0, value_ns: 4e6 },
    { p: 0.25, value_ns: 10e6 },
    { p: 0.75, value_ns: 30e6 },
    { p: 1, value_ns: 80e6 },
  ]);
  assert.equal(rules, ['duration.percentile-missing']);
});

test('without percentiles the average is used, without an average the percentiles, both by name', () => {
  const nothing = [null, null, null, null, null, null, null];
  const average = fitDuration(statistics(nothing, { duration_average_ms: 7 }));
  assert.equal(average.description, { kind: 'constant', value_ns: 7e6 });
  assert.ok(average.rules.includes('duration.fallback-average'));
  const percentiles = fitDuration(statistics([10, 20, 30, 40, 60, 100, 200]), 'average');
  near(percentiles.mean_ns, 48.1e6);
  assert.equal(percentiles.rules, ['duration.fallback-percentiles']);
});

test('a function without statistics is an error that names it', async () => {
  const nothing = statistics([null, null, null, null, null, null, null]);
  for (const model of DURATION_MODELS) {
    const error = await failure(() => fitDuration(nothing, model, 'o/a/f'));
    assert.is(error.code, 'duration_missing');
    assert.match(error.message, `o/a/f has no duration statistics for the model ${model}`);
  }
});

test('every model of any statistics is a finite distribution of positive times, and its mean is meanOf', () => {
  const value = fc.option(fc.double({ min: 0, max: 1e6, noNaN: true }), { nil: null, freq: 5 });
  fc.assert(
    fc.property(fc.array(value, { minLength: 7, maxLength: 7 }), value, (percentiles, average) => {
      const of = statistics(percentiles, { duration_average_ms: average });
      for (const model of DURATION_MODELS) {
        let fit: ReturnType<typeof fitDuration>;
        try {
          fit = fitDuration(of, model);
        } catch {
          continue;
        }
        assert.ok(Number.isFinite(fit.mean_ns) && fit.mean_ns >= 0);
        assert.is(fit.mean_ns, meanOf(fit.description));
        if (fit.description.kind !== 'empirical') continue;
        const { points } = fit.description;
        assert.is(points[0].p, 0);
        assert.is(points[points.length - 1].p, 1);
        for (let i = 1; i < points.length; i++) {
          assert.ok(points[i].p > points[i - 1].p && points[i].value_ns >= points[i - 1].value_ns);
        }
      }
    }),
    { numRuns: 300, seed: 1 },
  );
});

test('eligible is what the generator of the paper takes', () => {
  const row = {
    ...statistics([1, 1, 1, 1, 1, 1, 1], { duration_maximum_ms: 1 }),
    function_id: 'f',
    owner: null,
    app: null,
    function: 'f',
    trigger: null,
    memory_mb: null,
  };
  assert.ok(isEligible(row, 2));
  assert.not.ok(isEligible(row, 1));
  assert.not.ok(isEligible({ ...row, duration_maximum_ms: 0 }, 2));
  assert.not.ok(isEligible({ ...row, duration_p25_ms: 0 }, 2));
  assert.not.ok(isEligible({ ...row, duration_p25_ms: null }, 2));
});

test.run();
