// Rules that hold in some kernel versions only: docs/kernel.md has the table.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import * as abi from '../assembly/abi.js';
import { loadUnits } from './support/units.js';

const dsq = loadUnits('dsq');
const MS = 1_000_000n;

/** CPU 0, whose dispatch() it is, takes a task of CPU 1 ten times in 900 ms, and once more at 1 s. */
function sleepsAfterMigrations(kernel: number): number {
  dsq.call('setup', 2, 3n * MS);
  dsq.call('countQuiescent', kernel);
  const t = dsq.call('newTask', 0);
  for (let i = 0n; i <= 10n; i++) {
    dsq.call('setTime', i * 100n * MS);
    dsq.call('enqueue', t, 1);
    assert.is(dsq.call('pick', 0, 0), t);
    dsq.call('setCurrent', 0, t);
    dsq.call('setCurrent', 0, 0);
  }
  return dsq.call('sleepFrequency', t);
}

test('before 6.12 a task that another CPU takes is quiescent on the way, which counts as sleep', () => {
  // No task ever sleeps. 6.11: 11 migrations in 1 s since the task began, at 0: 11 / 1 = 11 sleeps per second.
  assert.is(sleepsAfterMigrations(abi.KERNEL_6_11_SCX), 11);
  assert.is(sleepsAfterMigrations(abi.KERNEL_6_12), 0);
  assert.is(sleepsAfterMigrations(abi.KERNEL_7_3), 0);
});

test.run();
