// From the image to records: cores, instances, their threads or servers with their queues and tasks.

import {
  KIND_QUEUE_PAIRS,
  KIND_THREADS,
  NONE,
  P_SEED,
  SECTION_SV_CORES,
  SV_BIND,
  SVI_ACTIVE,
  SVI_CORE_COUNT,
  SVI_CORES,
  SVI_COUNT,
  SVI_FLAGS,
  SVI_IDLE_NS,
  SVI_KIND,
  SVI_MACHINE,
  SVI_MHZ,
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
} from '../abi';
import { param } from '../core/counters';
import { fail, FAIL_TASKS, failure } from '../core/failure';
import { MAX_TASKS } from '../core/layout';
import { entityKey, PURPOSE_PROGRAM, streamKey } from '../core/random';
import { maskAddress, maskFirst } from '../kernel/mask';
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
import { section, sectionRows } from '../model';
import { joinStages, setStep } from './loadstages';
import { meterEnergy, meterSteps } from './meter';
import { tierOf } from './monitor';
import {
  CONNECTION_SHIFT,
  CORE_CPU,
  CORE_SHARER_COUNT,
  CORE_SHARERS,
  INSTANCE_ACTIVE,
  INSTANCE_AT_LEAST,
  INSTANCE_BYTES,
  INSTANCE_CONNECTIONS,
  INSTANCE_FLAGS,
  INSTANCE_IDLE_NS,
  INSTANCE_INDEX,
  INSTANCE_KIND,
  INSTANCE_MACHINE,
  INSTANCE_MHZ,
  INSTANCE_PATH_COUNT,
  INSTANCE_PATHS,
  INSTANCE_QUEUE_COUNT,
  INSTANCE_QUEUES,
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
  PATH_BYTES,
  PATH_INDEX,
  PATH_QUEUE,
  PATH_STAGE_COUNT,
  PATH_STAGES,
  STAGE_BYTES,
  STAGE_QUEUE_CONNECTIONS,
  STAGE_QUEUE_SERVER_COUNT,
  STAGE_QUEUE_SERVERS,
  STAGE_QUEUE_SHIFT,
  STAGE_TAKE,
  THREAD_BYTES,
  THREAD_CORE,
  THREAD_CORE_COUNT,
  THREAD_CORES,
  THREAD_FLAGS,
  THREAD_INSTANCE,
  THREAD_OWNS_CORE,
  THREAD_QUEUE_COUNT,
  THREAD_QUEUES,
  THREAD_STEP,
  THREAD_TASK,
  THREAD_TIMED,
  TIMED_SERVER,
  TIMED_THREAD,
} from './records';
import { byConnection } from './stagequeue';
import { allocate, connections, coreAt, instanceCount, instances, listAddress, listAt, machines, paths } from './tables';
import { threadStride } from './thread';

/** Cores, and for those that several instances may use the list of these. */
export function loadCores(instanceRows: usize): void {
  const rows = section(SECTION_SV_CORES);
  const n = sectionRows();
  for (let c: u32 = 0; c < n; c++) {
    const cpu = load<u32>(rows + ((c as usize) << 3), 4);
    store<u32>(coreAt(c), cpu, CORE_CPU);
    if (cpu != NONE) meterEnergy();
  }
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

function coresOf(first: u32, count: u32): u32 {
  const list = allocate(count, 4);
  for (let k: u32 = 0; k < count; k++) store<u32>(list + (k << 2), coreAt(listAt(first + k)));
  return list;
}

export function loadInstance(instance: u32, row: usize, index: u32): void {
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
  store<u32>(instance, listAddress(load<u32>(row, SVI_MHZ)), INSTANCE_MHZ);
  if (load<u32>(row, SVI_STEPS) > 1) {
    store<u32>(instance, allocate(load<u32>(row, SVI_STEPS), 8), INSTANCE_STEP_BUSY);
    meterSteps();
  }
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

/** The thread has the core of the list for itself. */
function own(thread: u32, core: u32): void {
  store<u16>(thread, THREAD_OWNS_CORE as u16, THREAD_FLAGS);
  store<u32>(thread, coreAt(listAt(core)), THREAD_CORE);
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
    store<u16>(thread, load<u32>(instance, INSTANCE_STEP) as u16, THREAD_STEP);
    pinned(row, i);
    store<u32>(thread, coresOf(pinnedFirst, pinnedCount), THREAD_CORES);
    store<u32>(thread, pinnedCount, THREAD_CORE_COUNT);
    if (owns) own(thread, pinnedCount == 1 ? pinnedFirst : pinnedFirst + i);
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
    store<u16>(server, load<u32>(instance, INSTANCE_STEP) as u16, THREAD_STEP);
    store<u32>(server, coresOf(first, 1), THREAD_CORES);
    store<u32>(server, 1, THREAD_CORE_COUNT);
    if (load<u32>(coreAt(listAt(first)), CORE_SHARER_COUNT) == 1) own(server, first);
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
export function makeTask(record: u32, row: usize, ordinal: u32): u32 {
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
