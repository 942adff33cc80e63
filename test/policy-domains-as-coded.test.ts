// Scheduling domains as coded, on ideal machines (exact slices, no costs): each rule that differs from the paper's text.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { ConfigInput } from '../src/config/schema.js';
import { simulate } from '../src/engine/simulate.js';
import type { SimulationResult } from '../src/types.js';

const HOG = [{ run: '1h' }];

function finishedMs(result: SimulationResult, name: string): number {
  const { count, mean } = result.classes.find((entry) => entry.name === name)!.stint_us;
  return count === 0 ? 0 : (count * mean) / 1e3;
}

test('the first slice is the kernel’s default, the second a poller’s third, the others whole; ENQ_LAST ends each', async () => {
  const result = await simulate({
    machine: 'ideal-2',
    policy: 'domains-as-coded:1',
    workload: { tasks: [{ name: 'task', program: [{ run: '30ms' }] }] },
  });
  // A factor of 0 makes a slice of 0: the task keeps what it has, 20 ms (init_scx_entity()). The first sample has variance 0:
  // factor 3, 333 333 ns. From the second on the samples lie anywhere in the burst's 4 KiB: factor 1, 1 ms.
  // 30 ms = 20 ms + 333 333 ns + 9 × 1 ms + 666 667 ns.
  const { stint_us } = result.classes[0];
  assert.is(stint_us.count, 12);
  assert.is(stint_us.min, 333.333);
  assert.is(stint_us.max, 20_000);
  // Alone on its CPU it is still stopped and enqueued; the other CPU, idle, is kicked and takes it without delay.
  assert.is(result.metrics.duration_s, 0.03);
  assert.is(result.metrics.migrations, 11);
  assert.equal(result.metrics.poll_detection, {
    true_positives: 0,
    false_positives: 1,
    false_negatives: 0,
    true_negatives: 11,
  });
});

test('with no other CPU to kick, what ENQ_LAST left behind waits for the heartbeat', async () => {
  const result = await simulate({
    machine: 'ideal-1',
    policy: { name: 'domains-as-coded', heartbeat: '1s' },
    workload: { tasks: [{ name: 'task', program: [{ run: '22ms' }] }] },
  });
  // 20 ms at 0 s, 333 333 ns at 1 s, 1 ms at 2 s, the remaining 666 667 ns at 3 s.
  assert.is(result.classes[0].stint_us.count, 4);
  assert.is(result.metrics.duration_s, 3.000666667);
});

test('every dispatch also takes a task from the global queue: tasks in no domain do not starve', async () => {
  const scenario = (policy: 'domains:1' | 'domains-as-coded:1'): ConfigInput => ({
    machine: 'ideal-1',
    policy,
    workload: {
      tasks: [
        { name: 'mapped', count: 3, domain: 0, program: HOG },
        { name: 'unmapped', domain: 'none', program: HOG },
      ],
    },
    run: { end: 'horizon', horizon: '60s' },
  });
  // One dispatch puts two tasks into the local DSQ if both queues have one. Right after the unmapped task has run the global
  // queue is empty (it is enqueued after the pick), so it has every third turn: mapped; mapped, unmapped; mapped; …
  const coded = await simulate(scenario('domains-as-coded:1'));
  assert.is(coded.outcome, 'horizon');
  assert.ok(Math.abs(finishedMs(coded, 'unmapped') - 20_000) < 20, `${finishedMs(coded, 'unmapped')}`);
  // The paper's order asks the global queue only when the domain's is empty.
  const paper = await simulate(scenario('domains:1'));
  assert.is(paper.outcome, 'stalled');
  assert.match(
    paper.reason!.message,
    /^task "unmapped" \(pid 4\).* it waits in user DSQ 1 while CPU 0 runs task "mapped/,
  );
});

test('a task restricted to at most half the CPUs waits at one CPU, even if another of its CPUs is idle', async () => {
  const longestWait = async (cpus: string) => {
    const result = await simulate({
      machine: 'ideal-4',
      policy: 'domains-as-coded:1',
      workload: { tasks: [{ name: 'restricted', count: 2, cpus, program: [{ run: '5ms' }] }] },
    });
    assert.is(result.outcome, 'completed');
    return result.classes[0].wake_latency_us.max;
  };
  // The first runs on CPU 0 for its slice of 1 ms. CPU 0's queue is as empty as CPU 1's, so the second waits there; CPU 1 is
  // kicked but looks into its own queue only.
  assert.is(await longestWait('0-1'), 1000);
  // Three of four CPUs are more than half: the domain's queue serves them side by side.
  assert.is(await longestWait('0-2'), 0);
});

test('a CPU steals from up to 11 domains away, and no further', async () => {
  const run = async (domain: number) => {
    const result = await simulate({
      machine: 'ideal-16',
      policy: 'domains-as-coded:16',
      workload: { tasks: [{ name: 'task', domain, program: [{ run: '1ns' }] }] },
    });
    return { cpu: result.cpus.findIndex(({ busy_ns }) => busy_ns > 0), steals: result.metrics.steals };
  };
  // A task that begins on CPU 0 wakes CPU 0 and, by a kick, the CPU of its domain; CPU 0 looks first.
  assert.equal(await run(11), { cpu: 0, steals: 1 });
  assert.equal(await run(12), { cpu: 12, steals: 0 });
});

test('samples of the instruction pointer leave the draws of programs alone', async () => {
  // CPU time of 200 bursts of random length: the same, to the nanosecond, however often somebody looks.
  const cpuTime = async (policy: ConfigInput['policy']) => {
    const result = await simulate({
      machine: 'ideal-2',
      policy,
      workload: {
        tasks: [
          {
            name: 'task',
            count: 4,
            program: [
              {
                loop: { times: 50, do: [{ run: { exponential: '3ms' } }, { sleep: { exponential: '1ms' } }] },
              },
            ],
          },
        ],
      },
    });
    assert.is(result.outcome, 'completed');
    return result.cpus.reduce((sum, { busy_ns }) => sum + busy_ns, 0);
  };
  const coded = await cpuTime('domains-as-coded');
  assert.is(await cpuTime('global-fifo'), coded);
  assert.is(await cpuTime({ name: 'domains-as-coded', slice: '200us' }), coded);
});

test('pollers are found, and sleepers that always wait in the same call are taken for pollers', async () => {
  const result = await simulate({
    machine: 'ideal-1',
    policy: 'domains-as-coded:1',
    workload: {
      tasks: [
        { name: 'poller', count: 2, program: [{ spin: '1h' }] },
        {
          name: 'sleeper',
          program: [{ loop: { times: 'forever', do: [{ run: '10us' }, { sleep: '1ms' }] } }],
        },
      ],
    },
    run: { end: 'horizon', horizon: '10s' },
  });
  const { true_positives, false_positives, false_negatives, true_negatives } = result.metrics.poll_detection;
  const stops = (name: string) => result.classes.find((entry) => entry.name === name)!.stint_us.count;
  // A poll stays within 4 bytes: variance at most (3²)/4 + … < 16. Factor 3, so slices of a third of a millisecond.
  assert.is(true_positives, stops('poller'));
  assert.is(false_negatives, 0);
  assert.ok(Math.abs(result.classes[0].stint_us.p50 / 333.333 - 1) <= 0.001, 'a histogram’s error');
  // The first slice, before any sample.
  assert.is(result.classes[0].stint_us.max, 20_000);
  // The sleeper always stops at the same address.
  assert.is(false_positives + true_negatives, stops('sleeper'));
  assert.ok(false_positives > 0.9 * stops('sleeper'), JSON.stringify(result.metrics.poll_detection));
});

test('sampled at the tick, the same sleepers are let be: they are hardly ever there', async () => {
  const result = await simulate({
    machine: 'ideal-1',
    kernel: { slice_expiry: 'tick' },
    policy: { name: 'domains-as-coded', sample: 'tick' },
    workload: {
      tasks: [
        { name: 'poller', count: 2, program: [{ spin: '1h' }] },
        {
          name: 'sleeper',
          program: [{ loop: { times: 'forever', do: [{ run: '10us' }, { sleep: '7ms' }] } }],
        },
      ],
    },
    run: { end: 'horizon', horizon: '10s' },
  });
  const { true_positives, false_positives, false_negatives } = result.metrics.poll_detection;
  // A tick every 4 ms finds somebody running: 2500 in 10 s, nearly all of them pollers.
  assert.ok(true_positives > 2000, JSON.stringify(result.metrics.poll_detection));
  assert.is(false_negatives, 0);
  assert.ok(false_positives < 25, JSON.stringify(result.metrics.poll_detection));
});

test('with the counter of enqueues restored, vtime grows between resets', async () => {
  // Sleepers that differ in the length of their bursts, on a CPU that is always busy. As coded each stop resets vtime, so that
  // the task which stopped first goes first: the short one waits for the four others, less its sleep, 20 − 3 = 17 ms. With
  // the counter every stop charges the burst, the short one is always first, and waits for a running one only: at most 5 ms.
  const waits = async (counts_enqueues: boolean) => {
    const cycle = (run: string, sleep: string) => [
      { loop: { times: 'forever' as const, do: [{ run }, { sleep }] } },
    ];
    const result = await simulate({
      machine: 'ideal-1',
      policy: { name: 'domains-as-coded', counts_enqueues, slice: '100ms', reset_every: 1_000_000 },
      workload: {
        tasks: [
          { name: 'long', count: 4, program: cycle('5ms', '3ms') },
          { name: 'short', program: cycle('500us', '3ms') },
        ],
      },
      run: { end: 'horizon', horizon: '20s' },
    });
    return result.classes.find(({ name }) => name === 'short')!.wake_latency_us.p50;
  };
  const coded = await waits(false);
  const counted = await waits(true);
  assert.ok(Math.abs(coded - 17_000) < 500, `${coded} µs`);
  assert.ok(counted <= 5000, `${counted} µs`);
});

test.run();
