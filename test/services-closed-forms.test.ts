// Networks of queues as services, against product forms and other closed forms. No network stack, no latency: a service's stations are
// all there is. S = 1 ms, so times are in units of the mean service.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { simulateServices } from '../src/engine/services.js';
import { resolveServices } from '../src/services/resolve.js';
import { type ServicesInput, servicesSchema } from '../src/services/schema.js';
import { assertNear, runServices } from './support/services.js';

const MS = 1e6;

type Stages = ServicesInput['models'][string]['stages'];

const exponential = { time: { exponential: '1ms' } } as const;

/** A station: calls from one queue to `servers` cores. */
function station(model: string, servers: number, first: number) {
  return {
    model,
    instances: {
      [`${model}-${first}`]: { machine: 'host', queues: 1, cores: `${first}-${first + servers - 1}` },
    },
  };
}

function modelOf(stages: Stages, path = Object.keys(stages)) {
  return { stages, paths: { all: { stages: path } }, bind_connections: false };
}

function input(
  services: ServicesInput['services'],
  requests: ServicesInput['requests'],
  client: ServicesInput['client'],
  models: ServicesInput['models'] = { exponential: modelOf({ serve: exponential }) },
): ServicesInput {
  return { machines: { host: { cores: 4096 } }, models, services, requests, client };
}

/** Poisson requests for `seconds`, the first tenth not measured. */
const open = (rate_per_s: number, seconds: number): Pick<ServicesInput, 'client' | 'run'> => ({
  client: { load: `${rate_per_s}/s` },
  run: { duration: `${Math.round(seconds)}s`, warmup: `${Math.round(seconds / 10)}s` },
});

// M/M/c: C(4, 3.2) = .596432; W = 1 + C/(c − a) = 1 + .596432/.8 = 1.745541 (closed-form-mmk.test.ts).
for (const [servers, rate, expected] of [
  [1, 700, 1 / 0.3],
  [4, 3200, 1.745541],
] as const) {
  test(`M/M/${servers} at ${rate}/s: a station of one queue`, async () => {
    const { client, run } = open(rate, 600_000 / rate);
    const services = { a: station('exponential', servers, 0) };
    const requests = { r: { nodes: { a: { service: 'a', next: ['client'] } } } };
    const { latency, instances } = await runServices({ ...input(services, requests, client), run });
    assertNear('W', latency.mean / MS, expected, 0.02);
    assertNear('utilisation', instances[0].utilisation, rate / 1000 / servers, 0.01);
  });
}

// Tandem: by Burke's theorem two M/M/1 one after the other, W = 1/(1 − .6) + 1/(1 − .6) = 5; both sojourn times are exponential and
// independent, so the sum is Erlang-2 of rate .4: its median is 1.67835/.4 = 4.19587.
test('tandem of two M/M/1 at .6', async () => {
  const { client, run } = open(600, 1000);
  const services = { a: station('exponential', 1, 0), b: station('exponential', 1, 1) };
  const requests = {
    r: { nodes: { a: { service: 'a', next: ['b'] }, b: { service: 'b', next: ['client'] } } },
  };
  const { latency, instances } = await runServices({ ...input(services, requests, client), run });
  assertNear('W', latency.mean / MS, 5, 0.02);
  assertNear('median', latency.quantile(0.5) / MS, 4.19587, 0.02);
  for (const { residence } of instances) assertNear('W of a station', residence.mean / MS, 2.5, 0.02);
});

// Feedback, as a Kelly network: with probability 1/2 a request visits a and b once, else twice. Each visit is counted: Λ = 1.5 λ at both,
// and at λ = .4 each is an M/M/1 at .6: W = 1.5 (2.5 + 2.5) = 7.5 although neither arrival process is Poisson.
test('feedback: Jackson network with requests that come back', async () => {
  const { client, run } = open(400, 1500);
  const services = { a: station('exponential', 1, 0), b: station('exponential', 1, 1) };
  const requests = {
    once: {
      probability: 0.5,
      nodes: { a: { service: 'a', next: ['b'] }, b: { service: 'b', next: ['client'] } },
    },
    twice: {
      probability: 0.5,
      nodes: {
        a: { service: 'a', next: ['b'] },
        b: { service: 'b', next: ['a2'] },
        a2: { service: 'a', next: ['b2'] },
        b2: { service: 'b', next: ['client'] },
      },
    },
  };
  const {
    latency,
    instances,
    requests: kinds,
  } = await runServices({ ...input(services, requests, client), run });
  assertNear('W', latency.mean / MS, 7.5, 0.02);
  assertNear('W of those that come once', kinds[0].latency.mean / MS, 5, 0.02);
  for (const { utilisation } of instances) assertNear('utilisation', utilisation, 0.6, 0.01);
});

/** n leaves in parallel, k of them ten times slower, all with cores to spare; the last reply ends the request. */
function forkJoin(n: number, slow: number, rate_per_s: number): ServicesInput {
  const leaf = (i: number) => station(i < slow ? 'slow' : 'exponential', i < slow ? 6 : 3, 1 + 6 * i);
  const leaves = Array.from({ length: n }, (_, i) => `leaf-${i}`);
  const { client, run } = open(rate_per_s, 20_000 / rate_per_s);
  return {
    machines: { host: { cores: 4096 } },
    models: {
      exponential: modelOf({ serve: exponential }),
      slow: modelOf({ serve: { time: { exponential: '10ms' } } }),
      root: modelOf({ split: { time: '1ns' } }),
    },
    services: {
      root: station('root', 1, 0),
      ...Object.fromEntries(leaves.map((name, i) => [name, leaf(i)])),
    },
    requests: {
      all: {
        entry: 'root',
        nodes: {
          root: { service: 'root', next: leaves },
          ...Object.fromEntries(leaves.map((name) => [name, { service: name, next: ['client'] }])),
        },
      },
    },
    client,
    run,
  };
}

/** As forkJoin(1000, …) with one core a leaf and constant arrivals, far apart. */
function thousandLeaves(slow: number, requests: number): ServicesInput {
  const all = forkJoin(1000, slow, 1);
  const { root } = all.services;
  const leaves = Object.keys(all.services).filter((name) => name !== 'root');
  return {
    ...all,
    services: {
      root,
      ...Object.fromEntries(
        leaves.map((name, i) => [name, station(i < slow ? 'slow' : 'exponential', 1, i + 1)]),
      ),
    },
    client: { interarrival: '5s', requests, connections: 1 },
    run: { duration: `${5 * requests}s` },
  };
}

// The slowest of n independent exponentials: F(t) = (1 − e^−t)^(n−k) (1 − e^−t/10)^k.
for (const [n, slow, mean, p99] of [
  [5, 0, 2.284, 6.211],
  [100, 0, 5.188, 9.205],
  [100, 1, 11.183, 46.052],
  [100, 5, 22.853, 62.106],
  [100, 10, 29.291, 69.032],
] as const) {
  test(`tail at scale: ${n} leaves, ${slow} slow: mean ${mean} ms, p99 ${p99} ms`, async () => {
    const { latency } = await runServices(forkJoin(n, slow, 20));
    assertNear('mean', latency.mean / MS, mean, 0.02);
    assertNear('p99', latency.quantile(0.99) / MS, p99, 0.05);
  });
}

// A thousand leaves, all four shares of slow ones. Mean, variance (∫ 2t (1 − F)) and p99 from F itself: the mean of N requests is within
// 3.3 σ/√N of it (1 in 1000), and F at the p99 that was measured within 3.3 √(.01 × .99/N) of .99.
for (const [slow, mean, p99] of [
  [0, 7.486, 11.508],
  [10, 29.294, 69.032],
  [50, 44.993, 85.123],
  [100, 51.874, 92.054],
] as const) {
  test(`tail at scale: 1000 leaves, ${slow} slow: mean ${mean} ms, p99 ${p99} ms`, async () => {
    const F = (t: number) => (-Math.expm1(-t)) ** (1000 - slow) * (-Math.expm1(-t / 10)) ** slow;
    const h = 0.01;
    const times = Array.from({ length: 60_000 }, (_, i) => (i + 0.5) * h);
    const integral = (weight: (t: number) => number) =>
      times.reduce((sum, t) => sum + weight(t) * (1 - F(t)) * h, 0);
    const expected = integral(() => 1);
    const sigma = Math.sqrt(integral((t) => 2 * t) - expected ** 2);
    assert.ok(Math.abs(expected - mean) < 1e-3);
    assert.ok(Math.abs(F(p99) - 0.99) < 1e-5);
    // Once in five seconds every leaf is idle again.
    const { latency } = await runServices(thousandLeaves(slow, 2000));
    const n = latency.count;
    assert.is(n, 2000);
    const off = [latency.mean / MS - expected, F(latency.quantile(0.99) / MS) - 0.99];
    assert.ok(Math.abs(off[0]) < (3.3 * sigma) / Math.sqrt(n), `mean ${off[0]} ms off, σ = ${sigma} ms`);
    assert.ok(Math.abs(off[1]) < 3.3 * Math.sqrt(0.0099 / n), `p99 at F = ${0.99 + off[1]}`);
  });
}

/** One thread with one stage that takes several calls at once. */
function batches(take: Stages[string]['take'], rate_per_s: number): ServicesInput {
  const { client, run } = open(rate_per_s, 400_000 / rate_per_s);
  return {
    machines: { host: { cores: 1 } },
    models: { batch: modelOf({ serve: { ...exponential, take } }) },
    services: { a: { model: 'batch', instances: { a: { machine: 'host', threads: 1, cores: '0' } } } },
    requests: { r: { nodes: { a: { service: 'a', next: ['client'] } } } },
    client,
    run,
  };
}

// Bulk service of up to K: with n waiting beside the batch, p_n = p_0 r^n, r the root in (0, 1) of μ r^(K+1) − (λ + μ) r + λ = 0, and the
// server idles with μ p_0/λ. So p_0 = 1/(1/(1 − r) + μ/λ), Lq = p_0 r/(1 − r)², W = Lq/λ + 1/μ. For K = ∞, r = λ/(λ + μ).
for (const [take, k, rate] of [
  ['all', Number.POSITIVE_INFINITY, 3],
  [{ first: 2 }, 2, 1.5],
  [{ first: 4 }, 4, 3],
] as const) {
  test(`bulk service of up to ${k} calls at ${rate} per service time`, async () => {
    let [low, high] = [1e-9, 1 - 1e-9];
    for (let i = 0; i < 100; i++) {
      const r = (low + high) / 2;
      if (r ** (k + 1) - (rate + 1) * r + rate > 0) low = r;
      else high = r;
    }
    const p0 = 1 / (1 / (1 - low) + 1 / rate);
    const expected = (p0 * low) / (1 - low) ** 2 / rate + 1;
    const { latency } = await runServices(batches(take, rate * 1000));
    assertNear('W', latency.mean / MS, expected, 0.02);
  });
}

// Closed network, exact mean value analysis: R_n = S (1 + Q_(n−1)) at each station, X_n = n/(Z + Σ R), Q = X R. N = 8 clients,
// Z = 4, stations of S = 1 and S = 1: R_8 and X_8 computed below.
test('closed loop of 8 clients that think: mean value analysis', async () => {
  let queue = [0, 0];
  let throughput = 0;
  for (let n = 1; n <= 8; n++) {
    const response = queue.map((q) => 1 + q);
    throughput = n / (4 + response[0] + response[1]);
    queue = response.map((r) => throughput * r);
  }
  const services = { a: station('exponential', 1, 0), b: station('exponential', 1, 1) };
  const requests = {
    r: { nodes: { a: { service: 'a', next: ['b'] }, b: { service: 'b', next: ['client'] } } },
  };
  const { latency, completed, end_ns } = await runServices({
    ...input(services, requests, { loop: 'closed', clients: 8, think: { exponential: '4ms' } }),
    run: { duration: '400s', warmup: '1s' },
  });
  assertNear('throughput', completed / (end_ns / MS), throughput, 0.02);
  assertNear('R', latency.mean / MS, 8 / throughput - 4, 0.02);
});

// Non-preemptive priorities (Cobham): W0 = ρ (exponential, S = 1), wait of the first class W0/(1 − ρ1), of the second W0/((1 − ρ1)(1 − ρ)).
// ρ1 = .3, ρ2 = .4: .7/.7 = 1 and .7/(.7 · .3) = 3.3333.
test('priority stages: calls of the first stage by priority wait less', async () => {
  const { client, run } = open(700, 1500);
  const resolved = resolveServices(
    servicesSchema.parse({
      machines: { host: { cores: 1 } },
      models: { two: modelOf({ low: exponential, high: exponential }) },
      services: { a: { model: 'two', instances: { a: { machine: 'host', threads: 1, cores: '0' } } } },
      requests: {
        high: { probability: 3 / 7, nodes: { a: { service: 'a', from: 'high', next: ['client'] } } },
        low: { probability: 'rest', nodes: { a: { service: 'a', from: 'low', next: ['client'] } } },
      },
      client,
      run,
    }),
  );
  // A file can't say that a visit ends within its path; then the two stages are two classes.
  const [first, second] = resolved.requests;
  const { requests: kinds } = await simulateServices({
    ...resolved,
    requests: [first, { ...second, nodes: [{ ...second.nodes[0], last_stage: 0 }] }],
  });
  const [high, low] = kinds;
  assertNear('W of the first class', high.latency.mean / MS, 2, 0.03);
  assertNear('W of the second class', low.latency.mean / MS, 1 + 0.7 / 0.21, 0.03);
});

// Replies of the same request through the network: each leg's time is drawn for itself. Five legs of one exponential millisecond each (all else
// takes no time) end with the slowest, 2.2833 ms; were they one draw, it would be 1 ms.
test('replies that meet take times of their own on the network', async () => {
  const { client, run } = open(20, 1000);
  const names = ['a', 'b', 'c', 'd', 'e'];
  const none = modelOf({ pass: { time: '1ns', leaves: 'network' } });
  const quick = { stages: ['quick'] };
  const { latency } = await runServices({
    machines: {
      host: { cores: 8 },
      ...Object.fromEntries(
        names.map((name) => [name, { cores: 8, network: { queues: 1, cores: '4-7' } }] as const),
      ),
    },
    models: {
      none,
      stack: {
        stages: { quick: { time: '1ns' }, slow: { time: { exponential: '1ms' } } },
        paths: { send_local: quick, send_remote: { stages: ['slow'] }, receive_remote: quick },
      },
    },
    network: { stack: 'stack' },
    services: {
      root: { model: 'none', instances: { root: { machine: 'host', queues: 1, cores: '0-3' } } },
      ...Object.fromEntries(
        names.map((name) => [
          name,
          { model: 'none', instances: { [`${name}-1`]: { machine: name, queues: 1, cores: '0-3' } } },
        ]),
      ),
    },
    requests: {
      r: {
        entry: 'split',
        nodes: {
          split: { service: 'root', next: names },
          ...Object.fromEntries(names.map((name) => [name, { service: name, next: ['join'] }])),
          join: { service: 'root', next: ['client'] },
        },
      },
    },
    client,
    run,
  });
  assertNear('mean', latency.mean / MS, 137 / 60, 0.02);
});

test('a run is the same whatever ran before', async () => {
  const small = forkJoin(5, 1, 20);
  const [first, second] = [await runServices(small), await runServices(small)];
  assert.equal(first.latency.sum, second.latency.sum);
  assert.is(first.events, second.events);
});

test.run();
