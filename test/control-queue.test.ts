// The worker's queue: who is next, who passes it by, who is turned away, who gives up.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Call, serve, told } from './support/invocations.js';

// One permit. While the first a runs (0–10 ms), the others queue up; expected times are the means of the trace:
// a 10 ms, b 2 ms, c 5 ms.
const CALLS: Call[] = [
  ['a', 0, 10],
  ['a', 1, 10],
  ['c', 2, 5],
  ['b', 3, 2],
];
const one = { concurrency: 1 } as const;

test('first come first served', async () => {
  // a 0–10, a 10–20, c 20–25, b 25–27
  assert.equal(told(await serve(CALLS, { worker: one })), ['a@0: 10', 'a@1: 19', 'c@2: 23', 'b@3: 24']);
});

test('shortest expected time', async () => {
  // a 0–10, b 10–12, c 12–17, a 17–27
  const result = await serve(CALLS, { worker: { ...one, queue: 'shortest-expected' } });
  assert.equal(told(result), ['a@0: 10', 'b@3: 9', 'c@2: 15', 'a@1: 26']);
});

test('earliest deadline: arrival + expected time', async () => {
  // Deadlines: a 1 + 10 = 11, c 2 + 5 = 7, b 3 + 2 = 5: b 10–12, c 12–17, a 17–27. A later c (5.5 + 5 = 10.5) is before a.
  const result = await serve([...CALLS, ['c', 5.5, 5]], { worker: { ...one, queue: 'earliest-deadline' } });
  // c then is expected to take 5 ms still: b 10–12, c 12–17, c 17–22, a 22–32.
  assert.equal(told(result), ['a@0: 10', 'b@3: 9', 'c@2: 15', 'c@5.5: 16.5', 'a@1: 31']);
});

test('smallest inter-arrival time', async () => {
  // When they arrive, a's is 1 ms, those of b and c are unknown, 0: c and b before a, c came first.
  const result = await serve(CALLS, { worker: { ...one, queue: 'smallest-iat' } });
  assert.equal(told(result), ['a@0: 10', 'c@2: 13', 'b@3: 14', 'a@1: 26']);
});

test('cold last: those without a warm container behind the others', async () => {
  // One container each: a's is busy, so the second a is cold; c and b are warm.
  const result = await serve(CALLS, { containers: 1, worker: { ...one, queue: 'cold-last' } });
  assert.equal(told(result), ['a@0: 10', 'c@2: 13', 'b@3: 14', 'a@1: 26']);
});

test('no queue: everything starts at once', async () => {
  const result = await serve(CALLS, { containers: 2, worker: { ...one, queue: 'none' } });
  assert.equal(told(result), ['b@3: 2', 'c@2: 5', 'a@0: 10', 'a@1: 10']);
  assert.is(result.metrics.worker_queue.peak, 0);
});

test('bypass: short ones with a warm container need no permit', async () => {
  // b (2 ms) is below 4 ms; c and a wait.
  const result = await serve(CALLS, { worker: { ...one, bypass: '4ms' } });
  assert.equal(told(result), ['b@3: 2', 'a@0: 10', 'a@1: 19', 'c@2: 23']);
  assert.is(result.metrics.bypassed, 1);
  // Without a warm container b queues like the others.
  const cold = await serve(CALLS, { containers: 'none', worker: { ...one, bypass: '4ms' } });
  assert.is(cold.metrics.bypassed, 0);
});

test('permits: concurrency × overcommit', async () => {
  // floor(1 × 2.5) = 2 permits: a, a at 0 and 1; c at 10, b at 11.
  const result = await serve(CALLS, { worker: { ...one, overcommit: 2.5 } });
  assert.equal(told(result), ['a@0: 10', 'a@1: 10', 'b@3: 10', 'c@2: 13']);
});

test('a full queue drops, and says so', async () => {
  // Room for one: the second a waits, c and b are turned away.
  const { metrics, classes, ...result } = await serve(CALLS, { worker: { ...one, queue_limit: 1 } });
  assert.equal(told({ metrics, classes, ...result }), ['a@0: 10', 'a@1: 19']);
  assert.equal([metrics.arrived, metrics.completed, metrics.dropped, metrics.in_system], [4, 2, 2, 0]);
  assert.is(classes.find(({ name }) => name === 'c')?.dropped, 1);
});

test('a client gives up: in the queue its invocation leaves, in a container it is served and not counted', async () => {
  // After 12 ms: the second a (given up at 13) has run from 10 on, to 20; c and b (14, 15) leave the queue.
  const { metrics, classes, ...result } = await serve(CALLS, { timeout: '12ms', worker: one });
  assert.equal(told({ metrics, classes, ...result }), ['a@0: 10']);
  assert.equal([metrics.arrived, metrics.completed, metrics.timed_out, metrics.in_system], [4, 1, 3, 0]);
  assert.is(metrics.abandoned, 1);
  assert.is(classes.find(({ name }) => name === 'a')?.timed_out, 1);
  // 10 + 10 ms of work were done: the run ends when the abandoned one does.
  assert.is(metrics.duration_s, 0.02);
});

test('a response at the very instant is in time; one nanosecond less is not', async () => {
  const at = async (timeout: string) => (await serve([['a', 0, 10]], { timeout })).metrics.completed;
  assert.is(await at('10000001ns'), 1);
  assert.is(await at('9999999ns'), 0);
});

test('IATCHBL as coded: the head waits for a release or for 200 ms, and blocks those behind it', async () => {
  // Two domains of one CPU; every function's inter-arrival time is unknown, so all share bucket 0.
  // a at 0 → set {0}. a at 10 ms: full, grows by domain 1 → runs there. a at 20 ms: both busy, the set has all: waits
  // for a release, and b behind it. At 1000 a ends, the third begins and ends at 2000; b begins when the second ends.
  const calls: Call[] = [
    ['a', 0, 1000],
    ['a', 10, 1000],
    ['a', 20, 1000],
    ['b', 30, 1],
  ];
  const result = await serve(
    calls,
    { assignment: { policy: 'iatchbl-as-coded' } },
    { machine: 'ideal-2', policy: { name: 'domains', domains: 2, slice: '1000s' } },
  );
  assert.equal(told(result), ['a@0: 1000', 'a@10: 1000', 'b@30: 981', 'a@20: 1980']);
  assert.is(result.metrics.assignment.unmapped, 0);
});

test('IATCHBL as coded: after 200 ms the set has grown by one more', async () => {
  // Three domains. x, of another bucket (IAT 5 s), takes domain 1 at 5 s: sets {0} and {1}. Then a, a: the second grows
  // bucket 0 by domain 2. The third finds 0 and 2 busy and grows by domain 1, where x runs until 6 s: the set is complete,
  // so only a release helps.
  const calls: Call[] = [
    ['x', 0, 1],
    ['x', 5000, 1000],
    ['a', 5100, 5000],
    ['a', 5200, 5000],
    ['a', 5300, 100],
  ];
  const result = await serve(
    calls,
    { assignment: { policy: 'iatchbl-as-coded' } },
    { machine: 'ideal-3', policy: { name: 'domains', domains: 3, slice: '1000s' } },
  );
  // x's second invocation has IAT 5 s → bucket 1 → domain 1; the last a starts when it ends, at 6000.
  assert.equal(told(result).slice(0, 3), ['x@0: 1', 'x@5000: 1000', 'a@5300: 800']);
});

test.run();
