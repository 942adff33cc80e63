// M/M/1 at λ = 0.8, μ = 1 (times in units of the mean service, here 1 s):
//   W = 1/(μ − λ) = 5, L = λW = 4, Wq = W − 1 = 4; the response is exponential with rate μ − λ = 0.2, so its
//   p-quantile is −ln(1 − p)/0.2: p50 = 3.4657, p95 = 14.9787, p99 = 23.0259, p99.9 = 34.539.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { ConfigInput } from '../src/config/schema.js';
import { simulate } from '../src/engine/simulate.js';
import { assertConsistent, assertWithin, type Estimate, replicate } from './support/replications.js';

const SERVICE = { exponential: '1s' };
const REPLICATIONS = 8;

function scenario(workload: ConfigInput['workload']): ConfigInput {
  return {
    machine: 'ideal-1',
    kernel: { watchdog_timeout: '0s' },
    policy: { name: 'global-fifo', slice: '1000h' },
    workload,
    run: { horizon: '6000000s', warmup: '10000s' },
    output: { digest: false },
  };
}

async function measure(config: ConfigInput) {
  return replicate(config, REPLICATIONS, ({ metrics }) => ({
    w: metrics.latency_ms.mean / 1e3,
    // Little's law over the whole run: the engine checks that ∫ N dt is the sum of all times in system.
    l: (metrics.latency_ms.mean / 1e3) * (metrics.measured / (metrics.duration_s - 10_000)),
    wq: (metrics.latency_ms.mean - metrics.states_ms.running) / 1e3,
    p50: metrics.latency_ms.p50 / 1e3,
    p95: metrics.latency_ms.p95 / 1e3,
    p99: metrics.latency_ms.p99 / 1e3,
    p99_9: metrics.latency_ms.p99_9 / 1e3,
  }));
}

function assertMM1(found: Record<'w' | 'l' | 'wq' | 'p50' | 'p95' | 'p99' | 'p99_9', Estimate>): void {
  assertWithin('W', found.w, 5);
  assertWithin('L', found.l, 4);
  assertWithin('Wq', found.wq, 4);
  const quantile = (p: number) => -Math.log(1 - p) / 0.2;
  assertWithin('p50', found.p50, quantile(0.5), 0.02);
  assertWithin('p95', found.p95, quantile(0.95), 0.02);
  assertWithin('p99', found.p99, quantile(0.99), 0.02);
  // Its 2 % takes twice as many customers: examples/mm1.yaml.
  assertConsistent('p99.9', found.p99_9, quantile(0.999), 0.008);
}

test('M/M/1: each customer is a task of its own', async () => {
  const config = scenario({
    arrivals: [{ name: 'customers', rate: '0.8/s', spawn: { program: [{ run: SERVICE }] } }],
  });
  assertMM1(await measure(config));
});

test('M/M/1: jobs in a queue, received by one thread, take exactly the same times', async () => {
  // Draws belong to the job, whoever serves it, so each of the jobs arrives, waits and ends at the same nanosecond.
  const short = { horizon: '200000s', warmup: '0s' };
  const spawned = await simulate({
    ...scenario({ arrivals: [{ name: 'customers', rate: '0.8/s', spawn: { program: [{ run: SERVICE }] } }] }),
    run: short,
  });
  const received = await simulate({
    ...scenario({
      queues: [{ name: 'requests' }],
      tasks: [
        {
          name: 'server',
          background: true,
          program: [
            { loop: { times: 'forever', do: [{ receive: 'requests' }, { run: SERVICE }, 'finish'] } },
          ],
        },
      ],
      arrivals: [{ name: 'customers', rate: '0.8/s', queue: 'requests' }],
    }),
    run: short,
  });
  assert.equal(received.metrics.latency_ms, spawned.metrics.latency_ms);
  assert.is(received.metrics.measured, spawned.metrics.measured);
  // One waits for the server's queue, the other for the CPU.
  assert.is(received.metrics.states_ms.worker_queue, spawned.metrics.states_ms.run_queue);
});

test.run();
