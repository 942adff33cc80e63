// Loads on the command line, and runs of services from it.

import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { convert } from '../src/services/convert.js';
import { loadServices } from '../src/services/load.js';
import { planRuns } from '../src/services/run/cells.js';
import { parseLoads } from '../src/services/run/loads.js';
import { commandLine } from './support/command-line.js';
import { temporaryFolder } from './support/folder.js';

const root = temporaryFolder('loads');

test('single loads, lists and ranges, whose end is always one of them', () => {
  assert.equal(parseLoads('80k', '--qps'), [80_000]);
  assert.equal(parseLoads('5,1k,0.5k', '--qps'), [5, 500, 1000]);
  assert.equal(parseLoads('10k..40k:10k', '--qps'), [10_000, 20_000, 30_000, 40_000]);
  assert.equal(parseLoads('1k..3.5k:1k', '--qps'), [1000, 2000, 3000, 3500]);
  // 0.1 + 2 × 0.1 is not 0.3 in floating point.
  assert.equal(parseLoads('0.1..0.3:0.1', '--qps'), [0.1, 0.2, 0.3]);
});

test('what is no load says so', () => {
  for (const text of [
    '',
    'fast',
    '0',
    '-5',
    '1k..',
    '1k..2k',
    '5:1',
    '3k..1k:1k',
    '1..2..3:1',
    '0.0000001',
    '99999999999999999999k',
    '1..1M:1',
    '1kk',
  ]) {
    assert.throws(
      () => parseLoads(text, '--qps'),
      (error: Error) => /^--qps: .*expected loads like 80k/.test(error.message),
      text,
    );
  }
});

test('a sweep has its own load and no bound on requests; seeds count up', () => {
  const services = loadServices('data/uqsim/2tier_ngx_8_memc_2');
  const { points, cells } = planRuns(services, {
    rates: [1000, 2000],
    requests: 500,
    seed: 7,
    replications: 2,
    connections: 10,
  });
  assert.equal(
    points.map(({ load, scheduler }) => [load, scheduler]),
    [
      [1000, 'dedicated'],
      [2000, 'dedicated'],
    ],
  );
  assert.equal(
    cells.map(({ services: { seed } }) => seed),
    [7, 8, 7, 8],
  );
  // 500 requests at 1000/s take 0.5 s.
  assert.equal(
    cells.map(({ services: { run } }) => run.duration_ns),
    [5e8, 5e8, 25e7, 25e7],
  );
  const [{ services: model }] = cells;
  assert.equal(model.client.epochs, [{ until_ns: 5e8, mean_ns: 1e6, rate_per_s: 1000 }]);
  assert.is(model.client.requests, 0);
  assert.is(model.client.connections, 10);
});

test('a sweep over the clients of a closed loop', () => {
  const { cells } = planRuns(loadServices('data/uqsim/derived/nginx_1'), {
    clients: [1, 4],
    duration: '1s',
    replications: 1,
  });
  assert.equal(
    cells.map(({ services: { client } }) => [client.loop, client.clients, client.epochs.length]),
    [
      ['closed', 1, 0],
      ['closed', 4, 0],
    ],
  );
});

test('vtime services run: a table, JSON with the same numbers, and the same again', async () => {
  const args = [
    'services',
    'run',
    'data/uqsim/derived/nginx_1',
    '--qps',
    '10k',
    '--requests',
    '2000',
    '--replications',
    '2',
    '--quiet',
  ];
  const first = await commandLine(...args);
  assert.is(first.exitCode, 0, first.stderr);
  assert.match(first.stdout, /^ +load +throughput\/s +mean ms .* p99\.9 ms +busiest +used\n10,000\/s /);
  // 4000 requests do not tell the 99.9 % quantile.
  assert.match(first.stdout, /–: fewer than ten of \d,\d{3} requests lie beyond it/);
  assert.is((await commandLine(...args, '--workers', '1')).stdout, first.stdout);
  const json = JSON.parse((await commandLine(...args, '--json')).stdout);
  assert.is(json.points.length, 1);
  assert.is(json.points[0].tiers[0].name, 'nginx');
  assert.ok(first.stdout.includes(json.points[0].mean_ms.mean.toPrecision(4)));
});

test('vtime services run under several schedulers: tiers of each, and what the kernel did', async () => {
  const args = ['--qps', '10k', '--requests', '1000', '--replications', '1', '--quiet'];
  const own = ['--scheduler', 'eevdf,dedicated', '--scheduler', 'domains:4'];
  const { stdout, stderr } = await commandLine(
    'services',
    'run',
    'data/uqsim/derived/nginx_1',
    ...args,
    ...own,
  );
  assert.is(stderr, '');
  for (const name of ['eevdf', 'dedicated', 'domains:4']) {
    assert.match(stdout, new RegExp(`^${name} +10,000/s `, 'm'));
    assert.match(stdout, new RegExp(`^${name}, 10,000/s +nginx `, 'm'));
  }
  const [, kernel] = stdout.split(/^scheduler +load +CPUs used/m);
  assert.match(kernel, /^eevdf +10,000\/s/m);
  assert.not.match(kernel, /^dedicated/m);
});

test('mistakes of the command line', async () => {
  const cases: [string[], RegExp][] = [
    [['--qps', 'many'], /--qps: "many" is no load/],
    [['--qps', '1k', '--clients', '5'], /a loop is open or closed/],
    [['--connections', '0'], /--connections is "0"; expected a whole number of at least 1/],
    [['--duration', '3'], /run\.duration: --duration: "3" has no unit/],
    [['--qps', '1k', '--duration', '3'], /run\.duration: --duration: "3" has no unit/],
    [['--connections', '2000000'], /client\.connections: --connections: expected a whole number/],
    [['--warmup', 'soon'], /run\.warmup: --warmup: "soon" is not a time|mser-5/],
    [['--scheduler', 'eevfd'], /unknown policy "eevfd"; did you mean "eevdf"\?/],
  ];
  for (const [args, message] of cases) {
    const { exitCode, stderr } = await commandLine('services', 'run', 'data/uqsim/derived/nginx_1', ...args);
    assert.is(exitCode, 2, args.join(' '));
    assert.match(stderr, message);
  }
});

test('reports that can not be written are told before anything runs', async () => {
  const cases: [string, RegExp][] = [
    [root, /cannot write: EISDIR; expected the path of a file/],
    [join(root, 'folder/'), /folder\/: cannot write: EISDIR/],
    ['package.json/report.html', /package\.json\/report\.html: cannot write: ENOTDIR/],
  ];
  for (const [out, message] of cases) {
    for (const command of [['run', '--requests', '1'], ['convert'], ['graph']]) {
      const ran = await commandLine('services', ...command, 'data/uqsim/derived/nginx_1', '-o', out);
      assert.is(ran.exitCode, 2, `${command[0]} -o ${out}`);
      assert.match(ran.stderr, message);
      assert.is(ran.stdout, '');
    }
  }
});

test('a run that ends before the replies says so', async () => {
  const file = join(root, 'slow.yaml');
  writeFileSync(file, convert('data/uqsim/derived/nginx_1').replace(/latency: \w+/, 'latency: 1000h'));
  const ran = await commandLine('services', 'run', file, '--qps', '1k', '--requests', '100');
  assert.is(ran.exitCode, 0, ran.stderr);
  const [, without, all] = /1,000\/s: (\d+) of (\d+) requests had no reply when the run ended/.exec(
    ran.stdout,
  )!;
  assert.is(without, all);
});

test('paths in a services file are relative to its folder', () => {
  const file = join(root, 'model.yaml');
  writeFileSync(
    file,
    `${convert('data/uqsim/derived/nginx_1')}
mode: scheduled
profile: my.json
scheduled: {policy: {object: my.bpf.o}}
reference: {file: measured.json, key: k}
`,
  );
  const { scheduled, reference, profile } = loadServices(file);
  const seen = [profile, 'object' in scheduled!.policy && scheduled!.policy.object, reference!.file];
  assert.equal(
    seen.map(String).map((path) => resolve(path)),
    [join(root, 'my.json'), join(root, 'my.bpf.o'), join(root, 'measured.json')],
  );
});

test.run();
