// Machine profiles: JSON files in data/machines (or the user's), and ideal machines of any size for closed forms.
//
// A profile's numbers carry their unit in the key. Any value may be written as { value, source, estimate? }, where
// source is a key of `references`. A profile may `extend` another and replace some of its keys.

import { VtimeError } from '../errors.js';
import { flatten, idealSize, isMapping, profileFile, type Raw, takeSources } from './machine-files.js';
import { busyMw, limitTurboToTdp, type PowerRow, powerRows, type TurboRow } from './machine-power.js';
import {
  checkProfile,
  type Governor,
  idealSchema,
  type Profile,
  parse,
  profileSchema,
  refuse,
} from './machine-profile.js';

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
  /** One of as many CPUs as are asked for, without packages of their own. */
  ideal: boolean;
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
    ideal: false,
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
function idealMachine(
  count: number,
  raw: unknown,
  overrides: MachineOverrides,
  file: string | undefined,
): Machine {
  const ideal = parse(idealSchema, raw, file);
  const cpus = overrides.cpus ?? count;
  const idle_mw = overrides.idle_power_mw ?? wholeMilliwatts(ideal.idle_power_w, 'idle_power_w');
  const busy_mw = overrides.busy_power_mw ?? wholeMilliwatts(ideal.busy_power_w, 'busy_power_w');
  const idle = { name: 'idle', exit_ns: 0, residency_ns: 0, power_mw: idle_mw, inactive: false };
  return {
    name: ideal.name ?? `ideal-${count}`,
    ideal: true,
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

/**
 * The machine of a bundled name ("xeon-8160-2s"), of "ideal-N", of a profile's path, or of a profile itself; the
 * latter, and files, may extend any of the former, ideal machines with idle_power_w, busy_power_w, mhz and reference_mhz.
 */
export function loadMachine(source: string | object, overrides: MachineOverrides = {}): Machine {
  const raw: Raw = typeof source === 'string' ? { extends: source } : { ...source };
  const { extends: base, references = {}, ...flat } = flatten(raw, process.cwd(), []);
  const file = typeof source === 'string' && base !== source ? profileFile(source, process.cwd()) : undefined;
  if (!isMapping(references)) refuse('not a mapping', 'references', references, 'texts by key', file);
  const sources: Record<string, string> = {};
  const values = takeSources(flat, '', references, sources);
  const size = idealSize(base);
  if (size !== undefined) {
    if (overrides.cpus !== undefined) checkCpus(overrides.cpus, size, String(base));
    return { ...idealMachine(size, values, overrides, file), sources };
  }
  for (const key of ['idle_power_mw', 'busy_power_mw'] as const) {
    if (overrides[key] === undefined) continue;
    const place = { path: key.replace('_mw', ''), value: overrides[key], expected: 'an ideal-N machine' };
    throw new VtimeError('machine_power', 'only ideal machines have one power per state', place);
  }
  const profile = parse(profileSchema, values, file);
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
