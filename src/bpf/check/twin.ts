// A native policy and an object that should do the same: random parameters for the one, and the other's settings for them.

import { describePolicies } from '../../config/schema/policy.js';
import type { ConfigInput, ResolvedConfig } from '../../config/schema.js';
import type { Draws } from '../../draws.js';
import { twinOf } from '../loader-input.js';
import type { SettingValue } from '../object/settings.js';
import { readObject } from '../runtime/runtime.js';
import type { Workload } from '../torture/scenario.js';

export type PolicyInput = NonNullable<ConfigInput['policy']>;

const SLICES = ['1ms', '3ms', '7ms', '20ms'];

/** Parameters that are drawn for each workload if the policy is given by its name only. */
const VARIED: Record<string, Record<string, readonly unknown[]>> = {
  domains: { slice: SLICES, reset_every: [1, 3, 10], steal: ['neighbours', 'none'] },
  'domains-as-coded': {
    slice: SLICES,
    reset_every: [1, 3, 10],
    counts_enqueues: [false, true],
    sample: ['stopping', 'tick'],
    heartbeat: ['50ms', '1s'],
  },
  'global-fifo': { slice: SLICES, requeue: ['shared', 'shared', 'local'] },
  'global-vtime': { slice: SLICES, credit: ['slice', 'unlimited'] },
  'five-level': { slice: SLICES, order: ['weighted', 'strict'], starvation_limit: ['0s', '10ms'] },
  central: { slice: SLICES, timer: ['1ms', '5ms'] },
};

const hasDomains = new Set(
  describePolicies()
    .filter(({ parameters }) => parameters.some(({ name }) => name === 'domains'))
    .map(({ name }) => name),
);

/**
 * The policy `against` for a machine of `cpus` CPUs. A name leaves its parameters to the draws; a mapping is taken as it is.
 * Undefined if the machine can't be split into as many domains.
 */
export function variedPolicy(against: PolicyInput, draws: Draws, cpus: number): PolicyInput | undefined {
  if (typeof against !== 'string') return against;
  const [name, count] = against.split(':');
  const drawn = Object.entries(VARIED[name] ?? {}).map(([key, choices]) => [key, draws.pick(choices)]);
  const policy: Record<string, unknown> = { name, ...Object.fromEntries(drawn) };
  if (hasDomains.has(name)) {
    const divisors = Array.from({ length: cpus }, (_, i) => i + 1).filter((n) => cpus % n === 0 && n <= 16);
    policy.domains = count === undefined ? draws.pick(divisors) : Number(count);
    if (cpus % Number(policy.domains) !== 0) return undefined;
  }
  return policy as PolicyInput;
}

/** Puts some tasks into one domain or none; the others are spread over all. */
export function placeTasks(workload: Workload, policy: PolicyInput, draws: Draws): Workload {
  const domains = typeof policy === 'object' && 'domains' in policy ? policy.domains : undefined;
  if (typeof domains !== 'number') return workload;
  const tasks = (workload.workload.tasks ?? []).map((task) =>
    task.class === undefined && draws.chance(0.3)
      ? { ...task, domain: draws.pick(['none' as const, draws.whole(0, domains - 1)]) }
      : task,
  );
  return { ...workload, workload: { ...workload.workload, tasks } };
}

/**
 * The object as a policy that should do what `native` does: its variables are set from the native policy's parameters where
 * they have the same names, then from `rodata`.
 */
export function objectPolicy(
  object: string,
  native: ResolvedConfig['policy'],
  cpus: number,
  rodata: Readonly<Record<string, SettingValue>>,
): PolicyInput {
  const twin = twinOf(native, cpus);
  const { maps } = readObject(object).open.maps;
  const variables = new Set(maps.flatMap((map) => map.variables.map(({ name }) => name)));
  const settings = Object.entries(twin?.rodata ?? {})
    .filter(([name]) => variables.has(name) && name !== 'nr_groups')
    .map(([name, value]) => [name, typeof value === 'bigint' ? `${value}` : value]);
  return {
    name: 'bpf',
    object,
    rodata: { ...Object.fromEntries(settings), ...rodata },
    ...(twin === undefined || twin.flags.length === 0 ? {} : { flags: twin.flags }),
    ...('domains' in native && native.domains !== undefined ? { domains: native.domains } : {}),
  } as PolicyInput;
}
