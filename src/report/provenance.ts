// What a report was made from: versions, hashes, seeds, inputs, and what the encoder states about the workload.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { canonicalJson } from '../config/canonical.js';
import { BUNDLED_TRACES, bundledTracePath } from '../trace/read.js';
import { seedList, share, significant } from './format.js';
import type { Summary } from './summary.js';

export type Fact = [name: string, value: string];

/** Source, licence and citation of a bundled trace, from the ORIGIN.md beside it. */
export function originOf(trace: string): Fact[] {
  if (!Object.hasOwn(BUNDLED_TRACES, trace)) return [];
  const file = join(bundledTracePath(trace), 'ORIGIN.md');
  if (!existsSync(file)) return [];
  const bullets = readFileSync(file, 'utf8').matchAll(/^\* \*\*(\w+)\*\*: ((?:.+\n)(?: {2}.+\n)*)/gm);
  return [...bullets].map(([, name, text]) => [
    `Data: ${name.toLowerCase()}`,
    text.replace(/[*\s]+/g, ' ').trim(),
  ]);
}

function fieldText(value: unknown): string {
  if (typeof value === 'number') return Number.isInteger(value) ? String(value) : significant(value, 4);
  if (typeof value !== 'object' || value === null) return String(value);
  if (Array.isArray(value)) return value.map(fieldText).join('; ') || 'none';
  const fields = Object.entries(value);
  return fields.length === 0 ? 'none' : fields.map(([key, inner]) => `${key} ${fieldText(inner)}`).join(', ');
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** "uploader 11, thumbnailer 1": how often each value occurs. */
function tally(values: Record<string, unknown>): string {
  const counts = new Map<string, number>();
  for (const value of Object.values(values).map(fieldText)) counts.set(value, (counts.get(value) ?? 0) + 1);
  const parts = [...counts].sort((a, b) => b[1] - a[1]).map(([value, n]) => `${value} ${n}`);
  return parts.join(', ') || 'none';
}

/** Statements with a unit or a shape of their own; what is per function stands in the table of functions. */
const STATEMENTS: Record<string, (value: unknown) => string> = {
  load_scale: (value) => `counts × ${significant(Number(value), 4)}`,
  offered_load: (value) => `${significant(Number(value))} of the CPUs`,
  mapping(value) {
    if (!isRecord(value)) return fieldText(value);
    const { mapping, functions, mean_error, maximum_error } = value;
    const profiles = isRecord(functions) ? `; functions per profile: ${tally(functions)}` : '';
    const errors = `; durations differ from the profile’s by ${share(Number(mean_error))} on average, ${share(Number(maximum_error))} at most`;
    return `${fieldText(mapping)}${profiles}${errors}`;
  },
  pollers: (value) => (isRecord(value) ? tally(value) : fieldText(value)),
  trace_rules: (value) =>
    Array.isArray(value)
      ? value
          .filter(isRecord)
          .map(({ rule, count: n, says, action }) => `${rule} (${n}, ${action}): ${says}`)
          .join('; ') || 'none'
      : fieldText(value),
};

/** The statements of all cells: one value where they agree, else each with where it holds. */
export function statementsOf(summary: Summary): Fact[] {
  const seen = new Map<string, Map<string, { text: string; scenarios: Set<string> }>>();
  for (const { label, points } of summary.scenarios) {
    for (const { statements } of points.flatMap(({ cells }) => cells)) {
      for (const [name, value] of Object.entries(statements)) {
        const texts = seen.get(name) ?? new Map();
        seen.set(name, texts);
        const key = canonicalJson(value ?? null);
        const text = (STATEMENTS[name] ?? fieldText)(value);
        const entry = texts.get(key) ?? { text, scenarios: new Set() };
        entry.scenarios.add(label);
        texts.set(key, entry);
      }
    }
  }
  return [...seen].map(([name, texts]) => {
    const entries = [...texts.values()];
    const text =
      entries.length === 1
        ? entries[0].text
        : entries.map((entry) => `${entry.text} (${[...entry.scenarios].join('; ')})`).join('; ');
    return [name.replaceAll('_', ' '), text];
  });
}

/** The inputs that any cell read, each once. */
function inputsOf(summary: Summary): Fact[] {
  const inputs = new Map<string, Fact>();
  for (const { kind, file, sha256 } of summary.input.cells.flatMap(({ inputs }) => inputs)) {
    inputs.set(`${kind} ${file} ${sha256}`, [`Input: ${kind}`, `${file}, SHA-256 ${sha256}`]);
  }
  return [...inputs.values()];
}

/** Everything a reader needs to get the same figures again. */
export function provenanceFacts(summary: Summary): Fact[] {
  const { config, run } = summary.input;
  const { machine, kernel, workload } = config;
  const trace = workload.serverless?.trace;
  return [
    ['vtime', `${run.vtime}, engine SHA-256 ${run.engine_sha256}`],
    ['Config', `SHA-256 ${run.config_sha256}`],
    ['Seeds', seedList(summary.seeds)],
    ['Machine', `${machine.profile}${machine.cpus === undefined ? '' : `, ${machine.cpus} CPUs`}`],
    ['Kernel', `${kernel.version}, ticks at ${kernel.hz}`],
    ...inputsOf(summary),
    ...Object.entries(run.files).map(([file, sha256]): Fact => [`Result: ${file}`, `SHA-256 ${sha256}`]),
    ...(trace === undefined ? [] : originOf(trace)),
  ];
}
