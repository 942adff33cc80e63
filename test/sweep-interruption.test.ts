// A sweep that is killed or interrupted at any moment loses and repeats no finished cell, and ends in the same bytes. Two
// processes don't write one store.

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type ConfigInput, runSweep } from '../src/index.js';
import { lockStore } from '../src/sweep/lock.js';
import { configFile, type Finished, freshFolder, node, SPLIT, tableHashes } from './support/sweeps.js';
import { failure } from './support/traces.js';

/** 3 domain counts × 10 seeds = 30 cells, with a file of rows each. */
const CELLS = 30;
/** Stops of one store. */
const RUNS = 3;
const MANY: ConfigInput = {
  ...SPLIT,
  run: { horizon: '500s', warmup: '10s' },
  output: { invocations: 'sample:50' },
  sweep: { ...SPLIT.sweep, replications: 10 },
};
const config = configFile(MANY);
const command = (out: string) => ['bin/vtime.js', 'sweep', config, '-o', out, '--workers', '2', '--quiet'];

const whole = freshFolder();
assert.is((await node(command(whole))).code, 0);
const expected = tableHashes(whole);

/** Cell ids of the journal, in order; what follows the last newline is a line that was cut short. */
function finishedCells(out: string): string[] {
  const file = join(out, 'journal.ndjson');
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line.slice(17)).cell_id);
}

/** Sweeps, and sends the signal a time after that many cells are in the journal; the exit code is null if it was killed. */
async function stopAfter(
  out: string,
  signal: NodeJS.Signals,
  cells: number,
  delay_ms: number,
): Promise<Finished> {
  let running = true;
  const run = node(command(out), async (kill) => {
    while (running && (!existsSync(join(out, 'lock')) || finishedCells(out).length < cells)) await sleep(10);
    await sleep(delay_ms);
    kill(signal);
  });
  const finished = await run;
  running = false;
  return finished;
}

/** Sweeps with the signal as soon as the process has written the line of cell number `cells`, before the next one can come. */
function stopAt(out: string, signal: NodeJS.Signals, cells: number): Promise<Finished> {
  const hook = `./dist/test/support/stop-self.js?signal=${signal}&cells=${cells}`;
  return node(['--import', hook, ...command(out)]);
}

/** Sweeps until one run is not stopped, and checks what each run found and left. */
async function stopUntilDone(signal: NodeJS.Signals, stopped: number | null): Promise<void> {
  const out = freshFolder();
  // The first stop comes in time for sure; the others strike anywhere, if the sweep is not done before.
  const first = await stopAt(out, signal, 1 + Math.floor((CELLS / 2) * Math.random()));
  assert.is(first.code, stopped, first.stderr);
  let stops = 1;
  let before = finishedCells(out);
  for (let run = 1; run < RUNS; run++) {
    // Anywhere between the start and the writing of the tables; a cell takes some 5 ms.
    const cells = Math.floor((CELLS + 1) * ((run + Math.random()) / RUNS));
    const delay_ms = 20 * Math.random();
    const { code, stderr } = await stopAfter(out, signal, cells, delay_ms);
    const after = finishedCells(out);
    assert.equal(after.slice(0, before.length), before, 'finished cells stay');
    assert.is(
      new Set(after).size,
      after.length,
      `no cell twice; stopped ${delay_ms} ms after ${cells} cells`,
    );
    before = after;
    if (code === 0) break;
    // With everything written nothing listens for a signal any more.
    const expectedCode = existsSync(join(out, 'run.json')) ? null : stopped;
    assert.is(code, expectedCode, `${stderr} (${signal} ${delay_ms} ms after ${cells} cells)`);
    stops++;
  }
  const { code, stderr } = await node(command(out));
  assert.is(code, 0, stderr);
  const cells = finishedCells(out);
  assert.equal([cells.length, new Set(cells).size], [CELLS, CELLS]);
  assert.equal(tableHashes(out), expected, `after ${stops} stops`);
  assert.equal(readdirSync(out).sort(), [
    'classes.arrow',
    'histograms.arrow',
    'invocations',
    'journal.ndjson',
    'results.arrow',
    'run.json',
  ]);
  assert.is(readdirSync(join(out, 'invocations')).length, CELLS);
}

test('kill -9 at random moments, again and again', () => stopUntilDone('SIGKILL', null));

test('Ctrl-C at random moments ends with 130', () => stopUntilDone('SIGINT', 130));

test('two processes that write one store: the second is refused, and leaves it alone', async () => {
  const out = freshFolder();
  mkdirSync(out);
  const release = await lockStore(out);
  const { code, stderr } = await node(command(out));
  assert.is(code, 2);
  assert.match(stderr, `lock: another sweep writes to this folder: process ${process.pid} on `);
  assert.match(stderr, 'expected one writer at a time');
  assert.equal(readdirSync(out), ['lock']);
  await release();
  assert.is((await node(command(out))).code, 0);
  assert.equal(tableHashes(out), expected);
});

test('two sweeps of one process, likewise', async () => {
  const out = freshFolder();
  const results = await Promise.allSettled([runSweep(SPLIT, { out }), runSweep(SPLIT, { out })]);
  const refused = results.filter(({ status }) => status === 'rejected');
  assert.is(refused.length, 1);
  assert.is((refused[0] as PromiseRejectedResult).reason.code, 'store_locked');
});

/** A store whose lock names this process. */
function lockedBy(holder: object): string {
  const out = freshFolder();
  mkdirSync(out);
  writeFileSync(join(out, 'lock'), JSON.stringify({ started: '', since: 'then', ...holder }));
  return out;
}

test('the lock of a dead process is taken over, that of another machine is not', async () => {
  // Above the largest pid that Linux gives, 2^22.
  await runSweep(SPLIT, { out: lockedBy({ host: hostname(), pid: 2 ** 22 + 1 }) });
  // The parent lives, but was started at another time than the one that held the lock.
  await runSweep(SPLIT, {
    out: lockedBy({ host: hostname(), pid: process.ppid, started: 'another boot 1' }),
  });
  const elsewhere = lockedBy({ host: 'elsewhere.example', pid: 1 });
  const error = await failure(() => runSweep(SPLIT, { out: elsewhere }));
  assert.is(error.code, 'store_locked');
  assert.is(error.exitCode, 2);
  assert.match(error.message, 'process 1 on elsewhere.example, since then');
  assert.ok(existsSync(join(elsewhere, 'lock')));
});

test.run();
