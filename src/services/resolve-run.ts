// How a run goes, in resolved form: client, power management, duration, and what runs below.

import { durationNs, megahertz, rateToMeanNs } from '../config/units.js';
import { ns, ratePerSecond } from './resolve-time.js';
import type { Names, ResolvedPower, ResolvedServices } from './resolved.js';
import type { Client } from './schema/client.js';
import { scheduled as scheduledSchema } from './schema/run.js';
import { bytesOf } from './schema/values.js';
import type { Services } from './schema.js';

const DEFAULT_DURATION_NS = ns('10s');

export function clientOf(client: Client, duration_ns: number): ResolvedServices['client'] {
  const { load, retries, value_size, timeout } = client;
  const epochs = typeof load === 'string' ? [{ until: `${duration_ns}ns`, rate: load }] : (load ?? []);
  return {
    loop: client.loop,
    epochs: epochs.map(({ until, rate }) => ({
      until_ns: ns(until),
      mean_ns: Number(rateToMeanNs(rate)),
      rate_per_s: ratePerSecond(rate),
    })),
    arrivals: client.arrivals,
    ...(client.interarrival === undefined ? {} : { interarrival: client.interarrival }),
    clients: client.clients ?? 0,
    think: client.think ?? '0s',
    connections: client.connections,
    requests: client.requests ?? 0,
    value_size:
      typeof value_size === 'string'
        ? { draw: 'constant', bytes: bytesOf(value_size) }
        : { draw: 'exponential', bytes: bytesOf(value_size.exponential) },
    timeout_ns: timeout === undefined ? 0 : ns(timeout),
    ...(retries === undefined
      ? {}
      : {
          retries: {
            max: retries.max,
            backoff_ns: ns(retries.backoff),
            factor: retries.factor,
            limit_ns: retries.limit === undefined ? 0 : ns(retries.limit),
            jitter: retries.jitter,
            reconnect_ns: ns(retries.reconnect),
          },
        }),
    from_intended_start: client.from_intended_start,
  };
}

export function powerOf(services: Services, service: Names): ResolvedPower | undefined {
  const { power } = services;
  if (power === undefined) return undefined;
  const steps = power.frequencies.map(megahertz);
  const [lowest, highest] = [steps[0], steps[steps.length - 1]];
  const step = power.cap_step === undefined ? undefined : megahertz(power.cap_step);
  const fine: number[] = [];
  for (let mhz = lowest; step !== undefined && mhz < highest; mhz += step) fine.push(mhz);
  const { quantile, controller, failing_list, buckets, gain } = power;
  return {
    target_ns: ns(power.target),
    quantile,
    interval_ns: ns(power.interval),
    controller,
    failing_list,
    frequencies_mhz: step === undefined ? steps : [...fine, highest],
    tiers: (power.services ?? Object.keys(services.services)).map(service),
    buckets,
    gain,
  };
}

export function runOf({ run, client }: Services): ResolvedServices['run'] {
  const { load } = client;
  const last = Array.isArray(load) ? ns(load[load.length - 1].until) : undefined;
  const closes = client.loop === 'closed' && client.requests !== undefined && run.duration === undefined;
  const duration_ns = closes
    ? 0
    : run.duration === undefined
      ? (last ?? DEFAULT_DURATION_NS)
      : ns(run.duration);
  return {
    duration_ns,
    end: run.end,
    limit_ns: run.limit === 'none' ? 0 : run.limit === 'auto' ? 10 * duration_ns : ns(run.limit),
    warmup:
      run.warmup === 'mser-5'
        ? { method: 'mser-5' }
        : { method: 'fixed', ns: Number(durationNs(run.warmup)) },
  };
}

export function scheduledOf({ mode, scheduled }: Services): ResolvedServices['scheduled'] {
  return mode === 'scheduled' ? (scheduled ?? scheduledSchema.parse({})) : undefined;
}
