// machines.json and graph.json → machines, network, services, edges.

import { formatCpuList } from '../../config/units.js';
import type { ServicesInput } from '../schema.js';
import { duration, type Origin } from './models.js';
import type { Names } from './names.js';
import type { Graph, LinkedMachines, Machine, Scheduler } from './shapes.js';

type Path = (string | number)[];
/** Says what is wrong at a place of the file. */
export type Tell = (path: Path, code: string, message: string) => void;

/** "0-3,8" of a list of cores, each once. */
function coreList(cores: readonly number[], path: Path, tell: Tell): string {
  cores.forEach((core, i) => {
    if (cores.indexOf(core) < i) tell([...path, i], 'duplicate-core', `core ${core} twice`);
    if (core > 4095) tell([...path, i], 'core-out-of-range', `expected a core below 4096, got ${core}`);
  });
  const known = [...new Set(cores)].filter((core) => core <= 4095);
  return known.length === 0 ? '0' : formatCpuList(known.sort((a, b) => a - b));
}

/** `each` where the i-th has the i-th core alone, else the cores of each. */
function pinningOf(scheduler: Scheduler, path: Path, tell: Tell): 'none' | 'each' | (string | null)[] {
  const { cores, core_affinity: affinity } = scheduler;
  if (affinity === undefined || affinity.length === 0) return 'none';
  const number = scheduler.type === 'CMT' ? scheduler.num_threads : scheduler.num_queues;
  const what = scheduler.type === 'CMT' ? 'thread' : 'queue';
  const pinned: (string | null)[] = [];
  const given = new Set<number>();
  affinity.forEach((entry, i) => {
    const at = [...path, 'core_affinity', i];
    const index = 'thread' in entry ? entry.thread : entry.queue;
    if (index >= number) {
      tell([...at, what], 'affinity-out-of-range', `there are ${what}s 0 to ${number - 1}, not ${index}`);
      return;
    }
    if (given.has(index)) tell([...at, what], 'duplicate-affinity', `${what} ${index} twice`);
    given.add(index);
    while (pinned.length <= index) pinned.push(null);
    pinned[index] = coreList(entry.cores, [...at, 'cores'], tell);
  });
  const sorted = [...cores].sort((a, b) => a - b);
  const isEach = pinned.length === number && pinned.every((own, i) => own === `${sorted[i % sorted.length]}`);
  return isEach ? 'each' : pinned;
}

function executionOf(scheduler: Scheduler, path: Path, tell: Tell) {
  const number =
    scheduler.type === 'CMT'
      ? { threads: scheduler.num_threads }
      : scheduler.type === 'Simplified'
        ? { queues: scheduler.num_queues }
        : { queue_pairs: scheduler.num_queues };
  const pinning = pinningOf(scheduler, path, tell);
  return {
    ...number,
    cores: coreList(scheduler.cores, [...path, 'cores'], tell),
    ...(pinning === 'none' ? {} : { pinning }),
  };
}

export interface Machines {
  input: ServicesInput['machines'];
  /** Names by machine_id. */
  names: Map<number, string>;
}

export function machinesOf(
  machines: readonly Machine[],
  base: Path,
  names: Names,
  origin: Origin,
  tell: Tell,
): Machines {
  const result: Machines = { input: {}, names: new Map() };
  machines.forEach(({ machine_id, name, total_cores, net_stack_sched }, i) => {
    const path = [...base, i];
    if (result.names.has(machine_id)) {
      tell([...path, 'machine_id'], 'duplicate-machine', `machine_id ${machine_id} twice`);
      return;
    }
    const own = names.fresh(name);
    result.names.set(machine_id, own);
    origin(['machines', own], path);
    origin(['machines', own, 'cores'], [...path, 'total_cores']);
    origin(['machines', own, 'network'], [...path, 'net_stack_sched']);
    origin(['machines', own, 'network', 'pinning'], [...path, 'net_stack_sched', 'core_affinity']);
    result.input[own] = {
      cores: Math.min(total_cores, 4096),
      network: executionOf(net_stack_sched, [...path, 'net_stack_sched'], tell),
    };
    if (total_cores > 4096)
      tell([...path, 'total_cores'], 'bad-value', `expected at most 4096, got ${total_cores}`);
  });
  return result;
}

/** Links of a fork: without one, machines are at no distance. */
export function linksOf(
  { links, client_latency }: LinkedMachines,
  machines: Machines,
  old: boolean,
  origin: Origin,
  tell: Tell,
): NonNullable<ServicesInput['network']> {
  return {
    latency: '0s',
    client_latency: duration(client_latency, old),
    links: links.map(({ machine_id_1: a, machine_id_2: b, latency }, i) => {
      origin(['network', 'links', i], ['links', i]);
      const name = (id: number, key: string) => {
        const known = machines.names.get(id);
        if (known === undefined)
          tell(['links', i, key], 'unknown-machine', `no machine has the machine_id ${id}`);
        return known ?? 'unknown';
      };
      const between: [string, string] = [name(a, 'machine_id_1'), name(b, 'machine_id_2')];
      origin(['network', 'links', i, 'between', 0], ['links', i, 'machine_id_1']);
      origin(['network', 'links', i, 'between', 1], ['links', i, 'machine_id_2']);
      return { between, latency: duration(latency, old) };
    }),
  };
}

export interface ModelInfo {
  name: string;
  isBalancer: boolean;
  /** MHz, where the times are for another frequency. */
  frequency?: string;
}

export interface ServiceNames {
  /** The name of a service of a domain. */
  service: (name: string, domain: string) => string;
  instance: Names;
}

export function servicesOf(
  graph: Graph,
  models: ReadonlyMap<string, ModelInfo>,
  machines: Machines,
  names: ServiceNames,
  origin: Origin,
  tell: Tell,
): ServicesInput['services'] {
  const services: ServicesInput['services'] = {};
  const seen = new Set<string>();
  graph.microservices.forEach((given, i) => {
    const path: Path = ['microservices', i];
    const { instance_name, service_name, service_domain, machine_id, scheduler } = given;
    const modelName = given.model_name ?? service_name;
    if (seen.has(instance_name))
      tell([...path, 'instance_name'], 'duplicate-instance', `"${instance_name}" twice`);
    seen.add(instance_name);
    const model = models.get(modelName);
    if (model === undefined) {
      const known = [...models.keys()].join(', ') || 'none';
      const key = given.model_name === undefined ? 'service_name' : 'model_name';
      tell([...path, key], 'unknown-model', `no model "${modelName}"; known are ${known}`);
    }
    const machine = machines.names.get(machine_id);
    if (machine === undefined) {
      const known = [...machines.names.keys()].join(', ') || 'none';
      tell(
        [...path, 'machine_id'],
        'unknown-machine',
        `no machine has the machine_id ${machine_id}; known are ${known}`,
      );
    }
    if (service_name === 'client') tell([...path, 'service_name'], 'reserved-name', '"client" is the client');
    const service = names.service(service_name, service_domain);
    const instance = names.instance.of(instance_name);
    const placed = {
      machine: machine ?? 'unknown',
      ...executionOf(scheduler, [...path, 'scheduler'], tell),
      ...(model?.frequency === undefined ? {} : { frequency: model.frequency }),
    };
    const entry = services[service] ?? { model: model?.name ?? 'unknown', instances: {} };
    services[service] = entry;
    const at: Path = model?.isBalancer
      ? ['services', service, 'balancer']
      : ['services', service, 'instances', instance];
    origin(at, path);
    origin([...at, 'machine'], [...path, 'machine_id']);
    origin([...at, 'cores'], [...path, 'scheduler', 'cores']);
    origin([...at, 'pinning'], [...path, 'scheduler', 'core_affinity']);
    if (model?.isBalancer) {
      entry.balancer = { name: instance, model: model.name, ...placed };
      return;
    }
    if (Object.keys(entry.instances).length === 0) {
      entry.model = model?.name ?? 'unknown';
      origin(['services', service], path);
      origin(['services', service, 'model'], [...path, 'model_name']);
    }
    origin([...at, 'model'], [...path, 'model_name']);
    const differs = entry.model !== (model?.name ?? 'unknown');
    entry.instances[instance] = { ...placed, ...(differs ? { model: model?.name ?? 'unknown' } : {}) };
  });
  return services;
}

export function edgesOf(graph: Graph, instances: Names, origin: Origin, tell: Tell): ServicesInput['edges'] {
  const known = graph.microservices.map(({ instance_name }) => instance_name);
  return graph.edges.map(({ source, target, biDirectional }, i) => {
    origin(['edges', i], ['edges', i]);
    for (const [key, name] of [
      ['source', source],
      ['target', target],
    ] as const) {
      if (!known.includes(name)) {
        tell(['edges', i, key], 'unknown-instance', `no instance "${name}"; known are ${known.join(', ')}`);
      }
    }
    origin(['edges', i, 'from'], ['edges', i, 'source']);
    origin(['edges', i, 'to'], ['edges', i, 'target']);
    return {
      from: instances.of(source),
      to: instances.of(target),
      ...(biDirectional ? {} : { both_ways: false }),
    };
  });
}
