// Kinds of requests: references, cycles, fan-in, synchronous calls, the way back to the client.

import type { Findings } from '../findings.js';
import type { Request } from '../schema/requests.js';
import type { Services } from '../schema.js';
import { checkProbabilities } from './models.js';

type Path = (string | number)[];
type Node = Request['nodes'][string];

/** Stages of the path that a node takes; undefined if it is drawn or unknown. */
function stagesOf(node: Node, services: Services): readonly string[] | undefined {
  const model = services.models[services.services[node.service]?.model ?? ''];
  if (model === undefined) return undefined;
  const names = Object.keys(model.paths);
  const name = node.path ?? (names.length === 1 ? names[0] : undefined);
  return name === undefined ? undefined : model.paths[name]?.stages;
}

/** Position of a stage given by name or position; −1 if there is none. */
export function positionOf(stage: string | number, stages: readonly string[]): number {
  if (typeof stage === 'string') return stages.indexOf(stage);
  return stage < stages.length ? stage : -1;
}

/** First and last position of a visit; undefined where they are unknown. */
export function rangeOf(
  node: Node,
  services: Services,
): { first: number; last: number; length: number } | undefined {
  const stages = stagesOf(node, services);
  if (stages === undefined) return undefined;
  const first = node.from === undefined ? 0 : positionOf(node.from, stages);
  const last = node.to === undefined ? stages.length - 1 : positionOf(node.to, stages);
  return first < 0 || last < 0 ? undefined : { first, last, length: stages.length };
}

/** Every node that can be reached from `start`, itself included. */
export function reachable(nodes: Request['nodes'], start: string): Set<string> {
  const seen = new Set([start]);
  for (const name of seen) {
    for (const next of nodes[name]?.next ?? [])
      if (next !== 'client' && Object.hasOwn(nodes, next)) seen.add(next);
  }
  return seen;
}

function checkVisit(node: Node, path: Path, services: Services, findings: Findings): void {
  if (!findings.known([...path, 'service'], 'service', node.service, Object.keys(services.services))) return;
  const model = services.models[services.services[node.service].model];
  if (model === undefined) return;
  const names = Object.keys(model.paths);
  if (node.path !== undefined && !findings.known([...path, 'path'], 'path', node.path, names)) return;
  if (node.path === undefined && names.length > 1) {
    if (Object.values(model.paths).every(({ probability }) => probability === undefined)) {
      findings.error(
        [...path, 'path'],
        'missing-path',
        `missing; the model has the paths ${names.join(', ')} without probabilities`,
      );
    }
    for (const key of ['from', 'to'] as const) {
      if (node[key] !== undefined) {
        findings.error(
          [...path, key],
          'stage-of-drawn-path',
          'a visit that draws its path goes through the whole of it',
        );
      }
    }
    return;
  }
  const stages = stagesOf(node, services);
  if (stages === undefined) return;
  for (const key of ['from', 'to'] as const) {
    const stage = node[key];
    if (stage === undefined || positionOf(stage, stages) >= 0) continue;
    if (typeof stage === 'string') findings.known([...path, key], 'stage', stage, stages);
    else
      findings.error(
        [...path, key],
        'stage-out-of-range',
        `the path has stages 0 to ${stages.length - 1}, not ${stage}`,
      );
  }
  const range = rangeOf(node, services);
  if (range !== undefined && range.last < range.first) {
    findings.error([...path, 'to'], 'stage-order', 'the last stage comes before the first');
  }
}

function checkSync(
  name: string,
  nodes: Request['nodes'],
  path: Path,
  services: Services,
  findings: Findings,
): void {
  const node = nodes[name];
  const { sync } = node;
  if (sync === undefined) return;
  const at = [...path, 'sync'];
  if (!findings.known(at, 'node', sync, Object.keys(nodes))) return;
  const reply = nodes[sync];
  const range = rangeOf(node, services);
  if (sync === name) findings.error(at, 'sync-self', 'a node cannot wait for itself');
  if (range !== undefined && range.last === range.length - 1) {
    findings.error(
      at,
      'sync-at-end',
      'the node leaves its service at the end of its path; nothing is left to do with the reply',
    );
  }
  if (reply.service !== node.service || reply.path !== node.path) {
    findings.error(at, 'sync-elsewhere', `"${sync}" is not in the same service and path`);
  } else if (range !== undefined) {
    const begins = rangeOf(reply, services)?.first;
    if (begins !== undefined && begins !== range.last + 1) {
      findings.error(
        at,
        'sync-stage',
        `"${sync}" begins at stage ${begins}, not at ${range.last + 1}, where this node ends`,
      );
    }
  }
  node.next.forEach((child, i) => {
    const to = [...path, 'next', i];
    if (child === 'client')
      findings.error(to, 'sync-lost', 'goes to the client, and the thread waits for the reply');
    else if (!Object.hasOwn(nodes, child)) return;
    else if (nodes[child].service === node.service) {
      findings.error(to, 'sync-reentry', `"${child}" enters the service that waits for the reply`);
    } else if (!reachable(nodes, child).has(sync)) {
      findings.error(to, 'sync-lost', `"${child}" does not lead to "${sync}", for which the thread waits`);
    }
  });
  const stages = stagesOf(node, services);
  const stage = stages === undefined || range === undefined ? undefined : stages[range.last];
  if (
    stage !== undefined &&
    services.models[services.services[node.service].model]?.stages[stage]?.blocks_thread === false
  ) {
    findings.note(
      at,
      'sync-without-blocking',
      `stage "${stage}" does not block; the thread takes other jobs meanwhile`,
    );
  }
}

/** A visit that ends within its path goes on there, in exactly one of the next nodes. */
function checkContinuation(
  name: string,
  nodes: Request['nodes'],
  path: Path,
  services: Services,
  findings: Findings,
): void {
  const node = nodes[name];
  const range = rangeOf(node, services);
  const inside = node.next.filter((child) => child !== 'client' && nodes[child]?.service === node.service);
  if (node.sync !== undefined || range === undefined) return;
  if (range.last < range.length - 1) {
    if (inside.length !== 1) {
      findings.error(
        [...path, 'to'],
        'continuation',
        `the visit ends within its path, so exactly one next node must go on in "${node.service}", not ${inside.length}`,
      );
    } else {
      const begins = rangeOf(nodes[inside[0]], services)?.first;
      if (begins !== undefined && begins !== range.last + 1) {
        findings.error(
          [...path, 'to'],
          'continuation',
          `"${inside[0]}" begins at stage ${begins}, not at ${range.last + 1}`,
        );
      }
    }
  } else if (inside.length > 0) {
    findings.error(
      [...path, 'next', node.next.indexOf(inside[0])],
      'send-to-itself',
      `"${inside[0]}" is in the same service, which the visit has just left`,
    );
  }
}

/** A cycle of nodes reachable from `start`, or undefined. */
function cycleFrom(nodes: Request['nodes'], start: string): string[] | undefined {
  const done = new Set<string>();
  const trail: string[] = [];
  const visit = (name: string): string[] | undefined => {
    const at = trail.indexOf(name);
    if (at >= 0) return [...trail.slice(at), name];
    if (done.has(name) || !Object.hasOwn(nodes, name)) return undefined;
    trail.push(name);
    for (const next of nodes[name].next) {
      const cycle = visit(next);
      if (cycle !== undefined) return cycle;
    }
    trail.pop();
    done.add(name);
    return undefined;
  };
  return visit(start);
}

/** The first of its nodes begins a request that names no entry. */
export function entryOf(request: Request): string {
  return request.entry ?? Object.keys(request.nodes)[0];
}

function checkRequest(name: string, request: Request, services: Services, findings: Findings): void {
  const base: Path = ['requests', name];
  const { nodes } = request;
  const names = Object.keys(nodes);
  if (request.entry !== undefined && !findings.known([...base, 'entry'], 'node', request.entry, names))
    return;
  for (const [nodeName, node] of Object.entries(nodes)) {
    const path = [...base, 'nodes', nodeName];
    if (nodeName === 'client') findings.error(path, 'reserved-name', '"client" is the client');
    checkVisit(node, path, services, findings);
    const seen = new Set<string>();
    node.next.forEach((next, i) => {
      if (next !== 'client') findings.known([...path, 'next', i], 'node', next, names);
      if (seen.has(next)) findings.error([...path, 'next', i], 'duplicate-next', `"${next}" twice`);
      seen.add(next);
    });
    checkSync(nodeName, nodes, path, services, findings);
    checkContinuation(nodeName, nodes, path, services, findings);
    const { hold_connection: held } = node;
    if (held === undefined) continue;
    const at = [...path, 'hold_connection'];
    if (!findings.known(at, 'node', held, names)) continue;
    if (nodes[held].service !== node.service)
      findings.error(at, 'hold-elsewhere', `"${held}" is in another service`);
    else if (!reachable(nodes, nodeName).has(held))
      findings.error(at, 'hold-lost', `this node does not lead to "${held}"`);
  }
  const entry = entryOf(request);
  const cycle = cycleFrom(nodes, entry);
  if (cycle !== undefined) {
    findings.error(
      [...base, 'nodes', cycle[0], 'next'],
      'cycle',
      `a request goes round for ever: ${cycle.join(' → ')}`,
    );
  }
  const reached = reachable(nodes, entry);
  for (const nodeName of names) {
    if (reached.has(nodeName)) continue;
    const path = [...base, 'nodes', nodeName];
    const starved = nodes[nodeName].next.find((next) => reached.has(next));
    if (starved === undefined)
      findings.warning(path, 'unreachable-node', `nothing leads from "${entry}" to "${nodeName}"`);
    else {
      findings.error(
        path,
        'fan-in-starved',
        `nothing leads to "${nodeName}", but "${starved}" waits for it: no request would end`,
      );
    }
  }
  if (cycle === undefined && ![...reached].some((nodeName) => nodes[nodeName].next.includes('client'))) {
    findings.error([...base, 'nodes'], 'no-way-back', 'no node leads back to the client');
  }
}

export function checkRequests(services: Services, findings: Findings): void {
  const requests = Object.entries(services.requests);
  for (const [name, request] of requests) checkRequest(name, request, services, findings);
  if (requests.length > 1) {
    const given = requests.map(([name, { probability }]) => ({
      path: ['requests', name, 'probability'],
      value: probability,
    }));
    if (given.every(({ value }) => value === undefined)) {
      findings.error(given[0].path, 'missing-probability', 'missing; there are several kinds of requests');
    } else checkProbabilities(given, 'requests', findings);
  } else {
    const [[name, { probability }]] = requests;
    checkProbabilities(
      [{ path: ['requests', name, 'probability'], value: probability }],
      'requests',
      findings,
    );
  }
}
