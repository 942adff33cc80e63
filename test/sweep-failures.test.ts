// A cell that fails does not end the sweep; a stalled cell is a result.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { ConfigInput } from '../src/index.js';
import { readStore, type SweepCell } from '../src/sweep/store.js';
import { runSweep, type SweepProgress, sweep } from '../src/sweep/sweep.js';
import { freshFolder, SPLIT, STALLING } from './support/sweeps.js';
import { failure } from './support/traces.js';

/** The second of three windows does not end with an interval of the trace, which only its cell finds out. */
const ONE_FAILS: ConfigInput = {
  machine: 'xeon-8160-4',
  workload: {
    serverless: { trace: 'azure2019-28', window: { start: '600min', length: '1min' }, offered_load: 0.2 },
  },
  run: { horizon: '1s' },
  sweep: { replications: 1, axes: { 'workload.serverless.window.length': ['1min', '61s', '2min'] } },
};

test('a failing cell is stored with code and message, and the others finish', async () => {
  const out = freshFolder();
  const run = await runSweep(ONE_FAILS, { out, workers: 2 });
  assert.is(run.cells.failed, 1);
  const [first, second, third] = (await readStore(out)).cells;
  assert.is.not(first.outcome, 'failed');
  assert.is.not(third.outcome, 'failed');
  if (second.outcome !== 'failed') throw new Error('the cell did not fail');
  assert.is(second.error.exit_code, 2);
  assert.match(second.error.message, '61s is not a whole number of intervals');
});

test('a failed cell is tried again by the next run', async () => {
  const out = freshFolder();
  await runSweep(ONE_FAILS, { out, workers: 2 });
  const { cells } = await runSweep(ONE_FAILS, { out, workers: 2 });
  assert.equal([cells.simulated, cells.resumed, cells.failed], [1, 2, 1]);
});

test('a stalled cell is a result, with its reason', async () => {
  const out = freshFolder();
  const config: ConfigInput = {
    ...STALLING,
    sweep: { replications: 1, axes: { 'kernel.watchdog_timeout': ['1s', '30s'] } },
  };
  const run = await runSweep(config, { out, workers: 2 });
  assert.equal([run.cells.stalled, run.cells.failed], [1, 0]);
  const [stalled, completed] = (await readStore(out)).cells;
  if (stalled.outcome === 'failed') throw new Error(stalled.error.message);
  assert.is(stalled.outcome, 'stalled');
  assert.match(stalled.reason?.message ?? '', 'job');
  assert.is(completed.outcome, 'completed');
});

test('mistakes in the config end a sweep before its first cell', async () => {
  const wrong: ConfigInput = { ...SPLIT, sweep: { axes: { 'policy.domians': [1, 2] } } };
  const error = await failure(() => runSweep(wrong, { out: freshFolder() }));
  assert.is(error.exitCode, 2);
  assert.match(error.message, 'did you mean "domains"?');
});

test('a trace that cannot be read ends a sweep before its first cell', async () => {
  const config: ConfigInput = {
    workload: { serverless: { trace: './absent.arrow', window: { length: '1min' }, offered_load: 0.2 } },
  };
  const error = await failure(() => runSweep(config, { out: freshFolder() }));
  assert.is(error.exitCode, 2);
});

test('leaving the loop of sweep() stops it', async () => {
  const cells: SweepCell[] = [];
  for await (const cell of sweep(SPLIT, { workers: 1 })) {
    cells.push(cell);
    break;
  }
  assert.is(cells.length, 1);
});

test('the signal ends sweep() with an AbortedError', async () => {
  const controller = new AbortController();
  const error = await failure(async () => {
    for await (const _ of sweep(SPLIT, { workers: 1, signal: controller.signal })) controller.abort();
  });
  assert.is(error.exitCode, 130);
});

test('progress ends with every cell done', async () => {
  let last = { cells_done: 0, cells: 0, done: 0, events: 0 };
  const onProgress = (progress: SweepProgress) => {
    last = progress;
  };
  let events = 0;
  for await (const cell of sweep(SPLIT, { workers: 2, onProgress }))
    if (cell.outcome !== 'failed') events += cell.metrics.events;
  assert.equal([last.cells_done, last.cells, last.done, last.events], [6, 6, 1, events]);
});

test('points that agree in everything run once and are both reported', async () => {
  const out = freshFolder();
  const config: ConfigInput = {
    ...SPLIT,
    sweep: { replications: 1, axes: { policy: ['global-fifo', { name: 'global-fifo', slice: '3ms' }] } },
  };
  await runSweep(config, { out, workers: 2 });
  const { cells } = await readStore(out);
  assert.is(cells.length, 2);
  assert.is(cells[0].cell_id, cells[1].cell_id);
  if (cells[0].outcome === 'failed' || cells[1].outcome === 'failed') throw new Error('failed');
  assert.equal(cells[1].metrics, cells[0].metrics);
  assert.is(cells[1].classes.length, cells[0].classes.length);
});

test.run();
