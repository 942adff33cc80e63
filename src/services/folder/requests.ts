// path.json → kinds of requests.

import type { ServicesInput } from '../schema.js';
import type { ServiceNames, Tell } from './deployment.js';
import type { Origin } from './models.js';
import { Names } from './names.js';
import type { PathNode, Paths } from './shapes.js';

type Path = (string | number)[];
type RequestInput = ServicesInput['requests'][string];

export interface PathContext {
  old: boolean;
  names: ServiceNames;
  /** Code paths of a service, with their stages; undefined if there is no such service. */
  pathsOf: (service: string) => { name: string; stages: readonly string[] }[] | undefined;
  origin: Origin;
  tell: Tell;
  warn: Tell;
}

const isClient = ({ service_name }: PathNode) => service_name === 'client';

/** A stage by its name, or by its position where the path has it twice. */
function stageAt(position: number, stages: readonly string[]): string | number {
  const name = stages[position];
  return name === undefined || stages.indexOf(name) !== stages.lastIndexOf(name) ? position : name;
}

function visitOf(node: PathNode, path: Path, context: PathContext) {
  const { code_path: codePath, start_stage: start, end_stage: end } = node;
  const service = context.names.service(node.service_name, node.service_domain);
  const paths = context.pathsOf(service);
  if (paths === undefined) {
    context.tell(
      [...path, 'service_name'],
      'unknown-service',
      `graph.json has no service "${node.service_name}"${node.service_domain === '' ? '' : ` of domain "${node.service_domain}"`}`,
    );
    return { service };
  }
  if (codePath >= paths.length) {
    context.tell(
      [...path, 'code_path'],
      'path-out-of-range',
      `the model has code paths 0 to ${paths.length - 1}, not ${codePath}`,
    );
    return { service };
  }
  if (codePath === -1) {
    if (start !== 0)
      context.tell(
        [...path, 'start_stage'],
        'stage-of-drawn-path',
        'a node that draws its code path goes through the whole of it',
      );
    if (end !== -1)
      context.tell(
        [...path, 'end_stage'],
        'stage-of-drawn-path',
        'a node that draws its code path goes through the whole of it',
      );
    return { service };
  }
  const { name, stages } = paths[codePath];
  const range = `the code path has stages 0 to ${stages.length - 1}`;
  if (start >= stages.length)
    context.tell([...path, 'start_stage'], 'stage-out-of-range', `${range}, not ${start}`);
  if (end >= stages.length)
    context.tell([...path, 'end_stage'], 'stage-out-of-range', `${range}, not ${end}`);
  return {
    service,
    ...(paths.length === 1 ? {} : { path: name }),
    ...(start === 0 ? {} : { from: stageAt(start, stages) }),
    ...(end === -1 ? {} : { to: stageAt(end, stages) }),
  };
}

function requestOf(
  { nodes, entry, probability }: Paths[number],
  index: number,
  only: boolean,
  context: PathContext,
): RequestInput {
  const { tell, warn, origin, old } = context;
  const base: Path = [index];
  const byId = new Map<number, PathNode>();
  const names = new Names();
  const nameOf = new Map<number, string>();
  nodes.forEach((node, i) => {
    if (byId.has(node.node_id))
      tell([...base, 'nodes', i, 'node_id'], 'duplicate-node', `node_id ${node.node_id} twice`);
    byId.set(node.node_id, node);
    nameOf.set(node.node_id, isClient(node) ? 'client' : names.fresh(`${node.service_name}_${node.node_id}`));
  });
  const first = byId.get(entry);
  if (first === undefined) tell([...base, 'entry'], 'unknown-node', `no node has the node_id ${entry}`);
  else if (isClient(first)) tell([...base, 'entry'], 'entry-client', 'a request cannot begin at the client');
  const result: RequestInput['nodes'] = {};
  nodes.forEach((node, i) => {
    const path = [...base, 'nodes', i];
    if (isClient(node)) {
      if (node.childs.length > 0)
        tell([...path, 'childs'], 'client-goes-on', 'the request ends at the client');
      return;
    }
    const name = nameOf.get(node.node_id) ?? '';
    const at: Path = ['nodes', name];
    origin(at, path);
    for (const [part, source] of NODE_FIELDS) origin([...at, part], [...path, source]);
    const next: string[] = [];
    node.childs.forEach((child, j) => {
      const to = nameOf.get(child);
      origin([...at, 'next', next.length], [...path, 'childs', j]);
      if (to === undefined) tell([...path, 'childs', j], 'unknown-node', `no node has the node_id ${child}`);
      else if (next.includes(to)) {
        if (to !== 'client' || node.childs.indexOf(child) < j) {
          tell([...path, 'childs', j], 'duplicate-next', `node ${child} twice`);
        } else
          warn([...path, 'childs', j], 'two-replies', 'a second copy to the client, which changes nothing');
      } else next.push(to);
    });
    if (next.length === 0) {
      if (node.childs.length === 0) {
        tell(
          [...path, 'childs'],
          'no-way-back',
          'the request ends here and never reaches the client; the release accepts it and counts no latency',
        );
      }
      next.push('client');
    }
    if (node.sync && node.sync_node_id === undefined) {
      tell([...path, 'sync_node_id'], 'missing-field', 'missing; a sync node needs the node that waits');
    }
    const reply = node.sync && node.sync_node_id !== undefined ? nameOf.get(node.sync_node_id) : undefined;
    if (node.sync && node.sync_node_id !== undefined && (reply === undefined || reply === 'client')) {
      tell(
        [...path, 'sync_node_id'],
        'unknown-node',
        `no node of a service has the node_id ${node.sync_node_id}`,
      );
    }
    result[name] = {
      ...visitOf(node, path, context),
      next,
      ...(reply === undefined || reply === 'client' ? {} : { sync: reply }),
    };
  });
  const begins = first === undefined || isClient(first) ? undefined : nameOf.get(entry);
  return {
    ...(only && (old ? probability === 1 : probability === 100)
      ? {}
      : { probability: old ? probability : probability / 100 }),
    ...(begins === undefined || begins === Object.keys(result)[0] ? {} : { entry: begins }),
    nodes: result,
  };
}

const NODE_FIELDS = [
  ['service', 'service_name'],
  ['path', 'code_path'],
  ['from', 'start_stage'],
  ['to', 'end_stage'],
  ['next', 'childs'],
  ['sync', 'sync_node_id'],
] as const;

export function requestsOf(paths: Paths, context: PathContext): ServicesInput['requests'] {
  const names = new Names();
  const requests: ServicesInput['requests'] = {};
  paths.forEach((path, i) => {
    const name = names.fresh(`path_${path.micro_service_path_id}`);
    if (name !== `path_${path.micro_service_path_id}`) {
      context.tell(
        [i, 'micro_service_path_id'],
        'duplicate-path',
        `micro_service_path_id ${path.micro_service_path_id} twice`,
      );
    }
    const origin: Origin = (part, source) => context.origin(['requests', name, ...part], source);
    origin([], [i]);
    origin(['probability'], [i, 'probability']);
    origin(['entry'], [i, 'entry']);
    origin(['nodes'], [i, 'nodes']);
    requests[name] = requestOf(path, i, paths.length === 1, { ...context, origin });
  });
  return requests;
}
