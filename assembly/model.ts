// From the model image to a machine ready to run: copies every section into its place of layout.ts and starts what
// exists from the beginning. The host has validated the values; what is checked here is what would break the engine.

import {
  DIST_LOGNORMAL,
  DIST_STRIDE,
  FN_STRIDE,
  HISTOGRAM_KINDS,
  IMAGE_HEADER_BYTES,
  IMAGE_MAGIC,
  IMAGE_SECTION_BYTES,
  IMAGE_VERSION,
  NONE,
  P_BASE_SLICE_NS,
  P_KERNEL,
  P_CLASSES,
  P_CONTROL_PC,
  P_CONTROL_STATS,
  P_COUNT,
  P_CPUS,
  P_HZ,
  P_MASTER_STATS,
  P_REFERENCE_MHZ,
  P_SEED,
  P_SLICE_EXACT,
  SECTION_ARRIVALS,
  SECTION_BARRIERS,
  SECTION_CGROUPS,
  SECTION_CORE_POWER,
  SECTION_COUNTS,
  SECTION_CPUS,
  SECTION_DISTRIBUTIONS,
  SECTION_DOMAINS,
  SECTION_EVENTS,
  SECTION_FUNCTIONS,
  SECTION_IDLE_STATES,
  SECTION_MASKS,
  SECTION_PARAMS,
  SECTION_POINTS,
  SECTION_PROGRAM,
  SECTION_QUEUES,
  SECTION_SOURCES,
  SECTION_TASKS,
  SECTION_TURBO,
  SRC_STRIDE,
  TT_COUNT,
  TT_START,
  TT_START_DIST,
  TT_STRIDE,
} from './abi';
import { COUNTERS_USED, param } from './core/counters';
import { drawValue, initDistributions, setPointsBase } from './core/distribution';
import { failureReset } from './core/failure';
import { histogramReset, histogramsReset } from './core/histogram';
import {
  ARENA,
  CGROUP_DOMAIN,
  CLASS_SHIFT,
  CLASSES,
  COUNTERS,
  CPU_SHIFT,
  CPUS,
  DISTRIBUTIONS,
  FUNCTION_SHIFT,
  FUNCTIONS,
  IDLE_MASK,
  MASK_BYTES,
  MASKS,
  MAX_CLASSES,
  MAX_CPUS,
  MAX_DISTRIBUTIONS,
  MAX_DOMAINS,
  MAX_FUNCTIONS,
  MAX_MASKS,
  MAX_SOURCES,
  MAX_TEMPLATES,
  ONLINE_MASK,
  PARAMS,
  RESCHED_MASK,
  SOURCE_SHIFT,
  SOURCES,
  STATIC_DATA,
  TASK_SHIFT,
  TEMPLATES,
} from './core/layout';
import { entityKey, initRandom, PURPOSE_PROGRAM, PURPOSE_START, streamKey } from './core/random';
import { wheelReset } from './core/wheel';
import { barrierCreate, barriersReset } from './kernel/barrier';
import { dsqReset } from './kernel/dsq';
import { eventsReset, timerSet } from './kernel/events';
import { extInit } from './kernel/ext';
import { fairInit } from './kernel/fair';
import { groupsInit } from './kernel/group';
import { machineLoadTables, machineReset } from './machine/machine';
import { packageCount, topologyLoad } from './machine/topology';
import { hotplugInit } from './kernel/hotplug';
import { jobsReset } from './kernel/job';
import { maskInit, maskSet, nrCpus } from './kernel/mask';
import { programInit } from './kernel/program';
import { queueCreate, queuesReset } from './kernel/queue';
import { rtInit } from './kernel/rt';
import { schedInit } from './kernel/sched';
import { CGROUP_UNMAPPED, spawnReset, taskFromTemplate, TEMPLATE_FIRST_SLOT } from './kernel/spawn';
import { FLAG_MEMBER, STATE_SLEEPING, TASK_CPU, TASK_FLAGS, TASK_LAST_CPU, TASK_RECENT_CPU, TASK_STATE, tasksReset } from './kernel/task';
import { SYSTEM_EVENTS, watchdogInit } from './kernel/watchdog';
import { explainInit } from './kernel/explain';
import { wastedInit } from './kernel/wasted';
import { mappingLoad } from './policy/mapping';
import { opsInit } from './policy/ops';
import { runInit } from './run';
import { servicesInit } from './services/load';
import { arrivalsInit } from './workload/arrivals';
import { deliveriesReset } from './workload/delivery';
import { rowsInit } from './workload/rows';
import { workerInit } from './workload/worker';

/** What is wrong with an image; 0 = nothing. */
export const IMAGE_BAD_MAGIC: u32 = 1;
export const IMAGE_BAD_VERSION: u32 = 2;
export const IMAGE_TOO_LARGE: u32 = 3;
export const IMAGE_INCOMPLETE: u32 = 4;
export const IMAGE_LAYOUT: u32 = 5;

let image: usize = 0;
/** Record count of the section found last. */
let rows: u32 = 0;

/** Address of a section, 0 if the image has none; sets `rows`. */
export function section(id: u32): usize {
  const n = load<u32>(image, 12);
  rows = 0;
  for (let i: u32 = 0; i < n; i++) {
    const entry = image + IMAGE_HEADER_BYTES + i * IMAGE_SECTION_BYTES;
    if (load<u32>(entry) == id) {
      rows = load<u32>(entry, 4);
      return image + load<u32>(entry, 8);
    }
  }
  return 0;
}

/** Records of the section found last. */
export function sectionRows(): u32 {
  return rows;
}

/** Takes over the model image at `address`; 0, or what is wrong with it. */
export function loadModel(address: usize): u32 {
  // The compiler's own static data must lie where layout.ts leaves room for it (memoryBase in asconfig.json).
  if (__data_end < STATIC_DATA || __data_end > ARENA) return IMAGE_LAYOUT;
  image = address;
  if (load<u32>(image) != IMAGE_MAGIC) return IMAGE_BAD_MAGIC;
  if (load<u32>(image, 4) != IMAGE_VERSION) return IMAGE_BAD_VERSION;
  const params = section(SECTION_PARAMS);
  if (params == 0 || rows != P_COUNT) return IMAGE_INCOMPLETE;
  memory.copy(PARAMS, params, P_COUNT * 8);
  memory.fill(COUNTERS, 0, COUNTERS_USED * 8);
  failureReset();
  if (param(P_CPUS) == 0 || param(P_HZ) == 0) return IMAGE_INCOMPLETE;
  if (param(P_CPUS) > MAX_CPUS || param(P_CLASSES) > MAX_CLASSES) return IMAGE_TOO_LARGE;

  const bad = loadMachine();
  if (bad != 0) return bad;
  loadNumbers();
  const badWorkload = loadWorkload();
  if (badWorkload != 0) return badWorkload;
  startTasks();
  startWorkload();
  runInit();
  return 0;
}

function loadMachine(): u32 {
  maskInit(param(P_CPUS) as u32);
  const masks = section(SECTION_MASKS);
  if (masks == 0) return IMAGE_INCOMPLETE;
  if (rows > MAX_MASKS) return IMAGE_TOO_LARGE;
  memory.copy(MASKS, masks, rows * MASK_BYTES);
  memory.copy(ONLINE_MASK, masks, MASK_BYTES);
  memory.fill(IDLE_MASK, 0, MASK_BYTES);
  memory.fill(RESCHED_MASK, 0, MASK_BYTES);
  memory.fill(CPUS, 0, MAX_CPUS << CPU_SHIFT);
  const cpus = section(SECTION_CPUS);
  if (cpus == 0 || !topologyLoad(cpus, rows)) return IMAGE_INCOMPLETE;
  const turbo = section(SECTION_TURBO);
  const turboRows = rows;
  const idle = section(SECTION_IDLE_STATES);
  const idleRows = rows;
  const power = section(SECTION_CORE_POWER);
  if (!machineLoadTables(turbo, turboRows, idle, idleRows, power, rows)) return IMAGE_TOO_LARGE;
  machineReset();
  const domains = section(SECTION_DOMAINS);
  if (rows > MAX_DOMAINS) return IMAGE_TOO_LARGE;
  mappingLoad(domains, rows);
  return 0;
}

function loadNumbers(): void {
  initRandom();
  const points = section(SECTION_POINTS);
  setPointsBase(points);
  const dists = section(SECTION_DISTRIBUTIONS);
  const n = rows < MAX_DISTRIBUTIONS ? rows : MAX_DISTRIBUTIONS;
  memory.copy(DISTRIBUTIONS, dists, n * DIST_STRIDE);
  let normal = false;
  for (let i: u32 = 0; i < n; i++) if (load<u32>(dists + i * DIST_STRIDE) == DIST_LOGNORMAL) normal = true;
  initDistributions(normal);
  histogramsReset();
  for (let h: u32 = 0, all = (param(P_CLASSES) as u32) * HISTOGRAM_KINDS; h < all; h++) histogramReset(h);
  memory.fill(CLASSES, 0, (param(P_CLASSES) as u32) << CLASS_SHIFT);
}

function loadWorkload(): u32 {
  const tasks = section(SECTION_TASKS);
  const templates = rows;
  if (rows > MAX_TEMPLATES) return IMAGE_TOO_LARGE;
  memory.copy(TEMPLATES, tasks, rows * TT_STRIDE);
  const sources = section(SECTION_SOURCES);
  if (rows > MAX_SOURCES) return IMAGE_TOO_LARGE;
  memory.fill(SOURCES, 0, rows << SOURCE_SHIFT);
  for (let s: u32 = 0; s < rows; s++) memory.copy(SOURCES + (s << SOURCE_SHIFT), sources + s * SRC_STRIDE, SRC_STRIDE);
  const functions = section(SECTION_FUNCTIONS);
  if (rows > MAX_FUNCTIONS) return IMAGE_TOO_LARGE;
  memory.fill(FUNCTIONS, 0, rows << FUNCTION_SHIFT);
  for (let f: u32 = 0; f < rows; f++) memory.copy(FUNCTIONS + (f << FUNCTION_SHIFT), functions + f * FN_STRIDE, FN_STRIDE);
  const program = section(SECTION_PROGRAM);
  programInit(program, rows, param(P_REFERENCE_MHZ));
  wastedInit(templates, program, rows);
  // Cgroup d belongs to domain d, the one behind them to none.
  for (let d: u32 = 0; d < CGROUP_UNMAPPED; d++) store<u32>(d << 2, d, CGROUP_DOMAIN);
  store<u32>(CGROUP_UNMAPPED << 2, NONE, CGROUP_DOMAIN);
  return 0;
}

function startTasks(): void {
  tasksReset();
  spawnReset();
  jobsReset();
  queuesReset();
  barriersReset();
  dsqReset();
  wheelReset(0);
  deliveriesReset();
  section(SECTION_SOURCES);
  eventsReset(packageCount() + SYSTEM_EVENTS, rows);
  schedInit();
  fairInit(param(P_BASE_SLICE_NS), param(P_SLICE_EXACT) != 0, 1000000000 / param(P_HZ), param(P_KERNEL) as u32);
  const cgroups = section(SECTION_CGROUPS);
  groupsInit(cgroups, rows);
  const events = section(SECTION_EVENTS);
  hotplugInit(events, rows);
  rtInit();
  extInit();
  watchdogInit(packageCount());
  opsInit();
  for (let cpu: u32 = 0; cpu < nrCpus; cpu++) maskSet(IDLE_MASK, cpu);

  const queues = section(SECTION_QUEUES);
  for (let q: u32 = 0; q < rows; q++) queueCreate(load<u32>(queues + q * 8));
  const barriers = section(SECTION_BARRIERS);
  for (let b: u32 = 0; b < rows; b++) barrierCreate(load<u32>(barriers + b * 8));

  section(SECTION_TASKS);
  for (let template: u32 = 0, n = rows; template < n; template++) startTemplate(template);
}

/** Creates a template's tasks; each wakes for the first time at its start. */
function startTemplate(template: u32): void {
  const r = TEMPLATES + template * TT_STRIDE;
  const seed = param(P_SEED);
  const startDist = load<u32>(r + TT_START_DIST);
  const starts = streamKey(seed, PURPOSE_START, template + 1);
  // Numbered behind the sources', which draw from the same purpose.
  const programs = streamKey(seed, PURPOSE_PROGRAM, template + 0x10000);
  for (let i: u32 = 0, n = load<u32>(r + TT_COUNT); i < n; i++) {
    const t = taskFromTemplate(template, i, NONE, NONE, entityKey(programs, i));
    if (t == 0) return;
    if (i == 0) store<u32>(template << 6, t >> TASK_SHIFT, TEMPLATE_FIRST_SLOT);
    const cpu = i % nrCpus;
    store<u32>(t, cpu, TASK_CPU);
    store<u32>(t, cpu, TASK_RECENT_CPU);
    store<u16>(t, cpu as u16, TASK_LAST_CPU);
    store<u8>(t, STATE_SLEEPING, TASK_STATE);
    store<u16>(t, (load<u16>(t, TASK_FLAGS) | FLAG_MEMBER) as u16, TASK_FLAGS);
    let start = load<u64>(r + TT_START);
    if (startDist != NONE) start += drawValue(startDist, entityKey(starts, i), 0);
    timerSet(t >> TASK_SHIFT, t, start);
  }
}

function startWorkload(): void {
  rowsInit();
  explainInit();
  section(SECTION_FUNCTIONS);
  workerInit(rows, param(P_CONTROL_PC) as u32, param(P_CONTROL_STATS) as u32, param(P_MASTER_STATS) as u32);
  const counts = section(SECTION_COUNTS);
  const list = section(SECTION_ARRIVALS);
  const listRows = rows;
  section(SECTION_SOURCES);
  arrivalsInit(rows, counts, list, listRows);
  servicesInit();
}
