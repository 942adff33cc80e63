// docs/conformance.md says where each row is checked: every test and self-test row it names exists, and every row of the
// self-test is named.

import { readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { SELFTEST_ROWS } from '../src/selftest/index.js';

const table = readFileSync('docs/conformance.md', 'utf8');
/** Cells of each row. */
const rows = table
  .split('\n')
  .filter((line) => line.startsWith('| ') && !line.startsWith('| row |'))
  .map((line) => line.slice(2, -2).split(' | '));
const references = rows.flatMap(([row, , tests]) =>
  [...(tests ?? '').matchAll(/([\w-]+): `([^`]+)`/g)].map(([, file, title]) => ({ row, file, title })),
);

test('every row names a test or a row of the self-test', () => {
  for (const cells of rows) {
    assert.is(cells.length, 3, cells.join(' | '));
    assert.match(cells[2], /^([\w-]+: `[^`]+`)( · [\w-]+: `[^`]+`)*$/);
  }
});

test('what the table names exists', () => {
  for (const { row, file, title } of references) {
    const found =
      file === 'selftest'
        ? SELFTEST_ROWS.some(({ name }) => name.includes(title))
        : readFileSync(`test/${file}.test.ts`, 'utf8').includes(title);
    assert.ok(found, `${row}: ${file} has no "${title}"`);
  }
});

test('every row of the self-test is in the table', () => {
  const named = references.filter(({ file }) => file === 'selftest').map(({ title }) => title);
  for (const { name } of SELFTEST_ROWS) {
    assert.ok(
      named.some((title) => name.includes(title)),
      name,
    );
  }
});

test('the counts are those of the table', () => {
  const [, done] = /(\d+) rows are done, 0 are not/.exec(table) ?? [];
  assert.is(Number(done), rows.length);
});

test.run();
