// Runs of services on all cores.

import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';
import { loadEngine } from '../../engine/module.js';
import type { ServicesResult } from '../../engine/services.js';
import { AbortedError, EngineError, VtimeError } from '../../errors.js';
import { workerCount } from '../../sweep/pool.js';
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

/** Results in the order of the models. The first error ends them all. */
export async function runAll(models: readonly ResolvedServices[], options: PoolOptions = {}): Promise<Ran[]> {
  const { workers, signal, onProgress } = options;
  const threads = workerCount(models.length, workers);
  const pool = new Piscina<RunTask, RunMessage>({
    filename: WORKER,
    minThreads: threads,
    maxThreads: threads,
    idleTimeout: Number.POSITIVE_INFINITY,
    workerData: { engine: loadEngine() } satisfies RunSetup,
    recordTiming: false,
  });
  const shares = new Float64Array(models.length);
  const events = new Float64Array(models.length);
  const report = (index: number, done: number, count: number) => {
    shares[index] = done;
    events[index] = count;
    const sum = (values: Float64Array) => values.reduce((total, value) => total + value, 0);
    onProgress?.(sum(shares) / models.length, sum(events));
  };
  pool.on('message', (message: RunMessage) => {
    if (message.type === 'progress') report(message.index, message.done, message.events);
  });
  const abort = () => void pool.destroy();
  signal?.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.all(
      models.map(async (services, index): Promise<Ran> => {
        const message = await pool.run({ index, services });
        if (message.type === 'failed') throw errorOf(message);
        if (message.type !== 'result') throw new EngineError('worker_message', 'a worker sent no result');
        report(index, 1, message.result.events);
        return { result: revive(message.result), cut: message.cut, wall_ms: message.wall_ms };
      }),
    );
  } catch (error) {
    if (signal?.aborted) throw new AbortedError('aborted', 'interrupted');
    throw error;
  } finally {
    signal?.removeEventListener('abort', abort);
    await pool.destroy();
  }
}
