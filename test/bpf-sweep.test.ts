// BPF objects in sweeps and on the command line: their variables are axes, their content is part of a cell's id, their path is
// not, and what is wrong with them is said before anything runs.

import { copyFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { parseConfig } from '../src/config/load.js';
import { planSweep, sweep } from '../src/sweep/sweep.js';
import type { SweepCell } from '../src/types.js';
import { commandLine } from './support/command-line.js';
import { temporaryFolder } from './support/folder.js';

const OBJECTS = resolve('bpf/objects');
const folder = temporaryFolder('bpf');

const WORKLOAD = `
machine: ideal-8
kernel: "7.3"
workload:
  tasks:
    - { name: hog, count: 12, program: [ { loop: { times: 20, do: [ { run: 5ms } ] } } ] }
    - { name: sleeper, count: 8, program: [ { loop: { times: 40, do: [ { run: 500us }, { sleep: 3ms } ] } } ] }
output: { digest: true }
`;

const SWEEP = `${WORKLOAD}
sweep:
  replications: 1
  cases:
    - { policy: { name: domains, domains: 4 }, policy.slice: [1ms, 3ms, 6ms] }
    - { policy: { object: copy.bpf.o, domains: 4 }, policy.rodata.slice_ns: [1ms, 3ms, 6ms] }
`;

copyFileSync(join(OBJECTS, 'domains.bpf.o'), join(folder, 'copy.bpf.o'));
const file = join(folder, 'sweep.yaml');
writeFileSync(file, SWEEP);
const single = join(folder, 'single.yaml');
writeFileSync(single, WORKLOAD);

test('a sweep over the slice of an object and of the native policy: the same schedules', async () => {
  const cells: SweepCell[] = [];
  for await (const cell of sweep(parseConfig(SWEEP, { file }))) cells.push(cell);
  cells.sort((a, b) => a.index - b.index);
  const digests = cells.map((cell) =>
    cell.outcome === 'failed' ? cell.error : cell.metrics.schedule_digest,
  );
  assert.is(new Set(digests.slice(0, 3)).size, 3);
  assert.equal(digests.slice(3), digests.slice(0, 3));
  assert.equal(cells[4].values, {
    policy: { object: 'copy.bpf.o', domains: 4 },
    'policy.rodata.slice_ns': '3ms',
  });
});

test("a cell's id is made of the object's content, not of where it is", async () => {
  const idOf = async (object: string) => {
    const config = parseConfig(`${WORKLOAD}policy: { object: ${object} }`, { file });
    const { cells } = await planSweep(config);
    return cells[0].place.cell_id;
  };
  const id = await idOf('copy.bpf.o');
  assert.is(await idOf(join(OBJECTS, 'domains.bpf.o')), id);
  assert.is.not(await idOf(join(OBJECTS, 'fifo.bpf.o')), id);
});

const DOMAINS = join(OBJECTS, 'domains.bpf.o');

test('--scheduler names an object, --rodata its variables', async () => {
  const switches = async (slice: string) => {
    const { exitCode, stdout, stderr } = await commandLine(
      ...['run', single, '--json', '--quiet', '--scheduler', DOMAINS, '--set', 'policy.domains=4'],
      ...['--rodata', `slice_ns=${slice}`],
    );
    assert.is(exitCode, 0, stderr);
    return JSON.parse(stdout).metrics.switches as number;
  };
  assert.ok((await switches('1ms')) > (await switches('6ms')));
});

const REFUSED: [string, string[], RegExp][] = [
  ['no such variable', ['--scheduler', DOMAINS, '--rodata', 'slise_ns=3ms'], /slise_ns.*perhaps slice_ns/s],
  ['a value that it cannot be', ['--scheduler', DOMAINS, '--rodata', 'steal=7'], /steal/],
  ['a variable of a native policy', ['--scheduler', 'domains', '--rodata', 'slice_ns=3ms'], /no BPF object/],
  ['no file', ['--scheduler', join(folder, 'none.bpf.o')], /none\.bpf\.o: cannot read: ENOENT/],
  ['no object', ['--scheduler', join(folder, 'text.bpf.o')], /text\.bpf\.o/],
  [
    'domains of an object without groups',
    ['--scheduler', join(OBJECTS, 'fifo.bpf.o'), '--set', 'policy.domains=2'],
    /no maps gMap and cMap/,
  ],
];
writeFileSync(join(folder, 'text.bpf.o'), 'not an object');

for (const [what, options, message] of REFUSED) {
  test(`refused with exit code 2: ${what}`, async () => {
    const { exitCode, stderr } = await commandLine('run', single, '--quiet', ...options);
    assert.is(exitCode, 2, stderr);
    assert.match(stderr, message);
    assert.not.match(stderr, /^\s+at /m);
  });
}

test.run();
