// An interrupted sweep goes on where it stopped, and ends in the same bytes as one that ran through.

import { appendFileSync, existsSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { JournalDamage } from '../src/sweep/journal.js';
import { readStore } from '../src/sweep/store.js';
import { runSweep } from '../src/sweep/sweep.js';
import { freshFolder, SPLIT, tableHashes } from './support/sweeps.js';
import { failure } from './support/traces.js';

const whole = freshFolder();
await runSweep(SPLIT, { out: whole, workers: 2 });
const expected = tableHashes(whole);

/** A store whose sweep was stopped after `cells` cells. */
async function stoppedAfter(cells: number): Promise<string> {
  const out = freshFolder();
  const controller = new AbortController();
  let finished = 0;
  const error = await failure(() =>
    runSweep(SPLIT, {
      out,
      workers: 1,
      signal: controller.signal,
      onCell: () => {
        if (++finished === cells) controller.abort();
      },
    }),
  );
  assert.is(error.exitCode, 130);
  return out;
}

const lines = (out: string) => readFileSync(join(out, 'journal.ndjson'), 'utf8').split('\n').slice(0, -1);

/** Goes on with a sweep; returns how many cells it simulated and the damage it found. */
async function goOn(out: string, config = SPLIT): Promise<{ simulated: number; damage: JournalDamage[] }> {
  const damage: JournalDamage[] = [];
  const { cells } = await runSweep(config, { out, workers: 2, onDamage: (found) => damage.push(found) });
  return { simulated: cells.simulated, damage };
}

test('after an interruption only the missing cells run, and the bytes are the same', async () => {
  const out = await stoppedAfter(2);
  assert.is(lines(out).length, 2);
  assert.not.ok(existsSync(join(out, 'results.arrow')));
  assert.is((await failure(() => readStore(out))).code, 'store_unfinished');
  assert.equal(await goOn(out), { simulated: 4, damage: [] });
  assert.equal(tableHashes(out), expected);
});

test('a finished sweep runs nothing again', async () => {
  assert.equal(await goOn(whole), { simulated: 0, damage: [] });
  assert.equal(tableHashes(whole), expected);
});

test('a line that was cut short is named and dropped', async () => {
  const out = await stoppedAfter(3);
  const file = join(out, 'journal.ndjson');
  const kept = lines(out).slice(0, 2).join('\n').length + 1;
  const { length } = readFileSync(file);
  truncateSync(file, length - 100);
  // Lines 1 and 2 stay, line 3 lost its last 100 bytes.
  assert.equal(await goOn(out), {
    simulated: 4,
    damage: [{ line: 3, bytes: length - 100 - kept, cut: true }],
  });
  assert.equal(tableHashes(out), expected);
});

test('a damaged line in the middle is passed over; those after it count', async () => {
  const out = await stoppedAfter(3);
  const file = join(out, 'journal.ndjson');
  const text = lines(out);
  const [first, second, third] = text;
  writeFileSync(file, `${[first, second.replace(/"completed"/, '"horizon__"'), third].join('\n')}\n`);
  const { simulated, damage } = await goOn(out);
  assert.is(simulated, 4);
  assert.equal(damage, [{ line: 2, bytes: Buffer.byteLength(second) + 1, cut: false }]);
  assert.equal(tableHashes(out), expected);
});

test('garbage at the end is cut off', async () => {
  const out = await stoppedAfter(2);
  appendFileSync(join(out, 'journal.ndjson'), 'garbage\nmore of it\n');
  // 8 + 11 bytes, from line 3 on
  assert.equal((await goOn(out)).damage, [{ line: 3, bytes: 19, cut: true }]);
  assert.equal(tableHashes(out), expected);
});

test('a larger grid takes the cells that are there, a changed config none', async () => {
  const out = freshFolder();
  await goOn(out, { ...SPLIT, sweep: { ...SPLIT.sweep, axes: { 'policy.domains': [1, 4] } } });
  // one more point × 2 seeds
  assert.is((await goOn(out)).simulated, 2);
  assert.equal(tableHashes(out), expected);
  assert.is((await goOn(out, { ...SPLIT, run: { horizon: '501s' } })).simulated, 6);
});

test('the label and the path of the config are no part of a cell', async () => {
  const out = freshFolder();
  await goOn(out);
  assert.is((await goOn(out, { ...SPLIT, name: 'another label' })).simulated, 0);
  const named = (await readStore(out)).cells.map(({ config }) => config.name);
  assert.equal(new Set(named), new Set(['another label']));
});

test.run();
