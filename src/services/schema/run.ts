// How a run goes: mode, duration, measurement, power management, defects to reproduce.

import * as z from 'zod';
import { kernel } from '../../config/schema/machine.js';
import { policy } from '../../config/schema/policy.js';
import {
  count,
  durationOr,
  filePath,
  flag,
  fraction,
  oneOf,
  positiveDuration,
  section,
  show,
  warmup,
} from '../../config/schema/values.js';
import { label, megahertz } from './values.js';

export const mode = oneOf('dedicated', 'scheduled')
  .default('dedicated')
  .describe(
    'dedicated: a thread that finds a core keeps it until it has nothing to do, at no cost; scheduled: threads are tasks of the simulated kernel.',
  );

export const profile = z
  .string({ error: (issue) => `expected the name or path of a profile, got ${show(issue.input)}` })
  .optional()
  .describe(
    'Machine profile of every machine, by its name or path: what cores draw, and in mode `scheduled` what switches, migrations and idle states cost. Default: ideal cores that draw nothing.',
  );

export const scheduled = section(
  {
    policy: policy.prefault('eevdf'),
    kernel: kernel.prefault({}),
    pinned: flag()
      .default(true)
      .describe(
        'Threads stay on the cores of their instance; false: any CPU of the machine, but for a realtime network.',
      ),
    network: oneOf('realtime', 'fair', 'ext')
      .default('realtime')
      .describe("Class of the network stack's tasks; realtime comes before all others, as interrupts do."),
    oversubscription: count(1, 64)
      .default(1)
      .describe(
        'Cores of every instance are divided by this, at least one left; CPUs of every machine where threads are not pinned.',
      ),
  },
  { profile: 'it is a top-level key, for both modes' },
);

export const run = section({
  duration: positiveDuration
    .optional()
    .describe('Last instant of arrivals. Default: the end of the last epoch, or 10s.'),
  end: oneOf('drain', 'horizon')
    .default('drain')
    .describe('drain: until the last reply; horizon: stop there.'),
  limit: durationOr('auto', 'none')
    .default('auto')
    .describe('A draining run ends here at the latest; auto: ten durations.'),
  warmup: warmup.describe(
    'Requests that begin earlier are not measured. mser-5: where the marginal standard error of batches of 5 is least (White, Simulation 69(6), 1997).',
  ),
  replications: count(1, 100_000).default(3).describe('Runs with seeds seed, seed + 1, …'),
});

export const CONTROLLERS = ['algorithm-1', 'static', 'pid', 'race-to-idle'] as const;

export const power = section({
  target: positiveDuration.describe('Bound on the quantile of the end-to-end latency.'),
  quantile: fraction.default(0.99),
  interval: positiveDuration.prefault('100ms').describe('Time between decisions.'),
  controller: oneOf(...CONTROLLERS).default('algorithm-1'),
  failing_list: flag()
    .default(true)
    .describe('algorithm-1: remember tuples that failed, as in the text; false: as released.'),
  frequencies: z
    .array(megahertz)
    .min(1, { error: 'expected at least one frequency' })
    .prefault(['1.2GHz', '1.4GHz', '1.6GHz', '1.8GHz', '2GHz', '2.2GHz', '2.4GHz', '2.6GHz'])
    .describe('Ascending.'),
  cap_step: megahertz
    .optional()
    .describe('Frequencies in steps of this between the least and the highest, as a power cap gives.'),
  services: z.array(label).optional().describe('The tiers under control; default: all services.'),
  buckets: count(1, 1000)
    .default(20)
    .describe('algorithm-1: ranges of the end-to-end latency below the target.'),
  gain: section({
    proportional: z.number().default(0.5),
    integral: z.number().default(0.1),
    derivative: z.number().default(0),
  })
    .prefault({})
    .describe('pid: steps per relative error.'),
});

/** Defects of the reference that only matter where its results are to be reproduced (docs/services.md). */
export const COMPAT = [
  'B1-mongo-rescaling',
  'B2-probability-off-by-one',
  'B3-frequency-casts',
  'B4-critical-section-ignored',
  'B12-ties-reversed',
] as const;

export const compat = z.array(oneOf(...COMPAT)).default([]);

export const reference = section({
  file: filePath.describe('JSON like data/uqsim/reference.json.'),
  key: z.string().describe('Name of the series in it.'),
}).optional();
