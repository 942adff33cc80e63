// Machines, services, instances and what connects them.

import { parseCpuList } from '../../config/units.js';
import type { Findings } from '../findings.js';
import type { Service } from '../schema/deployment.js';
import type { Services } from '../schema.js';
import { balancerName } from './connections.js';

type Path = (string | number)[];

interface Execution {
  threads?: number;
  queues?: number;
  queue_pairs?: number;
  cores: string;
  pinning: 'none' | 'each' | (string | null)[];
}

/** Paths of the network stack's model that something would take. */
export const STACK_PATHS = ['send_local', 'send_remote', 'receive_remote'] as const;

function checkExecution(given: Execution, cores: number, path: Path, findings: Findings): void {
  const outside = (list: string, at: Path) => {
    const wrong = parseCpuList(list).filter((core) => core >= cores);
    if (wrong.length === 0) return;
    findings.error(at, 'core-out-of-range', `the machine has cores 0-${cores - 1}, not ${wrong.join(', ')}`);
  };
  outside(given.cores, [...path, 'cores']);
  if (typeof given.pinning === 'string') return;
  const number = given.threads ?? given.queues ?? given.queue_pairs ?? 0;
  if (given.pinning.length > number) {
    findings.error(
      [...path, 'pinning'],
      'pinning-length',
      `there are ${number} to pin, not ${given.pinning.length}`,
    );
  }
  given.pinning.forEach((list, i) => {
    if (list !== null) outside(list, [...path, 'pinning', i]);
  });
}

type Placed = Service['instances'][string];

/** Instances of a service and its balancer, each with its name and place. */
function placedOf(name: string, { instances, balancer }: Service): [string, Placed, Path][] {
  const path: Path = ['services', name];
  const all = Object.entries(instances).map(([instance, placed]): [string, Placed, Path] => [
    instance,
    placed,
    [...path, 'instances', instance],
  ]);
  if (balancer !== undefined) all.push([balancerName(name, balancer.name), balancer, [...path, 'balancer']]);
  return all;
}

/** Who uses each core of each machine. Sharing is possible, but hardly ever meant. */
function checkSharing(services: Services, findings: Findings): void {
  const users = new Map<string, Map<number, string>>();
  const use = (machine: string, who: string, list: string, path: Path) => {
    const cores = users.get(machine) ?? new Map<number, string>();
    users.set(machine, cores);
    const shared = new Map<string, number[]>();
    for (const core of parseCpuList(list)) {
      const other = cores.get(core);
      if (other === undefined) cores.set(core, who);
      else shared.set(other, [...(shared.get(other) ?? []), core]);
    }
    for (const [other, common] of shared) {
      findings.warning(
        path,
        'shared-cores',
        `${who} shares core${common.length > 1 ? 's' : ''} ${common.join(', ')} of "${machine}" with ${other}`,
      );
    }
  };
  for (const [name, { network }] of Object.entries(services.machines)) {
    if (network !== 'none')
      use(name, 'the network stack', network.cores, ['machines', name, 'network', 'cores']);
  }
  for (const [service, given] of Object.entries(services.services)) {
    for (const [name, { machine, cores }, at] of placedOf(service, given)) {
      use(machine, `"${name}"`, cores, [...at, 'cores']);
    }
  }
}

function checkNetwork(services: Services, findings: Findings): void {
  const { stack, links } = services.network;
  const machines = Object.keys(services.machines);
  const withNetwork = machines.filter((name) => services.machines[name].network !== 'none');
  if (stack === undefined && withNetwork.length > 0) {
    findings.error(
      ['network', 'stack'],
      'missing-stack',
      `missing; machine "${withNetwork[0]}" executes a network stack, which needs a model`,
    );
  }
  if (
    stack !== undefined &&
    findings.known(['network', 'stack'], 'model', stack, Object.keys(services.models))
  ) {
    const paths = Object.keys(services.models[stack].paths);
    for (const path of STACK_PATHS) {
      if (!paths.includes(path)) {
        findings.error(['models', stack, 'paths'], 'stack-path', `the network stack needs a path "${path}"`);
      }
    }
  }
  const seen = new Set<string>();
  links.forEach(({ between }, i) => {
    const path = ['network', 'links', i, 'between'];
    const known = between.map((name, j) => findings.known([...path, j], 'machine', name, machines));
    if (!known.every(Boolean)) return;
    if (between[0] === between[1]) findings.error(path, 'self-link', `"${between[0]}" twice`);
    const key = JSON.stringify([...between].sort());
    if (seen.has(key)) findings.error(path, 'duplicate-link', 'this link is given twice');
    seen.add(key);
  });
}

/** The model of one instance must offer the paths that requests name. */
function checkOwnModel(
  own: string | undefined,
  { model }: Service,
  path: Path,
  services: Services,
  findings: Findings,
): void {
  if (own === undefined || own === model || !findings.known(path, 'model', own, Object.keys(services.models)))
    return;
  const shape = (name: string) =>
    Object.entries(services.models[name]?.paths ?? {}).map(([pathName, { stages }]) => [
      pathName,
      stages.length,
    ]);
  if (services.models[model] !== undefined && JSON.stringify(shape(own)) !== JSON.stringify(shape(model))) {
    findings.error(path, 'other-paths', `"${own}" has other paths than "${model}", the model of the service`);
  }
}

function checkServices(services: Services, findings: Findings): void {
  const models = Object.keys(services.models);
  const machines = Object.keys(services.machines);
  const owners = new Map<string, string>();
  for (const [name, service] of Object.entries(services.services)) {
    const path: Path = ['services', name];
    if (name === 'client') findings.error(path, 'reserved-name', '"client" is the client');
    findings.known([...path, 'model'], 'model', service.model, models);
    const { balancer } = service;
    if (balancer !== undefined)
      findings.known([...path, 'balancer', 'model'], 'model', balancer.model, models);
    for (const [instanceName, instance, at] of placedOf(name, service)) {
      const owner = owners.get(instanceName);
      if (owner !== undefined) {
        findings.error(at, 'duplicate-instance', `"${instanceName}" is an instance of "${owner}" already`);
      }
      owners.set(instanceName, name);
      if (instance !== balancer) checkOwnModel(instance.model, service, [...at, 'model'], services, findings);
      if (findings.known([...at, 'machine'], 'machine', instance.machine, machines)) {
        checkExecution(instance, services.machines[instance.machine].cores, at, findings);
      }
      const { spawn, threads } = instance;
      if (spawn === undefined) continue;
      if (threads === undefined) findings.error([...at, 'spawn'], 'spawn', 'only threads are spawned');
      else if (spawn.up_to < threads) {
        findings.error([...at, 'spawn', 'up_to'], 'spawn', `there are ${threads} threads from the start`);
      }
    }
  }
}

function checkEdges(services: Services, findings: Findings): void {
  if (services.edges === 'all') return;
  const names = [
    ...Object.keys(services.services),
    ...Object.values(services.services).flatMap(({ instances }) => Object.keys(instances)),
  ];
  services.edges.forEach((edge, i) => {
    const path: Path = ['edges', i];
    const ends = [edge.from, edge.to].map((name, j) =>
      findings.known([...path, j === 0 ? 'from' : 'to'], 'service or instance', name, ['client', ...names]),
    );
    if (!ends.every(Boolean)) return;
    if (edge.from === edge.to) findings.error([...path, 'to'], 'self-edge', `"${edge.to}" twice`);
    if (edge.to === 'client')
      findings.error(
        [...path, 'to'],
        'edge-to-client',
        'every request returns to the client; say what it may begin with',
      );
  });
}

export function checkDeployment(services: Services, findings: Findings): void {
  for (const [name, { network, cores }] of Object.entries(services.machines)) {
    if (network !== 'none') checkExecution(network, cores, ['machines', name, 'network'], findings);
  }
  checkServices(services, findings);
  checkNetwork(services, findings);
  checkEdges(services, findings);
  checkSharing(services, findings);
}
