// Load balancing of the fair class: newidle, periodic, by an idle CPU for all (nohz), active. Nodes are one LLC each.
// Base slice 3 ms, tick 4 ms, weights 1024.

import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadUnits } from './support/units.js';

const units = loadUnits('fair');
const MS = 1_000_000n;
const [MC, NUMA] = [0, 2];

function machine(nodes: number, size: number): void {
  units.call('setup', nodes * size, size, size, 3n * MS, 4n * MS);
}

function put(cpu: number, mask = 0): number {
  const t = units.call('newTask', 1024, mask);
  units.call('enqueueOn', t, cpu, 1, 0);
  units.call('settle');
  return t;
}

/** The only task of a CPU goes to sleep: newidle balancing. */
function goIdle(t: number): void {
  units.call('sleep', t);
  units.call('settle');
}

function at(ms: number): void {
  units.call('setTime', BigInt(Math.round(ms * 1e6)));
}

/** Ticks on the 4 ms grid after `fromMs` up to `untilMs`. */
function ticks(fromMs: number, untilMs: number): void {
  for (let ms = fromMs + 4; ms <= untilMs; ms += 4) {
    at(ms);
    units.call('tickAll');
  }
}

const loads = (cpus: number) => Array.from({ length: cpus }, (_, cpu) => units.call('nrRunning', cpu));

test('a CPU that becomes idle pulls one task from the busiest queue', () => {
  machine(1, 4);
  const only = put(0);
  for (const cpu of [1, 1, 1, 2, 2, 3]) put(cpu);
  at(10);
  goIdle(only);
  assert.equal(loads(4), [1, 2, 2, 1]);
  assert.ok(units.call('current', 0) !== 0, 'and runs it');
});

test('it takes the waiting task that ran least recently', () => {
  machine(1, 2);
  const only = put(0);
  const [a, b, c] = [put(1), put(1), put(1)];
  // A runs from 0 to 4 ms, then B, at 8 ms C, at 12 ms A: of those waiting B ran before C.
  ticks(0, 12);
  assert.is(units.call('current', 1), a);
  at(14);
  goIdle(only);
  assert.is(units.call('current', 0), b);
  assert.is(units.call('cpuOf', c), 1);
});

test('newidle takes from the queue that update_sd_pick_busiest() names', () => {
  const queue = fc.record({
    tasks: fc.nat(4),
    util: fc.constantFrom(0, 500, 870, 880, 1024),
    runnable: fc.constantFrom(0, 700, 1100, 1300, 3000),
  });
  const idler = { tasks: 0, util: 0, runnable: 0 };
  type Queue = typeof idler;
  // One CPU per group, capacity 1024, imbalance_pct 117: 0 has spare, 1 fully busy, 2 overloaded.
  const typeOf = (q: Queue) => {
    const high = 102_400 < q.util * 117;
    const long = 1024 * 117 < q.runnable * 100;
    if (q.tasks > 1 && (high || long)) return 2;
    return q.tasks === 0 || (!long && 102_400 > q.util * 117) ? 0 : 1;
  };
  const busier = (a: Queue, b: Queue) => {
    if (typeOf(a) !== typeOf(b)) return typeOf(a) > typeOf(b);
    return typeOf(a) === 1 || a.tasks > b.tasks; // loads are 1024 per task
  };
  fc.assert(
    fc.property(fc.array(queue, { minLength: 1, maxLength: 6 }), fc.nat(6), (others, place) => {
      const dst = place % (others.length + 1);
      const queues = [...others.slice(0, dst), idler, ...others.slice(dst)];
      machine(1, queues.length);
      const only = put(dst);
      for (const [cpu, q] of queues.entries()) for (let i = 0; i < q.tasks; i++) put(cpu);
      at(10);
      for (const [cpu, q] of queues.entries()) {
        units.call('setUtil', cpu, q.util);
        units.call('setRunnable', cpu, q.runnable);
      }
      let busiest = -1;
      for (let i = 1; i < queues.length; i++) {
        const cpu = (dst + i) % queues.length;
        const q = queues[cpu]!;
        if (q.tasks > 0 && (busiest < 0 || busier(q, queues[busiest]!))) busiest = cpu;
      }
      goIdle(only);
      const pulled = busiest >= 0 && queues[busiest]!.tasks > 1;
      const expected = queues.map((q, cpu) => q.tasks - (pulled && cpu === busiest ? 1 : 0));
      if (pulled) expected[dst] = 1;
      assert.equal(loads(queues.length), expected);
    }),
    { numRuns: 500, seed: 4 },
  );
});

test('nothing is pulled while nobody waits', () => {
  machine(1, 2);
  const only = put(0);
  put(1);
  at(10);
  goIdle(only);
  assert.equal(loads(2), [0, 1]);
  assert.is(units.call64('idleStamp', 0), 10n * MS);
});

test('nothing is pulled by a CPU that usually is idle for less than the search takes', () => {
  machine(1, 4);
  const only = put(0);
  for (const cpu of [1, 1]) put(cpu);
  at(10);
  // 500 ns + 4 × 100 ns
  units.call('setAvgIdle', 0, 899);
  goIdle(only);
  assert.equal(loads(4), [0, 2, 0, 0]);
});

test('the average idle time follows wake-ups by an eighth, up to 1 ms', () => {
  machine(1, 2);
  const t = put(0);
  at(10);
  goIdle(t);
  at(10.2);
  // 1 ms + (0.2 ms − 1 ms) / 8 = 0.9 ms
  units.call('enqueueOn', t, 0, 1, 0);
  units.call('settle');
  assert.is(units.call('avgIdle', 0), 900_000);
  at(20);
  goIdle(t);
  at(100);
  units.call('enqueueOn', t, 0, 1, 0);
  assert.is(units.call('avgIdle', 0), 1_000_000);
});

test('a task that ran less than 0.5 ms ago is cache-hot and stays', () => {
  for (const [now, moved] of [
    [12.4, 0],
    [12.5, 1],
  ] as const) {
    machine(1, 2);
    const only = put(0);
    const [a, b] = [put(1), put(1)];
    ticks(0, 12);
    // A ran to 4 ms, B to 8 ms, A to 12 ms, now B again: A is what could be moved.
    assert.is(units.call('current', 1), b);
    at(now);
    goIdle(only);
    assert.is(units.call('cpuOf', a) === 0 ? 1 : 0, moved, `at ${now} ms`);
  }
});

test('newidle respects affinity: it takes the next one that may move, if any', () => {
  machine(1, 2);
  units.call('setMask', 1, 0b10n);
  const only = put(0);
  put(1);
  const pinned = put(1, 1);
  const free = put(1);
  at(10);
  goIdle(only);
  assert.is(units.call('cpuOf', pinned), 1);
  assert.is(units.call('current', 0), free);
  goIdle(free);
  assert.is(units.call('cpuOf', pinned), 1);
});

test('another node is tried after the own one, and an imbalance of 2 between nearly empty nodes is left', () => {
  // 24 CPUs per node: up to 3 tasks may run on the destination (24/8). Node 0 has n tasks on CPU 0, CPU 24 has none:
  // the imbalance is n; 2 is tolerated; of 3, half, 1, is moved.
  for (const [n, moved] of [
    [2, 0],
    [3, 1],
  ] as const) {
    machine(2, 24);
    const only = put(24);
    for (let i = 0; i < n; i++) put(0);
    at(10);
    goIdle(only);
    assert.equal([units.call('nrRunning', 0), units.call('nrRunning', 24)], [n - moved, moved]);
  }
});

test('the tick of a CPU with waiting tasks makes an idle one balance for all idle ones', () => {
  machine(1, 4);
  const tasks = [put(0), put(0), put(0)];
  at(4);
  units.call('tickAll');
  // CPU 1, the first idle one, balances for 2, 3 and itself, in this order. CPU 2 gets the task that has never run;
  // of the other two one runs and one has just run, so it is hot for 3 and 1.
  assert.equal(loads(4), [2, 0, 1, 0]);
  assert.equal(tasks.map((t) => units.call('cpuOf', t)).sort(), [0, 0, 2]);
  // Where two alternate at each tick the one that waits is always hot. After two failures (more than cache_nice_tries,
  // 1, at 4 and 8 ms) it is moved all the same.
  ticks(4, 8);
  assert.equal(loads(4), [2, 0, 1, 0]);
  ticks(8, 12);
  assert.equal(loads(4), [1, 0, 1, 1]);
});

test('idle CPUs look every span-weight ms, busy ones 16 times less often, twice as seldom while balanced', () => {
  machine(1, 4);
  for (let cpu = 0; cpu < 4; cpu++) put(cpu);
  assert.is(units.call('intervalMs', MC, 0), 4);
  at(4);
  units.call('tickAll');
  // Not due: 0 + 16 × 4 ms less a tick = 60 ms.
  assert.is(units.call64('nextBalance', 0), 60n * MS);
  assert.is(units.call('intervalMs', MC, 0), 4);
  ticks(4, 60);
  // Balanced: 8 ms, so 60 + 16 × 8 − 4 = 184 ms.
  assert.is(units.call('intervalMs', MC, 0), 8);
  assert.is(units.call64('nextBalance', 0), 184n * MS);
  ticks(60, 200);
  assert.is(units.call('intervalMs', MC, 0), 8, 'no more than twice the span weight');
  put(1);
  put(1);
  put(1);
  // 184 + 16 × 8 − 4 = 308 ms finds 4 tasks on CPU 1.
  ticks(200, 308);
  assert.is(units.call('intervalMs', MC, 0), 4, 'back to the minimum once out of balance');
  // Average load 7 × 1024 / 4 = 1792, so each of the others could take 1792 − 1024 = 768: less than a task. With the
  // second attempt, after 60 ms, half a task is enough: CPUs 0 and 2 take one, in this order. Then CPU 1 has
  // 2 × 1024 − 1792 = 256 too much, which is less than half a task for CPU 3.
  assert.equal(loads(4), [1, 4, 1, 1]);
  ticks(308, 368);
  assert.equal(loads(4), [2, 2, 2, 1]);
});

test('a hog per CPU and two more: every CPU stays busy and nobody is left behind', () => {
  machine(1, 4);
  const hogs = [0, 0, 0, 1, 2, 3].map((cpu) => put(cpu));
  ticks(0, 10_000);
  const shares = hogs.map((t) => Number(units.call64('sumExec', t)) / 1e6);
  assert.is(Math.round(shares.reduce((a, b) => a + b)), 40_000);
  for (const share of shares) assert.ok(share > 3000, `${share} ms of 6667`);
  assert.equal(loads(4).sort(), [1, 1, 2, 2]);
});

test('running tasks are pushed to an idle node when pulling waiting ones fails for long', () => {
  machine(2, 24);
  const tasks = Array.from({ length: 10 }, (_, cpu) => put(cpu));
  const onNode = (node: number) =>
    tasks.filter((t) => Math.floor(units.call('cpuOf', t) / 24) === node).length;
  // 10 against 0: half the difference is to move, but every queue has its running task only. After failing five times
  // (more than cache_nice_tries + 2 = 4), each at least 48 ms after the last, one is pushed.
  ticks(0, 4 * 48);
  assert.is(onNode(1), 0);
  ticks(4 * 48, 20_000);
  assert.equal([onNode(0), onNode(1)], [5, 5]);
  for (let cpu = 0; cpu < 48; cpu++) assert.ok(units.call('nrRunning', cpu) <= 1);
  for (const t of tasks) assert.is(units.call('current', units.call('cpuOf', t)), t);
});

test('an overloaded node fills the spare capacity of the other', () => {
  machine(2, 4);
  for (let i = 0; i < 12; i++) put(i % 4);
  ticks(0, 2000);
  const node = (n: number) =>
    loads(8)
      .slice(4 * n, 4 * n + 4)
      .reduce((a, b) => a + b);
  assert.equal([node(0), node(1)], [6, 6]);
  assert.ok(loads(8).every((n) => n >= 1 && n <= 2));
});

test('pinned tasks do not stop the others from being balanced', () => {
  machine(2, 4);
  units.call('setMask', 1, 0b1n);
  for (let i = 0; i < 4; i++) put(0, 1);
  for (let i = 0; i < 6; i++) put(0);
  ticks(0, 2000);
  const all = loads(8);
  assert.is(all[0], 4, 'the pinned ones stay, the free ones have left');
  assert.ok(all.slice(1).every((n) => n <= 1));
  assert.is(units.call('intervalMs', NUMA, 1) >= 8, true);
});

test.run();
