// Rules that hold in some kernel versions only: docs/kernel.md has the table.

import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import * as abi from '../src/engine/abi.js';
import { simulate } from '../src/engine/simulate.js';
import { loadUnits } from './support/units.js';

const dsq = loadUnits('dsq');
const MS = 1_000_000n;

/** CPU 0, whose dispatch() it is, takes a task of CPU 1 ten times in 900 ms, and once more at 1 s. */
function sleepsAfterMigrations(kernel: number): number {
  dsq.call('setup', 2, 3n * MS);
  dsq.call('countQuiescent', kernel);
  const t = dsq.call('newTask', 0);
  for (let i = 0n; i <= 10n; i++) {
    dsq.call('setTime', i * 100n * MS);
    dsq.call('enqueue', t, 1);
    assert.is(dsq.call('pick', 0, 0), t);
    dsq.call('setCurrent', 0, t);
    dsq.call('setCurrent', 0, 0);
  }
  return dsq.call('sleepFrequency', t);
}

test('before 6.12 a task that another CPU takes is quiescent on the way, which counts as sleep', () => {
  // No task ever sleeps. 6.11: 11 migrations in 1 s since the task began, at 0: 11 / 1 = 11 sleeps per second.
  assert.is(sleepsAfterMigrations(abi.KERNEL_6_11_SCX), 11);
  assert.is(sleepsAfterMigrations(abi.KERNEL_6_12), 0);
  assert.is(sleepsAfterMigrations(abi.KERNEL_7_3), 0);
});

const fair = loadUnits('fair');

/** One CPU per LLC, slice 3 ms, tick 4 ms; a and b, runnable since 0, of which a runs. Virtual times are relative to V0. */
function two(kernel: number, cpus = 1): [number, number] {
  fair.call('setKernel', kernel);
  fair.call('setup', cpus, 1, 1, 3n * MS, 4n * MS);
  fair.call('setMask', 1, 0b11n);
  const [a, b] = [1, 0].map((mask) => fair.call('newTask', 1024, mask)) as [number, number];
  for (const t of [a, b]) {
    fair.call('enqueueOn', t, 0, 1, 0);
    fair.call('settle');
  }
  return [a, b];
}

function at(ms: bigint, call: string, ...args: number[]): void {
  fair.call('setTime', ms * MS);
  fair.call(call, ...args);
  fair.call('settle');
}

const ahead = (a: number, b: number) =>
  BigInt.asIntN(64, fair.call64('vruntime', a) - fair.call64('vruntime', b));
const lag = (t: number) => BigInt.asIntN(64, fair.call64('vlag', t));

test('delayed dequeue: a sleeper ahead of its share leaves the queue when the others have caught up, without debt', () => {
  const [a, b] = two(abi.KERNEL_6_12);
  // At 2 ms a has v = 2, V = (2 + 0)/2 = 1: it isn't eligible, and stays. b runs.
  at(2n, 'sleep', a);
  assert.equal([fair.call('isQueued', a), fair.call('nrRunning', 0), fair.call('current', 0)], [1, 1, b]);
  // 4 ms: b's v = 2, its deadline 3 isn't reached. 8 ms: v = 6 and the slice is over; V = 4, so a is picked: it leaves,
  // with a lag of 4 − 2 = 2, cut to 0, and b goes on.
  at(4n, 'tickAll');
  assert.is(fair.call('isQueued', a), 1);
  at(8n, 'tickAll');
  assert.equal([fair.call('isQueued', a), lag(a), fair.call('current', 0)], [0, 0n, b]);
  // 6.11: it leaves at once, and keeps its debt of 1.
  const [c, d] = two(abi.KERNEL_6_11_SCX);
  at(2n, 'sleep', c);
  assert.equal([fair.call('isQueued', c), lag(c), fair.call('current', 0)], [0, -MS, d]);
});

test('delayed dequeue: a sleeper that owes time is not moved by a short sleep', () => {
  const [a, b] = two(abi.KERNEL_6_12);
  at(2n, 'sleep', a);
  // 3 ms: a is where it was, v = 2; b's v = 1.
  at(3n, 'wake', a, 0);
  assert.equal([ahead(a, b), fair.call('nrRunning', 0)], [MS, 2]);
  // 6.11: a owes 1 ms; beside b alone, with v = 1, it is placed 1 × (1024 + 1024)/1024 = 2 ms ahead.
  const [c, d] = two(abi.KERNEL_6_11_SCX);
  at(2n, 'sleep', c);
  at(3n, 'wake', c, 0);
  assert.is(ahead(c, d), 2n * MS);
});

test('delayed dequeue: what a sleeper has gained in the queue it doesn’t keep', () => {
  const [a, b] = two(abi.KERNEL_6_12);
  at(2n, 'sleep', a);
  // 6 ms, no tick yet: b's v = 4, V = 3, a's lag is 3 − 2 = 1, cut to 0: it is placed at the V of b alone, 4.
  at(6n, 'wake', a, 0);
  assert.is(ahead(a, b), 0n);
});

test('delayed dequeue: who is still queued wakes up there, unless it may no longer run there', () => {
  const [a] = two(abi.KERNEL_6_12, 2);
  at(2n, 'sleep', a);
  at(3n, 'wake', a, 1);
  assert.equal([fair.call('cpuOf', a), fair.call('nrRunning', 0), fair.call('nrRunning', 1)], [0, 2, 0]);
  const [c] = two(abi.KERNEL_6_12, 2);
  at(2n, 'sleep', c);
  fair.call('setMask', 1, 0b10n);
  at(3n, 'wake', c, 1);
  assert.equal([fair.call('cpuOf', c), fair.call('nrRunning', 0), fair.call('current', 1)], [1, 1, c]);
});

/** A task alone since 0 and one that asks for `slice_us` and comes at 1 ms: does it get the CPU? */
function preempts(kernel: number, slice_us: number): boolean {
  fair.call('setKernel', kernel);
  fair.call('setup', 1, 1, 1, 3n * MS, 4n * MS);
  at(0n, 'enqueueOn', fair.call('newTask', 1024, 0), 0, 1, 0);
  const t = fair.call('newTaskWithSlice', slice_us);
  at(1n, 'enqueueOn', t, 0, 1, 0);
  return fair.call('current', 0) === t;
}

test('PREEMPT_SHORT: a task with a shorter slice takes the CPU of one that is within its own', () => {
  // The newcomer is placed at V = 1, the v of the current, whose deadline is 3: both are eligible. Its deadline is
  // 1 + 1 = 2, the earlier one; with a slice of 2.5 it is 3.5, and the current, which is eligible, goes on.
  assert.is(preempts(abi.KERNEL_6_12, 1000), true);
  assert.is(preempts(abi.KERNEL_6_12, 2500), false);
  // 6.11: all slices are 3 ms, and the current runs to parity.
  assert.is(preempts(abi.KERNEL_6_11_SCX, 1000), false);
});

/** How far the deadline of a task is ahead of its virtual time after another CPU has taken it in the middle of its slice, ms. */
function requestLeft(kernel: number): number {
  fair.call('setKernel', kernel);
  fair.call('setup', 2, 1, 1, 3n * MS, 4n * MS);
  const a = fair.call('newTask', 1024, 0);
  at(0n, 'enqueueOn', a, 0, 1, 0);
  at(2n, 'move', a, 1);
  return Number(BigInt.asIntN(64, fair.call64('deadline', a) - fair.call64('vruntime', a))) / 1e6;
}

test('PLACE_REL_DEADLINE: a task that is moved has as much of its request left as before', () => {
  // Alone on CPU 0 it has used 2 ms of its slice of 3 ms when it comes to CPU 1, which is idle. 6.11 begins a new request.
  assert.is(requestLeft(abi.KERNEL_6_12), 1);
  assert.is(requestLeft(abi.KERNEL_7_3), 1);
  assert.is(requestLeft(abi.KERNEL_6_11_SCX), 3);
});

/** Two jobs of 28 ms, the second from 1 ms on, share a CPU with slices of 2.8 ms and ticks of 4 ms: when each ends, ms. */
async function ends(version: '6.11-scx' | '6.12' | '7.3'): Promise<number[]> {
  const { invocations } = await simulate({
    machine: 'ideal-1',
    policy: 'eevdf',
    kernel: { version, hz: '250Hz', slice_expiry: 'tick', base_slice: '2800us' },
    workload: {
      arrivals: ['0s', '1ms'].map((start, i) => ({
        name: `job${i}`,
        interarrival: '0s',
        start,
        max_arrivals: 1,
        spawn: { program: [{ run: '28ms' }] },
      })),
    },
    output: { invocations: 'all' },
  });
  return invocations!.toArray().map((row) => (Number(row.arrival_ns) + Number(row.latency_ns)) / 1e6);
}

test('HRTICK: in 7.3 a fair slice ends when it is used up, before at the tick', async () => {
  // New tasks begin with half a slice. 7.3: the timer is set at 1 ms, when the second job comes, to 1.4 ms; the second
  // has 1.4 ms too. Then turns of 2.8 ms: the first job's begin at 2.8 + 5.6 k, and it needs 28 − 1.4 = 9.5 of them:
  // 2.8 + 9 × 5.6 + 1.4 = 54.6. Before: turns of 4 ms; the first has 1, 3, … 13, and ends at 13 × 4 = 52.
  assert.equal(await ends('7.3'), [54.6, 56]);
  assert.equal(await ends('6.12'), [52, 56]);
  assert.equal(await ends('6.11-scx'), [52, 56]);
});

const span = (from: number, to: number) => fc.integer({ min: from, max: to }).map((us) => `${us}us` as const);

/** Bursts and sleeps of fair tasks in nested groups, some with a quota, beside a realtime task; every CPU may go offline once. */
const fairRun = fc.record({
  version: fc.constantFrom('6.12' as const, '7.3' as const),
  machine: fc.constantFrom('ideal-1', 'ideal-2', 'ideal-4'),
  slice_expiry: fc.constantFrom('tick' as const, 'exact' as const),
  quota: fc.option(span(1000, 20_000), { nil: undefined }),
  realtime: fc.boolean(),
  offline: fc.boolean(),
  tasks: fc.array(
    fc.record({
      count: fc.integer({ min: 1, max: 4 }),
      slice: fc.option(span(100, 5000), { nil: undefined }),
      cgroup: fc.constantFrom(undefined, 'pod', 'sidecar', 'other'),
      weight: fc.constantFrom(1024, 110, 3121),
      run: span(10, 6000),
      sleep: span(10, 6000),
    }),
    { minLength: 1, maxLength: 5 },
  ),
});

test('a run with delayed dequeues, groups, quotas, realtime tasks and hotplug ends with all work done', async () => {
  await fc.assert(
    fc.asyncProperty(fairRun, async ({ version, machine, slice_expiry, quota, realtime, offline, tasks }) => {
      // Each run ends with the engine's checks of conservation.
      const { outcome } = await simulate({
        machine,
        policy: 'eevdf',
        kernel: { version, slice_expiry, hz: '250Hz' },
        workload: {
          cgroups: [
            { name: 'pod', ...(quota === undefined ? {} : { quota, period: '20ms' }) },
            { name: 'sidecar', parent: 'pod', shares: 512 },
            { name: 'other', shares: 2048 },
          ],
          tasks: [
            ...tasks.map(({ run, sleep, ...task }, i) => ({
              name: `t${i}`,
              ...task,
              program: [{ loop: { times: 40, do: [{ run }, { sleep }] } }],
            })),
            ...(realtime
              ? [
                  {
                    name: 'rt',
                    class: 'realtime' as const,
                    program: [{ loop: { times: 20, do: [{ run: '2ms' }, { sleep: '3ms' }] } }],
                  },
                ]
              : []),
          ],
        },
        run: {
          events:
            offline && machine !== 'ideal-1'
              ? [
                  { at: '31ms', offline: 1 },
                  { at: '77ms', online: 1 },
                ]
              : [],
        },
      });
      assert.is(outcome, 'completed');
    }),
    { numRuns: 150, seed: 1 },
  );
});

test.run();
