// Where a fair task wakes up or is forked. Machines are nodes of one LLC each.

import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadUnits } from './support/units.js';

const units = loadUnits('fair');
const MS = 1_000_000n;

/** `nodes` of `size` CPUs; the base slice is 3 ms, the tick 4 ms. */
function machine(nodes: number, size: number): void {
  units.call('setup', nodes * size, size, size, 3n * MS, 4n * MS);
}

/** A task that runs on `cpu`, or waits there if one runs already. */
function occupy(cpu: number, mask = 0): number {
  const t = units.call('newTask', 1024, mask);
  units.call('enqueueOn', t, cpu, 1, 0);
  units.call('settle');
  return t;
}

/** A sleeping task that ran on `prev` last and on `recent` before. */
function sleeper(prev: number, recent = prev, mask = 0): number {
  const t = units.call('newTask', 1024, mask);
  units.call('setCpu', t, prev);
  units.call('setRecentCpu', t, recent);
  return t;
}

/** CPU for a wake-up by a timer or, if given, by the task that runs on `wakerCpu`. */
const wakeOn = (t: number, wakerCpu = -1) =>
  units.call('selectCpu', t, wakerCpu, wakerCpu < 0 ? 0 : units.call('current', wakerCpu), 0);

test('the previous CPU if it is idle', () => {
  machine(1, 4);
  occupy(0);
  assert.is(wakeOn(sleeper(2)), 2);
});

test('else the next idle one of the LLC, from the target on and round', () => {
  machine(2, 4);
  occupy(1);
  occupy(2);
  assert.is(wakeOn(sleeper(1)), 3);
  occupy(3);
  assert.is(wakeOn(sleeper(3)), 0);
});

test('the recently used CPU goes before the scan', () => {
  machine(1, 4);
  occupy(0);
  const t = sleeper(0, 3);
  assert.is(wakeOn(t), 3);
  // Now the CPU recently used is the previous one, 0: CPU 1 is next in the scan.
  assert.is(wakeOn(t), 1);
});

test('a full LLC keeps its tasks although another is idle', () => {
  machine(2, 4);
  for (let cpu = 0; cpu < 4; cpu++) occupy(cpu);
  assert.is(wakeOn(sleeper(2)), 2);
});

test('the scan gets shorter with the utilisation of the LLC and ends at 85 %', () => {
  // 24 CPUs: 24 × (1 − (1.17 × 0.5)²) = 15.8; at 0.25: 24 × (1 − 0.0856) = 21.9; at 0.86: 1.006² > 1.
  for (const [utilisation, depth] of [
    [512, 15],
    [256, 21],
    [880, 0],
    [0, 24],
  ] as const) {
    machine(1, 24);
    units.call('setTime', 1000n * MS);
    for (let cpu = 0; cpu < 24; cpu++) units.call('setUtil', cpu, utilisation);
    units.call('balance', 0);
    assert.is(units.call('idleScan', 0), depth);
  }
  // With depth 15 the wake-up from CPU 0 sees CPUs 1 to 15, and none of 16 to 23, which are idle.
  machine(1, 24);
  units.call('setTime', 1000n * MS);
  for (let cpu = 0; cpu < 24; cpu++) units.call('setUtil', cpu, 512);
  units.call('balance', 0);
  for (let cpu = 0; cpu < 16; cpu++) occupy(cpu);
  assert.is(wakeOn(sleeper(0)), 0);
  assert.is(wakeOn(sleeper(1)), 16);
});

test('an idle previous CPU keeps its task whoever wakes it', () => {
  machine(2, 4);
  occupy(0);
  assert.is(wakeOn(sleeper(5), 0), 5);
});

test('the waker draws the task to its LLC if that is less loaded, by 8 %', () => {
  machine(2, 4);
  occupy(0);
  for (let cpu = 4; cpu < 8; cpu++) occupy(cpu);
  // (1024 + 1024) × 100 against 1024 × 108: stays, queues at CPU 5.
  assert.is(wakeOn(sleeper(5), 0), 5);
  // Against 2 × 1024 × 108 = 221184 > 204800: drawn to CPU 0, whose LLC has CPU 1 idle.
  occupy(5);
  assert.is(wakeOn(sleeper(5), 0), 1);
});

test('a waker of many partners does not draw them all (wake_wide)', () => {
  machine(2, 4);
  occupy(0);
  for (let cpu = 4; cpu < 8; cpu++) occupy(cpu);
  occupy(5);
  const waker = units.call('current', 0);
  const t = sleeper(5);
  // An LLC of 4: the busier of the two must have woken 4 × 4 partners, the other 4.
  for (let i = 0; i < 16; i++) units.call('selectCpu', sleeper(1), 0, waker, 0);
  assert.is(wakeOn(t, 0), 1);
  for (let i = 0; i < 4; i++) units.call('selectCpu', sleeper(1), 1, t, 0);
  assert.is(wakeOn(t, 0), 5);
  // A second later the flips are halved: 18 → 9 < 16, so it is drawn again.
  units.call('setTime', 1001n * MS);
  assert.is(wakeOn(t, 0), 1);
});

test('forks stay on the node while it is nearly empty, then go to the one with more idle CPUs', () => {
  machine(2, 24);
  const parent = occupy(0);
  const fork = () => {
    const t = units.call('newTask', 1024, 0);
    const cpu = units.call('selectCpu', t, 0, parent, 1);
    units.call('enqueueOn', t, cpu, 0, 1);
    units.call('settle');
    return cpu;
  };
  // imb_numa_nr = 24 / 8 = 3. Running here + 1 = 2, then 3, with 1 and 2 idle CPUs fewer: tolerated.
  // The third: 3 + 1 > 3, so idle CPUs count: 21 < 24. Then 21 < 23, 21 < 22, and 21 = 21 stays.
  assert.equal([fork(), fork(), fork(), fork(), fork(), fork()], [1, 2, 24, 25, 26, 3]);
});

test('a task goes where it may, on its node if possible', () => {
  machine(2, 4);
  units.call('setMask', 1, 0b1010_0000n);
  units.call('setMask', 2, 0b0100_1000n);
  units.call('setMask', 3, 0b0000_1000n);
  assert.is(wakeOn(sleeper(1, 1, 1)), 5); // CPU 1 isn't allowed, nothing on its node is: the first elsewhere
  assert.is(wakeOn(sleeper(0, 0, 2)), 3);
  assert.is(wakeOn(sleeper(7, 7, 2)), 6);
  assert.is(wakeOn(sleeper(7, 7, 3)), 3); // one CPU: no choice
});

test('no task is ever outside its mask, lost or doubled, whatever wakes, sleeps, forks and ticks', () => {
  const masks = [0xffn, 0x0fn, 0x81n, 0x3cn, 0x20n];
  const action = fc.record({
    kind: fc.constantFrom('fork', 'wake', 'wake', 'sleep', 'tick', 'tick'),
    which: fc.nat(1000),
    mask: fc.nat(masks.length - 1),
    weight: fc.constantFrom(1024, 335, 3121),
  });
  fc.assert(
    fc.property(fc.array(action, { minLength: 10, maxLength: 150 }), (actions) => {
      machine(2, 4);
      for (const [i, bits] of masks.entries()) if (i > 0) units.call('setMask', i, bits);
      const awake: number[] = [];
      const asleep: number[] = [];
      const maskOf = new Map<number, bigint>();
      let time = 10n * MS;
      for (const { kind, which, mask, weight } of actions) {
        time += BigInt(which) * 1000n;
        units.call('setTime', time);
        if (kind === 'fork') {
          const t = units.call('newTask', weight, mask);
          maskOf.set(t, masks[mask]!);
          const parent = awake[which % Math.max(awake.length, 1)];
          units.call('setCpu', t, parent === undefined ? 0 : units.call('cpuOf', parent));
          units.call('enqueueOn', t, units.call('selectCpu', t, units.call('cpuOf', t), 0, 1), 0, 1);
          awake.push(t);
        } else if (kind === 'wake' && asleep.length > 0) {
          const t = asleep.splice(which % asleep.length, 1)[0]!;
          const waker = which % 8;
          const prev = units.call('cpuOf', t);
          const by = units.call('current', waker);
          const cpu = units.call('selectCpu', t, by === 0 ? -1 : waker, by, 0);
          if (maskOf.get(t) === 0xffn) {
            const near = [prev, by === 0 ? prev : waker].map((c) => c >> 2);
            assert.ok(
              near.includes(cpu >> 2),
              'a wake-up stays in the LLC of its previous or its waker’s CPU',
            );
          }
          units.call('enqueueOn', t, cpu, 1, 0);
          awake.push(t);
        } else if (kind === 'sleep' && awake.length > 0) {
          const t = awake.splice(which % awake.length, 1)[0]!;
          units.call('sleep', t);
          asleep.push(t);
        } else if (kind === 'tick') {
          time = (time / (4n * MS) + 1n) * 4n * MS;
          units.call('setTime', time);
          units.call('tickAll');
        }
        units.call('settle');
        const perCpu = new Array<number>(8).fill(0);
        for (const t of awake) {
          const cpu = units.call('cpuOf', t);
          perCpu[cpu]!++;
          assert.ok((maskOf.get(t)! >> BigInt(cpu)) & 1n, `${kind}: CPU ${cpu} is outside the mask`);
        }
        for (let cpu = 0; cpu < 8; cpu++) {
          assert.is(units.call('nrRunning', cpu), perCpu[cpu], `${kind}: tasks on CPU ${cpu}`);
          const current = units.call('current', cpu);
          if (perCpu[cpu] === 0) assert.is(current, 0);
          else assert.ok(awake.includes(current) && units.call('cpuOf', current) === cpu);
          assert.is(units.call('isIdle', cpu), perCpu[cpu] === 0 ? 1 : 0);
          assert.is(units.call('isOverloaded', cpu), perCpu[cpu]! > 1 ? 1 : 0);
        }
      }
    }),
    { numRuns: 150, seed: 3 },
  );
});

test.run();
