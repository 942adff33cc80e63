// Rules of dispatch queues and of the sched_ext core around them (kernel/sched/ext.c), on CPUs that the test drives.

import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadUnits } from './support/units.js';

const units = loadUnits('dsq');
const MS = 1_000_000n;
const SLICE_DFL = 20n * MS;
const KICK_IDLE = 1;
const KICK_PREEMPT = 2;

// assembly/core/failure.ts
const FAIL_LOCAL_AFFINITY = 20;
const FAIL_VTIME_INTO_BUILTIN = 21;
const FAIL_MIXED_DSQ = 22;
const FAIL_DOUBLE_INSERT = 24;

function start(cpus = 1): void {
  units.call('setup', cpus, 3n * MS);
}
const task = (mask = 0) => units.call('newTask', mask);
const user = (k = 1) => units.call('userDsq', k);
const local = (cpu: number) => units.call('localDsq', cpu);
const slice = (t: number) => units.call64('sliceOf', t);

function order(d: number): number[] {
  return Array.from({ length: units.call('dsqNr', d) }, (_, i) => units.call('taskAt', d, i));
}

test('vtime order wraps: 2^64 − 10 comes before 5', () => {
  start();
  const [a, b] = [task(), task()];
  units.call('dsqInsertByVtime', b, user(), 0n, 5n);
  units.call('dsqInsertByVtime', a, user(), 0n, 2n ** 64n - 10n);
  assert.equal(order(user()), [a, b]);
});

test('equal vtimes are served first in, first out', () => {
  start();
  const tasks = Array.from({ length: 50 }, () => task());
  for (const t of tasks) units.call('dsqInsertByVtime', t, user(), 0n, 7n);
  assert.equal(order(user()), tasks);
});

test('a built-in DSQ refuses a vtime', () => {
  for (const d of ['localDsq', 'globalDsq']) {
    start();
    units.call('dsqInsertByVtime', task(), units.call(d, 0), 0n, 1n);
    assert.is(units.call('failureCode'), FAIL_VTIME_INTO_BUILTIN);
  }
});

test('FIFO and vtime insertions into one DSQ are an error, in either order', () => {
  start();
  units.call('dsqInsert', task(), user(), 0n, 0);
  units.call('dsqInsertByVtime', task(), user(), 0n, 1n);
  assert.is(units.call('failureCode'), FAIL_MIXED_DSQ);
  start();
  units.call('dsqInsertByVtime', task(), user(), 0n, 1n);
  units.call('dsqInsert', task(), user(), 0n, 0);
  assert.is(units.call('failureCode'), FAIL_MIXED_DSQ);
});

test('a queued task is not inserted a second time', () => {
  start();
  const t = task();
  units.call('dsqInsert', t, user(1), 0n, 0);
  units.call('dsqInsert', t, user(2), 0n, 0);
  assert.is(units.call('failureCode'), FAIL_DOUBLE_INSERT);
});

test('sched-ext/scx#583: a task pinned to CPU 3 on the local DSQ of CPU 2 is an error', () => {
  start(4);
  units.call('setMask', 1, 0b1000n);
  units.call('dsqInsert', task(1), local(2), 0n, 0);
  assert.is(units.call('failureCode'), FAIL_LOCAL_AFFINITY);
  start(4);
  units.call('setMask', 1, 0b1000n);
  units.call('dsqInsert', task(1), local(3), 0n, 0);
  assert.is(units.call('failureCode'), 0);
});

test('consuming takes the first task that may run on the CPU and leaves those before it', () => {
  start(2);
  units.call('setMask', 1, 0b10n);
  const [pinned, free, other] = [task(1), task(), task()];
  for (const [i, t] of [pinned, free, other].entries()) {
    units.call('dsqInsertByVtime', t, user(), 0n, BigInt(i));
  }
  // dispatch() runs for CPU 0.
  assert.is(units.call('dsqMoveToLocal', user()), 1);
  assert.equal(order(local(0)), [free]);
  assert.equal(order(user()), [pinned, other]);
  assert.is(units.call('dsqMoveToLocal', user()), 1);
  assert.is(units.call('dsqMoveToLocal', user()), 0, 'what is left may not run on CPU 0');
  assert.equal(order(user()), [pinned]);
});

test('a slice of 0 keeps what is left of the last one, at least 1 ns', () => {
  start();
  const [a, b, c] = [task(), task(), task()];
  units.call('setSlice', a, MS);
  units.call('dsqInsert', a, user(), 0n, 0);
  units.call('dsqInsert', b, user(), 0n, 0);
  units.call('setSlice', c, MS);
  units.call('dsqInsert', c, user(), 5n * MS, 0);
  assert.equal([slice(a), slice(b), slice(c)], [MS, 1n, 5n * MS]);
});

test('a runnable task with slice left keeps the CPU, whoever waits in its local DSQ', () => {
  start();
  const [prev, waiting] = [task(), task()];
  units.call('setCurrent', 0, prev);
  units.call('setSlice', prev, 1n);
  units.call('dsqInsert', waiting, local(0), MS, 0);
  assert.is(units.call('pick', 0, prev), prev);
});

test('the local DSQ comes before the global one, that before dispatch()', () => {
  start();
  const [inUser, inGlobal, inLocal] = [task(), task(), task()];
  units.call('dsqInsert', inUser, user(0), MS, 0);
  units.call('dsqInsert', inGlobal, units.call('globalDsq'), MS, 0);
  units.call('dsqInsert', inLocal, local(0), MS, 0);
  for (const expected of [inLocal, inGlobal, inUser]) {
    assert.is(units.call('pick', 0, 0), expected);
    units.call('setCurrent', 0, expected);
  }
});

test('an expired task competes only after the next one was picked', () => {
  start();
  const [prev, waiting] = [task(), task()];
  units.call('setCurrent', 0, prev);
  units.call('enqueue', waiting, 0);
  units.call('setSlice', prev, 0n);
  assert.is(units.call('pick', 0, prev), waiting);
  assert.equal(order(user(0)), [], 'prev is enqueued by the switch, not before the pick');
  units.call('putPrev', 0, prev, waiting);
  assert.equal(order(user(0)), [prev]);
});

test('an expired task with nobody to follow goes on with the default slice of 20 ms', () => {
  start();
  const prev = task();
  units.call('setCurrent', 0, prev);
  units.call('setSlice', prev, 0n);
  assert.is(units.call('pick', 0, prev), prev);
  assert.is(slice(prev), SLICE_DFL);
});

test('with ENQ_LAST it is enqueued instead, and the CPU goes idle until the scheduler kicks it', () => {
  start();
  units.call('setEnqLast');
  const prev = task();
  units.call('setCurrent', 0, prev);
  units.call('setSlice', prev, 0n);
  assert.is(units.call('pick', 0, prev), 0);
  units.call('putPrev', 0, prev, 0);
  assert.equal(order(user(0)), [prev]);
});

test('a task whose slice is gone when it is picked gets the default slice', () => {
  start();
  const t = task();
  units.call('dsqInsert', t, local(0), MS, 0);
  units.call('setSlice', t, 0n);
  assert.is(units.call('pick', 0, 0), t);
  assert.is(slice(t), SLICE_DFL);
});

test('preempted by a higher class: back to the head of the local DSQ with the rest of its slice', () => {
  start();
  const [waiting, prev] = [task(), task()];
  units.call('setCurrent', 0, prev);
  units.call('dsqInsert', waiting, local(0), MS, 0);
  units.call('setSlice', prev, 2n * MS);
  units.call('putPrev', 0, prev, 0);
  assert.equal(order(local(0)), [prev, waiting]);
  assert.is(slice(prev), 2n * MS);
});

test('KICK_IDLE wakes an idle CPU and leaves a busy one alone', () => {
  start(2);
  units.call('setCurrent', 0, task());
  for (const cpu of [0, 1]) units.call('kickCpu', cpu, KICK_IDLE);
  assert.equal([units.call('needResched', 0), units.call('needResched', 1)], [0, 1]);
  assert.is(units.call('isIdle', 1), 0, 'a kicked CPU is idle to nobody else');
});

test('KICK_PREEMPT ends the slice of the running task', () => {
  start();
  const t = task();
  units.call('setCurrent', 0, t);
  units.call('setSlice', t, 3n * MS);
  units.call('kickCpu', 0, 0);
  assert.equal([slice(t), units.call('needResched', 0)], [3n * MS, 1], 'a plain kick only reschedules');
  units.call('kickCpu', 0, KICK_PREEMPT);
  assert.is(slice(t), 0n);
});

test('a local task wakes the idle CPU it is inserted on', () => {
  start(2);
  units.call('dsqInsert', task(), local(1), MS, 0);
  assert.equal([units.call('needResched', 0), units.call('needResched', 1)], [0, 1]);
});

test('a vtime DSQ behaves like a sorted list under insertions, removals and consumption by affinity', () => {
  // Keys lie within half the circle of each other, around a base that may wrap.
  const action = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({ kind: fc.constant('insert' as const), key: fc.nat(40), mask: fc.nat(2) }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('remove' as const), index: fc.nat(1000) }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('consume' as const) }) },
  );
  fc.assert(
    fc.property(
      fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
      fc.array(action, { maxLength: 80 }),
      (base, actions) => {
        start(2);
        units.call('setMask', 1, 0b01n);
        units.call('setMask', 2, 0b10n);
        const list: { t: number; key: number; mask: number }[] = [];
        const consumed: number[] = [];
        for (const step of actions) {
          if (step.kind === 'insert') {
            const { key, mask } = step;
            const t = task(mask);
            const vtime = BigInt.asUintN(64, base + BigInt(key) * 2n ** 56n);
            units.call('dsqInsertByVtime', t, user(), 0n, vtime);
            const behind = list.findIndex((entry) => entry.key > key);
            list.splice(behind < 0 ? list.length : behind, 0, { t, key, mask });
          } else if (step.kind === 'remove') {
            const [gone] = list.splice(step.index % Math.max(1, list.length), 1);
            if (gone !== undefined) units.call('dsqRemove', gone.t);
          } else {
            // Mask 2 holds CPU 1 only.
            const index = list.findIndex(({ mask }) => mask !== 2);
            assert.is(units.call('dsqMoveToLocal', user()), index < 0 ? 0 : 1);
            if (index >= 0) consumed.push(...list.splice(index, 1).map(({ t }) => t));
          }
          assert.equal(
            order(user()),
            list.map(({ t }) => t),
          );
          assert.equal(order(local(0)), consumed);
        }
      },
    ),
    { seed: 1, numRuns: 300 },
  );
});

test('a FIFO behaves like a list under insertions at both ends and removals', () => {
  const action = fc.record({ kind: fc.constantFrom('tail', 'head', 'remove'), index: fc.nat(1000) });
  fc.assert(
    fc.property(fc.array(action, { maxLength: 80 }), (actions) => {
      start();
      const list: number[] = [];
      for (const { kind, index } of actions) {
        if (kind === 'remove') {
          const [gone] = list.splice(index % Math.max(1, list.length), 1);
          if (gone !== undefined) units.call('dsqRemove', gone);
          continue;
        }
        const t = task();
        if (kind === 'tail') {
          units.call('dsqInsert', t, user(), 0n, 0);
          list.push(t);
        } else {
          units.call('dsqPushHead', user(), t);
          list.unshift(t);
        }
      }
      assert.equal(order(user()), list);
    }),
    { seed: 1, numRuns: 200 },
  );
});

test.run();
