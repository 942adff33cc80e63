// The result store of a sweep, or of a single run, which is a sweep of one cell: a folder.
//
//   journal.ndjson     one line per finished cell, in completion order, append-only and checksummed (journal.ts);
//                      what a rerun resumes from. Cells of other sweeps may be among them.
//   results.arrow      one row per cell, in grid order (tables.ts)
//   classes.arrow      one row per cell and statistics class
//   histograms.arrow   one row per cell, kind and class
//   run.json           what depends on the day and the machine: wall time, workers, versions; and the config
//   invocations/       with output.invocations: <cell_id>.<all|sample-n>.arrow
//   decisions/         of a single run with output.decisions: <cell_id>.arrow
//   lock               names the process that writes here, as long as it does (lock.ts)
//   failed/            <cell_id>.model: what the engine was given when it failed, to reproduce it
//
// The three Arrow files are written when all cells are done. They hold no wall time, host or date: the same
// config gives the same bytes, whatever the number of workers and whether or not it was interrupted.

import { createHash } from 'node:crypto';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../config/schema.js';
import { VtimeError } from '../errors.js';
import { DRAFT_SUFFIX, makeOutputFolder, writeOutput } from '../output.js';
import type { CellPlace, RunInfo, Store, SweepCell } from '../types.js';
import { lockStore } from './lock.js';
import { cellsFromTables, ResultTables } from './tables.js';

export type {
  CellPlace,
  FailedCell,
  FinishedCell,
  InputHash,
  RunInfo,
  Store,
  StoredHistogram,
  SweepCell,
} from '../types.js';
export { STORE_VERSION } from './tables.js';

const TABLES = ['results.arrow', 'classes.arrow', 'histograms.arrow'] as const;

export const JOURNAL = 'journal.ndjson';
const RUN = 'run.json';

function unreadable(file: string, error: unknown, expected: string): VtimeError {
  const reason = error instanceof Error && 'code' in error ? error.code : error;
  return new VtimeError('store_unreadable', `cannot read: ${reason}`, { file, expected });
}

/** Removes the drafts of a process that was killed while it wrote. */
async function removeDrafts(dir: string): Promise<void> {
  for (const folder of ['.', 'invocations', 'decisions', 'failed']) {
    const files = await readdir(join(dir, folder)).catch(() => []);
    for (const file of files)
      if (file.endsWith(DRAFT_SUFFIX)) await rm(join(dir, folder, file), { force: true });
  }
}

/**
 * Creates the folder of a store, locks it against other writers, and removes the results of an earlier sweep; its journal
 * stays. Returns what releases the lock. Errors (exit code 2): output_unwritable, store_unwritable, store_locked.
 */
export async function openStore(dir: string): Promise<() => Promise<void>> {
  let release: (() => Promise<void>) | undefined;
  try {
    makeOutputFolder(dir);
    release = await lockStore(dir);
    await removeDrafts(dir);
    for (const file of [RUN, ...TABLES]) await rm(join(dir, file), { force: true });
    return release;
  } catch (error) {
    await release?.();
    if (error instanceof VtimeError) throw error;
    throw new VtimeError('store_unwritable', `cannot write: ${(error as NodeJS.ErrnoException).code}`, {
      file: dir,
      expected: 'a folder for the results',
    });
  }
}

/** Writes the tables and run.json. `cells` come in grid order, `places` say which columns there are. */
export async function writeStore(
  dir: string,
  places: readonly CellPlace[],
  cells: AsyncIterable<SweepCell> | Iterable<SweepCell>,
  config: Config,
  run: Omit<RunInfo, 'events' | 'files'>,
): Promise<RunInfo> {
  const tables = new ResultTables(places);
  let events = 0;
  for await (const cell of cells) {
    tables.add(cell);
    if (cell.outcome !== 'failed') events += cell.metrics.events;
  }
  const { vtime, engine_sha256, config_sha256 } = run;
  const bytes = tables.bytes({ vtime, engine_sha256, config_sha256, config });
  const files: Record<string, string> = {};
  for (const file of TABLES) {
    files[file] = createHash('sha256').update(bytes[file]).digest('hex');
    writeOutput(join(dir, file), bytes[file]);
  }
  const info: RunInfo = { ...run, events, files };
  writeOutput(join(dir, RUN), `${JSON.stringify({ ...info, config }, null, 2)}\n`);
  return info;
}

/** What run.json holds. */
function runJson(text: string, file: string): RunInfo & { config: Config } {
  try {
    const run = JSON.parse(text);
    if (TABLES.every((table) => typeof run?.files?.[table] === 'string')) return run;
  } catch {
    // Said below.
  }
  throw new VtimeError('store_damaged', 'the file does not describe the results of a run', { file });
}

/**
 * Reads a finished store. Errors (exit code 2): store_unreadable (no store there, or an unfinished one),
 * store_damaged, store_version.
 */
export async function readStore(dir: string): Promise<Store> {
  let text: string;
  try {
    text = await readFile(join(dir, RUN), 'utf8');
  } catch (error) {
    const unfinished = await readFile(join(dir, JOURNAL)).then(
      () => true,
      () => false,
    );
    throw unfinished
      ? new VtimeError('store_unfinished', 'the sweep has not finished; run it again to go on', { file: dir })
      : unreadable(join(dir, RUN), error, 'a folder written by `vtime sweep` or `vtime run --out`');
  }
  const { config, ...run } = runJson(text, join(dir, RUN));
  const read = async (file: string): Promise<Uint8Array> => {
    const path = join(dir, file);
    const bytes = await readFile(path).catch((error) => {
      throw unreadable(path, error, 'the tables of a finished sweep');
    });
    if (createHash('sha256').update(bytes).digest('hex') !== run.files[file]) {
      throw new VtimeError('store_damaged', 'the file is not the one that run.json describes', {
        file: path,
      });
    }
    return bytes;
  };
  const [results, classes, histograms] = await Promise.all(TABLES.map(read));
  const cells = cellsFromTables(
    { 'results.arrow': results, 'classes.arrow': classes, 'histograms.arrow': histograms },
    dir,
  );
  return { dir, cells, config, run };
}
