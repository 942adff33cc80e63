// Steady-state estimates from independent replications, held against closed forms.

import * as assert from 'uvu/assert';
import type { ConfigInput } from '../../src/config/schema.js';
import { simulate } from '../../src/engine/simulate.js';
import type { SimulationResult } from '../../src/types.js';

export interface Estimate {
  mean: number;
  /** Standard error of the mean, from the spread of the replications. */
  standard_error: number;
}

/** Estimates over one run per seed from 1 on. */
export async function replicate<Name extends string>(
  config: ConfigInput,
  replications: number,
  measure: (result: SimulationResult) => Record<Name, number>,
): Promise<Record<Name, Estimate>> {
  const samples: Record<Name, number>[] = [];
  for (let seed = 1; seed <= replications; seed++) {
    const result = await simulate({ ...config, seed });
    assert.is(result.outcome, 'completed', `seed ${seed}: ${result.reason?.message}`);
    samples.push(measure(result));
  }
  const estimates = Object.keys(samples[0]).map((name) => {
    const values = samples.map((sample) => sample[name as Name]);
    const mean = values.reduce((a, b) => a + b, 0) / replications;
    const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
    return [name, { mean, standard_error: Math.sqrt(squares / (replications - 1) / replications) }];
  });
  return Object.fromEntries(estimates) as Record<Name, Estimate>;
}

function text(what: string, { mean, standard_error }: Estimate, value: number): string {
  const percent = (x: number) => `${((100 * x) / value).toFixed(3)} %`;
  const deviation = `off by ${percent(mean - value)}, standard error ${percent(standard_error)}`;
  return `${what}: ${mean.toPrecision(7)}, expected ${value} (${deviation})`;
}

/** |mean − value| + 2 standard errors ≤ `bound` (a fraction of the value): 1 % for means, 2 % for quantiles. */
export function assertWithin(what: string, estimate: Estimate, value: number, bound = 0.01): void {
  const { mean, standard_error } = estimate;
  if (process.env.VTIME_SHOW !== undefined) console.error(text(what, estimate, value));
  assert.ok(Math.abs(mean - value) + 2 * standard_error <= bound * value, text(what, estimate, value));
}

/**
 * For rows whose bound takes longer than a test may: the value lies within 3 standard errors of the mean, and these are
 * at most `precision` of the value. Few replications estimate their own spread badly, so `precision` also counts as
 * the smallest standard error.
 */
export function assertConsistent(what: string, estimate: Estimate, value: number, precision: number): void {
  const { mean, standard_error } = estimate;
  if (process.env.VTIME_SHOW !== undefined) console.error(text(what, estimate, value));
  assert.ok(standard_error <= precision * value, `too noisy: ${text(what, estimate, value)}`);
  assert.ok(Math.abs(mean - value) <= 3 * precision * value, text(what, estimate, value));
}
