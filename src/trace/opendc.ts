// OpenDC's FaaS traces: a row per function and minute. `Timestamp [ms]` is the end of the minute; the published files
// have blanks before some column names.

import { SeriesDraft } from './calls.js';
import type { FormatFiles, ReaderOptions } from './formats.js';
import { scanNamedTable } from './named-table.js';
import type { RuleCounter } from './rules.js';
import type { InputFile, Trace } from './schema.js';

const MINUTE_MS = 60_000;
const MAX_MINUTE = 1 << 24;
const SERIES = {
  kind: 'invocations',
  required: ['Timestamp [ms]', 'Invocations', 'Avg Exec time per Invocation', 'name'],
  optional: [
    'Provisioned CPU [Mhz]',
    'Provisioned Memory [mb]',
    'Avg cpu usage per Invocation [Mhz]',
    'Avg mem usage per Invocation [mb]',
  ],
} as const;

export async function readOpenDc(
  files: FormatFiles,
  rules: RuleCounter,
  { signal }: ReaderOptions,
): Promise<Trace> {
  const draft = new SeriesDraft();
  const inputs: InputFile[] = [];
  const paths = files.all('opendc', 'invocations');
  for (const path of paths) {
    inputs.push(
      await scanNamedTable(path, SERIES, rules, signal, (row) => {
        const id = row.key('name');
        const at_ms = row.amount('Timestamp [ms]');
        const minute = at_ms / MINUTE_MS - 1;
        if (!Number.isInteger(minute) || minute < 0 || minute > MAX_MINUTE)
          throw row.error('Timestamp [ms]', 'a multiple of 60000 from 60000');
        const calls = row.amount('Invocations');
        if (!Number.isInteger(calls) || calls > 0xffffffff) throw row.error('Invocations', 'a whole number');
        const average_ms = row.amount('Avg Exec time per Invocation');
        const cell = draft.cell(id, minute);
        if (cell.calls !== undefined) {
          rules.add('intervals.duplicate-key', () => row.place());
          return false;
        }
        cell.calls = calls;
        if (calls > 0) {
          cell.average_ms = average_ms;
          if (average_ms === 0)
            rules.add('durations.average-zero', () => row.place('Avg Exec time per Invocation'));
        }
        const memory = row.optionalNumber('Avg mem usage per Invocation [mb]');
        if (memory !== null && memory >= 0)
          draft.memory_mb.set(id, Math.max(memory, draft.memory_mb.get(id) ?? 0));
        return true;
      }),
    );
  }
  return draft.finish('opendc', inputs, rules, paths[0], (id, minute) => {
    rules.add('intervals.missing', () => `${id} minute ${minute + 1}`);
  });
}
