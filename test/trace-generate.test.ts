// vtime trace generate: seeded, and as the paper's generator does it.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { compressedInterArrivals } from '../src/trace/generate.js';
import {
  columnsOf,
  functionRows,
  generateEcdf,
  generatePoisson,
  invocationsToArrow,
  invocationTotals,
  readTrace,
  summarizeFunctions,
} from '../src/trace/index.js';
import { DURATION_HEADER, failure, folderOf } from './support/traces.js';

const POISSON = { seed: 1, functions: 4, minutes: 20, rate: 50, mean_ms: 10, skew: 0 };

/** A function of n calls a minute in each of `minutes`, and what the duration table says about it. */
async function regular(n: number, minutes: number, functions = ['f']) {
  const labels = Array.from({ length: minutes }, (_, i) => i + 1);
  return readTrace(
    folderOf({
      'i.csv': `HashOwner,HashApp,HashFunction,Trigger,${labels.join(',')}\n${functions
        .map((f) => `o,a,${f},http,${labels.map(() => n).join(',')}`)
        .join('\n')}\n`,
      'd.csv': `${DURATION_HEADER}\n${functions.map((f) => `o,a,${f},9,9,1,20,1,2,7,8,9,10,20`).join('\n')}\n`,
    }),
  );
}

test('equal seeds give equal bytes, other seeds other ones', () => {
  const bytes = (seed: number) => Buffer.from(invocationsToArrow(generatePoisson({ ...POISSON, seed })));
  assert.ok(bytes(1).equals(bytes(1)));
  assert.not.ok(bytes(1).equals(bytes(2)));
  assert.not.ok(bytes(0).equals(bytes(1)));
});

test('Poisson: number of calls and mean duration are those asked for', () => {
  const trace = generatePoisson(POISSON);
  // 50/s × 1200 s = 60000 calls, standard deviation √60000 = 245; four of them are 980.
  const calls = trace.invocations!.numRows;
  assert.ok(Math.abs(calls - 60_000) < 980, `${calls} calls`);
  // Mean of 60000 exponentials of 10 ms: standard error 0.041 ms.
  const { duration_ns } = columnsOf(trace.invocations!, 'test');
  const mean_ms = duration_ns.reduce((sum, d) => sum + Number(d), 0) / calls / 1e6;
  assert.ok(Math.abs(mean_ms - 10) < 0.16, `${mean_ms} ms`);
});

test('Poisson: shares follow Zipf’s law', () => {
  const totals = invocationTotals(generatePoisson({ ...POISSON, functions: 2, skew: 1 }));
  // Weights 1 and 1/2: two thirds and one third of 60000.
  assert.ok(Math.abs(totals[0] - 40_000) < 800, `${totals}`);
});

test('a function’s calls don’t depend on how many functions the sample has', async () => {
  const source = await regular(3, 5, ['f', 'g', 'h', 'i']);
  const ids = (functions: number) =>
    functionRows(generateEcdf(source, { seed: 7, functions, minutes: 1 })).map(
      ({ function_id }) => function_id,
    );
  for (const smaller of [1, 2, 3]) for (const id of ids(smaller)) assert.ok(ids(smaller + 1).includes(id));
});

test('compressed time: a minute is 1000 ms, its n calls are 1000/n ms apart', () => {
  // Calls at 0, 500 (minute 0) and 2000 (minute 2): 500 and 1500.
  assert.equal(compressedInterArrivals([2, 0, 1]), [500, 1500]);
});

test('one call every five minutes: 300 000 ms in real time, 5000 ms in the generator’s', async () => {
  const source = await readTrace(
    folderOf({
      'i.csv': `HashOwner,HashApp,HashFunction,Trigger,${Array.from({ length: 20 }, (_, i) => i + 1).join(',')}\no,a,f,http,${Array.from({ length: 20 }, (_, i) => (i % 5 === 0 ? 1 : 0)).join(',')}\n`,
      'd.csv': `${DURATION_HEADER}\no,a,f,9,9,1,20,1,2,7,8,9,10,20\n`,
    }),
  );
  assert.is(summarizeFunctions(source)[0].mean_interarrival_ms, 300_000);
  const trace = generateEcdf(source, { seed: 1, functions: 1, minutes: 30 });
  // Every inter-arrival time is 5 s: calls at 5, 10, …, 1795 s.
  const { start_ns } = columnsOf(trace.invocations!, 'test');
  assert.is(start_ns.length, 359);
  assert.is(start_ns[1] - start_ns[0], 5_000_000_000n);
});

test('the warm duration is the 25th percentile', async () => {
  const trace = generateEcdf(await regular(2, 3), { seed: 1, functions: 1, minutes: 1 });
  assert.ok(columnsOf(trace.invocations!, 'test').duration_ns.every((d) => d === 7_000_000n));
});

test('values out of range are refused', async () => {
  assert.is((await failure(() => generatePoisson({ ...POISSON, rate: 0 }))).code, 'generate_value');
  assert.is((await failure(() => generatePoisson({ ...POISSON, functions: 1.5 }))).code, 'generate_value');
  const source = await regular(2, 3);
  const error = await failure(() => generateEcdf(source, { seed: 1, functions: 2, minutes: 1 }));
  assert.is(error.code, 'select_too_few');
});

test.run();
