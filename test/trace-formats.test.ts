// Every format beside Azure 2019, on small tables written after the publishers' descriptions.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  columnsOf,
  countsMatrix,
  functionRows,
  invocationTotals,
  readTrace,
  type Trace,
  traceShape,
} from '../src/trace/index.js';
import { failure, folderOf, ruleCount } from './support/traces.js';

/** Calls as [function, start ns, duration ns], in the order of the table. */
function callsOf(trace: Trace): [string, number, number][] {
  const { function_ids, function_index, start_ns, duration_ns } = columnsOf(trace.invocations!, 'test');
  return Array.from(function_index, (f, i) => [function_ids[f], Number(start_ns[i]), Number(duration_ns[i])]);
}

test('Ilúvatar: every call gets the warm duration of its function', async () => {
  const trace = await readTrace(
    folderOf({
      'trace.csv': 'func_name,invoke_time_ms\na,6\nb,51\na,106\nc,107\n',
      // 200 ms between two calls of a against a recorded 100: (106 − 6) ms / 2 calls = 50.5 over the span of the trace.
      'metadata.csv':
        'func_name,cold_dur_ms,warm_dur_ms,mem_mb,mean_iat\na,900,20,64,50\nb,800,0,64,10\nb,1,1,1,1\nd,1,1,1,1\n',
    }),
  );
  assert.equal(callsOf(trace).slice(0, 3), [
    ['a', 6e6, 20e6],
    ['b', 51e6, 0.5e6],
    ['a', 106e6, 20e6],
  ]);
  assert.is(trace.provenance.format, 'iluvatar');
  assert.is(ruleCount(trace, 'metadata.missing'), 1);
  assert.is(ruleCount(trace, 'metadata.orphan'), 1);
  assert.is(ruleCount(trace, 'metadata.duplicate-key'), 1);
  assert.is(ruleCount(trace, 'durations.zero-call'), 1);
  assert.is(ruleCount(trace, 'metadata.iat-disagrees'), 0);
});

test('Azure 2021: a call starts at its end less its duration; the clock begins with a whole minute', async () => {
  const trace = await readTrace(
    folderOf({
      't.csv': 'app,func,end_timestamp,duration\np,f,130.5,0.5\np,g,121,0\np,f,130.5,0.5\nq,f,122,-1\n',
    }),
  );
  // Starts 130, 121 (less half a millisecond for a recorded 0), 130 and 122 (unknown duration) s; the minute before the first begins at 120 s.
  assert.equal(callsOf(trace).slice(0, 2), [
    ['p/g', 0.9995e9, 0.5e6],
    ['q/f', 2e9, Number(0xffff_ffff_ffff_ffffn)],
  ]);
  assert.equal(callsOf(trace)[3], ['p/f', 10e9, 0.5e9]);
  assert.is(ruleCount(trace, 'arrivals.shifted'), 1);
  // 120.9995 s after 130, 122 s after 130.
  assert.is(ruleCount(trace, 'arrivals.unsorted'), 2);
  assert.is(ruleCount(trace, 'invocations.repeated-row'), 1);
  assert.is(ruleCount(trace, 'durations.negative-call'), 1);
});

test('Azure 2021: what ran when the recording began starts before 0 and is kept', async () => {
  const trace = await readTrace(folderOf({ 't.csv': 'app,func,end_timestamp,duration\np,f,1,3\np,f,2,1\n' }));
  // −2 s lies in the minute from −60 s: 58 s; 2 − 1 = 1 s is 61 s.
  assert.equal(
    callsOf(trace).map(([, start]) => start),
    [58e9, 61e9],
  );
});

test('OpenDC: blanks before column names don’t matter; a row is the minute that its time ends', async () => {
  const header =
    'Timestamp [ms],Invocations, Avg Exec time per Invocation,Provisioned CPU [Mhz],Provisioned Memory [mb],' +
    ' Avg cpu usage per Invocation [Mhz], Avg mem usage per Invocation [mb],name';
  const trace = await readTrace(
    folderOf({
      't.csv': `${header}\n60000,1,100,1,1,0,2.0,f\n180000,3,200,1,1,0,3.0,f\n120000,5,10,1,1,0,1,g\n120000,6,10,1,1,0,1,g\n`,
    }),
  );
  assert.equal(traceShape(trace), { interval_ns: 60e9, first_minute: 1, intervals: 3 });
  assert.equal([...countsMatrix(trace)], [1, 0, 3, 0, 5, 0]);
  const [f] = functionRows(trace);
  // (1 × 100 + 3 × 200) / 4 = 175; one of four calls had the average of 100.
  assert.is(f.duration_average_ms, 175);
  assert.equal([f.duration_p25_ms, f.duration_p50_ms, f.memory_mb], [100, 200, 3]);
  assert.is(ruleCount(trace, 'header.padded-name'), 3);
  assert.is(ruleCount(trace, 'intervals.missing'), 3);
  assert.is(ruleCount(trace, 'intervals.duplicate-key'), 1);
});

test('Huawei 2023: metrics are told apart by their folders, as in the release', async () => {
  const folder = folderOf({});
  for (const [name, text] of [
    ['requests_minute', 'day,time,0,1\n1,0,,6.0\n1,60,2,0\n'],
    ['function_delay_minute', 'day,time,0,1\n1,0,41.5,40\n1,60,39.5,38\n'],
    ['cpu_usage_minute', 'day,time,0,1\n1,0,1,1\n'],
  ]) {
    mkdirSync(join(folder, name));
    writeFileSync(join(folder, name, 'day_001.csv'), text);
  }
  const trace = await readTrace(folder);
  assert.equal(traceShape(trace), { interval_ns: 60e9, first_minute: 1441, intervals: 2 });
  assert.equal([...invocationTotals(trace)].sort(), [2, 6]);
  assert.equal(
    functionRows(trace)
      .map(({ duration_average_ms }) => duration_average_ms)
      .sort(),
    [39.5, 40],
  );
  assert.is(ruleCount(trace, 'intervals.empty-cell'), 1);
  // Function 0 in the first minute, function 1 in the second.
  assert.is(ruleCount(trace, 'durations.without-calls'), 2);
  assert.is(ruleCount(trace, 'files.ignored'), 1);
});

test('Huawei 2025: a function is funcName, userID and pool; a request counts once', async () => {
  const trace = await readTrace(
    folderOf({
      'r.csv':
        'time_worker,requestID,funcName,podID,userID,runtimeCost\n' +
        '61.5,r1,7,pool22-300-128-01,9,0.02\n62,r2,7,pool22-300-128-02,9,0.03\n62,r2,7,pool22-300-128-02,9,0.03\n',
      'c.csv': 'day,time,funcName,totalCost_cold_start\n0,1,7,2.5\n',
    }),
  );
  assert.equal(callsOf(trace), [
    ['7---9---pool22-300-128', 1.5e9, 20e6],
    ['7---9---pool22-300-128', 2e9, 30e6],
  ]);
  assert.is(ruleCount(trace, 'invocations.duplicate-id'), 1);
  assert.is(ruleCount(trace, 'cold-starts.unused'), 1);
});

test('Alibaba 2021: the callee’s record of a call is used; caches, queues and unknown services are dropped', async () => {
  const trace = await readTrace(
    folderOf({
      't.csv':
        ',traceid,timestamp,rpcid,um,rpctype,dm,interface,rt\n0,t,60000,0,,http,A,i,-30\n' +
        '1,t,60002,0.1,A,rpc,B,j,20\n2,t,60003,0.1,A,rpc,B,j,-18\n3,t,60004,0.1.1,B,mc,M,,1\n4,t,60005,0.2,A,rpc,NAN,,7\n',
    }),
  );
  assert.equal(callsOf(trace), [
    ['A/i', 0, 30e6],
    ['B/j', 3e6, 18e6],
  ]);
  assert.is(ruleCount(trace, 'calls.two-records'), 1);
  assert.is(ruleCount(trace, 'calls.other-type'), 1);
  assert.is(ruleCount(trace, 'calls.unknown-callee'), 1);
  assert.is(ruleCount(trace, 'calls.nested'), 1);
});

test('Alibaba 2022: same, with its own column names', async () => {
  const trace = await readTrace(
    folderOf({
      't.csv':
        'timestamp,traceid,service,rpc_id,rpctype,um,uminstanceid,interface,dm,dminstanceid,rt\n' +
        '1,T,S,0.1,rpc,M,P,x,N,Q,2.0\n2,T,S,0.1,rpc,M,P,x,N,Q,-1.0\n2,T,S,0.1,rpc,M,P,x,N,Q,-1.0\n',
    }),
  );
  assert.equal(callsOf(trace), [['N/x', 2e6, 1e6]]);
  assert.is(ruleCount(trace, 'invocations.duplicate-id'), 1);
});

test('tables of two formats in one folder are refused', async () => {
  const folder = folderOf({
    'a.csv': 'app,func,end_timestamp,duration\np,f,1,1\n',
    'b.csv': 'func_name,invoke_time_ms\nf,1\n',
  });
  assert.is((await failure(() => readTrace(folder))).code, 'trace_ambiguous');
});

test.run();
