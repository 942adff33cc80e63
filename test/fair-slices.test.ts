// Shares, slices and lag of the fair class on one CPU: hand-computed schedules.
// 1 ms = 10⁶ ns; at weight 1024 virtual time is CPU time; a new queue's V is V0, to which vruntimes below are relative.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadUnits } from './support/units.js';

const units = loadUnits('fair');
const MS = 1_000_000n;

function start(sliceMs: bigint, tickMs: bigint): void {
  units.call('setup', 1, 1, 1, sliceMs * MS, tickMs * MS);
}

function fork(weight = 1024): number {
  const t = units.call('newTask', weight, 0);
  units.call('enqueueOn', t, 0, 0, 1);
  return t;
}

function wake(t: number): void {
  units.call('enqueueOn', t, 0, 1, 0);
  units.call('settle');
}

function arrive(weight = 1024): number {
  const t = units.call('newTask', weight, 0);
  wake(t);
  return t;
}

function sleep(t: number): void {
  units.call('sleep', t);
  units.call('settle');
}

/** Lets ticks of `tickMs` pass until `untilMs`; returns who ran after each. */
function ticks(fromMs: bigint, untilMs: bigint, tickMs: bigint): number[] {
  const ran: number[] = [];
  for (let at = fromMs + tickMs; at <= untilMs; at += tickMs) {
    units.call('setTime', at * MS);
    units.call('tickAll');
    ran.push(units.call('current', 0));
  }
  return ran;
}

const exec = (t: number) => Number(units.call64('sumExec', t)) / 1e6;

test('a 3 ms slice ends at the 4 ms tick, and two hogs alternate', () => {
  start(3n, 4n);
  const a = arrive();
  const b = arrive();
  // At 4 ms A has v = 4 and a new deadline 4 + 3 = 7, B v = 0, deadline 3: B. At 8 ms both have v = 4, deadline 7:
  // both are eligible, B (the current, no longer protected) isn't before A, which was queued first: A.
  assert.equal(ticks(0n, 24n, 4n), [b, a, b, a, b, a]);
  assert.equal([exec(a), exec(b)], [12, 12]);
});

test('round robin of 5 hogs at a 4 ms tick: nobody waits longer than 16 ms', () => {
  start(3n, 4n);
  const hogs = Array.from({ length: 5 }, () => arrive());
  const order = ticks(0n, 200n, 4n);
  for (const hog of hogs) {
    const turns = order.flatMap((t, i) => (t === hog ? [i] : []));
    for (let i = 1; i < turns.length; i++)
      assert.is(turns[i]! - turns[i - 1]!, 5, '4 others × 4 ms between turns');
  }
});

test('a slice longer than the tick runs to its end', () => {
  start(10n, 4n);
  const a = arrive();
  const b = arrive();
  // A is picked with deadline 10 and stays while it is eligible: at 4 ms V = (4 + 0)/2 = 2 < 4, so it isn't: but only a
  // schedule() asks, and the slice is over at the first tick with v ≥ 10, at 12 ms.
  assert.equal(ticks(0n, 12n, 4n), [a, a, b]);
});

test('CPU time is shared by weight', () => {
  start(3n, 1n);
  const weights = [1024, 3121, 335, 110];
  const tasks = weights.map((w) => arrive(w));
  ticks(0n, 20_000n, 1n);
  const total = weights.reduce((a, b) => a + b);
  for (const [i, t] of tasks.entries()) {
    // EEVDF keeps the lag within one request, here 3 ms and one tick of enforcement, for whichever share.
    const share = (20_000 * weights[i]!) / total;
    assert.ok(Math.abs(exec(t) - share) <= 4, `${exec(t)} ms for weight ${weights[i]}, not ${share} ± 4`);
  }
});

test('what a sleeper was owed is still owed when it comes back', () => {
  start(3n, 4n);
  const [a, b] = [arrive(), arrive()];
  // A runs 2 ms, V = 1: B's lag is +1 ms when it leaves the queue, A's -1.
  units.call('setTime', 2n * MS);
  sleep(b);
  assert.is(BigInt.asIntN(64, units.call64('vlag', b)), MS);
  // It returns at 10 ms beside A alone. To stand 1 ms behind the V that includes itself it is placed
  // 1 × (1024 + 1024)/1024 = 2 ms behind A, and V = A - 1 ms.
  units.call('setTime', 10n * MS);
  wake(b);
  assert.is(units.call64('vruntime', a) - units.call64('vruntime', b), 2n * MS);
  assert.is(units.call64('average', 0) - units.call64('vruntime', b), MS);
});

test('nobody returns with more than two slices of credit or debt', () => {
  start(3n, 4n);
  const [a, b] = [arrive(), arrive()];
  // A holds the CPU for 40 ms (no tick comes): V = 20, lag of B +20, of A -20, kept as ±6.
  units.call('setTime', 40n * MS);
  units.call('sleep', b);
  assert.is(BigInt.asIntN(64, units.call64('vlag', b)), 6n * MS);
  start(3n, 4n);
  const [c, d] = [arrive(), arrive()];
  units.call('setTime', 40n * MS);
  units.call('sleep', c);
  assert.is(BigInt.asIntN(64, units.call64('vlag', c)), -6n * MS);
  assert.is.not(a, d);
});

test('alone on a queue lag means nothing: the sleeper starts at V', () => {
  start(3n, 4n);
  const [a, b] = [arrive(), arrive()];
  units.call('setTime', 2n * MS);
  sleep(b);
  sleep(a);
  wake(b);
  assert.is(units.call64('vruntime', b), units.call64('average', 0));
});

test('a forked task gets half a slice, a woken one a whole', () => {
  start(3n, 4n);
  arrive();
  const child = fork();
  const request = (t: number) =>
    BigInt.asUintN(64, units.call64('deadline', t) - units.call64('vruntime', t));
  assert.is(request(child), (3n * MS) / 2n);
  const woken = arrive();
  assert.is(request(woken), 3n * MS);
});

test('a waker with an earlier deadline does not preempt a current that is within its slice and eligible', () => {
  start(3n, 4n);
  const a = arrive();
  units.call('setTime', MS);
  // B is placed at V = v(A) = 1 with deadline 4, A's deadline is 3. V = 1: A is eligible and protected.
  const b = arrive();
  assert.is(units.call('current', 0), a);
  // At 2 ms V = 1.5 < 2: A isn't eligible any more. C arrives at V with deadline 4.5; B's deadline 4 is earlier, so
  // the newcomer wouldn't be picked and nobody is preempted (only a pick of the newcomer reschedules).
  units.call('setTime', 2n * MS);
  const c = units.call('newTask', 1024, 0);
  units.call('enqueueOn', c, 0, 1, 0);
  assert.is(units.call('needResched', 0), 0);
  assert.is(units.call('current', 0), a);
  assert.is.not(b, c);
});

test('a waker that is owed time preempts a current that is ahead of its share', () => {
  start(3n, 4n);
  const [a, b] = [arrive(), arrive()];
  // A runs 2 ms; B, lag +1, sleeps and returns at once, placed 2 ms behind A (see above) with deadline V0 + 3, while
  // A, at V0 + 2, isn't eligible: V = V0 + 1.
  units.call('setTime', 2n * MS);
  units.call('sleep', b);
  units.call('settle');
  assert.is(units.call('current', 0), a);
  wake(b);
  assert.is(units.call('current', 0), b);
});

test('sched_yield lets the other run although the slice is not over', () => {
  start(3n, 4n);
  const [a, b] = [arrive(), arrive()];
  assert.is(units.call('current', 0), a);
  units.call('fairYield', 0, a);
  units.call('settle');
  assert.is(units.call('current', 0), b);
  // Alone, nothing changes.
  start(3n, 4n);
  const only = arrive();
  const before = units.call64('deadline', only);
  units.call('fairYield', 0, only);
  assert.is(units.call64('deadline', only), before);
});

test('utilisation halves in 32 PELT periods of idleness, 33.6 ms', () => {
  start(3n, 4n);
  const a = arrive();
  units.call('setTime', 1000n * MS);
  assert.is(units.call64('util', 0), 1024n); // 2^(−1000/33.6) is below the resolution of 2^−24
  sleep(a);
  units.call('setTime', 1000n * MS + 32n * 2n ** 20n);
  assert.is(units.call64('util', 0), 512n);
});

test.run();
