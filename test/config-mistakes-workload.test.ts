// Malformed tasks, sources and serverless workloads.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { mistakesIn, refuses } from './support/mistakes.js';

test('tasks', () => {
  const refusesTask = (fields: string, expected: string) =>
    refuses(`workload: {tasks: [{name: a, program: [{run: 1s}], ${fields}}]}`, expected, '');
  refusesTask(
    'priorty: 3',
    '1:52 workload.tasks[0].priorty: unknown key "priorty"; did you mean "priority"?',
  );
  refusesTask(
    'priority: 20',
    '1:62 workload.tasks[0].priority: expected a whole number from -20 to 19, got 20',
  );
  refusesTask(
    'priority: 1, weight: 5',
    '1:62 workload.tasks[0].priority: weight and priority exclude each other',
  );
  refusesTask('cpus: "40-50"', '1:58 workload.tasks[0].cpus: the machine has CPUs 0-47, not 50');
  refusesTask(
    'class: ext',
    '1:59 workload.tasks[0].class: policy eevdf has no ext class; leave class out to follow the policy',
  );
  refusesTask('count: 0', '1:59 workload.tasks[0].count: expected a whole number from 1 to 1000000, got 0');
  refusesTask(
    'start: 5',
    '1:59 workload.tasks[0].start: 5 has no unit; write a time like "3ms" or a distribution like {exponential: "1s"}',
  );
  refuses(
    'workload: {tasks: [{name: a, program: serve}], programs: {server: [exit]}}',
    '1:39 workload.tasks[0].program: unknown program "serve"; did you mean "server"?',
    '',
  );
  refuses(
    'workload: {tasks: [{name: a, program: [exit]}, {name: a, program: [exit]}]}',
    '1:55 workload.tasks[1].name: the name "a" is taken',
    '',
  );
  refuses(
    'policy: domains:8\nworkload: {tasks: [{name: a, program: [exit], domain: 8}]}',
    '2:55 workload.tasks[0].domain: there are domains 0 to 7, not 8',
    '',
  );
  refuses('workload: {}', '1:1 workload: nothing to run; expected tasks, arrivals or serverless', '');
});

test('arrivals', () => {
  const refusesSource = (fields: string, expected: string) =>
    refuses('run: {horizon: 60s}', expected, `workload: {arrivals: [{name: a, ${fields}}]}`);
  const spawn = 'spawn: {program: [{run: 1s}]}';
  refusesSource(
    spawn,
    '2:23 workload.arrivals[0]: expected exactly one of rate, interarrival, clients, times, got none',
  );
  refusesSource(
    `rate: 1/s, clients: 3, ${spawn}`,
    '2:23 workload.arrivals[0]: expected exactly one of rate, interarrival, clients, times, got rate and clients',
  );
  refusesSource(
    `rate: 43.2, ${spawn}`,
    '2:39 workload.arrivals[0].rate: 43.2 has no unit; write a rate like "43.2/s", "5000/min"',
  );
  refusesSource(
    `rate: 3ms, ${spawn}`,
    '2:39 workload.arrivals[0].rate: "3ms" is a time where a rate is meant, like "43.2/s", "5000/min"',
  );
  refusesSource('rate: 1/s', '2:23 workload.arrivals[0]: expected exactly one of spawn, queue, got neither');
  refusesSource(
    'rate: 1/s, queue: jobs',
    '2:51 workload.arrivals[0].queue: unknown queue "jobs"; there is no queue',
  );
  refusesSource(`rate: 1/s, think: 1s, ${spawn}`, '2:51 workload.arrivals[0].think: think needs clients');
  refusesSource(
    'rate: 1/s, spawn: {program: [{run_share: 1}]}',
    '2:23 workload.arrivals[0]: its program takes a share of the job, so it needs a duration',
  );
});

test('serverless', () => {
  const refusesTrace = (fields: string, expected: string) =>
    refuses(`workload: {serverless: {trace: azure2019-28, ${fields}}}`, expected, '');
  const at = 'workload.serverless';
  refusesTrace(
    'offered_load: 80%',
    `1:60 ${at}.offered_load: "80%" is a percentage; expected a fraction of the machine's CPUs, like 0.8: write 0.8`,
  );
  refusesTrace(
    'offered_load: 80',
    `1:60 ${at}.offered_load: 80 is above 20; expected a fraction of the machine's CPUs, like 0.8 (80 % is 0.8)`,
  );
  refusesTrace(
    'offered_load: 0.8, load_scale: 2',
    `1:60 ${at}.offered_load: load_scale and offered_load exclude each other`,
  );
  refusesTrace(
    'pollers: {share: 10%}',
    `1:63 ${at}.pollers.share: "10%" is a percentage where a fraction from 0 to 1 is meant: write 0.1`,
  );
  refusesTrace(
    'window: {start: 600}',
    `1:62 ${at}.window.start: 600 has no unit; write a time like "600min"`,
  );
  refusesTrace(
    'assignment: {policy: iatchbl}',
    `1:67 ${at}.assignment.policy: policy eevdf has no domains to assign invocations to`,
  );
  refusesTrace(
    'assignment: {bucket_size: 4s}',
    `1:72 ${at}.assignment.bucket_size: only IATCHBL has it; the assignment here is none`,
  );
  refusesTrace('profiles: {mapping: table}', `1:66 ${at}.profiles.mapping: mapping "table" needs a table`);
  refusesTrace('closed: {invocations: 5}', `1:46 ${at}.closed: closed needs loop: closed`);
  refusesTrace('loop: closed, load_scale: 2', `1:72 ${at}.load_scale: a closed loop sets its own load`);
  refusesTrace(
    'worker: {before: 2}',
    `1:63 ${at}.worker.before: 2 has no unit; write a time like "3ms" or a distribution like {exponential: "1s"}`,
  );
  refusesTrace(
    'worker: {concurrency: many}',
    `1:68 ${at}.worker.concurrency: expected a whole number of at least 1, "cpus" or "unlimited", got "many"`,
  );
  refuses('workload: {serverless: {}}', `1:12 ${at}.trace: missing; expected a file path`, '');
});

test('slices of fair tasks', () => {
  const refusesSlice = (slice: string, expected: string, kernel = '6.12', more = '') =>
    refuses(
      `workload: {tasks: [{slice: ${slice}${more}, name: a, program: [exit]}]}`,
      `1:${expected}`,
      `kernel: {version: "${kernel}"}\npolicy: eevdf`,
    );
  const at = 'workload.tasks[0].slice';
  assert.equal(
    mistakesIn('workload: {tasks: [{slice: 100us, name: a, program: [exit]}]}\nkernel: 6.12\npolicy: eevdf'),
    [],
  );
  refusesSlice('3', `28 ${at}: 3 has no unit; write a time like "3ms", "1.5us", "2h"`);
  // The bounds of sched_setattr(): 100 µs to 100 ms.
  refusesSlice('99us', `28 ${at}: expected 100us to 100ms, got "99us"`);
  refusesSlice('101ms', `28 ${at}: expected 100us to 100ms, got "101ms"`);
  refusesSlice(
    '3ms',
    `28 ${at}: kernel 6.11-scx gives all fair tasks the same slice; 6.12 and 7.3 ask them`,
    '6.11-scx',
  );
  refusesSlice(
    '3ms',
    `28 ${at}: fair tasks ask for slices, and this one is in the realtime class`,
    '6.12',
    ', class: realtime',
  );
  assert.equal(
    mistakesIn(
      'workload: {tasks: [{slice: 3ms, name: a, program: [exit]}]}\nkernel: 6.12\npolicy: global-fifo',
    ),
    ['c.yaml:1:28 workload.tasks[0].slice: fair tasks ask for slices, and this one is in the ext class'],
  );
  assert.equal(
    mistakesIn(
      'workload: {arrivals: [{name: a, rate: 1/s, max_arrivals: 1, spawn: {slice: 1s, program: [exit]}}]}\n' +
        'kernel: 6.12\npolicy: eevdf',
    ),
    ['c.yaml:1:76 workload.arrivals[0].spawn.slice: expected 100us to 100ms, got "1s"'],
  );
});

test.run();
