// The packed tarball in fresh projects: ES modules, CommonJS and TypeScript.

import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { temporaryFolder } from './support/folder.js';

const root = temporaryFolder('embedding');

function run(command: string, args: string[], cwd: string): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: 'utf8' });
  assert.is(status, 0, `${command} ${args.join(' ')}: ${error?.message ?? ''}${stderr}${stdout}`);
  assert.is(stderr, '');
  return stdout;
}

// What is built is packed; the tests' runner has built it.
run('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', root], '.');
const tarball = join(root, readdirSync(root).find((file) => file.endsWith('.tgz'))!);

/**
 * A folder with the tarball installed beside these files. What npm would fetch is linked from here, so that the test needs no
 * network; nothing else of the repository is there.
 */
function project(name: string, files: Record<string, string>, development: string[] = []): string {
  const folder = join(root, name);
  const installed = join(folder, 'node_modules', 'vtime');
  mkdirSync(installed, { recursive: true });
  run('tar', ['-xzf', tarball, '-C', installed, '--strip-components=1'], root);
  const { dependencies } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
  for (const dependency of [...Object.keys(dependencies), ...development]) {
    const link = join(folder, 'node_modules', dependency);
    mkdirSync(join(link, '..'), { recursive: true });
    symlinkSync(resolve('node_modules', dependency), link, 'dir');
  }
  for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text);
  return folder;
}

/** M/D/1-like arithmetic by hand: two jobs of 1 s and 2 s on one CPU, first come first served: done at 1 s and 3 s. */
const CONFIG = `{
  machine: 'ideal-1',
  policy: { name: 'global-fifo', slice: '1h' },
  workload: { tasks: [{ name: 'a', program: [{ run: '1s' }] }, { name: 'b', program: [{ run: '2s' }] }] },
}`;

/** A service that takes 2 ms, asked every 100 ms. */
const SERVICES = `{
  machines: { host: { cores: 1 } },
  models: { echo: { stages: { serve: { time: '2ms' } }, paths: { all: { stages: ['serve'] } } } },
  services: { echo: { model: 'echo', instances: { echo: { machine: 'host', threads: 1, cores: '0' } } } },
  requests: { r: { nodes: { echo: { service: 'echo', next: ['client'] } } } },
  client: { load: '10/s', arrivals: 'constant' },
  run: { duration: '1s', replications: 2 },
}`;

const USE = `
  const JOB = {
    machine: 'ideal-1',
    policy: 'global-fifo',
    workload: { arrivals: [{ name: 'j', interarrival: '1s', max_arrivals: 1, spawn: { program: [{ run: '2s' }] } }] },
  };
  const result = await simulate(${CONFIG});
  const tables = resultTables([result]);
  const seeds = [];
  for await (const cell of sweep({ ...${CONFIG}, sweep: { replications: 2 } }, { workers: 1 })) seeds.push(cell.seed);
  const { until_ns, parts } = await explainTask(${CONFIG}, 'b');
  const left = await explain(JOB, 1);
  console.log(result.outcome, result.metrics.duration_s, tables.classes.numRows, seeds.length);
  console.log(until_ns / 1e9, parts.length, left.latency_ns / 1e9);
  const { summary: { points: [point] } } = await runServices(parseServices(JSON.stringify(${SERVICES})), {}, { workers: 1 });
  console.log(point.completed === point.arrived, point.mean_ms.mean);
`;
// Classes a and b; two replications. b ends at 3 s, having waited and run; the job takes 2 s, as the service does in ms.
const PRINTED = 'completed 3 2 2\n3 2 2\ntrue 2\n';

test('a fresh project of ES modules', () => {
  const folder = project('esm', {
    'package.json': '{"type": "module"}',
    'main.js': `import { explain, explainTask, parseServices, resultTables, runServices, simulate, sweep } from 'vtime';\n${USE}`,
  });
  assert.is(run(process.execPath, ['main.js'], folder), PRINTED);
});

test('a fresh CommonJS project', () => {
  const folder = project('cjs', {
    'package.json': '{}',
    'main.js': `const { explain, explainTask, parseServices, resultTables, runServices, simulate, sweep } = require('vtime');\n(async () => {${USE}})();`,
  });
  assert.is(run(process.execPath, ['main.js'], folder), PRINTED);
});

const TYPED = `import {
  type FailureReason, type RunSummary, type ServicesInput, type SimulationResult, type SweepCell, type TaskExplanation,
  explain, explainTask, parseServices, readTrace, resultTables, runServices, simulate, sweep,
} from 'vtime';
const result: SimulationResult = await simulate(${CONFIG}, { onProgress: ({ time_ns }) => void time_ns.toFixed() });
const reason: FailureReason | undefined = result.reason;
const who: string[] | undefined = reason?.chain?.map(({ who }) => who);
const latency: number = result.metrics.latency_ms.p99;
const rows: number = resultTables([result]).results.numRows;
const cells: SweepCell[] = [];
for await (const cell of sweep({ ...${CONFIG}, sweep: { replications: 2 } }, { workers: 1 })) cells.push(cell);
const explanation: TaskExplanation = await explainTask(${CONFIG}, 'a', { until_ns: 5e8 });
const longest: number | undefined = explanation.parts[0]?.longest_ns;
void explain;
const services: ServicesInput = ${SERVICES};
const p99 = (summary: RunSummary): number | undefined => summary.points[0].quantiles_ms[0.99]?.mean;
void (async () => p99((await runServices(parseServices(JSON.stringify(services)), { rates: [10], schedulers: ['eevdf'] })).summary));
// @ts-expect-error: no such key
void (() => simulate({ sed: 1 }));
void readTrace;
console.log(result.outcome, result.metrics.duration_s, rows + (who?.length ?? 1), cells.length, latency > 0 ? 1 : '', longest);
`;

function typescript(name: string, options: Record<string, string>): string {
  const compilerOptions = {
    target: 'es2022',
    lib: ['es2023'],
    strict: true,
    types: ['node'],
    outDir: 'out',
    ...options,
  };
  return project(
    name,
    {
      'package.json': '{"type": "module"}',
      'main.ts': TYPED,
      'tsconfig.json': JSON.stringify({ compilerOptions, include: ['main.ts'] }),
    },
    ['typescript', '@types/node'],
  );
}

const tsc = (folder: string) =>
  run(process.execPath, [join('node_modules', 'typescript', 'bin', 'tsc'), '-p', '.'], folder);

test('a fresh TypeScript project, as Node resolves modules', () => {
  const folder = typescript('nodenext', { module: 'nodenext', moduleResolution: 'nodenext' });
  assert.is(tsc(folder), '');
  // 1 row of results and no chain; nothing arrives, so there is no latency. Task a runs for all of the half second explained.
  assert.is(run(process.execPath, [join('out', 'main.js')], folder), 'completed 3 2 2  500000000\n');
});

test('a fresh TypeScript project, as bundlers resolve modules', () => {
  const folder = typescript('bundler', { module: 'esnext', moduleResolution: 'bundler' });
  assert.is(tsc(folder), '');
});

test('the command is in the package, with its bundled trace and examples', () => {
  const folder = project('command', { 'package.json': '{}' });
  const cli = join('node_modules', 'vtime', 'bin', 'vtime.js');
  const example = join('node_modules', 'vtime', 'examples', 'fcfs.yaml');
  assert.match(run(process.execPath, [cli, 'run', example, '--quiet'], folder), 'completed');
  assert.match(run(process.execPath, [cli, 'trace', 'info', 'azure2019-28'], folder), '28');
});

test.run();
