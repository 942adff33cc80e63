// Where a task's time went over a run: the cell runs again with a detailed record of its decisions.

import type { ResolvedConfig } from '../config/schema.js';
import { VtimeError } from '../errors.js';
import type { FailureReason, Outcome } from '../types.js';
import { DECISIONS_DETAILED } from './abi.js';
import { taskLabel } from './chain.js';
import { type EncodedModel, encode } from './encode.js';
import { failureReason } from './reason.js';
import { recording } from './served.js';
import { type CellTraces, outcomeOf } from './simulate.js';
import { Simulation } from './simulation.js';
import { type LastStretch, type TaskState, TaskTime, type TimePart, type Window } from './task-time.js';

export interface TaskExplanation {
  /** e.g. `task "worker/7" (pid 8)` */
  task: string;
  pid: number;
  /** The time that is explained, simulated time: from its first wake-up to its exit, unless a window is narrower. */
  from_ns: number;
  until_ns: number;
  /** False: it had not exited by then. */
  exited: boolean;
  /** By state; sums to until_ns − from_ns. */
  states: { state: TaskState; length_ns: number; times: number }[];
  /** By state and place, longest first; sums to the same. */
  parts: TimePart[];
  /** What it was doing at the end, if it had not exited. */
  last?: LastStretch;
  /** How the run ended, if that was before its exit. */
  outcome?: Outcome;
  /** Why it stalled or deadlocked. */
  reason?: FailureReason;
}

/** The slot of a task that exists from the start, by its name: `worker/7`, or `worker` if there is one only. */
function slotOf(name: string, { taskNames, config }: EncodedModel): number {
  const index = taskNames.indexOf(name);
  if (index >= 0) return index + 1;
  const [group] = name.split('/');
  const known = config.workload.tasks.find((task) => task.name === group);
  if (known !== undefined && known.count > 1) {
    throw new VtimeError('usage', `--task ${name}: there are ${known.count} of "${group}"`, {
      value: name,
      expected: `one of ${group}/0 to ${group}/${known.count - 1}`,
    });
  }
  if (config.workload.arrivals.some((source) => source.name === group)) {
    throw new VtimeError('usage', `--task ${name}: its tasks come and go with their jobs`, {
      value: name,
      expected: '--invocation with the number of the job among all arrivals',
    });
  }
  const groups = config.workload.tasks.map(({ name: other, count }) =>
    count > 1 ? `${other}/0 to ${other}/${count - 1}` : other,
  );
  throw new VtimeError('usage', `no task "${name}"`, {
    value: name,
    expected: groups.length === 0 ? 'a config with tasks' : `one of ${groups.join(', ')}`,
  });
}

/** Sums over the places of each state, longest first. */
function statesOf(parts: readonly TimePart[]): TaskExplanation['states'] {
  const sums = new Map<TaskState, { state: TaskState; length_ns: number; times: number }>();
  for (const { state, length_ns, times } of parts) {
    const sum = sums.get(state) ?? { state, length_ns: 0, times: 0 };
    sum.length_ns += length_ns;
    sum.times += times;
    sums.set(state, sum);
  }
  return [...sums.values()].sort((a, b) => b.length_ns - a.length_ns);
}

/** Runs a cell until the task has exited, or until the window's end. */
export async function explainTask(
  config: ResolvedConfig,
  { trace, times }: CellTraces,
  name: string,
  window: Partial<Window> = {},
): Promise<TaskExplanation> {
  const model = recording(encode(config, trace, times), DECISIONS_DETAILED);
  const slot = slotOf(name, model);
  const time = new TaskTime(model, slot, window);
  const simulation = new Simulation(model);
  try {
    while (!simulation.done && !time.done) {
      simulation.step();
      time.add(simulation.drainDecisions());
      simulation.drainRows();
    }
    const end_ns = Number(simulation.time_ns);
    time.finish(end_ns);
    const first = time.first_ns;
    if (first === undefined) {
      throw new VtimeError('usage', `task "${name}" never becomes runnable`, {
        value: name,
        expected: 'a task that does, before the run or the window ends',
      });
    }
    const from_ns = Math.max(first, window.from_ns ?? 0);
    const until_ns = Math.min(time.exit_ns ?? end_ns, window.until_ns ?? Number.POSITIVE_INFINITY);
    if (from_ns > until_ns) {
      throw new VtimeError('usage', `task "${name}" is there from ${first} to ${time.exit_ns ?? end_ns} ns`, {
        value: name,
        expected: '--from and --until in between',
      });
    }
    const parts = time.parts();
    const last = time.last();
    // The run may have gone on beyond what is explained.
    const ended = simulation.done && time.exit_ns === undefined && until_ns === end_ns;
    const { failure } = simulation;
    return {
      task: taskLabel(model, slot),
      pid: slot,
      from_ns,
      until_ns,
      exited: time.exit_ns === until_ns,
      states: statesOf(parts),
      parts,
      ...(last === undefined ? {} : { last }),
      ...(ended ? { outcome: outcomeOf(simulation) } : {}),
      ...(ended && failure !== undefined
        ? { reason: await failureReason(failure, model, { waits: simulation.waits(), end_ns }) }
        : {}),
    };
  } finally {
    simulation.close();
  }
}
