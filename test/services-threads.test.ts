// Threads that are made on demand, what switching between them costs, and balancers before instances.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { ServicesInput } from '../src/services/schema.js';
import { runServices } from './support/services.js';

const MS = 1e6;

type Instance = ServicesInput['services'][string]['instances'][string];

/** Constant arrivals `gap_ms` apart at one service of 10 ms. */
function service(instance: Partial<Instance>, gap_ms: number, requests: number): ServicesInput {
  return {
    machines: { host: { cores: 8 } },
    models: {
      server: {
        stages: { serve: { time: '10ms' } },
        paths: { all: { stages: ['serve'] } },
        bind_connections: false,
      },
    },
    services: {
      server: {
        model: 'server',
        instances: { s: { machine: 'host', threads: 1, cores: '0-7', ...instance } },
      },
    },
    requests: { r: { nodes: { server: { service: 'server', next: ['client'] } } } },
    client: { interarrival: `${gap_ms}ms`, requests },
    run: { duration: '1s' },
  };
}

// Calls at 0, 1, 2 and 3 ms. One thread: they end at 10, 20, 30, 40: latencies 10, 19, 28, 37.
test('one thread serves one call after the other', async () => {
  const { latency } = await runServices(service({}, 1, 4));
  assert.is(latency.mean, ((10 + 19 + 28 + 37) / 4) * MS);
});

// Up to 4 threads, made at once: each call has a thread of its own.
test('threads are made when all are busy', async () => {
  const { latency } = await runServices(service({ spawn: { up_to: 4 } }, 1, 4));
  assert.equal([latency.min, latency.max], [10 * MS, 10 * MS]);
});

// The kernel adds nothing where there is a CPU for each thread, or where threads are not preempted.
const scheduled: Partial<ServicesInput> = {
  mode: 'scheduled',
  scheduled: { policy: { name: 'global-fifo', slice: '1s' } },
};
const MODES: [string, Partial<ServicesInput>][] = [
  ['dedicated', {}],
  ['scheduled', scheduled],
];

// Up to 2, made in 4 ms: the second call waits until 5, the third and fourth go to thread 0 and 1 in turn: ends 10, 15, 20, 25.
for (const [mode, below] of MODES) {
  test(`${mode}: making a thread takes time, and there are at most so many`, async () => {
    const { latency } = await runServices({
      ...service({ spawn: { up_to: 2, takes: '4ms' } }, 1, 4),
      ...below,
    });
    assert.is(latency.min, 10 * MS);
    assert.is(latency.mean, ((10 + 14 + 18 + 22) / 4) * MS);
  });
}

// Two clients that think for 40 ms, both due at 40: the second needs another thread, made in 4 ms: latencies 10 and 14. Then they come at 90
// and 94, again while the first thread is busy. Kept, the second thread serves at once: 10 and 10; ended after 1 ms without a call, it is
// made again: 10 and 14.
for (const [mode, below] of MODES) {
  test(`${mode}: a made thread ends when it has been idle`, async () => {
    const mean = async (idle: string | undefined) => {
      const spawn = { up_to: 2, takes: '4ms', ...(idle === undefined ? {} : { idle }) };
      const client = { loop: 'closed', clients: 2, think: '40ms', requests: 4 } as const;
      const { latency } = await runServices({ ...service({ spawn }, 1, 4), client, ...below });
      return latency.mean / MS;
    };
    assert.is(await mean(undefined), (10 + 14 + 10 + 10) / 4);
    assert.is(await mean('1ms'), (10 + 14 + 10 + 14) / 4);
  });
}

// Connections remember their threads. One that has ended does not come back for them; were it to serve and be made at the same time, its
// 10 ms would be cut short. A call takes 10 ms at least, and all of them that time each.
for (const [mode, below] of MODES) {
  test(`${mode}: a connection of a thread that has ended gets another one`, async () => {
    const input = service({ spawn: { up_to: 4, takes: '4ms', idle: '1ms' } }, 1, 0);
    input.models.server.bind_connections = true;
    const { latency, instances, completed, arrived } = await runServices({
      ...input,
      client: { load: '150/s', connections: 8 },
      run: { duration: '4s' },
      ...below,
    });
    assert.is(completed, arrived);
    assert.is(latency.min, 10 * MS);
    assert.is(instances[0].busy_ns, completed * 10 * MS);
  });
}

// Two threads on one core, calls at 0 and 1 ms: 0 → 10, then the other thread with a switch of 1 ms: 10 → 21.
// 5 ms, a call of 10 ms, during which the thread has nothing to do and ends, and 5 ms with its reply, for which the same thread is there
// again, also while others are made.
for (const [mode, below] of MODES) {
  test(`${mode}: a thread that has ended serves the reply to its own call`, async () => {
    const once = (time: string) => ({ time, leaves: 'direct' as const });
    const { latency, instances, completed, arrived } = await runServices({
      machines: { host: { cores: 40 } },
      models: {
        front: {
          stages: { ask: once('5ms'), answer: once('5ms') },
          paths: { all: { stages: ['ask', 'answer'] } },
          bind_connections: false,
        },
        back: {
          stages: { serve: once('10ms') },
          paths: { all: { stages: ['serve'] } },
          bind_connections: false,
        },
      },
      services: {
        front: {
          model: 'front',
          instances: {
            f: {
              machine: 'host',
              threads: 1,
              cores: '0-7',
              spawn: { up_to: 8, takes: '2ms', idle: '1ms' },
            },
          },
        },
        back: { model: 'back', instances: { b: { machine: 'host', threads: 32, cores: '8-39' } } },
      },
      requests: {
        r: {
          nodes: {
            ask: { service: 'front', to: 'ask', sync: 'answer', next: ['back'] },
            back: { service: 'back', next: ['answer'] },
            answer: { service: 'front', from: 'answer', next: ['client'] },
          },
        },
      },
      client: { load: '200/s' },
      run: { duration: '4s' },
      ...below,
    });
    assert.is(completed, arrived);
    assert.is(latency.min, 20 * MS);
    assert.is(instances[0].busy_ns, completed * 10 * MS);
  });
}

for (const [mode, below] of MODES) {
  test(`${mode}: a core that goes to another thread takes the time of a switch`, async () => {
    const { latency, instances } = await runServices({
      ...service({ threads: 2, cores: '0', context_switch: '1ms' }, 1, 2),
      ...below,
    });
    assert.equal([latency.min, latency.max], [10 * MS, 20 * MS]);
    assert.is(instances[0].busy_ns, 21 * MS);
  });
}

test('a balancer sends requests to instances in turn, and each passes it first', async () => {
  const { instances, latency } = await runServices({
    machines: { host: { cores: 8 } },
    models: {
      server: {
        stages: { serve: { time: '1ms' } },
        paths: { all: { stages: ['serve'] } },
        bind_connections: false,
      },
      balancer: {
        stages: { choose: { time: '100us' } },
        paths: { all: { stages: ['choose'] } },
        bind_connections: false,
      },
    },
    services: {
      server: {
        model: 'server',
        balancer: { model: 'balancer', machine: 'host', threads: 1, cores: '7' },
        instances: {
          a: { machine: 'host', threads: 1, cores: '0' },
          b: { machine: 'host', threads: 1, cores: '1' },
          c: { machine: 'host', threads: 1, cores: '2' },
        },
      },
    },
    requests: { r: { nodes: { server: { service: 'server', next: ['client'] } } } },
    client: { load: '500/s', arrivals: 'constant', requests: 300 },
    run: { duration: '10s' },
  });
  const visits = Object.fromEntries(instances.map(({ name, visits: n }) => [name, n]));
  assert.equal([visits.a, visits.b, visits.c], [100, 100, 100]);
  assert.is(visits['server-balancer'], 300);
  assert.equal([latency.min, latency.max], [1.1 * MS, 1.1 * MS]);
});

test.run();
