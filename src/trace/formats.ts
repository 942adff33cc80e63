// Which format a CSV file has, by its header, and the reader of each format.

import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { VtimeError } from '../errors.js';
import { readAlibaba2021, readAlibaba2022 } from './alibaba.js';
import { azureTableOf } from './azure-header.js';
import { readAzure2021 } from './azure2021.js';
import { scanCsv } from './csv.js';
import { readHuawei2023, readHuawei2025 } from './huawei.js';
import { readIluvatar } from './iluvatar.js';
import { readOpenDc } from './opendc.js';
import { RuleCounter } from './rules.js';
import type { InputFile, Trace, TraceFormat } from './schema.js';

export interface ReaderOptions {
  signal?: AbortSignal | undefined;
}

type Kind = InputFile['kind'];

/** A format's table. */
interface Table {
  format: TraceFormat;
  kind: Kind;
}

/** The files of a trace by format and table, in the order given. */
export class FormatFiles {
  readonly #files: { path: string; table: Table }[] = [];

  add(path: string, table: Table): void {
    this.#files.push({ path, table });
  }

  get formats(): TraceFormat[] {
    return [...new Set(this.#files.map(({ table }) => table.format))];
  }

  all(format: TraceFormat, kind: Kind): string[] {
    return this.#files
      .filter(({ table }) => table.format === format && table.kind === kind)
      .map(({ path }) => path);
  }

  /** The only file of a table; an error if there are several. */
  optional(format: TraceFormat, kind: Kind): string | undefined {
    const [first, second] = this.all(format, kind);
    if (second === undefined) return first;
    throw new VtimeError('trace_ambiguous', `a second ${kind} table beside ${basename(first)}`, {
      file: second,
      expected: 'one trace; name its files instead of a folder',
    });
  }
}

/** The table that a header belongs to; undefined if it is none that vtime reads, an error if only its name could tell. */
function tableOfHeader(names: readonly string[], path: string): Table | VtimeError | undefined {
  const has = (...wanted: string[]) => wanted.every((name) => names.includes(name));
  if (
    names[0] === 'day' &&
    names[1] === 'time' &&
    names.length > 2 &&
    names.slice(2).every((n) => /^\d+$/.test(n))
  ) {
    // All metrics of the release have the same header; only where a file lies says which it is.
    const place = `${basename(dirname(path))}/${basename(path)}`;
    if (/requests_minute/.test(place)) return { format: 'huawei2023', kind: 'requests' };
    if (/function_delay_minute/.test(place)) return { format: 'huawei2023', kind: 'durations' };
    return new VtimeError('trace_format', 'a Huawei 2023 table of an unknown metric', {
      file: path,
      line: 1,
      expected: 'requests_minute or function_delay_minute in the name of the file or its folder',
    });
  }
  if (has('func_name', 'invoke_time_ms')) return { format: 'iluvatar', kind: 'invocations' };
  if (has('func_name', 'warm_dur_ms')) return { format: 'iluvatar', kind: 'metadata' };
  if (has('app', 'func') || has('end_timestamp', 'duration'))
    return { format: 'azure2021', kind: 'invocations' };
  if (has('Timestamp [ms]') && names.some((name) => name.startsWith('Invocations')))
    return { format: 'opendc', kind: 'invocations' };
  if (has('requestID', 'time_worker')) return { format: 'huawei2025', kind: 'requests' };
  if (has('totalCost_cold_start')) return { format: 'huawei2025', kind: 'cold starts' };
  if (has('traceid', 'rpc_id')) return { format: 'alibaba2022', kind: 'calls' };
  if (has('traceid', 'rpcid')) return { format: 'alibaba2021', kind: 'calls' };
  return azureTableOf(names) === undefined ? undefined : { format: 'azure2019', kind: 'invocations' };
}

/** The CSV files of a path, those of a folder by name, with one level of folders below it. */
async function csvFiles(path: string, depth = 1): Promise<string[]> {
  const info = await stat(path).catch((error: NodeJS.ErrnoException) => {
    throw new VtimeError('trace_file', `cannot read: ${error.code}`, {
      file: path,
      expected: 'a trace file or a folder of them',
    });
  });
  if (!info.isDirectory()) return [path];
  const names = (await readdir(path, { withFileTypes: true })).sort((a, b) => (a.name < b.name ? -1 : 1));
  const inner = names.map((entry) => {
    if (entry.isDirectory()) return depth > 0 ? csvFiles(join(path, entry.name), depth - 1) : [];
    return entry.name.toLowerCase().endsWith('.csv') ? [join(path, entry.name)] : [];
  });
  return (await Promise.all(inner)).flat();
}

async function headerOf(path: string): Promise<string[]> {
  let names: string[] = [];
  await scanCsv(
    path,
    (row) => {
      names = Array.from({ length: row.fields }, (_, i) => row.text(i));
    },
    { onlyHeader: true },
  );
  return names;
}

const READERS: Partial<
  Record<TraceFormat, (files: FormatFiles, rules: RuleCounter, options: ReaderOptions) => Promise<Trace>>
> = {
  iluvatar: readIluvatar,
  azure2021: readAzure2021,
  opendc: readOpenDc,
  huawei2023: readHuawei2023,
  huawei2025: readHuawei2025,
  alibaba2021: readAlibaba2021,
  alibaba2022: readAlibaba2022,
};

/**
 * Reads paths of one of the smaller formats; undefined if they are none of them (Azure 2019, or nothing known).
 * Files of a folder that belong to no format are counted; two formats at once are an error.
 */
export async function readByFormat(
  paths: readonly string[],
  options: ReaderOptions,
): Promise<Trace | undefined> {
  const files = new FormatFiles();
  const unknown: string[] = [];
  let unnamed: VtimeError | undefined;
  const explicit = new Set(paths);
  for (const path of paths) {
    for (const file of await csvFiles(path)) {
      const table = tableOfHeader(await headerOf(file), file);
      if (table instanceof VtimeError) {
        // A metric that is not needed, among those of a release; or all there is.
        if (explicit.has(file)) throw table;
        unnamed ??= table;
      }
      if (table === undefined || table instanceof VtimeError) unknown.push(file);
      else files.add(file, table);
    }
  }
  const [format, other] = files.formats;
  if (format === undefined && unnamed !== undefined) throw unnamed;
  const reader = format === undefined ? undefined : READERS[format];
  if (other !== undefined) {
    throw new VtimeError('trace_ambiguous', `tables of two formats, ${format} and ${other}`, {
      file: paths.join(', '),
      expected: 'one trace; name its files instead of a folder',
    });
  }
  if (reader === undefined) return undefined;
  const rules = new RuleCounter();
  for (const file of unknown) {
    if (explicit.has(file)) {
      throw new VtimeError('trace_format', 'unknown table', {
        file,
        line: 1,
        expected: `a table of the format ${format}, like the other files`,
      });
    }
    rules.add('files.ignored', () => basename(file));
  }
  return reader(files, rules, options);
}
