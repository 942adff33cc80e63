// Traces as Arrow IPC files. A `.arrow` file holds one table: `functions` (statistics and counts) or
// `invocations` (explicit arrivals). A trace with both is written as two files.

import { closeSync, fstatSync, openSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename } from 'node:path';
import { type Table, tableFromIPC, tableToIPC } from 'apache-arrow';
import { VtimeError } from '../errors.js';
import { writeOutput } from '../output.js';
import { columnsOf, type InvocationColumns, traceFromInvocations } from './invocations.js';
import { inspectIpc, MAGIC, withChecksum } from './ipc.js';
import {
  countsMatrix,
  FUNCTIONS_SCHEMA,
  functionRows,
  functionsSchema,
  INVOCATIONS_SCHEMA,
  invocationsSchema,
  type Provenance,
  SCHEMA_VERSION,
  TRACE_FORMATS,
  type Trace,
} from './schema.js';
import { fileReader, streamOf, traceFromStream } from './stream.js';

export interface ReadArrowOptions {
  /** Puts the file into a SharedArrayBuffer, so that workers see the same counts without a copy. */
  shared?: boolean;
  /** Tables of more invocations than this stay on disk: Trace.stream instead of Trace.invocations. Default: none do. */
  stream_above?: number;
}

/** The bytes of a trace's functions table as an Arrow IPC file. Equal traces give equal bytes. */
export function functionsToArrow(trace: Trace): Uint8Array {
  return withChecksum(tableToIPC(trace.functions, 'file'));
}

/** The bytes of a trace's invocations table as an Arrow IPC file; an error if the trace has none. */
export function invocationsToArrow(trace: Trace): Uint8Array {
  if (trace.invocations === undefined) {
    throw new VtimeError(
      'trace_no_invocations',
      'the trace has counts per interval but no single invocations',
    );
  }
  return withChecksum(tableToIPC(trace.invocations, 'file'));
}

/** Writes the functions table of a trace. */
export async function writeTrace(trace: Trace, path: string): Promise<void> {
  writeOutput(path, functionsToArrow(trace));
}

/** Writes the invocations table of a trace. */
export async function writeInvocations(trace: Trace, path: string): Promise<void> {
  writeOutput(path, invocationsToArrow(trace));
}

/** True if a file begins as an Arrow IPC file does. */
export async function isArrowFile(path: string): Promise<boolean> {
  const handle = await open(path, 'r');
  try {
    const start = Buffer.alloc(MAGIC.length);
    await handle.read(start, 0, start.length, 0);
    return start.toString('latin1') === MAGIC;
  } finally {
    await handle.close();
  }
}

async function readBytes(path: string, shared: boolean): Promise<Uint8Array> {
  const handle = await open(path, 'r').catch((error: NodeJS.ErrnoException) => {
    throw new VtimeError('trace_file', `cannot read: ${error.code}`, {
      file: path,
      expected: 'a readable file',
    });
  });
  try {
    const { size } = await handle.stat();
    const bytes = shared ? new Uint8Array(new SharedArrayBuffer(size)) : new Uint8Array(size);
    let offset = 0;
    while (offset < size) {
      const { bytesRead } = await handle.read(bytes, offset, size - offset, offset);
      if (bytesRead === 0) break;
      offset += bytesRead;
    }
    return bytes;
  } finally {
    await handle.close();
  }
}

function decode(bytes: Uint8Array, file: string): Table {
  const { batches, dictionaries } = inspectIpc(
    (offset, length) => bytes.subarray(offset, offset + length),
    bytes.length,
    file,
  );
  if ([...batches, ...dictionaries].some(({ compressed }) => compressed)) {
    throw new VtimeError('trace_compression', 'the Arrow file is compressed', {
      file,
      expected: 'an uncompressed Arrow IPC file (LZ4 and ZSTD need a codec that Node 20 does not have)',
    });
  }
  try {
    return tableFromIPC(bytes);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new VtimeError('trace_arrow', `not a readable Arrow file: ${message}`, {
      file,
      expected: 'an uncompressed Arrow IPC file',
    });
  }
}

const isList = (value: unknown): value is Record<string, unknown>[] =>
  Array.isArray(value) && value.every((entry) => typeof entry === 'object' && entry !== null);

function isProvenance(value: unknown): value is Provenance {
  if (typeof value !== 'object' || value === null) return false;
  const { format, inputs, rules, steps } = value as Record<string, unknown>;
  return (
    TRACE_FORMATS.some((known) => known === format) &&
    isList(inputs) &&
    inputs.every(({ file, sha256 }) => typeof file === 'string' && typeof sha256 === 'string') &&
    isList(rules) &&
    rules.every(
      ({ rule, count, places }) =>
        typeof rule === 'string' && typeof count === 'number' && Array.isArray(places),
    ) &&
    isList(steps)
  );
}

function provenanceOf(metadata: ReadonlyMap<string, string>, file: string): Provenance {
  try {
    const value: unknown = JSON.parse(metadata.get('provenance') ?? '');
    if (!isProvenance(value)) throw new TypeError('not a provenance');
    return value;
  } catch {
    throw new VtimeError('trace_arrow', 'the provenance in the schema metadata is missing or damaged', {
      file,
      expected: 'a file written by vtime',
    });
  }
}

/** Refuses a table whose columns are not those of its schema, by name and type. */
function requireColumns(table: Table, expected: { name: string; type: unknown }[], file: string): void {
  for (const { name, type } of expected) {
    const field = table.schema.fields.find((other) => other.name === name);
    if (field !== undefined && String(field.type) === String(type)) continue;
    throw new VtimeError(
      'trace_arrow',
      field ? `column ${name} is ${field.type}` : `column ${name} is missing`,
      {
        file,
        expected: `a column ${name} of type ${type}`,
      },
    );
  }
}

/** The library decodes columns on access: damaged offsets should be found here, not in the middle of a run. */
function requireReadable(trace: Trace, intervals: number, file: string): void {
  const damaged = (what: string): never => {
    throw new VtimeError('trace_arrow', `table is damaged: ${what}`, {
      file,
      expected: 'a file written by vtime',
    });
  };
  try {
    if (countsMatrix(trace).length !== trace.functions.numRows * intervals) damaged('counts are incomplete');
    for (const { function_id } of functionRows(trace))
      if (typeof function_id !== 'string') damaged('no function_id');
  } catch (error) {
    if (error instanceof VtimeError) throw error;
    damaged(error instanceof Error ? error.message : String(error));
  }
}

function functionsTrace(table: Table, file: string): Trace {
  const provenance = provenanceOf(table.schema.metadata, file);
  const number = (key: string) => Number(table.schema.metadata.get(key));
  const shape = {
    interval_ns: number('interval_ns'),
    first_minute: number('first_minute'),
    intervals: number('intervals'),
  };
  if (!Object.values(shape).every(Number.isSafeInteger) || shape.intervals < 1 || shape.interval_ns < 1) {
    throw new VtimeError(
      'trace_arrow',
      'schema metadata has no usable interval_ns, first_minute and intervals',
      {
        file,
        expected: 'whole numbers',
      },
    );
  }
  requireColumns(table, functionsSchema(shape, provenance).fields, file);
  const trace = { functions: table, provenance };
  requireReadable(trace, shape.intervals, file);
  return trace;
}

function readableColumns(table: Table, file: string): InvocationColumns {
  try {
    return columnsOf(table, file);
  } catch (error) {
    if (error instanceof VtimeError) throw error;
    throw new VtimeError(
      'trace_arrow',
      `table is damaged: ${error instanceof Error ? error.message : error}`,
      {
        file,
        expected: 'a file written by vtime',
      },
    );
  }
}

/** The name of the schema that the metadata states; an error if it is none of vtime's, or of another version. */
function requireSchema(metadata: ReadonlyMap<string, string>, file: string): string {
  const name = metadata.get('vtime.schema');
  const version = metadata.get('vtime.version');
  if (name !== FUNCTIONS_SCHEMA && name !== INVOCATIONS_SCHEMA) {
    throw new VtimeError('trace_arrow', `Arrow schema is ${name === undefined ? 'unnamed' : `"${name}"`}`, {
      file,
      value: name,
      expected: `${FUNCTIONS_SCHEMA} or ${INVOCATIONS_SCHEMA} in the metadata key vtime.schema`,
    });
  }
  if (version !== String(SCHEMA_VERSION)) {
    throw new VtimeError('trace_arrow', `${name} has version ${version}`, {
      file,
      value: version,
      expected: `version ${SCHEMA_VERSION}`,
    });
  }
  return name;
}

/** The trace of a file with more than `above` invocations; undefined for any other file. */
function openStream(path: string, file: string, above: number): Trace | undefined {
  let handle: number;
  try {
    handle = openSync(path, 'r');
  } catch {
    return undefined;
  }
  try {
    const { size } = fstatSync(handle);
    // A row has 20 bytes at least.
    if (size < 20 * above) return undefined;
    const read = fileReader(handle);
    const layout = inspectIpc(read, size, file);
    if (requireSchema(layout.metadata, file) !== INVOCATIONS_SCHEMA) return undefined;
    if (layout.batches.some(({ compressed }) => compressed)) return undefined;
    if (layout.batches.reduce((sum, { rows }) => sum + rows, 0) <= above) return undefined;
    const provenance = provenanceOf(layout.metadata, file);
    return traceFromStream(streamOf(layout, read, path, size, file), provenance, file);
  } finally {
    closeSync(handle);
  }
}

/**
 * Reads a `functions` or `invocations` table. For the latter the functions table is derived: a row per function,
 * counts per minute, exact duration statistics.
 *
 * Errors: trace_file, trace_arrow (not Arrow, truncated, not a vtime schema, newer version), trace_compression.
 */
export async function readArrow(path: string, options: ReadArrowOptions = {}): Promise<Trace> {
  const file = basename(path);
  const streamed =
    options.stream_above === undefined ? undefined : openStream(path, file, options.stream_above);
  if (streamed !== undefined) return streamed;
  const table = decode(await readBytes(path, options.shared ?? false), file);
  const name = requireSchema(table.schema.metadata, file);
  if (name === FUNCTIONS_SCHEMA) return functionsTrace(table, file);
  const provenance = provenanceOf(table.schema.metadata, file);
  requireColumns(table, invocationsSchema(provenance).fields, file);
  return traceFromInvocations(readableColumns(table, file), provenance);
}
