// Tasks that exist from the start, and sources that spawn tasks or send jobs.

import * as z from 'zod';
import { namedProgram, programs } from './program.js';
import { serverless } from './serverless.js';
import {
  count,
  cpuList,
  duration,
  filePath,
  flag,
  name,
  oneOf,
  rate,
  section,
  show,
  time,
} from './values.js';

/** Load weight, 88761 at most (nice −20). Default 1024 (nice 0). */
const weight = count(1, 88761).optional();
/** Nice value from −20 to 19, named as in rt-app; resolves into the kernel's weight for it. */
const priority = count(-20, 19).optional();

function oneWeight(value: { weight?: number; priority?: number }, context: z.RefinementCtx): void {
  if (value.weight === undefined || value.priority === undefined) return;
  context.addIssue({ code: 'custom', message: 'weight and priority exclude each other', path: ['priority'] });
}
const affinity = z
  .union([z.literal('all'), cpuList], {
    error: (issue) => `expected "all" or a list of CPUs like "0-3,8", got ${show(issue.input)}`,
  })
  .default('all');
const schedulingClass = oneOf('ext', 'fair');

const task = section({
  name,
  program: namedProgram,
  count: count(1, 1_000_000).default(1),
  /** When the tasks become runnable; a distribution is drawn for each of them. */
  start: time.prefault('0s'),
  /** Default: ext under a sched_ext policy, fair under EEVDF. */
  class: schedulingClass.optional(),
  weight,
  priority,
  cpus: affinity,
  /** A domain's number; `spread`: task i goes to domain i mod k; `none`. Default: spread where there are domains. */
  domain: z
    .union([count(0, 511), oneOf('spread', 'none')], {
      error: (issue) => `expected a domain's number, "spread" or "none", got ${show(issue.input)}`,
    })
    .optional(),
  /** Not waited for when the run drains. */
  background: flag().default(false),
  /** vtime charged per 1024 ns of CPU time; default 1024 · 1024 / weight. */
  inverse_weight: count(1, 0xffffffff).optional(),
}).superRefine(oneWeight);

const spawn = section({
  program: namedProgram,
  class: schedulingClass.optional(),
  weight,
  priority,
  cpus: affinity,
  /** `random`: uniform, drawn for each job. Default: round-robin where there are domains. */
  domain: z
    .union([count(0, 511), oneOf('round-robin', 'random', 'none')], {
      error: (issue) =>
        `expected a domain's number, "round-robin", "random" or "none", got ${show(issue.input)}`,
    })
    .optional(),
}).superRefine(oneWeight);

const TIMINGS = ['rate', 'interarrival', 'clients', 'times'] as const;

const source = section({
  name,
  /** Poisson arrivals. */
  rate: rate.optional(),
  /** Independent inter-arrival times. */
  interarrival: time.optional(),
  /** Closed loop: each client sends its next job `think` after the last one finished. */
  clients: count(1, 1_000_000).optional(),
  think: time.optional(),
  /** Arrow table of invocations that names each arrival. */
  times: filePath.optional(),
  spawn: spawn.optional(),
  queue: name.optional(),
  /** The job's duration, of which steps like run_share take a fraction. */
  duration: time.optional(),
  /** Most jobs alive at once; others are dropped and counted. */
  limit: count(1, 0xffffffff).optional(),
  max_arrivals: count(1).optional(),
  /** First arrival not before. */
  start: duration.prefault('0s'),
}).superRefine((value, context) => {
  const fail = (message: string, path: string[] = []) =>
    context.addIssue({ code: 'custom', message, path, input: value });
  const given = TIMINGS.filter((key) => value[key] !== undefined);
  if (given.length !== 1) {
    fail(
      `expected exactly one of ${TIMINGS.join(', ')}, got ${given.length === 0 ? 'none' : given.join(' and ')}`,
    );
  }
  if (value.think !== undefined && value.clients === undefined) fail('think needs clients', ['think']);
  if ((value.spawn === undefined) === (value.queue === undefined)) {
    fail(`expected exactly one of spawn, queue, got ${value.spawn === undefined ? 'neither' : 'both'}`);
  }
});

const queue = section({
  name,
  /** Most jobs waiting; others are dropped and counted. Default: no bound. */
  capacity: count(1, 0xffffffff).optional(),
});

export const workload = section({
  programs: programs.default({}),
  queues: z.array(queue).default([]),
  events: z.array(section({ name })).default([]),
  barriers: z.array(section({ name, parties: count(1, 0xffffffff) })).default([]),
  tasks: z.array(task).default([]),
  arrivals: z.array(source).default([]),
  serverless: serverless.optional(),
});
