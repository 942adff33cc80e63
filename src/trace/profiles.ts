// Function profiles: what a function does while it runs, as phases of CPU, I/O, parallel work and polling, each
// number with its source in data/profiles/functions.json. A profile gives an invocation its shape; its length is
// the drawn duration, so phases are handed on as fractions of the uncontended time.

import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { nearestName, VtimeError } from '../errors.js';
import { fitDuration } from './duration.js';
import type { FunctionRow } from './schema.js';

const positive = z.number().positive();
const threadsSchema = z.union([z.literal('all'), z.int().min(1)]);
const phaseSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('cpu'), work_ms: positive }),
  z.strictObject({ kind: z.literal('io'), wait_ms: positive, disk: z.boolean() }),
  z.strictObject({
    kind: z.literal('parallel'),
    /** CPU work of all threads together. */
    work_ms: positive,
    threads: threadsSchema,
    barrier: z.enum(['sleep', 'spin']),
    rounds: z.int().min(1),
  }),
  z.strictObject({ kind: z.literal('poll'), wait_ms: positive, until: z.enum(['io', 'sibling']) }),
]);
const profileSchema = z.strictObject({
  name: z.string().min(1),
  suite: z.string().min(1),
  phases: z.array(phaseSchema).min(1),
  source: z.record(z.string(), z.string()),
});
const fileSchema = z.strictObject({
  format: z.literal('vtime.profiles'),
  version: z.literal(1),
  sources: z.record(z.string(), z.string()),
  profiles: z.array(profileSchema).min(1),
});

/** A profile as stated in a profile file: times in ms at the reference frequency. */
export type FunctionProfile = z.infer<typeof profileSchema>;

/**
 * A phase as a share of the uncontended time, when every thread has a CPU of its own. `poll` until `sibling`
 * polls while a sibling of the same cgroup works for that time.
 */
export type Phase =
  | { kind: 'cpu'; fraction: number }
  | { kind: 'io'; fraction: number; disk: boolean }
  | { kind: 'parallel'; fraction: number; threads: 'all' | number; barrier: 'sleep' | 'spin'; rounds: number }
  | { kind: 'poll'; fraction: number; until: 'io' | 'sibling' };

/** A profile on a machine with a given number of CPUs. */
export interface ResolvedProfile {
  name: string;
  /** Time of one warm invocation with one CPU, ns. */
  warm_ns: number;
  /** Threads of its widest phase. */
  threads: number;
  /** Mean number of CPUs in use over the uncontended time: CPU load = invocations × duration × this. */
  cpus_used: number;
  /** True if some phase burns CPU while it waits, even without contention. */
  polls: boolean;
  /** Fractions add up to 1. */
  phases: Phase[];
}

/** The profile of mapping `none`: one CPU burst of the drawn duration. */
export const CPU_BURST: ResolvedProfile = {
  name: 'cpu-burst',
  warm_ns: 0,
  threads: 1,
  cpus_used: 1,
  polls: false,
  phases: [{ kind: 'cpu', fraction: 1 }],
};

const BUNDLED = new URL('../../../data/profiles/functions.json', import.meta.url);

/**
 * Reads a profile file; without a path the bundled one. Errors: profile_file (not readable, not JSON),
 * profile_invalid (with the path inside the document), profile_duplicate.
 */
export function loadProfiles(path?: string): FunctionProfile[] {
  const file = path ?? 'data/profiles/functions.json';
  let document: unknown;
  try {
    document = JSON.parse(readFileSync(path ?? BUNDLED, 'utf8'));
  } catch (error) {
    throw new VtimeError('profile_file', `cannot read: ${error instanceof Error ? error.message : error}`, {
      file,
      expected: 'a JSON file of function profiles',
    });
  }
  const parsed = fileSchema.safeParse(document);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    const known = [
      'format',
      'version',
      'sources',
      'profiles',
      'name',
      'suite',
      'phases',
      'source',
      'kind',
    ].concat(['work_ms', 'wait_ms', 'disk', 'threads', 'barrier', 'rounds', 'until']);
    const unknown = issue.code === 'unrecognized_keys' ? issue.keys[0] : undefined;
    const near = unknown === undefined ? undefined : nearestName(unknown, known);
    throw new VtimeError('profile_invalid', issue.message, {
      file,
      path: issue.path.map(String).join('.'),
      value: unknown,
      expected: near === undefined ? undefined : `"${near}"?`,
    });
  }
  const names = parsed.data.profiles.map(({ name }) => name);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) {
    throw new VtimeError('profile_duplicate', `two profiles are called "${twice}"`, {
      file,
      value: twice,
      expected: 'one profile per name',
    });
  }
  return parsed.data.profiles;
}

type StatedPhase = FunctionProfile['phases'][number];

function threadsIn(phase: StatedPhase, cpus: number): number {
  if (phase.kind === 'poll') return phase.until === 'sibling' ? 2 : 1;
  if (phase.kind !== 'parallel') return 1;
  return phase.threads === 'all' ? cpus : phase.threads;
}

/** Uncontended time of a phase, ms. */
function timeOf(phase: StatedPhase, cpus: number): number {
  if ('wait_ms' in phase) return phase.wait_ms;
  return phase.work_ms / Math.min(threadsIn(phase, cpus), cpus);
}

function withFraction(phase: StatedPhase, fraction: number): Phase {
  switch (phase.kind) {
    case 'cpu':
      return { kind: 'cpu', fraction };
    case 'io':
      return { kind: 'io', fraction, disk: phase.disk };
    case 'poll':
      return { kind: 'poll', fraction, until: phase.until };
    case 'parallel': {
      const { threads, barrier, rounds } = phase;
      return { kind: 'parallel', fraction, threads, barrier, rounds };
    }
  }
}

/**
 * The shape of a profile on a machine with `cpus` CPUs. Parallel work is split evenly over the threads. The warm time is
 * that with one CPU, as it was measured (graph-pagerank: 66 ms with one thread, 71 ms with a pool that waits passively),
 * so that which function gets which profile does not depend on the machine.
 */
export function resolveProfile(profile: FunctionProfile, cpus: number): ResolvedProfile {
  const { name, phases } = profile;
  const times = phases.map((phase) => timeOf(phase, cpus));
  const total_ms = times.reduce((sum, time) => sum + time, 0);
  const warm_ms = phases.reduce((sum, phase) => sum + timeOf(phase, 1), 0);
  const cpu_ms = phases.reduce(
    (sum, phase, i) => sum + (phase.kind === 'io' ? 0 : times[i] * Math.min(threadsIn(phase, cpus), cpus)),
    0,
  );
  return {
    name,
    warm_ns: Math.round(warm_ms * 1e6),
    threads: Math.max(...phases.map((phase) => threadsIn(phase, cpus))),
    cpus_used: cpu_ms / total_ms,
    polls: phases.some(({ kind }) => kind === 'poll'),
    phases: phases.map((phase, i) => withFraction(phase, times[i] / total_ms)),
  };
}

export const PROFILE_MAPPINGS = ['none', 'nearest-duration', 'table'] as const;
export type ProfileMapping = (typeof PROFILE_MAPPINGS)[number];

export interface MappingOptions {
  mapping: ProfileMapping;
  /** CPUs that a thread pool sees: the machine's count. */
  cpus: number;
  /** Default: the bundled profiles. */
  profiles?: readonly FunctionProfile[];
  /** Suites whose profiles `nearest-duration` may choose; default `sebs`, the functions of the paper. */
  suites?: readonly string[];
  /** For `table`: function id, or a prefix of it or of the function's name, to profile name; `*` fits the rest. */
  table?: Readonly<Record<string, string>>;
}

export interface MappedFunction {
  function_id: string;
  profile: ResolvedProfile;
  /** Warm time of the function: its 25th percentile, ns. */
  function_warm_ns: number;
  /** |profile's uncontended time − function's warm time| / function's warm time; 0 for `none`. */
  relative_error: number;
}

export interface MappingResult {
  mapping: ProfileMapping;
  functions: MappedFunction[];
  maximum_error: number;
  /** Over functions, not weighted. */
  mean_error: number;
}

function profileNamed(name: string, profiles: readonly ResolvedProfile[], path: string): ResolvedProfile {
  if (name === CPU_BURST.name) return CPU_BURST;
  const found = profiles.find((profile) => profile.name === name);
  if (found) return found;
  const names = profiles.map((profile) => profile.name);
  const near = nearestName(name, names);
  throw new VtimeError('profile_unknown', `no profile "${name}"`, {
    path,
    value: name,
    expected: near ? `"${near}"?` : `one of ${names.join(', ')}`,
  });
}

/** The profile with the largest warm time not above `warm_ns`, else the one with the smallest; first of equals. */
function nearest(warm_ns: number, profiles: readonly ResolvedProfile[]): ResolvedProfile {
  let below: ResolvedProfile | undefined;
  let smallest = profiles[0];
  for (const profile of profiles) {
    if (profile.warm_ns < smallest.warm_ns) smallest = profile;
    if (profile.warm_ns <= warm_ns && (below === undefined || profile.warm_ns > below.warm_ns))
      below = profile;
  }
  return below ?? smallest;
}

function tableChooser(
  rows: readonly FunctionRow[],
  table: Readonly<Record<string, string>>,
  profiles: readonly ResolvedProfile[],
): (row: FunctionRow) => ResolvedProfile {
  const chosen = new Map<FunctionRow, ResolvedProfile>();
  for (const [key, name] of Object.entries(table)) {
    const path = `table.${key}`;
    const profile = profileNamed(name, profiles, path);
    if (key === '*') continue;
    const fits = rows.filter((row) => row.function_id.startsWith(key) || row.function?.startsWith(key));
    const exact = fits.filter((row) => row.function_id === key);
    const found = exact.length ? exact : fits;
    if (found.length !== 1) {
      throw new VtimeError('profile_table', `"${key}" fits ${found.length} functions`, {
        path,
        value: key,
        expected: 'the id, or a prefix, of exactly one function',
      });
    }
    if (chosen.has(found[0])) {
      throw new VtimeError('profile_table', `"${key}" names a function that has a profile already`, {
        path,
        value: key,
      });
    }
    chosen.set(found[0], profile);
  }
  return (row) => {
    const profile = chosen.get(row);
    if (profile) return profile;
    if ('*' in table) return profileNamed(table['*'], profiles, 'table.*');
    throw new VtimeError('profile_table', `function ${row.function_id} has no profile`, {
      path: 'table',
      value: row.function_id,
      expected: 'an entry for every function, or "*"',
    });
  };
}

/**
 * Gives every function a profile and says how well their lengths agree. The length that is simulated is always
 * the function's own; the error measures how far the shape is stretched.
 *
 * Errors: profile_unknown, profile_table, profile_suite, duration_missing (no 25th percentile).
 */
export function mapProfiles(rows: readonly FunctionRow[], options: MappingOptions): MappingResult {
  const { mapping, cpus } = options;
  const stated = mapping === 'none' ? [] : (options.profiles ?? loadProfiles());
  const resolve = (list: readonly FunctionProfile[]) => list.map((profile) => resolveProfile(profile, cpus));
  let choose: (row: FunctionRow, warm_ns: number) => ResolvedProfile;
  if (mapping === 'none') choose = () => CPU_BURST;
  else if (mapping === 'table') choose = tableChooser(rows, options.table ?? {}, resolve(stated));
  else {
    const suites = options.suites ?? ['sebs'];
    const known = [...new Set(stated.map(({ suite }) => suite))];
    const wrong = suites.find((suite) => !known.includes(suite));
    if (wrong !== undefined || suites.length === 0) {
      throw new VtimeError('profile_suite', wrong === undefined ? 'no suite' : `no suite "${wrong}"`, {
        path: 'suites',
        value: wrong,
        expected: `some of ${known.join(', ')}`,
      });
    }
    const candidates = resolve(stated.filter(({ suite }) => suites.includes(suite)));
    choose = (_row, warm_ns) => nearest(warm_ns, candidates);
  }
  const functions = rows.map((row): MappedFunction => {
    const function_warm_ns = mapping === 'none' ? 0 : fitDuration(row, 'p25', row.function_id).mean_ns;
    const profile = choose(row, function_warm_ns);
    const isBurst = profile === CPU_BURST;
    const relative_error = isBurst ? 0 : Math.abs(profile.warm_ns - function_warm_ns) / function_warm_ns;
    return { function_id: row.function_id, profile, function_warm_ns, relative_error };
  });
  const errors = functions.map(({ relative_error }) => relative_error);
  return {
    mapping,
    functions,
    maximum_error: errors.reduce((a, b) => Math.max(a, b), 0),
    mean_error: errors.length ? errors.reduce((a, b) => a + b, 0) / errors.length : 0,
  };
}
