// The warm-up of services by MSER-5, and the engine's series of latencies in which it is found.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { simulateServices } from '../src/engine/services.js';
import { loadServices } from '../src/services/load.js';
import { planRuns } from '../src/services/run/cells.js';
import { runServices } from '../src/services/run/index.js';
import { warmupOf } from '../src/services/run/warmup.js';

const series = (means: number[]) => ({
  mean_ns: Float64Array.from(means),
  start_ns: Float64Array.from(means, (_, i) => i * 100),
});

test('a step is cut off where it ends', () => {
  // Ten batches of 9, then thirty of 1: from batch 10 on the squared deviations are zero.
  const cut = warmupOf(series([...new Array<number>(10).fill(9), ...new Array<number>(30).fill(1)]));
  assert.equal(cut, { from_ns: 1000, batches: 10, found: true });
});

test('a constant has no warm-up; a drift to the end, or a short run, is not found', () => {
  assert.equal(warmupOf(series(new Array<number>(40).fill(2))), { from_ns: 0, batches: 0, found: true });
  assert.is(warmupOf(series(Array.from({ length: 40 }, (_, i) => i))).found, false);
  assert.equal(warmupOf(series([1, 2, 3])), { from_ns: 0, batches: 0, found: false });
});

const model = (requests: number, warmup = '0s') =>
  planRuns(loadServices('data/uqsim/derived/nginx_1'), { rates: [20_000], requests, replications: 1, warmup })
    .cells[0].services;

test('the series of the engine: batches of five requests, whose sum is that of the histogram', async () => {
  const { series: found, latency, completed } = await simulateServices(model(1000));
  assert.ok(found.ended.slice(0, -1).every((n) => n === 5));
  assert.is(
    found.ended.reduce((sum, n) => sum + n, 0),
    completed,
  );
  const sum = found.mean_ns.reduce((total, mean, i) => total + mean * found.ended[i], 0);
  assert.ok(Math.abs(sum - Number(latency.sum)) < 1);
  assert.ok(found.start_ns.every((start, i) => i === 0 || start > found.start_ns[i - 1]));
});

test('beyond 4096 batches neighbours are joined: the same sums, and starts that were there before', async () => {
  // About 50,000 requests: batches of 5 × 2² are 2500.
  const { series: found, latency, completed } = await simulateServices(model(50_000));
  assert.ok(found.ended.slice(0, -1).every((n) => n === 20));
  assert.is(found.ended.length, Math.ceil(completed / 20));
  const sum = found.mean_ns.reduce((total, mean, i) => total + mean * found.ended[i], 0);
  assert.ok(Math.abs(sum / Number(latency.sum) - 1) < 1e-12);
});

test('a run that begins empty and ends full: what is cut off is not measured', async () => {
  // 46,000/s of at most 50,000/s: the queue needs a while to build up.
  const services = loadServices('data/uqsim/derived/nginx_1');
  const options = { rates: [46_000], requests: 40_000, replications: 2 };
  const all = (await runServices(services, options, { workers: 1 })).summary.points[0];
  const cut = (await runServices(services, { ...options, warmup: 'mser-5' }, { workers: 1 })).summary
    .points[0];
  assert.is(all.measured, all.arrived);
  assert.is(cut.arrived, all.arrived);
  assert.ok((cut.warmup_ms ?? []).some((ms) => ms > 0));
  assert.ok(cut.measured < all.measured);
});

test.run();
