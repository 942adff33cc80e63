// Machine profiles: JSON files in data/machines (or the user's), and ideal machines of any size for closed forms.
//
// A profile's numbers carry their unit in the key. Any value may be written as { value, source, estimate? }, where
// source is a key of `references`. A profile may `extend` another and replace some of its keys.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, isAbsolute, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as z from 'zod';
import { nearestName, VtimeError } from '../errors.js';
import { busyMw, limitTurboToTdp, type PowerRow, powerRows, type TurboRow } from './machine-power.js';
import { section, show } from './schema/values.js';

export const GOVERNORS = ['performance', 'schedutil', 'hwp', 'powersave'] as const;
export type Governor = (typeof GOVERNORS)[number];

export interface IdleState {
  name: string;
  exit_ns: number;
  /** Shortest stay that pays off. */
  residency_ns: number;
  power_mw: number;
  /** Whether a core in this state leaves its share of turbo to others. */
  inactive: boolean;
}

export interface Machine {
  name: string;
  packages: number;
  /** In the order of CPU numbers. */
  cpus: { package: number; node: number; llc: number }[];
  /** Frequency in which run lengths are stated. */
  reference_mhz: number;
  min_mhz: number;
  base_mhz: number;
  max_mhz: number;
  /** Ascending; the last row holds for a whole package. Within the TDP. */
  turbo: TurboRow[];
  /** Shallow to deep; none: idling costs and draws nothing. */
  idle_states: IdleState[];
  /** Power of a busy core, ascending. */
  core_power: PowerRow[];
  /** Of one package while one of its cores is busy. */
  uncore_mw: number;
  uncore_idle_mw: number;
  /** Of one package; 0 = no limit. */
  tdp_mw: number;
  governor: Governor;
  /** How slices end unless the config says otherwise. */
  slice_expiry: 'tick' | 'exact';
  /** A package's frequencies are set at most once in this time. */
  frequency_interval_ns: number;
  /** From min_mhz to max_mhz under hwp. */
  frequency_ramp_ns: number;
  costs: {
    context_switch_ns: number;
    /** Refill after running in another last-level cache of the same node. */
    migration_llc_ns: number;
    /** Refill after running on another node. */
    migration_node_ns: number;
    /** CPU time of one BPF dispatch. */
    dispatch_ns: number;
  };
  /** Source of each value that states one, by path in the profile; estimates say so. */
  sources: Record<string, string>;
}

export interface MachineOverrides {
  /** Only the first CPUs; the others are offline. */
  cpus?: number;
  /** false: cores idle in the shallowest state only. */
  idle_states?: boolean;
  /** Ideal machines only. */
  idle_power_mw?: number;
  /** Ideal machines only. */
  busy_power_mw?: number;
}

/** Capacities of assembly/core/layout.ts. */
const MAX_CPUS = 512;
const MAX_PACKAGES = 16;
const MAX_NODES = 64;
const MAX_IDLE_STATES = 8;
const MAX_TURBO_ROWS = 64;
const MAX_POWER_ROWS = 256;
/** Bin 1023 of the engine's busy time by frequency. */
const MAX_MHZ = 10_230;

// dist/src/config → the package's root.
const PROFILES = fileURLToPath(new URL('../../../data/machines/', import.meta.url));

const whole = (minimum: number, maximum = Number.MAX_SAFE_INTEGER) =>
  z
    .number({ error: (issue) => `expected a whole number, got ${show(issue.input)}` })
    .int({ error: (issue) => `expected a whole number, got ${show(issue.input)}` })
    .min(minimum, { error: (issue) => `expected at least ${minimum}, got ${show(issue.input)}` })
    .max(maximum, { error: (issue) => `expected at most ${maximum}, got ${show(issue.input)}` });
const mhz = whole(1, MAX_MHZ);
const mw = whole(0, 1_000_000_000);
const ns = whole(0);

const profileSchema = section({
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
type Profile = z.output<typeof profileSchema>;

const watts = z.number().min(0).max(1_000_000).default(0);
const idealSchema = section({
  name: z.string().optional(),
  idle_power_w: watts,
  busy_power_w: watts,
  /** The one frequency. */
  mhz: mhz.default(1),
  /** With mhz = reference_mhz, run lengths are times. */
  reference_mhz: mhz.optional(),
});

function parse<T>(schema: z.ZodType<T>, value: unknown, file: string | undefined): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const missing = issue.code === 'invalid_type' && /received undefined/.test(issue.message);
  const message = missing ? `missing; expected a ${issue.expected}` : issue.message;
  throw new VtimeError('machine_profile', message, { file, path: issue.path.join('.') || undefined });
}

function refuse(message: string, path: string, value: unknown, expected: string, file?: string): never {
  throw new VtimeError('machine_profile', message, { file, path, value, expected });
}

/** Bundled profiles by name; `ideal-N` exists for every N besides. */
export function machineNames(): string[] {
  return readdirSync(PROFILES)
    .filter((name) => name.endsWith('.json'))
    .map((name) => name.slice(0, -'.json'.length))
    .sort();
}

type Raw = Record<string, unknown>;

function isMapping(value: unknown): value is Raw {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function readProfile(file: string): Raw {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new VtimeError('machine_file', `cannot read the machine profile: ${(error as Error).message}`, {
      file,
    });
  }
  try {
    const value: unknown = JSON.parse(text);
    if (isMapping(value)) return value;
  } catch (error) {
    throw new VtimeError('machine_file', `not valid JSON: ${(error as Error).message}`, { file });
  }
  throw new VtimeError('machine_file', 'not a machine profile', { file, expected: 'a JSON object' });
}

/** File of a bundled name, or of a path; relative paths start at `folder`. */
function profileFile(name: string, folder: string): string {
  if (name.endsWith('.json') || name.includes('/')) return isAbsolute(name) ? name : resolve(folder, name);
  const file = resolve(PROFILES, `${name}.json`);
  if (existsSync(file)) return file;
  const known = [...machineNames(), 'ideal-N'];
  const near = nearestName(name, [...known, 'ideal-1', 'ideal-4', 'ideal-48']);
  const hint = near === undefined ? '' : `; did you mean "${near}"?`;
  throw new VtimeError('unknown_machine', `there is no machine "${name}"${hint}`, {
    value: name,
    expected: `one of ${known.join(', ')} or the path of a profile`,
  });
}

/** Replaces { value, source, estimate? } by its value and notes the source under its path. */
function takeSources(
  value: unknown,
  path: string,
  references: Raw,
  sources: Record<string, string>,
): unknown {
  if (Array.isArray(value)) {
    return value.map((item, index) => takeSources(item, `${path}.${index}`, references, sources));
  }
  if (!isMapping(value)) return value;
  const keys = Object.keys(value);
  if ('value' in value && 'source' in value) {
    const unknown = keys.find((key) => !['value', 'source', 'estimate'].includes(key));
    const reference = references[String(value.source)];
    if (unknown !== undefined) {
      refuse(`unknown key "${unknown}"`, path, value[unknown], 'value, source and perhaps estimate');
    }
    if (typeof reference !== 'string') {
      refuse(`there is no reference "${value.source}"`, path, value.source, 'a key of "references"');
    }
    sources[path] = value.estimate === true ? `estimate: ${reference}` : reference;
    return takeSources(value.value, path, references, sources);
  }
  return Object.fromEntries(
    keys.map((key) => [
      key,
      takeSources(value[key], path === '' ? key : `${path}.${key}`, references, sources),
    ]),
  );
}

/** The profile with everything it extends merged in: a key of the child replaces that of the parent. */
function flatten(raw: Raw, folder: string, seen: readonly string[]): Raw {
  const { extends: parentName, ...own } = raw;
  if (parentName === undefined) return own;
  if (typeof parentName !== 'string') {
    return refuse('not a machine', 'extends', parentName, 'the name or path of a profile');
  }
  const file = profileFile(parentName, folder);
  if (seen.includes(file))
    refuse('profiles extend each other in a circle', 'extends', parentName, 'no circle');
  const parent = flatten(readProfile(file), dirname(file), [...seen, file]);
  const references = { ...(parent.references as Raw), ...(own.references as Raw) };
  const replacesPower = 'core_power' in own || 'core_power_model' in own;
  if (replacesPower) {
    delete parent.core_power;
    delete parent.core_power_model;
  }
  return { ...parent, ...own, references };
}

function ascending(values: readonly number[], strictly: boolean): boolean {
  return values.every((v, i) => i === 0 || v > values[i - 1] || (!strictly && v === values[i - 1]));
}

function checkProfile(profile: Profile, file: string | undefined): void {
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

function fromProfile(
  profile: Profile,
  sources: Record<string, string>,
  overrides: MachineOverrides,
): Machine {
  const { packages, cores_per_package: cores, nodes_per_package, llcs_per_package } = profile;
  const max_mhz = profile.turbo[0].mhz;
  const steps = [profile.min_mhz, profile.base_mhz, ...profile.turbo.map((row) => row.mhz)];
  const core_power =
    profile.core_power ?? powerRows(profile.core_power_model!, profile.base_mhz, profile.uncore_mw, steps);
  const all = Array.from({ length: packages * cores }, (_, cpu) => {
    const pkg = Math.floor(cpu / cores);
    const within = (parts: number) => pkg * parts + Math.floor(((cpu % cores) * parts) / cores);
    return { package: pkg, node: within(nodes_per_package), llc: within(llcs_per_package) };
  });
  const cpus = all.slice(0, overrides.cpus);
  const online = Math.min(cores, cpus.length);
  const covering = profile.turbo.findIndex((row) => row.active_cores >= online);
  const turbo = profile.turbo
    .slice(0, covering + 1)
    .map((row) => ({ ...row, active_cores: Math.min(row.active_cores, online) }));
  const inactive = profile.idle_states.filter((state) => state.inactive).map((state) => state.power_mw);
  return {
    name: profile.name,
    packages: cpus[cpus.length - 1].package + 1,
    cpus,
    reference_mhz: profile.reference_mhz,
    min_mhz: profile.min_mhz,
    base_mhz: profile.base_mhz,
    max_mhz,
    turbo: limitTurboToTdp(turbo, core_power, {
      cores: online,
      uncore_mw: profile.uncore_mw,
      inactive_mw: Math.max(0, ...inactive),
      tdp_mw: profile.tdp_mw,
    }),
    idle_states: overrides.idle_states === false ? profile.idle_states.slice(0, 1) : profile.idle_states,
    core_power,
    uncore_mw: profile.uncore_mw,
    uncore_idle_mw: profile.uncore_idle_mw,
    tdp_mw: profile.tdp_mw,
    governor: profile.governor,
    slice_expiry: profile.slice_expiry,
    frequency_interval_ns: profile.frequency_interval_ns,
    frequency_ramp_ns: profile.frequency_ramp_ns,
    costs: profile.costs,
    sources,
  };
}

function wholeMilliwatts(value: number, path: string): number {
  const milliwatts = Math.round(value * 1000);
  if (Math.abs(milliwatts - value * 1000) > 1e-6)
    refuse(`${value} W is not exact`, path, value, 'whole milliwatts');
  return milliwatts;
}

/** One package, one frequency, no costs, no transitions: what closed forms assume. */
function idealMachine(count: number, raw: unknown, overrides: MachineOverrides): Machine {
  const ideal = parse(idealSchema, raw, undefined);
  const cpus = overrides.cpus ?? count;
  const idle_mw = overrides.idle_power_mw ?? wholeMilliwatts(ideal.idle_power_w, 'idle_power_w');
  const busy_mw = overrides.busy_power_mw ?? wholeMilliwatts(ideal.busy_power_w, 'busy_power_w');
  const idle = { name: 'idle', exit_ns: 0, residency_ns: 0, power_mw: idle_mw, inactive: false };
  return {
    name: ideal.name ?? `ideal-${count}`,
    packages: 1,
    cpus: Array.from({ length: cpus }, () => ({ package: 0, node: 0, llc: 0 })),
    reference_mhz: ideal.reference_mhz ?? ideal.mhz,
    min_mhz: ideal.mhz,
    base_mhz: ideal.mhz,
    max_mhz: ideal.mhz,
    turbo: [{ active_cores: cpus, mhz: ideal.mhz }],
    idle_states: idle_mw === 0 ? [] : [idle],
    core_power: [{ mhz: ideal.mhz, mw: busy_mw }],
    uncore_mw: 0,
    uncore_idle_mw: 0,
    tdp_mw: 0,
    governor: 'performance',
    slice_expiry: 'exact',
    frequency_interval_ns: 1_000_000,
    frequency_ramp_ns: 0,
    costs: { context_switch_ns: 0, migration_llc_ns: 0, migration_node_ns: 0, dispatch_ns: 0 },
    sources: {},
  };
}

function idealSize(name: unknown): number | undefined {
  const digits = typeof name === 'string' ? /^ideal-(\d+)$/.exec(name)?.[1] : undefined;
  if (digits === undefined) return undefined;
  const count = Number(digits);
  if (count < 1 || count > MAX_CPUS) {
    throw new VtimeError('unknown_machine', `"${name}" has ${count} CPUs`, {
      value: name,
      expected: `ideal-1 to ideal-${MAX_CPUS}`,
    });
  }
  return count;
}

/**
 * The machine of a bundled name ("xeon-8160-2s"), of "ideal-N", of a profile's path, or of a profile itself; the
 * latter may extend any of the former, ideal machines with idle_power_w, busy_power_w, mhz and reference_mhz.
 */
export function loadMachine(source: string | object, overrides: MachineOverrides = {}): Machine {
  const raw: Raw = typeof source === 'string' ? { extends: source } : { ...source };
  const { extends: parent, ...own } = raw;
  const size = idealSize(parent);
  if (overrides.cpus !== undefined && size !== undefined) checkCpus(overrides.cpus, size, String(parent));
  if (size !== undefined) return idealMachine(size, own, overrides);
  for (const key of ['idle_power_mw', 'busy_power_mw'] as const) {
    if (overrides[key] === undefined) continue;
    const place = { path: key.replace('_mw', ''), value: overrides[key], expected: 'an ideal-N machine' };
    throw new VtimeError('machine_power', 'only ideal machines have one power per state', place);
  }
  const file = typeof source === 'string' ? profileFile(source, process.cwd()) : undefined;
  const { references = {}, ...flat } = flatten(raw, process.cwd(), []);
  if (!isMapping(references)) refuse('not a mapping', 'references', references, 'texts by key', file);
  const sources: Record<string, string> = {};
  const profile = parse(profileSchema, takeSources(flat, '', references, sources), file);
  checkProfile(profile, file);
  if (overrides.cpus !== undefined) {
    checkCpus(overrides.cpus, profile.packages * profile.cores_per_package, profile.name);
  }
  return fromProfile(profile, sources, overrides);
}

function checkCpus(cpus: number, available: number, name: string): void {
  if (Number.isInteger(cpus) && cpus >= 1 && cpus <= available) return;
  refuse(`${cpus} CPUs of ${name}`, 'cpus', cpus, `1 to ${available}`);
}

/** Highest power a package of the machine can draw once its frequencies have settled, mW. */
export function packagePeakMw(machine: Machine): number {
  const cores = Math.max(...machine.turbo.map((row) => row.active_cores));
  const inactive = Math.max(0, ...machine.idle_states.filter((s) => s.inactive).map((s) => s.power_mw));
  return Math.max(
    ...machine.turbo.map(
      (row) =>
        machine.uncore_mw +
        row.active_cores * busyMw(machine.core_power, row.mhz) +
        (cores - row.active_cores) * inactive,
    ),
  );
}
