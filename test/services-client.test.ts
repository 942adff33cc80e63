// The client gives up, tries again, reconnects; pools and blocking connections make calls wait.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { ServicesInput } from '../src/services/schema.js';
import { assertNear, runServices } from './support/services.js';

const MS = 1e6;

/** One server, exponential 1 ms unless said otherwise, first come first served. */
function server(
  client: ServicesInput['client'],
  seconds: number,
  time: unknown = { exponential: '1ms' },
): ServicesInput {
  return {
    machines: { host: { cores: 64 } },
    models: {
      server: {
        stages: { serve: { time: time as '1ms' } },
        paths: { all: { stages: ['serve'] } },
        bind_connections: false,
      },
    },
    services: {
      server: { model: 'server', instances: { server: { machine: 'host', queues: 1, cores: '0' } } },
    },
    requests: { r: { nodes: { server: { service: 'server', next: ['client'] } } } },
    client,
    run: { duration: `${seconds}s` },
  };
}

// M/M/1 at ρ = .5: P(response > t) = e^−(μ−λ)t. A timeout of 5 ms without retries: e^−2.5 = 8.2 % of requests are given up; the server
// serves them all the same.
test('timeouts without retries: the share that is late is given up, the load stays', async () => {
  const { client, latency, completed, arrived, instances } = await runServices(
    server({ load: '500/s', timeout: '5ms' }, 400),
  );
  assertNear('given up', client.given_up / client.requests, Math.exp(-2.5), 0.05);
  assert.is(client.attempts, client.requests);
  assert.is(client.timeouts, client.given_up);
  assert.is(completed + client.timeouts, arrived);
  assertNear('utilisation', instances[0].utilisation, 0.5, 0.02);
  assert.ok(latency.max <= 5 * MS);
});

// Deterministic: a request every 10 ms, each served in 4 ms, given up after 3 ms, tried again at once up to twice: attempts at 0, 3 and 6 ms,
// served until 4, 8 and 12 ms, each after its timeout: three attempts a request, all late.
test('every attempt is too late: all retries are used, nothing is answered', async () => {
  const { client, latency } = await runServices(
    server({ load: '100/s', arrivals: 'constant', timeout: '3ms', retries: { max: 2 } }, 1, '4ms'),
  );
  assert.is(client.requests, 100);
  assert.is(client.attempts, 300);
  assert.is(client.given_up, 100);
  assert.is(latency.count, 0);
});

// Two requests at once, 4 ms each, timeout 6 ms: the second would have its reply after 8 ms. It is tried again at 6 + 2 ms (backoff) = 8 ms,
// when the server has finished with its first attempt, and served from 8 to 12 ms: latency 12 ms from when it was due, 4 ms from its
// last attempt.
test('latency counts from when a request was due, or from its last attempt', async () => {
  const input = (from_intended_start: boolean): ServicesInput => ({
    ...server(
      {
        loop: 'closed',
        clients: 2,
        think: '100ms',
        timeout: '6ms',
        retries: { max: 1, backoff: '2ms' },
        from_intended_start,
      },
      0.11,
      '4ms',
    ),
  });
  const due = await runServices(input(true));
  assert.equal([due.latency.min, due.latency.max], [4 * MS, 12 * MS]);
  const attempt = await runServices(input(false));
  assert.equal([attempt.latency.min, attempt.latency.max], [4 * MS, 4 * MS]);
  assert.is(due.client.timeouts, 1);
});

// While twice the load is below capacity retries are few; beyond, each late request comes again, and hardly anything is on time.
test('retry storm: beyond saturation goodput collapses', async () => {
  const run = (rate: number) =>
    runServices(server({ load: `${rate}/s`, timeout: '20ms', retries: { max: 1, backoff: '1ms' } }, 20));
  const [calm, storm] = [await run(450), await run(1200)];
  assert.ok(calm.client.attempts / calm.client.requests < 1.01);
  assert.ok(storm.client.attempts / storm.client.requests > 1.9);
  const goodput = ({ completed, client }: typeof calm) => completed / client.requests;
  assert.ok(goodput(calm) > 0.99);
  assert.ok(goodput(storm) < 0.2);
});

test('a connection that timed out is away for a time', async () => {
  const client = (reconnect: string): ServicesInput['client'] => ({
    load: '100/s',
    arrivals: 'constant',
    connections: 1,
    timeout: '3ms',
    retries: { max: 1, reconnect },
  });
  // Reconnecting takes 5 ms: the second attempt begins 5 ms after the first one's timeout.
  const at = async (reconnect: string) => (await runServices(server(client(reconnect), 0.01, '4ms'))).end_ns;
  assert.is(await at('0s'), 8 * MS); // attempts at 0 and 3, served to 4 and 8
  assert.is(await at('5ms'), 12 * MS); // attempts at 0 and 8, served to 4 and 12
});

/** A front with cores to spare calls a back end with cores to spare; `edge` bounds what is under way between them. */
function tiers(edge: Record<string, unknown>, rate: number, seconds: number): ServicesInput {
  return {
    machines: { host: { cores: 64 } },
    models: {
      front: {
        stages: { pass: { time: '1ns' } },
        paths: { all: { stages: ['pass'] } },
        bind_connections: false,
      },
      back: {
        stages: { serve: { time: { exponential: '1ms' } } },
        paths: { all: { stages: ['serve'] } },
        bind_connections: false,
      },
    },
    services: {
      front: { model: 'front', instances: { front: { machine: 'host', queues: 1, cores: '0-3' } } },
      back: { model: 'back', instances: { back: { machine: 'host', queues: 1, cores: '4-63' } } },
    },
    edges: [{ from: 'front', to: 'back', ...edge }],
    requests: {
      r: {
        nodes: {
          ask: { service: 'front', next: ['serve'] },
          serve: { service: 'back', next: ['answer'] },
          answer: { service: 'front', next: ['client'] },
        },
      },
    },
    client: { load: `${rate}/s` },
    run: { duration: `${seconds}s`, warmup: '1s' },
  };
}

// A pool of c connections to a back end with servers to spare is an M/M/c queue: 1 at .7: W = 1/(1 − .7) = 3.3333; 4 at 3.2: 1.745541.
for (const [pool, rate, expected] of [
  [1, 700, 1 / 0.3],
  [4, 3200, 1.745541],
] as const) {
  test(`a pool of ${pool} connections is an M/M/${pool} queue`, async () => {
    const { latency, edges } = await runServices(tiers({ pool }, rate, 300));
    assertNear('W', latency.mean / MS, expected, 0.03);
    const [edge] = edges;
    // Wq = W − S: what waited in all, over what came.
    assertNear('Wq', edge.waited_ns / edge.calls / MS, expected - 1, 0.06);
    assert.ok(edge.most_waiting > 0);
  });
}

// With one connection of the client only, HTTP/1.1 without pipelining lets one request through at a time: M/M/1.
test('blocking connections carry one request at a time', async () => {
  const input = tiers({ blocking: true }, 700, 300);
  const { latency } = await runServices({ ...input, client: { ...input.client, connections: 1 } });
  assertNear('W', latency.mean / MS, 1 / 0.3, 0.03);
});

test('a connection that a request holds in a service lets no other in: one connection, one request', async () => {
  const input = tiers({}, 700, 300);
  const { latency } = await runServices({
    ...input,
    client: { ...input.client, connections: 1 },
    requests: {
      r: {
        nodes: {
          ask: { service: 'front', next: ['serve'], hold_connection: 'answer' },
          serve: { service: 'back', next: ['answer'] },
          answer: { service: 'front', next: ['client'] },
        },
      },
    },
  });
  assertNear('W', latency.mean / MS, 1 / 0.3, 0.03);
});

test("the client's own connections: a pool of one is an M/M/1 queue of requests", async () => {
  const input = tiers({}, 700, 300);
  const { latency } = await runServices({
    ...input,
    edges: [
      { from: 'client', to: 'front', pool: 1 },
      { from: 'front', to: 'back' },
    ],
  });
  assertNear('W', latency.mean / MS, 1 / 0.3, 0.03);
});

test.run();
