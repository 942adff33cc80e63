// simulate(): a config in, a result out.

import { configHash } from '../config/canonical.js';
import { configFrom } from '../config/load.js';
import { resolveConfig } from '../config/resolve.js';
import type { Config, ConfigInput, ResolvedConfig } from '../config/schema.js';
import { readTrace, STREAM_ABOVE } from '../trace/read.js';
import type { Trace } from '../trace/schema.js';
import type { Outcome, Provenance, SimulateOptions, SimulationResult } from '../types.js';
import { VERSION } from '../version.js';
import * as abi from './abi.js';
import { DecisionCollector } from './decisions.js';
import { decode } from './decode.js';
import { type EncodedModel, encode } from './encode.js';
import { loadEngine } from './module.js';
import { failureReason } from './reason.js';
import { RowCollector } from './rows.js';
import { Simulation, takeTurn } from './simulation.js';
import { findWarmUp } from './warmup.js';

const OUTCOMES: Record<number, Outcome> = {
  [abi.OUTCOME_COMPLETED]: 'completed',
  [abi.OUTCOME_HORIZON]: 'horizon',
  [abi.OUTCOME_STALLED]: 'stalled',
  [abi.OUTCOME_DEADLOCKED]: 'deadlocked',
};

/** How a run that is done has ended. */
export function outcomeOf({ outcome }: Simulation): Outcome {
  return OUTCOMES[outcome];
}

/** The traces that a config names: the serverless workload's and those of its sources. */
export interface CellTraces {
  trace?: Trace;
  times: Map<string, Trace>;
}

/** Reads the traces that a config names, unless they are given. */
export async function readTraces(config: ResolvedConfig, trace?: Trace): Promise<CellTraces> {
  const { serverless, arrivals } = config.workload;
  const times = new Map<string, Trace>();
  for (const source of arrivals) {
    if (source.times !== undefined && !times.has(source.times))
      times.set(source.times, await readTrace(source.times));
  }
  const wanted =
    serverless === undefined
      ? undefined
      : (trace ?? (await readTrace(serverless.trace, { stream_above: STREAM_ABOVE })));
  return { ...(wanted === undefined ? {} : { trace: wanted }), times };
}

function provenanceOf(config: ResolvedConfig, model: EncodedModel, { trace, times }: CellTraces): Provenance {
  const traces = [...(trace === undefined ? [] : [trace]), ...times.values()];
  return {
    version: VERSION,
    engine_sha256: loadEngine().sha256,
    config_sha256: configHash(config),
    seed: config.seed,
    inputs: traces.flatMap(({ provenance }) =>
      provenance.inputs.map(({ file, sha256 }) => ({ file, sha256 })),
    ),
    statements: {
      ...model.statements,
      ...(trace === undefined
        ? {}
        : { trace_rules: trace.provenance.rules, trace_steps: trace.provenance.steps }),
    },
  };
}

/** The model of a cell, with a warm-up that its rule has found. */
async function encodeMeasured(
  config: ResolvedConfig,
  traces: CellTraces,
  signal: AbortSignal | undefined,
): Promise<EncodedModel> {
  const { run } = config;
  if (run.warmup !== 'mser-5') return encode(config, traces.trace, traces.times);
  const warm_up = await findWarmUp(config, traces, signal);
  const model = encode({ ...config, run: { ...run, warmup: `${warm_up.ns}ns` } }, traces.trace, traces.times);
  return { ...model, config, statements: { ...model.statements, warm_up } };
}

/** Runs one resolved cell whose traces are at hand. */
export async function runCell(
  config: ResolvedConfig,
  traces: CellTraces,
  { signal, onProgress }: Pick<SimulateOptions, 'signal' | 'onProgress'> = {},
): Promise<SimulationResult> {
  const model = await encodeMeasured(config, traces, signal);
  const simulation = new Simulation(model);
  try {
    return await finishRun(config, traces, model, simulation, { signal, onProgress });
  } finally {
    simulation.close();
  }
}

async function finishRun(
  config: ResolvedConfig,
  traces: CellTraces,
  model: EncodedModel,
  simulation: Simulation,
  { signal, onProgress }: Pick<SimulateOptions, 'signal' | 'onProgress'>,
): Promise<SimulationResult> {
  const rows =
    config.output.invocations === 'none'
      ? undefined
      : new RowCollector(model.classes.map(({ name }) => name));
  const decisions = config.output.decisions ? new DecisionCollector(model) : undefined;
  for (let slice = 1; !simulation.done; slice++) {
    simulation.step();
    rows?.add(simulation.drainRows());
    decisions?.add(simulation.drainDecisions());
    if (!(await takeTurn(slice, signal))) continue;
    onProgress?.({
      time_ns: Number(simulation.time_ns),
      ...(model.horizon_ns > 0n ? { end_ns: Number(model.horizon_ns) } : {}),
      events: simulation.counter(abi.R_EVENTS),
    });
  }
  const { failure, time_ns } = simulation;
  const waits = failure === undefined ? [] : simulation.waits();
  simulation.finish();
  const outcome = outcomeOf(simulation);
  const reason =
    failure === undefined
      ? {}
      : { reason: await failureReason(failure, model, { waits, end_ns: Number(time_ns), signal }) };
  return {
    outcome,
    ...reason,
    config,
    ...decode(simulation.memory, simulation.result(), model),
    provenance: provenanceOf(config, model, traces),
    ...(rows === undefined ? {} : { invocations: rows.table() }),
    ...(decisions === undefined ? {} : { decisions: decisions.table() }),
  };
}

/**
 * Simulates one config: as written, checked, or resolved. A sweep is refused; see `sweep()`.
 * Errors: ConfigError (all mistakes of the config), VtimeError (trace, capacity), SimulationError (the policy broke a
 * kernel rule), EngineError, AbortedError. `stalled` and `deadlocked` are outcomes, not errors.
 */
export async function simulate(
  config: ConfigInput | Config | ResolvedConfig,
  { trace, signal, onProgress }: SimulateOptions = {},
): Promise<SimulationResult> {
  const resolved = resolveConfig(configFrom(config));
  return runCell(resolved, await readTraces(resolved, trace), {
    ...(signal === undefined ? {} : { signal }),
    ...(onProgress === undefined ? {} : { onProgress }),
  });
}
