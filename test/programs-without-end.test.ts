// Programs without end: those in which no time passes any more end as stalled, those that grow by an error.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type ConfigInput, simulate, VtimeError } from '../src/index.js';

type Tasks = NonNullable<ConfigInput['workload']>['tasks'];

async function assertStalls(tasks: Tasks, policy: string): Promise<void> {
  const { outcome, reason, metrics } = await simulate({
    machine: 'ideal-2',
    policy,
    run: { end: 'horizon', horizon: '1s' },
    workload: { tasks },
  });
  assert.is(outcome, 'stalled', policy);
  assert.is(reason?.code, 'livelock');
  assert.is(metrics.duration_s, 0);
}

test('tasks that yield for ever', async () => {
  for (const policy of ['global-fifo', 'domains']) {
    await assertStalls(
      [{ name: 'a', count: 3, program: [{ loop: { times: 'forever', do: ['yield'] } }] }],
      policy,
    );
  }
});

test('tasks that wake each other for ever without using the CPU', async () => {
  const answer = (other: string) => ({
    loop: { times: 'forever' as const, do: ['block' as const, { wake: other }] },
  });
  for (const policy of ['global-fifo', 'eevdf']) {
    await assertStalls(
      [
        { name: 'a', program: [answer('b')] },
        { name: 'b', program: [{ wake: 'a' }, answer('a')] },
      ],
      policy,
    );
  }
});

test('clients whose requests are refused and who ask again without thinking', async () => {
  // One of four gets the only place in the queue; the others find it full for ever, at 0.
  const { outcome, reason, metrics } = await simulate({
    machine: 'ideal-1',
    policy: 'global-fifo',
    run: { horizon: '10s' },
    workload: {
      queues: [{ name: 'q', capacity: 1 }],
      arrivals: [{ name: 'clients', clients: 4, think: '0s', queue: 'q' }],
      tasks: [
        {
          name: 'server',
          program: [{ loop: { times: 'forever', do: [{ receive: 'q' }, { run: '1s' }, 'finish'] } }],
        },
      ],
    },
  });
  assert.is(outcome, 'stalled');
  assert.is(metrics.duration_s, 0);
  assert.is(reason?.code, 'livelock');
  assert.match(reason!.message, 'last seen: an arrival of "clients"');
});

test('a task that sleeps for no time', async () => {
  const { outcome, reason } = await simulate({
    machine: 'ideal-1',
    policy: 'global-fifo',
    workload: { tasks: [{ name: 'a', program: [{ loop: { times: 'forever', do: [{ sleep: '0s' }] } }] }] },
    run: { end: 'horizon', horizon: '1s' },
  });
  assert.is(outcome, 'stalled');
  assert.match(reason!.message, 'last seen: task "a" (pid 1)');
  assert.is(reason!.chain![0].who, 'task "a" (pid 1)');
});

test('forks without end exceed a capacity that the error names', async () => {
  const programs = {
    bomb: [{ run: '1us' }, { fork: { count: 2, program: 'bomb' } }, { join: 'sleep' as const }],
  };
  try {
    await simulate({
      machine: 'ideal-4',
      policy: 'global-fifo',
      workload: { programs, tasks: [{ name: 'a', program: 'bomb' }] },
    });
    assert.unreachable();
  } catch (error) {
    assert.instance(error, VtimeError);
    assert.is((error as VtimeError).code, 'capacity_barriers');
  }
});

test('a job that is sent round in circles', async () => {
  const { outcome, reason } = await simulate({
    machine: 'ideal-1',
    policy: 'global-fifo',
    run: { end: 'horizon', horizon: '1s' },
    workload: {
      queues: [{ name: 'q' }],
      arrivals: [{ name: 'jobs', interarrival: '1ms', queue: 'q' }],
      tasks: [
        { name: 's', program: [{ loop: { times: 'forever', do: [{ receive: 'q' }, { send: 'q' }] } }] },
      ],
    },
  });
  assert.is(outcome, 'stalled');
  assert.match(reason!.message, '"s"');
});

test.run();
