// Who ends when, on CPUs without costs: deterministic, asserted to the nanosecond unless tasks share a CPU in turns.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadConfig } from '../src/config/load.js';
import type { ConfigInput } from '../src/config/schema.js';
import { simulate } from '../src/engine/simulate.js';

const S = 1_000_000_000;

/** Ends of jobs that all arrive at 0, in ns and in order of completion. */
async function ends(
  count: number,
  run: string,
  machine: ConfigInput['machine'],
  policy: ConfigInput['policy'],
  kernel: ConfigInput['kernel'] = { watchdog_timeout: '0s' },
): Promise<number[]> {
  const arrivals = Array.from({ length: count }, (_, i) => ({
    name: `job${i}`,
    interarrival: '0s',
    max_arrivals: 1,
    spawn: { program: [{ run }] },
  }));
  const result = await simulate({
    machine,
    kernel,
    policy,
    workload: { arrivals },
    output: { invocations: 'all' },
  });
  assert.is(result.outcome, 'completed');
  return [...result.invocations!.getChild('latency_ns')!].map(Number);
}

const FCFS = { name: 'global-fifo' as const, slice: '1000h' };

test('cloudsimplus#27: 4 equal jobs of 10 s share 2 cores and all end at 20 s', async () => {
  // In turns of 1 ms: each core has served its two tasks 10 s when 20 s have passed, the first of them one turn earlier.
  for (const end of await ends(4, '10s', 'ideal-2', { name: 'global-fifo', slice: '1ms' })) {
    assert.ok(end <= 20 * S && end >= 20 * S - 2_000_000, `${end}`);
  }
  const { classes, metrics } = await simulate(loadConfig('examples/time-shared.yaml'));
  assert.is(metrics.duration_s, 20);
  assert.is(classes[0].stint_us.max, 1000);
});

test('cloudsimplus#27 in the fair class: within a base slice and a tick', async () => {
  // Two start on each CPU. A base slice of 1.5 ms is ended by a 4 ms tick, so the first ends one tick earlier.
  const { metrics } = await simulate({
    ...loadConfig('examples/time-shared.yaml'),
    policy: 'eevdf',
    kernel: { slice_expiry: 'tick' },
  });
  assert.is(metrics.response_ms.max, 20_000);
  assert.is(metrics.response_ms.min, 19_996);
  assert.is(metrics.migrations, 0);
});

test('cloudsimplus#96: 4 jobs of 10 s on 2 cores, first come first served: 10, 10, 20, 20 s', async () => {
  assert.equal(await ends(4, '10s', 'ideal-2', FCFS), [10 * S, 10 * S, 20 * S, 20 * S]);
  const { metrics } = await simulate(loadConfig('examples/fcfs.yaml'));
  assert.is(metrics.duration_s, 20);
});

test('Cloudslab/cloudsim#14: of 1000 jobs of 1 s on one CPU the last ends at 1000 s, and each a second apart', async () => {
  assert.equal(
    await ends(1000, '1s', 'ideal-1', FCFS),
    Array.from({ length: 1000 }, (_, i) => (i + 1) * S),
  );
});

test('cloudsimplus#533: how finely time is resolved changes nothing', async () => {
  // Ticks are the engine's only periodic resolution: a run without contention ends at the same nanosecond whatever HZ is.
  const run = (hz: string) =>
    ends(3, '1234567891ns', 'ideal-4', FCFS, { hz, slice_expiry: 'tick', watchdog_timeout: '0s' });
  const expected = [1_234_567_891, 1_234_567_891, 1_234_567_891];
  for (const hz of ['100Hz', '250Hz', '1000Hz', '100000Hz']) assert.equal(await run(hz), expected);
});

test('round robin: 5 hogs, 3 ms, exact expiry: nobody waits longer than 12 ms', async () => {
  // Four others take 3 ms each between two turns.
  const config = loadConfig('examples/round-robin.yaml');
  assert.is(await longestWait(config), 12);
});

test('round robin: a 3 ms slice that a 250 Hz tick ends is 4 ms long, so the longest wait is 16 ms', async () => {
  const config = loadConfig('examples/round-robin.yaml');
  assert.is(await longestWait({ ...config, kernel: { ...config.kernel, slice_expiry: 'tick' } }), 16);
});

/** ms between two turns of a hog, at most: from the times when the five of them have run, a turn apart. */
async function longestWait(config: ConfigInput): Promise<number> {
  // A sixth task can't look on without taking part. One job per hog of so much work that its last turn is its k-th:
  // waiting times are latency − k turns, and with equal turns each of the k − 1 waits in between is as long.
  const turn = config.kernel !== undefined && JSON.stringify(config.kernel).includes('"tick"') ? 4 : 3;
  const result = await simulate({
    ...config,
    workload: {
      arrivals: Array.from({ length: 5 }, (_, i) => ({
        name: `hog${i}`,
        interarrival: '0s',
        max_arrivals: 1,
        spawn: { program: [{ run: `${2 * turn}ms` }] },
      })),
    },
    run: {},
    output: { invocations: 'all' },
  });
  const column = (name: string) => [...result.invocations!.getChild(name)!].map((ns) => Number(ns) / 1e6);
  // Two turns each: preempted once, waiting for the four others.
  assert.equal(
    column('running_ns'),
    Array.from({ length: 5 }, () => 2 * turn),
  );
  const waits = column('preempted_ns');
  assert.ok(result.classes.every(({ stint_us }) => stint_us.max === turn * 1000));
  return Math.max(...waits);
}

test.run();
