// Power management: the algorithm of the µqSim paper and other controllers, in the engine.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type ServicesResult, simulateServices } from '../src/engine/services.js';
import { resolveServices } from '../src/services/resolve.js';
import { type ServicesInput, servicesSchema } from '../src/services/schema.js';
import { assertNear, runServices } from './support/services.js';

type Power = NonNullable<ServicesInput['power']>;

const FREQUENCIES = ['1.2GHz', '1.4GHz', '1.6GHz', '1.8GHz', '2GHz', '2.2GHz', '2.4GHz', '2.6GHz'];

/** One server at 2.6 GHz: exponential 1 ms of which `share` scales with the frequency. */
function run(power: Power, options: { share?: number; load?: string; duration?: string } = {}) {
  const { share = 1, load = '200/s', duration = '20s' } = options;
  const input: ServicesInput = {
    machines: { host: { cores: 1 } },
    models: {
      server: {
        stages: { serve: { time: { exponential: '1ms' }, frequency_share: share } },
        paths: { all: { stages: ['serve'] } },
      },
    },
    services: {
      server: { model: 'server', instances: { server: { machine: 'host', threads: 1, cores: '0' } } },
    },
    requests: { r: { nodes: { server: { service: 'server', next: ['client'] } } } },
    client: { load },
    run: { duration },
    power,
  };
  return simulateServices(resolveServices(servicesSchema.parse(input)));
}

const frequencies = ({ intervals }: ServicesResult) => intervals.map(({ tiers }) => tiers[0].mhz);

// 1 − s + s · 2600/1300: 2 at s = 1, 1.5 at s = .5. Utilisation at 200/s: .4 and .3.
for (const [share, utilisation] of [
  [1, 0.4],
  [0.5, 0.3],
  [0, 0.2],
] as const) {
  test(`static at half the frequency: a share of ${share} doubles`, async () => {
    const result = await run(
      { target: '1s', controller: 'static', frequencies: ['1.3GHz', '2.6GHz'] },
      { share, duration: '200s' },
    );
    // The model's own frequency is the highest.
    assertNear('at 2.6 GHz', result.instances[0].utilisation, 0.2, 0.02);
    const slow = await simulateServices({
      ...(await slowed(share)),
    });
    assertNear('at 1.3 GHz', slow.instances[0].utilisation, utilisation, 0.02);
    assert.equal(
      slow.instances[0].busy_by_mhz.map(({ ns }) => ns > 0),
      [true, false],
    );
  });
}

/** The same, its instance at 1.3 GHz. */
async function slowed(share: number) {
  const services = servicesSchema.parse({
    machines: { host: { cores: 1 } },
    models: {
      server: {
        stages: { serve: { time: { exponential: '1ms' }, frequency_share: share } },
        paths: { all: { stages: ['serve'] } },
      },
    },
    services: {
      server: {
        model: 'server',
        instances: { server: { machine: 'host', threads: 1, cores: '0', frequency: '1.3GHz' } },
      },
    },
    requests: { r: { nodes: { server: { service: 'server', next: ['client'] } } } },
    client: { load: '200/s' },
    run: { duration: '200s' },
    power: { target: '1s', controller: 'static', frequencies: ['1.3GHz', '2.6GHz'] },
  });
  return resolveServices(services);
}

// At a target that is never met too late the algorithm slows down to the lowest frequency: one step every 5 quiet intervals, from 2.6 to
// 1.2 GHz in 7 steps, so at the latest after 40 intervals.
test('algorithm 1 with slack: down to the lowest frequency, never a violation', async () => {
  const result = await run({ target: '1s', interval: '100ms', frequencies: FREQUENCIES });
  assert.is(result.intervals.filter(({ tail_ns }) => tail_ns > 1e9).length, 0);
  const seen = frequencies(result);
  assert.is(seen[0], 2600);
  assert.is(seen.at(-1), 1200);
  for (let i = 1; i < seen.length; i++) assert.ok(Math.abs(seen[i] - seen[i - 1]) <= 200);
});

// M/M/1 at 2.6 GHz: p99 = ln 100/(1 − ρ) ms = 11.5 ms at ρ = .6, 23 ms at 2.08 GHz (S = 1.25 ms, ρ = .75): with a target of 25 ms it
// must stay above 2 GHz most of the time, and violate it seldom.
test('algorithm 1 under load: between the extremes, with few violations', async () => {
  const result = await run(
    { target: '25ms', interval: '1s', frequencies: FREQUENCIES },
    { load: '600/s', duration: '400s' },
  );
  const { intervals } = result;
  const violations = intervals.filter(({ tail_ns }) => tail_ns > 25e6).length;
  const mean = frequencies(result).reduce((sum, mhz) => sum + mhz, 0) / intervals.length;
  assert.ok(violations / intervals.length < 0.25, `${violations} of ${intervals.length}`);
  assert.ok(mean > 1800 && mean < 2550, `${mean} MHz`);
});

test('race to idle stays at the highest frequency', async () => {
  const result = await run({ target: '25ms', controller: 'race-to-idle', frequencies: FREQUENCIES });
  assert.equal([...new Set(frequencies(result))], [2600]);
});

// PID: the step settles where the tail is near the target; with much slack that is the lowest.
test('PID slows down with slack and speeds up without', async () => {
  const slack = await run({
    target: '200ms',
    interval: '500ms',
    controller: 'pid',
    frequencies: FREQUENCIES,
  });
  assert.is(frequencies(slack).at(-1), 1200);
  const tight = await run(
    { target: '2ms', interval: '500ms', controller: 'pid', frequencies: FREQUENCIES },
    { load: '500/s' },
  );
  assert.is(frequencies(tight).at(-1), 2600);
});

// Two tiers in turn, whose targets fail now and then: a tuple that failed is not taken again, so that others are aimed at.
test('algorithm 1: the list of failed tuples has an effect', async () => {
  const under = async (failing_list: boolean) => {
    const model = {
      stages: { serve: { time: { exponential: '1ms' }, frequency_share: 1 } },
      paths: { all: { stages: ['serve'] } },
    };
    const placed = (core: string) => ({ machine: 'host', threads: 1, cores: core });
    const { intervals } = await runServices({
      machines: { host: { cores: 2 } },
      models: { server: model },
      services: {
        a: { model: 'server', instances: { a: placed('0') } },
        b: { model: 'server', instances: { b: placed('1') } },
      },
      requests: {
        r: {
          nodes: { first: { service: 'a', next: ['second'] }, second: { service: 'b', next: ['client'] } },
        },
      },
      client: { load: '500/s' },
      run: { duration: '1500s' },
      power: { target: '25ms', interval: '1s', failing_list },
    });
    return intervals.map(({ tiers }) => tiers.map(({ mhz }) => mhz));
  };
  const [withList, without] = [await under(true), await under(false)];
  const first = withList.findIndex((mhz, i) => mhz.join() !== without[i].join());
  // Nothing has failed for a good while.
  assert.ok(first > 20, `${first}`);
});

test('intervals are regular, and their requests are all requests', async () => {
  const { intervals, completed } = await run({ target: '1s', interval: '250ms', frequencies: FREQUENCIES });
  intervals.forEach(({ end_ns }, i) => {
    assert.is(end_ns, (i + 1) * 250e6);
  });
  const counted = intervals.reduce((sum, { requests }) => sum + requests, 0);
  assert.ok(completed - counted >= 0 && completed - counted < 20);
});

test.run();
