// `vtime kernel check`: recordings are held against the simulated core. Recordings of a model are right or wrong in one
// known way; hand-made ones are wrong inside an overlap.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { replay } from '../src/bpf/replay/replay.js';
import type { ReplayResult } from '../src/bpf/replay/verdicts.js';
import { modelledRecording, type Plant, RecordingBuilder } from './support/modelled-kernel.js';

const test = suite('kernel check');

function wrong(result: ReplayResult): number {
  return Object.values(result.decisions).reduce((sum, { unexplained }) => sum + unexplained, 0);
}

// Times wrap after 10 ms of the model.
const WRAP = 2n ** 64n - 10_000_000n;

test('every decision of a right kernel is exact, whatever the vtimes', () => {
  for (const vtime_base of [0n, WRAP]) {
    for (let seed = 1; seed <= 10; seed++) {
      const result = replay(modelledRecording(seed, { vtime_base }));
      assert.equal(result.unexplained, [], `seed ${seed}`);
      assert.is(wrong(result), 0);
      assert.ok(result.decisions.move.exact > 50, 'tasks are moved');
      assert.is(
        Object.values(result.overlaps).reduce((a, b) => a + b),
        0,
      );
    }
  }
});

const PLANTS: [Plant, bigint, string][] = [
  ['lifo-ties', 0n, 'move'],
  ['steal-order', 0n, 'order'],
  ['unsafe-comparison', WRAP, 'move'],
];

for (const [plant, vtime_base, decision] of PLANTS) {
  test(`a planted error is found: ${plant}`, () => {
    let found = 0;
    for (let seed = 1; seed <= 10; seed++) {
      const result = replay(modelledRecording(seed, { plant, vtime_base, steps: 1500 }));
      if (wrong(result) === 0) continue;
      found++;
      assert.is(result.unexplained[0].decision, decision, `seed ${seed}`);
    }
    assert.is(found, 10, `found in ${found} of 10 recordings`);
  });
}

/**
 * CPU 0 enqueues tasks 1 and 2 into domain 0 and goes on; then it records the enqueue of task 3, which comes before both,
 * and nothing more. CPU 1 takes `taken`.
 */
function overlapping(taken: number): ReplayResult {
  const builder = new RecordingBuilder();
  for (const pid of [1, 2, 3]) builder.add(0, 'enable', { pid });
  const enqueue = (pid: number, time_ns: number, vtime: number) =>
    builder.add(0, 'enqueue', { time_ns, pid, group: 0, dsq: 0, vtime, slice_ns: 3_000_000, result: 1 });
  // The first enqueue of a task sets its vtime to now.
  enqueue(1, 1000, 1000);
  enqueue(2, 2000, 2000);
  builder.add(0, 'kick', { time_ns: 2000, target: 1 });
  enqueue(3, 500, 500);
  builder.add(1, 'dispatch', { time_ns: 2500, target: 1 });
  builder.add(1, 'dequeue', { time_ns: 2600, pid: taken });
  builder.add(1, 'move', { time_ns: 2700, dsq: 0, target: 1, result: 1 });
  builder.add(1, 'running', {
    time_ns: 2800,
    pid: taken,
    slice_ns: 3_000_000,
    vtime: taken === 3 ? 500 : taken * 1000,
  });
  return replay(builder.recording());
}

test('a move may miss a task whose insertion is under way, and only that', () => {
  const taken3 = overlapping(3);
  assert.is(taken3.decisions.move.exact, 1, 'task 3 was in time');
  const taken1 = overlapping(1);
  assert.is(taken1.decisions.move.consistent, 1, 'task 3 came too late');
  assert.is(taken1.overlaps.insertion, 1);
  assert.is(wrong(taken1), 0);
});

test('an error inside an overlap is found: the overlap excuses one task, not the other', () => {
  const taken2 = overlapping(2);
  assert.equal(taken2.unexplained, [{ record: 9, decision: 'move', expected: 'pid 1', found: 'pid 2' }]);
});

test('a task whose CPU is inside its switch may be left by others, not by its own CPU', () => {
  for (const [cpu, consistent] of [
    [1, 1],
    [0, 0],
  ]) {
    const builder = new RecordingBuilder();
    for (const pid of [1, 2]) builder.add(0, 'enable', { pid });
    const enqueue = (pid: number, vtime: number, time_ns = vtime) =>
      builder.add(0, 'enqueue', { time_ns, pid, group: 0, dsq: 0, vtime, slice_ns: 3_000_000, result: 1 });
    enqueue(1, 1000);
    builder.add(0, 'dispatch', { time_ns: 1500, target: 0 });
    builder.add(0, 'dequeue', { time_ns: 1500, pid: 1 });
    builder.add(0, 'move', { time_ns: 1500, dsq: 0, target: 0, result: 1 });
    builder.add(0, 'running', { time_ns: 1500, pid: 1, slice_ns: 3_000_000, vtime: 1000 });
    enqueue(2, 9_000_000);
    // 4 ms later: vtime 1000 + 4 ms, ahead of task 2's 9 ms.
    builder.add(0, 'stopping', {
      time_ns: 9_000_100,
      pid: 1,
      exec_ns: 4_000_000,
      slice_ns: 0,
      vtime: 1000,
      result: 1,
    });
    enqueue(1, 4_001_000, 9_000_100);
    builder.add(0, 'kick', { time_ns: 9_000_200, target: 1 });
    builder.add(cpu, 'dispatch', { time_ns: 9_000_300, target: cpu });
    builder.add(cpu, 'dequeue', { time_ns: 9_000_300, pid: 2 });
    builder.add(cpu, 'move', { time_ns: 9_000_400, dsq: 0, target: cpu, result: 1 });
    builder.add(0, 'update_idle', { time_ns: 9_000_500, target: 0, result: 1 });
    builder.add(0, 'update_idle', { time_ns: 9_000_600, target: 0 });
    const result = replay(builder.recording());
    assert.is(result.decisions.move.consistent, consistent, `CPU ${cpu}`);
    assert.is(wrong(result), 1 - consistent, JSON.stringify(result.unexplained));
  }
});

test.run();
