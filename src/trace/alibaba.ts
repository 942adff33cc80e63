// Alibaba's microservice call graphs, 2021 and 2022: a row per call, times in ms. Each rpc may be recorded twice, by its
// caller (rt above 0) and by its callee (rt below 0); caches and databases only once. An rpc or http call becomes an
// invocation of its callee's interface; the graph itself is not part of a trace of invocations.

import { CallDraft, timeNs } from './calls.js';
import type { FormatFiles, ReaderOptions } from './formats.js';
import { type NamedRow, scanNamedTable } from './named-table.js';
import type { RuleCounter } from './rules.js';
import type { InputFile, Trace } from './schema.js';

const MS = 1e6;
const COMMON = ['traceid', 'timestamp', 'rpctype', 'um', 'dm', 'interface', 'rt'] as const;
const FORMATS = {
  alibaba2021: { rpcid: 'rpcid', table: { kind: 'calls', required: [...COMMON, 'rpcid'], optional: [''] } },
  alibaba2022: {
    rpcid: 'rpc_id',
    table: {
      kind: 'calls',
      required: [...COMMON, 'rpc_id'],
      optional: ['service', 'uminstanceid', 'dminstanceid'],
    },
  },
} as const;

/** How a missing service is written. */
const UNKNOWN = new Set(['', 'NAN', 'nan', 'NaN', '(?)', 'UNKNOWN', 'UNAVAILABLE']);

interface Call {
  function_id: string;
  start_ns: number;
  duration_ns: number | null;
  byCallee: boolean;
  place: string;
}

function record(row: NamedRow, calls: Map<string, Call>, key: string, rules: RuleCounter): boolean {
  const rt = row.number('rt');
  if (Math.abs(rt) > 1e12) throw row.error('rt', 'milliseconds');
  const place = row.place();
  const byCallee = rt < 0;
  if (rt === 0) rules.add('durations.zero-call', () => row.place('rt'));
  const dm = row.text('dm');
  const name = row.text('interface');
  const call: Call = {
    function_id: UNKNOWN.has(name) ? dm : `${dm}/${name}`,
    start_ns: timeNs(row, 'timestamp', MS),
    duration_ns: rt === 0 ? MS / 2 : Math.round(Math.abs(rt) * MS),
    byCallee,
    place,
  };
  const known = calls.get(key);
  if (known === undefined) {
    calls.set(key, call);
    return true;
  }
  if (known.byCallee === byCallee) {
    rules.add('invocations.duplicate-id', () => place);
    return false;
  }
  rules.add('calls.two-records', () => place);
  if (byCallee) calls.set(key, call);
  return true;
}

async function readCallGraph(
  format: 'alibaba2021' | 'alibaba2022',
  files: FormatFiles,
  rules: RuleCounter,
  { signal }: ReaderOptions,
): Promise<Trace> {
  const { rpcid, table } = FORMATS[format];
  const calls = new Map<string, Call>();
  const inputs: InputFile[] = [];
  const paths = files.all(format, 'calls');
  for (const path of paths) {
    inputs.push(
      await scanNamedTable(path, table, rules, signal, (row) => {
        const trace = row.key('traceid');
        const id = row.key(rpcid);
        if (!/^\d+(\.\d+)*$/.test(id)) throw row.error(rpcid, 'numbers with dots between them, like 0.1.2');
        const type = row.text('rpctype');
        timeNs(row, 'timestamp', MS);
        row.number('rt');
        if (type !== 'rpc' && type !== 'http') {
          rules.add('calls.other-type', () => row.place('rpctype'));
          return false;
        }
        if (UNKNOWN.has(row.text('dm'))) {
          rules.add('calls.unknown-callee', () => row.place('dm'));
          return false;
        }
        return record(row, calls, `${trace} ${id}`, rules);
      }),
    );
  }
  const draft = new CallDraft();
  for (const [key, { function_id, start_ns, duration_ns, place }] of calls) {
    const parent = key.slice(0, key.lastIndexOf('.'));
    if (key.lastIndexOf('.') > key.lastIndexOf(' ') && calls.has(parent))
      rules.add('calls.nested', () => place);
    draft.add(function_id, start_ns, duration_ns);
  }
  return draft.finish(format, inputs, rules, paths[0]);
}

export const readAlibaba2021 = (
  files: FormatFiles,
  rules: RuleCounter,
  options: ReaderOptions,
): Promise<Trace> => readCallGraph('alibaba2021', files, rules, options);

export const readAlibaba2022 = (
  files: FormatFiles,
  rules: RuleCounter,
  options: ReaderOptions,
): Promise<Trace> => readCallGraph('alibaba2022', files, rules, options);
