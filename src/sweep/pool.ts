// Cells on all cores: a Piscina pool whose workers share the compiled engine and the traces.

import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { AbortedError, EngineError } from '../errors.js';
import { journalLine } from './journal.js';
import type { CellTask, WorkerMessage, WorkerSetup } from './messages.js';
import { failedRecord } from './record.js';
import { startWorkers } from './workers.js';

export type CellMessage = Extract<WorkerMessage, { type: 'cell' }>;
export type ProgressMessage = Extract<WorkerMessage, { type: 'progress' }>;

/** Cells handed out per worker: one to work on and one that waits, so that no worker waits for the main thread. */
const CELLS_PER_WORKER = 2;

const WORKER = fileURLToPath(new URL('./worker.js', import.meta.url));

export interface PoolOptions {
  /** Default: one per available CPU. */
  workers?: number;
  signal?: AbortSignal;
  onProgress?: (message: ProgressMessage) => void;
}

/** Threads that a sweep of this many cells uses. */
export function workerCount(cells: number, workers = availableParallelism()): number {
  return Math.max(1, Math.min(workers, cells));
}

/**
 * Simulates the cells and yields them as they finish. A cell that fails is yielded as failed, also when it takes its
 * worker with it. Leaving the loop stops the pool at once; so does the signal, with an AbortedError.
 */
export async function* simulateCells(
  tasks: readonly CellTask[],
  setup: WorkerSetup,
  { workers, signal, onProgress }: PoolOptions = {},
): AsyncGenerator<CellMessage> {
  if (tasks.length === 0) return;
  const threads = workerCount(tasks.length, workers);
  const { pool, end } = startWorkers<CellTask, CellMessage>(WORKER, threads, setup);
  const finished: CellMessage[] = [];
  let wake = () => {};
  const submit = (task: CellTask): void => {
    const crashed = (error: unknown): CellMessage => {
      const reason = error instanceof Error ? error.message : String(error);
      const record = failedRecord(
        task.cell_id,
        new EngineError('worker_crashed', `a worker died: ${reason}`),
        0,
      );
      return { type: 'cell', index: task.index, outcome: 'failed', events: 0, line: journalLine(record) };
    };
    pool
      .run(task)
      .catch(crashed)
      .then((message) => {
        finished.push(message);
        wake();
      });
  };
  const abort = () => wake();
  signal?.addEventListener('abort', abort);
  if (onProgress !== undefined) {
    pool.on('message', (message: WorkerMessage) => {
      if (message.type === 'progress') onProgress(message);
    });
  }
  try {
    let submitted = 0;
    let yielded = 0;
    while (yielded < tasks.length) {
      while (submitted < tasks.length && submitted - yielded < threads * CELLS_PER_WORKER) {
        submit(tasks[submitted++]);
      }
      if (signal?.aborted) throw new AbortedError('aborted', 'interrupted');
      const message = finished.shift();
      if (message === undefined) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        continue;
      }
      yielded++;
      yield message;
    }
  } finally {
    signal?.removeEventListener('abort', abort);
    await end();
  }
}
