// Holds a recording of a real sched_ext scheduler against the simulated core and the native policy, decision by decision.
// A decision is exact, consistent (inside a named overlap, overlaps.ts) or unexplained.

import type { ResolvedConfig } from '../../config/schema.js';
import { RECORD_KINDS as KIND, type Recording, type RecordingColumns } from '../recording/schema.js';
import { type Insertion, ReplayCore } from './core.js';
import { Moves } from './moves.js';
import { Order, type Overlap } from './overlaps.js';
import { mayRunOn, SLICE_DEFAULT_NS, type Task, Tasks, yielders } from './tasks.js';
import { type ReplayResult, Verdicts } from './verdicts.js';

/** A running task that changes class, cgroup or priority is taken out and put back; the policy is not asked (ENQUEUE_RESTORE). */
const ENQUEUE_RESTORE = 2n;

/** Bits and ids of built-in DSQs (SCX_DSQ_FLAG_BUILTIN, SCX_DSQ_GLOBAL, SCX_DSQ_LOCAL_ON). */
const DSQ_BUILTIN = 1n << 63n;
const DSQ_GLOBAL = DSQ_BUILTIN | 1n;
const DSQ_LOCAL_ON = DSQ_BUILTIN | (1n << 62n);

interface Dispatch {
  record: number;
  prev: number;
  dsqs: number[];
  outcomes: boolean[];
}

/** Kinds of records that a CPU may write inside a dispatch(). */
const INSIDE_DISPATCH = new Set<number>([
  KIND.move,
  KIND.dequeue,
  KIND.kick,
  KIND.quiescent,
  KIND.runnable,
  KIND.set_slice,
]);

/** Policies whose native form has the DSQ numbers of the object; of others the core's rules are checked, not the policy's choices. */
const COMPARED = new Set<string>(['domains', 'domains-as-coded']);

export interface ReplayOptions {
  /** Unexplained decisions to keep, default 20. */
  keep?: number;
}

class Replay {
  readonly #records: RecordingColumns;
  readonly #core: ReplayCore;
  readonly #order: Order;
  readonly #verdicts: Verdicts;
  readonly #compared: boolean;
  /** SCX_OPS_ENQ_LAST is set. */
  readonly #enqLast: boolean;
  /** Numbers given to the DSQs of policies that are not compared. */
  readonly #dsqs = new Map<bigint, number>();
  readonly #tasks: Tasks;
  readonly #moves: Moves;
  readonly #dispatches = new Map<number, Dispatch>();
  /** pids of tasks that yield: sched_yield() sets the slice to 0, and nothing records it. */
  readonly #yielders: ReadonlySet<number>;
  /** Index of each task's last enqueue by the policy: behind it, the kernel queues the task itself, for it exits. */
  readonly #lastEnqueue = new Map<number, number>();
  /** Each CPU's latest record. */
  readonly #latest = new Map<number, number>();
  #base = 0n;
  #cpus = 0;
  /** Scheduling domains; the CPUs' own queues come after theirs and the global one. */
  #groups = 0;

  constructor({ columns: records, info }: Recording, keep: number) {
    const config = info.config as ResolvedConfig;
    this.#records = records;
    this.#yielders = yielders(info.tasks, config);
    this.#core = new ReplayCore(config);
    this.#order = new Order(records);
    this.#verdicts = new Verdicts(keep);
    this.#tasks = new Tasks(this.#core);
    this.#moves = new Moves(records, this.#core, this.#order, this.#tasks, this.#verdicts);
    this.#compared = COMPARED.has(config.policy.name);
    this.#enqLast = config.policy.name === 'domains-as-coded';
    records.kind.forEach((kind, i) => {
      if (kind === KIND.enqueue) this.#lastEnqueue.set(records.pid[i], i);
    });
  }

  run(): ReplayResult {
    for (let i = 0; i < this.#records.kind.length; i++) {
      const cpu = this.#records.cpu[i];
      if (!INSIDE_DISPATCH.has(this.#records.kind[i])) this.#endDispatch(cpu);
      this.#record(i);
      this.#latest.set(cpu, i);
    }
    return this.#verdicts.result(this.#records.kind.length, this.#cpus);
  }

  // ---- records ------------------------------------------------------------------------------------------

  /** The policy's clock at a record. */
  #clock(i: number): bigint {
    return BigInt.asUintN(64, this.#records.time_ns[i] + this.#base);
  }

  #record(i: number): void {
    const { kind, pid, target, group, flags, dsq } = this.#records;
    switch (kind[i]) {
      case KIND.init:
        this.#base = this.#records.vtime[i];
        this.#cpus = target[i];
        this.#groups = group[i];
        return;
      case KIND.enable:
        this.#core.enable(this.#tasks.of(pid[i]).handle, this.#clock(i));
        return;
      case KIND.exit_task:
        this.#tasks.forget(pid[i]);
        return;
      case KIND.set_cpumask:
        this.#tasks.setMask(this.#tasks.of(pid[i]), group[i], dsq[i], target[i] >= this.#cpus);
        return;
      case KIND.select_cpu: {
        if (!this.#compared) return;
        const task = this.#tasks.of(pid[i]);
        const chosen = this.#core.selectCpu(task.handle, this.#clock(i), group[i], flags[i]);
        this.#verdicts.compare(i, 'select_cpu', `CPU ${chosen}`, `CPU ${target[i]}`);
        return;
      }
      case KIND.runnable: {
        const task = this.#tasks.of(pid[i]);
        const restored = (flags[i] & ENQUEUE_RESTORE) !== 0n;
        task.bypassed = restored || this.#exits(i);
        task.restoredOn = restored ? target[i] : undefined;
        return;
      }
      case KIND.enqueue:
        this.#enqueue(i);
        return;
      case KIND.dequeue:
        this.#dequeue(i);
        return;
      case KIND.dispatch:
        this.#beginDispatch(i);
        return;
      case KIND.move:
        this.#move(i);
        return;
      case KIND.set_slice:
        this.#tasks.of(pid[i]).slice_ns = this.#records.slice_ns[i];
        return;
      case KIND.running:
        this.#running(i);
        return;
      case KIND.sample:
        this.#tasks.of(pid[i]).pointer = dsq[i];
        return;
      case KIND.stopping:
        this.#stopping(i);
        return;
      case KIND.tick: {
        const task = this.#tasks.of(pid[i]);
        if (task.onCpu === undefined) return;
        this.#charge(i, task);
        this.#core.tick(task.handle, this.#clock(i), task.exec_ns - task.began_ns, task.pointer);
        return;
      }
      case KIND.quiescent:
        this.#core.quiescent(this.#tasks.of(pid[i]).handle, this.#clock(i));
        return;
      default:
        // Idle CPUs and kicks are the kernel's and the machine's; what follows from them is recorded too.
        return;
    }
  }

  /** The task of record i is on its way out: the kernel queues it without asking the policy (no SCX_OPS_ENQ_EXITING). */
  #exits(i: number): boolean {
    return (this.#lastEnqueue.get(this.#records.pid[i]) ?? -1) < i;
  }

  // ---- queues -------------------------------------------------------------------------------------------

  #enqueue(i: number): void {
    const { pid, dsq, vtime, slice_ns, result } = this.#records;
    const task = this.#tasks.of(pid[i]);
    this.#core.remove(task.handle);
    // Slice 0 keeps what is left, at least 1 ns.
    const left = task.slice_ns > 0n ? task.slice_ns : 1n;
    const recorded = { vtime: vtime[i], slice_ns: slice_ns[i] === 0n ? left : slice_ns[i] };
    Object.assign(task, {
      bypassed: false,
      restoredOn: undefined,
      local: false,
      slice_ns: recorded.slice_ns,
      stay: undefined,
    });
    if ((dsq[i] & DSQ_BUILTIN) !== 0n) {
      this.#enqueueBuiltin(i, task);
      return;
    }
    // Only queued in a map of the policy.
    if (result[i] === 2) return;
    const place = { ...recorded, dsq: this.#dsq(dsq[i]) };
    if (!this.#compared || !this.#choosesSame(i, task, place, slice_ns[i] === 0n))
      this.#core.insert(task.handle, place, result[i] === 1);
    task.stay = this.#order.stays.get(i);
  }

  /** Into a local DSQ, or into the global one, whose moves are not recorded. */
  #enqueueBuiltin(i: number, task: Task): void {
    const { dsq, target } = this.#records;
    if (dsq[i] === DSQ_GLOBAL) {
      task.bypassed = true;
      return;
    }
    const cpu = (dsq[i] & DSQ_LOCAL_ON) === DSQ_LOCAL_ON ? Number(dsq[i] & 0xffffffffn) : target[i];
    this.#core.toLocal(task.handle, cpu, 'tail');
    task.local = true;
  }

  /** Whether the native policy inserts the task where it was inserted, with the same key and slice. */
  #choosesSame(i: number, task: Task, place: Insertion, keepsSlice: boolean): boolean {
    const { target, group, flags, result } = this.#records;
    const chosen = this.#core.enqueue(task.handle, this.#clock(i), target[i], group[i], flags[i]);
    const text = ({ dsq, vtime, slice_ns }: Insertion) =>
      `DSQ ${dsq}, ${result[i] === 1 ? `vtime ${vtime}, ` : ''}slice ${slice_ns} ns`;
    const found = text(place);
    const expected =
      chosen === undefined ? 'no DSQ' : text(keepsSlice ? { ...chosen, slice_ns: place.slice_ns } : chosen);
    const counted = expected !== found && result[i] === 0 && chosen !== undefined;
    const overlap = counted ? this.#countedMeanwhile(i, chosen.dsq, place.dsq) : undefined;
    if (overlap === undefined) this.#verdicts.compare(i, 'enqueue', expected, found);
    else this.#verdicts.consistent('enqueue', overlap);
    return expected === found;
  }

  /**
   * A policy that takes the shorter of two CPUs' queues counts them somewhere between the CPU's last record and this one. Why it
   * may have counted something else than the order of records says: a task was just coming or going.
   */
  #countedMeanwhile(i: number, expected: number, found: number): Overlap | undefined {
    const from = this.#order.previous[i];
    for (const handle of this.#core.queue(found)) {
      const stay = this.#tasks.byHandle(handle)?.stay;
      if (stay === undefined) continue;
      if (stay.inserted > from) return 'insertion';
      if (stay.leaving < i) return 'removal';
    }
    const { kind, cpu, dsq } = this.#records;
    const queues = [expected, found];
    const cpus = queues.map((queue) => queue - this.#groups - 1);
    // Moved to the local DSQ of one, or picked from that of the other, by a CPU that records it later.
    const following = cpus.map((each) => kind[this.#order.next[this.#latest.get(each) ?? 0]]);
    if (following[0] === KIND.dequeue || following[1] === KIND.running) return 'removal';
    // Put back on a CPU that its new mask excludes: the kernel takes it away without asking the policy.
    const leaving = this.#tasks.byHandle(this.#core.localHead(cpus[1]));
    if (leaving !== undefined && !mayRunOn(leaving, cpus[1])) return 'removal';
    for (let k = from + 1; k < i; k++) {
      if (kind[k] === KIND.enqueue && queues.includes(Number(dsq[k]))) return 'insertion';
      if ((kind[k] === KIND.dequeue || kind[k] === KIND.running) && cpus.includes(cpu[k])) return 'removal';
    }
    return undefined;
  }

  /** A DSQ of the policy by the simulator's number. */
  #dsq(id: bigint): number {
    if (this.#compared) return Number(id);
    const known = this.#dsqs.get(id);
    if (known !== undefined) return known;
    this.#dsqs.set(id, this.#dsqs.size);
    return this.#dsqs.size - 1;
  }

  #dequeue(i: number): void {
    const { pid, cpu } = this.#records;
    const task = this.#tasks.of(pid[i]);
    const dispatch = this.#dispatches.get(cpu[i]);
    if (dispatch !== undefined && task.stay !== undefined && this.#order.isMove(this.#records, i)) {
      this.#moves.judge(i, task, this.#dsq(this.#records.dsq[task.stay.enqueue]), cpu[i]);
      this.#core.toLocal(task.handle, cpu[i], 'tail');
      task.local = true;
    } else {
      this.#core.remove(task.handle);
      task.local = false;
    }
    task.stay = undefined;
  }

  // ---- dispatch -----------------------------------------------------------------------------------------

  #beginDispatch(i: number): void {
    const { cpu, pid, exec_ns, slice_ns } = this.#records;
    this.#dispatches.set(cpu[i], { record: i, prev: pid[i], dsqs: [], outcomes: [] });
    const prev = this.#tasks.known(pid[i]);
    if (prev === undefined || prev.onCpu !== cpu[i]) return;
    prev.exec_ns = exec_ns[i];
    prev.slice_ns = slice_ns[i];
  }

  #move(i: number): void {
    const { cpu, dsq, result } = this.#records;
    const dispatch = this.#dispatches.get(cpu[i]);
    if (dispatch === undefined) return;
    dispatch.dsqs.push(Number(dsq[i]));
    dispatch.outcomes.push(result[i] === 1);
    if (result[i] === 0) this.#moves.judgeEmpty(i, this.#dsq(dsq[i]), cpu[i]);
  }

  #endDispatch(cpu: number): void {
    const dispatch = this.#dispatches.get(cpu);
    if (dispatch === undefined) return;
    this.#dispatches.delete(cpu);
    const { prev, outcomes } = dispatch;
    const previous = this.#tasks.known(prev);
    if (this.#compared) this.#compareOrder(dispatch, cpu, previous);
    // Nothing else to run: what ran goes on, with the default slice if it had none left (not with SCX_OPS_ENQ_LAST).
    if (this.#enqLast) return;
    if (
      previous !== undefined &&
      previous.onCpu === cpu &&
      !outcomes.includes(true) &&
      previous.slice_ns === 0n
    )
      previous.slice_ns = SLICE_DEFAULT_NS;
  }

  /** The policy asks for the same DSQs in the same order. */
  #compareOrder({ record, dsqs, outcomes }: Dispatch, cpu: number, prev: Task | undefined): void {
    const asked = this.#core.dispatch(cpu, prev?.handle ?? 0, this.#clock(record), outcomes);
    this.#verdicts.compare(record, 'order', `DSQs ${asked.join(', ')}`, `DSQs ${dsqs.join(', ')}`);
  }

  // ---- running ------------------------------------------------------------------------------------------

  #running(i: number): void {
    const { pid, cpu, exec_ns, slice_ns } = this.#records;
    const task = this.#tasks.of(pid[i]);
    const onCpu = task.restoredOn ?? cpu[i];
    const head = this.#tasks.byHandle(this.#core.localHead(onCpu));
    if (task.bypassed && !task.local) this.#verdicts.exact('run');
    else
      this.#verdicts.compare(i, 'run', head === undefined ? 'no task' : `pid ${head.pid}`, `pid ${task.pid}`);
    if (!task.bypassed) this.#verdicts.compare(i, 'slice', `${task.slice_ns} ns`, `${slice_ns[i]} ns`);
    this.#core.running(task.handle, onCpu, this.#clock(i));
    Object.assign(task, {
      bypassed: false,
      local: false,
      stay: undefined,
      onCpu,
      restoredOn: undefined,
      exec_ns: exec_ns[i],
      began_ns: exec_ns[i],
      slice_ns: slice_ns[i],
    });
  }

  /** A slice falls by the CPU time used, not below 0. */
  #charge(i: number, task: Task): void {
    const { exec_ns, slice_ns } = this.#records;
    const used = exec_ns[i] - task.exec_ns;
    const yielded = slice_ns[i] === 0n && this.#yielders.has(task.pid);
    const left = task.slice_ns > used && !yielded ? task.slice_ns - used : 0n;
    this.#verdicts.compare(i, 'slice', `${left} ns`, `${slice_ns[i]} ns`);
    task.exec_ns = exec_ns[i];
    task.slice_ns = slice_ns[i];
  }

  #stopping(i: number): void {
    const { pid, cpu, vtime, result } = this.#records;
    const task = this.#tasks.of(pid[i]);
    if (task.onCpu === undefined) return;
    this.#charge(i, task);
    const runnable = result[i] === 1;
    this.#core.stopping(task.handle, this.#clock(i), task.exec_ns - task.began_ns, runnable, task.pointer);
    if (this.#compared) this.#verdicts.compare(i, 'vtime', `${this.#core.vtime(task.handle)}`, `${vtime[i]}`);
    task.onCpu = undefined;
    if (!runnable) return;
    // A higher class took the CPU: the task keeps its turn.
    if (task.slice_ns > 0n) {
      this.#core.toLocal(task.handle, cpu[i], 'head');
      task.local = true;
    } else if (this.#exits(i)) {
      this.#core.toLocal(task.handle, cpu[i], 'tail');
      task.local = true;
      task.slice_ns = SLICE_DEFAULT_NS;
    }
  }
}

/**
 * Replays a recording under the policy and machine that it was made with. The recording of a scheduler that has no native
 * policy is refused by the config's check.
 */
export function replay(recording: Recording, { keep = 20 }: ReplayOptions = {}): ReplayResult {
  return new Replay(recording, keep).run();
}
