// Fills in the defaults that depend on other sections, and checks what only the whole config can tell.

import { randomInt } from 'node:crypto';
import { VtimeError } from '../errors.js';
import { checkWorkload, programHas, runsForever } from './check.js';
import { checkWaits } from './check-waits.js';
import { loadMachine, type Machine } from './machine.js';
import { ConfigError, Mistakes, placesOf } from './mistakes.js';
import { checkDomains, domainCount, type Placement, resolveSpawn, resolveTask } from './placement.js';
import type {
  Config,
  ResolvedAssignment,
  ResolvedConfig,
  ResolvedKernel,
  ResolvedMachine,
  ResolvedRun,
  ResolvedServerless,
  Step,
} from './schema.js';
import { durationNs, formatDuration, milliwatts } from './units.js';

const MAX_WATCHDOG_NS = durationNs('30s');

/** A fresh seed for `seed: random`. */
export function drawSeed(): number {
  return randomInt(2 ** 48 - 1);
}

function profileOf(config: Config, mistakes: Mistakes): Machine | undefined {
  const { profile, idle_power, busy_power } = config.machine;
  if (!profile.startsWith('ideal-') && (idle_power !== undefined || busy_power !== undefined)) {
    const key = idle_power !== undefined ? 'idle_power' : 'busy_power';
    mistakes.add(['machine', key], `only ideal machines take a power; "${profile}" has its own`);
  }
  try {
    return loadMachine(profile);
  } catch (error) {
    if (!(error instanceof VtimeError)) throw error;
    mistakes.add(['machine', 'profile'], error.message);
    return undefined;
  }
}

/** The machine that a resolved config describes: its profile with the config's own values. */
export function machineOf({ machine }: Pick<ResolvedConfig, 'machine'>): Machine {
  const { profile, cpus, idle_states, idle_power, busy_power, governor, costs } = machine;
  const loaded = loadMachine(profile, {
    cpus,
    idle_states,
    ...(idle_power === undefined ? {} : { idle_power_mw: milliwatts(idle_power) }),
    ...(busy_power === undefined ? {} : { busy_power_mw: milliwatts(busy_power) }),
  });
  return {
    ...loaded,
    governor,
    costs: {
      context_switch_ns: Number(durationNs(costs.context_switch)),
      migration_llc_ns: Number(durationNs(costs.migration_llc)),
      migration_node_ns: Number(durationNs(costs.migration_node)),
      dispatch_ns: Number(durationNs(costs.dispatch)),
    },
  };
}

function resolveMachine(config: Config, machine: Machine, mistakes: Mistakes): ResolvedMachine {
  const { costs } = machine;
  const given = config.machine;
  const available = machine.cpus.length;
  if (given.cpus !== undefined && given.cpus > available) {
    mistakes.add(['machine', 'cpus'], `"${given.profile}" has ${available} CPUs, not ${given.cpus}`);
  }
  return {
    ...given,
    governor: given.governor ?? machine.governor,
    cpus: given.cpus ?? available,
    costs: {
      context_switch: given.costs.context_switch ?? formatDuration(BigInt(costs.context_switch_ns)),
      migration_llc: given.costs.migration_llc ?? formatDuration(BigInt(costs.migration_llc_ns)),
      migration_node: given.costs.migration_node ?? formatDuration(BigInt(costs.migration_node_ns)),
      dispatch: given.costs.dispatch ?? formatDuration(BigInt(costs.dispatch_ns)),
    },
  };
}

/** The kernel's own base slice: 0.75 ms (7.3: 0.7 ms) × (1 + ilog2(min(CPUs, 8))). */
function kernelBaseSlice(version: Config['kernel']['version'], cpus: number): string {
  const unit = version === '7.3' ? 700_000 : 750_000;
  return formatDuration(BigInt(unit * (1 + Math.floor(Math.log2(Math.min(cpus, 8))))));
}

function resolveKernel(config: Config, profile: Machine, cpus: number, mistakes: Mistakes): ResolvedKernel {
  const { kernel, policy } = config;
  const ofPolicy = policy.name === 'eevdf' ? policy.base_slice : undefined;
  if (ofPolicy !== undefined && kernel.base_slice !== undefined && ofPolicy !== kernel.base_slice) {
    mistakes.add(['policy', 'base_slice'], `kernel.base_slice already says ${kernel.base_slice}`);
  }
  if (durationNs(kernel.watchdog_timeout) > MAX_WATCHDOG_NS) {
    mistakes.add(['kernel', 'watchdog_timeout'], 'the kernel allows at most 30s');
  }
  return {
    ...kernel,
    slice_expiry: kernel.slice_expiry ?? profile.slice_expiry,
    base_slice: ofPolicy ?? kernel.base_slice ?? kernelBaseSlice(kernel.version, cpus),
    group_scheduling:
      kernel.group_scheduling ??
      (config.workload.serverless !== undefined || config.workload.cgroups.length > 0),
  };
}

function resolvePolicy(policy: Config['policy'], kernel: ResolvedKernel, cpus: number): Config['policy'] {
  if (policy.name === 'eevdf') return { ...policy, base_slice: kernel.base_slice };
  if (policy.name !== 'domains-as-coded') return policy;
  return { ...policy, pinned_cpus: policy.pinned_cpus ?? Math.max(1, Math.floor(cpus / 2)) };
}

type GivenAssignment = NonNullable<Config['workload']['serverless']>['assignment'];

/** Whose the keys of an assignment are. */
const ASSIGNMENT_KEYS = {
  bucket_size: ['iatchbl', 'iatchbl-as-coded'],
  on_full: ['iatchbl', 'first-fit', 'warm-core-maximus'],
  retry: ['iatchbl-as-coded'],
  rebalance: ['consistent-hash'],
  base: ['guardrails'],
  tightness: ['guardrails'],
  map: ['static'],
  otherwise: ['static'],
} as const satisfies Partial<Record<keyof GivenAssignment, readonly string[]>>;

function resolveAssignment(
  given: GivenAssignment,
  { domains, policy, mistakes }: Placement,
): ResolvedAssignment {
  const path = ['workload', 'serverless', 'assignment'];
  const name = given.policy ?? (domains === undefined ? 'none' : 'iatchbl');
  if (name !== 'none' && domains === undefined) {
    mistakes.add([...path, 'policy'], `policy ${policy.name} has no domains to assign invocations to`);
  }
  for (const [key, owners] of Object.entries(ASSIGNMENT_KEYS)) {
    if (Reflect.get(given, key) === undefined || (owners as readonly string[]).includes(name)) continue;
    const who = key === 'bucket_size' ? 'IATCHBL' : owners.join(', ');
    mistakes.add([...path, key], `only ${who} has it; the assignment here is ${name}`);
  }
  for (const [id, domain] of [...Object.entries(given.map ?? {}), ['otherwise', given.otherwise] as const]) {
    if (typeof domain !== 'number' || domains === undefined || domain < domains) continue;
    const place = id === 'otherwise' ? [...path, id] : [...path, 'map', id];
    mistakes.add(place, `there are domains 0 to ${domains - 1}, not ${domain}`);
  }
  const bucket_size = given.bucket_size ?? '4s';
  const on_full = given.on_full ?? 'unmapped';
  switch (name) {
    case 'iatchbl':
      return { policy: name, bucket_size, on_full };
    case 'iatchbl-as-coded':
      return { policy: name, bucket_size, retry: given.retry ?? '200ms' };
    case 'first-fit':
    case 'warm-core-maximus':
      return { policy: name, on_full };
    case 'consistent-hash':
      return { policy: name, rebalance: given.rebalance ?? 'none' };
    case 'guardrails':
      return { policy: name, base: given.base ?? 2, tightness: given.tightness ?? 1 };
    case 'static':
      return { policy: name, map: given.map ?? {}, otherwise: given.otherwise ?? 'unmapped' };
    default:
      return { policy: name };
  }
}

function checkWorkerQueue(
  { worker }: NonNullable<Config['workload']['serverless']>,
  assignment: ResolvedAssignment,
  mistakes: Mistakes,
): void {
  if (worker.queue !== 'none') return;
  const path = ['workload', 'serverless', 'worker'];
  const waits =
    assignment.policy === 'iatchbl-as-coded' || ('on_full' in assignment && assignment.on_full === 'wait');
  if (waits)
    mistakes.add([...path, 'queue'], `without a queue ${assignment.policy} cannot wait for a domain`);
  for (const key of ['queue_limit', 'bypass'] as const) {
    if (worker[key] !== undefined) mistakes.add([...path, key], 'there is no queue');
  }
}

function resolveServerless(
  given: NonNullable<Config['workload']['serverless']>,
  placement: Placement,
): ResolvedServerless {
  const path = ['workload', 'serverless'];
  const isClosed = given.loop === 'closed';
  for (const key of ['load_scale', 'offered_load'] as const) {
    if (isClosed && given[key] !== undefined) {
      placement.mistakes.add([...path, key], 'a closed loop sets its own load');
    }
  }
  const { load_scale, ...rest } = given;
  const assignment = resolveAssignment(given.assignment, placement);
  checkWorkerQueue(given, assignment, placement.mistakes);
  const { keep_alive } = given;
  const timed = keep_alive.policy === 'fixed' || keep_alive.policy === 'histogram';
  return {
    ...rest,
    keep_alive: {
      ...keep_alive,
      ...(timed ? { time: keep_alive.time ?? '10min' } : {}),
      ...(keep_alive.policy === 'histogram' ? { bin: keep_alive.bin ?? '1min' } : {}),
    },
    ...(given.offered_load === undefined && !isClosed ? { load_scale: load_scale ?? 1 } : {}),
    ...(isClosed
      ? { closed: given.closed ?? { clients_per_function: 1, invocations: 200, think: '0s' } }
      : {}),
    assignment,
  };
}

/** CPUs that exist, one of them always online. */
function checkEvents(events: Config['run']['events'], cpus: number, mistakes: Mistakes): void {
  const offline = new Set<number>();
  const inOrder = [...events.entries()].sort(([, a], [, b]) => Number(durationNs(a.at) - durationNs(b.at)));
  for (const [i, event] of inOrder) {
    const [key, cpu] = 'offline' in event ? ['offline', event.offline] : ['online', event.online];
    const path = ['run', 'events', i, key];
    if (cpu >= cpus) mistakes.add(path, `the machine has CPUs 0-${cpus - 1}, not ${cpu}`);
    else if (key === 'online') offline.delete(cpu);
    else offline.add(cpu);
    if (offline.size === cpus) mistakes.add(path, 'the last CPU cannot go offline');
  }
}

function resolveRun(config: Config, mistakes: Mistakes): ResolvedRun {
  const { run, workload } = config;
  const { serverless, arrivals } = workload;
  const ends = arrivals.every(({ max_arrivals, times }) => max_arrivals !== undefined || times !== undefined);
  const isOpen = serverless?.loop === 'open';
  const horizon = run.horizon ?? (isOpen ? 'trace' : 'none');
  if (horizon === 'trace' && !isOpen) {
    mistakes.add(['run', 'horizon'], 'there is no open-loop trace whose end could be the horizon');
  }
  if (horizon === 'none' && run.end === 'horizon') {
    mistakes.add(['run', 'horizon'], 'missing; end: horizon needs a time, like "60s"');
  } else if (horizon === 'none' && !ends) {
    mistakes.add(
      ['run', 'horizon'],
      'missing; the sources never end by themselves: give the last arrival time, like "60s", or max_arrivals',
    );
  }
  const known = horizon === 'trace' || horizon === 'none' ? undefined : durationNs(horizon);
  if (known !== undefined && run.warmup !== 'mser-5' && durationNs(run.warmup) >= known) {
    mistakes.add(['run', 'warmup'], `leaves nothing to measure before the horizon of ${horizon}`);
  }
  let { limit } = run;
  if (limit === 'auto' && horizon !== 'trace') {
    limit = known === undefined ? 'none' : formatDuration(10n * known);
  }
  if (limit === 'none' && horizon === 'none' && runsForever(workload)) {
    mistakes.add(['run', 'limit'], 'missing; a task runs forever, so the run needs a limit or end: horizon');
  }
  return { ...run, horizon, limit };
}

/**
 * Everything filled in. Pure except that `seed: random` draws a seed and that a machine profile may be read.
 * Throws a ConfigError with all mistakes; a config with a sweep is resolved cell by cell, not here.
 */
export function resolveConfig(config: Config): ResolvedConfig {
  const locate = placesOf(config);
  const mistakes = new Mistakes();
  if (config.sweep !== undefined) mistakes.add(['sweep'], 'a sweep is run with `vtime sweep`');
  checkWorkload(config.workload, mistakes);
  if (mistakes.list.length === 0) checkWaits(config.workload, mistakes);
  const profile = profileOf(config, mistakes);
  if (profile === undefined) {
    mistakes.throwIfAny(locate);
    throw new ConfigError(mistakes.list);
  }
  const machine = resolveMachine(config, profile, mistakes);
  const { cpus } = machine;
  const kernel = resolveKernel(config, profile, cpus, mistakes);
  const { policy, workload } = config;
  checkDomains(policy, cpus, mistakes);
  if (policy.name === 'central' && policy.cpu >= cpus) {
    mistakes.add(['policy', 'cpu'], `the machine has CPUs 0-${cpus - 1}, not ${policy.cpu}`);
  }
  // A poll has no end that could be computed, and would keep its CPU from those it waits for.
  const polls = (step: Step) =>
    typeof step !== 'string' &&
    ('spin' in step ||
      'spin_until' in step ||
      'spin_share' in step ||
      /"(join|wait)":"spin"/.test(JSON.stringify(step)));
  const given = [...workload.tasks, ...workload.arrivals.flatMap(({ spawn }) => spawn ?? [])];
  if (
    policy.name === 'processor-sharing' &&
    given.some(({ program }) => programHas(program, workload.programs, polls))
  ) {
    mistakes.add(['policy'], 'processor-sharing serves work, and a program here polls');
  }
  if (policy.name === 'processor-sharing' && !machine.profile.startsWith('ideal-')) {
    mistakes.add(['policy'], 'processor-sharing has no costs and one speed: it needs an ideal machine');
  }
  const placement: Placement = {
    cpus,
    domains: domainCount(policy),
    policy,
    kernel: kernel.version,
    mistakes,
  };
  const tasks = workload.tasks.map((task, i) => resolveTask(task, ['workload', 'tasks', i], placement));
  const arrivals = workload.arrivals.map(({ spawn, ...source }, i) => ({
    ...source,
    ...(source.clients === undefined ? {} : { think: source.think ?? '0s' }),
    ...(spawn === undefined
      ? {}
      : { spawn: resolveSpawn(spawn, ['workload', 'arrivals', i, 'spawn'], placement) }),
  }));
  const { serverless: trace, ...restOfWorkload } = workload;
  const serverless = trace === undefined ? undefined : resolveServerless(trace, placement);
  const run = resolveRun(config, mistakes);
  checkEvents(run.events, cpus, mistakes);
  mistakes.throwIfAny(locate);

  const { sweep: _sweep, ...rest } = config;
  return {
    ...rest,
    seed: config.seed === 'random' ? drawSeed() : config.seed,
    machine,
    kernel,
    policy: resolvePolicy(policy, kernel, machine.cpus),
    workload: { ...restOfWorkload, tasks, arrivals, ...(serverless === undefined ? {} : { serverless }) },
    run,
  };
}
