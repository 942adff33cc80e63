// From a resolved config (and its trace) to a model image.

import { type BpfPolicy, bpfPolicyOf } from '../bpf/runtime/policy.js';
import type { Machine } from '../config/machine.js';
import { machineOf } from '../config/resolve.js';
import type { ResolvedConfig, ResolvedSource, ResolvedTask } from '../config/schema.js';
import { durationNs, hertz, rateToMeanNs } from '../config/units.js';
import { VtimeError } from '../errors.js';
import { columnsOf, UNKNOWN_DURATION_NS } from '../trace/invocations.js';
import type { Trace } from '../trace/schema.js';
import * as abi from './abi.js';
import type { StreamedArrivals } from './arrival-feed.js';
import { buildImage } from './image.js';
import { indexByName, Model, type StatisticsClass } from './model.js';
import { encodeBpf, encodePolicy } from './policy.js';
import { ProgramCompiler } from './program.js';
import { encodeServerless } from './serverless.js';

/** A model image and what the host has to remember about it. */
export interface EncodedModel {
  config: ResolvedConfig;
  image: Uint8Array;
  classes: StatisticsClass[];
  machine: Machine;
  /** Last arrival, or the trace's end, ns; 0 if the sources end by themselves. */
  horizon_ns: bigint;
  /** Names of the tasks that exist from the start, in slot order from 1. */
  taskNames: string[];
  /** CPUs of each mask, by its index. */
  masks: string[];
  statements: Record<string, unknown>;
  /** The policy, if it is a BPF object: placed in the engine before the image. */
  bpf?: BpfPolicy;
  /** Arrivals that come through the engine's window instead of being in the image. */
  arrivals?: StreamedArrivals;
}

/** Traces that a config's sources name, by path as written. */
export type SourceTraces = ReadonlyMap<string, Trace>;

const KERNELS = { '6.11-scx': abi.KERNEL_6_11_SCX, '6.12': abi.KERNEL_6_12, '7.3': abi.KERNEL_7_3 } as const;
/** sysctl_sched_migration_cost */
const MIGRATION_COST = '500us';
const GOVERNORS = {
  performance: abi.GOVERNOR_PERFORMANCE,
  schedutil: abi.GOVERNOR_SCHEDUTIL,
  hwp: abi.GOVERNOR_HWP,
  powersave: abi.GOVERNOR_POWERSAVE,
} as const;
/** Parameters whose 0 would name something. */
const PARAMETERS_ABSENT = [
  abi.P_OVERHEAD_BEFORE,
  abi.P_OVERHEAD_AFTER,
  abi.P_MASTER_PC,
  abi.P_COLD_START,
  abi.P_MASTER_PARK_PC,
];

/** A model with its machine, kernel and policy; the workload is still missing. `bpf`: the policy, if it is a BPF object. */
export function encodeSystem(config: ResolvedConfig, machine: Machine): { model: Model; bpf?: BpfPolicy } {
  const model = new Model(machine.cpus.length);
  for (const param of PARAMETERS_ABSENT) model.set(param, abi.NONE);
  encodeMachine(model, machine, config);
  encodeKernel(model, config);
  encodePolicy(model, config);
  const bpf = bpfPolicyOf(config, machine.cpus.length);
  if (bpf === undefined) return { model };
  encodeBpf(model, config, bpf);
  return { model, bpf };
}

/** Encodes a cell. `trace` is the serverless workload's. */
export function encode(config: ResolvedConfig, trace?: Trace, times: SourceTraces = new Map()): EncodedModel {
  const machine = machineOf(config);
  const { model, bpf } = encodeSystem(config, machine);
  const { workload, run } = config;
  for (const { capacity } of workload.queues) {
    const queues = model.section(abi.SECTION_QUEUES);
    queues.u32(queues.add(), 0, capacity ?? 0);
  }
  const barriers = model.section(abi.SECTION_BARRIERS);
  for (const { parties } of workload.barriers) barriers.u32(barriers.add(), 0, parties);
  for (const _ of workload.events) barriers.add();
  const barrier = indexByName('barrier', workload.barriers);
  const event = indexByName('event', workload.events);
  const compiler = new ProgramCompiler(model, workload.programs, {
    queue: indexByName('queue', workload.queues),
    // Record 0 is never used, so that 0 can mean none.
    barrier: (name) => barrier(name) + 1,
    event: (name) => event(name) + workload.barriers.length + 1,
    task: indexByName('task', workload.tasks),
  });
  encodeCgroups(model, workload.cgroups);
  for (const task of workload.tasks) encodeTask(model, compiler, task);
  const queue = indexByName('queue', workload.queues);
  for (const source of workload.arrivals) encodeSource(model, compiler, source, queue, times);

  let horizon_ns = run.horizon === 'trace' || run.horizon === 'none' ? 0n : durationNs(run.horizon);
  let statements: Record<string, unknown> = {};
  let arrivals: StreamedArrivals | undefined;
  if (workload.serverless !== undefined) {
    if (trace === undefined) throw new VtimeError('trace_file', 'the serverless workload needs its trace');
    const encoded = encodeServerless(model, compiler, config, workload.serverless, machine, trace);
    if (run.horizon === 'trace') horizon_ns = encoded.length_ns;
    model.set(abi.P_ENERGY_END_NS, horizon_ns);
    statements = { ...encoded.statements };
    arrivals = encoded.arrivals;
  }
  encodeRun(model, config, horizon_ns);
  encodeEvents(model, run.events);
  return {
    config,
    image: buildImage(model.finish()),
    classes: model.classes,
    machine,
    horizon_ns,
    taskNames: workload.tasks.flatMap(({ name, count }) =>
      Array.from({ length: count }, (_, i) => (count === 1 ? name : `${name}/${i}`)),
    ),
    masks: model.maskTexts,
    statements,
    ...(bpf === undefined ? {} : { bpf }),
    ...(arrivals === undefined ? {} : { arrivals }),
  };
}

function encodeMachine(model: Model, machine: Machine, config: ResolvedConfig): void {
  const cpus = model.section(abi.SECTION_CPUS);
  for (const { package: pkg, node, llc } of machine.cpus) {
    const row = cpus.add();
    cpus.u32(row, 0, pkg);
    cpus.u32(row, 4, node);
    cpus.u32(row, 8, llc);
  }
  const turbo = model.section(abi.SECTION_TURBO);
  for (const { active_cores, mhz } of machine.turbo) {
    const row = turbo.add();
    turbo.u32(row, 0, active_cores);
    turbo.u32(row, 4, mhz);
  }
  const idle = model.section(abi.SECTION_IDLE_STATES);
  for (const { exit_ns, residency_ns, power_mw, inactive } of machine.idle_states) {
    const row = idle.add();
    idle.u64(row, 0, exit_ns);
    idle.u64(row, 8, residency_ns);
    idle.u64(row, 16, power_mw);
    idle.u64(row, 24, inactive ? 1 : 0);
  }
  const power = model.section(abi.SECTION_CORE_POWER);
  for (const { mhz, mw } of machine.core_power) {
    const row = power.add();
    power.u64(row, 0, mhz);
    power.u64(row, 8, mw);
  }
  const { costs } = machine;
  model.set(abi.P_CPUS, machine.cpus.length);
  model.set(abi.P_COST_SWITCH_NS, costs.context_switch_ns);
  model.set(abi.P_COST_MIGRATION_LLC_NS, costs.migration_llc_ns);
  model.set(abi.P_COST_MIGRATION_NODE_NS, costs.migration_node_ns);
  model.set(abi.P_COST_DISPATCH_NS, costs.dispatch_ns);
  // Loading any sched_ext policy asks for the highest performance; schedutil obeys, hwp does nothing of it.
  const asksForAll = config.policy.name !== 'eevdf' && config.machine.governor === 'schedutil';
  model.set(abi.P_GOVERNOR, GOVERNORS[asksForAll ? 'performance' : config.machine.governor]);
  model.set(abi.P_MIN_MHZ, machine.min_mhz);
  model.set(abi.P_BASE_MHZ, machine.base_mhz);
  model.set(abi.P_REFERENCE_MHZ, machine.reference_mhz);
  model.set(abi.P_FREQUENCY_INTERVAL_NS, machine.frequency_interval_ns);
  model.set(abi.P_FREQUENCY_RAMP_NS, machine.frequency_ramp_ns);
  model.set(abi.P_UNCORE_MW, machine.uncore_mw);
  model.set(abi.P_UNCORE_IDLE_MW, machine.uncore_idle_mw);
  model.set(abi.P_TDP_MW, machine.tdp_mw);
}

function encodeKernel(model: Model, { kernel, seed, output }: ResolvedConfig): void {
  model.set(abi.P_SEED, seed);
  model.set(abi.P_KERNEL, KERNELS[kernel.version]);
  model.set(abi.P_HZ, hertz(kernel.hz));
  model.set(abi.P_TICK_SKEW_NS, durationNs(kernel.tick_skew));
  model.set(abi.P_SLICE_EXACT, kernel.slice_expiry === 'exact' ? 1 : 0);
  model.set(abi.P_WATCHDOG_NS, durationNs(kernel.watchdog_timeout));
  model.set(abi.P_ON_STALL_FALLBACK, kernel.on_stall === 'fallback' ? 1 : 0);
  model.set(abi.P_BASE_SLICE_NS, durationNs(kernel.base_slice));
  model.set(abi.P_MIGRATION_COST_NS, durationNs(kernel.migration_cost ?? MIGRATION_COST));
  model.set(abi.P_GROUP_SCHED, kernel.group_scheduling ? 1 : 0);
  model.set(abi.P_BANDWIDTH_SLICE_NS, durationNs(kernel.bandwidth_slice));
  model.set(abi.P_DIGEST, output.digest ? 1 : 0);
  model.set(abi.P_DECISIONS, output.decisions ? 1 : 0);
  const { invocations } = output;
  model.set(
    abi.P_ROWS_EVERY,
    invocations === 'none' ? 0 : invocations === 'all' ? 1 : Number(invocations.slice('sample:'.length)),
  );
}

export function encodeRun(model: Model, { run }: ResolvedConfig, horizon_ns: bigint): void {
  model.set(abi.P_DRAIN, run.end === 'drain' ? 1 : 0);
  model.set(abi.P_HORIZON_NS, horizon_ns);
  model.set(
    abi.P_LIMIT_NS,
    run.limit === 'none' ? 0 : run.limit === 'auto' ? 10n * horizon_ns : durationNs(run.limit),
  );
  // The rule's time, once it is known, is in the config that is encoded (warmup.ts).
  model.set(abi.P_WARMUP_NS, run.warmup === 'mser-5' ? 0 : durationNs(run.warmup));
}

function encodeEvents(model: Model, given: ResolvedConfig['run']['events']): void {
  const events = model.section(abi.SECTION_EVENTS);
  for (const event of given) {
    const row = events.add();
    events.u64(row, 0, durationNs(event.at));
    events.u32(row, 8, 'offline' in event ? abi.EVENT_OFFLINE : abi.EVENT_ONLINE);
    events.u32(row, 12, 'offline' in event ? event.offline : event.online);
  }
}

function encodeCgroups(model: Model, given: ResolvedConfig['workload']['cgroups']): void {
  for (const { name, parent, shares, quota, period, domain } of given) {
    model.cgroup(name, {
      parent,
      shares,
      quota_ns: quota === undefined ? 0n : durationNs(quota),
      period_ns: durationNs(period),
      domain,
    });
  }
}

type Scheduled = Pick<ResolvedTask, 'class' | 'weight' | 'cpus' | 'cgroup' | 'realtime' | 'slice'>;

/** TT_CLASS: the class, and behind it priority and kind of a realtime task, or a fair task's own slice in µs. */
function classOf({ class: name, realtime, slice }: Scheduled): number {
  if (name === 'ext') return abi.CLASS_EXT;
  if (name === 'fair') {
    return abi.CLASS_FAIR | (slice === undefined ? 0 : Number(durationNs(slice) / 1000n) << 8);
  }
  const { priority, policy } = realtime ?? { priority: 50, policy: 'fifo' };
  return abi.CLASS_REALTIME | (priority << 8) | (policy === 'rr' ? 1 << 16 : 0);
}

export function encodeTemplate(
  model: Model,
  given: Scheduled,
  pc: number,
  count: number,
  stats: number,
): number {
  const tasks = model.section(abi.SECTION_TASKS);
  const row = tasks.add();
  tasks.u32(row, abi.TT_PC, pc);
  tasks.u32(row, abi.TT_COUNT, count);
  tasks.u32(row, abi.TT_CLASS, classOf(given));
  tasks.u32(row, abi.TT_WEIGHT, given.weight);
  tasks.u32(row, abi.TT_MASK, model.maskOf(given.cpus));
  tasks.u32(row, abi.TT_STATS, stats);
  tasks.u32(row, abi.TT_DOMAIN, abi.NONE);
  if (given.cgroup !== undefined) tasks.u32(row, abi.TT_CGROUP, model.cgroupOf(given.cgroup));
  tasks.u32(row, abi.TT_START_DIST, abi.NONE);
  return row;
}

function encodeTask(model: Model, compiler: ProgramCompiler, task: ResolvedTask): void {
  const tasks = model.section(abi.SECTION_TASKS);
  const row = encodeTemplate(
    model,
    task,
    compiler.compile(task.program),
    task.count,
    model.addClass(task.name, 'tasks'),
  );
  if (task.domain === 'spread') tasks.u32(row, abi.TT_DOMAIN_SPREAD, 1);
  else if (task.domain !== 'none') tasks.u32(row, abi.TT_DOMAIN, task.domain);
  tasks.u32(row, abi.TT_BACKGROUND, task.background ? 1 : 0);
  const start = model.constantOf(task.start);
  if (start !== undefined) tasks.u64(row, abi.TT_START, start);
  else tasks.u32(row, abi.TT_START_DIST, model.distribution(task.start));
  if (task.inverse_weight !== undefined) tasks.u32(row, abi.TT_INVERSE_WEIGHT, task.inverse_weight);
}

function encodeSource(
  model: Model,
  compiler: ProgramCompiler,
  source: ResolvedSource,
  queue: (name: string) => number,
  times: SourceTraces,
): void {
  const sources = model.section(abi.SECTION_SOURCES);
  const stats = model.addClass(source.name, 'source');
  const row = sources.add();
  sources.u32(row, abi.SRC_STATS, stats);
  sources.u32(row, abi.SRC_LIMIT, source.limit ?? 0);
  sources.u32(
    row,
    abi.SRC_DURATION,
    source.duration === undefined ? abi.NONE : model.distribution(source.duration),
  );
  sources.u32(row, abi.SRC_DIST, abi.NONE);
  sources.u64(row, abi.SRC_MAX_ARRIVALS, source.max_arrivals ?? 0);
  sources.u64(row, abi.SRC_START, durationNs(source.start));
  sources.u32(row, abi.SRC_DOMAIN, abi.NONE);
  sources.u32(row, abi.SRC_BATCH, source.batch ?? 1);
  if (source.rate !== undefined) {
    sources.u32(row, abi.SRC_KIND, abi.SOURCE_RENEWAL);
    sources.u32(row, abi.SRC_DIST, model.exponential(rateToMeanNs(source.rate)));
  } else if (source.interarrival !== undefined) {
    sources.u32(row, abi.SRC_KIND, abi.SOURCE_RENEWAL);
    sources.u32(row, abi.SRC_DIST, model.distribution(source.interarrival));
  } else if (source.clients !== undefined) {
    sources.u32(row, abi.SRC_KIND, abi.SOURCE_CLOSED);
    sources.u32(row, abi.SRC_CLIENTS, source.clients);
    if (source.think !== undefined) sources.u32(row, abi.SRC_DIST, model.distribution(source.think));
  } else {
    sources.u32(row, abi.SRC_KIND, abi.SOURCE_LIST);
    encodeTimes(model, row, source.times!, times);
  }
  if (source.spawn !== undefined) {
    const { domain, program } = source.spawn;
    sources.u32(row, abi.SRC_DELIVER, abi.DELIVER_SPAWN);
    sources.u32(
      row,
      abi.SRC_TARGET,
      encodeTemplate(model, source.spawn, compiler.compile(program), 0, stats),
    );
    if (domain === 'round-robin') sources.u32(row, abi.SRC_DOMAIN, abi.DOMAIN_ROUND_ROBIN);
    else if (domain === 'random') sources.u32(row, abi.SRC_DOMAIN, abi.DOMAIN_RANDOM);
    else if (domain !== 'none') sources.u32(row, abi.SRC_DOMAIN, domain);
  } else {
    sources.u32(row, abi.SRC_DELIVER, abi.DELIVER_QUEUE);
    sources.u32(row, abi.SRC_TARGET, queue(source.queue!));
  }
}

/** Appends the arrivals of a file; every source reads its own rows, so each source's must be in time order. */
function encodeTimes(model: Model, source: number, path: string, times: SourceTraces): void {
  const trace = times.get(path);
  if (trace?.invocations === undefined) {
    throw new VtimeError('trace_invocations', 'not a table of single invocations', { file: path });
  }
  const columns = columnsOf(trace.invocations, path);
  const list = model.section(abi.SECTION_ARRIVALS);
  for (let i = 0; i < columns.start_ns.length; i++) {
    const row = list.add();
    list.u64(row, 0, columns.start_ns[i]);
    list.u64(row, 8, columns.duration_ns[i] === UNKNOWN_DURATION_NS ? 0n : columns.duration_ns[i]);
    list.u32(row, 16, source);
  }
}
