// Making tasks: from the model's templates, for arriving jobs, and by fork.

import {
  CLASS_EXT,
  CLASS_FAIR,
  CLASS_REALTIME,
  DECISION_FORK,
  NONE,
  TT_BACKGROUND,
  TT_CGROUP,
  TT_CLASS,
  TT_DOMAIN,
  TT_DOMAIN_SPREAD,
  TT_INVERSE_WEIGHT,
  TT_MASK,
  TT_PC,
  TT_STATS,
  TT_WEIGHT,
} from '../abi';
import { counter, PEAK_TASKS, setCounter } from '../core/counters';
import { fail, FAIL_TASKS } from '../core/failure';
import { MAX_TASKS, TASK_SHIFT, TEMPLATES } from '../core/layout';
import { opsBegin, opsEnable } from '../policy/ops';
import { nrDomains } from '../policy/mapping';
import { detailing, recordDetail } from './decisions';
import { extEnabled, SLICE_DEFAULT } from './ext';
import { fairAttributes, fairEnable } from './fair';
import { namedCgroup } from './group';
import { rtAttributes, rtEnable } from './rt';
import {
  FLAG_BACKGROUND,
  TASK_BARRIER,
  TASK_CGROUP,
  TASK_CLASS,
  TASK_CPU,
  TASK_FLAGS,
  TASK_INVERSE_WEIGHT,
  TASK_KEY,
  TASK_MASK,
  TASK_PARENT,
  TASK_PC,
  TASK_QUEUE,
  TASK_SLICE,
  TASK_STATS,
  TASK_WEIGHT,
  taskAllocate,
  tasksAlive,
} from './task';

/** Cgroup d < CGROUP_UNMAPPED always belongs to domain d; containers have cgroups of their own from CGROUP_CONTAINERS on. */
export const CGROUP_UNMAPPED: u32 = 1023;
export const CGROUP_CONTAINERS: u32 = 1024;

/** Run-time fields of a template record, behind the TT_ fields. */
export const TEMPLATE_FIRST_SLOT: usize = TEMPLATES + 52;
export const TEMPLATE_MADE: usize = TEMPLATES + 56;

/** Foreground tasks that exist. */
export let foregroundTasks: u32 = 0;
/** The task that forks, while it does. */
let forking: u32 = 0;

export function spawnReset(): void {
  foregroundTasks = 0;
}

export function noteForegroundExit(): void {
  foregroundTasks--;
}

/** A task with its scheduling attributes set, not yet runnable; a realtime task's and a fair one's are behind the class (kernel/rt.ts, kernel/fair.ts); 0 if there is no room (the run fails). */
export function taskCreate(pc: u32, taskClass: u32, weight: u32, inverseWeight: u32, mask: u32, cgroup: u32, stats: u32, background: bool, key: u64): u32 {
  const attributes = taskClass >> 8;
  taskClass &= 0xff;
  // An ejected policy leaves its tasks to the fair class.
  if (taskClass == CLASS_EXT && !extEnabled) taskClass = CLASS_FAIR;
  const t = taskAllocate();
  if (t == 0) {
    fail(FAIL_TASKS, 0, 0, MAX_TASKS);
    return 0;
  }
  if (tasksAlive > (counter(PEAK_TASKS) as u32)) setCounter(PEAK_TASKS, tasksAlive);
  store<u32>(t, pc, TASK_PC);
  store<u8>(t, taskClass as u8, TASK_CLASS);
  store<u32>(t, weight, TASK_WEIGHT);
  store<u32>(t, inverseWeight != 0 ? inverseWeight : 1048576 / weight, TASK_INVERSE_WEIGHT);
  store<u32>(t, mask, TASK_MASK);
  store<u32>(t, cgroup, TASK_CGROUP);
  store<u32>(t, stats, TASK_STATS);
  store<u32>(t, NONE, TASK_QUEUE);
  store<u64>(t, key, TASK_KEY);
  if (background) store<u16>(t, FLAG_BACKGROUND as u16, TASK_FLAGS);
  else foregroundTasks++;
  opsBegin(t, forking);
  if (taskClass == CLASS_EXT) {
    // init_scx_entity(): what a policy keeps that inserts with slice 0.
    store<u64>(t, SLICE_DEFAULT, TASK_SLICE);
    opsEnable(t, forking);
  } else if (taskClass == CLASS_REALTIME) rtEnable(t, attributes);
  else fairEnable(t, attributes);
  return t;
}

/** Cgroup of a task in a fixed domain. */
export function domainCgroup(domain: u32): u32 {
  return domain < CGROUP_UNMAPPED ? domain : CGROUP_UNMAPPED;
}

/** Task number `ordinal` of a template; `domain` = NONE takes the template's. */
export function taskFromTemplate(template: u32, ordinal: u32, domain: u32, stats: u32, key: u64): u32 {
  const r = TEMPLATES + ((template as usize) << 6);
  let d = domain;
  if (d == NONE) {
    d = load<u32>(r + TT_DOMAIN);
    if (load<u32>(r + TT_DOMAIN_SPREAD) != 0) d = (d == NONE ? ordinal : d + ordinal) % nrDomains;
  }
  return taskCreate(
    load<u32>(r + TT_PC),
    load<u32>(r + TT_CLASS),
    load<u32>(r + TT_WEIGHT),
    load<u32>(r + TT_INVERSE_WEIGHT),
    load<u32>(r + TT_MASK),
    load<u32>(r + TT_CGROUP) != 0 ? namedCgroup(load<u32>(r + TT_CGROUP)) : domainCgroup(d),
    stats == NONE ? load<u32>(r + TT_STATS) : stats,
    load<u32>(r + TT_BACKGROUND) != 0,
    key,
  );
}

/** A child of `parent` that starts at `pc`. */
export function taskFork(parent: u32, pc: u32, key: u64): u32 {
  const parentClass = load<u8>(parent, TASK_CLASS) as u32;
  forking = parent;
  const t = taskCreate(
    pc,
    parentClass | ((parentClass == CLASS_REALTIME ? rtAttributes(parent) : parentClass == CLASS_FAIR ? fairAttributes(parent) : 0) << 8),
    load<u32>(parent, TASK_WEIGHT),
    load<u32>(parent, TASK_INVERSE_WEIGHT),
    load<u32>(parent, TASK_MASK),
    load<u32>(parent, TASK_CGROUP),
    load<u32>(parent, TASK_STATS),
    (load<u16>(parent, TASK_FLAGS) & FLAG_BACKGROUND) != 0,
    key,
  );
  forking = 0;
  if (t == 0) return 0;
  store<u32>(t, parent, TASK_PARENT);
  store<u32>(t, load<u32>(parent, TASK_BARRIER), TASK_BARRIER);
  store<u32>(t, load<u32>(parent, TASK_CPU), TASK_CPU);
  if (detailing) recordDetail(DECISION_FORK, t, parent >> TASK_SHIFT);
  return t;
}

/** Handle of a template's task number `ordinal`. */
export function templateTask(template: u32, ordinal: u32): u32 {
  return (load<u32>((template as usize) << 6, TEMPLATE_FIRST_SLOT) + ordinal) << TASK_SHIFT;
}
