// Which CPUs and domains the policy and the tasks mean, on a machine of so many CPUs.

import type { Mistakes, Path } from './mistakes.js';
import type { Config, Policy, ResolvedSpawn, ResolvedTask } from './schema.js';
import { parseCpuList } from './units.js';

/** CPUs of each scheduling domain, or undefined for a policy without domains. */
export function policyDomains(policy: Policy, cpus: number): number[][] | undefined {
  if (!('domains' in policy) || policy.domains === undefined) return undefined;
  if (typeof policy.domains !== 'number') return policy.domains.map(parseCpuList);
  const size = cpus / policy.domains;
  return Array.from({ length: policy.domains }, (_, domain) =>
    Array.from({ length: size }, (_, i) => domain * size + i),
  );
}

export function checkDomains(policy: Policy, cpus: number, mistakes: Mistakes): void {
  if (!('domains' in policy) || policy.domains === undefined) return;
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

function checkCpus(list: string, cpus: number, path: Path, mistakes: Mistakes): void {
  if (list === 'all') return;
  const last = Math.max(...parseCpuList(list));
  if (last >= cpus) mistakes.add(path, `the machine has CPUs 0-${cpus - 1}, not ${last}`);
}

/** Number of scheduling domains, or undefined for a policy without them. */
export function domainCount(policy: Policy): number | undefined {
  if (!('domains' in policy) || policy.domains === undefined) return undefined;
  return typeof policy.domains === 'number' ? policy.domains : policy.domains.length;
}

/** What decides where a task may be. */
export interface Placement {
  cpus: number;
  /** Undefined: the policy has none. */
  domains: number | undefined;
  policy: Policy;
  kernel: Config['kernel']['version'];
  mistakes: Mistakes;
}

/** `sched_prio_to_weight` of the kernel (kernel/sched/core.c): the weight of each nice value from −20 to 19. */
export const NICE_WEIGHTS = [
  88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904, 3906, 3121,
  2501, 1991, 1586, 1277, 1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, 110, 87, 70, 56, 45, 36, 29, 23,
  18, 15,
];

function weightOf({ weight, priority }: { weight?: number; priority?: number }): number {
  return weight ?? NICE_WEIGHTS[(priority ?? 0) + 20];
}

type SchedulingClass = 'ext' | 'fair' | 'realtime';

/** What tasks and spawned tasks have in common: class, mask, domain. */
function placeTask<Spread extends string>(
  given: {
    class?: SchedulingClass;
    cpus: string;
    domain?: number | Spread | 'none';
    cgroup?: string;
    slice?: string;
  },
  spread: Spread,
  path: Path,
  { cpus, domains, policy, kernel, mistakes }: Placement,
): { class: SchedulingClass; domain: number | Spread | 'none' } {
  const schedulingClass = given.class ?? (policy.name === 'eevdf' ? 'fair' : 'ext');
  if (schedulingClass === 'ext' && policy.name === 'eevdf') {
    mistakes.add([...path, 'class'], 'policy eevdf has no ext class; leave class out to follow the policy');
  }
  if (given.slice !== undefined) {
    if (schedulingClass !== 'fair') {
      mistakes.add(
        [...path, 'slice'],
        `fair tasks ask for slices, and this one is in the ${schedulingClass} class`,
      );
    } else if (kernel === '6.11-scx') {
      mistakes.add(
        [...path, 'slice'],
        'kernel 6.11-scx gives all fair tasks the same slice; 6.12 and 7.3 ask them',
      );
    }
  }
  checkCpus(given.cpus, cpus, [...path, 'cpus'], mistakes);
  if (typeof given.domain === 'number') {
    if (schedulingClass !== 'ext') {
      mistakes.add(
        [...path, 'domain'],
        `domains hold ext tasks only, and this one is in the ${schedulingClass} class`,
      );
    } else if (domains === undefined) {
      mistakes.add([...path, 'domain'], `policy ${policy.name} has no domains`);
    } else if (given.domain >= domains) {
      mistakes.add([...path, 'domain'], `there are domains 0 to ${domains - 1}, not ${given.domain}`);
    }
  }
  // "Spread over the domains" is also true of no domains, so that one workload fits every policy of a sweep.
  const none = domains === undefined || schedulingClass !== 'ext' || given.cgroup !== undefined;
  const placed = none ? 'none' : (given.domain ?? spread);
  return { class: schedulingClass, domain: placed };
}

export function resolveTask(
  { priority, ...task }: Config['workload']['tasks'][number],
  path: Path,
  placement: Placement,
): ResolvedTask {
  return {
    ...task,
    weight: weightOf({ ...task, priority }),
    ...placeTask(task, 'spread', path, placement),
  };
}

export function resolveSpawn(
  { priority, ...spawn }: NonNullable<Config['workload']['arrivals'][number]['spawn']>,
  path: Path,
  placement: Placement,
): ResolvedSpawn {
  return {
    ...spawn,
    weight: weightOf({ ...spawn, priority }),
    ...placeTask(spawn, 'round-robin', path, placement),
  };
}
