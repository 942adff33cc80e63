// vtime kernel check: recordings of a real scheduler against the simulated core and the native policy.

import { Command } from 'commander';
import { readRecording } from '../bpf/recording/file.js';
import { replay } from '../bpf/replay/replay.js';
import { consistentLimit, consistentShare, replayText, unexplainedCount } from '../bpf/replay/report.js';
import type { ReplayResult } from '../bpf/replay/verdicts.js';
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

interface Checked extends ReplayResult {
  file: string;
}

/** Recordings with the same number of CPUs are judged together: one alone is too short to tell shares of a thousandth. */
function shares(results: readonly Checked[], given: number | undefined) {
  const sizes = [...new Set(results.map(({ cpus }) => cpus))].sort((a, b) => a - b);
  return sizes.map((cpus) => {
    const share = consistentShare(results.filter((result) => result.cpus === cpus));
    const limit = given ?? consistentLimit(cpus);
    return { cpus, share, limit, passed: limit === undefined || share <= limit };
  });
}

async function check(files: string[], { limit, show, json, quiet }: Options): Promise<void> {
  const keep = count(show);
  const given = limit === undefined ? undefined : percent(limit);
  const results: Checked[] = [];
  for (const file of files) {
    const recording = readRecording(file);
    const result = replay(recording, { keep });
    results.push({ file, ...result });
    const passed = unexplainedCount(result) === 0;
    if (!passed) process.exitCode = 1;
    if (json || (quiet && passed)) continue;
    process.stdout.write(`${passed ? 'ok    ' : 'FAILED'} ${file}: ${replayText(recording, result)}\n`);
  }
  const consistent = shares(results, given);
  if (consistent.some(({ passed }) => !passed)) process.exitCode = 1;
  if (json) {
    process.stdout.write(`${JSON.stringify({ recordings: results, consistent }, null, 2)}\n`);
    return;
  }
  for (const { cpus, share, limit, passed } of consistent) {
    if (quiet && passed) continue;
    const bound = limit === undefined ? 'no limit' : `limit ${100 * limit} %`;
    process.stdout.write(
      `${passed ? 'ok    ' : 'FAILED'} ${cpus} CPUs: ${(100 * share).toFixed(3)} % of the decisions are only consistent (${bound})\n`,
    );
  }
}

export function kernelCheckCommand(): Command {
  return new Command('check')
    .description(
      'replays recordings through the simulated sched_ext core; every decision is exact, consistent or unexplained',
    )
    .argument('<recordings...>', 'files that `vtime kernel record` wrote')
    .option(
      '--limit <percent>',
      'largest share of consistent decisions (default: 0.1% up to 4 CPUs, 3% up to 8, else none)',
    )
    .option('--show <n>', 'unexplained decisions to show', '3')
    .option('--json', 'print the results as JSON on stdout')
    .option('--quiet', 'print failures only')
    .action(check);
}
