// Stage times and probabilities in resolved form.

import { durationNs, formatDuration, megahertz, rateToMeanNs } from '../config/units.js';
import { hitRatio } from './cache.js';
import type { StageDraw, StageTimeAt } from './resolved.js';
import type { PlainTime, Profile, StageTime } from './schema/time.js';
import type { Probability } from './schema/values.js';

export const ns = (text: string) => Number(durationNs(text));

/** Requests per second of a canonical rate. */
export function ratePerSecond(text: string): number {
  const match = /^(\d+(?:\.\d+)?)\/(.+)$/.exec(text);
  if (match === null) return 1e9 / Number(rateToMeanNs(text));
  return (Number(match[1]) * 1e9) / Number(durationNs(`1${match[2]}`));
}

function plainDraw(time: PlainTime): StageDraw {
  if (typeof time === 'string') return { kind: 'draw', time };
  if ('linear' in time) {
    const { of, base, each, round, draw } = time.linear;
    return {
      kind: 'linear',
      of,
      base_ns: ns(base),
      each_ns: ns(each),
      round_ns: round === undefined ? 0 : ns(round),
      draw,
    };
  }
  if ('table' in time) {
    const { of, points, beyond, draw } = time.table;
    return { kind: 'table', of, points: points.map(([n, mean]) => [n, ns(mean)] as const), beyond, draw };
  }
  if ('percentiles' in time) {
    // Multiplied as the release multiplies, so that cut nanoseconds agree.
    const values = time.percentiles
      .flatMap((item) => (typeof item === 'string' ? [item] : new Array<string>(item[0]).fill(item[1])))
      .map((text) => Math.trunc(ns(text) * time.scale))
      .sort((a, b) => a - b)
      .map((value) => formatDuration(BigInt(value)));
    if (values.length === 1) return { kind: 'draw', time: values[0] };
    const points = values.map((value, i): [number, string] => [(i + 1) / values.length, value]);
    return { kind: 'draw', time: { empirical: { points, step: true } } };
  }
  return { kind: 'draw', time };
}

export function stageTimes(time: StageTime, profiles: Readonly<Record<string, Profile>>): StageTimeAt[] {
  if (typeof time === 'string' || !('profile' in time)) return [{ time: plainDraw(time) }];
  return profiles[time.profile].map(({ frequency, threads, load, time: measured }) => ({
    ...(frequency === undefined ? {} : { frequency_mhz: megahertz(frequency) }),
    ...(threads === undefined ? {} : { threads }),
    ...(load === undefined ? {} : { load_per_s: ratePerSecond(load) }),
    time: plainDraw(measured),
  }));
}

/** Allowed difference of a sum of probabilities from 1. */
export const SUM_TOLERANCE = 1e-9;

/** A probability that stands by itself; undefined for `rest`. */
function ownProbability(value: Probability): number | undefined {
  if (value === 'rest') return undefined;
  if (typeof value === 'number') return value;
  return 'hit_ratio' in value ? hitRatio(value.hit_ratio) : 1 - hitRatio(value.miss_ratio);
}

/** Numbers for a list of alternatives: `rest` is what the others leave, and none at all means equal shares. */
export function probabilities(values: readonly (Probability | undefined)[]): number[] {
  if (values.every((value) => value === undefined)) return values.map(() => 1 / values.length);
  const own = values.map((value) => (value === undefined ? 0 : ownProbability(value)));
  const sum = own.reduce<number>((total, value) => total + (value ?? 0), 0);
  return own.map((value) => value ?? Math.max(0, 1 - sum));
}
