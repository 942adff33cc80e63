// Every row of the table that `vtime selftest` runs, most in their short form; and the command.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { runRow, SELFTEST_ROWS } from '../src/selftest/index.js';
import { vtime } from './support/sweeps.js';

/** Rows whose full bounds, 1 % and 2 %, take a few seconds and are no other test's. */
const FULL = /tandem|Jackson|closed network, (1|5|20) |vacations|set-up/;

for (const row of SELFTEST_ROWS) {
  const depth = FULL.test(row.name) ? 'full' : 'short';
  test(`${row.name}${depth === 'full' ? ', within 1 %' : ''}`, async () => {
    const { passed, checks, error } = await runRow(row, depth);
    const failed = checks.filter((check) => !check.passed);
    assert.ok(passed, error ?? JSON.stringify(failed));
    assert.ok(checks.length > 0);
  });
}

test('names are unique, so that a filter can mean one row', () => {
  assert.is(new Set(SELFTEST_ROWS.map(({ name }) => name)).size, SELFTEST_ROWS.length);
});

test('a row whose value is wrong fails, and one that breaks off says why', async () => {
  const check = { quantity: 'x', value: 1, expected: 2, tolerance: 0, passed: false };
  const wrong = await runRow({ name: 'wrong', kind: 'exact', run: async () => [check] }, 'short');
  assert.is(wrong.passed, false);
  const broken = await runRow(
    { name: 'broken', kind: 'exact', run: () => Promise.reject(new Error('why')) },
    'short',
  );
  assert.is(broken.passed, false);
  assert.is(broken.error, 'why');
});

test('vtime selftest --filter prints value, expected value and verdict', async () => {
  const { code, stdout, stderr } = await vtime('selftest', '--filter', 'cloudsimplus#96');
  assert.is(code, 0);
  assert.is(stderr, '');
  assert.match(stdout, /^ok {5}cloudsimplus#96: .*\n {4}ok {5}end 1, s +10 {2}expected 10 /);
  assert.match(stdout, /\n1 passed, 0 failed in /);
});

test('vtime selftest --json', async () => {
  const { code, stdout } = await vtime('selftest', '--filter', 'round robin', '--json');
  assert.is(code, 0);
  const { rows, passed, failed } = JSON.parse(stdout);
  assert.equal([passed, failed], [2, 0]);
  assert.equal(
    rows.map(({ checks }: { checks: { value: number; expected: number }[] }) => [
      checks[0].value,
      checks[0].expected,
    ]),
    [
      [12, 12],
      [16, 16],
    ],
  );
});

test('a filter that fits nothing is an error', async () => {
  const { code, stderr } = await vtime('selftest', '--filter', 'no such row');
  assert.is(code, 2);
  assert.match(stderr, /no row's name holds "no such row"/);
});

test.run();
