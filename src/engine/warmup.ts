// `run.warmup: mser-5`: where the warm-up ends is found by a run of the same cell before. It is the same run, draw for draw, so
// the cut is that of the series that is then measured.

import type { ResolvedConfig } from '../config/schema.js';
import { mser5 } from '../statistics/mser.js';
import * as abi from './abi.js';
import { encode } from './encode.js';
import type { CellTraces } from './simulate.js';
import { Simulation, takeTurn } from './simulation.js';

export interface WarmUp {
  rule: 'mser-5';
  /** Jobs that arrive earlier are not measured. */
  ns: number;
  /** Jobs that this leaves out. */
  jobs: number;
  /** False: the run is too short to tell, and this is the best cut within its first half. */
  settled: boolean;
}

/** Arrivals and latencies of the jobs that left, in order of arrival. */
interface Series {
  arrivals: Float64Array;
  latencies: Float64Array;
}

async function seriesOf(simulation: Simulation, signal: AbortSignal | undefined): Promise<Series> {
  const batches: Uint8Array[] = [];
  for (let slice = 1; !simulation.done; slice++) {
    simulation.step();
    batches.push(compact(simulation.drainRows()));
    await takeTurn(slice, signal);
  }
  // Numbers count all arrivals from 1; what was dropped or is still there leaves a gap.
  const arrived = simulation.counter(abi.R_ARRIVED);
  const arrivals = new Float64Array(arrived).fill(Number.NaN);
  const latencies = new Float64Array(arrived);
  for (const batch of batches) {
    const fields = new Float64Array(batch.buffer);
    for (let i = 0; i < fields.length; i += 3) {
      arrivals[fields[i] - 1] = fields[i + 1];
      latencies[fields[i] - 1] = fields[i + 2];
    }
  }
  const left = (_: number, i: number) => !Number.isNaN(arrivals[i]);
  return { latencies: latencies.filter(left), arrivals: arrivals.filter(left) };
}

/** Number, arrival and latency of each row, f64 each: a quarter of the rows' size. */
function compact(rows: Uint8Array): Uint8Array {
  const count = rows.length / abi.ROW_BYTES;
  const view = new DataView(rows.buffer, rows.byteOffset, rows.length);
  const fields = new Float64Array(3 * count);
  for (let i = 0; i < count; i++) {
    const at = i * abi.ROW_BYTES;
    fields[3 * i] = Number(view.getBigUint64(at + abi.ROW_NUMBER, true));
    fields[3 * i + 1] = Number(view.getBigUint64(at + abi.ROW_ARRIVAL, true));
    fields[3 * i + 2] = Number(view.getBigUint64(at + abi.ROW_LATENCY, true));
  }
  return new Uint8Array(fields.buffer);
}

/** The warm-up of a cell whose `run.warmup` is mser-5: of the latencies of all jobs, of whatever class. */
export async function findWarmUp(
  config: ResolvedConfig,
  { trace, times }: CellTraces,
  signal?: AbortSignal,
): Promise<WarmUp> {
  const all: ResolvedConfig = {
    ...config,
    run: { ...config.run, warmup: '0s' },
    output: { invocations: 'all', decisions: false, digest: false },
  };
  const simulation = new Simulation(encode(all, trace, times));
  try {
    const { arrivals, latencies } = await seriesOf(simulation, signal);
    const truncation = mser5(latencies);
    if (truncation === undefined) return { rule: 'mser-5', ns: 0, jobs: 0, settled: false };
    const { cut, settled } = truncation;
    return { rule: 'mser-5', ns: cut === 0 ? 0 : arrivals[cut], jobs: cut, settled };
  } finally {
    simulation.close();
  }
}
