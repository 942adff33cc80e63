// vtime bpf check: the schedulers of bpf/ do what the native policies do, callback by callback, and where one does not, the check
// says so. Workloads come from a seed, so the same ones are compared each time.

import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { parse } from 'yaml';
import { type CheckOptions, checkObject } from '../src/bpf/check/check.js';
import { openObject } from '../src/bpf/object/open.js';
import { AbortedError } from '../src/errors.js';
import { temporaryFolder } from './support/folder.js';

const CALLBACKS = 10_000;
const OBJECTS = 'bpf/objects';
const base = { callbacks: CALLBACKS, seed: 1, max_cpus: 8 };

const PAIRS = [
  ['fifo', 'global-fifo'],
  ['vtime', 'global-vtime'],
  ['fivelevel', 'five-level'],
  ['central', 'central'],
  ['domains', 'domains'],
  ['domains', 'domains-as-coded'],
] as const;

for (const [object, against] of PAIRS) {
  test(`${object}.bpf.o does what ${against} does`, async () => {
    const { callbacks, found } = await checkObject(`${OBJECTS}/${object}.bpf.o`, { ...base, against });
    assert.equal(found?.comparison.difference, undefined);
    assert.ok(callbacks >= CALLBACKS);
  });
}

async function difference(object: string, options: Partial<CheckOptions>) {
  const { found } = await checkObject(object, { ...base, against: 'domains', ...options });
  assert.ok(found);
  return found!;
}

test('a slice that is 1 ns longer is found at the first insertion, and the workload made as small as it gets', async () => {
  const { native, comparison } = await difference(`${OBJECTS}/domains.bpf.o`, {
    against: { name: 'domains', domains: 1, slice: '3ms' },
    rodata: { slice_ns: 3_000_001 },
  });
  const { left, right } = comparison.difference!;
  assert.match(left.join('\n'), /slice 3000000 ns/);
  assert.match(right.join('\n'), /slice 3000001 ns/);
  // One task that wakes up once is enough.
  const [task, ...others] = native.workload.tasks!;
  assert.equal(others, []);
  assert.is(task.count ?? 1, 1);
});

test('a vtime that is reset at another enqueue is found', async () => {
  const { comparison } = await difference(`${OBJECTS}/domains.bpf.o`, {
    against: { name: 'domains', domains: 1, reset_every: 10 },
    rodata: { reset_every: 11 },
  });
  assert.match(comparison.difference!.left.join('\n'), /vtime/);
});

/** fifo.bpf.o whose select_cpu takes the previous CPU for idle if it is not, and the other way round. */
function brokenObject(folder: string): string {
  const bytes = readFileSync(`${OBJECTS}/fifo.bpf.o`);
  const { functions } = openObject(bytes, 'fifo.bpf.o');
  const select = functions.find(({ name }) => name.endsWith('select_cpu'))!;
  const branch = select.instructions.find(({ opcode }) => opcode === 0x56)!;
  const code = Buffer.from(select.section.data.bytes);
  const at = bytes.indexOf(code) + branch.index * 8;
  // JNE becomes JEQ.
  bytes[at] ^= 0x40;
  const file = join(folder, 'broken.bpf.o');
  writeFileSync(file, bytes);
  return file;
}

test('vtime bpf check: a changed instruction is found, exit code 1, and the workload can be kept', () => {
  const folder = temporaryFolder('check');
  const out = join(folder, 'smallest.yaml');
  const broken = brokenObject(folder);
  const command = [
    'bin/vtime.js',
    'bpf',
    'check',
    broken,
    '--against',
    'global-fifo',
    '--quiet',
    '--out',
    out,
  ];
  const { status, stdout } = spawnSync(process.execPath, command, { encoding: 'utf8' });
  assert.is(status, 1);
  assert.match(stdout, /A difference from global-fifo/);
  assert.match(stdout, /then the native policy/);
  const config = parse(readFileSync(out, 'utf8'));
  assert.is(config.policy.object, broken);
});

test('vtime bpf check: no difference, exit code 0; JSON', () => {
  const command = ['bin/vtime.js', 'bpf', 'check', `${OBJECTS}/vtime.bpf.o`, '--against', 'global-vtime'];
  const options = ['--callbacks', '2k', '--seed', '3', '--json', '--quiet'];
  const result = JSON.parse(execFileSync(process.execPath, [...command, ...options], { encoding: 'utf8' }));
  assert.ok(result.callbacks >= 2000);
  assert.is(result.found, undefined);
});

test('vtime bpf check refuses what makes no sense, exit code 2', () => {
  const refused = (...args: string[]) => {
    const command = ['bin/vtime.js', 'bpf', 'check', `${OBJECTS}/domains.bpf.o`, '--quiet', ...args];
    const { status, stderr } = spawnSync(process.execPath, command, { encoding: 'utf8' });
    assert.is(status, 2);
    return stderr;
  };
  assert.match(refused('--against', 'domain'), /did you mean "domains"/);
  assert.match(refused('--against', 'eevdf'), /no callbacks to compare with/);
  assert.match(refused('--against', 'domains:7', '--cpus', '4'), /no machine of at most 4 CPUs/);
  assert.match(refused('--against', '{name: domains'), /--against/);
  assert.match(refused('--against', 'domains', '--callbacks', 'many'), /a number like 200k or 1M/);
  assert.match(refused('--against', 'domains', '--rodata', 'slice_ms=3'), /slice_ns/);
});

test('a signal ends the check between comparisons, however short they are', async () => {
  const controller = new AbortController();
  setTimeout(() => controller.abort(), 1);
  try {
    await checkObject(`${OBJECTS}/vtime.bpf.o`, {
      against: 'global-vtime',
      callbacks: 1e9,
      seed: 1,
      max_cpus: 4,
      signal: controller.signal,
    });
    assert.unreachable();
  } catch (error) {
    assert.instance(error, AbortedError);
  }
});

test.run();
