// Services that deadlock while they run: the run ends, and says who waits for whom.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { simulateServices } from '../src/engine/services.js';
import { resolveServices } from '../src/services/resolve.js';
import { type ServicesInput, servicesSchema } from '../src/services/schema.js';
import { runServices } from './support/services.js';

const server = (time: string) => ({
  stages: { serve: { time } },
  paths: { all: { stages: ['serve'] } },
  bind_connections: false,
});

const station = (model: string, core: number) => ({
  model,
  instances: { [`${model}-1`]: { machine: 'host', queues: 1, cores: `${core}` } },
});

// Two pools of one connection that are taken in opposite orders: ab goes a → b → a, ba goes b → a → b, both at once.
test('pools taken in opposite orders: the cycle of requests and connections is named', async () => {
  const { outcome, deadlock, in_system } = await runServices({
    machines: { host: { cores: 2 } },
    models: { a: server('1ms'), b: server('1ms') },
    services: { a: station('a', 0), b: station('b', 1) },
    edges: [
      { from: 'a', to: 'b', pool: 1, both_ways: false },
      { from: 'b', to: 'a', pool: 1, both_ways: false },
    ],
    requests: {
      ab: {
        probability: 0.5,
        nodes: {
          a: { service: 'a', next: ['b'] },
          b: { service: 'b', next: ['a2'] },
          a2: { service: 'a', next: ['client'] },
        },
      },
      ba: {
        probability: 0.5,
        nodes: {
          b: { service: 'b', next: ['a'] },
          a: { service: 'a', next: ['b2'] },
          b2: { service: 'b', next: ['client'] },
        },
      },
    },
    client: { load: '900/s' },
    run: { duration: '2s' },
  });
  assert.is(outcome, 'deadlocked');
  assert.ok(in_system > 2);
  assert.ok(deadlock !== undefined && deadlock.cycle.length >= 2);
  for (const line of deadlock.cycle)
    assert.match(
      line,
      /^request \d+ waits for one of the 1 connections [ab]-1 → [ab]-1, which request \d+ has$/,
    );
});

// Both threads of a are blocked in their calls of b, whose answers need a thread of a: a request comes every millisecond, so that the second
// takes thread 1 before the first one's call is back.
test('a blocked thread that its own request needs: thread and request are named', async () => {
  const input: ServicesInput = {
    machines: { host: { cores: 3 } },
    models: {
      a: {
        stages: {
          ask: { time: '1ms', blocks_thread: true },
          answer: { time: '1ms' },
          extra: { time: '1ms' },
        },
        paths: { call: { stages: ['ask', 'answer'] }, other: { stages: ['extra'] } },
        bind_connections: false,
      },
      b: server('1ms'),
    },
    services: {
      a: { model: 'a', instances: { 'a-1': { machine: 'host', threads: 2, cores: '0-1' } } },
      b: station('b', 2),
    },
    requests: {
      r: {
        nodes: {
          ask: { service: 'a', path: 'call', from: 'ask', to: 'ask', sync: 'answer', next: ['b'] },
          b: { service: 'b', next: ['back'] },
          back: { service: 'a', path: 'other', next: ['b2'] },
          b2: { service: 'b', next: ['answer'] },
          answer: { service: 'a', path: 'call', from: 'answer', next: ['client'] },
        },
      },
    },
    client: { load: '1000/s', arrivals: 'constant' },
    run: { duration: '1s' },
  };
  const { outcome, deadlock } = await simulateServices(resolveServices(servicesSchema.parse(input)));
  assert.is(outcome, 'deadlocked');
  assert.ok(deadlock !== undefined && deadlock.cycle.length >= 2);
  assert.match(deadlock.cycle.join('\n'), /thread \d of a-1 is blocked until the reply to request \d+ comes/);
  assert.match(deadlock.cycle.join('\n'), /request \d+ is in the queue of thread \d of a-1/);
});

test.run();
