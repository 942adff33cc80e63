// vtime bpf test: random workloads that try to break a scheduler, and the smallest one for each thing that is found.

import { basename, join, relative, resolve } from 'node:path';
import { Command, Option } from 'commander';
import { parse } from 'yaml';
import type { Policy } from '../bpf/torture/judge.js';
import { findingConfig, junit } from '../bpf/torture/report.js';
import { type Round, torture } from '../bpf/torture/suite.js';
import { durationNs } from '../config/units.js';
import { VtimeError } from '../errors.js';
import { checkOutput, writeOutput } from '../output.js';
import { collecting, ofOption, whole } from './options.js';
import { interruptible } from './shared.js';

interface Options {
  seed: number;
  rounds: number;
  cpus: number;
  stall: string;
  kernel: '6.12' | '7.3';
  domains?: number;
  rodata?: Record<string, unknown>;
  policy?: Record<string, unknown>;
  junit?: string;
  out: string;
  json?: boolean;
  quiet?: boolean;
}

function stallMs(text: string): number {
  const ms = Number(ofOption('--stall', () => durationNs(text))) / 1e6;
  if (ms >= 500 && ms <= 60_000) return Math.round(ms);
  throw new VtimeError('usage', `--stall is "${text}"`, {
    value: text,
    expected: 'a time from 500ms to 60s',
  });
}

/** A mapping in YAML. */
function settings(text: string): Record<string, unknown> {
  const expected = 'a mapping in YAML, like {flags: [ENQ_LAST]}';
  let value: unknown;
  try {
    value = parse(text);
  } catch {
    throw new VtimeError('usage', `--policy is "${text}"`, { value: text, expected });
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  throw new VtimeError('usage', `--policy is "${text}"`, { value: text, expected });
}

/** How the same suite is run again. */
function commandLine(object: string, options: Options): string {
  const { seed, rounds, cpus, stall, kernel, domains, rodata = {}, policy } = options;
  const changed = [
    cpus === 512 ? '' : ` --cpus ${cpus}`,
    stall === '4s' ? '' : ` --stall ${stall}`,
    kernel === '7.3' ? '' : ` --kernel ${kernel}`,
    domains === undefined ? '' : ` --domains ${domains}`,
    policy === undefined ? '' : ` --policy '${JSON.stringify(policy)}'`,
    ...Object.entries(rodata).map(([name, value]) => ` --rodata ${name}=${value}`),
  ];
  return `vtime bpf test ${basename(object)} --seed ${seed} --rounds ${rounds}${changed.join('')}`;
}

function roundLine({ round, name, finding, unfair }: Round): string {
  const outcome = finding ? `${finding.kind}: ${finding.message}` : unfair ? 'no fair workload' : 'ok';
  return `${String(round).padStart(5)}  ${name}: ${outcome}`;
}

async function test(object: string, options: Options): Promise<void> {
  const { seed, rounds: count, cpus, stall, kernel, domains, rodata, out, json, quiet } = options;
  const stall_ms = stallMs(stall);
  checkOutput(join(out, 'round-1.yaml'));
  if (options.junit !== undefined) checkOutput(options.junit);
  const given = {
    ...options.policy,
    ...(domains === undefined ? {} : { domains }),
    ...(rodata === undefined ? {} : { rodata }),
  };
  const policyOf = (file: string): Policy => ({ object: file, ...given }) as Policy;
  const policy = policyOf(resolve(object));
  const origin = commandLine(object, options);
  const files = new Map<number, string>();
  const rounds: Round[] = [];

  const keep = (round: Round): void => {
    rounds.push(round);
    if (round.smallest !== undefined) {
      const file = join(out, `round-${round.round}.yaml`);
      const beside = policyOf(relative(resolve(out), resolve(object)));
      writeOutput(file, findingConfig(round, beside, origin));
      files.set(round.round, file);
    }
    if (json) return;
    if (round.finding === undefined && quiet) return;
    process.stdout.write(`${roundLine(round)}\n`);
    const file = files.get(round.round);
    if (file !== undefined) process.stdout.write(`       reproduce: vtime run ${file}\n`);
  };
  await interruptible(async (signal) => {
    const suite = { seed, rounds: count, stall_ms, max_cpus: cpus, kernel, divisor: domains, signal };
    for await (const round of torture(policy, suite)) keep(round);
  });

  const found = rounds.filter(({ finding }) => finding !== undefined);
  if (options.junit !== undefined) writeOutput(options.junit, junit(rounds, basename(object), files));
  if (json) {
    const listed = rounds.map((round) => ({ ...round, config: files.get(round.round) }));
    process.stdout.write(
      `${JSON.stringify({ object, seed, rounds: listed, found: found.length }, null, 2)}\n`,
    );
  } else {
    const seconds = rounds.reduce((sum, round) => sum + round.seconds, 0);
    process.stdout.write(
      `${rounds.length} rounds, ${found.length} with findings (${seconds.toFixed(1)} s)\n`,
    );
  }
  if (found.length > 0) process.exitCode = 1;
}

export function bpfTestCommand(): Command {
  return new Command('test')
    .description('torture a scheduler with random workloads; exit code 1 if anything is found')
    .argument('<object>', 'compiled BPF object')
    .addOption(
      new Option('--seed <n>', 'seed').default(1).argParser(whole('--seed', 0, Number.MAX_SAFE_INTEGER)),
    )
    .addOption(
      new Option('--rounds <n>', 'workloads').default(100).argParser(whole('--rounds', 1, 1_000_000)),
    )
    .addOption(new Option('--cpus <n>', 'largest machine').default(512).argParser(whole('--cpus', 1, 512)))
    .option('--stall <time>', 'longest time that a runnable task may wait', '4s')
    .addOption(new Option('--kernel <version>', 'kernel').default('7.3').choices(['6.12', '7.3']))
    .addOption(
      new Option('--domains <k>', 'groups of CPUs, for objects that know them').argParser(
        whole('--domains', 1, 512),
      ),
    )
    .addOption(
      new Option('--rodata <name=value>', 'set a variable of the object; may be repeated').argParser(
        collecting('--rodata', 'name=value, like slice_ns=3ms'),
      ),
    )
    .addOption(
      new Option('--policy <yaml>', 'further settings as in a config, like "{flags: [ENQ_LAST]}"').argParser(
        settings,
      ),
    )
    .option('--junit <file>', 'write the rounds as JUnit XML')
    .option('-o, --out <dir>', 'folder for the workloads of findings', 'torture')
    .option('--json', 'print the rounds as JSON on stdout')
    .option('--quiet', 'print findings only')
    .action(test);
}
