// One config twice, with 1, 2 and 4 workers: identical bytes. The bundled trace takes part, so that shared tables do.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { ConfigInput } from '../src/index.js';
import { runSweep } from '../src/sweep/sweep.js';
import { freshFolder, SPLIT, tableHashes } from './support/sweeps.js';

const AZURE: ConfigInput = {
  machine: 'xeon-8160-4',
  policy: 'eevdf',
  workload: {
    serverless: {
      trace: 'azure2019-28',
      window: { start: '600min', length: '1min', history: '10min' },
      offered_load: 0.5,
      profiles: { mapping: 'nearest-duration' },
    },
  },
  run: { horizon: '10s' },
  sweep: { replications: 2, baseline: { policy: 'eevdf' }, axes: { policy: ['eevdf', 'domains:2'] } },
};

async function hashes(config: ConfigInput, workers: number): Promise<Record<string, string>> {
  const out = freshFolder();
  const { cells } = await runSweep(config, { out, workers });
  assert.is(cells.failed, 0);
  return tableHashes(out);
}

for (const [name, config] of [
  ['split cores', SPLIT],
  ['Azure trace', AZURE],
] as const) {
  test(`${name}: the same bytes twice and with 1, 2 and 4 workers`, async () => {
    const first = await hashes(config, 1);
    for (const [file, hash] of Object.entries(first)) console.log(`${name} ${file} ${hash}`);
    assert.equal(await hashes(config, 1), first);
    assert.equal(await hashes(config, 2), first);
    assert.equal(await hashes(config, 4), first);
  });

  test(`${name}: another seed gives other bytes`, async () => {
    const first = await hashes(config, 2);
    const second = await hashes({ ...config, seed: 7 }, 2);
    for (const file of Object.keys(first)) assert.is.not(second[file], first[file]);
  });
}

test.run();
