// Where one invocation's time went: the cell runs again with a recorder for that job (assembly/kernel/explain.ts).

import { configFrom } from '../config/load.js';
import { resolveConfig } from '../config/resolve.js';
import type { Config, ConfigInput, ResolvedConfig } from '../config/schema.js';
import { VtimeError } from '../errors.js';
import type { ExplainedInterval, ExplainOptions, Explanation, StateTimes } from '../types.js';
import * as abi from './abi.js';
import { STATES } from './decode.js';
import { encode } from './encode.js';
import { readSections } from './image.js';
import { type CellTraces, readTraces } from './simulate.js';
import { Simulation, takeTurn } from './simulation.js';

type StateName = keyof StateTimes;

const WAITS = new Set<StateName>(['run_queue', 'local_queue', 'preempted']);

function encodeFor(config: ResolvedConfig, { trace, times }: CellTraces, number: number) {
  const model = encode(config, trace, times);
  const view = new DataView(model.image.buffer, model.image.byteOffset, model.image.length);
  const { offset, stride } = readSections(view, 0).get(abi.SECTION_PARAMS)!;
  view.setBigUint64(offset + abi.P_EXPLAIN_ORDINAL * stride, BigInt(number), true);
  return model;
}

/**
 * Where the time of one invocation went, by its number among all arrivals, from 1: runs the config until it has left.
 * Errors: as of `simulate()`; VtimeError `invocation` if there are not so many.
 */
export async function explain(
  config: ConfigInput | Config | ResolvedConfig,
  invocation: number,
  { trace, signal }: ExplainOptions = {},
): Promise<Explanation> {
  const resolved = resolveConfig(configFrom(config));
  const model = encodeFor(resolved, await readTraces(resolved, trace), invocation);
  const simulation = new Simulation(model);
  try {
    for (let slice = 1; !simulation.done && !hasLeft(simulation.explanation()); slice++) {
      simulation.step();
      simulation.drainRows();
      await takeTurn(slice, signal);
    }
  } finally {
    simulation.close();
  }
  // Closes the last stretch of a job that is still in the system.
  if (!hasLeft(simulation.explanation())) simulation.finish();
  const classes = model.classes.map(({ name }) => name);
  const end_ns = Number(simulation.time_ns);
  const explanation = explanationOf(simulation.explanation(), classes, invocation, end_ns);
  if (explanation !== undefined) return explanation;
  throw new VtimeError('invocation', `there is no invocation ${invocation} to explain`, {
    value: invocation,
    expected: `a number from 1 to ${simulation.counter(abi.R_ARRIVED)}`,
  });
}

const kindAt = (view: DataView, at: number) => view.getUint32(at + 16, true);

function hasLeft(records: Uint8Array): boolean {
  if (records.length === 0) return false;
  const view = new DataView(records.buffer, records.byteOffset, records.length);
  for (let at = records.length - abi.EXPLAIN_BYTES; at >= 0; at -= abi.EXPLAIN_BYTES) {
    if (kindAt(view, at) === abi.EXPLAIN_LEFT) return true;
  }
  return false;
}

/** Moves `amount` out of the latest stretches of a state: the end of a wait, the beginning of a run. */
function shift(intervals: ExplainedInterval[], from: StateName, to: StateName, amount: number): void {
  let left = amount;
  for (let i = intervals.length - 1; i >= 0 && left > 0; i--) {
    const interval = intervals[i];
    if (interval.state !== from) continue;
    const moved = Math.min(left, interval.length_ns);
    left -= moved;
    const part = { ...interval, state: to, length_ns: moved, queues: [], behind: {} };
    interval.length_ns -= moved;
    if (from === 'running') {
      interval.from_ns += moved;
      intervals.splice(i, interval.length_ns === 0 ? 1 : 0, part);
    } else {
      part.from_ns = interval.from_ns + interval.length_ns;
      intervals.splice(interval.length_ns === 0 ? i : i + 1, interval.length_ns === 0 ? 1 : 0, part);
    }
  }
}

function explanationOf(
  records: Uint8Array,
  classes: readonly string[],
  number: number,
  end_ns: number,
): Explanation | undefined {
  const view = new DataView(records.buffer, records.byteOffset, records.length);
  const intervals: ExplainedInterval[] = [];
  let queues: string[] = [];
  let behind: Record<string, number> = {};
  let entered: { class: string; arrival_ns: number } | undefined;
  let left_ns: number | undefined;
  /** Of the control plane: since when a task runs for the job, and how long tasks have run. */
  let runsSince: number | undefined;
  let ran = 0;
  for (let at = 0; at < records.length; at += abi.EXPLAIN_BYTES) {
    const time = Number(view.getBigUint64(at, true));
    const length = Number(view.getBigUint64(at + 8, true));
    const [a, b, c] = [20, 24, 28].map((field) => view.getUint32(at + field, true));
    switch (kindAt(view, at)) {
      case abi.EXPLAIN_ENTERED:
        entered = { class: classes[a], arrival_ns: time };
        break;
      case abi.EXPLAIN_LEFT:
        left_ns = time;
        break;
      case abi.EXPLAIN_INTERVAL: {
        const state = STATES[a];
        if (state === 'control' && runsSince !== undefined) ran += time + length - runsSince;
        const waits = WAITS.has(state) || state === 'worker_queue' || state === 'control';
        intervals.push({
          state,
          from_ns: time - entered!.arrival_ns,
          length_ns: length,
          ...(b === abi.NONE ? {} : { cpu: b, class: c === abi.CLASS_EXT ? 'ext' : 'fair' }),
          ...(state === 'control' ? { control_ran_ns: ran } : {}),
          queues: waits ? queues : [],
          behind: waits ? behind : {},
        });
        queues = [];
        behind = {};
        runsSince = undefined;
        ran = 0;
        break;
      }
      case abi.EXPLAIN_CONTROL_RUNS:
        if (runsSince !== undefined) ran += time - runsSince;
        runsSince = a === 1 ? time : undefined;
        break;
      case abi.EXPLAIN_SHIFT:
        shift(intervals, STATES[a], STATES[b], length);
        break;
      case abi.EXPLAIN_QUEUED:
        queues.push(a !== abi.NONE ? `local DSQ of CPU ${a}` : b === 0 ? 'global DSQ' : `DSQ ${b - 1}`);
        break;
      default:
        behind[classes[a]] = (behind[classes[a]] ?? 0) + 1;
    }
  }
  if (entered === undefined) return undefined;
  return {
    number,
    ...entered,
    latency_ns: (left_ns ?? end_ns) - entered.arrival_ns,
    finished: left_ns !== undefined,
    intervals,
  };
}
