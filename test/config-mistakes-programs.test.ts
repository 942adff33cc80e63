// Malformed programs: steps, loops, times and distributions.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { mistakesIn, refusesStep } from './support/mistakes.js';

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

test.run();
