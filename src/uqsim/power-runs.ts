// The runs of the power experiment: two tiers on the servers of the paper, under a load that rises and falls.

import type { ServicesResult } from '../engine/services.js';
import { type Estimate, estimate } from '../report/statistics.js';
import type { Services, ServicesInput } from '../services/schema.js';
import type { Context } from './experiment.js';

/** Thousands per second, in epochs of equal length: as the release was measured with (the paper's curve is in no source). */
export const DIURNAL = [30, 45, 60, 80, 100, 120, 140, 120, 100, 80, 60, 45];
/** Algorithm 1 needs five quiet intervals a step, so a shorter day would end before it has settled. */
export const EPOCH_S = 5;
/** A load at which the target lies between two DVFS steps: NGINX at 1.6 GHz has it easily, at 1.4 GHz not at all. */
export const STEADY = { k: 120, quick_s: 60, full_s: 120 };
export const TARGET_MS = 5;

const SERVER = 'xeon-e5-2660-v3-2s';
/** The same with idle states beyond C1 switched off. */
export const SHALLOW = 'xeon-e5-2660-v3-2s-c1';
const CORES = 20;
/** The release has 40 hyper-threads: 20 of the network stack, then those of services. */
const RELEASED_NETWORK_CORES = 20;
const NETWORK_CORES = 10;

export interface Setting {
  label: string;
  power: Omit<NonNullable<ServicesInput['power']>, 'target'>;
  profile?: string;
  compat?: Services['compat'];
}

export interface Measured {
  label: string;
  /** Share of the intervals with requests whose p99 is above the target. */
  violations?: Estimate;
  /** Of the intervals' p99, ms. */
  median_ms?: Estimate;
  mhz: (Estimate | undefined)[];
  /** Mean power of both servers. */
  watts?: Estimate;
  results: ServicesResult[];
}

/** Each tier and network stack on cores of its own among the 20 of a server. */
function deployed(context: Context): Services {
  const services = context.released('2tier_ngx_8_memc_2');
  const moved = (list: string) =>
    list
      .split('-')
      .map((core) => Number(core) - RELEASED_NETWORK_CORES + NETWORK_CORES)
      .join('-');
  return {
    ...services,
    machines: Object.fromEntries(
      Object.keys(services.machines).map((name) => [
        name,
        {
          cores: CORES,
          network: { queue_pairs: NETWORK_CORES, cores: `0-${NETWORK_CORES - 1}`, pinning: 'each' as const },
        },
      ]),
    ),
    services: Object.fromEntries(
      Object.entries(services.services).map(([name, service]) => [
        name,
        {
          ...service,
          instances: Object.fromEntries(
            Object.entries(service.instances).map(([instance, placed]) => [
              instance,
              { ...placed, cores: moved(placed.cores) },
            ]),
          ),
        },
      ]),
    ),
  };
}

function managed(
  context: Context,
  setting: Setting,
  thousands: readonly number[],
  epoch_s: number,
): Services {
  const { power, profile = SERVER, compat = [] } = setting;
  const load = thousands.map((k, i) => ({ until: `${(i + 1) * epoch_s}s`, rate: `${k * 1000}/s` }));
  return context.model({
    ...(deployed(context) as ServicesInput),
    profile,
    client: { connections: 320, load },
    power: { target: `${TARGET_MS}ms`, ...power },
    run: {},
    compat,
  });
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
const mean = (values: readonly number[]) => sum(values) / Math.max(1, values.length);
const median = (values: readonly number[]) =>
  [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN;

/** Over a day. */
export async function measure(context: Context, setting: Setting): Promise<Measured> {
  const services = managed(context, setting, DIURNAL, EPOCH_S);
  return measured(setting.label, await context.results(services, { replications: context.choose(1, 10) }));
}

/** The same load all the time; the last half counts, when the controller has settled. */
export async function steady(context: Context, setting: Setting): Promise<Measured> {
  const services = managed(context, setting, [STEADY.k], context.choose(STEADY.quick_s, STEADY.full_s));
  const results = await context.results(services, { replications: context.choose(1, 5) });
  return measured(
    setting.label,
    results.map((result) => ({ ...result, intervals: result.intervals.slice(result.intervals.length >> 1) })),
  );
}

function measured(label: string, results: ServicesResult[]): Measured {
  const seen = results.map(({ intervals }) => intervals.filter(({ tail_ns }) => !Number.isNaN(tail_ns)));
  const over = (value: (intervals: ServicesResult['intervals']) => number) =>
    estimate(results.map(({ intervals }) => value(intervals)));
  const tiers = results[0].intervals[0]?.tiers.length ?? 0;
  return {
    label,
    violations: estimate(
      seen.map((own) => mean(own.map(({ tail_ns }) => (tail_ns > TARGET_MS * 1e6 ? 1 : 0)))),
    ),
    median_ms: estimate(seen.map((own) => median(own.map(({ tail_ns }) => tail_ns)) / 1e6)),
    mhz: Array.from({ length: tiers }, (_, tier) =>
      over((intervals) => mean(intervals.map((own) => own.tiers[tier].mhz))),
    ),
    watts: over((intervals) => mean(intervals.map(({ power_w }) => power_w))),
    results,
  };
}

const coresOf = ({ machines }: ServicesResult) => sum(machines.map(({ cores_j }) => cores_j));
const energyOf = ({ machines }: ServicesResult) =>
  sum(machines.map(({ cores_j, uncore_j }) => cores_j + uncore_j));

/** Energy against that of other runs on the same seeds: of all, and of the cores alone. */
export function relativeEnergy(
  { results }: Measured,
  { results: others }: Measured,
): { all?: Estimate; cores?: Estimate } {
  const against = (of: (result: ServicesResult) => number) =>
    estimate(results.map((result, i) => of(result) / of(others[i])));
  return { all: against(energyOf), cores: against(coresOf) };
}
