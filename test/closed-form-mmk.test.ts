// M/M/k, μ = 1: with a = λ and ρ = λ/k the probability of waiting is Erlang C,
//   C = a^k/k! · 1/(1 − ρ) / (Σ_{i<k} a^i/i! + a^k/k! · 1/(1 − ρ)),   Wq = C/(k − λ).
// The response is S + W, S ~ exp(1), W = 0 with probability 1 − C, else ~ exp(θ) with θ = k − λ:
//   P(R > t) = (1 − C) e^−t + C (θ e^−t − e^−θt)/(θ − 1).
//   (2, 1.6): C .711111, Wq 1.777778, p99 11.9374 · (4, 3.2): .596432, .745541, 6.8932 · (48, 43.2): .372642, .0776337, 4.69872

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { assertConsistent, assertWithin, replicate } from './support/replications.js';

/** Customers of M/M/k, each a task, first come first served. */
function estimate(k: number, rate: number, seconds: number, replications: number) {
  return replicate(
    {
      machine: `ideal-${k}`,
      kernel: { watchdog_timeout: '0s' },
      policy: { name: 'global-fifo', slice: '1000h' },
      workload: {
        arrivals: [
          { name: 'customers', rate: `${rate}/s`, spawn: { program: [{ run: { exponential: '1s' } }] } },
        ],
      },
      run: { horizon: `${seconds}s`, warmup: '2000s' },
      output: { digest: false },
    },
    replications,
    ({ metrics }) => ({
      wq: (metrics.latency_ms.mean - metrics.states_ms.running) / 1e3,
      p99: metrics.latency_ms.p99 / 1e3,
    }),
  );
}

function erlangC(k: number, load: number): number {
  let term = 1;
  let sum = 0;
  for (let i = 0; i < k; i++) {
    sum += term;
    term *= load / (i + 1);
  }
  const waiting = term / (1 - load / k);
  return waiting / (sum + waiting);
}

function p99(k: number, load: number): number {
  const c = erlangC(k, load);
  const theta = k - load;
  const above = (t: number) =>
    (1 - c) * Math.exp(-t) + (c * (theta * Math.exp(-t) - Math.exp(-theta * t))) / (theta - 1);
  let [low, high] = [0, 1000];
  for (let i = 0; i < 100; i++) {
    const middle = (low + high) / 2;
    if (above(middle) > 0.01) low = middle;
    else high = middle;
  }
  return low;
}

test('the closed forms give the published values', () => {
  const rows: [number, number, number, number][] = [
    [2, 1.6, 1.777778, 11.9374],
    [4, 3.2, 0.745541, 6.8932],
    [48, 43.2, 0.0776337, 4.69872],
  ];
  for (const [k, load, wq, quantile] of rows) {
    assert.ok(Math.abs(erlangC(k, load) / (k - load) - wq) < 1e-5 * wq);
    assert.ok(Math.abs(p99(k, load) - quantile) < 1e-4 * quantile);
  }
});

test('M/M/2', async () => {
  const found = await estimate(2, 1.6, 1_500_000, 10);
  assertWithin('Wq', found.wq, 1.777778);
  assertWithin('p99', found.p99, p99(2, 1.6), 0.02);
});

test('M/M/4', async () => {
  const found = await estimate(4, 3.2, 800_000, 10);
  assertWithin('Wq', found.wq, 0.745541);
  assertWithin('p99', found.p99, p99(4, 3.2), 0.02);
});

test('M/M/48', async () => {
  const found = await estimate(48, 43.2, 10_000, 8);
  assertWithin('p99', found.p99, p99(48, 43.2), 0.02);
  // 1 % of this small Wq takes 3·10⁸ customers: `vtime sweep examples/split48.yaml`.
  assertConsistent('Wq', found.wq, 0.0776337, 0.05);
});

test.run();
