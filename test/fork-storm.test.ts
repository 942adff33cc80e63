// Families of a hundred thousand: what ends leaves its parent, its children and its job behind at a cost that is linear in
// the tasks concerned. Counted in tasks looked at, not in time.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { configFrom } from '../src/config/load.js';
import { resolveConfig } from '../src/config/resolve.js';
import * as abi from '../src/engine/abi.js';
import { encode } from '../src/engine/encode.js';
import { outcomeOf } from '../src/engine/simulate.js';
import { Simulation } from '../src/engine/simulation.js';
import { type ConfigInput, simulate } from '../src/index.js';

function storm(
  workload: ConfigInput['workload'],
  run: ConfigInput['run'] = {},
): { outcome: string; visits: number; peak: number; end_ns: number } {
  const config = { machine: 'ideal-1', policy: { name: 'global-fifo' as const, slice: '1h' }, run, workload };
  const simulation = new Simulation(encode(resolveConfig(configFrom(config))));
  while (!simulation.done) simulation.step();
  simulation.finish();
  return {
    outcome: outcomeOf(simulation),
    visits: simulation.counter(abi.R_FAMILY_VISITS),
    peak: simulation.counter(abi.R_PEAK_TASKS),
    end_ns: Number(simulation.time_ns),
  };
}

test('a parent that leaves 100,000 children behind looks at each once', () => {
  // It exits at 0, before the first of them has run: 100,000 × 1 µs.
  const { outcome, visits, peak, end_ns } = storm({
    tasks: [{ name: 'a', program: [{ fork: { count: 100_000, program: [{ run: '1us' }] } }] }],
  });
  assert.is(outcome, 'completed');
  assert.is(visits, 100_000);
  assert.is(peak, 100_001);
  assert.is(end_ns, 100_000 * 1000);
});

test('children that end before their parent cost it nothing', () => {
  const { outcome, visits } = storm({
    tasks: [
      { name: 'a', program: [{ fork: { count: 1000, program: [{ run: '1us' }] } }, { join: 'sleep' }] },
    ],
  });
  assert.is(outcome, 'completed');
  assert.is(visits, 0);
});

test('100,000 generations, each of which forks the next and exits: one look each, and no barrier is left over', () => {
  // A generation uses the CPU for 1 µs and forks at its end: number n forks at n µs. The one that forks at .1 s, the limit, is
  // the 100,000th; there are 65,535 barriers in all.
  const { outcome, visits, peak } = storm(
    {
      programs: { again: [{ run: '1us' }, { fork: { count: 1, program: 'again' } }] },
      tasks: [{ name: 'a', program: 'again' }],
    },
    { end: 'horizon', horizon: '100ms' },
  );
  assert.is(outcome, 'horizon');
  assert.ok(visits === 100_000 || visits === 99_999, `${visits}`);
  assert.is(peak, 2);
});

test('orphans that fork families of their own give the barrier back that they were born with', () => {
  // The parent goes at 1 µs; its child forks a grandchild, joins it, and begins again as a parent: three barriers at most live.
  const { outcome } = storm(
    {
      programs: {
        again: [
          { run: '1us' },
          { fork: { count: 1, program: [{ run: '1us' }] } },
          { join: 'sleep' },
          { fork: { count: 2, program: [] } },
          { fork: { count: 1, program: 'again' } },
        ],
      },
      tasks: [{ name: 'a', program: 'again' }],
    },
    { end: 'horizon', horizon: '150ms' },
  );
  assert.is(outcome, 'horizon');
});

test('a server whose jobs leave children behind looks at those of the job that ends, not at all that live', () => {
  // 10,000 jobs at once; each leaves a child that lives on. On one CPU the server is done before the first child runs: each
  // child is looked at once when its job is finished, and once when the server exits.
  const jobs = 10_000;
  const { outcome, visits, peak } = storm({
    queues: [{ name: 'q' }],
    arrivals: [{ name: 'jobs', interarrival: '1ns', max_arrivals: jobs, queue: 'q' }],
    tasks: [
      {
        name: 'server',
        program: [
          { run: '1ms' },
          {
            loop: {
              times: jobs,
              do: [{ receive: 'q' }, { fork: { count: 1, program: [{ run: '1us' }] } }, 'finish'],
            },
          },
        ],
      },
    ],
  });
  assert.is(outcome, 'completed');
  assert.is(visits, 2 * jobs);
  assert.is(peak, jobs + 1);
});

test('grandchildren work for the job as long as it lasts, and for no other', async () => {
  // A job's task forks a child, which forks a grandchild and exits: the grandchild is on its own. On two CPUs first come
  // first served: child (1 ms) and job (3 ms) from 0; the grandchild runs from 1 to 6 ms, and counts for nobody.
  const { metrics } = await simulate({
    machine: 'ideal-2',
    policy: { name: 'global-fifo', slice: '1h' },
    workload: {
      arrivals: [
        {
          name: 'jobs',
          interarrival: '1s',
          max_arrivals: 1,
          spawn: {
            program: [
              {
                fork: {
                  count: 1,
                  program: [{ run: '1ms' }, { fork: { count: 1, program: [{ run: '5ms' }] } }],
                },
              },
              { run: '3ms' },
            ],
          },
        },
      ],
    },
  });
  assert.is(metrics.completed, 1);
  assert.ok(Math.abs(metrics.cpu_ms - 4) < 1e-9, `${metrics.cpu_ms}`);
});

test.run();
