// From a services file that fits the schema to the form that the encoder takes: names become indices, defaults that depend on other
// parts are filled in.

import { placesOf } from '../config/mistakes.js';
import { megahertz, parseCpuList } from '../config/units.js';
import { balancerName, instancesBehind } from './check/connections.js';
import { STACK_PATHS } from './check/deployment.js';
import { checkServices } from './check/index.js';
import { entryOf, rangeOf, reachable } from './check/requests.js';
import { withDefects } from './compat.js';
import { clientOf, powerOf, runOf, scheduledOf } from './resolve-run.js';
import { ns, probabilities, stageTimes } from './resolve-time.js';
import {
  CLIENT,
  type Names,
  NONE,
  type ResolvedEdge,
  type ResolvedExecution,
  type ResolvedInstance,
  type ResolvedModel,
  type ResolvedRequest,
  type ResolvedServices,
  type ResolvedStage,
} from './resolved.js';
import type { Model } from './schema/model.js';
import type { Request } from './schema/requests.js';
import type { Services } from './schema.js';

function indexOf(names: readonly string[]): Names {
  const indices = new Map(names.map((name, i) => [name, i]));
  return (name) => indices.get(name) ?? NONE;
}

function stageOf(name: string, model: Model, index: Names, profiles: Services['profiles']): ResolvedStage {
  const { time, take, batches_with, repeat, leaves, blocks_thread, critical_section, frequency_share } =
    model.stages[name];
  const pair = typeof frequency_share === 'number' ? undefined : frequency_share;
  const share = pair?.first ?? Number(frequency_share);
  return {
    name,
    group: index(batches_with ?? name),
    times: stageTimes(time, profiles),
    take: takeOf(take),
    repeat:
      typeof repeat === 'number'
        ? { draw: 'constant', number: repeat }
        : { draw: 'exponential', number: repeat.exponential },
    blocks_thread,
    critical_section: critical_section ?? 0,
    leaves,
    frequency_share: share,
    frequency_share_again: pair?.again ?? share,
    marks_request: pair !== undefined,
  };
}

function takeOf(take: Model['stages'][string]['take']): ResolvedStage['take'] {
  if (take === 'one') return { kind: 'first', limit: 1 };
  if (take === 'all') return { kind: 'first', limit: 0 };
  if (take === 'connection') return { kind: 'connection', limit: 0 };
  if (take === 'heads') return { kind: 'heads', limit: 1 };
  if ('first' in take) return { kind: 'first', limit: take.first };
  if ('connection' in take) return { kind: 'connection', limit: take.connection };
  return { kind: 'heads', limit: take.heads };
}

function modelOf(name: string, model: Model, profiles: Services['profiles']): ResolvedModel {
  const index = indexOf(Object.keys(model.stages));
  const paths = Object.entries(model.paths);
  const shares = probabilities(paths.map(([, { probability }]) => probability));
  return {
    name,
    stages: Object.keys(model.stages).map((stage) => stageOf(stage, model, index, profiles)),
    paths: paths.map(([pathName, { stages, priority }], i) => ({
      name: pathName,
      stages: stages.map(index),
      // The last stage first, so that jobs leave before new ones enter.
      priority: priority ?? stages.map((_, position) => stages.length - 1 - position),
      probability: shares[i],
    })),
    bind_connections: model.bind_connections,
    reference_frequency_mhz: megahertz(model.reference_frequency),
  };
}

function modelsOf(services: Services): ResolvedModel[] {
  return Object.entries(services.models).map(([name, given]) => modelOf(name, given, services.profiles));
}

interface Execution {
  threads?: number;
  queues?: number;
  queue_pairs?: number;
  cores: string;
  pinning: 'none' | 'each' | (string | null)[];
}

function executionOf({ threads, queues, queue_pairs, cores, pinning }: Execution): ResolvedExecution {
  const list = parseCpuList(cores);
  const number = threads ?? queues ?? queue_pairs ?? 0;
  const each = Array.from({ length: number }, (_, i) => [list[i % list.length]]);
  return {
    kind: threads !== undefined ? 'threads' : queues !== undefined ? 'queues' : 'queue-pairs',
    number,
    cores: list,
    pinned:
      pinning === 'none'
        ? []
        : pinning === 'each'
          ? each
          : pinning.map((own) => (own === null ? null : parseCpuList(own))),
  };
}

type Placed = Services['services'][string]['instances'][string];

function instanceOf(
  name: string,
  placed: Placed,
  service: number,
  model: number,
  machine: Names,
  reference_mhz: number,
): ResolvedInstance {
  const { spawn, frequency, context_switch } = placed;
  return {
    name,
    service,
    model,
    machine: machine(placed.machine),
    execution: executionOf(placed),
    ...(spawn === undefined
      ? {}
      : {
          spawn: {
            up_to: spawn.up_to,
            takes_ns: ns(spawn.takes),
            idle_ns: spawn.idle === undefined ? 0 : ns(spawn.idle),
          },
        }),
    frequency_mhz: frequency === undefined ? reference_mhz : megahertz(frequency),
    context_switch_ns: ns(context_switch),
  };
}

/** Instances in the order of their services, a balancer after those that it serves. */
function instancesOf(services: Services, models: readonly ResolvedModel[], model: Names, machine: Names) {
  const reference = (name: string) => models[model(name)].reference_frequency_mhz;
  return Object.entries(services.services).flatMap(([name, given], service) => {
    const { instances, balancer } = given;
    const all = Object.entries(instances).map(([instance, placed]) => {
      const own = placed.model ?? given.model;
      return instanceOf(instance, placed, service, model(own), machine, reference(own));
    });
    if (balancer === undefined) return all;
    const first = balancerName(name, balancer.name);
    return [
      ...all,
      instanceOf(first, balancer, service, model(balancer.model), machine, reference(balancer.model)),
    ];
  });
}

function edgesOf(services: Services, instance: Names): ResolvedServices['edges'] {
  if (services.edges === 'all') return 'all';
  const edges = new Map<string, ResolvedEdge>();
  const add = (from: string, to: string, pool: number | undefined, blocking: boolean) => {
    // The one said last counts.
    const edge = {
      from: from === 'client' ? CLIENT : instance(from),
      to: instance(to),
      pool: pool ?? 0,
      blocking,
    };
    edges.set(`${edge.from} ${edge.to}`, edge);
  };
  for (const { from, to, both_ways, pool, blocking } of services.edges) {
    for (const a of instancesBehind(services, from)) {
      for (const b of instancesBehind(services, to)) {
        add(a, b, pool, blocking);
        // Replies go back on the connection that the call came on.
        if (both_ways && from !== 'client' && !edges.has(`${instance(b)} ${instance(a)}`))
          add(b, a, undefined, false);
      }
    }
  }
  return [...edges.values()];
}

function requestOf(
  name: string,
  request: Request,
  probability: number,
  services: Services,
  service: Names,
): ResolvedRequest {
  const entry = entryOf(request);
  // Nodes that no request reaches would only confuse the counts of parents.
  const reached = reachable(request.nodes, entry);
  const names = Object.keys(request.nodes).filter((node) => reached.has(node));
  const index = indexOf(names);
  const parents = new Map<string, number>();
  for (const node of names) {
    for (const next of request.nodes[node].next) parents.set(next, (parents.get(next) ?? 0) + 1);
  }
  return {
    name,
    probability,
    entry: index(entry),
    nodes: names.map((nodeName) => {
      const node = request.nodes[nodeName];
      const paths = Object.keys(services.models[services.services[node.service].model].paths);
      const path = node.path ?? (paths.length === 1 ? paths[0] : undefined);
      const range = rangeOf(node, services);
      return {
        name: nodeName,
        service: service(node.service),
        path: path === undefined ? NONE : paths.indexOf(path),
        first_stage: range?.first ?? 0,
        last_stage: range?.last ?? NONE,
        next: node.next.map((next) => (next === 'client' ? CLIENT : index(next))),
        parents: Math.max(1, parents.get(nodeName) ?? 0),
        sync: node.sync === undefined ? NONE : index(node.sync),
        hold_connection: node.hold_connection === undefined ? NONE : index(node.hold_connection),
      };
    }),
    replies: parents.get('client') ?? 0,
  };
}

/** Everything filled in. Throws a ConfigError with all errors that the checks find; `checkServices` tells warnings as well. */
export function resolveServices(services: Services): ResolvedServices {
  checkServices(services).throwErrors(placesOf(services));
  const service = indexOf(Object.keys(services.services));
  const model = indexOf(Object.keys(services.models));
  const machine = indexOf(Object.keys(services.machines));
  const models = modelsOf(services);
  const instances = instancesOf(services, models, model, machine);
  const instance = indexOf(instances.map(({ name }) => name));
  const { stack, latency, client_latency, links } = services.network;
  const stackPaths = Object.keys(stack === undefined ? {} : services.models[stack].paths);
  const [send_local, send_remote, receive_remote] = STACK_PATHS.map((name) => stackPaths.indexOf(name));
  const requests = Object.entries(services.requests);
  const shares = probabilities(requests.map(([, { probability }]) => probability));
  const run = runOf(services);
  const power = powerOf(services, service);
  const scheduled = scheduledOf(services);
  return withDefects({
    name: services.name ?? 'services',
    seed: services.seed,
    mode: services.mode,
    ...(services.profile === undefined ? {} : { profile: services.profile }),
    ...(scheduled === undefined ? {} : { scheduled }),
    machines: Object.entries(services.machines).map(([name, given]) => ({
      name,
      cores: given.cores,
      ...(given.network === 'none' ? {} : { network: executionOf(given.network) }),
    })),
    network: {
      stack: stack === undefined ? NONE : model(stack),
      send_local,
      send_remote,
      receive_remote,
      latency_ns: ns(latency),
      client_latency_ns: ns(client_latency ?? latency),
      links: links.map(({ between: [a, b], latency: own }) => ({
        a: machine(a),
        b: machine(b),
        latency_ns: ns(own),
      })),
    },
    models,
    services: Object.entries(services.services).map(([name, given]) => ({
      name,
      model: model(given.model),
      instances: Object.keys(given.instances).map(instance),
      balancer: given.balancer === undefined ? NONE : instance(balancerName(name, given.balancer.name)),
    })),
    instances,
    edges: edgesOf(services, instance),
    requests: requests.map(([name, request], i) => requestOf(name, request, shares[i], services, service)),
    client: clientOf(services.client, run.duration_ns),
    ...(power === undefined ? {} : { power }),
    run,
    compat: services.compat,
  });
}
