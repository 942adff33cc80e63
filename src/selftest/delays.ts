// Delays in parallel, without queueing: a job forks n sleeps and waits for the last.

import type { ConfigInput, StepInput } from '../config/schema.js';
import { mean, quantile, type Row, steady } from './row.js';

/** One client that sends its requests one after the other. */
function requests(program: StepInput[]): Omit<ConfigInput, 'run' | 'seed'> {
  return {
    machine: 'ideal-1',
    policy: 'global-fifo',
    workload: { arrivals: [{ name: 'requests', clients: 1, spawn: { program } }] },
  };
}

const calls = (count: number, program: StepInput[]): StepInput => ({ fork: { count, program } });
const join: StepInput = { join: 'sleep' };

// The harmonic number.
const longest = (
  [
    [10, 2.928968, 2e4, 2e5],
    [100, 5.187378, 1e4, 8e4],
    [1000, 7.485471, 1000, 4e4],
  ] as const
).map(([n, value, short, full]) =>
  steady({
    name: `longest of ${n} exponential delays`,
    config: requests([calls(n, [{ sleep: { exponential: '1s' } }]), join]),
    jobs: { short, full },
    measure: ({ metrics }) => ({ mean: metrics.latency_ms.mean / 1e3 }),
    expected: { mean: mean(value) },
  }),
);

// 1 − (1 − p)^n.
const tail = (
  [
    [0.01, 100, 0.633968, 1e4, 1e5],
    [0.001, 100, 0.095208, 2e4, 1e6],
    [0.0001, 2000, 0.181277, 4500, 4e5],
  ] as const
).map(([p, n, value, short, full]) => {
  const call: StepInput[] = [
    // biome-ignore lint/suspicious/noThenProperty: the config's word
    { branch: { probability: p, then: [{ sleep: '1s' }], else: [{ sleep: '1ms' }] } },
  ];
  return steady({
    name: `tail at scale, ${n} calls of which ${p} are slow`,
    config: requests([calls(n, call), join]),
    jobs: { short, full },
    // Each request takes 1 ms or 1 s exactly, so their mean counts the slow ones.
    measure: ({ metrics }) => ({ share: (metrics.latency_ms.mean - 1) / 999 }),
    expected: { share: mean(value) },
  });
});

// The t with (1 − e^−t)^(100 − m) (1 − e^−t/10)^m = .99.
const slowServers = (
  [
    [0, 9.2054],
    [1, 46.0517],
    [5, 62.1059],
    [10, 69.0324],
  ] as const
).map(([slow, value]) =>
  steady({
    name: `100 servers of which ${slow} are 10 times slower`,
    config: requests([
      ...(slow === 0 ? [] : [calls(slow, [{ sleep: { exponential: '10ms' } }])]),
      calls(100 - slow, [{ sleep: { exponential: '1ms' } }]),
      join,
    ]),
    jobs: { short: 2e4, full: 2e5 },
    measure: ({ metrics }) => ({ p99: metrics.latency_ms.p99 }),
    expected: { p99: quantile(value) },
  }),
);

export const delays: Row[] = [...longest, ...tail, ...slowServers];
