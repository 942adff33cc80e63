// What the paper leaves out: an operating system below the services. The same graphs under EEVDF and scheduling domains, with cores of
// their own and with half as many.

import { fixed, percent } from '../report/format.js';
import { latencyOverLoad } from '../services/report/figures.js';
import type { PointSummary, RunSummary } from '../services/run/summary.js';
import type { Services } from '../services/schema.js';
import { type Context, type Experiment, judged, type ResultTable } from './experiment.js';

const SCHEDULERS = ['dedicated', 'eevdf', 'domains:1', 'domains:4', 'domains:8'];
/** A hundred cores have no eighths. */
const SOCIAL_SCHEDULERS = ['dedicated', 'eevdf', 'domains:1', 'domains:4', 'domains:10'];
/** Cores for the seven busy threads of the social network, which need 1.4 of them at 1000 requests/s. */
const SOCIAL_CORES = '20-22';

function scheduled(services: Services, oversubscription: number): Services {
  return {
    ...services,
    scheduled: {
      policy: { name: 'eevdf' },
      kernel: services.scheduled?.kernel ?? KERNEL,
      pinned: true,
      network: 'fair',
      oversubscription,
    },
  };
}

const KERNEL: NonNullable<Services['scheduled']>['kernel'] = {
  version: '6.11-scx',
  hz: '250Hz',
  tick_skew: '0s',
  watchdog_timeout: '30s',
  on_stall: 'end',
  bandwidth_slice: '5ms',
};

/** All services of the social network on the same few cores. */
function sharedCores(services: Services): Services {
  const moved = Object.entries(services.services).map(([name, service]) => [
    name,
    {
      ...service,
      instances: Object.fromEntries(
        Object.entries(service.instances).map(([instance, placed]) => [
          instance,
          { ...placed, cores: SOCIAL_CORES },
        ]),
      ),
    },
  ]);
  return { ...services, services: Object.fromEntries(moved) };
}

function rowsOf({ points }: RunSummary, label: string): string[][] {
  const base = (point: PointSummary) =>
    points.find((own) => own.scheduler === 'dedicated' && own.load === point.load);
  return points.map((point) => {
    const against = (own: number | undefined, other: number | undefined) =>
      percent((own ?? Number.NaN) / (other ?? Number.NaN) - 1);
    const dedicated = base(point);
    return [
      label,
      point.scheduler,
      `${fixed(point.load, 0)}/s`,
      fixed(point.mean_ms?.mean ?? Number.NaN, 3),
      fixed(point.quantiles_ms[0.99]?.mean ?? Number.NaN, 3),
      against(point.mean_ms?.mean, dedicated?.mean_ms?.mean),
      against(point.quantiles_ms[0.99]?.mean, dedicated?.quantiles_ms[0.99]?.mean),
    ];
  });
}

const p99 = ({ points }: RunSummary, scheduler: string): number =>
  points
    .filter((point) => point.scheduler === scheduler)
    .reduce((_, point) => point.quantiles_ms[0.99]?.mean ?? Number.NaN, Number.NaN);

export const scheduling: Experiment = {
  id: 'scheduling',
  title: 'The same services on a scheduler',
  source: 'not in the paper',
  async run(context: Context) {
    const twoTier = context.released('2tier_ngx_8_memc_2');
    const options = { replications: context.choose(3, 10), requests: context.choose(20_000, 100_000) };
    const rates = [20_000, 40_000, 60_000, 80_000];
    const own = await context.run(scheduled(twoTier, 1), { ...options, rates, schedulers: SCHEDULERS });
    const half = await context.run(scheduled(twoTier, 2), { ...options, rates, schedulers: SCHEDULERS });
    const social = await context.run(scheduled(sharedCores(context.released('thrift_app')), 1), {
      ...options,
      requests: context.choose(8_000, 40_000),
      rates: [250, 500, 750, 1000],
      schedulers: SOCIAL_SCHEDULERS,
    });
    const means = own.points.map((point) => {
      const dedicated = own.points.find(
        ({ scheduler, load }) => scheduler === 'dedicated' && load === point.load,
      );
      return Math.abs((point.mean_ms?.mean ?? Number.NaN) / (dedicated?.mean_ms?.mean ?? Number.NaN) - 1);
    });
    const table: ResultTable = {
      header: [
        'cores',
        'scheduler',
        'load',
        'mean, ms',
        'p99, ms',
        'mean against dedicated',
        'p99 against dedicated',
      ],
      rows: [
        ...rowsOf(own, 'two tiers, a core each'),
        ...rowsOf(half, 'two tiers, half as many'),
        ...rowsOf(social, 'social network, three'),
      ],
      note: 'The same seeds under every scheduler. Dedicated: threads own their cores (of the two tiers all of them, also beside half as many).',
    };
    const figures = [await latencyOverLoad(half), await latencyOverLoad(social)];
    return {
      verdicts: [
        judged(
          'With a core for each thread the scheduler does not matter (mean within 1 % of dedicated)',
          `at most ${percent(Math.max(...means), 2)}`,
          Math.max(...means) < 0.01,
        ),
        {
          claim: 'With two threads for each core it does: p99 of two tiers at 80,000/s',
          found: SCHEDULERS.map((name) => `${name} ${fixed(p99(half, name), 2)} ms`).join(', '),
          outcome: 'shown',
        },
        {
          claim: 'The social network’s seven busy threads on three cores: p99 at 1000/s',
          found: SOCIAL_SCHEDULERS.map((name) => `${name} ${fixed(p99(social, name), 2)} ms`).join(', '),
          outcome: 'shown',
        },
      ],
      tables: [table],
      figures: figures.flatMap((figure, i) =>
        figure === undefined
          ? []
          : [
              {
                ...figure,
                caption: `${['Two tiers, two threads for each core', 'Social network on three cores'][i]}. ${figure.caption}`,
              },
            ],
      ),
      text: [
        'Scheduled: threads and network stacks are tasks of the simulated kernel (6.11) on ideal CPUs without costs, so that what differs is the order alone. Domains divide each machine.',
      ],
    };
  },
};
