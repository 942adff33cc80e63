// A config's BPF object as a policy: its settings, and the domains of objects that know groups of CPUs (gMap, cMap).

import { policyDomains } from '../../config/placement.js';
import type { ResolvedConfig } from '../../config/schema.js';
import { durationNs } from '../../config/units.js';
import * as abi from '../../engine/abi.js';
import type { EngineExports } from '../../engine/module.js';
import { ObjectError } from '../object/bytes.js';
import type { OpenObject } from '../object/open.js';
import { type ObjectFile, placeScheduler, prepareScheduler, readObject, type Scheduler } from './runtime.js';

/** Maps from group number to group { u64 cores[]; u64 slice_ns }, and from cgroup id to u32 group number. */
const GROUP_MAP = 'gMap';
const CGROUP_MAP = 'cMap';
const GROUP_COUNT = 'nr_groups';

/** SCX_OPS_ flags by name. */
const FLAGS = {
  KEEP_BUILTIN_IDLE: 1n,
  ENQ_LAST: 2n,
  ENQ_EXITING: 4n,
  SWITCH_PARTIAL: 8n,
  ENQ_MIGRATION_DISABLED: 16n,
} as const;

export interface BpfPolicy {
  file: Pick<ObjectFile, 'path'>;
  scheduler: Scheduler;
  /** sched_ext_ops.flags with those of the config. */
  flags: bigint;
  /** CPUs of each domain; none if the object knows no groups. */
  domains: number[][];
  /** The object's clock at the start. */
  uptime_ns: bigint;
}

function hasVariable({ maps }: OpenObject, name: string): boolean {
  return maps.maps.some(({ variables }) => variables.some((variable) => variable.name === name));
}

/**
 * The policy of a config for a machine of `cpus` CPUs; undefined if it is not a BPF object. Errors: `input_unreadable`,
 * ObjectError (damaged, settings), UnsupportedObjectError.
 */
export function bpfPolicyOf({ policy, kernel }: ResolvedConfig, cpus: number): BpfPolicy | undefined {
  if (policy.name !== 'bpf') return undefined;
  const file = readObject(policy.object);
  const domains = policyDomains(policy, cpus) ?? [];
  const counted = domains.length > 0 && hasVariable(file.open, GROUP_COUNT);
  const scheduler = prepareScheduler(file, {
    kernel: kernel.version,
    cpus,
    rodata: { ...(counted ? { [GROUP_COUNT]: domains.length } : {}), ...policy.rodata },
    arrays: policy.arrays,
    maps: policy.maps,
    scheduler: policy.scheduler,
  });
  const names = new Set(scheduler.program.maps.map(({ name }) => name));
  if (domains.length > 0 && !(names.has(GROUP_MAP) && names.has(CGROUP_MAP))) {
    throw new ObjectError('bpf_setting', `the object has no maps ${GROUP_MAP} and ${CGROUP_MAP}`, {
      file: policy.object,
      expected: 'policy.domains only for objects with groups of CPUs',
    });
  }
  const flags = policy.flags.reduce((all, name) => all | FLAGS[name], scheduler.ops.flags);
  return { file, scheduler, flags, domains, uptime_ns: durationNs(policy.uptime) };
}

/** Places the policy in an engine that has no model yet; `classes` name the tasks. */
export function placePolicy(
  engine: EngineExports,
  { scheduler, domains }: BpfPolicy,
  classes: readonly string[],
): void {
  placeScheduler(engine, scheduler, classes);
  if (domains.length === 0) return;
  const { program, region } = scheduler;
  const placed = (name: string) => region.maps[program.maps.findIndex((map) => map.name === name)];
  engine.bpfMapping(placed(CGROUP_MAP).header);
  const { values, stride } = placed(GROUP_MAP);
  const view = new DataView(engine.memory.buffer);
  const words = Math.floor(stride / 8) - 1;
  domains.forEach((cpus, group) => {
    for (const cpu of cpus) {
      if (cpu >= words * 64) continue;
      const at = values + group * stride + 8 * (cpu >> 6);
      view.setBigUint64(at, view.getBigUint64(at, true) | (1n << BigInt(cpu & 63)), true);
    }
  });
}

/** What the model says about the policy: parameters of the engine. */
export function policyParameters({ scheduler, flags, uptime_ns }: BpfPolicy): [number, bigint][] {
  return [
    [abi.P_BPF_FLAGS, flags],
    [abi.P_BPF_UPTIME_NS, uptime_ns],
    [abi.P_BPF_BATCH, BigInt(scheduler.ops.dispatch_max_batch)],
    [abi.P_ENQ_LAST, (flags & FLAGS.ENQ_LAST) !== 0n ? 1n : 0n],
  ];
}
