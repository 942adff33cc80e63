// Public reports about sched_ext schedulers (sched-ext/scx), each as a scenario of ours (src/selftest/scenarios.ts).

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { simulate } from '../src/engine/simulate.js';
import { SimulationError } from '../src/errors.js';
import {
  classOf,
  DAY_TURNS,
  finishedMs,
  localRequeue,
  oneIdleAllowed,
  pinnedToIdle,
  restrictedWhileQueued,
  shortSleeps,
  sleepCredit,
  strictLevels,
  TURN_MS,
  wrongLocal,
} from '../src/selftest/scenarios.js';

test('#1185: tasks put back into a local DSQ starve a pinned task that waits in a shared one', async () => {
  // CPU 1's local DSQ always holds the other hog, so dispatch() never runs. Runnable since 1 ms, found by the scan of
  // 45 s (every 15 s: at 30 s it has waited for 29.999 s). hog/0 and hog/1 take turns of 20 ms: hog/0 has the even ones.
  const starved = await simulate(localRequeue('local'));
  assert.is(starved.outcome, 'stalled');
  assert.is(
    starved.reason?.message,
    'task "pinned" (pid 3) has been runnable on CPU 1 since 0.001 s without running; ' +
      'it waits in user DSQ 0 while CPU 1 runs task "hog/0" (pid 1)',
  );
  assert.is(starved.metrics.duration_s, 45);
  // Right: hog/0 to 20 ms, hog/1, which was first in the queue, to 40 ms, then the pinned task: 39 ms after it woke.
  const served = await simulate(localRequeue('shared'));
  assert.is(served.outcome, 'horizon');
  assert.is(classOf(served, 'pinned').wake_latency_us.max, 39_000);
});

test('#583: a task pinned to CPU 3 in the local DSQ of CPU 2 is an error that names task, CPU and mask', async () => {
  const error = await simulate(wrongLocal).then(
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
  const result = await simulate(restrictedWhileQueued);
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
    const result = await simulate(pinnedToIdle(policy));
    const { wake_latency_us } = classOf(result, 'pinned');
    assert.is(wake_latency_us.count, 1);
    assert.is(wake_latency_us.max, 0);
    assert.is(result.cpus[5].busy_ns, 1e6);
  });
}

for (const policy of ['domains:2', 'weighted-vtime:2', 'global-fifo', 'nest', 'sfs'] as const) {
  test(`#755, #1678: ${policy} finds the idle CPU among those that a task may use`, async () => {
    const result = await simulate(oneIdleAllowed(policy));
    assert.is(classOf(result, 'restricted').wake_latency_us.max, 0);
    assert.is(result.cpus[6].busy_ns, 1e6);
  });
}

test('#828: a strict policy starves the lowest level; a limit on the wait serves it', async () => {
  const starved = await simulate(strictLevels('0s', '60s'));
  assert.is(starved.outcome, 'stalled');
  assert.is(
    starved.reason?.message,
    'task "low" (pid 2) has been runnable on CPU 0 since 0.001 s without running; ' +
      'it waits in user DSQ 0 while CPU 0 runs task "high" (pid 1)',
  );
  // Decisions every 20 ms. Waiting since 1 ms, the limit of 1 s is over at 1.02 s; then every 1.02 s, after each 20 ms of
  // its own: at 1.02, 2.04, …, 9.18 s, nine times.
  const served = await simulate(strictLevels('1s', '10s'));
  assert.is(served.outcome, 'horizon');
  assert.is(classOf(served, 'low').stint_us.count, 9);
  assert.is(finishedMs(served, 'low'), 180);
});

test('#261: a day of sleep is worth one slice of credit, if credit is clamped', async () => {
  // What they did after the sleeper woke; the sleeper has at most the rest of the second.
  const after = async (credit: 'slice' | 'unlimited') => {
    const result = await simulate(sleepCredit(credit));
    const worker_ms = finishedMs(result, 'worker') - DAY_TURNS * TURN_MS;
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
  const share = async (preempt: boolean) =>
    finishedMs(await simulate(shortSleeps(preempt)), 'napper') / 20_000;
  const preempting = await share(true);
  assert.ok(Math.abs(preempting - 0.5) <= 0.02, `${preempting}`);
  // Without: 100 µs for each slice of 20 ms, 0.5 %.
  const waiting = await share(false);
  assert.ok(waiting <= 0.025 && Math.abs(waiting - 0.1 / 20.1) < 0.0005, `${waiting}`);
});

test.run();
