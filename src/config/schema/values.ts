// Building blocks of the config schema: values with units, fractions, distributions, and objects that know
// the near name of a mistyped key.

import * as z from 'zod';
import { nearestName, VtimeError } from '../../errors.js';
import * as units from '../units.js';

/** Of a text that a message quotes: a wrong file can be one long text. */
const SHOWN_CHARACTERS = 60;

/** How the value of an issue reads in a message. */
export function show(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object' && value !== null) return 'a mapping';
  if (typeof value === 'string' && value.length > SHOWN_CHARACTERS) {
    return `${JSON.stringify(value.slice(0, SHOWN_CHARACTERS))}…`;
  }
  // JSON has no infinity, which a number like 1e400 reads as.
  return typeof value === 'number' ? String(value) : JSON.stringify(value);
}

/** Messages of several unknown keys travel in one issue, one line per key, in the order of its `keys`. */
export function unknownKeyMessage(
  keys: readonly string[],
  known: readonly string[],
  elsewhere: Readonly<Record<string, string>> = {},
): string {
  return keys
    .map((key) => {
      const near = nearestName(key, known);
      const hint = near === undefined ? `known keys are ${known.join(', ')}` : `did you mean "${near}"?`;
      return `unknown key "${key}"; ${elsewhere[key] ?? hint}`;
    })
    .join('\n');
}

/** An object that refuses unknown keys and says which one was probably meant, or where it is: `elsewhere` by key. */
export function section<Shape extends z.core.$ZodLooseShape>(
  shape: Shape,
  elsewhere: Readonly<Record<string, string>> = {},
) {
  return z.strictObject(shape, {
    error: (issue) => {
      if (issue.code === 'unrecognized_keys') {
        return unknownKeyMessage(issue.keys, Object.keys(shape), elsewhere);
      }
      if (issue.code === 'invalid_type') return `expected a mapping, got ${show(issue.input)}`;
      return undefined;
    },
  });
}

/** A string rewritten by `canonical`, whose errors become issues at the value's place. */
function text(what: string, example: string, pattern: RegExp, canonical: (text: string) => string) {
  return z
    .string({
      error: (issue) => {
        if (issue.input === undefined) return `missing; expected ${what} like ${example}`;
        if (typeof issue.input === 'number') {
          return `${issue.input} has no unit; write ${what} like ${example}`;
        }
        return `expected ${what} like ${example}, got ${show(issue.input)}`;
      },
    })
    .meta({ pattern: pattern.source })
    .transform((value, context) => {
      try {
        return canonical(value);
      } catch (error) {
        if (!(error instanceof VtimeError)) throw error;
        context.addIssue({ code: 'custom', message: error.message, input: value });
        return z.NEVER;
      }
    });
}

export const duration = text(
  'a time',
  units.DURATION_EXAMPLE,
  units.DURATION_PATTERN,
  units.canonicalDuration,
);
export const positiveDuration = text('a time', units.DURATION_EXAMPLE, units.DURATION_PATTERN, (value) => {
  const canonical = units.canonicalDuration(value);
  if (canonical === '0s') throw new VtimeError('config_value', `"${value}" must be longer than zero`);
  return canonical;
});
/** A time, or one of a few words. */
export function durationOr<const Words extends readonly [string, ...string[]]>(...words: Words) {
  const choices = words.map((word) => `"${word}"`).join(' or ');
  return z.union([z.enum(words), positiveDuration], {
    error: (issue) =>
      typeof issue.input === 'number'
        ? `${issue.input} has no unit; write a time like ${units.DURATION_EXAMPLE}`
        : `expected a time like ${units.DURATION_EXAMPLE}, or ${choices}, got ${show(issue.input)}`,
  });
}
/** Until when nothing is measured: a time, or the name of the rule that finds it. */
export const warmup = z
  .union([z.literal('mser-5'), duration], {
    error: (issue) =>
      typeof issue.input === 'number'
        ? `${issue.input} has no unit; write a time like ${units.DURATION_EXAMPLE}`
        : `expected a time like ${units.DURATION_EXAMPLE}, or "mser-5", got ${show(issue.input)}`,
  })
  .prefault('0s');
export const rate = text('a rate', units.RATE_EXAMPLE, units.RATE_PATTERN, units.canonicalRate);
export const hertz = text('a frequency', '"250Hz"', units.HERTZ_PATTERN, (value) => {
  const hz = units.hertz(value);
  if (hz < 1 || hz > 1_000_000)
    throw new VtimeError('config_value', `"${value}" is not within 1 Hz and 1 MHz`);
  return `${hz}Hz`;
});
export const power = text('a power', '"95W"', units.WATT_PATTERN, (value) =>
  units.formatWatts(units.milliwatts(value)),
);
export const memory = text('a size of memory', '"4GB"', units.MEMORY_PATTERN, (value) => {
  const mb = units.megabytes(value);
  if (mb < 1) throw new VtimeError('config_value', `"${value}" must be at least 1 MB`);
  return `${mb}MB`;
});
export const cpuList = text('a list of CPUs', '"0-3,8"', units.CPU_LIST_PATTERN, (value) =>
  units.formatCpuList(units.parseCpuList(value)),
);

/** A whole number within bounds. */
export function count(minimum: number, maximum = Number.MAX_SAFE_INTEGER) {
  const bounds = `from ${minimum} to ${maximum}`;
  const error = ({ input }: { input?: unknown }) => {
    const isLarge = typeof input === 'number' && input > maximum;
    const expected = maximum >= 0xffffffff && !isLarge ? `of at least ${minimum}` : bounds;
    return `expected a whole number ${expected}, got ${show(input)}`;
  };
  return z.int({ error }).min(minimum, { error }).max(maximum, { error });
}

/** A number from 0 to 1. */
export const fraction = z
  .number({
    error: (issue) => {
      if (issue.input === undefined) return 'missing; expected a fraction from 0 to 1';
      return messageOf(() => units.parseFraction(issue.input)) ?? 'expected a fraction from 0 to 1';
    },
  })
  .min(0, { error: (issue) => messageOf(() => units.parseFraction(issue.input)) })
  .max(1, { error: (issue) => messageOf(() => units.parseFraction(issue.input)) });

function messageOf(action: () => unknown): string | undefined {
  try {
    action();
    return undefined;
  } catch (error) {
    if (error instanceof VtimeError) return error.message;
    throw error;
  }
}

/** A positive factor; `meaning` tells what 1 stands for, so that a percentage is recognised as one. */
export function factor(meaning: string, largest: number) {
  const error = (issue: { input?: unknown }) => {
    const { input } = issue;
    if (typeof input === 'string' && /%\s*$/.test(input)) {
      return `"${input}" is a percentage; expected ${meaning}: write ${Number.parseFloat(input) / 100}`;
    }
    if (typeof input === 'number' && input > largest) {
      return `${input} is above ${largest}; expected ${meaning} (${input} % is ${input / 100})`;
    }
    return `expected ${meaning}, a number above 0, got ${show(input)}`;
  };
  return z.number({ error }).positive({ error }).max(largest, { error });
}

/** A word out of a list; the near one is suggested. */
export function oneOf<const Words extends readonly [string, ...string[]]>(...words: Words) {
  return z.enum(words, {
    error: (issue) => {
      if (issue.input === undefined) return `missing; expected one of ${words.join(', ')}`;
      const near = typeof issue.input === 'string' ? nearestName(issue.input, words) : undefined;
      const hint = near === undefined ? '' : `; did you mean "${near}"?`;
      return `expected one of ${words.join(', ')}, got ${show(issue.input)}${hint}`;
    },
  });
}

/** Names of tasks, programs, queues, events, sources: a letter, then letters, digits, "_", "-", ".". */
export const name = z
  .string({ error: (issue) => `expected a name, got ${show(issue.input)}` })
  .regex(/^[A-Za-z][A-Za-z0-9_.-]*$/, {
    error: (issue) => `${show(issue.input)} is not a name: a letter, then letters, digits, "_", "-" or "."`,
  });

export const filePath = z
  .string({ error: (issue) => `expected a file path, got ${show(issue.input)}` })
  .min(1, { error: 'expected a file path, got ""' });

export function flag() {
  return z.boolean({ error: (issue) => `expected true or false, got ${show(issue.input)}` });
}

const positiveNumber = z
  .number({ error: (issue) => `expected a number above 0, got ${show(issue.input)}` })
  .positive({ error: (issue) => `expected a number above 0, got ${show(issue.input)}` });

const empirical = section({
  points: z
    .array(z.tuple([fraction, duration]))
    .min(2, { error: 'expected at least two points' })
    .describe(
      '[cumulative probability, time], both ascending; the first time is the minimum, the last probability 1.',
    ),
  step: flag()
    .default(false)
    .describe(
      'false: the inverse distribution function is linear between the points; true: a step function.',
    ),
}).superRefine((value, context) => {
  const { points } = value;
  const fail = (index: number, message: string) =>
    context.addIssue({ code: 'custom', message, path: ['points', index] });
  for (let i = 1; i < points.length; i++) {
    if (points[i][0] < points[i - 1][0]) fail(i, 'cumulative probabilities must ascend');
    if (units.durationNs(points[i][1]) < units.durationNs(points[i - 1][1])) fail(i, 'times must ascend');
  }
  if (points[points.length - 1][0] !== 1)
    fail(points.length - 1, 'the last cumulative probability must be 1');
});

const uniform = z
  .tuple([duration, duration], { error: 'expected two times, like ["1ms", "2ms"]' })
  .superRefine(([low, high], context) => {
    if (units.durationNs(low) > units.durationNs(high)) {
      context.addIssue({ code: 'custom', message: 'the first time must not be above the second' });
    }
  });

const DISTRIBUTION_EXAMPLE = '"3ms" or a distribution like {exponential: "1s"}';

/** A fixed time ("3ms") or a distribution of times, drawn anew at each use. `constant` resolves into the plain string. */
export const time = z.union(
  [
    duration,
    section({ constant: duration }).transform((value) => value.constant),
    section({ uniform }),
    section({ exponential: positiveDuration }),
    section({ lognormal: section({ median: positiveDuration, sigma: positiveNumber }) }),
    section({
      hyperexponential: section({ p: fraction, means: z.tuple([positiveDuration, positiveDuration]) }),
    }),
    section({ pareto: section({ minimum: positiveDuration, shape: positiveNumber }) }),
    section({ empirical }),
  ],
  {
    error: (issue) =>
      issue.input === undefined
        ? `missing; expected a time like ${DISTRIBUTION_EXAMPLE}`
        : typeof issue.input === 'number'
          ? `${issue.input} has no unit; write a time like ${DISTRIBUTION_EXAMPLE}`
          : `expected a time like ${DISTRIBUTION_EXAMPLE}`,
  },
);
export type Time = z.output<typeof time>;
