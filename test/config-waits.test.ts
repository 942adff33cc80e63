// Programs that must hang or lose jobs are refused when the config is read, with their line.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { parseConfig } from '../src/config/load.js';
import { resolveConfig } from '../src/config/resolve.js';

/** Line and message of each mistake; the workload begins on line 2. */
function mistakes(...workload: string[]): string[] {
  try {
    resolveConfig(
      parseConfig(['workload:', ...workload.map((line) => `  ${line}`)].join('\n'), { file: 'c.yaml' }),
    );
  } catch (error) {
    return (error as Error).message.split('\n').map((line) => line.replace(/^c\.yaml:(\d+):\d+ /, '$1 '));
  }
  return [];
}

const task = (steps: string) => `- {name: t, program: [${steps}]}`;

/** One task with this program on line 4, beside a queue that jobs come to. */
function steps(program: string): string[] {
  return mistakes(
    'queues: [{name: q}, {name: r}]',
    'tasks:',
    task(program),
    'arrivals: [{name: jobs, interarrival: 1s, max_arrivals: 3, queue: q}]',
  );
}

const NONE_TO_FINISH = 'there is no job to finish; the task must receive one before';
const STILL_ONE = 'the task still has a job; finish or send that before the next';
const AT = '4 workload.tasks[0].program';

test('a job is finished or sent only by a task that has received one', () => {
  assert.equal(steps('run: 1s, finish'.replace('run: 1s', '{run: 1s}')), [`${AT}[1]: ${NONE_TO_FINISH}`]);
  assert.equal(steps('{receive: q}, finish, finish'), [`${AT}[2]: ${NONE_TO_FINISH}`]);
  assert.equal(steps('{receive: q}, {send: r}, {run: 1s}, {send: r}'), [
    `${AT}[3].send: there is no job to send; the task must receive one before`,
  ]);
  // Sending gives the job away: it is the receiver's to finish.
  assert.equal(steps('{receive: q}, {send: r}, finish'), [`${AT}[2]: ${NONE_TO_FINISH}`]);
  assert.equal(steps('{receive: q}, {run: 1s}, finish'), []);
});

test('one job at a time', () => {
  assert.equal(steps('{receive: q}, {receive: q}, finish'), [`${AT}[1].receive: ${STILL_ONE}`]);
  // The second pass of a loop begins with what the first one left.
  assert.equal(steps('{loop: {times: forever, do: [{receive: q}, {run: 1s}]}}'), [
    `${AT}[0].loop.do[0].receive: ${STILL_ONE}`,
  ]);
  assert.equal(steps('{loop: {times: 1, do: [{receive: q}]}}, finish'), []);
  assert.equal(steps('{loop: {times: 5, do: [{receive: q}, finish]}}'), []);
});

test('on one path of a branch only: what the other path does is no excuse, but its job may be finished behind', () => {
  assert.equal(steps('{branch: {probability: 0.5, then: [{receive: q}], else: []}}, finish'), []);
  assert.equal(steps('{branch: {probability: 0.5, then: [finish], else: [exit]}}'), [
    `${AT}[0].branch.then[0]: ${NONE_TO_FINISH}`,
  ]);
});

test('a task that is spawned for a job has it, and what comes behind exit is never reached', () => {
  const spawned = (program: string) =>
    mistakes(
      'queues: [{name: q}]',
      `arrivals: [{name: jobs, interarrival: 1s, max_arrivals: 3, spawn: {program: [${program}]}}]`,
    );
  assert.equal(spawned('{run: 1s}, finish'), []);
  assert.equal(spawned('{send: q}, exit, finish'), []);
  assert.equal(spawned('{receive: q}'), [`3 workload.arrivals[0].spawn.program[0].receive: ${STILL_ONE}`]);
});

test('a named program is refused where it stands, once', () => {
  assert.equal(
    mistakes('programs:', '  p: [finish]', 'tasks: [{name: a, program: p}, {name: b, program: p}]'),
    [`3 workload.programs.p[0]: ${NONE_TO_FINISH}`],
  );
});

test('a barrier has no more parties than tasks that come to it', () => {
  const barrier = (parties: number, program: string) =>
    mistakes(
      `barriers: [{name: all, parties: ${parties}}]`,
      'tasks:',
      `- {name: a, count: 2, program: [${program}]}`,
      '- {name: b, program: [{barrier: all}]}',
    );
  // 2 of a and 1 of b
  assert.equal(barrier(3, '{barrier: all}'), []);
  assert.equal(barrier(4, '{barrier: all}'), [
    '2 workload.barriers[0].parties: more than the 3 tasks that come to it: "a" × 2, "b"',
  ]);
  assert.equal(barrier(3, '{run: 1s}'), [
    '2 workload.barriers[0].parties: more than the 1 task that comes to it: "b"',
  ]);
  // How many are forked by the time is not known.
  assert.equal(barrier(9, '{fork: {count: 4, program: [{barrier: all}]}}, {join: sleep}'), []);
});

test('an event that tasks wait for is signalled by somebody', () => {
  const event = (background: boolean, ...others: string[]) =>
    mistakes(
      'events: [{name: done}]',
      'tasks:',
      `- {name: poller, background: ${background}, program: [{spin_until: done}]}`,
      ...others,
      '- {name: other, program: [{run: 1s}]}',
    );
  assert.equal(event(false), [
    '2 workload.events[0].name: nobody signals the event "done" that tasks wait for',
  ]);
  assert.equal(event(false, '- {name: signaller, program: [{signal: done}]}'), []);
  assert.equal(event(true), []);
});

test.run();
