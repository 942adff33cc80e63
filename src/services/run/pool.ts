// Runs of services on all cores.

import { fileURLToPath } from 'node:url';
import { loadEngine } from '../../engine/module.js';
import type { ServicesResult } from '../../engine/services.js';
import { AbortedError, EngineError, VtimeError } from '../../errors.js';
import { workerCount } from '../../sweep/pool.js';
import { startWorkers, type Workers } from '../../sweep/workers.js';
import type { ResolvedServices } from '../resolved.js';
import { type RunMessage, type RunSetup, type RunTask, revive } from './messages.js';
import type { Cut } from './warmup.js';

const WORKER = fileURLToPath(new URL('./worker.js', import.meta.url));

export interface PoolOptions {
  workers?: number;
  signal?: AbortSignal;
  /** Share of the work, 0…1, and events so far. */
  onProgress?: (done: number, events: number) => void;
}

export interface Ran {
  result: ServicesResult;
  /** With warm-up mser-5. */
  cut?: Cut;
  wall_ms: number;
}

/** The error class that a worker's error had. */
function errorOf({ code, message, exit_code }: Extract<RunMessage, { type: 'failed' }>): VtimeError {
  return exit_code === 3 ? new EngineError(code, message) : new VtimeError(code, message);
}

/** Share of a run, 0…1, and events so far. */
export type OnRun = (index: number, done: number, events: number) => void;

/** Worker threads that any number of callers give runs to. */
export class RunPool {
  readonly #workers: Workers<RunTask, RunMessage>;
  readonly #signal: AbortSignal | undefined;
  /** Who wants to know of each run under way. */
  readonly #listeners = new Map<number, (done: number, events: number) => void>();
  readonly #abort = () => void this.#workers.end();
  #started = 0;

  constructor(threads: number, signal?: AbortSignal) {
    this.#workers = startWorkers(WORKER, threads, { engine: loadEngine() } satisfies RunSetup);
    this.#signal = signal;
    this.#workers.pool.on('message', (message: RunMessage) => {
      if (message.type === 'progress') this.#listeners.get(message.index)?.(message.done, message.events);
    });
    signal?.addEventListener('abort', this.#abort, { once: true });
  }

  async #one(services: ResolvedServices, onProgress: (done: number, events: number) => void): Promise<Ran> {
    const index = this.#started++;
    this.#listeners.set(index, onProgress);
    try {
      const message = await this.#workers.pool.run({ index, services });
      if (message.type === 'failed') throw errorOf(message);
      if (message.type !== 'result') throw new EngineError('worker_message', 'a worker sent no result');
      onProgress(1, message.result.events);
      return { result: revive(message.result), cut: message.cut, wall_ms: message.wall_ms };
    } catch (error) {
      if (this.#signal?.aborted) throw new AbortedError('aborted', 'interrupted');
      throw error;
    } finally {
      this.#listeners.delete(index);
    }
  }

  /** Results in the order of the models. Errors: the first one that a run has; AbortedError. */
  run(models: readonly ResolvedServices[], onRun: OnRun = () => {}): Promise<Ran[]> {
    return Promise.all(
      models.map((services, i) => this.#one(services, (done, events) => onRun(i, done, events))),
    );
  }

  /** Ends what still runs. */
  async close(): Promise<void> {
    this.#signal?.removeEventListener('abort', this.#abort);
    await this.#workers.end();
  }
}

/** What runs have done so far, all together. */
export class RunsProgress {
  readonly #shares: number[] = [];
  readonly #events: number[] = [];

  /** Makes room for more runs and returns who takes note of them. */
  add(runs: number): OnRun {
    const first = this.#shares.length;
    for (let i = 0; i < runs; i++) {
      this.#shares.push(0);
      this.#events.push(0);
    }
    return (index, done, events) => {
      this.#shares[first + index] = done;
      this.#events[first + index] = events;
    };
  }

  /** Runs that have ended, and all. */
  get ended(): number {
    return this.#shares.filter((share) => share === 1).length;
  }
  get runs(): number {
    return this.#shares.length;
  }

  /** Share of the work, 0…1. */
  get done(): number {
    return this.#shares.reduce((sum, share) => sum + share, 0) / Math.max(1, this.#shares.length);
  }
  get events(): number {
    return this.#events.reduce((sum, events) => sum + events, 0);
  }
}

/** Results in the order of the models. The first error ends them all. */
export async function runAll(models: readonly ResolvedServices[], options: PoolOptions = {}): Promise<Ran[]> {
  const { workers, signal, onProgress } = options;
  const pool = new RunPool(workerCount(models.length, workers), signal);
  const progress = new RunsProgress();
  const note = progress.add(models.length);
  try {
    return await pool.run(models, (index, done, events) => {
      note(index, done, events);
      onProgress?.(progress.done, progress.events);
    });
  } finally {
    await pool.close();
  }
}
