// Random workloads that a sched_ext scheduler has to survive. None of them asks for more than a fair share: with any work-conserving
// scheduler that serves its tasks in turn, each runs long before the watchdog looks.

import type { ConfigInput, StepInput } from '../../config/schema.js';
import { Draws } from '../../draws.js';
import { VtimeError } from '../../errors.js';

export type TaskInput = NonNullable<ConfigInput['workload']['tasks']>[number];

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

/** Most tasks of one kind, and most times a second that they wake up, so that a round stays short on the largest machine. */
const MOST_TASKS = 600;
const MOST_WAKEUPS = 50_000;

interface Parts {
  draws: Draws;
  cpus: number;
  tasks: TaskInput[];
  barriers: { name: string; parties: number }[];
  events: NonNullable<NonNullable<ConfigInput['run']>['events']>;
  horizon_ms: number;
}

const forever = (...steps: StepInput[]): StepInput[] => [{ loop: { times: 'forever', do: steps } }];
const ms = (value: number): string => `${value}ms`;
const us = (value: number): string => `${value}us`;

function add({ tasks }: Parts, name: string, fields: Omit<TaskInput, 'name'>): void {
  tasks.push({ name: `${name}${tasks.length}`, ...fields });
}

/** `count`, or as many tasks of a period as wake up often enough together. */
function bounded(count: number, period_us: number): number {
  return Math.max(1, Math.min(count, MOST_TASKS, Math.floor((MOST_WAKEUPS * period_us) / 1e6)));
}

/** A random set of CPUs, not empty. */
function someCpus({ draws, cpus }: Parts): string {
  const first = draws.whole(0, cpus - 1);
  if (draws.chance(0.4)) return `${first}`;
  const last = draws.whole(first, Math.min(cpus - 1, first + draws.whole(1, 8)));
  return last === first ? `${first}` : `${first}-${last}`;
}

/** A nice value of moderate weight: a scheduler may let weights decide, but not starve anybody. */
function maybeNice({ draws }: Parts): Pick<TaskInput, 'priority'> {
  return draws.chance(0.3) ? { priority: draws.whole(-5, 5) } : {};
}

type Ingredient = [name: string, weight: number, put: (parts: Parts) => void];

const INGREDIENTS: Ingredient[] = [
  [
    'hogs',
    5,
    (parts) => {
      const count = Math.min(MOST_TASKS, Math.max(1, Math.round(parts.cpus * parts.draws.pick([0.5, 1, 2]))));
      add(parts, 'hog', { count, program: forever({ run: ms(100) }), ...maybeNice(parts) });
    },
  ],
  [
    'sleepers',
    5,
    (parts) => {
      const { draws, cpus } = parts;
      const run_us = draws.pick([20, 200, 2000]);
      const sleep_us = draws.pick([50, 500, 5000, 50000]);
      add(parts, 'sleeper', {
        count: bounded(draws.whole(1, 3 * cpus), run_us + sleep_us),
        program: forever({ run: { exponential: us(run_us) } }, { sleep: { exponential: us(sleep_us) } }),
        ...maybeNice(parts),
      });
    },
  ],
  [
    'pollers',
    2,
    (parts) => {
      const { draws, cpus } = parts;
      const spin_us = draws.pick([50, 500]);
      const sleep_us = draws.pick([10, 100, 1000]);
      add(parts, 'poller', {
        count: bounded(draws.whole(1, cpus), spin_us + sleep_us),
        program: forever({ spin: us(spin_us) }, { sleep: us(sleep_us) }),
      });
    },
  ],
  [
    'pinned tasks',
    5,
    (parts) => {
      const { draws, cpus } = parts;
      for (let i = draws.whole(1, Math.min(cpus, 4)); i > 0; i--) {
        const rests = draws.chance(0.5);
        const steps: StepInput[] = rests
          ? [{ run: ms(1) }, { sleep: ms(draws.whole(1, 5)) }]
          : [{ run: ms(50) }];
        add(parts, 'pinned', { count: draws.whole(1, 2), cpus: someCpus(parts), program: forever(...steps) });
      }
    },
  ],
  [
    'affinity flips',
    5,
    (parts) => {
      const { draws } = parts;
      for (let i = draws.whole(1, 3); i > 0; i--) {
        const steps: StepInput[] = [];
        for (let flips = draws.whole(2, 3); flips > 0; flips--) {
          steps.push({ affinity: someCpus(parts) }, { run: us(draws.pick([100, 1000, 10000])) });
          if (draws.chance(0.5)) steps.push({ sleep: us(draws.pick([100, 3000])) });
        }
        add(parts, 'flipper', { count: draws.whole(1, 2), program: forever(...steps) });
      }
    },
  ],
  [
    'tasks moved by others',
    3,
    (parts) => {
      const { draws } = parts;
      const victim = `victim${parts.tasks.length}`;
      add(parts, 'victim', { program: forever({ run: ms(draws.pick([1, 20])) }, { sleep: us(100) }) });
      const to = (): StepInput => ({ affinity: someCpus(parts), task: victim, member: 0 });
      const wait = (): StepInput => ({ sleep: us(draws.pick([300, 4000])) });
      add(parts, 'mover', { program: forever(to(), wait(), to(), wait()) });
    },
  ],
  [
    'fork storms',
    4,
    (parts) => {
      const { draws, cpus } = parts;
      const count = draws.whole(2, Math.min(40, 4 * cpus));
      const child: StepInput[] = [{ run: us(draws.pick([10, 100, 1000])) }];
      if (draws.chance(0.3)) child.push({ sleep: us(200) }, { run: us(50) });
      const storm: StepInput[] = [
        { fork: { count, program: child } },
        { join: 'sleep' },
        { sleep: ms(draws.pick([1, 10, 50])) },
      ];
      add(parts, 'forker', { count: draws.whole(1, 2), program: forever(...storm) });
    },
  ],
  [
    'realtime tasks',
    3,
    (parts) => {
      const { draws } = parts;
      const busy = draws.pick([1, 10, 40]);
      add(parts, 'realtime', {
        count: draws.whole(1, Math.min(8, parts.cpus)),
        class: 'realtime',
        ...(draws.chance(0.5) ? { cpus: someCpus(parts) } : {}),
        program: forever({ run: ms(busy) }, { sleep: ms(busy * 8) }),
      });
    },
  ],
  [
    'fair tasks',
    2,
    (parts) => {
      const { draws } = parts;
      add(parts, 'fair', {
        count: draws.whole(1, Math.min(8, parts.cpus)),
        class: 'fair',
        program: forever({ run: us(draws.pick([100, 2000])) }, { sleep: ms(draws.whole(8, 20)) }),
      });
    },
  ],
  [
    'yielders',
    2,
    (parts) => {
      const { draws } = parts;
      add(parts, 'yielder', {
        count: draws.whole(1, 3),
        program: forever({ run: us(draws.pick([20, 500])) }, 'yield'),
      });
    },
  ],
  [
    'ping-pong',
    3,
    (parts) => {
      const { draws } = parts;
      const name = `rendezvous${parts.barriers.length}`;
      const parties = draws.whole(2, 4);
      parts.barriers.push({ name, parties });
      add(parts, 'player', {
        count: parties,
        program: forever({ run: us(draws.pick([5, 50])) }, { barrier: name }),
      });
    },
  ],
  [
    'short-lived tasks',
    2,
    (parts) => {
      const { draws, horizon_ms } = parts;
      add(parts, 'short', {
        count: draws.whole(5, 60),
        start: { uniform: ['0s', ms(horizon_ms)] },
        program: [{ run: us(draws.pick([50, 500, 5000])) }],
      });
    },
  ],
  [
    'hotplug',
    1,
    (parts) => {
      const { draws, cpus, events, horizon_ms } = parts;
      if (cpus === 1) return;
      const cpu = draws.whole(1, cpus - 1);
      const at = Math.round(horizon_ms * (0.2 + 0.3 * draws.next()));
      events.push({ at: ms(at), offline: cpu }, { at: ms(at + Math.round(horizon_ms / 4)), online: cpu });
    },
  ],
];

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
