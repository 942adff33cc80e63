// vtime trace import | info: data on stdout, the report on stderr.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { traceCommand } from '../src/cli/trace.js';
import type { TraceSummary } from '../src/trace/index.js';
import { captured } from './support/command-line.js';
import { DURATION_HEADER, failure, folderOf } from './support/traces.js';

/** Runs the command and returns what it wrote. */
function run(...args: string[]): Promise<{ stdout: string; stderr: string }> {
  return captured(() => traceCommand().parseAsync(args, { from: 'user' }));
}

/** Two minutes; f: 3 calls of 100 ms and a cell without a number, g: 1 call, no durations. */
const folder = () =>
  folderOf({
    'i.csv': 'HashOwner,HashApp,HashFunction,Trigger,1,2\no,a,f,http,3,NaN\no,a,g,timer,0,1\n',
    'd.csv': `${DURATION_HEADER}\no,a,f,100,3,100,100,100,100,100,100,100,100,100\n`,
  });

test('import writes the Arrow file and reports on stderr what it kept and repaired', async () => {
  const out = join(folderOf({}), 'day.arrow');
  const { stdout, stderr } = await run('import', folder(), '-o', out);
  assert.is(stdout, '');
  assert.ok(existsSync(out));
  assert.match(stderr, 'i.csv (invocations): 2 rows read, 2 kept, 0 dropped');
  assert.match(stderr, 'invocations.nan × 1, repaired: empty or NaN count, read as 0 (first: i.csv:2:14)');
  assert.match(stderr, 'durations.missing × 1, kept');
  assert.match(stderr, 'invocations: 4');
});

test('info prints totals, offered concurrency and top functions on stdout', async () => {
  const { stdout, stderr } = await run('info', folder(), '--top', '1');
  assert.is(stderr, '');
  assert.match(stdout, 'functions: 2 (1 without durations)');
  assert.match(stdout, 'intervals: 2 of 60 s, minutes 1 to 2');
  // 3 calls × 0.1 s / 120 s = 0.0025
  assert.match(stdout, 'offered concurrency: 0.003 (model percentiles)');
  assert.match(stdout, 'top 1 by invocations:');
});

test('info of the Arrow file and of its source give the same JSON', async () => {
  const source = folder();
  const out = join(folderOf({}), 'day.arrow');
  const imported = await run('import', source, '-o', out, '--json', '--quiet');
  assert.is(imported.stderr, '');
  const { stdout } = await run('info', out, '--json');
  assert.is(stdout, imported.stdout);
  const summary: TraceSummary = JSON.parse(stdout);
  assert.is(summary.invocations, 4);
  assert.is(summary.offered_concurrency, 0.0025);
  assert.is(summary.offered_concurrency_of_averages, 0.0025);
  assert.equal(
    summary.top.map(({ function_id, mean_interarrival_ms }) => [function_id, mean_interarrival_ms]),
    // 120 s / 3 calls, 120 s / 1 call
    [
      ['o/a/f', 40_000],
      ['o/a/g', 120_000],
    ],
  );
});

test('lint tells on stdout; warnings make it exit with 2 only if asked to', async () => {
  const lint = async (...args: string[]) => {
    const { stdout, stderr } = await run('lint', ...args);
    const exitCode = process.exitCode ?? 0;
    process.exitCode = 0;
    return { stdout, stderr, exitCode };
  };
  const path = folder();
  const plain = await lint(path);
  assert.is(plain.exitCode, 0);
  assert.is(plain.stderr, '');
  assert.match(plain.stdout, 'azure2019, 3 rows read; 0 errors, 2 warnings, 1 note');
  assert.match(
    plain.stdout,
    'invocations.nan × 1, repaired: empty or NaN count, read as 0\n           i.csv:2:14\n',
  );
  assert.is((await lint(path, '--strict')).exitCode, 2);
  assert.is((await lint(path, '--quiet')).stdout, '');
  const result = JSON.parse((await lint(path, '--json')).stdout);
  assert.equal([result.errors, result.warnings, result.notes], [0, 2, 1]);
  assert.is((await lint(join(path, 'absent.csv'))).exitCode, 2);
});

test('import keeps single invocations, and generate writes what info reads', async () => {
  const out = join(folderOf({}), 't.arrow');
  await run(
    'import',
    folderOf({ 't.csv': 'app,func,end_timestamp,duration\np,f,2,1\n' }),
    '-o',
    out,
    '--quiet',
  );
  assert.match((await run('info', out)).stdout, '1 with their own start');
  const made = await run('generate', '-o', out, '--length', '1min', '--rate', '5/s', '--seed', '0');
  assert.match(made.stderr, /^wrote \d+ invocations to /);
  assert.match((await run('info', out)).stdout, 'functions: 10');
});

test('mistakes reach the caller as errors with exit code 2', async () => {
  assert.is((await failure(() => run('info', join(folder(), 'absent.csv')))).exitCode, 2);
  assert.is((await failure(() => run('info', folder(), '--top', 'many'))).code, 'usage');
});

test.run();
