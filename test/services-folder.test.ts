// µqSim folders: those of the release read and convert without loss; of a small one, every field in turn is missing or of a wrong type.

import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Path } from '../src/config/mistakes.js';
import { convert } from '../src/services/convert.js';
import { readFolder } from '../src/services/folder/read.js';
import { loadServices, parseServices } from '../src/services/load.js';
import { resolveServices } from '../src/services/resolve.js';
import { temporaryFolder } from './support/folder.js';
import { smallFolder, writeFolder } from './support/uqsim-folder.js';

const root = temporaryFolder('folder');
let folders = 0;

function placed(files: Record<string, unknown>): string {
  const folder = join(root, String(folders++));
  writeFolder(folder, files);
  return folder;
}

const RELEASED = [
  '2tier_ngx_4_memc_1',
  '2tier_ngx_4_memc_2',
  '2tier_ngx_8_memc_2',
  '2tier_ngx_8_memc_4',
  '3tier',
  'fannout_synthetic_5',
  'fannout_synthetic_10',
  'fannout_synthetic_100',
  'nginx_fanout',
  'thrift_app',
  'thrift_helloworld',
  'old_format_nginx',
  ...['lb_4', 'lb_8', 'lb_16', 'memcached_4', 'nginx_1'].map((name) => `derived/${name}`),
];

for (const name of RELEASED) {
  test(`${name} reads without an error, and its services file gives the same model`, () => {
    const folder = `data/uqsim/${name}`;
    const { findings } = readFolder(folder);
    assert.equal(
      findings.filter(({ severity }) => severity === 'error'),
      [],
    );
    const converted = parseServices(convert(folder));
    assert.equal(
      resolveServices({ ...converted, name: 'same' }),
      resolveServices({ ...loadServices(folder), name: 'same' }),
    );
  });
}

test('of the release, the two-tier model: counts by hand', () => {
  const model = resolveServices(loadServices('data/uqsim/2tier_ngx_8_memc_2'));
  assert.is(model.machines.length, 4);
  assert.equal(
    model.instances.map(({ name, execution }) => [
      name,
      execution.kind,
      execution.number,
      execution.cores.length,
    ]),
    [
      ['nginx', 'threads', 8, 8],
      ['memcached', 'threads', 2, 2],
    ],
  );
  // 80,000/s for 60 s: a request each 12,500 ns, at most 80,000 × 60 of them.
  assert.equal(model.client.epochs, [{ until_ns: 60e9, mean_ns: 12_500, rate_per_s: 80_000 }]);
  assert.is(model.client.requests, 4_800_000);
  const [request] = model.requests;
  assert.equal(
    request.nodes.map(({ service, next, parents }) => [model.services[service].name, ...next, parents]),
    [
      ['nginx', 1, 1],
      ['memcached', 2, 1],
      ['nginx', -1, 1],
    ],
  );
  const handler = model.models.find(({ name }) => name === 'nginx')?.stages[1];
  const [{ time }] = handler?.times ?? [];
  assert.is(time.kind, 'draw');
  const drawn =
    time.kind === 'draw' && typeof time.time !== 'string' && 'empirical' in time.time ? time.time : undefined;
  const points = drawn?.empirical.points ?? [];
  // 17 µs × 0.65 = 11.05 µs, with probability 1/100; the last is 100 µs × 0.65.
  assert.equal(points[0], [0.01, '11050ns']);
  assert.equal(points[99], [1, '65us']);
});

test('of the old format, times in µs become ns and probabilities fractions', () => {
  const model = resolveServices(loadServices('data/uqsim/old_format_nginx'));
  // 30.0 µs; the handler's mean of 20.0 µs.
  assert.is(model.network.latency_ns, 30_000);
  const nginx = model.models.find(({ name }) => name === 'nginx');
  assert.equal(nginx?.stages[1].times, [{ time: { kind: 'draw', time: { exponential: '20us' } } }]);
  assert.is(model.requests[0].probability, 1);
});

test("a fork's links and client latency", () => {
  const files = smallFolder();
  const { net_latency: _, ...graph } = files['graph.json'];
  const machines = {
    machines: files['machines.json'],
    links: [{ machine_id_1: 0, machine_id_2: 1, latency: 30000, capacity: 100 }],
    client_latency: 12000,
  };
  const folder = placed({ ...files, 'graph.json': graph, 'machines.json': machines });
  assert.is(readFolder(folder).format, 'fork');
  const { network } = resolveServices(loadServices(folder));
  assert.equal(network.links, [{ a: 0, b: 1, latency_ns: 30_000 }]);
  assert.is(network.client_latency_ns, 12_000);
});

test('one file microservice.json in place of the folder', () => {
  const files = smallFolder();
  const models = ['web', 'base', 'disk', 'net_stack'].map((name) =>
    Reflect.get(files, `microservice/${name}.json`),
  );
  const rest = Object.fromEntries(
    Object.entries(files).filter(([name]) => !name.startsWith('microservice/')),
  );
  const single = placed({ ...rest, 'microservice.json': models });
  const several = placed(files);
  const named = (folder: string) => resolveServices({ ...loadServices(folder), name: 'same' });
  const sorted = (folder: string) => {
    const model = named(folder);
    return {
      ...model,
      models: [],
      services: model.services.map(({ name }) => name),
      network: 0,
      instances: 0,
    };
  };
  assert.equal(sorted(single), sorted(several));
});

/** Every field of a JSON document, with its path. */
function* fieldsOf(value: unknown, path: Path = []): Generator<Path> {
  if (Array.isArray(value)) {
    for (const [i, item] of value.entries()) yield* fieldsOf(item, [...path, i]);
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, inner] of Object.entries(value)) {
      yield [...path, key];
      yield* fieldsOf(inner, [...path, key]);
    }
  }
}

function changed(document: unknown, path: Path, value: unknown): unknown {
  const copy: unknown = structuredClone(document);
  const parent = path.slice(0, -1).reduce<unknown>((inner, key) => Reflect.get(Object(inner), key), copy);
  const key = path[path.length - 1];
  if (value === undefined) Reflect.deleteProperty(Object(parent), key);
  else Reflect.set(Object(parent), key, value);
  return copy;
}

const OPTIONAL = ['core_affinity', 'priority', 'probability', 'chunk_model', 'thread_limit', 'sync_node_id'];
/** One place for each field of a file: the lists in it are all alike. */
const generic = (path: Path) => path.map((part) => (typeof part === 'number' ? '*' : part)).join('.');

for (const [file, document] of Object.entries(smallFolder())) {
  const tried = new Set<string>();
  for (const path of fieldsOf(document)) {
    // Only the first entry of each list, but the first with such a field.
    if (tried.has(generic(path))) continue;
    tried.add(generic(path));
    const key = String(path[path.length - 1]);
    const at = `${file} ${JSON.stringify(path)}`;
    test(`${at}: of a wrong type`, () => {
      const folder = placed({ ...smallFolder(), [file]: changed(document, path, { wrong: true }) });
      const { services, findings } = readFolder(folder);
      assert.is(services, undefined);
      const errors = findings.filter(({ severity }) => severity === 'error');
      const place = errors.find(
        (found) =>
          found.file === join(folder, file) &&
          JSON.stringify(found.path).startsWith(JSON.stringify(path).slice(0, -1)),
      );
      assert.ok(place !== undefined, JSON.stringify(errors));
      assert.ok((place?.line ?? 0) >= 1 && (place?.column ?? 0) >= 1);
    });
    if (OPTIONAL.includes(key)) continue;
    test(`${at}: missing`, () => {
      const folder = placed({ ...smallFolder(), [file]: changed(document, path, undefined) });
      const { services, findings } = readFolder(folder);
      assert.is(services, undefined);
      const found = findings.find(
        ({ code, file: where }) => code === 'missing-field' && where === join(folder, file),
      );
      assert.equal(found?.path, path, JSON.stringify(findings));
    });
  }
}

test.run();
