// Energy: what public reports got wrong, and that reading it changes nothing.

import * as fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadMachine } from '../src/config/machine.js';
import { MS, S, TestMachine } from './support/machine.js';

const ideal = (idle_power_w: number, busy_power_w: number) =>
  new TestMachine(loadMachine({ extends: 'ideal-1', idle_power_w, busy_power_w }));

test('opendc#286: 100 W on [0, 10) then 300 W on [10, 20) is 1000 J at 10 s and 4000 J at 20 s', () => {
  const m = ideal(100, 300);
  // The state just left is charged: 10 s × 100 W.
  assert.is(m.joules(10n * S), 1000);
  m.wake(0, 10n * S);
  assert.is(m.joules(10n * S), 1000);
  // + 10 s × 300 W
  assert.is(m.joules(20n * S), 4000);
});

test('batsim#38: idle 95 W, busy 190.738 W, busy for 10 s of 20 is 2857.38 J', () => {
  const m = ideal(95, 190.738);
  m.wake(0, 5n * S);
  m.sleep(0, 15n * S);
  // 10 × 95 + 10 × 190.738
  assert.is(m.joules(20n * S), 2857.38);
  assert.is(m.cpuEnergy(0, 20n * S), 2_857_380_000_000_000n);
});

test('simgrid#171: 200 W for 10 s, then off, is 2000 J', () => {
  const m = ideal(0, 200);
  m.wake(0, 0n);
  m.sleep(0, 10n * S);
  assert.is(m.joules(10n * S), 2000);
  assert.is(m.joules(100n * S), 2000);
});

/** Energy of the cores from the other side: time in each idle state and at each frequency, times its power. */
function energyByTimes(m: TestMachine): bigint {
  let energy = 0n;
  m.machine.idle_states.forEach((state, index) => {
    energy += m.units.call64('packageIdleNs', 0, index) * BigInt(state.power_mw);
  });
  for (const { mhz, mw } of m.machine.core_power) {
    energy += m.units.call64('frequencyTimeNs', mhz) * BigInt(mw);
  }
  return energy;
}

test('opendc#446: totals do not depend on when they are read', () => {
  const step = fc.record({
    cpu: fc.nat(3),
    after: fc.bigInt(0n, 20n * MS),
    act: fc.constantFrom('wake', 'sleep', 'evaluate'),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), fc.constantFrom(1n, 10n), (steps, everyMs) => {
      const run = (sampled: boolean) => {
        const m = new TestMachine(loadMachine('xeon-8160-4'));
        const busy = [false, false, false, false];
        let now = 0n;
        for (const { cpu, after, act } of steps) {
          const until = now + after;
          if (sampled) for (let t = now; t < until; t += everyMs * MS) m.joules(t);
          now = until;
          if (act === 'evaluate') m.evaluate(0, now);
          else if (act === 'wake' && !busy[cpu]) m.wake(cpu, now);
          else if (act === 'sleep' && busy[cpu]) m.sleep(cpu, now);
          if (act !== 'evaluate') busy[cpu] = act === 'wake';
        }
        const end = now + 100n * MS;
        const parts = [0, 1, 2, 3].map((cpu) => m.cpuEnergy(cpu, end));
        m.units.call('machineFinish', end);
        const charged = [0, 1, 2, 3].map((cpu) => m.cpuEnergy(cpu, end));
        const times = [0, 1, 2, 3].map(
          (cpu) => m.units.call64('cpuBusyNs', cpu) + m.units.call64('cpuIdleNs', cpu),
        );
        assert.equal(parts, charged);
        assert.equal(times, [end, end, end, end]);
        assert.is(
          charged.reduce((a, b) => a + b),
          energyByTimes(m),
        );
        return [...parts, m.uncoreEnergy(0, end)];
      };
      assert.equal(run(true), run(false));
    }),
    { numRuns: 30 },
  );
});

test('an idle 2-socket Xeon draws 27 W per package', () => {
  const m = new TestMachine(loadMachine('xeon-8160-2s'));
  // 24 cores × 0.1 W + 24.6 W of uncore, twice, for 10 s
  assert.is(m.joules(10n * S), 540);
  assert.is(m.uncoreEnergy(0, 10n * S), 246_000_000_000_000n);
});

test('24 busy cores of a package draw its TDP', () => {
  const m = new TestMachine({ ...loadMachine('xeon-8160-2s'), governor: 'performance' });
  for (let cpu = 0; cpu < 24; cpu++) m.wake(cpu, 0n);
  m.evaluate(0, 0n);
  assert.is(m.mhz(0), 2800);
  const cores = Array.from({ length: 24 }, (_, cpu) => m.cpuEnergy(cpu, S)).reduce((a, b) => a + b);
  // 24 × 5 W + 30 W of uncore for 1 s
  assert.is(cores + m.uncoreEnergy(0, S), 150_000_000_000_000n);
});

test('the uncore stays at its active power for 10 ms after the last core went idle', () => {
  const m = new TestMachine(loadMachine('xeon-8160-4'));
  m.wake(0, 0n);
  m.wake(1, MS);
  m.sleep(0, 2n * MS);
  m.sleep(1, 3n * MS);
  // 13 ms × 30 W, then 7 ms × 24.6 W
  assert.is(m.uncoreEnergy(0, 20n * MS), 13n * MS * 30_000n + 7n * MS * 24_600n);
  m.wake(2, 20n * MS);
  assert.is(m.uncoreEnergy(0, 21n * MS), 14n * MS * 30_000n + 7n * MS * 24_600n);
});

test('a change of frequency charges the time before it at the old one', () => {
  const m = new TestMachine({ ...loadMachine('xeon-8160-4'), governor: 'performance' });
  m.wake(0, 0n);
  assert.is(m.mhz(0), 3700);
  m.units.call('frequencySet', 0, 2800, 5n * MS);
  // 5 ms × 7.318 W + 5 ms × 5 W
  assert.is(m.cpuEnergy(0, 10n * MS), 5n * MS * 7318n + 5n * MS * 5000n);
  m.units.call('machineFinish', 10n * MS);
  assert.is(m.units.call64('frequencyTimeNs', 3700), 5n * MS);
  assert.is(m.units.call64('frequencyTimeNs', 2800), 5n * MS);
});

test.run();
