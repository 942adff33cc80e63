// A model: the stages of a service, and the paths that jobs take through them.

import * as z from 'zod';
import { count, flag, oneOf, section, show } from '../../config/schema/values.js';
import { frequencyShare, stageTime } from './time.js';
import { label, megahertz, named, probability, times } from './values.js';

const first = count(1, 1_000_000);

/** What a thread takes from the queue of a stage at once. */
const take = z.union(
  [
    oneOf('one', 'all', 'connection', 'heads'),
    section({ first }).describe('Up to the first n jobs.'),
    section({ connection: first }).describe("Up to the first n jobs of the first job's connection."),
    section({ heads: first }).describe('Up to the first n jobs of every connection that has any.'),
  ],
  {
    error: (issue) =>
      `expected one of one, all, connection, heads, or a bound like {first: 8}, {connection: 8}, {heads: 8}, got ${show(issue.input)}`,
  },
);

const stage = section({
  time: stageTime.describe('For what was taken together, not for each job of it.'),
  take: take
    .default('one')
    .describe(
      'one: a job; all: the queue; connection: all jobs of the connection of the first one (a socket read); heads: the first job of every connection that has any (epoll).',
    ),
  batches_with: label
    .optional()
    .describe('Another stage of the model; what one of the two takes includes the jobs before the other.'),
  repeat: times.default(1).describe('Draws of the time that are added up, as for a value read in chunks.'),
  blocks_thread: flag()
    .default(false)
    .describe('A thread that ends a `sync` node here waits for the replies, without its core.'),
  critical_section: count(1, 100_000)
    .optional()
    .describe('Most threads of an instance that are in this stage at once.'),
  leaves: oneOf('network', 'direct')
    .default('direct')
    .describe(
      'How a job goes on that leaves the service after this stage: through the network stack, or handed over at once.',
    ),
  frequency_share: frequencyShare.default(0).describe('Share of the time that scales with 1 / frequency.'),
});

const path = section({
  stages: z
    .array(label, { error: (issue) => `expected a list of stages, got ${show(issue.input)}` })
    .min(1, { error: 'expected at least one stage' }),
  probability: probability
    .optional()
    .describe('Of a visit that names no path; all paths of the model have one, or none.'),
  priority: z
    .array(count(0), { error: (issue) => `expected a list of positions, got ${show(issue.input)}` })
    .optional()
    .describe('Positions in `stages`, the first to be served first; default: the last stage first.'),
});

export const model = section({
  stages: named('stages', stage),
  paths: named('paths', path),
  bind_connections: flag()
    .default(true)
    .describe('All jobs of a connection go to the thread that got the first one; false: threads in turn.'),
  reference_frequency: megahertz.prefault('2.6GHz').describe('The frequency that the times are for.'),
});
export type Model = z.output<typeof model>;

export const models = named('models', model);
