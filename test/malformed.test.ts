// Malformed inputs, each through the command line: exit code 2, one clear message with the place and what was expected,
// nothing on stdout, no stack trace, no result. The messages are in malformed/expected.json; VTIME_UPDATE=1 writes them anew.

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Malformed } from './malformed/case.js';
import { CONFIGS } from './malformed/configs.js';
import { DOCUMENTS } from './malformed/documents.js';
import { TRACES } from './malformed/traces.js';
import { commandLine, type Outcome } from './support/command-line.js';
import { temporaryFolder } from './support/folder.js';

const ALL: Malformed[] = [...CONFIGS, ...TRACES, ...DOCUMENTS];
const EXPECTED = 'test/malformed/expected.json';
/** Longer than this is a hang. */
const LIMIT_MS = 10_000;

const root = temporaryFolder('malformed');

/** The folder of a case, its files, and its arguments with their paths. */
function place({ files, args }: Malformed, index: number): { folder: string; out: string; args: string[] } {
  const folder = join(root, String(index), 'in');
  const out = join(root, String(index), 'out');
  mkdirSync(folder, { recursive: true });
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
  const path = (name: string) => (name === 'out' ? out : join(folder, name));
  return {
    folder,
    out,
    args: args.map((arg) => arg.replace(/(^|=)@(.*)$/, (_, before, name) => before + path(name))),
  };
}

/** What a message lists grows with vtime. */
const LISTS = /((?:known (?:\w+ )?are|one of) )[^;\n]+?(?=, got|; |, or |\n|$)/gm;

/** The folder as messages name it: whole, or from the current one. */
function pathsIn(folder: string): RegExp {
  const [here, whole] = [relative(process.cwd(), folder), folder].map((path) =>
    path.replace(/[.\\]/g, '\\$&'),
  );
  return new RegExp(`(?:${here}|(?:\\.\\./)*(?:\\.\\.)?${whole})(/?)`, 'g');
}

const title = ({ group, name }: Malformed) => `${group}: ${name}`;

/** What a user must be able to rely on, whatever the input. */
function checkOutcome({ exitCode, stdout, stderr }: Outcome, out: string): void {
  assert.is(exitCode, 2, `exit code ${exitCode}: ${stderr}`);
  assert.is(stdout, '');
  assert.ok(stderr.trim().length > 0, 'a message');
  assert.not.match(stderr, /\n\s+at |bug in vtime|unexpected |undefined|\[object|NaN(?!")/);
  assert.not.ok(existsSync(out), 'no result');
}

const update = process.env.VTIME_UPDATE === '1';
const expected: Record<string, string> = update ? {} : JSON.parse(readFileSync(EXPECTED, 'utf8'));

test('the list has at least 200 inputs with different titles, five for each section and reader', () => {
  assert.ok(ALL.length >= 200, `${ALL.length} inputs`);
  assert.is(new Set(ALL.map(title)).size, ALL.length);
  const groups = new Map<string, number>();
  for (const { group } of ALL) groups.set(group, (groups.get(group) ?? 0) + 1);
  for (const [group, count] of groups) assert.ok(count >= 5, `${group} has ${count}`);
});

ALL.forEach((given, index) => {
  test(title(given), async () => {
    const { folder, out, args } = place(given, index);
    const started = performance.now();
    const outcome = await commandLine(...args);
    assert.ok(performance.now() - started < LIMIT_MS, 'no hang');
    checkOutcome(outcome, out);
    const message = outcome.stderr
      .replace(pathsIn(folder), (_, slash) => (slash ? '' : '.'))
      .replaceAll(out, 'out')
      .replace(LISTS, '$1…');
    if (update) expected[title(given)] = message;
    else assert.is(message, expected[title(given)]);
  });
});

test('the same in a process of its own', () => {
  for (let index = 0; index < ALL.length; index += Math.ceil(ALL.length / 4)) {
    const { out, args } = place(ALL[index], index);
    const { status, stdout, stderr } = spawnSync(process.execPath, ['bin/vtime.js', ...args], {
      encoding: 'utf8',
      timeout: LIMIT_MS,
    });
    checkOutcome({ exitCode: status ?? -1, stdout, stderr }, out);
  }
});

test('messages are up to date', () => {
  if (update) writeFileSync(EXPECTED, `${JSON.stringify(expected, null, 2)}\n`);
  assert.equal(Object.keys(expected).sort(), ALL.map(title).sort());
});

test.run();
