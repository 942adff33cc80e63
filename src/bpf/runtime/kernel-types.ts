// The kernel that objects are linked against here: structs as the engine keeps them (assembly/kernel/task.ts and
// assembly/bpf/), enumerators, and what it can be called with. A test compares the offsets with the engine's constants.

import { BPF_TASK_EXTENSION } from '../../engine/abi.js';
import type { Kernel, KernelField, KernelStruct } from '../object/kernel.js';
import { ENUMS } from './kernel-enums.js';
import { helpers, kfuncs, mapTypes, ops } from './supported.js';

const unsigned = (offset: number, bytes: number): KernelField => ({ offset, bytes });
const signed = (offset: number, bytes: number): KernelField => ({ offset, bytes, signed: true });
const pointer = (offset: number, type: string): KernelField => ({ offset, bytes: 8, type, pointer: true });
const inside = (offset: number, bytes: number, type: string): KernelField => ({ offset, bytes, type });

/** Offset in the extension record of a task. */
const extended = (offset: number) => BPF_TASK_EXTENSION + offset;

const STRUCTS: Record<string, KernelStruct> = {
  task_struct: {
    bytes: 256,
    fields: {
      pid: signed(0, 4),
      thread_info: inside(4, 4, 'thread_info'),
      wake_cpu: signed(4, 4),
      recent_used_cpu: signed(8, 4),
      scx: inside(0, 256, 'sched_ext_entity'),
      se: inside(0, 256, 'sched_entity'),
      cpus_ptr: pointer(extended(0), 'cpumask'),
      real_parent: pointer(extended(8), 'task_struct'),
      parent: pointer(extended(8), 'task_struct'),
      group_leader: pointer(extended(16), 'task_struct'),
      cgroups: pointer(extended(24), 'css_set'),
      mm: pointer(extended(32), 'mm_struct'),
      nr_cpus_allowed: signed(extended(40), 4),
      flags: unsigned(extended(44), 4),
      tgid: signed(extended(48), 4),
      static_prio: signed(extended(52), 4),
      normal_prio: signed(extended(52), 4),
      prio: signed(extended(56), 4),
      policy: unsigned(extended(60), 4),
      cpus_mask: inside(extended(64), 64, 'cpumask'),
      comm: { offset: extended(128), bytes: 16, count: 16, signed: true },
      migration_disabled: unsigned(extended(144), 2),
      on_cpu: unsigned(extended(146), 1),
      on_rq: unsigned(extended(147), 1),
      start_time: unsigned(extended(160), 8),
      nvcsw: unsigned(extended(168), 8),
      nivcsw: unsigned(extended(176), 8),
      __state: unsigned(extended(184), 4),
      exit_state: signed(extended(188), 4),
    },
  },
  thread_info: { bytes: 4, fields: { cpu: unsigned(0, 4) } },
  sched_ext_entity: {
    bytes: 256,
    fields: {
      dsq_vtime: unsigned(16, 8),
      slice: unsigned(24, 8),
      weight: unsigned(extended(148), 4),
      flags: unsigned(extended(152), 4),
      disallow: unsigned(extended(156), 1),
    },
  },
  sched_entity: { bytes: 256, fields: { sum_exec_runtime: unsigned(56, 8) } },
  pt_regs: { bytes: 8, fields: { ip: unsigned(0, 8) } },
  cpumask: { bytes: 64, fields: { bits: { offset: 0, bytes: 64, count: 8 } } },
  bpf_cpumask: { bytes: 72, fields: { cpumask: inside(0, 64, 'cpumask') } },
  mm_struct: { bytes: 8, fields: {} },
  css_set: { bytes: 8, fields: { dfl_cgrp: pointer(0, 'cgroup') } },
  cgroup: {
    bytes: 64,
    fields: {
      kn: pointer(0, 'kernfs_node'),
      level: signed(16, 4),
      self: inside(32, 16, 'cgroup_subsys_state'),
    },
  },
  cgroup_subsys_state: {
    bytes: 16,
    fields: { cgroup: pointer(0, 'cgroup'), parent: pointer(8, 'cgroup_subsys_state') },
  },
  kernfs_node: { bytes: 8, fields: { id: unsigned(0, 8) } },
  rq: {
    bytes: 64,
    fields: {
      curr: pointer(0, 'task_struct'),
      idle: pointer(8, 'task_struct'),
      clock: unsigned(16, 8),
      cpu: signed(24, 4),
      nr_running: unsigned(28, 4),
    },
  },
  scx_init_task_args: { bytes: 16, fields: { fork: unsigned(0, 1), cgroup: pointer(8, 'cgroup') } },
  scx_exit_task_args: { bytes: 8, fields: { cancelled: unsigned(0, 1) } },
  scx_cgroup_init_args: {
    bytes: 40,
    fields: {
      weight: unsigned(0, 4),
      bw_period_us: unsigned(8, 8),
      bw_quota_us: unsigned(16, 8),
      bw_burst_us: unsigned(24, 8),
      sched_idle: unsigned(32, 1),
    },
  },
  scx_cpu_acquire_args: { bytes: 8, fields: {} },
  scx_cpu_release_args: {
    bytes: 16,
    fields: { reason: unsigned(0, 4), task: pointer(8, 'task_struct') },
  },
  scx_exit_info: {
    bytes: 48,
    fields: {
      kind: unsigned(0, 4),
      exit_code: signed(8, 8),
      reason: pointer(16, 'char'),
      msg: pointer(24, 'char'),
      dump: pointer(32, 'char'),
    },
  },
  scx_event_stats: { bytes: 168, fields: {} },
};

const VERSIONS = { '6.11-scx': [6, 11], '6.12': [6, 12], '7.3': [7, 3] } as const;

/** The kernel of a config's version. All of them have the names of 7.3 and of 6.12. */
export function kernelOf(version: keyof typeof VERSIONS): Kernel {
  const [major, minor] = VERSIONS[version];
  return {
    version: (major << 16) | (minor << 8),
    structs: STRUCTS,
    enums: ENUMS,
    config: {
      CONFIG_SCHED_CLASS_EXT: 1n,
      CONFIG_CGROUPS: 1n,
      CONFIG_EXT_GROUP_SCHED: 1n,
      CONFIG_SMP: 1n,
      CONFIG_HZ: 250n,
    },
    kfuncs,
    helpers,
    map_types: mapTypes,
    ops,
  };
}
