// Where one invocation's time went: the cell runs again with a recorder for that job (assembly/kernel/explain.ts).

import type { ResolvedConfig } from '../config/schema.js';
import { VtimeError } from '../errors.js';
import * as abi from './abi.js';
import { STATES } from './decode.js';
import { encode } from './encode.js';
import { readSections } from './image.js';
import type { CellTraces } from './simulate.js';
import { Simulation } from './simulation.js';

export type StateName = (typeof STATES)[number];

/** A stretch of time in one state. */
export interface ExplainedInterval {
  state: StateName;
  /** Since the arrival. */
  from_ns: number;
  length_ns: number;
  /** Where the task that serves the job runs, or waits. */
  cpu?: number;
  class?: 'fair' | 'ext';
  /** Of time in the control plane: how long a task of it ran for the job; the rest is waiting. */
  control_ran_ns?: number;
  /** Queues it waited in, in order. */
  queues: string[];
  /** Who was served before it from where it waited, by statistics class: how often. */
  behind: Record<string, number>;
}

export interface Explanation {
  /** Number among all arrivals, from 1. */
  number: number;
  class: string;
  arrival_ns: number;
  /** To its response; to the end of the run if it has none. */
  latency_ns: number;
  /** False: still in the system at the end. */
  finished: boolean;
  /** In order of time; the lengths sum to the latency. */
  intervals: ExplainedInterval[];
}

const WAITS = new Set<StateName>(['run_queue', 'local_queue', 'preempted']);

function encodeFor(config: ResolvedConfig, { trace, times }: CellTraces, number: number) {
  const model = encode(config, trace, times);
  const view = new DataView(model.image.buffer, model.image.byteOffset, model.image.length);
  const { offset, stride } = readSections(view, 0).get(abi.SECTION_PARAMS)!;
  view.setBigUint64(offset + abi.P_EXPLAIN_ORDINAL * stride, BigInt(number), true);
  return model;
}

/** Runs a cell until the job has left; VtimeError `invocation` if there are not so many. */
export function explain(config: ResolvedConfig, traces: CellTraces, number: number): Explanation {
  const model = encodeFor(config, traces, number);
  const simulation = new Simulation(model);
  try {
    while (!simulation.done && !hasLeft(simulation.explanation())) {
      simulation.step();
      simulation.drainRows();
    }
  } finally {
    simulation.close();
  }
  // Closes the last stretch of a job that is still in the system.
  if (!hasLeft(simulation.explanation())) simulation.finish();
  const classes = model.classes.map(({ name }) => name);
  const explanation = explanationOf(simulation.explanation(), classes, number, Number(simulation.time_ns));
  if (explanation !== undefined) return explanation;
  throw new VtimeError('invocation', `there is no invocation ${number} to explain`, {
    value: number,
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
