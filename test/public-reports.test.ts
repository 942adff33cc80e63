// Public reports about other simulators' results and about traces, each as a case of ours.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { simulate } from '../src/index.js';
import { runSweep } from '../src/sweep/sweep.js';
import { functionRows, invocationTotals, readTrace } from '../src/trace/index.js';
import { freshFolder, SPLIT, tableHashes } from './support/sweeps.js';
import { DURATION_HEADER, folderOf, ruleCount } from './support/traces.js';

test('EMRALD#632: 1, 2 and 8 workers give the same bytes', async () => {
  const hashes: Record<string, string>[] = [];
  for (const workers of [1, 2, 8]) {
    const out = freshFolder();
    await runSweep(SPLIT, { out, workers });
    hashes.push(tableHashes(out));
  }
  assert.equal(hashes[1], hashes[0]);
  assert.equal(hashes[2], hashes[0]);
});

test('Epymorph#19: a run leaves nothing behind that the next in its process could see', async () => {
  const { sweep: _sweep, ...config } = SPLIT;
  const first = await simulate(config);
  // Something else in between.
  await simulate({ ...config, seed: 2, policy: 'eevdf' });
  const second = await simulate(config);
  assert.equal(second.metrics, first.metrics);
  assert.equal(second.cpus, first.cpus);
});

test('AzurePublicDataset#23, #46: duplicate rows, missing rows and zero durations are counted and named', async () => {
  const trace = await readTrace(
    folderOf({
      'i.csv': 'HashOwner,HashApp,HashFunction,1,2\no,a,f,3,4\no,a,f,3,4\no,a,g,1,1\no,a,h,2,2\n',
      'd.csv': `${DURATION_HEADER}\no,a,f,10,7,5,20,5,5,8,10,12,19,20\no,a,g,0,2,0,0,0,0,0,0,0,0,0\no,z,x,1,1,1,1,1,1,1,1,1,1,1\n`,
      'm.csv': 'HashOwner,HashApp,SampleCount,AverageAllocatedMb\no,a,1,10\n',
    }),
  );
  const counts = Object.fromEntries(
    (
      [
        'invocations.duplicate-key',
        'durations.missing',
        'durations.orphan',
        'durations.average-zero',
        'durations.maximum-zero',
      ] as const
    ).map((rule) => [rule, ruleCount(trace, rule)]),
  );
  assert.equal(counts, {
    'invocations.duplicate-key': 1,
    'durations.missing': 1,
    'durations.orphan': 1,
    'durations.average-zero': 1,
    'durations.maximum-zero': 1,
  });
  assert.equal(
    functionRows(trace).map(({ function: name }) => name),
    ['f', 'g', 'h'],
  );
});

test('invitro#278, #70: average 0, and minutes that sum to N are exactly N arrivals', async () => {
  const minutes = [0, 17, 0, 83, 1];
  const folder = folderOf({
    'i.csv': `HashOwner,HashApp,HashFunction,1,2,3,4,5\no,a,f,${minutes.join(',')}\n`,
    'd.csv': `${DURATION_HEADER}\no,a,f,0,101,0,0,0,0,0,0,0,0,0\n`,
  });
  const trace = await readTrace(folder);
  assert.is(invocationTotals(trace)[0], 101);
  const { metrics } = await simulate(
    {
      machine: 'ideal-4',
      policy: 'eevdf',
      workload: {
        serverless: {
          trace: folder,
          functions: { eligible: false },
          durations: 'average',
          server_master: false,
        },
      },
    },
    { trace },
  );
  assert.is(metrics.arrived, 101);
  assert.is(metrics.completed, 101);
});

test.run();
