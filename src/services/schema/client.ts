// The client: how requests come, how long it waits for them, what it does when they are late.

import * as z from 'zod';
import {
  count,
  duration,
  flag,
  fraction,
  oneOf,
  positiveDuration,
  rate,
  section,
  show,
  time,
} from '../../config/schema/values.js';
import { durationNs } from '../../config/units.js';
import { sizeModel } from './values.js';

const epoch = section({ until: positiveDuration, rate });

const load = z
  .union([rate, z.array(epoch).min(1, { error: 'expected at least one epoch' })], {
    error: (issue) =>
      `expected a rate like "5000/s" or epochs like [{until: "5s", rate: "5000/s"}], got ${show(issue.input)}`,
  })
  .superRefine((value, context) => {
    if (typeof value === 'string') return;
    for (let i = 1; i < value.length; i++) {
      if (durationNs(value[i].until) > durationNs(value[i - 1].until)) continue;
      context.addIssue({ code: 'custom', message: 'ends of epochs must ascend', path: [i, 'until'] });
    }
  });

const retries = section({
  max: count(1, 1000).describe('Most retries of a request.'),
  backoff: duration.prefault('0s').describe('Before the first retry.'),
  factor: z
    .number({ error: (issue) => `expected a number of at least 1, got ${show(issue.input)}` })
    .min(1, { error: (issue) => `expected a number of at least 1, got ${show(issue.input)}` })
    .max(100, { error: (issue) => `expected a number of at most 100, got ${show(issue.input)}` })
    .default(2)
    .describe('Each backoff is so many times the one before.'),
  limit: positiveDuration.optional().describe('Longest backoff.'),
  jitter: fraction.default(0).describe('Share of the backoff that is drawn uniformly.'),
  reconnect: duration
    .prefault('0s')
    .describe('A timed-out request closes its connection; the next one needs so long for a new one.'),
});

export const client = section({
  loop: oneOf('open', 'closed').default('open'),
  load: load.optional().describe('Open loop: rate of requests, or rates over time.'),
  arrivals: oneOf('poisson', 'constant').default('poisson').describe('Open loop: times between requests.'),
  interarrival: time.optional().describe('Open loop: times between requests, in place of a load.'),
  clients: count(1, 10_000_000).optional().describe('Closed loop: each waits for its reply, then thinks.'),
  think: time.optional().describe('Closed loop; default 0s.'),
  connections: count(1, 1_000_000).default(320).describe('A request takes one of them at random.'),
  requests: count(1).optional().describe('Most requests.'),
  value_size: sizeModel.prefault('7B').describe('Bytes of a job, for stages whose time depends on them.'),
  timeout: positiveDuration.optional().describe('The client gives up; the servers go on.'),
  retries: retries.optional(),
  from_intended_start: flag()
    .default(true)
    .describe(
      'Latency counts from when the request was due, not from when its connection or retry let it go (no coordinated omission).',
    ),
}).superRefine((value, context) => {
  const fail = (message: string, path: string[] = []) =>
    context.addIssue({ code: 'custom', message, path, input: value });
  if (value.loop === 'open') {
    if ((value.load === undefined) === (value.interarrival === undefined)) {
      fail(
        `expected exactly one of load, interarrival, got ${value.load === undefined ? 'neither' : 'both'}`,
      );
    }
    for (const key of ['clients', 'think'] as const) {
      if (value[key] !== undefined) fail('only a closed loop has it', [key]);
    }
  } else {
    if (value.clients === undefined) fail('missing; a closed loop needs a number of clients', ['clients']);
    for (const key of ['load', 'interarrival'] as const) {
      if (value[key] !== undefined) fail('a closed loop sets its own load', [key]);
    }
  }
  if (value.retries !== undefined && value.timeout === undefined) fail('retries need a timeout', ['retries']);
});
export type Client = z.output<typeof client>;
