// Malformed machine profiles, function profiles, Arrow files and command lines.

import { Schema, Table, tableFromArrays, tableToIPC } from 'apache-arrow';
import {
  functionsToArrow,
  invocationsToArrow,
  type Trace,
  traceFromInvocations,
} from '../../src/trace/index.js';
import type { Malformed } from './case.js';

const ONE_JOB = 'workload: {tasks: [{name: job, program: [{run: 1s}]}]}';
const JOB = { 'c.yaml': `${ONE_JOB}\n` };

const machine = (name: string, text: string): Malformed => ({
  group: 'machine profile',
  name,
  files: { 'c.yaml': `machine: ./m.json\n${ONE_JOB}\n`, 'm.json': text },
  args: ['run', '@c.yaml', '--machine', '@m.json', '-o', '@out'],
});

const MACHINES: Malformed[] = [
  machine('empty', ''),
  machine('not JSON', '{"name": '),
  machine('a list', '[]'),
  machine('no fields', '{}'),
  machine('unknown base', '{"name": "m", "extends": "xeon-9"}'),
  machine('unknown key', '{"name": "m", "extends": "xeon-8160-2s", "pakages": 1}'),
  machine('no packages', '{"name": "m", "extends": "xeon-8160-2s", "packages": 0}'),
  machine('words for cores', '{"name": "m", "extends": "xeon-8160-2s", "cores_per_package": "many"}'),
];

const profile = (name: string, text: string): Malformed => ({
  group: 'function profiles',
  name,
  files: {
    'c.yaml':
      'workload:\n  serverless: {trace: azure2019-28, window: {length: 1min}, profiles: {mapping: nearest-duration, file: "./p.json"}}\n',
    'p.json': text,
  },
  args: ['run', '@c.yaml', '--set', 'workload.serverless.profiles.file=@p.json', '-o', '@out'],
});
const profileOf = (phases: string, more = '') =>
  `{"format": "vtime.profiles", "version": 1, "sources": {}, "profiles": [{"name": "a", "suite": "s", "phases": ${phases}, "source": {}${more}}]}`;

const PROFILES: Malformed[] = [
  profile('empty', ''),
  profile('not JSON', '{"format": '),
  profile('another document', '{"format": "vtime.machines"}'),
  profile('another version', '{"format": "vtime.profiles", "version": 2, "sources": {}, "profiles": []}'),
  profile('no phases', profileOf('[]')),
  profile('unknown kind', profileOf('[{"kind": "gpu", "work_ms": 1}]')),
  profile('negative work', profileOf('[{"kind": "cpu", "work_ms": -1}]')),
  profile('unknown key', profileOf('[{"kind": "cpu", "work_ms": 1}]', ', "phase": 1')),
];

/** Two functions, three calls. */
const TRACE: Trace = traceFromInvocations(
  {
    function_ids: ['f', 'g'],
    function_index: Uint32Array.of(0, 1, 0),
    start_ns: BigUint64Array.of(0n, 5n, 9n),
    duration_ns: BigUint64Array.of(1n, 2n, 3n),
  },
  { format: 'invocations', inputs: [], rules: [], steps: [] },
);

const arrow = (name: string, bytes: Uint8Array): Malformed => ({
  group: 'Arrow',
  name,
  files: { 't.arrow': Buffer.from(bytes) },
  args: ['trace', 'info', '@t.arrow'],
});

/** The bytes with some replaced. */
function patched(bytes: Uint8Array, at: number, ...values: number[]): Uint8Array {
  const copy = Uint8Array.from(bytes);
  copy.set(values, at < 0 ? copy.length + at : at);
  return copy;
}

function withMetadata(changes: Record<string, string>): Uint8Array {
  const { schema, batches } = TRACE.invocations!;
  const metadata = new Map([...schema.metadata, ...Object.entries(changes)]);
  return tableToIPC(new Table(new Schema(schema.fields, metadata), batches), 'file');
}

const INVOCATIONS = invocationsToArrow(TRACE);
const FUNCTIONS = functionsToArrow(TRACE);
const MIDDLE = INVOCATIONS.length >> 1;

const ARROWS: Malformed[] = [
  arrow('magic only', Buffer.from('ARROW1')),
  arrow('two magics', Buffer.from('ARROW1\0\0ARROW1')),
  arrow('half a file', INVOCATIONS.subarray(0, MIDDLE)),
  arrow('last byte missing', INVOCATIONS.subarray(0, -1)),
  arrow('a stream', tableToIPC(TRACE.invocations!, 'stream')),
  arrow(
    'a stream with the magic of a file',
    Buffer.concat([Buffer.from('ARROW1\0\0'), tableToIPC(TRACE.functions, 'stream')]),
  ),
  arrow('footer length 0', patched(INVOCATIONS, -10, 0, 0, 0, 0)),
  arrow('footer length negative', patched(INVOCATIONS, -10, 255, 255, 255, 255)),
  arrow('footer length huge', patched(INVOCATIONS, -10, 255, 255, 255, 127)),
  arrow('a bit of the data', patched(INVOCATIONS, MIDDLE, INVOCATIONS[MIDDLE] ^ 1)),
  arrow(
    'a bit of the checksum',
    patched(FUNCTIONS, FUNCTIONS.length >> 1, FUNCTIONS[FUNCTIONS.length >> 1] ^ 128),
  ),
  arrow('another table', tableToIPC(tableFromArrays({ a: [1, 2] }), 'file')),
  arrow('another schema', withMetadata({ 'vtime.schema': 'vtime.results' })),
  arrow('a newer version', withMetadata({ 'vtime.version': '99' })),
  arrow('no provenance', withMetadata({ provenance: '' })),
  arrow('provenance of another kind', withMetadata({ provenance: '{"format": "x"}' })),
  arrow('columns of the other table', withMetadata({ 'vtime.schema': 'vtime.functions' })),
];

const usage = (name: string, ...args: string[]): Malformed => ({ group: 'usage', name, files: JOB, args });

const USAGE: Malformed[] = [
  usage('unknown command', 'simulate', '@c.yaml'),
  usage('unknown option', 'run', '@c.yaml', '--fast'),
  usage('no config', 'run'),
  usage('absent config', 'run', '@absent.yaml'),
  usage('folder for a config', 'run', '@'),
  usage('--set without value', 'run', '@c.yaml', '--set', 'seed'),
  usage('--set of an unknown path', 'run', '@c.yaml', '--set', 'polcy=eevdf'),
  usage('--seed of words', 'run', '@c.yaml', '--seed', 'lucky'),
  usage('--trace without a serverless workload', 'run', '@c.yaml', '--trace', 'azure2019-28'),
  usage('--scheduler unknown', 'run', '@c.yaml', '--scheduler', 'cfs'),
  usage('sweep without a sweep', 'sweep', '@c.yaml', '-o', '@out', '--workers', '0'),
  usage('import without -o', 'trace', 'import', '@'),
  usage('import of nothing', 'trace', 'import', '@absent', '-o', '@out'),
  usage('--top of words', 'trace', 'info', 'azure2019-28', '--top', 'ten'),
  usage('--durations unknown', 'trace', 'info', 'azure2019-28', '--durations', 'median'),
  usage('generate without a unit', 'trace', 'generate', '-o', '@out', '--length', '30'),
  usage('generate too much', 'trace', 'generate', '-o', '@out', '--rate', '100000/us'),
  usage('generate no functions', 'trace', 'generate', '-o', '@out', '--functions', '0'),
  usage('report of nothing', 'report', '@absent'),
];

export const DOCUMENTS: Malformed[] = [...MACHINES, ...PROFILES, ...ARROWS, ...USAGE];
