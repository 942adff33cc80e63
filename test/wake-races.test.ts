// Several things at one instant: a task is woken while the CPU that it just gave up has not switched yet, and tasks are
// named that have exited. Found by the comparison with the reference model.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type ConfigInput, simulate } from '../src/index.js';

const MS = 1_000_000;

async function decisionsOf(config: ConfigInput): Promise<string[]> {
  const { decisions, outcome } = await simulate({ ...config, output: { decisions: true } });
  assert.is(outcome, 'completed');
  return decisions!.toArray().map((row) => {
    const { time_ns, kind, cpu, task } = row.toJSON();
    return `${Number(time_ns) / MS} ${kind} ${task} on ${cpu}`;
  });
}

test('a parent is woken by a child that exits before the CPU of the parent has switched: it leaves that CPU first', async () => {
  for (const policy of ['global-fifo', 'percpu-fifo', 'global-vtime', 'eevdf']) {
    const rows = await decisionsOf({
      machine: 'ideal-3',
      policy,
      workload: {
        tasks: [
          { name: 'first', program: [{ run: '1ms' }] },
          {
            name: 'parent',
            start: '1ns',
            program: [{ run: '2ms' }, { fork: { count: 1, program: [] } }, { join: 'sleep' }, { run: '1ms' }],
          },
        ],
      },
    });
    // At most one stay of a task at a time.
    const running = new Map<string, string>();
    for (const row of rows) {
      const [, kind, task, , cpu] = row.split(' ');
      if (kind === 'run') {
        assert.is(running.get(task), undefined, `${policy}: ${row}`);
        running.set(task, cpu);
      } else if (kind === 'stop') {
        assert.is(running.get(task), cpu, `${policy}: ${row}`);
        running.delete(task);
      }
    }
  }
});

test('wake and affinity do not reach a task that took over the slot of an exited one', async () => {
  // Task 1 exits at 1 ms; its slot goes to the child of task 2, which blocks, and whose parent exits. At 3 ms `late` wakes
  // and restricts task 1, which is no more: the child waits on, so nothing can move it.
  const result = await simulate({
    machine: 'ideal-2',
    policy: 'global-fifo',
    run: { end: 'horizon', horizon: '5ms' },
    output: { decisions: true },
    workload: {
      tasks: [
        {
          name: 'a',
          count: 2,
          program: [{ run: '1ms' }, { fork: { count: 1, program: ['block', { run: '1ms' }] } }],
        },
        {
          name: 'late',
          program: [{ sleep: '3ms' }, { wake: 'a', member: 0 }, { affinity: '1', task: 'a', member: 0 }],
        },
      ],
    },
  });
  const wakes = result.decisions!.toArray().filter((row) => row.toJSON().kind === 'wake');
  // Three tasks, two children, and `late` after its sleep.
  assert.is(wakes.length, 6);
});

test.run();
