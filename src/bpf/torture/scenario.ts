// Random workloads that a sched_ext scheduler has to survive. None of them asks for more than a fair share: with any work-conserving
// scheduler that serves its tasks in turn, each runs long before the watchdog looks.

import type { ConfigInput } from '../../config/schema.js';
import { Draws } from '../../draws.js';
import { VtimeError } from '../../errors.js';
import { INGREDIENTS, type Ingredient, ms, type Parts } from './ingredients.js';

/** What a workload consists of, without a scheduler. */
export type Workload = Omit<ConfigInput, 'policy'>;

export interface Scenario {
  /** What it is made of, in words: `4 CPUs, hogs, fork storms`. */
  name: string;
  config: Workload;
}

export interface ScenarioOptions {
  /** Longest time that a runnable task may wait, ms. */
  stall_ms: number;
  /** Largest machine. */
  max_cpus: number;
  kernel: '6.12' | '7.3';
  /** Only machines whose CPUs this divides. */
  divisor?: number;
}

/** Machines and how many CPUs they have; small ones are where a mistake shows soonest. */
const MACHINES: [string, number][] = [
  ['ideal-1', 1],
  ['ideal-2', 2],
  ['ideal-2', 2],
  ['ideal-3', 3],
  ['xeon-8160-4', 4],
  ['numa-2x2', 4],
  ['ideal-4', 4],
  ['xeon-8160-8', 8],
  ['numa-4x4', 16],
  ['xeon-8160-16', 16],
  ['xeon-8160-2s', 48],
  ['ideal-128', 128],
  ['numa-16x24', 384],
  ['ideal-512', 512],
];

/** CPUs of the machines by profile. */
export const MACHINE_SIZES: ReadonlyMap<string, number> = new Map(MACHINES);

function pickIngredients(draws: Draws): Ingredient[] {
  const rest = [...INGREDIENTS];
  const chosen: Ingredient[] = [];
  for (let i = draws.whole(1, 4); i > 0; i--) {
    let at = draws.next() * rest.reduce((sum, [, weight]) => sum + weight, 0);
    const index = rest.findIndex(([, weight]) => {
      at -= weight;
      return at <= 0;
    });
    chosen.push(...rest.splice(index, 1));
  }
  return chosen;
}

/** Workload number `round` of a seed. */
export function scenario(seed: number, round: number, options: ScenarioOptions): Scenario {
  const draws = new Draws('torture', seed, round);
  const { max_cpus, divisor = 1 } = options;
  const machines = MACHINES.filter(([, size]) => size <= max_cpus && size % divisor === 0);
  if (machines.length === 0) {
    throw new VtimeError('usage', `no machine has at most ${max_cpus} CPUs and a multiple of ${divisor}`, {
      expected: `a divisor of one of ${[...new Set(MACHINE_SIZES.values())].join(', ')}`,
    });
  }
  const [machine, cpus] = draws.pick(machines);
  // Long enough for a task that begins to wait in the first half to be found.
  const horizon_ms = 2 * options.stall_ms;
  const parts: Parts = { draws, cpus, tasks: [], barriers: [], events: [], horizon_ms };
  const chosen = pickIngredients(draws);
  for (const [, , put] of chosen) put(parts);
  if (parts.tasks.length === 0) {
    chosen.push(INGREDIENTS[0]);
    INGREDIENTS[0][2](parts);
  }
  return {
    name: [`${cpus} CPU${cpus === 1 ? '' : 's'}`, ...chosen.map(([name]) => name)].join(', '),
    config: {
      seed: round,
      machine,
      kernel: { version: options.kernel, watchdog_timeout: ms(options.stall_ms), on_stall: 'end' },
      workload: {
        ...(parts.barriers.length === 0 ? {} : { barriers: parts.barriers }),
        tasks: parts.tasks,
      },
      run: {
        end: 'horizon',
        horizon: ms(horizon_ms),
        ...(parts.events.length === 0 ? {} : { events: parts.events }),
      },
    },
  };
}
