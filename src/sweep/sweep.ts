// Sweeps: the cells of a grid, simulated on all cores, yielded as they finish or kept in a result store.

import { access } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { basename, join } from 'node:path';
import { tableFromIPC } from 'apache-arrow';
import { renameSettings } from '../config/canonical.js';
import { configFrom } from '../config/load.js';
import { placesOf, rememberPlaces } from '../config/mistakes.js';
import { drawSeed } from '../config/resolve.js';
import type { Config, ConfigInput, ResolvedConfig } from '../config/schema.js';
import { loadEngine } from '../engine/module.js';
import { writeOutput } from '../output.js';
import type { Trace } from '../trace/index.js';
import type {
  CellPlace,
  RunInfo,
  RunSweepOptions,
  SweepCell,
  SweepOptions,
  SweepProgress,
} from '../types.js';
import { VERSION } from '../version.js';
import { expandSweep } from './grid.js';
import { cellId, Inputs, portableConfig, sweepHash } from './identity.js';
import { Journal, recordOf } from './journal.js';
import type { CellTask } from './messages.js';
import { type PoolOptions, simulateCells, workerCount } from './pool.js';
import { cellFrom } from './record.js';
import { JOURNAL, openStore, writeStore } from './store.js';

export type { RunSweepOptions, SweepOptions, SweepProgress } from '../types.js';

interface Planned {
  place: CellPlace;
  config: ResolvedConfig;
}

export interface Plan {
  /** With the seed drawn, if it was random. */
  config: Config;
  cells: Planned[];
  inputs: Inputs;
}

/** The config with its seed drawn, if that is random. */
export function planSeed(given: ConfigInput | Config): Config {
  const config = configFrom(given);
  rememberPlaces(config, placesOf(given));
  if (config.seed === 'random') config.seed = drawSeed();
  return config;
}

/** The cells of a config, one without a sweep, with their inputs read and their ids. */
export async function planSweep(given: ConfigInput | Config, trace?: Trace): Promise<Plan> {
  const config = planSeed(given);
  const { sha256 } = loadEngine();
  const inputs = new Inputs(trace);
  const cells: Planned[] = [];
  for (const cell of expandSweep(config)) {
    const hashes = await inputs.of(cell.config);
    cells.push({
      config: cell.config,
      place: {
        ...cell,
        values: renameSettings(cell.values, (path) => basename(path)),
        cell_id: cellId(cell.config, hashes, sha256),
        seed: cell.config.seed,
        config: portableConfig(cell.config),
        inputs: hashes,
      },
    });
  }
  return { config, cells, inputs };
}

/** One task per id: points of a grid may agree in everything that matters. */
function tasksOf(cells: readonly Planned[]): CellTask[] {
  const tasks = new Map<string, CellTask>();
  for (const { place, config } of cells) {
    const { cell_id, index } = place;
    if (!tasks.has(cell_id)) tasks.set(cell_id, { cell_id, index, config });
  }
  return [...tasks.values()];
}

/** Adds up what finished and what is under way. */
class ProgressMeter {
  readonly #report: ((progress: SweepProgress) => void) | undefined;
  readonly #running = new Map<number, { events: number; done: number }>();
  readonly #progress: SweepProgress;

  constructor(cells: number, resumed: number, report?: (progress: SweepProgress) => void) {
    this.#report = report;
    this.#progress = {
      cells,
      cells_done: resumed,
      cells_resumed: resumed,
      failed: 0,
      stalled: 0,
      events: 0,
      done: 0,
    };
  }

  get events(): number {
    return this.#progress.events;
  }

  running(index: number, events: number, done: number): void {
    this.#running.set(index, { events, done });
    this.#tell();
  }

  finished(index: number, events: number, outcome: SweepCell['outcome']): void {
    this.#running.delete(index);
    this.#progress.cells_done++;
    this.#progress.events += events;
    if (outcome === 'failed') this.#progress.failed++;
    if (outcome === 'stalled' || outcome === 'deadlocked') this.#progress.stalled++;
    this.#tell();
  }

  #tell(): void {
    if (this.#report === undefined) return;
    const progress = { ...this.#progress };
    let cells = progress.cells_done;
    for (const { events, done } of this.#running.values()) {
      progress.events += events;
      cells += done;
    }
    this.#report({ ...progress, done: Math.min(1, cells / progress.cells) });
  }
}

function poolOptions({ workers, signal }: SweepOptions, meter: ProgressMeter): PoolOptions {
  return {
    workers,
    signal,
    onProgress: ({ index, events, done }) => meter.running(index, events, done),
  };
}

/**
 * Simulates the cells of a config and yields each as it finishes, so not in grid order: `index` says where it belongs.
 * Leaving the loop stops the workers. A cell that fails is yielded with outcome `failed`, and the sweep goes on.
 * Throws a VtimeError before the first cell if config or inputs are wrong, and an AbortedError on the signal.
 */
export async function* sweep(
  config: ConfigInput | Config,
  options: SweepOptions = {},
): AsyncGenerator<SweepCell, void, undefined> {
  const { cells, inputs } = await planSweep(config, options.trace);
  const tasks = tasksOf(cells);
  const meter = new ProgressMeter(tasks.length, 0, options.onProgress);
  const setup = { engine: loadEngine(), traces: inputs.shared, objects: inputs.objects };
  for await (const message of simulateCells(tasks, setup, poolOptions(options, meter))) {
    meter.finished(message.index, message.events, message.outcome);
    const record = recordOf(message.line);
    for (const { place } of cells) {
      if (place.cell_id !== record.cell_id) continue;
      const cell = cellFrom(place, record);
      yield message.invocations === undefined || cell.outcome === 'failed'
        ? cell
        : { ...cell, invocations: tableFromIPC(message.invocations) };
    }
  }
}

/** Where the rows of output.invocations go; undefined if the config wants none. */
export function invocationsFile(out: string, { cell_id, config }: CellPlace): string | undefined {
  const { invocations } = config.output;
  if (invocations === 'none') return undefined;
  return join(out, 'invocations', `${cell_id}.${invocations.replace(':', '-')}.arrow`);
}

const exists = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  );

/** Whether the journal has all that the cell should leave. A failed cell is tried again. */
async function isFinished(journal: Journal, out: string, place: CellPlace): Promise<boolean> {
  const outcome = journal.outcome(place.cell_id);
  if (outcome === undefined || outcome === 'failed') return false;
  const file = invocationsFile(out, place);
  return file === undefined || exists(file);
}

async function* cellsOf(places: readonly CellPlace[], journal: Journal): AsyncGenerator<SweepCell> {
  for (const place of places) yield cellFrom(place, await journal.read(place.cell_id));
}

/** What run.json says of a run that simulated `events`, except what its tables tell. */
export function runInfo(
  config: Config,
  started: Date,
  workers: number,
  events: number,
  cells: RunInfo['cells'],
): Omit<RunInfo, 'events' | 'files'> {
  const wall_s = (Date.now() - started.getTime()) / 1000;
  return {
    vtime: VERSION,
    node: process.version,
    engine_sha256: loadEngine().sha256,
    config_sha256: sweepHash(config),
    started_at: started.toISOString(),
    wall_s,
    host_cpus: availableParallelism(),
    workers,
    cells,
    events_per_s: wall_s > 0 ? events / wall_s : 0,
  };
}

/**
 * Simulates what the store at `out` does not hold yet, and writes its tables. Finished cells are kept one by one: after
 * an interruption or crash the same call goes on where it stopped.
 * Errors as of `sweep`, and output_unwritable, store_unwritable and store_locked.
 */
export async function runSweep(config: ConfigInput | Config, options: RunSweepOptions): Promise<RunInfo> {
  const started = new Date();
  const plan = await planSweep(config, options.trace);
  const release = await openStore(options.out);
  try {
    return await finishSweep(plan, options, started);
  } finally {
    await release();
  }
}

/** The sweep on a store that is locked. */
async function finishSweep(plan: Plan, options: RunSweepOptions, started: Date): Promise<RunInfo> {
  const { out, onCell } = options;
  const places = plan.cells.map(({ place }) => place);
  const file = join(out, JOURNAL);
  const journal = await Journal.open(file);
  try {
    for (const damage of journal.damage) options.onDamage?.(damage, file);
    const open: Planned[] = [];
    for (const cell of plan.cells) {
      if (!(await isFinished(journal, out, cell.place))) open.push(cell);
    }
    const all = tasksOf(plan.cells).length;
    const tasks = tasksOf(open);
    const meter = new ProgressMeter(all, all - tasks.length, options.onProgress);
    const setup = { engine: loadEngine(), traces: plan.inputs.shared, objects: plan.inputs.objects };
    for await (const message of simulateCells(tasks, setup, poolOptions(options, meter))) {
      const place = places[message.index];
      const rows = invocationsFile(out, place);
      if (message.invocations !== undefined && rows !== undefined) writeOutput(rows, message.invocations);
      if (message.model !== undefined) {
        writeOutput(join(out, 'failed', `${place.cell_id}.model`), message.model);
      }
      await journal.append(place.cell_id, message.outcome, message.line);
      meter.finished(message.index, message.events, message.outcome);
      onCell?.(cellFrom(place, recordOf(message.line)));
    }
    const withOutcome = (outcome: SweepCell['outcome']) =>
      places.filter(({ cell_id }) => journal.outcome(cell_id) === outcome).length;
    const info = runInfo(plan.config, started, workerCount(tasks.length, options.workers), meter.events, {
      total: places.length,
      simulated: open.length,
      resumed: places.length - open.length,
      failed: withOutcome('failed'),
      stalled: withOutcome('stalled'),
      deadlocked: withOutcome('deadlocked'),
    });
    return await writeStore(out, places, cellsOf(places, journal), portableConfig(plan.config), info);
  } finally {
    await journal.close();
  }
}
