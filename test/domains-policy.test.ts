// The paper's scheduler on schedules worked out by hand: Algorithm 1 (virtual time), Algorithm 2 (queues and stealing),
// Algorithm 3 (IATCHBL) from the arrival of an invocation to its end. ideal-N: exact slices of 3 ms, no costs.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { ConfigInput } from '../src/config/schema.js';
import { simulate } from '../src/engine/simulate.js';
import { traceFromInvocations } from '../src/trace/index.js';
import type { SimulationResult } from '../src/types.js';

type Sources = NonNullable<ConfigInput['workload']['arrivals']>;

/** One job of `run` at `start`. */
function job(name: string, start: string, run: string, domain: number | 'none' = 0): Sources[number] {
  return { name, interarrival: '0s', start, max_arrivals: 1, spawn: { program: [{ run }], domain } };
}

/** Names of the jobs in order of completion, with the ms at which each ends. */
function endings({ invocations }: SimulationResult): [string, number][] {
  const column = (name: string) => [...invocations!.getChild(name)!];
  const arrival = column('arrival_ns').map(Number);
  const latency = column('latency_ns').map(Number);
  return column('class').map((name, i) => [String(name), (arrival[i] + latency[i]) / 1e6]);
}

function vtimeScenario(reset_every: number): ConfigInput {
  return {
    machine: 'ideal-1',
    policy: { name: 'domains', domains: 1, reset_every },
    workload: { arrivals: [job('a', '0s', '30ms'), job('b', '0s', '30ms'), job('c', '10ms', '3ms')] },
    output: { invocations: 'all' },
  };
}

test('Algorithm 1: between resets vtime grows by the CPU time of the last stint', async () => {
  // ms:  0–3 a · 3–6 b · 6–9 a · 9–12 b · 12–15 a · 15–18 b · 18–21 a · 21–24 b · 24–27 c
  // vtime of a when it stops at 3, 9, 15, 21: 3, 6, 9, 12, of b at 6, 12, 18, 24: the same. c comes at 10 with
  // vtime 10: a and b with 6 and 9 stay ahead of it, with 12 they don't.
  const result = await simulate(vtimeScenario(1000));
  assert.equal(endings(result)[0], ['c', 27]);
});

test('Algorithm 1: every n-th enqueue sets vtime to now', async () => {
  // n = 1: vtime is the time of the enqueue, that is first in, first out. At 10 ms b runs and a waits since 9:
  // 9–12 b · 12–15 a · 15–18 c.
  assert.equal(endings(await simulate(vtimeScenario(1)))[0], ['c', 18]);
  // n = 3: enqueues 0, 3, 6, … reset. a: enqueue 1 at 3 (vtime 3), 2 at 9 (6), 3 at 15 (reset: 15); b: 3 at 6, 6 at 12,
  // reset to 18 at 18. Queue at 15: b 6, c 10, a 15 → 15–18 b · 18–21 c.
  assert.equal(endings(await simulate(vtimeScenario(3)))[0], ['c', 21]);
});

/** CPU d is domain d, all busy for good but CPU 2, which is free from 10 ms on. */
function stealScenario(steal: 'neighbours' | 'none', jobs: Sources): ConfigInput {
  return {
    machine: 'ideal-5',
    policy: { name: 'domains', domains: 5, slice: '1h', steal },
    workload: {
      tasks: [0, 1, 2, 3, 4].map((d) => ({
        name: `hog${d}`,
        cpus: String(d),
        domain: d,
        program: [{ run: d === 2 ? '10ms' : '1s' }],
      })),
      arrivals: jobs,
    },
    output: { invocations: 'all' },
  };
}

test('Algorithm 2: a free CPU steals from domains −1, +1, −2, +2', async () => {
  const jobs = [4, 0, 3, 1].map((d, i) => job(`of${d}`, `${i + 1}ms`, '1ms', d));
  const result = await simulate(stealScenario('neighbours', jobs));
  assert.equal(endings(result), [
    ['of1', 11],
    ['of3', 12],
    ['of0', 13],
    ['of4', 14],
  ]);
  assert.is(result.metrics.steals, 4);
});

test('Algorithm 2: own domain first, then unmapped tasks from the global DSQ, then the neighbours', async () => {
  const jobs = [
    job('of1', '1ms', '1ms', 1),
    job('unmapped', '2ms', '1ms', 'none'),
    job('own', '3ms', '1ms', 2),
  ];
  assert.equal(endings(await simulate(stealScenario('neighbours', jobs))), [
    ['own', 11],
    ['unmapped', 12],
    ['of1', 13],
  ]);
});

test('without stealing a domain is served by its own CPUs only', async () => {
  const jobs = [job('of1', '1ms', '1ms', 1), job('unmapped', '2ms', '1ms', 'none')];
  // CPU 1 is free after its hog's second.
  assert.equal(endings(await simulate(stealScenario('none', jobs))), [
    ['unmapped', 11],
    ['of1', 1001],
  ]);
});

/** Six calls of 100 ms at once, twice, a minute apart; the functions by name. */
async function waves(assignment: object, functions: readonly string[]): Promise<(number | undefined)[][]> {
  const calls = [0n, 60_000_000_000n].flatMap((start) => functions.map((id) => ({ start, id })));
  const ids = [...new Set(functions)];
  const trace = traceFromInvocations(
    {
      function_ids: ids,
      function_index: Uint32Array.from(calls, ({ id }) => ids.indexOf(id)),
      start_ns: BigUint64Array.from(calls, ({ start }) => start),
      duration_ns: BigUint64Array.from(calls, () => 100_000_000n),
    },
    { format: 'memory', inputs: [], rules: [], steps: [] },
  );
  const { invocations } = await simulate(
    {
      machine: 'ideal-4',
      policy: 'domains:2',
      workload: {
        serverless: {
          trace: 'by-hand.arrow',
          functions: { eligible: false },
          durations: 'average',
          containers: 6,
          assignment,
          worker: { concurrency: 'unlimited', before: '0s', after: '0s' },
          server_master: false,
          pollers: { share: 0 },
        },
      },
      output: { invocations: 'all' },
    },
    { trace },
  );
  const column = (name: string) => [...invocations!.getChild(name)!].map(Number);
  const domain = column('domain');
  const rows = column('arrival_ns').map((arrival, i) => ({
    arrival,
    ordinal: column('ordinal')[i],
    domain: domain[i],
  }));
  return [0, 60e9].map((start) =>
    rows
      .filter(({ arrival }) => arrival === start)
      .sort((a, b) => a.ordinal - b.ordinal)
      .map((row) => (row.domain === 0xffffffff ? undefined : row.domain)),
  );
}

const same = ['f', 'f', 'f', 'f', 'f', 'f'];

test('Algorithm 3: the bucket’s domains while they have CPUs, then all, then none; a drained system starts anew', async () => {
  // Two domains of two CPUs: the first two fit domain 0, the next two domain 1, which joins the bucket's set; for the last
  // two no domain has a CPU left: they run unmapped. With one bucket for all IATs the second wave finds the set {0, 1}
  // and free domains: the same again.
  const expected = [0, 0, 1, 1, undefined, undefined];
  const policy = { policy: 'iatchbl', bucket_size: '1h' };
  assert.equal(await waves(policy, same), [expected, expected]);
});

test('Algorithm 3 with on_full: wait: the head of the FIFO gets the first CPU that is released', async () => {
  // The four running calls end together after 100 ms; the CPUs of domain 0 are returned first.
  const policy = { policy: 'iatchbl', bucket_size: '1h', on_full: 'wait' };
  const expected = [0, 0, 1, 1, 0, 0];
  assert.equal(await waves(policy, same), [expected, expected]);
});

test('round robin takes the domains in turn; a function’s hash is its domain', async () => {
  assert.equal(await waves({ policy: 'round-robin' }, same), [
    [0, 1, 0, 1, 0, 1],
    [0, 1, 0, 1, 0, 1],
  ]);
  const [first, second] = await waves({ policy: 'function-hash' }, same);
  assert.equal(new Set(first).size, 1);
  assert.equal(second, first);
});

test('sched-ext/scx#755, #1678: a task waits for no busy CPU while an idle one that it may use is there', async () => {
  // b ran on CPU 5, where a hog has begun meanwhile; it may also use CPU 6. The lowest idle CPUs, 0 and on, are not for it.
  const policies: ConfigInput['policy'][] = [
    { name: 'global-fifo', slice: '1h' },
    { name: 'percpu-fifo', slice: '1h' },
    { name: 'global-vtime', slice: '1h' },
    { name: 'domains', slice: '1h' },
    { name: 'weighted-vtime', slice: '1h' },
  ];
  for (const policy of policies) {
    const { classes } = await simulate({
      machine: 'ideal-8',
      policy,
      kernel: { watchdog_timeout: '0s' },
      workload: {
        tasks: [
          { name: 'hog', cpus: '5', start: '15ms', program: [{ run: '1s' }] },
          { name: 'b', cpus: '5-6', program: [{ run: '10ms' }, { sleep: '10ms' }, { run: '10ms' }] },
        ],
      },
    });
    assert.is(classes.find((task) => task.name === 'b')!.wake_latency_us.max, 0, JSON.stringify(policy));
  }
  // Pinned to the idle CPU 5, which is in another domain than the task.
  for (const policy of ['domains:2', 'weighted-vtime:2']) {
    const { metrics } = await simulate({
      machine: 'ideal-8',
      policy,
      workload: {
        tasks: [{ name: 'pinned', cpus: '5', domain: 0, program: [{ sleep: '1ms' }, { run: '1ms' }] }],
      },
    });
    assert.is(metrics.wake_latency_us.max, 0, policy);
  }
});

test.run();
