// Mistakes of `vtime kernel record` that are told before anything is fetched or booted.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { vtime } from './support/sweeps.js';

const WORKLOAD = 'bpf/vm/workloads/sleepers-and-hogs.yaml';

async function mistake(expected: RegExp, ...args: string[]): Promise<void> {
  const { code, stdout, stderr } = await vtime('kernel', 'record', ...args);
  assert.match(stderr, expected);
  assert.is(code, 2);
  assert.is(stdout, '');
}

test('schedulers by name, with the near one', () =>
  mistake(
    /no scheduler "domain"; did you mean "domains"\?; expected .*eevdf/,
    WORKLOAD,
    '--scheduler',
    'domain',
  ));

test('an object that does something else than the policy', () =>
  mistake(
    /policy\.name: fifo\.bpf\.o does not do what policy domains says; expected global-fifo/,
    WORKLOAD,
    '--scheduler',
    'fifo',
  ));

test('policies without a real scheduler', () =>
  mistake(/no real scheduler decides as policy nest does/, WORKLOAD, '--set', 'policy=nest'));

test('workloads that the runner has no words for', () =>
  mistake(/workload\.arrivals: .*has no arrivals/, 'examples/mm1.yaml'));

test('options', async () => {
  await mistake(/--cpus is "0"; expected a whole number from 1 to 512/, WORKLOAD, '--cpus', '0');
  await mistake(/--rodata x; expected name=number/, WORKLOAD, '--rodata', 'x');
  await mistake(/--metronome is "3"; expected one of 256, /, WORKLOAD, '--metronome', '3');
  await mistake(/--timeout is "5"; expected a time like 10min/, WORKLOAD, '--timeout', '5');
  await mistake(/package\.json\/x\.arrow: cannot write: ENOTDIR/, WORKLOAD, '-o', 'package.json/x.arrow');
});

test.run();
