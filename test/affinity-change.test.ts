// A task's mask changes while it runs, waits or sleeps somewhere. The changer sleeps until the time of the change, and uses no
// CPU. Machines are ideal: no costs, slices end exactly.

import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type ConfigInput, explainTask, simulate } from '../src/index.js';

type Task = NonNullable<ConfigInput['workload']['tasks']>[number];

const MS = 1_000_000;

/** From `at` on `task` may run on `affinity` only. The changer has CPU 4 to itself. */
const change = (at: string, task: string, affinity: string): Task => ({
  name: `changer-${at}`,
  class: 'realtime',
  cpus: '4',
  program: [{ sleep: at }, { affinity, task }],
});

const on = (tasks: Task[], policy: ConfigInput['policy'] = 'eevdf'): ConfigInput => ({
  machine: 'ideal-5',
  policy,
  workload: { tasks },
});

/** "state where: ms", in order of the beginning of their longest stretches. */
async function linesOf(config: ConfigInput, task: string): Promise<string[]> {
  const { parts } = await explainTask(config, task);
  return [...parts]
    .sort((a, b) => a.longest_from_ns - b.longest_from_ns)
    .map(({ state, where, length_ns }) => `${state} ${where}: ${length_ns / MS}`);
}

test('a running fair task leaves at once, and goes on where it may', async () => {
  // Alone on CPU 0 for 4 ms, then on CPU 2 for the other 6 ms: done at 10 ms, as if nothing had happened.
  const config = on([
    { name: 'a', class: 'fair', cpus: '0-1', program: [{ run: '10ms' }] },
    change('4ms', 'a', '2'),
  ]);
  assert.equal(await linesOf(config, 'a'), ['running on CPU 0: 4', 'running on CPU 2: 6']);
  const { metrics, cpus } = await simulate(config);
  assert.is(metrics.duration_s, 0.01);
  assert.is(cpus[2].migrations_in, 1);
});

test('a waiting fair task is moved at once', async () => {
  // Both on CPU 0: a has run for its first slice of 2.25 ms (5 CPUs), b waits. At 1 ms b may use CPU 1 only, which is idle: it
  // runs from 1 to 5 ms, a from 0 to 4 ms.
  const config = on([
    { name: 'a', class: 'fair', cpus: '0', program: [{ run: '4ms' }] },
    { name: 'b', class: 'fair', cpus: '0', program: [{ run: '4ms' }] },
    change('1ms', 'b', '1'),
  ]);
  assert.equal(await linesOf(config, 'b'), ['waiting in the run queue of CPU 0: 1', 'running on CPU 1: 4']);
  assert.equal(await linesOf(config, 'a'), ['running on CPU 0: 4']);
});

test('where it goes, it competes: the lag that it brings decides', async () => {
  // a and b alone on CPUs 0 and 1. At 4 ms a must go to CPU 1, where b has run all the time: both have lag 0 then, so the new
  // one waits for the end of b's slice. From there they share CPU 1; a has 6 ms left, b 6 ms: the later one is done at 16 ms.
  const config = on([
    { name: 'a', class: 'fair', cpus: '0', program: [{ run: '10ms' }] },
    { name: 'b', class: 'fair', cpus: '1', program: [{ run: '10ms' }] },
    change('4ms', 'a', '1'),
  ]);
  const { metrics, cpus } = await simulate(config);
  assert.is(metrics.duration_s, 0.016);
  assert.equal(
    cpus.map(({ busy_ns }) => busy_ns / MS),
    [4, 16, 0, 0, 0],
  );
});

test('a sleeping fair task wakes up where it may be', async () => {
  const config = on([
    { name: 'a', class: 'fair', cpus: '0', program: [{ run: '1ms' }, { sleep: '5ms' }, { run: '1ms' }] },
    change('3ms', 'a', '2'),
  ]);
  assert.equal(await linesOf(config, 'a'), [
    'running on CPU 0: 1',
    'sleeping for a time: 5',
    'running on CPU 2: 1',
  ]);
});

test('a mask that holds its CPU changes nothing', async () => {
  const config = on([
    { name: 'a', class: 'fair', cpus: '0', program: [{ run: '10ms' }] },
    change('4ms', 'a', '0-2'),
  ]);
  assert.equal(await linesOf(config, 'a'), ['running on CPU 0: 10']);
});

test('a fair task that must leave while a realtime task takes its CPU does not stay there', async () => {
  // At 4 ms, in one event after the other: the realtime task wakes up on CPU 0 and preempts a, which is then told to go to 1.
  const config = on([
    { name: 'a', class: 'fair', cpus: '0', program: [{ run: '10ms' }] },
    { name: 'rt', class: 'realtime', cpus: '0', start: '4ms', program: [{ run: '5ms' }] },
    change('4ms', 'a', '1'),
  ]);
  assert.equal(await linesOf(config, 'a'), ['running on CPU 0: 4', 'running on CPU 1: 6']);
});

test('a running realtime task leaves at once, and preempts where it goes', async () => {
  // At 4 ms r goes from CPU 0 to CPU 1, where a fair task runs: that waits from 4 to 10 ms, with 6 of its 10 ms left, its
  // longest stretch.
  const config = on([
    { name: 'r', class: 'realtime', cpus: '0', program: [{ run: '10ms' }] },
    { name: 'a', class: 'fair', cpus: '1', program: [{ run: '10ms' }] },
    change('4ms', 'r', '1'),
  ]);
  assert.equal(await linesOf(config, 'r'), ['running on CPU 0: 4', 'running on CPU 1: 6']);
  assert.equal(await linesOf(config, 'a'), [
    'preempted in the run queue of CPU 1: 6',
    'running on CPU 1: 10',
  ]);
});

test('a waiting realtime task is moved at once', async () => {
  // Equal priorities on CPU 0, first in first out: s waits behind r until it may use CPUs 1 and 2; 1 is the first idle one.
  const config = on([
    { name: 'r', class: 'realtime', cpus: '0', program: [{ run: '10ms' }] },
    { name: 's', class: 'realtime', cpus: '0', program: [{ run: '3ms' }] },
    change('2ms', 's', '1-2'),
  ]);
  assert.equal(await linesOf(config, 's'), [
    'waiting in the realtime run queue of CPU 0: 2',
    'running on CPU 1: 3',
  ]);
});

test('an ext task, likewise', async () => {
  const config = on(
    [
      { name: 'a', program: [{ run: '10ms' }], cpus: '0' },
      { name: 'b', program: [{ run: '4ms' }], cpus: '0' },
      change('4ms', 'a', '2'),
      change('2ms', 'b', '1'),
    ],
    { name: 'percpu-fifo', slice: '1s' },
  );
  assert.equal(await linesOf(config, 'a'), ['running on CPU 0: 4', 'running on CPU 2: 6']);
  assert.equal((await linesOf(config, 'b')).at(-1), 'running on CPU 1: 4');
});

test('a throttled task is moved, and waits for its quota there', async () => {
  // 4 ms in 20 ms on CPU 0, used up at 4 ms; moved at 6 ms, it runs on CPU 1 from 20 to 24 ms.
  const config: ConfigInput = {
    ...on([
      { name: 'a', class: 'fair', cpus: '0', cgroup: 'g', program: [{ run: '8ms' }] },
      change('6ms', 'a', '1'),
    ]),
    kernel: { bandwidth_slice: '1ms' },
  };
  config.workload.cgroups = [{ name: 'g', quota: '4ms', period: '20ms' }];
  const { metrics, cpus } = await simulate(config);
  assert.is(metrics.duration_s, 0.024);
  assert.equal(
    cpus.map(({ busy_ns }) => busy_ns / MS),
    [4, 4, 0, 0, 0],
  );
});

const classes = fc.constantFrom('fair', 'ext', 'realtime');
const masks = fc.constantFrom('0', '1', '2', '3', '0-1', '1-3', '0,2');

test('whatever changes when: no work is lost, nobody runs outside the mask, and the books balance', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ kind: classes, cpus: masks, ms: fc.integer({ min: 1, max: 20 }) }), {
        minLength: 1,
        maxLength: 8,
      }),
      fc.array(fc.record({ at: fc.integer({ min: 0, max: 30 }), who: fc.nat(), mask: masks }), {
        minLength: 1,
        maxLength: 12,
      }),
      fc.constantFrom('6.11-scx', '6.12', '7.3'),
      async (tasks, changes, version) => {
        const config: ConfigInput = {
          ...on(
            [
              ...tasks.map(({ kind, cpus, ms }, i) => ({
                name: `t${i}`,
                class: kind as 'fair',
                cpus,
                program: [{ run: `${ms}ms` }, { sleep: '1ms' }, { run: '1ms' }],
              })),
              ...changes.map(({ at, who, mask }, i) => ({
                ...change(`${at}ms`, `t${who % tasks.length}`, mask),
                name: `c${i}`,
                background: true,
              })),
            ],
            'global-fifo',
          ),
          kernel: { version: version as '6.12' },
          output: { decisions: true },
        };
        const { outcome, cpus, decisions } = await simulate(config);
        assert.is(outcome, 'completed');
        const work = tasks.reduce((sum, { ms }) => sum + ms + 1, 0);
        assert.is(
          cpus.reduce((sum, { busy_ns }) => sum + busy_ns, 0),
          work * MS,
        );
        // Masks by time: a task begins to run only where the latest change before allows it.
        const allowed = (i: number, time: bigint): Set<number> => {
          const last = changes
            .filter(({ who, at }) => who % tasks.length === i && BigInt(at * MS) < time)
            .sort((a, b) => a.at - b.at)
            .at(-1);
          return cpusOf(last?.mask ?? tasks[i].cpus);
        };
        const [time, kind, cpu, task] = ['time_ns', 'kind', 'cpu', 'task'].map(
          (name) => decisions!.getChild(name)!,
        );
        const changedAt = new Set(changes.map(({ at }) => BigInt(at * MS)));
        for (let row = 0; row < decisions!.numRows; row++) {
          const i = task.get(row) - 1;
          if (kind.get(row) !== 'run' || i >= tasks.length || changedAt.has(time.get(row))) continue;
          assert.ok(
            allowed(i, time.get(row)).has(cpu.get(row)),
            `t${i} on ${cpu.get(row)} at ${time.get(row)}`,
          );
        }
      },
    ),
    { numRuns: 60 },
  );
});

function cpusOf(mask: string): Set<number> {
  return new Set(
    mask.split(',').flatMap((part) => {
      const [first, last = first] = part.split('-').map(Number);
      return Array.from({ length: last - first + 1 }, (_, i) => first + i);
    }),
  );
}

test.run();
