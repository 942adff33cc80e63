// The torture suite of `vtime bpf test`, on native policies: a sound scheduler passes, a known defect is found, and the workload
// that shows it is made small and written as a config that shows it again.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { parse } from 'yaml';
import type { Policy } from '../src/bpf/torture/judge.js';
import { findingConfig, junit } from '../src/bpf/torture/report.js';
import { type Round, torture } from '../src/bpf/torture/suite.js';
import { type ConfigInput, simulate } from '../src/index.js';

const OPTIONS = { seed: 1, rounds: 12, stall_ms: 2000, max_cpus: 8, kernel: '7.3' as const };

async function all(policy: Policy, rounds = OPTIONS.rounds): Promise<Round[]> {
  const done: Round[] = [];
  for await (const round of torture(policy, { ...OPTIONS, rounds })) done.push(round);
  return done;
}

test('schedulers that serve their tasks in turn pass', async () => {
  for (const policy of ['global-fifo', 'percpu-fifo', 'global-vtime']) {
    const rounds = await all(policy);
    assert.is(rounds.length, 12);
    assert.equal(
      rounds.filter(({ finding, unfair }) => finding ?? unfair),
      [],
    );
  }
});

/** The defect of sched-ext/scx#1185: a task whose slice is over goes to the CPU's own queue, past those that wait. */
const DEFECT = { name: 'global-fifo', requeue: 'local' } as const;

let found: Round[] = [];

test('starvation by a task that queues itself past the others is found, and shrunk to two or three tasks', async () => {
  const rounds = await all(DEFECT, 12);
  found = rounds.filter(({ finding }) => finding !== undefined);
  assert.ok(found.length > 0);
  for (const { finding, smallest, shown } of found.filter((round) => round.smallest)) {
    assert.is(finding!.kind, 'starvation');
    assert.is(shown!.kind, 'starvation');
    const counts = smallest!.workload.tasks!.map(({ count = 1 }) => count);
    // One task waits and two take turns on each of two CPUs: five tasks at most.
    assert.ok(counts.reduce((a, b) => a + b) <= 5, JSON.stringify(smallest));
  }
});

test('the config that is left shows the finding again, and says what it is', async () => {
  const [round] = found;
  const text = findingConfig(round, DEFECT, 'vtime bpf test x.bpf.o --seed 1');
  assert.match(text, /^# starvation: task .* has been runnable/);
  assert.match(text, /Found by vtime bpf test x\.bpf\.o --seed 1, round \d+/);
  const result = await simulate(parse(text) as ConfigInput);
  assert.is(result.outcome, 'stalled');
});

test('the same seed gives the same rounds', async () => {
  const again = await all(DEFECT, found[0].round);
  const last = again[again.length - 1];
  assert.equal(last.smallest, found[0].smallest);
  assert.equal(last.finding, found[0].finding);
});

test('JUnit XML has a case per round, and a failure with its message for each finding', () => {
  const rounds: Round[] = [
    { round: 1, name: '2 CPUs, hogs', seconds: 0.5 },
    {
      round: 2,
      name: '4 CPUs, pinned tasks',
      seconds: 1,
      finding: { kind: 'broken rule', code: 'policy_x', message: 'a < b & "c"', details: ['more'] },
    },
    { round: 3, name: '1 CPU', seconds: 0, unfair: true },
  ];
  assert.is(
    junit(rounds, 'x.bpf.o', new Map([[2, 'out/round-2.yaml']])),
    `<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="3" failures="1" errors="0" skipped="1" time="1.500">
  <testsuite name="x.bpf.o" tests="3" failures="1" errors="0" skipped="1" time="1.500">
    <testcase classname="x.bpf.o" name="1: 2 CPUs, hogs" time="0.500"/>
    <testcase classname="x.bpf.o" name="2: 4 CPUs, pinned tasks" time="1.000">
      <failure type="broken rule" message="a &lt; b &amp; &quot;c&quot;">broken rule: a &lt; b &amp; &quot;c&quot;
more
reproduce: vtime run out/round-2.yaml</failure>
    </testcase>
    <testcase classname="x.bpf.o" name="3: 1 CPU" time="0.000"><skipped message="a plain scheduler does not survive it either"/></testcase>
  </testsuite>
</testsuites>
`,
  );
});

test.run();
