// Measured load–latency curves to show and compare with, in the form of data/uqsim/reference.json.

import { readFileSync } from 'node:fs';
import * as z from 'zod';
import { mistakesOf, pathText } from '../../config/mistakes.js';
import { nearestName, VtimeError } from '../../errors.js';
import type { Quantile } from '../run/summary.js';

const number = z.number({ error: 'expected a number' });
const point = z.looseObject({
  kqps: number,
  mean_ms: number,
  p50_ms: number,
  p90_ms: number,
  p95_ms: number,
  p99_ms: number,
  p999_ms: number,
  events: number.optional(),
  jobs: number.optional(),
  sim_seconds: number.optional(),
  util: z.record(z.string(), number).default({}),
});
export type ReferencePoint = z.output<typeof point>;

const KEYS = {
  0.5: 'p50_ms',
  0.9: 'p90_ms',
  0.95: 'p95_ms',
  0.99: 'p99_ms',
  0.999: 'p999_ms',
} as const satisfies Record<Quantile, keyof ReferencePoint>;

/** A quantile of a reference point, ms. */
export const referenceQuantile = (at: ReferencePoint, q: Quantile): number => at[KEYS[q]];

/** One series of a reference file. */
export function readReference(file: string, key: string): ReferencePoint[] {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new VtimeError('reference_file', `can't read the reference: ${reason}`, { file });
  }
  const names = typeof value === 'object' && value !== null ? Object.keys(value) : [];
  if (!names.includes(key)) {
    const near = nearestName(key, names);
    const expected = near === undefined ? `one of ${names.join(', ')}` : `perhaps "${near}"`;
    throw new VtimeError('reference_key', `the reference has no "${key}"`, { file, value: key, expected });
  }
  const series: unknown = Reflect.get(Object(value), key);
  const parsed = z.array(point, { error: 'expected a list of points' }).safeParse(series);
  if (parsed.success) return parsed.data;
  const [{ path, message }] = mistakesOf(parsed.error, series).list;
  throw new VtimeError('reference_value', message, { file, path: pathText([key, ...path]) });
}
