// Simulates one cell after the other in a thread of the pool. Errors become records: nothing is thrown across threads.

import { parentPort, workerData } from 'node:worker_threads';
import { tableFromIPC, tableToIPC } from 'apache-arrow';
import { adoptObject } from '../bpf/runtime/runtime.js';
import type { ResolvedConfig } from '../config/schema.js';
import { encode } from '../engine/encode.js';
import { adoptEngine } from '../engine/module.js';
import { runCell } from '../engine/simulate.js';
import { EngineError, VtimeError } from '../errors.js';
import type { Trace } from '../trace/index.js';
import type { SharedTrace } from './identity.js';
import { journalLine } from './journal.js';
import type { CellTask, WorkerMessage, WorkerSetup } from './messages.js';
import { failedRecord, finishedRecord } from './record.js';

/** Between two progress messages. */
const PROGRESS_MS = 100;

const setup = workerData as WorkerSetup;
adoptEngine(setup.engine);
for (const [path, bytes] of setup.objects) adoptObject(path, bytes);

/** The tables' columns are views of the shared buffers; only their schemas are decoded per worker. */
function traceOf({ functions, invocations, stream }: SharedTrace): Trace {
  const table = tableFromIPC(functions);
  return {
    functions: table,
    ...(invocations === undefined ? {} : { invocations: tableFromIPC(invocations) }),
    ...(stream === undefined ? {} : { stream }),
    provenance: JSON.parse(table.schema.metadata.get('provenance') ?? '{}'),
  };
}

const serverless = new Map<string, Trace>();
const times = new Map<string, Trace>();
for (const shared of setup.traces) {
  (shared.kind === 'trace' ? serverless : times).set(shared.name, traceOf(shared));
}

/** What the engine was given, if the failure is its own. */
function modelOf(error: unknown, config: ResolvedConfig, trace: Trace | undefined): { model?: Uint8Array } {
  if (error instanceof VtimeError && !(error instanceof EngineError)) return {};
  try {
    return { model: encode(config, trace, times).image };
  } catch {
    // The encoder itself is what failed.
    return {};
  }
}

export default async function simulateCell({ cell_id, index, config }: CellTask): Promise<WorkerMessage> {
  const started = performance.now();
  const elapsed = () => performance.now() - started;
  const trace = serverless.get(config.workload.serverless?.trace ?? '');
  let reported = started;
  try {
    const result = await runCell(
      config,
      { ...(trace === undefined ? {} : { trace }), times },
      {
        onProgress({ time_ns, end_ns, events }) {
          const now = performance.now();
          if (now - reported < PROGRESS_MS) return;
          reported = now;
          const done = end_ns === undefined || end_ns === 0 ? 0 : Math.min(1, time_ns / end_ns);
          parentPort?.postMessage({ type: 'progress', index, events, done } satisfies WorkerMessage);
        },
      },
    );
    const line = journalLine(finishedRecord(cell_id, result, elapsed()));
    const { outcome, metrics, invocations } = result;
    const rows = invocations === undefined ? {} : { invocations: tableToIPC(invocations, 'file') };
    return { type: 'cell', index, outcome, events: metrics.events, line, ...rows };
  } catch (error) {
    const line = journalLine(failedRecord(cell_id, error, elapsed()));
    return { type: 'cell', index, outcome: 'failed', events: 0, line, ...modelOf(error, config, trace) };
  }
}
