// From the image to records: services, nodes of routes, edges with bounds.

import {
  NONE,
  SECTION_SV_EDGES,
  SECTION_SV_NODES,
  SECTION_SV_REACH,
  SECTION_SV_SERVICES,
  SVN_CHILD_COUNT,
  SVN_CHILDREN,
  SVN_END,
  SVN_HOLD,
  SVN_PARENTS,
  SVN_PATH,
  SVN_SERVICE,
  SVN_START,
  SVN_STRIDE,
  SVN_SYNC,
} from '../abi';
import { section, sectionRows } from '../model';
import { EDGE_BYTES, EDGE_FROM, EDGE_LIMIT, EDGE_LINES, EDGE_TO, LINE_SHIFT } from './connection';
import {
  INSTANCE_BYTES,
  INSTANCE_EDGE_COUNT,
  INSTANCE_EDGES,
  INSTANCE_HOLDS,
  INSTANCE_REACH,
  INSTANCE_REACH_COUNT,
  NODE_BYTES,
  NODE_CHILD_COUNT,
  NODE_CHILDREN,
  NODE_END,
  NODE_FLAGS,
  NODE_HOLD,
  NODE_INDEX,
  NODE_JOINS,
  NODE_PARENTS,
  NODE_PATH,
  NODE_RELEASES,
  NODE_SERVICE,
  NODE_START,
  NODE_STAYS,
  NODE_SYNC,
  SERVICE_BALANCER,
  SERVICE_BYTES,
  SERVICE_INDEX,
  SERVICE_INSTANCE_COUNT,
  SERVICE_INSTANCES,
} from './records';
import { allocate, connections, edgeCount, edges, instances, listAt, nodes, services } from './tables';

export function loadRoutes(): void {
  const serviceRows = section(SECTION_SV_SERVICES);
  const serviceCount = sectionRows();
  for (let i: u32 = 0; i < serviceCount; i++) {
    const row = serviceRows + ((i as usize) << 4);
    const service = services + i * (SERVICE_BYTES as u32);
    const n = load<u32>(row, 4);
    const list = allocate(n, 4);
    for (let k: u32 = 0; k < n; k++) {
      store<u32>(list + (k << 2), instances + listAt(load<u32>(row) + k) * (INSTANCE_BYTES as u32));
    }
    store<u32>(service, list, SERVICE_INSTANCES);
    store<u32>(service, n, SERVICE_INSTANCE_COUNT);
    store<u32>(service, i, SERVICE_INDEX);
    const balancer = load<u32>(row, 8);
    store<u32>(service, balancer == NONE ? 0 : instances + balancer * (INSTANCE_BYTES as u32), SERVICE_BALANCER);
  }
  const from = section(SECTION_SV_NODES);
  const n = sectionRows();
  for (let i: u32 = 0; i < n; i++) loadNode(nodes + i * (NODE_BYTES as u32), from + (i as usize) * SVN_STRIDE, i);
  for (let i: u32 = 0; i < n; i++) {
    const node = nodes + i * (NODE_BYTES as u32);
    const sync = load<u32>(node, NODE_SYNC);
    if (sync != 0) store<u32>(sync, load<u32>(sync, NODE_FLAGS) | NODE_JOINS, NODE_FLAGS);
    const hold = load<u32>(node, NODE_HOLD);
    if (hold != 0) {
      store<u32>(hold, load<u32>(hold, NODE_FLAGS) | NODE_RELEASES, NODE_FLAGS);
      holdConnections(load<u32>(node, NODE_SERVICE));
    }
    if (load<u32>(node, NODE_PARENTS) > 1 && load<u32>(node, NODE_SERVICE) != 0) store<u32>(node, load<u32>(node, NODE_FLAGS) | NODE_JOINS, NODE_FLAGS);
    for (let k: u32 = 0, count = load<u32>(node, NODE_CHILD_COUNT); k < count; k++) {
      const child = load<u32>(load<u32>(node, NODE_CHILDREN) + (k << 2));
      if (load<u32>(child, NODE_SERVICE) == load<u32>(node, NODE_SERVICE)) store<u32>(node, load<u32>(node, NODE_FLAGS) | NODE_STAYS, NODE_FLAGS);
    }
  }
}

function loadNode(node: u32, row: usize, index: u32): void {
  const service = load<u32>(row, SVN_SERVICE);
  const sync = load<u32>(row, SVN_SYNC);
  const count = load<u32>(row, SVN_CHILD_COUNT);
  const children = allocate(count, 4);
  for (let k: u32 = 0; k < count; k++) {
    store<u32>(children + (k << 2), nodes + listAt(load<u32>(row, SVN_CHILDREN) + k) * (NODE_BYTES as u32));
  }
  store<u32>(node, service == NONE ? 0 : services + service * (SERVICE_BYTES as u32), NODE_SERVICE);
  store<u32>(node, load<u32>(row, SVN_PATH), NODE_PATH);
  store<u32>(node, load<u32>(row, SVN_START), NODE_START);
  store<u32>(node, load<u32>(row, SVN_END), NODE_END);
  store<u32>(node, load<u32>(row, SVN_PARENTS), NODE_PARENTS);
  store<u32>(node, sync == NONE ? 0 : nodes + sync * (NODE_BYTES as u32), NODE_SYNC);
  const hold = load<u32>(row, SVN_HOLD);
  store<u32>(node, hold == NONE ? 0 : nodes + hold * (NODE_BYTES as u32), NODE_HOLD);
  store<u32>(node, children, NODE_CHILDREN);
  store<u32>(node, count, NODE_CHILD_COUNT);
  store<u32>(node, index, NODE_INDEX);
}

export let clientEdges: u32 = 0;
export let clientEdgeCount: u32 = 0;

export function loadEdges(): void {
  const from = section(SECTION_SV_EDGES);
  clientEdges = allocate(edgeCount, 4);
  clientEdgeCount = 0;
  for (let i: u32 = 0; i < edgeCount; i++) {
    const row = from + ((i as usize) << 4);
    const edge = edges + i * (EDGE_BYTES as u32);
    const source = load<u32>(row);
    store<u32>(edge, load<u32>(row, 8), EDGE_LIMIT);
    store<u32>(edge, instances + load<u32>(row, 4) * (INSTANCE_BYTES as u32), EDGE_TO);
    if (load<u32>(row, 12) != 0) store<u32>(edge, allocate(connections, 1 << LINE_SHIFT), EDGE_LINES);
    if (source == NONE) {
      store<u32>(clientEdges + (clientEdgeCount << 2), edge);
      clientEdgeCount++;
      continue;
    }
    const instance = instances + source * (INSTANCE_BYTES as u32);
    store<u32>(edge, instance, EDGE_FROM);
    if (load<u32>(instance, INSTANCE_EDGES) == 0) store<u32>(instance, allocate(edgeCount, 4), INSTANCE_EDGES);
    const n = load<u32>(instance, INSTANCE_EDGE_COUNT);
    store<u32>(load<u32>(instance, INSTANCE_EDGES) + (n << 2), edge);
    store<u32>(instance, n + 1, INSTANCE_EDGE_COUNT);
  }
}

export function loadReach(): void {
  const from = section(SECTION_SV_REACH);
  const n = sectionRows();
  for (let i: u32 = 0; i < n; i++) {
    const row = from + ((i as usize) << 4);
    const instance = instances + load<u32>(row) * (INSTANCE_BYTES as u32);
    if (load<u32>(instance, INSTANCE_REACH) == 0) store<u32>(instance, allocate(n, 12), INSTANCE_REACH);
    const used = load<u32>(instance, INSTANCE_REACH_COUNT);
    const at = load<u32>(instance, INSTANCE_REACH) + used * 12;
    const count = load<u32>(row, 12);
    const list = allocate(count, 4);
    for (let k: u32 = 0; k < count; k++) {
      store<u32>(list + (k << 2), instances + listAt(load<u32>(row, 8) + k) * (INSTANCE_BYTES as u32));
    }
    store<u32>(at, services + load<u32>(row, 4) * (SERVICE_BYTES as u32));
    store<u32>(at, list, 4);
    store<u32>(at, count, 8);
    store<u32>(instance, used + 1, INSTANCE_REACH_COUNT);
  }
}

/** Instances of a service whose connections are held have a line for each. */
function holdConnections(service: u32): void {
  const list = load<u32>(service, SERVICE_INSTANCES);
  for (let k: u32 = 0, n = load<u32>(service, SERVICE_INSTANCE_COUNT); k < n; k++) {
    const instance = load<u32>(list + (k << 2));
    if (load<u32>(instance, INSTANCE_HOLDS) == 0) store<u32>(instance, allocate(connections, 1 << LINE_SHIFT), INSTANCE_HOLDS);
  }
}
