// The worker threads of a pool, from their start to their end.

import { Piscina } from 'piscina';

/** Threads that run a module's default function; `workerData` goes to each. */
export interface Workers<Task, Message> {
  pool: Piscina<Task, Message>;
  /** Stops the threads, whatever they do. */
  end(): Promise<void>;
}

/** Starts a pool of `threads` threads, which all stay until its end. */
export function startWorkers<Task, Message>(
  filename: string,
  threads: number,
  workerData: object,
): Workers<Task, Message> {
  const pool = new Piscina<Task, Message>({
    filename,
    minThreads: threads,
    maxThreads: threads,
    idleTimeout: Number.POSITIVE_INFINITY,
    workerData,
    recordTiming: false,
  });
  const started = [...pool.threads];
  // Node aborts the process if a thread is stopped while it loads its modules; a pool's thread says when it has loaded them.
  const loaded = started.map(
    (thread) =>
      new Promise<void>((resolve) => {
        thread.once('message', () => resolve());
        thread.once('exit', () => resolve());
      }),
  );
  return {
    pool,
    async end() {
      for (const thread of started) thread.ref();
      await Promise.all(loaded);
      await pool.destroy();
    },
  };
}
