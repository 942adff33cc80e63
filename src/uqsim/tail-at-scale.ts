// The tail at scale (Fig. 14; Dean, Barroso, CACM 56(2), 2013): a request waits for the last of n servers, some of which are slow.

import { fixed, percent } from '../report/format.js';
import type { Figure } from '../report/panels.js';
import { PAGE_WIDTH, panels } from '../report/panels.js';
import { svg } from '../report/vega.js';
import type { Services, ServicesInput } from '../services/schema.js';
import { type Context, type Experiment, judged, together } from './experiment.js';

const SIZES = [5, 10, 50, 100, 200, 500, 1000];
const SLOW_SHARES = [0, 0.01, 0.05, 0.1];
const COLORS = ['var(--c1)', 'var(--c3)', 'var(--c5)', 'var(--c2)'];

/** Slow servers: whole ones only, at least one where the share is not zero. */
export const slowServers = (n: number, slow: number): number => Math.floor(n * slow + 1e-9);

/** P(max ≤ t) of n − k exponentials of mean 1 and k of mean 10. */
function distribution(t: number, n: number, k: number): number {
  return (-Math.expm1(-t)) ** (n - k) * (-Math.expm1(-t / 10)) ** k;
}

/** Mean by ∫ (1 − F) and quantile by bisection, in units of the fast servers' mean. */
export function maximumOf(n: number, k: number): { mean: number; p99: number } {
  // Simpson's rule; beyond 400 nothing is left.
  const steps = 40_000;
  const end = 400;
  const h = end / steps;
  let sum = 0;
  for (let i = 0; i <= steps; i++) {
    const weight = i === 0 || i === steps ? 1 : i % 2 === 1 ? 4 : 2;
    sum += weight * (1 - distribution(i * h, n, k));
  }
  let [low, high] = [0, end];
  for (let i = 0; i < 100; i++) {
    const middle = (low + high) / 2;
    if (distribution(middle, n, k) < 0.99) low = middle;
    else high = middle;
  }
  return { mean: (sum * h) / 3, p99: high };
}

/**
 * n servers of 1 ms, k of them of 10 ms, behind a node that takes no time. At one request in five seconds a server is hardly ever
 * found busy, so that it is the delay that the closed form is about.
 */
export function cluster(context: Context, n: number, k: number): Services {
  const one = (mean: string): ServicesInput['models'][string] => ({
    stages: { serve: { time: { exponential: mean } } },
    paths: { all: { stages: ['serve'] } },
  });
  const names = Array.from({ length: n }, (_, i) => `server-${i}`);
  return context.model({
    name: `${n} servers, ${k} slow`,
    machines: { cluster: { cores: n + 1 } },
    models: {
      root: { stages: { scatter: { time: '0s' } }, paths: { all: { stages: ['scatter'] } } },
      fast: one('1ms'),
      slow: one('10ms'),
    },
    services: {
      root: { model: 'root', instances: { 'root-0': { machine: 'cluster', queues: 1, cores: '0' } } },
      ...Object.fromEntries(
        names.map((name, i) => [
          name,
          {
            model: i < k ? 'slow' : 'fast',
            instances: { [`${name}-0`]: { machine: 'cluster', queues: 1, cores: String(i + 1) } },
          },
        ]),
      ),
    },
    requests: {
      all: {
        nodes: {
          root: { service: 'root', next: names },
          ...Object.fromEntries(names.map((name) => [name, { service: name, next: ['client'] }])),
        },
      },
    },
    client: { load: '0.2/s', connections: 1 },
  });
}

interface Point {
  n: number;
  slow: number;
  k: number;
  mean: number;
  p99: number;
  meanHalf: number;
  p99Half: number;
  expected: { mean: number; p99: number };
}

async function pointOf(context: Context, n: number, slow: number): Promise<Point> {
  const k = slowServers(n, slow);
  const calls = context.choose(60_000, 2_000_000);
  const requests = Math.min(
    context.choose(5_000, 40_000),
    Math.max(context.choose(1_200, 4_000), Math.round(calls / n)),
  );
  const options = { rates: [0.2], requests, replications: context.choose(3, 5) };
  const [point] = (await context.run(cluster(context, n, k), options)).points;
  const p99 = point.quantiles_ms[0.99];
  return {
    n,
    slow,
    k,
    mean: point.mean_ms?.mean ?? Number.NaN,
    meanHalf: point.mean_ms?.half ?? 0,
    p99: p99?.mean ?? Number.NaN,
    p99Half: p99?.half ?? 0,
    expected: maximumOf(n, k),
  };
}

async function figureOf(points: readonly Point[]): Promise<Figure> {
  const width = Math.floor((PAGE_WIDTH - 24 - 2 * 58) / 2);
  const specs = (['mean', 'p99'] as const).map((key) => {
    const x = {
      field: 'n',
      type: 'quantitative',
      scale: { type: 'log', nice: false },
      axis: { title: 'servers', values: SIZES },
    };
    const y = {
      field: 'y',
      type: 'quantitative',
      scale: { type: 'log', nice: true },
      axis: { title: 'latency, ms', format: '~g', tickCount: 5 },
    };
    const color = { field: 'color', type: 'nominal', scale: null, legend: null };
    const curve = SLOW_SHARES.flatMap((slow, i) =>
      points
        .filter((point) => point.slow === slow)
        .map((point) => ({ n: point.n, y: point.expected[key], color: COLORS[i] })),
    );
    const marks = points.map((point) => ({
      n: point.n,
      y: point[key],
      color: COLORS[SLOW_SHARES.indexOf(point.slow)],
    }));
    return {
      title: key,
      width,
      height: 240,
      layer: [
        {
          data: { values: curve },
          mark: { type: 'line', strokeWidth: 1.4, interpolate: 'linear' },
          encoding: { x, y, color, detail: color },
        },
        {
          data: { values: marks },
          mark: { type: 'point', filled: true, size: 34, opacity: 1 },
          encoding: { x, y, color },
        },
      ],
    };
  });
  return {
    svg: await svg(panels(specs, 2), 'Latency of a request that waits for the last of n servers'),
    caption:
      'Mean and p99 of a request that waits for the last of n servers of 1 ms, a share of them ten times slower. Lines: closed form; dots: simulated.',
    legend: SLOW_SHARES.map((slow, i) => ({
      label: `${fixed(slow * 100, 0)} % slow`,
      color: COLORS[i],
      kind: 'line' as const,
    })),
  };
}

export const tailAtScale: Experiment = {
  id: 'tail',
  title: 'The tail at scale: 5 to 1000 servers, 0 to 10 % of them slow',
  source: 'Fig. 14',
  async run(context) {
    // A share of less than one server is none.
    const sizes = SLOW_SHARES.flatMap((slow) =>
      SIZES.filter((n) => slow === 0 || slowServers(n, slow) > 0).map((n) => ({ n, slow })),
    );
    const points = await together(sizes, ({ n, slow }) => pointOf(context, n, slow));
    const off = (value: number, expected: number, half: number) =>
      Math.max(0, Math.abs(value - expected) - half) / expected;
    const worst = (key: 'mean' | 'p99') =>
      points.reduce((most, point) => {
        const half = key === 'mean' ? point.meanHalf : point.p99Half;
        return Math.max(most, off(point[key], point.expected[key], half));
      }, 0);
    const at = (n: number, slow: number) =>
      points.find((point) => point.n === n && point.slow === slow) as Point;
    const factor = at(200, 0.01).p99 / at(200, 0).p99;
    return {
      verdicts: [
        judged(
          'Mean agrees with the closed form (beyond its 95 % interval at most 1 %)',
          `at most ${percent(worst('mean'), 2)} beyond`,
          worst('mean') < 0.01,
        ),
        judged(
          'p99 agrees with the closed form (beyond its 95 % interval at most 2 %)',
          `at most ${percent(worst('p99'), 2)} beyond`,
          worst('p99') < 0.02,
        ),
        judged(
          'From 100 servers on, 1 % of slow ones is enough to decide the tail',
          `p99 of 200 servers: ${fixed(factor, 1)} times that without slow ones`,
          factor > 3,
        ),
      ],
      tables: [
        {
          header: ['servers', 'slow', 'mean, ms', 'closed form', 'p99, ms', 'closed form'],
          rows: points.map(({ n, k, mean, meanHalf, p99, p99Half, expected }) => [
            String(n),
            String(k),
            `${fixed(mean, 3)} ± ${fixed(meanHalf, 3)}`,
            fixed(expected.mean, 3),
            `${fixed(p99, 3)} ± ${fixed(p99Half, 3)}`,
            fixed(expected.p99, 3),
          ]),
          note: 'Slow servers are whole ones: n × share, cut. F(t) = (1 − e^(−t))^(n−k) (1 − e^(−t/10))^k.',
        },
      ],
      figures: [await figureOf(points)],
      text: [],
    };
  },
};
