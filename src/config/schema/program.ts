// Programs: what a task does, as a list of steps. Times and shares are those of one pass.

import * as z from 'zod';
import { nearestName } from '../../errors.js';
import { count, cpuList, flag, fraction, name, oneOf, section, show, time } from './values.js';

const wait = oneOf('sleep', 'spin');

const BARE_STEPS = ['yield', 'exit', 'finish', 'block'] as const;

const simpleSteps = [
  z.enum(BARE_STEPS),
  section({ run: time }).describe('Use the CPU.'),
  section({ sleep: time, disk: flag().default(false) }).describe(
    'Leave the CPU for a time; `disk` counts it as an uninterruptible wait.',
  ),
  section({ spin: time }).describe('Poll, using the CPU, until the time has passed.'),
  section({ spin_until: name }).describe('Poll, using the CPU, until the event is signalled.'),
  section({ signal: name }).describe('Signal an event.'),
  section({ join: wait }).describe('Wait for all children.'),
  section({ barrier: name, wait: wait.default('sleep') }).describe(
    "Wait for the barrier's parties; `family` are a fork's children.",
  ),
  section({ send: name }).describe('Put the current job into a queue.'),
  section({ wake: name, member: count(0).default(0) }).describe(
    'Wake the `member`-th task of that name, counted from 0.',
  ),
  section({ affinity: cpuList, task: name.optional(), member: count(0).optional() }).describe(
    'Restrict this task, or the `member`-th task of that name, to these CPUs.',
  ),
  // Like run, sleep and spin, for a fraction of the current job's duration.
  section({ run_share: fraction }),
  section({ sleep_share: fraction, disk: flag().default(false) }),
  section({ spin_share: fraction }),
] as const;

type SimpleStepInput = z.input<(typeof simpleSteps)[number]>;
type SimpleStep = z.output<(typeof simpleSteps)[number]>;

// The steps that hold steps; spelled out because a type can't be inferred from itself.
export type StepInput =
  | SimpleStepInput
  | { receive: string; idle?: StepInput[]; set_up?: StepInput[] }
  | { fork: { count: number | 'cpus'; program: string | StepInput[] } }
  | { loop: { times: number | 'forever'; do: StepInput[] } }
  | { branch: { probability: number; then: StepInput[]; else?: StepInput[] } };
export type Step =
  | SimpleStep
  | { receive: string; idle?: Step[]; set_up?: Step[] }
  | { fork: { count: number | 'cpus'; program: string | Step[] } }
  | { loop: { times: number | 'forever'; do: Step[] } }
  | { branch: { probability: number; then: Step[]; else: Step[] } };

function stepMessage(input: unknown): string {
  const near = typeof input === 'string' ? nearestName(input, BARE_STEPS) : undefined;
  const hint = near === undefined ? '' : `; did you mean "${near}"?`;
  return `expected a step like {run: "3ms"} or ${BARE_STEPS.join(', ')}, got ${show(input)}${hint}`;
}

const steps: z.ZodType<Step[], StepInput[]> = z
  .lazy(() => z.array(step, { error: (issue) => `expected a list of steps, got ${show(issue.input)}` }))
  .meta({ id: 'steps' });

/** The name of a program, or its steps in place. */
export const program = z.union([name, steps], {
  error: (issue) => `expected the name of a program or a list of steps, got ${show(issue.input)}`,
});

const step: z.ZodType<Step, StepInput> = z.union(
  [
    ...simpleSteps,
    section({
      receive: name,
      idle: steps
        .optional()
        .describe('Done as long as the queue is empty, instead of waiting for a job (vacations).'),
      set_up: steps.optional().describe('Done before a job that had to be waited for.'),
    }).describe('Take a job from a queue, waiting for one.'),
    section({
      fork: section({
        count: z
          .union([count(1), z.literal('cpus')], {
            error: (issue) => `expected a whole number of at least 1 or "cpus", got ${show(issue.input)}`,
          })
          .describe("Number of children; `cpus` is the machine's count."),
        program,
      }),
    }),
    section({
      loop: section({
        times: z.union([count(1, 0xffffffff), z.literal('forever')], {
          error: (issue) => `expected a whole number of at least 1 or "forever", got ${show(issue.input)}`,
        }),
        do: steps,
      }),
    }),
    section({
      branch: section({
        probability: fraction,
        // biome-ignore lint/suspicious/noThenProperty: the config's word; nobody awaits a branch
        then: steps,
        else: steps.prefault([]),
      }),
    }),
  ],
  { error: (issue) => stepMessage(issue.input) },
);

export const programs = z.record(name, steps);
export const namedProgram = program;
