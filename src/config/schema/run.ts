import * as z from 'zod';
import { count, duration, durationOr, flag, oneOf, section, show, warmup } from './values.js';

const at = duration.describe('When it happens.');
const cpu = count(0, 511);

const event = z.union([section({ at, offline: cpu }), section({ at, online: cpu })], {
  error: (issue) =>
    `expected an event like {at: "1s", offline: 3} or {at: "2s", online: 3}, got ${show(issue.input)}`,
});

export const run = section({
  events: z
    .array(event)
    .default([])
    .describe(
      'CPUs that go offline and come back. A sched_ext policy is ejected then, as one without hotplug callbacks is.',
    ),
  end: oneOf('drain', 'horizon')
    .default('drain')
    .describe('drain: go on after the last arrival until the system is empty; horizon: stop there.'),
  horizon: durationOr('trace', 'none')
    .optional()
    .describe(
      "Last instant of arrivals. `trace`: the end of the trace's window; `none`: the sources end by themselves.",
    ),
  limit: durationOr('auto', 'none')
    .default('auto')
    .describe('A draining run ends here at the latest. `auto`: ten horizons; `none`.'),
  warmup: warmup.describe(
    'Jobs that arrive earlier are served but not measured. `mser-5`: where the marginal standard error of the mean latency, in batches of five jobs, is least; a run before finds it.',
  ),
});

export const output = section({
  invocations: z
    .string({ error: (issue) => `expected "none", "all" or "sample:100", got ${show(issue.input)}` })
    .regex(/^(none|all|sample:[1-9]\d{0,8})$/, {
      error: (issue) => `expected "none", "all" or "sample:100" (every 100th), got ${show(issue.input)}`,
    })
    .default('none')
    .describe('Rows of single invocations.'),
  decisions: flag()
    .default(false)
    .describe(
      'Rows of every decision of the scheduler: wake-ups, and tasks that begin and cease to run. Of single runs; a sweep keeps none.',
    ),
  digest: flag().default(true).describe('A digest over the whole schedule.'),
});

const axisValues = z
  .array(z.json(), { error: (issue) => `expected a list of values, got ${show(issue.input)}` })
  .min(1, { error: 'expected at least one value' });

export const sweep = section({
  axes: z
    .record(z.string(), axisValues)
    .default({})
    .describe('Config paths to values; the grid is their product, the last axis varying fastest.'),
  cases: z
    .array(z.record(z.string(), z.json()))
    .min(1, { error: 'expected at least one case' })
    .optional()
    .describe('Sub-grids: paths to one value or a list; each is multiplied by the axes.'),
  replications: count(1, 100_000).default(3).describe('Runs of each cell, with seeds seed, seed + 1, …'),
  baseline: z
    .record(z.string(), z.json())
    .refine((fields) => Object.keys(fields).length > 0, { error: 'expected at least one field' })
    .optional()
    .describe('Paths to values of the cells that the others are compared with.'),
  exclude: z
    .array(z.record(z.string(), z.json()))
    .optional()
    .describe('Cells that match one of these are left out.'),
});
export type Sweep = z.output<typeof sweep>;
