// Times of stages: one timing per stage of an instance and frequency step, in the records of SECTION_SV_TIMINGS.

import { q32 } from '../config/units.js';
import { type ResolvedStage, type StageDraw, timeAt } from '../services/resolved.js';
import * as abi from './abi.js';
import type { Model } from './model.js';

const COUNTED = {
  jobs: abi.COUNT_JOBS,
  connections: abi.COUNT_CONNECTIONS,
  bytes: abi.COUNT_BYTES,
} as const;

/** How an instance runs: what its stages' times depend on. */
export interface StageSetting {
  reference_mhz: number;
  threads: number;
  load_per_s?: number;
  /** Reproduces defect B3 of the µqSim release: factors of socket reads and of passes are cut to whole numbers. */
  cast_factors: boolean;
}

/** Share of a time that is left at a frequency: 1 − s + s × reference / f. */
function factor(share: number, reference_mhz: number, mhz: number, cast: boolean): number {
  const value = 1 - share + (share * reference_mhz) / mhz;
  return cast ? Math.floor(value + 1e-9) : value;
}

/** Appends the timings of a stage, one per frequency in ascending order; returns the index of the first. */
export function addTimings(
  model: Model,
  stage: ResolvedStage,
  frequencies_mhz: readonly number[],
  setting: StageSetting,
): number {
  const timings = model.section(abi.SECTION_SV_TIMINGS);
  const first = timings.count;
  for (const mhz of frequencies_mhz) {
    const at = timeAt(stage.times, {
      frequency_mhz: mhz,
      threads: setting.threads,
      load_per_s: setting.load_per_s,
    });
    const row = timings.add();
    writeDraw(model, row, at.time);
    const cast = setting.cast_factors && (stage.marks_request || at.time.kind === 'table');
    const reference_mhz = at.frequency_mhz ?? setting.reference_mhz;
    const ofShare = (share: number) =>
      at.frequency_mhz === mhz ? 1n << 32n : q32(factor(share, reference_mhz, mhz, cast));
    timings.u64(row, abi.SVT_FIRST, ofShare(stage.frequency_share));
    timings.u64(row, abi.SVT_AGAIN, ofShare(stage.frequency_share_again));
  }
  return first;
}

function writeDraw(model: Model, row: number, time: StageDraw): void {
  const timings = model.section(abi.SECTION_SV_TIMINGS);
  if (time.kind === 'draw') {
    timings.u32(row, abi.SVT_KIND, abi.TIMING_DISTRIBUTION);
    timings.u32(row, abi.SVT_DISTRIBUTION, model.distribution(time.time));
    return;
  }
  timings.u32(row, abi.SVT_OF, COUNTED[time.of]);
  const constant = time.draw === 'constant' ? abi.TIMING_CONSTANT : 0;
  if (time.kind === 'linear') {
    timings.u32(row, abi.SVT_KIND, abi.TIMING_LINEAR);
    timings.u32(row, abi.SVT_FLAGS, constant);
    timings.u64(row, abi.SVT_BASE, time.base_ns);
    timings.u64(row, abi.SVT_EACH, time.each_ns);
    timings.u64(row, abi.SVT_ROUND, time.round_ns);
    return;
  }
  timings.u32(row, abi.SVT_KIND, abi.TIMING_TABLE);
  timings.u32(row, abi.SVT_FLAGS, constant | (time.beyond === 'repeat' ? abi.TIMING_REPEAT : 0));
  const points = model.section(abi.SECTION_SV_POINTS);
  timings.u32(row, abi.SVT_POINTS, points.count);
  timings.u32(row, abi.SVT_POINT_COUNT, time.points.length);
  for (const [upTo, mean_ns] of time.points) {
    const point = points.add();
    points.u64(point, 0, upTo);
    points.u64(point, 8, mean_ns);
  }
}
