// One entry for every format.

import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { nearestName, VtimeError } from '../errors.js';
import { isArrowFile, type ReadArrowOptions, readArrow } from './arrow.js';
import { type AzureOptions, readAzure2019 } from './azure2019.js';
import { readByFormat } from './formats.js';
import type { Trace } from './schema.js';

/** Traces that come with vtime, by name, as folders below data/. */
export const BUNDLED_TRACES: Readonly<Record<string, string>> = { 'azure2019-28': 'azure2019' };

/** The folder of a bundled trace. Error trace_unknown, with the near name, if there is none of that name. */
export function bundledTracePath(name: string): string {
  const folder = BUNDLED_TRACES[name];
  if (folder !== undefined) return fileURLToPath(new URL(`../../../data/${folder}`, import.meta.url));
  const names = Object.keys(BUNDLED_TRACES);
  const near = nearestName(name, names);
  throw new VtimeError('trace_unknown', `no bundled trace "${name}"`, {
    value: name,
    expected: near === undefined ? `${names.join(', ')}, or the path of a trace` : `"${near}"?`,
  });
}

/** Simulations stream larger tables of invocations from disk: 2^20 of them take 24 MB in a model image. */
export const STREAM_ABOVE = 1 << 20;

export interface ReadTraceOptions extends AzureOptions, ReadArrowOptions {}

/**
 * Reads a trace: one Arrow file written by vtime, the name of a bundled trace, or the CSV files of a format (a folder
 * or the files): Azure Functions 2019 and 2021, Ilúvatar, OpenDC FaaS, Huawei 2023 and 2025, Alibaba 2021 and 2022.
 * What a file is, is decided by its header, not by its name (Huawei 2023 excepted, whose metrics look alike).
 *
 * Errors are VtimeErrors of class input (exit code 2); see `readArrow` and `readAzure2019` for their codes.
 */
export async function readTrace(
  paths: string | readonly string[],
  options: ReadTraceOptions = {},
): Promise<Trace> {
  const given = typeof paths === 'string' ? [paths] : paths;
  const isBundled = (path: string) => Object.hasOwn(BUNDLED_TRACES, path) && !existsSync(path);
  const list = given.map((path) => (isBundled(path) ? bundledTracePath(path) : path));
  if (list.length === 0)
    throw new VtimeError('trace_file', 'no trace given', { expected: 'a file or folder' });
  for (const path of list) {
    const isFile = await stat(path).then(
      (info) => info.isFile(),
      () => false,
    );
    if (!isFile || !(await isArrowFile(path))) continue;
    if (list.length === 1) return readArrow(path, options);
    throw new VtimeError('trace_ambiguous', 'an Arrow file among several paths', {
      file: path,
      expected: 'one Arrow file alone, or CSV files',
    });
  }
  return (await readByFormat(list, options)) ?? readAzure2019(list, options);
}
