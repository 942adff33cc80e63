// Queues lie in a region of fixed size: as many as it holds run, one more is an error that names the number.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type ConfigInput, simulate } from '../src/index.js';
import { failure } from './support/traces.js';

/** MAX_QUEUES of assembly/core/layout.ts: 4 MiB of 64 bytes each. */
const MOST = (4 << 20) / 64;

const withQueues = (count: number): ConfigInput => ({
  machine: 'ideal-2',
  policy: 'global-fifo',
  workload: {
    queues: Array.from({ length: count }, (_, i) => ({ name: `q${i}` })),
    tasks: [{ name: 'a', program: [{ run: '1ms' }] }],
  },
});

test('as many queues as there is room for', async () => {
  const { outcome, metrics } = await simulate(withQueues(MOST));
  assert.is(outcome, 'completed');
  assert.is(metrics.duration_s, 0.001);
});

test('one queue too many is refused, where it once wrote over the barriers', async () => {
  const error = await failure(() => simulate(withQueues(MOST + 1)));
  assert.is(error.code, 'capacity_queues');
  assert.is(error.exitCode, 2);
  assert.match(error.message, `more than ${MOST} queues`);
});

test.run();
