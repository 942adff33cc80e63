// Waits of programs and what ends them: a wait is ended by its own cause only, and a family outlives no record.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { ConfigInput } from '../src/config/schema.js';
import { simulate } from '../src/engine/simulate.js';

function run(workload: ConfigInput['workload']) {
  return simulate({
    machine: 'ideal-4',
    policy: 'global-fifo',
    kernel: { watchdog_timeout: '0s' },
    workload,
    output: { invocations: 'all' },
  });
}

const child = { fork: { count: 1, program: [{ run: '5ms' }] } };

test('the last child’s end does not end a block that a join follows', async () => {
  // Woken at 50 ms, the child has long gone, 1 ms to run.
  const { metrics } = await run({
    tasks: [
      { name: 'parent', program: [child, 'block', { join: 'sleep' }, { run: '1ms' }] },
      { name: 'other', program: [{ sleep: '50ms' }, { wake: 'parent' }] },
    ],
  });
  assert.is(metrics.duration_s, 0.051);
});

test('nor a poll for an event', async () => {
  const { metrics } = await run({
    events: [{ name: 'ready' }],
    tasks: [
      { name: 'parent', program: [child, { spin_until: 'ready' }, { join: 'sleep' }, { run: '1ms' }] },
      { name: 'other', program: [{ sleep: '50ms' }, { signal: 'ready' }] },
    ],
  });
  assert.is(metrics.duration_s, 0.051);
  assert.is(metrics.polling_s, 0.05);
});

test('a wake ends a block, not the wait for a job; it is kept for the next block', async () => {
  const { metrics, outcome } = await run({
    queues: [{ name: 'requests' }],
    tasks: [
      {
        name: 'server',
        background: true,
        program: [{ loop: { times: 'forever', do: [{ receive: 'requests' }, { run: '1ms' }, 'finish'] } }],
      },
      { name: 'other', program: [{ sleep: '5ms' }, { wake: 'server' }] },
      { name: 'late', program: [{ sleep: '10ms' }, 'block', { run: '1ms' }] },
      { name: 'early', program: [{ wake: 'late' }] },
    ],
    arrivals: [{ name: 'jobs', interarrival: '20ms', max_arrivals: 3, queue: 'requests' }],
  });
  assert.is(outcome, 'completed');
  assert.is(metrics.completed, 3);
  assert.is(metrics.latency_ms.max, 1);
});

test('a wake for a task that has ended does not reach the one that took over its record', async () => {
  const { outcome } = await run({
    tasks: [
      { name: 'gone', program: [{ run: '1ms' }] },
      {
        name: 'forker',
        program: [{ sleep: '2ms' }, { fork: { count: 1, program: ['block'] } }, { join: 'sleep' }],
      },
      { name: 'waker', program: [{ sleep: '5ms' }, { wake: 'gone' }] },
    ],
  });
  assert.is(outcome, 'deadlocked', 'the child blocks for ever');
});

test('a job is charged for the children it waits for, not for those it left behind', async () => {
  // Each job takes .1 ms; the child runs on for 3 ms while later jobs come and go.
  const { metrics, outcome } = await run({
    arrivals: [
      {
        name: 'jobs',
        interarrival: '1ms',
        max_arrivals: 50,
        spawn: { program: [{ fork: { count: 1, program: [{ run: '3ms' }] } }, { run: '100us' }] },
      },
    ],
  });
  assert.is(outcome, 'completed');
  assert.ok(Math.abs(metrics.cpu_ms - 0.2) < 0.1001, `${metrics.cpu_ms}`);
});

test('children whose parent has ended don’t end the joins of whoever got its record', async () => {
  // The parent ends at 0, its children at 5 ms; the late family takes over its record and joins at 21 ms.
  const { metrics } = await run({
    tasks: [
      { name: 'parent', program: [{ fork: { count: 2, program: [{ run: '5ms' }] } }] },
      {
        name: 'root',
        program: [
          { sleep: '1ms' },
          {
            fork: {
              count: 1,
              program: [
                { fork: { count: 1, program: [{ run: '20ms' }] } },
                { join: 'sleep' },
                { run: '1ms' },
              ],
            },
          },
          { join: 'sleep' },
        ],
      },
    ],
  });
  assert.is(metrics.duration_s, 0.022);
});

test('families inside families have barriers of their own', async () => {
  // Two children with two children each; the outer barrier opens when the root arrives after 50 ms.
  const { metrics, outcome } = await run({
    tasks: [
      {
        name: 'root',
        program: [
          {
            fork: {
              count: 2,
              program: [
                { fork: { count: 2, program: [{ run: '1ms' }, { barrier: 'family' }] } },
                { barrier: 'family' },
                { join: 'sleep' },
                { barrier: 'family' },
                { run: '1ms' },
              ],
            },
          },
          { sleep: '50ms' },
          { barrier: 'family' },
          { join: 'sleep' },
        ],
      },
    ],
  });
  assert.is(outcome, 'completed');
  assert.is(metrics.duration_s, 0.051);
});

test('forks without joins don’t use up the barriers', async () => {
  const { outcome } = await run({
    tasks: [
      {
        name: 'root',
        program: [
          {
            loop: {
              times: 70_000,
              do: [{ fork: { count: 1, program: [{ run: '1us' }] } }, { sleep: '10us' }],
            },
          },
        ],
      },
    ],
  });
  assert.is(outcome, 'completed');
});

test('a queue holds as many waiting jobs as its capacity; others are dropped and counted', async () => {
  // One is served for 10 ms from 1 ms on, two wait, arrivals at 4, …, 10 ms find the queue full; at 11 ms one place is
  // free again, taken by the arrival at 11 ms before the completion frees it? Arrivals come first at equal times, so
  // it is dropped, the one at 12 ms is kept: of 20 jobs 1, 2, 3 and 12 are served, at 11, 21, 31 and 41 ms.
  const { metrics, invocations } = await run({
    queues: [{ name: 'requests', capacity: 2 }],
    tasks: [
      {
        name: 'server',
        background: true,
        program: [{ loop: { times: 'forever', do: [{ receive: 'requests' }, { run: '10ms' }, 'finish'] } }],
      },
    ],
    arrivals: [{ name: 'jobs', interarrival: '1ms', max_arrivals: 20, queue: 'requests' }],
  });
  assert.equal([metrics.completed, metrics.dropped], [4, 16]);
  assert.equal(
    [...invocations!.getChild('arrival_ns')!].map((ns) => Number(ns) / 1e6),
    [1, 2, 3, 12],
  );
  assert.is(metrics.duration_s, 0.041);
});

test('a full second queue drops jobs that are already in the system', async () => {
  const server = (from: string, time: string, then: 'finish' | { send: string }) => ({
    background: true,
    program: [{ loop: { times: 'forever' as const, do: [{ receive: from }, { run: time }, then] } }],
  });
  const { metrics, outcome, classes } = await run({
    queues: [{ name: 'first' }, { name: 'second', capacity: 1 }],
    tasks: [
      { name: 'fast', ...server('first', '1ms', { send: 'second' }) },
      { name: 'slow', ...server('second', '10ms', 'finish') },
    ],
    arrivals: [{ name: 'jobs', interarrival: '1ms', max_arrivals: 10, queue: 'first' }],
  });
  // Sent at 2, 3, …, 11 ms: the first is served to 12 ms, the second waits, the other eight find it waiting.
  assert.is(outcome, 'completed');
  assert.equal([metrics.completed, metrics.dropped, metrics.in_system], [2, 8, 0]);
  assert.is(classes.find(({ name }) => name === 'jobs')!.dropped, 8);
  assert.is(metrics.duration_s, 0.022);
});

test('a client whose request is refused thinks and comes again', async () => {
  // Three clients, one CPU for their requests, two of these in the system at most.
  const { metrics, outcome } = await run({
    arrivals: [
      {
        name: 'clients',
        clients: 3,
        limit: 2,
        think: '1ms',
        max_arrivals: 100,
        spawn: { cpus: '0', program: [{ run: '2ms' }] },
      },
    ],
  });
  assert.is(outcome, 'completed');
  assert.is(metrics.arrived, 100);
  assert.is(metrics.completed + metrics.dropped, 100);
  assert.ok(metrics.dropped > 10, `${metrics.dropped}`);
});

test('what begins later than an event key reaches (19.5 h) begins on time', async () => {
  const { invocations } = await run({
    tasks: [{ name: 'sleeper', program: [{ sleep: '47h' }, { run: '1h' }] }],
    arrivals: [
      {
        name: 'late',
        interarrival: '0s',
        start: '48h',
        max_arrivals: 1,
        spawn: { program: [{ run: '1ms' }] },
      },
      { name: 'clients', clients: 1, think: '25h', max_arrivals: 2, spawn: { program: [{ run: '1ms' }] } },
    ],
  });
  const hour = 3600_000_000_000;
  assert.equal([...invocations!.getChild('arrival_ns')!].map(Number), [
    25 * hour,
    48 * hour,
    50 * hour + 1_000_000,
  ]);
});

test.run();
