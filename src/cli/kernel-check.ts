// vtime kernel check: recordings of a real scheduler against the simulated core and the native policy.

import { Command } from 'commander';
import { readRecording } from '../bpf/recording/file.js';
import { replay } from '../bpf/replay/replay.js';
import { consistentLimit, consistentShare, replayText, unexplainedCount } from '../bpf/replay/report.js';
import { VtimeError } from '../errors.js';

interface Options {
  limit?: string;
  show: string;
  json?: boolean;
  quiet?: boolean;
}

function percent(text: string): number {
  const found = /^(\d+(?:\.\d+)?)%$/.exec(text);
  if (found === null || Number(found[1]) > 100)
    throw new VtimeError('usage', `--limit is "${text}"`, {
      value: text,
      expected: 'a percentage, like 0.1%',
    });
  return Number(found[1]) / 100;
}

function count(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 0) return value;
  throw new VtimeError('usage', `--show is "${text}"`, { value: text, expected: 'a whole number' });
}

async function check(files: string[], { limit, show, json, quiet }: Options): Promise<void> {
  const keep = count(show);
  const given = limit === undefined ? undefined : percent(limit);
  const results = [];
  for (const file of files) {
    const recording = readRecording(file);
    const result = replay(recording, { keep });
    const bound = given ?? consistentLimit(result.cpus);
    const passed =
      unexplainedCount(result) === 0 && (bound === undefined || consistentShare(result) <= bound);
    if (!passed) process.exitCode = 1;
    results.push({ file, passed, limit: bound, consistent_share: consistentShare(result), ...result });
    if (json || (quiet && passed)) continue;
    process.stdout.write(
      `${passed ? 'ok    ' : 'FAILED'} ${file}: ${replayText(recording, result, bound)}\n`,
    );
  }
  if (json) process.stdout.write(`${JSON.stringify(results, null, 2)}\n`);
}

export function kernelCheckCommand(): Command {
  return new Command('check')
    .description(
      'replays recordings through the simulated sched_ext core; every decision is exact, consistent or unexplained',
    )
    .argument('<recordings...>', 'files that `vtime kernel record` wrote')
    .option(
      '--limit <percent>',
      'largest share of consistent moves (default: 0.1% up to 4 CPUs, 3% up to 8, else none)',
    )
    .option('--show <n>', 'unexplained decisions to show', '3')
    .option('--json', 'print the results as JSON on stdout')
    .option('--quiet', 'print failures only')
    .action(check);
}
