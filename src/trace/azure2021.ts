// Azure Functions 2021: `app,func,end_timestamp,duration` per invocation, seconds since the start of the recording.
// The start is end − duration, so calls that ran when recording began start before 0.

import { CallDraft, durationOf, timeNs } from './calls.js';
import type { FormatFiles, ReaderOptions } from './formats.js';
import { scanNamedTable } from './named-table.js';
import type { RuleCounter } from './rules.js';
import type { InputFile, Trace } from './schema.js';

const SECOND = 1e9;
const CALLS = { kind: 'invocations', required: ['app', 'func', 'end_timestamp', 'duration'] } as const;
/** Durations are whole milliseconds. */
const RESOLUTION_NS = 1e6;

export async function readAzure2021(
  files: FormatFiles,
  rules: RuleCounter,
  { signal }: ReaderOptions,
): Promise<Trace> {
  const draft = new CallDraft();
  const seen = new Set<string>();
  const inputs: InputFile[] = [];
  const paths = files.all('azure2021', 'invocations');
  for (const path of paths) {
    inputs.push(
      await scanNamedTable(path, CALLS, rules, signal, (row) => {
        const id = `${row.key('app')}/${row.key('func')}`;
        const end_ns = timeNs(row, 'end_timestamp', SECOND);
        const duration_ns = durationOf(row, 'duration', SECOND, RESOLUTION_NS, rules);
        const key = `${id} ${end_ns} ${duration_ns}`;
        if (seen.has(key)) rules.add('invocations.repeated-row', () => row.place());
        seen.add(key);
        draft.add(id, end_ns - (duration_ns ?? 0), duration_ns);
        return true;
      }),
    );
  }
  return draft.finish('azure2021', inputs, rules, paths[0]);
}
