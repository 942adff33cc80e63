// Compiled schedulers decide what the native policies decide: the fingerprint of every decision of a run is the same.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { twinOf } from '../src/bpf/loader-input.js';
import { configFrom } from '../src/config/load.js';
import { resolveConfig } from '../src/config/resolve.js';
import type { ConfigInput } from '../src/config/schema.js';
import { simulate } from '../src/engine/simulate.js';
import type { SimulationResult } from '../src/types.js';

type Tasks = NonNullable<ConfigInput['workload']['tasks']>;

/** Hogs, sleepers, pollers, tasks of one CPU and of several weights; more than the CPUs can serve at once. */
function tasks(scale: number): Tasks {
  const naps = (run: string, times: number) => [
    { loop: { times, do: [{ run: { exponential: run } }, { sleep: { exponential: '3ms' } }] } },
  ];
  return [
    { name: 'hog', count: 6 * scale, program: [{ loop: { times: 40, do: [{ run: '5ms' }] } }] },
    { name: 'sleeper', count: 4 * scale, program: naps('500us', 200) },
    {
      name: 'poller',
      count: scale,
      program: [{ loop: { times: 20, do: [{ spin: '2ms' }, { sleep: '1ms' }] } }],
    },
    { name: 'pinned', count: 2, cpus: '1', program: naps('500us', 100) },
    { name: 'heavy', count: 2 * scale, priority: -5, program: naps('900us', 100) },
    { name: 'light', count: 2 * scale, priority: 7, program: naps('900us', 100) },
  ];
}

/** What the scheduler decided, and how often it was asked. */
function decided({ metrics }: SimulationResult) {
  const { schedule_digest, events, dispatches, kicks, migrations, preemptions } = metrics;
  return { schedule_digest, events, dispatches, kicks, migrations, preemptions };
}

const MACHINES: [ConfigInput['machine'], number][] = [
  ['ideal-4', 1],
  ['xeon-8160-2s', 8],
];

const POLICIES: ConfigInput['policy'][] = [
  'domains:2',
  { name: 'domains', domains: ['0-1', '3'], reset_every: 3, steal: 'none' },
  { name: 'domains-as-coded', domains: 4 },
  { name: 'domains-as-coded', domains: 2, counts_enqueues: true, slice: '3ms', heartbeat: '50ms' },
  'global-fifo',
  { name: 'global-fifo', requeue: 'local', slice: '5ms' },
  'global-vtime',
  { name: 'global-vtime', credit: 'unlimited' },
  'five-level',
  { name: 'five-level', order: 'strict', starvation_limit: '40ms' },
  'central',
  { name: 'central', cpu: 1, slice: '3ms' },
];

for (const policy of POLICIES) {
  test(`${JSON.stringify(policy)}: the object schedules as the native policy does`, async () => {
    for (const [machine, scale] of MACHINES) {
      for (const kernel of ['6.11-scx', '7.3'] as const) {
        const base: ConfigInput = {
          machine,
          kernel,
          workload: { tasks: tasks(scale) },
          run: { limit: '2s' },
          output: { digest: true },
        };
        const native = resolveConfig(configFrom({ ...base, policy }));
        const twin = twinOf(native.policy, native.machine.cpus)!;
        const object = {
          object: `bpf/objects/${twin.object}.bpf.o`,
          flags: twin.flags,
          rodata: Object.fromEntries(
            Object.entries(twin.rodata).map(([name, value]) => [
              name,
              typeof value === 'bigint' ? Number(value) : value,
            ]),
          ),
          ...(twin.domains.length === 0 ? {} : { domains: twin.domains.map((cpus) => cpus.join(',')) }),
        };
        const [expected, actual] = await Promise.all(
          [native, { ...base, policy: object }].map((config) => simulate(config)),
        );
        assert.ok(expected.metrics.switches > 1000);
        assert.equal(decided(actual), decided(expected), `${JSON.stringify(machine)}, ${kernel}`);
      }
    }
  });
}

test('a serverless cell: the control plane writes cMap, and the object schedules as domains:8 does', async () => {
  const [expected, actual] = await Promise.all(
    ['domains:8', { object: 'bpf/objects/domains.bpf.o', domains: 8 }].map((policy) =>
      simulate({
        machine: 'xeon-8160-2s',
        policy,
        workload: {
          serverless: {
            trace: 'azure2019-28',
            window: { start: '600min', length: '1min', history: '5min' },
            durations: 'lognormal',
            offered_load: 0.8,
            profiles: { mapping: 'nearest-duration' },
            worker: { concurrency: 192 },
          },
        },
        output: { digest: true },
      }),
    ),
  );
  assert.ok(expected.metrics.completed > 1000);
  assert.equal(decided(actual), decided(expected));
});

test.run();
