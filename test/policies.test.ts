// The native policies: each by a small scenario whose times are worked out by hand, on ideal machines (exact slices, no
// costs).

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { ConfigInput } from '../src/config/schema.js';
import { simulate } from '../src/engine/simulate.js';
import type { ClassResult, SimulationResult } from '../src/types.js';
import { assertConsistent, replicate } from './support/replications.js';

const HOG = [{ run: '1h' }];

function classOf(result: SimulationResult, name: string): ClassResult {
  return result.classes.find((entry) => entry.name === name)!;
}

function finishedMs(result: SimulationResult, name: string): number {
  const { count, mean } = classOf(result, name).stint_us;
  return count === 0 ? 0 : (count * mean) / 1e3;
}

const busyMs = (result: SimulationResult) => result.cpus.map(({ busy_ns }) => busy_ns / 1e6);

test('central: the central CPU serves the others first, and gives up its own task for each arrival', async () => {
  const result = await simulate({
    machine: 'ideal-2',
    policy: 'central',
    workload: {
      tasks: [
        { name: 'a', program: [{ run: '50ms' }] },
        { name: 'b', program: [{ run: '50ms' }] },
        { name: 'c', program: [{ run: '10ms' }] },
      ],
    },
  });
  // a goes to CPU 1, b to CPU 0; c arrives, the central CPU is preempted to dispatch and takes c, b queues again: c to 10 ms,
  // then b. At 50 ms a ends and CPU 1 asks for work, which preempts the central CPU again; b, alone in the queue at the
  // timer of the same instant, goes to CPU 1: others first.
  assert.equal(busyMs(result), [50, 60]);
  assert.is(result.metrics.duration_s, 0.06);
});

test('central: the timer ends slices of 20 ms while somebody waits', async () => {
  const result = await simulate({
    machine: 'ideal-2',
    policy: 'central',
    workload: {
      tasks: ['a', 'b', 'c'].map((name) => ({ name, program: HOG })),
    },
    run: { end: 'horizon', horizon: '6s' },
  });
  // The timer takes CPU 1's task after 20 ms, and CPU 1's asking takes the central CPU's: the queue's head goes to CPU 1, the
  // next to CPU 0. Each hog runs 20 ms on CPU 1, 20 ms on CPU 0 and waits 20 ms: 4 s each, but for what runs at the end.
  for (const name of ['a', 'b', 'c']) {
    assert.ok(Math.abs(finishedMs(result, name) - 4000) <= 40, `${name}: ${finishedMs(result, name)} ms`);
  }
});

test('five-level: 1, 2, 4, 8 and 16 tasks of the levels in turn', async () => {
  const weights = [200, 400, 1024, 3000, 8000];
  const result = await simulate({
    machine: 'ideal-1',
    policy: { name: 'five-level', slice: '20ms' },
    workload: {
      // Two a level, so that no queue is empty while the other runs.
      tasks: weights.map((weight, level) => ({ name: `level-${level}`, count: 2, weight, program: HOG })),
    },
    run: { end: 'horizon', horizon: '62s' },
  });
  // A round is 31 slices of 20 ms = .62 s: 100 rounds.
  for (const level of [0, 1, 2, 3, 4]) {
    const expected = 100 * 2 ** level;
    const { count } = classOf(result, `level-${level}`).stint_us;
    assert.ok(
      Math.abs(count - expected) <= 2 ** level,
      `level ${level}: ${count} slices, expected ${expected}`,
    );
  }
});

test('nest: a task leaves its own idle core for a warm one', async () => {
  const run = async (policy: ConfigInput['policy']) => {
    const result = await simulate({
      machine: 'ideal-4',
      policy,
      workload: {
        tasks: [
          // Wakes on CPU 2 at 0 and 2 ms: into the reserve, then into the primary nest. Idle again from 2.5 ms.
          { name: 'warmer', cpus: '2-3', program: [{ run: '500us' }, { sleep: '1500us' }, { run: '500us' }] },
          // On CPU 3 until its mask is lifted; wakes at 3 ms.
          {
            name: 'visitor',
            cpus: '3',
            program: [{ run: '100us' }, { affinity: '0-3' }, { sleep: '2900us' }, { run: '1ms' }],
          },
        ],
      },
    });
    return busyMs(result);
  };
  assert.equal(await run({ name: 'nest' }), [0, 0, 2, 0.1]);
  // Half a millisecond is too long: CPU 2 is only in the reserve, still before cold cores.
  assert.equal(await run({ name: 'nest', remove_after: '100us' }), [0, 0, 2, 0.1]);
  // No reserve: any idle core, the lowest. The impatient warmer's core was in the primary nest, and is out of it by then.
  assert.equal(await run({ name: 'nest', remove_after: '100us', reserve: 0 }), [1, 0, 1, 0.1]);
  assert.equal(await run({ name: 'nest', reserve: 0 }), [0, 0, 2, 0.1]);
  // Without nests it stays where it ran last.
  assert.equal(await run('global-fifo'), [0, 0, 1, 1.1]);
});

test('shortest-remaining: a shorter job takes the CPU, a longer one waits', async () => {
  const result = await simulate({
    machine: 'ideal-1',
    policy: 'shortest-remaining',
    workload: {
      tasks: [
        { name: 'long', program: [{ run: '10ms' }] },
        { name: 'middle', start: '2ms', program: [{ run: '9ms' }] },
        { name: 'short', start: '4ms', program: [{ run: '5ms' }] },
      ],
    },
  });
  // At 2 ms long has 8 ms left, less than 9; at 4 ms it has 6, more than 5. short 4–9, long 9–15, middle 15–24.
  assert.is(classOf(result, 'short').wake_latency_us.max, 0);
  assert.is(classOf(result, 'middle').wake_latency_us.max, 13_000);
  assert.is(result.metrics.duration_s, 0.024);
  assert.is(result.metrics.preemptions, 1);
});

test('shortest-remaining: M/M/1 at λ = .8 has the mean response of SRPT, 2.352773', async () => {
  const { w } = await replicate(
    {
      machine: 'ideal-1',
      kernel: { watchdog_timeout: '0s' },
      policy: { name: 'shortest-remaining', slice: '1000h' },
      workload: {
        arrivals: [
          {
            name: 'jobs',
            rate: '0.8/s',
            duration: { exponential: '1s' },
            spawn: { program: [{ run_share: 1 }] },
          },
        ],
      },
      run: { horizon: '1500000s', warmup: '10000s' },
      output: { digest: false },
    },
    4,
    ({ metrics }) => ({ w: metrics.latency_ms.mean / 1e3 }),
  );
  assertConsistent('W', w, 2.352773, 0.005);
});

test('sfs: a request keeps the CPU for its filter slice, then yields to all that are in theirs', async () => {
  const result = await simulate({
    machine: 'ideal-1',
    policy: { name: 'sfs', filter_slice: '10ms', window: 1000 },
    workload: {
      tasks: [
        { name: 'long', program: [{ run: '30ms' }] },
        { name: 'first', start: '1ms', program: [{ run: '5ms' }] },
        { name: 'second', start: '2ms', program: [{ run: '5ms' }] },
        { name: 'third', start: '21ms', program: [{ run: '5ms' }] },
      ],
    },
  });
  // long 0–10 and demoted; first 10–15, second 15–20; long 20–21; third preempts it, 21–26; long 26–45.
  assert.is(classOf(result, 'first').wake_latency_us.max, 9000);
  assert.is(classOf(result, 'second').wake_latency_us.max, 13_000);
  assert.is(classOf(result, 'third').wake_latency_us.max, 0);
  assert.is(result.metrics.duration_s, 0.045);
});

test('sfs: the filter slice is the mean inter-arrival time of a window times the CPUs', async () => {
  const result = await simulate({
    machine: 'ideal-1',
    policy: { name: 'sfs', filter_slice: '1s', window: 3, overload: 0 },
    workload: {
      tasks: [
        // Requests at 0, 3 and 6 ms: the third makes the slice 6 ms / 3 = 2 ms.
        { name: 'a', program: [{ run: '1ms' }] },
        { name: 'b', start: '3ms', program: [{ run: '1ms' }] },
        { name: 'long', start: '6ms', program: [{ run: '5ms' }] },
        { name: 'next', start: '7ms', program: [{ run: '1ms' }] },
      ],
    },
  });
  // long 6–8 and demoted, next 8–9, long 9–12.
  assert.is(classOf(result, 'next').wake_latency_us.max, 1000);
  assert.is(result.metrics.duration_s, 0.012);
});

test.run();
