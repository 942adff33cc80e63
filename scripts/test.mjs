// npm test: every test file in a process of its own, two at a time, then the linter. uvu exits with 0 when a file runs no
// tests, so its closing lines count, not its exit code alone. `npm test -- sweep cli` runs the files whose names hold
// one of the words. The last line is `N passed, N failed`.

import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { setup } from './setup.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const AT_ONCE = 2;
const TIMEOUT_MS = 15 * 60 * 1000;
const ENDING = '.test.ts';

/** Output and exit code of a Node process; one that doesn't end is killed. */
function execute(args) {
  return new Promise((resolve) => {
    const started = performance.now();
    const child = spawn(process.execPath, args, {
      cwd: ROOT,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: TIMEOUT_MS,
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8');
      stream.on('data', (text) => {
        output += text;
      });
    }
    child.on('close', (code, signal) => {
      resolve({ code, signal, output, seconds: (performance.now() - started) / 1000 });
    });
  });
}

/** Sum of the numbers after `label` in uvu's summaries: one per test.run(). */
function total(output, label) {
  const found = output.matchAll(new RegExp(`^\\s*${label}:\\s+(\\d+)$`, 'gm'));
  return Array.from(found, ([, number]) => Number(number)).reduce((sum, number) => sum + number, 0);
}

async function runFile(name) {
  const { code, signal, output, seconds } = await execute([join('dist', 'test', `${name}.test.js`)]);
  const plain = stripVTControlCharacters(output);
  const all = total(plain, 'Total');
  const passed = total(plain, 'Passed');
  const skipped = total(plain, 'Skipped');
  let failed = all - passed - skipped;
  let reason = failed > 0 ? `${failed} failed` : '';
  if (signal !== null) reason = `ended by ${signal}`;
  else if (all === 0) reason = 'ran no tests';
  else if (code !== 0 && failed === 0) reason = `exit code ${code}`;
  if (reason !== '' && failed === 0) failed = 1;
  return { name, passed, failed, skipped, reason, seconds, output };
}

async function lint() {
  const { code, output, seconds } = await execute([
    join('node_modules', '@biomejs', 'biome', 'bin', 'biome'),
    'check',
    '--error-on-warnings',
    '.',
  ]);
  const passed = code === 0 ? 1 : 0;
  return {
    name: 'lint',
    passed,
    failed: 1 - passed,
    skipped: 0,
    reason: passed ? '' : 'biome',
    seconds,
    output,
  };
}

function tell({ name, passed, failed, skipped, reason, seconds, output }) {
  const skips = skipped > 0 ? `, ${skipped} skipped` : '';
  const verdict = failed > 0 ? `FAILED: ${reason}; ` : '';
  process.stdout.write(
    `${failed > 0 ? '✗' : '✓'} ${name}: ${verdict}${passed} passed${skips} (${seconds.toFixed(1)} s)\n`,
  );
  if (failed > 0) process.stdout.write(`${output.trimEnd()}\n\n`);
}

/** Runs the jobs in order, AT_ONCE side by side. */
async function runAll(jobs) {
  const results = [];
  const waiting = jobs.values();
  const lane = async () => {
    for (const job of waiting) {
      const result = await job();
      tell(result);
      results.push(result);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  return results;
}

setup();
const words = process.argv.slice(2);
const names = readdirSync(join(ROOT, 'test'))
  .filter((file) => file.endsWith(ENDING))
  .map((file) => file.slice(0, -ENDING.length))
  .filter((name) => words.length === 0 || words.some((word) => name.includes(word)))
  .sort();
if (names.length === 0) process.stdout.write(`✗ no test file holds ${words.join(' or ')} in its name\n`);
const jobs = names.map((name) => () => runFile(name));
const results = await runAll(words.length === 0 ? [...jobs, lint] : jobs);
const sum = (key) => results.reduce((all, result) => all + result[key], 0);
const failed = names.length === 0 ? 1 : sum('failed');
process.stdout.write(`\n${sum('passed')} passed, ${failed} failed\n`);
process.exitCode = failed > 0 ? 1 : 0;
