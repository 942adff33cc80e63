// Function profiles: shapes on a machine of so many CPUs, and how functions are mapped to them.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  bundledTracePath,
  type FunctionProfile,
  functionRows,
  loadProfiles,
  mapProfiles,
  readTrace,
  resolveProfile,
} from '../src/trace/index.js';
import { failure, folderOf } from './support/traces.js';

const near = (value: number, expected: number) =>
  assert.ok(Math.abs(value - expected) < 1e-9, `${value} is not ${expected}`);

const profile = (name: string, phases: FunctionProfile['phases']): FunctionProfile => ({
  name,
  suite: 'test',
  phases,
  source: {},
});

const SHORT = profile('short', [{ kind: 'cpu', work_ms: 10 }]);
const LONG = profile('long', [
  { kind: 'io', wait_ms: 25, disk: true },
  { kind: 'cpu', work_ms: 75 },
]);
const OPTIONS = { profiles: [SHORT, LONG], suites: ['test'], cpus: 4 };

/** A function whose 25th percentile is `ms`. */
async function functionOf(...warm_ms: number[]) {
  const rows = functionRows(await readTrace(bundledTracePath('azure2019-28')));
  return warm_ms.map((ms, i) => ({ ...rows[i], duration_p25_ms: ms }));
}

test('phases become fractions of the uncontended time', () => {
  const resolved = resolveProfile(LONG, 4);
  assert.equal(resolved.phases, [
    { kind: 'io', fraction: 0.25, disk: true },
    { kind: 'cpu', fraction: 0.75 },
  ]);
  assert.is(resolved.warm_ns, 100e6);
  assert.is(resolved.threads, 1);
  assert.is(resolved.cpus_used, 0.75);
});

test('parallel work is divided over the threads, its CPU time stays', () => {
  const work = profile('pool', [
    { kind: 'cpu', work_ms: 6 },
    { kind: 'parallel', work_ms: 60, threads: 'all', barrier: 'spin', rounds: 20 },
  ]);
  // 4 CPUs: 6 + 60/4 = 21 ms of which 15 parallel; 66 ms of CPU in 21 ms
  const four = resolveProfile(work, 4);
  assert.is(four.warm_ns, 66e6); // as measured: with one CPU
  assert.is(four.threads, 4);
  near(four.cpus_used, 66 / 21);
  near(four.phases[1].fraction, 15 / 21);
  // one CPU: 66 ms, one CPU in use
  assert.is(resolveProfile(work, 1).warm_ns, 66e6);
  near(resolveProfile(work, 1).cpus_used, 1);
});

test('polling uses the CPU while it waits; for a sibling two of them', () => {
  const poll = (until: 'io' | 'sibling') =>
    resolveProfile(
      profile('p', [
        { kind: 'cpu', work_ms: 50 },
        { kind: 'poll', wait_ms: 50, until },
      ]),
      4,
    );
  assert.is(poll('io').cpus_used, 1);
  assert.is(poll('sibling').cpus_used, 1.5);
  assert.is(poll('sibling').threads, 2);
  assert.ok(poll('io').polls);
});

test('the bundled profiles are valid on any machine, their fractions add up to 1, each names its sources', () => {
  const profiles = loadProfiles();
  for (const stated of profiles) {
    assert.ok(Object.keys(stated.source).length > 0, stated.name);
    for (const cpus of [1, 4, 48]) {
      const { phases, warm_ns, cpus_used } = resolveProfile(stated, cpus);
      near(
        phases.reduce((sum, { fraction }) => sum + fraction, 0),
        1,
      );
      assert.ok(warm_ns > 0 && cpus_used > 0);
    }
  }
  // 10 + 740 + 10 ms, of which 740 ms CPU
  const video = resolveProfile(profiles.find(({ name }) => name === 'video-processing')!, 48);
  assert.is(video.warm_ns, 760e6);
  near(video.cpus_used, 740 / 760);
});

test('nearest-duration takes the longest profile that is not longer, else the shortest', async () => {
  const rows = await functionOf(5, 10, 99, 100, 400);
  const result = mapProfiles(rows, { mapping: 'nearest-duration', ...OPTIONS });
  assert.equal(
    result.functions.map(({ profile }) => profile.name),
    ['short', 'short', 'short', 'long', 'long'],
  );
  // |10 − 5|/5 = 1, 0, |10 − 99|/99 = .8989…, 0, |100 − 400|/400 = .75
  const errors = result.functions.map(({ relative_error }) => relative_error);
  for (const [i, expected] of [1, 0, 89 / 99, 0, 0.75].entries()) near(errors[i], expected);
  near(result.maximum_error, 1);
  near(result.mean_error, (1 + 89 / 99 + 0.75) / 5);
});

test('none is one CPU burst of the drawn duration, without an error', async () => {
  const result = mapProfiles(await functionOf(5, 500), { mapping: 'none', cpus: 4 });
  for (const { profile, relative_error } of result.functions) {
    assert.equal(profile.phases, [{ kind: 'cpu', fraction: 1 }]);
    assert.is(relative_error, 0);
  }
  assert.is(result.maximum_error, 0);
});

test('a table names functions by prefix, and * fits the rest', async () => {
  const rows = await functionOf(20, 20, 20);
  const table = { [rows[1].function!.slice(0, 12)]: 'long', '*': 'short' };
  const result = mapProfiles(rows, { mapping: 'table', table, ...OPTIONS });
  assert.equal(
    result.functions.map(({ profile }) => profile.name),
    ['short', 'long', 'short'],
  );
  // |10 − 20|/20 and |100 − 20|/20
  near(result.maximum_error, 4);
});

test('mistakes in a mapping name their place', async () => {
  const rows = await functionOf(20, 20);
  const message = async (table: Record<string, string>) =>
    (await failure(() => mapProfiles(rows, { mapping: 'table', table, ...OPTIONS }))).message;
  assert.is(await message({ '*': 'shrt' }), 'table.*: no profile "shrt"; expected "short"?');
  assert.match(await message({ nosuch: 'short' }), 'table.nosuch: "nosuch" fits 0 functions');
  assert.match(
    await message({ [rows[0].function!]: 'short' }),
    'has no profile; expected an entry for every function',
  );
  const suite = await failure(() =>
    mapProfiles(rows, { mapping: 'nearest-duration', ...OPTIONS, suites: ['tset'] }),
  );
  assert.is(suite.message, 'suites: no suite "tset"; expected some of test');
  const missing = await failure(() =>
    mapProfiles([{ ...rows[0], duration_p25_ms: null }], { mapping: 'nearest-duration', ...OPTIONS }),
  );
  assert.is(missing.code, 'duration_missing');
});

test('profile files are checked by schema', async () => {
  const folder = folderOf({});
  const message = async (document: unknown) => {
    const path = join(folder, 'profiles.json');
    writeFileSync(path, typeof document === 'string' ? document : JSON.stringify(document));
    return (await failure(() => loadProfiles(path))).message;
  };
  const file = (profiles: unknown[]) => ({ format: 'vtime.profiles', version: 1, sources: {}, profiles });
  assert.match(await message('{'), 'cannot read');
  const misspelt = { ...SHORT, phases: [{ kind: 'cpu', work_ms: 1, worc_ms: 2 }] };
  assert.match(await message(file([misspelt])), /profiles\.0\.phases\.0: .*worc_ms.*; expected "work_ms"\?/);
  assert.match(
    await message(file([{ ...SHORT, phases: [{ kind: 'cpu', work_ms: -1 }] }])),
    'phases.0.work_ms',
  );
  assert.match(await message(file([SHORT, SHORT])), 'two profiles are called "short"');
  assert.match((await failure(() => loadProfiles(join(folder, 'absent.json')))).message, 'absent.json');
});

test.run();
