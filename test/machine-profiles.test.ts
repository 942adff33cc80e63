// Machine profiles: what they say, how mistakes in them are reported, and the calibration of the power model.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadMachine, packagePeakMw } from '../src/config/machine.js';
import { machineNames } from '../src/config/machine-files.js';
import { calibrate, limitTurboToTdp } from '../src/config/machine-power.js';
import { VtimeError } from '../src/errors.js';
import { TestMachine } from './support/machine.js';

function failure(source: string | object, overrides?: Parameters<typeof loadMachine>[1]): VtimeError {
  try {
    loadMachine(source, overrides);
  } catch (error) {
    if (error instanceof VtimeError) return error;
    throw error;
  }
  throw new Error('no error');
}

test('the two-socket Xeon has 48 CPUs, node 0 holding 0 to 23', () => {
  const machine = loadMachine('xeon-8160-2s');
  assert.is(machine.cpus.length, 48);
  machine.cpus.forEach((cpu, index) => {
    const part = index < 24 ? 0 : 1;
    assert.equal(cpu, { package: part, node: part, llc: part });
  });
});

test('the engine sees the same topology', () => {
  const m = new TestMachine(loadMachine('xeon-8160-2s'));
  for (const [cpu, part] of [
    [0, 0],
    [23, 0],
    [24, 1],
    [47, 1],
  ]) {
    for (const name of ['cpuPackage', 'cpuNode', 'cpuLlc']) assert.is(m.units.call(name, cpu), part);
    const bits = part === 0 ? 0xffffffn : 0xffffff000000n;
    for (const name of ['packageMask', 'nodeMask', 'llcMask']) {
      const mask = new BigUint64Array(m.units.memory.buffer, m.units.call(name, cpu), 8);
      assert.equal([...mask], [bits, 0n, 0n, 0n, 0n, 0n, 0n, 0n]);
    }
  }
});

test('LLCs and nodes divide a package in order', () => {
  const machine = loadMachine({
    extends: 'xeon-8160-2s',
    packages: 2,
    cores_per_package: 8,
    nodes_per_package: 2,
    llcs_per_package: 4,
  });
  assert.equal(machine.cpus[5], { package: 0, node: 1, llc: 2 });
  assert.equal(machine.cpus[15], { package: 1, node: 3, llc: 7 });
});

test('the power model is calibrated: 4 W at base, 24 cores at 2.8 GHz and the uncore at the TDP, 27 W idle', () => {
  const machine = loadMachine('xeon-8160-2s');
  const at = (mhz: number) => machine.core_power.find((row) => row.mhz === mhz)?.mw;
  assert.is(at(2100), 4000);
  // (150 − 30) / 24
  assert.is(at(2800), 5000);
  assert.is(machine.uncore_mw + 24 * 5000, machine.tdp_mw);
  assert.is(packagePeakMw(machine), machine.tdp_mw);
  assert.is(machine.uncore_idle_mw + 24 * machine.idle_states[2].power_mw, 27_000);
});

test('calibration solves a + b·f·V² by hand', () => {
  // f·V² = 1000 × 1 and 2000 × 4; base 2 W, full load (10 − 1) W / 2 = 4.5 W: b = 2500 / 7000, a = 2000 − 1000 b
  const model = {
    base_mw: 2000,
    voltage: [
      { mhz: 1000, mv: 1000 },
      { mhz: 2000, mv: 2000 },
    ],
    full_load: { busy_cores: 2, mhz: 2000, package_mw: 10_000 },
  };
  const { a, b } = calibrate(model, 1000, 1000);
  assert.ok(Math.abs(b - 2500 / 7000) < 1e-12);
  assert.ok(Math.abs(a - (2000 - 2500 / 7)) < 1e-9);
});

test('a turbo row that would exceed the TDP is lowered', () => {
  const rows = [1000, 2000, 3000].map((mhz) => ({ mhz, mw: mhz }));
  const turbo = [
    { active_cores: 1, mhz: 3000 },
    { active_cores: 4, mhz: 3000 },
  ];
  // 1 W + 4 × 3 W = 13 W > 10 W; 1 W + 4 × 2 W = 9 W fits. One core: 1 + 3 + 3 × 0.1 W.
  const package_ = { cores: 4, uncore_mw: 1000, inactive_mw: 100, tdp_mw: 10_000 };
  assert.equal(limitTurboToTdp(turbo, rows, package_), [turbo[0], { active_cores: 4, mhz: 2000 }]);
});

test('profiles of 4, 8 and 16 CPUs are one package with the turbo of as many cores', () => {
  const last = (name: string) => loadMachine(name).turbo.at(-1);
  assert.equal(last('xeon-8160-4'), { active_cores: 4, mhz: 3500 });
  assert.equal(last('xeon-8160-8'), { active_cores: 8, mhz: 3400 });
  assert.equal(last('xeon-8160-16'), { active_cores: 16, mhz: 3200 });
});

test('every bundled profile loads and names a source for every number', () => {
  assert.equal(machineNames(), [
    'numa-16x24',
    'numa-2x2',
    'numa-4x4',
    'xeon-8160-16',
    'xeon-8160-2s',
    'xeon-8160-4',
    'xeon-8160-8',
    'xeon-e5-2660-v3-2s',
    'xeon-e5-2660-v3-2s-c1',
  ]);
  for (const name of machineNames()) assert.is(loadMachine(name).name, name);
  const { sources } = loadMachine('xeon-8160-2s');
  const numbers = ['packages', 'reference_mhz', 'turbo', 'idle_states.2.exit_ns', 'uncore_mw', 'tdp_mw'];
  for (const path of [...numbers, 'costs.dispatch_ns', 'core_power_model.full_load']) {
    assert.ok(sources[path], path);
  }
  assert.match(sources.uncore_mw, /^estimate: /);
});

test('ideal-N: run lengths are times, nothing costs anything', () => {
  const machine = loadMachine('ideal-48');
  assert.is(machine.cpus.length, 48);
  assert.is(machine.reference_mhz, machine.max_mhz);
  assert.equal(machine.idle_states, []);
  assert.is(machine.slice_expiry, 'exact');
  assert.equal(Object.values(machine.costs), [0, 0, 0, 0]);
});

test('rt-app#11: an ideal machine can run at .394 of its reference frequency', () => {
  const machine = loadMachine({ extends: 'ideal-1', mhz: 394, reference_mhz: 1000 });
  // 200 ms × 1000 / 394, in whole ns
  assert.is(Math.round((200e6 * machine.reference_mhz) / machine.max_mhz), 507_614_213);
});

test('overrides: fewer CPUs, only the shallowest idle state, powers of an ideal machine', () => {
  const some = loadMachine('xeon-8160-2s', { cpus: 30, idle_states: false });
  assert.is(some.cpus.length, 30);
  assert.is(some.packages, 2);
  assert.equal(
    some.idle_states.map((state) => state.name),
    ['C1'],
  );
  assert.is(loadMachine('xeon-8160-2s', { cpus: 12 }).turbo.at(-1)?.active_cores, 12);
  const ideal = loadMachine('ideal-2', { idle_power_mw: 95_000, busy_power_mw: 190_738 });
  assert.is(ideal.core_power[0].mw, 190_738);
  assert.is(ideal.idle_states[0].power_mw, 95_000);
});

test('mistakes say where they are and what was expected', () => {
  const xeon = (keys: object) => failure({ extends: 'xeon-8160-4', ...keys }).message;
  assert.match(failure('xeon-8610-2s').message, /did you mean "xeon-8160-2s"/);
  assert.match(failure('ideal-513').message, /ideal-1 to ideal-512/);
  assert.match(failure('nowhere/machine.json').message, /cannot read the machine profile/);
  assert.match(xeon({ tpd_mw: 1 }), /unknown key "tpd_mw"; did you mean "tdp_mw"\?/);
  assert.match(xeon({ min_mhz: 1.5 }), /min_mhz: expected a whole number/);
  assert.match(xeon({ costs: { context_switch_ns: 1 } }), /costs\.\w+: expected a whole number, got nothing/);
  assert.match(xeon({ governor: 'ondemand' }), /governor: expected one of performance/);
  assert.match(xeon({ turbo: [{ active_cores: 2, mhz: 3700 }] }), /a last row of 4 active cores/);
  assert.match(xeon({ min_mhz: { value: 1000, source: 'me' } }), /no reference "me"/);
  assert.match(xeon({ tdp_mw: 30_000 }), /exceed the TDP at any frequency/);
  assert.match(failure({ extends: 'ideal-1', idle_power: 5 }).message, /did you mean "idle_power_w"/);
  assert.match(failure('xeon-8160-4', { cpus: 5 }).message, /1 to 4/);
  assert.match(failure('xeon-8160-4', { idle_power_mw: 5 }).message, /only ideal machines/);
  assert.is(failure('foo').exitCode, 2);
});

test.run();
