// Rows leave the engine between slices; one event may finish any number of jobs.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { simulate } from '../src/index.js';

test('20 000 jobs that finish in one event leave 20 000 rows', async () => {
  // They arrive every 50 ns until 1 ms; at 2 ms one task takes them all without using the CPU.
  const { invocations, metrics } = await simulate({
    machine: 'ideal-1',
    policy: 'global-fifo',
    output: { invocations: 'all' },
    run: { horizon: '1ms' },
    workload: {
      queues: [{ name: 'q' }],
      arrivals: [{ name: 'jobs', interarrival: '50ns', queue: 'q' }],
      tasks: [
        {
          name: 'server',
          start: '2ms',
          background: true,
          program: [{ loop: { times: 'forever', do: [{ receive: 'q' }, 'finish'] } }],
        },
      ],
    },
  });
  assert.is(metrics.completed, 20_000);
  assert.is(invocations!.numRows, 20_000);
});

test.run();
