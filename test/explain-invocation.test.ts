// Where an invocation's time went: every stretch, summing to its latency to the nanosecond.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { configFrom } from '../src/config/load.js';
import { resolveConfig } from '../src/config/resolve.js';
import type { ConfigInput } from '../src/config/schema.js';
import { STATES } from '../src/engine/decode.js';
import { readTraces } from '../src/engine/simulate.js';
import { explain, simulate } from '../src/index.js';
import { failure } from './support/traces.js';

const azure = (policy: ConfigInput['policy'], offered_load: number): ConfigInput => ({
  machine: 'xeon-8160-2s',
  policy,
  workload: {
    serverless: {
      trace: 'azure2019-28',
      window: { start: '600min', length: '1min', history: '60min' },
      durations: 'lognormal',
      offered_load,
      profiles: { mapping: 'nearest-duration' },
      worker: { concurrency: 96 },
      containers: 'none',
      cold_start: { duration: { uniform: ['100ms', '300ms'] } },
    },
  },
  output: { invocations: 'all' },
});

async function rowsOf(input: ConfigInput) {
  const config = resolveConfig(configFrom(input));
  const { trace } = await readTraces(config);
  const { invocations } = await simulate(config, { trace });
  const column = (name: string) => invocations!.getChild(name)!.toArray() as BigUint64Array;
  return {
    config,
    trace,
    number: column('number'),
    latency: column('latency_ns'),
    states: STATES.map((state) => [state, column(`${state}_ns`)] as const),
  };
}

test('the states of 10,000 invocations sum to their latencies, to the nanosecond', async () => {
  let rows = 0;
  for (const policy of ['eevdf', 'domains:8'] as const) {
    const { latency, states, number } = await rowsOf(azure(policy, 1.1));
    rows += latency.length;
    latency.forEach((value, row) => {
      assert.is(
        states.reduce((sum, [, times]) => sum + times[row], 0n),
        value,
      );
    });
    // Each has a number of its own.
    assert.is(new Set(number).size, number.length);
  }
  assert.ok(rows >= 10_000, String(rows));
});

test('the stretches of an explanation follow each other, sum to the latency, and by state to the row', async () => {
  for (const policy of ['eevdf', 'domains:8'] as const) {
    const { config, trace, number, latency, states } = await rowsOf(azure(policy, 1.1));
    const step = Math.floor(number.length / 6);
    for (let row = 0; row < number.length; row += step) {
      const { intervals, latency_ns, finished } = await explain(config, Number(number[row]), { trace });
      const control = intervals.filter(({ state }) => state === 'control');
      for (const { control_ran_ns = -1, length_ns } of control) {
        assert.ok(control_ran_ns >= 0 && control_ran_ns <= length_ns);
      }
      assert.ok(control.some(({ control_ran_ns = 0 }) => control_ran_ns > 0));
      assert.ok(finished);
      assert.is(latency_ns, Number(latency[row]));
      let at = 0;
      const sums = new Map<string, number>();
      for (const { state, from_ns, length_ns } of intervals) {
        assert.is(from_ns, at);
        at += length_ns;
        sums.set(state, (sums.get(state) ?? 0) + length_ns);
      }
      assert.is(at, latency_ns);
      for (const [state, times] of states) assert.is(sums.get(state) ?? 0, Number(times[row]), state);
    }
  }
});

test('who was served before it, and from which queue', async () => {
  // One CPU, first in first out: the third waits for the other two, 10 ms each. The policy's shared queue is DSQ 0.
  const config: ConfigInput = {
    machine: 'ideal-1',
    policy: { name: 'global-fifo', slice: '1s' },
    workload: {
      arrivals: [
        { name: 'job', interarrival: '1ms', max_arrivals: 3, spawn: { program: [{ run: '10ms' }] } },
      ],
    },
  };
  const { intervals, ...rest } = await explain(config, 3);
  // Arrivals at 1, 2 and 3 ms: runs from 21 to 31.
  assert.equal(rest, { number: 3, class: 'job', arrival_ns: 3e6, latency_ns: 28e6, finished: true });
  assert.equal(
    intervals.map(({ state, length_ns, queues, behind }) => ({ state, length_ns, queues, behind })),
    [
      { state: 'run_queue', length_ns: 18e6, queues: ['DSQ 0', 'local DSQ of CPU 0'], behind: { job: 1 } },
      { state: 'running', length_ns: 10e6, queues: [], behind: {} },
    ],
  );
});

test('what is still in the system at the end is explained up to it', async () => {
  const config: ConfigInput = {
    machine: 'ideal-1',
    policy: { name: 'global-fifo', slice: '1s' },
    workload: {
      arrivals: [{ name: 'job', interarrival: '10ms', max_arrivals: 1, spawn: { program: [{ run: '1s' }] } }],
      tasks: [{ name: 'clock', background: true, program: [{ sleep: '30ms' }, { run: '1us' }] }],
    },
    run: { end: 'horizon', horizon: '30ms' },
  };
  const { finished, latency_ns, intervals } = await explain(config, 1);
  assert.not.ok(finished);
  // Arrived at 10 ms; the last event is the clock's, at 30.
  assert.is(latency_ns, 20e6);
  assert.is(
    intervals.reduce((sum, { length_ns }) => sum + length_ns, 0),
    20e6,
  );
});

test('an invocation that there is not', async () => {
  const error = await failure(() => explain(azure('eevdf', 0.1), 10_000_000));
  assert.is(error.code, 'invocation');
});

test.run();
