// Single queues, in units of the mean service, here 1 s.

import type { ConfigInput, StepInput, Time } from '../config/schema.js';
import type { SimulationResult } from '../types.js';
import { mean, quantile, type Row, steady } from './row.js';

type Sources = NonNullable<ConfigInput['workload']['arrivals']>;
export type Source = Sources[number];

export const EXPONENTIAL: Time = { exponential: '1s' };
const FCFS = { name: 'global-fifo', slice: '1000h' } as const;

/** Customers that are tasks of their own. */
export function queue(cpus: number, policy: ConfigInput['policy'], arrivals: Sources) {
  return { machine: `ideal-${cpus}`, kernel: { watchdog_timeout: '0s' }, policy, workload: { arrivals } };
}

export function customers(rate: number, service: Time, more: Partial<Source> = {}): Source {
  const timing = more.interarrival === undefined ? { rate: `${rate}/s` } : {};
  return { name: 'customers', ...timing, spawn: { program: [{ run: service }] }, ...more };
}

/** A server with a queue, and customers that are jobs. */
function served(rate: number, receive: StepInput): Omit<ConfigInput, 'run' | 'seed'> {
  const program: StepInput[] = [
    { loop: { times: 'forever', do: [receive, { run: EXPONENTIAL }, 'finish'] } },
  ];
  return {
    machine: 'ideal-1',
    kernel: { watchdog_timeout: '0s' },
    policy: FCFS,
    workload: {
      queues: [{ name: 'queue' }],
      tasks: [{ name: 'server', background: true, program }],
      arrivals: [{ name: 'customers', rate: `${rate}/s`, queue: 'queue' }],
    },
  };
}

/** Mean response and mean wait, s. */
export const response = ({ metrics }: SimulationResult) => metrics.latency_ms.mean / 1e3;
export const wait = (result: SimulationResult) =>
  response(result) - (result.metrics.states_ms.running + result.metrics.states_ms.io) / 1e3;

/** Erlang C: the probability of waiting in M/M/k. */
export function erlangC(k: number, load: number): number {
  let term = 1;
  let sum = 0;
  for (let i = 0; i < k; i++) {
    sum += term;
    term *= load / (i + 1);
  }
  const waiting = term / (1 - load / k);
  return waiting / (sum + waiting);
}

const mm1 = steady({
  name: 'M/M/1, load .8',
  config: queue(1, FCFS, [customers(0.8, EXPONENTIAL)]),
  rate: 0.8,
  jobs: { short: 2e6, full: 1e8 },
  measure: (result, window_s) => ({
    W: response(result),
    Wq: wait(result),
    L: (response(result) * result.metrics.measured) / window_s,
    p50: result.metrics.latency_ms.p50 / 1e3,
    p95: result.metrics.latency_ms.p95 / 1e3,
    p99: result.metrics.latency_ms.p99 / 1e3,
    'p99.9': result.metrics.latency_ms.p99_9 / 1e3,
  }),
  // W = 1/(1 − λ); the response is exponential with that mean.
  expected: {
    W: mean(5),
    Wq: mean(4),
    L: mean(4),
    p50: quantile(3.4657),
    p95: quantile(14.9787),
    p99: quantile(23.0259),
    'p99.9': quantile(34.539),
  },
});

const mmk = (
  [
    [2, 1.6, 1.777778, 11.9374, 2.4e7],
    [4, 3.2, 0.745541, 6.8932, 2.6e7],
    [48, 43.2, 0.0776337, 4.69872, 3e8],
  ] as const
).map(([k, rate, wq, p99, full]) =>
  steady({
    name: `M/M/${k}, load ${rate}`,
    config: queue(k, FCFS, [customers(rate, EXPONENTIAL)]),
    rate,
    jobs: { short: k === 48 ? 3e6 : 6e5, full },
    measure: (result) => {
      const { histogram } = result.histograms.find(({ kind }) => kind === 'wake_latency')!;
      return {
        // Those who find a server free get it in the same nanosecond.
        C: 1 - (histogram.indices[0] === 0 ? histogram.counts[0] : 0) / histogram.count,
        Wq: wait(result),
        p99: result.metrics.latency_ms.p99 / 1e3,
      };
    },
    expected: { C: mean(erlangC(k, rate)), Wq: mean(wq), p99: quantile(p99) },
  }),
);

const erlangB = (
  [
    [5, 3, 0.110054, 5e6],
    [48, 40, 0.0298765, 4e7],
  ] as const
).map(([k, rate, loss, full]) =>
  steady({
    name: `Erlang B, ${k} servers, load ${rate}`,
    config: queue(k, FCFS, [customers(rate, EXPONENTIAL, { limit: k })]),
    rate,
    jobs: { short: 1e6, full },
    measure: ({ metrics }) => ({ loss: metrics.dropped / metrics.arrived }),
    expected: { loss: mean(loss) },
  }),
);

const finite = steady({
  name: 'M/M/1/5, load .9',
  config: queue(1, FCFS, [customers(0.9, EXPONENTIAL, { limit: 5 })]),
  rate: 0.9,
  jobs: { short: 1e6, full: 1e7 },
  measure: (result) => ({ loss: result.metrics.dropped / result.metrics.arrived, W: response(result) }),
  expected: { loss: mean(0.126023), W: mean(2.790286) },
});

// Pollaczek-Khinchine: Wq = 2 (1 + scv).
const mg1 = (
  [
    ['constant', '1s', 2, 1e7],
    ['uniform', { uniform: ['0s', '2s'] }, 8 / 3, 1.2e7],
    ['exponential', EXPONENTIAL, 4, 5e7],
    ['scv 4', { hyperexponential: { p: 0.96, means: ['750ms', '7s'] } }, 10, 6e7],
  ] satisfies [string, Time, number, number][]
).map(([name, service, wq, full]) =>
  steady({
    name: `M/G/1, ${name}, load .8`,
    config: queue(1, FCFS, [customers(0.8, service)]),
    rate: 0.8,
    jobs: { short: name === 'scv 4' ? 2e6 : 1e6, full },
    measure: (result) => ({ Wq: wait(result) }),
    expected: { Wq: mean(wq) },
  }),
);

const dm1 = steady({
  name: 'D/M/1, load .8',
  config: queue(1, FCFS, [customers(0.8, EXPONENTIAL, { interarrival: '1250ms' })]),
  rate: 0.8,
  jobs: { short: 1e6, full: 1.3e7 },
  measure: (result) => ({ W: response(result) }),
  expected: { W: mean(2.692731) },
});

// Wq = λ E[S²]/(2(1 − ρ)) for single customers, 4, and (E[X²] − E[X])/(2 E[X]) / (μ (1 − ρ)) = 7.5 for those before it in
// the batch.
const batches = steady({
  name: 'M[4]/M/1, batches of 4 at .2',
  config: queue(1, FCFS, [customers(0.2, EXPONENTIAL, { batch: 4 })]),
  rate: 0.8,
  jobs: { short: 2e6, full: 6e7 },
  measure: (result) => ({ W: response(result) }),
  expected: { W: mean(12.5) },
});

// Decomposition: the M/M/1 wait, 1, and the residual vacation E[V²]/(2 E[V]) = .5.
const vacations = steady({
  name: 'M/M/1, load .5, exponential vacations of .5',
  config: served(0.5, { receive: 'queue', idle: [{ sleep: { exponential: '500ms' } }] }),
  rate: 0.5,
  jobs: { short: 1e6, full: 1e7 },
  // Arrival to the beginning of the service: the server sleeps, so its I/O is no job's.
  measure: (result) => ({ Wq: response(result) - result.metrics.states_ms.running / 1e3 }),
  expected: { Wq: mean(1.5) },
});

// The M/M/1 response, 2, and, with an exponential set-up, its mean.
const setUp = steady({
  name: 'M/M/1, load .5, exponential set-up of 2',
  config: served(0.5, { receive: 'queue', set_up: [{ sleep: { exponential: '2s' } }] }),
  rate: 0.5,
  jobs: { short: 1e6, full: 1e7 },
  measure: (result) => ({ W: response(result) }),
  expected: { W: mean(4) },
});

export const queues: Row[] = [mm1, ...mmk, ...erlangB, finite, ...mg1, dm1, batches, vacations, setUp];
