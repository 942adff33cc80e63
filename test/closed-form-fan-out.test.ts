// Delays in parallel, without queueing: a job forks n sleeps and waits for the last.
//
// max of n exponentials of mean 1: H_n = Σ 1/i: 2.928968, 5.187378, 7.485471 for n = 10, 100, 1000;
//   standard deviation √Σ 1/i², at most 1.2826.
// Tail at scale: of n calls one is slow with probability 1 − (1 − p)^n.
// p99 of the max over 100 servers, m of them 10× slower, mean 1 ms: the t with (1 − e^−t)^(100−m) (1 − e^−t/10)^m = .99:
//   9.2054, 46.0517, 62.1059, 69.0324 ms for m = 0, 1, 5, 10.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { ConfigInput, StepInput } from '../src/config/schema.js';
import { simulate } from '../src/engine/simulate.js';
import { assertConsistent, assertWithin, replicate } from './support/replications.js';

/** One client that sends `jobs` requests one after the other. */
function closed(program: StepInput[], jobs: number): ConfigInput {
  return {
    machine: 'ideal-1',
    policy: 'global-fifo',
    workload: { arrivals: [{ name: 'requests', clients: 1, max_arrivals: jobs, spawn: { program } }] },
    output: { digest: false },
  };
}

const calls = (count: number, program: StepInput[]): StepInput => ({ fork: { count, program } });
const join: StepInput = { join: 'sleep' };

test('the mean of the longest of n exponential delays is the harmonic number', async () => {
  for (const [n, jobs, value] of [
    [10, 20_000, 2.928968],
    [100, 8_000, 5.187378],
    [1000, 800, 7.485471],
  ]) {
    const program = [calls(n, [{ sleep: { exponential: '1s' } }]), join];
    const { mean } = await replicate(closed(program, jobs), 5, ({ metrics }) => ({
      mean: metrics.latency_ms.mean / 1e3,
    }));
    // Five runs tell little about their own spread, but the deviation of one job is known.
    const deviation = Math.sqrt(
      Array.from({ length: n }, (_, i) => 1 / (i + 1) ** 2).reduce((a, b) => a + b),
    );
    const standard_error = deviation / Math.sqrt(5 * jobs);
    assert.ok(mean.standard_error < 2 * standard_error);
    assertWithin(`max of ${n}`, { mean: mean.mean, standard_error }, value);
  }
});

test('tail at scale: the slow server that one call in many meets is met by many requests', async () => {
  for (const [p, n, jobs, value] of [
    [0.01, 100, 20_000, 0.633968],
    [0.001, 100, 20_000, 0.095208],
    [0.0001, 2000, 1_500, 0.181277],
  ]) {
    assert.ok(Math.abs(1 - (1 - p) ** n - value) < 1e-5);
    const call: StepInput[] = [
      // biome-ignore lint/suspicious/noThenProperty: the config's word
      { branch: { probability: p, then: [{ sleep: '1s' }], else: [{ sleep: '1ms' }] } },
    ];
    const { histograms } = await simulate(closed([calls(n, call), join], jobs));
    const { histogram } = histograms.find(({ kind }) => kind === 'latency')!;
    // Each request takes 1 ms or 1 s exactly, so their mean counts the slow ones.
    const slow = (histogram.mean / 1e6 - 1) / 999;
    const standard_error = Math.sqrt((value * (1 - value)) / jobs);
    assertConsistent(
      `${n} calls, ${p} slow`,
      { mean: slow, standard_error },
      value,
      1.01 * (standard_error / value),
    );
  }
});

test('p99 over 100 servers of which a few are slow', async () => {
  for (const [slow, value] of [
    [0, 9.2054],
    [1, 46.0517],
    [5, 62.1059],
    [10, 69.0324],
  ]) {
    const program = [
      ...(slow === 0 ? [] : [calls(slow, [{ sleep: { exponential: '10ms' } }])]),
      calls(100 - slow, [{ sleep: { exponential: '1ms' } }]),
      join,
    ];
    const { p99 } = await replicate(closed(program, 10_000), 4, ({ metrics }) => ({
      p99: metrics.latency_ms.p99,
    }));
    // The tail is exponential with mean τ, the slowest server's; an estimate from 40,000 has a standard error of
    // τ √(.99/(.01 · 40000)) = .05 τ: .5 % to 1 % of the values.
    assertConsistent(`${slow} slow servers`, p99, value, 0.015);
  }
});

test.run();
