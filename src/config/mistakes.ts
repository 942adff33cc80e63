// Mistakes in a config: found all at once, each with its place.

import type * as z from 'zod';
import { nearestName, VtimeError } from '../errors.js';

export type Path = (string | number)[];

export interface Mistake {
  /** Where in the document. */
  path: Path;
  message: string;
  file?: string;
  /** 1-based. */
  line?: number;
  /** 1-based. */
  column?: number;
}

/** Finds file, line and column of a path; of the key if `atKey`, else of its value. */
export type Locate = (path: Path, atKey: boolean) => Pick<Mistake, 'file' | 'line' | 'column'>;

/** Where each config was read from, so that later checks can still say line and column. */
const places = new WeakMap<object, Locate>();

export function rememberPlaces(config: object, locate: Locate): void {
  places.set(config, locate);
}

/** Nowhere for configs that come from an object. */
export function placesOf(config: object): Locate {
  return places.get(config) ?? (() => ({}));
}

export function pathText(path: Path): string {
  return path
    .map((part, i) => (typeof part === 'number' ? `[${part}]` : i === 0 ? part : `.${part}`))
    .join('');
}

function mistakeText({ file, line, column, path, message }: Mistake): string {
  const position = [file, line, column].filter((part) => part !== undefined).join(':');
  const where = [position, pathText(path)].filter(Boolean).join(' ');
  return where === '' ? message : `${where}: ${message}`;
}

/** A config with mistakes; the message has one line for each. */
export class ConfigError extends VtimeError {
  readonly mistakes: readonly Mistake[];

  constructor(mistakes: readonly Mistake[]) {
    super('config_invalid', mistakes.map(mistakeText).join('\n'));
    this.mistakes = mistakes;
    const [{ file, line, column, path }] = mistakes;
    Object.assign(this.place, { file, line, column, path: pathText(path) });
  }
}

/** Collects mistakes of one check, and throws them together. */
export class Mistakes {
  readonly list: Mistake[] = [];

  /** A value may break two rules that one message tells of, like those of a whole number that is too large for one. */
  add(path: Path, message: string): void {
    const last = this.list.at(-1);
    if (last?.message === message && samePath(last.path, path)) return;
    this.list.push({ path, message });
  }

  /** `name` is none of `known`. */
  unknownName(path: Path, kind: string, name: string, known: Iterable<string>): void {
    const names = [...known];
    const near = nearestName(name, names);
    const hint =
      near !== undefined
        ? `did you mean "${near}"?`
        : names.length === 0
          ? `there is no ${kind}`
          : `known are ${names.join(', ')}`;
    this.add(path, `unknown ${kind} "${name}"; ${hint}`);
  }

  throwIfAny(locate: Locate): void {
    if (this.list.length === 0) return;
    const placed = this.list.map((mistake) => ({ ...mistake, ...locate(mistake.path, isAboutKey(mistake)) }));
    const byPlace = (a: Mistake, b: Mistake) =>
      (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0);
    throw new ConfigError(placed.sort(byPlace));
  }
}

function samePath(a: Path, b: Path): boolean {
  return a.length === b.length && a.every((part, i) => part === b[i]);
}

function isAboutKey({ message }: Mistake): boolean {
  return message.startsWith('unknown key') || message.startsWith('missing');
}

type Issue = z.core.$ZodIssue;

export function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (inner, key) => (typeof inner === 'object' && inner !== null ? Reflect.get(inner, key) : undefined),
    value,
  );
}

/** Whether the issue says that the value is of another kind altogether. */
function rejectsKind(issue: Issue): boolean {
  if (issue.path.length > 0) return false;
  if (issue.code === 'invalid_type' || issue.code === 'invalid_value') return true;
  return issue.code === 'invalid_union' && issue.errors.every((branch) => branch.some(rejectsKind));
}

/** The keys that the branch missed, and those it didn't know. */
function keysOf(branch: readonly Issue[], value: object): { missing: string[]; unknown: string[] } {
  const missing: string[] = [];
  const unknown: string[] = [];
  for (const issue of branch) {
    if (issue.code === 'unrecognized_keys' && issue.path.length === 0) unknown.push(...issue.keys);
    else if (issue.path.length === 1 && Reflect.get(value, issue.path[0]) === undefined) {
      missing.push(String(issue.path[0]));
    }
  }
  return { missing, unknown };
}

/** Chooses the alternative that the user meant, and reports its mistakes only. */
function fromUnion(
  issue: Extract<Issue, { code: 'invalid_union' }>,
  value: unknown,
  at: Path,
  out: Mistakes,
): void {
  const branches = issue.errors.filter((branch) => !branch.some(rejectsKind));
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    const given = Object.keys(value).length;
    const ranked = branches
      .map((branch) => ({ branch, ...keysOf(branch, value) }))
      .sort((a, b) => a.unknown.length - b.unknown.length || a.missing.length - b.missing.length);
    const best = ranked[0];
    if (best !== undefined && (best.unknown.length < given || ranked.length === 1)) {
      flatten(best.branch, value, at, out);
      return;
    }
    const keys = new Set(ranked.flatMap(({ missing }) => missing));
    for (const key of Object.keys(value)) {
      const near = nearestName(key, keys);
      const hint = near === undefined ? issue.message : `did you mean "${near}"?`;
      out.add([...at, key], `unknown key "${key}"; ${hint}`);
    }
    if (given === 0) out.add(at, issue.message.replace(/a mapping$/, 'an empty mapping'));
    return;
  }
  if (branches.length === 1) flatten(branches[0], value, at, out);
  else out.add(at, issue.message);
}

const KINDS: Record<string, string> = {
  array: 'a list',
  object: 'a mapping',
  record: 'a mapping',
  string: 'a text',
  number: 'a number',
  boolean: 'true or false',
};

function flatten(issues: readonly Issue[], root: unknown, base: Path, out: Mistakes): void {
  for (const issue of issues) {
    const relative = issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part));
    const path = [...base, ...relative];
    const value = valueAt(root, issue.path);
    if (issue.code === 'unrecognized_keys') {
      const lines = issue.message.split('\n');
      issue.keys.forEach((key, i) => {
        out.add([...path, key], lines[i]);
      });
    } else if (value === undefined && relative.length > 0 && issue.code !== 'custom') {
      const expectation = issue.message.replace(/^missing; /, '').replace(/, got nothing$/, '');
      out.add(path, `missing; ${expectation}`);
    } else if (issue.code === 'invalid_union' && issue.errors.length > 0) {
      fromUnion(issue, value, path, out);
    } else if (issue.code === 'invalid_key') {
      out.add(path, issue.issues[0]?.message ?? issue.message);
    } else if (issue.code === 'invalid_type' && issue.message.startsWith('Invalid input')) {
      // The library's own words, where the schema has none: lists and mappings mostly.
      const kind = KINDS[issue.expected] ?? issue.expected;
      const got =
        typeof value === 'object' ? (Array.isArray(value) ? 'a list' : 'a mapping') : JSON.stringify(value);
      out.add(path, `expected ${kind}, got ${got}`);
    } else {
      out.add(path, issue.message);
    }
  }
}

/** The mistakes behind the issues of one failed parse of `value`. */
export function mistakesOf(error: z.core.$ZodError, value: unknown): Mistakes {
  const out = new Mistakes();
  flatten(error.issues, value, [], out);
  return out;
}
