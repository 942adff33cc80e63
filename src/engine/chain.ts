// The reason chain of a stall or deadlock: who waits, since when, where, what was served instead, and who would have to end
// the wait. Who could end one is read off the programs: a task that signals the event, wakes the task, sends to the queue.

import { programHas } from '../config/check.js';
import type { ResolvedConfig, Step } from '../config/schema.js';
import type { ChainStep, Served } from '../types.js';
import { NONE } from './abi.js';
import type { EncodedModel } from './encode.js';
import type { Stays } from './served.js';
import type { Wait } from './waits.js';

/** Steps of a chain, and kinds of tasks that were served, at most; there may be thousands. */
const MAX_STEPS = 16;
const MAX_SERVED = 3;

/** Local DSQs come first, one per possible CPU, then the global one (assembly/kernel/dsq.ts). */
export const MAX_CPUS = 512;

export function dsqName(dsq: number): string {
  if (dsq === NONE) return 'no DSQ';
  if (dsq < MAX_CPUS) return `the local DSQ of CPU ${dsq}`;
  return dsq === MAX_CPUS ? 'the global DSQ' : `user DSQ ${dsq - MAX_CPUS - 1}`;
}

/**
 * Name of the task in a slot, if it is one of those that exist from the start; slots are used again, which `member` tells, or else
 * a statistics class that does not fit.
 */
export function taskLabel(model: EncodedModel, slot: number, stats?: number, member = true): string {
  const name = member ? model.taskNames[slot - 1] : undefined;
  const group = stats === undefined ? undefined : model.classes[stats]?.name;
  if (name !== undefined && (group === undefined || name === group || name.startsWith(`${group}/`))) {
    return `task "${name}" (pid ${slot})`;
  }
  return group === undefined ? `task ${slot}` : `a task of "${group}" (pid ${slot})`;
}

/** "0-3,8" from a mask's list of CPUs. */
function cpuRanges(list: string): string {
  const cpus = list.split(',').map(Number);
  const ranges: string[] = [];
  for (let i = 0; i < cpus.length; ) {
    let end = i;
    while (end + 1 < cpus.length && cpus[end + 1] === cpus[end] + 1) end++;
    ranges.push(end === i ? `${cpus[i]}` : `${cpus[i]}-${cpus[end]}`);
    i = end + 1;
  }
  return ranges.join(',');
}

/** CPUs whose dispatches pass the task over: the one whose queue it is in, or all that it may run on. */
export function cpusBefore({ kind, place, cpu, mask }: Wait, model: EncodedModel): Set<number> {
  if (kind === 'dsq' && place >= MAX_CPUS && place !== NONE)
    return new Set(model.masks[mask].split(',').map(Number));
  return new Set([cpu]);
}

const STATES = { running: 'running', dsq: 'runnable', 'run-queue': 'runnable', sleep: 'sleeping' } as const;

interface Explained {
  where?: string;
  /** Live tasks that could end the wait. */
  holders?: Wait[];
  because?: string;
}

/** All tasks that wait when a run has failed, and what they could be waiting for. */
export class Waiting {
  readonly #model: EncodedModel;
  readonly #workload: ResolvedConfig['workload'];
  readonly #waits: readonly Wait[];
  readonly #tasks: Wait[];

  constructor(model: EncodedModel, waits: readonly Wait[]) {
    this.#model = model;
    this.#workload = model.config.workload;
    this.#waits = waits;
    this.#tasks = waits.filter(({ slot }) => slot !== 0);
  }

  get count(): number {
    return this.#tasks.length;
  }

  task(slot: number): Wait | undefined {
    return this.#tasks.find((wait) => wait.slot === slot);
  }

  label({ slot, stats, member }: Pick<Wait, 'slot' | 'stats'> & Partial<Wait>): string {
    return taskLabel(this.#model, slot, stats, member);
  }

  /** Names of task groups and sources with a program that matches. */
  #groupsThat(matches: (step: Step) => boolean): string[] {
    const { tasks, arrivals, programs } = this.#workload;
    return [
      ...tasks.filter(({ program }) => programHas(program, programs, matches)).map(({ name }) => name),
      ...arrivals
        .filter(({ spawn }) => spawn !== undefined && programHas(spawn.program, programs, matches))
        .map(({ name }) => name),
    ];
  }

  #living(groups: readonly string[], except: number): Wait[] {
    return this.#tasks.filter(
      ({ slot, stats }) => slot !== except && groups.includes(this.#model.classes[stats]?.name),
    );
  }

  /** A wait that a step of other tasks would end; `verb` says what they do to it. */
  #endedBy(wait: Wait, where: string, verb: string, matches: (step: Step) => boolean): Explained {
    const groups = this.#groupsThat(matches);
    const holders = this.#living(groups, wait.slot);
    if (holders.length > 0) return { where, holders };
    const gone = groups.filter((name) => name !== this.#model.classes[wait.stats]?.name);
    const because =
      gone.length === 0
        ? `no other task ${verb} it`
        : `${gone.map((name) => `"${name}"`).join(', ')} ${verb} it, but no such task is left`;
    return { where, holders, because };
  }

  #explain(wait: Wait): Explained {
    const { kind, place, number, slot } = wait;
    const { queues, events, barriers, arrivals } = this.#workload;
    switch (kind) {
      case 'running':
        return { where: `on CPU ${wait.cpu}` };
      case 'dsq':
        return { where: `in ${dsqName(place)}` };
      case 'run-queue':
        return { where: `in the run queue of CPU ${wait.cpu}` };
      case 'event': {
        const { name } = events[place - barriers.length - 1];
        return this.#endedBy(wait, `for event "${name}"`, 'signals', (step) => {
          return typeof step !== 'string' && 'signal' in step && step.signal === name;
        });
      }
      case 'block': {
        const name = this.#model.classes[wait.stats]?.name;
        return this.#endedBy(wait, 'to be woken', 'wakes', (step) => {
          return typeof step !== 'string' && 'wake' in step && step.wake === name;
        });
      }
      case 'receive': {
        const queue = queues[place];
        if (queue === undefined) return { where: 'for a request' };
        const explained = this.#endedBy(wait, `for a job in queue "${queue.name}"`, 'sends to', (step) => {
          return typeof step !== 'string' && 'send' in step && step.send === queue.name;
        });
        const sources = arrivals
          .filter((source) => source.queue === queue.name)
          .map(({ name }) => `"${name}"`);
        if (explained.because === undefined || sources.length === 0) return explained;
        return { ...explained, because: `the arrivals of ${sources.join(', ')} are over` };
      }
      case 'join':
        return {
          where: `for its ${number} ${number === 1 ? 'child' : 'children'}`,
          holders: this.#tasks.filter((other) => other.parent === slot),
        };
      case 'barrier':
        return this.#barrier(wait);
      case 'jobs':
        return this.#jobs(place);
      default:
        return {};
    }
  }

  /** The parties of a barrier that could still come to it: those that wait for something else. */
  #barrier({ place, number, slot, parent }: Wait): Explained {
    const missing = `${number} more ${number === 1 ? 'party' : 'parties'}`;
    const elsewhere = (other: Wait) =>
      other.slot !== slot && !(other.kind === 'barrier' && other.place === place);
    if (place === NONE) {
      const isFamily = (other: Wait) =>
        other.parent === slot || (parent !== 0 && (other.parent === parent || other.slot === parent));
      const holders = this.#tasks.filter((other) => isFamily(other) && elsewhere(other));
      const because = holders.length > 0 ? {} : { because: 'no other task of the family is left to come' };
      return { where: `at its family's barrier for ${missing}`, holders, ...because };
    }
    const { name } = this.#workload.barriers[place - 1];
    const groups = this.#groupsThat((step) => {
      return typeof step !== 'string' && 'barrier' in step && step.barrier === name;
    });
    const holders = this.#living(groups, slot).filter(elsewhere);
    const because = holders.length > 0 ? {} : { because: 'no task is left that would come to it' };
    return { where: `at barrier "${name}" for ${missing}`, holders, ...because };
  }

  #jobs(place: number): Explained {
    const queue = this.#workload.queues[place];
    if (queue === undefined) return { where: "in a container's queue" };
    const groups = this.#groupsThat((step) => {
      return typeof step !== 'string' && 'receive' in step && step.receive === queue.name;
    });
    const holders = this.#living(groups, 0);
    const because =
      holders.length > 0
        ? {}
        : {
            because:
              groups.length === 0 ? 'no task receives from it' : 'no task that receives from it is left',
          };
    return { where: `in queue "${queue.name}"`, holders, ...because };
  }

  step(wait: Wait): ChainStep {
    const { where, holders, because } = this.#explain(wait);
    const ended = {
      ...(where === undefined ? {} : { where }),
      ...(holders === undefined
        ? {}
        : { held_by: holders.slice(0, MAX_STEPS).map((other) => this.label(other)) }),
      ...(because === undefined ? {} : { because }),
      since_ns: wait.since_ns,
    };
    if (wait.kind === 'jobs') {
      return { who: `${wait.number} ${wait.number === 1 ? 'job' : 'jobs'}`, state: 'queued', ...ended };
    }
    return {
      who: this.label(wait),
      pid: wait.slot,
      class: wait.class,
      allowed_cpus: cpuRanges(this.#model.masks[wait.mask]),
      state: wait.polling ? 'polling' : (STATES[wait.kind as keyof typeof STATES] ?? 'blocked'),
      ...ended,
    };
  }

  /** A starved task with what was served in its place, then what its CPU runs. */
  starved(wait: Wait, other: number, stays: readonly Stays[]): ChainStep[] {
    const running = this.task(other);
    return [
      {
        ...this.step(wait),
        served_on: cpuRanges([...cpusBefore(wait, this.#model)].sort((a, b) => a - b).join(',')),
        served: this.#served(stays),
      },
      ...(running === undefined || running === wait ? [] : [this.step(running)]),
    ];
  }

  #served(stays: readonly Stays[]): Served[] {
    const classes = new Map(this.#tasks.map((wait) => [wait.stats, wait.class]));
    const groups = new Map<string, Served>();
    for (const { slot, stats, count } of stays) {
      const label = this.label({ slot, stats });
      // Tasks that come and go are counted together.
      const who = label.startsWith('a task of') ? `tasks of "${this.#model.classes[stats]?.name}"` : label;
      const known = groups.get(who);
      if (known !== undefined) known.count += count;
      else groups.set(who, { who, class: classes.get(stats), count });
    }
    const all = [...groups.values()].sort((a, b) => b.count - a.count);
    const rest = all.slice(MAX_SERVED).reduce((sum, { count }) => sum + count, 0);
    const first = all.slice(0, MAX_SERVED);
    return rest === 0 ? first : [...first, { who: `${all.length - MAX_SERVED} others`, count: rest }];
  }

  /** A cycle of waits if there is one, else those that nobody can end; then the jobs that wait. */
  deadlock(): { cycle: boolean; chain: ChainStep[] } {
    const cycle = this.#cycle();
    const jobs = this.#waits.filter(({ kind }) => kind === 'jobs');
    const stuck = cycle ?? this.#tasks.filter((wait) => this.#explain(wait).because !== undefined);
    const others = stuck.length + jobs.length > 0 ? [] : this.#tasks;
    return {
      cycle: cycle !== undefined,
      chain: [...stuck, ...jobs, ...others].slice(0, MAX_STEPS).map((wait) => this.step(wait)),
    };
  }

  /** Follows each wait to those who could end it. In a deadlock they all wait, so a walk ends or meets itself. */
  #cycle(): Wait[] | undefined {
    const seen = new Set<number>();
    for (const start of this.#tasks) {
      const path: Wait[] = [];
      for (let wait: Wait | undefined = start; wait !== undefined; wait = this.#explain(wait).holders?.[0]) {
        const at = path.indexOf(wait);
        if (at >= 0) return path.slice(at);
        if (seen.has(wait.slot)) break;
        seen.add(wait.slot);
        path.push(wait);
      }
    }
    return undefined;
  }
}
