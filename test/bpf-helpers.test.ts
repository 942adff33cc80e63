// Helpers and general kfuncs of BPF programs, each by a program that leaves what was returned.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { BpfMap } from '../src/bpf/object/program.js';
import { append, load, results, run, save } from './support/bpf-runtime.js';

const u64 = (value: number) => BigInt.asUintN(64, BigInt(value));
const text = (string: string): Partial<BpfMap> => {
  const data = new TextEncoder().encode(`${string}\0`);
  return { name: '.rodata', value_bytes: data.length, data, read_only: true };
};

test('loops: bpf_loop() until it is told to stop, bpf_for() from start to end', () => {
  // Adds the index to word 8; stops in the pass with index 5.
  const add = `
    r6 = data 0 + 64
    r7 = *(u64 *)(r6 + 0)
    r7 += r1
    *(u64 *)(r6 + 0) = r7
    r0 = 0
    if r1 != 5 goto end
    r0 = 1
    end:
    exit`;
  const loop = (count: number) => `r1 = ${count}\n r2 = function 1\n r3 = 0\n r4 = 0\n call helper loop`;
  const program = [
    loop(4),
    save(0),
    loop(10),
    save(1),
    `r1 = r10
     r1 += -8
     r2 = -2
     r3 = 3
     call kfunc bpf_iter_num_new
     r6 = 0
     again:
     r1 = r10
     r1 += -8
     call kfunc bpf_iter_num_next
     if r0 == 0 goto over
     r0 = *(s32 *)(r0 + 0)
     r6 += 10
     r6 += r0
     goto again
     over:
     r0 = r6`,
    save(2),
  ].join('\n');
  const words = results(program, 9, { functions: [add] });
  // 0 + 1 + 2 + 3, then 0 + … + 5; five passes of 10 with the sum -2 - 1 + 0 + 1 + 2.
  assert.equal([words[0], words[1], words[8], words[2]], [4n, 6n, 21n, 50n]);
});

test('timers fire at their times, those of one instant in the order of their slots, until cancelled', () => {
  const timer = (i: number, ns: number) => `
    r6 = ${i}
    *(u32 *)(r10 - 4) = r6
    r1 = map 1
    r2 = r10
    r2 += -4
    call helper map_lookup_elem
    r6 = r0
    r1 = r6
    r2 = map 1
    r3 = 1
    call helper timer_init
    r1 = r6
    r2 = function 1
    call helper timer_set_callback
    r1 = r6
    r2 = ${ns}
    r3 = 0
    call helper timer_start`;
  // Appends key · 10^9 + time, and comes back 2 ms later, three times in all.
  const fired = `
    r6 = r3
    r7 = *(u32 *)(r2 + 0)
    r7 *= 1000000000
    call helper ktime_get_ns
    r0 += r7
    ${append}
    r1 = *(u64 *)(r6 + 16)
    r1 += 1
    *(u64 *)(r6 + 16) = r1
    if r1 == 3 goto end
    r1 = r6
    r2 = 2000000
    r3 = 0
    call helper timer_start
    end:
    r0 = 0
    exit`;
  const init = `${timer(1, 1_000_000)}\n ${timer(0, 3_000_000)}\n ${timer(2, 9_000_000)}
    r1 = r6
    call helper timer_cancel
    ${save(100)}
    r0 = 0
    exit`;
  const special = [{ kind: 'bpf_timer', offset: 0 }];
  const { words } = run(
    { ops: { init }, functions: [fired], maps: [{ value_bytes: 24, max_entries: 3, special }] },
    { workload: { tasks: [{ name: 'task', program: [{ run: '20ms' }] }] } },
  );
  const [count, ...times] = words();
  assert.is(words()[100], 1n);
  assert.is(count, 6n);
  // Timer 1 was made first: slot 0. It fires at 1, 3, 5 ms, timer 0 at 3, 5, 7 ms.
  const ms = (key: number, time: number) => BigInt(key) * 1_000_000_000n + BigInt(time) * 1_000_000n;
  assert.equal(times.slice(0, 6), [ms(1, 1), ms(1, 3), ms(0, 3), ms(1, 5), ms(0, 5), ms(0, 7)]);
});

test('texts: snprintf, strings of the kernel, comparisons', () => {
  const program = [
    // "7: -1 ff %" and what does not fit.
    `r1 = data 0 + 512
     r2 = 64
     r3 = data 1 + 0
     *(u64 *)(r10 - 24) = 7
     *(u64 *)(r10 - 16) = -1
     *(u64 *)(r10 - 8) = 255
     r4 = r10
     r4 += -24
     r5 = 24
     call helper snprintf`,
    save(0),
    `r1 = data 0 + 512
     r2 = 64
     r3 = data 1 + 0
     call helper strncmp`,
    save(1),
    `r1 = data 0 + 576
     r2 = 5
     r3 = data 0 + 512
     call helper probe_read_kernel_str`,
    save(2),
    `r1 = data 0 + 640
     r2 = 8
     r3 = 16
     call helper probe_read_kernel`,
    save(3),
  ].join('\n');
  const words = results(program, 80, { maps: [text('%d: %d %x %%')] });
  const bytes = new Uint8Array(new BigUint64Array(words).buffer);
  const string = (at: number) => new TextDecoder().decode(bytes.subarray(at, bytes.indexOf(0, at)));
  assert.is(string(512), '7: -1 ff %');
  assert.is(words[0], 11n);
  // '7' is 0x37 and '%' 0x25.
  assert.is(words[1], BigInt(0x37 - 0x25));
  assert.is(string(576), '7: -');
  assert.equal([words[2], words[3]], [5n, u64(-14)]);
});

test('cpumasks: made, changed, combined, searched; a released one is no mask any more', () => {
  const make = (register: string) => `call kfunc bpf_cpumask_create\n ${register} = r0`;
  const set = (register: string, cpu: number) =>
    `r1 = ${cpu}\n r2 = ${register}\n call kfunc bpf_cpumask_set_cpu`;
  const ask = (kfunc: string, ...registers: string[]) =>
    `${registers.map((register, i) => `r${i + 1} = ${register}`).join('\n')}\n call kfunc ${kfunc}`;
  const program = [
    make('r6'),
    make('r7'),
    set('r6', 1),
    set('r6', 3),
    set('r7', 3),
    set('r7', 900),
    ask('bpf_cpumask_weight', 'r6'),
    save(0),
    ask('bpf_cpumask_weight', 'r7'),
    save(1),
    ask('bpf_cpumask_first', 'r6'),
    save(2),
    ask('bpf_cpumask_first_zero', 'r6'),
    save(3),
    ask('bpf_cpumask_subset', 'r7', 'r6'),
    save(4),
    ask('bpf_cpumask_equal', 'r7', 'r6'),
    save(5),
    ask('bpf_cpumask_and', 'r6', 'r6', 'r7'),
    ask('bpf_cpumask_first', 'r6'),
    save(6),
    'r1 = 3\n r2 = r6\n call kfunc bpf_cpumask_test_and_clear_cpu',
    save(7),
    ask('bpf_cpumask_empty', 'r6'),
    save(8),
    ask('bpf_cpumask_first', 'r6'),
    save(9),
    ask('bpf_cpumask_setall', 'r6'),
    ask('bpf_cpumask_full', 'r6'),
    save(10),
  ].join('\n');
  assert.equal(results(program, 11), [2n, 1n, 1n, 0n, 1n, 0n, 3n, 1n, 1n, 4n, 1n]);
  const twice = `${make('r6')}\n ${ask('bpf_cpumask_release', 'r6')}\n ${ask('bpf_cpumask_release', 'r6')}`;
  assert.throws(() => results(twice, 1), /hands 0x[0-9a-f]+ to the kernel/);
});

test('storage of tasks: made when asked for, gone with its task', () => {
  const get = (flags: number) => `
    r1 = map 1
    r2 = r6
    r3 = 0
    r4 = ${flags}
    call helper task_storage_get`;
  const init_task = `
    r6 = *(u64 *)(r1 + 0)
    ${get(0)}
    r7 = r0
    ${get(1)}
    if r0 == 0 goto none
    r1 = *(u64 *)(r0 + 0)
    *(u64 *)(r0 + 0) = 5
    r0 = r1
    none:
    r0 += r7
    ${append}
    r0 = 0
    exit`;
  const maps = [{ type: 'TASK_STORAGE', value_bytes: 16, max_entries: 0 }];
  // Three tasks, one after the other in one slot: each finds nothing, then zeroes.
  const arrivals = [
    { name: 'jobs', interarrival: '10ms', max_arrivals: 3, spawn: { program: [{ run: '1ms' }] } },
  ];
  const { words } = run({ ops: { init_task }, maps }, { workload: { arrivals } });
  assert.equal(words().slice(0, 4), [3n, 0n, 0n, 0n]);
});

const NODE = { id: 7, name: 'node', bytes: 48, special: [{ kind: 'bpf_rb_node', offset: 8 }] };

test('a tree of objects: the first is the least by the program’s own order, equals in the order of insertion', () => {
  // Object: u64 key, bpf_rb_node (32 B), u64 number. The root is at word 16.
  const add = (key: number, number: number) => `
    r1 = 7
    r2 = 0
    call kfunc bpf_obj_new_impl
    *(u64 *)(r0 + 0) = ${key}
    *(u64 *)(r0 + 40) = ${number}
    r2 = r0
    r2 += 8
    r1 = data 0 + 128
    r3 = function 1
    r4 = 0
    r5 = 0
    call kfunc bpf_rbtree_add_impl`;
  const less = `
    r1 = *(u64 *)(r1 - 8)
    r2 = *(u64 *)(r2 - 8)
    r0 = 1
    if r1 < r2 goto end
    r0 = 0
    end:
    exit`;
  const keys = [5, 3, 9, 3, 1, 7, 5, 2];
  const init = `
    ${keys.map(add).join('\n')}
    r7 = 0
    next:
    r1 = data 0 + 128
    call kfunc bpf_rbtree_first
    if r0 == 0 goto over
    r6 = r0
    r1 = data 0 + 128
    r2 = r6
    call kfunc bpf_rbtree_remove
    r0 = *(u64 *)(r6 - 8)
    r0 *= 100
    r1 = *(u64 *)(r6 + 32)
    r0 += r1
    ${append}
    r1 = r6
    r1 += -8
    r2 = 0
    call kfunc bpf_obj_drop_impl
    goto next
    over:
    r0 = 0
    exit`;
  const words = load({ ops: { init }, functions: [less], types: [NODE] }).words();
  const sorted = keys.map((key, i) => 100 * key + i).sort((a, b) => a - b);
  assert.equal(words.slice(0, 9), [8n, ...sorted.map(BigInt)]);
});

test('a list of objects: pushed at both ends, popped from both', () => {
  const object = { ...NODE, special: [{ kind: 'bpf_list_node', offset: 8 }] };
  const push = (end: 'front' | 'back', number: number) => `
    r1 = 7
    r2 = 0
    call kfunc bpf_obj_new_impl
    *(u64 *)(r0 + 0) = ${number}
    r2 = r0
    r2 += 8
    r1 = data 0 + 128
    r3 = 0
    r4 = 0
    call kfunc bpf_list_push_${end}_impl`;
  const pop = (end: 'front' | 'back') => `
    r1 = data 0 + 128
    call kfunc bpf_list_pop_${end}
    r0 = *(u64 *)(r0 - 8)
    ${append}`;
  const program = `
    ${push('back', 2)}${push('back', 3)}${push('front', 1)}
    ${pop('front')}${pop('back')}${pop('front')}
    r1 = data 0 + 128
    call kfunc bpf_list_pop_front`;
  const words = results(`${program}${save(10)}`, 11, { types: [object] });
  assert.equal([...words.slice(0, 4), words[10]], [3n, 1n, 3n, 2n, 0n]);
});

test('an object with a count of references lives until the last is dropped', () => {
  const object = { ...NODE, special: [{ kind: 'bpf_refcount', offset: 40 }] };
  const drop = 'r1 = r6\n r2 = 0\n call kfunc bpf_obj_drop_impl';
  const begin = `
    r1 = 7
    r2 = 0
    call kfunc bpf_obj_new_impl
    r6 = r0
    r1 = r6
    r2 = 0
    call kfunc bpf_refcount_acquire_impl
    ${drop}
    *(u64 *)(r6 + 0) = 5
    ${drop}`;
  assert.equal(results(`${begin}\n r0 = 1${save(0)}`, 1, { types: [object] }), [1n]);
  assert.throws(() => results(`${begin}\n ${drop}`, 1, { types: [object] }), /hands 0x/);
});

test('a lock that is taken twice ends the run', () => {
  const lock = 'r1 = data 0 + 64\n call helper spin_lock';
  const unlock = 'r1 = data 0 + 64\n call helper spin_unlock';
  assert.equal(results(`${lock}\n ${unlock}\n ${lock}\n ${unlock}\n r0 = 1${save(0)}`, 1), [1n]);
  assert.throws(() => results(`${lock}\n ${lock}`, 1), /takes or releases the lock/);
  assert.throws(() => results(unlock, 1), /takes or releases the lock/);
});

test('random numbers are the seed’s: the same again, others for another seed', () => {
  const program = `call helper get_prandom_u32${save(0)}\n call helper get_prandom_u32${save(1)}`;
  const first = results(program, 2);
  assert.equal(results(program, 2), first);
  assert.not.equal(first[0], first[1]);
  assert.not.equal(results(program, 2, {}, { seed: 2 }), first);
});

test.run();
