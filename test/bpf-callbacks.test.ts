// When the callbacks of a BPF scheduler are called, on which CPU, and with what.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { ConfigInput } from '../src/config/schema.js';
import { append, load, type Program, run } from './support/bpf-runtime.js';

/** Callbacks that append their letter and the time in ms, `r0` kept free of other meaning. */
const note = (letter: string) => `
  call helper ktime_get_ns
  r0 /= 1000000
  r7 = ${letter.charCodeAt(0) * 1000}
  r0 += r7
  ${append}`;
const noting = (letter: string) => `${note(letter)}\n r0 = 0\n exit`;

/** "r0 s2 …": letter and time. */
function story(words: bigint[]): string {
  const events = words.slice(1, 1 + Number(words[0])).map(Number);
  return events.map((event) => `${String.fromCharCode(Math.floor(event / 1000))}${event % 1000}`).join(' ');
}

/** Everything goes through the built-in global DSQ: there is no enqueue() and no dispatch(). */
const ops = (letters: Record<string, string>): Program['ops'] =>
  Object.fromEntries(Object.entries(letters).map(([name, letter]) => [name, noting(letter)]));

const machine = 'ideal-1';

test('a task’s life: init_task, enable, set_weight, then runnable, running, stopping, quiescent, exit_task; exit at the end', () => {
  const letters = {
    init: 'I',
    init_task: 't',
    enable: 'e',
    set_weight: 'w',
    runnable: 'r',
    running: 'R',
    stopping: 's',
    quiescent: 'q',
    exit_task: 'x',
    exit: 'X',
  };
  const program = [{ run: '2ms' }, { sleep: '3ms' }, { run: '1ms' }];
  const { words } = run({ ops: ops(letters) }, { machine, workload: { tasks: [{ name: 'a', program }] } });
  assert.is(story(words()), 'I0 t0 e0 w0 r0 R0 s2 q2 r5 R5 s6 q6 x6 X6');
});

test('a fork: init_task() knows, on the parent’s CPU', () => {
  const init_task = `
    r6 = *(u64 *)(r1 + 8)
    r0 = *(u8 *)(r6 + 0)
    ${append}
    r0 = 0
    exit`;
  const program = [
    { run: '1ms' },
    { fork: { count: 1, program: [{ run: '1ms' }] } },
    { join: 'sleep' as const },
  ];
  const { words } = run({ ops: { init_task } }, { machine, workload: { tasks: [{ name: 'a', program }] } });
  assert.equal(words().slice(0, 3), [2n, 0n, 1n]);
});

test('a higher class takes the CPU and gives it back: cpu_release() once, cpu_acquire() once', () => {
  const tasks: NonNullable<ConfigInput['workload']['tasks']> = [
    { name: 'ext', program: [{ run: '4ms' }] },
    {
      name: 'fair',
      class: 'fair',
      start: '1ms',
      program: [{ run: '1ms' }, { sleep: '1ms' }, { run: '1ms' }],
    },
  ];
  const { words } = run(
    { ops: ops({ cpu_release: 'l', cpu_acquire: 'a' }) },
    { machine, workload: { tasks } },
  );
  // ext runs 0–1, 2–3 and 4–6; fair 1–2 and 3–4.
  assert.is(story(words()), 'l1 a2 l3 a4');
});

test('cpu_release() may give the local tasks back to enqueue(), which sees SCX_ENQ_REENQ', () => {
  const flag = `
    r6 = *(u64 *)(r1 + 0)
    r0 = *(u64 *)(r1 + 8)
    r0 >>= 40
    r0 &= 1
    ${append}
    r1 = r6
    r2 = 0x8000000000000002 ll
    r3 = 20000000
    r4 = 0
    call kfunc scx_bpf_dsq_insert
    r0 = 0
    exit`;
  const tasks: NonNullable<ConfigInput['workload']['tasks']> = [
    { name: 'ext', count: 2, program: [{ run: '3ms' }] },
    { name: 'fair', class: 'fair', start: '1ms', program: [{ run: '1ms' }] },
  ];
  const cpu_release = 'call kfunc scx_bpf_reenqueue_local\n r0 = 0\n exit';
  const { words } = run({ ops: { enqueue: flag, cpu_release } }, { machine, workload: { tasks } });
  // The first goes to the idle CPU directly; the second is enqueued, and both are anew at 1 ms.
  assert.equal(words().slice(0, 4), [3n, 0n, 1n, 1n]);
});

test('update_idle() tells when the CPU begins and ceases to idle', () => {
  const update_idle = `
    r6 = *(u64 *)(r1 + 8)
    r6 *= 100000
    call helper ktime_get_ns
    r0 /= 1000000
    r0 += r6
    ${append}
    r0 = 0
    exit`;
  const program = [{ run: '1ms' }, { sleep: '2ms' }, { run: '1ms' }];
  const { words } = run(
    { ops: { update_idle }, flags: 1n },
    { machine, workload: { tasks: [{ name: 'a', program }] } },
  );
  assert.equal(words().slice(1, 5), [0n, 100001n, 3n, 100004n]);
});

test('set_cpumask() comes with the new mask; dequeue() before the task is enqueued anew', () => {
  const tasks: NonNullable<ConfigInput['workload']['tasks']> = [
    { name: 'mover', cpus: '0', program: [{ run: '1ms' }, { affinity: '1', task: 'moved' }] },
    { name: 'moved', cpus: '0', program: [{ run: '5ms' }] },
  ];
  const set_cpumask = `
    r6 = *(u64 *)(r1 + 8)
    r0 = *(u64 *)(r6 + 0)
    ${append}
    r0 = 0
    exit`;
  // Tasks that do not go to an idle CPU directly wait in the program's DSQ.
  const enqueue = `
    r6 = *(u64 *)(r1 + 0)
    r1 = r6
    r2 = 5
    r3 = 20000000
    r4 = 0
    call kfunc scx_bpf_dsq_insert
    r0 = 0
    exit`;
  const init = 'r1 = 5\n r2 = -1\n call kfunc scx_bpf_create_dsq\n r0 = 0\n exit';
  const dispatch = 'r1 = 5\n call kfunc scx_bpf_dsq_move_to_local\n r0 = 0\n exit';
  const program = {
    ops: { init, set_cpumask, enqueue, dispatch, dequeue: `r0 = 77\n ${append}\n r0 = 0\n exit` },
  };
  const { words } = run(program, { machine: 'ideal-2', kernel: '7.3', workload: { tasks } });
  // `mover` leaves the DSQ for its CPU; `moved` is taken out of it, gets the mask of CPU 1, and leaves the DSQ for there.
  assert.equal(words().slice(0, 5), [4n, 77n, 77n, 2n, 77n]);
});

test('an object that knows hotplug stays: its tasks leave the CPU that goes, and come back to it', () => {
  const tasks: NonNullable<ConfigInput['workload']['tasks']> = [
    { name: 'hog', count: 2, program: [{ run: '6ms' }] },
    { name: 'pinned', cpus: '1', start: '3ms', program: [{ run: '1ms' }] },
  ];
  const config: Partial<ConfigInput> = {
    machine: 'ideal-2',
    workload: { tasks },
    run: {
      events: [
        { at: '2ms', offline: 1 },
        { at: '8ms', online: 1 },
      ],
    },
  };
  const { words, simulation } = run({ ops: ops({ cpu_offline: 'o', cpu_online: 'O', exit: 'X' }) }, config);
  // hog 0 runs on CPU 0 from 0 to 6 ms, hog 1 on CPU 1 to 2 ms and then, from 6 ms on, its other 4 ms on CPU 0. `pinned`, whose
  // only CPU is gone, may run everywhere from 3 ms on and waits behind hog 1, until CPU 1 is back at 8 ms.
  assert.is(story(words()), 'o2 O8 X10');
  assert.is(simulation.time_ns, 10_000_000n);
});

test('the clock may begin at the uptime of the kernel', () => {
  const words = load({ ops: { init: `call helper ktime_get_ns\n ${append}\n r0 = 0\n exit` } }).words();
  assert.equal(words.slice(0, 2), [1n, 0n]);
});

test.run();
