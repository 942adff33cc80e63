// Runs that go wrong end with an outcome and its reason: starved tasks are named by the watchdog, tasks that wait for
// each other are found when nothing can move them any more.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { ConfigInput } from '../src/config/schema.js';
import { simulate } from '../src/engine/simulate.js';

/** Two CPUs; a hog occupies CPU 1, and a task pinned there wants 1 ms of it. */
function pinnedBehindHog(policy: ConfigInput['policy'], hogClass: 'ext' | 'fair' = 'ext'): ConfigInput {
  return {
    machine: 'ideal-2',
    policy,
    kernel: { watchdog_timeout: '5s' },
    workload: {
      tasks: [
        { name: 'hog', class: hogClass, cpus: '1', program: [{ run: '60s' }] },
        { name: 'pinned', start: '1s', cpus: '1', program: [{ run: '1ms' }] },
      ],
    },
    run: { limit: '100s' },
  };
}

test('sched-ext/scx#1185: a task pinned to a busy CPU runs within one slice', async () => {
  for (const policy of ['global-fifo', 'percpu-fifo', 'global-vtime', 'domains:1', 'weighted-vtime:2']) {
    const { outcome, classes } = await simulate(pinnedBehindHog(policy));
    assert.is(outcome, 'completed', policy);
    const pinned = classes.find(({ name }) => name === 'pinned')!;
    // A slice of 3 ms, or the default of 20 ms that a task gets which goes on because nobody else waited.
    assert.ok(pinned.wake_latency_us.max <= 20_000, `${policy}: ${pinned.wake_latency_us.max} µs`);
  }
});

test('sched-ext/scx#1185: behind a task that never gives its CPU back the watchdog names the one that waits', async () => {
  // With a slice of an hour nothing preempts the hog.
  const config = pinnedBehindHog({ name: 'percpu-fifo', slice: '1h' });
  const { outcome, reason, metrics } = await simulate(config);
  assert.is(outcome, 'stalled');
  assert.is(reason!.code, 'watchdog');
  assert.is(reason!.task, 'task "pinned" (pid 2)');
  assert.is(reason!.cpu, 1);
  assert.is(reason!.since_ns, 1e9);
  // Looked for every half timeout, so found after 1 to 1.5 times the timeout: at 7.5 s, runnable since 1 s.
  assert.is(metrics.duration_s, 7.5);
});

test('sched-ext/scx#1202-like: ext tasks starve behind a task of a higher class, and the one that waits is named', async () => {
  const { outcome, reason } = await simulate(pinnedBehindHog('global-fifo', 'fair'));
  assert.is(outcome, 'stalled');
  assert.is(reason!.task, 'task "pinned" (pid 2)');
  assert.is(reason!.since_ns, 1e9);
});

test('a watchdog of 0 s is none: the starved task runs when the hog has ended', async () => {
  const config = pinnedBehindHog({ name: 'percpu-fifo', slice: '1h' });
  const { outcome, metrics } = await simulate({ ...config, kernel: { watchdog_timeout: '0s' } });
  assert.is(outcome, 'completed');
  assert.is(metrics.duration_s, 60.001);
});

test('two tasks that wait for each other are a deadlock', async () => {
  for (const policy of ['eevdf', 'global-fifo']) {
    const { outcome, reason } = await simulate({
      machine: 'ideal-2',
      policy,
      workload: {
        tasks: [
          { name: 'a', program: ['block', { wake: 'b' }] },
          { name: 'b', program: ['block', { wake: 'a' }] },
        ],
      },
    });
    assert.is(outcome, 'deadlocked', policy);
    assert.is(reason!.code, 'deadlock');
  }
});

test('two tasks that poll for each other’s event use the CPUs for nothing, and are a deadlock too', async () => {
  const { outcome } = await simulate({
    machine: 'ideal-2',
    policy: 'global-fifo',
    workload: {
      events: [{ name: 'first' }, { name: 'second' }],
      tasks: [
        { name: 'a', program: [{ spin_until: 'first' }, { signal: 'second' }] },
        { name: 'b', program: [{ spin_until: 'second' }, { signal: 'first' }] },
      ],
    },
    run: { limit: '100s' },
  });
  assert.is(outcome, 'deadlocked');
});

test('a job that nobody receives is a deadlock, background work or not', async () => {
  const { outcome, reason, metrics } = await simulate({
    machine: 'ideal-2',
    policy: 'global-fifo',
    workload: {
      queues: [{ name: 'requests' }],
      tasks: [
        {
          name: 'heartbeat',
          background: true,
          program: [{ loop: { times: 'forever', do: [{ sleep: '1s' }, { run: '1ms' }] } }],
        },
      ],
      arrivals: [{ name: 'jobs', interarrival: '1s', max_arrivals: 3, queue: 'requests' }],
    },
  });
  assert.is(outcome, 'deadlocked');
  assert.match(reason!.message, /^3 jobs/);
  assert.is(metrics.in_system, 3);
});

test('a program that takes no time for ever is a livelock, not a hang', async () => {
  const { outcome, reason } = await simulate({
    machine: 'ideal-1',
    policy: 'global-fifo',
    workload: {
      tasks: [{ name: 'idler', program: [{ loop: { times: 4_000_000_000, do: [{ sleep: '0s' }] } }] }],
    },
    run: { limit: '1s' },
  });
  assert.is(outcome, 'stalled');
  assert.is(reason!.code, 'livelock');
});

test.run();
