// Simulates services in a thread of the pool. Errors become messages: nothing is thrown across threads.

import { parentPort, workerData } from 'node:worker_threads';
import { adoptEngine } from '../../engine/module.js';
import { VtimeError } from '../../errors.js';
import { simulateMeasured } from './measured.js';
import type { RunMessage, RunSetup, RunTask } from './messages.js';

/** Between two progress messages. */
const PROGRESS_MS = 100;

adoptEngine((workerData as RunSetup).engine);

export default async function run({ index, services }: RunTask): Promise<RunMessage> {
  const started = performance.now();
  let reported = started;
  try {
    const { result, cut } = await simulateMeasured(services, ({ time_ns, end_ns, events }) => {
      const now = performance.now();
      if (now - reported < PROGRESS_MS) return;
      reported = now;
      const done = end_ns === undefined || end_ns === 0 ? 0 : Math.min(1, time_ns / end_ns);
      parentPort?.postMessage({ type: 'progress', index, events, done } satisfies RunMessage);
    });
    return { type: 'result', index, result, cut, wall_ms: performance.now() - started };
  } catch (error) {
    const known = error instanceof VtimeError ? error : undefined;
    return {
      type: 'failed',
      index,
      code: known?.code ?? 'unexpected',
      message: error instanceof Error ? error.message : String(error),
      exit_code: known?.exitCode ?? 3,
    };
  }
}
