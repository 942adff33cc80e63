// Networks of queues: servers that receive from queues and send on, each on a CPU of its own.

import type { ConfigInput, StepInput, Time } from '../config/schema.js';
import { customers, EXPONENTIAL, erlangC, queue, response, wait } from './queues.js';
import { mean, quantile, type Row, steady } from './row.js';

interface Station {
  queue: string;
  service: Time;
  /** After the service: where the job goes. */
  next: StepInput[];
}

function network(
  stations: readonly Station[],
  source: Omit<NonNullable<ConfigInput['workload']['arrivals']>[number], 'name'>,
): Omit<ConfigInput, 'run' | 'seed'> {
  return {
    machine: `ideal-${stations.length}`,
    kernel: { watchdog_timeout: '0s' },
    policy: { name: 'percpu-fifo', slice: '1000h' },
    workload: {
      queues: stations.map(({ queue: name }) => ({ name })),
      tasks: stations.map(({ queue: name, service, next }, cpu) => ({
        name: `server-${name}`,
        cpus: `${cpu}`,
        background: true,
        program: [{ loop: { times: 'forever', do: [{ receive: name }, { run: service }, ...next] } }],
      })),
      arrivals: [{ name: 'jobs', ...source }],
    },
  };
}

const exponential = (mean_s: number): Time => ({ exponential: `${Math.round(mean_s * 1e9)}ns` });

/** To the queue with a probability, else out. */
const onward = (probability: number, to: string): StepInput[] => [
  // biome-ignore lint/suspicious/noThenProperty: the config's word
  { branch: { probability, then: [{ send: to }], else: ['finish'] } },
];

// W = 1/(1 − .5) + 1/(.8 − .5), a sum of two exponential times.
const tandem = steady({
  name: 'tandem, load .5, rates 1 and .8',
  config: network(
    [
      { queue: 'first', service: EXPONENTIAL, next: [{ send: 'second' }] },
      { queue: 'second', service: exponential(1 / 0.8), next: ['finish'] },
    ],
    { rate: '0.5/s', queue: 'first' },
  ),
  rate: 0.5,
  jobs: { short: 1e6, full: 2e7 },
  measure: (result) => ({ W: response(result), p99: result.metrics.latency_ms.p99 / 1e3 }),
  expected: { W: mean(5.333333), p99: quantile(18.35356) },
});

// λ1 = .5 + .25 λ2, λ2 = .6 λ1; L = Σ ρ/(1 − ρ) with ρ = .588235 at both.
const jackson = steady({
  name: 'Jackson network with feedback',
  config: network(
    [
      { queue: 'first', service: EXPONENTIAL, next: onward(0.6, 'second') },
      { queue: 'second', service: exponential(1 / 0.6), next: onward(0.25, 'first') },
    ],
    { rate: '0.5/s', queue: 'first' },
  ),
  rate: 0.5,
  jobs: { short: 1e6, full: 2e7 },
  measure: (result, window_s) => {
    const rate = (cpu: number, service_s: number) =>
      result.cpus[cpu].busy_ns / 1e9 / service_s / result.metrics.duration_s;
    return {
      'rate of the first': rate(0, 1),
      'rate of the second': rate(1, 1 / 0.6),
      W: response(result),
      L: (response(result) * result.metrics.measured) / window_s,
    };
  },
  expected: {
    'rate of the first': mean(0.588235),
    'rate of the second': mean(0.352941),
    W: mean(5.714286),
    L: mean(2.857143),
  },
});

// Mean value analysis: R_i = D_i (1 + L_i(N − 1)), X = N/(Z + Σ R_i).
const closed = (
  [
    [1, 0.869565],
    [5, 4.154505],
    [10, 7.50875],
    [20, 9.940837],
  ] as const
).map(([clients, throughput]) =>
  steady({
    name: `closed network, ${clients} client${clients === 1 ? '' : 's'}`,
    config: network(
      [
        { queue: 'cpu', service: exponential(0.1), next: [{ send: 'disk' }] },
        { queue: 'disk', service: exponential(0.05), next: ['finish'] },
      ],
      { clients, think: EXPONENTIAL, queue: 'cpu' },
    ),
    rate: throughput,
    jobs: { short: 2e5, full: 4e6 },
    measure: ({ metrics }, window_s) => ({ X: metrics.measured / window_s }),
    expected: { X: mean(throughput) },
  }),
);

// Nelson and Tantawi (1988): (12 − ρ)/8 · 1/(μ − λ). Each job is a task on a third CPU with a child for each server.
const part = (cpu: number): StepInput => ({
  fork: { count: 1, program: [{ affinity: `${cpu}` }, { run: EXPONENTIAL }] },
});
const forkJoin = steady({
  name: 'fork-join of two M/M/1, load .8',
  config: queue(3, { name: 'percpu-fifo', slice: '1000h' }, [
    customers(0.8, EXPONENTIAL, { spawn: { cpus: '2', program: [part(0), part(1), { join: 'sleep' }] } }),
  ]),
  rate: 0.8,
  jobs: { short: 5e5, full: 3e7 },
  measure: (result) => ({ W: response(result) }),
  expected: { W: mean(7) },
});

// k queues M/M/(48/k), each customer choosing one at random. In few large domains a wait is rare, and twenty times as sensitive
// to the load that was drawn as the load is: 0.02 % of it are 0.4 % of the wait.
const split = (
  [
    [1, 3e6, 3e8],
    [2, 2e6, 4e8],
    [4, 2e6, 8e7],
    [8, 1e6, 8e7],
    [16, 1e6, 8e7],
    [48, 1e6, 8e7],
  ] as const
).map(([domains, short, full]) =>
  steady({
    name: `48 cores, load .9, in ${domains} domain${domains === 1 ? '' : 's'} without stealing`,
    config: queue(48, { name: 'weighted-vtime', domains, slice: '1000h', steal: 'none' }, [
      customers(43.2, EXPONENTIAL, { spawn: { domain: 'random', program: [{ run: EXPONENTIAL }] } }),
    ]),
    rate: 43.2,
    jobs: { short, full },
    measure: (result) => ({ Wq: wait(result) }),
    expected: { Wq: mean(erlangC(48 / domains, 43.2 / domains) / (4.8 / domains)) },
  }),
);

export const networks: Row[] = [tandem, jackson, ...closed, forkJoin, ...split];
