import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadUnits } from './support/units.js';

const units = loadUnits('core');
const EMPTY = 2n ** 64n - 1n;

function insert(time: bigint, a = 0): number {
  return units.call('wheelInsert', time, 3, a, time * 7n);
}

function pop(): { time: bigint; a: number } | undefined {
  const node = units.call('wheelPop');
  if (node === 0) return undefined;
  const event = { time: units.call64('nodeTime', node), a: units.call('nodeA', node) };
  assert.is(units.call('nodeKind', node), 3);
  assert.is(units.call64('nodeB', node), BigInt.asUintN(64, event.time * 7n));
  units.call('wheelFree', node);
  return event;
}

test('events leave in order of time, equal times in order of insertion', () => {
  units.call('wheelReset', 0n);
  for (const [a, time] of [70n, 5n, 70n, 4096n, 5n, 0n].entries()) insert(time, a);
  const order = Array.from({ length: 6 }, () => pop()!.a);
  assert.equal(order, [5, 1, 4, 0, 2, 3]);
  assert.is(pop(), undefined);
});

test('equal times keep their order although they were inserted on different levels', () => {
  // 100 is inserted from 0 (level 1), from 64 (level 0) and at 100 itself.
  units.call('wheelReset', 0n);
  insert(100n, 1);
  insert(64n, 0);
  insert(100n, 2);
  assert.is(pop()!.a, 0);
  insert(100n, 3);
  assert.is(pop()!.a, 1);
  insert(100n, 4);
  assert.equal([pop()!.a, pop()!.a, pop()!.a], [2, 3, 4]);
});

test('looking at the next time lets earlier events still come', () => {
  units.call('wheelReset', 1000n);
  insert(1_000_000n, 1);
  assert.is(units.call64('wheelNextTime'), 1_000_000n);
  insert(1001n, 2);
  assert.is(units.call64('wheelNextTime'), 1001n);
  assert.is(pop()!.a, 2);
  assert.is(units.call64('wheelNextTime'), 1_000_000n);
});

/** MAX_WHEEL_NODES of assembly/core/layout.ts; node 0 is unused. */
const NODES = 524288;

test('a full wheel refuses an event and takes one again when a node is freed', () => {
  units.call('wheelReset', 0n);
  let last = 0;
  for (let i = 1; i < NODES; i++) last = insert(BigInt(i));
  assert.is(last, NODES - 1);
  assert.is(insert(1n), 0);
  units.call('wheelCancel', last);
  assert.is(insert(1n), last);
});

/** The rule, without the structure: a list kept in order of (time, insertion). */
class SortedList {
  readonly events: { time: bigint; a: number; node: number }[] = [];

  insert(time: bigint, a: number, node: number): void {
    let i = this.events.length;
    while (i > 0 && this.events[i - 1].time > time) i--;
    this.events.splice(i, 0, { time, a, node });
  }
}

const step = fc.oneof(
  // Delays: many ties, within a slot, within an octave of levels, and jumps over many.
  {
    weight: 6,
    arbitrary: fc.record({
      insert: fc.oneof(
        fc.bigInt(0n, 3n),
        fc.bigInt(0n, 100n),
        fc.bigInt(0n, 2n ** 20n),
        fc.bigInt(0n, 2n ** 58n),
      ),
    }),
  },
  { weight: 4, arbitrary: fc.constant('pop' as const) },
  { weight: 1, arbitrary: fc.record({ cancel: fc.nat() }) },
  { weight: 2, arbitrary: fc.constant('peek' as const) },
);

test('random insertions, cancellations and pops agree with a sorted list', () => {
  fc.assert(
    fc.property(fc.bigInt(0n, 2n ** 62n), fc.array(step, { maxLength: 300 }), (start, steps) => {
      units.call('wheelReset', start);
      const list = new SortedList();
      let now = start;
      for (const [a, action] of steps.entries()) {
        if (action === 'pop') {
          const expected = list.events.shift();
          const event = pop();
          assert.is(event?.time, expected?.time);
          assert.is(event?.a, expected?.a);
          if (event) now = event.time;
        } else if (action === 'peek') {
          assert.is(units.call64('wheelNextTime'), list.events[0]?.time ?? EMPTY);
        } else if ('insert' in action) {
          if (now + action.insert >= EMPTY) continue;
          list.insert(now + action.insert, a, insert(now + action.insert, a));
        } else if (list.events.length > 0) {
          const [gone] = list.events.splice(action.cancel % list.events.length, 1);
          units.call('wheelCancel', gone.node);
        }
      }
      for (const expected of list.events) assert.equal(pop(), { time: expected.time, a: expected.a });
      assert.is(units.call64('wheelNextTime'), EMPTY);
    }),
    { numRuns: 500 },
  );
});

test.run();
