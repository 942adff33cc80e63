// What the reference model knows of a task, a CPU and a dispatch queue. Times are ns.

import type { Operation } from './program.js';

export interface Barrier {
  parties: number;
  arrived: number;
  /** In order of arrival. */
  waiters: Task[];
  owner?: Task;
}

export interface Signal {
  signalled: boolean;
  waiters: Task[];
}

export interface Task {
  slot: number;
  /** Statistics class: the index of the template. */
  template: number;
  domain: number | undefined;
  /** CPUs it may run on; undefined = all. */
  mask: ReadonlySet<number> | undefined;
  inverseWeight: bigint;

  state: 'sleeping' | 'blocked' | 'runnable' | 'dead';
  /** What a blocked or polling task waits for. */
  waitsFor: 'block' | 'join' | 'other' | undefined;
  wakePending: boolean;
  /** When its timer fires; undefined = not armed. */
  timer: number | undefined;

  cpu: number;
  /** Where it ran last, and whether it was moved since. */
  lastCpu: number;
  moved: boolean;
  dsq: Dsq | undefined;
  /** CPU whose local DSQ select_cpu() chose. */
  direct: number | undefined;
  slice: number;
  vtime: bigint;
  runnableSince: number;

  program: Iterator<Operation, void>;
  mode: 'between' | 'run' | 'spin' | 'poll';
  /** run: CPU time left; spin: end. */
  work: number;
  /** The join that it executes again when it is released. */
  again: Operation | undefined;
  parent: Task | undefined;
  children: number;
  family: Barrier | undefined;

  sumExec: number;
  stint: number;
  lastStint: number;
  /** CPU time is charged up to here. */
  execStart: number;

  // Of the policy `domains`.
  enqueues: number;
  sleeps: number;
  sleepsPerSecond: number;
  sleepStamp: number;
}

export interface Cpu {
  id: number;
  domain: number | undefined;
  current: Task | undefined;
  idle: boolean;
  needResched: boolean;
  /** Instants of its events; undefined = none. */
  completion: number | undefined;
  tick: number | undefined;
  idleExit: number | undefined;
  /** From here on the current task makes progress: costs of the switch come first. */
  workBegin: number;
  stateSince: number;
  busy_ns: number;
  idle_ns: number;
  overhead_ns: number;
  switches: number;
  migrations_in: number;
}

/** A list: FIFO, or sorted by vtime with equal ones in order of insertion. */
export class Dsq {
  readonly entries: { task: Task; vtime: bigint }[] = [];

  get length(): number {
    return this.entries.length;
  }

  append(task: Task): void {
    this.entries.push({ task, vtime: 0n });
    task.dsq = this;
  }

  prepend(task: Task): void {
    this.entries.unshift({ task, vtime: 0n });
    task.dsq = this;
  }

  insertByVtime(task: Task, vtime: bigint): void {
    const behind = this.entries.findIndex((entry) => vtime < entry.vtime);
    this.entries.splice(behind < 0 ? this.length : behind, 0, { task, vtime });
    task.dsq = this;
  }

  remove(task: Task): void {
    this.entries.splice(
      this.entries.findIndex((entry) => entry.task === task),
      1,
    );
    task.dsq = undefined;
  }

  firstAllowed(cpu: number): Task | undefined {
    return this.entries.find(({ task }) => allowed(task, cpu))?.task;
  }
}

export function allowed({ mask }: Task, cpu: number): boolean {
  return mask === undefined || mask.has(cpu);
}
