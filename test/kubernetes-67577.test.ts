// kubernetes#67577: cgroup quotas throttle threads that together use less than a CPU's worth in the long run. Ten
// threads of 20 ms on ten CPUs, quota 100 ms per 100 ms.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { simulate } from '../src/index.js';
import { threadsUnderQuota } from '../src/selftest/scenarios.js';

/** Instants at which the ten jobs end, ms, ascending; and the mean time in state quota. */
async function run(quota: string | undefined, slice_expiry: 'exact' | 'tick', bandwidth_slice = '5ms') {
  const { classes, outcome, metrics } = await simulate(
    threadsUnderQuota(quota, slice_expiry, bandwidth_slice),
  );
  assert.is(outcome, 'completed');
  return {
    latency: classes.map((c) => c.latency_ms.max).sort((a, b) => a - b),
    quota: metrics.states_ms.quota,
  };
}

test('without a quota all are done after 20 ms', async () => {
  assert.equal((await run(undefined, 'exact')).latency, Array(10).fill(20));
});

test('charged exactly, the quota is gone after 10 ms and the rest runs in the next period: 110 ms', async () => {
  const { latency, quota } = await run('100ms', 'exact');
  assert.equal(latency, Array(10).fill(110));
  assert.is(quota, 90);
});

test('the size of the slices that CPUs take does not matter to that', async () => {
  assert.equal((await run('100ms', 'exact', '1ms')).latency, Array(10).fill(110));
});

test('charged at a 250 Hz tick, six threads are done at 104 ms and four at 112 ms', async () => {
  // 10 × 5 ms are handed out at 0. At the tick of 8 ms each owes 3: six CPUs take 8 of the other 50, the seventh gets 2
  // and is throttled with the last three, after 8 ms of work. The six stop at the tick of 16 ms. At 100 ms all go on:
  // the six need 4 ms, the four 12 ms.
  const { latency, quota } = await run('100ms', 'tick');
  assert.equal(latency, [...Array(6).fill(104), ...Array(4).fill(112)]);
  // Throttled from 16 and from 8 ms to 100 ms.
  assert.is(quota, (6 * 84 + 4 * 92) / 10);
});

test.run();
