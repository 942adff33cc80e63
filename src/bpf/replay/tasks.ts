// The tasks of a recording: what is known of each while the records go by.

import type { ResolvedConfig } from '../../config/schema.js';
import type { RecordedTask } from '../recording/schema.js';
import type { ReplayCore } from './core.js';
import type { Stay } from './overlaps.js';

/** The kernel's default slice, which a task gets that goes on because nothing else is there (SCX_SLICE_DFL). */
export const SLICE_DEFAULT_NS = 20_000_000n;

export interface Task {
  handle: number;
  pid: number;
  /** Words of the mask, undefined: every CPU. */
  mask: bigint[] | undefined;
  stay: Stay | undefined;
  /** CPU time and slice when they were known last, and at running(). */
  exec_ns: bigint;
  slice_ns: bigint;
  began_ns: bigint;
  onCpu: number | undefined;
  /** Taken out and put back while it was on this CPU, maybe by another one, which then writes its running record too. */
  restoredOn: number | undefined;
  /** In a local DSQ. */
  local: boolean;
  /** It exits or was put back, and the policy is not asked where to. */
  bypassed: boolean;
  pointer: bigint;
}

/** pids of the tasks whose programs have a yield. */
export function yielders(tasks: readonly RecordedTask[], { workload }: ResolvedConfig): Set<number> {
  const yields = (program: string | readonly unknown[]): boolean =>
    JSON.stringify(typeof program === 'string' ? workload.programs[program] : program).includes('"yield"');
  const templates = workload.tasks.map(({ program }) => yields(program));
  return new Set(tasks.filter(({ template }) => templates[template]).map(({ pid }) => pid));
}

/** The task's mask has the CPU. */
export function mayRunOn({ mask }: Task, cpu: number): boolean {
  return mask === undefined || (((mask[cpu >> 6] ?? 0n) >> BigInt(cpu & 63)) & 1n) === 1n;
}

export class Tasks {
  readonly #core: ReplayCore;
  readonly #byPid = new Map<number, Task>();
  readonly #byHandle = new Map<number, Task>();

  constructor(core: ReplayCore) {
    this.#core = core;
  }

  /** The task of a pid, made at its first record. */
  of(pid: number): Task {
    let task = this.#byPid.get(pid);
    if (task === undefined) {
      task = {
        handle: this.#core.addTask(),
        pid,
        mask: undefined,
        stay: undefined,
        exec_ns: 0n,
        slice_ns: SLICE_DEFAULT_NS,
        began_ns: 0n,
        onCpu: undefined,
        restoredOn: undefined,
        local: false,
        bypassed: false,
        pointer: 0n,
      };
      this.#byPid.set(pid, task);
      this.#byHandle.set(task.handle, task);
    }
    return task;
  }

  known(pid: number): Task | undefined {
    return this.#byPid.get(pid);
  }

  /** By the simulated core's handle. */
  byHandle(handle: number): Task | undefined {
    return this.#byHandle.get(handle);
  }

  forget(pid: number): void {
    const task = this.#byPid.get(pid);
    if (task === undefined) return;
    this.#core.remove(task.handle);
    this.#byPid.delete(pid);
    this.#byHandle.delete(task.handle);
  }

  /** 64 CPUs of the task's mask; `all`: it may run on every CPU. */
  setMask(task: Task, word: number, bits: bigint, all: boolean): void {
    this.#core.setMask(task.handle, word, bits, all);
    if (all) {
      task.mask = undefined;
      return;
    }
    task.mask = [...(task.mask ?? [])];
    task.mask[word] = bits;
  }
}
