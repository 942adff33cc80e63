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
export type { ServicesResult } from './engine/services.js';
export { simulateServices } from './engine/services.js';
export { simulate } from './engine/simulate.js';
export { AbortedError, EngineError, SimulationError, VtimeError } from './errors.js';
export type { Finding } from './services/findings.js';
export { checkPath as checkServices, loadServices, parseServices } from './services/load.js';
export { resolveServices } from './services/resolve.js';
export type { RunOptions } from './services/run/cells.js';
export { runServices } from './services/run/index.js';
export type { PointSummary, RunSummary } from './services/run/summary.js';
export type { Services, ServicesInput } from './services/schema.js';
export { servicesJsonSchema } from './services/schema.js';
export { resultTables } from './sweep/result-tables.js';
export { readStore } from './sweep/store.js';
export { runSweep, sweep } from './sweep/sweep.js';
export * from './trace/index.js';
export type { Provenance as TraceProvenance } from './trace/schema.js';
export type * from './types.js';
export type { Provenance } from './types.js';
export { VERSION } from './version.js';
