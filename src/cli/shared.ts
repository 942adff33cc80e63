// What all commands share: the options that change a config, errors that become exit codes, interruption, tables.

import { type Command, CommanderError, Option } from 'commander';
import { loadConfig } from '../config/load.js';
import { ConfigError, type Path, placesOf, rememberPlaces } from '../config/mistakes.js';
import { setPaths } from '../config/paths.js';
import type { Config } from '../config/schema.js';
import { EngineError, VtimeError } from '../errors.js';
import { assignment, collecting } from './options.js';

const EXIT_USAGE = 2;
const EXIT_ENGINE = 3;
const EXIT_INTERRUPTED = 130;

/** Options that change the config. */
export interface ConfigOptions {
  trace?: string;
  machine?: string;
  scheduler?: string;
  /** Variables of a BPF object. */
  rodata?: Record<string, unknown>;
  seed?: string;
  set?: Record<string, unknown>;
}

export interface OutputOptions {
  json?: boolean;
  quiet?: boolean;
}

export function withConfigOptions(command: Command): Command {
  return command
    .argument('<config>', 'config in YAML or JSON')
    .option(
      '--trace <file>',
      "trace in place of the config's: Arrow file, CSV folder, or a bundled one's name",
    )
    .option('--machine <name>', "machine profile in place of the config's, like ideal-4 or a JSON file")
    .option(
      '--scheduler <name[:k]>',
      "policy in place of the config's, like eevdf, domains:8 or a BPF object my.bpf.o",
    )
    .addOption(
      new Option('--rodata <name=value>', 'set a variable of the BPF object; may be repeated').argParser(
        collecting('--rodata', 'name=value, like slice_ns=3ms'),
      ),
    )
    .option('--seed <n>', 'seed, or "random" to draw one')
    .addOption(
      new Option('--set <path=value>', 'set any config field; may be repeated').argParser(assignment),
    )
    .option('--json', 'print the result as JSON on stdout')
    .option('--quiet', 'print nothing but results and errors');
}

/** The options' settings by config path, with the option that a mistake should name. */
function settingsOf(
  options: ConfigOptions,
  policy: Config['policy'],
): { path: string; value: unknown; option: string }[] {
  const settings: { path: string; value: unknown; option: string }[] = [];
  const add = (option: string, path: string, value: unknown) => {
    if (value !== undefined) settings.push({ path, value, option });
  };
  const { trace, machine, scheduler, rodata, seed } = options;
  const isObject = scheduler?.endsWith('.o') ?? policy.name === 'bpf';
  if (rodata !== undefined && !isObject) {
    const name = scheduler ?? policy.name;
    throw new VtimeError('usage', `--rodata: the policy ${name} is no BPF object`, {
      expected: '--scheduler my.bpf.o, or such a policy in the config',
    });
  }
  add('--trace', 'workload.serverless.trace', trace);
  add('--machine', 'machine.profile', machine);
  if (scheduler !== undefined && isObject) {
    // A mapping, so that --set can add to it.
    add('--scheduler', 'policy', { object: scheduler, ...(rodata === undefined ? {} : { rodata }) });
  } else {
    add('--scheduler', 'policy', scheduler);
    if (policy.name === 'bpf' && rodata !== undefined) {
      add('--rodata', 'policy.rodata', { ...policy.rodata, ...rodata });
    }
  }
  add('--seed', 'seed', seed === undefined || !/^\d+$/.test(seed) ? seed : Number(seed));
  for (const [path, value] of Object.entries(options.set ?? {})) add('--set', path, value);
  return settings;
}

/** True if one is the other or holds it. */
function overlaps(a: string, b: string): boolean {
  return a === b || a.startsWith(`${b}.`) || b.startsWith(`${a}.`);
}

/** What a sweep varies can't be set as well: the setting would be lost without a word. */
function refuseAxes(config: Config, settings: readonly { path: string; option: string }[]): void {
  const { axes = {}, cases = [] } = config.sweep ?? {};
  const varied = [...Object.keys(axes), ...cases.flatMap((fields) => Object.keys(fields))];
  for (const { path, option } of settings) {
    const axis = varied.find((other) => overlaps(path, other));
    if (axis === undefined) continue;
    const what = option === '--set' ? `--set ${path}` : option;
    throw new VtimeError('usage', `${what}: the sweep varies ${axis}`, {
      path,
      expected: 'a field that is not an axis; change the axis, or leave the option out',
    });
  }
}

/** The config of a file with the options' changes. Errors know the line of what the file says. */
export function configWith(file: string, options: ConfigOptions): Config {
  const config = loadConfig(file);
  const settings = settingsOf(options, config.policy);
  if (settings.length === 0) return config;
  if (options.trace !== undefined && config.workload.serverless === undefined) {
    throw new VtimeError('usage', '--trace: the config has no serverless workload', { file });
  }
  refuseAxes(config, settings);
  const fromOption = (path: Path) => {
    const text = path.filter((part) => typeof part === 'string').join('.');
    return settings.find((setting) => overlaps(setting.path, text) && text !== '');
  };
  let changed: Config;
  try {
    changed = setPaths(config, Object.fromEntries(settings.map(({ path, value }) => [path, value])));
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const named = error.mistakes.map((mistake) => {
      const setting = fromOption(mistake.path);
      return setting === undefined
        ? mistake
        : { ...mistake, message: `${mistake.message} (${setting.option})` };
    });
    throw new ConfigError(named);
  }
  const locate = placesOf(config);
  rememberPlaces(changed, (path, atKey) => (fromOption(path) === undefined ? locate(path, atKey) : {}));
  return changed;
}

/** Says what `seed: random` drew. */
export function sayDrawnSeed(given: Config, drawn: number, { quiet }: OutputOptions): void {
  if (given.seed === 'random' && !quiet) process.stderr.write(`seed: ${drawn} (drawn)\n`);
}

/** Runs an action that Ctrl-C interrupts through its signal; a second one ends the process at once. */
export async function interruptible<T>(action: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const interrupt = () => {
    if (controller.signal.aborted) process.exit(EXIT_INTERRUPTED);
    controller.abort();
  };
  process.on('SIGINT', interrupt);
  process.on('SIGTERM', interrupt);
  try {
    return await action(controller.signal);
  } finally {
    process.off('SIGINT', interrupt);
    process.off('SIGTERM', interrupt);
  }
}

/** What an error does to the command: a message on stderr and an exit code. */
export function report(error: unknown): number {
  if (error instanceof CommanderError) {
    // Commander has written its message itself; help and version are no errors.
    return error.code === 'commander.helpDisplayed' || error.code === 'commander.version' ? 0 : EXIT_USAGE;
  }
  const debug = process.env.VTIME_DEBUG === '1';
  if (error instanceof VtimeError) {
    const bug = error instanceof EngineError ? ' (this is a bug in vtime)' : '';
    process.stderr.write(`${debug ? error.stack : error.message}${bug}\n`);
    return error.exitCode;
  }
  const text =
    error instanceof Error ? (debug ? error.stack : `${error.name}: ${error.message}`) : String(error);
  const hint = debug ? '' : '; VTIME_DEBUG=1 shows where';
  process.stderr.write(`unexpected ${text}\nThis is a bug in vtime${hint}.\n`);
  return EXIT_ENGINE;
}

function endQuietly(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
  process.exit(process.exitCode ?? 0);
}

/** Runs a command; its errors become the process's exit code. A reader that hangs up ends it quietly. */
export async function runAsCommand(action: () => Promise<unknown>): Promise<void> {
  for (const stream of [process.stdout, process.stderr]) {
    // Once, however often a process runs commands.
    if (!stream.listeners('error').includes(endQuietly)) stream.on('error', endQuietly);
  }
  try {
    await action();
  } catch (error) {
    process.exitCode = report(error);
  }
}

/** Commands that were built on their own throw instead of ending the process, and know near names. */
export function prepare(command: Command): Command {
  command.exitOverride().showSuggestionAfterError();
  for (const inner of command.commands) prepare(inner);
  return command;
}

/** A number with `digits` decimals and thousands separated; a dash where there is none. */
export function number(value: number, digits = 0): string {
  if (!Number.isFinite(value)) return '–';
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** Four significant digits at any size. */
export function significant(value: number): string {
  if (!Number.isFinite(value)) return '–';
  if (value === 0) return '0';
  return number(value, Math.max(0, 3 - Math.floor(Math.log10(Math.abs(value)))));
}

/** Columns padded to the widest cell; the first is left-aligned, numbers are right-aligned. */
export function table(rows: readonly string[][]): string {
  const widths = rows[0].map((_, i) => Math.max(...rows.map((row) => row[i].length)));
  const line = (row: string[]) =>
    row.map((cell, i) => (i > 0 ? cell.padStart(widths[i]) : cell.padEnd(widths[i]))).join('  ');
  return rows.map((row) => `  ${line(row).trimEnd()}\n`).join('');
}
