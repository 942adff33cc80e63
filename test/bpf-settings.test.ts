// Global variables, arrays and maps of an object, set before it is linked.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { LinkSettings } from '../src/bpf/object/settings.js';
import { VtimeError } from '../src/errors.js';
import { linkFeatures, mapNamed } from './support/bpf-kernel.js';

/** Value of a variable after linking, as an unsigned integer. */
function variableValue(settings: Partial<LinkSettings>, name: string, element = 0): bigint {
  const { program } = linkFeatures(settings);
  const map = program.maps.find(({ variables }) => variables.some((v) => v.name === name))!;
  const { offset, bytes, count } = map.variables.find((v) => v.name === name)!;
  const at = offset + (bytes / count) * element;
  const part = map.data!.slice(at, at + bytes / count).reverse();
  return BigInt(`0x${Buffer.from(part).toString('hex')}`);
}

function refusal(settings: Partial<LinkSettings>): string {
  try {
    linkFeatures(settings);
  } catch (error) {
    if (!(error instanceof VtimeError)) throw error;
    assert.is(error.exitCode, 2);
    return error.message;
  }
  return assert.unreachable() ?? '';
}

test('a variable whose name ends in a unit takes times in any unit', () => {
  assert.is(variableValue({ rodata: { slice_ns: '3ms' } }, 'slice_ns'), 3_000_000n);
  assert.is(variableValue({ rodata: { slice_ns: 3000 } }, 'slice_ns'), 3000n);
  assert.is(variableValue({ rodata: { slice_ns: '0x10' } }, 'slice_ns'), 16n);
  assert.is(variableValue({ rodata: { timeout_us: '2ms' } }, 'timeout_us'), 2000n);
  // −5 in 32 bits.
  assert.is(variableValue({ rodata: { timeout_us: '-5' } }, 'timeout_us'), 0xffff_fffbn);
});

test('elements and members of variables', () => {
  // struct pair: a at 0, b at 4, 8 B in all.
  const both = { rodata: { 'pairs[0].a': 258, 'pairs[1].b': 7 } };
  assert.is(variableValue(both, 'pairs', 0), (2n << 32n) | 258n);
  assert.is(variableValue(both, 'pairs', 1), (7n << 32n) | 3n);
});

test('what example loaders always set has a default', () => {
  assert.is(variableValue({ cpus: 6 }, 'nr_cpu_ids'), 6n);
  assert.is(variableValue({}, 'slice_ns'), 20_000_000n);
  assert.is(variableValue({}, '__SCX_ENQ_LAST'), 1n << 41n);
});

test('arrays of one element in a section of their own get one for each CPU, or as many as asked for', () => {
  const lengths = (settings: Partial<LinkSettings>) => {
    const map = mapNamed(linkFeatures(settings).program, '.data.per_cpu');
    return [map.value_bytes, map.data!.length, map.variables[0].count];
  };
  assert.equal(lengths({ cpus: 6 }), [24, 24, 6]);
  assert.equal(lengths({ arrays: { per_cpu: 2 } }), [8, 8, 2]);
});

test('capacities of maps', () => {
  const { program } = linkFeatures({ maps: { states: { max_entries: 99 } } });
  assert.is(mapNamed(program, 'states').max_entries, 99);
});

test('maps of maps get inner maps of their own', () => {
  const { program } = linkFeatures({ maps: { queues: { inner_maps: 3 } } });
  const { slots, inner } = mapNamed(program, 'queues');
  const names = [...slots!].map(([key, map]) => [key, program.maps[map].name]);
  // In place of those that the object itself puts into slots 0 and 2.
  assert.equal(names.sort(), [
    [0, 'queues.0'],
    [1, 'queues.1'],
    [2, 'queues.2'],
  ]);
  assert.is(mapNamed(program, 'queues.1').max_entries, program.maps[inner!].max_entries);
});

test('unknown names are refused and near ones suggested', () => {
  assert.match(refusal({ rodata: { slice_n: 1 } }), /there is no variable slice_n.*perhaps slice_ns/);
  assert.match(refusal({ maps: { stats: { max_entries: 1 } } }), /there is no map stats.*perhaps states/);
  assert.match(refusal({ arrays: { per_cp: 1 } }), /there is no array per_cp.*perhaps per_cpu/);
  assert.match(refusal({ rodata: { 'pairs[0].c': 1 } }), /expected .*\.a, \.b/);
});

test('values that do not fit are refused', () => {
  assert.match(
    refusal({ rodata: { strange: 2 } }),
    /strange can't be 2; expected a whole number from 0 to 1/,
  );
  assert.match(refusal({ rodata: { nr_cpu_ids: -1 } }), /from 0 to 4294967295/);
  assert.match(refusal({ rodata: { nr_cpu_ids: '3ms' } }), /can't be "3ms"/);
  assert.match(refusal({ rodata: { slice_ns: '3 parsecs' } }), /parsecs/);
  assert.match(refusal({ rodata: { timeout_us: '3ns' } }), /timeout_us can't be "3ns"/);
  assert.match(refusal({ rodata: { slice_ns: 1.5 } }), /can't be 1.5/);
  assert.match(refusal({ rodata: { 'pairs[9].a': 1 } }), /pairs\[9\]\.a can't be 1/);
  assert.match(refusal({ rodata: { pairs: [1, 2] } }), /pairs\[0\] can't be 1/);
  assert.match(refusal({ maps: { states: { inner_maps: 1 } } }), /it is no map of maps/);
  assert.match(refusal({ arrays: { per_cpu: 0 } }), /whole number from 1/);
});

test.run();
