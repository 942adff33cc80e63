// Resolved configs: every default filled in, one canonical form, one hash.

import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { parse, stringify } from 'yaml';
import { canonicalJson, configFiles, configHash } from '../src/config/canonical.js';
import { configFrom, loadConfig, parseConfig } from '../src/config/load.js';
import { policyDomains } from '../src/config/placement.js';
import { machineOf, resolveConfig } from '../src/config/resolve.js';
import type { ConfigInput, ResolvedConfig } from '../src/config/schema.js';
import { temporaryFolder } from './support/folder.js';

const JOB = { tasks: [{ name: 'job', program: [{ run: '1s' }] }] } satisfies ConfigInput['workload'];

function resolved(input: Partial<ConfigInput>): ResolvedConfig {
  return resolveConfig(configFrom({ workload: JOB, ...input }));
}

test('an almost empty config is filled in completely', () => {
  const config = resolved({});
  assert.is(config.seed, 1);
  assert.is(config.machine.profile, 'xeon-8160-2s');
  assert.is(config.machine.cpus, 48);
  assert.ok(config.machine.governor);
  assert.ok(config.machine.costs.context_switch);
  assert.equal(config.kernel, {
    version: '6.11-scx',
    hz: '250Hz',
    tick_skew: '0s',
    watchdog_timeout: '30s',
    on_stall: 'end',
    slice_expiry: 'tick',
    base_slice: '3ms',
    bandwidth_slice: '5ms',
    group_scheduling: false,
  });
  assert.equal(config.policy, { name: 'eevdf', base_slice: '3ms' });
  assert.equal(config.workload.tasks, [
    {
      name: 'job',
      program: [{ run: '1s' }],
      count: 1,
      start: '0s',
      weight: 1024,
      cpus: 'all',
      background: false,
      class: 'fair',
      domain: 'none',
    },
  ]);
  assert.equal(config.run, { end: 'drain', horizon: 'none', limit: 'none', warmup: '0s', events: [] });
  assert.equal(config.output, { invocations: 'none', decisions: false, digest: true });
});

test('serverless defaults', () => {
  const { serverless } = resolved({
    policy: 'domains:8',
    workload: { serverless: { trace: 'azure2019-28' } },
  }).workload;
  assert.is(serverless?.load_scale, 1);
  assert.equal(serverless?.assignment, { policy: 'iatchbl', bucket_size: '4s', on_full: 'unmapped' });
  assert.equal(serverless?.window, { start: 'first', length: 'rest', history: '0s' });
  // 800 + 400 us to 2400 + 1400 us: the 1.2 to 3.8 ms of overhead measured in the author's worker.
  assert.equal(serverless?.worker.before, { uniform: ['800us', '2400us'] });
  assert.equal(serverless?.worker.after, { uniform: ['400us', '1400us'] });
  const closed = resolved({ workload: { serverless: { trace: 'azure2019-28', loop: 'closed' } } }).workload
    .serverless;
  assert.equal(closed?.closed, { clients_per_function: 1, invocations: 200, think: '0s' });
  assert.is(closed?.load_scale, undefined);
  assert.equal(closed?.assignment, { policy: 'none' });
});

test('defaults follow the kernel version, the machine and the policy', () => {
  // 0.75 ms × (1 + ilog2(min(CPUs, 8))): 48 → ×4, 4 → ×3, 1 → ×1; 0.7 ms in 7.3.
  assert.is(resolved({ kernel: 7.3 }).kernel.base_slice, '2800us');
  assert.is(resolved({ machine: 'ideal-4' }).kernel.base_slice, '2250us');
  assert.is(resolved({ machine: 'ideal-1' }).kernel.base_slice, '750us');
  assert.is(resolved({ machine: 'ideal-4' }).kernel.slice_expiry, 'exact');
  assert.is(resolved({ policy: { name: 'eevdf', base_slice: '4ms' } }).kernel.base_slice, '4ms');
  const onDomains = resolved({ policy: 'domains:8' }).workload.tasks[0];
  assert.is(onDomains.class, 'ext');
  assert.is(onDomains.domain, 'spread');
  assert.is(resolved({ policy: 'global-fifo' }).workload.tasks[0].domain, 'none');
});

test('a run drains for at most ten horizons', () => {
  const arrivals = [{ name: 'a', rate: '1/s', spawn: { program: [{ run: '1s' }] } }];
  assert.equal(resolved({ workload: { arrivals }, run: { horizon: '60s' } }).run, {
    end: 'drain',
    horizon: '1min',
    limit: '10min',
    warmup: '0s',
    events: [],
  });
  const counted = resolved({ workload: { arrivals: [{ ...arrivals[0], max_arrivals: 5 }] } });
  assert.is(counted.run.horizon, 'none');
  assert.is(resolved({ workload: { serverless: { trace: 'azure2019-28' } } }).run.horizon, 'trace');
});

test('shorthands and units resolve into one form', () => {
  assert.equal(resolved({ policy: 'domains:8' }).policy, {
    name: 'domains',
    domains: 8,
    slice: '3ms',
    reset_every: 10,
    steal: 'neighbours',
  });
  const short = resolved({ kernel: 6.12, policy: 'domains:8', machine: 'ideal-48' });
  const long = resolved({
    kernel: { version: '6.12', watchdog_timeout: '30000ms' },
    policy: { name: 'domains', domains: 8, slice: '3000us' },
    machine: { profile: 'ideal-48', cpus: 48 },
    workload: { tasks: [{ name: 'job', program: [{ run: { constant: '1000ms' } }] }] },
  });
  assert.is(configHash(short), configHash(long));
});

test('nice values become the weights of the kernel', () => {
  const weightOf = (priority: number) =>
    resolved({ workload: { tasks: [{ ...JOB.tasks[0], priority }] } }).workload.tasks[0].weight;
  assert.equal([-20, -1, 0, 1, 19].map(weightOf), [88761, 1277, 1024, 820, 15]);
});

test('a resolved config is a config: through YAML and JSON to the same hash', () => {
  const inputs: Partial<ConfigInput>[] = [
    {},
    {
      machine: { profile: 'ideal-8', busy_power: '190.738W', idle_power: '95W' },
      policy: 'weighted-vtime:4',
    },
    { workload: { serverless: { trace: 'azure2019-28', offered_load: 0.35 } }, policy: 'domains:4' },
    { workload: { serverless: { trace: 'azure2019-28', loop: 'closed' } }, seed: 0 },
    {
      workload: { tasks: [{ name: 'a', program: [{ loop: { times: 'forever', do: ['yield'] } }] }] },
      run: { limit: '1h' },
    },
  ];
  for (const input of inputs) {
    const config = resolved(input);
    const again = resolveConfig(parseConfig(stringify(config)));
    assert.equal(again, config);
    assert.is(configHash(again), configHash(config));
    assert.is(configHash(resolveConfig(parseConfig(JSON.stringify(config)))), configHash(config));
  }
});

test('reading a canonical config changes nothing', () => {
  for (const name of readdirSync('examples')) {
    const config = loadConfig(join('examples', name));
    assert.equal(configFrom(config), config, name);
  }
});

test('the hash covers what decides results, and only that', () => {
  const base = configHash(resolved({}));
  assert.is(configHash(resolved({ name: 'a label', output: { invocations: 'all' } })), base);
  assert.is.not(configHash(resolved({ seed: 2 })), base);
  assert.is.not(configHash(resolved({ kernel: { hz: '1kHz' } })), base);
  const trace = (path: string) => resolved({ workload: { serverless: { trace: path } } });
  // Files count by content, which the caller hashes; bundled traces by name.
  assert.is(configHash(trace('a/day1.arrow')), configHash(trace('b/day1.arrow')));
  assert.is.not(configHash(trace('azure2019-28')), configHash(trace('b/day1.arrow')));
  assert.equal(configFiles(trace('a/day1.arrow')), [{ path: 'a/day1.arrow', kind: 'trace' }]);
});

test('canonical JSON sorts keys and refuses what JSON has no form for', () => {
  assert.is(canonicalJson({ b: [1, { d: 2, c: undefined }], a: 'x' }), '{"a":"x","b":[1,{"d":2}]}');
  assert.throws(() => canonicalJson({ a: Number.NaN }), /NaN/);
});

test('seed: random draws one that the resolved config states', () => {
  const { seed } = resolved({ seed: 'random' });
  assert.type(seed, 'number');
  assert.ok(Number.isSafeInteger(seed) && seed >= 0);
  assert.is(resolved({ seed: 0 }).seed, 0);
});

test('paths in a config file start at its folder', () => {
  const folder = temporaryFolder('config');
  mkdirSync(join(folder, 'traces'));
  const file = join(folder, 'c.yaml');
  writeFileSync(file, 'workload: {serverless: {trace: traces/day1.arrow}}\n');
  assert.is(loadConfig(file).workload.serverless?.trace, relative('', join(folder, 'traces/day1.arrow')));
  assert.is(
    parseConfig('workload: {serverless: {trace: day1.arrow}}', { file: 'sub/c.yaml' }).workload.serverless
      ?.trace,
    'sub/day1.arrow',
  );
  assert.throws(() => loadConfig(join(folder, 'none.yaml')), /can't read the config/);
});

test('domains by number or by list', () => {
  assert.equal(policyDomains(resolved({ machine: 'ideal-4', policy: 'domains:2' }).policy, 4), [
    [0, 1],
    [2, 3],
  ]);
  const listed = resolved({
    machine: 'ideal-4',
    policy: { name: 'domains', domains: ['0', '3,1-2'] },
  }).policy;
  assert.equal(policyDomains(listed, 4), [[0], [1, 2, 3]]);
  assert.is(policyDomains(resolved({}).policy, 4), undefined);
});

test('the machine of a config carries its own costs and powers', () => {
  const machine = machineOf(
    resolved({
      machine: {
        profile: 'ideal-2',
        costs: { context_switch: '1.5us' },
        idle_power: '95W',
        busy_power: '190.738W',
      },
    }),
  );
  assert.is(machine.costs.context_switch_ns, 1500);
  assert.is(machine.cpus.length, 2);
  assert.is(machineOf(resolved({ machine: { profile: 'xeon-8160-2s', cpus: 24 } })).cpus.length, 24);
});

test('YAML values that only look like text are not taken for it', () => {
  // YAML 1.2 reads 6.12 as a number; "6.12" and 6.12 mean the same kernel.
  const version = (text: string) =>
    resolveConfig(configFrom({ ...parse(text), workload: JOB })).kernel.version;
  assert.is(version('kernel: 6.12'), '6.12');
  assert.is(version('kernel: "6.12"'), '6.12');
  assert.is(version('kernel: {version: 7.3}'), '7.3');
});

test.run();
