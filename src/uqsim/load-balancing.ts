// Load balancing (Fig. 8): leaves behind a front end, and where the interrupts of the front end take over from the leaves.

import { fixed, percent } from '../report/format.js';
import { type Figure, PAGE_WIDTH } from '../report/panels.js';
import { svg } from '../report/vega.js';
import { latencyOverLoad } from '../services/report/figures.js';
import type { RunSummary } from '../services/run/summary.js';
import type { Services } from '../services/schema.js';
import { type Context, type Experiment, judged, together } from './experiment.js';

/** Of the paper. */
const LEAVES = [4, 8, 16];
const COUNTS = [2, 4, 6, 8, 10, 12, 14, 16];
/** A leaf serves a request in 100 µs. */
const LEAF_PER_S = 10_000;
/** A request costs the front end's stack 2 × 4 µs for what comes and 2 × 1 µs for what goes. */
const STACK_CORE_PER_S = 100_000;
const COLORS = { free: 'var(--c1)', one: 'var(--c2)' };

const rate = (value: number) => `${fixed(value, 0)}/s`;
const bound = (n: number) => Math.min(n * LEAF_PER_S, STACK_CORE_PER_S);

/** The first n leaves of the sixteen; `oneCore`: the front end's network stack has one core for its interrupts, not twenty. */
function withLeaves(services: Services, n: number, oneCore: boolean): Services {
  const { nginx_leaf: leaf } = services.services;
  const kept = Object.entries(leaf.instances).slice(0, n);
  const gone = new Set(Object.keys(leaf.instances).slice(n));
  const [front] = Object.keys(services.machines);
  const { network, ...machine } = services.machines[front];
  const one =
    network === 'none' ? network : { ...network, queue_pairs: 1, cores: '0', pinning: 'none' as const };
  return {
    ...services,
    machines: { ...services.machines, [front]: { ...machine, network: oneCore ? one : network } },
    services: { ...services.services, nginx_leaf: { ...leaf, instances: Object.fromEntries(kept) } },
    edges:
      services.edges === 'all'
        ? 'all'
        : services.edges.filter(({ from, to }) => !gone.has(from) && !gone.has(to)),
  };
}

/** Throughput until the last reply under a tenth more than can be served, per second. Far more would keep the stack receiving only. */
async function capacity(context: Context, n: number, oneCore: boolean): Promise<number> {
  const services = withLeaves(context.released('derived/lb_16'), n, oneCore);
  const { points } = await context.run(services, {
    rates: [1.1 * (oneCore ? bound(n) : n * LEAF_PER_S)],
    requests: context.choose(60_000, 200_000),
    replications: 2,
  });
  return points[0].throughput_per_s?.mean ?? Number.NaN;
}

async function latencies(curves: readonly RunSummary[]): Promise<Figure[]> {
  const points = curves.flatMap((curve, i) =>
    curve.points.map((point) => ({ ...point, scheduler: `${LEAVES[i]} leaves` })),
  );
  const figure = await latencyOverLoad({ name: 'load balancing', points, knees: [] });
  return figure === undefined ? [] : [figure];
}

async function capacities(free: readonly number[], one: readonly number[]): Promise<Figure> {
  const x = {
    field: 'n',
    type: 'quantitative',
    scale: { domain: [0, 16] },
    axis: { title: 'leaves', values: [0, ...LEAVES, 12] },
  };
  const y = {
    field: 'y',
    type: 'quantitative',
    scale: { zero: true },
    axis: { title: 'largest throughput, requests/s', format: '~s', tickCount: 6 },
  };
  const color = { field: 'color', type: 'nominal', scale: null, legend: null };
  const layer = (measured: readonly number[], form: (n: number) => number, own: string) => [
    {
      data: { values: [0, ...COUNTS].map((n) => ({ n, y: form(n), color: own })) },
      mark: { type: 'line', strokeWidth: 1.4, interpolate: 'linear' },
      encoding: { x, y, color },
    },
    {
      data: { values: COUNTS.map((n, i) => ({ n, y: measured[i], color: own })) },
      mark: { type: 'point', filled: true, size: 34, opacity: 1 },
      encoding: { x, y, color },
    },
  ];
  const spec = {
    width: Math.floor(PAGE_WIDTH / 2) - 80,
    height: 240,
    layer: [...layer(free, (n) => n * LEAF_PER_S, COLORS.free), ...layer(one, bound, COLORS.one)],
  };
  return {
    svg: await svg(spec, 'Largest throughput over the number of leaves'),
    caption: `Largest throughput over the number of leaves. Lines: n × ${rate(LEAF_PER_S)}, and with one core for interrupts no more than its ${rate(STACK_CORE_PER_S)}; dots: simulated.`,
    legend: [
      { label: '20 cores for interrupts', color: COLORS.free, kind: 'line' },
      { label: 'one core for interrupts', color: COLORS.one, kind: 'line' },
    ],
  };
}

export const loadBalancing: Experiment = {
  id: 'lb',
  title: 'Load balancing over 4, 8 and 16 leaves',
  source: 'Fig. 8',
  async run(context) {
    const curve = (n: number) =>
      context.run(context.released(`derived/lb_${n}`), {
        rates: [0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.97].map((part) => Math.round(part * n * LEAF_PER_S)),
        requests: context.choose(20_000, 100_000),
        replications: context.choose(2, 5),
      });
    const [curves, free, one] = await Promise.all([
      together(LEAVES, curve),
      together(COUNTS, (n) => capacity(context, n, false)),
      together(COUNTS, (n) => capacity(context, n, true)),
    ]);
    const of = (values: readonly number[], n: number) => values[COUNTS.indexOf(n)];
    const linear = LEAVES.map((n) => of(free, n) / n / (of(free, 4) / 4) - 1);
    const off = COUNTS.map((n, i) => one[i] / bound(n) - 1);
    return {
      verdicts: [
        judged(
          'Saturation is linear in the number of leaves (per leaf within 5 % of that of four)',
          LEAVES.map((n, i) => `${n}: ${rate(of(free, n))} (${percent(linear[i])})`).join(', '),
          linear.every((value) => Math.abs(value) < 0.05),
        ),
        judged(
          `… until interrupts saturate: with one core for them at ${rate(STACK_CORE_PER_S)}, from 10 leaves on (min(n × ${rate(LEAF_PER_S)}, ${rate(STACK_CORE_PER_S)}) within 10 %)`,
          `${COUNTS.map((n, i) => `${n}: ${rate(one[i])} (${percent(off[i])})`).join(', ')}; twice the 8 leaves bring ${fixed(of(one, 16) / of(one, 8), 2)} times as much, with twenty cores ${fixed(of(free, 16) / of(free, 8), 2)} times`,
          off.every((value) => Math.abs(value) < 0.1),
        ),
      ],
      tables: [
        {
          title: 'Capacity',
          header: [
            'leaves',
            'leaves alone: n / 100 µs',
            '20 cores for interrupts',
            'one core for interrupts',
          ],
          rows: COUNTS.map((n, i) => [String(n), rate(n * LEAF_PER_S), rate(free[i]), rate(one[i])]),
          note: 'From memory of the paper, and not held against: 35, 70 and 120 kQPS for 4, 8 and 16.',
        },
      ],
      figures: [...(await latencies(curves)), await capacities(free, one)],
      text: [
        `At the front end each request costs interrupts of 2 × 4 µs for what comes and 2 × 1 µs for what goes: one core serves ${rate(STACK_CORE_PER_S)}, the twenty of the release two million. Leaves serve ${rate(LEAF_PER_S)} each; as requests choose theirs at random, the one that got most is the last to finish, and throughput until then stays a little below.`,
      ],
    };
  },
};
