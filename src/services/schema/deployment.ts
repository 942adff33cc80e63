// Where what runs: machines with their network stacks, services and their instances, what connects them.

import * as z from 'zod';
import {
  count,
  cpuList,
  duration,
  flag,
  oneOf,
  positiveDuration,
  section,
  show,
} from '../../config/schema/values.js';
import { label, megahertz, named } from './values.js';

const cores = cpuList.describe('Cores of the machine that may be used, tried in this order.');

const pinning = z
  .union(
    [
      oneOf('none', 'each'),
      z.array(z.union([z.null(), cpuList]), {
        error: (issue) => `expected a list of cores, got ${show(issue.input)}`,
      }),
    ],
    {
      error: (issue) => `expected none, each or a list of cores like ["0", "1-2"], got ${show(issue.input)}`,
    },
  )
  .default('none')
  .describe('none: all cores; each: the i-th on the i-th core; or the cores of each, null for all.');

const spawn = section({
  up_to: count(1, 100_000).describe('Most threads at once.'),
  takes: duration.prefault('0s').describe('From the decision until the new thread takes its first job.'),
  idle: positiveDuration
    .optional()
    .describe('A spawned thread ends after so long without a job; default: never.'),
}).describe('A thread is made when a job comes and every thread is busy or blocked.');

const execution = {
  threads: count(1, 100_000).optional().describe('Threads with a queue per path and stage each.'),
  queues: count(1, 10_000)
    .optional()
    .describe('No threads: a job from one of so many queues holds a core for all its stages.'),
  cores,
  pinning,
};

function oneExecution(keys: readonly string[]) {
  return (value: Record<string, unknown>, context: z.RefinementCtx): void => {
    const given = keys.filter((key) => value[key] !== undefined);
    if (given.length === 1) return;
    context.addIssue({
      code: 'custom',
      message: `expected exactly one of ${keys.join(', ')}, got ${given.length === 0 ? 'none' : given.join(' and ')}`,
      input: value,
    });
  };
}

const network = section({
  ...execution,
  queue_pairs: count(1, 10_000)
    .optional()
    .describe('As many queues for what comes as for what goes, filled in turn.'),
}).superRefine(oneExecution(['threads', 'queues', 'queue_pairs']));

const POWER_OF_PROFILE = 'powers are those of the machine profile: the top-level key "profile"';

const machine = section(
  {
    cores: count(1, 4096),
    network: z
      .union([oneOf('none'), network], {
        error: (issue) => `expected none or a mapping, got ${show(issue.input)}`,
      })
      .default('none')
      .describe('What executes the network stack; none: it takes no time (kernel bypass).'),
  },
  { idle_power: POWER_OF_PROFILE, busy_power: POWER_OF_PROFILE },
);

export const machines = named('machines', machine);

const placed = {
  ...execution,
  machine: label,
  spawn: spawn.optional(),
  frequency: megahertz.optional().describe("Default: the model's reference frequency."),
  context_switch: duration.prefault('0s').describe('CPU time when a core goes from one thread to another.'),
};

const instance = section({
  ...placed,
  model: label
    .optional()
    .describe("A model with the same paths as the service's, as for a slow machine; default: the service's."),
}).superRefine(oneExecution(['threads', 'queues']));

const balancer = section({
  name: label.optional().describe('Default: the service, and "-balancer".'),
  model: label,
  ...placed,
}).superRefine(oneExecution(['threads', 'queues']));

const service = section({
  model: label,
  instances: named('instances', instance).describe(
    'A request gets one of those that it can reach, at random, and keeps it.',
  ),
  balancer: balancer
    .optional()
    .describe('Every job passes it first; it sends new requests to the instances in turn.'),
});
export type Service = z.output<typeof service>;

export const services = named('services', service);

const link = section({
  between: z.tuple([label, label], { error: 'expected two machines' }),
  latency: duration,
});

export const networkSection = section({
  stack: label
    .optional()
    .describe(
      'Model of the network stack, with the paths send_local, send_remote and receive_remote; needed by machines with a network.',
    ),
  latency: duration.prefault('0s').describe('One way, between two machines.'),
  client_latency: duration.optional().describe('One way, between client and machines; default: latency.'),
  links: z.array(link).default([]).describe('Pairs of machines with a latency of their own.'),
});

const edge = section({
  from: label.describe('A service or an instance; `client` for the connections of the client.'),
  to: label,
  both_ways: flag().default(true),
  pool: count(1, 1_000_000)
    .optional()
    .describe('Connections: most requests at once from one instance to the other; others wait for one.'),
  blocking: flag()
    .default(false)
    .describe('One request at a time on each connection, as in HTTP/1.1 without pipelining.'),
});

export const edges = z
  .union([oneOf('all'), z.array(edge)], {
    error: (issue) => `expected all or a list of edges, got ${show(issue.input)}`,
  })
  .default('all')
  .describe('all: every service reaches every other.');
