// Damaged traces from a seed: whatever bytes are changed, a trace is read or refused with exit code 2, and soon.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tableToIPC } from 'apache-arrow';
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { VtimeError } from '../src/errors.js';
import {
  fitDuration,
  functionRows,
  invocationsToArrow,
  invocationTotals,
  readTrace,
  type Trace,
  traceFromInvocations,
} from '../src/trace/index.js';
import { DURATION_HEADER, folderOf } from './support/traces.js';

const SEED = 20_191_130;
/** Reading a damaged file of a few hundred bytes takes no longer than this. */
const LIMIT_MS = 5000;

const TEXTS: Record<string, string> = {
  'azure2019.csv':
    'HashOwner,HashApp,HashFunction,Trigger,1,2,3\no,a,f,http,1,2,3\no,a,g,timer,0,15000,NaN\n',
  'durations.csv': `${DURATION_HEADER}\no,a,f,5,3,1,9,1,1,2,5,7,9,9\n`,
  'azure2021.csv': 'app,func,end_timestamp,duration\np,f,10.5,0.5\np,"g",11,0\n',
  'iluvatar.csv': 'func_name,invoke_time_ms\na,6\nb,51\n',
  'metadata.csv': 'func_name,cold_dur_ms,warm_dur_ms,mem_mb,mean_iat\na,900,20,64,50\n',
  'opendc.csv':
    'Timestamp [ms],Invocations, Avg Exec time per Invocation,Avg mem usage per Invocation [mb],name\n60000,1,100,2.0,f\n',
  'requests_minute.csv': 'day,time,0,1\n0,0,1.0,\n0,60,,2\n',
  'huawei2025.csv': 'time_worker,requestID,funcName,podID,userID,runtimeCost\n61.5,r1,7,p-1,9,0.02\n',
  'alibaba2021.csv': ',traceid,timestamp,rpcid,um,rpctype,dm,interface,rt\n0,t,60000,0,,http,A,i,-30\n',
  'alibaba2022.csv':
    'timestamp,traceid,service,rpc_id,rpctype,um,uminstanceid,interface,dm,dminstanceid,rt\n1,T,S,0.1,rpc,M,P,x,N,Q,2.0\n',
};

const TRACE: Trace = traceFromInvocations(
  {
    function_ids: ['f', 'g'],
    function_index: Uint32Array.of(0, 1, 0),
    start_ns: BigUint64Array.of(0n, 5n, 9n),
    duration_ns: BigUint64Array.of(1n, 2n, 3n),
  },
  { format: 'invocations', inputs: [], rules: [], steps: [] },
);

/** A change of some bytes: replaced, cut out, put in, or repeated. */
const change = fc.record({
  kind: fc.constantFrom('replace', 'cut', 'insert', 'repeat'),
  at: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
  bytes: fc.oneof(
    fc.uint8Array({ minLength: 1, maxLength: 8 }),
    fc
      .constantFrom(',', '"', '\n', '\r\n', '-', '1e999', 'NaN', '\0', 'é', ',,,,', '9'.repeat(30))
      .map((text) => Buffer.from(text)),
  ),
});

function changed(original: Buffer, changes: { kind: string; at: number; bytes: Uint8Array }[]): Buffer {
  let bytes = original;
  for (const { kind, at, bytes: part } of changes) {
    const from = Math.floor(at * bytes.length);
    const to = Math.min(bytes.length, from + part.length);
    const middle =
      kind === 'cut' ? [] : kind === 'repeat' ? [bytes.subarray(from, to), bytes.subarray(from, to)] : [part];
    bytes = Buffer.concat([
      bytes.subarray(0, from),
      ...middle,
      bytes.subarray(kind === 'insert' ? from : to),
    ]);
  }
  return bytes;
}

/** Reads and uses a trace as a run would; true if it is refused. */
async function refused(path: string): Promise<boolean> {
  const started = performance.now();
  try {
    const trace = await readTrace(path);
    assert.ok(invocationTotals(trace).every((n) => Number.isSafeInteger(n)));
    for (const row of functionRows(trace)) {
      try {
        fitDuration(row, 'percentiles', row.function_id);
      } catch (error) {
        if (!(error instanceof VtimeError)) throw error;
      }
    }
    return false;
  } catch (error) {
    assert.instance(error, VtimeError, String(error));
    assert.is((error as VtimeError).exitCode, 2);
    assert.not.match((error as VtimeError).message, /undefined|\[object/);
    return true;
  } finally {
    assert.ok(performance.now() - started < LIMIT_MS, 'no hang');
  }
}

const changes = fc.array(change, { minLength: 1, maxLength: 3 });

test('tables of every format with changed bytes', async () => {
  const folder = folderOf({});
  let refusals = 0;
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...Object.keys(TEXTS)), changes, async (name, list) => {
      const path = join(folder, name);
      writeFileSync(path, changed(Buffer.from(TEXTS[name]), list));
      if (await refused(path)) refusals++;
    }),
    { seed: SEED, numRuns: 800 },
  );
  assert.ok(refusals > 150, `${refusals} refusals`);
});

test('an Arrow file of vtime with changed bytes is refused', async () => {
  const original = Buffer.from(invocationsToArrow(TRACE));
  const path = join(folderOf({}), 't.arrow');
  await fc.assert(
    fc.asyncProperty(changes, async (list) => {
      const bytes = changed(original, list);
      if (bytes.equals(original)) return;
      writeFileSync(path, bytes);
      assert.ok(await refused(path));
    }),
    { seed: SEED, numRuns: 300 },
  );
});

test('an Arrow file without a checksum and with changed bytes is read or refused', async () => {
  const path = join(folderOf({}), 't.arrow');
  for (const table of [TRACE.invocations!, TRACE.functions]) {
    const original = Buffer.from(tableToIPC(table, 'file'));
    await fc.assert(
      fc.asyncProperty(changes, async (list) => {
        writeFileSync(path, changed(original, list));
        await refused(path);
      }),
      { seed: SEED, numRuns: 500 },
    );
  }
});

test.run();
