// From a config to the input of the workload runner that executes its programs in a real kernel.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { guestFiles, guestRun } from '../src/bpf/vm/port.js';
import { guestWorkload, niceOf } from '../src/bpf/vm/workload.js';
import { configFrom } from '../src/config/load.js';
import { resolveConfig } from '../src/config/resolve.js';
import { VtimeError } from '../src/errors.js';

const guest = (workload: object, policy: object = { name: 'domains', domains: 2 }, run: object = {}) =>
  guestWorkload(
    resolveConfig(
      configFrom({ machine: { profile: 'ideal-4' }, policy, workload, run: { horizon: 'none', ...run } }),
    ),
  );

test('instructions by name, with the operands that the engine has', () => {
  const programs = {
    work: [{ loop: { times: 3, do: [{ run: '1ms' }, { sleep: '2ms' }] } }, { affinity: '1' }],
  };
  const { text } = guest({ programs, tasks: [{ name: 'w', program: 'work' }] }, { name: 'eevdf' });
  const lines = text.split('\n').filter((line) => line.startsWith('instruction'));
  assert.equal(lines, [
    'instruction set 0 0 0 3',
    'instruction run 0 0 0 1000000',
    'instruction sleep 0 0 0 2000000',
    'instruction loop 0 0 1 0',
    'instruction affinity 0 0 1 0',
    'instruction exit 0 0 0 0',
  ]);
  // Mask 0 is the machine, mask 1 is CPU 1.
  assert.equal(
    text.split('\n').filter((line) => line.startsWith('mask')),
    ['mask f 0 0 0 0 0 0 0', 'mask 2 0 0 0 0 0 0 0'],
  );
});

test('tasks spread over the domains, each in the cgroup of its domain', () => {
  const { text, cgroups } = guest({
    programs: { work: [{ run: '1ms' }] },
    tasks: [{ name: 'worker', program: 'work', count: 3, weight: 512, start: '5ms' }],
  });
  assert.equal(cgroups, [
    { path: 'vtime/domain-0', domain: 0 },
    { path: 'vtime/domain-1', domain: 1 },
  ]);
  // 512 lies between the weights of nice 3 (526) and nice 4 (423), nearer to the first.
  assert.equal(
    text.split('\n').filter((line) => line.startsWith('task')),
    [
      'task worker/0 vtime/domain-0 ext 3 0 0 0 0 5000000 4294967295 0',
      'task worker/1 vtime/domain-1 ext 3 0 1 0 0 5000000 4294967295 0',
      'task worker/2 vtime/domain-0 ext 3 0 2 0 0 5000000 4294967295 0',
    ],
  );
});

test('names longer than the kernel keeps lose their end, never their ordinal', () => {
  const { text } = guest({
    programs: { work: [{ run: '1ms' }] },
    tasks: [{ name: 'a-rather-long-name', program: 'work', count: 12 }],
  });
  assert.match(text, /^task a-rather-lon\/11 /m);
});

test('cgroups of the config keep their tree; fair tasks stay outside domains', () => {
  const { text, cgroups } = guest(
    {
      programs: { work: [{ run: '1ms' }] },
      cgroups: [
        { name: 'a', shares: 2048 },
        { name: 'b', parent: 'a' },
      ],
      tasks: [
        { name: 'x', program: 'work', cgroup: 'b' },
        { name: 'y', program: 'work' },
      ],
    },
    { name: 'eevdf' },
  );
  assert.equal(
    cgroups.map(({ path, shares }) => [path, shares]),
    [
      ['vtime/a', 2048],
      ['vtime/a/b', 1024],
    ],
  );
  assert.match(text, /^task x vtime\/a\/b fair 0 /m);
  assert.match(text, /^task y \/ fair 0 /m);
});

test('the horizon of a run that ends there, or the limit of one that drains', () => {
  const workload = { programs: { work: [{ run: '1ms' }] }, tasks: [{ name: 'w', program: 'work' }] };
  assert.is(guest(workload, undefined, { end: 'horizon', horizon: '2s' }).horizon_ns, 2_000_000_000n);
  assert.is(guest(workload, undefined, { limit: '3s' }).horizon_ns, 3_000_000_000n);
  assert.is(guest(workload).horizon_ns, 0n);
});

test('CPUs that go offline and come back', () => {
  const workload = { programs: { work: [{ run: '1ms' }] }, tasks: [{ name: 'w', program: 'work' }] };
  const events = [
    { at: '10ms', offline: 2 },
    { at: '20ms', online: 2 },
  ];
  const lines = guest(workload, undefined, { events }).text.split('\n');
  assert.equal(
    lines.filter((line) => line.startsWith('hotplug')),
    ['hotplug 10000000 2 0', 'hotplug 20000000 2 1'],
  );
});

test('what the runner has no words for is refused with its path', () => {
  const refused = (workload: object, path: string, run: object = {}) => {
    try {
      guest(workload, undefined, run);
    } catch (error) {
      assert.instance(error, VtimeError);
      assert.is((error as VtimeError).code, 'vm_workload');
      assert.is((error as VtimeError).place.path, path);
      return;
    }
    assert.unreachable(`accepted a workload with ${path}`);
  };
  const programs = { work: [{ run: '1ms' }] };
  const tasks = [{ name: 'w', program: 'work' }];
  const arrivals = [{ name: 's', rate: '1/s', spawn: { program: 'work' } }];
  refused({ programs, tasks, arrivals }, 'workload.arrivals', { horizon: '1s' });
  refused({ programs, tasks, queues: [{ name: 'q' }] }, 'workload.queues');
});

test('weights are those of sched_prio_to_weight', () => {
  assert.is(niceOf(1024), 0);
  assert.is(niceOf(88761), -20);
  assert.is(niceOf(15), 19);
  // The ratio 1024 / 820 is 1.249, so 950 (1024 / 950 = 1.078, 950 / 820 = 1.159) is nearer to nice 0.
  assert.is(niceOf(950), 0);
});

test('files come back through the port with their lengths', () => {
  const port = Buffer.from('file tasks 5\nhellofile empty 0\nfile two 2\n\n\nend\n');
  const files = guestFiles(port);
  assert.equal([...files.keys()], ['tasks', 'empty', 'two']);
  assert.is(Buffer.from(files.get('tasks')!).toString(), 'hello');
  assert.is(Buffer.from(files.get('two')!).toString(), '\n\n');
  for (const cut of [4, 15, 30]) assert.throws(() => guestFiles(port.subarray(0, cut)), /damaged/);
  assert.throws(() => guestFiles(Buffer.from('file a x\nend\n')), /no file at byte 0/);
});

test('what the runner prints names every task and the end', () => {
  const run = guestRun('task 137 0 0 hog/0\ntask 140 137 0 hog/0\nend horizon 4455363547 1000000000 0\n');
  assert.equal(run.tasks[1], { pid: 140, parent: 137, template: 0, name: 'hog/0' });
  assert.is(run.outcome, 'horizon');
  assert.is(run.start_ns, 4_455_363_547n);
  assert.throws(() => guestRun('task 137 0 0 hog/0\n'), /did not say how it ended/);
});

test.run();
