// The lock-step check: a native policy and a BPF object on random workloads, callback by callback, and the smallest workload
// on which they differ.

import { configFrom } from '../../config/load.js';
import { machineOf, resolveConfig } from '../../config/resolve.js';
import type { ConfigInput } from '../../config/schema.js';
import { Draws } from '../../draws.js';
import { takeTurn } from '../../engine/simulation.js';
import { VtimeError } from '../../errors.js';
import type { SettingValue } from '../object/settings.js';
import { readObject } from '../runtime/runtime.js';
import { MACHINE_SIZES, scenario, type Workload } from '../torture/scenario.js';
import { shrink } from '../torture/shrink.js';
import { type Comparison, compareRuns } from './lockstep.js';
import { objectPolicy, type PolicyInput, placeTasks, variedPolicy } from './twin.js';

export interface CheckOptions {
  /** A policy's name, with its number of domains or not, leaves the other parameters to the draws. */
  against: PolicyInput;
  /** Callbacks to compare at least. */
  callbacks: number;
  seed: number;
  /** Largest machine. */
  max_cpus: number;
  rodata?: Readonly<Record<string, SettingValue>>;
  signal?: AbortSignal;
  onRound?(round: CheckRound): void;
}

export interface CheckRound {
  round: number;
  /** What the workload is made of. */
  name: string;
  comparison: Comparison;
}

export interface CheckResult {
  rounds: number;
  callbacks: number;
  /** Where they differ: the smallest workload that shows it, with the native policy and with the object. */
  found?: { round: CheckRound; native: ConfigInput; object: ConfigInput; comparison: Comparison };
}

/** Half of a workload's time. */
const STALL_MS = 500;
/** Of one workload, so that no kind of them crowds out the others. */
const MOST_CALLBACKS = 50_000;
/** Machines in a row that can't have the domains asked for. */
const MOST_SKIPPED = 200;
/** Time after a difference that its workload keeps. */
const MARGIN_NS = 1_000_000;
const KERNELS = ['6.12', '7.3'] as const;

/** One workload with both policies. */
interface Pair {
  native: ConfigInput;
  object: ConfigInput;
  ignore_user_queues: boolean;
}

/**
 * Compares until there are as many callbacks as asked for, or a difference. The same seed gives the same workloads. Errors: of
 * the object, the policy and the settings; those of the schedulers are compared like everything they do.
 */
export async function checkObject(object: string, options: CheckOptions): Promise<CheckResult> {
  const { against, seed, max_cpus, signal } = options;
  if (against === 'eevdf' || (typeof against === 'object' && 'name' in against && against.name === 'eevdf')) {
    throw new VtimeError('usage', 'eevdf is the fair class, which has no callbacks to compare with', {
      value: against,
      expected: 'a policy under sched_ext, like global-vtime',
    });
  }
  let callbacks = 0;
  let skipped = 0;
  for (let number = 1; ; number++) {
    const draws = new Draws('check', seed, number);
    const kernel = draws.pick(KERNELS);
    const { name, config: drawn } = scenario(seed, number, { stall_ms: STALL_MS, max_cpus, kernel });
    const cpus = machineOf(resolveConfig(configFrom({ ...drawn, policy: 'global-fifo' }))).cpus.length;
    const policy = variedPolicy(options.against, draws, cpus);
    if (policy === undefined) {
      if (++skipped < MOST_SKIPPED) continue;
      throw new VtimeError(
        'usage',
        `${options.against}: no machine of at most ${max_cpus} CPUs can be split so`,
        {
          value: options.against,
          expected: 'a number of domains that divides a number of CPUs',
        },
      );
    }
    skipped = 0;
    const config = placeTasks(drawn, policy, draws);
    const pairOf = (workload: Workload) => pair(object, workload, policy, options.rodata ?? {});
    const comparison = await compare(pairOf(config), signal);
    callbacks += comparison.callbacks;
    const round = { round: number, name, comparison };
    options.onRound?.(round);
    if (comparison.difference !== undefined) {
      const smallest = await smallestDifference(config, comparison, pairOf, signal);
      return { rounds: number, callbacks, found: { round, ...smallest } };
    }
    if (callbacks >= options.callbacks) return { rounds: number, callbacks };
  }
}

function pair(
  object: string,
  workload: Workload,
  policy: PolicyInput,
  rodata: Readonly<Record<string, SettingValue>>,
): Pair {
  const native = { ...workload, policy };
  const resolved = resolveConfig(configFrom(native));
  const cpus = machineOf(resolved).cpus.length;
  return {
    native,
    object: { ...workload, policy: objectPolicy(object, resolved.policy, cpus, rodata) },
    ignore_user_queues: keepsTasks(object),
  };
}

async function compare(
  { native, object, ignore_user_queues }: Pair,
  signal?: AbortSignal,
): Promise<Comparison> {
  // Short comparisons end before their first turn.
  await takeTurn(0, signal);
  const [left, right] = [native, object].map((config) => resolveConfig(configFrom(config)));
  return compareRuns(left, right, {
    ignore_user_queues,
    limit: MOST_CALLBACKS,
    ...(signal === undefined ? {} : { signal }),
  });
}

/** It never makes a DSQ: waiting tasks are in its maps. */
function keepsTasks(object: string): boolean {
  const { functions } = readObject(object).open;
  return !functions.some(({ externs }) =>
    [...externs.values()].some(({ name }) => name === 'scx_bpf_create_dsq'),
  );
}

async function smallestDifference(
  config: Workload,
  { time_ns }: Comparison,
  pairOf: (workload: Workload) => Pair,
  signal: AbortSignal | undefined,
): Promise<Pair & { comparison: Comparison }> {
  const differs = async (smaller: Workload): Promise<boolean> => {
    try {
      return (await compare(pairOf(smaller), signal)).difference !== undefined;
    } catch (error) {
      // A config that no longer makes sense shows nothing.
      if (error instanceof VtimeError && error.exitCode === 2) return false;
      throw error;
    }
  };
  // Nothing after the difference matters, and short runs are quick to try.
  const shorter = { ...config, run: { ...config.run, horizon: `${time_ns + MARGIN_NS}ns` } };
  const start = (await differs(shorter)) ? shorter : config;
  const found = pairOf(await shrink(start, MACHINE_SIZES, differs));
  return { ...found, comparison: await compare(found, signal) };
}
