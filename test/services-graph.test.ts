// Drawings of microservices: who calls whom and how often, and the stages of a service.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { dependencies } from '../src/services/graph/dependencies.js';
import { layered } from '../src/services/graph/layers.js';
import { servicesGraph } from '../src/services/graph/services.js';
import { modelNamed, stagesGraph } from '../src/services/graph/stages.js';
import { loadServices } from '../src/services/load.js';
import { resolveServices } from '../src/services/resolve.js';
import { commandLine } from './support/command-line.js';

const released = (name: string) => resolveServices(loadServices(`data/uqsim/${name}`));

function callsOf(name: string): string[] {
  const services = released(name);
  const named = (i: number) => (i < 0 ? 'client' : services.services[i].name);
  return dependencies(services).calls.map(
    ({ from, to, per_request }) => `${named(from)} → ${named(to)} × ${Number(per_request.toFixed(6))}`,
  );
}

test('replies are no calls: of the three tiers', () => {
  // 86 % hit the cache, 12 % go to the database, 2 % to its disk; both then write the cache: 1 + 0.12 + 0.02 and 0.12 + 0.02.
  assert.equal(callsOf('3tier'), [
    'client → nginx × 1',
    'nginx → memcached × 1.14',
    'nginx → mongodb × 0.14',
    'mongodb → mongo_io × 0.02',
  ]);
});

test('fan-out: one call to each of them', () => {
  assert.equal(callsOf('fannout_synthetic_5').length, 6);
  assert.equal(callsOf('fannout_synthetic_5')[1], 'load_balancer → leaf_service_0 × 1');
});

test('layers: neighbours stand at the same height', () => {
  const box = { width: 10, height: 10 };
  // a calls c, b calls d, listed the other way round.
  const nodes = [0, 0, 1, 1].map((layer) => ({ layer, ...box }));
  const { places } = layered(
    nodes,
    [
      [0, 3],
      [1, 2],
    ],
    { x: 5, y: 5 },
  );
  assert.is(places[0].y, places[3].y);
  assert.is(places[1].y, places[2].y);
  assert.is(places[2].x, 15);
});

test('a hundred alike services are one box; unvisited ones are dashed', () => {
  const svg = servicesGraph(released('fannout_synthetic_100'));
  assert.match(svg, /leaf_service_0 … leaf_service_99/);
  assert.is(svg.match(/<rect [^>]*rx="4"/g)?.length, 3);
  // Databases and their disks of three services.
  assert.is(servicesGraph(released('thrift_app')).match(/stroke-dasharray/g)?.length, 6);
});

test('the stages of a service, by its name or that of its model', () => {
  const services = released('thrift_app');
  const svg = stagesGraph(services, modelNamed(services, 'user_memcached'));
  assert.match(svg, /exponential, 800 ns–26 µs by bytes/);
  assert.match(svg, /takes a connection&#39;s jobs/);
  assert.is(modelNamed(services, 'memcached'), modelNamed(services, 'user_memcached'));
});

test('names are text, not markup', () => {
  const services = { ...released('2tier_ngx_8_memc_2'), name: '<b>"' };
  assert.not.match(servicesGraph(services), /<b>/);
});

test('vtime services graph', async () => {
  const { exitCode, stdout } = await commandLine(
    'services',
    'graph',
    'data/uqsim/3tier',
    '--service',
    'mongodb',
  );
  assert.is(exitCode, 0);
  assert.match(stdout, /^<svg xmlns=/);
  const wrong = await commandLine('services', 'graph', 'data/uqsim/3tier', '--service', 'mongo');
  assert.is(wrong.exitCode, 2);
  assert.match(
    wrong.stderr,
    /there is no service or model "mongo"; expected nginx, memcached, mongodb, mongo_io/,
  );
});

test.run();
