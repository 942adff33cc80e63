// vtime kernel record: the workload of a config in a real kernel in a virtual machine, and what its scheduler decided.

import { createHash } from 'node:crypto';
import { Command, Option } from 'commander';
import { recordingToArrow } from '../bpf/recording/file.js';
import { METRONOMES_HZ, recordKernel } from '../bpf/vm/record.js';
import { resolveConfig } from '../config/resolve.js';
import { VtimeError } from '../errors.js';
import { checkOutput, writeOutput } from '../output.js';
import { assignment, namedValue, repeated, time, whole } from './options.js';
import { type ConfigOptions, configWith, interruptible, number } from './shared.js';

interface RecordCommandOptions extends Pick<ConfigOptions, 'seed' | 'set'> {
  scheduler?: string;
  cpus?: number;
  out: string;
  rodata?: string[];
  fast?: boolean;
  timeout: number;
  metronome?: string;
  console?: boolean;
  quiet?: boolean;
}

const MAX_CPUS = 512;

function loaderLine(setting: string): string {
  const [name, value] = namedValue('--rodata', setting, 'name=number');
  return `rodata ${name} ${value}`;
}

function metronomeOf(text: string | undefined): { metronome_hz?: number } {
  if (text === undefined) return {};
  const metronome_hz = Number(text);
  if (METRONOMES_HZ.includes(metronome_hz)) return { metronome_hz };
  throw new VtimeError('usage', `--metronome is "${text}"`, {
    value: text,
    expected: `one of ${METRONOMES_HZ.join(', ')}`,
  });
}

async function record(file: string, options: RecordCommandOptions): Promise<void> {
  const { scheduler, cpus, out, rodata = [], fast, timeout, metronome, seed, set, quiet } = options;
  const given: ConfigOptions = {
    set: { ...set, ...(cpus !== undefined && { 'machine.profile': `ideal-${cpus}` }) },
    ...(seed !== undefined && { seed }),
  };
  const config = resolveConfig(configWith(file, given));
  const loaderLines = rodata.map(loaderLine);
  checkOutput(out);
  const say = (text: string) => {
    if (!quiet) process.stderr.write(`${text}\n`);
  };
  const { recording, wall_ms } = await interruptible((signal) =>
    recordKernel({
      config,
      exact: fast !== true,
      loaderLines,
      timeout_ms: Math.floor(timeout / 1e6),
      ...metronomeOf(metronome),
      signal,
      say,
      ...(scheduler !== undefined && { scheduler }),
      ...(options.console && { onConsole: (text: string) => process.stderr.write(text) }),
    }),
  );
  const arrow = recordingToArrow(recording);
  writeOutput(out, out.endsWith('.gz') ? recordingToArrow(recording, true) : arrow);
  const { kernel, tasks, outcome, duration_ns } = recording.info;
  process.stdout.write(
    `${out}: ${number(recording.length)} events of ${tasks.length} tasks, kernel ${kernel}, ${outcome} after ` +
      `${number(Number(duration_ns) / 1e9, 3)} s of the guest, ${number(wall_ms / 1000, 1)} s here\n` +
      `sha256 ${createHash('sha256').update(arrow).digest('hex')}\n`,
  );
}

export function kernelRecordCommand(): Command {
  return new Command('record')
    .description("run a config's tasks in a real kernel in a virtual machine and record its scheduler")
    .argument('<config>', 'config in YAML or JSON, whose workload consists of tasks')
    .option(
      '--scheduler <name>',
      "one of bpf/objects like domains, a .bpf.o file, or a fair class: eevdf, cfs, eevdf-7.3 (default: as the config's policy)",
    )
    .option(
      '--cpus <n>',
      "CPUs of the guest (default: those of the config's machine)",
      whole('--cpus', 1, MAX_CPUS),
    )
    .option('-o, --out <file>', 'the recording, .arrow or .arrow.gz', 'recording.arrow')
    .addOption(
      new Option(
        '--rodata <name=number>',
        'set a read-only variable of the object; may be repeated',
      ).argParser(repeated),
    )
    .option('--seed <n>', 'seed')
    .addOption(
      new Option('--set <path=value>', 'set any config field; may be repeated').argParser(assignment),
    )
    .option('--fast', 'several times as fast, but no two runs are equal')
    .option(
      '--metronome <hz>',
      'rounds of the emulator per second at least; more keep the CPUs closer together (default: 2048)',
    )
    .addOption(
      new Option('--timeout <duration>', 'time after which the guest counts as hung')
        .argParser(time('--timeout', '10min'))
        .default(600e9, '10min'),
    )
    .option('--console', "show the guest's console")
    .option('--quiet', 'print nothing but the result and errors')
    .action(record);
}
