// One JSON file of a folder: its text, what it holds, what is wrong with it, and where.

import { readFileSync } from 'node:fs';
import type * as z from 'zod';
import { parseYaml } from '../../config/load.js';
import { mistakesOf, type Path, valueAt } from '../../config/mistakes.js';
import type { Finding, Severity } from '../findings.js';

/** Values that stand in for broken ones, so that the rest can be checked as well. Names have no stand-in. */
const STAND_INS: Record<string, unknown> = {
  name: 'machine',
  total_cores: 4096,
  net_latency: 1,
  client_latency: 1,
  latency: 1,
  capacity: 1,
  biDirectional: true,
  type: 'micro_service',
  bind_connection: true,
  base_freq: 2600,
  cur_freq: 2600,
  stage_name: 'stage',
  blocking: false,
  batching: false,
  socket: false,
  epoll: false,
  ngx_proc: false,
  net: false,
  chunk: false,
  critical_section: false,
  thread_limit: 1,
  scale_factor: 0,
  code_path_id: 0,
  number: 1,
  num_threads: 1,
  num_queues: 1,
};
const MAX_ROUNDS = 4;

export class FolderDocument {
  readonly file: string;
  readonly value: unknown;
  readonly #text: string;
  readonly #findings: Finding[];
  readonly #told = new Set<string>();

  private constructor(file: string, text: string, value: unknown, findings: Finding[]) {
    this.file = file;
    this.#text = text;
    this.value = value;
    this.#findings = findings;
  }

  /** Undefined, with a finding, if the file is no JSON. */
  static read(file: string, findings: Finding[]): FolderDocument | undefined {
    let text: string;
    try {
      text = readFileSync(file, 'utf8');
    } catch (error) {
      const message = `can't be read: ${error instanceof Error ? error.message : String(error)}`;
      findings.push({ severity: 'error', path: [], code: 'unreadable', message, file });
      return undefined;
    }
    try {
      return new FolderDocument(file, text, JSON.parse(text), findings);
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      findings.push({
        severity: 'error',
        path: [],
        code: 'json-syntax',
        ...syntaxMistake(text, error),
        file,
      });
      return undefined;
    }
  }

  add(severity: Severity, path: Path, code: string, message: string): void {
    const key = JSON.stringify(path);
    if (severity === 'error') {
      if (this.#told.has(key)) return;
      this.#told.add(key);
    }
    this.#findings.push({ severity, path, code, message, file: this.file, ...this.#locate(path, code) });
  }

  /** Whether an error has been told of this place, or about one that it is part of. */
  hasTold(path: Path): boolean {
    return path.some((_, i) => this.#told.has(JSON.stringify(path.slice(0, i + 1)))) || this.#told.has('[]');
  }

  #locate(path: Path, code: string): { line?: number; column?: number } {
    const { locate } = parseYaml(this.#text, { file: this.file });
    const { line, column } = locate(path, code === 'unknown-field' || code === 'missing-field');
    return { line, column };
  }

  /**
   * The value at `base` in its shape, undefined if it has none. Every mistake becomes a finding; a broken value for which there is a
   * stand-in does not keep the rest from being checked.
   */
  fit<Shape extends z.ZodType>(shape: Shape, base: Path = []): z.output<Shape> | undefined {
    const value: unknown = structuredClone(valueAt(this.value, base));
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const parsed = shape.safeParse(value);
      if (parsed.success) return parsed.data;
      let hopeless = false;
      for (const { path, message } of mistakesOf(parsed.error, value).list) {
        const place = [...base, ...path];
        if (message.startsWith('unknown key')) {
          this.add(
            'warning',
            place,
            'unknown-field',
            `${message.replaceAll('key', 'field')}; the release ignores it`,
          );
          change(value, path, undefined);
          continue;
        }
        this.add('error', place, message.startsWith('missing') ? 'missing-field' : 'bad-value', message);
        const standIn = standInFor(path, value);
        if (standIn === undefined) hopeless = true;
        else change(value, path, standIn);
      }
      if (hopeless) return undefined;
    }
    return undefined;
  }
}

function standInFor(path: Path, root: unknown): unknown {
  const key = String(path[path.length - 1] ?? '');
  const parent = path[path.length - 2];
  if (key === 'num_stages') {
    const stages = valueAt(root, [...path.slice(0, -1), 'stages']);
    return Array.isArray(stages) ? stages.length : undefined;
  }
  if (key === 'path_stage_id') return parent;
  if (key === 'type' && parent === 'recv_time_model') return 'const';
  if (key === 'type' && path.length > 1) return undefined;
  return STAND_INS[key];
}

/** Sets or, with undefined, removes the value at a path. */
function change(root: unknown, path: Path, value: unknown): void {
  let inner: unknown = root;
  for (const part of path.slice(0, -1)) inner = Reflect.get(Object(inner), part);
  const [key] = path.slice(-1);
  if (typeof inner !== 'object' || inner === null) return;
  if (value === undefined) Reflect.deleteProperty(inner, key);
  else Reflect.set(inner, key, value);
}

/** A SyntaxError of JSON.parse with its place, which the YAML reader knows better. */
function syntaxMistake(
  text: string,
  error: SyntaxError,
): { message: string; line?: number; column?: number } {
  const position = /position (\d+)/.exec(error.message)?.[1];
  const offset = position === undefined ? text.length : Number(position);
  const before = text.slice(0, offset).split('\n');
  const message = `is not JSON: ${error.message.replace(/ in JSON at position.*$|, "?\.\.\..*$/s, '')}`;
  return { message, line: before.length, column: before[before.length - 1].length + 1 };
}
