// Where a task's time went: every stretch from its first wake-up to its exit, summing to the nanosecond.

import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { configFrom } from '../src/config/load.js';
import { ConfigError } from '../src/config/mistakes.js';
import { resolveConfig } from '../src/config/resolve.js';
import { DECISIONS_DETAILED } from '../src/engine/abi.js';
import { decode } from '../src/engine/decode.js';
import { encode } from '../src/engine/encode.js';
import { explainTask } from '../src/engine/explain-task.js';
import { recording } from '../src/engine/served.js';
import { Simulation } from '../src/engine/simulation.js';
import { TaskTime, type Window } from '../src/engine/task-time.js';
import { type ConfigInput, simulate, VtimeError } from '../src/index.js';
import { inputOf } from './reference/compare.js';
import { configs } from './reference/configs.js';
import { configFile, vtime } from './support/sweeps.js';

const MS = 1_000_000;

const explainOf = (input: ConfigInput, name: string, window?: Partial<Window>) =>
  explainTask(resolveConfig(configFrom(input)), { times: new Map() }, name, window);

/** "state where: ms, who it was behind", longest first. */
async function linesOf(input: ConfigInput, name: string, window?: Partial<Window>): Promise<string[]> {
  const { parts } = await explainOf(input, name, window);
  return parts.map(({ state, where, length_ns, behind, by }) => {
    const who = behind.map((ahead) => `${ahead.count} ${ahead.who} ${ahead.length_ns / MS}`);
    const taken = by.map((taker) => `by ${taker.who}`);
    return [`${state} ${where}: ${length_ns / MS}`, ...taken, ...who].join('; ');
  });
}

const TURNS: ConfigInput = {
  machine: 'ideal-1',
  policy: { name: 'global-fifo', slice: '3ms' },
  workload: {
    tasks: [
      { name: 'a', program: [{ run: '4ms' }] },
      { name: 'b', program: [{ run: '4ms' }] },
    ],
  },
};

test('two tasks take turns: who waits for whom, in which queue', async () => {
  // a runs [0, 3) and [6, 7), b runs [3, 6) and [7, 8).
  assert.equal(await linesOf(TURNS, 'a'), [
    'running on CPU 0: 4',
    'preempted in user DSQ 0: 3; by task "b" (pid 2); 1 task "b" (pid 2) 3',
  ]);
  assert.equal(await linesOf(TURNS, 'b'), [
    'running on CPU 0: 4',
    'waiting in user DSQ 0: 3; 1 task "a" (pid 1) 3',
    'preempted in user DSQ 0: 1; by task "a" (pid 1); 1 task "a" (pid 1) 1',
  ]);
});

test('a window cuts stretches at its edges', async () => {
  // b within [2, 6.5): waits [2, 3), runs [3, 6), preempted [6, 6.5).
  assert.equal(await linesOf(TURNS, 'b', { from_ns: 2 * MS, until_ns: 6.5 * MS }), [
    'running on CPU 0: 3',
    'waiting in user DSQ 0: 1; 1 task "a" (pid 1) 1',
    'preempted in user DSQ 0: 0.5; by task "a" (pid 1); 1 task "a" (pid 1) 0.5',
  ]);
});

test('sleeping, polling and what a task is blocked in', async () => {
  // w runs [0, 1), sleeps [1, 3), polls [3, 7) for the event, its children run one after the other [7, 9).
  const config: ConfigInput = {
    machine: 'ideal-2',
    policy: 'eevdf',
    workload: {
      events: [{ name: 'go' }],
      tasks: [
        {
          name: 'w',
          cpus: '0',
          program: [
            { run: '1ms' },
            { sleep: '2ms' },
            { spin_until: 'go' },
            { fork: { count: 2, program: [{ run: '1ms' }] } },
            { join: 'sleep' },
          ],
        },
        { name: 's', cpus: '1', program: [{ sleep: '7ms' }, { signal: 'go' }] },
      ],
    },
  };
  assert.equal(await linesOf(config, 'w'), [
    'polling for event "go": 4',
    'sleeping for a time: 2',
    'blocked for its children: 2',
    'running on CPU 0: 1',
  ]);
});

test('a quota', async () => {
  // 2 ms of 10 ms: runs [0, 2) and [10, 12).
  const config: ConfigInput = {
    machine: 'ideal-1',
    policy: 'eevdf',
    workload: {
      cgroups: [{ name: 'g', quota: '2ms', period: '10ms' }],
      tasks: [{ name: 'a', cgroup: 'g', program: [{ run: '4ms' }] }],
    },
  };
  assert.equal(await linesOf(config, 'a'), ['quota : 8', 'running on CPU 0: 4']);
});

test('a starved task tells who had its CPU, first of all why the run stalled', async () => {
  // A fair hog keeps CPU 0; the watchdog, which looks every 2.5 s, finds the task after more than 5 s.
  const config: ConfigInput = {
    machine: 'ideal-1',
    policy: 'weighted-vtime',
    kernel: { watchdog_timeout: '5s' },
    workload: {
      tasks: [
        { name: 'hog', class: 'fair', program: [{ run: '100s' }] },
        { name: 'worker', count: 2, start: '1s', program: [{ run: '1ms' }] },
      ],
    },
  };
  assert.equal(await linesOf(config, 'worker/1'), ['waiting in user DSQ 0: 6500; 1 task "hog" (pid 1) 6500']);
  const { code, stdout } = await vtime('explain', configFile(config), '--task', 'worker/1');
  assert.is(code, 0);
  assert.match(stdout, /^stalled: task "worker\/0" \(pid 2\)/);
  assert.match(stdout, /waits for a CPU in user DSQ 0 for 6\.500 s, since 1\.000 s, behind 1 × task "hog"/);
});

test('a task that does not exist is an error with the names that do', async () => {
  const refused = async (name: string, pattern: RegExp) => {
    try {
      await explainOf(
        { ...TURNS, workload: { tasks: [{ name: 'a', count: 3, program: [{ run: '1ms' }] }] } },
        name,
      );
    } catch (error) {
      assert.instance(error, VtimeError);
      assert.match((error as VtimeError).message, pattern);
      return;
    }
    assert.unreachable(name);
  };
  await refused('a', /there are 3 of "a"; expected one of a\/0 to a\/2/);
  await refused('b', /no task "b"; expected one of a\/0 to a\/2/);
});

/** Runs a config once with the times of the tasks in the first slots. */
function timesOf(input: ConfigInput, slots: number) {
  const model = recording(encode(resolveConfig(configFrom(input))), DECISIONS_DETAILED);
  const times = Array.from({ length: slots }, (_, i) => new TaskTime(model, i + 1));
  const simulation = new Simulation(model);
  while (!simulation.done) {
    simulation.step();
    const records = simulation.drainDecisions();
    for (const time of times) time.add(records);
  }
  const end_ns = Number(simulation.time_ns);
  for (const time of times) time.finish(end_ns);
  simulation.finish();
  return { times, end_ns, result: decode(simulation.memory, simulation.result(), model) };
}

function checkSums({ times, end_ns }: ReturnType<typeof timesOf>): number {
  let tasks = 0;
  for (const time of times) {
    if (time.first_ns === undefined) continue;
    tasks++;
    const sum = time.parts().reduce((total, { length_ns }) => total + length_ns, 0);
    assert.is(sum, (time.exit_ns ?? end_ns) - time.first_ns);
  }
  return tasks;
}

/** Configs in which tasks must wait for ever are refused. */
function unlessRefused<T>(action: () => T): T | undefined {
  try {
    return action();
  } catch (error) {
    if (error instanceof ConfigError) return undefined;
    throw error;
  }
}

test('sums are exact for every task of random programs, forked ones included', () => {
  let tasks = 0;
  fc.assert(
    fc.property(configs, (config) => {
      const run = unlessRefused(() => timesOf(inputOf(config), 64));
      if (run !== undefined) tasks += checkSums(run);
    }),
    { seed: 1, numRuns: 25 },
  );
  assert.ok(tasks > 200, String(tasks));
});

const time = fc.integer({ min: 1, max: 9000 }).map((us) => `${us}us`);
const step = fc.oneof(
  time.map((run) => ({ run })),
  time.map((sleep) => ({ sleep })),
  time.map((spin) => ({ spin })),
);
const contended = fc.record({
  machine: fc.constantFrom('ideal-2', 'xeon-8160-4', 'xeon-8160-2s'),
  policy: fc.constantFrom('eevdf', 'domains:2', 'global-fifo', 'percpu-fifo', 'nest'),
  slice_expiry: fc.constantFrom('tick', 'exact'),
  quota: fc.option(
    fc.integer({ min: 5, max: 90 }).map((ms) => `${ms}ms`),
    { nil: undefined },
  ),
  tasks: fc.array(
    fc.record({
      count: fc.integer({ min: 1, max: 9 }),
      class: fc.constantFrom('default', 'fair', 'realtime'),
      times: fc.integer({ min: 1, max: 12 }),
      steps: fc.array(step, { minLength: 1, maxLength: 4 }),
    }),
    { minLength: 1, maxLength: 5 },
  ),
});

test('all tasks together: CPU time is that of the CPUs, polling and costs are those of the metrics', () => {
  fc.assert(
    fc.property(contended, ({ machine, policy, slice_expiry, quota, tasks }) => {
      const input = {
        machine,
        policy,
        kernel: { slice_expiry },
        workload: {
          cgroups: [{ name: 'g', ...(quota === undefined ? {} : { quota }) }],
          tasks: tasks.map(({ count, class: kind, times, steps }, i) => ({
            name: `t${i}`,
            count,
            ...(kind === 'default' ? {} : { class: kind }),
            ...(i === 0 ? { cgroup: 'g' } : {}),
            program: [{ loop: { times, do: steps } }],
          })),
        },
      } as ConfigInput;
      const run = timesOf(
        input,
        tasks.reduce((sum, { count }) => sum + count, 0),
      );
      checkSums(run);
      const sums: Record<string, number> = {};
      for (const { state, length_ns } of run.times.flatMap((each) => each.parts())) {
        sums[state] = (sums[state] ?? 0) + length_ns;
      }
      const { running = 0, polling = 0, switch: costs = 0 } = sums;
      const busy = run.result.cpus.reduce((sum, { busy_ns }) => sum + busy_ns, 0);
      assert.is(running + polling + costs, busy);
      // A stay may end before its costs are paid.
      assert.ok(costs <= run.result.cpus.reduce((sum, { overhead_ns }) => sum + overhead_ns, 0));
      if (quota === undefined) assert.is(sums.quota ?? 0, 0);
    }),
    { seed: 1, numRuns: 40 },
  );
});

test('looking changes nothing', async () => {
  const input: ConfigInput = {
    machine: 'xeon-8160-4',
    policy: 'domains:2',
    workload: {
      tasks: [{ name: 'a', count: 9, program: [{ run: '4ms' }, { sleep: '1ms' }, { run: '2ms' }] }],
    },
  };
  const { metrics } = await simulate(input);
  assert.equal(timesOf(input, 9).result.metrics, metrics);
});

test.run();
