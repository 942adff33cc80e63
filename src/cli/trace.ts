// `vtime trace`: import, look at, lint and generate traces. A thin shell over src/trace. Data goes to stdout, the rest to stderr.

import { Command, Option } from 'commander';
import { checkOutput } from '../output.js';
import {
  DURATION_MODELS,
  type DurationModel,
  readTrace,
  STREAM_ABOVE,
  summarizeTrace,
  type TraceSummary,
  writeInvocations,
  writeTrace,
} from '../trace/index.js';
import { whole } from './options.js';
import { number, table } from './shared.js';
import { generateCommand } from './trace-generate.js';
import { lintCommand, shortHashes } from './trace-lint.js';

function rulesText(summary: TraceSummary): string {
  const { rules } = summary.provenance;
  if (rules.length === 0) return 'rules: nothing to report\n';
  const lines = rules.map(
    ({ rule, action, count, says, places }) =>
      `  ${rule} × ${number(count)}, ${action}: ${says} (first: ${shortHashes(places[0])})\n`,
  );
  return `rules:\n${lines.join('')}`;
}

function inputsText(summary: TraceSummary): string {
  const lines = summary.provenance.inputs.map(
    (input) =>
      `  ${input.file} (${input.kind}): ${number(input.rows_read)} rows read, ${number(input.rows_kept)} kept, ` +
      `${number(input.rows_dropped)} dropped, sha256 ${input.sha256.slice(0, 16)}…\n`,
  );
  return `inputs:\n${lines.join('')}`;
}

function headline(summary: TraceSummary): string {
  const { first_minute, last_minute, interval_s, duration_s } = summary;
  return (
    `functions: ${number(summary.functions)}` +
    (summary.functions_without_durations
      ? ` (${number(summary.functions_without_durations)} without durations)\n`
      : '\n') +
    `intervals: ${number(summary.intervals)} of ${interval_s} s, minutes ${first_minute} to ${last_minute} (${number(duration_s / 3600, 2)} h)\n` +
    `invocations: ${number(summary.invocations)}, ${number(summary.invocations_per_s, 3)} per s` +
    (summary.single_invocations ? `, ${number(summary.single_invocations)} with their own start\n` : '\n') +
    `offered concurrency: ${number(summary.offered_concurrency, 3)} (model ${summary.duration_model}), ` +
    `${number(summary.offered_concurrency_of_averages, 3)} with recorded averages; ` +
    `largest function ${number(summary.largest_offered_share * 100, 1)} %\n`
  );
}

function topText(summary: TraceSummary): string {
  const optional = (value: number | null, digits = 0) => (value === null ? '-' : number(value, digits));
  const rows = summary.top.map((row) => [
    shortHashes(row.function_id),
    row.trigger ?? '-',
    number(row.invocations),
    optional(row.mean_interarrival_ms),
    optional(row.average_ms, 1),
    optional(row.mean_ms, 1),
    number(row.offered_share * 100, 1),
  ]);
  const head = ['function', 'trigger', 'invocations', 'mean IAT ms', 'average ms', 'mean ms', 'load %'];
  return `top ${rows.length} by invocations:\n${table([head, ...rows])}`;
}

interface CommonOptions {
  json?: boolean;
  durations: DurationModel;
  top: number;
}

function withCommonOptions(command: Command): Command {
  return command
    .option('--json', 'print the summary as JSON on stdout')
    .addOption(
      new Option('--durations <model>', 'duration model for offered load')
        .choices([...DURATION_MODELS])
        .default('percentiles'),
    )
    .addOption(new Option('--top <n>', 'functions to list').argParser(whole('--top', 0)).default(10));
}

/** The command group `vtime trace`. Errors reach the caller as VtimeErrors. */
export function traceCommand(): Command {
  const trace = new Command('trace').description('import and inspect traces');

  withCommonOptions(
    trace
      .command('import')
      .description(
        'read a trace (a folder or its CSV files; formats: Azure 2019 and 2021, Ilúvatar, OpenDC, Huawei, Alibaba) into one Arrow file',
      )
      .argument('<path...>', 'folder or files')
      .requiredOption('-o, --out <file.arrow>', 'file to write')
      .option('--quiet', 'no report on stderr'),
  ).action(async (paths: string[], options: CommonOptions & { out: string; quiet?: boolean }) => {
    checkOutput(options.out);
    const read = await readTrace(paths);
    // A table of invocations holds its functions' statistics; not the other way round.
    await (read.invocations === undefined ? writeTrace : writeInvocations)(read, options.out);
    const summary = summarizeTrace(read, { model: options.durations, top: options.top });
    if (options.json) process.stdout.write(`${JSON.stringify(summary, null, 2)}\n`);
    if (!options.quiet) {
      process.stderr.write(
        `${inputsText(summary)}${rulesText(summary)}${headline(summary)}wrote ${options.out}\n`,
      );
    }
  });

  withCommonOptions(
    trace
      .command('info')
      .description('what is in a trace: functions, invocations, offered load, what import did')
      .argument('<path...>', 'Arrow file, or anything that import reads')
      .option('--quiet', 'accepted for uniformity; info writes nothing to stderr'),
  ).action(async (paths: string[], options: CommonOptions) => {
    const summary = summarizeTrace(await readTrace(paths, { stream_above: STREAM_ABOVE }), {
      model: options.durations,
      top: options.top,
    });
    process.stdout.write(
      options.json
        ? `${JSON.stringify(summary, null, 2)}\n`
        : `${headline(summary)}${topText(summary)}${inputsText(summary)}${rulesText(summary)}`,
    );
  });

  trace.addCommand(lintCommand());
  trace.addCommand(generateCommand());
  return trace;
}
