// M/G/1 at λ = 0.8, E[S] = 1 s (Pollaczek–Khinchine): Wq = λ E[S²]/(2(1 − ρ)) = 2 (1 + scv).
//   constant: scv 0 → 2 · uniform(0, 2): 1/3 → 2.666667 · exponential: 1 → 4 · hyperexponential: 4 → 10

import { test } from 'uvu';
import type { Time } from '../src/config/schema.js';
import { assertConsistent, assertWithin, replicate } from './support/replications.js';

function wait(service: Time, seconds: number, replications: number) {
  return replicate(
    {
      machine: 'ideal-1',
      kernel: { watchdog_timeout: '0s' },
      policy: { name: 'global-fifo', slice: '1000h' },
      workload: {
        arrivals: [{ name: 'customers', rate: '0.8/s', spawn: { program: [{ run: service }] } }],
      },
      run: { horizon: `${seconds}s`, warmup: '10000s' },
      output: { digest: false },
    },
    replications,
    ({ metrics }) => ({ wq: (metrics.latency_ms.mean - metrics.states_ms.running) / 1e3 }),
  );
}

test('M/D/1', async () => {
  assertWithin('Wq', (await wait('1s', 2_500_000, 5)).wq, 2);
});

test('M/U/1', async () => {
  assertWithin('Wq', (await wait({ uniform: ['0s', '2s'] }, 3_000_000, 5)).wq, 8 / 3);
});

test('M/M/1 as M/G/1', async () => {
  assertConsistent('Wq', (await wait({ exponential: '1s' }, 500_000, 10)).wq, 4, 0.015);
});

test('M/H2/1 with a squared coefficient of variation of 4', async () => {
  // 0.96 · 0.75 + 0.04 · 7 = 1 and 2 · (0.96 · 0.75² + 0.04 · 7²) = 5 = 1 + scv. Its 1 % takes 6·10⁷ customers:
  // examples/mg1.yaml.
  const service = { hyperexponential: { p: 0.96, means: ['750ms', '7s'] as [string, string] } };
  assertConsistent('Wq', (await wait(service, 1_000_000, 10)).wq, 10, 0.02);
});

test.run();
