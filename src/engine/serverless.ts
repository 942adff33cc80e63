// Encodes workload.serverless: the trace's window, its functions as programs, arrivals, containers, the worker.

import type { Machine } from '../config/machine.js';
import type { ResolvedConfig, ResolvedServerless, Time } from '../config/schema.js';
import { durationNs, q32 } from '../config/units.js';
import { VtimeError } from '../errors.js';
import { type DurationFit, fitDuration } from '../trace/duration.js';
import { columnsOf, UNKNOWN_DURATION_NS } from '../trace/invocations.js';
import { loadProfiles, mapProfiles } from '../trace/profiles.js';
import { countsMatrix, functionRows, invocationTotals, type Trace, traceShape } from '../trace/schema.js';
import { type FunctionSelection, selectFunctions, selectMinutes } from '../trace/select.js';
import type { InvocationStream } from '../trace/stream.js';
import * as abi from './abi.js';
import { type StreamedArrivals, WINDOW_ROWS } from './arrival-feed.js';
import {
  checkStaticMap,
  compileColdStart,
  encodeAssignment,
  encodeContainers,
  encodeQueue,
  staticDomain,
  UNKNOWN_MEMORY_MB,
} from './controlplane.js';
import { choosePollers, compileFunction, cpusUsed, hashName } from './functions.js';
import type { Model } from './model.js';
import type { ProgramCompiler } from './program.js';

/** A server master wakes about once a second for about 0.1 ms (SCHEDULING.md of the paper's set-up: iluvatar-faas). */
const MASTER_SLEEP: Time = { uniform: ['0.9s', '1.1s'] };
const MASTER_RUN: Time = '100us';

function selectionOf({ functions: given, durations }: ResolvedServerless): FunctionSelection {
  return {
    durations,
    eligible: given.eligible,
    by: given.by,
    seed: given.seed,
    ...(given.ids === undefined ? {} : { ids: given.ids }),
    ...(given.top === undefined ? {} : { functions: given.top }),
    ...(given.maximum_share === undefined ? {} : { maximum_share: given.maximum_share }),
    ...(given.maximum_mean === undefined
      ? {}
      : { maximum_mean_ms: Number(durationNs(given.maximum_mean)) / 1e6 }),
  };
}

/** Names of selections, where the config calls them otherwise. */
const FIELDS: Record<string, string> = { functions: 'top', maximum_share: 'maximum_share' };

/** A mistake of a selection, with the path of the config's field that asks for it. */
function inConfig<T>(section: 'functions' | 'window', select: () => T): T {
  try {
    return select();
  } catch (error) {
    if (!(error instanceof VtimeError) || !error.code.startsWith('select_')) throw error;
    const field = section === 'functions' ? FIELDS[error.place.path ?? ''] : undefined;
    const path = ['workload.serverless', section, field].filter((part) => part !== undefined).join('.');
    throw new VtimeError(error.code, error.what, { ...error.place, path });
  }
}

/** Interval numbers of the window and of the history before it. */
function windowOf(trace: Trace, { window }: ResolvedServerless) {
  const { interval_ns, first_minute, intervals } = traceShape(trace);
  const whole = (text: string, path: string) => {
    const ns = Number(durationNs(text));
    if (ns % interval_ns !== 0) {
      throw new VtimeError('trace_window', `${text} is not a whole number of intervals`, {
        path: `workload.serverless.window.${path}`,
        value: text,
        expected: `a multiple of ${interval_ns / 1e9} s`,
      });
    }
    return ns / interval_ns;
  };
  const history = whole(window.history, 'history');
  const from = window.start === 'first' ? first_minute + history : whole(window.start, 'start');
  const length = window.length === 'rest' ? first_minute + intervals - from : whole(window.length, 'length');
  if (length < 1) {
    throw new VtimeError('trace_window', 'the window is empty', {
      path: 'workload.serverless.window',
      value: window,
    });
  }
  return { from, length, history };
}

/** What the encoder says about a serverless workload, for the result's provenance. */
export interface ServerlessStatements {
  functions: number;
  window: { from_minute: number; minutes: number; history_minutes: number };
  /** Invocations of the window before scaling. */
  invocations: number;
  load_scale: number;
  /**
   * CPU time that the invocations ask for per second at the frequency of a package whose cores are all busy, as a
   * fraction of the CPUs.
   */
  offered_load: number;
  mapping: { mapping: string; maximum_error: number; mean_error: number; functions: Record<string, string> };
  duration_rules: Record<string, number>;
  pollers: Record<string, string>;
  pollers_without_a_wait: number;
  containers: number;
}

/** Encodes everything; returns the length of the trace in simulated ns (0: closed loop) and what there is to state. */
export function encodeServerless(
  model: Model,
  compiler: ProgramCompiler,
  config: ResolvedConfig,
  given: ResolvedServerless,
  machine: Machine,
  whole: Trace,
): { length_ns: bigint; statements: ServerlessStatements; arrivals?: StreamedArrivals } {
  const selected = inConfig('functions', () => selectFunctions(whole, selectionOf(given)));
  const { from, length, history } = windowOf(selected, given);
  const trace = inConfig('window', () => selectMinutes(selected, { from, minutes: length }));
  const past =
    history > 0
      ? invocationTotals(selectMinutes(selected, { from: from - history, minutes: history }))
      : undefined;
  const rows = functionRows(trace);
  const totals = invocationTotals(trace);
  checkStaticMap(
    rows.map(({ function_id }) => function_id),
    given,
  );
  const { interval_ns } = traceShape(trace);
  const stretched_ns = BigInt(Math.round(interval_ns * given.time_scale));
  const length_ns = stretched_ns * BigInt(length);

  const { profiles } = given;
  const mapped = mapProfiles(rows, {
    mapping: profiles.mapping,
    cpus: model.cpus,
    ...(profiles.file === 'bundled' ? {} : { profiles: loadProfiles(profiles.file) }),
    ...(profiles.table === undefined ? {} : { table: profiles.table }),
  });
  const fits = rows.map((row): DurationFit => fitDuration(row, given.durations, row.function_id));
  const { pollers, missing } = choosePollers(mapped.functions, given.pollers);

  // Run lengths are stated at the reference frequency; with every core busy they take longer.
  const slowdown = machine.reference_mhz / machine.turbo[machine.turbo.length - 1].mhz;
  const demand = rows.map(
    (_, f) => (fits[f].mean_ns / 1e9) * cpusUsed(mapped.functions[f].profile, pollers.get(f)) * slowdown,
  );
  const seconds = Number(length_ns) / 1e9;
  const offeredAtOne = demand.reduce((sum, cpu_s, f) => sum + cpu_s * totals[f], 0) / seconds / model.cpus;
  const isOpen = given.loop === 'open';
  const load_scale = !isOpen
    ? 1
    : given.offered_load !== undefined
      ? given.offered_load / offeredAtOne
      : (given.load_scale ?? 1);

  if (isOpen) encodeCounts(model, trace, stretched_ns, load_scale);
  encodeWorker(model, compiler, given);
  encodeQueue(model, given);
  encodeContainers(model, given);
  if (config.policy.name === 'eevdf' && config.kernel.group_scheduling) encodeGroups(model, given.cgroup);
  const sections = {
    functions: model.section(abi.SECTION_FUNCTIONS),
    sources: model.section(abi.SECTION_SOURCES),
  };
  let containers = 0;
  const sourceOf = new Map<string, number>();
  rows.forEach((row, f) => {
    const { profile } = mapped.functions[f];
    const stats = model.addClass(row.function ?? row.function_id, 'function');
    const fn = sections.functions.add();
    const rate = (totals[f] * load_scale) / seconds;
    const prewarmed =
      given.containers === 'auto'
        ? isOpen
          ? prewarm((rate * fits[f].mean_ns) / 1e9, concurrencyOf(model, given))
          : given.closed!.clients_per_function
        : given.containers === 'none'
          ? 0
          : given.containers;
    containers += prewarmed;
    const pastRate = past === undefined ? 0 : (past[f] * load_scale) / (history * Number(stretched_ns));
    const entry = compileFunction(compiler, profile, pollers.get(f), model.cpus);
    sections.functions.u32(fn, abi.FN_PC, entry);
    sections.functions.u32(fn, abi.FN_COLD_PC, compileColdStart(compiler, given, entry));
    sections.functions.u32(fn, abi.FN_MEMORY_MB, Math.ceil(row.memory_mb ?? UNKNOWN_MEMORY_MB));
    sections.functions.u32(fn, abi.FN_DOMAIN, staticDomain(row.function_id, given));
    sections.functions.u64(fn, abi.FN_EXPECTED, Math.round(fits[f].mean_ns));
    sections.functions.u32(fn, abi.FN_CPUS, 1);
    sections.functions.u32(fn, abi.FN_CONTAINERS, prewarmed);
    sections.functions.u32(fn, abi.FN_STATS, stats);
    sections.functions.u64(fn, abi.FN_IAT, pastRate > 0 ? Math.round(1 / pastRate) : 0);
    sections.functions.u64(fn, abi.FN_HASH, hashName(row.function_id));
    sections.functions.u32(fn, abi.FN_POLLER, pollers.has(f) ? 1 : 0);

    const source = sections.sources.add();
    sourceOf.set(row.function_id, source);
    sections.sources.u32(source, abi.SRC_KIND, isOpen ? openKind(trace) : abi.SOURCE_CLOSED);
    sections.sources.u32(source, abi.SRC_DELIVER, abi.DELIVER_FUNCTION);
    sections.sources.u32(source, abi.SRC_TARGET, fn);
    sections.sources.u32(source, abi.SRC_COUNT_ROW, f);
    sections.sources.u32(source, abi.SRC_STATS, stats);
    sections.sources.u32(source, abi.SRC_DOMAIN, abi.NONE);
    sections.sources.u32(source, abi.SRC_DURATION, model.durations(fits[f].description));
    sections.sources.u32(source, abi.SRC_DIST, abi.NONE);
    if (!isOpen) {
      const closed = given.closed!;
      sections.sources.u32(source, abi.SRC_CLIENTS, closed.clients_per_function);
      sections.sources.u64(source, abi.SRC_MAX_ARRIVALS, closed.invocations);
      sections.sources.u32(source, abi.SRC_DIST, model.distribution(closed.think));
    }
  });
  let arrivals: StreamedArrivals | undefined;
  if (isOpen && (trace.invocations ?? trace.stream) !== undefined) {
    requireUnscaled(load_scale);
    if (trace.invocations !== undefined) encodeInvocations(model, trace, given, sourceOf);
    else arrivals = streamed(trace.stream!, given, sourceOf);
  }
  model.set(abi.P_CONTROL_STATS, model.addClass('control plane', 'control-plane'));
  model.set(abi.P_MASTER_STATS, model.addClass('server masters', 'server-masters'));

  encodeAssignment(model, given);
  model.set(abi.P_CONTAINER_CLASS, config.policy.name === 'eevdf' ? abi.CLASS_FAIR : abi.CLASS_EXT);

  const rules: Record<string, number> = {};
  for (const { rules: applied } of fits) for (const rule of applied) rules[rule] = (rules[rule] ?? 0) + 1;
  return {
    length_ns: isOpen ? length_ns : 0n,
    ...(arrivals === undefined ? {} : { arrivals }),
    statements: {
      functions: rows.length,
      window: { from_minute: from, minutes: length, history_minutes: history },
      invocations: totals.reduce((a, b) => a + b, 0),
      load_scale,
      offered_load: offeredAtOne * load_scale,
      mapping: {
        mapping: mapped.mapping,
        maximum_error: mapped.maximum_error,
        mean_error: mapped.mean_error,
        functions: Object.fromEntries(
          mapped.functions.map((m) => [m.function_id.split('/').pop()!, m.profile.name]),
        ),
      },
      duration_rules: rules,
      pollers: Object.fromEntries(
        [...pollers].map(([f, kind]) => [rows[f].function ?? rows[f].function_id, kind]),
      ),
      pollers_without_a_wait: missing,
      containers,
    },
  };
}

function concurrencyOf(model: Model, { worker }: ResolvedServerless): number {
  if (worker.concurrency === 'unlimited') return 0;
  const permits = worker.concurrency === 'cpus' ? model.cpus : worker.concurrency;
  return Math.min(0xffffffff, Math.max(1, Math.floor(permits * worker.overcommit)));
}

/** Containers that a Poisson number of calls under way exceeds about once in a thousand: mean + 3 √mean, at least 1. */
function prewarm(mean: number, limit: number): number {
  const wanted = Math.max(1, Math.ceil(mean + 3 * Math.sqrt(mean)));
  return limit === 0 ? wanted : Math.min(wanted, limit);
}

function encodeCounts(model: Model, trace: Trace, interval_ns: bigint, load_scale: number): void {
  const { intervals } = traceShape(trace);
  const counts = model.section(abi.SECTION_COUNTS);
  for (const value of countsMatrix(trace)) counts.u32(counts.add(), 0, value);
  model.set(abi.P_COUNT_INTERVAL_NS, interval_ns);
  model.set(abi.P_COUNT_INTERVALS, intervals);
  model.set(abi.P_LOAD_SCALE, q32(load_scale));
}

/** Containers are siblings in one slice, beside the one of the system, where the control plane is. */
function encodeGroups(model: Model, { shares, quota, period }: ResolvedServerless['cgroup']): void {
  model.set(abi.P_CONTROL_CGROUP, model.cgroup('system.slice', { shares: 1024 }));
  model.set(abi.P_CONTAINER_PARENT, model.cgroup('containers.slice', { shares: 1024 }));
  model.set(abi.P_CONTAINER_SHARES, shares);
  model.set(abi.P_CONTAINER_PERIOD_NS, durationNs(period));
  model.set(
    abi.P_CONTAINER_QUOTA_NS,
    quota === 'none' ? 0n : quota === 'cpus' ? 0xffffffffffffffffn : durationNs(quota),
  );
}

function encodeWorker(model: Model, compiler: ProgramCompiler, given: ResolvedServerless): void {
  const { worker } = given;
  const entry = compiler.emit({ op: abi.OP_RECEIVE, flags: abi.FLAG_OWN });
  compiler.emit({ op: abi.OP_RUN, flags: abi.FLAG_OVERHEAD });
  compiler.emit({ op: abi.OP_CONTROL });
  compiler.emit({ op: abi.OP_JUMP, a: entry });
  model.set(abi.P_CONTROL_PC, entry);
  const overhead = (time: Time) => (model.constantOf(time) === 0n ? abi.NONE : model.distribution(time));
  model.set(abi.P_OVERHEAD_BEFORE, overhead(worker.before));
  model.set(abi.P_OVERHEAD_AFTER, overhead(worker.after));
  model.set(abi.P_OVERHEAD_DELAY, worker.overhead === 'delay' ? 1 : 0);
  model.set(abi.P_WORKER_THREADS, worker.threads);
  model.set(abi.P_CONCURRENCY, concurrencyOf(model, given));
  if (given.server_master) {
    const loop = compiler.compile([
      { loop: { times: 'forever', do: [{ run: MASTER_RUN }, { sleep: MASTER_SLEEP, disk: false }] } },
    ]);
    model.set(abi.P_MASTER_PC, loop);
    model.set(abi.P_MASTER_PARK_PC, compiler.emit({ op: abi.OP_BLOCK }));
  }
}

function openKind(trace: Trace): number {
  if (trace.invocations !== undefined) return abi.SOURCE_LIST;
  return trace.stream === undefined ? abi.SOURCE_COUNTS : abi.SOURCE_STREAM;
}

/** Single invocations keep their times; a load scale can't multiply them. */
function requireUnscaled(load_scale: number): void {
  if (load_scale === 1) return;
  throw new VtimeError('load_scale', 'a trace of single invocations has no counts to scale', {
    path: 'workload.serverless.load_scale',
    value: load_scale,
    expected: '1',
  });
}

function streamed(
  stream: InvocationStream,
  { time_scale }: ResolvedServerless,
  sourceOf: ReadonlyMap<string, number>,
): StreamedArrivals {
  const sources = stream.function_ids.map((id) => sourceOf.get(id)!);
  return { stream, time_scale, sources, window_rows: WINDOW_ROWS };
}

function encodeInvocations(
  model: Model,
  trace: Trace,
  given: ResolvedServerless,
  sourceOf: ReadonlyMap<string, number>,
): void {
  const columns = columnsOf(trace.invocations!, 'trace');
  const list = model.section(abi.SECTION_ARRIVALS);
  for (let i = 0; i < columns.function_index.length; i++) {
    const row = list.add();
    const duration = columns.duration_ns[i];
    list.u64(row, 0, Math.round(Number(columns.start_ns[i]) * given.time_scale));
    list.u64(row, 8, duration === UNKNOWN_DURATION_NS ? 0n : duration);
    list.u32(row, 16, sourceOf.get(columns.function_ids[columns.function_index[i]])!);
  }
}
