/**
 * Traces: reading them, one Arrow schema for all of them, choosing functions and minutes, and what an invocation
 * of a function looks like (duration model, profile).
 *
 * Shapes and units are in the names: `_ns` nanoseconds, `_ms` milliseconds, `_mb` megabytes, `_share` and
 * `fraction` fractions of 1. Import never draws a random number. Errors are VtimeErrors with exit code 2, a code
 * (trace_…, select_…, duration_…, profile_…) and the place.
 */
export {
  functionsToArrow,
  invocationsToArrow,
  type ReadArrowOptions,
  readArrow,
  writeInvocations,
  writeTrace,
} from './arrow.js';
export { type AzureOptions, readAzure2019 } from './azure2019.js';
export {
  DURATION_MODELS,
  type DurationDescription,
  type DurationFit,
  type DurationModel,
  type DurationPoint,
  type DurationRule,
  fitDuration,
  meanOf,
} from './duration.js';
export { type EcdfOptions, generateEcdf, generatePoisson, type PoissonOptions } from './generate.js';
export {
  columnsOf,
  type InvocationColumns,
  traceFromInvocations,
  UNKNOWN_DURATION_NS,
} from './invocations.js';
export { type Finding, type LintResult, lintTrace } from './lint.js';
export {
  CPU_BURST,
  type FunctionProfile,
  loadProfiles,
  type MappedFunction,
  type MappingOptions,
  type MappingResult,
  mapProfiles,
  type Phase,
  PROFILE_MAPPINGS,
  type ProfileMapping,
  type ResolvedProfile,
  resolveProfile,
} from './profiles.js';
export { BUNDLED_TRACES, bundledTracePath, type ReadTraceOptions, readTrace, STREAM_ABOVE } from './read.js';
export {
  AZURE_MINUTE_CAP,
  RULES,
  type Rule,
  type RuleAction,
  type RuleCount,
  type RuleName,
  type RuleSeverity,
} from './rules.js';
export {
  countsMatrix,
  type DurationStatistics,
  FUNCTIONS_SCHEMA,
  type FunctionRow,
  functionRows,
  INVOCATIONS_SCHEMA,
  type InputFile,
  invocationTotals,
  makeTrace,
  type Provenance,
  type ProvenanceStep,
  SCHEMA_VERSION,
  TRACE_FORMATS,
  type Trace,
  type TraceFormat,
  type TraceShape,
  traceShape,
} from './schema.js';
export {
  type FunctionSelection,
  isEligible,
  type MinuteWindow,
  selectFunctions,
  selectMinutes,
} from './select.js';
export type { ColumnPlaces, InvocationStream } from './stream.js';
export {
  type FunctionSummary,
  meanInterArrivalNs,
  summarizeFunctions,
  summarizeTrace,
  type TraceSummary,
} from './summary.js';
