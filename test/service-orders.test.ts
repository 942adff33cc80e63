// Service orders and fluid service by hand: single jobs on ideal machines, ends to the nanosecond.

import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { ConfigInput, StepInput } from '../src/config/schema.js';
import { simulate } from '../src/engine/simulate.js';
import { containerShares } from '../src/selftest/scenarios.js';

type Policy = ConfigInput['policy'];
interface Given {
  at: number;
  run: number;
  weight?: number;
}

/** Response of each job in s, on one CPU; times in s. */
async function responses(policy: Policy, jobs: readonly Given[], machine = 'ideal-1'): Promise<number[]> {
  const { classes, outcome } = await simulate({
    machine,
    policy,
    kernel: { watchdog_timeout: '0s' },
    workload: {
      arrivals: jobs.map(({ at, run, weight }, i) => ({
        name: `job${i}`,
        interarrival: '0s',
        start: `${at}s`,
        max_arrivals: 1,
        spawn: { program: [{ run: `${run}s` }], ...(weight === undefined ? {} : { weight }) },
      })),
    },
  });
  assert.is(outcome, 'completed');
  return classes.map(({ latency_ms }) => latency_ms.max / 1e3);
}

// At 0 a job of 10 s, at 1 one of 6 s, at 2 one of 1 s, at 6 one of 4 s.
const JOBS: Given[] = [
  { at: 0, run: 10 },
  { at: 1, run: 6 },
  { at: 2, run: 1 },
  { at: 6, run: 4 },
];
const order = (by: 'size' | 'remaining' | 'attained' | 'weight', preempt: boolean): Policy => ({
  name: 'service-order',
  by,
  preempt,
});

test('shortest job first: the running one is left alone', async () => {
  // 0-10, then 1 s to 11, 4 s to 15, 6 s to 21.
  assert.equal(await responses(order('size', false), JOBS), [10, 20, 9, 9]);
});

test('preemptive shortest job first goes by the whole size', async () => {
  // The second runs from 1, the third 2-3, the second again to 6 (4 s done); the fourth, of 4 s, takes the CPU though the
  // second has only 2 s left: 6-10, second to 12, first 12-21.
  assert.equal(await responses(order('size', true), JOBS), [21, 11, 1, 4]);
});

test('shortest remaining time goes by what is left, under either name', async () => {
  // At 6 the second has 2 s left: it ends at 8, the fourth at 12, the first at 21.
  const expected = [21, 7, 1, 6];
  assert.equal(await responses(order('remaining', true), JOBS), expected);
  assert.equal(await responses('shortest-remaining', JOBS), expected);
});

test('least attained service: who has had least runs, in slices among equals', async () => {
  // Slices of 1 s. The first runs 0-1; the second 1-2 has had as much; the third 2-3 and is done. Then the first and the
  // second in turn, the first first, to 6 (first 3, second 2); at 6 the fourth, with nothing so far: 6-8 to the second's 2.
  const [, , third, fourth] = await responses({ name: 'service-order', by: 'attained', slice: '1s' }, JOBS);
  assert.is(third, 1);
  // Its third and fourth second wait for others that have had less: it ends between 6 + 4 and 21.
  assert.ok(fourth > 4 && fourth < 15, `${fourth}`);
});

test('priority classes by weight: with preemption and without, first come first served inside', async () => {
  const jobs: Given[] = [
    { at: 0, run: 4, weight: 100 },
    { at: 1, run: 2, weight: 100 },
    { at: 2, run: 3, weight: 5000 },
    { at: 3, run: 1, weight: 5000 },
  ];
  // 0-4 the first; the heavy ones 4-7 and 7-8; the second 8-10.
  assert.equal(await responses(order('weight', false), jobs), [4, 9, 5, 5]);
  // 0-2 the first, the heavy ones 2-5 and 5-6; the first, ahead of its class, 6-8; the second 8-10.
  assert.equal(await responses(order('weight', true), jobs), [8, 9, 3, 3]);
});

test('processor sharing is exact', async () => {
  // Alone 0-1 (9 left); with the second 1-2 (8.5, 5.5); three of them until the third is done at 5 (7.5, 4.5); two until 6
  // (7, 4); three: the second and the fourth have 4 left each, done at 18; the first has 3 left, done at 21.
  assert.equal(await responses('processor-sharing', JOBS), [21, 17, 3, 12]);
  // On two CPUs two tasks don't disturb each other: 0-2, then rate 2/3 until the third is done at 3.5 (first 7, second 4);
  // alone on their CPUs until 6 (4.5, 1.5); rate 2/3 until the second is done at 8.25 (3, fourth 2.5); then rate 1.
  assert.equal(await responses('processor-sharing', JOBS, 'ideal-2'), [11.25, 7.25, 1.5, 4.75]);
});

test('cloudsimplus#27 with fluid sharing: 4 equal jobs of 10 s on 2 cores all end at 20 s', async () => {
  const jobs = Array.from({ length: 4 }, () => ({ at: 0, run: 10 }));
  assert.equal(await responses('processor-sharing', jobs, 'ideal-2'), [20, 20, 20, 20]);
});

test('dslab-faas: containers divide 2 cores by their shares, and calls what their container has', async () => {
  const { classes } = await simulate(containerShares);
  assert.equal(
    classes.map(({ latency_ms }) => [latency_ms.count, latency_ms.min, latency_ms.max]),
    [
      [2, 3000, 3000],
      [3, 4000, 4000],
    ],
  );
});

test('what a container cannot use, since a call is on one CPU at most, goes to the others', async () => {
  // A's share would be 3 of 4 cores, but it has one call: 1 core, 1 s. B's 4 calls of 1.5 s have 3 cores: 2 s, of which
  // after 1 s half the work is done; then 4 cores, 1 each: 0.75 s more.
  const { classes } = await simulate({
    machine: 'ideal-4',
    policy: 'processor-sharing',
    workload: {
      cgroups: [
        { name: 'A', shares: 3072 },
        { name: 'B', shares: 1024 },
      ],
      tasks: [
        { name: 'a', cgroup: 'A', program: [{ run: '1s' }] },
        { name: 'b', cgroup: 'B', count: 4, program: [{ run: '1500ms' }] },
      ],
    },
  });
  assert.equal(
    classes.map(({ stint_us }) => stint_us.max),
    [1e6, 1_750_000],
  );
});

test('processor sharing needs an ideal machine', async () => {
  const run = simulate({
    machine: 'xeon-8160-2s',
    policy: 'processor-sharing',
    workload: { tasks: [{ name: 'task', program: [{ run: '1s' }] }] },
  });
  const error = await run.then(
    () => undefined,
    (reason) => reason,
  );
  assert.match(error.message, /policy: processor-sharing has no costs and one speed/);
});

/** Fluid sharing, the obvious way: from event to event, with the work left of every job. Responses in ns. */
function fluidReference(jobs: readonly { at: number; run: number }[], cpus: number): number[] {
  const left = jobs.map(({ run }) => run);
  const ends = jobs.map(() => Number.NaN);
  let now = 0;
  for (;;) {
    const present = jobs.flatMap(({ at }, i) => (at <= now && Number.isNaN(ends[i]) ? [i] : []));
    const coming = jobs.filter(({ at }) => at > now).map(({ at }) => at);
    if (present.length === 0 && coming.length === 0) return ends.map((end, i) => end - jobs[i].at);
    const rate = Math.min(1, cpus / Math.max(1, present.length));
    const firstEnd = now + Math.min(...present.map((i) => left[i])) / rate;
    const next = Math.min(firstEnd, ...coming);
    for (const i of present) {
      left[i] -= (next - now) * rate;
      // Rounding leaves less than a thousandth of a ns.
      if (left[i] < 1e-3) ends[i] = next;
    }
    now = next;
  }
}

test('processor sharing of any jobs is that of a reference, within 2 ns', async () => {
  const job = fc.record({
    at: fc.integer({ min: 0, max: 50_000 }),
    run: fc.integer({ min: 1, max: 20_000 }),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(job, { minLength: 1, maxLength: 25 }),
      fc.integer({ min: 1, max: 4 }),
      async (jobs, cpus) => {
        const { classes } = await simulate({
          machine: `ideal-${cpus}`,
          policy: 'processor-sharing',
          workload: {
            arrivals: jobs.map(({ at, run }, i) => ({
              name: `job${i}`,
              interarrival: '0s',
              start: `${at}ns`,
              max_arrivals: 1,
              spawn: { program: [{ run: `${run}ns` }] },
            })),
          },
        });
        const expected = fluidReference(jobs, cpus);
        classes.forEach(({ latency_ms }, i) => {
          const deviation = Math.abs(latency_ms.max * 1e6 - expected[i]);
          assert.ok(deviation <= 2, `job ${i}: ${latency_ms.max * 1e6} ns, expected ${expected[i]}`);
        });
      },
    ),
    { seed: 1, numRuns: 200 },
  );
});

/** One CPU with a server for queue `q`, whose jobs of 1 s come at these times, s. */
const served = (
  receive: { idle?: StepInput[]; set_up?: StepInput[] },
  at: readonly number[],
): ConfigInput => ({
  machine: 'ideal-1',
  policy: 'global-fifo',
  workload: {
    queues: [{ name: 'q' }],
    tasks: [
      {
        name: 'server',
        background: true,
        program: [
          { loop: { times: 'forever', do: [{ receive: 'q', ...receive }, { run: '1s' }, 'finish'] } },
        ],
      },
    ],
    arrivals: at.map((s, i) => ({
      name: `job${i}`,
      interarrival: '0s',
      start: `${s * 1000}ms`,
      max_arrivals: 1,
      queue: 'q',
    })),
  },
});

test('vacations: a task with an idle program is not there when a job comes', async () => {
  // Empty at 0, 2 and 4 s: away until 6 s. The job of 5 s is served at 6, the next, at 6.5, right after it at 7.
  const { classes } = await simulate(served({ idle: [{ sleep: '2s' }] }, [5, 6.5]));
  assert.equal(
    classes.slice(1).map(({ latency_ms }) => latency_ms.max),
    [2000, 1500],
  );
});

test('set-up: only a job that had to be waited for pays for it', async () => {
  // 5 s: 2 s of set-up, 1 s of service; the second comes meanwhile and follows at 8; the third, at 20, is set up for again.
  const { classes } = await simulate(served({ set_up: [{ run: '2s' }] }, [5, 7, 20]));
  assert.equal(
    classes.slice(1).map(({ latency_ms }) => latency_ms.max),
    [3000, 2000, 3000],
  );
});

test('batches: so many jobs at once, each with draws of its own', async () => {
  const { metrics, invocations } = await simulate({
    machine: 'ideal-1',
    policy: 'global-fifo',
    workload: {
      arrivals: [
        {
          name: 'jobs',
          interarrival: '100s',
          batch: 4,
          max_arrivals: 8,
          spawn: { program: [{ run: { exponential: '1s' } }] },
        },
      ],
    },
    output: { invocations: 'all' },
  });
  assert.is(metrics.arrived, 8);
  const column = (name: string) => [...invocations!.getChild(name)!].map(Number);
  assert.equal(
    column('arrival_ns').map((ns) => ns / 1e9),
    [100, 100, 100, 100, 200, 200, 200, 200],
  );
  assert.is(new Set(column('cpu_ns')).size, 8);
});

test('a job that is sent on has draws of its own at every station', async () => {
  const station = (name: string, next: StepInput): StepInput[] => [
    { loop: { times: 'forever', do: [{ receive: name }, { run: { exponential: '1s' } }, next] } },
  ];
  const { invocations, classes } = await simulate({
    machine: 'ideal-2',
    policy: 'global-fifo',
    workload: {
      queues: [{ name: 'first' }, { name: 'second' }],
      tasks: [
        { name: 'one', background: true, program: station('first', { send: 'second' }) },
        { name: 'two', background: true, program: station('second', 'finish') },
      ],
      arrivals: [{ name: 'jobs', interarrival: '1h', max_arrivals: 20, queue: 'first' }],
    },
    output: { invocations: 'all' },
  });
  // Were the two services the same draw, each job's CPU time would be twice a stay on a CPU.
  const stays = classes
    .filter(({ name }) => name === 'one' || name === 'two')
    .map(({ stint_us }) => stint_us.mean);
  assert.ok(Math.abs(stays[0] - stays[1]) > 1000, `${stays}`);
  assert.is(new Set([...invocations!.getChild('cpu_ns')!].map(Number)).size, 20);
});

test('a task that comes back to an empty queue is no deadlock for the job that comes meanwhile', async () => {
  // The last arrival at 10 s finds the server away until 1000 s.
  const { outcome, metrics } = await simulate(served({ idle: [{ sleep: '1000s' }] }, [10]));
  assert.is(outcome, 'completed');
  assert.is(metrics.duration_s, 1001);
});

test.run();
