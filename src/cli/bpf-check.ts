// vtime bpf check: an object against the native policy that it should do the same as.

import { Command } from 'commander';
import { parse, stringify } from 'yaml';
import { type CheckResult, type CheckRound, checkObject } from '../bpf/check/check.js';
import type { PolicyInput } from '../bpf/check/twin.js';
import { VtimeError } from '../errors.js';
import { checkOutput, writeOutput } from '../output.js';
import { rodataOption, whole } from './options.js';
import { interruptible, number } from './shared.js';

interface Options {
  against: string;
  callbacks: number;
  seed: number;
  cpus: number;
  rodata?: Record<string, string>;
  out?: string;
  json?: boolean;
  quiet?: boolean;
}

const MILLION: Record<string, number> = { k: 1e3, M: 1e6, '': 1 };

/** "1M", "200k", "5000". */
function callbackCount(text: string): number {
  const [, digits, suffix] = /^(\d{1,9})([kM]?)$/.exec(text) ?? [];
  const count = Number(digits) * MILLION[suffix];
  if (count >= 1) return count;
  throw new VtimeError('usage', `--callbacks is "${text}"`, {
    value: text,
    expected: 'a number like 200k or 1M',
  });
}

/** A policy's name, or its parameters in YAML. */
function policyOf(text: string): PolicyInput {
  if (!text.trimStart().startsWith('{')) return text as PolicyInput;
  try {
    return parse(text);
  } catch (error) {
    const reason = error instanceof Error ? error.message.split('\n')[0] : String(error);
    throw new VtimeError('usage', `--against: ${reason}`, {
      value: text,
      expected: 'like {name: domains, slice: 3ms}',
    });
  }
}

function roundLine({ round, name, comparison }: CheckRound): string {
  const { callbacks, difference } = comparison;
  const outcome = difference === undefined ? 'no difference' : 'DIFFERENT';
  return `${String(round).padStart(5)}  ${number(callbacks).padStart(9)} callbacks  ${name}: ${outcome}\n`;
}

function text({ rounds, callbacks, found }: CheckResult, against: string): string {
  if (found === undefined) {
    return `${number(callbacks)} callbacks of ${rounds} workloads: no difference from ${against}\n`;
  }
  const { difference } = found.comparison;
  const { policy: native, ...workload } = found.native;
  const indented = (lines: readonly string[]) => lines.map((line) => `  ${line}\n`).join('');
  return [
    `A difference from ${against} after ${number(callbacks)} callbacks; the smallest workload found that shows one:\n\n`,
    indented(stringify(workload).trimEnd().split('\n')),
    `\nnative:  ${JSON.stringify(native)}\nobject:  ${JSON.stringify(found.object.policy)}\n`,
    `\nBoth do\n${indented(difference?.before ?? [])}`,
    `then the native policy\n${indented(difference?.left ?? [])}`,
    `and the object\n${indented(difference?.right ?? [])}`,
  ].join('');
}

async function check(object: string, options: Options): Promise<void> {
  const { against, callbacks, seed, cpus, rodata, out, json, quiet } = options;
  if (out !== undefined) checkOutput(out);
  const result = await interruptible((signal) =>
    checkObject(object, {
      against: policyOf(against),
      callbacks,
      seed,
      max_cpus: cpus,
      ...(rodata === undefined ? {} : { rodata }),
      signal,
      onRound: (round) => {
        if (!quiet) process.stderr.write(roundLine(round));
      },
    }),
  );
  if (out !== undefined && result.found !== undefined) {
    writeOutput(out, stringify(result.found.object));
  }
  process.stdout.write(json ? `${JSON.stringify(result, null, 2)}\n` : text(result, against));
  if (result.found !== undefined) process.exitCode = 1;
}

export function checkCommand(): Command {
  return new Command('check')
    .description('compare an object with a native policy, callback by callback, on random workloads')
    .argument('<object>', 'compiled sched_ext object')
    .requiredOption(
      '--against <policy>',
      'native policy: a name, with domains like domains:4, or its parameters in YAML',
    )
    .option('--callbacks <n>', 'compare at least so many, like 200k or 1M', callbackCount, 100_000)
    .option('--seed <n>', 'of the workloads', whole('--seed', 0, 0xffffffff), 1)
    .option('--cpus <n>', 'largest machine', whole('--cpus', 1, 512), 16)
    .option('--rodata <name=value>', 'set a global variable of the object; may be repeated', rodataOption)
    .option('--out <file>', 'write the smallest workload that shows a difference as a config')
    .option('--json', 'print JSON')
    .option('--quiet', 'print nothing but the result and errors')
    .action(check);
}
