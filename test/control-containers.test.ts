// Containers: cold starts, who keeps them, and what becomes of invocations whose container does not start.

import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Call, rowsOf, serve, told } from './support/invocations.js';

const CALLS: Call[] = [
  ['a', 0, 10],
  ['a', 100, 10],
  ['a', 1000, 10],
];
const cold = { containers: 'none', cold_start: { duration: '50ms' } } as const;

test('the first invocation starts the container, the next find it warm', async () => {
  const result = await serve(CALLS, cold);
  assert.equal(told(result), ['a@0: 60', 'a@100: 10', 'a@1000: 10']);
  const [first] = rowsOf(result);
  assert.is(first.worker_ms, 10); // the call into the container, not its start
  assert.is(first.states_ns.at(-1), 50e6);
  assert.equal(result.metrics.containers, { cold_starts: 1, failures: 0, evicted: 0, prewarmed: 0 });
  assert.is(result.classes.find(({ name }) => name === 'a')?.cold_starts, 1);
});

test('as CPU work, the start competes for the CPU', async () => {
  // One CPU: a starts 0–50 and runs 50–60; b, which arrived at 1, starts 60–110 and runs 110–120.
  const calls: Call[] = [
    ['a', 0, 10],
    ['b', 1, 10],
  ];
  const cpu = { containers: 'none', cold_start: { duration: '50ms', mode: 'cpu' } } as const;
  const busy = await serve(calls, cpu, { machine: 'ideal-1' });
  assert.equal(told(busy), ['a@0: 60', 'b@1: 119']);
  assert.is(busy.cpus[0].busy_ns, 120e6);
  // As a delay the two starts overlap: a runs 50–60, b 60–70.
  const delay = await serve(calls, cold, { machine: 'ideal-1' });
  assert.equal(told(delay), ['a@0: 60', 'b@1: 69']);
});

test('keep-alive: none, for a time, forever', async () => {
  const starts = async (keep_alive: object) => {
    const { metrics } = await serve(CALLS, { ...cold, keep_alive });
    return [metrics.containers.cold_starts, metrics.containers.evicted];
  };
  assert.equal(await starts({ policy: 'none' }), [3, 3]);
  // Idle from 60 to 100 and from 110 to 1000: with 200 ms it is gone at 310. The last one is kept when the run ends.
  assert.equal(await starts({ policy: 'fixed', time: '200ms' }), [2, 1]);
  assert.equal(await starts({ policy: 'fixed', time: '1s' }), [1, 0]);
  // From 110 on it is kept to 1000 exactly: the invocation comes first (arrivals before deliveries).
  assert.equal(await starts({ policy: 'fixed', time: '890ms' }), [1, 0]);
  assert.equal(await starts({ policy: 'fixed', time: '889ms' }), [2, 1]);
});

test('a bound on containers: the least recently used idle one makes room', async () => {
  // Room for two. a, b, then c evicts a (idle since 60; b since 160). b is warm, a is cold again and evicts c.
  const calls: Call[] = [
    ['a', 0, 10],
    ['b', 100, 10],
    ['c', 200, 10],
    ['b', 300, 10],
    ['a', 400, 10],
    ['b', 500, 10],
  ];
  const { metrics } = await serve(calls, { ...cold, keep_alive: { policy: 'lru', containers: 2 } });
  assert.equal([metrics.containers.cold_starts, metrics.containers.evicted], [4, 2]);
  // The same by memory: 128 MB each where the trace doesn't say.
  const bytes = await serve(calls, { ...cold, keep_alive: { policy: 'lru', memory: '256MB' } });
  assert.equal([bytes.metrics.containers.cold_starts, bytes.metrics.containers.evicted], [4, 2]);
});

test('no room and nothing idle: the head of the queue waits for a container to come free', async () => {
  // Room for one: a starts 0–50, runs 50–60; b waits, evicts it at 60, starts until 110, ends at 120.
  const calls: Call[] = [
    ['a', 0, 10],
    ['b', 5, 10],
  ];
  const result = await serve(calls, { ...cold, keep_alive: { policy: 'lru', containers: 1 } });
  assert.equal(told(result), ['a@0: 60', 'b@5: 115']);
});

test('a start that fails drops its invocation; permit and domain come back', async () => {
  const domains = { machine: 'ideal-4', policy: { name: 'domains', domains: 4, slice: '1000s' } } as const;
  const { metrics } = await serve(
    CALLS,
    {
      ...cold,
      cold_start: { duration: '50ms', failure: 1 },
      worker: { concurrency: 1 },
      assignment: { policy: 'iatchbl-as-coded' },
    },
    domains,
  );
  // With one permit and one CPU a domain, the later ones could not have started had anything been kept.
  assert.equal([metrics.completed, metrics.dropped, metrics.in_system], [0, 3, 0]);
  assert.equal(metrics.containers, { cold_starts: 3, failures: 3, evicted: 0, prewarmed: 0 });
});

test('hybrid histogram: what comes every two seconds is unloaded and started just before', async () => {
  // 30 invocations 2 s apart, 10 ms each. Idle times: 2000 − 60 ms after the cold start, then 1990. Bins of 100 ms: bin 19
  // for all. The first 10 are kept for the fixed time of 10 s. From then on (seen: 10 when the 11th ends) the container is
  // unloaded at once, started again 1.9 s later, ready 50 ms after, 40 ms before the next: 19 more, none of them cold. The
  // last prewarm is still to come when the run ends.
  const calls = Array.from({ length: 30 }, (_, i): Call => ['a', 2000 * i, 10]);
  const { metrics } = await serve(calls, {
    ...cold,
    keep_alive: { policy: 'histogram', time: '10s', bin: '100ms' },
  });
  assert.equal(metrics.containers, { cold_starts: 1, failures: 0, evicted: 20, prewarmed: 19 });
  assert.is(metrics.latency_ms.max, 60);
});

test('server masters of evicted containers stop, those of new ones run', async () => {
  // Two invocations 100 s apart, kept for 1 s: the master runs 100 µs about once a second while a container exists.
  const calls: Call[] = [
    ['a', 0, 10],
    ['a', 100_000, 10],
    ['a', 103_000, 10],
  ];
  const masters = async (keep_alive: object) => {
    const { classes } = await serve(calls, { ...cold, keep_alive, server_master: true });
    return classes.find(({ kind }) => kind === 'server-masters')!.stint_us.count;
  };
  const kept = await masters({ policy: 'forever' });
  assert.ok(kept > 95 && kept < 115, String(kept));
  const parked = await masters({ policy: 'fixed', time: '1s' });
  assert.ok(parked <= 6, String(parked));
});

test('whatever the control plane does, the books balance', async () => {
  // The engine itself checks arrived = completed + dropped + timed out + in system, Little's law, the states of every job,
  // CPU time, and that permits, CPUs of domains and queue slots are held by the jobs that are left.
  const call = fc.tuple(
    fc.constantFrom('a', 'b', 'c'),
    fc.integer({ min: 0, max: 3000 }),
    fc.integer({ min: 1, max: 300 }),
  );
  const assignment = fc.constantFrom(
    'iatchbl',
    'iatchbl-as-coded',
    'consistent-hash',
    'least-running',
    'guardrails',
    'first-fit',
    'random',
    'static',
  );
  const keep = fc.oneof(
    fc.constant({ policy: 'none' as const }),
    fc.record({ policy: fc.constant('fixed' as const), time: fc.constantFrom('10ms', '200ms') }),
    fc.record({ policy: fc.constant('lru' as const), containers: fc.integer({ min: 1, max: 3 }) }),
    fc.record({
      policy: fc.constant('histogram' as const),
      time: fc.constant('300ms'),
      bin: fc.constantFrom('5ms', '50ms'),
    }),
  );
  const property = fc.asyncProperty(
    fc.array(call, { minLength: 1, maxLength: 60 }),
    assignment,
    keep,
    fc.record({
      queue: fc.constantFrom('fcfs', 'shortest-expected', 'earliest-deadline', 'smallest-iat', 'cold-last'),
      concurrency: fc.integer({ min: 1, max: 5 }),
      queue_limit: fc.integer({ min: 1, max: 10 }),
      bypass: fc.constantFrom('1ms', '50ms'),
    }),
    fc.record({
      mode: fc.constantFrom('delay', 'cpu'),
      failure: fc.constantFrom(0, 0.3),
      duration: fc.constantFrom('0s', '30ms'),
    }),
    fc.constantFrom('20ms', '400ms', '1h'),
    async (calls, policy, keep_alive, worker, cold_start, timeout) => {
      const { metrics, ...rest } = await serve(
        calls,
        {
          containers: 'none',
          assignment: { policy } as { policy: 'random' },
          keep_alive,
          worker: worker as { queue: 'fcfs' },
          cold_start: cold_start as { mode: 'cpu' },
          timeout,
          server_master: true,
        },
        { policy: { name: 'domains', domains: 2, slice: '3ms' } },
      );
      assert.is(metrics.arrived, calls.length);
      assert.is(metrics.in_system, 0);
      assert.is(metrics.completed + metrics.dropped + metrics.timed_out, calls.length);
      for (const { latency_ns, states_ns } of rowsOf({ metrics, ...rest })) {
        assert.is(
          states_ns.reduce((a, b) => a + b),
          latency_ns,
        );
      }
    },
  );
  await fc.assert(property, { numRuns: 60 });
});

test.run();
