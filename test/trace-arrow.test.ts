// Arrow files hold exactly the trace that was written, and explain themselves.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  CompressionType,
  compressionRegistry,
  RecordBatch,
  RecordBatchFileWriter,
  Schema,
  Table,
  tableFromArrays,
  tableToIPC,
} from 'apache-arrow';
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  columnsOf,
  countsMatrix,
  type FunctionRow,
  functionRows,
  functionsToArrow,
  invocationsToArrow,
  invocationTotals,
  type Provenance,
  readTrace,
  selectFunctions,
  selectMinutes,
  traceFromInvocations,
  traceShape,
  UNKNOWN_DURATION_NS,
  writeInvocations,
  writeTrace,
} from '../src/trace/index.js';
import { DURATION_HEADER, failure, folderOf } from './support/traces.js';

const PROVENANCE: Provenance = { format: 'invocations', inputs: [], rules: [], steps: [] };

/** Three calls of a and two of b; the calls of b have no duration. Second 61 is in the second minute. */
const explicit = () =>
  traceFromInvocations(
    {
      function_ids: ['o/p/a', 'b'],
      function_index: Uint32Array.of(0, 1, 0, 1, 0),
      start_ns: BigUint64Array.of(0n, 5n, 1_000_000_000n, 61_000_000_000n, 61_000_000_001n),
      duration_ns: BigUint64Array.of(
        4_000_000n,
        UNKNOWN_DURATION_NS,
        2_000_000n,
        UNKNOWN_DURATION_NS,
        6_000_000n,
      ),
    },
    PROVENANCE,
  );

const hash = fc.stringMatching(/^[a-z0-9 ,"]*[a-z0-9]$/);
const statistic = fc.option(fc.double({ min: 0, max: 1e7, noNaN: true }), { nil: null });
const functionOf = (minutes: number) =>
  fc.record({
    keys: fc.tuple(hash, hash, hash),
    trigger: fc.option(fc.constantFrom('http', 'timer', 'queue'), { nil: null }),
    counts: fc.array(fc.integer({ min: 0, max: 14_999 }), { minLength: minutes, maxLength: minutes }),
    durations: fc.array(statistic, { minLength: 10, maxLength: 10 }),
    memory: fc.option(fc.double({ min: 0, max: 1e5, noNaN: true }), { nil: null }),
  });
const randomTrace = fc
  .tuple(fc.integer({ min: 1, max: 6 }), fc.integer({ min: 0, max: 1440 }))
  .chain(([minutes, first]) =>
    fc.record({
      first: fc.constant(first),
      minutes: fc.constant(minutes),
      functions: fc.uniqueArray(functionOf(minutes), {
        minLength: 1,
        maxLength: 5,
        selector: ({ keys }) => keys.map((key) => key.trim()).join('/'),
      }),
    }),
  );

test('random traces survive CSV → trace → Arrow → trace', async () => {
  const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;
  await fc.assert(
    fc.asyncProperty(randomTrace, async ({ first, minutes, functions }) => {
      const keys = (f: (typeof functions)[number]) => f.keys.map(quoted).join(',');
      const labels = Array.from({ length: minutes }, (_, i) => first + i);
      const cell = (value: number | null) => value ?? '';
      const folder = folderOf({
        'i.csv': [
          `HashOwner,HashApp,HashFunction,Trigger,${labels.join(',')}`,
          ...functions.map((f) => `${keys(f)},${f.trigger ?? ''},${f.counts.join(',')}`),
        ].join('\n'),
        'd.csv': [
          DURATION_HEADER,
          ...functions.map(
            (f) => `${keys(f)},${cell(f.durations[0])},7,${f.durations.slice(1).map(cell).join(',')}`,
          ),
        ].join('\n'),
        'm.csv': [
          'HashOwner,HashApp,HashFunction,SampleCount,AverageAllocatedMb',
          ...functions.map((f) => `${keys(f)},1,${cell(f.memory)}`),
        ].join('\n'),
      });
      const trace = await readTrace(folder);
      const path = join(folder, 'trace.arrow');
      await writeTrace(trace, path);
      const again = await readTrace(path);

      const [average, minimum, maximum, p0, p1, p25, p50, p75, p99, p100] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
      const expected = functions.map(
        ({ keys: [owner, app, name], trigger, durations, memory }): FunctionRow => ({
          function_id: `${owner}/${app}/${name}`,
          owner,
          app,
          function: name,
          trigger,
          duration_average_ms: durations[average],
          duration_minimum_ms: durations[minimum],
          duration_maximum_ms: durations[maximum],
          duration_p0_ms: durations[p0],
          duration_p1_ms: durations[p1],
          duration_p25_ms: durations[p25],
          duration_p50_ms: durations[p50],
          duration_p75_ms: durations[p75],
          duration_p99_ms: durations[p99],
          duration_p100_ms: durations[p100],
          duration_count: 7,
          memory_mb: memory,
        }),
      );
      for (const one of [trace, again]) {
        assert.equal(functionRows(one), expected);
        assert.equal(
          [...countsMatrix(one)],
          functions.flatMap(({ counts }) => counts),
        );
        assert.equal(traceShape(one), { interval_ns: 60e9, first_minute: first, intervals: minutes });
      }
      assert.equal(again.provenance, trace.provenance);
      assert.equal(functionsToArrow(again), functionsToArrow(trace));
    }),
    { numRuns: 60, seed: 1 },
  );
});

test('reading the same files twice gives the same bytes, wherever they lie', async () => {
  const files = { 'i.csv': 'HashOwner,HashApp,HashFunction,1\no,a,f,NaN\n' };
  const [one, two] = [await readTrace(folderOf(files)), await readTrace(folderOf(files))];
  assert.equal(functionsToArrow(one), functionsToArrow(two));
});

test('a trace can be read into shared memory, its counts without a copy', async () => {
  const folder = folderOf({ 'i.csv': 'HashOwner,HashApp,HashFunction,1,2\no,a,f,3,4\n' });
  await writeTrace(await readTrace(folder), join(folder, 't.arrow'));
  const counts = countsMatrix(await readTrace(join(folder, 't.arrow'), { shared: true }));
  assert.instance(counts.buffer, SharedArrayBuffer);
  assert.equal([...counts], [3, 4]);
});

test('single invocations survive, and give counts and exact statistics', async () => {
  const trace = explicit();
  const path = join(folderOf({}), 'invocations.arrow');
  await writeInvocations(trace, path);
  const again = await readTrace(path);
  for (const one of [trace, again]) {
    assert.equal([...countsMatrix(one)], [2, 1, 1, 1]);
    const [a, b] = functionRows(one);
    // durations 2, 4, 6 ms: mean 4; the smallest v with F(v) ≥ 0.25 is 2, ≥ 0.5 is 4, ≥ 0.75 is 6
    assert.equal(
      [
        a.owner,
        a.duration_average_ms,
        a.duration_p25_ms,
        a.duration_p50_ms,
        a.duration_p75_ms,
        a.duration_count,
      ],
      ['o', 4, 2, 4, 6, 3],
    );
    assert.equal([b.owner, b.function, b.duration_average_ms], [null, 'b', null]);
    const columns = columnsOf(one.invocations!, 'test');
    assert.equal([...columns.start_ns], [0n, 5n, 1_000_000_000n, 61_000_000_000n, 61_000_000_001n]);
    assert.equal(
      [...columns.duration_ns].map((d) => (d === UNKNOWN_DURATION_NS ? null : d)),
      [4_000_000n, null, 2_000_000n, null, 6_000_000n],
    );
    assert.equal([...columns.function_index], [0, 1, 0, 1, 0]);
  }
  assert.equal(invocationsToArrow(again), invocationsToArrow(trace));
});

test('single invocations out of order are sorted under a named rule', () => {
  const trace = traceFromInvocations(
    {
      function_ids: ['a', 'b'],
      function_index: Uint32Array.of(0, 1, 0),
      start_ns: BigUint64Array.of(7n, 3n, 7n),
      duration_ns: BigUint64Array.of(1n, 2n, 3n),
    },
    PROVENANCE,
  );
  const columns = columnsOf(trace.invocations!, 'test');
  assert.equal([...columns.start_ns], [3n, 7n, 7n]);
  // equal starts keep their order: durations 1, then 3
  assert.equal([...columns.duration_ns], [2n, 1n, 3n]);
  assert.equal(
    trace.provenance.rules.map(({ rule, count }) => [rule, count]),
    [['arrivals.unsorted', 1]],
  );
});

test('selections cut single invocations too, with starts relative to the window', () => {
  const second = selectMinutes(selectFunctions(explicit(), { ids: ['o/p/a'] }), { from: 2, minutes: 1 });
  assert.equal([...columnsOf(second.invocations!, 'test').start_ns], [1_000_000_001n]);
  assert.equal([...invocationTotals(second)], [1]);
});

test('refused: no Arrow file, a truncated one, another schema, a newer version', async () => {
  const folder = folderOf({ 'i.csv': 'HashOwner,HashApp,HashFunction,1\no,a,f,3\n' });
  const trace = await readTrace(folder);
  const bytes = functionsToArrow(trace);
  const write = (name: string, content: Uint8Array) => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };
  const message = async (path: string) => (await failure(() => readTrace(path))).message;
  assert.match(
    await message(write('cut.arrow', bytes.slice(0, -20))),
    'cut.arrow: the Arrow file is damaged: it has no footer',
  );
  const foreign = tableToIPC(tableFromArrays({ x: Int32Array.of(1) }), 'file');
  assert.match(await message(write('foreign.arrow', foreign)), 'foreign.arrow: Arrow schema is unnamed');
  const { fields, metadata } = trace.functions.schema;
  const data = trace.functions.batches[0].data;
  const rewritten = (schema: Schema) => tableToIPC(new Table([new RecordBatch(schema, data)]), 'file');
  const later = new Schema(fields, new Map([...metadata, ['vtime.version', '9']]));
  const newer = write('newer.arrow', rewritten(later));
  assert.match(await message(newer), 'vtime.functions has version 9; expected version 1');
  const renamed = fields.map((field) => (field.name === 'owner' ? field.clone({ name: 'user' }) : field));
  const other = write('other.arrow', rewritten(new Schema(renamed, metadata)));
  assert.match(await message(other), 'column owner is missing; expected a column owner of type Utf8');
});

test('refused with the reason: a compressed Arrow file', async () => {
  // A ZSTD frame is recognised by its first four bytes; nothing is ever decoded here.
  const codec = {
    encode: (data: Uint8Array) => Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 0, 0, ...data.slice(0, 8)),
  };
  compressionRegistry.set(CompressionType.ZSTD, codec);
  const folder = folderOf({ 'i.csv': 'HashOwner,HashApp,HashFunction,1\no,a,f,3\n' });
  const trace = await readTrace(folder);
  const writer = new RecordBatchFileWriter({ compressionType: CompressionType.ZSTD });
  const path = join(folder, 'packed.arrow');
  writeFileSync(path, writer.writeAll(trace.functions).finish().toUint8Array(true));
  const error = await failure(() => readTrace(path));
  assert.is(error.code, 'trace_compression');
  assert.match(
    error.message,
    'packed.arrow: the Arrow file is compressed; expected an uncompressed Arrow IPC file',
  );
});

test('writing to a place that cannot be written is an error, and leaves no partial file', async () => {
  const folder = folderOf({ 'i.csv': 'HashOwner,HashApp,HashFunction,1\no,a,f,3\n' });
  const trace = await readTrace(folder);
  const error = await failure(() => writeTrace(trace, join(folder, 'i.csv', 'such.arrow')));
  assert.is(error.code, 'output_unwritable');
  await writeTrace(trace, join(folder, 't.arrow'));
  assert.equal(new Uint8Array(readFileSync(join(folder, 't.arrow'))), functionsToArrow(trace));
});

test.run();
