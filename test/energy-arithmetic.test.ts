// Energy and speed of whole runs, worked out by hand. The reports' numbers are in public trackers.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { ConfigInput } from '../src/config/schema.js';
import { simulate } from '../src/engine/simulate.js';
import { traceFromInvocations } from '../src/trace/index.js';
import { temporaryFolder } from './support/folder.js';

const folder = temporaryFolder('energy');

function close(actual: number, expected: number): void {
  assert.ok(Math.abs(actual / expected - 1) < 1e-9, `${actual}, expected ${expected}`);
}

/** One CPU that is busy from `start` for `run`, looked at until `horizon`. */
function oneJob(machine: ConfigInput['machine'], start: string, run: string, horizon: string) {
  return simulate({
    machine,
    policy: 'global-fifo',
    kernel: { watchdog_timeout: '0s' },
    workload: {
      // An onlooker that never runs keeps the simulation going until the horizon.
      tasks: [{ name: 'onlooker', start: '1h', program: [{ run: '1ns' }] }],
      arrivals: [{ name: 'job', interarrival: '0s', start, max_arrivals: 1, spawn: { program: [{ run }] } }],
    },
    run: { end: 'horizon', horizon },
  });
}

test('batsim#38: idle 95 W, busy 190.738 W, busy for 10 s of 20: 10 · 95 + 10 · 190.738 = 2857.38 J', async () => {
  const machine = { profile: 'ideal-1', idle_power: '95W', busy_power: '190.738W' };
  const { metrics, cpus } = await oneJob(machine, '5s', '10s', '20s');
  assert.is(metrics.duration_s, 20);
  close(metrics.energy_j, 2857.38);
  close(metrics.power_w, 2857.38 / 20);
  close(cpus[0].energy_j, 2857.38);
});

test('opendc#286: 100 W on [0, 10), 300 W on [10, 20): 1000 J after 10 s, 4000 J after 20', async () => {
  const machine = { profile: 'ideal-1', idle_power: '100W', busy_power: '300W' };
  close((await oneJob(machine, '10s', '10s', '10s')).metrics.energy_j, 1000);
  close((await oneJob(machine, '10s', '10s', '20s')).metrics.energy_j, 4000);
});

test('simgrid#171: 200 W for 10 s, then off: 2000 J', async () => {
  const { metrics } = await oneJob({ profile: 'ideal-1', busy_power: '200W' }, '0s', '10s', '100s');
  close(metrics.energy_j, 2000);
});

/** A machine of 4 cores without costs and idle states, whose uncore draws nothing. */
function profile(name: string, fields: object): string {
  const file = join(folder, `${name}.json`);
  const plain = {
    name,
    packages: 1,
    cores_per_package: 4,
    reference_mhz: 1000,
    min_mhz: 394,
    base_mhz: 394,
    turbo: [{ active_cores: 4, mhz: 394 }],
    idle_states: [],
    core_power: [{ mhz: 394, mw: 1000 }],
    uncore_mw: 0,
    uncore_idle_mw: 0,
    tdp_mw: 0,
    governor: 'performance',
    slice_expiry: 'exact',
    frequency_interval_ns: 1_000_000,
    frequency_ramp_ns: 0,
    costs: { context_switch_ns: 0, migration_llc_ns: 0, migration_node_ns: 0, dispatch_ns: 0 },
  };
  writeFileSync(file, JSON.stringify({ ...plain, ...fields }));
  return file;
}

/** Latencies of jobs of 200 ms that all arrive at 0, ms. */
async function latencies(machine: string, jobs: number) {
  const { invocations, metrics } = await simulate({
    machine,
    policy: 'global-fifo',
    workload: {
      arrivals: Array.from({ length: jobs }, (_, i) => ({
        name: `job${i}`,
        interarrival: '0s',
        max_arrivals: 1,
        spawn: { program: [{ run: '200ms' }] },
      })),
    },
    output: { invocations: 'all' },
  });
  return { ms: [...invocations!.getChild('latency_ns')!].map((ns) => Number(ns) / 1e6), metrics };
}

test('rt-app#11: what takes 200 ms at f_max takes 507.614213 ms at .394 f_max', async () => {
  // 200 ms · 1000/394 = 507.614213 ms, ended by the first whole nanosecond behind it.
  const { ms, metrics } = await latencies(profile('slow', {}), 1);
  assert.ok(Math.abs(ms[0] - 507.614213) <= 1e-6 + 1e-9, `${ms[0]}`);
  // The mean frequency is counted in bins of 10 MHz.
  assert.ok(Math.abs(metrics.frequency_mhz - 394) < 10);
  // The same as the floor of a governor.
  const turbo = [{ active_cores: 4, mhz: 1000 }];
  const core_power = [
    { mhz: 394, mw: 1000 },
    { mhz: 1000, mw: 5000 },
  ];
  const saving = profile('saving', { governor: 'powersave', turbo, core_power });
  assert.equal((await latencies(saving, 1)).ms, ms);
  const performing = profile('performing', { turbo, core_power });
  assert.equal((await latencies(performing, 1)).ms, [200]);
});

test('turbo: one busy core runs at 1000 MHz, four at 500 MHz each', async () => {
  const machine = profile('turbo', {
    min_mhz: 100,
    base_mhz: 500,
    // A core leaves its share of turbo to others as soon as it idles.
    idle_states: [{ name: 'C6', exit_ns: 0, residency_ns: 0, power_mw: 0, inactive: true }],
    turbo: [
      { active_cores: 1, mhz: 1000 },
      { active_cores: 4, mhz: 500 },
    ],
    core_power: [
      { mhz: 500, mw: 5000 },
      { mhz: 1000, mw: 20_000 },
    ],
  });
  const alone = await latencies(machine, 1);
  assert.equal(alone.ms, [200]);
  close(alone.metrics.energy_j, 0.2 * 20);
  // A core that wakes is held to the limit that the package found last, here for one core: all four run at 1000 MHz until
  // the package looks again after 1 ms, then at 500 MHz: 1 ms + 2 · 199 ms.
  const { ms, metrics } = await latencies(machine, 4);
  assert.equal(ms, [399, 399, 399, 399]);
  // Each 1 ms at 20 W and 398 ms at 5 W.
  close(metrics.energy_j, 4 * (0.02 + 1.99));
  // Busy time weighted: (1 · 1000 + 398 · 500)/399.
  close(metrics.frequency_mhz, 200_000 / 399);
});

test('the energy of a trace of 30 hours is that of 30 hours', async () => {
  // Longer than the 19.5 h that an event key reaches. 100 W for 30 h and the minute of the last call: 108 060 s.
  const hour = 3_600_000_000_000n;
  const trace = traceFromInvocations(
    {
      function_ids: ['f'],
      function_index: Uint32Array.from([0, 0]),
      start_ns: BigUint64Array.from([0n, 30n * hour]),
      duration_ns: BigUint64Array.from([1_000_000n, 1_000_000n]),
    },
    { format: 'memory', inputs: [], rules: [], steps: [] },
  );
  const serverless = {
    trace: 'by-hand.arrow',
    functions: { eligible: false },
    durations: 'average' as const,
    server_master: false,
  };
  const machine = { profile: 'ideal-1', idle_power: '100W', busy_power: '100W' };
  const { metrics } = await simulate({ machine, policy: 'eevdf', workload: { serverless } }, { trace });
  close(metrics.energy_j, 10_806_000);
});

test('a package that is never busy draws what its idle states and uncore say', async () => {
  const machine = profile('idle', {
    idle_states: [{ name: 'C1', exit_ns: 0, residency_ns: 0, power_mw: 250, inactive: true }],
    uncore_mw: 9000,
    uncore_idle_mw: 2000,
  });
  // 10 s · (4 · .25 W + 2 W)
  const { metrics } = await oneJob(machine, '50s', '1s', '10s');
  close(metrics.energy_j, 30);
  close(metrics.energy_uncore_j, 20);
});

test.run();
