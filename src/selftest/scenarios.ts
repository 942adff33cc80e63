// The scenarios of public reports, ours, as the self-test runs them and the suite looks at them closely. All on ideal
// machines: nothing costs time, and slices end exactly unless a tick is named.

import type { ConfigInput, StepInput } from '../config/schema.js';
import type { ClassResult, SimulationResult } from '../types.js';

export const HOG: StepInput[] = [{ run: '1h' }];

export function classOf(result: SimulationResult, name: string): ClassResult {
  const found = result.classes.find((entry) => entry.name === name);
  if (found === undefined) throw new RangeError(`no class ${name}`);
  return found;
}

/** CPU time of a class's finished stays on a CPU, ms. */
export function finishedMs(result: SimulationResult, name: string): number {
  const { count, mean } = classOf(result, name).stint_us;
  return count === 0 ? 0 : (count * mean) / 1e3;
}

/** scx#1185: a pinned task waits in the shared DSQ; those put back into CPU 1's local DSQ keep it full. */
export const localRequeue = (requeue: 'shared' | 'local'): ConfigInput => ({
  machine: 'ideal-2',
  policy: { name: 'global-fifo', slice: '20ms', requeue },
  workload: {
    tasks: [
      { name: 'hog', count: 2, cpus: '1', program: HOG },
      { name: 'pinned', cpus: '1', start: '1ms', program: [{ run: '1ms' }] },
    ],
  },
  run: { end: 'horizon', horizon: '60s' },
});

/** scx#583: the first two tasks take CPUs 0 and 1; the third, pinned to CPU 3, comes into the local DSQ of CPU 2. */
export const wrongLocal: ConfigInput = {
  machine: 'ideal-4',
  policy: { name: 'percpu-fifo', place: 'round-robin' },
  workload: {
    tasks: [
      { name: 'first', count: 2, program: HOG },
      { name: 'pinned', cpus: '3', start: '1ms', program: HOG },
    ],
  },
  run: { end: 'horizon', horizon: '1s' },
};

/** scx#728: queued at 1 ms, restricted to CPU 1 at 5 ms. At 10 ms CPU 0 looks first, and may not take it; CPU 1 does. */
export const restrictedWhileQueued: ConfigInput = {
  machine: 'ideal-2',
  policy: { name: 'global-fifo', slice: '10ms' },
  workload: {
    tasks: [
      { name: 'mover', cpus: '0', program: [{ run: '5ms' }, { affinity: '1', task: 'queued' }, ...HOG] },
      { name: 'hog', cpus: '1', program: HOG },
      { name: 'queued', start: '1ms', program: [{ run: '5ms' }] },
    ],
  },
  run: { end: 'horizon', horizon: '100ms' },
};

/** Tasks of a policy with scheduling domains are put into one of them. */
const inDomain = (policy: string, domain: number) => (policy.includes(':') ? { domain } : {});

/** scx#755, scx#1678: CPUs 0-3 and the queue of their domain are full of tasks that CPU 5, which is idle, may not take. */
export const pinnedToIdle = (policy: ConfigInput['policy'] & string): ConfigInput => ({
  machine: 'ideal-8',
  policy,
  workload: {
    tasks: [
      { name: 'hog', count: 8, cpus: '0-3', ...inDomain(policy, 0), program: HOG },
      { name: 'pinned', cpus: '5', start: '10ms', ...inDomain(policy, 0), program: [{ run: '1ms' }] },
    ],
  },
  run: { end: 'horizon', horizon: '100ms' },
});

/** scx#755, scx#1678: CPU 4 is idle and forbidden, CPU 5 is busy, CPU 6 is idle and allowed. */
export const oneIdleAllowed = (policy: ConfigInput['policy'] & string): ConfigInput => ({
  machine: 'ideal-8',
  policy,
  workload: {
    tasks: [
      { name: 'hog', cpus: '5', ...inDomain(policy, 1), program: HOG },
      { name: 'restricted', cpus: '5-6', start: '1ms', ...inDomain(policy, 1), program: [{ run: '1ms' }] },
    ],
  },
  run: { end: 'horizon', horizon: '50ms' },
});

/** scx#828: a task of the highest level that always wants the CPU, and one of the lowest; decisions every 20 ms. */
export const strictLevels = (starvation_limit: string, horizon: string): ConfigInput => ({
  machine: 'ideal-1',
  policy: { name: 'five-level', order: 'strict', slice: '20ms', starvation_limit },
  workload: {
    tasks: [
      { name: 'high', weight: 8192, program: HOG },
      { name: 'low', weight: 128, start: '1ms', program: HOG },
    ],
  },
  run: { end: 'horizon', horizon },
});

/** Turns of the worker of `sleepCredit` in its first day, of this length. */
export const DAY_TURNS = 43_200;
export const TURN_MS = 19;

/** scx#261: one task sleeps for a day, beside one that works now and then; after it both want the CPU. */
export const sleepCredit = (credit: 'slice' | 'unlimited'): ConfigInput => ({
  machine: 'ideal-1',
  policy: { name: 'global-vtime', slice: '20ms', credit, keep_running: true },
  workload: {
    tasks: [
      { name: 'sleeper', program: [{ sleep: '24h' }, ...HOG] },
      {
        name: 'worker',
        program: [
          { loop: { times: DAY_TURNS, do: [{ run: `${TURN_MS}ms` }, { sleep: `${2000 - TURN_MS}ms` }] } },
          { loop: { times: 'forever', do: [{ run: `${TURN_MS}ms` }, { sleep: '1ms' }] } },
        ],
      },
    ],
  },
  run: { end: 'horizon', horizon: '86401s' },
  output: { digest: false },
});

/** scx#3563: a task that sleeps for 1 µs after every 100 µs, beside a hog, for 20 s. */
export const shortSleeps = (preempt: boolean): ConfigInput => ({
  machine: 'ideal-1',
  policy: { name: 'global-vtime', slice: '20ms', preempt },
  workload: {
    tasks: [
      { name: 'napper', program: [{ loop: { times: 'forever', do: [{ run: '100us' }, { sleep: '1us' }] } }] },
      { name: 'hog', program: HOG },
    ],
  },
  run: { end: 'horizon', horizon: '20s' },
});

/** kubernetes#67577: ten threads of 20 ms on CPUs of their own, in one cgroup. */
export const threadsUnderQuota = (
  quota: string | undefined,
  slice_expiry: 'exact' | 'tick',
  bandwidth_slice = '5ms',
): ConfigInput => ({
  machine: 'ideal-10',
  kernel: { slice_expiry, hz: '250Hz', bandwidth_slice },
  policy: 'eevdf',
  workload: {
    cgroups: [{ name: 'pod', ...(quota === undefined ? {} : { quota, period: '100ms' }) }],
    arrivals: Array.from({ length: 10 }, (_, i) => ({
      name: `thread${i}`,
      interarrival: '1h',
      start: '0s',
      max_arrivals: 1,
      spawn: { program: [{ run: '20ms' }], cgroup: 'pod', cpus: `${i}` },
    })),
  },
  run: { limit: '2h' },
});

const calls = (cgroup: string, count: number, run: string) => ({
  name: `calls-${cgroup}`,
  interarrival: '1h',
  start: '0s',
  batch: count,
  max_arrivals: count,
  spawn: { cgroup, program: [{ run }] },
});

/**
 * dslab-faas: 2 cores by container shares 1 and 2. A has 2/3 of a core for 2 calls of 1 s: 3 s. B has 4/3 for 3 calls of 2 s,
 * which have 2/3 s left when A's are gone; then 2/3 of a core each: 4 s.
 */
export const containerShares: ConfigInput = {
  machine: 'ideal-2',
  policy: 'processor-sharing',
  workload: {
    cgroups: [
      { name: 'A', shares: 1024 },
      { name: 'B', shares: 2048 },
    ],
    arrivals: [calls('A', 2, '1s'), calls('B', 3, '2s')],
  },
};
