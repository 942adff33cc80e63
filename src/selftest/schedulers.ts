// Public reports about sched_ext schedulers and the fair class, each as a scenario of ours. All on ideal machines: nothing
// costs time, and slices end exactly unless a tick is named.

import type { StepInput } from '../config/schema.js';
import { simulate } from '../engine/simulate.js';
import { VtimeError } from '../errors.js';
import { byHand } from './placement.js';
import { exact, type Row } from './row.js';
import {
  classOf,
  DAY_TURNS,
  finishedMs,
  localRequeue,
  pinnedToIdle,
  restrictedWhileQueued,
  shortSleeps,
  sleepCredit,
  strictLevels,
  TURN_MS,
  threadsUnderQuota,
  wrongLocal,
} from './scenarios.js';

// CPU 1's local DSQ always holds the other hog, so dispatch() never runs there.
const requeueing = byHand('scx#1185: requeueing into the local DSQ starves a pinned task', async () => {
  const starved = await simulate(localRequeue('local'));
  const served = await simulate(localRequeue('shared'));
  return [
    exact('outcome with the defect', starved.outcome, 'stalled'),
    exact('named task', starved.reason?.task ?? 'none', 'task "pinned" (pid 3)'),
    exact('outcome without', served.outcome, 'horizon'),
    exact('its wait, ms', classOf(served, 'pinned').wake_latency_us.max / 1e3, 39),
  ];
});

const forbiddenLocal = byHand('scx#583: a local DSQ that the mask does not allow', async () => {
  const message = await simulate(wrongLocal).then(
    () => 'accepted',
    (error: unknown) => (error instanceof VtimeError ? error.message : String(error)),
  );
  const named =
    'task "pinned" (pid 3) was inserted into the local DSQ of CPU 2, which its mask does not allow: ' +
    'it may run on CPUs 3';
  return [exact('error', message.includes(named) ? named : message, named)];
});

const affinity = byHand('scx#728: affinity that changes while a task is queued', async () => {
  const result = await simulate(restrictedWhileQueued);
  return [
    exact('its wait, ms', classOf(result, 'queued').wake_latency_us.max / 1e3, 9),
    exact('switches on the forbidden CPU', result.cpus[0].switches, 1),
  ];
});

const pinned = byHand(
  'scx#755, scx#1678: a task pinned to an idle CPU, in another domain’s DSQ',
  async () => {
    const policies = ['domains:2', 'domains-as-coded:2', 'weighted-vtime:2'] as const;
    const results = await Promise.all(policies.map((policy) => simulate(pinnedToIdle(policy))));
    return results.map((result, i) =>
      exact(`wait under ${policies[i]}, µs`, classOf(result, 'pinned').wake_latency_us.max, 0),
    );
  },
);

const levels = byHand('scx#828: a high-priority hog and a low task', async () => {
  const starved = await simulate(strictLevels('0s', '60s'));
  // Decisions every 20 ms: at 1.02 s and then every 1.02 s, nine times in 10 s.
  const served = await simulate(strictLevels('1s', '10s'));
  return [
    exact('outcome when strict', starved.outcome, 'stalled'),
    exact('named task', starved.reason?.task ?? 'none', 'task "low" (pid 2)'),
    exact('CPU time with a limit of 1 s, ms', finishedMs(served, 'low'), 180),
  ];
});

const credit = byHand('scx#261: a day of sleep and its credit', async () => {
  // What the worker did in the last second: all but its day.
  const worker = async (credit: 'slice' | 'unlimited') =>
    Math.round(finishedMs(await simulate(sleepCredit(credit)), 'worker') - DAY_TURNS * TURN_MS);
  // Half of the second, less one slice of credit and one that is under way.
  return [
    exact('CPU time of the other in the next second, ms', await worker('slice'), 500, 40),
    exact('without a clamp', await worker('unlimited'), 0),
  ];
});

const naps = byHand('scx#3563: a task of short sleeps beside a hog', async () => {
  const share = async (preempt: boolean) => finishedMs(await simulate(shortSleeps(preempt)), 'napper') / 200;
  return [
    exact('share when it preempts, %', await share(true), 50, 2),
    // 100 µs for each slice of 20 ms.
    exact('share when it waits, %', await share(false), 100 / 201, 0.05),
  ];
});

// Every CPU busy until 1 s; then domain 5 has 49 tasks waiting and each other domain one. 72 s of work on 48 CPUs that all
// help the busiest: 48 until 2 s, the rest until 3. Without help domain 5 alone would work until 25.5 s.
const busiest = byHand('scx#3444: 24 domains of 2 CPUs, all the load in one', async () => {
  const tasks = Array.from({ length: 24 }, (_, domain) => [
    { name: `running-${domain}`, count: 2, domain, program: [{ run: '1s' }] },
    {
      name: `waiting-${domain}`,
      count: domain === 5 ? 49 : 1,
      domain,
      start: '500ms',
      program: [{ run: '1s' }],
    },
  ]).flat();
  const { metrics } = await simulate({
    machine: 'ideal-48',
    policy: { name: 'weighted-vtime', domains: 24, slice: '10s' },
    workload: { tasks },
  });
  return [
    exact('end, s', metrics.duration_s, 3),
    exact('CPU time idle, s', 48 * 3 * (1 - metrics.utilization), 24, 1e-6),
  ];
});

const explicitMap = byHand('scx#2214: an explicit map with 8 LLCs is 8 domains', async () => {
  const domains = Array.from({ length: 8 }, (_, i) => `${2 * i}-${2 * i + 1}`);
  const { cpus } = await simulate({
    machine: 'ideal-16',
    policy: { name: 'domains', domains, steal: 'none' },
    workload: {
      // Without help between domains a CPU works only if its domain exists; tasks are spread over all of them.
      tasks: [{ name: 'task', count: 16, program: [{ run: '1s' }] }],
    },
  });
  return [exact('CPUs that worked 1 s', cpus.filter(({ busy_ns }) => busy_ns === 1e9).length, 16)];
});

/** Ends of ten threads of 20 ms on ten CPUs, ms. */
async function quotaEnds(quota: string | undefined, slice_expiry: 'exact' | 'tick'): Promise<string> {
  const { classes } = await simulate(threadsUnderQuota(quota, slice_expiry));
  const sorted = classes.map(({ latency_ms }) => latency_ms.max).sort((a, b) => a - b);
  return [...new Set(sorted)].map((end) => `${sorted.filter((x) => x === end).length} × ${end}`).join(', ');
}

const quota = byHand('kubernetes#67577: ten threads of 20 ms, quota 100 ms per 100 ms', async () => [
  exact('ends without a quota, ms', await quotaEnds(undefined, 'exact'), '10 × 20'),
  exact('charged exactly', await quotaEnds('100ms', 'exact'), '10 × 110'),
  exact('charged at a 250 Hz tick', await quotaEnds('100ms', 'tick'), '6 × 104, 4 × 112'),
]);

// Requests every ms that need the CPU for an instant, then sleep 1 ms; a fair task has it from 2.5 to 7.5 s. Half of them
// are not delayed, within one; the other half comes evenly over the 5 s before it ends.
const frozen = byHand('wrk#99: open loop, frozen from 2.5 to 7.5 s of 10', async () => {
  const { metrics, histograms } = await simulate({
    machine: 'ideal-1',
    policy: 'global-fifo',
    kernel: { watchdog_timeout: '0s' },
    workload: {
      tasks: [{ name: 'freeze', class: 'fair', start: '2500ms', program: [{ run: '5s' }] }],
      arrivals: [
        {
          name: 'requests',
          interarrival: '1ms',
          max_arrivals: 10_000,
          spawn: { program: [{ sleep: '1ms' }] },
        },
      ],
    },
  });
  const { histogram } = histograms.find(({ kind }) => kind === 'latency')!;
  return [
    exact('p50, ms', metrics.latency_ms.p50, 1, 1),
    exact('p75, s', histogram.quantile(0.75) / 1e9, 2.5, 0.0025 + 0.002),
    exact('p99, s', metrics.latency_ms.p99 / 1e3, 4.9, 0.0049 + 0.002),
  ];
});

const FOREVER: StepInput[] = [{ loop: { times: 'forever', do: [{ run: '1ms' }] } }];

// From 7.3 on the ext server gives ext tasks 50 ms of each second.
const realtime = byHand('scx#1202: a realtime hog owns CPU 0, one ext task is pinned there', async () => {
  const run = (version: '6.12' | '7.3') =>
    simulate({
      machine: 'ideal-2',
      kernel: { version, watchdog_timeout: '5s' },
      policy: 'global-fifo',
      workload: {
        tasks: [
          { name: 'hog', class: 'realtime', cpus: '0', program: FOREVER },
          { name: 'victim', cpus: '0', program: FOREVER },
        ],
      },
      run: { end: 'horizon', horizon: '10s' },
    });
  const [old, served] = [await run('6.12'), await run('7.3')];
  return [
    exact('outcome of 6.12', old.outcome, 'stalled'),
    exact('it names the hog', /CPU 0 runs task "hog"/.test(old.reason?.message ?? '') ? 'yes' : 'no', 'yes'),
    exact('outcome of 7.3', served.outcome, 'horizon'),
    exact('CPU time of the victim, ms', finishedMs(served, 'victim'), 500, 1e-3),
  ];
});

const hotplug = byHand('scx#406, scx#751, sched_ext#217: CPU 3 offline from 1 s to 2 s', async () => {
  const { metrics, cpus } = await simulate({
    machine: 'ideal-4',
    kernel: { slice_expiry: 'tick' },
    policy: 'eevdf',
    workload: { tasks: [{ name: 'job', count: 8, program: [{ run: '1s' }] }] },
    run: {
      events: [
        { at: '1s', offline: 3 },
        { at: '2s', online: 3 },
      ],
    },
  });
  const busy_ns = cpus.reduce((sum, cpu) => sum + cpu.busy_ns, 0);
  return [
    exact('CPU time of 8 tasks of 1 s, s', busy_ns / 1e9, 8, 1e-9),
    // 4 CPUs, 3 in the second between: 8 s of work take 2.25 s if balancing is perfect, and no task waits for CPU 3.
    exact('end, s', metrics.duration_s, 2.25, 0.2),
  ];
});

export const schedulers: Row[] = [
  requeueing,
  forbiddenLocal,
  affinity,
  pinned,
  levels,
  credit,
  naps,
  busiest,
  explicitMap,
  quota,
  realtime,
  hotplug,
  frozen,
];
