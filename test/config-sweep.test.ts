// Sweeps: from axes and cases to cells in grid order.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { configFrom, loadConfig, parseConfig } from '../src/config/load.js';
import { ConfigError } from '../src/config/mistakes.js';
import { getByPath, setByPath } from '../src/config/paths.js';
import { type Cell, expandSweep } from '../src/sweep/grid.js';

const BASE = {
  machine: 'ideal-8',
  workload: { tasks: [{ name: 'job', program: [{ run: '1s' }] }] },
};

function cellsOf(sweep: unknown, base: object = BASE): Cell[] {
  return expandSweep(configFrom({ ...base, sweep }));
}

function mistakesOf(sweep: unknown, base: object = BASE): string {
  try {
    cellsOf(sweep, base);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  return '';
}

test('the last axis varies fastest, then the replications', () => {
  const cells = cellsOf(
    {
      axes: { 'policy.domains': [1, 2], 'policy.slice': ['3ms', '6ms'] },
      replications: 2,
    },
    { ...BASE, policy: 'domains:1', seed: 10 },
  );
  assert.equal(
    cells.map(({ index, point, replication, values, config }) => [
      index,
      point,
      replication,
      values['policy.domains'],
      values['policy.slice'],
      config.seed,
    ]),
    [
      [0, 0, 0, 1, '3ms', 10],
      [1, 0, 1, 1, '3ms', 11],
      [2, 1, 0, 1, '6ms', 10],
      [3, 1, 1, 1, '6ms', 11],
      [4, 2, 0, 2, '3ms', 10],
      [5, 2, 1, 2, '3ms', 11],
      [6, 3, 0, 2, '6ms', 10],
      [7, 3, 1, 2, '6ms', 11],
    ],
  );
  assert.is(cells[7].config.policy.name === 'domains' && cells[7].config.policy.slice, '6ms');
});

test('cases keep an axis away from policies that lack it', () => {
  const cells = expandSweep(loadConfig('examples/azure.yaml'));
  // (1 EEVDF + 1 one domain + 4 domain counts × 3 bucket sizes) × 3 loads × 3 seeds
  assert.is(cells.length, 126);
  assert.is(new Set(cells.map(({ point }) => point)).size, 42);
  assert.is(cells.filter((cell) => cell.is_baseline).length, 9);
  assert.equal([...new Set(cells.map(({ config }) => config.seed))], [1, 2, 3]);
  const loads = new Set(cells.map(({ config }) => config.workload.serverless?.offered_load));
  assert.equal([...loads], [0.35, 0.8, 1.3]);
});

test('defaults are filled in per cell', () => {
  const cells = cellsOf({ axes: { policy: ['eevdf', 'domains:2'], kernel: ['6.12', 7.3] }, replications: 1 });
  assert.equal(
    cells.map(({ config }) => [config.workload.tasks[0].class, config.kernel.base_slice]),
    [
      ['fair', '3ms'],
      ['fair', '2800us'],
      ['ext', '3ms'],
      ['ext', '2800us'],
    ],
  );
});

test('an axis may name list elements, and its values may be programs', () => {
  const cells = cellsOf({
    replications: 1,
    axes: { 'workload.tasks.job.count': [1, 5], 'workload.tasks.0.program': [['exit'], [{ run: '2s' }]] },
  });
  assert.equal(
    cells.map(({ config }) => [config.workload.tasks[0].count, config.workload.tasks[0].program]),
    [
      [1, ['exit']],
      [1, [{ run: '2s' }]],
      [5, ['exit']],
      [5, [{ run: '2s' }]],
    ],
  );
});

test('exclude and baseline', () => {
  const axes = { policy: ['eevdf', 'domains:2', 'domains:4'], 'workload.tasks.job.count': [1, 2] };
  const cells = cellsOf({
    axes,
    replications: 1,
    baseline: { policy: 'eevdf' },
    exclude: [{ policy: 'domains:4', 'workload.tasks.job.count': [2] }],
  });
  assert.is(cells.length, 5);
  assert.equal(
    cells.map((cell) => cell.is_baseline),
    [true, true, false, false, false],
  );
  assert.match(
    mistakesOf({ axes, baseline: { policy: 'cfs' } }),
    /sweep.baseline: no cell matches the baseline/,
  );
  assert.match(mistakesOf({ axes, exclude: [{ policy: 'cfs' }] }), /sweep.exclude\[0\]: excludes no cell/);
});

test('a wrong axis is named with its cell, once per mistake, all at once', () => {
  assert.match(
    mistakesOf({ axes: { 'policy.domians': [1] } }, { ...BASE, policy: 'domains:1' }),
    /policy\.domians: unknown key "domians"; did you mean "domains"\? \(cell policy\.domians=1\)/,
  );
  const several = mistakesOf({ axes: { 'policy.domains': [1, 3, 5] } }, { ...BASE, policy: 'domains:1' });
  assert.equal(
    several.split('\n').map((line) => line.replace(/;.*/, '')),
    [
      "sweep.axes: policy.domains: 8 CPUs can't be divided into 3 equal domains",
      "sweep.axes: policy.domains: 8 CPUs can't be divided into 5 equal domains",
    ],
  );
  assert.match(
    mistakesOf({ axes: { 'policy.domains': [1, 2] } }),
    /unknown key "domains"; known keys are name, base_slice/,
  );
});

test('sweep section: malformed', () => {
  assert.match(mistakesOf({ axis: {} }), /sweep\.axis: unknown key "axis"; did you mean "axes"\?/);
  assert.match(mistakesOf({ axes: { policy: 'eevdf' } }), /expected a list of values, got "eevdf"/);
  assert.match(mistakesOf({ axes: { policy: [] } }), /expected at least one value/);
  assert.match(mistakesOf({ replications: 0 }), /expected a whole number from 1 to 100000, got 0/);
  assert.match(mistakesOf({ baseline: {} }), /expected at least one field/);
  assert.match(
    mistakesOf({ axes: { 'workload.tasks.jop.count': [1] } }),
    /there is no "jop" in the list; did you mean "job"\?/,
  );
  assert.match(mistakesOf({ axes: { 'seed.x': [1] } }), /seed is 1 and has no fields/);
});

test('mistakes in a sweep that was read from a file carry its place', () => {
  const text =
    'machine: ideal-8\nworkload: {tasks: [{name: job, program: [exit]}]}\nsweep:\n  axes: {policy: [domains:3]}\n';
  try {
    expandSweep(parseConfig(text, { file: 'c.yaml' }));
    assert.unreachable();
  } catch (error) {
    assert.instance(error, ConfigError);
    assert.match((error as ConfigError).message, /^c\.yaml:4:3 sweep\.axes: policy\.domains: 8 CPUs/);
  }
});

test('setByPath sets one field of a copy', () => {
  const config = configFrom({ ...BASE, policy: 'domains:1' });
  const changed = setByPath(config, 'policy.domains', 4);
  assert.is(getByPath(changed, 'policy.domains'), 4);
  assert.is(getByPath(config, 'policy.domains'), 1);
  assert.is(getByPath(config, 'policy.nothing'), undefined);
  assert.throws(() => setByPath(config, 'kernel.hz', 250), /kernel\.hz: 250 has no unit/);
});

test('a config without a sweep is one cell', () => {
  const cells = expandSweep(configFrom(BASE));
  assert.is(cells.length, 1);
  assert.is(cells[0].config.seed, 1);
});

test.run();
