// Invocations streamed from disk through the engine's window: the same results as from memory, whatever the window.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { configFrom } from '../src/config/load.js';
import { resolveConfig } from '../src/config/resolve.js';
import { decode } from '../src/engine/decode.js';
import { encode } from '../src/engine/encode.js';
import { Simulation } from '../src/engine/simulation.js';
import {
  functionRows,
  functionsToArrow,
  type InvocationColumns,
  invocationsToArrow,
  invocationTotals,
  readTrace,
  selectFunctions,
  selectMinutes,
  type Trace,
  traceFromInvocations,
  UNKNOWN_DURATION_NS,
  writeInvocations,
} from '../src/trace/index.js';
import { selectedRows, traceFromStream } from '../src/trace/stream.js';
import { failure, folderOf } from './support/traces.js';

interface Call {
  f: number;
  start_ms: number;
  duration_ms: number | null;
}

/** Three minutes of calls of up to four functions on a grid coarse enough for equal starts; each has a duration once. */
const calls = fc
  .array(
    fc.record({
      f: fc.integer({ min: 0, max: 3 }),
      start_ms: fc.integer({ min: 0, max: 900 }).map((n) => n * 200),
      duration_ms: fc.option(fc.integer({ min: 1, max: 400 }), { freq: 4 }),
    }),
    { minLength: 1, maxLength: 120 },
  )
  .map((list): Call[] => [0, 1, 2, 3].map((f): Call => ({ f, start_ms: 0, duration_ms: 5 })).concat(list));

function columnsOfCalls(list: Call[]): InvocationColumns {
  const sorted = [...list].sort((a, b) => a.start_ms - b.start_ms);
  return {
    function_ids: ['a', 'b', 'c', 'd'],
    function_index: Uint32Array.from(sorted, ({ f }) => f),
    start_ns: BigUint64Array.from(sorted, ({ start_ms }) => BigInt(start_ms) * 1_000_000n),
    duration_ns: BigUint64Array.from(sorted, ({ duration_ms }) =>
      duration_ms === null ? UNKNOWN_DURATION_NS : BigInt(duration_ms) * 1_000_000n,
    ),
  };
}

/** The trace in memory and as a stream of the same file. */
async function both(list: Call[]): Promise<{ memory: Trace; stream: Trace }> {
  const path = join(folderOf({}), 't.arrow');
  await writeInvocations(
    traceFromInvocations(columnsOfCalls(list), { format: 'invocations', inputs: [], rules: [], steps: [] }),
    path,
  );
  const stream = await readTrace(path, { stream_above: 0 });
  assert.is(stream.invocations, undefined);
  return { memory: await readTrace(path), stream };
}

const config = (policy: string, time_scale: number) =>
  resolveConfig(
    configFrom({
      machine: 'ideal-2',
      policy,
      kernel: { watchdog_timeout: '0s' },
      workload: {
        serverless: {
          trace: 'unused.arrow',
          time_scale,
          functions: { eligible: false },
          window: { history: '0min' },
          profiles: { mapping: 'none' },
        },
      },
      output: { digest: true },
    }),
  );

function run(trace: Trace, window_rows: number, policy: string, time_scale: number, budget: number) {
  const model = encode(config(policy, time_scale), trace);
  if (model.arrivals !== undefined) model.arrivals.window_rows = window_rows;
  const simulation = new Simulation(model);
  while (!simulation.done) simulation.step(budget);
  simulation.finish();
  const { metrics, classes } = decode(simulation.memory, simulation.result(), model);
  return JSON.stringify([simulation.outcome, metrics, classes]);
}

test('results don’t depend on the window, and are those of the table in memory', async () => {
  await fc.assert(
    fc.asyncProperty(
      calls,
      fc.integer({ min: 1, max: 40 }),
      fc.constantFrom('eevdf', 'domains:2', 'global-fifo'),
      fc.constantFrom(1, 0.5),
      fc.integer({ min: 1, max: 500 }),
      async (list, window, policy, time_scale, budget) => {
        const { memory, stream } = await both(list);
        const expected = run(memory, 0, policy, time_scale, 20_000);
        assert.is(run(stream, window, policy, time_scale, budget), expected);
        assert.is(run(stream, 1 << 16, policy, time_scale, 20_000), expected);
      },
    ),
    { numRuns: 15 },
  );
});

test('a stream has the functions, counts and statistics of the table in memory', async () => {
  await fc.assert(
    fc.asyncProperty(calls, async (list) => {
      const { memory, stream } = await both(list);
      assert.equal(functionRows(stream), functionRows(memory));
      assert.equal([...invocationTotals(stream)], [...invocationTotals(memory)]);
    }),
    { numRuns: 20 },
  );
});

test('what a cell’s id is made from is the same streamed and in memory', async () => {
  await fc.assert(
    fc.asyncProperty(calls, async (list) => {
      const { memory, stream } = await both(list);
      assert.ok(Buffer.from(functionsToArrow(stream)).equals(Buffer.from(functionsToArrow(memory))));
      assert.ok(readFileSync(stream.stream!.path).equals(Buffer.from(invocationsToArrow(memory))));
    }),
    { numRuns: 10 },
  );
});

test('a selection of a stream keeps its rows only, with starts from the window’s beginning', async () => {
  const { stream } = await both([
    { f: 1, start_ms: 60_000, duration_ms: 7 },
    { f: 2, start_ms: 61_000, duration_ms: 8 },
    { f: 1, start_ms: 119_999, duration_ms: null },
    { f: 1, start_ms: 120_000, duration_ms: 9 },
  ]);
  const selected = selectMinutes(selectFunctions(stream, { ids: ['b'] }), { from: 2, minutes: 1 });
  assert.equal(
    [...selectedRows(selected.stream!)].map(({ function_index, start_ns, known }) => [
      function_index,
      start_ns,
      known,
    ]),
    [
      [0, 0, true],
      [0, 59_999e6, false],
    ],
  );
  assert.is(selected.stream!.rows, 2);
});

test('an unsorted table can’t be streamed', async () => {
  const { stream: whole } = await both([
    { f: 0, start_ms: 0, duration_ms: 5 },
    { f: 0, start_ms: 9, duration_ms: 1 },
  ]);
  const { stream, provenance } = whole;
  // The durations 5 and 1 in place of the starts.
  const batches = stream!.batches.map((batch) => ({ ...batch, start_ns: batch.duration_ns }));
  const error = await failure(() => traceFromStream({ ...stream!, batches }, provenance, 't.arrow'));
  assert.is(error.code, 'trace_unsorted');
});

test.run();
