// From cells to points: pairing by seed, pooling, grouping by load, what is left out and what is marked.

import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Histogram } from '../src/engine/histogram.js';
import { findings } from '../src/report/findings.js';
import { type MeasureKey, pooledHistogram, summarize } from '../src/report/summary.js';
import { terminalReport } from '../src/report/terminal.js';
import { type Drawn, smallSweep } from './support/report-cells.js';

const near = (actual: number | undefined, expected: number, tolerance = 1e-9): void =>
  assert.ok(actual !== undefined && Math.abs(actual - expected) <= tolerance, `${actual} is not ${expected}`);

const SWEEP = {
  replications: 3,
  baseline: { policy: 'eevdf' },
  axes: { policy: ['eevdf', 'domains:1'] },
};

const ms = (...values: number[]): number[] => values.map((value) => value * 1e6);
const drawn = (energy_j: number, latencies = ms(1, 2, 3)): Drawn => ({ energy_j, latencies });

test('differences to the baseline are paired by seed', () => {
  // Baseline 100, 200, 400 J; the contender 90, 190, 360 J: −10 %, −5 %, −10 % by seed.
  // Mean −8.333 %, s = 2.88675 %, half = 4.302653 · 2.88675 / √3 = 7.17109 %.
  const energy = { eevdf: [100, 200, 400], 'domains:1': [90, 190, 360] };
  const { scenarios } = summarize(
    smallSweep(SWEEP, ({ values, replication }) =>
      drawn(energy[values.policy as keyof typeof energy][replication]),
    ),
  );
  assert.is(scenarios.length, 1);
  const [baseline, contender] = scenarios[0].points;
  assert.is(scenarios[0].baseline, baseline);
  assert.is(contender.label, 'domains:1');
  assert.equal(baseline.relative, {});
  near(contender.relative.energy?.mean, -0.25 / 3);
  near(contender.relative.energy?.half, 0.0717109, 1e-6);
  // The values themselves vary by hundreds of percent: only pairing shows the difference.
  near(contender.absolute.energy?.mean, 640 / 3);
});

test('a seed that only one side finished is in no pair', () => {
  const { scenarios, failures } = summarize(
    smallSweep(SWEEP, ({ values, replication }) =>
      values.policy === 'domains:1' && replication === 1
        ? { outcome: 'stalled', reason: { code: 'stall', message: 'task "worker/7" waits' } }
        : drawn(values.policy === 'eevdf' ? 100 : 80),
    ),
  );
  const contender = scenarios[0].points[1];
  assert.is(contender.relative.energy?.n, 2);
  near(contender.relative.energy?.mean, -0.2);
  assert.is(contender.failures.length, 1);
  assert.equal(
    failures.map(({ point, cell }) => [point, cell.seed]),
    [['domains:1', 2]],
  );
});

test('quantiles come from pooled histograms, never from averages', () => {
  // 1000 × 10 ms under two seeds, 10 × 2000 ms under the third: pooled p99 is the 1990th of 2010 values, 10 ms;
  // the mean of the three p99 would be 673 ms.
  const { scenarios } = summarize(
    smallSweep(SWEEP, ({ replication }) =>
      drawn(100, replication < 2 ? ms(...Array(1000).fill(10)) : ms(...Array(10).fill(2000))),
    ),
  );
  const [point] = scenarios[0].points;
  assert.is(pooledHistogram(point, 'latency').count, 2010);
  near(point.absolute.latency_p99?.mean, 10, 0.01);
  // 20.1 values lie beyond: supported. The mean latency is a mean over seeds.
  assert.equal(point.unsupported, []);
  near(point.absolute.latency?.mean, (10 + 10 + 2000) / 3);
});

test('a quantile that the pooled sample cannot support is marked', () => {
  // 3 × 300 = 900 values: 9 beyond the p99, fewer than ten. The 891st, each coming three times, is 297 ms.
  const few = summarize(
    smallSweep(SWEEP, () => drawn(100, ms(...Array.from({ length: 300 }, (_, i) => i + 1)))),
  );
  assert.equal(few.scenarios[0].points[0].unsupported, ['latency_p99'] satisfies MeasureKey[]);
  assert.match(terminalReport(few), /~297/);
  assert.match(terminalReport(few), /~ fewer than ten observations/);
});

test('jobs still in the system make tail quantiles lower bounds', () => {
  // 1000 measured per seed: 10 beyond the p99. One unfinished job is a tenth of them, two are more.
  const open = (in_system: number) =>
    summarize(
      smallSweep(SWEEP, () => ({
        ...drawn(100, ms(...Array.from({ length: 1000 }, (_, i) => i + 1))),
        in_system,
      })),
    );
  assert.equal(open(1).scenarios[0].points[0].censored, []);
  assert.equal(open(2).scenarios[0].points[0].censored, ['latency_p99']);
  assert.match(terminalReport(open(2)), /≥990/);
});

test('points are compared at the same load', () => {
  const axes = { 'run.horizon': ['10s', '20s'], policy: ['eevdf', 'domains:1'] };
  const { scenarios, scenarioAxes } = summarize(
    smallSweep({ ...SWEEP, axes }, ({ values }) =>
      drawn((values['run.horizon'] === '10s' ? 100 : 1000) * (values.policy === 'eevdf' ? 1 : 0.5)),
    ),
  );
  assert.equal(scenarioAxes, ['run.horizon']);
  assert.equal(
    scenarios.map(({ label, points }) => [label, ...points.map((point) => point.label)]),
    [
      ['horizon 10s', 'eevdf', 'domains:1'],
      ['horizon 20s', 'eevdf', 'domains:1'],
    ],
  );
  for (const { points } of scenarios) near(points[1].relative.energy?.mean, -0.5);
});

test('identical seeds within the spread are said to show no difference', () => {
  // Differences of +2 %, −2 %, 0 % by seed.
  const factor = [1.02, 0.98, 1];
  const summary = summarize(
    smallSweep(SWEEP, ({ values, replication }) =>
      drawn(100 * (values.policy === 'eevdf' ? 1 : factor[replication])),
    ),
  );
  const energy = findings(summary).find(({ topic }) => topic === 'Energy');
  assert.match(energy!.text, /^No difference beyond the seeds’ spread/);
});

test('findings name the lowest with its interval', () => {
  // −10 %, −11 %, −12 %: mean −11 %, half = 4.302653 · 1 / √3 = 2.4841 %.
  const factor = [0.9, 0.89, 0.88];
  const summary = summarize(
    smallSweep(SWEEP, ({ values, replication }) =>
      drawn(100 * (values.policy === 'eevdf' ? 1 : factor[replication])),
    ),
  );
  const energy = findings(summary).find(({ topic }) => topic === 'Energy');
  assert.match(energy!.text, /^Lowest: −11\.0 % \[−13\.5, −8\.5\] with domains:1\./);
  assert.match(terminalReport(summary), /domains:1 +3 +89\.00 +−11\.0 ± 2\.5/);
});

test('one seed has no interval, and its differences are not called ones', () => {
  const summary = summarize(
    smallSweep({ ...SWEEP, replications: 1 }, ({ values }) => drawn(values.policy === 'eevdf' ? 100 : 50)),
  );
  const [, contender] = summary.scenarios[0].points;
  assert.equal(contender.relative.energy, { mean: -0.5, n: 1 });
  const texts = findings(summary).map(({ text }) => text);
  assert.ok(texts.some((text) => /Only seed 1: there are no intervals/.test(text)));
  assert.not(texts.some((text) => text.startsWith('Lowest')));
});

test('without a baseline values stand by themselves', () => {
  const { baseline: _, ...sweep } = SWEEP;
  const summary = summarize(smallSweep(sweep, ({ replication }) => drawn(100 + replication)));
  assert.is(summary.scenarios[0].baseline, undefined);
  assert.ok(summary.scenarios[0].points.every(({ relative }) => Object.keys(relative).length === 0));
  assert.ok(findings(summary).some(({ topic }) => topic === 'Baseline'));
});

test('merged histograms keep every value', () => {
  const summary = summarize(smallSweep(SWEEP, ({ replication }) => drawn(1, ms(replication + 1))));
  const merged = pooledHistogram(summary.scenarios[0].points[0], 'latency');
  assert.equal(merged, Histogram.fromValues(ms(1, 2, 3)));
  assert.is(pooledHistogram(summary.scenarios[0].points[0], 'latency', 0).count, 2);
});

test('neither the order of the cells nor the unit of energy changes a difference', () => {
  fc.assert(
    fc.property(
      fc.array(fc.double({ min: 1, max: 1e6, noNaN: true }), { minLength: 6, maxLength: 6 }),
      fc.double({ min: 1e-3, max: 1e3, noNaN: true }),
      (energies, factor) => {
        const difference = (scale: number, reverse: boolean) => {
          const input = smallSweep(SWEEP, ({ index }) => drawn(energies[index] * scale));
          if (reverse) input.cells.reverse();
          return summarize(input).scenarios[0].points[1].relative.energy!;
        };
        const plain = difference(1, false);
        const changed = difference(factor, true);
        near(changed.mean, plain.mean, 1e-9 * (1 + Math.abs(plain.mean)));
        near(changed.half, plain.half!, 1e-9 * (1 + plain.half!));
      },
    ),
    { numRuns: 30 },
  );
});

test.run();
