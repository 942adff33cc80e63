// What a stage takes from its queue and how long that takes it, by hand: four requests of one connection come at 10 ms, all at once. The first
// is served as it comes, the others wait; latencies in ms.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { ServicesInput } from '../src/services/schema.js';
import { runServices } from './support/services.js';

const MS = 1e6;

type Stage = ServicesInput['models'][string]['stages'][string];

interface Options {
  threads?: number;
  cores?: string;
  bind?: boolean;
  compat?: ServicesInput['compat'];
}

async function latencies(
  stage: Stage,
  { threads = 1, cores = '0-3', bind = true, compat = [] }: Options = {},
) {
  const { latency } = await runServices({
    machines: { host: { cores: 4 } },
    models: {
      m: { stages: { serve: stage }, paths: { all: { stages: ['serve'] } }, bind_connections: bind },
    },
    services: { s: { model: 'm', instances: { s: { machine: 'host', threads, cores } } } },
    requests: { r: { nodes: { s: { service: 's', next: ['client'] } } } },
    client: { loop: 'closed', clients: 4, think: '10ms', connections: 1, requests: 4 },
    run: { duration: '1s' },
    compat,
  });
  return { sum: Number(latency.sum) / MS, max: latency.max / MS };
}

test('one at a time: 1, 2, 3, 4', async () => {
  assert.equal(await latencies({ time: '1ms' }), { sum: 10, max: 4 });
});

test('all that wait: 1, then three for the time of one: 2, 2, 2', async () => {
  assert.equal(await latencies({ time: '1ms', take: 'all' }), { sum: 7, max: 2 });
  assert.equal(await latencies({ time: '1ms', take: 'connection' }), { sum: 7, max: 2 });
});

test('the first two, or two of a connection, or two of every connection: 1, 2, 2, 3', async () => {
  for (const take of [{ first: 2 }, { connection: 2 }, { heads: 2 }])
    assert.equal(await latencies({ time: '1ms', take }), { sum: 8, max: 3 });
});

test('the first of every connection, of which there is one: 1, 2, 3, 4', async () => {
  assert.equal(await latencies({ time: '1ms', take: 'heads' }), { sum: 10, max: 4 });
});

test('a time that grows with the batch: 1, then three take 1 + 2 ms: 4, 4, 4', async () => {
  const linear = { linear: { of: 'jobs', base: '0s', each: '1ms', draw: 'constant' } } as const;
  assert.equal(await latencies({ time: linear, take: 'all' }), { sum: 13, max: 4 });
});

// 7 bytes each: 7 take 1 ms; 21 are above the last point, 14, which goes into them once.
test('a time by bytes: 1, then 21 bytes take 5 ms: 6, 6, 6', async () => {
  const points: [number, string][] = [
    [7, '1ms'],
    [14, '5ms'],
  ];
  const table = { table: { of: 'bytes', points, beyond: 'repeat', draw: 'constant' } } as const;
  assert.equal(await latencies({ time: { table: { ...table.table, points } }, take: 'connection' }), {
    sum: 19,
    max: 6,
  });
});

test('a time rounded to whole milliseconds, halves up: .3 + .4 n is 1 for one and 2 for three', async () => {
  const linear = {
    linear: { of: 'jobs', base: '300us', each: '400us', round: '1ms', draw: 'constant' },
  } as const;
  // One: .7 → 1. Three: 1.5 → 2, so they end at 3.
  assert.equal(await latencies({ time: linear, take: 'all' }), { sum: 10, max: 3 });
});

test('draws that are added up: 3, 6, 9, 12', async () => {
  assert.equal(await latencies({ time: '1ms', repeat: 3 }), { sum: 30, max: 12 });
});

test('a bound connection keeps to one thread, else threads take turns', async () => {
  assert.equal(await latencies({ time: '1ms' }, { threads: 2 }), { sum: 10, max: 4 });
  assert.equal(await latencies({ time: '1ms' }, { threads: 2, bind: false }), { sum: 6, max: 2 });
});

// Two threads on one core: thread 0 serves, then both have work; after each call the first by number gets the core: 1, 2, 3, 4.
test('more threads than cores share them', async () => {
  assert.equal(await latencies({ time: '1ms' }, { threads: 2, bind: false, cores: '0' }), {
    sum: 10,
    max: 4,
  });
});

test('a critical section lets one thread in at a time; the release forgets it (B4)', async () => {
  const stage: Stage = { time: '1ms', critical_section: 1 };
  assert.equal(await latencies(stage, { threads: 4, bind: false }), { sum: 10, max: 4 });
  assert.equal(await latencies(stage, { threads: 4, bind: false, compat: ['B4-critical-section-ignored'] }), {
    sum: 4,
    max: 1,
  });
});

test.run();
