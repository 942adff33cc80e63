// One text for one value: what hashes, ids and comparisons of configs are made of.

import { createHash } from 'node:crypto';
import type { Config, ResolvedConfig } from './schema.js';

/** JSON with sorted keys and without what is undefined. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value)
      .filter(([, inner]) => inner !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
      .map(([key, inner]) => `${JSON.stringify(key)}:${canonicalJson(inner)}`);
    return `{${entries.join(',')}}`;
  }
  if (typeof value === 'number' && !Number.isFinite(value)) throw new RangeError(`${value} has no JSON form`);
  if (value === undefined) throw new RangeError('undefined has no JSON form');
  return JSON.stringify(value);
}

/** A file that a config names; its content, not its path, identifies a cell. */
export interface ConfigFile {
  path: string;
  kind: 'machine' | 'trace' | 'profiles' | 'times' | 'object';
  /** Index of the source, for times. */
  source?: number;
}

/** Bundled traces, machines and profiles are named without a slash or an ending; everything else is a path. */
export function isPath(text: string): boolean {
  return /[/\\]|\.[A-Za-z]\w*$/.test(text);
}

/** The files that the config names, in a fixed order. */
export function configFiles(config: Config | ResolvedConfig): ConfigFile[] {
  const files: ConfigFile[] = [];
  const { serverless, arrivals } = config.workload;
  if (isPath(config.machine.profile)) files.push({ path: config.machine.profile, kind: 'machine' });
  if (config.policy.name === 'bpf') files.push({ path: config.policy.object, kind: 'object' });
  arrivals.forEach(({ times }, source) => {
    if (times !== undefined) files.push({ path: times, kind: 'times', source });
  });
  if (serverless !== undefined) {
    if (isPath(serverless.trace)) files.push({ path: serverless.trace, kind: 'trace' });
    if (isPath(serverless.profiles.file)) files.push({ path: serverless.profiles.file, kind: 'profiles' });
  }
  return files;
}

const isObjectFile = (value: unknown): value is string => typeof value === 'string' && value.endsWith('.o');

/** What a sweep sets at a config path, with the files of BPF objects in it renamed. */
function renameSetting(path: string, value: unknown, rename: (path: string) => string): unknown {
  if (path !== 'policy' && path !== 'policy.object') return value;
  if (Array.isArray(value)) return value.map((inner) => renameSetting(path, inner, rename));
  if (isObjectFile(value)) return rename(value);
  if (typeof value !== 'object' || value === null || !('object' in value)) return value;
  return isObjectFile(value.object) ? { ...value, object: rename(value.object) } : value;
}

/** Settings by config path, as of a sweep's axes, a case or a cell, with the files of BPF objects in them renamed. */
export function renameSettings<Settings extends Record<string, unknown>>(
  settings: Settings,
  rename: (path: string) => string,
): Settings {
  const renamed = Object.entries(settings).map(([path, value]) => [path, renameSetting(path, value, rename)]);
  return Object.fromEntries(renamed) as Settings;
}

/** The config with each path it names replaced by `rename(path)`. */
export function renameFiles<C extends Config | ResolvedConfig>(
  config: C,
  rename: (path: string) => string,
): C {
  const copy = structuredClone(config);
  if ('sweep' in copy && copy.sweep !== undefined) {
    const { sweep } = copy;
    sweep.axes = renameSettings(sweep.axes, rename);
    if (sweep.cases !== undefined) sweep.cases = sweep.cases.map((fields) => renameSettings(fields, rename));
  }
  for (const { path, kind, source } of configFiles(copy)) {
    if (kind === 'machine') copy.machine.profile = rename(path);
    else if (kind === 'object') Object.assign(copy.policy, { object: rename(path) });
    else if (kind === 'times') copy.workload.arrivals[source!].times = rename(path);
    else if (kind === 'trace') copy.workload.serverless!.trace = rename(path);
    else copy.workload.serverless!.profiles.file = rename(path);
  }
  return copy;
}

/**
 * What decides a run's results, except the content of `configFiles`: without label, output options and paths.
 * Combine its hash with the files' content hashes to identify a cell.
 */
export function configIdentity(config: ResolvedConfig): unknown {
  const { name: _name, output: _output, ...rest } = renameFiles(config, () => 'file:');
  return rest;
}

/** SHA-256 in hex over `configIdentity`. */
export function configHash(config: ResolvedConfig): string {
  return createHash('sha256')
    .update(canonicalJson(configIdentity(config)))
    .digest('hex');
}
