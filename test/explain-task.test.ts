// Where a task's time went: every stretch from its first wake-up to its exit, summing to the nanosecond.

import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { configFrom } from '../src/config/load.js';
import { ConfigError } from '../src/config/mistakes.js';
import { resolveConfig } from '../src/config/resolve.js';
import * as abi from '../src/engine/abi.js';
import { decisionsOf } from '../src/engine/decision-records.js';
import { decode } from '../src/engine/decode.js';
import { encode } from '../src/engine/encode.js';
import { recording } from '../src/engine/served.js';
import { Simulation } from '../src/engine/simulation.js';
import { TaskName } from '../src/engine/task-name.js';
import { TaskTime } from '../src/engine/task-time.js';
import { type ConfigInput, explainTask, simulate, VtimeError } from '../src/index.js';
import type { ExplainTaskOptions } from '../src/types.js';
import { inputOf } from './reference/compare.js';
import { configs } from './reference/configs.js';
import { configFile, vtime } from './support/sweeps.js';

const MS = 1_000_000;

/** "state where: ms, who it was behind", longest first. */
async function linesOf(input: ConfigInput, name: string, window?: ExplainTaskOptions): Promise<string[]> {
  const { parts } = await explainTask(input, name, window);
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

/** The message with which a name is refused. */
async function refusal(input: ConfigInput, name: string): Promise<string> {
  try {
    await explainTask(input, name);
  } catch (error) {
    assert.instance(error, VtimeError);
    return (error as VtimeError).message;
  }
  return assert.unreachable(name) as never;
}

/** Each arrival, at 1, 2, 3 ms …, makes a task that forks two children and waits for them. */
const FAMILIES: ConfigInput = {
  machine: 'ideal-1',
  policy: { name: 'global-fifo', slice: '1s' },
  workload: {
    arrivals: [
      {
        name: 'jobs',
        interarrival: '1ms',
        max_arrivals: 3,
        spawn: {
          program: [
            { run: '2ms' },
            {
              fork: {
                count: 2,
                program: [{ run: '1ms' }, { fork: { count: 1, program: [{ run: '5ms' }] } }],
              },
            },
            { join: 'sleep' },
          ],
        },
      },
    ],
    tasks: [
      { name: 'a', count: 2, program: [{ run: '100us' }, { fork: { count: 1, program: [{ run: '1ms' }] } }] },
    ],
  },
};

test('tasks that come and go have names: by their arrival, by their parent', async () => {
  // First in first out: a/0 runs [0, .1), a/1 [.1, .2), their children [.2, 1.2) and [1.2, 2.2), although the second one gets the
  // record that a/0 has left. jobs#0, #1, #2 run [2.2, 4.2), [4.2, 6.2), [6.2, 8.2), then come the children of #0 from 8.2, of
  // #1 from 10.2, of #2 to 14.2, then two grandchildren of #0 to 24.2, and then #0 again, whose children ended at 10.2.
  assert.equal(await linesOf(FAMILIES, 'a/1:0'), [
    'waiting in user DSQ 0: 1; 1 tasks of "a" 1',
    'running on CPU 0: 1',
  ]);
  assert.equal(await linesOf(FAMILIES, 'jobs#0'), [
    'waiting in user DSQ 0: 15.2; 6 tasks of "jobs" 14; 2 tasks of "a" 1.2',
    'blocked for its children: 6',
    'running on CPU 0: 2',
  ]);
  // Forked at 9.2, behind one other child of #0 and the four of #1 and #2.
  assert.equal(await linesOf(FAMILIES, 'jobs#0:0:0'), [
    'waiting in user DSQ 0: 5; 5 tasks of "jobs" 5',
    'running on CPU 0: 5',
  ]);
  const { task, exited, until_ns } = await explainTask(FAMILIES, 'jobs#0:0:0');
  assert.match(task, /^task "jobs#0:0:0" \(pid \d+\)$/);
  assert.ok(exited);
  assert.is(until_ns, 19.2 * MS);
});

test('a task that comes and goes, but not so often, is an error that says how often', async () => {
  assert.match(await refusal(FAMILIES, 'jobs#3'), /"jobs" makes 3 other tasks; expected the ordinal/);
  assert.match(
    await refusal(FAMILIES, 'jobs#1:2'),
    /"jobs#1" forks 2 children; expected one of jobs#1:0 to jobs#1:1/,
  );
  assert.match(await refusal(FAMILIES, 'jobs#1:0:1'), /"jobs#1:0" forks 1 child; expected/);
  assert.match(await refusal(FAMILIES, 'jobs'), /makes a task for each arrival; expected jobs#0 for/);
  assert.match(await refusal(FAMILIES, 'job#0'), /no task "job#0"; expected one of a\/0 to a\/1, jobs#0/);
});

test('a task that does not exist is an error with the names that do', async () => {
  const three = { ...TURNS, workload: { tasks: [{ name: 'a', count: 3, program: [{ run: '1ms' }] }] } };
  assert.match(await refusal(three, 'a'), /there are 3 of "a"; expected one of a\/0 to a\/2/);
  assert.match(await refusal(three, 'b'), /no task "b"; expected one of a\/0 to a\/2/);
  assert.match(await refusal(three, 'a/1:0'), /no task "a\/1:0": "a\/1" forks 0 children; expected a\/1/);
  assert.match(await refusal(three, 'a/1#0'), /no task "a\/1#0"; expected one of a\/0 to a\/2/);
});

/** Names of all tasks of a run that have ever been there. */
function namesOf(input: ConfigInput): string[] {
  const model = recording(encode(resolveConfig(configFrom(input))), abi.DECISIONS_DETAILED);
  const simulation = new Simulation(model);
  const living = new Map(model.taskNames.map((name, i) => [i + 1, { name, children: 0 }]));
  const names = [...model.taskNames];
  while (!simulation.done) {
    simulation.step();
    for (const { kind, task, value, cpu } of decisionsOf(simulation.drainDecisions())) {
      if (kind !== abi.DECISION_FORK && kind !== abi.DECISION_SPAWN) continue;
      const parent = living.get(value);
      const name =
        kind === abi.DECISION_SPAWN
          ? `${input.workload.arrivals![cpu].name}#${value}`
          : `${parent!.name}:${parent!.children++}`;
      living.set(task, { name, children: 0 });
      names.push(name);
    }
  }
  return names;
}

/** Runs a config once with the times of all its tasks. */
function timesOf(input: ConfigInput) {
  const model = recording(encode(resolveConfig(configFrom(input))), abi.DECISIONS_DETAILED);
  const times = namesOf(input).map((name) => new TaskTime(model, new TaskName(name, model)));
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

/** Each task's parts sum to its time; what they used of the CPUs is the CPUs' busy time. Returns how many tasks there were. */
function checkSums({ times, end_ns, result }: ReturnType<typeof timesOf>): number {
  let tasks = 0;
  let busy = 0;
  for (const time of times) {
    if (time.first_ns === undefined) continue;
    tasks++;
    let sum = 0;
    for (const { state, length_ns } of time.parts()) {
      sum += length_ns;
      if (state === 'running' || state === 'polling' || state === 'switch') busy += length_ns;
    }
    assert.is(sum, (time.exit_ns ?? end_ns) - time.first_ns);
  }
  assert.is(
    busy,
    result.cpus.reduce((total, { busy_ns }) => total + busy_ns, 0),
  );
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

test('sums are exact for every task of random programs, those included that come and go', () => {
  let tasks = 0;
  fc.assert(
    fc.property(configs, (config) => {
      const run = unlessRefused(() => timesOf(inputOf(config)));
      if (run !== undefined) tasks += checkSums(run);
    }),
    { seed: 1, numRuns: 12 },
  );
  assert.ok(tasks > 100, String(tasks));
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

test('on machines with costs, under quotas and in all classes', () => {
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
      const run = timesOf(input);
      checkSums(run);
      const sums: Record<string, number> = {};
      for (const { state, length_ns } of run.times.flatMap((each) => each.parts())) {
        sums[state] = (sums[state] ?? 0) + length_ns;
      }
      const { switch: costs = 0 } = sums;
      // A stay may end before its costs are paid.
      assert.ok(costs <= run.result.cpus.reduce((sum, { overhead_ns }) => sum + overhead_ns, 0));
      if (quota === undefined) assert.is(sums.quota ?? 0, 0);
    }),
    { seed: 1, numRuns: 20 },
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
  assert.equal(timesOf(input).result.metrics, metrics);
});

test.run();
