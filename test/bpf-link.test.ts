// What linking makes of an object: test/bpf/features.bpf.c, compiled, against the small kernel of test/support.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { link, UnsupportedObjectError } from '../src/bpf/object/link.js';
import { codeOf, functionNamed, KERNEL, linkFeatures, mapNamed, openFeatures } from './support/bpf-kernel.js';

const { program, refusals } = linkFeatures();
const enqueue = functionNamed(program, 'features_enqueue');
const selectCpu = functionNamed(program, 'features_select_cpu');

test('a scheduler has its callbacks, flags, time limit and name', () => {
  const [scheduler] = program.schedulers;
  assert.is(scheduler.name, 'features');
  assert.is(scheduler.variable, 'features_ops');
  assert.is(scheduler.flags, 3n);
  assert.is(scheduler.timeout_ms, 5000);
  const callbacks = [...scheduler.callbacks].map(([op, i]) => [op, program.functions[i].name]);
  assert.equal(callbacks, [
    ['select_cpu', 'features_select_cpu'],
    ['enqueue', 'features_enqueue'],
  ]);
});

test('only functions that a callback reaches are kept', () => {
  const names = program.functions.map(({ name }) => name);
  assert.equal(names.sort(), [
    'add',
    'by_mode',
    'features_enqueue',
    'features_select_cpu',
    'insert',
    'times_counter',
  ]);
  assert.is(functionNamed(program, 'add').parameters, 2);
});

test('maps that code uses are kept, with inner maps, slots and what the kernel manages in them', () => {
  const names = program.maps.map(({ name }) => name);
  assert.not.ok(names.includes('unused'));
  const queues = mapNamed(program, 'queues');
  assert.is(queues.type, 'ARRAY_OF_MAPS');
  assert.is(program.maps[queues.inner!].type, 'QUEUE');
  const slots = [...queues.slots!].map(([key, map]) => [key, names[map]]);
  assert.equal(slots, [
    [0, 'first'],
    [2, 'second'],
  ]);
  const states = mapNamed(program, 'states');
  // timer 16 B, pointer 8 B, sum 8 B, two locks of 4 B: 40 B.
  assert.equal(
    [states.type, states.key_bytes, states.value_bytes, states.max_entries, states.flags],
    ['HASH', 4, 40, 10, 1],
  );
  assert.equal(states.special, [
    { kind: 'bpf_timer', offset: 0 },
    { kind: 'kptr', offset: 16, type: 'bpf_cpumask' },
    { kind: 'bpf_spin_lock', offset: 32 },
    { kind: 'bpf_spin_lock', offset: 36 },
  ]);
  assert.equal(mapNamed(program, '.bss.A').special, [
    { kind: 'bpf_list_head', offset: 0, type: 'entry', node: 'node' },
  ]);
});

test('types that the program allocates have their ids, sizes and special fields', () => {
  assert.is(program.types.length, 1);
  const [{ id, name, bytes, special }] = program.types;
  // number 8 B, then the node of 24 B.
  assert.equal([name, bytes], ['entry', 32]);
  assert.equal(special, [{ kind: 'bpf_list_node', offset: 8 }]);
  const [allocation] = enqueue.instructions.filter(({ imm }) => imm === BigInt(id));
  assert.equal(allocation.target, { kind: 'value', value: BigInt(id) });
});

test('callbacks, subprograms, helpers and kfuncs are named by calls and addresses', () => {
  const loop = codeOf(enqueue, 'bpf_loop(4').map(({ target }) => target);
  const named = (name: string) => program.functions.findIndex((fn) => fn.name === name);
  assert.ok(loop.some((t) => t?.kind === 'function' && t.function === named('add')));
  assert.ok(loop.some((t) => t?.kind === 'helper' && t.name === 'loop' && t.id === 181));
  const [call] = codeOf(enqueue, 'insert(p').filter(({ opcode }) => opcode === 0x85);
  assert.equal(call.target, { kind: 'function', function: named('insert') });
  const calls = functionNamed(program, 'insert').instructions.filter(({ opcode }) => opcode === 0x85);
  // The suffix ___compat is not part of the kernel's name; the other branch is dead, since this kfunc exists.
  assert.equal(
    calls.map(({ target }) => target),
    [{ kind: 'kfunc', name: 'scx_bpf_dsq_insert___v2' }],
  );
});

test('where the newer kfunc does not exist, the older one is called', () => {
  const older = linkFeatures({}, { kfuncs: { has: (name) => name !== 'scx_bpf_dsq_insert___v2' } });
  const calls = functionNamed(older.program, 'insert').instructions.filter(({ opcode }) => opcode === 0x85);
  assert.equal(
    calls.map(({ target }) => target),
    [{ kind: 'kfunc', name: 'scx_bpf_dispatch' }],
  );
});

test('fields are where the kernel has them, through anonymous structs and in nested ones', () => {
  const [pid] = codeOf(selectCpu, 'p->pid').filter(({ offset }) => offset === 400);
  assert.is(pid.opcode, 0x61);
  assert.ok(codeOf(selectCpu, 'p->inside').some(({ offset }) => offset === -404));
  assert.ok(codeOf(selectCpu, 'scx.slice').some(({ offset }) => offset === 800 + 0));
  assert.ok(enqueue.instructions.some(({ opcode, offset }) => opcode === 0x7b && offset === 800 + 8));
});

test('an unsigned field of another size is loaded with that size', () => {
  const [narrow] = enqueue.instructions.filter(({ offset }) => offset === 920);
  assert.is(narrow.opcode, 0x69);
});

test('bit fields: the smallest aligned word that holds them, and shifts', () => {
  const immediates = enqueue.instructions
    .filter(({ opcode }) => opcode === 0xb7)
    .slice(-5)
    .map(({ imm }) => imm);
  // Bits 9…13 after byte 924 of a 4-byte word: the word is 924 … 927; signed;
  // left shift 64 − (9 + 5) = 50, right shift 64 − 5 = 59.
  assert.equal(immediates, [924n, 4n, 1n, 50n, 59n]);
});

test("enumerators have the kernel's values", () => {
  const last = enqueue.instructions.find(
    ({ target }) => target?.kind === 'value' && target.value === 1n << 41n,
  );
  assert.ok(last);
});

test('loads of read-only data become constants', () => {
  // __SCX_ENQ_LAST is set from the kernel's enumerator, timeout_us is −1 in 32 bits.
  const pairs = linkFeatures({ rodata: { 'pairs[1].b': 77 } }).program;
  const values = functionNamed(pairs, 'features_enqueue').instructions.flatMap(({ target }) =>
    target?.kind === 'value' ? [target.value] : [],
  );
  for (const value of [77n, 1n << 41n, 0xffff_ffffn]) assert.ok(values.includes(value));
});

test('code that no value of the read-only data reaches is left out', () => {
  assert.equal(refusals, []);
  for (const { instructions } of program.functions) {
    instructions.forEach(({ target, opcode, offset }) => {
      assert.not.equal(target?.kind, 'missing');
      assert.not.ok(target?.kind === 'helper' && target.name === 'probe_read_user');
      if ((opcode & 7) === 5 && opcode !== 0x85 && opcode !== 0x95) assert.ok(offset < instructions.length);
    });
  }
  // by_mode(0) is 3, so its other branch and its caller's are dead: a load of 3, a jump, and the exit are left.
  assert.ok(functionNamed(program, 'by_mode').instructions.every(({ opcode }) => opcode !== 0x85));
});

test('what is reached and missing is refused, all of it, with its places', () => {
  const strange = linkFeatures({ rodata: { strange: true } }, { version: (6 << 16) | (11 << 8) });
  assert.equal(
    strange.refusals.map(({ what, function: name, line }) => [what, name, line?.split(':')[0]]),
    [
      ['helper probe_read_user', 'features_select_cpu', 'features.bpf.c'],
      ['task_struct.absent', 'features_select_cpu', 'features.bpf.c'],
      ['helper probe_read_user', 'features_enqueue', 'features.bpf.c'],
    ],
  );
  try {
    link(openFeatures(), KERNEL, { cpus: 4, rodata: { strange: 'true' } });
    assert.unreachable();
  } catch (error) {
    if (!(error instanceof UnsupportedObjectError)) throw error;
    assert.match(
      error.message,
      /helper probe_read_user, in features_select_cpu at instruction \d+ \(features\.bpf\.c:/,
    );
    assert.is(error.exitCode, 2);
  }
});

test('ops, map types and kfuncs that are missing are refused', () => {
  const poor = linkFeatures(
    {},
    {
      ops: { has: (name) => name !== 'enqueue' },
      map_types: { has: (name) => name !== 'QUEUE' },
      kfuncs: { has: (name) => name !== 'bpf_obj_new_impl' },
    },
  );
  const what = poor.refusals.map((refusal) => refusal.what);
  assert.ok(what.includes('op enqueue'));
  assert.ok(what.includes('kfunc bpf_obj_new_impl'));
  assert.ok(what.includes('map type QUEUE of first'));
});

test.run();
