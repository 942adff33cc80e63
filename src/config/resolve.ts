// Fills in the defaults that depend on other sections, and checks what only the whole config can tell.

import { randomInt } from 'node:crypto';
import { VtimeError } from '../errors.js';
import { checkWorkload, runsForever } from './check.js';
import { loadMachine, type Machine } from './machine.js';
import { ConfigError, Mistakes, placesOf } from './mistakes.js';
import type {
  Config,
  Policy,
  ResolvedAssignment,
  ResolvedConfig,
  ResolvedKernel,
  ResolvedMachine,
  ResolvedRun,
  ResolvedServerless,
  ResolvedSource,
  ResolvedTask,
} from './schema.js';
import { durationNs, formatDuration, parseCpuList } from './units.js';

const MAX_WATCHDOG_NS = durationNs('30s');

/** A fresh seed for `seed: random`. */
export function drawSeed(): number {
  return randomInt(2 ** 48 - 1);
}

function machineOf(config: Config, mistakes: Mistakes): Machine | undefined {
  const { profile, idle_power, busy_power } = config.machine;
  const ideal = isIdeal(config);
  if (!ideal && (idle_power !== undefined || busy_power !== undefined)) {
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

function isIdeal(config: Config): boolean {
  return /^ideal-\d+$/.test(config.machine.profile);
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

function resolveKernel(config: Config, cpus: number, mistakes: Mistakes): ResolvedKernel {
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
    slice_expiry: kernel.slice_expiry ?? (isIdeal(config) ? 'exact' : 'tick'),
    base_slice: ofPolicy ?? kernel.base_slice ?? kernelBaseSlice(kernel.version, cpus),
  };
}

/** CPUs of each scheduling domain, or undefined for a policy without domains. */
export function policyDomains(policy: Policy, cpus: number): number[][] | undefined {
  if (policy.name !== 'domains' && policy.name !== 'weighted-vtime') return undefined;
  if (typeof policy.domains !== 'number') return policy.domains.map(parseCpuList);
  const size = cpus / policy.domains;
  return Array.from({ length: policy.domains }, (_, domain) =>
    Array.from({ length: size }, (_, i) => domain * size + i),
  );
}

function checkDomains(policy: Policy, cpus: number, mistakes: Mistakes): void {
  if (policy.name !== 'domains' && policy.name !== 'weighted-vtime') return;
  const path = ['policy', 'domains'];
  if (typeof policy.domains === 'number') {
    if (cpus % policy.domains !== 0) {
      mistakes.add(
        path,
        `${cpus} CPUs can't be divided into ${policy.domains} equal domains; ` +
          'choose a divisor or list the CPUs of each domain',
      );
    }
    return;
  }
  const owner = new Map<number, number>();
  policy.domains.forEach((list, domain) => {
    for (const cpu of parseCpuList(list)) {
      const other = owner.get(cpu);
      if (other !== undefined) {
        mistakes.add([...path, domain], `CPU ${cpu} is already in domain ${other}`);
        return;
      }
      owner.set(cpu, domain);
    }
    checkCpus(list, cpus, [...path, domain], mistakes);
  });
}

function checkCpus(list: string, cpus: number, path: (string | number)[], mistakes: Mistakes): void {
  if (list === 'all') return;
  const last = Math.max(...parseCpuList(list));
  if (last >= cpus) mistakes.add(path, `the machine has CPUs 0-${cpus - 1}, not ${last}`);
}

interface Surroundings {
  cpus: number;
  /** Undefined: the policy has none. */
  domains: number | undefined;
  policy: Policy;
  mistakes: Mistakes;
}

/** What tasks and spawned tasks have in common: class, mask, domain. */
function placeTask<Spread extends string>(
  given: { class?: 'ext' | 'fair'; cpus: string; domain?: number | Spread | 'none' },
  spread: Spread,
  path: (string | number)[],
  { cpus, domains, policy, mistakes }: Surroundings,
): { class: 'ext' | 'fair'; domain: number | Spread | 'none' } {
  const schedulingClass = given.class ?? (policy.name === 'eevdf' ? 'fair' : 'ext');
  if (schedulingClass === 'ext' && policy.name === 'eevdf') {
    mistakes.add([...path, 'class'], 'policy eevdf has no ext class; leave class out to follow the policy');
  }
  checkCpus(given.cpus, cpus, [...path, 'cpus'], mistakes);
  if (typeof given.domain === 'number') {
    if (domains === undefined) {
      mistakes.add([...path, 'domain'], `policy ${policy.name} has no domains`);
    } else if (given.domain >= domains) {
      mistakes.add([...path, 'domain'], `there are domains 0 to ${domains - 1}, not ${given.domain}`);
    }
  }
  // "Spread over the domains" is also true of no domains, so that one workload fits every policy of a sweep.
  const placed = domains === undefined || schedulingClass === 'fair' ? 'none' : (given.domain ?? spread);
  return { class: schedulingClass, domain: placed };
}

function resolveAssignment(
  given: NonNullable<Config['workload']['serverless']>['assignment'],
  { domains, policy, mistakes }: Surroundings,
): ResolvedAssignment {
  const path = ['workload', 'serverless', 'assignment'];
  const name = given.policy ?? (domains === undefined ? 'none' : 'iatchbl');
  if (name !== 'none' && domains === undefined) {
    mistakes.add([...path, 'policy'], `policy ${policy.name} has no domains to assign invocations to`);
  }
  if (name === 'iatchbl') {
    return { policy: name, bucket_size: given.bucket_size ?? '4s', on_full: given.on_full ?? 'unmapped' };
  }
  for (const key of ['bucket_size', 'on_full'] as const) {
    if (given[key] !== undefined) {
      mistakes.add([...path, key], `only IATCHBL has it; the assignment here is ${name}`);
    }
  }
  return { policy: name };
}

function resolveServerless(
  given: NonNullable<Config['workload']['serverless']>,
  surroundings: Surroundings,
): ResolvedServerless {
  const path = ['workload', 'serverless'];
  const isClosed = given.loop === 'closed';
  for (const key of ['load_scale', 'offered_load'] as const) {
    if (isClosed && given[key] !== undefined) {
      surroundings.mistakes.add([...path, key], 'a closed loop sets its own load');
    }
  }
  const { load_scale, ...rest } = given;
  return {
    ...rest,
    ...(given.offered_load === undefined ? { load_scale: load_scale ?? 1 } : {}),
    ...(isClosed
      ? { closed: given.closed ?? { clients_per_function: 1, invocations: 200, think: '0s' } }
      : {}),
    assignment: resolveAssignment(given.assignment, surroundings),
  };
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
  if (known !== undefined && durationNs(run.warmup) >= known) {
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
  const profile = machineOf(config, mistakes);
  if (profile === undefined) {
    mistakes.throwIfAny(locate);
    throw new ConfigError(mistakes.list);
  }
  const machine = resolveMachine(config, profile, mistakes);
  const { cpus } = machine;
  const kernel = resolveKernel(config, cpus, mistakes);
  const { policy, workload } = config;
  checkDomains(policy, cpus, mistakes);
  const given = 'domains' in policy ? policy.domains : undefined;
  const domains = typeof given === 'object' ? given.length : given;
  const surroundings: Surroundings = { cpus, domains, policy, mistakes };

  const tasks: ResolvedTask[] = workload.tasks.map((task, i) => ({
    ...task,
    ...placeTask(task, 'spread', ['workload', 'tasks', i], surroundings),
  }));
  const arrivals: ResolvedSource[] = workload.arrivals.map(({ spawn, ...source }, i) => ({
    ...source,
    ...(source.clients === undefined ? {} : { think: source.think ?? '0s' }),
    ...(spawn === undefined
      ? {}
      : {
          spawn: {
            ...spawn,
            ...placeTask(spawn, 'round-robin', ['workload', 'arrivals', i, 'spawn'], surroundings),
          },
        }),
  }));
  const { serverless: trace, ...restOfWorkload } = workload;
  const serverless = trace === undefined ? undefined : resolveServerless(trace, surroundings);
  const run = resolveRun(config, mistakes);
  mistakes.throwIfAny(locate);

  const { sweep: _sweep, ...rest } = config;
  return {
    ...rest,
    seed: config.seed === 'random' ? drawSeed() : config.seed,
    machine,
    kernel,
    policy: policy.name === 'eevdf' ? { ...policy, base_slice: kernel.base_slice } : policy,
    workload: { ...restOfWorkload, tasks, arrivals, ...(serverless === undefined ? {} : { serverless }) },
    run,
  };
}
