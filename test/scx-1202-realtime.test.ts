// The realtime class above fair and ext. sched-ext/scx#1202: a realtime hog owns CPU 0, one task that may run only there
// starves under 6.12; 7.3 has a server for ext tasks. ideal-2, exact slices.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { simulate } from '../src/index.js';
import type { ConfigInput } from '../src/types.js';

const HOG = [{ loop: { times: 'forever' as const, do: [{ run: '1ms' }] } }];

type Task = NonNullable<ConfigInput['workload']['tasks']>[number];

function run(
  version: '6.11-scx' | '6.12' | '7.3',
  tasks: Task[],
  policy: ConfigInput['policy'],
  horizon = '10s',
) {
  return simulate({
    machine: 'ideal-2',
    kernel: { version, watchdog_timeout: '5s' },
    policy,
    workload: { tasks },
    run: { end: 'horizon', horizon },
  });
}

/** CPU seconds of a class of tasks, from its finished stays on a CPU. */
const seconds = ({ classes }: Awaited<ReturnType<typeof run>>, name: string) => {
  const { mean, count } = classes.find((c) => c.name === name)!.stint_us;
  return count === 0 ? 0 : (mean * count) / 1e6;
};

const realtimeHog: Task = { name: 'hog', program: HOG, class: 'realtime', cpus: '0' };
const victim: Task = { name: 'victim', program: HOG, cpus: '0' };

test('#1202, 6.12: the ext task stalls, and the report names the realtime task', async () => {
  const { outcome, reason } = await run('6.12', [realtimeHog, victim], 'global-fifo');
  assert.is(outcome, 'stalled');
  assert.match(reason!.message, /"victim".*CPU 0 runs task "hog"/);
});

test('#1202, 7.3: the ext server gives it 50 ms per second', async () => {
  const result = await run('7.3', [realtimeHog, victim], 'global-fifo');
  assert.is(result.outcome, 'horizon');
  // Due at 0.95, 1.95, … 9.95 s; the last one ends with the run.
  assert.is(Math.round(seconds(result, 'victim') * 1e6), 500_000);
});

test('6.11: realtime throttling leaves 5 % to the others', async () => {
  const result = await run('6.11-scx', [realtimeHog, victim], 'global-fifo');
  assert.is(result.outcome, 'horizon');
  assert.ok(Math.abs(seconds(result, 'victim') - 0.5) <= 0.05, `${seconds(result, 'victim')}`);
});

test('6.12: the fair server gives a fair task 5 %', async () => {
  const result = await run('6.12', [realtimeHog, victim], 'eevdf');
  assert.is(Math.round(seconds(result, 'victim') * 1e6), 500_000);
});

test('the higher priority preempts, and equals of fifo wait for each other', async () => {
  // Low begins at 0 and needs 5 ms. High comes at 2 ms for 1 ms: done at 3. Equal comes at 2.5 ms behind low: low ends
  // at 6 ms, equal runs its 1 ms until 7 ms: waits 3.5 ms.
  const one = (name: string, priority: number, start: string, run: string): Task => ({
    name,
    program: [{ run }],
    class: 'realtime',
    realtime: { priority },
    cpus: '0',
    start,
  });
  const { classes } = await run(
    '6.12',
    [one('low', 10, '0s', '5ms'), one('high', 20, '2ms', '1ms'), one('equal', 10, '2500us', '1ms')],
    'eevdf',
  );
  const wait = (name: string) => classes.find((c) => c.name === name)!.wake_latency_us.max / 1000;
  assert.equal([wait('low'), wait('high'), wait('equal')], [0, 0, 3.5]);
});

test('round robin takes turns of 100 ms', async () => {
  const rr = (name: string): Task => ({
    name,
    program: HOG,
    class: 'realtime',
    realtime: { policy: 'rr', priority: 5 },
    cpus: '0',
  });
  const { classes } = await run('6.12', [rr('a'), rr('b')], 'eevdf', '2s');
  assert.is(classes[0]!.stint_us.mean, 100_000);
  assert.is(classes[1]!.stint_us.mean, 100_000);
});

test('a realtime task leaves a CPU that a higher one takes for one that is idle', async () => {
  // Both may use both CPUs and wake on CPU 0 (the first task) and 1: nobody waits.
  const any = (name: string, priority: number): Task => ({
    name,
    program: [{ run: '5ms' }],
    class: 'realtime',
    realtime: { priority },
  });
  const { classes } = await run('6.12', [any('low', 1), any('high', 2)], 'eevdf');
  assert.is(Math.max(...classes.map((c) => c.wake_latency_us.max)), 0);
});

test.run();
