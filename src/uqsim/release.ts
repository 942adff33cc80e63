// What the µqSim release itself gives at the loads of reference.json: below saturation what many of its runs have in common
// (repeated.json), since one can be 10 % off; beyond, the one run that there is.

import * as z from 'zod';
import { type ReferencePoint, readReference } from '../services/report/reference.js';
import { REFERENCE, REPEATED } from './data.js';

const number = z.number();
const repetition = z.object({
  runs: number,
  /** Requests of all runs. */
  jobs: number,
  /** Standard errors: relative, of utilisations absolute and that of the least certain tier. */
  error: z.object({
    mean_ms: number,
    p50_ms: number,
    p90_ms: number,
    p95_ms: number,
    p99_ms: number,
    util: number,
  }),
});

export type RepeatedPoint = ReferencePoint & z.output<typeof repetition>;
export type ReleasePoint = ReferencePoint | RepeatedPoint;

export const isRepeated = (point: ReleasePoint): point is RepeatedPoint => 'error' in point;

/** A series of reference.json, each load as well known as there are runs. */
export function readRelease(key: string): ReleasePoint[] {
  const repeated = readReference(REPEATED, key).map((point) => ({ ...point, ...repetition.parse(point) }));
  return readReference(REFERENCE, key).map((one) => repeated.find(({ kqps }) => kqps === one.kqps) ?? one);
}
