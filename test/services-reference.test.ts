// Folders of the µqSim release against its own results (data/uqsim/reference.json), below saturation.
//
// A run's mean over n requests scatters by about σ √(c/n) with σ ≈ the mean's distance from the minimum and c the correlation
// of neighbours: at these loads and lengths well below .5 %, the reference's own replicates within .6 %.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { assertNear, referenceRow, runRelease } from './support/services.js';

const QUANTILES = [
  ['p50_ms', 0.5],
  ['p90_ms', 0.9],
  ['p95_ms', 0.95],
  ['p99_ms', 0.99],
] as const;

type Case = [series: string, kqps: number, seconds: number, extraEvents: number];

// The release has one event more where a job is received than vtime, whose arrivals are part of what sends them: per
// request the entry's, and one for every service that is entered behind a network stack.
const CASES: Case[] = [
  ['2tier_ngx_4_memc_1', 50, 3, 5],
  ['2tier_ngx_4_memc_2', 30, 3, 5],
  ['2tier_ngx_8_memc_2', 80, 3, 5],
  ['2tier_ngx_8_memc_4', 120, 3, 5],
  ['thrift_helloworld', 50, 0.6, 1],
  ['nginx_fanout_5', 20, 3, 21],
  ['nginx_1proc', 30, 5, 1],
  ['memcached_4t', 200, 1, 1],
];

for (const [series, kqps, seconds, extraEvents] of CASES) {
  test(`${series} at ${kqps} kqps: mean within 1 %, percentiles within 2 %, utilisation within .01, events`, async () => {
    const expected = referenceRow(series, kqps);
    const { latency, instances, events, completed, outcome } = await runRelease(series, {
      kqps,
      seconds,
      compat: ['B12-ties-reversed'],
    });
    assert.is(outcome, 'completed');
    assertNear('mean', latency.mean / 1e6, expected.mean_ms, 0.01);
    for (const [name, p] of QUANTILES) assertNear(name, latency.quantile(p) / 1e6, expected[name], 0.02);
    for (const [name, utilisation] of Object.entries(expected.util)) {
      const measured = instances.find((instance) => instance.name === name)!.utilisation;
      assert.ok(Math.abs(measured - utilisation) < 0.01, `${name}: ${measured}, expected ${utilisation}`);
    }
    const difference = expected.events / expected.jobs - events / completed;
    assert.ok(Math.abs(difference - extraEvents) < 0.06, `${difference} events a request more`);
  });
}

test('B12: calls of one instant enter a queue in reverse in the release, which lengthens its tail', async () => {
  const expected = referenceRow('2tier_ngx_8_memc_4', 140);
  const run = (compat: 'B12-ties-reversed'[]) =>
    runRelease('2tier_ngx_8_memc_4', { kqps: 140, seconds: 1.5, compat });
  const right = await run([]);
  const asReleased = await run(['B12-ties-reversed']);
  // The same arrivals and times: the mean is the same, the tail is not.
  assertNear('mean', right.latency.mean, asReleased.latency.mean, 0.001);
  assertNear('p99 as released', asReleased.latency.quantile(0.99) / 1e6, expected.p99_ms, 0.02);
  assert.ok(right.latency.quantile(0.99) / 1e6 < 0.97 * expected.p99_ms, 'p99 in order is shorter');
});

test.run();
