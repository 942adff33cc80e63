// The runs of a load sweep: rates (or clients of a closed loop) × schedulers × replications, each a resolved model.

import { mistakesOf, type Path } from '../../config/mistakes.js';
import { durationNs, formatDuration } from '../../config/units.js';
import { VtimeError } from '../../errors.js';
import { resolveServices } from '../resolve.js';
import { ratePerSecond } from '../resolve-time.js';
import type { ResolvedServices } from '../resolved.js';
import { type Services, servicesSchema } from '../schema.js';

export interface RunOptions {
  /** Requests per second of an open loop; none: the model's own load. */
  rates?: readonly number[];
  /** Numbers of clients of a closed loop. */
  clients?: readonly number[];
  connections?: number;
  /** How long requests come; default: so long that `requests` do, or the model's own duration. */
  duration?: string;
  /** Mean number of requests per run, where rates are given and no duration is. */
  requests?: number;
  /** A time, or mser-5. */
  warmup?: string;
  seed?: number;
  replications?: number;
  /** Policies for mode `scheduled`; none: the model's own mode. `dedicated` is that mode. */
  schedulers?: readonly string[];
}

export interface RunCell {
  /** Position of the point among all. */
  point: number;
  replication: number;
  services: ResolvedServices;
}

export interface RunPoint {
  /** Requests per second, or clients. */
  load: number;
  unit: '/s' | 'clients';
  /** "dedicated", or the policy. */
  scheduler: string;
}

export interface RunPlan {
  services: Services;
  points: RunPoint[];
  cells: RunCell[];
}

/** Requests per run where nothing says how long it takes. */
const DEFAULT_REQUESTS = 100_000;

/** Options that say one field, by its path. */
const OPTIONS: Record<string, string> = {
  seed: '--seed',
  'client.connections': '--connections',
  'run.duration': '--duration',
  'run.warmup': '--warmup',
  'run.replications': '--replications',
};

/** A checked copy of the model with the changes of one point. */
function changed(services: Services, change: Record<string, unknown>, origin: string): Services {
  const value = { ...services, ...change };
  const parsed = servicesSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [{ path, message }] = mistakesOf(parsed.error, value).list;
  throw new VtimeError('usage', `${OPTIONS[text(path)] ?? origin}: ${message}`, { path: text(path) });
}
const text = (path: Path) => path.join('.');

function withLoad(services: Services, point: RunPoint, options: RunOptions): Services {
  const {
    requests: _requests,
    interarrival: _interarrival,
    load: _load,
    clients: _clients,
    ...client
  } = services.client;
  const run = { ...services.run, ...(options.duration === undefined ? {} : { duration: options.duration }) };
  if (point.unit === 'clients') {
    const loop = {
      loop: 'closed',
      clients: point.load,
      ...(services.client.requests === undefined ? {} : { requests: services.client.requests }),
    };
    return changed(services, { client: { ...client, ...loop }, run }, '--clients');
  }
  const requests = options.requests ?? DEFAULT_REQUESTS;
  const duration = options.duration ?? formatDuration(BigInt(Math.round((requests / point.load) * 1e9)));
  const { think: _think, ...open } = client;
  return changed(
    services,
    { client: { ...open, loop: 'open', load: `${point.load}/s` }, run: { ...run, duration } },
    '--qps',
  );
}

function withScheduler(services: Services, scheduler: string): Services {
  if (scheduler === 'dedicated') {
    const { scheduled: _, ...rest } = services;
    return changed(rest as Services, { mode: 'dedicated' }, '--scheduler');
  }
  return changed(
    services,
    { mode: 'scheduled', scheduled: { ...services.scheduled, policy: scheduler } },
    `--scheduler ${scheduler}`,
  );
}

/** Rate of the model's own load, by its epochs' lengths. */
function ownLoad({ client }: Services): Pick<RunPoint, 'load' | 'unit'> {
  const { load } = client;
  if (client.loop === 'closed') return { load: client.clients ?? 0, unit: 'clients' };
  if (typeof load === 'string') return { load: ratePerSecond(load), unit: '/s' };
  if (load === undefined) return { load: Number.NaN, unit: '/s' };
  const ends = load.map(({ until }) => Number(durationNs(until)));
  const requests = load.reduce(
    (sum, { rate }, i) => sum + ratePerSecond(rate) * (ends[i] - (ends[i - 1] ?? 0)),
    0,
  );
  return { load: requests / ends[ends.length - 1], unit: '/s' };
}

/** The scheduler that a model names itself. */
function ownScheduler(services: Services): string {
  if (services.mode === 'dedicated') return 'dedicated';
  const policy = services.scheduled?.policy;
  if (policy === undefined) return 'eevdf';
  return 'domains' in policy && typeof policy.domains === 'number'
    ? `${policy.name}:${policy.domains}`
    : policy.name;
}

/** All runs of a sweep, points in the order of schedulers, then loads. */
export function planRuns(services: Services, options: RunOptions): RunPlan {
  const base = changed(
    services,
    {
      ...(options.seed === undefined ? {} : { seed: options.seed }),
      ...(options.connections === undefined
        ? {}
        : { client: { ...services.client, connections: options.connections } }),
      run: {
        ...services.run,
        ...(options.warmup === undefined ? {} : { warmup: options.warmup }),
        ...(options.replications === undefined ? {} : { replications: options.replications }),
      },
    },
    'options',
  );
  const points: RunPoint[] = [];
  const cells: RunCell[] = [];
  for (const scheduler of options.schedulers ?? [undefined]) {
    const own = scheduler === undefined ? base : withScheduler(base, scheduler);
    const loads: Pick<RunPoint, 'load' | 'unit'>[] =
      options.rates !== undefined
        ? options.rates.map((load) => ({ load, unit: '/s' as const }))
        : options.clients !== undefined
          ? options.clients.map((load) => ({ load, unit: 'clients' as const }))
          : [ownLoad(own)];
    for (const load of loads) {
      const point = { ...load, scheduler: scheduler ?? ownScheduler(own) };
      const isOwn = options.rates === undefined && options.clients === undefined;
      const loaded = isOwn
        ? changed(
            own,
            {
              run: { ...own.run, ...(options.duration === undefined ? {} : { duration: options.duration }) },
            },
            '--duration',
          )
        : withLoad(own, point, options);
      const resolved = resolveServices(loaded);
      for (let replication = 0; replication < base.run.replications; replication++) {
        cells.push({
          point: points.length,
          replication,
          services: { ...resolved, seed: base.seed + replication },
        });
      }
      points.push(point);
    }
  }
  return { services: base, points, cells };
}
