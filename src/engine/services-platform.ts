// What runs below services: one simulated kernel with the CPUs of all machines in use. In scheduled mode threads and network stacks are
// tasks of it; in dedicated mode its CPUs only draw power, or, without a machine profile, there are nothing but timers.

import { configFrom } from '../config/load.js';
import { loadMachine, type Machine } from '../config/machine.js';
import { domainCount } from '../config/placement.js';
import { machineOf, resolveConfig } from '../config/resolve.js';
import type { ResolvedConfig } from '../config/schema.js';
import { VtimeError } from '../errors.js';
import type { ResolvedExecution, ResolvedServices } from '../services/resolved.js';
import * as abi from './abi.js';
import type { Model } from './model.js';

/** Capacities of assembly/core/layout.ts. */
const MAX_CPUS = 512;
const MAX_PACKAGES = 16;
/** Of a network stack's realtime tasks; any would do, since they share no CPU with other realtime tasks. */
const INTERRUPT_PRIORITY = 50;

export interface Platform {
  config: ResolvedConfig;
  machine: Machine;
  /** First CPU of each services machine, where cores are CPUs: in scheduled mode, and with a machine profile. */
  firstCpu?: ReadonlyMap<number, number>;
}

export function platformOf(services: ResolvedServices): Platform {
  const { scheduled, profile } = services;
  if (scheduled === undefined && profile === undefined) {
    const config = configOf(services, { machine: 'ideal-1', ...NO_KERNEL });
    return { config, machine: machineOf(config) };
  }
  const used = [...new Set(services.instances.map(({ machine }) => machine))].sort((a, b) => a - b);
  const firstCpu = new Map<number, number>();
  let cpus = 0;
  for (const m of used) {
    firstCpu.set(m, cpus);
    cpus += cpusOf(services, m);
  }
  if (cpus > MAX_CPUS) {
    const who = profile === undefined ? 'scheduled mode' : 'the machine model';
    throw new VtimeError('services_cpus', `the machines in use have ${cpus} CPUs; ${who} has ${MAX_CPUS}`, {
      value: cpus,
      expected: `at most ${MAX_CPUS} CPUs in all`,
    });
  }
  const given = profile === undefined ? undefined : loadMachine(profile);
  const named = given === undefined || given.ideal ? `ideal-${cpus}` : { profile, governor: 'performance' };
  const config = configOf(services, {
    machine: named,
    ...(scheduled === undefined ? NO_KERNEL : { policy: policyOf(scheduled), kernel: scheduled.kernel }),
  });
  const one = given?.ideal ? given : machineOf(config);
  return { config, machine: joined(one, services, used, given !== undefined), firstCpu };
}

/** Nothing runs under it. */
const NO_KERNEL = { policy: 'eevdf', kernel: { watchdog_timeout: '0s' } } as const;

/** Domains are per machine, so the policy's own number of them is of the whole. */
function policyOf({ policy }: NonNullable<ResolvedServices['scheduled']>) {
  if (policy.name === 'bpf' && policy.domains !== undefined) {
    throw new VtimeError(
      'services_domains',
      'groups of CPUs belong to cgroups, which services have none of',
      {
        path: 'scheduled.policy.domains',
        expected: 'the object without them, or the native policy domains',
      },
    );
  }
  return 'domains' in policy ? { ...policy, domains: 1 } : policy;
}

/** CPUs of a machine: where threads are not pinned, oversubscription takes them from it. */
export function cpusOf({ scheduled, machines }: ResolvedServices, machine: number): number {
  const { cores } = machines[machine];
  return scheduled === undefined || scheduled.pinned ? cores : share(cores, scheduled.oversubscription);
}

/** Cores left of `cores` with so many threads on each. */
const share = (cores: number, oversubscription: number) => Math.max(1, Math.floor(cores / oversubscription));

/**
 * One machine with the CPUs of all machines in use, each in packages of its own. How fast services are is said by their file, at each of
 * their frequencies, so that work is done at one speed: turbo and governor of the profile do nothing.
 */
function joined(
  one: Machine,
  services: ResolvedServices,
  used: readonly number[],
  metered: boolean,
): Machine {
  const apart = metered || used.length <= MAX_PACKAGES;
  const cpus = used.flatMap((m, i) => {
    const count = cpusOf(services, m);
    if (!one.ideal && count > one.cpus.length) {
      const { name } = services.machines[m];
      throw new VtimeError('services_profile', `${name} has ${count} CPUs, its profile ${one.cpus.length}`, {
        value: count,
        expected: `at most ${one.cpus.length} CPUs`,
      });
    }
    const own = one.ideal
      ? Array.from({ length: count }, () => ({ package: 0, node: 0, llc: 0 }))
      : one.cpus.slice(0, count);
    return own.map(({ package: pkg, node, llc }) => ({
      package: apart ? i * one.packages + pkg : pkg,
      node: apart ? i * one.packages + node : node,
      llc: i * one.cpus.length + llc,
    }));
  });
  const packages = 1 + Math.max(...cpus.map((cpu) => cpu.package));
  if (packages > MAX_PACKAGES) {
    throw new VtimeError('services_packages', `${packages} packages in all`, {
      value: packages,
      expected: `at most ${MAX_PACKAGES}`,
    });
  }
  const mhz = one.reference_mhz;
  const turbo = [{ active_cores: cpus.length, mhz }];
  return { ...one, packages, cpus, min_mhz: mhz, base_mhz: mhz, max_mhz: mhz, turbo };
}

function configOf(
  { run, seed }: ResolvedServices,
  below: Pick<Parameters<typeof configFrom>[0] & object, never> & Record<string, unknown>,
): ResolvedConfig {
  return resolveConfig(
    configFrom({
      seed,
      ...below,
      // A config has something to run; here the services are it, and this is not encoded.
      workload: { tasks: [{ name: 'services', program: [{ run: '1ns' }] }] },
      run: {
        horizon: run.duration_ns === 0 ? 'none' : `${run.duration_ns}ns`,
        end: run.end,
        limit: run.limit_ns === 0 ? 'none' : `${run.limit_ns}ns`,
        warmup: run.warmup.method === 'fixed' ? `${run.warmup.ns}ns` : '0s',
      },
      output: { digest: false },
    }),
  );
}

/** Scheduling domains: each machine's CPUs in as many equal parts as the policy has domains. */
export class Domains {
  readonly #first = new Map<number, number>();
  readonly #size = new Map<number, number>();
  /** Of each machine: tasks that may be on any of its CPUs. */
  readonly #spread = new Map<number, number>();
  readonly #count: number | undefined;
  readonly #firstCpu: ReadonlyMap<number, number>;

  constructor(model: Model, services: ResolvedServices, firstCpu: ReadonlyMap<number, number>) {
    this.#firstCpu = firstCpu;
    const { policy } = services.scheduled!;
    this.#count = domainCount(policy);
    if (this.#count === undefined) return;
    const rows = model.section(abi.SECTION_DOMAINS);
    const count = this.#count;
    for (const [m, first] of firstCpu) {
      const { name } = services.machines[m];
      const all = cpusOf(services, m);
      if (all % count !== 0) {
        throw new VtimeError(
          'services_domains',
          `${all} CPUs of ${name} can't be divided into ${count} domains`,
          {
            value: count,
            expected: `a divisor of ${all}`,
          },
        );
      }
      this.#first.set(m, rows.count);
      this.#size.set(m, all / count);
      for (let d = 0; d < count; d++) {
        const cpus = Array.from({ length: all / count }, (_, i) => first + (d * all) / count + i);
        rows.u32(rows.add(), 0, model.mask(cpus));
      }
    }
  }

  /** Domain of a machine's task: that of the CPU it is pinned to, else one after the other in the order of the machine's tasks. */
  of(machine: number, cpu: number | undefined): number {
    if (this.#count === undefined) return abi.NONE;
    const first = this.#first.get(machine)!;
    if (cpu !== undefined) {
      return first + Math.floor((cpu - this.#firstCpu.get(machine)!) / this.#size.get(machine)!);
    }
    const ordinal = this.#spread.get(machine) ?? 0;
    this.#spread.set(machine, ordinal + 1);
    return first + (ordinal % this.#count);
  }
}

/** Cores of an instance after oversubscription. */
export function coresLeft({ scheduled }: ResolvedServices, { cores }: ResolvedExecution): number {
  return share(cores.length, scheduled?.oversubscription ?? 1);
}

/** Appends a task template for each thread of an instance, or server of one without threads; returns the first. */
export function addTemplates(
  model: Model,
  services: ResolvedServices,
  platform: Platform,
  domains: Domains,
  where: { machine: number; execution: ResolvedExecution; network: boolean; stats: number },
): number {
  const { pinned, policy, network: networkClass } = services.scheduled!;
  const { execution, machine, network, stats } = where;
  const first = platform.firstCpu!.get(machine)!;
  const number = cpusOf(services, machine);
  const all = Array.from({ length: number }, (_, i) => first + i);
  const left = execution.cores.slice(0, coresLeft(services, execution));
  // A core that is taken away is replaced by one that is left.
  const cpuOf = (core: number) =>
    first + (pinned ? left[execution.cores.indexOf(core) % left.length] : core % number);
  const own = (i: number) =>
    execution.kind === 'threads' ? (execution.pinned[i] ?? execution.cores) : [execution.cores[i]];
  const schedClass = network ? networkClass : policy.name === 'eevdf' ? 'fair' : 'ext';
  // Interrupts come to the CPUs that they are routed to.
  const stays = pinned || schedClass === 'realtime';
  const tasks = model.section(abi.SECTION_TASKS);
  const start = tasks.count;
  const count = execution.kind === 'threads' ? execution.number : execution.cores.length;
  for (let i = 0; i < count; i++) {
    const cpus = stays ? [...new Set(own(i).map(cpuOf))] : all;
    const row = tasks.add();
    tasks.u32(row, abi.TT_PC, 0);
    tasks.u32(row, abi.TT_CLASS, CLASSES[schedClass]);
    tasks.u32(row, abi.TT_WEIGHT, 1024);
    tasks.u32(row, abi.TT_MASK, model.mask(cpus));
    tasks.u32(row, abi.TT_STATS, stats);
    tasks.u32(
      row,
      abi.TT_DOMAIN,
      schedClass === 'ext' ? domains.of(machine, pinned ? cpus[0] : undefined) : abi.NONE,
    );
    tasks.u32(row, abi.TT_BACKGROUND, 1);
  }
  return start;
}

const CLASSES = {
  fair: abi.CLASS_FAIR,
  ext: abi.CLASS_EXT,
  realtime: abi.CLASS_REALTIME | (INTERRUPT_PRIORITY << 8),
} as const;
