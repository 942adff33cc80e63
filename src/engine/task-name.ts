// Names of tasks. `worker/7`: the eighth of a group, `worker`: the only one of its group. `requests#17`: the task made for
// arrival 17 of a source, counted from 0 (column `ordinal` of its row). `worker/7:0:2`: the third child that is forked by
// the first child of worker/7. Slots are used again, so which one a name stands for only the record of a run shows.

import { VtimeError } from '../errors.js';
import * as abi from './abi.js';
import type { Decision } from './decision-records.js';
import type { EncodedModel } from './encode.js';

const PATTERN = /^([A-Za-z][A-Za-z0-9_.-]*)(\/\d+|#\d+)?((?::\d+)*)$/;

function usage(name: string, message: string, expected: string): VtimeError {
  return new VtimeError('usage', message, { value: name, expected });
}

/** Slot of a task that exists from the start. */
function memberSlot(name: string, group: string, { taskNames, config }: EncodedModel): number {
  const index = taskNames.indexOf(name);
  if (index >= 0) return index + 1;
  const { tasks, arrivals } = config.workload;
  const known = tasks.find((task) => task.name === group);
  if (known !== undefined && known.count > 1) {
    const members = `one of ${group}/0 to ${group}/${known.count - 1}`;
    throw usage(name, `--task ${name}: there are ${known.count} of "${group}"`, members);
  }
  const source = arrivals.find((each) => each.name === group);
  if (source?.spawn !== undefined) {
    const which = `${group}#0 for the task of its first arrival, ${group}#1 for the next one, …`;
    throw usage(name, `--task ${name}: "${group}" makes a task for each arrival`, which);
  }
  if (source !== undefined) {
    const queue = 'a task of the config, or --invocation with the number of the job among all arrivals';
    throw usage(name, `--task ${name}: the jobs of "${group}" have no tasks of their own`, queue);
  }
  const groups = tasks.map(({ name: other, count }) =>
    count > 1 ? `${other}/0 to ${other}/${count - 1}` : other,
  );
  const spawning = arrivals.filter(({ spawn }) => spawn !== undefined).map((each) => `${each.name}#0`);
  const all = [...groups, ...spawning];
  throw usage(
    name,
    `no task "${name}"`,
    all.length === 0 ? 'a config with tasks' : `one of ${all.join(', ')}`,
  );
}

export class TaskName {
  readonly name: string;
  /** Name of the task group or source. */
  readonly root: string;
  readonly isOfSource: boolean;
  readonly #source: number = abi.NONE;
  readonly #ordinal: number = 0;
  /** Which child to go down to, of the task in `#slot`. */
  readonly #path: number[];
  #ancestor: string;
  /** The task or its ancestor that lives now; undefined: not yet, or no longer. */
  #slot: number | undefined;
  #isGone = false;
  /** Tasks that the source has made, children that the ancestor has forked. */
  #made = 0;

  /** VtimeError `usage` if the config has no such group or source. */
  constructor(name: string, model: EncodedModel) {
    const [, root = name, which = '', path = ''] = PATTERN.exec(name) ?? [];
    this.name = name;
    this.root = root;
    this.isOfSource = which.startsWith('#');
    this.#ancestor = root + which;
    this.#path = path.split(':').slice(1).map(Number);
    if (!this.isOfSource) {
      this.#slot = memberSlot(this.#ancestor, root, model);
      return;
    }
    this.#source = model.config.workload.arrivals.findIndex(
      (source) => source.name === root && source.spawn !== undefined,
    );
    if (this.#source < 0) memberSlot(name, root, model);
    this.#ordinal = Number(which.slice(1));
  }

  /** Where the task is, once it is there. */
  get slot(): number | undefined {
    return this.#path.length === 0 ? this.#slot : undefined;
  }

  /** Looks for the task among those that come and go, in the detailed record of a run. */
  follow({ kind, task, cpu, value }: Decision): void {
    if (this.#isGone) return;
    if (this.#slot === undefined) {
      if (kind !== abi.DECISION_SPAWN || cpu !== this.#source) return;
      if (value === this.#ordinal) this.#enter(task);
      else this.#made++;
    } else if (kind === abi.DECISION_FORK && value === this.#slot) {
      if (this.#path[0] !== this.#made++) return;
      this.#ancestor += `:${this.#path.shift()}`;
      this.#enter(task);
    } else if (kind === abi.DECISION_WAIT && value === abi.WAIT_EXIT && task === this.#slot) {
      this.#isGone = true;
    }
  }

  #enter(task: number): void {
    this.#slot = task;
    this.#made = 0;
  }

  /** Why there is no such task, if there has been none by the end. */
  missing(): VtimeError {
    if (this.#slot === undefined) {
      const made = `"${this.root}" makes ${this.#made} other tasks`;
      return usage(this.name, `no task "${this.name}": ${made}`, 'the ordinal of an arrival that is let in');
    }
    const children = `"${this.#ancestor}" forks ${this.#made} ${this.#made === 1 ? 'child' : 'children'}`;
    return usage(
      this.name,
      `no task "${this.name}": ${children}`,
      this.#made === 0 ? this.#ancestor : `one of ${this.#ancestor}:0 to ${this.#ancestor}:${this.#made - 1}`,
    );
  }
}
