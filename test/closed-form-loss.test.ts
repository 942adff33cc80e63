// Queues that refuse, and a queue with regular arrivals (mean service 1 s).
//
// Erlang B, M/M/k/k with offered load a: B(0) = 1, B(k) = a B(k−1)/(k + a B(k−1)): (5, 3) .110054, (48, 40) .0298765.
// M/M/1/5, λ = .9: π_n ∝ .9^n, n ≤ 5: loss = π_5 = .1 · .9^5/(1 − .9^6) = .126023,
//   L = Σ n π_n = 2.194887, W = L/(λ(1 − π_5)) = 2.790286.
// D/M/1, λ = .8: σ = e^(−(1 − σ)/.8) = .628630, Wq = σ/(1 − σ) = 1.692731, W = 1/(1 − σ) = 2.692731.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { ConfigInput } from '../src/config/schema.js';
import { assertConsistent, assertWithin, replicate } from './support/replications.js';

type Source = Omit<NonNullable<ConfigInput['workload']['arrivals']>[number], 'name' | 'spawn'>;

function estimate(cpus: number, source: Source, seconds: number, replications: number) {
  return replicate(
    {
      machine: `ideal-${cpus}`,
      kernel: { watchdog_timeout: '0s' },
      policy: { name: 'global-fifo', slice: '1000h' },
      workload: {
        arrivals: [{ name: 'customers', ...source, spawn: { program: [{ run: { exponential: '1s' } }] } }],
      },
      run: { horizon: `${seconds}s`, warmup: '1000s' },
      output: { digest: false },
    },
    replications,
    ({ metrics }) => ({
      loss: metrics.dropped / metrics.arrived,
      w: metrics.latency_ms.mean / 1e3,
      wq: (metrics.latency_ms.mean - metrics.states_ms.running) / 1e3,
    }),
  );
}

test('Erlang B: a customer that finds all servers busy is lost', async () => {
  // The limit is on jobs in the system: with as many servers nobody ever waits.
  const few = await estimate(5, { rate: '3/s', limit: 5 }, 250_000, 8);
  assertWithin('loss of 5 servers at load 3', few.loss, 0.110054);
  assert.is(few.wq.mean, 0);
  const many = await estimate(48, { rate: '40/s', limit: 48 }, 20_000, 8);
  // 1 % of this rare loss takes 4·10⁷ customers: examples/erlang-b.yaml.
  assertConsistent('loss of 48 servers at load 40', many.loss, 0.0298765, 0.015);
});

test('M/M/1/5: one served and four waiting at most', async () => {
  const found = await estimate(1, { rate: '0.9/s', limit: 5 }, 1_000_000, 10);
  assertWithin('loss', found.loss, 0.126023);
  assertWithin('W', found.w, 2.790286);
});

test('D/M/1', async () => {
  let sigma = 0.5;
  for (let i = 0; i < 200; i++) sigma = Math.exp(-(1 - sigma) / 0.8);
  const w = 1 / (1 - sigma);
  assert.ok(Math.abs(w - 2.692731) < 1e-6);
  const found = await estimate(1, { interarrival: '1250ms' }, 1_600_000, 10);
  assertWithin('W', found.w, w);
});

test.run();
