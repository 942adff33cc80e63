// What a scheduler does wrong with a workload, if anything.

import type { ConfigInput } from '../../config/schema.js';
import { simulate } from '../../engine/simulate.js';
import { SimulationError } from '../../errors.js';
import type { ChainStep, FailureReason, SimulationResult } from '../../types.js';
import type { Workload } from './scenario.js';

export type Policy = NonNullable<ConfigInput['policy']>;

export type FindingKind =
  /** Nothing of that queue runs any more. */
  | 'stall'
  /** A task waits while others of its queue are served. */
  | 'starvation'
  /** A task is runnable and in no queue: the scheduler has forgotten it. */
  | 'lost task'
  /** A rule of the kernel is broken, and the kernel would throw the scheduler out. */
  | 'broken rule';

export interface Finding {
  kind: FindingKind;
  /** The engine's name of the failure. */
  code: string;
  message: string;
  /** What it waits for and what runs instead, one line each. */
  details: string[];
}

/** Serves all tasks in turn: what starves under it asks for more than there is. */
const CONTROL: Policy = { name: 'global-fifo', slice: '20ms' };

function kindOf(starved: ChainStep | undefined): FindingKind {
  if (starved?.where === undefined || starved.where === 'in no DSQ') return 'lost task';
  return starved.served?.length ? 'starvation' : 'stall';
}

function stalled(reason: FailureReason | undefined): Finding {
  const chain = reason?.chain ?? [];
  return {
    kind: kindOf(chain[0]),
    code: reason?.code ?? 'watchdog',
    message: reason?.message ?? 'a task waits',
    details: chain.flatMap(({ who, state, where, allowed_cpus, served }) => [
      `${who} is ${state}${where ? ` ${where}` : ''}${allowed_cpus ? `, allowed on CPUs ${allowed_cpus}` : ''}`,
      ...(served ?? []).map((other) => `  meanwhile ${other.who} ran ${other.count} times`),
    ]),
  };
}

/**
 * Runs a workload under a scheduler. Errors of input (an object that vtime refuses) and of the engine are thrown; what the
 * scheduler does wrong is a finding.
 */
export async function judge(
  config: Workload,
  policy: Policy,
  signal?: AbortSignal,
): Promise<Finding | undefined> {
  let result: SimulationResult;
  try {
    result = await simulate({ ...config, policy }, { signal });
  } catch (error) {
    if (!(error instanceof SimulationError)) throw error;
    return { kind: 'broken rule', code: error.code, message: error.message, details: [] };
  }
  const { outcome, reason } = result;
  return outcome === 'stalled' || outcome === 'deadlocked' ? stalled(reason) : undefined;
}

/** Whether the workload is one that a plain scheduler survives. */
export async function isFair(config: Workload, signal?: AbortSignal): Promise<boolean> {
  return (await judge(config, CONTROL, signal)) === undefined;
}
