// The bundled trace is what data/azure2019/ORIGIN.md says.

import { readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  bundledTracePath,
  functionRows,
  invocationTotals,
  isEligible,
  readTrace,
  summarizeFunctions,
  summarizeTrace,
} from '../src/trace/index.js';
import { failure } from './support/traces.js';

test('28 functions, 480 minutes from 480, 27,023 invocations, nothing dropped', async () => {
  const summary = summarizeTrace(await readTrace('azure2019-28'));
  assert.is(summary.functions, 28);
  assert.is(summary.intervals, 480);
  assert.is(summary.first_minute, 480);
  assert.is(summary.last_minute, 959);
  assert.is(summary.invocations, 27_023);
  assert.is(summary.functions_without_durations, 0);
  assert.ok(summary.provenance.inputs.every(({ rows_dropped }) => rows_dropped === 0));
  const origin = readFileSync('data/azure2019/ORIGIN.md', 'utf8');
  assert.match(origin, '27,023 invocations');
  assert.match(origin, 'CC-BY 4.0');
});

test('every function fits the rule of its selection', async () => {
  const trace = await readTrace('azure2019-28');
  const totals = invocationTotals(trace);
  functionRows(trace).forEach((row, i) => {
    assert.ok(isEligible(row, totals[i]), row.function_id);
  });
  for (const row of summarizeFunctions(trace)) {
    assert.ok(row.mean_ms !== null && row.mean_ms <= 3000);
    assert.ok(row.offered_share <= 0.25);
  }
});

test('every row is in all three tables, so invocations of the trace have durations and memory', async () => {
  for (const row of functionRows(await readTrace('azure2019-28'))) {
    assert.ok(row.duration_average_ms !== null && row.memory_mb !== null, row.function_id);
  }
});

test('bundled traces are known by name', async () => {
  assert.match(bundledTracePath('azure2019-28'), /data.azure2019$/);
  const error = await failure(() => bundledTracePath('azure2019-82'));
  assert.is(error.message, 'no bundled trace "azure2019-82"; expected "azure2019-28"?');
});

test.run();
