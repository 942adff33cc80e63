// Where a task's time went over a run: the cell runs again with a detailed record of its decisions.

import { configFrom } from '../config/load.js';
import { resolveConfig } from '../config/resolve.js';
import type { Config, ConfigInput, ResolvedConfig } from '../config/schema.js';
import { VtimeError } from '../errors.js';
import type { ExplainTaskOptions, TaskExplanation, TaskState, TimePart } from '../types.js';
import { DECISIONS_DETAILED } from './abi.js';
import { encode } from './encode.js';
import { failureReason } from './reason.js';
import { recording } from './served.js';
import { outcomeOf, readTraces } from './simulate.js';
import { Simulation, takeTurn } from './simulation.js';
import { TaskName } from './task-name.js';
import { TaskTime } from './task-time.js';

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

/**
 * Where a task's time went, from its first wake-up to its exit or the end of the run: runs the config, up to there, with a
 * detailed record of its decisions. For names see task-name.ts.
 * Errors: as of `simulate()`; VtimeError `usage` if there is no such task, or not within the window.
 */
export async function explainTask(
  config: ConfigInput | Config | ResolvedConfig,
  name: string,
  { trace, signal, from_ns: begin = 0, until_ns: end = Number.POSITIVE_INFINITY }: ExplainTaskOptions = {},
): Promise<TaskExplanation> {
  const resolved = resolveConfig(configFrom(config));
  const traces = await readTraces(resolved, trace);
  const model = recording(encode(resolved, traces.trace, traces.times), DECISIONS_DETAILED);
  const taskName = new TaskName(name, model);
  const time = new TaskTime(model, taskName, { from_ns: begin, until_ns: end });
  const simulation = new Simulation(model);
  try {
    for (let slice = 1; !simulation.done && !time.done; slice++) {
      simulation.step();
      time.add(simulation.drainDecisions());
      simulation.drainRows();
      await takeTurn(slice, signal);
    }
    const end_ns = Number(simulation.time_ns);
    time.finish(end_ns);
    const { slot, first_ns: first } = time;
    if (slot === undefined) throw taskName.missing();
    if (first === undefined) {
      throw new VtimeError('usage', `task "${name}" never becomes runnable`, {
        value: name,
        expected: 'a task that does, before the run or the window ends',
      });
    }
    const from_ns = Math.max(first, begin);
    const until_ns = Math.min(time.exit_ns ?? end_ns, end);
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
      task: `task "${name}" (pid ${slot})`,
      pid: slot,
      from_ns,
      until_ns,
      exited: time.exit_ns === until_ns,
      states: statesOf(parts),
      parts,
      ...(last === undefined ? {} : { last }),
      ...(ended ? { outcome: outcomeOf(simulation) } : {}),
      ...(ended && failure !== undefined
        ? { reason: await failureReason(failure, model, { waits: simulation.waits(), end_ns, signal }) }
        : {}),
    };
  } finally {
    simulation.close();
  }
}
