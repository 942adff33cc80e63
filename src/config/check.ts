// What a schema can't say about a workload: that names exist and are unique, and that programs make sense.

import type { Mistakes, Path } from './mistakes.js';
import type { Config, Step } from './schema.js';
import { durationNs } from './units.js';

/** min_cfs_quota_period, max_cfs_quota_period */
const MIN_BANDWIDTH_NS = durationNs('1ms');
const MAX_PERIOD_NS = durationNs('1s');

/** Loop registers of a task: counted loops can't nest deeper. */
const MAX_LOOP_NESTING = 4;

type Workload = Config['workload'];

function uniqueNames(list: readonly { name: string }[], path: Path, mistakes: Mistakes): Set<string> {
  const names = new Set<string>();
  list.forEach(({ name }, i) => {
    if (names.has(name)) mistakes.add([...path, i, 'name'], `the name "${name}" is taken`);
    names.add(name);
  });
  return names;
}

/** Calls `visit` for each step, the nested ones included; not for the steps of other named programs. */
export function walkSteps(steps: readonly Step[], path: Path, visit: (step: Step, path: Path) => void): void {
  steps.forEach((step, i) => {
    const at = [...path, i];
    visit(step, at);
    if (typeof step === 'string') return;
    if ('loop' in step) walkSteps(step.loop.do, [...at, 'loop', 'do'], visit);
    if ('receive' in step) {
      walkSteps(step.idle ?? [], [...at, 'idle'], visit);
      walkSteps(step.set_up ?? [], [...at, 'set_up'], visit);
    }
    if ('branch' in step) {
      walkSteps(step.branch.then, [...at, 'branch', 'then'], visit);
      walkSteps(step.branch.else, [...at, 'branch', 'else'], visit);
    }
    if ('fork' in step && typeof step.fork.program !== 'string') {
      walkSteps(step.fork.program, [...at, 'fork', 'program'], visit);
    }
  });
}

function checkNesting(steps: readonly Step[], path: Path, depth: number, mistakes: Mistakes): void {
  steps.forEach((step, i) => {
    if (typeof step === 'string') return;
    const at = [...path, i];
    if ('loop' in step) {
      const counted = step.loop.times === 'forever' ? depth : depth + 1;
      const inner = [...at, 'loop', 'do'];
      if (counted > MAX_LOOP_NESTING) {
        mistakes.add([...at, 'loop'], `counted loops nest at most ${MAX_LOOP_NESTING} deep`);
        return;
      }
      if (step.loop.do.length === 0) mistakes.add(inner, 'a loop needs at least one step');
      if (step.loop.times === 'forever' && i < steps.length - 1) {
        mistakes.add([...path, i + 1], 'never reached: it follows a loop that runs forever');
      }
      checkNesting(step.loop.do, inner, counted, mistakes);
    }
    if ('receive' in step) {
      if (step.idle !== undefined && step.set_up !== undefined) {
        mistakes.add([...at, 'set_up'], 'a task that has something to do while idle never waits');
      }
      checkNesting(step.idle ?? [], [...at, 'idle'], depth, mistakes);
      checkNesting(step.set_up ?? [], [...at, 'set_up'], depth, mistakes);
    }
    if ('branch' in step) {
      checkNesting(step.branch.then, [...at, 'branch', 'then'], depth, mistakes);
      checkNesting(step.branch.else, [...at, 'branch', 'else'], depth, mistakes);
    }
    if ('fork' in step && typeof step.fork.program !== 'string') {
      checkNesting(step.fork.program, [...at, 'fork', 'program'], 0, mistakes);
    }
  });
}

/** Steps of a named program; none if there is no such program, which is a mistake of its own ("toString" is none either). */
export function stepsNamed(programs: Workload['programs'], name: string): Step[] {
  return Object.hasOwn(programs, name) ? programs[name] : [];
}

/** Whether the program, with the programs it forks, has a step that satisfies `matches`. */
export function programHas(
  program: string | Step[],
  programs: Workload['programs'],
  matches: (step: Step) => boolean,
): boolean {
  const seen = new Set<string>();
  let found = false;
  const search = (part: string | Step[]): void => {
    if (typeof part === 'string') {
      if (seen.has(part)) return;
      seen.add(part);
    }
    walkSteps(typeof part === 'string' ? stepsNamed(programs, part) : part, [], (step) => {
      found ||= matches(step);
      if (typeof step !== 'string' && 'fork' in step && typeof step.fork.program === 'string') {
        search(step.fork.program);
      }
    });
  };
  search(program);
  return found;
}

const usesJob = (step: Step) =>
  typeof step !== 'string' && ('run_share' in step || 'sleep_share' in step || 'spin_share' in step);
const receives = (step: Step) => typeof step !== 'string' && 'receive' in step;

/** All programs of the workload, named or in place, with their paths. */
function* programsOf(workload: Workload): Generator<{ steps: Step[]; path: Path }> {
  for (const [name, steps] of Object.entries(workload.programs)) {
    yield { steps, path: ['workload', 'programs', name] };
  }
  for (const [i, { program }] of workload.tasks.entries()) {
    if (typeof program !== 'string') yield { steps: program, path: ['workload', 'tasks', i, 'program'] };
  }
  for (const [i, { spawn }] of workload.arrivals.entries()) {
    if (spawn !== undefined && typeof spawn.program !== 'string') {
      yield { steps: spawn.program, path: ['workload', 'arrivals', i, 'spawn', 'program'] };
    }
  }
}

/** Cgroups are a tree in which parents come first, and tasks are in one that exists. */
function checkCgroups({ cgroups, tasks, arrivals }: Workload, mistakes: Mistakes): void {
  const names = uniqueNames(cgroups, ['workload', 'cgroups'], mistakes);
  cgroups.forEach(({ parent, quota, period }, i) => {
    const path = ['workload', 'cgroups', i];
    const before = cgroups.slice(0, i).map(({ name }) => name);
    if (parent !== undefined && !before.includes(parent)) {
      if (names.has(parent)) mistakes.add([...path, 'parent'], `"${parent}" must come before its children`);
      else mistakes.unknownName([...path, 'parent'], 'cgroup', parent, before);
    }
    if (durationNs(period) < MIN_BANDWIDTH_NS || durationNs(period) > MAX_PERIOD_NS) {
      mistakes.add([...path, 'period'], 'the kernel takes periods from 1ms to 1s');
    }
    if (quota !== undefined && durationNs(quota) < MIN_BANDWIDTH_NS) {
      mistakes.add([...path, 'quota'], 'the kernel takes quotas from 1ms');
    }
  });
  const check = (given: { cgroup?: string; domain?: unknown }, path: Path) => {
    if (given.cgroup === undefined) return;
    if (!names.has(given.cgroup)) mistakes.unknownName([...path, 'cgroup'], 'cgroup', given.cgroup, names);
    if (given.domain !== undefined) mistakes.add([...path, 'domain'], 'tasks in a cgroup have its domain');
  };
  tasks.forEach((task, i) => {
    check(task, ['workload', 'tasks', i]);
  });
  arrivals.forEach(({ spawn }, i) => {
    if (spawn !== undefined) check(spawn, ['workload', 'arrivals', i, 'spawn']);
  });
}

/** Names, references and programs of a workload that fits the schema. */
export function checkWorkload(workload: Workload, mistakes: Mistakes): void {
  const { programs, tasks, arrivals, serverless } = workload;
  const queues = uniqueNames(workload.queues, ['workload', 'queues'], mistakes);
  const events = uniqueNames(workload.events, ['workload', 'events'], mistakes);
  const barriers = uniqueNames(workload.barriers, ['workload', 'barriers'], mistakes);
  checkCgroups(workload, mistakes);
  const taskNames = uniqueNames(tasks, ['workload', 'tasks'], mistakes);
  uniqueNames(arrivals, ['workload', 'arrivals'], mistakes);

  if (tasks.length === 0 && arrivals.length === 0 && serverless === undefined) {
    mistakes.add(['workload'], 'nothing to run; expected tasks, arrivals or serverless');
  }
  const knownProgram = (program: string | Step[], path: Path) => {
    if (typeof program === 'string' && !Object.hasOwn(programs, program)) {
      mistakes.unknownName(path, 'program', program, Object.keys(programs));
    }
  };
  const knownTask = (key: string, name: string, member: number, path: Path) => {
    const target = tasks.find((task) => task.name === name);
    if (target === undefined) mistakes.unknownName([...path, key], 'task', name, taskNames);
    else if (member >= target.count) {
      mistakes.add([...path, 'member'], `"${name}" has ${target.count} tasks, numbered from 0`);
    }
  };
  const checkStep = (step: Step, path: Path) => {
    if (typeof step === 'string') return;
    const known = (key: string, kind: string, name: string, names: Iterable<string>) => {
      if (![...names].includes(name)) mistakes.unknownName([...path, key], kind, name, names);
    };
    if ('receive' in step) known('receive', 'queue', step.receive, queues);
    else if ('send' in step) known('send', 'queue', step.send, queues);
    else if ('spin_until' in step) known('spin_until', 'event', step.spin_until, events);
    else if ('signal' in step) known('signal', 'event', step.signal, events);
    else if ('barrier' in step) known('barrier', 'barrier', step.barrier, ['family', ...barriers]);
    else if ('fork' in step) knownProgram(step.fork.program, [...path, 'fork', 'program']);
    else if ('wake' in step) knownTask('wake', step.wake, step.member, path);
    else if ('affinity' in step) {
      if (step.task !== undefined) knownTask('task', step.task, step.member ?? 0, path);
      else if (step.member !== undefined) mistakes.add([...path, 'member'], 'of which task? say `task`');
    }
  };

  for (const { steps, path } of programsOf(workload)) {
    if (steps.length === 0) mistakes.add(path, 'a program needs at least one step');
    walkSteps(steps, path, checkStep);
    checkNesting(steps, path, 0, mistakes);
  }
  tasks.forEach(({ program }, i) => {
    knownProgram(program, ['workload', 'tasks', i, 'program']);
    if (programHas(program, programs, usesJob) && !programHas(program, programs, receives)) {
      mistakes.add(
        ['workload', 'tasks', i, 'program'],
        'takes a share of a job, but receives none; use run, sleep or spin with a time',
      );
    }
  });
  arrivals.forEach(({ spawn, queue, duration, times }, i) => {
    const path = ['workload', 'arrivals', i];
    if (queue !== undefined && !queues.has(queue)) {
      mistakes.unknownName([...path, 'queue'], 'queue', queue, queues);
    }
    if (spawn === undefined) return;
    knownProgram(spawn.program, [...path, 'spawn', 'program']);
    if (duration === undefined && times === undefined && programHas(spawn.program, programs, usesJob)) {
      mistakes.add(path, 'its program takes a share of the job, so it needs a duration');
    }
  });
}

/** Whether a task can keep the system busy for good, so that only a limit ends a run without arrivals. */
export function runsForever(workload: Workload): boolean {
  return workload.tasks.some(
    ({ program, background }) =>
      !background &&
      programHas(program, workload.programs, (step) => {
        return typeof step !== 'string' && 'loop' in step && step.loop.times === 'forever';
      }) &&
      !programHas(program, workload.programs, (step) => step === 'block' || receives(step)),
  );
}
