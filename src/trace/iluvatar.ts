// Ilúvatar's load generator: a trace of `func_name,invoke_time_ms` and beside it a metadata table
// `func_name,cold_dur_ms,warm_dur_ms,mem_mb,mean_iat`. Times are of the whole trace; a call has no duration of
// its own, so each gets the warm one of its function.

import { VtimeError } from '../errors.js';
import { CallDraft, timeNs } from './calls.js';
import type { FormatFiles, ReaderOptions } from './formats.js';
import { scanNamedTable } from './named-table.js';
import type { RuleCounter } from './rules.js';
import type { InputFile, Trace } from './schema.js';

const MS = 1e6;
const CALLS = { kind: 'invocations', required: ['func_name', 'invoke_time_ms'] } as const;
const METADATA = {
  kind: 'metadata',
  required: ['func_name', 'warm_dur_ms'],
  optional: ['cold_dur_ms', 'mem_mb', 'mean_iat'],
} as const;

interface Described {
  warm_ns: number;
  mean_iat_ms: number | null;
  place: string;
}

function compareIat(draft: CallDraft, described: Map<string, Described>, rules: RuleCounter): void {
  const { totals, span_ns } = draft;
  draft.functionIds.forEach((id, i) => {
    const known = described.get(id);
    if (known?.mean_iat_ms == null || totals[i] < 2) return;
    const seen_ms = span_ns / MS / totals[i];
    if (Math.abs(known.mean_iat_ms - seen_ms) > 0.1 * seen_ms)
      rules.add('metadata.iat-disagrees', () => known.place);
  });
}

/** Reads an Ilúvatar trace and, if it is there, its metadata. */
export async function readIluvatar(
  files: FormatFiles,
  rules: RuleCounter,
  { signal }: ReaderOptions,
): Promise<Trace> {
  const calls = files.optional('iluvatar', 'invocations');
  const metadata = files.optional('iluvatar', 'metadata');
  if (calls === undefined) {
    throw new VtimeError('trace_format', 'no invocations table', {
      file: metadata!,
      expected: 'a CSV file with func_name,invoke_time_ms beside the metadata',
    });
  }
  const draft = new CallDraft();
  const inputs: InputFile[] = [
    await scanNamedTable(calls, CALLS, rules, signal, (row) => {
      row.amount('invoke_time_ms');
      draft.add(row.key('func_name'), timeNs(row, 'invoke_time_ms', MS), null);
      return true;
    }),
  ];
  const described = new Map<string, Described>();
  if (metadata !== undefined) {
    const called = new Set(draft.functionIds);
    inputs.push(
      await scanNamedTable(metadata, METADATA, rules, signal, (row) => {
        const id = row.key('func_name');
        const warm_ms = row.amount('warm_dur_ms');
        if (warm_ms > 1e12) throw row.error('warm_dur_ms', 'milliseconds');
        if (!called.has(id)) {
          rules.add('metadata.orphan', () => row.place());
          return false;
        }
        if (described.has(id)) {
          rules.add('metadata.duplicate-key', () => row.place());
          return false;
        }
        if (warm_ms === 0) rules.add('durations.zero-call', () => row.place('warm_dur_ms'));
        described.set(id, {
          warm_ns: Math.max(Math.round(warm_ms * MS), MS / 2),
          mean_iat_ms: row.optionalNumber('mean_iat'),
          place: row.place(),
        });
        return true;
      }),
    );
    rules.add('metadata.warm-duration', () => inputs[0].file);
    compareIat(draft, described, rules);
  }
  for (const id of draft.functionIds) if (!described.has(id)) rules.add('metadata.missing', () => id);
  draft.fillDurations(new Map([...described].map(([id, { warm_ns }]) => [id, warm_ns])));
  return draft.finish('iluvatar', inputs, rules, calls);
}
