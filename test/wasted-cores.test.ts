// Wasted-core time: CPUs idle while tasks wait, by what keeps them apart.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { ConfigInput } from '../src/config/schema.js';
import { simulate } from '../src/engine/simulate.js';

const NOTHING = { total: 0, exit_latency: 0, affinity: 0, no_kick: 0, domain: 0, cpu_queue: 0 };

async function wasted(config: Omit<ConfigInput, 'workload'>, workload: ConfigInput['workload']) {
  const { metrics } = await simulate({ kernel: { watchdog_timeout: '0s' }, ...config, workload });
  return metrics.wasted_core_s;
}

test('a shared queue that every CPU serves wastes nothing', async () => {
  const queue = { machine: 'ideal-2', policy: { name: 'global-fifo', slice: '3ms' } } as const;
  assert.equal(
    await wasted(queue, {
      tasks: [{ name: 'task', count: 5, program: [{ run: '1s' }, { sleep: '10ms' }, { run: '1s' }] }],
    }),
    NOTHING,
  );
});

test('domain: tasks wait for a busy domain beside an idle one', async () => {
  // Three tasks of 1 s on the one CPU of domain 0: at least one waits for 2 s; domain 1 has one CPU to waste.
  const domains = {
    machine: 'ideal-2',
    policy: { name: 'domains', domains: 2, slice: '100s', steal: 'none' },
  } as const;
  assert.equal(
    await wasted(domains, { tasks: [{ name: 'task', count: 3, domain: 0, program: [{ run: '1s' }] }] }),
    {
      ...NOTHING,
      total: 2,
      domain: 2,
    },
  );
  // With three CPUs idle, two wait for the first second, one for the second: 2 + 1.
  const four = { ...domains, machine: 'ideal-4', policy: { ...domains.policy, domains: 4 } } as const;
  assert.equal(
    await wasted(four, { tasks: [{ name: 'task', count: 3, domain: 0, program: [{ run: '1s' }] }] }),
    {
      ...NOTHING,
      total: 3,
      domain: 3,
    },
  );
});

test('affinity: the idle CPU is not in the mask', async () => {
  // Two tasks of 1 s pinned to CPU 0: one waits for 1 s beside CPU 1.
  const queue = { machine: 'ideal-2', policy: { name: 'global-fifo', slice: '100s' } } as const;
  assert.equal(
    await wasted(queue, { tasks: [{ name: 'task', count: 2, cpus: '0', program: [{ run: '1s' }] }] }),
    {
      ...NOTHING,
      total: 1,
      affinity: 1,
    },
  );
});

test('exit latency: from the wake-up until the CPU has left its idle state', async () => {
  // The CPUs have slept for 100 ms; the one task waits for its own to wake, and for nothing else.
  const { metrics } = await simulate({
    machine: 'xeon-8160-4',
    policy: 'global-fifo',
    workload: { tasks: [{ name: 'task', program: [{ sleep: '100ms' }, { run: '1ms' }] }] },
  });
  const { total, exit_latency } = metrics.wasted_core_s;
  // From sleep to CPU twice: at its start, and after the sleep.
  const waits = metrics.wake_latency_us;
  assert.ok(total > 0);
  assert.is(total, exit_latency);
  assert.is(Math.round(total * 1e9), Math.round(waits.mean * waits.count * 1e3));
});

test('the parts sum to the total, which is less than the idle time', async () => {
  for (const policy of ['eevdf', 'domains:2', 'percpu-fifo', 'weighted-vtime'] as const) {
    const { metrics, cpus } = await simulate({
      machine: 'xeon-8160-4',
      policy,
      workload: {
        programs: {
          loop: [
            { loop: { times: 50, do: [{ run: { exponential: '2ms' } }, { sleep: { exponential: '5ms' } }] } },
          ],
        },
        tasks: [
          { name: 'free', count: 6, program: 'loop' },
          { name: 'pinned', count: 2, cpus: '1', program: 'loop' },
        ],
      },
    });
    const { total, ...parts } = metrics.wasted_core_s;
    const sum = Object.values(parts).reduce((a, b) => a + b);
    assert.ok(Math.abs(total - sum) < 1e-12);
    assert.ok(total > 0 && total <= cpus.reduce((idle, { idle_ns }) => idle + idle_ns / 1e9, 0), policy);
  }
});

test.run();
