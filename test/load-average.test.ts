// The load average over a minute: every 5·HZ + 1 ticks a = (a·1884 + active·2048·164)/2048 in fixed point, rounded up
// while it rises. At 250 Hz that is every 5.004 s.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { simulate } from '../src/index.js';
import type { ConfigInput } from '../src/types.js';

async function load(
  workload: ConfigInput['workload'],
  horizon: string,
  policy: ConfigInput['policy'] = 'eevdf',
) {
  const { metrics } = await simulate({
    machine: 'ideal-2',
    policy,
    workload,
    run: { end: 'horizon', horizon },
  });
  return metrics.load_average_1min;
}

const hogs = (count: number) => ({
  tasks: [{ name: 'hog', count, program: [{ loop: { times: 'forever' as const, do: [{ run: '1s' }] } }] }],
});

test('three hogs: 0.24, then towards 3', async () => {
  // First: ⌈3·2048·164/2048⌉ = 492 → 492/2048. Second: (492·1884 + 3·2048·164 + 2047)/2048 = 945.6 → 945.
  assert.equal(await load(hogs(3), '6s'), { final: 492 / 2048, mean: 492 / 2048, max: 492 / 2048 });
  assert.equal(await load(hogs(3), '11s'), {
    final: 945 / 2048,
    mean: (492 + 945) / 2 / 2048,
    max: 945 / 2048,
  });
  const long = await load(hogs(3), '600s');
  // Rounding up lets it arrive.
  assert.is(long.final, 3);
});

test('ext tasks count as well, sleepers do not', async () => {
  assert.is((await load(hogs(3), '6s', 'global-fifo')).final, 492 / 2048);
  const sleepers = { tasks: [{ name: 's', count: 5, program: [{ sleep: '60s' }] }] };
  assert.is((await load(sleepers, '6s')).final, 0);
});

test('waits for the disk count, other waits do not', async () => {
  const waiters = (disk: boolean) => ({
    tasks: [{ name: 's', count: 5, program: [{ sleep: '60s', disk }] }],
  });
  assert.is((await load(waiters(true), '6s')).final, 820 / 2048, '5·164');
  assert.is((await load(waiters(false), '6s')).final, 0);
});

test('threads of a throttled group have left the count', async () => {
  const { tasks } = hogs(3);
  const workload = {
    cgroups: [{ name: 'g', quota: '1ms', period: '1s' }],
    tasks: [{ ...tasks[0]!, cgroup: 'g' }],
  };
  // At 5.004 s the millisecond of the period that began at 5 s is long used up.
  assert.is((await load(workload, '6s')).final, 0);
});

test.run();
