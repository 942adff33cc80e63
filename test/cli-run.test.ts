// vtime run and vtime sweep: options that change the config, JSON for scripts, stores for reports.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { tableFromIPC } from 'apache-arrow';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { ResolvedConfig, SimulationResult } from '../src/index.js';
import { readStore } from '../src/sweep/store.js';
import { configFile, freshFolder, SPLIT, vtime } from './support/sweeps.js';

const short = ['--set', 'run.horizon=2000s', '--set', 'run.warmup=10s'];

type RunJson = Omit<SimulationResult, 'histograms' | 'config'> & {
  histograms: { kind: string; p50_ns: number }[];
  // Of any policy: the tests look at fields that only some have.
  config: ResolvedConfig & { policy: { domains?: unknown } };
};

async function runJson(...args: string[]): Promise<RunJson> {
  const { code, stdout, stderr } = await vtime('run', ...args, '--json');
  assert.is(code, 0, stderr);
  return JSON.parse(stdout);
}

test('--json prints the whole result, histograms as quantiles', async () => {
  const result = await runJson('examples/mm1.yaml', ...short);
  assert.is(result.outcome, 'completed');
  assert.is(result.config.policy.name, 'global-fifo');
  assert.is(result.config.run.horizon, '2000s');
  assert.is(result.metrics.latency_ms.count, result.metrics.measured);
  const latency = result.histograms.find(({ kind }) => kind === 'latency');
  assert.is(Number(latency?.p50_ns) / 1e6, result.metrics.latency_ms.p50);
  assert.ok(result.provenance.engine_sha256);
});

test('the same seed gives the same result, another one does not', async () => {
  // The example leaves the digest out, being long.
  const digest = ['--set', 'output.digest=true'];
  const [first, second, other] = await Promise.all([
    runJson('examples/mm1.yaml', ...short, ...digest),
    runJson('examples/mm1.yaml', ...short, ...digest, '--seed', '1'),
    runJson('examples/mm1.yaml', ...short, ...digest, '--seed', '2'),
  ]);
  assert.equal(second, first);
  assert.is.not(other.metrics.schedule_digest, first.metrics.schedule_digest);
});

test('--seed random draws one, prints it and writes it into the config', async () => {
  const { code, stdout, stderr } = await vtime(
    'run',
    'examples/mm1.yaml',
    ...short,
    '--seed',
    'random',
    '--json',
  );
  assert.is(code, 0);
  const { config } = JSON.parse(stdout);
  assert.is(stderr, `seed: ${config.seed} (drawn)\n`);
  const again = await runJson('examples/mm1.yaml', ...short, '--seed', String(config.seed));
  assert.equal(again, JSON.parse(stdout));
});

test('--machine and --scheduler replace those of the config', async () => {
  const { config } = await runJson(
    'examples/mm1.yaml',
    ...short,
    '--machine',
    'ideal-4',
    '--scheduler',
    'domains:2',
  );
  assert.equal([config.machine.profile, config.machine.cpus], ['ideal-4', 4]);
  assert.equal([config.policy.name, config.policy.domains], ['domains', 2]);
});

test('--set takes YAML values, and may be repeated', async () => {
  const { config } = await runJson(
    'examples/mm48.yaml',
    ...short,
    '--set',
    'policy={name: domains, domains: ["0-23", "24-47"]}',
    '--set',
    'workload.arrivals.customers.rate=10/s',
  );
  assert.equal(config.policy.domains, ['0-23', '24-47']);
  assert.is(config.workload.arrivals[0].rate, '10/s');
});

test('run -o leaves a store of one cell, with the rows that the config asks for', async () => {
  const out = freshFolder();
  const rows = ['--set', 'output.invocations=all', '--set', 'run.warmup=0s'];
  const { code, stderr } = await vtime(
    'run',
    'examples/mm1.yaml',
    '--set',
    'run.horizon=500s',
    ...rows,
    '-o',
    out,
  );
  assert.is(code, 0, stderr);
  const { cells, config, run } = await readStore(out);
  assert.is(cells.length, 1);
  assert.is(config.name, 'M/M/1');
  assert.is(run.cells.total, 1);
  const [cell] = cells;
  if (cell.outcome === 'failed') throw new Error(cell.error.message);
  const [file] = readdirSync(join(out, 'invocations'));
  assert.is(file, `${cell.cell_id}.all.arrow`);
  assert.is(tableFromIPC(readFileSync(join(out, 'invocations', file))).numRows, cell.metrics.completed);
});

test('a sweep leaves the rows of each cell, and runs again those that lack them', async () => {
  const out = freshFolder();
  const file = configFile(SPLIT);
  await vtime('sweep', file, '-o', out);
  const rows = ['--set', 'output.invocations=sample:10'];
  const { code, stderr } = await vtime('sweep', file, '-o', out, ...rows);
  assert.is(code, 0, stderr);
  assert.not.match(stderr, 'from an earlier run');
  assert.is(readdirSync(join(out, 'invocations')).length, 6);
  assert.match((await vtime('sweep', file, '-o', out, ...rows)).stderr, '6 of them from an earlier run');
});

test('sweep --json prints every cell in grid order', async () => {
  const { code, stdout } = await vtime(
    'sweep',
    configFile(SPLIT),
    '-o',
    freshFolder(),
    '--json',
    '--seed',
    '5',
  );
  assert.is(code, 0);
  const { cells, run } = JSON.parse(stdout);
  assert.is(run.cells.total, 6);
  assert.equal(
    cells.map(({ seed, values }: { seed: number; values: object }) => [seed, values]),
    [1, 2, 4].flatMap((domains) => [5, 6].map((seed) => [seed, { 'policy.domains': domains }])),
  );
});

test('every command explains itself', async () => {
  for (const command of ['run', 'sweep', 'report', 'trace', 'config']) {
    const { code, stdout } = await vtime(command, '--help');
    assert.is(code, 0);
    assert.match(stdout, `Usage: vtime ${command}`);
  }
  assert.match((await vtime('--version')).stdout, /^\d+\.\d+\.\d+\n$/);
});

test.run();
