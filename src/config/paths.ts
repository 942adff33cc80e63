// Config fields by dotted path, as in `policy.domains` or `workload.arrivals.jobs.rate`.

import { nearestName } from '../errors.js';
import { canonicalJson } from './canonical.js';
import { ConfigError, mistakesOf, type Path } from './mistakes.js';
import { type Config, configSchema } from './schema.js';

type Named = { name: string };
const isNamed = (item: unknown): item is Named =>
  typeof item === 'object' && item !== null && 'name' in item && typeof item.name === 'string';

/** Position of a list's element, by number or by its name; -1 if there is none. */
function elementOf(list: unknown[], part: string): number {
  const index = /^\d+$/.test(part)
    ? Number(part)
    : list.findIndex((item) => isNamed(item) && item.name === part);
  return index < list.length ? index : -1;
}

function resolvePath(root: unknown, path: string): Path {
  const parts: Path = [];
  let value: unknown = root;
  for (const part of path.split('.')) {
    if (Array.isArray(value)) {
      const index = elementOf(value, part);
      if (index < 0) {
        const names = value.filter(isNamed).map(({ name }) => name);
        const near = nearestName(part, names);
        const hint = near === undefined ? `has ${names.join(', ') || 'no names'}` : `did you mean "${near}"?`;
        throw new ConfigError([{ path: [path], message: `there is no "${part}" in the list; ${hint}` }]);
      }
      parts.push(index);
      value = value[index];
    } else {
      parts.push(part);
      value =
        typeof value === 'object' && value !== null && Object.hasOwn(value, part)
          ? Reflect.get(value, part)
          : undefined;
    }
  }
  return parts;
}

/** The value at a dotted path, undefined if there is none. */
export function getByPath(config: object, path: string): unknown {
  let value: unknown = config;
  for (const part of resolvePath(config, path)) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined;
    value = Reflect.get(value, part);
  }
  return value;
}

const mergeable = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * A copy of the config with several fields set. All are set before the result is validated, so that fields that
 * need each other can be given in any order. Throws a ConfigError that names the path and, if it is unknown, the near one.
 */
export function setPaths(config: Config, values: Readonly<Record<string, unknown>>): Config {
  const copy: unknown = structuredClone(config);
  for (const [path, value] of Object.entries(values)) {
    const parts = resolvePath(copy, path);
    let inner: unknown = copy;
    for (const [depth, part] of parts.slice(0, -1).entries()) {
      if (!mergeable(inner) && !Array.isArray(inner)) break;
      const next: unknown = Reflect.get(inner, part);
      if (next === undefined) Reflect.set(inner, part, {});
      else if (typeof next !== 'object') {
        const where = parts.slice(0, depth + 1).join('.');
        throw new ConfigError([
          { path: [path], message: `${where} is ${canonicalJson(next)} and has no fields` },
        ]);
      }
      inner = Reflect.get(inner, part);
    }
    if (typeof inner === 'object' && inner !== null) {
      // A mapping may get fields of its own from the paths behind.
      Reflect.set(inner, parts[parts.length - 1], structuredClone(value));
    }
  }
  const parsed = configSchema.safeParse(copy);
  if (parsed.success) return parsed.data;
  throw new ConfigError(mistakesOf(parsed.error, copy).list);
}

/** A copy of the config with the field at `path` set; see setPaths. */
export function setByPath(config: Config, path: string, value: unknown): Config {
  return setPaths(config, { [path]: value });
}
