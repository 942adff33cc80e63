// Services of several machines moved to one host, with as many cores as threads work there.

import { scheduled } from '../services/schema/run.js';
import type { Services, ServicesInput } from '../services/schema.js';

/** Instances of a service, and threads of each. */
export type Placement = Record<string, { instances: number; threads: number }>;

/** Those services on one host: a core for each of their threads and for each of the network stack's. */
export function onOneHost(services: Services, placement: Placement, stack: number): Services {
  let next = 0;
  const take = (number: number) => {
    const cores = `${next}-${next + number - 1}`;
    next += number;
    return cores;
  };
  const placed = Object.entries(placement).map(([name, { instances, threads }]) => {
    const service = services.services[name];
    const [one] = Object.values(service.instances);
    const own = Array.from({ length: instances }, (_, i) => [
      `${name}-${i}`,
      { ...one, machine: 'host', threads, cores: take(threads), pinning: 'each' as const },
    ]);
    return [name, { ...service, instances: Object.fromEntries(own) }];
  });
  const network = { queue_pairs: stack, cores: take(stack), pinning: 'each' as const };
  return {
    ...services,
    machines: { host: { cores: next, network } },
    services: Object.fromEntries(placed),
    edges: 'all',
    network: { ...services.network, links: [] },
  };
}

export type OnKernel = Omit<NonNullable<ServicesInput['scheduled']>, 'kernel'> & { migration_cost?: string };

/**
 * The same on a simulated kernel with half as many CPUs, every thread on any of them, unless `below` says otherwise. With a tick, which
 * periodic load balancing needs, also where CPUs are ideal.
 */
export function onKernel(services: Services, { migration_cost, ...below }: OnKernel = {}): Services {
  const kernel = { slice_expiry: 'tick', ...(migration_cost === undefined ? {} : { migration_cost }) };
  return {
    ...services,
    mode: 'scheduled',
    scheduled: scheduled.parse({ pinned: false, network: 'fair', oversubscription: 2, kernel, ...below }),
  };
}
