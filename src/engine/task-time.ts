// Where one task's time went, from the engine's detailed record of decisions (assembly/kernel/decisions.ts). Time is cut
// wherever a decision changes what the task does or where it waits; each stretch begins where the last one ended, so they
// sum to the time from its first wake-up to its exit.

import { programHas } from '../config/check.js';
import { parseCpuList } from '../config/units.js';
import type { Ahead, LastStretch, TaskState, TimePart } from '../types.js';
import * as abi from './abi.js';
import { dsqName, MAX_CPUS, taskLabel } from './chain.js';
import { type Decision, decisionsOf } from './decision-records.js';
import type { EncodedModel } from './encode.js';
import type { TaskName } from './task-name.js';
import { addAhead, type Stretch, TimeParts, type Window } from './time-parts.js';

interface Stay {
  slot: number;
  label: string;
  since: number;
}

/** Where a waiting task stands: a DSQ, or a CPU's run queue. */
interface Place {
  text: string;
  /** Whose running tasks were served before it: this CPU's, or those from this shared DSQ. */
  cpu?: number;
  dsq?: number;
}

const NOWHERE: Place = { text: '' };

export class TaskTime {
  readonly #model: EncodedModel;
  readonly #window: Window;
  readonly #parts: TimeParts;
  readonly #name: TaskName;
  /** Undefined until the task is there. */
  #slot: number | undefined;
  /** What runs on each CPU, and for each waiting or running task the shared DSQ that it was in last. */
  readonly #stays = new Map<number, Stay>();
  readonly #origins = new Map<number, number>();
  /** Slots of tasks that come and go. */
  readonly #reused = new Set<number>();
  #first: number | undefined;
  #exit: number | undefined;
  #time = 0;
  /** Begin of the open stretch, and what it is. */
  #since = 0;
  #state: TaskState | undefined;
  #place = NOWHERE;
  #throttled = false;
  /** What it polls for, whether or not it has a CPU. */
  #polls: string | undefined;
  #cause = 0;
  #cost = 0;
  #costUntil = 0;
  #cold = 0;
  /** Stretches of the wait that is not over: leaving an idle state is taken off their end. */
  #wait: Stretch[] = [];
  /** Who was served where the task waits; who else had a CPU that it may use. */
  #behind = new Map<string, Ahead>();
  #elsewhere = new Map<string, Ahead>();
  /** undefined = all. */
  readonly #allowed: ReadonlySet<number> | undefined;
  /** The CPU that it has just lost. */
  #lost: { cpu: number; time: number; where: string } | undefined;

  constructor(model: EncodedModel, name: TaskName, { from_ns, until_ns }: Partial<Window> = {}) {
    this.#model = model;
    this.#name = name;
    this.#slot = name.slot;
    this.#allowed = allowedCpus(model, name);
    this.#window = { from_ns: from_ns ?? 0, until_ns: until_ns ?? Number.POSITIVE_INFINITY };
    this.#parts = new TimeParts(this.#window);
  }

  get slot(): number | undefined {
    return this.#slot;
  }

  /** Simulated time of its first wake-up. */
  get first_ns(): number | undefined {
    return this.#first;
  }

  get exit_ns(): number | undefined {
    return this.#exit;
  }

  /** Nothing that comes later can change the answer. */
  get done(): boolean {
    return this.#exit !== undefined || this.#time > this.#window.until_ns;
  }

  add(records: Uint8Array): void {
    for (const decision of decisionsOf(records)) {
      this.#time = decision.time;
      if (this.done) return;
      this.#take(decision);
    }
  }

  /** The run, or what is wanted of it, ends. */
  finish(end_ns: number): void {
    if (this.#exit !== undefined || this.#state === undefined) return;
    this.#cut(Math.min(end_ns, this.#window.until_ns));
    this.#endWait();
  }

  /** Longest first. */
  parts(): TimePart[] {
    return this.#parts.parts();
  }

  last(): LastStretch | undefined {
    return this.#parts.last();
  }

  #take(decision: Decision): void {
    const { task, kind, value } = decision;
    if (kind === abi.DECISION_FORK || kind === abi.DECISION_SPAWN) this.#reused.add(task);
    if (kind === abi.DECISION_RUN) this.#begins(decision);
    else if (kind === abi.DECISION_STOP) this.#ends(decision);
    else if (kind === abi.DECISION_DSQ && value >= MAX_CPUS) this.#origins.set(task, value);
    else if (kind === abi.DECISION_WAKE) this.#origins.delete(task);
    if (this.#slot === undefined) {
      this.#name.follow(decision);
      this.#slot = this.#name.slot;
    } else if (task === this.#slot) this.#own(decision);
  }

  /** Another task gets a CPU. */
  #begins({ time, task, cpu, value }: Decision): void {
    const label = this.#label(task, value);
    if (this.#lost !== undefined && this.#lost.cpu === cpu) {
      if (this.#lost.time === time && task !== this.#slot)
        this.#parts.countTaker(time, this.#lost.where, label);
      this.#lost = undefined;
    }
    this.#stays.set(cpu, { slot: task, label, since: time });
  }

  #ends({ time, cpu }: Decision): void {
    const stay = this.#stays.get(cpu);
    if (stay !== undefined) this.#noteAhead(cpu, stay, time);
    this.#stays.delete(cpu);
  }

  /** Tasks that come and go are counted together. */
  #label(slot: number, stats: number): string {
    const label = taskLabel(this.#model, slot, stats);
    return this.#reused.has(slot) || label.startsWith('a task of')
      ? `tasks of "${this.#model.classes[stats]?.name}"`
      : label;
  }

  #own({ time, kind, value, cpu, runnable, class: schedulingClass }: Decision): void {
    switch (kind) {
      case abi.DECISION_WAKE:
        if (this.#first === undefined) {
          this.#first = time;
          this.#since = time;
        }
        this.#change(time, 'waiting', this.#runQueue(cpu, schedulingClass));
        break;
      case abi.DECISION_RUN:
        this.#cut(time);
        this.#endWait();
        this.#costUntil = time + this.#cost;
        this.#cost = 0;
        this.#throttled = false;
        this.#begin('running', { text: `on CPU ${cpu}` });
        break;
      case abi.DECISION_STOP:
        this.#cut(time);
        if (runnable) {
          const place = this.#runQueue(cpu, schedulingClass);
          this.#begin('preempted', place);
          this.#lost = { cpu, time, where: place.text };
        } else if ((this.#cause & 0xff) === abi.WAIT_EXIT) {
          this.#exit = time;
          this.#state = undefined;
          this.#parts.ends();
        } else {
          const sleeps = (this.#cause & 0xff) === abi.WAIT_SLEEP;
          this.#begin(sleeps ? 'sleeping' : 'blocked', { text: this.#causeText(this.#cause) });
        }
        break;
      case abi.DECISION_WAIT:
        this.#cause = value;
        break;
      case abi.DECISION_DSQ: {
        const place = value < MAX_CPUS ? { cpu: value } : { dsq: value };
        this.#moveTo(time, { text: `in ${dsqName(value)}`, ...place });
        break;
      }
      case abi.DECISION_MOVE:
        if (schedulingClass !== abi.CLASS_EXT) this.#moveTo(time, this.#runQueue(cpu, schedulingClass));
        break;
      case abi.DECISION_COST:
        this.#cost = value;
        break;
      case abi.DECISION_COLD:
        this.#cold = value;
        break;
      case abi.DECISION_POLL:
        this.#cut(time);
        this.#polls = value === 0 ? undefined : this.#causeText(value);
        break;
      case abi.DECISION_QUOTA:
        this.#cut(time);
        this.#throttled = value !== 0;
        break;
    }
  }

  #runQueue(cpu: number, schedulingClass: number): Place {
    // A task of the ext class is put into a DSQ next, unless its policy keeps it to itself.
    if (schedulingClass === abi.CLASS_EXT) return { text: 'outside all DSQs', cpu };
    const realtime = schedulingClass === abi.CLASS_REALTIME ? 'realtime ' : '';
    return { text: `in the ${realtime}run queue of CPU ${cpu}`, cpu };
  }

  #causeText(cause: number): string {
    const { queues, events, barriers } = this.#model.config.workload;
    const place = (cause >> 8) - 1;
    switch (cause & 0xff) {
      case abi.WAIT_SLEEP:
        return place === 0 ? 'for a disk' : 'for a time';
      case abi.WAIT_JOIN:
        return 'for its children';
      case abi.WAIT_BLOCK:
        return 'to be woken';
      case abi.WAIT_BARRIER:
        return place < 0 ? "at its family's barrier" : `at barrier "${barriers[place - 1].name}"`;
      case abi.WAIT_EVENT:
        return `for event "${events[place - barriers.length - 1].name}"`;
      default:
        return place in queues ? `for a job in queue "${queues[place].name}"` : 'for a request';
    }
  }

  get #waits(): boolean {
    return this.#state === 'waiting' || this.#state === 'preempted';
  }

  #moveTo(time: number, place: Place): void {
    if (!this.#waits) return;
    const state = this.#state!;
    this.#cut(time);
    // It goes into its first queue at once: what is said of the preemption belongs there.
    if (this.#lost?.time === time) this.#lost.where = place.text;
    this.#begin(state, place);
  }

  #change(time: number, state: TaskState, place: Place): void {
    this.#cut(time);
    this.#begin(state, place);
  }

  #begin(state: TaskState, place: Place): void {
    this.#state = state;
    this.#place = place;
  }

  /** What runs on `cpu` has kept this task waiting, if it waits there. */
  #noteAhead(cpu: number, { slot, label, since }: Stay, until: number): void {
    if (!this.#waits || this.#throttled || slot === this.#slot) return;
    const begin = Math.max(since, this.#since, this.#window.from_ns);
    const length_ns = Math.min(until, this.#window.until_ns) - begin;
    if (length_ns <= 0) return;
    const ahead = { who: label, count: 1, length_ns };
    const { dsq } = this.#place;
    if (dsq === undefined) {
      if (cpu === this.#place.cpu) addAhead(this.#behind, ahead);
      return;
    }
    if (this.#allowed !== undefined && !this.#allowed.has(cpu)) return;
    // A pinned task competes for its CPUs with all; another one with its queue, and with what needs no shared queue.
    const origin = this.#origins.get(slot);
    const here = this.#allowed !== undefined || origin === dsq || origin === undefined;
    addAhead(here ? this.#behind : this.#elsewhere, ahead);
  }

  /** Ends the open stretch; the next one begins at `time`. */
  #cut(time: number): void {
    const state = this.#state;
    const from = this.#since;
    if (state === undefined || time <= from) return;
    for (const [cpu, stay] of this.#stays) this.#noteAhead(cpu, stay, time);
    const behind = this.#behind.size > 0 ? this.#behind : this.#elsewhere;
    this.#behind = new Map();
    this.#elsewhere = new Map();
    this.#since = time;
    if (this.#waits) {
      this.#wait.push({
        state: this.#throttled ? 'quota' : state,
        where: this.#throttled ? '' : this.#place.text,
        from,
        until: time,
        behind,
      });
      return;
    }
    this.#endWait();
    if (state !== 'running') {
      this.#parts.count({ state, where: this.#place.text, from, until: time, behind });
      return;
    }
    const paid = Math.min(Math.max(this.#costUntil, from), time);
    if (paid > from) this.#parts.count({ state: 'switch', where: '', from, until: paid, behind });
    if (time === paid) return;
    const polls = this.#polls;
    this.#parts.count({
      state: polls === undefined ? 'running' : 'polling',
      where: polls ?? this.#place.text,
      from: paid,
      until: time,
      behind,
    });
  }

  /** It gets its CPU, whose leaving of an idle state was the end of the wait. */
  #endWait(): void {
    const wait = this.#wait;
    this.#wait = [];
    const end = wait.at(-1)?.until ?? 0;
    const coldFrom = end - this.#cold;
    this.#cold = 0;
    for (const stretch of wait) {
      const until = Math.max(stretch.from, Math.min(stretch.until, coldFrom));
      if (until > stretch.from) this.#parts.count({ ...stretch, until });
      if (stretch.until > until) {
        this.#parts.count({ state: 'cold', where: '', from: until, until: stretch.until, behind: new Map() });
      }
    }
  }
}

/** The CPUs that a task is restricted to by the config, as long as no program changes that; undefined = all. */
function allowedCpus(
  { config, machine }: EncodedModel,
  { root, isOfSource }: TaskName,
): ReadonlySet<number> | undefined {
  const { tasks, arrivals, programs } = config.workload;
  const restricts = (steps: Parameters<typeof programHas>[0]) =>
    programHas(steps, programs, (step) => typeof step !== 'string' && 'affinity' in step);
  if (tasks.some(({ program }) => restricts(program))) return undefined;
  if (arrivals.some(({ spawn }) => spawn !== undefined && restricts(spawn.program))) return undefined;
  const from = isOfSource
    ? arrivals.find(({ name }) => name === root)?.spawn
    : tasks.find(({ name }) => name === root);
  const cpus = from?.cpus ?? 'all';
  const allowed = cpus === 'all' ? [] : parseCpuList(cpus);
  return allowed.length === 0 || allowed.length === machine.cpus.length ? undefined : new Set(allowed);
}
