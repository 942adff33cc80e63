// Tasks that exist from the start, and sources that spawn tasks or send jobs.

import * as z from 'zod';
import { durationNs } from '../units.js';
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
  positiveDuration,
  rate,
  section,
  show,
  time,
} from './values.js';

const weight = count(1, 88761).optional().describe('Load weight; default 1024, that of nice 0.');
const priority = count(-20, 19)
  .optional()
  .describe("Nice value, named as in rt-app; resolves into the kernel's weight for it.");

function oneWeight(value: { weight?: number; priority?: number }, context: z.RefinementCtx): void {
  if (value.weight === undefined || value.priority === undefined) return;
  context.addIssue({ code: 'custom', message: 'weight and priority exclude each other', path: ['priority'] });
}
const affinity = z
  .union([z.literal('all'), cpuList], {
    error: (issue) => `expected "all" or a list of CPUs like "0-3,8", got ${show(issue.input)}`,
  })
  .default('all')
  .describe('The CPUs that the tasks may use.');
const schedulingClass = oneOf('ext', 'fair', 'realtime');
const realtime = section({
  policy: oneOf('fifo', 'rr')
    .default('fifo')
    .describe('First in first out, or round robin in slices of 100 ms.'),
  priority: count(1, 99).default(50).describe('The higher the sooner.'),
})
  .optional()
  .describe('Attributes of tasks of class realtime.');

function realtimeFits(value: { class?: string; realtime?: unknown }, context: z.RefinementCtx): void {
  if (value.realtime === undefined || value.class === 'realtime') return;
  context.addIssue({ code: 'custom', message: 'needs class: realtime', path: ['realtime'] });
}

/** sched_setattr() brings sched_runtime into these bounds. */
const slice = duration
  .refine((value) => durationNs(value) >= 100_000n && durationNs(value) <= 100_000_000n, {
    error: (issue) => `expected 100us to 100ms, got ${show(issue.input)}`,
  })
  .optional()
  .describe('The slice that fair tasks ask for, from kernel 6.12 on, to the µs; default: base_slice.');

const cgroup = name.optional().describe('The cgroup that the tasks are in; default: the root.');

const shares = count(2, 262_144)
  .default(1024)
  .describe('cpu.shares: CPU time beside the siblings, in which a task of nice 0 counts 1024.');
const period = positiveDuration.prefault('100ms');

const group = section({
  name,
  parent: name.optional().describe('The cgroup above, which comes first in the list; default: the root.'),
  shares,
  quota: positiveDuration.optional().describe('CPU time per period; default: no limit.'),
  period,
  domain: count(0, 511).optional().describe('Scheduling domain of its ext tasks.'),
});

const task = section({
  name,
  program: namedProgram,
  count: count(1, 1_000_000).default(1),
  start: time
    .prefault('0s')
    .describe('When the tasks become runnable; a distribution is drawn for each of them.'),
  class: schedulingClass.optional().describe('Default: ext under a sched_ext policy, fair under EEVDF.'),
  realtime,
  slice,
  weight,
  priority,
  cpus: affinity,
  domain: z
    .union([count(0, 511), oneOf('spread', 'none')], {
      error: (issue) => `expected a domain's number, "spread" or "none", got ${show(issue.input)}`,
    })
    .optional()
    .describe(
      "A domain's number; `spread`: task i goes to domain i mod k; `none`. Default: spread where there are domains.",
    ),
  cgroup,
  background: flag().default(false).describe('Not waited for when the run drains.'),
  inverse_weight: count(1, 0xffffffff)
    .optional()
    .describe('vtime charged per 1024 ns of CPU time; default 1024 · 1024 / weight.'),
})
  .superRefine(oneWeight)
  .superRefine(realtimeFits);

const spawn = section({
  program: namedProgram,
  cgroup,
  class: schedulingClass.optional(),
  realtime,
  slice,
  weight,
  priority,
  cpus: affinity,
  domain: z
    .union([count(0, 511), oneOf('round-robin', 'random', 'none')], {
      error: (issue) =>
        `expected a domain's number, "round-robin", "random" or "none", got ${show(issue.input)}`,
    })
    .optional()
    .describe('`random`: uniform, drawn for each job. Default: round-robin where there are domains.'),
})
  .superRefine(oneWeight)
  .superRefine(realtimeFits);

const TIMINGS = ['rate', 'interarrival', 'clients', 'times'] as const;

const source = section({
  name,
  rate: rate.optional().describe('Poisson arrivals.'),
  interarrival: time.optional().describe('Independent inter-arrival times.'),
  clients: count(1, 1_000_000)
    .optional()
    .describe('Closed loop: each client sends its next job `think` after the last one finished.'),
  think: time.optional(),
  times: filePath.optional().describe('Arrow table of invocations that names each arrival.'),
  spawn: spawn.optional(),
  queue: name.optional(),
  duration: time.optional().describe("The job's duration, of which steps like run_share take a fraction."),
  limit: count(1, 0xffffffff).optional().describe('Most jobs alive at once; others are dropped and counted.'),
  max_arrivals: count(1).optional(),
  batch: count(1, 100_000).optional().describe('Jobs that arrive at once each time; default 1.'),
  start: duration.prefault('0s').describe('First arrival not before.'),
}).superRefine((value, context) => {
  const fail = (message: string, path: string[] = []) =>
    context.addIssue({ code: 'custom', message, path, input: value });
  const given = TIMINGS.filter((key) => value[key] !== undefined);
  if (given.length !== 1) {
    fail(
      `expected exactly one of ${TIMINGS.join(', ')}, got ${given.length === 0 ? 'none' : given.join(' and ')}`,
    );
  }
  if (value.batch !== undefined && value.rate === undefined && value.interarrival === undefined) {
    fail('batch needs rate or interarrival', ['batch']);
  }
  if (value.think !== undefined && value.clients === undefined) fail('think needs clients', ['think']);
  if ((value.spawn === undefined) === (value.queue === undefined)) {
    fail(`expected exactly one of spawn, queue, got ${value.spawn === undefined ? 'neither' : 'both'}`);
  }
});

const queue = section({
  name,
  capacity: count(1, 0xffffffff)
    .optional()
    .describe('Most jobs waiting; others are dropped and counted. Default: no bound.'),
});

export const workload = section({
  programs: programs.default({}),
  queues: z.array(queue).default([]),
  events: z.array(section({ name })).default([]),
  barriers: z.array(section({ name, parties: count(1, 0xffffffff) })).default([]),
  cgroups: z.array(group).default([]),
  tasks: z.array(task).default([]),
  arrivals: z.array(source).default([]),
  serverless: serverless.optional(),
});
