// The record of decisions: every wake-up, and every beginning and end of a stay on a CPU, in order.

import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tableFromIPC } from 'apache-arrow';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { simulate } from '../src/index.js';
import { temporaryFolder } from './support/folder.js';

const MS = 1_000_000;

test('two tasks of 4 ms on one CPU with exact slices of 3 ms', async () => {
  const { decisions } = await simulate({
    machine: 'ideal-1',
    policy: { name: 'global-fifo', slice: '3ms' },
    output: { decisions: true },
    workload: {
      tasks: [
        { name: 'a', program: [{ run: '4ms' }] },
        { name: 'b', program: [{ run: '4ms' }] },
      ],
    },
  });
  const rows = decisions!.toArray().map((row) => {
    const { time_ns, kind, cpu, task, class: name, runnable } = row.toJSON();
    return `${Number(time_ns) / MS} ${kind} ${cpu} ${task} ${name} ${runnable}`;
  });
  // a runs [0, 3) and [6, 7), b runs [3, 6) and [7, 8).
  assert.equal(rows, [
    '0 wake 0 1 a 1',
    '0 run 0 1 a 1',
    '0 wake 0 2 b 1',
    '3 stop 0 1 a 1',
    '3 run 0 2 b 1',
    '6 stop 0 2 b 1',
    '6 run 0 1 a 1',
    '7 stop 0 1 a 0',
    '7 run 0 2 b 1',
    '8 stop 0 2 b 0',
  ]);
});

test('one event that decides more than there is room for loses nothing', async () => {
  // 100 000 children wake at once: 2^16 records are not enough.
  const { decisions, metrics } = await simulate({
    machine: 'ideal-1',
    policy: 'global-fifo',
    output: { decisions: true },
    workload: { tasks: [{ name: 'a', program: [{ fork: { count: 100_000, program: [] } }] }] },
  });
  // Each of 100 001 tasks wakes, runs and stops.
  assert.is(decisions!.numRows, 300_003);
  assert.is(metrics.switches, 100_001);
});

test('nothing is recorded unless asked for, and recording changes nothing', async () => {
  const config = {
    machine: 'ideal-2',
    policy: 'domains:2',
    workload: {
      tasks: [{ name: 'a', count: 5, program: [{ run: '4ms' }, { sleep: '1ms' }, { run: '1ms' }] }],
    },
  };
  const plain = await simulate(config);
  const recorded = await simulate({ ...config, output: { decisions: true } });
  assert.is(plain.decisions, undefined);
  assert.equal(recorded.metrics, plain.metrics);
});

test('vtime run --out keeps them beside the results', () => {
  const folder = temporaryFolder('decisions');
  const config = join(folder, 'config.json');
  const out = join(folder, 'out');
  writeFileSync(
    config,
    JSON.stringify({
      machine: 'ideal-1',
      policy: 'global-fifo',
      output: { decisions: true },
      workload: { tasks: [{ name: 'a', program: [{ run: '1ms' }] }] },
    }),
  );
  execFileSync(process.execPath, ['bin/vtime.js', 'run', config, '--quiet', '--out', out]);
  const [file] = readdirSync(join(out, 'decisions'));
  // It wakes, runs and stops.
  assert.is(tableFromIPC(readFileSync(join(out, 'decisions', file))).numRows, 3);
});

test.run();
