// run.warmup: mser-5: a run before finds where the transient ends, and the measured run is the same, draw for draw.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type ConfigInput, simulate } from '../src/index.js';
import { runRow, SELFTEST_ROWS } from '../src/selftest/index.js';
import { mser5 } from '../src/statistics/mser.js';
import { configFile, freshFolder, vtime } from './support/sweeps.js';

/**
 * A job each second that takes half of one, behind 20 that come at 1 s: these wait for .5, 1, …, 10 s, and what they hold up is gone
 * after 20 s: at time t the queue holds 20 − t jobs of .5 s, as a job of .5 s comes each second.
 */
const BACKLOG: ConfigInput = {
  machine: 'ideal-1',
  kernel: { watchdog_timeout: '0s' },
  policy: { name: 'global-fifo', slice: '1h' },
  workload: {
    arrivals: [
      {
        name: 'backlog',
        interarrival: '1s',
        batch: 20,
        max_arrivals: 20,
        spawn: { program: [{ run: '500ms' }] },
      },
      { name: 'steady', interarrival: '1s', start: '500ms', spawn: { program: [{ run: '500ms' }] } },
    ],
  },
  run: { horizon: '1000s', warmup: 'mser-5' },
};

test('the backlog of the beginning is left out, and the rest is measured', async () => {
  const { metrics, provenance, config } = await simulate(BACKLOG);
  // In order of arrival: 20 jobs of the backlog, then steady ones, from the 20th on without a wait. Batches of five: the last
  // that holds one that waits ends with job 40.
  const warm_up = provenance.statements.warm_up as {
    rule: string;
    ns: number;
    jobs: number;
    settled: boolean;
  };
  assert.is(warm_up.rule, 'mser-5');
  assert.is(warm_up.settled, true);
  assert.ok(warm_up.jobs >= 35 && warm_up.jobs <= 45, JSON.stringify(warm_up));
  assert.is(warm_up.jobs % 5, 0);
  // Number 20 + k comes at k + .5 s, k from 1 on; the first that is kept is number jobs + 1.
  assert.is(warm_up.ns / 1e9, warm_up.jobs + 1 - 20 + 0.5);
  assert.is(metrics.measured, metrics.arrived - warm_up.jobs);
  assert.is(metrics.latency_ms.max, 500);
  assert.is(config.run.warmup, 'mser-5');
});

test('the cut is that of the rows in order of arrival', async () => {
  const config: ConfigInput = {
    machine: 'ideal-2',
    policy: 'eevdf',
    workload: {
      arrivals: [{ name: 'a', rate: '1.5/s', spawn: { program: [{ run: { exponential: '1s' } }] } }],
    },
    run: { horizon: '3000s', warmup: 'mser-5' },
    output: { invocations: 'all' },
  };
  const { provenance, metrics } = await simulate(config);
  const { invocations } = await simulate({ ...config, run: { horizon: '3000s' } });
  const column = (name: string) => [...invocations!.getChild(name)!].map(Number);
  const latency = column('latency_ns');
  const arrival = column('arrival_ns');
  const order = column('number')
    .map((number, row) => [number, row])
    .sort(([a], [b]) => a - b)
    .map(([, row]) => row);
  const { cut, settled } = mser5(order.map((row) => latency[row]))!;
  const ns = cut === 0 ? 0 : arrival[order[cut]];
  assert.equal(provenance.statements.warm_up, { rule: 'mser-5', ns, jobs: cut, settled });
  // The same run with that time as written.
  const fixed = await simulate({ ...config, run: { horizon: '3000s', warmup: `${ns}ns` } });
  assert.equal(metrics, fixed.metrics);
});

test('too few jobs to tell: nothing is cut, and it is said', async () => {
  const { metrics, provenance } = await simulate({ ...BACKLOG, run: { horizon: '20s', warmup: 'mser-5' } });
  assert.equal(provenance.statements.warm_up, { rule: 'mser-5', ns: 0, jobs: 0, settled: false });
  assert.is(metrics.measured, metrics.arrived);
});

test('a sweep and the command take it', async () => {
  const out = freshFolder();
  const file = configFile({ ...BACKLOG, sweep: { replications: 1 } });
  const { code, stdout, stderr } = await vtime('sweep', file, '-o', out, '--workers', '1', '--json');
  assert.is(code, 0, stderr);
  assert.is(JSON.parse(stdout).cells[0].statements.warm_up.rule, 'mser-5');
});

test('the self-test takes it for its steady states', async () => {
  const row = SELFTEST_ROWS.find(({ name }) => name === 'M/M/1, load .8')!;
  const { passed, checks, error } = await runRow(row, 'short', 'mser-5');
  assert.ok(passed, error ?? JSON.stringify(checks));
});

test.run();
