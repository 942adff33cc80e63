// CPU hotplug: sched-ext/scx#406, #751, sched_ext#217: CPU 3 goes offline at 1 s and comes back at 2 s; no task is lost.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { simulate } from '../src/index.js';
import type { ConfigInput } from '../src/types.js';

const HOG = [{ loop: { times: 'forever' as const, do: [{ run: '1ms' }] } }];
const EVENTS = [
  { at: '1s', offline: 3 },
  { at: '2s', online: 3 },
];

function run(policy: ConfigInput['policy'], workload: ConfigInput['workload']) {
  return simulate({
    machine: 'ideal-4',
    // Load is balanced from the tick.
    kernel: { slice_expiry: 'tick' },
    policy,
    workload,
    run: { end: 'horizon', horizon: '3s', events: EVENTS },
  });
}

test('four hogs on four CPUs: three CPUs for a second, and nobody lost', async () => {
  const { cpus, outcome, metrics } = await run('eevdf', { tasks: [{ name: 'hog', count: 4, program: HOG }] });
  assert.is(outcome, 'horizon');
  // While it is away, CPU 3 is idle and the four share three CPUs. Afterwards it takes one back, at once or within the
  // idle balancing interval.
  const ms = cpus.map(({ busy_ns }) => busy_ns / 1e6);
  assert.ok(ms[3]! <= 2000 && ms[3]! >= 1900, `${ms[3]}`);
  for (const cpu of [0, 1, 2]) assert.ok(ms[cpu]! >= 2999, `CPU ${cpu}: ${ms[cpu]}`);
  assert.ok(metrics.utilization > 0.9);
});

for (const policy of ['domains:2', 'global-fifo', 'weighted-vtime:2', 'percpu-fifo'] as const) {
  test(`${policy} has no hotplug callbacks: it is ejected, and its tasks go on as fair ones`, async () => {
    const { cpus, outcome, metrics } = await run(policy, {
      tasks: [{ name: 'hog', count: 8, program: HOG }],
    });
    assert.is(outcome, 'horizon');
    assert.is(metrics.fallback_s, 1);
    assert.ok(cpus[3]!.busy_ns <= 2e9);
    for (const cpu of [0, 1, 2]) assert.ok(cpus[cpu]!.busy_ns >= 2.99e9);
  });
}

test('a task that may run nowhere else runs everywhere', async () => {
  const { outcome, cpus } = await run('eevdf', { tasks: [{ name: 'pinned', program: HOG, cpus: '3' }] });
  assert.is(outcome, 'horizon');
  assert.is(
    cpus.reduce((sum, { busy_ns }) => sum + busy_ns, 0),
    3e9,
  );
  assert.ok(cpus[3]!.busy_ns <= 2e9);
});

test('jobs that sleep on the CPU meanwhile complete', async () => {
  const { metrics } = await simulate({
    machine: 'ideal-4',
    policy: 'eevdf',
    workload: {
      arrivals: [
        {
          name: 'jobs',
          rate: '2000/s',
          max_arrivals: 5000,
          spawn: { program: [{ run: '500us' }, { sleep: '1ms' }, { run: '500us' }] },
        },
      ],
    },
    run: { events: EVENTS, horizon: '10s' },
  });
  assert.equal([metrics.arrived, metrics.completed, metrics.in_system], [5000, 5000, 0]);
});

test('a realtime task leaves as well', async () => {
  const { cpus, outcome } = await run('eevdf', {
    tasks: [{ name: 'rt', program: HOG, class: 'realtime', cpus: '2-3', count: 2 }],
  });
  assert.is(outcome, 'horizon');
  assert.ok(cpus[3]!.busy_ns <= 2e9);
});

test.run();
