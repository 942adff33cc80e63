// What the engine's failure codes mean, in words (assembly/core/failure.ts).

import { ruleText } from '../bpf/runtime/rules.js';
import { opName } from '../bpf/runtime/violation.js';
import { EngineError, SimulationError, VtimeError } from '../errors.js';
import { dsqName, taskLabel } from './chain.js';
import type { EncodedModel } from './encode.js';
import type { Wait } from './waits.js';

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
  /** What a BPF program said as it ended itself. */
  text?: string;
  /** Where a BPF program called the engine then: function and instruction, in words. */
  place?: string;
}

interface Kind {
  code: string;
  /** Who is at fault: the model's size, the policy, a BPF program by itself, the engine, or the simulated system. */
  fault: 'capacity' | 'policy' | 'program' | 'engine' | 'system';
  /** `other` is the task that the CPU of a starved one runs. */
  message(numbers: FailureNumbers, task: string, model: EncodedModel, other: string): string;
}

const seconds = (ns: bigint) => `${(Number(ns) / 1e9).toFixed(3)} s`;

const KINDS: Record<number, Kind> = {
  1: { code: 'tasks', fault: 'capacity', message: ({ detail }) => `more than ${detail} tasks alive at once` },
  2: {
    code: 'jobs',
    fault: 'capacity',
    message: ({ detail }) => `more than ${detail} jobs in the system at once`,
  },
  3: { code: 'memory', fault: 'capacity', message: ({ detail }) => `no room for ${detail} more` },
  4: { code: 'containers', fault: 'capacity', message: ({ detail }) => `more than ${detail} containers` },
  7: {
    code: 'barriers',
    fault: 'capacity',
    message: ({ detail }) => `more than ${detail} barriers, events and families of forked tasks at once`,
  },
  8: {
    code: 'calls',
    fault: 'capacity',
    message: ({ detail }) => `more than ${detail} copies of requests on their way at once`,
  },
  9: {
    code: 'requests',
    fault: 'capacity',
    message: ({ detail }) => `more than ${detail} requests in the system at once`,
  },
  10: {
    code: 'queues',
    fault: 'capacity',
    message: ({ detail }) => `more than ${detail} queues, one for each container among them`,
  },
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
    message: ({ cpu, detail }, task) =>
      `${task} on CPU ${cpu} was inserted by vtime into ${dsqName(Number(detail))}; built-in DSQs are FIFO only`,
  },
  22: {
    code: 'mixed_dsq',
    fault: 'policy',
    message: ({ cpu, detail }, task) =>
      `${task} on CPU ${cpu} was inserted into ${dsqName(Number(detail))} in another order than the tasks before it; ` +
      'a DSQ is either FIFO or ordered by vtime',
  },
  23: {
    code: 'invalid_cpu',
    fault: 'policy',
    message: ({ cpu, detail }, task) =>
      `select_cpu() returned CPU ${cpu} for ${task}; there are only CPUs 0 to ${detail - 1n}`,
  },
  24: {
    code: 'double_insert',
    fault: 'policy',
    message: ({ cpu }, task) =>
      `${task} on CPU ${cpu} was inserted while it was queued already; a task is on one DSQ at a time`,
  },
  25: {
    code: 'exit',
    fault: 'program',
    message: ({ text, detail }) =>
      `the scheduler ended itself: ${text || 'without a message'}${detail === 0n ? '' : ` (exit code ${detail})`}`,
  },
  26: {
    code: 'violation',
    fault: 'program',
    message: ({ detail }) => `the scheduler broke a rule of BPF (${detail})`,
  },
  27: {
    code: 'kfunc',
    fault: 'policy',
    message: ({ cpu, detail }, task) => ruleText(task, cpu, Number(detail & 255n), detail >> 8n),
  },
  28: {
    code: 'callback',
    fault: 'program',
    message: ({ cpu, detail }, task) => {
      const of = task === 'no task' ? '' : ` for ${task}`;
      return `the scheduler's ${opName(cpu)}()${of} returned ${BigInt.asIntN(32, detail)}`;
    },
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
    message: ({ detail, task: slot }, task, { config }) => {
      const source = config.workload.arrivals[Number(detail) - 1];
      const seen =
        slot !== 0 || detail === 0n
          ? task
          : `an arrival of ${source === undefined ? 'the trace' : `"${source.name}"`}`;
      return `no time passes any more; last seen: ${seen}`;
    },
  },
  61: {
    code: 'watchdog',
    fault: 'system',
    message: ({ cpu, detail, dsq, other: slot }, task, _, other) =>
      `${task} has been runnable on CPU ${cpu} since ${seconds(detail)} without running; ` +
      `it waits in ${dsqName(dsq)} while CPU ${cpu} ${slot === 0 ? 'runs nothing' : `runs ${other}`}`,
  },
  62: {
    code: 'deadlock',
    fault: 'system',
    message: ({ detail }) =>
      detail === 0n
        ? 'nothing can move the waiting tasks any more'
        : `${detail} ${detail === 1n ? 'job is' : 'jobs are'} in the system and nothing can move ${detail === 1n ? 'it' : 'them'} any more`,
  },
};

interface Described {
  kind: Kind | undefined;
  code: string;
  message: string;
  task: string;
}

/** What happened, in words; with the names of the tasks that were alive then. */
export function describe(numbers: FailureNumbers, model: EncodedModel, waits: readonly Wait[]): Described {
  const kind = KINDS[numbers.code];
  const living = new Map(waits.map((wait) => [wait.slot, wait]));
  const label = (slot: number) => {
    const { stats, member } = living.get(slot) ?? {};
    return slot === 0 ? 'no task' : taskLabel(model, slot, stats, member);
  };
  const task = label(numbers.task);
  const message =
    kind === undefined
      ? `engine failure ${numbers.code}`
      : kind.message(numbers, task, model, label(numbers.other));
  return { kind, code: kind?.code ?? 'unknown', message, task };
}

/** The failure as the error it is when it is not a result. */
export function failureError(
  numbers: FailureNumbers,
  model: EncodedModel,
  waits: readonly Wait[],
): VtimeError {
  const { kind, code, message } = describe(numbers, model, waits);
  const at = numbers.place === undefined ? '' : `: ${numbers.place}`;
  if (kind?.fault === 'capacity') return new VtimeError(`capacity_${code}`, message);
  if (kind?.fault === 'program') {
    const file = model.bpf?.file.path;
    return new SimulationError(`bpf_${code}`, `${message}${at}`, file === undefined ? {} : { file });
  }
  if (kind?.fault === 'policy') {
    const { policy } = model.config;
    const name = policy.name === 'bpf' ? policy.object : policy.name;
    return new SimulationError(
      `policy_${code}`,
      `the policy ${name} breaks a rule of the kernel: ${message}${at}`,
    );
  }
  if (kind?.fault === 'system') return new SimulationError(code, message);
  return new EngineError(`engine_${code}`, message);
}
