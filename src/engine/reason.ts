// Why a run stalled or deadlocked, as a result: in words and as a chain.

import type { ChainStep, FailureReason } from '../types.js';
import { cpusBefore, Waiting } from './chain.js';
import type { EncodedModel } from './encode.js';
import { describe, type FailureNumbers } from './failure.js';
import { staysSince } from './served.js';
import type { Wait } from './waits.js';

/** Waits of a cycle that its message tells; all are in the chain. */
const MAX_CYCLE = 4;

/** Why the simulated system failed, with its chain. Repeats the run of a stall, to tell what was served instead. */
export async function failureReason(
  numbers: FailureNumbers,
  model: EncodedModel,
  { waits, end_ns, signal }: { waits: readonly Wait[]; end_ns: number; signal?: AbortSignal },
): Promise<FailureReason> {
  const { code, message, task } = describe(numbers, model, waits);
  const waiting = new Waiting(model, waits);
  const reason: FailureReason = {
    code,
    message,
    ...(numbers.task === 0 ? {} : { task, cpu: numbers.cpu }),
    ...(code === 'watchdog' ? { since_ns: Number(numbers.detail) } : {}),
    end_ns,
  };
  const failed = waiting.task(numbers.task);
  if (code === 'watchdog' && failed !== undefined) {
    const stays = await staysSince(model, failed.since_ns, cpusBefore(failed, model), signal);
    return { ...reason, chain: waiting.starved(failed, numbers.other, stays) };
  }
  if (code === 'livelock') return { ...reason, chain: failed === undefined ? [] : [waiting.step(failed)] };
  if (code !== 'deadlock') return reason;
  const { cycle, chain } = waiting.deadlock();
  return { ...reason, message: cycle ? `${message}: ${cycleText(chain)}` : message, chain };
}

/** a waits …, which only b can end; b waits …, which only a can end */
function cycleText(chain: readonly ChainStep[]): string {
  return chain
    .slice(0, MAX_CYCLE)
    .filter(({ state }) => state !== 'queued')
    .map(({ who, where, held_by = [] }) => `${who} waits ${where}, which ${held_by[0]} would have to end`)
    .join('; ');
}
