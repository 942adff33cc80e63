// vtime run: one simulation, its summary on stdout.

import { join } from 'node:path';
import { tableToIPC } from 'apache-arrow';
import { Command } from 'commander';
import { placesOf } from '../config/mistakes.js';
import type { Config } from '../config/schema.js';
import { chainLines } from '../engine/chain-text.js';
import { runCell } from '../engine/simulate.js';
import { VtimeError } from '../errors.js';
import { checkOutputFolder, writeOutput } from '../output.js';
import { portableConfig } from '../sweep/identity.js';
import { cellFrom, finishedRecord } from '../sweep/record.js';
import { openStore, writeStore } from '../sweep/store.js';
import { invocationsFile, type Plan, planSweep, runInfo } from '../sweep/sweep.js';
import type { SimulationResult } from '../types.js';
import { progressBar } from './progress.js';
import {
  type ConfigOptions,
  configWith,
  interruptible,
  type OutputOptions,
  sayDrawnSeed,
  withConfigOptions,
} from './shared.js';
import { summary, summaryJson } from './summary.js';

interface RunOptions extends ConfigOptions, OutputOptions {
  out?: string;
}

/** Writes the result as a store of one cell, which `vtime report` reads. */
async function keep(out: string, plan: Plan, result: SimulationResult, started: Date): Promise<void> {
  const [{ place }] = plan.cells;
  const wall_ms = Date.now() - started.getTime();
  const cell = cellFrom(place, finishedRecord(place.cell_id, result, wall_ms));
  const release = await openStore(out);
  try {
    const rows = invocationsFile(out, place);
    if (rows !== undefined && result.invocations !== undefined) {
      writeOutput(rows, tableToIPC(result.invocations, 'file'));
    }
    if (result.decisions !== undefined) {
      writeOutput(join(out, 'decisions', `${place.cell_id}.arrow`), tableToIPC(result.decisions, 'file'));
    }
    const info = runInfo(plan.config, started, 1, result.metrics.events, {
      total: 1,
      simulated: 1,
      resumed: 0,
      failed: 0,
      stalled: result.outcome === 'stalled' ? 1 : 0,
      deadlocked: result.outcome === 'deadlocked' ? 1 : 0,
    });
    await writeStore(out, [place], [cell], portableConfig(plan.config), info);
  } finally {
    await release();
  }
}

async function simulateWith(plan: Plan, { quiet }: OutputOptions): Promise<SimulationResult> {
  const [{ config }] = plan.cells;
  const bar = progressBar(quiet);
  try {
    return await interruptible((signal) =>
      runCell(config, plan.inputs.traces, {
        signal,
        onProgress({ time_ns, end_ns, events }) {
          const done = end_ns === undefined ? 0 : Math.min(1, time_ns / end_ns);
          bar.update(done, events, `${(time_ns / 1e9).toFixed(1)} s simulated`);
        },
      }),
    );
  } finally {
    bar.stop();
  }
}

/** What only shows while the trace is encoded has a path in the config; here it gets its line too. */
async function located<T>(config: Config, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    const known = error instanceof VtimeError && error.exitCode === 2 && error.place.file === undefined;
    if (!known || error.place.path === undefined) throw error;
    const place = placesOf(config)(error.place.path.split('.'), false);
    throw new VtimeError(error.code, error.what, { ...error.place, ...place });
  }
}

async function run(file: string, options: RunOptions): Promise<void> {
  const started = new Date();
  const config: Config = configWith(file, options);
  if (config.sweep !== undefined) {
    throw new VtimeError('usage', 'the config is a sweep', {
      file,
      path: 'sweep',
      expected: '`vtime sweep`',
    });
  }
  if (options.out !== undefined) checkOutputFolder(options.out);
  const plan = await planSweep(config);
  const [{ place }] = plan.cells;
  sayDrawnSeed(config, place.seed, options);
  const begun = performance.now();
  const result = await located(config, () => simulateWith(plan, options));
  const seconds = (performance.now() - begun) / 1000;
  if (options.out !== undefined) await keep(options.out, plan, result, started);
  process.stdout.write(
    options.json ? `${JSON.stringify(summaryJson(result), null, 2)}\n` : summary(result, seconds),
  );
  if (options.out !== undefined && !options.quiet) {
    process.stderr.write(`results in ${options.out}; see \`vtime report ${options.out}\`\n`);
  }
  if (result.outcome === 'stalled' || result.outcome === 'deadlocked') {
    process.stderr.write(`${result.outcome}: ${result.reason?.message ?? 'no reason given'}\n`);
    if (result.reason !== undefined) {
      for (const line of chainLines(result.reason)) process.stderr.write(`  ${line}\n`);
    }
    process.exitCode = 1;
  }
}

export function runCommand(): Command {
  return withConfigOptions(new Command('run').description('simulate one config'))
    .option('-o, --out <dir>', 'keep the results in a folder, for `vtime report`')
    .action(run);
}
