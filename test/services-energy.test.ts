// Energy of services from the machine model, worked out by hand: what cores and packages draw, in both modes.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { ServicesResult } from '../src/engine/services.js';
import { VtimeError } from '../src/errors.js';
import { parseServices } from '../src/services/load.js';
import type { ServicesInput } from '../src/services/schema.js';
import { commandLine } from './support/command-line.js';
import { temporaryFolder } from './support/folder.js';
import { assertNear, runRelease, runServices } from './support/services.js';

const folder = temporaryFolder('services-energy');

function file(name: string, content: object): string {
  const path = join(folder, `${name}.json`);
  writeFileSync(path, JSON.stringify(content));
  return path;
}

/** Every core the same: 2 W idle, 10 W busy. */
const IDEAL = file('ideal', { extends: 'ideal-1', idle_power_w: 2, busy_power_w: 10 });

/** Two cores of 1 to 2 GHz: busy 4 W at 1 GHz, 10 W at 2 GHz. */
const plain = {
  name: 'plain',
  packages: 1,
  cores_per_package: 2,
  reference_mhz: 2000,
  min_mhz: 1000,
  base_mhz: 2000,
  turbo: [{ active_cores: 2, mhz: 2000 }],
  idle_states: [{ name: 'C1', exit_ns: 0, residency_ns: 0, power_mw: 1000 }],
  core_power: [
    { mhz: 1000, mw: 4000 },
    { mhz: 2000, mw: 10_000 },
  ],
  uncore_mw: 0,
  uncore_idle_mw: 0,
  tdp_mw: 0,
  governor: 'performance',
  slice_expiry: 'exact',
  frequency_interval_ns: 1_000_000,
  frequency_ramp_ns: 0,
  costs: { context_switch_ns: 0, migration_llc_ns: 0, migration_node_ns: 0, dispatch_ns: 0 },
};
const PLAIN = file('plain', plain);

interface Server {
  time?: NonNullable<ServicesInput['models'][string]['stages'][string]['time']>;
  cores?: string;
  threads?: number;
  frequency?: string;
  machine?: number;
}

/** One service of one stage, whose time is for 2 GHz and scales with 1/f. */
async function server(
  { time = { exponential: '1ms' }, cores = '0', threads = 1, frequency, machine = 1 }: Server,
  rest: Pick<ServicesInput, 'client' | 'run' | 'profile'> & Partial<ServicesInput>,
): Promise<ServicesResult> {
  return runServices({
    machines: { host: { cores: machine } },
    models: {
      server: {
        stages: { serve: { time, frequency_share: 1 } },
        paths: { all: { stages: ['serve'] } },
        reference_frequency: '2GHz',
      },
    },
    services: {
      server: {
        model: 'server',
        instances: {
          server: { machine: 'host', threads, cores, ...(frequency === undefined ? {} : { frequency }) },
        },
      },
    },
    requests: { r: { nodes: { server: { service: 'server', next: ['client'] } } } },
    ...rest,
  });
}

const joules = ({ machines: [{ cores_j }] }: ServicesResult) => cores_j;
function exactly(actual: number, expected: number): void {
  assert.ok(Math.abs(actual / expected - 1) < 1e-12, `${actual}, expected ${expected}`);
}

/** Requests at 0, 4 … 36 ms. */
const REGULAR = { client: { interarrival: '4ms', requests: 10 }, run: { duration: '40ms' } };

// 1 ms each, so that the last is over at 37 ms: busy 10 ms, idle 27 ms. 10 · 10 W + 27 · 2 W = 154 mJ.
test('constant cycles: busy 10 W, idle 2 W', async () => {
  const result = await server({ time: '1ms' }, { ...REGULAR, profile: IDEAL });
  assert.is(result.end_ns, 37e6);
  exactly(joules(result), 0.154);
  assert.is(result.machines[0].uncore_j, 0);
  assert.equal(result.machines[0].idle_ns, [{ state: 'idle', ns: 27e6 }]);
});

// At 2 GHz: 10 · 10 W + 27 · 1 W = 127 mJ. At 1 GHz a stage takes 2 ms: busy 20 ms of 38, 20 · 4 W + 18 · 1 W = 98 mJ.
test('an instance draws what its frequency says', async () => {
  const slow = await server({ time: '1ms', frequency: '1GHz' }, { ...REGULAR, profile: PLAIN });
  const fast = await server({ time: '1ms' }, { ...REGULAR, profile: PLAIN });
  exactly(joules(fast), 0.127);
  exactly(joules(slow), 0.098);
  assert.equal(slow.instances[0].busy_by_mhz, [{ mhz: 1000, ns: 20e6 }]);
});

// M/M/1: P = ρ · busy(f) + (1 − ρ) · idle. At 300/s: ρ = .3 at 2 GHz, .6 at 1 GHz.
for (const [frequency, rho, busy] of [
  ['2GHz', 0.3, 10],
  ['1GHz', 0.6, 4],
] as const) {
  for (const mode of ['dedicated', 'scheduled'] as const) {
    test(`M/M/1 at ${frequency}, ${mode}: ${rho} · ${busy} W + ${(1 - rho).toFixed(1)} · 1 W`, async () => {
      const result = await server(
        { frequency },
        { client: { load: '300/s' }, run: { duration: '200s' }, profile: PLAIN, mode },
      );
      const watts = joules(result) / (result.end_ns * 1e-9);
      assertNear('power', watts, rho * busy + (1 - rho), 0.02);
      // To the nanosecond from its own busy time.
      const used = result.instances[0].busy_ns;
      exactly(joules(result), (used * busy + (result.end_ns - used)) * 1e-9);
    });
  }
}

// The governor enters the deepest state at first, as nothing is known. After eight equal intervals of 3 ms it predicts 3 ms, for which
// the deeper state with a residency of 2 ms is right; with 5 ms it is not, until the next tick: 250 Hz, every 4 ms.
test('two idle states: the residency of the deeper one decides', async () => {
  const withDeeper = (residency_ns: number) =>
    file(`deeper-${residency_ns}`, {
      ...plain,
      idle_states: [
        { name: 'C1', exit_ns: 0, residency_ns: 0, power_mw: 1000 },
        { name: 'C6', exit_ns: 0, residency_ns, power_mw: 100 },
      ],
    });
  const run = (residency_ns: number) =>
    server(
      { time: '1ms' },
      {
        client: { interarrival: '4ms', requests: 1000 },
        run: { duration: '4s' },
        profile: withDeeper(residency_ns),
      },
    );
  const [deep, shallow] = [await run(2_000_000), await run(5_000_000)];
  // Between 1000 requests of 1 ms there are 999 times of 3 ms.
  const idle = 999 * 3e6;
  assert.equal(
    deep.machines[0].idle_ns.map(({ state, ns }) => [state, ns]),
    [
      ['C1', 0],
      ['C6', idle],
    ],
  );
  exactly(joules(deep), 1 * 10 + 2.997 * 0.1);
  // Requests come on the grid of ticks, so that a tick is never in the midst of an interval: all but the first eight are in C1.
  const [c1, c6] = shallow.machines[0].idle_ns.map(({ ns }) => ns);
  assert.is(c1 + c6, idle);
  assert.is(c6, 8 * 3e6);
  exactly(joules(shallow), 10 + (c1 + c6 * 0.1) * 1e-9);
});

// Uncore: 5 W while a core is busy and 10 ms longer, then 3 W. Requests of 1 ms at 0 and 100 ms: 1 + 10 + 1 ms of 5 W, 89 ms of 3 W,
// 327 mJ; cores 2 · 10 W + 99 · 1 W = 119 mJ.
test('the uncore of each package', async () => {
  const uncore = file('uncore', { ...plain, uncore_mw: 5000, uncore_idle_mw: 3000 });
  const result = await server(
    { time: '1ms' },
    {
      client: { interarrival: '100ms', requests: 2 },
      run: { duration: '200ms' },
      profile: uncore,
    },
  );
  const [{ uncore_j, cores_j }] = result.machines;
  exactly(uncore_j, 0.327);
  exactly(cores_j, 0.119);
});

// Threads that own their cores, threads that share one pool, servers without threads: each core is busy while somebody serves on it.
for (const [what, own] of [
  ['a core a thread', { threads: 2, cores: '0-1' }],
  ['two cores for four threads', { threads: 4, cores: '0-1' }],
] as const) {
  test(`${what}: busy time is drawn at 10 W, the rest at 2 W`, async () => {
    const result = await server(
      { ...own, machine: 3 },
      { client: { load: '1000/s' }, run: { duration: '20s' }, profile: IDEAL },
    );
    const { busy_ns } = result.instances[0];
    exactly(joules(result), (busy_ns * 10 + (3 * result.end_ns - busy_ns) * 2) * 1e-9);
  });
}

// The network stack has queue pairs without threads; 40 cores each on the release's two machines.
test('scheduled on ideal cores draws what dedicated does', async () => {
  const run = { kqps: 80, seconds: 0.5, profile: IDEAL };
  const dedicated = await runRelease('2tier_ngx_8_memc_4', run);
  const scheduled = await runRelease('2tier_ngx_8_memc_4', { ...run, scheduled: { policy: 'eevdf' } });
  for (const result of [dedicated, scheduled]) {
    result.machines.forEach(({ machine, cores_j }) => {
      const busy = result.instances
        .filter((instance) => instance.machine === machine)
        .reduce((sum, { busy_ns }) => sum + busy_ns, 0);
      exactly(cores_j, (busy * 10 + (40 * result.end_ns - busy) * 2) * 1e-9);
    });
  }
  scheduled.machines.forEach(({ cores_j }, i) => {
    assertNear('energy', cores_j, dedicated.machines[i].cores_j, 1e-4);
  });
});

// Without a profile requests take the same times as with one: the model of energy only watches.
test('energy changes nothing but itself', async () => {
  const run = { kqps: 80, seconds: 0.2 };
  const { machines, ...metered } = await runRelease('2tier_ngx_8_memc_4', { ...run, profile: IDEAL });
  const { machines: none, ...plainly } = await runRelease('2tier_ngx_8_memc_4', run);
  assert.equal(none, []);
  assert.is(machines.length, 2);
  assert.equal(metered.latency, plainly.latency);
  assert.equal(metered.instances, plainly.instances);
});

// Σ over frequencies = busy time, and the energy is theirs: 4 W at 1 GHz, 10 W at 1.5 (the nearest above) and 2 GHz, idle 1 W.
for (const mode of ['dedicated', 'scheduled'] as const) {
  test(`a controller that changes steps, ${mode}: the energy is that of the time at each`, async () => {
    const result = await server(
      {},
      {
        client: { load: '200/s' },
        run: { duration: '60s' },
        profile: PLAIN,
        mode,
        power: { target: '20ms', interval: '500ms', frequencies: ['1GHz', '1.5GHz', '2GHz'] },
      },
    );
    const [{ busy_ns, busy_by_mhz }] = result.instances;
    assert.is(
      busy_by_mhz.reduce((sum, { ns }) => sum + ns, 0),
      busy_ns,
    );
    assert.ok(busy_by_mhz.every(({ ns }) => ns > 0));
    const watts = [4, 10, 10];
    const busy_j = busy_by_mhz.reduce((sum, { ns }, i) => sum + ns * watts[i] * 1e-9, 0);
    exactly(joules(result), busy_j + (result.end_ns - busy_ns) * 1e-9);
    // The power of the intervals is the energy of the run until the last of them.
    const last = result.intervals.at(-1)!.end_ns;
    const sum = result.intervals.reduce((total, { power_w }) => total + power_w * 0.5, 0);
    assert.ok(sum <= joules(result) && sum >= joules(result) - (result.end_ns - last) * 10e-9 - 1e-9);
  });
}

// The file says how fast services are. On a machine that would take 30 ms to get from 1 to 3 GHz, and has 3 GHz for one core, requests
// take what they take without a profile.
test('scheduled: turbo and ramps of the profile do not scale work that has its frequency', async () => {
  const turbo = file('turbo', {
    ...plain,
    turbo: [
      { active_cores: 1, mhz: 3000 },
      { active_cores: 2, mhz: 2000 },
    ],
    governor: 'hwp',
    frequency_ramp_ns: 30_000_000,
  });
  const run = { client: { load: '300/s' }, run: { duration: '5s' }, mode: 'scheduled' as const };
  const [without, withTurbo] = [await server({}, run), await server({}, { ...run, profile: turbo })];
  assert.equal(withTurbo.latency, without.latency);
  const used = without.instances[0].busy_ns;
  exactly(joules(withTurbo), (used * 10 + (withTurbo.end_ns - used)) * 1e-9);
});

// Two tiers on one CPU at 1 and 2 GHz, in turns of the scheduler: 4 W for the one's CPU time, 10 W for the other's.
test('scheduled: a CPU draws the power of whoever runs on it', async () => {
  const stages = { serve: { time: '3ms', frequency_share: 1 } };
  const model = { stages, paths: { all: { stages: ['serve'] } }, reference_frequency: '2GHz' };
  const placed = { machine: 'host', threads: 1, cores: '0' };
  const result = await runServices({
    machines: { host: { cores: 1 } },
    models: { m: model },
    services: {
      slow: { model: 'm', instances: { slow: { ...placed, frequency: '1GHz' } } },
      fast: { model: 'm', instances: { fast: placed } },
    },
    requests: {
      a: { probability: 0.5, nodes: { n: { service: 'slow', next: ['client'] } } },
      b: { probability: 0.5, nodes: { n: { service: 'fast', next: ['client'] } } },
    },
    client: { load: '150/s' },
    run: { duration: '20s' },
    mode: 'scheduled',
    scheduled: { policy: { name: 'eevdf', base_slice: '1ms' } },
    profile: PLAIN,
  });
  const [slow, fast] = result.instances.map(({ busy_ns }) => busy_ns);
  assertNear('6 ms a request', slow / 1e6 / 6, result.completed / 2, 0.1);
  exactly(joules(result), (slow * 4 + fast * 10 + (result.end_ns - slow - fast)) * 1e-9);
});

// Switches of 50 µs are CPU time of the thread that comes, at the frequency of its instance.
test('scheduled: switches are drawn at the frequency of whom they are for', async () => {
  const costly = file('costly', { ...plain, costs: { ...plain.costs, context_switch_ns: 50_000 } });
  const result = await server(
    {},
    {
      client: { load: '200/s' },
      run: { duration: '60s' },
      profile: costly,
      mode: 'scheduled',
      power: { target: '20ms', interval: '500ms', frequencies: ['1GHz', '2GHz'] },
    },
  );
  const [{ busy_ns, busy_by_mhz }] = result.instances;
  const [slow, fast] = busy_by_mhz.map(({ ns }) => ns);
  assert.is(slow + fast, busy_ns);
  assert.ok(slow > 0 && fast > 0);
  exactly(joules(result), (slow * 4 + fast * 10 + (result.end_ns - busy_ns)) * 1e-9);
});

// An open loop of constant 4 ms and stages of 1 ms, as above: 10 requests, 154 mJ in 37 ms. Tiers at one frequency tell none.
test('the command line tells energy as text, JSON and in the report', async () => {
  const services = join(folder, 'regular.yaml');
  writeFileSync(
    services,
    `profile: ideal.json
machines: {host: {cores: 1}}
models: {server: {stages: {serve: {time: 1ms}}, paths: {all: {stages: [serve]}}}}
services: {server: {model: server, instances: {server: {machine: host, threads: 1, cores: '0'}}}}
requests: {r: {nodes: {n: {service: server, next: [client]}}}}
client: {interarrival: 4ms, requests: 10}
run: {duration: 40ms, replications: 2}
`,
  );
  const report = join(folder, 'regular.html');
  const text = await commandLine('services', 'run', services, '-o', report, '--quiet');
  assert.match(text.stdout, /own +host +4\.162 ± 0\.000 +0 ± 0 +0\.1540 ± 0\.0000 +73\.0 %/);
  assert.match(text.stdout, /4\.162 ± 0\.000 W, 15\.40 mJ per request/);
  assert.match(readFileSync(report, 'utf8'), /<h2>Energy<\/h2>/);
  const { stdout } = await commandLine('services', 'run', services, '--json', '--quiet');
  const [{ energy, tiers }] = JSON.parse(stdout).points;
  assertNear('J', energy.joules.mean, 0.154, 1e-12);
  assertNear('J per request', energy.joules_per_request.mean, 0.0154, 1e-12);
  assert.equal(energy.machines[0].idle, [{ state: 'idle', share: 27 / 37 }]);
  assert.equal(tiers[0].frequencies, [{ mhz: 2600, share: 1 }]);
});

test('keys that have moved say where to', () => {
  const mistake = (text: string): string => {
    try {
      parseServices(text);
    } catch (error) {
      return (error as Error).message;
    }
    throw new Error('no mistake');
  };
  assert.match(
    mistake('machines: {m: {cores: 1, busy_power: 9W}}'),
    /1:26 machines\.m\.busy_power: unknown key "busy_power"; powers are those of the machine profile: the top-level key "profile"/,
  );
  assert.match(
    mistake('scheduled: {profile: ideal-4}'),
    /1:13 scheduled\.profile: unknown key "profile"; it is a top-level key, for both modes/,
  );
});

test('more cores than CPUs, or than the profile has, are refused', async () => {
  const mistake = async (run: Promise<ServicesResult>, message: RegExp) => {
    try {
      await run;
    } catch (error) {
      assert.instance(error, VtimeError);
      assert.is((error as VtimeError).exitCode, 2);
      return assert.match((error as VtimeError).message, message);
    }
    assert.unreachable();
  };
  const rest = { client: { load: '1/s' }, run: { duration: '1s' } };
  await mistake(server({ machine: 600 }, { ...rest, profile: IDEAL }), /600 CPUs; the machine model has 512/);
  await mistake(server({ machine: 3 }, { ...rest, profile: PLAIN }), /host has 3 CPUs, its profile 2/);
  await mistake(server({ frequency: '3GHz' }, { ...rest, profile: PLAIN }), /plain has 1000 to 2000 MHz/);
  await mistake(server({}, { ...rest, profile: 'xeon-8610-4' }), /did you mean "xeon-8160-4"/);
});

test.run();
