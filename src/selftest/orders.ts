// Who is served first, at a load of .8 on one CPU.

import type { ConfigInput, Time } from '../config/schema.js';
import type { SimulationResult } from '../types.js';
import { customers, EXPONENTIAL, queue, response } from './queues.js';
import { mean, type Row, steady } from './row.js';

const weighted = (name: string, rate: number, weight: number) =>
  customers(rate, EXPONENTIAL, { name, spawn: { weight, program: [{ run: EXPONENTIAL }] } });

/** Mean response of one source's customers, s. */
const responseOf = (result: SimulationResult, source: string) =>
  result.classes.find(({ name }) => name === source)!.latency_ms.mean / 1e3;

// T = E[S]/(1 − ρ) whatever the distribution.
const sharing = (
  [
    ['exponential', EXPONENTIAL],
    ['constant', '1s'],
    ['scv 4', { hyperexponential: { p: 0.96, means: ['750ms', '7s'] } }],
  ] satisfies [string, Time][]
).map(([name, service]) =>
  steady({
    name: `M/G/1-PS, ${name}`,
    config: queue(1, 'processor-sharing', [customers(0.8, service)]),
    rate: 0.8,
    jobs: { short: name === 'scv 4' ? 2e6 : 1e6, full: 5e7 },
    measure: (result) => ({ T: response(result) }),
    expected: { T: mean(5) },
  }),
);

// A job of size x takes x/(1 − ρ): load .7 of exponential jobs and .1 of jobs of size 5.
const bySize = steady({
  name: 'M/G/1-PS, a job of size 5',
  config: queue(1, 'processor-sharing', [
    customers(0.7, EXPONENTIAL),
    customers(0.02, '5s', { name: 'large' }),
  ]),
  rate: 0.72,
  jobs: { short: 1e6, full: 5e7 },
  measure: (result) => ({
    T: responseOf(result, 'large'),
    'T of the others': responseOf(result, 'customers'),
  }),
  expected: { T: mean(25), 'T of the others': mean(5) },
});

const orders = (
  [
    ['SRPT', { name: 'service-order', by: 'remaining' }, 2.352773],
    ['PSJF', { name: 'service-order', by: 'size' }, 2.658897],
    ['SJF', { name: 'service-order', by: 'size', preempt: false }, 2.882219],
    // A slice of 50 ms stands for none: without knowledge of sizes, the mean of exponential jobs is the same in any order.
    ['LAS', { name: 'service-order', by: 'attained', slice: '50ms' }, 5],
  ] satisfies [string, ConfigInput['policy'], number][]
).map(([name, policy, t]) =>
  steady({
    name: `${name}, exponential`,
    config: queue(1, policy, [customers(0.8, EXPONENTIAL)]),
    rate: 0.8,
    jobs: { short: name === 'LAS' ? 5e5 : 1e6, full: 5e7 },
    measure: (result) => ({ T: response(result) }),
    expected: { T: mean(t) },
  }),
);

// ρ1 = .3, ρ2 = .5, mean residual service ρ = .8: Wq1 = .8/.7, Wq2 = .8/(.7 · .2); preemptive: T1 = 1/.7, T2 = 1/(.7 · .2).
const priorities = [false, true].map((preempt) =>
  steady({
    name: `two priorities, ${preempt ? 'preemptive' : 'non-preemptive'}`,
    config: queue(1, { name: 'service-order', by: 'weight', preempt }, [
      weighted('first', 0.3, 2048),
      weighted('second', 0.5, 1024),
    ]),
    rate: 0.8,
    jobs: { short: 1e6, full: 6e7 },
    measure: (result) => {
      const service = preempt ? 0 : 1;
      return { first: responseOf(result, 'first') - service, second: responseOf(result, 'second') - service };
    },
    expected: preempt
      ? { first: mean(1.428571), second: mean(7.142857) }
      : { first: mean(1.142857), second: mean(5.714286) },
  }),
);

export const serviceOrders: Row[] = [...sharing, bySize, ...orders, ...priorities];
