// Files of machine profiles: bundled ones and the user's, what they extend, and where their values come from.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, isAbsolute, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { nearestName, VtimeError } from '../errors.js';
import { MAX_CPUS, refuse } from './machine-profile.js';

// dist/src/config → the package's root.
const PROFILES = fileURLToPath(new URL('../../../data/machines/', import.meta.url));

/** Bundled profiles by name; `ideal-N` exists for every N besides. */
export function machineNames(): string[] {
  return readdirSync(PROFILES)
    .filter((name) => name.endsWith('.json'))
    .map((name) => name.slice(0, -'.json'.length))
    .sort();
}

export type Raw = Record<string, unknown>;

export function isMapping(value: unknown): value is Raw {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function readProfile(file: string): Raw {
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
export function profileFile(name: string, folder: string): string {
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
export function takeSources(
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

/** CPUs of "ideal-N". */
export function idealSize(name: unknown): number | undefined {
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
 * The profile with everything it extends merged in: a key of the child replaces that of the parent. What extends an ideal
 * machine keeps its name in `extends`.
 */
export function flatten(raw: Raw, folder: string, seen: readonly string[]): Raw {
  const { extends: parentName, ...own } = raw;
  if (parentName === undefined || idealSize(parentName) !== undefined) return raw;
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
