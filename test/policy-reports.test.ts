// Public reports about sched_ext schedulers (sched-ext/scx), each as a scenario of ours. All on ideal machines: slices end
// exactly, nothing costs time.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { ConfigInput } from '../src/config/schema.js';
import { simulate } from '../src/engine/simulate.js';
import { SimulationError } from '../src/errors.js';
import type { ClassResult, SimulationResult } from '../src/types.js';

const HOG = [{ run: '1h' }];

function classOf(result: SimulationResult, name: string): ClassResult {
  const found = result.classes.find((entry) => entry.name === name);
  assert.ok(found, `no class ${name}`);
  return found;
}

/** CPU time of a class's finished stays on a CPU, ms. */
function finishedMs(result: SimulationResult, name: string): number {
  const { count, mean } = classOf(result, name).stint_us;
  return count === 0 ? 0 : (count * mean) / 1e3;
}

test('#1185: tasks put back into a local DSQ starve a pinned task that waits in a shared one', async () => {
  const scenario = (requeue: 'shared' | 'local'): ConfigInput => ({
    machine: 'ideal-2',
    policy: { name: 'global-fifo', slice: '20ms', requeue },
    workload: {
      tasks: [
        { name: 'hog', count: 2, cpus: '1', program: HOG },
        { name: 'pinned', cpus: '1', start: '1ms', program: [{ run: '1ms' }] },
      ],
    },
    run: { end: 'horizon', horizon: '60s' },
  });
  // CPU 1's local DSQ always holds the other hog, so dispatch() never runs. Runnable since 1 ms, found by the scan of
  // 45 s (every 15 s: at 30 s it has waited for 29.999 s). hog/0 and hog/1 take turns of 20 ms: hog/0 has the even ones.
  const starved = await simulate(scenario('local'));
  assert.is(starved.outcome, 'stalled');
  assert.is(
    starved.reason?.message,
    'task "pinned" (pid 3) has been runnable on CPU 1 since 0.001 s without running; ' +
      'it waits in user DSQ 0 while CPU 1 runs task "hog/0" (pid 1)',
  );
  assert.is(starved.metrics.duration_s, 45);
  // Right: hog/0 to 20 ms, hog/1, which was first in the queue, to 40 ms, then the pinned task: 39 ms after it woke.
  const served = await simulate(scenario('shared'));
  assert.is(served.outcome, 'horizon');
  assert.is(classOf(served, 'pinned').wake_latency_us.max, 39_000);
});

test('#583: a task pinned to CPU 3 in the local DSQ of CPU 2 is an error that names task, CPU and mask', async () => {
  const run = simulate({
    machine: 'ideal-4',
    policy: { name: 'percpu-fifo', place: 'round-robin' },
    workload: {
      tasks: [
        // They take CPUs 0 and 1.
        { name: 'first', count: 2, program: HOG },
        { name: 'pinned', cpus: '3', start: '1ms', program: HOG },
      ],
    },
    run: { end: 'horizon', horizon: '1s' },
  });
  const error = await run.then(
    () => undefined,
    (reason) => reason,
  );
  assert.instance(error, SimulationError);
  assert.is(error.code, 'policy_local_affinity');
  assert.is(
    error.message,
    'the policy percpu-fifo breaks a rule of the kernel: ' +
      'task "pinned" (pid 3) was inserted into the local DSQ of CPU 2, which its mask does not allow: ' +
      'it may run on CPUs 3',
  );
});

test('#728: affinity that changes while a task is queued holds at the dispatch', async () => {
  const result = await simulate({
    machine: 'ideal-2',
    policy: { name: 'global-fifo', slice: '10ms' },
    workload: {
      tasks: [
        {
          name: 'mover',
          cpus: '0',
          program: [{ run: '5ms' }, { affinity: '1', task: 'queued' }, { run: '1h' }],
        },
        { name: 'hog', cpus: '1', program: HOG },
        { name: 'queued', start: '1ms', program: [{ run: '5ms' }] },
      ],
    },
    run: { end: 'horizon', horizon: '100ms' },
  });
  // Queued at 1 ms, restricted to CPU 1 at 5 ms. At 10 ms CPU 0 looks first, and may not take it; CPU 1 does.
  assert.is(classOf(result, 'queued').wake_latency_us.max, 9000);
  assert.equal(
    result.cpus.map(({ switches }) => switches),
    [1, 3],
  );
});

test('#728: a running task leaves the CPU that its new mask forbids', async () => {
  const result = await simulate({
    machine: 'ideal-2',
    policy: { name: 'global-fifo', slice: '1h' },
    workload: {
      tasks: [
        { name: 'moved', program: [{ run: '20ms' }] },
        { name: 'mover', program: [{ run: '5ms' }, { affinity: '1', task: 'moved' }, { run: '5ms' }] },
      ],
    },
  });
  // 5 ms on CPU 0; waits until the mover leaves CPU 1 at 10 ms; the other 15 ms there.
  assert.is(result.metrics.duration_s, 0.025);
  assert.equal(
    result.cpus.map(({ busy_ns }) => busy_ns),
    [5e6, 25e6],
  );
});

for (const policy of [
  'domains:2',
  'domains-as-coded:2',
  'weighted-vtime:2',
  'global-fifo',
  'global-vtime',
  'percpu-fifo',
  'central',
  'five-level',
  'nest',
  'shortest-remaining',
  'sfs',
] as const) {
  test(`#755, #1678: ${policy} runs a task pinned to an idle CPU at once, whatever queue it is in`, async () => {
    const hasDomains = policy.includes(':');
    const result = await simulate({
      machine: 'ideal-8',
      policy,
      workload: {
        tasks: [
          // CPUs 0-3 and the queue of their domain are full of tasks that CPU 5 may not take.
          { name: 'hog', count: 8, cpus: '0-3', ...(hasDomains ? { domain: 0 } : {}), program: HOG },
          {
            name: 'pinned',
            cpus: '5',
            start: '10ms',
            ...(hasDomains ? { domain: 0 } : {}),
            program: [{ run: '1ms' }],
          },
        ],
      },
      run: { end: 'horizon', horizon: '100ms' },
    });
    const { wake_latency_us } = classOf(result, 'pinned');
    assert.is(wake_latency_us.count, 1);
    assert.is(wake_latency_us.max, 0);
    assert.is(result.cpus[5].busy_ns, 1e6);
  });
}

for (const policy of ['domains:2', 'weighted-vtime:2', 'global-fifo', 'nest', 'sfs'] as const) {
  test(`#755, #1678: ${policy} finds the idle CPU among those that a task may use`, async () => {
    const hasDomains = policy.includes(':');
    const result = await simulate({
      machine: 'ideal-8',
      policy,
      workload: {
        tasks: [
          { name: 'hog', cpus: '5', ...(hasDomains ? { domain: 1 } : {}), program: HOG },
          // CPU 4 is idle and forbidden, CPU 5 is busy, CPU 6 is idle and allowed.
          {
            name: 'restricted',
            cpus: '5-6',
            start: '1ms',
            ...(hasDomains ? { domain: 1 } : {}),
            program: [{ run: '1ms' }],
          },
        ],
      },
      run: { end: 'horizon', horizon: '50ms' },
    });
    assert.is(classOf(result, 'restricted').wake_latency_us.max, 0);
    assert.is(result.cpus[6].busy_ns, 1e6);
  });
}

test('#828: a strict policy starves the lowest level; a limit on the wait serves it', async () => {
  const scenario = (starvation_limit: string): ConfigInput => ({
    machine: 'ideal-1',
    policy: { name: 'five-level', order: 'strict', slice: '20ms', starvation_limit },
    workload: {
      tasks: [
        { name: 'high', weight: 8192, program: HOG },
        { name: 'low', weight: 128, start: '1ms', program: HOG },
      ],
    },
    run: { end: 'horizon', horizon: '10s' },
  });
  const starved = await simulate({ ...scenario('0s'), run: { end: 'horizon', horizon: '60s' } });
  assert.is(starved.outcome, 'stalled');
  assert.is(
    starved.reason?.message,
    'task "low" (pid 2) has been runnable on CPU 0 since 0.001 s without running; ' +
      'it waits in user DSQ 0 while CPU 0 runs task "high" (pid 1)',
  );
  // Decisions every 20 ms. Waiting since 1 ms, the limit of 1 s is over at 1.02 s; then every 1.02 s, after each 20 ms of
  // its own: at 1.02, 2.04, …, 9.18 s, nine times.
  const served = await simulate(scenario('1s'));
  assert.is(served.outcome, 'horizon');
  assert.is(classOf(served, 'low').stint_us.count, 9);
  assert.is(finishedMs(served, 'low'), 180);
});

test('#261: a day of sleep is worth one slice of credit, if credit is clamped', async () => {
  const scenario = (credit: 'slice' | 'unlimited', horizon: string): ConfigInput => ({
    machine: 'ideal-1',
    policy: { name: 'global-vtime', slice: '20ms', credit, keep_running: true },
    workload: {
      tasks: [
        { name: 'sleeper', program: [{ sleep: '24h' }, { run: '1h' }] },
        {
          name: 'worker',
          program: [{ loop: { times: 'forever', do: [{ run: '19ms' }, { sleep: '1ms' }] } }],
        },
      ],
    },
    run: { end: 'horizon', horizon },
    output: { digest: false },
  });
  // What the worker finished before and after the sleeper woke; the sleeper has at most the rest of the second.
  const after = async (credit: 'slice' | 'unlimited') => {
    const before = await simulate(scenario(credit, '86400s'));
    const result = await simulate(scenario(credit, '86401s'));
    const worker_ms = finishedMs(result, 'worker') - finishedMs(before, 'worker');
    return { sleeper_ms: finishedMs(result, 'sleeper'), worker_ms: Math.round(worker_ms) };
  };
  // The sleeper begins one slice behind the largest vtime that has started to run, the worker up to 19 ms ahead of it:
  // 39 ms alone and then half of the rest, within a slice.
  const clamped = await after('slice');
  assert.ok(1000 - clamped.worker_ms <= 530, JSON.stringify(clamped));
  assert.ok(clamped.sleeper_ms >= 450, JSON.stringify(clamped));
  // Unclamped, it is a day behind and keeps the CPU.
  const unclamped = await after('unlimited');
  assert.is(unclamped.worker_ms, 0);
});

test('#3563: a task of short sleeps gets its half only if its wake-ups preempt', async () => {
  const share = async (preempt: boolean) => {
    const result = await simulate({
      machine: 'ideal-1',
      policy: { name: 'global-vtime', slice: '20ms', preempt },
      workload: {
        tasks: [
          {
            name: 'napper',
            program: [{ loop: { times: 'forever', do: [{ run: '100us' }, { sleep: '1us' }] } }],
          },
          { name: 'hog', program: HOG },
        ],
      },
      run: { end: 'horizon', horizon: '20s' },
    });
    return finishedMs(result, 'napper') / 20_000;
  };
  const preempting = await share(true);
  assert.ok(Math.abs(preempting - 0.5) <= 0.02, `${preempting}`);
  // Without: 100 µs for each slice of 20 ms, 0.5 %.
  const waiting = await share(false);
  assert.ok(waiting <= 0.025 && Math.abs(waiting - 0.1 / 20.1) < 0.0005, `${waiting}`);
});

test.run();
