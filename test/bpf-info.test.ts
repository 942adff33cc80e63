// What `vtime bpf info` says about test/bpf/features.bpf.c, compiled, and a small kernel.

import { spawnSync } from 'node:child_process';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { objectInfo } from '../src/bpf/object/info.js';
import { KERNEL, openFeatures } from './support/bpf-kernel.js';

const flags = { SCX_OPS_KEEP_BUILTIN_IDLE: 1n, SCX_OPS_ENQ_LAST: 2n, SCX_OPS_ALL_FLAGS: 3n };
const kernel = { ...KERNEL, enums: { ...KERNEL.enums, scx_ops_flags: flags } };
const info = objectInfo(openFeatures(), kernel, { cpus: 4 });
const supportOf = (needs: readonly { name: string; support: string }[], name: string) =>
  needs.find((need) => need.name === name)?.support;

test('the scheduler with its ops and the names of its flags', () => {
  const [{ name, flags, timeout_ms, ops }] = info.schedulers;
  assert.equal([name, timeout_ms], ['features', 5000]);
  assert.equal(flags, ['KEEP_BUILTIN_IDLE', 'ENQ_LAST']);
  assert.equal(ops[0], { name: 'select_cpu', function: 'features_select_cpu', support: 'supported' });
});

test('flags without a name are shown as a number', () => {
  const nameless = objectInfo(openFeatures(), KERNEL, { cpus: 4 });
  assert.equal(nameless.schedulers[0].flags, ['0x3']);
});

test('helpers, kfuncs and kernel features: those it has, and those that only dead code would need', () => {
  assert.is(supportOf(info.helpers, 'map_lookup_elem'), 'supported');
  assert.is(supportOf(info.helpers, 'probe_read_user'), 'unreached');
  assert.is(supportOf(info.kfuncs, 'scx_bpf_dsq_insert___v2'), 'supported');
  assert.is(supportOf(info.kfuncs, 'scx_bpf_dispatch'), 'unreached');
  assert.is(supportOf(info.kernel, 'task_struct.scx.slice'), 'supported');
  assert.is(supportOf(info.kernel, 'enumerator SCX_ENQ_LAST of enum scx_enq_flags'), 'supported');
  assert.is(supportOf(info.kernel, 'LINUX_KERNEL_VERSION'), 'supported');
  // It asks whether there is one, and lives without.
  assert.is(supportOf(info.kernel, 'enumerator SCX_ENQ_ABSENT of enum scx_enq_flags'), 'absent');
  assert.is(supportOf(info.kernel, 'CONFIG_ABSENT'), 'absent');
  assert.equal(info.refusals, []);
});

test('what is reached and missing is marked', () => {
  const strange = objectInfo(openFeatures(), kernel, { cpus: 4, rodata: { strange: true } });
  assert.is(supportOf(strange.helpers, 'probe_read_user'), 'missing');
  assert.is(supportOf(strange.kernel, 'task_struct.absent'), 'missing');
  assert.is(strange.refusals.length, 2);
});

test('maps, variables, programs that are not loaded', () => {
  const states = info.maps.find(({ name }) => name === 'states');
  assert.equal(states, {
    name: 'states',
    type: 'HASH',
    key_bytes: 4,
    value_bytes: 40,
    max_entries: 10,
    special: ['bpf_timer', 'kptr of bpf_cpumask', 'bpf_spin_lock', 'bpf_spin_lock'],
    support: 'supported',
  });
  assert.is(supportOf(info.maps, 'unused'), 'unreached');
  const values = Object.fromEntries(info.variables.map(({ name, value }) => [name, value]));
  assert.is(values.nr_cpu_ids, '4');
  assert.is(values.timeout_us, '-1');
  assert.is(values.strange, 'false');
  assert.is(values.pairs, undefined);
  assert.equal(info.other_programs, ['tp_btf/sched_switch: never_attached']);
  // never_attached is not linked.
  assert.is(info.functions.all - info.functions.linked, 1);
});

function command(...args: string[]) {
  return spawnSync(process.execPath, ['bin/vtime.js', 'bpf', 'info', ...args], { encoding: 'utf8' });
}

test('vtime bpf info prints it, with what settings make of it', () => {
  const { status, stdout } = command('bpf/objects/fifo.bpf.o', '--rodata', 'slice_ns=3ms');
  assert.is(status, 0);
  assert.match(stdout, /scheduler {3}fifo \(GPL\)/);
  assert.match(stdout, /slice_ns=3000000 \(u64\)/);
  assert.match(stdout, /vtime runs it\n$/);
});

test('vtime bpf info --json; what is no object or no variable of it is refused', () => {
  const { stdout } = command('bpf/objects/central.bpf.o', '--cpus', '4', '--json');
  assert.is(JSON.parse(stdout).schedulers[0].name, 'central');
  assert.is(command('package.json').status, 2);
  assert.is(command('missing.bpf.o').status, 2);
  const mistaken = command('bpf/objects/fifo.bpf.o', '--rodata', 'slise_ns=3ms');
  assert.is(mistaken.status, 2);
  assert.match(mistaken.stderr, /perhaps slice_ns/);
});

test.run();
