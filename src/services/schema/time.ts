// How long a stage takes for what it took from its queue.

import * as z from 'zod';
import {
  count,
  duration,
  fraction,
  oneOf,
  positiveDuration,
  rate,
  section,
  show,
  time,
} from '../../config/schema/values.js';
import { label, megahertz } from './values.js';

const counted = oneOf('jobs', 'connections', 'bytes').describe('What is counted of the batch.');
const draw = oneOf('exponential', 'constant')
  .default('exponential')
  .describe('The time is drawn with the mean given, or is the mean.');

const linear = section({
  of: counted,
  base: duration,
  each: duration,
  round: positiveDuration
    .optional()
    .describe('The mean is rounded to a multiple of this, halves up; default: no rounding.'),
  draw,
}).describe('Mean = base + each × count.');

const table = section({
  of: counted,
  points: z
    .array(z.tuple([count(1), positiveDuration]), { error: 'expected points like [35, "800ns"]' })
    .min(1, { error: 'expected at least one point' })
    .describe('[count, mean], ascending; the first point that is not below the count decides.'),
  beyond: oneOf('repeat', 'last')
    .default('last')
    .describe(
      'Above the last point: as many draws of the last mean as it goes into the count; or its mean once.',
    ),
  draw,
}).superRefine(({ points }, context) => {
  for (let i = 1; i < points.length; i++) {
    if (points[i][0] <= points[i - 1][0]) {
      context.addIssue({ code: 'custom', message: 'counts must ascend', path: ['points', i, 0] });
    }
  }
});

const percentiles = z
  .array(
    z.union([duration, z.tuple([count(1, 1000), duration])], {
      error: (issue) => `expected a time or a pair like [3, "22us"], got ${show(issue.input)}`,
    }),
    { error: 'expected a list of times' },
  )
  .min(1, { error: 'expected at least one time' })
  .superRefine((times, context) => {
    const total = times.reduce((sum, item) => sum + (typeof item === 'string' ? 1 : item[0]), 0);
    if (total > 1000)
      context.addIssue({ code: 'custom', message: `expected at most 1000 times, got ${total}` });
  });

/** A time model without profiles. */
export const plainTime = z.union(
  [
    time,
    section({ linear }),
    section({ table }),
    section({
      percentiles,
      scale: z
        .number({ error: (issue) => `expected a factor above 0, got ${show(issue.input)}` })
        .positive({ error: (issue) => `expected a factor above 0, got ${show(issue.input)}` })
        .default(1)
        .describe('Every time is multiplied by this, and cut to whole nanoseconds.'),
    }).describe('Equally likely times; [3, "22us"] is three of them.'),
  ],
  {
    error: (issue) =>
      issue.input === undefined
        ? 'missing; expected a time like "3us" or {exponential: "3us"}'
        : typeof issue.input === 'number'
          ? `${issue.input} has no unit; write a time like "3us" or {exponential: "3us"}`
          : 'expected a time like "3us", a distribution like {exponential: "3us"}, {linear: …}, {table: …} or {percentiles: …}',
  },
);
export type PlainTime = z.output<typeof plainTime>;
export type PlainTimeInput = z.input<typeof plainTime>;

/** What a stage takes: a time model, or a profile by name. */
export const stageTime = z.union([section({ profile: label }), plainTime], {
  error: (issue) =>
    issue.input === undefined
      ? 'missing; expected a time like "3us", a distribution like {exponential: "3us"} or {profile: NAME}'
      : typeof issue.input === 'number'
        ? `${issue.input} has no unit; write a time like "3us" or {exponential: "3us"}`
        : 'expected a time like "3us", {exponential: "3us"}, {linear: …}, {table: …}, {percentiles: …} or {profile: NAME}',
});
export type StageTime = z.output<typeof stageTime>;

/** Times measured at several settings; the nearest one is used, by frequency, then threads, then load. */
export const profile = z
  .array(
    section({
      frequency: megahertz.optional(),
      threads: count(1, 100_000).optional(),
      load: rate.optional().describe("The client's rate at the time."),
      time: plainTime,
    }),
    { error: (issue) => `expected a list of measurements, got ${show(issue.input)}` },
  )
  .min(1, { error: 'expected at least one measurement' });
export type Profile = z.output<typeof profile>;

/** Share of a stage's time that is inversely proportional to the frequency; the rest does not depend on it. */
export const frequencyShare = z.union(
  [
    fraction,
    section({
      first: fraction,
      again: fraction.describe('For a request that has already been through a stage with such a pair.'),
    }),
  ],
  { error: (issue) => `expected a fraction from 0 to 1 or {first: …, again: …}, got ${show(issue.input)}` },
);
