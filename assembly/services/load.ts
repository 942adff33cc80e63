// From the sections of the model image to the records of the services engine. The host has checked the references.

import {
  KIND_QUEUE_PAIRS,
  KIND_THREADS,
  NONE,
  P_SEED,
  SECTION_SV_CLIENT,
  SECTION_SV_CORES,
  SECTION_SV_EDGES,
  SECTION_SV_EPOCHS,
  SECTION_SV_INSTANCES,
  SECTION_SV_LINKS,
  SECTION_SV_LISTS,
  SECTION_SV_MACHINES,
  SECTION_SV_NODES,
  SECTION_SV_PATHS,
  SECTION_SV_POINTS,
  SECTION_SV_REACH,
  SECTION_SV_ROUTES,
  SECTION_SV_SERVICES,
  SECTION_SV_STAGES,
  SECTION_SV_TIMINGS,
  SECTION_SV_WIRES,
  SVI_ACTIVE,
  SVI_CORE_COUNT,
  SVI_CORES,
  SVI_COUNT,
  SVI_FLAGS,
  SVI_IDLE_NS,
  SVI_KIND,
  SVI_MACHINE,
  SVI_PATH_COUNT,
  SVI_PATHS,
  SVI_PINNING,
  SVI_SPAWN_NS,
  SVI_STATS,
  SVI_STEP,
  SVI_STEPS,
  SVI_STRIDE,
  SVI_SWITCH_NS,
  SVI_TEMPLATE,
  SVI_TIER,
  SVM_LINK_COUNT,
  SVM_LINKS,
  SVM_NETWORK,
  SVM_STRIDE,
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
  SVP_PRIORITY,
  SVP_PROBABILITY,
  SVP_STAGE_COUNT,
  SVP_STAGES,
  SVP_STRIDE,
  SVS_CRITICAL,
  SVS_FLAGS,
  SVS_IDENTITY,
  SVS_LIMIT,
  SVS_REPEAT,
  SVS_REPEAT_DRAWN,
  SVS_STRIDE,
  SVS_TAKE,
  SVS_TIMING,
  SVT_POINTS,
  SVT_STRIDE,
  SVC_TIERS,
  SV_BIND,
  TAKE_ONE,
} from '../abi';
import { arenaAllocate } from '../core/arena';
import { param } from '../core/counters';
import { fail, FAIL_TASKS, failure } from '../core/failure';
import { MAX_TASKS } from '../core/layout';
import { entityKey, PURPOSE_PROGRAM, streamKey } from '../core/random';
import { taskFromTemplate } from '../kernel/spawn';
import {
  CLASS_DEDICATED,
  FLAG_BACKGROUND,
  STATE_BLOCKED,
  TASK_CLASS,
  TASK_CPU,
  TASK_FLAGS,
  TASK_LAST_CPU,
  TASK_MASK,
  TASK_QUEUE,
  TASK_RECENT_CPU,
  TASK_STATE,
  taskAllocate,
} from '../kernel/task';
import { maskAddress, maskFirst } from '../kernel/mask';
import { section, sectionRows } from '../model';
import { callsReset } from './call';
import { clientInit, clientReset } from './client';
import { EDGE_BYTES, EDGE_FROM, EDGE_LIMIT, EDGE_LINES, EDGE_TO, LINE_SHIFT } from './connection';
import { coresInit } from './core';
import { monitorInit, monitorReset, tierOf } from './monitor';
import { networkInit } from './network';
import { requestsInit } from './request';
import { byConnection } from './stagequeue';
import { threadStride } from './thread';
import {
  CONNECTION_SHIFT,
  CORE_BYTES,
  CORE_SHARER_COUNT,
  CORE_SHARERS,
  INSTANCE_ACTIVE,
  INSTANCE_AT_LEAST,
  INSTANCE_BYTES,
  INSTANCE_CONNECTIONS,
  INSTANCE_EDGE_COUNT,
  INSTANCE_EDGES,
  INSTANCE_FLAGS,
  INSTANCE_HOLDS,
  INSTANCE_IDLE_NS,
  INSTANCE_INDEX,
  INSTANCE_KIND,
  INSTANCE_MACHINE,
  INSTANCE_PATH_COUNT,
  INSTANCE_PATHS,
  INSTANCE_QUEUE_COUNT,
  INSTANCE_QUEUES,
  INSTANCE_REACH,
  INSTANCE_REACH_COUNT,
  INSTANCE_SPAWN_NS,
  INSTANCE_STATS,
  INSTANCE_STEP,
  INSTANCE_STEP_BUSY,
  INSTANCE_STEPS,
  INSTANCE_SWITCH_NS,
  INSTANCE_THREAD_COUNT,
  INSTANCE_THREADS,
  INSTANCE_TIER,
  MACHINE_BYTES,
  MACHINE_INDEX,
  MACHINE_LINK_COUNT,
  MACHINE_LINKS,
  MACHINE_NETWORK,
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
  PATH_BYTES,
  PATH_INDEX,
  PATH_PRIORITY,
  PATH_PROBABILITY,
  PATH_QUEUE,
  PATH_STAGE_COUNT,
  PATH_STAGES,
  SERVICE_BALANCER,
  SERVICE_BYTES,
  SERVICE_INDEX,
  SERVICE_INSTANCE_COUNT,
  SERVICE_INSTANCES,
  STAGE_BYTES,
  STAGE_CRITICAL,
  STAGE_FLAGS,
  STAGE_INDEX,
  STAGE_LAST,
  STAGE_LIMIT,
  STAGE_PATH,
  STAGE_PEER_COUNT,
  STAGE_PEERS,
  STAGE_QUEUE_CONNECTIONS,
  STAGE_QUEUE_SERVER_COUNT,
  STAGE_QUEUE_SERVERS,
  STAGE_QUEUE_SHIFT,
  STAGE_REPEAT,
  STAGE_REPEAT_DRAWN,
  STAGE_TAKE,
  STAGE_TIMING,
  STAGE_TIMINGS,
  THREAD_BYTES,
  THREAD_CORE_COUNT,
  THREAD_CORES,
  THREAD_FLAGS,
  THREAD_INSTANCE,
  THREAD_OWNS_CORE,
  THREAD_QUEUE_COUNT,
  THREAD_QUEUES,
  THREAD_TASK,
  THREAD_TIMED,
  TIMED_CLIENT,
  TIMED_MONITOR,
  TIMED_SERVER,
  TIMED_THREAD,
  TIMED_WIRE,
  WIRE_BYTES,
  WIRE_LATENCY,
  WIRE_TASK,
} from './records';

/** The model has services. */
export let serving: bool = false;
/** Records of the instances, one after the other, and their number. */
export let instances: u32 = 0;
export let instanceCount: u32 = 0;

let lists: usize = 0;
/** Connections of the client. */
export let connections: u32 = 0;
let cores: u32 = 0;
let machines: u32 = 0;
let services: u32 = 0;
let nodes: u32 = 0;
let stages: u32 = 0;
let paths: u32 = 0;
let timings: u32 = 0;

// @ts-ignore: decorator
@inline
function listAt(index: u32): u32 {
  return load<u32>(lists + ((index as usize) << 2));
}

function allocate(records: u32, bytes: usize): u32 {
  return arenaAllocate((records as usize) * bytes) as u32;
}

export function servicesInit(): void {
  serving = false;
  clientReset();
  instanceCount = 0;
  callsReset();
  const from = section(SECTION_SV_INSTANCES);
  if (from == 0) return;
  serving = true;
  instanceCount = sectionRows();
  instances = allocate(instanceCount, INSTANCE_BYTES);
  lists = section(SECTION_SV_LISTS);
  connections = load<u64>(section(SECTION_SV_CLIENT)) as u32;
  loadTimings();
  loadStages();
  monitorReset(load<u64>(section(SECTION_SV_CLIENT) + SVC_TIERS * 8) as u32);
  loadMachines();
  loadCores(from);
  let scheduled = false;
  for (let i: u32 = 0; i < instanceCount && failure == 0; i++) {
    const row = from + (i as usize) * SVI_STRIDE;
    loadInstance(instances + i * (INSTANCE_BYTES as u32), row, i);
    if (load<u32>(row, SVI_TEMPLATE) != NONE) scheduled = true;
  }
  coresInit(scheduled);
  loadRoutes();
  loadEdges();
  loadReach();
  loadWires();
  loadClient();
}

// ---- times and stages ------------------------------------------------------------------------------------

function loadTimings(): void {
  const points = section(SECTION_SV_POINTS);
  const from = section(SECTION_SV_TIMINGS);
  const n = sectionRows();
  timings = allocate(n, SVT_STRIDE as usize);
  memory.copy(timings, from, (n as usize) * SVT_STRIDE);
  for (let i: u32 = 0; i < n; i++) {
    const at = timings + i * SVT_STRIDE;
    store<u32>(at, (points + ((load<u32>(at, SVT_POINTS) as usize) << 4)) as u32, SVT_POINTS);
  }
}

function loadStages(): void {
  const from = section(SECTION_SV_STAGES);
  const n = sectionRows();
  stages = allocate(n, STAGE_BYTES);
  for (let i: u32 = 0; i < n; i++) {
    const row = from + (i as usize) * SVS_STRIDE;
    const stage = stages + i * (STAGE_BYTES as u32);
    store<u32>(stage, load<u32>(row, SVS_TAKE), STAGE_TAKE);
    store<u32>(stage, load<u32>(row, SVS_LIMIT), STAGE_LIMIT);
    store<u32>(stage, load<u32>(row, SVS_FLAGS), STAGE_FLAGS);
    store<u32>(stage, load<u32>(row, SVS_REPEAT), STAGE_REPEAT);
    store<u32>(stage, load<u32>(row, SVS_REPEAT_DRAWN), STAGE_REPEAT_DRAWN);
    store<u32>(stage, timings + load<u32>(row, SVS_TIMING) * SVT_STRIDE, STAGE_TIMINGS);
    store<u32>(stage, load<u32>(stage, STAGE_TIMINGS), STAGE_TIMING);
  }
  const pathRows = section(SECTION_SV_PATHS);
  const pathCount = sectionRows();
  paths = allocate(pathCount, PATH_BYTES);
  for (let i: u32 = 0; i < pathCount; i++) {
    const row = pathRows + (i as usize) * SVP_STRIDE;
    const path = paths + i * (PATH_BYTES as u32);
    const first = stages + load<u32>(row, SVP_STAGES) * (STAGE_BYTES as u32);
    const length = load<u32>(row, SVP_STAGE_COUNT);
    store<u32>(path, first, PATH_STAGES);
    store<u32>(path, length, PATH_STAGE_COUNT);
    store<u32>(path, (lists + ((load<u32>(row, SVP_PRIORITY) as usize) << 2)) as u32, PATH_PRIORITY);
    store<u64>(path, load<u64>(row, SVP_PROBABILITY), PATH_PROBABILITY);
    for (let k: u32 = 0; k < length; k++) {
      const stage = first + k * (STAGE_BYTES as u32);
      store<u32>(stage, k, STAGE_INDEX);
      store<u32>(stage, path, STAGE_PATH);
      store<u32>(stage, (k + 1 == length) as u32, STAGE_LAST);
    }
  }
}

/** Stages of one identity: those that take more than one call are served together; those with a critical section share it. */
function joinStages(row: usize): void {
  const first = load<u32>(row, SVI_PATHS);
  const n = load<u32>(row, SVI_PATH_COUNT);
  const stageRows = section(SECTION_SV_STAGES);
  const begin = (load<u32>(paths + first * (PATH_BYTES as u32), PATH_STAGES) - stages) / (STAGE_BYTES as u32);
  let end = begin;
  for (let p: u32 = 0; p < n; p++) end += load<u32>(paths + (first + p) * (PATH_BYTES as u32), PATH_STAGE_COUNT);
  for (let i = begin; i < end; i++) {
    const stage = stages + i * (STAGE_BYTES as u32);
    const stageRow = stageRows + (i as usize) * SVS_STRIDE;
    const identity = load<u32>(stageRow, SVS_IDENTITY);
    const limit = load<u32>(stageRow, SVS_CRITICAL);
    let same: u32 = 0;
    let earlier: u32 = NONE;
    for (let k = begin; k < end; k++) {
      if (load<u32>(stageRows + (k as usize) * SVS_STRIDE, SVS_IDENTITY) != identity) continue;
      same++;
      if (k < i && earlier == NONE) earlier = k;
    }
    if (earlier != NONE) {
      const other = stages + earlier * (STAGE_BYTES as u32);
      store<u32>(stage, load<u32>(other, STAGE_PEERS), STAGE_PEERS);
      store<u32>(stage, load<u32>(other, STAGE_PEER_COUNT), STAGE_PEER_COUNT);
      store<u32>(stage, load<u32>(other, STAGE_CRITICAL), STAGE_CRITICAL);
      continue;
    }
    if (limit != 0) {
      const section = allocate(1, 8);
      store<u32>(section, limit);
      store<u32>(stage, section, STAGE_CRITICAL);
    }
    if (same < 2 || load<u32>(stage, STAGE_TAKE) == TAKE_ONE) continue;
    const peers = allocate(same, 4);
    let used: u32 = 0;
    for (let k = begin; k < end; k++) {
      if (load<u32>(stageRows + (k as usize) * SVS_STRIDE, SVS_IDENTITY) != identity) continue;
      store<u32>(peers + (used << 2), stages + k * (STAGE_BYTES as u32));
      used++;
    }
    store<u32>(stage, peers, STAGE_PEERS);
    store<u32>(stage, used, STAGE_PEER_COUNT);
  }
}

// ---- machines and cores ----------------------------------------------------------------------------------

function loadMachines(): void {
  const links = section(SECTION_SV_LINKS);
  const from = section(SECTION_SV_MACHINES);
  const n = sectionRows();
  machines = allocate(n, MACHINE_BYTES);
  for (let i: u32 = 0; i < n; i++) {
    const row = from + (i as usize) * SVM_STRIDE;
    const machine = machines + i * (MACHINE_BYTES as u32);
    const network = load<u32>(row, SVM_NETWORK);
    const count = load<u32>(row, SVM_LINK_COUNT);
    store<u32>(machine, network == NONE ? 0 : instances + network * (INSTANCE_BYTES as u32), MACHINE_NETWORK);
    store<u32>(machine, count, MACHINE_LINK_COUNT);
    store<u32>(machine, i, MACHINE_INDEX);
    if (count == 0) continue;
    const list = allocate(count, 8);
    store<u32>(machine, list, MACHINE_LINKS);
    for (let k: u32 = 0; k < count; k++) {
      const link = links + ((load<u32>(row, SVM_LINKS) + k) as usize) * 16;
      store<u32>(list + (k << 3), machines + load<u32>(link, 4) * (MACHINE_BYTES as u32));
      // The wire's index, until loadWires() knows the address.
      store<u32>(list + (k << 3), load<u32>(link, 8), 4);
    }
  }
}

/** Cores, and for those that several instances may use the list of these. */
function loadCores(instanceRows: usize): void {
  section(SECTION_SV_CORES);
  const n = sectionRows();
  cores = allocate(n, CORE_BYTES);
  for (let pass = 0; pass < 2; pass++) {
    for (let i: u32 = 0; i < instanceCount; i++) {
      const row = instanceRows + (i as usize) * SVI_STRIDE;
      for (let k: u32 = 0, count = load<u32>(row, SVI_CORE_COUNT); k < count; k++) {
        const core = coreAt(listAt(load<u32>(row, SVI_CORES) + k));
        const sharers = load<u32>(core, CORE_SHARER_COUNT);
        if (pass == 1) store<u32>(load<u32>(core, CORE_SHARERS) + (sharers << 2), instances + i * (INSTANCE_BYTES as u32));
        store<u32>(core, sharers + 1, CORE_SHARER_COUNT);
      }
    }
    if (pass == 1) break;
    for (let c: u32 = 0; c < n; c++) {
      const core = coreAt(c);
      store<u32>(core, allocate(load<u32>(core, CORE_SHARER_COUNT), 4), CORE_SHARERS);
      store<u32>(core, 0, CORE_SHARER_COUNT);
    }
  }
}

// @ts-ignore: decorator
@inline
function coreAt(index: u32): u32 {
  return cores + index * (CORE_BYTES as u32);
}

function coresOf(first: u32, count: u32): u32 {
  const list = allocate(count, 4);
  for (let k: u32 = 0; k < count; k++) store<u32>(list + (k << 2), coreAt(listAt(first + k)));
  return list;
}

// ---- instances -------------------------------------------------------------------------------------------

function loadInstance(instance: u32, row: usize, index: u32): void {
  const pathCount = load<u32>(row, SVI_PATH_COUNT);
  const path = paths + load<u32>(row, SVI_PATHS) * (PATH_BYTES as u32);
  const kind = load<u32>(row, SVI_KIND);
  store<u32>(instance, kind, INSTANCE_KIND);
  store<u32>(instance, index, INSTANCE_INDEX);
  store<u32>(instance, path, INSTANCE_PATHS);
  store<u32>(instance, pathCount, INSTANCE_PATH_COUNT);
  store<u32>(instance, machines + load<u32>(row, SVI_MACHINE) * (MACHINE_BYTES as u32), INSTANCE_MACHINE);
  store<u32>(instance, load<u32>(row, SVI_FLAGS), INSTANCE_FLAGS);
  store<u32>(instance, load<u32>(row, SVI_STATS), INSTANCE_STATS);
  store<u32>(instance, load<u32>(row, SVI_STEP), INSTANCE_STEP);
  store<u32>(instance, load<u32>(row, SVI_STEPS), INSTANCE_STEPS);
  const tier = load<u32>(row, SVI_TIER);
  if (tier != NONE) store<u32>(instance, tierOf(tier, instance), INSTANCE_TIER);
  if (load<u32>(row, SVI_STEPS) > 1) store<u32>(instance, allocate(load<u32>(row, SVI_STEPS), 8), INSTANCE_STEP_BUSY);
  store<u32>(instance, load<u32>(row, SVI_ACTIVE), INSTANCE_ACTIVE);
  store<u32>(instance, load<u32>(row, SVI_ACTIVE), INSTANCE_AT_LEAST);
  store<u32>(instance, load<u32>(row, SVI_SWITCH_NS), INSTANCE_SWITCH_NS);
  store<u64>(instance, load<u64>(row, SVI_SPAWN_NS), INSTANCE_SPAWN_NS);
  store<u64>(instance, load<u64>(row, SVI_IDLE_NS), INSTANCE_IDLE_NS);
  joinStages(row);
  let queues: u32 = 0;
  for (let p: u32 = 0; p < pathCount; p++) {
    const at = path + p * (PATH_BYTES as u32);
    store<u32>(at, p, PATH_INDEX);
    store<u32>(at, queues, PATH_QUEUE);
    queues += load<u32>(at, PATH_STAGE_COUNT);
    setStep(at, load<u32>(row, SVI_STEP));
  }
  if (kind == KIND_THREADS) loadThreads(instance, row, queues);
  else loadServers(instance, row);
}

/** The path's stages take the times of a frequency step from now on. */
export function setStep(path: u32, step: u32): void {
  for (let k: u32 = 0, n = load<u32>(path, PATH_STAGE_COUNT); k < n; k++) {
    const stage = load<u32>(path, PATH_STAGES) + k * (STAGE_BYTES as u32);
    store<u32>(stage, load<u32>(stage, STAGE_TIMINGS) + step * SVT_STRIDE, STAGE_TIMING);
  }
}

/** First core and number of them for the i-th thread or queue of an instance. */
let pinnedFirst: u32 = 0;
let pinnedCount: u32 = 0;

function pinned(row: usize, i: u32): void {
  pinnedFirst = load<u32>(row, SVI_CORES);
  pinnedCount = load<u32>(row, SVI_CORE_COUNT);
  const pinning = load<u32>(row, SVI_PINNING);
  if (pinning == NONE) return;
  const count = listAt(pinning + 2 * i + 1);
  if (count == 0) return;
  pinnedFirst = listAt(pinning + 2 * i);
  pinnedCount = count;
}

/** No other instance uses a core of this one, and there is one for each of its threads. */
function ownsCores(row: usize): bool {
  if (load<u32>(row, SVI_CORE_COUNT) < load<u32>(row, SVI_COUNT)) return false;
  for (let k: u32 = 0, n = load<u32>(row, SVI_CORE_COUNT); k < n; k++) {
    if (load<u32>(coreAt(listAt(load<u32>(row, SVI_CORES) + k)), CORE_SHARER_COUNT) > 1) return false;
  }
  if (load<u32>(row, SVI_PINNING) == NONE) return true;
  // Pinned threads own theirs if each has one of its own.
  for (let i: u32 = 0, n = load<u32>(row, SVI_COUNT); i < n; i++) {
    pinned(row, i);
    if (pinnedCount != 1) return false;
    const core = listAt(pinnedFirst);
    for (let k: u32 = 0; k < i; k++) {
      pinned(row, k);
      if (listAt(pinnedFirst) == core) return false;
    }
  }
  return true;
}

function loadThreads(instance: u32, row: usize, queues: u32): void {
  const n = load<u32>(row, SVI_COUNT);
  const stride = threadStride(instance);
  const threads = allocate(n, stride as usize);
  const owns = ownsCores(row);
  store<u32>(instance, threads, INSTANCE_THREADS);
  store<u32>(instance, n, INSTANCE_THREAD_COUNT);
  if ((load<u32>(row, SVI_FLAGS) & SV_BIND) != 0) store<u32>(instance, allocate(connections, 4), INSTANCE_CONNECTIONS);
  for (let i: u32 = 0; i < n && failure == 0; i++) {
    const thread = threads + i * stride;
    store<u32>(thread, TIMED_THREAD, THREAD_TIMED);
    store<u32>(thread, instance, THREAD_INSTANCE);
    pinned(row, i);
    store<u32>(thread, coresOf(pinnedFirst, pinnedCount), THREAD_CORES);
    store<u32>(thread, pinnedCount, THREAD_CORE_COUNT);
    if (owns) store<u32>(thread, THREAD_OWNS_CORE, THREAD_FLAGS);
    store<u32>(thread, allocate(queues, 1 << STAGE_QUEUE_SHIFT), THREAD_QUEUES);
    store<u32>(thread, queues, THREAD_QUEUE_COUNT);
    loadQueues(instance, thread);
    store<u32>(thread, makeTask(thread, row, i), THREAD_TASK);
  }
}

function loadQueues(instance: u32, thread: u32): void {
  for (let p: u32 = 0, n = load<u32>(instance, INSTANCE_PATH_COUNT); p < n; p++) {
    const path = load<u32>(instance, INSTANCE_PATHS) + p * (PATH_BYTES as u32);
    for (let k: u32 = 0, length = load<u32>(path, PATH_STAGE_COUNT); k < length; k++) {
      const stage = load<u32>(path, PATH_STAGES) + k * (STAGE_BYTES as u32);
      if (!byConnection(load<u32>(stage, STAGE_TAKE))) continue;
      const q = load<u32>(thread, THREAD_QUEUES) + ((load<u32>(path, PATH_QUEUE) + k) << STAGE_QUEUE_SHIFT);
      store<u32>(q, allocate(connections, 1 << CONNECTION_SHIFT), STAGE_QUEUE_CONNECTIONS);
    }
  }
}

function loadServers(instance: u32, row: usize): void {
  const n = load<u32>(row, SVI_CORE_COUNT);
  const each = load<u32>(row, SVI_COUNT);
  const queueCount: u32 = load<u32>(row, SVI_KIND) == KIND_QUEUE_PAIRS ? each << 1 : each;
  const servers = allocate(n, THREAD_BYTES);
  const queues = allocate(queueCount, 1 << STAGE_QUEUE_SHIFT);
  store<u32>(instance, servers, INSTANCE_THREADS);
  store<u32>(instance, n, INSTANCE_THREAD_COUNT);
  store<u32>(instance, queues, INSTANCE_QUEUES);
  store<u32>(instance, queueCount, INSTANCE_QUEUE_COUNT);
  for (let i: u32 = 0; i < n && failure == 0; i++) {
    const server = servers + i * (THREAD_BYTES as u32);
    const first = load<u32>(row, SVI_CORES) + i;
    store<u32>(server, TIMED_SERVER, THREAD_TIMED);
    store<u32>(server, instance, THREAD_INSTANCE);
    store<u32>(server, coresOf(first, 1), THREAD_CORES);
    store<u32>(server, 1, THREAD_CORE_COUNT);
    if (load<u32>(coreAt(listAt(first)), CORE_SHARER_COUNT) == 1) store<u32>(server, THREAD_OWNS_CORE, THREAD_FLAGS);
    store<u32>(server, allocate(queueCount, 4), THREAD_QUEUES);
    store<u32>(server, makeTask(server, row, i), THREAD_TASK);
  }
  for (let q: u32 = 0; q < queueCount; q++) {
    const queue = queues + (q << STAGE_QUEUE_SHIFT);
    pinned(row, q % each);
    const list = allocate(pinnedCount, 4);
    let used: u32 = 0;
    for (let k: u32 = 0; k < pinnedCount; k++) {
      for (let i: u32 = 0; i < n; i++) {
        if (listAt(load<u32>(row, SVI_CORES) + i) != listAt(pinnedFirst + k)) continue;
        const server = servers + i * (THREAD_BYTES as u32);
        const mine = load<u32>(server, THREAD_QUEUE_COUNT);
        store<u32>(load<u32>(server, THREAD_QUEUES) + (mine << 2), queue);
        store<u32>(server, mine + 1, THREAD_QUEUE_COUNT);
        store<u32>(list + (used << 2), server);
        used++;
      }
    }
    store<u32>(queue, list, STAGE_QUEUE_SERVERS);
    store<u32>(queue, used, STAGE_QUEUE_SERVER_COUNT);
  }
}

/** The task of a thread, server, wire or client: its timer, or what the kernel schedules. */
function makeTask(record: u32, row: usize, ordinal: u32): u32 {
  const template = row == 0 ? NONE : load<u32>(row, SVI_TEMPLATE);
  let t: u32;
  if (template == NONE) {
    t = taskAllocate();
    if (t == 0) {
      fail(FAIL_TASKS, 0, 0, MAX_TASKS);
      return 0;
    }
    store<u8>(t, CLASS_DEDICATED, TASK_CLASS);
    store<u16>(t, FLAG_BACKGROUND as u16, TASK_FLAGS);
  } else {
    t = taskFromTemplate(template + ordinal, 0, NONE, NONE, entityKey(streamKey(param(P_SEED), PURPOSE_PROGRAM, template + 0x10000), ordinal));
    if (t == 0) return 0;
    // It doesn't keep the run alive by itself, but it moves requests on.
    store<u16>(t, (load<u16>(t, TASK_FLAGS) & ~FLAG_BACKGROUND) as u16, TASK_FLAGS);
    const first = maskFirst(maskAddress(load<u32>(t, TASK_MASK)));
    const cpu = first < 0 ? 0 : (first as u32);
    store<u32>(t, cpu, TASK_CPU);
    store<u32>(t, cpu, TASK_RECENT_CPU);
    store<u16>(t, cpu as u16, TASK_LAST_CPU);
  }
  store<u8>(t, STATE_BLOCKED, TASK_STATE);
  store<u32>(t, record, TASK_QUEUE);
  return t;
}

// ---- routes, wires, the client ---------------------------------------------------------------------------

function loadRoutes(): void {
  const serviceRows = section(SECTION_SV_SERVICES);
  const serviceCount = sectionRows();
  services = allocate(serviceCount, SERVICE_BYTES);
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
  nodes = allocate(n, NODE_BYTES);
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

/** Records of the bounded edges, one after the other, and their number. */
export let edges: u32 = 0;
export let edgeCount: u32 = 0;
let clientEdges: u32 = 0;
let clientEdgeCount: u32 = 0;

function loadEdges(): void {
  const from = section(SECTION_SV_EDGES);
  edgeCount = sectionRows();
  edges = allocate(edgeCount, EDGE_BYTES);
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

function loadReach(): void {
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

function loadWires(): void {
  const from = section(SECTION_SV_WIRES);
  const n = sectionRows();
  const wires = allocate(n, WIRE_BYTES);
  for (let i: u32 = 0; i < n; i++) {
    const wire = wires + i * (WIRE_BYTES as u32);
    store<u32>(wire, TIMED_WIRE);
    store<u32>(wire, makeTask(wire, 0, 0), WIRE_TASK);
    store<u64>(wire, load<u64>(from + ((i as usize) << 3)), WIRE_LATENCY);
  }
  networkInit(wires);
  section(SECTION_SV_MACHINES);
  for (let i: u32 = 0, count = sectionRows(); i < count; i++) {
    const machine = machines + i * (MACHINE_BYTES as u32);
    for (let k: u32 = 0; k < load<u32>(machine, MACHINE_LINK_COUNT); k++) {
      const link = load<u32>(machine, MACHINE_LINKS) + (k << 3);
      store<u32>(link, wires + load<u32>(link, 4) * (WIRE_BYTES as u32), 4);
    }
  }
}

function loadClient(): void {
  const from = section(SECTION_SV_ROUTES);
  const kinds = sectionRows();
  const routes = allocate(kinds, 16);
  for (let i: u32 = 0; i < kinds; i++) {
    store<u32>(routes + (i << 4), nodes + load<u32>(from + ((i as usize) << 4)) * (NODE_BYTES as u32));
    store<u32>(routes + (i << 4), load<u32>(from + ((i as usize) << 4), 4), 4);
    store<u64>(routes + (i << 4), load<u64>(from + ((i as usize) << 4), 8), 8);
  }
  const client = allocate(1, 16);
  store<u32>(client, TIMED_CLIENT);
  const task = makeTask(client, 0, 0);
  const epochs = section(SECTION_SV_EPOCHS);
  const epochCount = sectionRows();
  if (failure != 0) return;
  requestsInit(section(SECTION_SV_CLIENT), routes, kinds, clientEdges, clientEdgeCount);
  clientInit(section(SECTION_SV_CLIENT), task, epochs, epochCount);
  const monitor = allocate(1, 16);
  store<u32>(monitor, TIMED_MONITOR);
  const monitorTask = makeTask(monitor, 0, 0);
  if (failure == 0) monitorInit(section(SECTION_SV_CLIENT), monitorTask);
}
