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
  // A process under load once ended in SIGABRT, in the require() of a thread that was stopped while it loaded its modules;
  // it could not be provoked again. A pool's thread says when it has loaded them, so that is waited for.
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
