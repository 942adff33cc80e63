// The tables of the services engine: arrays of records in the arena, made once from the model image, and where each begins.

import {
  SECTION_SV_CLIENT,
  SECTION_SV_CORES,
  SECTION_SV_EDGES,
  SECTION_SV_INSTANCES,
  SECTION_SV_LISTS,
  SECTION_SV_MACHINES,
  SECTION_SV_NODES,
  SECTION_SV_PATHS,
  SECTION_SV_SERVICES,
  SECTION_SV_STAGES,
  SECTION_SV_TIMINGS,
  SVT_STRIDE,
} from '../abi';
import { arenaAllocate } from '../core/arena';
import { section, sectionRows } from '../model';
import { EDGE_BYTES } from './connection';
import {
  CORE_BYTES,
  INSTANCE_BYTES,
  MACHINE_BYTES,
  NODE_BYTES,
  PATH_BYTES,
  SERVICE_BYTES,
  STAGE_BYTES,
} from './records';

/** The model has services. */
export let serving: bool = false;
/** Records of each kind, one after the other. */
export let instances: u32 = 0;
export let instanceCount: u32 = 0;
export let cores: u32 = 0;
export let machines: u32 = 0;
export let services: u32 = 0;
export let nodes: u32 = 0;
export let stages: u32 = 0;
export let paths: u32 = 0;
export let timings: u32 = 0;
export let edges: u32 = 0;
export let edgeCount: u32 = 0;
/** SECTION_SV_LISTS. */
let lists: usize = 0;
/** Connections of the client. */
export let connections: u32 = 0;

/** Zeroed memory for records, also none. */
export function allocate(records: u32, bytes: usize): u32 {
  return arenaAllocate((records as usize) * bytes) as u32;
}

function recordsFor(id: u32, bytes: usize): u32 {
  section(id);
  return allocate(sectionRows(), bytes);
}

/** Makes room for everything that the image has. False: it has no services. */
export function tablesInit(): bool {
  instanceCount = 0;
  edgeCount = 0;
  serving = section(SECTION_SV_INSTANCES) != 0;
  if (!serving) return false;
  instanceCount = sectionRows();
  instances = allocate(instanceCount, INSTANCE_BYTES);
  section(SECTION_SV_EDGES);
  edgeCount = sectionRows();
  edges = allocate(edgeCount, EDGE_BYTES);
  cores = recordsFor(SECTION_SV_CORES, CORE_BYTES);
  machines = recordsFor(SECTION_SV_MACHINES, MACHINE_BYTES);
  services = recordsFor(SECTION_SV_SERVICES, SERVICE_BYTES);
  nodes = recordsFor(SECTION_SV_NODES, NODE_BYTES);
  stages = recordsFor(SECTION_SV_STAGES, STAGE_BYTES);
  paths = recordsFor(SECTION_SV_PATHS, PATH_BYTES);
  timings = recordsFor(SECTION_SV_TIMINGS, SVT_STRIDE as usize);
  lists = section(SECTION_SV_LISTS);
  connections = load<u64>(section(SECTION_SV_CLIENT)) as u32;
  return true;
}

// @ts-ignore: decorator
@inline
export function listAt(index: u32): u32 {
  return load<u32>(lists + ((index as usize) << 2));
}

/** Address of a number of SECTION_SV_LISTS. */
// @ts-ignore: decorator
@inline
export function listAddress(index: u32): u32 {
  return (lists + ((index as usize) << 2)) as u32;
}

// @ts-ignore: decorator
@inline
export function coreAt(index: u32): u32 {
  return cores + index * (CORE_BYTES as u32);
}
