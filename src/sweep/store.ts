// The result store of a sweep, or of a single run, which is a sweep of one cell: a folder.
//
//   journal.ndjson     one line per finished cell, in completion order, append-only and checksummed (journal.ts);
//                      what a rerun resumes from. Cells of other sweeps may be among them.
//   results.arrow      one row per cell, in grid order (tables.ts)
//   classes.arrow      one row per cell and statistics class
//   histograms.arrow   one row per cell, kind and class
//   run.json           what depends on the day and the machine: wall time, workers, versions; and the config
//   invocations/       with output.invocations: <cell_id>.<all|sample-n>.arrow
//   failed/            <cell_id>.model: what the engine was given when it failed, to reproduce it
//
// The three Arrow files are written when all cells are done. They hold no wall time, host or date: the same
// config gives the same bytes, whatever the number of workers and whether or not it was interrupted.

import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Table } from 'apache-arrow';
import type { Config, ResolvedConfig } from '../config/schema.js';
import type { Histogram } from '../engine/histogram.js';
import { VtimeError } from '../errors.js';
import type { ClassResult, FailureReason, HistogramKind, Metrics, Outcome } from '../types.js';
import { cellsFromTables, ResultTables } from './tables.js';

export { STORE_VERSION } from './tables.js';

/** Every kind with all classes merged; latency and worker duration also for each class that has values. */
export interface StoredHistogram {
  kind: HistogramKind;
  /** Class name; '' = all classes merged. */
  class: string;
  /** Values in ns. */
  readonly histogram: Histogram;
}

export interface InputHash {
  kind: 'machine' | 'trace' | 'profiles' | 'times';
  /** Name without its folder. */
  file: string;
  sha256: string;
}

/** Where a cell is in its grid, and what it is. */
export interface CellPlace {
  /** SHA-256 of everything that decides the result (identity.ts). */
  cell_id: string;
  /** Position in the grid, replications included. */
  index: number;
  /** Position without replications: cells of one point differ in the seed only. */
  point: number;
  /** What axes and cases set, by config path, as written. {} for a single run. */
  values: Record<string, unknown>;
  replication: number;
  seed: number;
  is_baseline: boolean;
  /** Files without their folders. */
  config: ResolvedConfig;
  inputs: InputHash[];
}

export interface FinishedCell extends CellPlace {
  outcome: Outcome;
  /** With `stalled` and `deadlocked`. */
  reason?: FailureReason;
  metrics: Metrics;
  classes: ClassResult[];
  histograms: StoredHistogram[];
  /** Stated by the encoder: load scale, offered load, mapping errors, trace repairs. */
  statements: Record<string, unknown>;
  /** With output.invocations, from `sweep()`; a store keeps them in files of their own. */
  invocations?: Table;
}

/** A cell without a result: its input was refused, or the engine failed. */
export interface FailedCell extends CellPlace {
  outcome: 'failed';
  error: { code: string; message: string; exit_code: number };
}

export type SweepCell = FinishedCell | FailedCell;

/** What run.json says beside the config. */
export interface RunInfo {
  vtime: string;
  node: string;
  engine_sha256: string;
  config_sha256: string;
  /** ISO 8601, UTC. */
  started_at: string;
  wall_s: number;
  /** Logical CPUs of the host. */
  host_cpus: number;
  workers: number;
  cells: {
    total: number;
    simulated: number;
    resumed: number;
    failed: number;
    stalled: number;
    deadlocked: number;
  };
  /** Events of all cells. */
  events: number;
  /** Of the cells simulated in this run, per second of its wall time. */
  events_per_s: number;
  /** SHA-256 of the Arrow files. */
  files: Record<string, string>;
}

export interface Store {
  dir: string;
  /** In grid order. */
  cells: SweepCell[];
  /** The config as given, defaults filled in; with its sweep, if it has one. */
  config: Config;
  run: RunInfo;
}

const TABLES = ['results.arrow', 'classes.arrow', 'histograms.arrow'] as const;

export const JOURNAL = 'journal.ndjson';
const RUN = 'run.json';

function unreadable(file: string, error: unknown, expected: string): VtimeError {
  const reason = error instanceof Error && 'code' in error ? error.code : error;
  return new VtimeError('store_unreadable', `cannot read: ${reason}`, { file, expected });
}

/** Creates the folder of a store, and removes the results of an earlier sweep; its journal stays. */
export async function openStore(dir: string): Promise<void> {
  try {
    await mkdir(dir, { recursive: true });
    for (const file of [RUN, ...TABLES]) await rm(join(dir, file), { force: true });
  } catch (error) {
    throw new VtimeError('store_unwritable', `cannot write: ${(error as NodeJS.ErrnoException).code}`, {
      file: dir,
      expected: 'a folder for the results',
    });
  }
}

/** A reader sees the whole file or none. */
export async function writeWhole(path: string, bytes: Uint8Array | string): Promise<void> {
  const draft = `${path}.${randomUUID()}.tmp`;
  try {
    await writeFile(draft, bytes);
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw new VtimeError('store_unwritable', `cannot write: ${(error as NodeJS.ErrnoException).code}`, {
      file: path,
      expected: 'a writable path',
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
    await writeWhole(join(dir, file), bytes[file]);
  }
  const info: RunInfo = { ...run, events, files };
  await writeWhole(join(dir, RUN), `${JSON.stringify({ ...info, config }, null, 2)}\n`);
  return info;
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
  const { config, ...run } = JSON.parse(text) as RunInfo & { config: Config };
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
