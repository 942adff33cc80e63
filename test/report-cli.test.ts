// vtime report: a table on stdout, the page in a file, everything else on stderr.

import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { temporaryFolder } from './support/folder.js';

const folder = temporaryFolder('report');
const out = join(folder, 'out');

function vtime(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, ['bin/vtime.js', ...args], (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

test.before(async () => {
  const { code, stderr } = await vtime('run', 'examples/fcfs.yaml', '-o', out, '--quiet');
  assert.is(code, 0, stderr);
});

test('the table goes to stdout, the page into the folder', async () => {
  const { code, stdout, stderr } = await vtime('report', out);
  assert.is(code, 0, stderr);
  assert.match(stdout, /1 cell, seed 1/);
  // Tasks have no latency but a response: jobs of 10 s on two cores end at 10, 10, 20 and 20 s.
  assert.match(stdout, /response\n +n +s\nglobal-fifo +1 +15\.00\n/);
  assert.is(stderr, `report in ${join(out, 'report.html')}\n`);
  assert.match(readFileSync(join(out, 'report.html'), 'utf8'), /^<!doctype html>/);
});

test('--json and -o: JSON on stdout, the page where it is wanted', async () => {
  const file = join(folder, 'page.html');
  const { code, stdout, stderr } = await vtime('report', out, '--json', '--quiet', '-o', file);
  assert.is(code, 0);
  assert.is(stderr, '');
  assert.is(JSON.parse(stdout).scenarios[0].points[0].replications, 1);
  assert.ok(existsSync(file));
});

test('a folder without results and a page that cannot be written are input errors', async () => {
  const missing = await vtime('report', join(folder, 'nothing'));
  assert.is(missing.code, 2);
  assert.match(missing.stderr, /expected a folder written by/);
  const unwritable = await vtime('report', out, '-o', join(out, 'run.json', 'where.html'));
  assert.is(unwritable.code, 2);
  assert.match(unwritable.stderr, /where\.html: cannot write: ENOTDIR; expected the path of a file/);
  assert.not.match(unwritable.stderr, / at /);
});

test.run();
