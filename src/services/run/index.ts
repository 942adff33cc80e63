// A run of services, or a sweep over their load.

import type { Services } from '../schema.js';
import { planRuns, type RunOptions, type RunPlan } from './cells.js';
import { type PoolOptions, runAll } from './pool.js';
import { type RunSummary, summariseRuns } from './summary.js';

/** Runs every point and replication, and sums them up. Errors: VtimeError (options, model), EngineError, AbortedError. */
export async function runServices(
  services: Services,
  options: RunOptions,
  pool: PoolOptions = {},
): Promise<{ plan: RunPlan; summary: RunSummary }> {
  const plan = planRuns(services, options);
  const ran = await runAll(
    plan.cells.map((cell) => cell.services),
    pool,
  );
  return { plan, summary: summariseRuns(plan, ran) };
}
