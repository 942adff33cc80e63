// Azure 2019 as it really is: every header variant of the public copies, every quirk of the real data.

import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  countsMatrix,
  functionRows,
  invocationTotals,
  meanInterArrivalNs,
  readTrace,
  traceShape,
} from '../src/trace/index.js';
import { DURATION_HEADER, folderOf, ruleCount } from './support/traces.js';

const read = (files: Record<string, string | Buffer>) => readTrace(folderOf(files));

test('the three tables of a day are joined by owner, app and function', async () => {
  const trace = await read({
    'invocations_per_function_md.anon.d01.csv':
      'HashOwner,HashApp,HashFunction,Trigger,1,2,3\no,a,f,http,1,2,3\no,b,f,timer,0,4,0\n',
    // HashFunction f occurs in both apps: only the three keys together are unique.
    'function_durations_percentiles.anon.d01.csv': `${DURATION_HEADER}\no,b,f,20,4,10,30,11,12,13,14,15,16,17\no,a,f,2,6,1,3,1,1,1,2,2,3,3\n`,
    'app_memory_percentiles.anon.d01.csv':
      'HashOwner,HashApp,SampleCount,AverageAllocatedMb,AverageAllocatedMb_pct1\no,a,10,128,100\no,b,10,256.5,100\n',
  });
  const [first, second] = functionRows(trace);
  assert.equal(traceShape(trace), { interval_ns: 60e9, first_minute: 1, intervals: 3 });
  assert.equal([...countsMatrix(trace)], [1, 2, 3, 0, 4, 0]);
  assert.equal(first, {
    function_id: 'o/a/f',
    owner: 'o',
    app: 'a',
    function: 'f',
    trigger: 'http',
    duration_average_ms: 2,
    duration_minimum_ms: 1,
    duration_maximum_ms: 3,
    duration_p0_ms: 1,
    duration_p1_ms: 1,
    duration_p25_ms: 1,
    duration_p50_ms: 2,
    duration_p75_ms: 2,
    duration_p99_ms: 3,
    duration_p100_ms: 3,
    duration_count: 6,
    memory_mb: 128,
  });
  assert.is(second.duration_p99_ms, 16);
  assert.is(second.memory_mb, 256.5);
  assert.equal(
    trace.provenance.inputs.map(({ kind, rows_read, rows_kept }) => [kind, rows_read, rows_kept]),
    [
      ['invocations', 2, 2],
      ['durations', 2, 2],
      ['memory', 2, 2],
    ],
  );
  // sha256 of "HashOwner,…" is that of the file's bytes: 64 hex digits.
  for (const { sha256 } of trace.provenance.inputs) assert.match(sha256, /^[0-9a-f]{64}$/);
});

test('headers may start at minute 480', async () => {
  const trace = await read({ 'i.csv': 'HashOwner,HashApp,HashFunction,Trigger,480,481\no,a,f,http,7,9\n' });
  assert.equal(traceShape(trace), { interval_ns: 60e9, first_minute: 480, intervals: 2 });
  assert.equal([...countsMatrix(trace)], [7, 9]);
});

test('values follow the names of their columns, in any order', async () => {
  const trace = await read({
    'i.csv': '3,HashFunction,1,Trigger,HashApp,2,HashOwner\n30,f,10,queue,a,20,o\n',
    'd.csv':
      'percentile_Average_100,percentile_Average_99,percentile_Average_75,percentile_Average_50,' +
      'percentile_Average_25,percentile_Average_1,percentile_Average_0,Maximum,Minimum,Count,Average,HashFunction,HashApp,HashOwner\n' +
      '100,99,75,50,25,1,0,200,0.5,60,33,f,a,o\n',
  });
  const [row] = functionRows(trace);
  assert.is(row.function_id, 'o/a/f');
  assert.is(row.trigger, 'queue');
  assert.equal([...countsMatrix(trace)], [10, 20, 30]);
  assert.equal(
    [row.duration_p0_ms, row.duration_p25_ms, row.duration_p100_ms, row.duration_maximum_ms],
    [0, 25, 100, 200],
  );
  assert.is(row.duration_average_ms, 33);
});

test('HashFunction first, minutes called minute_1, no Trigger', async () => {
  const trace = await read({ 'i.csv': 'HashFunction,HashOwner,HashApp,minute_1,minute_2\nf,o,a,1,2\n' });
  assert.is(functionRows(trace)[0].function_id, 'o/a/f');
  assert.is(functionRows(trace)[0].trigger, null);
  assert.equal([...countsMatrix(trace)], [1, 2]);
  assert.is(ruleCount(trace, 'header.no-trigger'), 1);
});

test('memory may be stated per function', async () => {
  const trace = await read({
    'i.csv': 'HashOwner,HashApp,HashFunction,1\no,a,f,1\no,a,g,1\n',
    'm.csv': 'HashFunction,HashOwner,HashApp,SampleCount,AverageAllocatedMb\ng,o,a,3,64\n',
  });
  assert.equal(
    functionRows(trace).map(({ memory_mb }) => memory_mb),
    [null, 64],
  );
  assert.is(ruleCount(trace, 'memory.per-function'), 1);
  assert.is(ruleCount(trace, 'memory.missing'), 1);
});

test('byte order mark, CRLF, quotes, blanks around names and blank lines change nothing', async () => {
  const plain = await read({
    'i.csv': 'HashOwner,HashApp,HashFunction,Trigger,1,2\no,a,f,http,1,2\no,a,"g,""h""",http,3,4\n',
  });
  const odd = await read({
    'i.csv':
      '\ufeff"HashOwner", HashApp,HashFunction ,Trigger,"1",2\r\no,a,f,http, 1,"2"\r\n\r\n"o",a,"g,""h""",http,3,4\r\n\r\n\n',
  });
  assert.equal(functionRows(odd), functionRows(plain));
  assert.is(functionRows(odd)[1].function, 'g,"h"');
  assert.equal([...countsMatrix(odd)], [1, 2, 3, 4]);
  assert.is(ruleCount(odd, 'lines.blank'), 3);
});

test('the last line needs no line break', async () => {
  const trace = await read({ 'i.csv': 'HashOwner,HashApp,HashFunction,1\no,a,f,5' });
  assert.equal([...invocationTotals(trace)], [5]);
});

test('rows longer than the read buffer, and rows across its edge, are whole', async () => {
  // 3000 rows of 1440 minutes are about 10 MB, ten times the buffer.
  const minutes = Array.from({ length: 1440 }, (_, i) => i + 1);
  const row = (n: number) => `o,a,f${n},http,${minutes.map((m) => (m * (n + 1)) % 997).join(',')}`;
  const text = [`HashOwner,HashApp,HashFunction,Trigger,${minutes.join(',')}`];
  for (let n = 0; n < 3000; n++) text.push(row(n));
  // One row with a key of 1.5 MB: longer than the buffer.
  text.push(`${'o'.repeat(1_500_000)},a,f,http,${minutes.map(() => 1).join(',')}`);
  const trace = await read({ 'i.csv': `${text.join('\n')}\n` });
  assert.is(trace.functions.numRows, 3001);
  const counts = countsMatrix(trace);
  for (const n of [0, 1, 1234, 2999]) {
    for (const m of [1, 700, 1440]) assert.is(counts[n * 1440 + m - 1], (m * (n + 1)) % 997);
  }
  assert.is(invocationTotals(trace)[3000], 1440);
});

test('the sum of the minutes is the number of invocations, whatever Count and Average say', async () => {
  // invitro#278, #70: average 0, and exactly N arrivals.
  const minutes = Array.from({ length: 1440 }, (_, i) => i + 1);
  const trace = await read({
    'i.csv': `HashOwner,HashApp,HashFunction,${minutes.join(',')}\no,a,f,${minutes.map((m) => (m % 5 ? 0 : 94)).join(',')}\n`,
    'd.csv': `${DURATION_HEADER}\no,a,f,0,124573109,0,0,0,0,0,0,0,0,0\n`,
  });
  // 288 minutes × 94
  assert.is(invocationTotals(trace)[0], 27072);
  assert.is(ruleCount(trace, 'durations.count-disagrees'), 1);
  assert.is(ruleCount(trace, 'durations.average-zero'), 1);
  assert.is(ruleCount(trace, 'durations.maximum-zero'), 1);
  assert.is(functionRows(trace)[0].duration_average_ms, 0);
});

test('one call every five minutes has a mean inter-arrival time of 300 000 ms', async () => {
  const minutes = Array.from({ length: 1440 }, (_, i) => i + 1);
  const trace = await read({
    'i.csv': `HashOwner,HashApp,HashFunction,${minutes.join(',')}\no,a,f,${minutes.map((m) => (m % 5 ? 0 : 1)).join(',')}\no,a,g,${minutes.map(() => 0).join(',')}\n`,
  });
  // 1440 min / 288 calls = 5 min; a function that is never called has no inter-arrival time
  assert.equal([...meanInterArrivalNs(trace)], [300_000e6, 0]);
  assert.is(ruleCount(trace, 'invocations.never-called'), 1);
});

test('for a part of a day, a Count larger than the minutes is as it should be', async () => {
  const trace = await read({
    'i.csv': 'HashOwner,HashApp,HashFunction,480\no,a,f,10\no,a,g,10\n',
    'd.csv': `${DURATION_HEADER}\no,a,f,1,30,1,1,1,1,1,1,1,1,1\no,a,g,1,9,1,1,1,1,1,1,1,1,1\n`,
  });
  assert.is(ruleCount(trace, 'header.partial-day'), 1);
  // only g: 9 samples of 10 invocations
  assert.is(ruleCount(trace, 'durations.count-disagrees'), 1);
});

test('counts at the recording cap of 15,000 a minute are counted and kept', async () => {
  const trace = await read({ 'i.csv': 'HashOwner,HashApp,HashFunction,1,2,3\no,a,f,14999,15000,15001\n' });
  assert.is(ruleCount(trace, 'invocations.minute-cap'), 2);
  assert.is(invocationTotals(trace)[0], 45000);
});

test('an exact repeat of a row counts once, rows of one function that differ add up', async () => {
  const trace = await read({
    'i.csv':
      'HashOwner,HashApp,HashFunction,Trigger,1,2\n' +
      'o,a,f,http,1,2\no,a,g,http,5,5\no,a,f,http,10,20\no,a,f,http,1,2\no,a,g,timer,5,5\n',
  });
  // f: (1,2) + (10,20), the second (1,2) is a repeat of the first; g has two triggers
  assert.equal([...countsMatrix(trace)], [11, 22, 10, 10]);
  assert.is(ruleCount(trace, 'invocations.duplicate-key'), 1);
  assert.is(ruleCount(trace, 'invocations.split-key'), 2);
  const [input] = trace.provenance.inputs;
  assert.equal([input.rows_read, input.rows_kept, input.rows_dropped], [5, 4, 1]);
});

test('of two duration rows the one with more samples is used', async () => {
  const trace = await read({
    'i.csv': 'HashOwner,HashApp,HashFunction,1\no,a,f,9\n',
    'd.csv': `${DURATION_HEADER}\no,a,f,1,10,1,1,1,1,1,1,1,1,1\no,a,f,2,20,2,2,2,2,2,2,2,2,2\no,a,f,3,20,3,3,3,3,3,3,3,3,3\n`,
  });
  assert.is(functionRows(trace)[0].duration_average_ms, 2);
  assert.is(ruleCount(trace, 'durations.duplicate-key'), 2);
});

test('keys that are missing in one of the three tables are counted', async () => {
  const trace = await read({
    'i.csv': 'HashOwner,HashApp,HashFunction,1\no,a,f,1\no,b,g,1\n',
    'd.csv': `${DURATION_HEADER}\no,a,f,1,1,1,1,1,1,1,1,1,1,1\no,a,x,1,1,1,1,1,1,1,1,1,1,1\n`,
    'm.csv': 'HashOwner,HashApp,SampleCount,AverageAllocatedMb\no,a,1,10\no,z,1,10\no,a,2,20\n',
  });
  assert.equal(
    functionRows(trace).map(({ duration_average_ms, memory_mb }) => [duration_average_ms, memory_mb]),
    [
      [1, 20],
      [null, null],
    ],
  );
  for (const rule of ['durations.missing', 'durations.orphan', 'memory.missing', 'memory.orphan'] as const) {
    assert.is(ruleCount(trace, rule), 1, rule);
  }
  assert.is(ruleCount(trace, 'memory.duplicate-key'), 1);
});

test('NaN and empty cells, negative and decreasing statistics have a rule each', async () => {
  const trace = await read({
    'i.csv': 'HashOwner,HashApp,HashFunction,1,2,3\no,a,f,NaN,,3.0\n',
    'd.csv': `${DURATION_HEADER}\no,a,f,nan,,-1,5,1,2,4,3,5,5,5\n`,
    'm.csv': 'HashOwner,HashApp,SampleCount,AverageAllocatedMb\no,a,1,NaN\n',
  });
  // 3.0 is what a whole number becomes in a table that once had empty cells
  assert.equal([...countsMatrix(trace)], [0, 0, 3]);
  const [row] = functionRows(trace);
  assert.equal([row.duration_average_ms, row.duration_count, row.duration_minimum_ms], [null, null, null]);
  assert.is(row.memory_mb, null);
  assert.is(ruleCount(trace, 'invocations.nan'), 2);
  assert.is(ruleCount(trace, 'durations.nan'), 2);
  assert.is(ruleCount(trace, 'durations.negative'), 1);
  assert.is(ruleCount(trace, 'durations.percentiles-decrease'), 1);
  assert.is(ruleCount(trace, 'memory.nan'), 1);
  const first = trace.provenance.rules.find(({ rule }) => rule === 'invocations.nan')?.places[0];
  assert.is(first, 'i.csv:2:7');
});

test('extra columns and other CSV files of a folder are named, not read', async () => {
  const trace = await read({
    'i.csv': ',HashOwner,HashApp,HashFunction,1,Note\n0,o,a,f,1,hello\n',
    'other.csv': 'x,y\n1,2\n',
    'readme.txt': 'HashOwner,1\n',
  });
  assert.is(ruleCount(trace, 'header.extra-column'), 2);
  assert.is(ruleCount(trace, 'files.ignored'), 1);
  assert.equal([...countsMatrix(trace)], [1]);
});

test('tables may be given as files in any order', async () => {
  const folder = folderOf({
    'i.csv': 'HashOwner,HashApp,HashFunction,1\no,a,f,2\n',
    'd.csv': `${DURATION_HEADER}\no,a,f,1,1,1,1,1,1,1,1,1,1,1\n`,
  });
  const trace = await readTrace([join(folder, 'd.csv'), join(folder, 'i.csv')]);
  assert.is(functionRows(trace)[0].duration_average_ms, 1);
});

test.run();
