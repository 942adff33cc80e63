// Functions from a trace, in containers, behind a worker.

import * as z from 'zod';
import {
  count,
  duration,
  durationOr,
  factor,
  filePath,
  flag,
  fraction,
  oneOf,
  positiveDuration,
  section,
  show,
  time,
} from './values.js';

const functions = section({
  eligible: flag()
    .default(true)
    .describe('Keep only functions with more than one invocation, a maximum and a 25th percentile above 0.'),
  top: count(1).optional().describe('Keep this many, those that rank first; all without it.'),
  by: oneOf('invocations', 'offered', 'hash')
    .default('invocations')
    .describe('Rank by number of invocations, by offered load, or by a hash of seed and id.'),
  seed: count(0).default(1),
  maximum_mean: positiveDuration.optional().describe('Only functions whose mean duration is at most this.'),
  maximum_share: fraction
    .optional()
    .describe(
      'Leave out the largest functions until none carries more than this fraction of the offered load.',
    ),
  ids: z
    .array(z.string({ error: (issue) => `expected an id, got ${show(issue.input)}` }))
    .min(1, { error: 'expected at least one id' })
    .optional()
    .describe('Only these: ids, or beginnings that fit one function.'),
});

const window = section({
  start: z
    .union([z.literal('first'), duration], {
      error: (issue) =>
        typeof issue.input === 'number'
          ? `${issue.input} has no unit; write a time like "600min"`
          : `expected a time like "600min", or "first", got ${show(issue.input)}`,
    })
    .default('first')
    .describe(
      'Label of the first interval times its length: 600min is column 600 of a day. Default: the first after the history.',
    ),
  length: durationOr('rest').default('rest'),
  history: duration
    .prefault('0s')
    .describe('Time before the start that only warms the inter-arrival statistics.'),
});

const profiles = section({
  mapping: oneOf('none', 'nearest-duration', 'table')
    .default('none')
    .describe("What a function does: one CPU burst, the profile with the nearest duration, or the table's."),
  table: z.record(z.string(), z.string()).optional().describe('Beginnings of function ids to profile names.'),
  file: z
    .union([z.literal('bundled'), filePath])
    .default('bundled')
    .describe('A profile file; default: the bundled one.'),
}).superRefine((value, context) => {
  if ((value.mapping === 'table') !== (value.table !== undefined)) {
    const message =
      value.table === undefined ? 'mapping "table" needs a table' : 'a table needs mapping: table';
    context.addIssue({ code: 'custom', message, path: value.table === undefined ? ['mapping'] : ['table'] });
  }
});

const closed = section({
  clients_per_function: count(1, 1_000_000).default(1),
  invocations: count(1).default(200).describe('Invocations of each function.'),
  think: time.prefault('0s'),
});

const assignment = section({
  policy: oneOf('iatchbl', 'round-robin', 'function-hash', 'none').optional(),
  bucket_size: positiveDuration
    .optional()
    .describe("Width of a bucket of inter-arrival times, in the trace's time (default 4s). IATCHBL only."),
  on_full: oneOf('unmapped', 'wait')
    .optional()
    .describe(
      'What becomes of an invocation that finds no domain with free CPUs (default unmapped). IATCHBL only.',
    ),
});

const worker = section({
  concurrency: z
    .union([count(1, 0xffffffff), z.enum(['cpus', 'unlimited'])], {
      error: (issue) =>
        `expected a whole number of at least 1, "cpus" or "unlimited", got ${show(issue.input)}`,
    })
    .default('cpus')
    .describe("Invocations running at once; `cpus` is the machine's count."),
  queue: oneOf('fcfs').default('fcfs'),
  threads: count(1, 4096).default(4).describe('Control-plane tasks, in the fair class.'),
  overhead: oneOf('cpu', 'delay')
    .default('cpu')
    .describe('Whether overheads use CPU time of those tasks, or only pass.'),
  // Together 1.2 to 3.8 ms, what iluvatar-faas measured between end-to-end and code time of warm invocations.
  before: time.prefault({ uniform: ['800us', '2400us'] }),
  after: time.prefault({ uniform: ['400us', '1400us'] }),
});

const weight = z
  .number({ error: (issue) => `expected a weight of at least 0, got ${show(issue.input)}` })
  .min(0, { error: (issue) => `expected a weight of at least 0, got ${show(issue.input)}` });

const pollers = section({
  share: fraction.default(0.1).describe('Share of the functions whose waits poll.'),
  archetypes: section({
    io: weight.default(1),
    sibling: weight.default(1),
    barrier: weight.default(1),
  })
    .prefault({})
    .refine((value) => value.io + value.sibling + value.barrier > 0, {
      error: 'at least one weight must be above 0',
    })
    .describe(
      'How the pollers divide: waiting for I/O, for a sibling that needs the CPU, in a spin barrier.',
    ),
});

export const serverless = section({
  trace: filePath.describe('Name of a bundled trace, or a path.'),
  functions: functions.prefault({}),
  window: window.prefault({}),
  time_scale: factor('a factor on time', 1e6)
    .default(1)
    .describe("Stretches the trace's time; durations stay."),
  load_scale: factor('a factor on the counts', 1e6).optional().describe('Factor on the counts.'),
  offered_load: factor("a fraction of the machine's CPUs, like 0.8", 20)
    .optional()
    .describe("Mean CPUs the invocations ask for, as a fraction of the machine's; sets load_scale."),
  durations: oneOf('percentiles', 'percentiles-log', 'lognormal', 'average', 'p25').default('percentiles'),
  profiles: profiles.prefault({}),
  loop: oneOf('open', 'closed').default('open'),
  closed: closed.optional(),
  containers: z
    .union([z.literal('auto'), count(1, 100_000)], {
      error: (issue) => `expected "auto" or a whole number of at least 1, got ${show(issue.input)}`,
    })
    .default('auto')
    .describe('Prewarmed containers per function; auto: as many as the trace needs.'),
  assignment: assignment.prefault({}),
  worker: worker.prefault({}),
  pollers: pollers.prefault({}),
  server_master: flag().default(true).describe("Each container's server master wakes about once a second."),
}).superRefine((value, context) => {
  if (value.load_scale !== undefined && value.offered_load !== undefined) {
    context.addIssue({
      code: 'custom',
      message: 'load_scale and offered_load exclude each other',
      path: ['offered_load'],
    });
  }
  if (value.closed !== undefined && value.loop !== 'closed') {
    context.addIssue({ code: 'custom', message: 'closed needs loop: closed', path: ['closed'] });
  }
});
