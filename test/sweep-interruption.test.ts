// A sweep that is killed or interrupted at any moment loses and repeats no finished cell, and ends in the same bytes. Two
// processes don't write one store.

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type ConfigInput, runSweep } from '../src/index.js';
import { configFile, freshFolder, node, SPLIT, tableHashes } from './support/sweeps.js';
import { failure } from './support/traces.js';

/** 3 domain counts × 14 seeds = 42 cells, with a file of rows each. */
const CELLS = 42;
const MANY: ConfigInput = {
  ...SPLIT,
  run: { horizon: '1000s', warmup: '10s' },
  output: { invocations: 'sample:50' },
  sweep: { ...SPLIT.sweep, replications: 14 },
};
const config = configFile(MANY);
const command = (out: string) => ['bin/vtime.js', 'sweep', config, '-o', out, '--workers', '2', '--quiet'];

const whole = freshFolder();
const begun = performance.now();
assert.is((await node(command(whole))).code, 0);
const duration_ms = performance.now() - begun;
const expected = tableHashes(whole);

/** Cell ids of the journal, in order; what follows the last newline is a line that was cut short. */
function finishedCells(out: string): string[] {
  const file = join(out, 'journal.ndjson');
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line.slice(17)).cell_id);
}

/** Sweeps and sends the signal after a time; returns the exit code, null if the process was killed. */
function stopAfter(
  out: string,
  signal: NodeJS.Signals,
  delay_ms: number,
): Promise<{ code: number | null; stderr: string }> {
  return node(command(out), (kill) => setTimeout(() => kill(signal), delay_ms));
}

/** Sweeps until one run is not stopped, and checks what each run found and left. */
async function stopUntilDone(signal: NodeJS.Signals, stopped: number | null): Promise<void> {
  const out = freshFolder();
  let stops = 0;
  let before: string[] = [];
  for (let run = 0; run < 5; run++) {
    // Anywhere between the start and the end of what a whole sweep takes: in the cells mostly, in writing the tables too.
    const delay_ms = duration_ms * (0.3 + 0.7 * Math.random());
    const { code, stderr } = await stopAfter(out, signal, delay_ms);
    const after = finishedCells(out);
    assert.equal(after.slice(0, before.length), before, 'finished cells stay');
    assert.is(new Set(after).size, after.length, `no cell twice; stopped after ${delay_ms} ms`);
    before = after;
    if (code === 0) break;
    // A signal that comes before the sweep listens for it ends the process.
    if (code !== null || existsSync(out)) assert.is(code, stopped, stderr);
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

test('two processes that write one store: the second is refused, the first goes on', async () => {
  const out = freshFolder();
  const first = node(command(out));
  while (!existsSync(join(out, 'lock'))) await sleep(5);
  const { code, stderr } = await node(command(out));
  assert.is(code, 2);
  assert.match(
    stderr,
    /lock: another sweep writes to this folder: process \d+ on .*; expected one writer at a time/,
  );
  assert.is((await first).code, 0);
  assert.equal(tableHashes(out), expected);
  assert.not.ok(existsSync(join(out, 'lock')));
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
