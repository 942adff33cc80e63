// What the engine's failure codes mean, in words (assembly/core/failure.ts).

import { NONE } from '../../assembly/abi.js';
import { EngineError, SimulationError, VtimeError } from '../errors.js';
import type { FailureReason } from '../types.js';
import type { EncodedModel } from './encode.js';

export interface FailureNumbers {
  code: number;
  /** Task slot, 0 = none. */
  task: number;
  cpu: number;
  detail: bigint;
  /** Index of the DSQ where a starved task waits, NONE = in none. */
  dsq: number;
  /** Slot of the task that its CPU runs instead, 0 = none. */
  other: number;
}

/** Local DSQs come first, one per possible CPU, then the global one (assembly/kernel/dsq.ts). */
const MAX_CPUS = 512;

interface Kind {
  code: string;
  /** Who is at fault: the model's size, the policy, the engine, or the simulated system. */
  fault: 'capacity' | 'policy' | 'engine' | 'system';
  message(numbers: FailureNumbers, task: string, model: EncodedModel): string;
}

const seconds = (ns: bigint) => `${(Number(ns) / 1e9).toFixed(3)} s`;

/** Where a starved task waits and who is served in its place. */
function waitingPlace({ cpu, dsq, other }: FailureNumbers, model: EncodedModel): string {
  const queue =
    dsq === NONE
      ? 'in no DSQ'
      : dsq < MAX_CPUS
        ? `in the local DSQ of CPU ${dsq}`
        : dsq === MAX_CPUS
          ? 'in the global DSQ'
          : `in user DSQ ${dsq - MAX_CPUS - 1}`;
  const instead = other === 0 ? 'runs nothing' : `runs ${taskName(other, model)}`;
  return `; it waits ${queue} while CPU ${cpu} ${instead}`;
}

const KINDS: Record<number, Kind> = {
  1: { code: 'tasks', fault: 'capacity', message: ({ detail }) => `more than ${detail} tasks alive at once` },
  2: {
    code: 'jobs',
    fault: 'capacity',
    message: ({ detail }) => `more than ${detail} jobs in the system at once`,
  },
  3: { code: 'memory', fault: 'capacity', message: ({ detail }) => `no room for ${detail} more` },
  4: { code: 'containers', fault: 'capacity', message: ({ detail }) => `more than ${detail} containers` },
  5: { code: 'deliveries', fault: 'capacity', message: () => 'too many deliveries under way' },
  6: { code: 'groups', fault: 'capacity', message: ({ detail }) => `more than ${detail} cgroups share CPUs` },
  20: {
    code: 'local_affinity',
    fault: 'policy',
    message: ({ cpu, detail }, task, { masks }) =>
      `${task} was inserted into the local DSQ of CPU ${cpu}, which its mask does not allow: ` +
      `it may run on CPUs ${masks[Number(detail)]}`,
  },
  21: {
    code: 'vtime_into_builtin',
    fault: 'policy',
    message: (_, task) => `${task} was inserted by vtime into a built-in DSQ, which is FIFO only`,
  },
  22: {
    code: 'mixed_dsq',
    fault: 'policy',
    message: ({ detail }, task) =>
      `${task} was inserted in FIFO and vtime order into the same DSQ (${detail})`,
  },
  23: {
    code: 'invalid_cpu',
    fault: 'policy',
    message: ({ cpu, detail }, task) => `select_cpu() returned CPU ${cpu} for ${task}; there are ${detail}`,
  },
  24: {
    code: 'double_insert',
    fault: 'policy',
    message: (_, task) => `${task} was inserted while already queued`,
  },
  40: { code: 'conservation', fault: 'engine', message: () => 'arrived ≠ completed + dropped + in system' },
  41: {
    code: 'little',
    fault: 'engine',
    message: () => "Little's law does not hold: ∫ N dt ≠ Σ time in system",
  },
  42: { code: 'cpu_time', fault: 'engine', message: () => 'CPU time is not conserved' },
  43: {
    code: 'state_sum',
    fault: 'engine',
    message: () => 'the times per state of a job do not sum to its latency',
  },
  44: {
    code: 'program',
    fault: 'engine',
    message: ({ detail }, task) => `${task} ran into an invalid instruction (${detail})`,
  },
  45: {
    code: 'clock',
    fault: 'engine',
    message: ({ detail }) => `an event lies ${detail} ns before the clock`,
  },
  60: {
    code: 'livelock',
    fault: 'system',
    message: (_, task) => `no time passes any more; last seen: ${task}`,
  },
  61: {
    code: 'watchdog',
    fault: 'system',
    message: (numbers, task, model) =>
      `${task} has been runnable on CPU ${numbers.cpu} since ${seconds(numbers.detail)} without running` +
      waitingPlace(numbers, model),
  },
  62: {
    code: 'deadlock',
    fault: 'system',
    message: ({ detail }) => `${detail} jobs are in the system and nothing can move them any more`,
  },
};

function taskName(slot: number, model: EncodedModel): string {
  if (slot === 0) return 'no task';
  const name = model.taskNames[slot - 1];
  return name === undefined ? `task ${slot}` : `task "${name}" (pid ${slot})`;
}

/** The failure in words, and as the error it is when it is not a result. */
export function failureReason(
  numbers: FailureNumbers,
  model: EncodedModel,
): FailureReason & { asError(): VtimeError } {
  const kind = KINDS[numbers.code];
  const task = taskName(numbers.task, model);
  const message = kind === undefined ? `engine failure ${numbers.code}` : kind.message(numbers, task, model);
  const code = kind?.code ?? 'unknown';
  return {
    code,
    message,
    ...(numbers.task === 0 ? {} : { task, cpu: numbers.cpu }),
    ...(code === 'watchdog' ? { since_ns: Number(numbers.detail) } : {}),
    asError() {
      if (kind?.fault === 'capacity') return new VtimeError(`capacity_${code}`, message);
      if (kind?.fault === 'policy') return new SimulationError(`policy_${code}`, message);
      if (kind?.fault === 'system') return new SimulationError(code, message);
      return new EngineError(`engine_${code}`, message);
    },
  };
}
