// vtime explain: where an invocation's or a task's time went.

import { stat } from 'node:fs/promises';
import { Command } from 'commander';
import { resolveConfig } from '../config/resolve.js';
import type { ResolvedConfig } from '../config/schema.js';
import { explain } from '../engine/explain.js';
import { explainTask } from '../engine/explain-task.js';
import { VtimeError } from '../errors.js';
import { readStore } from '../sweep/store.js';
import type { ExplainedInterval, Explanation } from '../types.js';
import { taskText } from './explain-task.js';
import { time, whole } from './options.js';
import { configWith, number, table } from './shared.js';

const WORDS: Record<ExplainedInterval['state'], string> = {
  control: 'control plane',
  worker_queue: 'worker queue',
  run_queue: 'waits for a CPU',
  local_queue: 'waits in a local DSQ',
  preempted: 'preempted',
  running: 'runs',
  cold: 'cold core, switch',
  io: 'I/O',
  siblings: 'waits for siblings',
  quota: 'throttled by its quota',
  container_start: 'container starts',
};

const us = (ns: number) => number(ns / 1e3, 3);

function details(interval: ExplainedInterval): string {
  const { cpu, class: schedulingClass, queues, behind, state, length_ns, control_ran_ns } = interval;
  const where =
    cpu === undefined || state === 'io' || state === 'siblings' ? [] : [`CPU ${cpu} (${schedulingClass})`];
  const served = Object.entries(behind).sort(([, a], [, b]) => b - a);
  const others = served.slice(3).reduce((sum, [, times]) => sum + times, 0);
  const who = served.slice(0, 3).map(([name, times]) => `${times} × ${name}`);
  const control =
    control_ran_ns === undefined
      ? []
      : [`runs ${us(control_ran_ns)} µs`, `waits ${us(length_ns - control_ran_ns)} µs`];
  return [
    ...where,
    ...control,
    ...queues,
    ...(who.length > 0 ? [`behind ${who.join(', ')}${others > 0 ? ` and ${others} more` : ''}`] : []),
  ].join(', ');
}

/** A line per stretch of time, then the sums per state. */
function text({ number: n, class: name, arrival_ns, latency_ns, finished, intervals }: Explanation): string {
  const sums = new Map<ExplainedInterval['state'], number>();
  for (const { state, length_ns } of intervals) sums.set(state, (sums.get(state) ?? 0) + length_ns);
  const total = intervals.reduce((sum, { length_ns }) => sum + length_ns, 0);
  return (
    `invocation ${n}, ${name}, arrived at ${us(arrival_ns)} µs: ${us(latency_ns)} µs ` +
    `${finished ? 'to its response' : 'so far; it is still in the system'}\n` +
    table([
      ['from µs', 'µs', '', ''],
      ...intervals.map((interval) => [
        us(interval.from_ns),
        us(interval.length_ns),
        WORDS[interval.state],
        details(interval),
      ]),
    ]) +
    table([
      ['in all', 'µs', 'share'],
      ...[...sums].map(([state, ns]) => [WORDS[state], us(ns), `${number((100 * ns) / total, 1)} %`]),
      ['sum', us(total), ''],
    ])
  );
}

/** The cell of a config file, or one of a folder of results. */
async function cellOf(place: string, cell: number | undefined): Promise<ResolvedConfig> {
  const isFolder = await stat(place).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (!isFolder) {
    const config = configWith(place, {});
    if (config.sweep !== undefined) {
      throw new VtimeError('usage', 'the config is a sweep', {
        file: place,
        path: 'sweep',
        expected: 'the folder of its results, and --cell',
      });
    }
    return resolveConfig(config);
  }
  const { cells } = await readStore(place);
  if (cell === undefined && cells.length > 1) {
    throw new VtimeError('usage', `${place} has ${cells.length} cells`, {
      expected: '--cell with a number from 1 on',
    });
  }
  const found = cells[(cell ?? 1) - 1];
  if (found !== undefined) return found.config;
  throw new VtimeError('usage', `--cell ${cell}`, {
    value: cell,
    expected: `a number from 1 to ${cells.length}`,
  });
}

interface ExplainOptions {
  invocation?: number;
  task?: string;
  from?: number;
  until?: number;
  cell?: number;
  json?: boolean;
}

function checkOptions({ invocation, task, from, until }: ExplainOptions): void {
  if ((invocation === undefined) === (task === undefined)) {
    const given = task === undefined ? 'neither --invocation nor --task' : '--invocation and --task';
    throw new VtimeError('usage', given, { expected: 'one of --invocation <n> and --task <name>' });
  }
  if (task === undefined && (from !== undefined || until !== undefined)) {
    throw new VtimeError('usage', '--from and --until without --task', { expected: 'both with --task only' });
  }
  if (from !== undefined && until !== undefined && from >= until) {
    throw new VtimeError('usage', '--until is not after --from', { expected: 'a later time' });
  }
}

async function explanationText(config: ResolvedConfig, options: ExplainOptions): Promise<string> {
  const { invocation, task, from, until, json } = options;
  const inJson = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;
  if (invocation !== undefined) {
    const explanation = await explain(config, invocation);
    return json ? inJson(explanation) : text(explanation);
  }
  const explanation = await explainTask(config, task!, {
    ...(from === undefined ? {} : { from_ns: from }),
    ...(until === undefined ? {} : { until_ns: until }),
  });
  return json ? inJson(explanation) : taskText(explanation);
}

export function explainCommand(): Command {
  return new Command('explain')
    .description("where an invocation's or a task's time went, to the nanosecond")
    .argument('<place>', 'config, or folder of results')
    .option(
      '--invocation <n>',
      'number among all arrivals (column `number` of its row)',
      whole('--invocation', 1),
    )
    .option(
      '--task <name>',
      'task over the whole run: worker/7 (the eighth of several), requests#7 (of arrival 7), worker/7:0 (its first child)',
    )
    .option('--from <time>', 'with --task: from this simulated time on, like 12.5s', time('--from', '12.5s'))
    .option('--until <time>', 'with --task: up to this simulated time', time('--until', '12.5s'))
    .option('--cell <n>', 'cell of a sweep, in the order of results.arrow', whole('--cell', 1))
    .option('--json', 'print JSON on stdout')
    .action(async (place: string, options: ExplainOptions) => {
      checkOptions(options);
      process.stdout.write(await explanationText(await cellOf(place, options.cell), options));
    });
}
