// Functions from a trace, in containers, behind a worker.

import * as z from 'zod';
import { DURATION_EXAMPLE } from '../units.js';
import {
  count,
  duration,
  durationOr,
  factor,
  filePath,
  flag,
  fraction,
  memory,
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

/** The policies of SCHEDULING.md §4; what each does stands in assembly/workload/. */
export const ASSIGNMENT_POLICIES = [
  'iatchbl',
  'iatchbl-as-coded',
  'domain-zero',
  'round-robin',
  'round-robin-sticky',
  'function-hash',
  'consistent-hash',
  'guardrails',
  'least-running',
  'static',
  'warm-core-maximus',
  'first-fit',
  'random',
  'none',
] as const;

const domainNumber = count(0, 511);

const assignment = section({
  policy: oneOf(...ASSIGNMENT_POLICIES)
    .optional()
    .describe('Which domain serves an invocation. Default: iatchbl where there are domains.'),
  bucket_size: positiveDuration
    .optional()
    .describe("Width of a bucket of inter-arrival times, in the trace's time (default 4s). IATCHBL only."),
  on_full: oneOf('unmapped', 'wait')
    .optional()
    .describe(
      'What becomes of an invocation that finds no domain with free CPUs (default unmapped). iatchbl, first-fit and ' +
        'warm-core-maximus; as coded, IATCHBL waits.',
    ),
  retry: positiveDuration
    .optional()
    .describe(
      'The head of the queue tries again after this time without a release (default 200ms). iatchbl-as-coded only.',
    ),
  rebalance: oneOf('none', 'iat', 'utilisation', 'energy')
    .optional()
    .describe(
      'Every 2 × domains requests, move a function from the domain with the highest arrival rate, CPU time or energy ' +
        'to the one with the lowest (default none). consistent-hash only.',
    ),
  base: z
    .number({ error: (issue) => `expected a number above 1, got ${show(issue.input)}` })
    .gt(1, { error: (issue) => `expected a number above 1, got ${show(issue.input)}` })
    .max(1000, { error: 'expected a number up to 1000' })
    .optional()
    .describe('c: a rank holds expected times from c^rank to c^(rank+1) ms (default 2). guardrails only.'),
  tightness: factor('a factor on c^(rank+1)', 1000)
    .optional()
    .describe(
      'g: how far the work sent to a domain may lead, in units of c^(rank+1) (default 1). guardrails only.',
    ),
  map: z
    .record(z.string(), domainNumber)
    .optional()
    .describe('Beginnings of function ids to domain numbers. static only.'),
  otherwise: z
    .union([domainNumber, z.literal('unmapped')], {
      error: (issue) => `expected a domain's number or "unmapped", got ${show(issue.input)}`,
    })
    .optional()
    .describe('Domain of the functions that are not in the map (default unmapped). static only.'),
});

const worker = section({
  concurrency: z
    .union([count(1, 0xffffffff), z.enum(['cpus', 'unlimited'])], {
      error: (issue) =>
        `expected a whole number of at least 1, "cpus" or "unlimited", got ${show(issue.input)}`,
    })
    .default('cpus')
    .describe("Invocations running at once; `cpus` is the machine's count."),
  overcommit: factor('permits and CPUs of a domain promised for each there is', 1000)
    .default(1)
    .describe("Factor on the permits, and on the CPUs of each domain in the assignment's eyes."),
  queue: oneOf('fcfs', 'shortest-expected', 'earliest-deadline', 'smallest-iat', 'cold-last', 'none')
    .default('fcfs')
    .describe(
      'Who is next: earliest-deadline is arrival + expected time, cold-last puts those without a warm container ' +
        'behind the others; with none, invocations start at once and without a permit.',
    ),
  queue_limit: count(1, 0xffffffff)
    .optional()
    .describe('Most invocations waiting; others are dropped and counted. Default: no bound.'),
  bypass: positiveDuration
    .optional()
    .describe('An invocation that finds a warm container and is expected to take less needs no permit.'),
  threads: count(1, 4096).default(4).describe('Control-plane tasks, in the fair class.'),
  overhead: oneOf('cpu', 'delay')
    .default('cpu')
    .describe('Whether overheads use CPU time of those tasks, or only pass.'),
  // Together 1.2 to 3.8 ms, what iluvatar-faas measured between end-to-end and code time of warm invocations.
  before: time.prefault({ uniform: ['800us', '2400us'] }),
  after: time.prefault({ uniform: ['400us', '1400us'] }),
});

const cgroup = section({
  shares: count(2, 262_144).default(1024).describe('cpu.shares of a container.'),
  quota: z
    .union([z.enum(['none', 'cpus']), positiveDuration], {
      error: (issue) =>
        `expected "none", "cpus" or a time like ${DURATION_EXAMPLE}, got ${show(issue.input)}`,
    })
    .default('none')
    .describe('CPU time per period; `cpus`: as many periods as the function has CPUs.'),
  // iluvatar-faas sets 102.4 ms; the kernel's default is 100 ms.
  period: positiveDuration.prefault('100ms'),
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

const coldStart = section({
  duration: time
    .prefault('0s')
    .describe('How long a container takes to start when an invocation finds none free.'),
  mode: oneOf('delay', 'cpu')
    .default('delay')
    .describe("Whether a start only passes, or is CPU work of the container's worker."),
  failure: fraction
    .default(0)
    .describe('Probability that a start fails; its invocation is dropped and counted.'),
});

const keepAlive = section({
  policy: oneOf('forever', 'none', 'fixed', 'lru', 'histogram')
    .default('forever')
    .describe(
      'Idle containers: kept, removed at once, kept for a time, kept within a bound, or unloaded and started again by ' +
        "the function's own idle times (hybrid histogram).",
    ),
  time: positiveDuration
    .optional()
    .describe('How long (default 10min): fixed, and histogram while it knows too little.'),
  bin: positiveDuration
    .optional()
    .describe('Width of a bin of idle times, of 240 (default 1min). histogram only.'),
  containers: count(1, 65535)
    .optional()
    .describe(
      'Most containers; the least recently used idle one makes room, or the invocation waits for room.',
    ),
  memory: memory
    .optional()
    .describe("Most memory of all containers, by the trace's memory (128 MB where unknown)."),
}).superRefine((value, context) => {
  if (value.policy === 'lru' && value.containers === undefined && value.memory === undefined) {
    context.addIssue({
      code: 'custom',
      message: 'policy "lru" needs containers or memory',
      path: ['policy'],
    });
  }
  if (value.time !== undefined && value.policy !== 'fixed' && value.policy !== 'histogram') {
    context.addIssue({ code: 'custom', message: `policy "${value.policy}" has no time`, path: ['time'] });
  }
  if (value.bin !== undefined && value.policy !== 'histogram') {
    context.addIssue({ code: 'custom', message: `policy "${value.policy}" has no bins`, path: ['bin'] });
  }
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
    .union([z.enum(['auto', 'none']), count(1, 100_000)], {
      error: (issue) => `expected "auto", "none" or a whole number of at least 1, got ${show(issue.input)}`,
    })
    .default('auto')
    .describe(
      'Prewarmed containers per function; auto: as many as the trace needs; none: the first invocation starts one.',
    ),
  assignment: assignment.prefault({}),
  worker: worker.prefault({}),
  cold_start: coldStart.prefault({}),
  keep_alive: keepAlive.prefault({}),
  timeout: positiveDuration
    .optional()
    .describe(
      'Clients give up this long after sending: what waits leaves, what runs is served and not counted as completed.',
    ),
  cgroup: cgroup.prefault({}).describe('The cgroup of each container, under EEVDF.'),
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
