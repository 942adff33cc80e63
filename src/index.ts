/**
 * vtime: simulates Linux CPU scheduling for serverless functions and microservices.
 *
 * Times, energies and shares carry their unit in the name (`latency_ms`, `energy_j`); shares are fractions of 1. Errors are
 * VtimeErrors with a `code`, the place of the mistake and an `exitCode` (2 input, 1 simulated system, 3 engine, 130 aborted).
 */

export { loadConfig, parseConfig } from './config/load.js';
export { resolveConfig } from './config/resolve.js';
export { configJsonSchema } from './config/schema.js';
export { explain } from './engine/explain.js';
export { explainTask } from './engine/explain-task.js';
export { Histogram } from './engine/histogram.js';
export { simulate } from './engine/simulate.js';
export { AbortedError, EngineError, SimulationError, VtimeError } from './errors.js';
export { resultTables } from './sweep/result-tables.js';
export { readStore } from './sweep/store.js';
export { runSweep, sweep } from './sweep/sweep.js';
export * from './trace/index.js';
export type { Provenance as TraceProvenance } from './trace/schema.js';
export type * from './types.js';
export type { Provenance } from './types.js';
export { VERSION } from './version.js';
