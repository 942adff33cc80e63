// Which task leaves a DSQ, or that none does: the recorded outcome of an attempt against the simulated queue.

import type { RecordingColumns } from '../recording/schema.js';
import type { ReplayCore } from './core.js';
import type { Order, Overlap } from './overlaps.js';
import { mayRunOn, type Task, type Tasks } from './tasks.js';
import type { Decision, Verdicts } from './verdicts.js';

export class Moves {
  readonly #records: RecordingColumns;
  readonly #core: ReplayCore;
  readonly #order: Order;
  readonly #tasks: Tasks;
  readonly #verdicts: Verdicts;

  constructor(records: RecordingColumns, core: ReplayCore, order: Order, tasks: Tasks, verdicts: Verdicts) {
    this.#records = records;
    this.#core = core;
    this.#order = order;
    this.#tasks = tasks;
    this.#verdicts = verdicts;
  }

  /** Record i: `task` leaves the DSQ for `cpu`. */
  judge(i: number, task: Task, dsq: number, cpu: number): void {
    if (!mayRunOn(task, cpu)) {
      this.#verdicts.unexplained(i, 'move', `a task that CPU ${cpu} may run`, `pid ${task.pid}`);
      return;
    }
    this.#excuse(i, 'move', this.#ahead(dsq, cpu, task), cpu, `pid ${task.pid}`, task);
  }

  /** Record i: `cpu` finds nothing in the DSQ. */
  judgeEmpty(i: number, dsq: number, cpu: number): void {
    this.#excuse(i, 'empty', this.#ahead(dsq, cpu), cpu, 'nothing');
  }

  /** The tasks of a DSQ that CPU `cpu` may have, in order, up to `end`. */
  #ahead(dsq: number, cpu: number, end?: Task): Task[] {
    const ahead: Task[] = [];
    for (const handle of this.#core.queue(dsq)) {
      const task = this.#tasks.byHandle(handle)!;
      if (task === end) break;
      if (mayRunOn(task, cpu)) ahead.push(task);
    }
    return ahead;
  }

  /** Every task of `ahead` must have an excuse for not having been taken. */
  #excuse(i: number, decision: Decision, ahead: Task[], cpu: number, found: string, taken?: Task): void {
    const from = this.#order.previous[i];
    const stays = ahead.map((task) => task.stay!);
    // At the beginning of the move, if what was begun before it counts as done.
    const inTime = taken === undefined || taken.stay!.enqueue < from;
    if (inTime && stays.every(({ enqueue, leaving }) => enqueue > from || leaving < from)) {
      this.#verdicts.exact(decision);
      return;
    }
    let reason: Overlap | undefined;
    for (const [k, stay] of stays.entries()) {
      const task = ahead[k];
      const ties = taken !== undefined && this.#order.mayTie(stay, taken.stay!) && this.#sameKey(task, taken);
      const excuse = ties ? 'insertion' : this.#order.excuse(stay, cpu, from, i);
      if (excuse === undefined) {
        this.#verdicts.unexplained(i, decision, `pid ${task.pid}`, found);
        return;
      }
      reason ??= excuse;
    }
    if (reason === undefined) this.#verdicts.exact(decision);
    else this.#verdicts.consistent(decision, reason);
  }

  /** Two tasks of a DSQ are in the order of their insertions: both by time alone, or with the same vtime. */
  #sameKey(a: Task, b: Task): boolean {
    const { result } = this.#records;
    const byTime = ({ stay }: Task) => result[stay!.enqueue] === 0;
    if (byTime(a) || byTime(b)) return byTime(a) && byTime(b);
    return this.#core.vtime(a.handle) === this.#core.vtime(b.handle);
  }
}
