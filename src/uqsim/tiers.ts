// Two and three tiers (Figs. 5 and 6), fan-out, the social network (Fig. 12b).

import { fixed, percent, share } from '../report/format.js';
import { busiest, type PointSummary } from '../services/run/summary.js';
import { againstReference, type Defects } from './against-reference.js';
import { type Context, type Experiment, judged, together } from './experiment.js';

/** Calls of one instant enter a queue in reverse; the tail at high load depends on it (docs/services.md). */
const TIES: Defects = ['B12-ties-reversed'];

const rate = (value: number) => `${fixed(value, 0)}/s`;

/** The largest throughput under a load far above saturation, per second. */
async function capacity(
  context: Context,
  folder: string,
  load: number,
): Promise<{ point: PointSummary; per_s: number }> {
  const services = context.released(folder);
  const requests = context.choose(30_000, 200_000);
  const { points } = await context.run(services, { rates: [load], requests, replications: 2 });
  return { point: points[0], per_s: points[0].throughput_per_s?.mean ?? 0 };
}

const twoTier: Experiment = {
  id: '2tier',
  title: 'Two tiers: NGINX and memcached in four configurations',
  source: 'Fig. 5',
  async run(context) {
    const keys = ['2tier_ngx_8_memc_4', '2tier_ngx_8_memc_2', '2tier_ngx_4_memc_2', '2tier_ngx_4_memc_1'];
    const [series, capacities] = await Promise.all([
      together(keys, (key) => againstReference(context, { key, defects: TIES })),
      together(keys, (key) => capacity(context, key, key.includes('ngx_8') ? 240_000 : 120_000)),
    ]);
    const of = (key: string) => capacities[keys.indexOf(key)].per_s;
    const tops = capacities.map(({ point }) => busiest(point)?.name ?? '–');
    const change = (more: string, less: string) => of(more) / of(less) - 1;
    const eight = change(keys[0], keys[1]);
    const four = change(keys[2], keys[3]);
    return {
      verdicts: [
        ...series.flatMap(({ verdicts }) => verdicts),
        judged(
          'NGINX is the bottleneck in all four',
          tops.join(', '),
          tops.every((name) => name === 'nginx'),
        ),
        judged(
          'Twice the memcached threads do not move saturation (within 3 %)',
          `${percent(eight)} with 8 NGINX processes, ${percent(four)} with 4`,
          Math.max(Math.abs(eight), Math.abs(four)) < 0.03,
        ),
        // n processes, each two passes of 19.747 µs plus epoll: 2 µs alone, nothing when fully amortised.
        ...[8, 4].map((n) => {
          const [low, high] = [n / (2 * 21.747e-6), n / (2 * 19.747e-6)];
          const found = of(n === 8 ? keys[0] : keys[2]);
          return judged(
            `Capacity of ${n} processes lies between epoll for each request and fully batched: ${rate(low)} to ${rate(high)}`,
            rate(found),
            found > low && found < high,
          );
        }),
      ],
      tables: [
        {
          title: 'Capacity',
          header: ['configuration', 'largest throughput', 'busiest'],
          rows: keys.map((key, i) => [key, rate(of(key)), tops[i]]),
        },
        ...series.map(({ table }) => table),
      ],
      figures: series.map(({ figures }) => figures[0]),
      text: [
        'Real curves are not public; the reference is the release itself, measured. The paper states a mean error of 0.17 ms and a tail error of 0.83 ms against real servers below saturation.',
      ],
    };
  },
};

const threeTier: Experiment = {
  id: '3tier',
  title: 'Three tiers: NGINX, memcached, MongoDB and its disk',
  source: 'Fig. 6',
  async run(context) {
    const key = '3tier';
    const defects: Defects = ['B1-mongo-rescaling', 'B2-probability-off-by-one'];
    const { right, verdicts, table, figures } = await againstReference(context, {
      key,
      defects,
      quickRequests: 60_000,
    });
    const highest = right.points[right.points.length - 1];
    const disk = highest.tiers.find(({ name }) => name === 'mongo_io');
    const others = highest.tiers
      .filter(({ name }) => name !== 'mongo_io')
      .map(({ utilisation }) => utilisation?.mean ?? 0);
    return {
      verdicts: [
        ...verdicts,
        judged(
          'Bound by the disk: everything else is nearly idle at the highest load',
          `disk ${share(disk?.utilisation?.mean ?? 0)}, others at most ${share(Math.max(...others))} at ${rate(highest.load)}`,
          (disk?.utilisation?.mean ?? 0) > 5 * Math.max(...others),
        ),
      ],
      tables: [table],
      figures,
      text: [
        'The release rescales the database’s time by the load (B1) and gives the first kind of requests one per cent too much (B2), which takes half of the requests from the disk. With both switched on vtime agrees with it; without, the disk has twice the load that the release gives it, as path.json says.',
      ],
    };
  },
};

const fanOut: Experiment = {
  id: 'fanout',
  title: 'Fan-out and fan-in',
  source: 'Section IV',
  async run(context) {
    const series = await together(
      [
        { key: 'nginx_fanout_5', folder: 'nginx_fanout', defects: TIES },
        { key: 'fannout_synthetic_5', defects: [] },
        { key: 'fannout_synthetic_10', defects: [] },
        { key: 'fannout_synthetic_100', defects: [], most: context.choose(2, 8) },
      ],
      (own) => againstReference(context, own),
    );
    return {
      verdicts: series.flatMap(({ verdicts }) => verdicts),
      tables: series.map(({ table }) => table),
      figures: [series[0].figures[0], series[3].figures[0]],
      text: [],
    };
  },
};

const social: Experiment = {
  id: 'social',
  title: 'Social network',
  source: 'Fig. 12b',
  async run(context) {
    const [{ right, verdicts, table, figures }, { per_s, point }] = await Promise.all([
      againstReference(context, { key: 'thrift_app_socialnet', folder: 'thrift_app', defects: [] }),
      capacity(context, 'thrift_app', 4000),
    ]);
    // The file service is visited twice by every request, for 276 µs each time.
    const bound = 1 / (2 * 276e-6);
    return {
      verdicts: [
        ...verdicts,
        judged(
          `Saturates where the slowest tier does: 1 / (2 × 276 µs) = ${rate(bound)}`,
          `${rate(per_s)}, busiest: ${busiest(point)?.name}`,
          Math.abs(per_s / bound - 1) < 0.02,
        ),
      ],
      tables: [table],
      figures,
      text: [
        `The text has no number for the saturation of the real application. Events per request: ${right.points[0].events_per_request.toFixed(1)}; the release has 71.`,
      ],
    };
  },
};

export const TIERS = [twoTier, threeTier, fanOut, social];
