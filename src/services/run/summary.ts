// What the replications of each point come to: latency from the client's side, per tier, and where the load saturates.

import { Histogram } from '../../engine/histogram.js';
import type { InstanceResult, ServicesResult } from '../../engine/services.js';
import { type Estimate, estimate, jackknife, QUANTILE_RESOLUTION, widened } from '../../report/statistics.js';
import type { ResolvedServices } from '../resolved.js';
import type { RunPlan, RunPoint } from './cells.js';
import { type EnergySummary, energyOf } from './energy.js';
import { type KernelSummary, kernelOf } from './kernel.js';
import type { Ran } from './pool.js';

export const QUANTILES = [0.5, 0.9, 0.95, 0.99, 0.999] as const;
export type Quantile = (typeof QUANTILES)[number];

export interface TierSummary {
  name: string;
  /** Cores of all instances. */
  cores: number;
  /** Of these cores' time, 0…1. */
  utilisation?: Estimate;
  /** From arrival at the service to the end of the visit, ms. */
  mean_ms?: Estimate;
  p99_ms?: Estimate;
  /** Visits per request. */
  visits: number;
  /** Share of its busy time at each frequency that it had, ascending. */
  frequencies: { mhz: number; share: number }[];
}

/** What the power management has come to, over the intervals in which there were requests. */
export interface PowerSummary {
  /** Share of the intervals whose tail is above the target. */
  violations?: Estimate;
  /** Median of the intervals' tails, ms. */
  tail_ms?: Estimate;
  tiers: { name: string; mhz?: Estimate }[];
}

/** Calls that found no free connection. */
export interface EdgeWait {
  from: string;
  to: string;
  /** Share of the calls. */
  waited_share: number;
  /** Of those that waited. */
  mean_wait_ms: number;
  most_waiting: number;
}

export interface PointSummary extends RunPoint {
  /** Seeds, in the order of replications. */
  seeds: number[];
  outcomes: Record<string, number>;
  /** Requests of all replications. */
  arrived: number;
  completed: number;
  measured: number;
  events_per_request: number;
  /** Completed requests per second of simulated time, until the last reply. */
  throughput_per_s?: Estimate;
  mean_ms?: Estimate;
  quantiles_ms: Record<Quantile, Estimate | undefined>;
  /** Quantiles that the sample does not support. */
  unsupported: Quantile[];
  max_ms: number;
  latency: Histogram;
  /** Of each replication. */
  latencies: Histogram[];
  tiers: TierSummary[];
  /** Network stacks by machine. */
  networks: TierSummary[];
  /** Of the client with a timeout; the share of requests that end without a reply. */
  attempts_per_request: number;
  timeouts_per_request: number;
  given_up_share: number;
  /** Pools and blocking connections for which calls waited. */
  waits: EdgeWait[];
  power?: PowerSummary;
  /** Scheduled mode only. */
  kernel?: KernelSummary;
  /** With a machine profile. */
  energy?: EnergySummary;
  /** Of the first replication that deadlocked: who waits for whom. */
  deadlock?: string[];
  /** Warm-up of each replication, ms; with mser-5 only. */
  warmup_ms?: number[];
  /** Replications too short for mser-5 to find the end of their warm-up. */
  warmup_not_found: number;
  /** Time that the simulation took, of all replications. */
  wall_ms: number;
}

export interface RunSummary {
  name: string;
  points: PointSummary[];
  knees: Knee[];
}

/** Where the load of a scheduler saturates. */
export interface Knee {
  scheduler: string;
  /** Highest load that is kept up with. */
  sustained?: number;
  /** Lowest load that is not. */
  saturated?: number;
  /** Largest throughput seen. */
  capacity: number;
  /** Tier with the highest utilisation at the sustained load. */
  bottleneck?: string;
}

/** A load counts as sustained if throughput until the last reply is at least this share of it. */
export const SUSTAINED_SHARE = 0.98;

const MS = 1e-6;

/** Estimate of a quantile from merged histograms, in ms. */
function quantileOf(histograms: readonly Histogram[], q: number): Estimate | undefined {
  const value = jackknife(histograms.length, (omit) => {
    const merged = histograms.reduce(
      (all, histogram, i) => (i === omit ? all : all.merge(histogram)),
      Histogram.empty,
    );
    return merged.quantile(q) * MS;
  });
  return value && widened(value, QUANTILE_RESOLUTION * value.mean);
}

/** The same value of each replication. */
function over(
  results: readonly ServicesResult[],
  value: (result: ServicesResult) => number,
): Estimate | undefined {
  return estimate(results.map(value).filter(Number.isFinite));
}

function tierOf(
  name: string,
  results: readonly ServicesResult[],
  own: (instance: InstanceResult) => boolean,
): TierSummary {
  const instances = results.map((result) => result.instances.filter(own));
  const cores = instances[0].reduce((sum, instance) => sum + instance.cores, 0);
  const residence = instances.map((all) =>
    all.reduce((merged, instance) => merged.merge(instance.residence), Histogram.empty),
  );
  const filled = residence.filter((histogram) => histogram.count > 0);
  const visits = instances.reduce(
    (sum, all) => sum + all.reduce((own, instance) => own + instance.visits, 0),
    0,
  );
  const arrived = results.reduce((sum, result) => sum + result.arrived, 0);
  const used = results.map(
    ({ end_ns }, i) => instances[i].reduce((sum, { busy_ns }) => sum + busy_ns, 0) / (cores * end_ns),
  );
  return {
    name,
    cores,
    utilisation: estimate(used.filter(Number.isFinite)),
    mean_ms: estimate(filled.map((histogram) => histogram.mean * MS)),
    p99_ms: quantileOf(filled, 0.99),
    visits: visits / Math.max(1, arrived),
    frequencies: frequenciesOf(instances.flat()),
  };
}

function frequenciesOf(instances: readonly InstanceResult[]): TierSummary['frequencies'] {
  const busy = instances.reduce((sum, { busy_ns }) => sum + busy_ns, 0);
  const times = new Map<number, number>();
  for (const { mhz, ns } of instances.flatMap(({ busy_by_mhz }) => busy_by_mhz)) {
    if (ns > 0) times.set(mhz, (times.get(mhz) ?? 0) + ns);
  }
  return [...times].sort(([a], [b]) => a - b).map(([mhz, ns]) => ({ mhz, share: ns / busy }));
}

/** Connections for which at least one call in a thousand waited. */
function waitsOf(results: readonly ServicesResult[], services: ResolvedServices): EdgeWait[] {
  const nameOf = (index: number) => (index < 0 ? 'the client' : services.instances[index].name);
  return results[0].edges.flatMap(({ from, to }, i) => {
    const edges = results.map(({ edges: own }) => own[i]);
    const sum = (key: 'calls' | 'waited' | 'waited_ns') =>
      edges.reduce((total, edge) => total + edge[key], 0);
    const waited = sum('waited');
    if (waited < 0.001 * sum('calls') || waited === 0) return [];
    return [
      {
        from: nameOf(from),
        to: nameOf(to),
        waited_share: waited / sum('calls'),
        mean_wait_ms: (sum('waited_ns') / waited) * MS,
        most_waiting: Math.max(...edges.map(({ most_waiting }) => most_waiting)),
      },
    ];
  });
}

function summarisePoint(plan: RunPlan, index: number, ran: readonly Ran[]): PointSummary {
  const cells = plan.cells.flatMap((cell, i) => (cell.point === index ? [{ cell, ran: ran[i] }] : []));
  const results = cells.map((entry) => entry.ran.result);
  const { services } = cells[0].cell;
  const latency = results.reduce((all, result) => all.merge(result.latency), Histogram.empty);
  const outcomes: Record<string, number> = {};
  for (const { outcome } of results) outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
  const sum = (value: (result: ServicesResult) => number) =>
    results.reduce((total, result) => total + value(result), 0);
  const arrived = sum((result) => result.arrived);
  const histograms = results.map((result) => result.latency);
  const quantiles = QUANTILES.map((q) => [q, quantileOf(histograms, q)] as const);
  return {
    ...plan.points[index],
    seeds: cells.map(({ cell }) => cell.services.seed),
    outcomes,
    arrived,
    completed: sum((result) => result.completed),
    measured: latency.count,
    events_per_request: sum((result) => result.events) / Math.max(1, arrived),
    throughput_per_s: over(results, ({ completed, end_ns }) => (completed * 1e9) / end_ns),
    mean_ms: over(results, (result) => result.latency.mean * MS),
    quantiles_ms: Object.fromEntries(quantiles) as PointSummary['quantiles_ms'],
    unsupported: QUANTILES.filter((q) => !latency.supports(q)),
    max_ms: latency.max * MS,
    latency,
    latencies: histograms,
    tiers: services.services.map(({ name }, i) => tierOf(name, results, ({ service }) => service === i)),
    networks: services.machines.flatMap(({ name, network }, i) =>
      network === undefined
        ? []
        : [tierOf(name, results, ({ service, machine }) => service < 0 && machine === i)],
    ),
    ...(cells.some((entry) => entry.ran.cut !== undefined)
      ? { warmup_ms: cells.map((entry) => (entry.ran.cut?.from_ns ?? 0) * MS) }
      : {}),
    warmup_not_found: cells.filter((entry) => entry.ran.cut?.found === false).length,
    attempts_per_request:
      sum(({ client }) => client.attempts) /
      Math.max(
        1,
        sum(({ client }) => client.requests),
      ),
    timeouts_per_request:
      sum(({ client }) => client.timeouts) /
      Math.max(
        1,
        sum(({ client }) => client.requests),
      ),
    given_up_share:
      sum(({ client }) => client.given_up) /
      Math.max(
        1,
        sum(({ client }) => client.requests),
      ),
    waits: waitsOf(results, services),
    ...deadlockOf(results),
    ...powerOf(results, services),
    ...kernelOf(results),
    ...energyOf(results, services),
    wall_ms: cells.reduce((total, entry) => total + entry.ran.wall_ms, 0),
  };
}

function powerOf(
  results: readonly ServicesResult[],
  { power, services }: ResolvedServices,
): { power?: PowerSummary } {
  if (power === undefined || results[0].intervals.length === 0) return {};
  // NaN: nothing was under way.
  const seen = results.map(({ intervals }) => intervals.filter(({ tail_ns }) => !Number.isNaN(tail_ns)));
  const share = (own: (typeof seen)[number]) =>
    own.filter(({ tail_ns }) => tail_ns > power.target_ns).length / own.length;
  const median = (own: (typeof seen)[number]) => {
    const tails = own.map(({ tail_ns }) => tail_ns).sort((a, b) => a - b);
    return (tails[tails.length >> 1] ?? Number.NaN) * MS;
  };
  return {
    power: {
      violations: estimate(seen.map(share).filter(Number.isFinite)),
      tail_ms: estimate(seen.map(median).filter(Number.isFinite)),
      tiers: power.tiers.map((tier, i) => ({
        name: services[tier].name,
        mhz: estimate(
          seen
            .map((own) => own.reduce((sum, { tiers }) => sum + tiers[i].mhz, 0) / own.length)
            .filter(Number.isFinite),
        ),
      })),
    },
  };
}

function deadlockOf(results: readonly ServicesResult[]): { deadlock?: string[] } {
  const first = results.find(({ deadlock }) => deadlock !== undefined)?.deadlock;
  if (first === undefined) return {};
  return { deadlock: first.cycle.length > 0 ? first.cycle : [`${first.waiting} requests and threads wait`] };
}

/** The tier or network stack that is busiest. */
export function busiest({
  tiers,
  networks,
}: PointSummary): { name: string; utilisation: number } | undefined {
  const all = [
    ...tiers.map(({ name, utilisation }) => ({ name, utilisation: utilisation?.mean ?? 0 })),
    ...networks.map(({ name, utilisation }) => ({
      name: `network of ${name}`,
      utilisation: utilisation?.mean ?? 0,
    })),
  ];
  return all.reduce<(typeof all)[number] | undefined>(
    (best, own) => (best === undefined || own.utilisation > best.utilisation ? own : best),
    undefined,
  );
}

function kneeOf(scheduler: string, points: readonly PointSummary[]): Knee {
  const own = points
    .filter((point) => point.scheduler === scheduler && point.unit === '/s')
    .sort((a, b) => a.load - b.load);
  const isSustained = ({ throughput_per_s, load, outcomes }: PointSummary) =>
    outcomes.completed !== undefined && (throughput_per_s?.mean ?? 0) >= SUSTAINED_SHARE * load;
  const first = own.findIndex((point) => !isSustained(point));
  const last = first < 0 ? own[own.length - 1] : own[first - 1];
  return {
    scheduler,
    ...(last === undefined ? {} : { sustained: last.load }),
    ...(first < 0 ? {} : { saturated: own[first].load }),
    capacity: Math.max(0, ...own.map(({ throughput_per_s }) => throughput_per_s?.mean ?? 0)),
    ...(last === undefined && first < 0 ? {} : { bottleneck: busiest(own[first] ?? last)?.name }),
  };
}

export function summariseRuns(plan: RunPlan, ran: readonly Ran[]): RunSummary {
  const points = plan.points.map((_, index) => summarisePoint(plan, index, ran));
  const schedulers = [...new Set(points.map(({ scheduler }) => scheduler))];
  const isSweep = points.filter(({ unit }) => unit === '/s').length > schedulers.length;
  return {
    name: plan.services.name ?? 'services',
    points,
    knees: isSweep ? schedulers.map((scheduler) => kneeOf(scheduler, points)) : [],
  };
}
