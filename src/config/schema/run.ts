import * as z from 'zod';
import { count, duration, durationOr, flag, oneOf, section, show } from './values.js';

export const run = section({
  /** drain: go on after the last arrival until the system is empty; horizon: stop there. */
  end: oneOf('drain', 'horizon').default('drain'),
  /** Last instant of arrivals. `trace`: the end of the trace's window; `none`: the sources end by themselves. */
  horizon: durationOr('trace', 'none').optional(),
  /** A draining run ends here at the latest. `auto`: ten horizons; `none`. */
  limit: durationOr('auto', 'none').default('auto'),
  /** Jobs that arrive earlier are served but not measured. */
  warmup: duration.prefault('0s'),
});

export const output = section({
  /** Rows of single invocations. */
  invocations: z
    .string({ error: (issue) => `expected "none", "all" or "sample:100", got ${show(issue.input)}` })
    .regex(/^(none|all|sample:[1-9]\d{0,8})$/, {
      error: (issue) => `expected "none", "all" or "sample:100" (every 100th), got ${show(issue.input)}`,
    })
    .default('none'),
  /** A digest over the whole schedule. */
  digest: flag().default(true),
});

const axisValues = z
  .array(z.json(), { error: (issue) => `expected a list of values, got ${show(issue.input)}` })
  .min(1, { error: 'expected at least one value' });

export const sweep = section({
  /** Config paths to values; the grid is their product, the last axis varying fastest. */
  axes: z.record(z.string(), axisValues).default({}),
  /** Sub-grids: paths to one value or a list; each is multiplied by the axes. */
  cases: z.array(z.record(z.string(), z.json())).min(1, { error: 'expected at least one case' }).optional(),
  /** Runs of each cell, with seeds seed, seed + 1, … */
  replications: count(1, 100_000).default(3),
  /** Paths to values of the cells that the others are compared with. */
  baseline: z
    .record(z.string(), z.json())
    .refine((fields) => Object.keys(fields).length > 0, { error: 'expected at least one field' })
    .optional(),
  /** Cells that match one of these are left out. */
  exclude: z.array(z.record(z.string(), z.json())).optional(),
});
export type Sweep = z.output<typeof sweep>;
