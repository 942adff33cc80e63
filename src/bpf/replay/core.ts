// The simulated sched_ext core, driven by a recording instead of by events (assembly/kernel/replay.ts).

import type { ResolvedConfig } from '../../config/schema.js';
import { encode } from '../../engine/encode.js';
import { type EngineExports, instantiate, loadEngine } from '../../engine/module.js';
import { EngineError } from '../../errors.js';

/** Engine indices of the built-in DSQs: one per CPU, the global one, then those of the policy. */
const GLOBAL_DSQ = 512;
const USER_DSQ = GLOBAL_DSQ + 1;
const NONE = 0xffffffff;

interface ReplayExports extends EngineExports {
  replayBegin(): void;
  replayTask(): number;
  replayMask(task: number, word: number, bits: bigint, all: number): void;
  replaySelectCpu(task: number, time: bigint, prev: number, flags: number): number;
  replayEnable(task: number, time: bigint): void;
  replayEnqueue(task: number, time: bigint, cpu: number, domain: number, flags: number): number;
  replayInsert(task: number, dsq: number, vtime: bigint, slice: bigint, ordered: number): void;
  replayRemove(task: number): void;
  replayLocal(task: number, cpu: number, head: number): void;
  replayDispatch(cpu: number, prev: number, time: bigint): number;
  replayOutcomes(): number;
  replayAttempts(): number;
  replayRunning(task: number, cpu: number, time: bigint): void;
  replayStopping(task: number, time: bigint, stint: bigint, runnable: number, pointer: bigint): void;
  replayTick(task: number, time: bigint, stint: bigint, pointer: bigint): void;
  replayQuiescent(task: number, time: bigint): void;
  replayFirst(dsq: number): number;
  replayNext(dsq: number, task: number): number;
  replayVtime(task: number): bigint;
  replaySlice(task: number): bigint;
}

/** Where a task was put: a DSQ of the policy by its id, and the key and slice it got. */
export interface Insertion {
  dsq: number;
  vtime: bigint;
  slice_ns: bigint;
}

/** Tasks are engine handles, user DSQs the policy's own ids; times are the policy's clock. */
export class ReplayCore {
  readonly #engine: ReplayExports;

  /** `config` says policy and machine; its workload doesn't run. */
  constructor(config: ResolvedConfig) {
    const { workload } = config;
    const { image } = encode({ ...config, workload: { ...workload, tasks: [], arrivals: [] } });
    this.#engine = instantiate(loadEngine()) as ReplayExports;
    const address = this.#engine.place(image.length) >>> 0;
    if (address === 0) throw new EngineError('engine_memory', 'no memory for the model');
    new Uint8Array(this.#engine.memory.buffer).set(image, address);
    const error = this.#engine.create(address);
    if (error !== 0) throw new EngineError('model_image', `model error ${error}`);
    this.#engine.replayBegin();
  }

  /** A new task that may run on every CPU. EngineError beyond the engine's number of masks. */
  addTask(): number {
    const task = this.#engine.replayTask() >>> 0;
    if (task === 0) throw new EngineError('too_many_tasks', 'more tasks than the replay has masks for');
    return task;
  }

  setMask(task: number, word: number, bits: bigint, all: boolean): void {
    this.#engine.replayMask(task, word, bits, all ? 1 : 0);
  }

  enable(task: number, time: bigint): void {
    this.#engine.replayEnable(task, time);
  }

  selectCpu(task: number, time: bigint, prev: number, flags: bigint): number {
    return this.#engine.replaySelectCpu(task, time, prev, Number(BigInt.asUintN(32, flags)));
  }

  /** What the policy does with the task; undefined if it inserts it nowhere. The task stays where the policy put it. */
  enqueue(task: number, time: bigint, cpu: number, domain: number, flags: bigint): Insertion | undefined {
    const dsq = this.#engine.replayEnqueue(task, time, cpu, domain, Number(BigInt.asUintN(32, flags))) >>> 0;
    if (dsq === NONE) return undefined;
    return {
      dsq: dsq - USER_DSQ,
      vtime: BigInt.asUintN(64, this.#engine.replayVtime(task)),
      slice_ns: this.slice_ns(task),
    };
  }

  /** Puts the task where the recording has it. */
  insert(task: number, { dsq, vtime, slice_ns }: Insertion, ordered: boolean): void {
    this.#engine.replayInsert(task, USER_DSQ + dsq, vtime, slice_ns, ordered ? 1 : 0);
  }

  remove(task: number): void {
    this.#engine.replayRemove(task);
  }

  /** Moves the task into the local DSQ of a CPU. */
  toLocal(task: number, cpu: number, where: 'head' | 'tail'): void {
    this.#engine.replayLocal(task, cpu, where === 'head' ? 1 : 0);
  }

  /** DSQs that the policy asks for in dispatch(), one after the other, if the moves have these outcomes. */
  dispatch(cpu: number, prev: number, time: bigint, outcomes: readonly boolean[]): number[] {
    const bytes = new Uint8Array(
      this.#engine.memory.buffer,
      this.#engine.replayOutcomes() >>> 0,
      outcomes.length + 1,
    );
    outcomes.forEach((moved, k) => {
      bytes[k] = moved ? 1 : 0;
    });
    // An attempt beyond the recorded ones succeeds: the policy asks for one more at most.
    bytes[outcomes.length] = 1;
    const count = this.#engine.replayDispatch(cpu, prev, time) >>> 0;
    const asked = new Uint32Array(this.#engine.memory.buffer, this.#engine.replayAttempts() >>> 0, count);
    return Array.from(asked, (dsq) => dsq - USER_DSQ);
  }

  running(task: number, cpu: number, time: bigint): void {
    this.#engine.replayRunning(task, cpu, time);
  }

  stopping(task: number, time: bigint, stint_ns: bigint, runnable: boolean, pointer: bigint): void {
    this.#engine.replayStopping(task, time, stint_ns, runnable ? 1 : 0, pointer);
  }

  tick(task: number, time: bigint, stint_ns: bigint, pointer: bigint): void {
    this.#engine.replayTick(task, time, stint_ns, pointer);
  }

  quiescent(task: number, time: bigint): void {
    this.#engine.replayQuiescent(task, time);
  }

  vtime(task: number): bigint {
    return BigInt.asUintN(64, this.#engine.replayVtime(task));
  }

  slice_ns(task: number): bigint {
    return BigInt.asUintN(64, this.#engine.replaySlice(task));
  }

  /** The tasks of a DSQ of the policy, first to last. */
  *queue(dsq: number): Generator<number> {
    yield* this.#walk(USER_DSQ + dsq);
  }

  /** The first task of a CPU's local DSQ, 0 if it is empty. */
  localHead(cpu: number): number {
    return this.#engine.replayFirst(cpu) >>> 0;
  }

  *#walk(index: number): Generator<number> {
    let task = this.#engine.replayFirst(index) >>> 0;
    while (task !== 0) {
      yield task;
      task = this.#engine.replayNext(index, task) >>> 0;
    }
  }
}
