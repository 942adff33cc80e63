// One entry for every format.

import { stat } from 'node:fs/promises';
import { VtimeError } from '../errors.js';
import { isArrowFile, type ReadArrowOptions, readArrow } from './arrow.js';
import { type AzureOptions, readAzure2019 } from './azure2019.js';
import type { Trace } from './schema.js';

export interface ReadTraceOptions extends AzureOptions, ReadArrowOptions {}

/**
 * Reads a trace: one Arrow file written by vtime, or Azure Functions 2019 as a folder or as its CSV files. What
 * a file is, is decided by its content, not by its name.
 *
 * Errors are VtimeErrors of class input (exit code 2); see `readArrow` and `readAzure2019` for their codes.
 */
export async function readTrace(
  paths: string | readonly string[],
  options: ReadTraceOptions = {},
): Promise<Trace> {
  const list = typeof paths === 'string' ? [paths] : paths;
  if (list.length === 0)
    throw new VtimeError('TRACE_FILE', 'no trace given', { expected: 'a file or folder' });
  for (const path of list) {
    const isFile = await stat(path).then(
      (info) => info.isFile(),
      () => false,
    );
    if (!isFile || !(await isArrowFile(path))) continue;
    if (list.length === 1) return readArrow(path, options);
    throw new VtimeError('TRACE_AMBIGUOUS', 'an Arrow file among several paths', {
      file: path,
      expected: 'one Arrow file alone, or CSV files',
    });
  }
  return readAzure2019(list, options);
}
