// The runs of the scheduling experiment: two systems under every scheduler, and settings of which each says what one rule does.

import { Histogram } from '../engine/histogram.js';
import { type Estimate, estimate, jackknife } from '../report/statistics.js';
import type { PointSummary } from '../services/run/summary.js';
import type { Services } from '../services/schema.js';
import type { Context } from './experiment.js';
import { type OnKernel, onKernel, onOneHost } from './one-host.js';

export const DOMAINS = ['domains:1', 'domains:4', 'domains:8'] as const;
const SCHEDULERS = ['dedicated', 'eevdf', ...DOMAINS, 'global-vtime'] as const;

/** One rule changed at a time, at the two highest loads. */
const VARIANTS = {
  'eevdf, migration cost 0': { migration_cost: '0s' },
  'eevdf, interrupts': { network: 'realtime' },
  'eevdf, interrupts, migration cost 0': { network: 'realtime', migration_cost: '0s' },
  'domains:8, interrupts': { network: 'realtime', policy: { name: 'domains', domains: 8 } },
  'domains:8, no stealing': { policy: { name: 'domains', domains: 8, steal: 'none' } },
  'domains:8, slices of 20 µs': { policy: { name: 'domains', domains: 8, slice: '20us' } },
} satisfies Record<string, OnKernel>;

/** On eight cores of a Xeon with what switches, dispatches and idle states cost there. */
const ON_XEON = {
  'eevdf, Xeon': {},
  'domains:8, Xeon': { policy: { name: 'domains', domains: 8 } },
} satisfies Record<string, OnKernel>;
const XEON = 'xeon-8160-8';

export type Scheduler = (typeof SCHEDULERS)[number] | keyof typeof VARIANTS | keyof typeof ON_XEON;

export interface System {
  name: string;
  services: Services;
  rates: readonly number[];
  requests: number;
}

/** 16 threads each: those of the services, and four or two of the network stack. */
export function systems(context: Context): System[] {
  const one = { instances: 1, threads: 1 };
  return [
    {
      name: 'two tiers',
      services: onOneHost(
        context.released('2tier_ngx_8_memc_4'),
        { nginx: { instances: 1, threads: 8 }, memcached: { instances: 1, threads: 4 } },
        4,
      ),
      rates: [40_000, 70_000, 90_000, 105_000],
      requests: context.choose(20_000, 50_000),
    },
    {
      name: 'social network',
      services: onOneHost(
        context.released('thrift_app'),
        {
          compose: { ...one, instances: 2 },
          user: { ...one, instances: 2 },
          user_memcached: one,
          tweet: { ...one, instances: 3 },
          tweet_memcached: one,
          file: { ...one, instances: 4 },
          file_memcached: one,
        },
        2,
      ),
      rates: [1500, 2500, 3500, 4500],
      requests: context.choose(20_000, 30_000),
    },
  ];
}

/** Points of one system. */
export class Measured {
  readonly name: string;
  readonly loads: readonly number[];
  /** In the order of schedulers, then loads. */
  readonly points: readonly PointSummary[];
  /** As many CPUs as threads, at the highest load. */
  readonly roomy: readonly PointSummary[];

  constructor({ name, rates }: System, points: readonly PointSummary[], roomy: readonly PointSummary[]) {
    this.name = name;
    this.loads = rates;
    this.points = points;
    this.roomy = roomy;
  }

  get top(): number {
    return this.loads[this.loads.length - 1];
  }

  at(scheduler: Scheduler, load = this.top): PointSummary {
    const found = this.points.find((point) => point.scheduler === scheduler && point.load === load);
    if (found === undefined) throw new Error(`nothing measured of ${scheduler} at ${load}/s`);
    return found;
  }
}

export async function measure(context: Context, system: System): Promise<Measured> {
  const { services, rates, requests } = system;
  const options = { requests, replications: context.choose(4, 10) };
  const named = async (own: Services, scheduler: string, loads: readonly number[]) => {
    const { points } = await context.run(own, { ...options, rates: loads });
    return points.map((point) => ({ ...point, scheduler }));
  };
  const [base, roomy, ...variants] = await Promise.all([
    context.run(onKernel(services), { ...options, rates, schedulers: SCHEDULERS }),
    context.run(onKernel(services, { oversubscription: 1 }), {
      ...options,
      rates: rates.slice(-1),
      schedulers: ['eevdf', ...DOMAINS],
    }),
    ...Object.entries(VARIANTS).map(([name, below]) =>
      named(onKernel(services, below), name, rates.slice(-2)),
    ),
    ...Object.entries(ON_XEON).map(([name, below]) =>
      named({ ...onKernel(services, below), profile: XEON }, name, rates),
    ),
  ]);
  return new Measured(system, [...base.points, ...variants.flat()], roomy.points);
}

/** Relative difference of the means: each replication has the same arrivals and service times under both. */
export function meanChange(own: PointSummary, other: PointSummary): Estimate | undefined {
  return estimate(own.latencies.map((histogram, i) => histogram.mean / other.latencies[i].mean - 1));
}

/** Relative difference of p99 over all replications. */
export function p99Change(own: PointSummary, other: PointSummary): Estimate | undefined {
  const p99 = ({ latencies }: PointSummary, omit?: number) =>
    latencies
      .reduce((all, histogram, i) => (i === omit ? all : all.merge(histogram)), Histogram.empty)
      .quantile(0.99);
  return jackknife(own.latencies.length, (omit) => p99(own, omit) / p99(other, omit) - 1);
}
