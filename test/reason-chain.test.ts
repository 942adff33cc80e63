// A stall or deadlock says who waits, since when, in which queue, what was served instead, and who would have to end it.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { chainLines } from '../src/engine/chain-text.js';
import { type ChainStep, type ConfigInput, readStore, runSweep, simulate } from '../src/index.js';
import { configFile, freshFolder, vtime } from './support/sweeps.js';

async function chainOf(config: ConfigInput): Promise<ChainStep[]> {
  const { reason } = await simulate(config);
  return reason?.chain ?? [];
}

const waitsOf = (chain: readonly ChainStep[]) =>
  chain.map(({ who, state, where, held_by, because }) => [who, state, where, held_by ?? because]);

/** Two tasks of 2 ms bursts on CPU 1, ahead of all others by weight; `low` is never served. */
const STARVED: ConfigInput = {
  machine: 'ideal-1',
  policy: { name: 'five-level', order: 'strict', slice: '2ms', starvation_limit: '0s' },
  kernel: { watchdog_timeout: '5s' },
  workload: {
    tasks: [
      { name: 'high', count: 2, weight: 2048, program: [{ run: '100s' }] },
      { name: 'low', start: '1ms', weight: 100, program: [{ run: '1ms' }] },
    ],
  },
  run: { limit: '100s' },
};

test('a stall counts what the CPU dispatched while the task waited', async () => {
  const chain = await chainOf(STARVED);
  const [low, running] = chain;
  assert.is(low.who, 'task "low" (pid 3)');
  assert.is(low.class, 'ext');
  assert.is(low.allowed_cpus, '0');
  assert.is(low.since_ns, 1e6);
  assert.is(low.where, 'in user DSQ 0');
  // Found at 7.5 s, the third check. Slices of 2 ms in turn: a stay begins at 2, 4, … ms, the last one at 7.498 s or, if
  // that comes before the check, 7.5 s: 3749 or 3750 stays, half of them for each.
  const stays = low.served?.map(({ count }) => count) ?? [];
  assert.is(stays.length, 2);
  assert.ok(Math.abs(stays[0] - 1875) <= 1 && Math.abs(stays[1] - 1875) <= 1, String(stays));
  assert.is(running.state, 'running');
  assert.match(running.who, 'task "high/');
});

test('a stall behind one task that keeps its CPU: nothing was dispatched since', async () => {
  const config: ConfigInput = {
    machine: 'ideal-2',
    kernel: { watchdog_timeout: '5s' },
    policy: { name: 'percpu-fifo', slice: '1h' },
    workload: {
      tasks: [
        { name: 'hog', cpus: '1', program: [{ run: '60s' }] },
        { name: 'pinned', start: '1s', cpus: '1', program: [{ run: '1ms' }] },
      ],
    },
    run: { limit: '100s' },
  };
  const { reason } = await simulate(config);
  assert.equal(chainLines(reason!), [
    // Checked at 2.5, 5 and 7.5 s; runnable since 1 s.
    'task "pinned" (pid 2, ext, allowed CPU 1): runnable in the local DSQ of CPU 1 for 6.500 s, since 1.000 s; ' +
      'since then CPU 1 has dispatched nothing',
    'task "hog" (pid 1, ext, allowed CPU 1): running on CPU 1 for 7.500 s, since 0.000 s',
  ]);
});

test('the terminal shows the chain on stderr, and the JSON holds it', async () => {
  const { code, stdout, stderr } = await vtime('run', configFile(STARVED), '--quiet', '--json');
  assert.is(code, 1);
  assert.match(stderr, /^stalled: task "low" \(pid 3\)/);
  assert.match(stderr, / {2}task "low" \(pid 3, ext, allowed CPU 0\): runnable in user DSQ 0 for 7\.499 s/);
  assert.match(stderr, /since then CPU 0 dispatched 1,87\d × task "high\/\d" \(pid \d\) from its local DSQ/);
  assert.is(JSON.parse(stdout).reason.chain[0].who, 'task "low" (pid 3)');
});

test('a store and its report hold the chain', async () => {
  const out = freshFolder();
  await runSweep(STARVED, { out, workers: 1 });
  const { cells } = await readStore(out);
  const [cell] = cells;
  if (cell.outcome === 'failed') throw new Error(cell.error.message);
  assert.equal(cell.reason, (await simulate(STARVED)).reason);
  const { stdout } = await vtime('report', out, '--quiet');
  assert.match(stdout, 'task "low" (pid 3, ext, allowed CPU 0): runnable in user DSQ 0');
});

test('a cycle of waits is named, whoever else waits', async () => {
  const config: ConfigInput = {
    machine: 'ideal-2',
    policy: 'eevdf',
    workload: {
      events: [{ name: 'never' }],
      tasks: [
        { name: 'bystander', program: [{ spin_until: 'never' }] },
        { name: 'a', program: [{ run: '1s' }, 'block', { wake: 'b' }] },
        { name: 'b', program: ['block', { wake: 'a' }, { signal: 'never' }] },
      ],
    },
    run: { limit: '100s' },
  };
  const { reason } = await simulate(config);
  // The bystander leads into the cycle, and is not part of it.
  assert.equal(waitsOf(reason!.chain!), [
    ['task "b" (pid 3)', 'blocked', 'to be woken', ['task "a" (pid 2)']],
    ['task "a" (pid 2)', 'blocked', 'to be woken', ['task "b" (pid 3)']],
  ]);
  assert.match(
    reason!.message,
    'task "b" (pid 3) waits to be woken, which task "a" (pid 2) would have to end',
  );
  // a blocks after 1 s, or later: it shares CPUs with the others.
  assert.ok(reason!.chain![1].since_ns >= 1e9);
});

test('jobs in a queue that nobody receives from', async () => {
  const chain = await chainOf({
    machine: 'ideal-1',
    policy: 'global-fifo',
    workload: {
      queues: [{ name: 'requests' }],
      arrivals: [{ name: 'jobs', interarrival: '1s', max_arrivals: 3, queue: 'requests' }],
    },
  });
  assert.equal(waitsOf(chain), [['3 jobs', 'queued', 'in queue "requests"', []]]);
  assert.is(chain[0].because, 'no task receives from it');
  // The oldest came at 1 s.
  assert.is(chain[0].since_ns, 1e9);
});

test('a receive after the last arrival, an event whose signaller has gone, a barrier that lacks a party', async () => {
  const chain = await chainOf({
    machine: 'ideal-4',
    policy: 'global-fifo',
    workload: {
      queues: [{ name: 'q' }],
      events: [{ name: 'e' }],
      barriers: [{ name: 'both', parties: 2 }],
      tasks: [
        { name: 'server', program: [{ receive: 'q' }, 'finish', { receive: 'q' }] },
        { name: 'signaller', program: ['exit', { signal: 'e' }] },
        { name: 'waiter', program: [{ spin_until: 'e' }] },
        { name: 'one', program: [{ barrier: 'both' }] },
        { name: 'other', program: ['exit', { barrier: 'both' }] },
      ],
      arrivals: [{ name: 'jobs', interarrival: '1s', max_arrivals: 1, queue: 'q' }],
    },
    run: { limit: '100s' },
  });
  assert.equal(
    chain.map(({ who, where, because }) => [who, where, because]),
    [
      ['task "server" (pid 1)', 'for a job in queue "q"', 'the arrivals of "jobs" are over'],
      ['task "waiter" (pid 3)', 'for event "e"', '"signaller" signals it, but no such task is left'],
      ['task "one" (pid 4)', 'at barrier "both" for 1 more party', 'no task is left that would come to it'],
    ],
  );
});

test('a join on a child that waits: the child is who could end it, and the end of the chain', async () => {
  const { reason } = await simulate({
    machine: 'ideal-1',
    policy: 'eevdf',
    workload: {
      tasks: [{ name: 'parent', program: [{ fork: { count: 1, program: ['block'] } }, { join: 'sleep' }] }],
    },
  });
  assert.equal(
    reason!.chain!.map(({ who, where, because }) => [who, where, because]),
    [['a task of "parent" (pid 2)', 'to be woken', 'no other task wakes it']],
  );
});

test('a child that has got the record of a task that has gone does not get its name', async () => {
  // "a" forks a child at 1 ms and is gone; the child forks another, which takes over a's record and blocks for ever.
  const { outcome, reason } = await simulate({
    machine: 'ideal-1',
    policy: 'global-fifo',
    workload: {
      tasks: [
        {
          name: 'a',
          program: [
            { run: '1ms' },
            { fork: { count: 1, program: [{ run: '1ms' }, { fork: { count: 1, program: ['block'] } }] } },
          ],
        },
      ],
    },
  });
  assert.is(outcome, 'deadlocked');
  assert.equal(
    reason!.chain!.map(({ who, pid }) => [who, pid]),
    [['a task of "a" (pid 1)', 1]],
  );
});

test.run();
