// What a machine profile may say, checked: its schema, and what only the whole of it can tell.

import * as z from 'zod';
import { VtimeError } from '../errors.js';
import { section, show } from './schema/values.js';

export const GOVERNORS = ['performance', 'schedutil', 'hwp', 'powersave'] as const;
export type Governor = (typeof GOVERNORS)[number];

/** Capacities of assembly/core/layout.ts. */
export const MAX_CPUS = 512;
const MAX_PACKAGES = 16;
const MAX_NODES = 64;
const MAX_IDLE_STATES = 8;
const MAX_TURBO_ROWS = 64;
const MAX_POWER_ROWS = 256;
/** Bin 1023 of the engine's busy time by frequency. */
const MAX_MHZ = 10_230;

const whole = (minimum: number, maximum = Number.MAX_SAFE_INTEGER) =>
  z
    .number({ error: (issue) => `expected a whole number, got ${show(issue.input)}` })
    .int({ error: (issue) => `expected a whole number, got ${show(issue.input)}` })
    .min(minimum, { error: (issue) => `expected at least ${minimum}, got ${show(issue.input)}` })
    .max(maximum, { error: (issue) => `expected at most ${maximum}, got ${show(issue.input)}` });
const mhz = whole(1, MAX_MHZ);
const mw = whole(0, 1_000_000_000);
const ns = whole(0);

export const profileSchema = section({
  name: z.string(),
  description: z.string().optional(),
  packages: whole(1, MAX_PACKAGES),
  cores_per_package: whole(1, MAX_CPUS),
  nodes_per_package: whole(1).default(1),
  llcs_per_package: whole(1).default(1),
  reference_mhz: mhz,
  min_mhz: mhz,
  base_mhz: mhz,
  turbo: z
    .array(section({ active_cores: whole(1), mhz }))
    .min(1)
    .max(MAX_TURBO_ROWS),
  idle_states: z
    .array(
      section({
        name: z.string(),
        exit_ns: ns,
        residency_ns: ns,
        power_mw: mw,
        inactive: z.boolean().default(false),
      }),
    )
    .max(MAX_IDLE_STATES),
  core_power: z.array(section({ mhz, mw })).min(1).max(MAX_POWER_ROWS).optional(),
  core_power_model: section({
    base_mw: mw,
    voltage: z.array(section({ mhz, mv: whole(1) })).min(1),
    full_load: section({ busy_cores: whole(1), mhz, package_mw: mw }),
  }).optional(),
  uncore_mw: mw,
  uncore_idle_mw: mw,
  tdp_mw: mw,
  governor: z.enum(GOVERNORS, {
    error: (issue) => `expected one of ${GOVERNORS.join(', ')}, got ${show(issue.input)}`,
  }),
  slice_expiry: z.enum(['tick', 'exact']).default('tick'),
  frequency_interval_ns: whole(1),
  frequency_ramp_ns: ns,
  costs: section({ context_switch_ns: ns, migration_llc_ns: ns, migration_node_ns: ns, dispatch_ns: ns }),
});
export type Profile = z.output<typeof profileSchema>;

const watts = z.number().min(0).max(1_000_000).default(0);
export const idealSchema = section({
  name: z.string().optional(),
  idle_power_w: watts,
  busy_power_w: watts,
  /** The one frequency. */
  mhz: mhz.default(1),
  /** With mhz = reference_mhz, run lengths are times. */
  reference_mhz: mhz.optional(),
});

export function parse<T>(schema: z.ZodType<T>, value: unknown, file: string | undefined): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const missing = issue.code === 'invalid_type' && /received undefined/.test(issue.message);
  const message = missing ? `missing; expected a ${issue.expected}` : issue.message;
  throw new VtimeError('machine_profile', message, { file, path: issue.path.join('.') || undefined });
}

export function refuse(
  message: string,
  path: string,
  value: unknown,
  expected: string,
  file?: string,
): never {
  throw new VtimeError('machine_profile', message, { file, path, value, expected });
}

function ascending(values: readonly number[], strictly: boolean): boolean {
  return values.every((v, i) => i === 0 || v > values[i - 1] || (!strictly && v === values[i - 1]));
}

export function checkProfile(profile: Profile, file: string | undefined): void {
  const { packages, cores_per_package: cores, turbo, idle_states, core_power } = profile;
  const limits = turbo.map((row) => row.mhz);
  if (packages * cores > MAX_CPUS) {
    refuse(`${packages * cores} CPUs`, 'cores_per_package', cores, `at most ${MAX_CPUS} CPUs`, file);
  }
  if (packages * profile.nodes_per_package > MAX_NODES) {
    refuse('too many nodes', 'nodes_per_package', profile.nodes_per_package, `at most ${MAX_NODES}`, file);
  }
  for (const key of ['nodes_per_package', 'llcs_per_package'] as const) {
    if (cores % profile[key] === 0) continue;
    refuse(`${cores} cores don't divide into ${profile[key]}`, key, profile[key], 'a divisor', file);
  }
  if (profile.llcs_per_package % profile.nodes_per_package !== 0) {
    const value = profile.llcs_per_package;
    refuse('an LLC spans two nodes', 'llcs_per_package', value, 'a multiple of nodes_per_package', file);
  }
  if (
    !ascending(
      turbo.map((row) => row.active_cores),
      true,
    ) ||
    !ascending(limits.toReversed(), false)
  ) {
    refuse('turbo rows are out of order', 'turbo', turbo, 'more active cores, no higher limit', file);
  }
  if (turbo[turbo.length - 1].active_cores < cores) {
    refuse('the turbo table ends too early', 'turbo', turbo, `a last row of ${cores} active cores`, file);
  }
  if (profile.min_mhz > profile.base_mhz || profile.min_mhz > limits[limits.length - 1]) {
    const value = profile.min_mhz;
    refuse(
      'the lowest frequency is above others',
      'min_mhz',
      value,
      'at most base_mhz and every limit',
      file,
    );
  }
  const deeper = (key: 'exit_ns' | 'residency_ns') =>
    ascending(
      idle_states.map((state) => state[key]),
      false,
    );
  const saves = ascending(
    idle_states.map((state) => -state.power_mw),
    false,
  );
  if (!deeper('exit_ns') || !deeper('residency_ns') || !saves) {
    refuse('idle states are out of order', 'idle_states', idle_states, 'shallow to deep', file);
  }
  if ((core_power === undefined) === (profile.core_power_model === undefined)) {
    refuse('not one power model', 'core_power', core_power, 'either core_power or core_power_model', file);
  }
  if (
    core_power &&
    !ascending(
      core_power.map((row) => row.mhz),
      true,
    )
  ) {
    refuse('power rows are out of order', 'core_power', core_power, 'ascending frequencies', file);
  }
}
