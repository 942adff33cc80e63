// The config's schema: the one source of types, validation, JSON Schema and defaults.

import * as z from 'zod';
import { kernel, machine } from './schema/machine.js';
import { policy } from './schema/policy.js';
import { output, run, sweep } from './schema/run.js';
import { count, section, show } from './schema/values.js';
import { workload } from './schema/workload.js';

export const configSchema = section({
  name: z
    .string({ error: (issue) => `expected a text, got ${show(issue.input)}` })
    .optional()
    .describe('A label for tables and figures.'),
  seed: z
    .union([count(0), z.literal('random')], {
      error: (issue) => `expected a whole number of at least 0 or "random", got ${show(issue.input)}`,
    })
    .default(1)
    .describe('`random` draws one, which the resolved config states.'),
  machine: machine.prefault('xeon-8160-2s').describe('What the tasks run on.'),
  kernel: kernel.prefault({}).describe('The kernel, or only its version.'),
  policy: policy.prefault('eevdf').describe('The scheduler, or only its name; "domains:8" has 8 domains.'),
  workload: workload.describe('What runs.'),
  run: run.prefault({}).describe('How long the simulation goes on, and what it measures.'),
  output: output.prefault({}).describe('What a run leaves besides its summary.'),
  sweep: sweep.optional().describe('A grid of variations of this config.'),
});

/** What a user may write. */
export type ConfigInput = z.input<typeof configSchema>;
/** Valid and canonical; defaults that depend on other sections are still open. */
export type Config = z.output<typeof configSchema>;

export type { Policy } from './schema/policy.js';
export type { Step, StepInput } from './schema/program.js';
export type { Sweep } from './schema/run.js';
export type { Time } from './schema/values.js';

type Require<T, K extends keyof T> = Omit<T, K> & { [key in K]-?: NonNullable<T[key]> };

export type ResolvedMachine = Require<Config['machine'], 'governor' | 'cpus'> & {
  costs: Required<Config['machine']['costs']>;
};
export type ResolvedKernel = Require<Config['kernel'], 'slice_expiry' | 'base_slice' | 'group_scheduling'>;
type Placed = 'class' | 'domain' | 'weight';
export type ResolvedTask = Omit<Require<Config['workload']['tasks'][number], Placed>, 'priority'>;

type SourceConfig = Config['workload']['arrivals'][number];
export type ResolvedSpawn = Omit<Require<NonNullable<SourceConfig['spawn']>, Placed>, 'priority'>;
/** Exactly one of rate, interarrival, clients (then with think) and times; exactly one of spawn and queue. */
export type ResolvedSource = Omit<SourceConfig, 'spawn'> & { spawn?: ResolvedSpawn };

export type ResolvedAssignment =
  | { policy: 'iatchbl'; bucket_size: string; on_full: 'unmapped' | 'wait' }
  | { policy: 'iatchbl-as-coded'; bucket_size: string; retry: string }
  | { policy: 'first-fit' | 'warm-core-maximus'; on_full: 'unmapped' | 'wait' }
  | { policy: 'consistent-hash'; rebalance: 'none' | 'iat' | 'utilisation' | 'energy' }
  | { policy: 'guardrails'; base: number; tightness: number }
  | { policy: 'static'; map: Record<string, number>; otherwise: number | 'unmapped' }
  | {
      policy:
        | 'domain-zero'
        | 'round-robin'
        | 'round-robin-sticky'
        | 'function-hash'
        | 'least-running'
        | 'random'
        | 'none';
    };
type ServerlessConfig = NonNullable<Config['workload']['serverless']>;
/** An open loop has exactly one of load_scale and offered_load, a closed one neither, but `closed`. */
export type ResolvedServerless = Omit<ServerlessConfig, 'assignment'> & { assignment: ResolvedAssignment };

export type ResolvedWorkload = Omit<Config['workload'], 'tasks' | 'arrivals' | 'serverless'> & {
  tasks: ResolvedTask[];
  arrivals: ResolvedSource[];
  serverless?: ResolvedServerless;
};
/** horizon: a time, `trace` (the window's end) or `none`; limit: a time, `auto` (ten windows; only with a trace) or `none`. */
export type ResolvedRun = Require<Config['run'], 'horizon'>;

/** Complete: what one cell runs. Values with units stay canonical strings, see units.ts. */
export type ResolvedConfig = Omit<Config, 'seed' | 'machine' | 'kernel' | 'workload' | 'run' | 'sweep'> & {
  seed: number;
  machine: ResolvedMachine;
  kernel: ResolvedKernel;
  workload: ResolvedWorkload;
  run: ResolvedRun;
};

/** JSON Schema (draft 2020-12) of what a user may write. */
export function configJsonSchema(): Record<string, unknown> {
  return { title: 'vtime config', ...z.toJSONSchema(configSchema, { io: 'input' }) };
}
