// The engine against a slow, obvious model of the same rules (test/reference/): a million random scheduling operations.

import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { compare } from './reference/compare.js';
import { configs } from './reference/configs.js';

const OPERATIONS = 1_000_000;
/** Of 50 configs each. */
const MAX_ROUNDS = 20;

test('a million wake-ups, switches in and switches out: times, CPUs, queues, slices, idle CPUs and accounts agree', () => {
  let operations = 0;
  let runs = 0;
  for (let seed = 1; operations < OPERATIONS; seed++) {
    assert.ok(seed <= MAX_ROUNDS, `only ${operations} operations`);
    fc.assert(
      fc.property(configs, (config) => {
        const compared = compare(config);
        operations += compared;
        if (compared > 0) runs++;
      }),
      { seed, numRuns: 50 },
    );
  }
  assert.ok(operations >= OPERATIONS);
  console.log(`${operations} operations in ${runs} runs`);
});

test.run();
