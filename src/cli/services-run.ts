// vtime services run: a model under one load or many.

import { Command, Option } from 'commander';
import { VtimeError } from '../errors.js';
import { checkOutput, writeOutput } from '../output.js';
import { loadServices } from '../services/load.js';
import { COMPARISON_HEADER, compare, comparisonRows } from '../services/report/compare.js';
import { servicesReport } from '../services/report/html.js';
import { type ReferencePoint, readReference } from '../services/report/reference.js';
import { runServices } from '../services/run/index.js';
import { runJson } from '../services/run/json.js';
import { parseLoads } from '../services/run/loads.js';
import { runText } from '../services/run/terminal.js';
import type { Services } from '../services/schema.js';
import { whole, workersOption } from './options.js';
import { progressBar } from './progress.js';
import { interruptible, type OutputOptions, table } from './shared.js';

interface ServicesRunOptions extends OutputOptions {
  qps?: string;
  clients?: string;
  connections?: number;
  duration?: string;
  requests?: number;
  warmup?: string;
  seed?: number;
  replications?: number;
  scheduler?: string[];
  workers?: number;
  out?: string;
  reference?: string;
}

function wholeOption(flags: string, description: string, minimum: number): Option {
  return new Option(flags, description).argParser(whole(flags.split(' ')[0], minimum));
}

/** `FILE:KEY`, or what the model names. */
function referenceOf(given: string | undefined, own: Services['reference']): ReferencePoint[] {
  if (given === undefined) return own === undefined ? [] : readReference(own.file, own.key);
  const at = given.lastIndexOf(':');
  if (at > 0) return readReference(given.slice(0, at), given.slice(at + 1));
  throw new VtimeError('usage', `--reference is "${given}"`, { value: given, expected: 'FILE:KEY' });
}

async function run(path: string, options: ServicesRunOptions): Promise<void> {
  const { qps, clients, scheduler, workers, json, quiet, out, reference: given, ...rest } = options;
  if (qps !== undefined && clients !== undefined) {
    throw new VtimeError('usage', '--qps and --clients: a loop is open or closed', {
      expected: 'one of them',
    });
  }
  if (out !== undefined) checkOutput(out);
  const services = loadServices(path);
  const reference = referenceOf(given, services.reference);
  const bar = progressBar(quiet);
  const { plan, summary } = await interruptible((signal) =>
    runServices(
      services,
      {
        ...rest,
        ...(qps === undefined ? {} : { rates: parseLoads(qps, '--qps') }),
        ...(clients === undefined ? {} : { clients: parseLoads(clients, '--clients') }),
        ...(scheduler === undefined ? {} : { schedulers: scheduler }),
      },
      { workers, signal, onProgress: (done, events) => bar.update(done, events, '') },
    ).finally(() => bar.stop()),
  );
  process.stdout.write(json ? `${JSON.stringify(runJson(summary), null, 2)}\n` : runText(summary));
  const rows = comparisonRows(compare(summary, reference));
  if (!json && rows.length > 0)
    process.stdout.write(`\nbeside the reference\n${table([COMPARISON_HEADER, ...rows])}`);
  if (out !== undefined) {
    writeOutput(out, await servicesReport(plan, summary, reference));
    if (!quiet) process.stderr.write(`${out}\n`);
  }
  const failed = summary.points.some(
    ({ outcomes }) => outcomes.stalled !== undefined || outcomes.deadlocked !== undefined,
  );
  if (failed) process.exitCode = 1;
}

export function servicesRunCommand(): Command {
  return new Command('run')
    .description(
      'run a model under one load or many: latency from the client’s side, per tier, and where the load saturates',
    )
    .argument('<path>', 'services file in YAML or JSON, or a folder of µqSim')
    .option(
      '--qps <loads>',
      'requests per second of an open loop, like 80k, 1k,2k,5k or 10k..100k:10k (default: the model’s load)',
    )
    .option('--clients <numbers>', 'clients of a closed loop, like 1..64:8')
    .addOption(wholeOption('--connections <n>', 'connections of the client', 1))
    .option('--duration <time>', 'how long requests come')
    .addOption(
      wholeOption(
        '--requests <n>',
        'with --qps and no --duration: mean number of requests per run (default: 100000)',
        1,
      ),
    )
    .option('--warmup <time>', 'requests that begin earlier are not measured; mser-5 finds the time')
    .addOption(wholeOption('--seed <n>', 'seed of the first replication', 0))
    .addOption(wholeOption('--replications <n>', 'runs of each point (default: the model’s, 3)', 1))
    .addOption(
      new Option(
        '--scheduler <name[:k]>',
        'run under this policy or BPF object on the simulated kernel, or `dedicated`; several with commas, or repeated',
      ).argParser<string[]>((text, before = []) => [...before, ...text.split(',')]),
    )
    .addOption(workersOption())
    .option('-o, --out <file>', 'HTML report with load–latency curves and tiers')
    .option(
      '--reference <file:key>',
      'measured curves to show and compare with, like data/uqsim/reference.json:3tier',
    )
    .option('--json', 'print the summary as JSON on stdout')
    .option('--quiet', 'print nothing but results and errors')
    .action(run);
}
