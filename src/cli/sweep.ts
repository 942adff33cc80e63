// vtime sweep: all cells of a config on all cores, into a result store that a rerun goes on with.

import { Command } from 'commander';
import { chainLines } from '../engine/chain-text.js';
import { type RunInfo, readStore, type SweepCell } from '../sweep/store.js';
import { planSeed, runSweep, type SweepProgress } from '../sweep/sweep.js';
import { workersOption } from './options.js';
import { progressBar } from './progress.js';
import {
  type ConfigOptions,
  configWith,
  interruptible,
  number,
  type OutputOptions,
  sayDrawnSeed,
  withConfigOptions,
} from './shared.js';

interface SweepCommandOptions extends ConfigOptions, OutputOptions {
  out: string;
  workers?: number;
  failOnStall?: boolean;
}

function progressText({ cells, cells_done, failed, stalled }: SweepProgress): string {
  const trouble = [failed > 0 ? `${failed} failed` : '', stalled > 0 ? `${stalled} stalled` : ''].filter(
    Boolean,
  );
  return `${cells_done}/${cells} cells${trouble.map((text) => `, ${text}`).join('')}`;
}

function cellName({ index, values, replication }: SweepCell): string {
  const text = Object.entries(values).map(
    ([path, value]) => `${path}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  return `cell ${index} (${[...text, `replication ${replication}`].join(', ')})`;
}

/** Why a cell has no ordinary result; undefined if it has one. */
function trouble(cell: SweepCell): string | undefined {
  if (cell.outcome === 'failed') return `failed: ${cell.error.message}`;
  if (cell.outcome === 'stalled' || cell.outcome === 'deadlocked') {
    const { outcome, reason } = cell;
    if (reason === undefined) return `${outcome}: no reason given`;
    return [`${outcome}: ${reason.message}`, ...chainLines(reason)].join('\n  ');
  }
  return undefined;
}

/** One line per kind of trouble, with the first cell that has it. */
function troubles(cells: readonly SweepCell[]): string {
  const groups = new Map<string, SweepCell[]>();
  for (const cell of cells) {
    const text = trouble(cell);
    if (text !== undefined) groups.set(text, [...(groups.get(text) ?? []), cell]);
  }
  const lines = Array.from(groups, ([text, [first, ...others]]) => {
    const more = others.length > 0 ? ` and ${others.length} more` : '';
    return `${cellName(first)}${more} ${text}\n`;
  });
  return lines.join('');
}

function closingLine(run: RunInfo, out: string): string {
  const { cells, events, events_per_s, wall_s, workers } = run;
  const parts = [
    `${cells.total} cells in ${number(wall_s, 1)} s`,
    cells.resumed > 0 ? `${cells.resumed} of them from an earlier run` : '',
    `${number(events)} events` +
      (events_per_s > 0 ? `, ${number(events_per_s)} per second on ${workers} threads` : ''),
    cells.failed > 0 ? `${cells.failed} failed` : '',
    cells.stalled > 0 ? `${cells.stalled} stalled` : '',
    cells.deadlocked > 0 ? `${cells.deadlocked} deadlocked` : '',
  ];
  return `${parts.filter(Boolean).join('; ')}\nresults in ${out}; see \`vtime report ${out}\`\n`;
}

/** The exit code that the cells ask for: that of the gravest failure, 1 for a stall that counts as one. */
function exitCode(cells: readonly SweepCell[], failOnStall: boolean): number {
  const codes = cells.map((cell) => {
    if (cell.outcome === 'failed') return cell.error.exit_code;
    return failOnStall && trouble(cell) !== undefined ? 1 : 0;
  });
  return Math.max(0, ...codes);
}

/** Without what only the store's tables are read for. */
function cellJson(cell: SweepCell): object {
  if (cell.outcome === 'failed') return cell;
  const { histograms: _histograms, invocations: _invocations, ...rest } = cell;
  return rest;
}

async function sweep(file: string, options: SweepCommandOptions): Promise<void> {
  const { out, quiet } = options;
  const given = configWith(file, options);
  const config = planSeed(given);
  sayDrawnSeed(given, Number(config.seed), options);
  const bar = progressBar(quiet);
  let run: RunInfo;
  try {
    run = await interruptible((signal) =>
      runSweep(config, {
        out,
        workers: options.workers,
        signal,
        onProgress: (progress) => bar.update(progress.done, progress.events, progressText(progress)),
        onDamage: ({ line, bytes, cut }, journal) =>
          process.stderr.write(
            `${journal}:${line}: ${bytes} damaged bytes ${cut ? 'cut off' : 'passed over'}; their cells run again\n`,
          ),
      }),
    );
  } finally {
    bar.stop();
  }
  const { cells } = await readStore(out);
  if (options.json) process.stdout.write(`${JSON.stringify({ run, cells: cells.map(cellJson) }, null, 2)}\n`);
  process.stderr.write(troubles(cells));
  if (!quiet) process.stderr.write(closingLine(run, out));
  process.exitCode = exitCode(cells, options.failOnStall ?? false);
}

export function sweepCommand(): Command {
  return withConfigOptions(
    new Command('sweep').description('simulate every cell of a config; a rerun goes on where one stopped'),
  )
    .option('-o, --out <dir>', 'folder of the results', 'out')
    .addOption(workersOption())
    .option('--fail-on-stall', 'exit with 1 if a cell stalls or deadlocks')
    .action(sweep);
}
