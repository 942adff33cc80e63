// Building blocks of the services schema beyond those of the config schema.

import * as z from 'zod';
import { count, fraction, oneOf, positiveDuration, section, show } from '../../config/schema/values.js';
import * as units from '../../config/units.js';
import { VtimeError } from '../../errors.js';

/** Names of machines, models, services, instances, stages, paths and nodes. */
export const label = z
  .string({ error: (issue) => `expected a name, got ${show(issue.input)}` })
  .regex(/^[A-Za-z][A-Za-z0-9_.@-]{0,99}$/, {
    error: (issue) =>
      `${show(issue.input)} is not a name: a letter, then letters, digits, "_", "-", "." or "@"`,
  });

/** A mapping from names to `inner`, with at least one entry. */
export function named<Inner extends z.ZodType>(what: string, inner: Inner) {
  return z
    .record(label, inner, {
      error: (issue) =>
        issue.code === 'invalid_type'
          ? `expected a mapping of names to ${what}, got ${show(issue.input)}`
          : undefined,
    })
    .refine((value) => Object.keys(value).length > 0, { error: `expected at least one of ${what}` });
}

export const megahertz = z
  .string({
    error: (issue) =>
      issue.input === undefined
        ? 'missing; expected a frequency like "2.6GHz"'
        : `expected a frequency like "2.6GHz", got ${show(issue.input)}`,
  })
  .meta({ pattern: units.MEGAHERTZ_PATTERN.source })
  .transform((value, context) => {
    try {
      const mhz = units.megahertz(value);
      if (mhz < 1 || mhz > 100_000)
        throw new VtimeError('config_value', `"${value}" is not within 1 MHz and 100 GHz`);
      return `${mhz}MHz`;
    } catch (error) {
      if (!(error instanceof VtimeError)) throw error;
      context.addIssue({ code: 'custom', message: error.message, input: value });
      return z.NEVER;
    }
  });

const BYTES_PER: Record<string, number> = { B: 1, KB: 1024, MB: 1024 ** 2, GB: 1024 ** 3, TB: 1024 ** 4 };
const SIZE = /^\s*(\d+(?:\.\d+)?)\s*(B|KB|MB|GB|TB)\s*$/;

/** Bytes of "7B", "1.5KB" (1 KB = 1024 B); a remainder is an error. */
export function bytesOf(text: string): number {
  const match = SIZE.exec(text);
  if (match === null)
    throw new VtimeError('config_value', `"${text}" is not a size like "7B" or "4KB"`, { value: text });
  const bytes = Number(match[1]) * BYTES_PER[match[2]];
  if (!Number.isSafeInteger(bytes)) {
    throw new VtimeError('config_value', `"${text}" is not a whole number of bytes`, { value: text });
  }
  return bytes;
}

export const size = z
  .string({ error: (issue) => `expected a size like "7B" or "4KB", got ${show(issue.input)}` })
  .meta({ pattern: SIZE.source })
  .transform((value, context) => {
    try {
      const bytes = bytesOf(value);
      if (bytes < 1) throw new VtimeError('config_value', `"${value}" must be at least 1 byte`);
      return `${bytes}B`;
    } catch (error) {
      if (!(error instanceof VtimeError)) throw error;
      context.addIssue({ code: 'custom', message: error.message, input: value });
      return z.NEVER;
    }
  });

/** A fixed size, or an exponential one with its mean. */
export const sizeModel = z.union([size, section({ exponential: size })], {
  error: (issue) => `expected a size like "7B" or {exponential: "1KB"}, got ${show(issue.input)}`,
});

/** How often something is drawn: a fixed number, or one that is exponential, rounded up. */
export const times = z.union([count(1, 1_000_000), section({ exponential: count(1, 1_000_000) })], {
  error: (issue) => `expected a whole number of at least 1 or {exponential: 2}, got ${show(issue.input)}`,
});

const cache = section({
  memory: size.describe('Memory for items.'),
  working_set: size.describe('All items together.'),
  item: size.describe('One item.'),
  zipf: z
    .number({ error: (issue) => `expected a number of at least 0, got ${show(issue.input)}` })
    .min(0, { error: (issue) => `expected a number of at least 0, got ${show(issue.input)}` })
    .max(10, { error: (issue) => `expected a number of at most 10, got ${show(issue.input)}` })
    .default(0.99)
    .describe(
      'Exponent of the popularity: the k-th item is asked for in proportion to 1 / k^zipf; 0 = all alike.',
    ),
});
export type Cache = z.output<typeof cache>;

/**
 * A probability: a number, what the others leave, or the hit (miss) ratio of a least-recently-used cache in the state that its
 * memory and working set imply, by Che's approximation (Che, Tung, Wang, IEEE JSAC 20(7), 2002).
 */
export const probability = z.union(
  [
    fraction,
    oneOf('rest'),
    section({ hit_ratio: cache }).describe('The request finds its item in memory.'),
    section({ miss_ratio: cache }).describe('The request does not find its item in memory.'),
  ],
  {
    error: (issue) =>
      typeof issue.input === 'number'
        ? `${issue.input} is not a probability; expected a number from 0 to 1`
        : `expected a probability from 0 to 1, "rest", {hit_ratio: …} or {miss_ratio: …}, got ${show(issue.input)}`,
  },
);
export type Probability = z.output<typeof probability>;

export { positiveDuration };
