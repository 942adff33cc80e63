// `vtime bpf test` on an object with mistakes to choose from (test/bpf/planted.bpf.c): each is found, named and made small.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Policy } from '../src/bpf/torture/judge.js';
import { type Round, torture } from '../src/bpf/torture/suite.js';
import { bpfTestCommand } from '../src/cli/bpf-test.js';
import { loadConfig, SimulationError, simulate, VtimeError } from '../src/index.js';
import { temporaryFolder } from './support/folder.js';

const OBJECT = fileURLToPath(new URL('../../test/bpf/planted.bpf.o', import.meta.url));
const MISTAKES = {
  none: 0,
  ignores_affinity: 1,
  loses_tasks: 2,
  serves_last_first: 3,
  writes_anywhere: 4,
  never_returns: 5,
};
const OPTIONS = { seed: 1, stall_ms: 1500, max_cpus: 8, kernel: '7.3' as const };

/** The first finding of a mistake. */
async function found(mistake: keyof typeof MISTAKES, rounds = 12): Promise<Round | undefined> {
  const policy: Policy = { object: OBJECT, rodata: { mistake: MISTAKES[mistake] } };
  for await (const round of torture(policy, { ...OPTIONS, rounds }))
    if (round.finding !== undefined) return round;
  return undefined;
}

const taskCount = ({ smallest }: Round): number =>
  smallest!.workload.tasks!.reduce((sum, { count = 1 }) => sum + count, 0);

test('without a mistake nothing is found', async () => {
  assert.is(await found('none', 8), undefined);
});

test('tasks put on CPUs that their masks do not allow: a rule is broken, at the insertion', async () => {
  const round = (await found('ignores_affinity', 4))!;
  assert.is(round.shown!.kind, 'broken rule');
  assert.is(round.shown!.code, 'policy_local_affinity');
  assert.match(round.shown!.message, /function planted_enqueue, instruction \d+ \(.*scx_bpf_dsq_insert/);
  // The task, and at most one that changes its mask.
  assert.ok(taskCount(round) <= 2, JSON.stringify(round.smallest));
});

test('a task that is inserted nowhere is lost', async () => {
  const round = (await found('loses_tasks', 4))!;
  assert.is(round.shown!.kind, 'lost task');
  assert.match(round.shown!.message, /waits in no DSQ/);
  assert.ok(taskCount(round) <= 3, JSON.stringify(round.smallest));
});

test('the last one served first starves the others', async () => {
  const round = (await found('serves_last_first'))!;
  assert.is(round.shown!.kind, 'starvation');
  // On two CPUs at most: one waits, two take turns on each.
  assert.ok(taskCount(round) <= 5, JSON.stringify(round.smallest));
});

test('what the verifier would have refused ends the run, with its place', async () => {
  for (const [mistake, code, place] of [
    ['writes_anywhere', 'bpf_store', /planted\.bpf\.c:\d+: \*\(volatile u64/],
    ['never_returns', 'bpf_loop', /planted\.bpf\.c:\d+: while \(nth > 100\)/],
  ] as const) {
    const policy: Policy = { object: OBJECT, rodata: { mistake: MISTAKES[mistake] } };
    try {
      await simulate({
        machine: 'ideal-2',
        kernel: '7.3',
        policy,
        workload: { tasks: [{ name: 'hog', count: 4, program: [{ run: '1s' }] }] },
      });
      assert.unreachable();
    } catch (error) {
      assert.instance(error, SimulationError);
      const { code: got, message } = error as VtimeError;
      assert.is(got, code);
      assert.match(message, place);
    }
  }
});

test('the command writes findings as configs that show them again, and JUnit XML; its exit code is 1', async () => {
  const out = temporaryFolder('torture');
  const written: string[] = [];
  const write = process.stdout.write;
  process.stdout.write = ((text: string) => written.push(text) > 0) as typeof write;
  try {
    const options = ['--rounds', '2', '--cpus', '4', '--stall', '1s', '--rodata', 'mistake=2', '--out', out];
    await bpfTestCommand().parseAsync([OBJECT, ...options, '--junit', join(out, 'report.xml')], {
      from: 'user',
    });
  } finally {
    process.stdout.write = write;
  }
  assert.is(process.exitCode, 1);
  process.exitCode = undefined;
  const text = written.join('');
  const file = /reproduce: vtime run (\S+)/.exec(text)![1];
  assert.match(text, /2 rounds, \d with findings/);
  assert.match(readFileSync(file, 'utf8'), /^# lost task: .*/);
  assert.match(readFileSync(file, 'utf8'), /--seed 1 --rounds 2 --cpus 4 --stall 1s --rodata mistake=2/);
  const result = await simulate(loadConfig(file));
  assert.is(result.outcome, 'stalled');
  assert.match(readFileSync(join(out, 'report.xml'), 'utf8'), /<testsuites tests="2" failures="\d"/);
});

test('wrong options are refused', async () => {
  for (const [options, expected] of [
    [['--rounds', '0'], /--rounds is "0"/],
    [['--policy', '[1]'], /--policy is "\[1\]"; expected a mapping/],
    [['--policy', '{flagz: []}'], /unknown key "flagz"; did you mean "flags"/],
    [['--stall', '1ms'], /--stall is "1ms"/],
    [['--cpus', '1', '--domains', '7'], /no machine has at most 1 CPUs and a multiple of 7/],
  ] as const) {
    try {
      await bpfTestCommand().parseAsync([OBJECT, ...options], { from: 'user' });
      assert.unreachable();
    } catch (error) {
      assert.instance(error, VtimeError);
      assert.match((error as VtimeError).message, expected);
    }
  }
});

test.run();
