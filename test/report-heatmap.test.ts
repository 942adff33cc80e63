// A map of two axes is drawn when its cells differ beyond the seeds' spread; otherwise the report says why not.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { heatMaps } from '../src/report/heatmap.js';
import { MEASURES, summarize } from '../src/report/summary.js';
import { azureSweep, smallSweep } from './support/report-cells.js';

const [ENERGY] = MEASURES;
const SWEEP = {
  replications: 3,
  baseline: { policy: 'eevdf' },
  cases: [
    { policy: 'eevdf' },
    { policy: ['domains:1', 'domains:2', 'domains:4'], 'kernel.hz': ['250Hz', '1000Hz'] },
  ],
};
/** Spread of a cell under a seed, ± 1 %, by its place; no pattern along either axis. */
const SPREAD = [
  0.3, -0.9, 0.5, -0.2, 0.8, -0.6, 0.1, -0.4, 0.9, -0.7, 0.2, 0.6, -0.1, 0.4, -0.8, 0.7, -0.3, -0.5,
];

const mapOf = (effect: number, replications = 3) =>
  heatMaps(
    summarize(
      smallSweep({ ...SWEEP, replications }, ({ values, index, replication }) => ({
        // Seeds differ by tens of percent; they are blocks, so that alone hides nothing.
        energy_j:
          100 *
          (1 + 0.3 * replication) *
          (1 + (0.01 * SPREAD[index % SPREAD.length]) / 2) *
          (1 + (values.policy === 'domains:4' ? effect : 0)),
        latencies: [1e6],
      })),
    ),
    [ENERGY],
  );

test('cells that differ beyond the spread make a map', () => {
  const [map] = mapOf(0.2);
  assert.is(map.noise, undefined);
  assert.is(map.rowName, 'domains');
  assert.is(map.columnName, 'hz');
  assert.equal(
    map.cells.map(({ row, column }) => `${row} ${column}`),
    ['1 250Hz', '1 1000Hz', '2 250Hz', '2 1000Hz', '4 250Hz', '4 1000Hz'],
  );
  assert.ok(map.cells.filter(({ row }) => row === '4').every(({ value }) => value.mean > 0.15));
});

test('cells within the spread make none, and the numbers are given', () => {
  const [map] = mapOf(0);
  assert.match(map.noise ?? '', /^The 6 cells range from .* within the seeds’ spread.*F = .*n = 3/);
});

test('one seed makes no map', () => {
  const [map] = mapOf(0.2, 1);
  assert.match(map.noise ?? '', /with one seed nothing tells differences between them from chance/);
});

test('cells that agree make none', () => {
  const summary = summarize(smallSweep(SWEEP, () => ({ energy_j: 100, latencies: [1e6] })));
  assert.is(heatMaps(summary, [ENERGY])[0].noise, 'The 6 cells agree within 0.01 %.');
});

test('functions that are hardly ever called leave their buckets unknown', () => {
  // 28 functions, the i-th called ⌈invocations / 2 / i⌉ times: with 8 invocations the median is called once.
  const maps = heatMaps(summarize(azureSweep(8)), [ENERGY]);
  assert.is(maps.length, 3);
  for (const { noise } of maps) assert.match(noise ?? '', /^Too few repeats: .* called 1\.0 times in a run/);
});

test('one axis makes no map', () => {
  const axes = { policy: ['eevdf', 'domains:1', 'domains:2'] };
  const sweep = { replications: 2, baseline: { policy: 'eevdf' }, axes };
  assert.equal(heatMaps(summarize(smallSweep(sweep, () => ({ energy_j: 1, latencies: [] }))), [ENERGY]), []);
});

test.run();
