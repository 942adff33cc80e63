// Exit codes: 0 done, 1 the simulated system failed, 2 wrong usage, config or input, 3 engine, 130 interrupted.
// Data goes to stdout, everything else to stderr, and a terminal's progress bar never into a pipe.

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { configFile, freshFolder, node, SPLIT, STALLING, vtime } from './support/sweeps.js';

const short = ['--set', 'run.horizon=2000s', '--set', 'run.warmup=10s'];

test('0: a run that is done', async () => {
  const { code, stdout, stderr } = await vtime('run', 'examples/mm1.yaml', ...short);
  assert.is(code, 0);
  assert.is(stderr, '');
  assert.match(stdout, 'M/M/1: global-fifo on 1 CPUs (ideal-1), seed 1');
});

test('1: a stall, with its reason on stderr and the result on stdout', async () => {
  const { code, stdout, stderr } = await vtime('run', configFile(STALLING), '--json');
  assert.is(code, 1);
  assert.match(stderr, /^stalled: .*job/);
  assert.is(JSON.parse(stdout).outcome, 'stalled');
});

test('1: a deadlock', async () => {
  const config = {
    machine: 'ideal-1',
    workload: { tasks: [{ name: 'sleeper', program: ['block' as const] }] },
  };
  const { code, stderr } = await vtime('run', configFile(config));
  assert.is(code, 1);
  assert.match(stderr, /^deadlocked: /);
});

test('0 or, with --fail-on-stall, 1: a sweep with a stalled cell', async () => {
  const file = configFile({ ...STALLING, sweep: { replications: 2 } });
  const out = freshFolder();
  const { code, stderr } = await vtime('sweep', file, '-o', out);
  assert.is(code, 0);
  assert.match(stderr, '2 stalled');
  assert.is((await vtime('sweep', file, '-o', out, '--fail-on-stall')).code, 1);
});

for (const [what, args, message] of [
  ['an unknown option', ['sweep', 'x.yaml', '--wrokers', '2'], 'Did you mean --workers?'],
  ['an unknown command', ['swep'], 'Did you mean sweep?'],
  ['no command', [], 'Usage: vtime'],
  ['a missing argument', ['run'], "missing required argument 'config'"],
  ['a missing config', ['run', 'absent.yaml'], "can't read the config"],
  ['a sweep given to run', ['run', 'examples/split48.yaml'], 'expected `vtime sweep`'],
  [
    'a wrong number of workers',
    ['sweep', 'examples/split48.yaml', '--workers', 'many'],
    '--workers is "many"',
  ],
  [
    'a wrong scheduler',
    ['run', 'examples/mm1.yaml', '--scheduler', 'domians:2'],
    'did you mean "domains"? (--scheduler)',
  ],
  ['a wrong machine', ['run', 'examples/mm1.yaml', '--machine', 'xeon'], 'xeon'],
  ['a wrong seed', ['run', 'examples/mm1.yaml', '--seed', '-1'], '--seed'],
  ['a setting without a value', ['run', 'examples/mm1.yaml', '--set', 'seed'], 'expected path=value'],
  [
    'a setting of an unknown field',
    ['run', 'examples/mm1.yaml', '--set', 'run.horizn=1s'],
    'did you mean "horizon"?',
  ],
  ['a setting without a unit', ['run', 'examples/mm1.yaml', '--set', 'run.horizon=60'], 'unit'],
  [
    'a trace for a config without one',
    ['run', 'examples/mm1.yaml', '--trace', 'x.arrow'],
    'no serverless workload',
  ],
  [
    'a setting of what the sweep varies',
    ['sweep', 'examples/split48.yaml', '--set', 'policy.domains=3'],
    'the sweep varies policy.domains',
  ],
  ['a report of nothing', ['report', 'absent'], 'cannot read'],
] as const) {
  test(`2: ${what}`, async () => {
    const { code, stdout, stderr } = await vtime(...args);
    assert.is(code, 2);
    assert.is(stdout, '');
    assert.ok(stderr.includes(message), stderr);
    assert.not.match(stderr, /^\s+at /m);
  });
}

test('2: a mistake that only the whole config shows has its line', async () => {
  const { code, stderr } = await vtime(
    'run',
    'examples/mm1.yaml',
    '--seed',
    '3',
    '--set',
    'run.warmup=40000000s',
  );
  assert.is(code, 2);
  assert.match(stderr, 'leaves nothing to measure');
});

test('3: a counter flipped between two slices, either side of conservation', async () => {
  assert.equal(await node(['dist/test/support/flip-counter.js']), { code: 0, stdout: '', stderr: '' });
  for (const counter of ['arrived', 'completed']) {
    const { code, stderr } = await node(['dist/test/support/flip-counter.js', counter]);
    assert.is(code, 3);
    assert.match(stderr, 'this is a bug in vtime');
  }
});

test('3: an unexpected exception says that it is a bug, without a stack', async () => {
  const { code, stderr } = await node(['dist/test/support/flip-counter.js', 'nonsense']);
  assert.is(code, 3);
  assert.match(stderr, 'This is a bug in vtime');
  assert.not.match(stderr, /^\s+at /m);
});

test('130: an interrupted sweep has flushed its journal, and a rerun goes on', async () => {
  const out = freshFolder();
  // Some 60 cells of a tenth of a second each.
  const file = configFile({
    ...SPLIT,
    run: { horizon: '20000s' },
    sweep: { replications: 60, axes: { 'policy.domains': [2] } },
  });
  const journal = join(out, 'journal.ndjson');
  const lines = () => (existsSync(journal) ? readFileSync(journal, 'utf8').split('\n').length - 1 : 0);
  const { code, stderr } = await node(
    ['bin/vtime.js', 'sweep', file, '-o', out, '--workers', '1'],
    (kill) => {
      const timer = setInterval(() => {
        if (lines() < 2) return;
        clearInterval(timer);
        kill('SIGINT');
      }, 10);
    },
  );
  assert.is(code, 130);
  assert.match(stderr, 'interrupted');
  const kept = lines();
  assert.ok(kept >= 2 && kept < 60, `${kept} cells`);
  const { code: again, stderr: closing } = await vtime('sweep', file, '-o', out);
  assert.is(again, 0);
  assert.match(closing, `${kept} of them from an earlier run`);
});

test('in a pipe there is no progress bar, and with --quiet nothing at all', async () => {
  const file = configFile(SPLIT);
  const loud = await vtime('sweep', file, '-o', freshFolder());
  assert.is(loud.stdout, '');
  assert.match(loud.stderr, /^6 cells in /);
  assert.not.match(loud.stderr, '\u001b');
  assert.equal(await vtime('sweep', file, '-o', freshFolder(), '--quiet'), {
    code: 0,
    stdout: '',
    stderr: '',
  });
});

test('a reader that hangs up is no error', async () => {
  // More than a pipe holds (64 KiB), so head hangs up in the middle of it.
  const file = configFile({ ...SPLIT, run: { horizon: '20s' }, sweep: { replications: 40 } });
  const out = freshFolder();
  await vtime('sweep', file, '-o', out);
  const sweep = `node bin/vtime.js sweep ${file} -o ${out} --quiet --json`;
  const bash = (command: string) => execFileSync('bash', ['-c', command], { encoding: 'utf8' });
  assert.ok(Number(bash(`${sweep} | wc -c`)) > 2 ** 17);
  assert.is(bash(`set -o pipefail; ${sweep} 2>&1 | head -n 1`), '{\n');
});

test.run();
