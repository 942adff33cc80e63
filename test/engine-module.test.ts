// The compiled engine keeps to its rules: nothing from outside, nothing managed, static data where layout.ts leaves room.

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { temporaryFolder } from './support/folder.js';

/** STATIC_DATA and ARENA of assembly/core/layout.ts. */
const STATIC_DATA = 0x1000_0000;
const ARENA = 0x1010_0000;

const folder = temporaryFolder('module');
const textFile = join(folder, 'vtime.wat');
const outFile = join(folder, 'vtime.wasm');
const compiled = spawnSync(
  process.execPath,
  [
    'node_modules/assemblyscript/bin/asc.js',
    '--target',
    'debug',
    '--textFile',
    textFile,
    '--outFile',
    outFile,
  ],
  { encoding: 'utf8' },
);
assert.is(compiled.status, 0, compiled.stderr);
const text = readFileSync(textFile, 'utf8');

test('the compiler has nothing to warn of', () => {
  assert.not.match(compiled.stderr, 'WARNING');
});

test('it imports nothing: no host time, no host randomness, no input or output', () => {
  assert.not.match(text, /^ \(import /m);
});

test('it has no managed objects: of the standard library it uses the software logarithm and exponential only', () => {
  const library = [...text.matchAll(/^ \(func \$(~lib\/[^ ]+)/gm)].map(([, name]) => name).sort();
  assert.equal(library, ['~lib/math/NativeMath.exp', '~lib/math/NativeMath.log']);
});

test("the compiler's static data lies between the engine's regions and the arena", () => {
  const offsets = [...text.matchAll(/^ \(data \$\d+ \(i32\.const (\d+)\)/gm)].map(([, at]) => Number(at));
  assert.ok(offsets.length > 0);
  for (const at of offsets) assert.ok(at >= STATIC_DATA && at < ARENA, String(at));
});

test.run();
