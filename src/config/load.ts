// Reads a config from YAML or JSON, with the place of every mistake.

import { readFileSync } from 'node:fs';
import { dirname, isAbsolute, join, relative, resolve } from 'node:path';
import {
  type Document,
  isCollection,
  isMap,
  isPair,
  isScalar,
  LineCounter,
  parseDocument,
  visit,
} from 'yaml';
import { VtimeError } from '../errors.js';
import { renameFiles } from './canonical.js';
import { checkWorkload } from './check.js';
import { ConfigError, type Locate, type Mistake, mistakesOf, rememberPlaces, valueAt } from './mistakes.js';
import { type Config, configSchema } from './schema.js';

export interface Source {
  /** Shown in errors; paths in the config are relative to its folder. */
  file?: string;
}

function locator(document: Document, lines: LineCounter, file: string | undefined): Locate {
  return (path, atKey) => {
    let node: unknown = document.contents;
    let offset = isCollection(node) ? node.range?.[0] : 0;
    for (const [depth, part] of path.entries()) {
      if (isMap(node)) {
        const pair = node.items.find(
          (item) => isPair(item) && isScalar(item.key) && String(item.key.value) === String(part),
        );
        if (pair === undefined) break;
        const key = isScalar(pair.key) ? pair.key.range?.[0] : undefined;
        node = pair.value;
        const value = isScalar(node) || isCollection(node) ? node.range?.[0] : undefined;
        offset = (atKey && depth === path.length - 1) || isCollection(node) ? key : (value ?? key);
      } else if (isCollection(node)) {
        node = node.get(part, true);
        if (!isScalar(node) && !isCollection(node)) break;
        offset = node.range?.[0] ?? offset;
      } else break;
    }
    const { line, col } = lines.linePos(offset ?? 0);
    return { file, line: Math.max(line, 1), column: Math.max(col, 1) };
  };
}

/** Where a mapping has a key for the second time. The library compares each with each, which takes minutes for 70,000. */
function repeatedKeys(document: Document): number[] {
  const offsets: number[] = [];
  visit(document, {
    Map(_, { items }) {
      const seen = new Set<unknown>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        if (seen.has(key.value)) offsets.push(key.range?.[0] ?? 0);
        seen.add(key.value);
      }
    },
  });
  return offsets;
}

/** The value of a YAML or JSON text, and where its parts are. Throws a ConfigError with every mistake of the syntax. */
export function parseYaml(text: string, source: Source): { value: unknown; locate: Locate } {
  const lines = new LineCounter();
  const { file } = source;
  const fail = (message: string, offset?: number): Mistake => {
    const { line, col } = lines.linePos(offset ?? 0);
    return { path: [], message, file, ...(offset === undefined ? {} : { line, column: col }) };
  };
  let document: Document;
  let value: unknown;
  try {
    document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: false });
    // A warning is a tag that YAML doesn't know, whose meaning would be lost.
    const problems = [
      ...[...document.errors, ...document.warnings].map(({ message, pos }) => fail(message, pos[0])),
      ...repeatedKeys(document).map((offset) => fail('Map keys must be unique', offset)),
    ];
    if (problems.length > 0) throw new ConfigError(problems);
    value = document.toJS();
  } catch (error) {
    // Aliases without anchor or too many of them, and nesting beyond the stack, come as errors without a place.
    if (error instanceof ReferenceError || error instanceof RangeError) {
      throw new ConfigError([fail(`can't be read: ${error.message}`)]);
    }
    throw error;
  }
  return { value, locate: locator(document, lines, file) };
}

function validated(value: unknown, locate: Locate): Config {
  if (value === null || value === undefined) {
    throw new ConfigError([{ path: [], message: 'the config is empty', ...locate([], false) }]);
  }
  const parsed = configSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const mistakes = mistakesOf(parsed.error, value);
  // A mistake elsewhere doesn't hide those in a workload that is well formed.
  const workload = configSchema.shape.workload.safeParse(valueAt(value, ['workload']));
  if (workload.success) checkWorkload(workload.data, mistakes);
  mistakes.throwIfAny(locate);
  throw parsed.error;
}

/** A config from a plain object; throws a ConfigError with all mistakes. */
export function configFrom(value: unknown): Config {
  return validated(value, () => ({}));
}

/**
 * A config from YAML or JSON text. What depends on the whole (and on the machine) is checked by resolveConfig,
 * for a sweep by expandSweep. Throws a ConfigError with all mistakes and their places.
 */
export function parseConfig(text: string, source: Source = {}): Config {
  const { value, locate } = parseYaml(text, source);
  const config = validated(value, locate);
  const placed = renameFiles(config, (path) => besides(source, path));
  rememberPlaces(placed, locate);
  return placed;
}

/** `path`, which the source names, seen from the working directory. */
export function besides({ file }: Source, path: string): string {
  const folder = file === undefined ? '' : dirname(file);
  if (isAbsolute(path)) return path;
  return isAbsolute(folder) ? relative('', resolve(folder, path)) || path : join(folder, path);
}

/** Reads a config file; see parseConfig. */
export function loadConfig(file: string): Config {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new VtimeError('config_unreadable', `can't read the config: ${reason}`, { file });
  }
  return parseConfig(text, { file });
}
