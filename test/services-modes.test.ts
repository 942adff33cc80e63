// Every field of a services file acts in scheduled mode as in dedicated mode. On an ideal machine with a CPU for each thread the
// kernel adds nothing, so that requests take the same times, and with a field changed they take others.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { ServicesResult } from '../src/engine/services.js';
import type { ServicesInput } from '../src/services/schema.js';
import { assertNear, runServices } from './support/services.js';

type Change = (input: ServicesInput) => void;

/** Two tiers with a network: every part of a file is there to be changed. */
function base(): ServicesInput {
  return {
    machines: {
      a: { cores: 10, network: { queue_pairs: 1, cores: '9' } },
      b: { cores: 8, network: { threads: 1, cores: '7' } },
    },
    network: { stack: 'stack', latency: '50us' },
    models: {
      stack: {
        stages: { packet: { time: { exponential: '3us' }, leaves: 'network' } },
        paths: {
          send_local: { stages: ['packet'] },
          send_remote: { stages: ['packet'] },
          receive_remote: { stages: ['packet'] },
        },
      },
      front: {
        stages: {
          read: { time: { exponential: '20us' }, take: 'connection' },
          ask: { time: { exponential: '60us' }, leaves: 'network' },
          answer: { time: { exponential: '50us' }, leaves: 'network' },
        },
        paths: { main: { stages: ['read', 'ask', 'answer'] } },
      },
      store: {
        stages: {
          look: { time: { exponential: '70us' }, leaves: 'network' },
          fetch: { time: { exponential: '150us' }, leaves: 'network' },
        },
        paths: {
          hit: { stages: ['look'], probability: 0.8 },
          miss: { stages: ['look', 'fetch'], probability: 'rest' },
        },
      },
    },
    services: {
      front: {
        model: 'front',
        instances: { f: { machine: 'a', threads: 4, cores: '0-3', pinning: 'each' } },
      },
      store: {
        model: 'store',
        instances: { s: { machine: 'b', threads: 2, cores: '0-1', pinning: 'each' } },
      },
    },
    requests: {
      get: {
        nodes: {
          ask: { service: 'front', to: 'ask', sync: 'answer', next: ['look'] },
          look: { service: 'store', next: ['answer'] },
          answer: { service: 'front', from: 'answer', next: ['client'] },
        },
      },
    },
    client: { load: '8000/s', connections: 40 },
    run: { duration: '250ms' },
    seed: 7,
  };
}

const store = (input: ServicesInput) => input.services.store.instances.s;
const stage = (input: ServicesInput, model: string, name: string) => input.models[model].stages[name];

const CHANGES: Record<string, Change> = {
  'take: one': (input) => {
    stage(input, 'front', 'read').take = 'one';
  },
  'take: heads': (input) => {
    stage(input, 'front', 'read').take = { heads: 1 };
  },
  'take: all': (input) => {
    stage(input, 'store', 'look').take = 'all';
  },
  'take: a bound': (input) => {
    stage(input, 'store', 'look').take = { first: 2 };
  },
  'time: linear': (input) => {
    stage(input, 'front', 'read').time = { linear: { of: 'jobs', base: '10us', each: '5us' } };
  },
  'time: percentiles': (input) => {
    stage(input, 'store', 'look').time = { percentiles: ['50us', [3, '61us'], '90us'] };
  },
  'time: by bytes': (input) => {
    stage(input, 'front', 'read').time = { linear: { of: 'bytes', base: '1us', each: '20ns' } };
    input.client.value_size = { exponential: '1KB' };
  },
  profile: (input) => {
    input.profiles = {
      p: [
        { threads: 2, time: '61us' },
        { threads: 9, time: '10us' },
      ],
    };
    stage(input, 'store', 'look').time = { profile: 'p' };
  },
  repeat: (input) => {
    stage(input, 'store', 'fetch').repeat = { exponential: 2 };
  },
  blocks_thread: (input) => {
    stage(input, 'front', 'ask').blocks_thread = true;
  },
  critical_section: (input) => {
    stage(input, 'store', 'look').critical_section = 1;
  },
  batches_with: (input) => {
    stage(input, 'store', 'look').take = 'all';
    input.models.store.stages.look_2 = { time: '70us', take: 'all', batches_with: 'look' };
    input.models.store.paths.miss.stages = ['look_2', 'fetch'];
  },
  priority: (input) => {
    input.models.front.paths.main.priority = [0, 1, 2];
  },
  bind_connections: (input) => {
    input.models.store.bind_connections = false;
  },
  'frequency, frequency_share': (input) => {
    stage(input, 'store', 'look').frequency_share = 0.5;
    store(input).frequency = '1.3GHz';
  },
  'leaves: direct': (input) => {
    stage(input, 'store', 'look').leaves = 'direct';
  },
  threads: (input) => {
    store(input).threads = 1;
  },
  queues: (input) => {
    delete store(input).threads;
    store(input).queues = 2;
  },
  'an own model': (input) => {
    const { look, fetch } = input.models.store.stages;
    input.models.slow = { ...input.models.store, stages: { look: { ...look, time: '120us' }, fetch } };
    store(input).model = 'slow';
  },
  instances: (input) => {
    input.services.store.instances.s2 = { machine: 'b', threads: 1, cores: '4' };
  },
  spawn: (input) => {
    Object.assign(store(input), { threads: 1, cores: '0-5', pinning: 'none', spawn: { up_to: 6 } });
    input.models.store.bind_connections = false;
  },
  'spawn.takes': (input) => {
    CHANGES.spawn(input);
    store(input).spawn = { up_to: 6, takes: '300us' };
  },
  'spawn.idle': (input) => {
    CHANGES.spawn(input);
    store(input).spawn = { up_to: 6, takes: '300us', idle: '200us' };
  },
  balancer: (input) => {
    CHANGES.instances(input);
    input.models.turn = { stages: { turn: { time: '5us' } }, paths: { all: { stages: ['turn'] } } };
    input.services.store.balancer = { model: 'turn', machine: 'b', threads: 1, cores: '5' };
  },
  'machine without a network': (input) => {
    input.machines.b.network = 'none';
  },
  'network of queues': (input) => {
    input.machines.a.network = { queues: 2, cores: '8-9' };
  },
  client_latency: (input) => {
    input.network!.client_latency = '80us';
  },
  links: (input) => {
    input.network!.links = [{ between: ['a', 'b'], latency: '90us' }];
  },
  pool: (input) => {
    input.edges = [{ from: 'front', to: 'store', pool: 1 }];
  },
  'blocking connections': (input) => {
    input.edges = [{ from: 'front', to: 'store', blocking: true }];
    input.client.connections = 4;
  },
  hold_connection: (input) => {
    input.requests.get.nodes.ask.hold_connection = 'answer';
    input.client.connections = 4;
  },
  'a closed loop': (input) => {
    input.client = { loop: 'closed', clients: 3, think: { exponential: '1ms' } };
  },
  interarrival: (input) => {
    input.client = { interarrival: '130us' };
  },
  'timeout and retries': (input) =>
    void Object.assign(input.client, {
      timeout: '600us',
      retries: { max: 2, backoff: '50us', reconnect: '10us' },
    }),
  warmup: (input) => {
    input.run!.warmup = '100ms';
  },
  'end: horizon': (input) => {
    input.run!.end = 'horizon';
  },
  power: (input) => {
    for (const name of ['look', 'fetch']) stage(input, 'store', name).frequency_share = 1;
    input.power = { target: '5ms', interval: '10ms', controller: 'pid', services: ['store'] };
  },
};

function figures({ latency, completed, client, instances, edges }: ServicesResult) {
  const quantiles = [0.1, 0.5, 0.9, 0.99].map((p) => latency.quantile(p));
  return {
    counts: [completed, latency.count, client.timeouts, ...edges.map(({ waited }) => waited)],
    times: [latency.mean, ...quantiles, ...instances.map(({ busy_ns }) => busy_ns)],
  };
}

const unchanged = figures(await runServices(base()));

for (const [field, change] of Object.entries(CHANGES)) {
  test(`${field}: in scheduled mode as in dedicated mode`, async () => {
    const input = base();
    change(input);
    const dedicated = figures(await runServices(input));
    const kernel = figures(await runServices({ ...input, mode: 'scheduled' }));
    assert.not.equal(dedicated, unchanged, 'the field acts');
    assert.equal(kernel.counts, dedicated.counts);
    // What happens at one instant may happen in another order.
    for (const [i, time] of dedicated.times.entries()) assertNear(field, kernel.times[i], time, 1e-4);
  });
}

test.run();
