// Group scheduling of the fair class: CPU time is shared among cgroups first, then among their tasks. ideal-1 and
// ideal-2, exact slices.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { simulate } from '../src/index.js';
import type { ConfigInput } from '../src/types.js';

const HOG = [{ loop: { times: 'forever' as const, do: [{ run: '1s' }] } }];

/** CPU seconds by task name over one second. */
async function shares(
  cpus: number,
  workload: ConfigInput['workload'],
  kernel: ConfigInput['kernel'] = {},
): Promise<Record<string, number>> {
  const result = await simulate({
    machine: `ideal-${cpus}`,
    kernel,
    policy: 'eevdf',
    workload,
    run: { end: 'horizon', horizon: '1s' },
  });
  return Object.fromEntries(
    result.classes.map(({ name, stint_us }) => [name, (stint_us.mean * stint_us.count) / 1e6]),
  );
}

const close = (got: number, want: number, within: number) =>
  assert.ok(Math.abs(got - want) <= within, `${got} s, not ${want} ± ${within}`);

test('two groups of equal shares get half each, however many tasks they have', async () => {
  const used = await shares(1, {
    cgroups: [{ name: 'many' }, { name: 'one' }],
    tasks: [
      { name: 'a', count: 9, program: HOG, cgroup: 'many' },
      { name: 'b', program: HOG, cgroup: 'one' },
    ],
  });
  // A slice is 0.75 ms on one CPU; the stint under way at the end isn't in the histogram.
  close(used.a, 0.5, 0.003);
  close(used.b, 0.5, 0.003);
});

test('without group scheduling the same tasks share by their own weight', async () => {
  const used = await shares(
    1,
    {
      cgroups: [{ name: 'many' }, { name: 'one' }],
      tasks: [
        { name: 'a', count: 9, program: HOG, cgroup: 'many' },
        { name: 'b', program: HOG, cgroup: 'one' },
      ],
    },
    { group_scheduling: false },
  );
  close(used.a, 0.9, 0.003);
  close(used.b, 0.1, 0.003);
});

test('shares weigh among siblings and against tasks of the parent', async () => {
  const used = await shares(1, {
    cgroups: [
      { name: 'outer', shares: 2048 },
      { name: 'inner', parent: 'outer', shares: 3072 },
    ],
    tasks: [
      { name: 'root', program: HOG },
      { name: 'outer', program: HOG, cgroup: 'outer' },
      { name: 'inner', count: 2, program: HOG, cgroup: 'inner' },
    ],
  });
  // Root: 1024 against 2048. Within the outer group a task's 1024 against the inner group's 3072.
  close(used.root, 1 / 3, 0.005);
  close(used.outer, (2 / 3) * (1 / 4), 0.005);
  close(used.inner, (2 / 3) * (3 / 4), 0.005);
});

test('a group weighs on a CPU by the part of its load that is there', async () => {
  const used = await shares(2, {
    cgroups: [{ name: 'wide' }],
    tasks: [
      { name: 'wide0', program: HOG, cgroup: 'wide', cpus: '0' },
      { name: 'wide1', program: HOG, cgroup: 'wide', cpus: '1' },
      { name: 'root0', program: HOG, cpus: '0' },
    ],
  });
  // Half of its load is on CPU 0: its entity weighs 512 there, against the root's task of 1024.
  close(used.wide0, 1 / 3, 0.005);
  close(used.root0, 2 / 3, 0.005);
});

test('a sleeper of a group that others keep busy comes back to its share', async () => {
  const used = await shares(1, {
    cgroups: [{ name: 'g' }, { name: 'h' }],
    tasks: [
      {
        name: 'sleeper',
        program: [{ loop: { times: 'forever', do: [{ run: '1ms' }, { sleep: '9ms' }] } }],
        cgroup: 'g',
      },
      { name: 'hog', count: 4, program: HOG, cgroup: 'h' },
    ],
  });
  // It asks for less than half: 1 ms of every 9 ms + its wait, which is at most a slice or two of 0.75 ms.
  assert.ok(used.sleeper > 0.085 && used.sleeper <= 0.1, `${used.sleeper}`);
});

test.run();
