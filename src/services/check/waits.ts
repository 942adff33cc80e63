// Deadlocks that can be seen without running: what requests hold while they wait for something else.
//
// A request holds a thread from a `sync` node whose stage blocks until its reply node; a connection of a pool from the hop until
// the request is back in the service that it left; a connection of the client from `hold_connection` until the node named. All of
// these are bounded, so that a cycle in "holds while it needs" can come to a stand-still.

import type { Findings } from '../findings.js';
import type { Request } from '../schema/requests.js';
import type { Services } from '../schema.js';
import { entryOf, rangeOf, reachable } from './requests.js';

type Path = (string | number)[];

interface Hold {
  what: string;
  path: Path;
  /** Nodes that are visited while it is held. */
  during: Set<string>;
}

/** Whether a node ends in a stage that blocks its thread. */
function blocks(node: Request['nodes'][string], services: Services): boolean {
  if (node.sync === undefined) return false;
  const model = services.models[services.services[node.service].model];
  const range = rangeOf(node, services);
  const paths = Object.keys(model.paths);
  const path = model.paths[node.path ?? paths[0]];
  return range !== undefined && model.stages[path.stages[range.last]]?.blocks_thread === true;
}

/** Nodes after `start` up to the first ones that satisfy `ends`, these excluded. */
function between(nodes: Request['nodes'], start: string, ends: (name: string) => boolean): Set<string> {
  const seen = new Set<string>();
  const todo = [...nodes[start].next];
  for (let name = todo.pop(); name !== undefined; name = todo.pop()) {
    if (name === 'client' || seen.has(name) || ends(name)) continue;
    seen.add(name);
    todo.push(...nodes[name].next);
  }
  return seen;
}

const threadsOf = (service: string) => `the threads of "${service}"`;
const poolOf = (from: string, to: string) => `the connections from "${from}" to "${to}"`;

/** Pools by service, from → to. */
function pools(services: Services): Set<string> {
  const found = new Set<string>();
  if (services.edges === 'all') return found;
  const serviceOf = (name: string) =>
    Object.hasOwn(services.services, name)
      ? name
      : (Object.entries(services.services).find(([, { instances }]) => Object.hasOwn(instances, name))?.[0] ??
        name);
  for (const { from, to, pool, both_ways } of services.edges) {
    if (pool === undefined) continue;
    found.add(poolOf(serviceOf(from), serviceOf(to)));
    if (both_ways) found.add(poolOf(serviceOf(to), serviceOf(from)));
  }
  return found;
}

function holdsOf(name: string, request: Request, services: Services, known: Set<string>): Hold[] {
  const holds: Hold[] = [];
  const { nodes } = request;
  for (const nodeName of reachable(nodes, entryOf(request))) {
    const node = nodes[nodeName];
    const path: Path = ['requests', name, 'nodes', nodeName];
    if (blocks(node, services)) {
      const during = between(nodes, nodeName, (other) => other === node.sync);
      holds.push({ what: threadsOf(node.service), path: [...path, 'sync'], during });
    }
    const { hold_connection: until } = node;
    if (until !== undefined) {
      const during = between(nodes, nodeName, (other) => other === until);
      holds.push({
        what: `the client's connections to "${node.service}"`,
        path: [...path, 'hold_connection'],
        during,
      });
    }
    node.next.forEach((next, i) => {
      if (next === 'client') return;
      const what = poolOf(node.service, nodes[next].service);
      if (!known.has(what)) return;
      const during = between(nodes, nodeName, (other) => nodes[other].service === node.service);
      holds.push({ what, path: [...path, 'next', i], during });
    });
  }
  return holds;
}

/** What is needed to visit `nodeName` and to go on from there. */
function needs(nodes: Request['nodes'], nodeName: string, services: Services, known: Set<string>): string[] {
  const node = nodes[nodeName];
  const hops = node.next
    .filter((next) => next !== 'client')
    .map((next) => poolOf(node.service, nodes[next].service))
    .filter((pool) => known.has(pool));
  const instances = Object.values(services.services[node.service].instances);
  const bounded = instances.some(({ threads }) => threads !== undefined);
  return bounded ? [threadsOf(node.service), ...hops] : hops;
}

export function checkWaits(services: Services, findings: Findings): void {
  const known = pools(services);
  const waits = new Map<string, Map<string, Path>>();
  for (const [name, request] of Object.entries(services.requests)) {
    for (const { what, path, during } of holdsOf(name, request, services, known)) {
      for (const nodeName of during) {
        for (const need of needs(request.nodes, nodeName, services, known)) {
          const from = waits.get(what) ?? new Map<string, Path>();
          waits.set(what, from);
          if (!from.has(need)) from.set(need, path);
        }
      }
    }
  }
  // Only what is itself held across a wait can close a cycle.
  const done = new Set<string>();
  const trail: string[] = [];
  const visit = (what: string): void => {
    const at = trail.indexOf(what);
    if (at >= 0) {
      const cycle = trail.slice(at);
      const path = waits.get(cycle[0])?.get(cycle[1] ?? cycle[0]) ?? [];
      const again = cycle.length === 1;
      findings.warning(
        path,
        'possible-deadlock',
        again
          ? `a request that holds one of ${what} needs another one: when all are held so, nothing goes on`
          : `requests can wait for each other: ${[...cycle, cycle[0]].join(', held while waiting for ')}`,
      );
      return;
    }
    if (done.has(what)) return;
    trail.push(what);
    for (const need of waits.get(what)?.keys() ?? []) visit(need);
    trail.pop();
    done.add(what);
  };
  for (const what of waits.keys()) visit(what);
  checkCertain(services, findings);
}

/** A thread that waits for a reply that only it could give. */
function checkCertain(services: Services, findings: Findings): void {
  for (const [name, request] of Object.entries(services.requests)) {
    const { nodes } = request;
    for (const nodeName of reachable(nodes, entryOf(request))) {
      const node = nodes[nodeName];
      if (!blocks(node, services)) continue;
      const { instances, model } = services.services[node.service];
      const inner = [...between(nodes, nodeName, (other) => other === node.sync)].find(
        (other) => nodes[other].service === node.service,
      );
      if (inner === undefined) continue;
      const all = Object.values(instances);
      const single = all.length === 1 && all[0].threads === 1 && all[0].spawn === undefined;
      if (!single && !services.models[model].bind_connections) continue;
      findings.error(
        ['requests', name, 'nodes', nodeName, 'sync'],
        'deadlock',
        `the thread waits for "${node.sync}" while "${inner}" needs ${single ? 'the only thread of the service' : 'the same thread, to which the connection is bound'}`,
      );
    }
  }
}
