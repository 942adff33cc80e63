// Maps of BPF programs: each kind by a program that leaves what the helpers returned. Errnos are negative: 2 ENOENT, 7 E2BIG,
// 17 EEXIST, 22 EINVAL. Keys and values are put on the stack: key at r10 - 8, value at r10 - 16.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { results, save } from './support/bpf-runtime.js';

const u64 = (value: number) => BigInt.asUintN(64, BigInt(value));

const key = (value: number, bits = 32) => `*(u${bits} *)(r10 - 8) = ${value}`;
const value = (number: number) => `*(u64 *)(r10 - 16) = ${number}`;
const address = (register: string, offset: number) => `${register} = r10\n ${register} += ${offset}`;

const lookup = (map: number) => `
  r1 = map ${map}
  ${address('r2', -8)}
  call helper map_lookup_elem`;
/** The value found, or 0. */
const load = (map: number, label: string) => `${lookup(map)}
  if r0 == 0 goto ${label}
  r0 = *(u64 *)(r0 + 0)
  ${label}:`;
const update = (map: number, flags = 0) => `
  r1 = map ${map}
  ${address('r2', -8)}
  ${address('r3', -16)}
  r4 = ${flags}
  call helper map_update_elem`;
const remove = (map: number) => `
  r1 = map ${map}
  ${address('r2', -8)}
  call helper map_delete_elem`;
const NOEXIST = 1;
const EXIST = 2;

test('an array: values by index, none behind its end, nothing to insert or delete', () => {
  const program = [
    key(2),
    value(70),
    update(1),
    save(0),
    load(1, 'a'),
    save(1),
    key(3),
    lookup(1),
    save(2),
    update(1),
    save(3),
    remove(1),
    save(4),
    key(0),
    update(1, NOEXIST),
    save(5),
  ].join('\n');
  const maps = [{ type: 'ARRAY', max_entries: 3 }];
  assert.equal(results(program, 6, { maps }), [0n, 70n, 0n, u64(-7), u64(-22), u64(-17)]);
});

for (const [type, bytes] of [
  ['HASH', 8],
  ['HASH', 4],
  ['LRU_HASH', 12],
] as const) {
  test(`${type} with keys of ${bytes} bytes: insert, find, change, delete, insert again`, () => {
    const clear = '*(u64 *)(r10 - 8) = 0\n *(u64 *)(r10 - 16) = 0';
    const program = [
      clear,
      key(5),
      lookup(1),
      save(0),
      value(50),
      update(1, EXIST),
      save(1),
      update(1, NOEXIST),
      save(2),
      load(1, 'a'),
      save(3),
      value(51),
      update(1),
      save(4),
      load(1, 'b'),
      save(5),
      update(1, NOEXIST),
      save(6),
      remove(1),
      save(7),
      load(1, 'c'),
      save(8),
      remove(1),
      save(9),
      value(0),
      update(1),
      load(1, 'd'),
      save(10),
    ].join('\n');
    const maps = [{ type, key_bytes: bytes, max_entries: 4 }];
    // With 12 bytes the key reaches into the 4 bytes above the frame's top: it lies lower there.
    const text = bytes === 12 ? program.replaceAll('-8', '-24').replaceAll('r10 - 8', 'r10 - 24') : program;
    const expected = [0n, u64(-2), 0n, 50n, 0n, 51n, u64(-17), 0n, 0n, u64(-2), 0n];
    assert.equal(results(text, 11, { maps }), expected);
  });
}

test('a full hash takes no new key; a full LRU hash gives up the one filled longest ago', () => {
  const fill = (map: number) =>
    [1, 2, 3].map((k) => `${key(k, 64)}\n${value(10 * k)}\n${update(map)}`).join('\n');
  const program = [
    fill(1),
    save(0),
    fill(2),
    save(1),
    key(1, 64),
    load(1, 'a'),
    save(2),
    load(2, 'b'),
    save(3),
    key(3, 64),
    load(1, 'c'),
    save(4),
    load(2, 'd'),
    save(5),
  ].join('\n');
  const maps = [
    { type: 'HASH', key_bytes: 8, max_entries: 2 },
    { type: 'LRU_HASH', key_bytes: 8, max_entries: 2 },
  ];
  assert.equal(results(program, 6, { maps }), [u64(-7), 0n, 10n, 0n, 0n, 30n]);
});

test('per-CPU values: this CPU sees its own, others are found by their number', () => {
  const program = [
    key(0),
    value(9),
    update(1),
    load(1, 'a'),
    save(0),
    ...[0, 3].flatMap((cpu, i) => [
      `r1 = map 1
       ${address('r2', -8)}
       r3 = ${cpu}
       call helper map_lookup_percpu_elem
       r0 = *(u64 *)(r0 + 0)`,
      save(1 + i),
    ]),
    `r1 = map 1
     ${address('r2', -8)}
     r3 = 4
     call helper map_lookup_percpu_elem`,
    save(3),
  ].join('\n');
  // init() runs on CPU 0; the machine has CPUs 0 to 3.
  assert.equal(results(program, 4, { maps: [{ type: 'PERCPU_ARRAY' }] }), [9n, 9n, 0n, 0n]);
});

const push = (map: number, number: number, flags = 0) => `
  ${value(number)}
  r1 = map ${map}
  ${address('r2', -16)}
  r3 = ${flags}
  call helper map_push_elem`;
/** What it wrote to the value's place. */
const take = (map: number, helper: string) => `
  r1 = map ${map}
  ${address('r2', -16)}
  call helper ${helper}
  r0 = *(u64 *)(r10 - 16)`;

test('a queue gives the oldest first, a stack the newest; full ones refuse, or drop the oldest', () => {
  const maps = [
    { type: 'QUEUE', key_bytes: 0, max_entries: 2 },
    { type: 'STACK', key_bytes: 0, max_entries: 2 },
  ];
  const program = [1, 2].flatMap((map) => [
    push(map, 1),
    push(map, 2),
    push(map, 3),
    save(8 * map),
    push(map, 4, EXIST),
    save(8 * map + 1),
    take(map, 'map_peek_elem'),
    save(8 * map + 2),
    take(map, 'map_pop_elem'),
    save(8 * map + 3),
    take(map, 'map_pop_elem'),
    save(8 * map + 4),
    `r1 = map ${map}\n ${address('r2', -16)}\n call helper map_pop_elem`,
    save(8 * map + 5),
  ]);
  const words = results(program.join('\n'), 24, { maps });
  assert.equal(words.slice(8, 14), [u64(-7), 0n, 2n, 2n, 4n, u64(-2)]);
  assert.equal(words.slice(16, 22), [u64(-7), 0n, 4n, 4n, 2n, u64(-2)]);
});

test('maps in maps: the slot gives the inner map, an empty one nothing', () => {
  const maps = [
    { type: 'QUEUE', key_bytes: 0, max_entries: 4 },
    { type: 'ARRAY_OF_MAPS', inner: 1, max_entries: 3, value_bytes: 4, slots: new Map([[1, 1]]) },
  ];
  const program = [
    key(1),
    lookup(2),
    `r6 = r0
     ${value(77)}
     r1 = r6
     ${address('r2', -16)}
     r3 = 0
     call helper map_push_elem`,
    take(1, 'map_pop_elem'),
    save(0),
    key(2),
    lookup(2),
    save(1),
  ].join('\n');
  assert.equal(results(program, 2, { maps }), [77n, 0n]);
});

test('an array of maps that no slot is given for has a map of its own in each', () => {
  const maps = [
    { type: 'ARRAY', key_bytes: 4, max_entries: 1 },
    { type: 'ARRAY_OF_MAPS', inner: 1, max_entries: 2, value_bytes: 4 },
  ];
  const inner = (slot: number) => `${key(slot)}\n ${lookup(2)}\n r6 = r0\n ${key(0)}`;
  const store = `r1 = r6\n ${address('r2', -8)}\n ${address('r3', -16)}\n r4 = 0\n call helper map_update_elem`;
  const read = `r1 = r6\n ${address('r2', -8)}\n call helper map_lookup_elem\n r0 = *(u64 *)(r0 + 0)`;
  const program = [
    inner(0),
    value(5),
    store,
    inner(1),
    value(6),
    store,
    inner(0),
    read,
    save(0),
    inner(1),
    read,
    save(1),
  ].join('\n');
  assert.equal(results(program, 2, { maps }), [5n, 6n]);
});

test('for_each visits the entries and stops when asked to; it says how many it saw', () => {
  // Adds key and value of each entry to word 8; stops after three.
  const visit = `
    r6 = data 0 + 64
    r7 = *(u32 *)(r2 + 0)
    r8 = *(u64 *)(r3 + 0)
    r7 += r8
    r8 = *(u64 *)(r6 + 0)
    r8 += r7
    *(u64 *)(r6 + 0) = r8
    r8 = *(u64 *)(r6 + 8)
    r8 += 1
    *(u64 *)(r6 + 8) = r8
    r0 = 0
    if r8 != 3 goto end
    r0 = 1
    end:
    exit`;
  const program = [
    ...[0, 1, 2, 3].flatMap((i) => [key(i), value(100 * i), update(1)]),
    `r1 = map 1
     r2 = function 1
     r3 = 0
     r4 = 0
     call helper for_each_map_elem`,
    save(0),
  ].join('\n');
  const words = results(program, 10, { maps: [{ type: 'ARRAY', max_entries: 4 }], functions: [visit] });
  // 0 + 0, 1 + 100, 2 + 200
  assert.equal([words[0], words[8]], [3n, 303n]);
});

test('ring buffers take records up to their size and hand them on at once', () => {
  const reserve = (bytes: number) => `r1 = map 1\n r2 = ${bytes}\n r3 = 0\n call helper ringbuf_reserve`;
  const program = [
    reserve(4096),
    save(0),
    // 64 records of 1016 bytes and 8 of header are 64 KiB: many times the buffer.
    `r6 = 64
     again:
     ${reserve(1016)}
     if r0 == 0 goto full
     *(u64 *)(r0 + 1008) = 1
     r1 = r0
     r2 = 0
     call helper ringbuf_submit
     r6 -= 1
     if r6 != 0 goto again
     full:
     r0 = r6`,
    save(1),
  ].join('\n');
  const maps = [{ type: 'RINGBUF', key_bytes: 0, value_bytes: 0, max_entries: 4096 }];
  assert.equal(results(program, 2, { maps }), [0n, 0n]);
});

test.run();
