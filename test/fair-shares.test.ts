// The fair class in whole runs: shares, latency, balance, placement. EEVDF as in 6.11; its base slice is .75 ms on one
// CPU, 2.25 ms on four and 3 ms on eight or more, enforced at the 250 Hz tick.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { ConfigInput } from '../src/config/schema.js';
import { simulate } from '../src/engine/simulate.js';

type Tasks = NonNullable<ConfigInput['workload']['tasks']>;

function run(machine: ConfigInput['machine'], tasks: Tasks, horizon?: string) {
  return simulate({
    machine,
    kernel: { slice_expiry: 'tick' },
    policy: 'eevdf',
    workload: { tasks },
    ...(horizon === undefined ? {} : { run: { end: 'horizon', horizon } }),
  });
}

/** From wake-up to exit of a class's only task, ms. */
async function responses(machine: ConfigInput['machine'], tasks: Tasks): Promise<Map<string, number>> {
  const { histograms, outcome } = await run(machine, tasks);
  assert.is(outcome, 'completed');
  const ours = histograms.filter(({ kind }) => kind === 'response');
  return new Map(ours.map(({ class: name, histogram }) => [name, histogram.max / 1e6]));
}

function near(actual: number | undefined, expected: number, tolerance: number): void {
  assert.ok(Math.abs(actual! - expected) <= tolerance, `${actual}, expected ${expected} ± ${tolerance}`);
}

test('two hogs share a CPU equally: 5 s each take 10 s', async () => {
  const ends = await responses('ideal-1', [
    { name: 'a', program: [{ run: '5s' }] },
    { name: 'b', program: [{ run: '5s' }] },
  ]);
  // The first ends one turn, that is one tick, earlier.
  near(ends.get('a'), 9996, 4);
  near(ends.get('b'), 10_000, 4);
});

test('weights 1024 and 335 share in proportion', async () => {
  // 1024/1359 = .753495 and .246505: with run lengths in that proportion both end at 10 s. The lag stays within a request
  // (.75 ms) and a tick, which the lighter one stretches by 1359/335.
  const ends = await responses('ideal-1', [
    { name: 'heavy', weight: 1024, program: [{ run: '7534950us' }] },
    { name: 'light', weight: 335, program: [{ run: '2465050us' }] },
  ]);
  near(ends.get('heavy'), 10_000, 20);
  near(ends.get('light'), 10_000, 20);
});

test('a task that sleeps most of the time waits behind a hog for a tick and a request at most', async () => {
  const { classes } = await run(
    'ideal-1',
    [
      { name: 'hog', program: [{ run: '1h' }] },
      {
        name: 'sleeper',
        program: [
          { loop: { times: 'forever', do: [{ sleep: { uniform: ['5ms', '15ms'] } }, { run: '200us' }] } },
        ],
      },
    ],
    '20s',
  );
  const { wake_latency_us, stint_us } = classes.find(({ name }) => name === 'sleeper')!;
  assert.ok(wake_latency_us.count > 1500);
  // The hog's request is protected until a tick ends it; a sleeper that has just run is not eligible before the hog has
  // had its share of a request of .75 ms, and may just miss that tick.
  assert.ok(wake_latency_us.max <= 4000 + 750, `${wake_latency_us.max} µs`);
  assert.is(stint_us.max, 200);
});

test('8 hogs on 4 CPUs: each gets half of one', async () => {
  const { metrics, cpus } = await run('ideal-4', [{ name: 'hog', count: 8, program: [{ run: '10s' }] }]);
  near(metrics.response_ms.min, 20_000, 8);
  near(metrics.response_ms.max, 20_000, 8);
  for (const { busy_ns } of cpus) near(busy_ns / 1e9, 20, 0.01);
});

test('8 hogs that all begin on one CPU of 4 are spread by balancing', async () => {
  // Restricted to CPU 0 for their first 40 ms of work together, then free.
  const { metrics } = await run('ideal-4', [
    { name: 'hog', count: 8, cpus: '0', program: [{ run: '5ms' }, { affinity: '0-3' }, { run: '10s' }] },
  ]);
  // 40 ms serial and 80 s of work on four CPUs: 20 s if balanced at once.
  assert.ok(metrics.response_ms.max < 1.03 * 20_040, `${metrics.response_ms.max} ms`);
  assert.ok(metrics.response_ms.min > 0.95 * 20_040, `${metrics.response_ms.min} ms`);
  assert.ok(metrics.balance_pulls + metrics.newidle_pulls >= 6);
});

test('wake-ups stay in the last-level cache', async () => {
  // Two tasks on the 24 CPUs of node 0. The other socket's are idle all the time, and a wake-up never looks at them; nor
  // does balancing, since nodes tolerate a difference of two tasks.
  const { cpus, metrics } = await run(
    'xeon-8160-2s',
    [
      {
        name: 'sleeper',
        count: 2,
        program: [
          {
            loop: {
              times: 'forever',
              do: [{ sleep: { exponential: '5ms' } }, { run: { exponential: '2ms' } }],
            },
          },
        ],
      },
    ],
    '5s',
  );
  assert.ok(metrics.wakeups > 800);
  const busy = (from: number) => cpus.slice(from, from + 24).reduce((sum, { busy_ns }) => sum + busy_ns, 0);
  assert.is(busy(24), 0);
  assert.ok(busy(0) > 2e9);
});

test('a fair task takes the CPU from an ext task at once, which goes on with the rest of its slice', async () => {
  // Slice 3 ms, one CPU. a 0–1 · fair 1–2 · a 2–4 (the rest of its slice) · b 4–6 · a 6–6.5
  const { invocations } = await simulate({
    machine: 'ideal-1',
    policy: { name: 'global-fifo', slice: '3ms' },
    workload: {
      arrivals: [
        { name: 'a', interarrival: '0s', max_arrivals: 1, spawn: { program: [{ run: '3500us' }] } },
        { name: 'b', interarrival: '0s', max_arrivals: 1, spawn: { program: [{ run: '2ms' }] } },
        {
          name: 'fair',
          interarrival: '0s',
          start: '1ms',
          max_arrivals: 1,
          spawn: { class: 'fair', program: [{ run: '1ms' }] },
        },
      ],
    },
    output: { invocations: 'all' },
  });
  const column = (name: string) => [...invocations!.getChild(name)!];
  const ends = column('latency_ns').map((ns, i) => (Number(ns) + Number(column('arrival_ns')[i])) / 1e6);
  assert.equal(
    column('class').map((name, i) => [String(name), ends[i]]),
    [
      ['fair', 2],
      ['b', 6],
      ['a', 6.5],
    ],
  );
});

test.run();
