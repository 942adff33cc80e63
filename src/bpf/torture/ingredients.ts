// What random workloads are made of. A few of them together still leave everybody a share: hogs are few per CPU, what sleeps
// wakes up a bounded number of times, realtime and fair tasks leave most of each CPU to others.

import type { ConfigInput, StepInput } from '../../config/schema.js';
import type { Draws } from '../../draws.js';

export type TaskInput = NonNullable<ConfigInput['workload']['tasks']>[number];

/** Most tasks of one kind, and most times a second that they wake up, so that a round stays short on the largest machine. */
const MOST_TASKS = 600;
const MOST_WAKEUPS = 50_000;

/** A workload in the making. */
export interface Parts {
  draws: Draws;
  cpus: number;
  tasks: TaskInput[];
  barriers: { name: string; parties: number }[];
  events: NonNullable<NonNullable<ConfigInput['run']>['events']>;
  horizon_ms: number;
}

const forever = (...steps: StepInput[]): StepInput[] => [{ loop: { times: 'forever', do: steps } }];
export const ms = (value: number): string => `${value}ms`;
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

/** Its name, how often it is chosen, and what it puts into a workload. */
export type Ingredient = [name: string, weight: number, put: (parts: Parts) => void];

export const INGREDIENTS: readonly Ingredient[] = [
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
