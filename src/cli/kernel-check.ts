// vtime kernel check: recordings of a real scheduler against the simulated core and the native policy.

import { Command } from 'commander';
import { readRecording } from '../bpf/recording/file.js';
import {
  type Comparison,
  compareSamples,
  recordedSamples,
  simulatedSamples,
} from '../bpf/replay/distributions.js';
import { replay } from '../bpf/replay/replay.js';
import { consistentLimit, consistentShare, replayText, unexplainedCount } from '../bpf/replay/report.js';
import type { ReplayResult } from '../bpf/replay/verdicts.js';
import { durationNs } from '../config/units.js';
import { VtimeError } from '../errors.js';
import { ofOption, whole } from './options.js';

interface Options {
  limit?: string;
  show: number;
  distributions?: boolean;
  quantum: string;
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

/** Run lengths and wake-up latencies of recording and simulation, each running freely. */
async function compareDistributions(files: string[], { quantum, json }: Options): Promise<void> {
  const quantum_ns = Number(ofOption('--quantum', () => durationNs(quantum)));
  const rows: { file: string; scheduler: string; comparisons: Comparison[] }[] = [];
  for (const file of files) {
    const recording = readRecording(file);
    const comparisons = compareSamples(
      recordedSamples(recording),
      await simulatedSamples(recording),
      quantum_ns,
    );
    rows.push({ file, scheduler: recording.info.scheduler, comparisons });
  }
  if (json) {
    process.stdout.write(`${JSON.stringify(rows, null, 2)}\n`);
    return;
  }
  process.stdout.write(
    `Kolmogorov–Smirnov distances above ${quantum}; resolved: shifts of up to ${quantum} don't count\n`,
  );
  for (const { file, scheduler, comparisons } of rows) {
    for (const { quantity, recorded, simulated, distance, resolved } of comparisons) {
      const cells = [scheduler.padEnd(12), quantity.padEnd(16), `n ${recorded} / ${simulated}`.padEnd(14)];
      process.stdout.write(
        `  ${cells.join(' ')} ${distance.toFixed(3)}  resolved ${resolved.toFixed(3)}  ${file}\n`,
      );
    }
  }
}

async function check(files: string[], options: Options): Promise<void> {
  if (options.distributions) {
    await compareDistributions(files, options);
    return;
  }
  const { limit, show, json, quiet } = options;
  const given = limit === undefined ? undefined : percent(limit);
  const results: Checked[] = [];
  for (const file of files) {
    const recording = readRecording(file);
    if (recording.info.object_sha256 === '') {
      throw new VtimeError(
        'recording_scheduler',
        `a recording of ${recording.info.scheduler}, which has no dispatch queues`,
        {
          file,
          expected: 'a recording of a sched_ext object; the fair class has --distributions',
        },
      );
    }
    const result = replay(recording, { keep: show });
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
    .option('--show <n>', 'unexplained decisions to show', whole('--show', 0), 3)
    .option(
      '--distributions',
      'instead: compare run lengths and wake-up latencies with a simulation that runs freely',
    )
    .option('--quantum <time>', "the emulator's switching quantum, below which times are no evidence", '1ms')
    .option('--json', 'print the results as JSON on stdout')
    .option('--quiet', 'print failures only')
    .action(check);
}
