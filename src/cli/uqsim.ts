// vtime uqsim: the experiments of the µqSim paper, here and now.

import { availableParallelism } from 'node:os';
import { Command } from 'commander';
import { nearestName, VtimeError } from '../errors.js';
import { checkOutput, writeOutput } from '../output.js';
import { RunPool } from '../services/run/pool.js';
import { Context, type ContextOptions, type Experiment } from '../uqsim/experiment.js';
import { EXPERIMENTS } from '../uqsim/index.js';
import { experimentsHtml, type Finished, verdictText } from '../uqsim/report.js';
import { workersOption } from './options.js';
import { progressBar } from './progress.js';
import { interruptible, type OutputOptions } from './shared.js';

interface UqsimOptions extends OutputOptions {
  quick?: boolean;
  only?: string;
  out?: string;
  workers?: number;
}

function chosen(only: string | undefined) {
  if (only === undefined) return EXPERIMENTS;
  const ids = EXPERIMENTS.map(({ id }) => id);
  return only.split(',').map((name) => {
    const experiment = EXPERIMENTS.find(({ id }) => id === name.trim());
    if (experiment !== undefined) return experiment;
    const near = nearestName(name, ids);
    const expected = near === undefined ? ids.join(', ') : `perhaps "${near}"`;
    throw new VtimeError('usage', `--only: there is no experiment "${name.trim()}"`, {
      value: name,
      expected,
    });
  });
}

/** Runs an experiment, with a bar of its own that counts its runs. */
async function finish(experiment: Experiment, options: ContextOptions, quiet?: boolean): Promise<Finished> {
  const bar = progressBar(quiet);
  const started = performance.now();
  const context = new Context({
    ...options,
    onProgress: ({ done, events, ended, runs }) =>
      bar.update(done, events, `${experiment.id}: ${ended} of ${runs} runs`),
  });
  try {
    const result = await experiment.run(context);
    return { experiment, result, requests: context.requests, seconds: (performance.now() - started) / 1000 };
  } finally {
    bar.stop();
  }
}

async function uqsim(options: UqsimOptions): Promise<void> {
  const { quick = false, workers, json, quiet, out } = options;
  const experiments = chosen(options.only);
  if (out !== undefined) checkOutput(out);
  const finished: Finished[] = [];
  await interruptible(async (signal) => {
    const pool = new RunPool(workers ?? availableParallelism(), signal);
    try {
      for (const experiment of experiments) {
        const entry = await finish(experiment, { quick, pool }, quiet);
        finished.push(entry);
        if (!json) process.stdout.write(`${verdictText(entry)}\n`);
      }
    } finally {
      await pool.close();
    }
  });
  const requests = finished.reduce((sum, entry) => sum + entry.requests, 0);
  const verdicts = finished.flatMap(({ result }) => result.verdicts);
  const refuted = verdicts.filter(({ outcome }) => outcome === 'refuted').length;
  if (json) {
    const experimentsJson = finished.map(
      ({ experiment: { id, title, source }, result: { verdicts: own, tables, text } }) => ({
        id,
        title,
        source,
        verdicts: own,
        tables,
        text,
      }),
    );
    process.stdout.write(`${JSON.stringify({ quick, requests, experiments: experimentsJson }, null, 2)}\n`);
  } else {
    process.stdout.write(
      `${verdicts.length - refuted} of ${verdicts.length} claims hold; ${requests.toLocaleString('en-US')} requests simulated\n`,
    );
  }
  if (out !== undefined) {
    writeOutput(out, experimentsHtml(finished, quick));
    if (!quiet) process.stderr.write(`${out}\n`);
  }
  if (refuted > 0) process.exitCode = 1;
}

export function uqsimCommand(): Command {
  return new Command('uqsim')
    .description(
      'run the experiments of the µqSim paper, with verdicts against the release’s results and closed forms',
    )
    .option('--quick', 'short runs with wider intervals: a few minutes')
    .option('--only <ids>', `some of them: ${EXPERIMENTS.map(({ id }) => id).join(', ')}`)
    .option('-o, --out <file>', 'HTML report with figures and tables')
    .addOption(workersOption())
    .option('--json', 'print verdicts and tables as JSON')
    .option('--quiet', 'print nothing but results and errors')
    .action(uqsim);
}
