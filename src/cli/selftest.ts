// vtime selftest: cases with known results, run here and now, so that a user can check their own build.

import { Command, Option } from 'commander';
import { VtimeError } from '../errors.js';
import { type Check, type RowResult, runRow, SELFTEST_ROWS, type WarmUpRule } from '../selftest/index.js';
import { VERSION } from '../version.js';

interface Options {
  json?: boolean;
  filter?: string;
  full?: boolean;
  warmup: WarmUpRule;
}

const digits = (value: number | string) =>
  typeof value === 'string' ? value : Number(value.toPrecision(7)).toString();

function line(check: Check): string {
  const { quantity, value, expected, tolerance, standard_error, passed } = check;
  if (typeof value === 'string') {
    const text = passed ? value : `${value}; expected ${expected}`;
    return `    ${passed ? 'ok    ' : 'FAILED'} ${quantity}: ${text}`;
  }
  const bound = tolerance === 0 ? '' : ` ± ${digits(Number(tolerance.toPrecision(2)))}`;
  const error = standard_error === undefined ? '' : `, standard error ${standard_error.toPrecision(2)}`;
  return (
    `    ${passed ? 'ok    ' : 'FAILED'} ${quantity.padEnd(22)} ${digits(value).padStart(12)}  ` +
    `expected ${digits(expected)}${bound}${error}`
  );
}

function text({ name, checks, passed, error, seconds }: RowResult): string {
  const head = `${passed ? 'ok    ' : 'FAILED'} ${name}  (${seconds.toFixed(2)} s)`;
  const failed = error === undefined ? [] : [`    ${error}`];
  return `${[head, ...checks.map(line), ...failed].join('\n')}\n`;
}

async function selftest({ json, filter, full, warmup }: Options): Promise<void> {
  const wanted = filter?.toLowerCase() ?? '';
  const rows = SELFTEST_ROWS.filter(({ name }) => name.toLowerCase().includes(wanted));
  if (rows.length === 0) {
    throw new VtimeError('usage', `no row's name holds "${filter}"`, {
      value: filter,
      expected: 'part of a name that `vtime selftest` prints, like M/M/1 or scx',
    });
  }
  const depth = full ? 'full' : 'short';
  const results: RowResult[] = [];
  for (const row of rows) {
    const result = await runRow(row, depth, warmup);
    results.push(result);
    if (!json) process.stdout.write(text(result));
  }
  const failed = results.filter(({ passed }) => !passed).length;
  const seconds = results.reduce((sum, result) => sum + result.seconds, 0);
  if (json) {
    const passed = results.length - failed;
    process.stdout.write(
      `${JSON.stringify({ version: VERSION, depth, warmup, passed, failed, seconds, rows: results }, null, 2)}\n`,
    );
  } else {
    const how = full ? '1 % for means, 2 % for quantiles' : 'estimates within their 99.9 % intervals';
    process.stdout.write(
      `\n${results.length - failed} passed, ${failed} failed in ${seconds.toFixed(1)} s (${how})\n`,
    );
  }
  if (failed > 0) process.exitCode = 1;
}

export function selftestCommand(): Command {
  return new Command('selftest')
    .description('check this build against closed forms and cases worked out by hand')
    .option('--filter <name>', 'only rows whose name holds this text')
    .option('--full', 'long runs, with the bounds of the test suite (about an hour)')
    .addOption(
      new Option('--warmup <rule>', 'what of a steady state is cut off: the first 5 %, or what MSER-5 says')
        .choices(['fixed', 'mser-5'])
        .default('fixed'),
    )
    .option('--json', 'print JSON')
    .action(selftest);
}
