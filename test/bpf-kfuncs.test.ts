// Kfuncs of sched_ext: when insertions take place, what moves, which rules of the kernel a program can break.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { ConfigInput } from '../src/config/schema.js';
import { append, load, type Program, run, save } from './support/bpf-runtime.js';

const u64 = (value: number) => BigInt.asUintN(64, BigInt(value));
const LOCAL = '0x8000000000000002';
const PREEMPT = '0x100000000';

/** One CPU, or as many as said; `count` tasks that are there from the start and run for 1 ms each. */
function crowd(count: number, cpus = 1): Partial<ConfigInput> {
  return {
    machine: `ideal-${cpus}`,
    workload: { tasks: [{ name: 'task', count, program: [{ run: '1ms' }] }] },
    run: { limit: '1s' },
  };
}

const task = 'r6 = *(u64 *)(r1 + 0)';
const insert = (dsq: number | string, slice = 0, flags: number | string = 0) => `
  r1 = r6
  r2 = ${dsq} ll
  r3 = ${slice}
  r4 = ${flags} ll
  call kfunc scx_bpf_dsq_insert`;
const insertVtime = (dsq: number | string, vtime: string) => `
  r1 = r6
  r2 = ${dsq} ll
  r3 = 1000000
  r4 = ${vtime}
  r5 = 0
  call kfunc scx_bpf_dsq_insert_vtime`;
const queued = (dsq: number | string) => `r1 = ${dsq} ll\n call kfunc scx_bpf_dsq_nr_queued`;
const moveToLocal = (dsq: number) => `r1 = ${dsq}\n call kfunc scx_bpf_dsq_move_to_local`;
const create = (...dsqs: number[]) =>
  dsqs.map((dsq) => `r1 = ${dsq}\n r2 = -1\n call kfunc scx_bpf_create_dsq`).join('\n');
const end = '\n r0 = 0\n exit';
/** Appends pid · 1000 + milliseconds. */
const appendPid = `
  r7 = *(u32 *)(r6 + 0)
  r7 *= 1000
  call helper ktime_get_ns
  r0 /= 1000000
  r0 += r7
  ${append}`;

/** Words behind the count in word 0. */
function list(words: bigint[]): number[] {
  return words.slice(1, 1 + Number(words[0])).map(Number);
}

const fifo: Program['ops'] = {
  init: `${create(5)}${end}`,
  enqueue: `${task}${insert(5, 10_000_000)}${end}`,
  dispatch: `${moveToLocal(5)}${end}`,
  running: `${task}${appendPid}${end}`,
};

test('ids of DSQs are the program’s own: made once, not built-in ones, gone when destroyed', () => {
  const init = [
    create(7),
    save(0),
    create(7),
    save(1),
    `r1 = ${LOCAL} ll\n r2 = -1\n call kfunc scx_bpf_create_dsq`,
    save(2),
    queued(7),
    save(3),
    queued(8),
    save(4),
    'r1 = 7\n call kfunc scx_bpf_destroy_dsq',
    queued(7),
    save(5),
    create(7),
    save(6),
  ].join('\n');
  const words = load({ ops: { init: init + end } }).words();
  // EEXIST 17, EINVAL 22, ENOENT 2
  assert.equal(words.slice(0, 7), [0n, u64(-17), u64(-22), 0n, u64(-2), u64(-2), 0n]);
});

test('first in, first out', () => {
  // Three tasks of 1 ms from time 0 on one CPU.
  assert.equal(list(run({ ops: fifo }, crowd(3)).words()), [1000, 2001, 3002]);
});

test('enqueue() inserts when it returns: the task does not count in the queue before', () => {
  const enqueue = `${task}${insert(5, 10_000_000)}\n ${queued(5)}\n ${append}${end}`;
  const { words } = run({ ops: { ...fifo, enqueue, running: `r0 = 0\n exit` } }, crowd(4));
  // Without select_cpu() the first goes to the idle CPU directly; the others find 0, 1 and 2 before them.
  assert.equal(list(words()), [0, 1, 2]);
});

test('by vtime, whatever the order of insertion; equal ones first in, first out', () => {
  const program: Program['ops'] = {
    ...fifo,
    // vtime 10 − pid; tasks 3 and 4 have the same.
    enqueue: `${task}
      r7 = *(u32 *)(r6 + 0)
      if r7 != 4 goto other
      r7 = 3
      other:
      r8 = 10
      r8 -= r7
      ${insertVtime(5, 'r8')}${end}`,
  };
  // Task 1 takes the idle CPU at once.
  assert.equal(list(run({ ops: program }, crowd(5)).words()), [1000, 5001, 3002, 4003, 2004]);
});

test('select_cpu() that inserts skips enqueue()', () => {
  const ops: Program['ops'] = {
    ...fifo,
    select_cpu: `${task}${insert(LOCAL, 5_000_000)}\n r0 = 0\n exit`,
    enqueue: `r0 = 99\n ${append}${end}`,
  };
  assert.equal(list(run({ ops }, crowd(2)).words()), [1000, 2001]);
});

test('SCX_ENQ_PREEMPT takes the CPU from the running task', () => {
  const ops: Program['ops'] = {
    ...fifo,
    enqueue: `${task}${insert(LOCAL, 10_000_000, PREEMPT)}${end}`,
  };
  // All are inserted at time 0, each at the head: the last runs first.
  assert.equal(list(run({ ops }, crowd(3)).words()).slice(-3), [3000, 2001, 1002]);
});

test('dispatch() has a buffer: insertions from the program’s own queue take place when it returns', () => {
  const map = { type: 'QUEUE', key_bytes: 0, value_bytes: 4, max_entries: 16 };
  const ops: Program['ops'] = {
    init: `${create(5)}${end}`,
    enqueue: `${task}
      r7 = *(u32 *)(r6 + 0)
      *(u32 *)(r10 - 4) = r7
      r1 = map 1
      r2 = r10
      r2 += -4
      r3 = 0
      call helper map_push_elem${end}`,
    dispatch: `
      r1 = map 1
      r2 = r10
      r2 += -4
      call helper map_pop_elem
      if r0 != 0 goto over
      r1 = *(u32 *)(r10 - 4)
      call kfunc bpf_task_from_pid
      if r0 == 0 goto over
      r6 = r0
      ${insert(LOCAL, 10_000_000)}
      call kfunc scx_bpf_dispatch_nr_slots
      r7 = r0
      ${queued(LOCAL)}
      r0 *= 100
      r0 += r7
      r7 = data 0 + 800
      *(u64 *)(r7 + 0) = r0
      over:${end}`,
    running: `${task}${appendPid}${end}`,
  };
  const words = run({ ops, maps: [map] }, crowd(3)).words();
  assert.equal(list(words), [1000, 2001, 3002]);
  // One of 32 slots is used, and the local DSQ is still empty.
  assert.is(words[100], 31n);
});

test('iterators give the tasks of a queue in order or backwards, and move them', () => {
  const ops = (flags: number): Program['ops'] => ({
    ...fifo,
    init: `${create(5, 6)}${end}`,
    // Moves the first task of the iteration to the local DSQ.
    dispatch: `
      r1 = r10
      r1 += -48
      r2 = 5
      r3 = ${flags}
      call kfunc bpf_iter_scx_dsq_new
      r1 = r10
      r1 += -48
      call kfunc bpf_iter_scx_dsq_next
      if r0 == 0 goto over
      r1 = r10
      r1 += -48
      r2 = r0
      r3 = ${LOCAL} ll
      r4 = 0
      call kfunc scx_bpf_dsq_move
      over:
      r1 = r10
      r1 += -48
      call kfunc bpf_iter_scx_dsq_destroy${end}`,
  });
  assert.equal(list(run({ ops: ops(0) }, crowd(4)).words()), [1000, 2001, 3002, 4003]);
  assert.equal(list(run({ ops: ops(1 << 16) }, crowd(4)).words()), [1000, 4001, 3002, 2003]);
});

test('idle CPUs are picked once, and kicked', () => {
  // The waking task picks an idle CPU of the machine for whoever waits.
  const enqueue = `${task}${insert(5, 10_000_000)}
    call kfunc scx_bpf_get_possible_cpumask
    r1 = r0
    r2 = 0
    call kfunc scx_bpf_pick_idle_cpu
    r7 = r0
    ${append}
    if r7 s< 0 goto over
    r1 = r7
    r2 = 1
    call kfunc scx_bpf_kick_cpu
    over:${end}`;
  const select_cpu = 'r0 = 0\n exit';
  const ops = { ...fifo, select_cpu, enqueue, running: 'r0 = 0\n exit' };
  const { words, simulation } = run({ ops }, crowd(4, 2));
  // CPUs 0 and 1, then none: EBUSY 16.
  assert.equal(words().slice(1, 5), [0n, 1n, u64(-16), u64(-16)]);
  assert.is(simulation.time_ns, 2_000_000n);
});

test('weights, priorities, masks and cgroups of a task are what the kernel would show', () => {
  const tasks = [{ name: 'a-long-name-of-a-task', weight: 2048, cpus: '1-2', program: [{ run: '1ms' }] }];
  const EXTENSION = 0x0e90_0000;
  const field = (bits: number, offset: number) =>
    `r0 = *(u${bits} *)(r6 + ${EXTENSION + offset})\n ${append}`;
  const enable = `${task}
    ${field(32, 148)}
    ${field(32, 52)}
    ${field(32, 40)}
    ${field(64, 64)}
    ${field(64, 128)}
    ${field(64, 136)}
    ${field(32, 48)}
    r0 = *(u64 *)(r6 + ${EXTENSION + 24})
    r0 = *(u64 *)(r0 + 0)
    r0 = *(u64 *)(r0 + 0)
    r0 = *(u64 *)(r0 + 0)
    ${append}${end}`;
  const words = run({ ops: { ...fifo, running: 'r0 = 0\n exit', enable } }, { workload: { tasks } }).words();
  const name = new TextDecoder().decode(new BigUint64Array(words.slice(5, 7)));
  // 2048 / 1024 · 100; nice −3 is 1991, the nearest to 2048; CPUs 1 and 2; the root cgroup has id 1.
  assert.equal(words.slice(1, 5), [200n, 117n, 2n, 6n]);
  assert.is(name, 'a-long-name-of-\0');
  assert.equal(words.slice(7, 9), [1n, 1n]);
});

const BROKEN: [string, Program['ops'], RegExp][] = [
  ['a task inserted twice', { ...fifo, enqueue: `${task}${insert(5)}${insert(5)}${end}` }, /queued already/],
  ['a DSQ that does not exist', { ...fifo, enqueue: `${task}${insert(77)}${end}` }, /no DSQ 0x4d/],
  [
    'by vtime into a built-in DSQ',
    { ...fifo, enqueue: `${task}\n r7 = 5${insertVtime(LOCAL, 'r7')}${end}` },
    /built-in DSQs are FIFO only/,
  ],
  [
    'both orders in one DSQ',
    {
      ...fifo,
      enqueue: `${task}
        r7 = *(u32 *)(r6 + 0)
        if r7 & 1 goto odd
        ${insertVtime(5, 'r7')}
        goto over
        odd:
        ${insert(5)}
        over:${end}`,
    },
    /FIFO or ordered by vtime/,
  ],
  ['a CPU that does not exist', { ...fifo, select_cpu: 'r0 = 4711\n exit' }, /returned CPU 4711/],
  [
    'a kick of such a CPU',
    { ...fifo, running: `r1 = 9\n r2 = 0\n call kfunc scx_bpf_kick_cpu${end}` },
    /there is no CPU 9/,
  ],
  ['an insertion from running()', { ...fifo, running: `${task}${insert(5)}${end}` }, /may not call it/],
  ['a move from enqueue()', { ...fifo, enqueue: `${moveToLocal(5)}${end}` }, /may not call it/],
  [
    'built-in idle CPUs with update_idle()',
    { ...fifo, update_idle: `r0 = 0\n exit`, enqueue: `call kfunc scx_bpf_get_idle_cpumask${end}` },
    /idle tracking/,
  ],
  ['init() that fails', { ...fifo, init: 'r0 = -12\n exit' }, /init\(\) returned -12/],
  [
    'init_task() that fails',
    { ...fifo, init_task: 'r0 = -2\n exit' },
    /init_task\(\) for task "task\/0" \(pid 1\) returned -2/,
  ],
];

for (const [what, ops, message] of BROKEN) {
  test(`refused: ${what}`, () => {
    assert.throws(() => run({ ops }, crowd(3)), message);
  });
}

test('a program ends itself with a message and a code', () => {
  const format = new TextEncoder().encode('gave up at %d of %s\0');
  const name = new TextEncoder().encode('it\0');
  const maps = [format, name].map((data) => ({ value_bytes: data.length, data, read_only: true }));
  const running = `
    r1 = data 2 + 0
    *(u64 *)(r10 - 16) = -3
    *(u64 *)(r10 - 8) = r1
    r1 = 42
    r2 = data 1 + 0
    r3 = r10
    r3 += -16
    r4 = 16
    call kfunc scx_bpf_exit_bstr${end}`;
  assert.throws(
    () => run({ ops: { ...fifo, running }, maps }, crowd(3)),
    /ended itself: gave up at -3 of it \(exit code 42\)/,
  );
});

test('a task that no one takes is found by the watchdog', () => {
  const loaded = load(
    { ops: { ...fifo, dispatch: 'r0 = 0\n exit' } },
    { ...crowd(2), run: { limit: '100s' } },
  );
  while (!loaded.simulation.done) loaded.simulation.step();
  assert.is(loaded.simulation.failure?.code, 61);
});

test.run();
