// Who ends when, and what it costs: worked out by hand. The reports' numbers are in public trackers.

import type { ConfigInput } from '../config/schema.js';
import { simulate } from '../engine/simulate.js';
import { VtimeError } from '../errors.js';
import { exact, type Row } from './row.js';
import { containerShares } from './scenarios.js';

const FCFS = { name: 'global-fifo', slice: '1000h' } as const;
const NO_WATCHDOG = { watchdog_timeout: '0s' } as const;
/** 1 ns, where times are s. */
const NS = 1.5e-9;

export const byHand = (name: string, run: Row['run']): Row => ({ name, kind: 'exact', run });

/** Ends of `count` jobs that all come at 0, s, ascending. */
async function ends(
  count: number,
  run: string,
  machine: string,
  policy: ConfigInput['policy'],
  hz = '250Hz',
) {
  const { invocations } = await simulate({
    machine,
    kernel: { ...NO_WATCHDOG, hz, slice_expiry: hz === '250Hz' ? 'exact' : 'tick' },
    policy,
    workload: {
      arrivals: [
        {
          name: 'jobs',
          interarrival: '1h',
          start: '0s',
          batch: count,
          max_arrivals: count,
          spawn: { program: [{ run }] },
        },
      ],
    },
    output: { invocations: 'all' },
  });
  // The first batch comes an inter-arrival time after the start; latencies are ends.
  return [...invocations!.getChild('latency_ns')!].map((ns) => Number(ns) / 1e9).sort((a, b) => a - b);
}

const timeShared = byHand('cloudsimplus#27: 4 equal jobs of 10 s, 2 cores, time-shared', async () => {
  const found = await ends(4, '10s', 'ideal-2', 'processor-sharing');
  return found.map((end, i) => exact(`end ${i + 1}, s`, end, 20, NS));
});

const fcfs = byHand('cloudsimplus#96: 4 jobs of 10 s, 2 cores, first come first served', async () => {
  const found = await ends(4, '10s', 'ideal-2', FCFS);
  return found.map((end, i) => exact(`end ${i + 1}, s`, end, i < 2 ? 10 : 20, NS));
});

const thousand = byHand('Cloudslab/cloudsim#14: 1000 jobs of 1 s on one CPU', async () => {
  const found = await ends(1000, '1s', 'ideal-1', FCFS);
  return [exact('first end, s', found[0], 1, NS), exact('last end, s', found[999], 1000, NS)];
});

const resolution = byHand('cloudsimplus#533: the internal resolution changes nothing', async () => {
  const rates = ['100Hz', '250Hz', '1000Hz', '100000Hz'];
  const found = await Promise.all(rates.map((hz) => ends(3, '1234567891ns', 'ideal-4', FCFS, hz)));
  return found.map(([first], i) => exact(`end at ${rates[i]}, s`, first, 1.234567891, 0));
});

const shares = byHand('dslab-faas contention: 2 cores by container shares 1 and 2', async () => {
  const { classes } = await simulate(containerShares);
  return [['A', 3] as const, ['B', 4] as const].flatMap(([cgroup, end]) => {
    const { latency_ms } = classes.find(({ name }) => name === `calls-${cgroup}`)!;
    return [
      exact(`first end of ${cgroup}, s`, latency_ms.min / 1e3, end, NS),
      exact(`last end of ${cgroup}, s`, latency_ms.max / 1e3, end, NS),
    ];
  });
});

// Four others take a turn each between two turns of a hog.
const roundRobin = (
  [
    ['exact', 12],
    ['tick', 16],
  ] as const
).map(([slice_expiry, longest_ms]) =>
  byHand(
    `round robin, 5 hogs, 3 ms, ${slice_expiry === 'exact' ? 'exact expiry' : '250 Hz tick'}`,
    async () => {
      const turn = slice_expiry === 'exact' ? 3 : 4;
      const { classes } = await simulate({
        machine: 'ideal-1',
        kernel: { slice_expiry, hz: '250Hz' },
        policy: { name: 'global-fifo', slice: '3ms' },
        workload: {
          arrivals: [
            {
              name: 'hogs',
              interarrival: '1h',
              start: '0s',
              batch: 5,
              max_arrivals: 5,
              spawn: { program: [{ run: `${2 * turn}ms` }] },
            },
          ],
        },
      });
      // Two turns each: all they wait for after the first is between the two.
      return [exact('longest wait, ms', classes[0].states_ms.preempted, longest_ms)];
    },
  ),
);

/** Energy of one CPU that is busy from `start` for `run`, looked at until `horizon`. */
async function energy(
  machine: { idle_power?: string; busy_power: string },
  start: string,
  run: string,
  horizon: string,
) {
  const { metrics } = await simulate({
    machine: { profile: 'ideal-1', ...machine },
    policy: 'global-fifo',
    kernel: NO_WATCHDOG,
    workload: {
      // An onlooker that never runs keeps the simulation going until the horizon.
      tasks: [{ name: 'onlooker', start: '1h', program: [{ run: '1ns' }] }],
      arrivals: [{ name: 'job', interarrival: '0s', start, max_arrivals: 1, spawn: { program: [{ run }] } }],
    },
    run: { end: 'horizon', horizon },
  });
  return metrics.energy_j;
}

const RELATIVE = 1e-9;
const joules = byHand('opendc#286, batsim#38, simgrid#171: energy', async () => {
  const steps = { idle_power: '100W', busy_power: '300W' };
  const job = { idle_power: '95W', busy_power: '190.738W' };
  const close = (what: string, value: number, expected: number) =>
    exact(`${what}, J`, value, expected, RELATIVE * expected);
  return [
    close('100 W for 10 s', await energy(steps, '10s', '10s', '10s'), 1000),
    close('and 300 W for 10 s', await energy(steps, '10s', '10s', '20s'), 4000),
    close('95 W and 190.738 W, 10 s each', await energy(job, '5s', '10s', '20s'), 2857.38),
    close('200 W for 10 s, then off', await energy({ busy_power: '200W' }, '0s', '10s', '100s'), 2000),
  ];
});

/** What a config is refused for. */
async function refusal(config: unknown): Promise<string> {
  try {
    await simulate(config as ConfigInput);
  } catch (error) {
    if (error instanceof VtimeError) return error.message;
    throw error;
  }
  return 'accepted';
}

const refused = byHand('rt-app#37, rt-app#42, scx#3605: mistakes are refused before the run', async () => {
  const task = (fields: object) => ({
    machine: 'ideal-4',
    workload: { tasks: [{ name: 'task', program: ['yield'], ...fields }] },
  });
  return [
    exact(
      'key priorty',
      await refusal(task({ priorty: 3 })),
      'workload.tasks[0].priorty: unknown key "priorty"; did you mean "priority"?',
    ),
    exact(
      'duration 1000',
      await refusal(task({ start: '1000' })),
      'workload.tasks[0].start: "1000" has no unit; a time needs one, like "3ms", "1.5us", "2h"',
    ),
    exact(
      'four cells of one CPU each and a root cell, on 4 CPUs',
      await refusal({ ...task({}), policy: { name: 'domains', domains: ['0', '1', '2', '3', '0-3'] } }),
      'policy.domains[4]: CPU 0 is already in domain 0',
    ),
  ];
});

export const placement: Row[] = [
  timeShared,
  fcfs,
  thousand,
  resolution,
  shares,
  ...roundRobin,
  joules,
  refused,
];
