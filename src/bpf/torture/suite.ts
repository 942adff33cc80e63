// The torture suite: random workloads, one after another, and for each finding the smallest workload that shows it.

import { VtimeError } from '../../errors.js';
import { type Finding, isFair, judge, type Policy } from './judge.js';
import { MACHINE_SIZES, type Scenario, type ScenarioOptions, scenario, type Workload } from './scenario.js';
import { shrink } from './shrink.js';

export interface TortureOptions extends ScenarioOptions {
  seed: number;
  rounds: number;
  signal?: AbortSignal;
}

/** Findings of one kind and code that are made smaller; further ones are most likely the same mistake. */
const SHRUNK = 3;

export interface Round {
  round: number;
  /** What the workload is made of. */
  name: string;
  /** Wall time, s. */
  seconds: number;
  finding?: Finding;
  /** With a finding, of the first ones of a kind: the smallest workload that shows one like it, and what it shows. */
  smallest?: Workload;
  shown?: Finding;
  /** A plain scheduler does not survive the workload either: it counts for nothing. */
  unfair?: true;
}

/** A config that no longer makes sense does not show the finding. */
async function showsAgain(
  config: Workload,
  policy: Policy,
  finding: Finding,
  signal?: AbortSignal,
): Promise<boolean> {
  try {
    const found = await judge(config, policy, signal);
    return found?.kind === finding.kind && found.code === finding.code && (await isFair(config, signal));
  } catch (error) {
    if (error instanceof VtimeError && error.exitCode === 2) return false;
    throw error;
  }
}

async function oneRound(
  { name, config }: Scenario,
  round: number,
  policy: Policy,
  known: Map<string, number>,
  signal?: AbortSignal,
): Promise<Round> {
  const begun = performance.now();
  const done = (rest: Partial<Round>): Round => ({
    round,
    name,
    seconds: (performance.now() - begun) / 1000,
    ...rest,
  });
  const finding = await judge(config, policy, signal);
  if (finding === undefined) return done({});
  if (!(await isFair(config, signal))) return done({ unfair: true });
  const key = `${finding.kind} ${finding.code}`;
  known.set(key, (known.get(key) ?? 0) + 1);
  if (known.get(key)! > SHRUNK) return done({ finding });
  const smallest = await shrink(config, MACHINE_SIZES, (smaller) =>
    showsAgain(smaller, policy, finding, signal),
  );
  return done({ finding, smallest, shown: await judge(smallest, policy, signal) });
}

/**
 * Runs `rounds` workloads of a seed under a scheduler, one at each step. The same seed gives the same findings. Throws what the
 * scheduler is not to blame for: objects that vtime refuses, engine errors.
 */
export async function* torture(policy: Policy, options: TortureOptions): AsyncGenerator<Round> {
  const known = new Map<string, number>();
  for (let round = 1; round <= options.rounds; round++) {
    yield await oneRound(scenario(options.seed, round, options), round, policy, known, options.signal);
  }
}
