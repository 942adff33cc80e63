// What the loader of bpf/ is told comes from the config that a simulation takes.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loaderInput, twinOf } from '../src/bpf/loader-input.js';
import { configFrom } from '../src/config/load.js';
import { resolveConfig } from '../src/config/resolve.js';

const TASK = { name: 'hog', program: [{ run: '1ms' }] };

function configured(policy: object) {
  return resolveConfig(
    configFrom({
      machine: { profile: 'ideal-4' },
      policy,
      workload: { tasks: [TASK] },
      run: { end: 'horizon', horizon: '1s' },
    }),
  );
}

const lines = (text: string) => text.trimEnd().split('\n');

test('domains: read-only variables, cores of each group, group of each mapped cgroup', () => {
  const config = configured({ name: 'domains', domains: ['0-2', '3'], slice: '2ms', reset_every: 7 });
  const cgroups = [{ path: 'vtime/f1', domain: 1 }, { path: 'vtime/free' }];
  // CPUs 0, 1, 2 are bits 1 + 2 + 4 = 7 of the first word; CPU 3 is bit 8.
  assert.equal(lines(loaderInput('domains', config, 4, cgroups)), [
    'rodata nr_groups 2',
    'rodata slice_ns 2000000',
    'rodata reset_every 7',
    'rodata steal 1',
    'map gMap u32:0 = u64:7 u64:0 u64:0 u64:0 u64:0 u64:0 u64:0 u64:0 u64:0',
    'map gMap u32:1 = u64:8 u64:0 u64:0 u64:0 u64:0 u64:0 u64:0 u64:0 u64:0',
    'map cMap cgroup:vtime/f1 = u32:1',
  ]);
});

test('as coded: SCX_OPS_ENQ_LAST, which the object cannot set itself, and half the machine as few CPUs', () => {
  const config = configured({ name: 'domains-as-coded', domains: 1, sample: 'tick' });
  const told = lines(loaderInput('domains', config, 4, []));
  for (const line of ['flags 2', 'rodata as_coded 1', 'rodata sample_at_tick 1', 'rodata pinned_cpus 2']) {
    assert.ok(told.includes(line), line);
  }
});

test('CPU 64 is the first bit of the second word', () => {
  const config = configured({ name: 'domains', domains: ['0-3'] });
  assert.match(
    loaderInput('domains', { ...config, policy: { ...config.policy, domains: ['64'] } as never }, 65, []),
    'u32:0 = u64:0 u64:1 u64:0',
  );
});

test('every policy with an object of its own', () => {
  const object = (policy: object) => twinOf(configured(policy).policy, 4)?.object;
  assert.is(object({ name: 'global-fifo', requeue: 'local' }), 'fifo');
  assert.is(object({ name: 'global-vtime' }), 'vtime');
  assert.is(object({ name: 'global-vtime', preempt: true }), undefined);
  assert.is(object({ name: 'five-level', order: 'strict' }), 'fivelevel');
  assert.is(object({ name: 'central' }), 'central');
  assert.is(object({ name: 'nest' }), undefined);
});

test('an object is not given the settings of another policy', () => {
  assert.throws(
    () => loaderInput('fifo', configured({ name: 'central' }), 4, []),
    (error: Error & { code?: string }) => error.code === 'vm_scheduler' && /fifo\.bpf\.o/.test(error.message),
  );
});

test('an unknown object is told nothing', () => {
  assert.is(loaderInput('mine', configured({ name: 'nest' }), 4, []), '');
});

test.run();
