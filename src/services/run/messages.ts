// What the main thread and the workers of a services run tell each other.

import { Histogram } from '../../engine/histogram.js';
import type { Engine } from '../../engine/module.js';
import type { ServicesResult } from '../../engine/services.js';
import type { ResolvedServices } from '../resolved.js';
import type { Cut } from './warmup.js';

export interface RunSetup {
  engine: Engine;
}

export interface RunTask {
  index: number;
  services: ResolvedServices;
}

export type RunMessage =
  | { type: 'progress'; index: number; events: number; done: number }
  | { type: 'result'; index: number; result: ServicesResult; cut?: Cut; wall_ms: number }
  | { type: 'failed'; index: number; code: string; message: string; exit_code: number };

/** Gives histograms their methods back, which they lose between threads. */
export function revive<Value>(value: Value): Value {
  if (Array.isArray(value)) return value.map(revive) as Value;
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value;
  if ('sum' in value && 'indices' in value && 'counts' in value) {
    const { sum, min, max, indices, counts } = value as unknown as Histogram;
    return new Histogram(sum, min, max, indices, counts) as Value;
  }
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, revive(inner)])) as Value;
}
