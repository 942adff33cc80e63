// Malformed configs: every mistake with its place and what would have been right, all of them at once.

import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { parse } from 'yaml';
import { configFrom, parseConfig } from '../src/config/load.js';
import { ConfigError } from '../src/config/mistakes.js';
import { resolveConfig } from '../src/config/resolve.js';
import { expandSweep } from '../src/sweep/grid.js';

const ONE_JOB = 'workload: {tasks: [{name: job, program: [{run: 1s}]}]}';

/** The lines of the error that reading and resolving the text ends in. */
function mistakesIn(text: string): string[] {
  try {
    resolveConfig(parseConfig(text, { file: 'c.yaml' }));
  } catch (error) {
    if (error instanceof ConfigError) {
      assert.is(error.exitCode, 2);
      return error.message.split('\n');
    }
    throw error;
  }
  return [];
}

/** One mistake in a text whose other parts are right; the section under test comes first, on line 1. */
function refuses(section: string, expected: string, rest = ONE_JOB): void {
  assert.equal(mistakesIn(`${section}\n${rest}`), [`c.yaml:${expected}`]);
}

/** One mistake in a program of one step. */
function refusesStep(step: string, expected: string): void {
  const found = mistakesIn(`workload:\n  tasks:\n    - name: job\n      program:\n        - ${step}\n`);
  assert.equal(found, [`c.yaml:5:${expected}`]);
}

test('the text itself: syntax, duplicates, emptiness', () => {
  assert.equal(mistakesIn(''), ['c.yaml:1:1: the config is empty']);
  assert.equal(mistakesIn('[1, 2]'), ['c.yaml:1:1: expected a mapping, got a list']);
  assert.match(mistakesIn(`seed: 1\nseed: 2\n${ONE_JOB}`)[0], /^c\.yaml:2:1: Map keys must be unique/);
  assert.match(mistakesIn('workload: [')[0], /^c\.yaml:1:\d+: Flow sequence/);
  assert.equal(mistakesIn('seed: 1'), ['c.yaml:1:1 workload: missing; expected a mapping']);
});

test('top level: unknown keys suggest the near name', () => {
  refuses('sed: 4', '1:1 sed: unknown key "sed"; did you mean "seed"?');
  refuses('seed: -1', '1:7 seed: expected a whole number of at least 0, got -1');
  refuses('seed: 1.5', '1:7 seed: expected a whole number of at least 0 or "random", got 1.5');
  refuses('seed: often', '1:7 seed: expected a whole number of at least 0 or "random", got "often"');
  refuses('name: 7', '1:7 name: expected a text, got 7');
  refuses(
    'zzz: 1',
    '1:1 zzz: unknown key "zzz"; known keys are name, seed, machine, kernel, policy, workload, run, output, sweep',
  );
});

test('machine', () => {
  assert.match(
    mistakesIn(`machine: xeon-8160-2\n${ONE_JOB}`)[0],
    /^c\.yaml:1:10 machine.*did you mean "xeon-8160-2s"/,
  );
  refuses('machine: 48', '1:10 machine: expected the name of a machine profile or a mapping, got 48');
  refuses(
    'machine: {profile: ideal-4, governer: hwp}',
    '1:29 machine.governer: unknown key "governer"; did you mean "governor"?',
  );
  refuses(
    'machine: {profile: ideal-4, governor: powersafe}',
    '1:39 machine.governor: expected one of performance, schedutil, hwp, powersave, got "powersafe"; did you mean "powersave"?',
  );
  refuses('machine: {profile: ideal-4, cpus: 8}', '1:35 machine.cpus: "ideal-4" has 4 CPUs, not 8');
  refuses(
    'machine: {profile: ideal-4, costs: {context_switch: 1.5}}',
    '1:53 machine.costs.context_switch: 1.5 has no unit; write a time like "3ms", "1.5us", "2h"',
  );
  refuses(
    'machine: {profile: xeon-8160-2s, idle_power: 95W}',
    '1:46 machine.idle_power: only ideal machines take a power; "xeon-8160-2s" has its own',
  );
  refuses(
    'machine: {profile: ideal-1, idle_power: 95}',
    '1:41 machine.idle_power: 95 has no unit; write a power like "95W"',
  );
  refuses('machine: {cpus: 4}', '1:1 machine.profile: missing; expected the name or path of a profile');
});

test('kernel', () => {
  refuses('kernel: 6.13', '1:9 kernel: expected one of 6.11-scx, 6.12, 7.3 or a mapping, got 6.13');
  refuses('kernel: {version: 6.11}', '1:19 kernel.version: expected one of 6.11-scx, 6.12, 7.3, got 6.11');
  refuses('kernel: {hz: 250}', '1:14 kernel.hz: 250 has no unit; write a frequency like "250Hz"');
  refuses(
    'kernel: {hz: 4ms}',
    '1:14 kernel.hz: "4ms" has the unknown unit "ms"; known units are Hz, kHz, MHz, GHz',
  );
  refuses('kernel: {watchdog_timeout: 31s}', '1:28 kernel.watchdog_timeout: the kernel allows at most 30s');
  refuses(
    'kernel: {slice_expiry: precise}',
    '1:24 kernel.slice_expiry: expected one of tick, exact, got "precise"',
  );
  refuses('kernel: {on_stal: end}', '1:10 kernel.on_stal: unknown key "on_stal"; did you mean "on_stall"?');
  refuses(
    'kernel: {base_slice: 3ms}\npolicy: {name: eevdf, base_slice: 4ms}',
    '2:35 policy.base_slice: kernel.base_slice already says 3ms',
  );
});

test('policy', () => {
  refuses(
    'machine: ideal-2\npolicy: {name: central, cpu: 2}',
    '2:30 policy.cpu: the machine has CPUs 0-1, not 2',
  );
  refusesStep(
    '{affinity: "0", task: job}',
    '33 workload.tasks[0].program[0].task: "job" is in the fair class; only ext tasks can be restricted by another',
  );
  refuses('policy: evdf', '1:9 policy: unknown policy "evdf"; did you mean "eevdf"?');
  refuses('policy: {name: domain}', '1:16 policy.name: unknown policy "domain"; did you mean "domains"?');
  refuses(
    'policy: {slice: 3ms}',
    '1:1 policy.name: missing; known policies are eevdf, domains, domains-as-coded, global-fifo, percpu-fifo, ' +
      'global-vtime, weighted-vtime, central, five-level, nest, shortest-remaining, ' +
      'service-order, processor-sharing, sfs',
  );
  refuses(
    'policy: {name: global-fifo, slice: 3}',
    '1:36 policy.slice: 3 has no unit; write a time like "3ms", "1.5us", "2h"',
  );
  refuses('policy: {name: global-fifo, slice: 0s}', '1:36 policy.slice: "0s" must be longer than zero');
  refuses(
    'policy: {name: eevdf, domains: 8}',
    '1:23 policy.domains: unknown key "domains"; known keys are name, base_slice',
  );
  refuses('policy: global-fifo:8', '1:9 policy: policy "global-fifo" has no domains: write "global-fifo"');
  refuses(
    'policy: "domains:"',
    '1:9 policy: "domains:": expected a number of domains from 1 to 512, like "domains:8"',
  );
  refuses(
    'policy: domains:5',
    "1:9 policy.domains: 48 CPUs can't be divided into 5 equal domains; choose a divisor or list the CPUs of each domain",
  );
  refuses(
    'policy: {name: domains, domains: ["0-23", "23-47"]}',
    '1:43 policy.domains[1]: CPU 23 is already in domain 0',
  );
  refuses(
    'policy: {name: domains, domains: ["0-23", "24-48"]}',
    '1:43 policy.domains[1]: the machine has CPUs 0-47, not 48',
  );
  refuses(
    'policy: {name: domains, steal: neighbors}',
    '1:32 policy.steal: expected one of neighbours, none, got "neighbors"; did you mean "neighbours"?',
  );
});

test('steps', () => {
  refusesStep('{rum: 3ms}', '12 workload.tasks[0].program[0].rum: unknown key "rum"; did you mean "run"?');
  refusesStep(
    'yeld',
    '11 workload.tasks[0].program[0]: expected a step like {run: "3ms"} or yield, exit, finish, block, got "yeld"; did you mean "yield"?',
  );
  refusesStep(
    '{sleep: 3ms, dsk: true}',
    '24 workload.tasks[0].program[0].dsk: unknown key "dsk"; did you mean "disk"?',
  );
  refusesStep(
    '{loop: {times: 0, do: [{run: 1s}]}}',
    '26 workload.tasks[0].program[0].loop.times: expected a whole number of at least 1, got 0',
  );
  refusesStep(
    '{loop: {times: 3}}',
    '12 workload.tasks[0].program[0].loop.do: missing; expected a list of steps',
  );
  refusesStep(
    '{branch: {probability: 20%, then: []}}',
    '34 workload.tasks[0].program[0].branch.probability: "20%" is a percentage where a fraction from 0 to 1 is meant: write 0.2',
  );
  refusesStep(
    '{join: spinning}',
    '18 workload.tasks[0].program[0].join: expected one of sleep, spin, got "spinning"',
  );
  refusesStep(
    '{fork: {count: all, program: [exit]}}',
    '26 workload.tasks[0].program[0].fork.count: expected a whole number of at least 1 or "cpus", got "all"',
  );
  refusesStep(
    '{receive: jobs}',
    '21 workload.tasks[0].program[0].receive: unknown queue "jobs"; there is no queue',
  );
  refusesStep('{wake: jop}', '18 workload.tasks[0].program[0].wake: unknown task "jop"; did you mean "job"?');
  refusesStep(
    '{wake: job, member: 1}',
    '31 workload.tasks[0].program[0].member: "job" has 1 tasks, numbered from 0',
  );
  assert.equal(mistakesIn('workload:\n  tasks:\n    - name: job\n      program: [{run_share: 0.5}]\n'), [
    'c.yaml:4:7 workload.tasks[0].program: takes a share of a job, but receives none; use run, sleep or spin with a time',
  ]);
  refusesStep(
    '{}',
    '11 workload.tasks[0].program[0]: expected a step like {run: "3ms"} or yield, exit, finish, block, got an empty mapping',
  );
});

test('loops: depth and reach', () => {
  let step = '{run: 1ms}';
  for (let depth = 0; depth < 5; depth++) step = `{loop: {times: 2, do: [${step}]}}`;
  assert.match(
    mistakesIn(`workload: {tasks: [{name: a, program: [${step}]}]}`)[0],
    /counted loops nest at most 4 deep/,
  );
  const unreachable =
    'workload: {tasks: [{name: a, program: [{loop: {times: forever, do: [yield]}}, exit]}]}';
  assert.match(
    mistakesIn(unreachable).join('\n'),
    /program\[1\]: never reached: it follows a loop that runs forever/,
  );
});

test('times and distributions', () => {
  const at = 'workload.tasks[0].program[0].run';
  refusesStep(
    '{run: 1000}',
    `17 ${at}: 1000 has no unit; write a time like "3ms" or a distribution like {exponential: "1s"}`,
  );
  refusesStep(
    '{run: 3 m}',
    `17 ${at}: "3 m" has the unknown unit "m" ("m" could be minutes or milliseconds: write min or ms); known units are ns, us, ms, s, min, h, d`,
  );
  refusesStep(
    '{run: {exponental: 1s}}',
    `18 ${at}.exponental: unknown key "exponental"; did you mean "exponential"?`,
  );
  refusesStep('{run: {exponential: 0s}}', `31 ${at}.exponential: "0s" must be longer than zero`);
  refusesStep(
    '{run: {uniform: [2ms, 1ms]}}',
    `18 ${at}.uniform: the first time must not be above the second`,
  );
  refusesStep(
    '{run: {lognormal: {median: 1s, sigma: -1}}}',
    `49 ${at}.lognormal.sigma: expected a number above 0, got -1`,
  );
  refusesStep(
    '{run: {hyperexponential: {p: 10%, means: [1ms, 2ms]}}}',
    `40 ${at}.hyperexponential.p: "10%" is a percentage where a fraction from 0 to 1 is meant: write 0.1`,
  );
  refusesStep(
    '{run: {empirical: {points: [[0, 1ms], [0.9, 2ms]]}}}',
    `49 ${at}.empirical.points[1]: the last cumulative probability must be 1`,
  );
  refusesStep(
    '{run: {empirical: {points: [[0, 3ms], [1, 2ms]]}}}',
    `49 ${at}.empirical.points[1]: times must ascend`,
  );
});

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

test('run and output', () => {
  const source = 'workload: {arrivals: [{name: a, rate: 1/s, spawn: {program: [{run: 1s}]}}]}';
  refuses('run: {horizon: 60}', '1:16 run.horizon: 60 has no unit; write a time like "3ms", "1.5us", "2h"');
  refuses('run: {end: horizon}', '1:1 run.horizon: missing; end: horizon needs a time, like "60s"');
  refuses(
    'run: {warmup: 5s}',
    '1:1 run.horizon: missing; the sources never end by themselves: give the last arrival time, like "60s", or max_arrivals',
    source,
  );
  refuses(
    'run: {horizon: 60s, warmup: 60s}',
    '1:29 run.warmup: leaves nothing to measure before the horizon of 1min',
    source,
  );
  refuses(
    'run: {horizon: trace}',
    '1:16 run.horizon: there is no open-loop trace whose end could be the horizon',
  );
  refuses(
    'run: {end: drain}',
    '1:1 run.limit: missing; a task runs forever, so the run needs a limit or end: horizon',
    'workload: {tasks: [{name: a, program: [{loop: {times: forever, do: [{run: 1s}]}}]}]}',
  );
  refuses(
    'output: {invocations: sample}',
    '1:23 output.invocations: expected "none", "all" or "sample:100" (every 100th), got "sample"',
  );
  refuses(
    'output: {invocations: 100}',
    '1:23 output.invocations: expected "none", "all" or "sample:100", got 100',
  );
  refuses('output: {digest: yes}', '1:18 output.digest: expected true or false, got "yes"');
});

test('all mistakes are reported at once, in the order of the file', () => {
  const found = mistakesIn(
    [
      'seed: x',
      'kernel: {hz: 250}',
      'policy: {name: global-fifo, slice: 3, slcie: 3ms}',
      'workload:',
      '  tasks:',
      '    - {name: a, program: [{run: 5}, {slep: 1s}, {receive: q}]}',
      'run: {horizon: 5}',
    ].join('\n'),
  );
  assert.equal(
    found.map((line) => line.replace(/: .*/, '')),
    [
      'c.yaml:1:7 seed',
      'c.yaml:2:14 kernel.hz',
      'c.yaml:3:36 policy.slice',
      'c.yaml:3:39 policy.slcie',
      'c.yaml:6:33 workload.tasks[0].program[0].run',
      'c.yaml:6:38 workload.tasks[0].program[1].slep',
      'c.yaml:7:16 run.horizon',
    ],
  );
  // A mistake in another section doesn't hide what is wrong with a well-formed workload.
  const both = mistakesIn('seed: x\nworkload: {tasks: [{name: a, program: nothing}]}');
  assert.is(both.length, 2);
});

/** All paths of a value, its own included. */
function pathsOf(value: unknown, path: (string | number)[] = []): (string | number)[][] {
  if (typeof value !== 'object' || value === null) return [path];
  const keys = Array.isArray(value) ? [...value.keys()] : Object.keys(value);
  return [path, ...keys.flatMap((key) => pathsOf(Reflect.get(value, key), [...path, key]))];
}

test('whatever stands anywhere in a config, it is accepted or refused, and nothing else happens', () => {
  const examples = readdirSync('examples').map((name) => parse(readFileSync(`examples/${name}`, 'utf8')));
  const anything = fc.oneof(
    fc.constantFrom<unknown>(
      '',
      '3ms',
      '-1s',
      '50%',
      '0-3',
      'all',
      'none',
      0,
      -1,
      0.5,
      1e300,
      null,
      true,
      [],
      {},
    ),
    fc.jsonValue({ maxDepth: 2 }),
  );
  fc.assert(
    fc.property(
      fc.constantFrom(...examples),
      fc.nat(),
      anything,
      fc.boolean(),
      (example, pick, value, add) => {
        const config = structuredClone(example);
        const paths = pathsOf(config).filter((path) => path.length > 0);
        const path = paths[pick % paths.length];
        const parent = path.slice(0, -1).reduce((inner, key) => inner[key], config);
        if (add) Object.assign(parent, { [`${path.at(-1)}x`]: value });
        else parent[path[path.length - 1]] = value;
        try {
          expandSweep(configFrom(config));
        } catch (error) {
          assert.instance(error, ConfigError, String((error as Error).stack));
        }
      },
    ),
    { numRuns: 400 },
  );
});

test('a name that every JavaScript object has is no program', () => {
  assert.equal(mistakesIn('workload: {tasks: [{name: a, program: toString}]}'), [
    'c.yaml:1:39 workload.tasks[0].program: unknown program "toString"; there is no program',
  ]);
});

test('aliases and tags that mean nothing are refused', () => {
  assert.match(mistakesIn(`${ONE_JOB}\nname: *label`)[0], /Unresolved alias/);
  assert.match(mistakesIn(`${ONE_JOB}\nname: !label x`)[0], /^c\.yaml:2:7: Unresolved tag: !label/);
  const bomb = `a: &a [${Array(12).fill('x').join()}]\nb: &b [${Array(12).fill('*a').join()}]\nc: [${Array(99).fill('*b').join()}]`;
  assert.match(mistakesIn(bomb)[0], /Excessive alias count/);
  assert.match(mistakesIn(`${'['.repeat(20000)}`)[0], /c\.yaml/);
});

test('JSON is read with the same places', () => {
  const text =
    '{\n\t"workload": {\n\t\t"tasks": [\n\t\t\t{"name": "a", "program": [{"run": 3}]}\n\t\t]\n\t}\n}\n';
  assert.match(mistakesIn(text)[0], /^c\.yaml:4:38 workload\.tasks\[0\]\.program\[0\]\.run: 3 has no unit/);
});

test.run();
