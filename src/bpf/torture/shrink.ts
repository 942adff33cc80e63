// The smallest workload that still shows a finding: parts are left out and numbers made smaller as long as it does.

import type { StepInput } from '../../config/schema.js';
import { durationNs, formatCpuList, formatDuration, parseCpuList } from '../../config/units.js';
import type { TaskInput } from './ingredients.js';
import type { Workload } from './scenario.js';

/** Smaller variants of a workload, the most different first. Some may not be valid. */
type Reduction = (config: Workload) => Iterable<Workload>;

function tasksOf(config: Workload): TaskInput[] {
  return config.workload.tasks ?? [];
}

function withTasks(config: Workload, tasks: TaskInput[]): Workload {
  return { ...config, workload: { ...config.workload, tasks } };
}

function replaced<T>(list: readonly T[], index: number, ...by: T[]): T[] {
  return [...list.slice(0, index), ...by, ...list.slice(index + 1)];
}

function* fewerTasks(config: Workload): Iterable<Workload> {
  const tasks = tasksOf(config);
  const half = tasks.length >> 1;
  if (half > 1) {
    yield withTasks(config, tasks.slice(0, half));
    yield withTasks(config, tasks.slice(half));
  }
  if (tasks.length < 2) return;
  for (let i = tasks.length - 1; i >= 0; i--) yield withTasks(config, replaced(tasks, i));
}

function* smallerCounts(config: Workload): Iterable<Workload> {
  const tasks = tasksOf(config);
  for (const [i, task] of tasks.entries()) {
    const count = task.count ?? 1;
    for (const smaller of new Set([1, count >> 1, count - 1])) {
      if (smaller > 0 && smaller < count)
        yield withTasks(config, replaced(tasks, i, { ...task, count: smaller }));
    }
  }
}

const OPTIONAL = ['priority', 'weight', 'start', 'class', 'realtime', 'cpus'] as const;

function* plainerTasks(config: Workload): Iterable<Workload> {
  const tasks = tasksOf(config);
  for (const [i, task] of tasks.entries()) {
    for (const key of OPTIONAL) {
      if (!(key in task)) continue;
      const { [key]: _, ...rest } = task;
      yield withTasks(config, replaced(tasks, i, rest as TaskInput));
    }
    const cpus = task.cpus === undefined || task.cpus === 'all' ? [] : parseCpuList(task.cpus);
    if (cpus.length > 1) yield withTasks(config, replaced(tasks, i, { ...task, cpus: `${cpus[0]}` }));
  }
}

/** A plain time in place of a distribution, of the same size. */
function plainTime(time: unknown): string | undefined {
  if (typeof time !== 'object' || time === null) return undefined;
  if ('exponential' in time) return String(time.exponential);
  if ('uniform' in time && Array.isArray(time.uniform)) return String(time.uniform[1]);
  return undefined;
}

/** A list of steps with one of them left out, unpacked or simplified. */
function* simplerSteps(steps: readonly StepInput[]): Iterable<StepInput[]> {
  for (const [i, step] of steps.entries()) {
    if (steps.length > 1) yield replaced(steps, i);
    if (typeof step === 'string') continue;
    for (const key of ['run', 'sleep', 'spin'] as const) {
      const value = (step as Record<string, unknown>)[key];
      const plain = plainTime(value);
      if (plain !== undefined) yield replaced(steps, i, { ...step, [key]: plain } as StepInput);
    }
    if ('loop' in step) {
      for (const inner of simplerSteps(step.loop.do)) {
        yield replaced(steps, i, { loop: { ...step.loop, do: inner } });
      }
      yield replaced(steps, i, ...step.loop.do);
    }
    if ('fork' in step && Array.isArray(step.fork.program)) {
      const { count, program } = step.fork;
      if (typeof count === 'number' && count > 1) {
        for (const smaller of new Set([1, count >> 1, count - 1])) {
          yield replaced(steps, i, { fork: { count: smaller, program } });
        }
      }
      for (const inner of simplerSteps(program))
        yield replaced(steps, i, { fork: { count, program: inner } });
    }
  }
}

function* simplerPrograms(config: Workload): Iterable<Workload> {
  const tasks = tasksOf(config);
  for (const [i, task] of tasks.entries()) {
    if (typeof task.program === 'string') continue;
    for (const program of simplerSteps(task.program))
      yield withTasks(config, replaced(tasks, i, { ...task, program }));
  }
}

function* fewerEvents(config: Workload): Iterable<Workload> {
  const events = config.run?.events ?? [];
  for (let i = events.length - 1; i >= 0; i--) {
    const { events: _, ...run } = config.run!;
    const rest = replaced(events, i);
    yield { ...config, run: rest.length === 0 ? run : { ...run, events: rest } };
  }
}

function stepUses(step: StepInput, barrier: string): boolean {
  if (typeof step === 'string') return false;
  if ('barrier' in step) return step.barrier === barrier;
  if ('loop' in step) return step.loop.do.some((inner) => stepUses(inner, barrier));
  return false;
}

function* fewerBarriers(config: Workload): Iterable<Workload> {
  const { barriers = [], ...workload } = config.workload;
  const used = barriers.filter(({ name }) =>
    tasksOf(config).some(
      ({ program }) => typeof program !== 'string' && program.some((step) => stepUses(step, name)),
    ),
  );
  if (used.length === barriers.length) return;
  yield { ...config, workload: used.length === 0 ? workload : { ...workload, barriers: used } };
}

/** Only the CPUs below `cpus`; a set that has none of them becomes the last one. */
function cutCpus(list: string, cpus: number): string {
  const left = parseCpuList(list).filter((cpu) => cpu < cpus);
  return formatCpuList(left.length === 0 ? [cpus - 1] : left);
}

function cutSteps(steps: readonly StepInput[], cpus: number): StepInput[] {
  return steps.map((step): StepInput => {
    if (typeof step === 'string') return step;
    if ('affinity' in step) return { ...step, affinity: cutCpus(step.affinity, cpus) };
    if ('loop' in step) return { loop: { ...step.loop, do: cutSteps(step.loop.do, cpus) } };
    return step;
  });
}

/** How many CPUs a machine of the suite has, by the name of its profile. */
function cpusOf(config: Workload, sizes: ReadonlyMap<string, number>): number {
  return sizes.get(String(config.machine)) ?? Number(/^ideal-(\d+)$/.exec(String(config.machine))?.[1] ?? 0);
}

/** Smaller and ideal machines. */
function smallerMachines(sizes: ReadonlyMap<string, number>): Reduction {
  return function* (config) {
    const cpus = cpusOf(config, sizes);
    if (!String(config.machine).startsWith('ideal-')) yield { ...config, machine: `ideal-${cpus}` };
    // One CPU is a case of its own: what goes wrong there need not be what went wrong on several.
    for (const fewer of new Set([2, cpus >> 2, cpus >> 1, cpus - 1])) {
      if (fewer < 2 || fewer >= cpus) continue;
      const tasks = tasksOf(config).map((task) => ({
        ...task,
        ...(task.cpus === undefined || task.cpus === 'all' ? {} : { cpus: cutCpus(task.cpus, fewer) }),
        program: typeof task.program === 'string' ? task.program : cutSteps(task.program, fewer),
      }));
      yield { ...withTasks(config, tasks), machine: `ideal-${fewer}` };
    }
  };
}

function* shorterRuns(config: Workload): Iterable<Workload> {
  const horizon = config.run?.horizon;
  if (horizon === undefined) return;
  const ms = durationNs(horizon) / 1_000_000n;
  if (ms > 1n) yield { ...config, run: { ...config.run, horizon: formatDuration((ms / 2n) * 1_000_000n) } };
}

function* plainSeed(config: Workload): Iterable<Workload> {
  if (config.seed !== 1) yield { ...config, seed: 1 };
}

/** Most workloads that are tried. */
const TRIALS = 400;

/**
 * Makes `config` smaller as long as `shows` holds for it. The result shows the finding; leaving out any one part that was
 * tried hides it, unless the trials ran out first.
 */
export async function shrink(
  config: Workload,
  sizes: ReadonlyMap<string, number>,
  shows: (smaller: Workload) => Promise<boolean>,
): Promise<Workload> {
  const reductions: Reduction[] = [
    fewerEvents,
    fewerTasks,
    smallerMachines(sizes),
    smallerCounts,
    plainerTasks,
    simplerPrograms,
    fewerBarriers,
    shorterRuns,
    plainSeed,
  ];
  let smallest = config;
  let trials = 0;
  const reduceOnce = async (): Promise<boolean> => {
    for (const reduction of reductions) {
      for (const candidate of reduction(smallest)) {
        if (++trials > TRIALS) return false;
        if (!(await shows(candidate))) continue;
        smallest = candidate;
        return true;
      }
    }
    return false;
  };
  while (await reduceOnce());
  return smallest;
}
