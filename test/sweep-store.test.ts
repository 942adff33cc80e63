// The result store: what a sweep found out comes back from its files, every value in a column that says its unit.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tableFromIPC } from 'apache-arrow';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { SweepCell } from '../src/sweep/store.js';
import { readStore } from '../src/sweep/store.js';
import { runSweep, sweep } from '../src/sweep/sweep.js';
import { freshFolder, SPLIT, STALLING } from './support/sweeps.js';
import { failure } from './support/traces.js';

const out = freshFolder();
const yielded: SweepCell[] = [];
await runSweep(SPLIT, { out, workers: 2, onCell: (cell) => yielded.push(cell) });

/** Everything of a cell that can be compared field by field. */
function plain(cell: SweepCell): object {
  if (cell.outcome === 'failed') return cell;
  return {
    ...cell,
    histograms: cell.histograms.map(({ kind, class: name, histogram }) => ({
      kind,
      name,
      sum: histogram.sum,
      min: histogram.min,
      max: histogram.max,
      indices: Array.from(histogram.indices),
      counts: Array.from(histogram.counts),
    })),
  };
}

test('cells read from the store equal those that the sweep yielded, in grid order', async () => {
  const { cells } = await readStore(out);
  assert.equal(
    cells.map(({ index, point, replication, seed, values }) => [
      index,
      point,
      replication,
      seed,
      values['policy.domains'],
    ]),
    [
      [0, 0, 0, 1, 1],
      [1, 0, 1, 2, 1],
      [2, 1, 0, 1, 2],
      [3, 1, 1, 2, 2],
      [4, 2, 0, 1, 4],
      [5, 2, 1, 2, 4],
    ],
  );
  yielded.sort((a, b) => a.index - b.index);
  assert.equal(cells.map(plain), yielded.map(plain));
  assert.equal(
    cells.map(({ is_baseline }) => is_baseline),
    [true, true, false, false, false, false],
  );
});

test('sweep() yields the same cells without a store', async () => {
  const cells: SweepCell[] = [];
  for await (const cell of sweep(SPLIT, { workers: 2 })) cells.push(cell);
  cells.sort((a, b) => a.index - b.index);
  assert.equal(cells.map(plain), yielded.map(plain));
});

test('columns are flat, carry units and one axis each', () => {
  const { schema } = tableFromIPC(readFileSync(join(out, 'results.arrow')));
  const names = schema.fields.map(({ name }) => name);
  for (const name of [
    'cell_id',
    'seed',
    'axis.policy.domains',
    'latency_ms_p99',
    'states_ms_run_queue',
    'stint_us_mean',
    'energy_j',
    'worker_queue_peak',
    'config_sha256',
  ]) {
    assert.ok(names.includes(name), name);
  }
  assert.is(schema.metadata.get('vtime.schema'), 'vtime.results');
  assert.is(schema.metadata.get('vtime.version'), '1');
  const text = readFileSync(join(out, 'results.arrow')).toString('latin1');
  assert.not.match(text, new Date().toISOString().slice(0, 10));
});

test('the merged histogram has the count and mean that the metrics state', async () => {
  const { cells } = await readStore(out);
  for (const cell of cells) {
    if (cell.outcome === 'failed') throw new Error('failed');
    const merged = cell.histograms.find((entry) => entry.kind === 'latency' && entry.class === '');
    assert.is(merged?.histogram.count, cell.metrics.latency_ms.count);
    assert.is(merged?.histogram.mean, cell.metrics.latency_ms.mean * 1e6);
  }
});

test('what was not measured is NaN, not 0', async () => {
  // Ends at 1 s, before either job: no latency at all, so it has no mean.
  const folder = freshFolder();
  await runSweep({ ...STALLING, run: { end: 'horizon', horizon: '500ms' } }, { out: folder, workers: 1 });
  const [cell] = (await readStore(folder)).cells;
  if (cell.outcome === 'failed') throw new Error(cell.error.message);
  assert.is(cell.metrics.latency_ms.count, 0);
  assert.ok(Number.isNaN(cell.metrics.latency_ms.mean));
});

test('run.json tells events, workers, versions and the config', async () => {
  const { run, config, cells } = await readStore(out);
  assert.is(run.cells.total, 6);
  assert.is(run.workers, 2);
  assert.equal(config.sweep?.axes, { 'policy.domains': [1, 2, 4] });
  const events = cells.reduce((sum, cell) => sum + (cell.outcome === 'failed' ? 0 : cell.metrics.events), 0);
  assert.is(run.events, events);
});

test('a changed table, a missing store and an unfinished one are told apart', async () => {
  const folder = freshFolder();
  assert.is((await failure(() => readStore(folder))).code, 'store_unreadable');
  await runSweep(SPLIT, { out: folder, workers: 2 });
  const file = join(folder, 'classes.arrow');
  const bytes = readFileSync(file);
  bytes[bytes.length >> 1] ^= 1;
  writeFileSync(file, bytes);
  assert.is((await failure(() => readStore(folder))).code, 'store_damaged');
});

test.run();
