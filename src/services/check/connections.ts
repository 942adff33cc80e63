// Whether every hop of a request finds an instance to go to.

import type { Findings } from '../findings.js';
import type { Services } from '../schema.js';
import { entryOf, reachable } from './requests.js';

/** Name of the instance that is a service's balancer. */
export function balancerName(service: string, name: string | undefined): string {
  return name ?? `${service}-balancer`;
}

/** Instances behind the name of a service or instance. */
export function instancesBehind(services: Services, name: string): string[] {
  const service = services.services[name];
  return service === undefined ? [name] : Object.keys(service.instances);
}

/** Directed pairs "from → to" of instances; undefined if all are connected. */
export function connectedPairs(services: Services): Set<string> | undefined {
  if (services.edges === 'all') return undefined;
  const pairs = new Set<string>();
  for (const { from, to, both_ways } of services.edges) {
    for (const a of instancesBehind(services, from)) {
      for (const b of instancesBehind(services, to)) {
        pairs.add(`${a} → ${b}`);
        if (both_ways) pairs.add(`${b} → ${a}`);
      }
    }
  }
  return pairs;
}

/** Where only links have a latency, a hop between two machines without one takes no time, which is hardly meant. */
function checkLinks(services: Services, findings: Findings): void {
  const { latency, links } = services.network;
  if (latency !== '0s' || links.length === 0) return;
  const known = new Set(links.flatMap(({ between: [a, b] }) => [`${a} ${b}`, `${b} ${a}`]));
  const machinesOf = (service: string) =>
    Object.values(services.services[service].instances).map(({ machine }) => machine);
  const told = new Set<string>();
  for (const [name, { nodes }] of Object.entries(services.requests)) {
    for (const [nodeName, { service, next }] of Object.entries(nodes)) {
      next.forEach((to, i) => {
        if (to === 'client') return;
        const hops = machinesOf(service).flatMap((a) =>
          machinesOf(nodes[to].service).map((b) => [a, b].sort()),
        );
        const missing = hops.find(([a, b]) => a !== b && !known.has(`${a} ${b}`) && !told.has(`${a} ${b}`));
        if (missing === undefined) return;
        told.add(missing.join(' '));
        findings.warning(
          ['requests', name, 'nodes', nodeName, 'next', i],
          'missing-link',
          `no link joins "${missing[0]}" and "${missing[1]}", so that the hop takes no time`,
        );
      });
    }
  }
}

export function checkConnections(services: Services, findings: Findings): void {
  checkLinks(services, findings);
  const pairs = connectedPairs(services);
  if (pairs === undefined) return;
  for (const [name, request] of Object.entries(services.requests)) {
    const { nodes } = request;
    const told = new Set<string>();
    for (const nodeName of reachable(nodes, entryOf(request))) {
      const node = nodes[nodeName];
      node.next.forEach((next, i) => {
        if (next === 'client' || nodes[next].service === node.service) return;
        const hop = `${node.service} → ${nodes[next].service}`;
        if (told.has(hop)) return;
        told.add(hop);
        const targets = Object.keys(services.services[nodes[next].service].instances);
        const stuck = Object.keys(services.services[node.service].instances).filter(
          (from) => !targets.some((to) => pairs.has(`${from} → ${to}`)),
        );
        if (stuck.length === 0) return;
        findings.error(
          ['requests', name, 'nodes', nodeName, 'next', i],
          'missing-edge',
          `no edge leads from ${stuck.map((instance) => `"${instance}"`).join(', ')} to an instance of "${nodes[next].service}"`,
        );
      });
    }
  }
}
