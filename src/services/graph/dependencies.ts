// Who calls whom, and how often per request.

import { CLIENT, type ResolvedServices } from '../resolved.js';

export interface Call {
  /** Services, or CLIENT. */
  from: number;
  to: number;
  /** Mean number of calls per request of the client. */
  per_request: number;
}

export interface Dependencies {
  /** In the order in which requests come to them. */
  calls: Call[];
  /** Hops from the client, by service; −1 if no request comes there. */
  depth: number[];
}

/**
 * Calls between services. A hop back to a service that the request comes from is the reply to its call, not a call: along a path of
 * nodes the services that wait for replies form a stack.
 */
export function dependencies(services: ResolvedServices): Dependencies {
  const calls = new Map<string, Call>();
  const depth = services.services.map(() => -1);
  const count = (from: number, to: number, probability: number) => {
    const key = `${from} ${to}`;
    const known = calls.get(key);
    if (known !== undefined) known.per_request += probability;
    else calls.set(key, { from, to, per_request: probability });
  };
  for (const { nodes, entry, probability } of services.requests) {
    const seen = new Set<string>();
    const todo: { node: number; stack: number[] }[] = [
      { node: entry, stack: [CLIENT, nodes[entry].service] },
    ];
    count(CLIENT, nodes[entry].service, probability);
    for (let at = todo.shift(); at !== undefined; at = todo.shift()) {
      const { node, stack } = at;
      const { service } = nodes[node];
      const hops = stack.length - 2;
      if (depth[service] < 0 || depth[service] > hops) depth[service] = hops;
      for (const next of nodes[node].next) {
        // Each edge of the request counts once, however many ways lead to it.
        if (next === CLIENT || seen.has(`${node} ${next}`)) continue;
        seen.add(`${node} ${next}`);
        const target = nodes[next].service;
        const back = stack.lastIndexOf(target);
        if (back >= 0) todo.push({ node: next, stack: stack.slice(0, back + 1) });
        else {
          count(service, target, probability);
          todo.push({ node: next, stack: [...stack, target] });
        }
      }
    }
  }
  return { calls: [...calls.values()], depth };
}
