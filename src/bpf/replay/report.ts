// A replay's result as text: counts, shares against their limits, and the first unexplained decisions in their context.

import { kindName, type Recording, type RecordingColumns } from '../recording/schema.js';
import { type Counts, DECISIONS, type ReplayResult } from './verdicts.js';

/** Records shown before and after an unexplained one. */
const BEFORE = 12;
const AFTER = 4;

const FIELDS = ['flags', 'dsq', 'slice_ns', 'vtime', 'exec_ns', 'target', 'group', 'result'] as const;

/**
 * Largest share of consistent decisions by number of CPUs: what recordings of correct schedulers showed under an emulator
 * whose CPUs take turns. Above 8 CPUs overlaps are frequent, and there is no limit.
 */
export function consistentLimit(cpus: number): number | undefined {
  if (cpus <= 4) return 0.001;
  return cpus <= 8 ? 0.03 : undefined;
}

/** Share of the decisions of some recordings that are only consistent. */
export function consistentShare(results: readonly ReplayResult[]): number {
  const counts = results.flatMap(({ decisions }) => Object.values(decisions));
  const sum = (verdict: keyof Counts) => counts.reduce((total, of) => total + of[verdict], 0);
  const all = sum('exact') + sum('consistent') + sum('unexplained');
  return all === 0 ? 0 : sum('consistent') / all;
}

export function unexplainedCount({ decisions }: ReplayResult): number {
  return Object.values(decisions).reduce((sum, { unexplained }) => sum + unexplained, 0);
}

/** Record `index` as a line; fields that are 0 are left out. */
export function recordLine(columns: RecordingColumns, index: number): string {
  const { time_ns, cpu, kind, pid } = columns;
  const fields = FIELDS.filter((name) => Number(columns[name][index]) !== 0).map((name) => {
    const value = columns[name][index];
    if (name === 'group' && value === 0xffffffff) return 'group none';
    return `${name} ${name === 'flags' ? `0x${value.toString(16)}` : value}`;
  });
  const head = [
    `#${index}`,
    `${time_ns[index]} ns`,
    `CPU ${cpu[index]}`,
    kindName(kind[index]) ?? `kind ${kind[index]}`,
  ];
  return [...head, ...(pid[index] === 0 ? [] : [`pid ${pid[index]}`]), ...fields].join('  ');
}

function table(decisions: ReplayResult['decisions']): string[] {
  const row = (name: string, { exact, consistent, unexplained }: Record<keyof Counts, number | string>) =>
    `  ${name.padEnd(10)} ${String(exact).padStart(9)} ${String(consistent).padStart(11)} ${String(unexplained).padStart(12)}`;
  const head = row('decision', { exact: 'exact', consistent: 'consistent', unexplained: 'unexplained' });
  return [head, ...DECISIONS.map((name) => row(name, decisions[name]))];
}

function context(columns: RecordingColumns, record: number): string[] {
  const lines: string[] = [];
  const end = Math.min(columns.kind.length - 1, record + AFTER);
  for (let i = Math.max(0, record - BEFORE); i <= end; i++)
    lines.push(`  ${i === record ? '>' : ' '} ${recordLine(columns, i)}`);
  return lines;
}

/** A recording's table, and the first unexplained decisions in their context. */
export function replayText(recording: Recording, result: ReplayResult): string {
  const { overlaps, unexplained, records, cpus } = result;
  const lines = [
    `${records} records of ${recording.info.scheduler} on ${cpus} CPUs, kernel ${recording.info.kernel}`,
    ...table(result.decisions),
    `  overlaps: ${Object.entries(overlaps)
      .map(([name, count]) => `${name} ${count}`)
      .join(', ')}`,
  ];
  for (const { record, decision, expected, found } of unexplained) {
    lines.push(
      '',
      `unexplained ${decision} at record ${record}: recorded ${found}, the simulator has ${expected}`,
    );
    lines.push(...context(recording.columns, record));
  }
  return lines.join('\n');
}
