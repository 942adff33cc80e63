// What an object of bpf/objects has to be told to do what a native policy does, and the same as the input file of
// bpf/loader (its input.c describes the format).

import { policyDomains } from '../config/placement.js';
import type { ResolvedConfig } from '../config/schema.js';
import { durationNs } from '../config/units.js';
import { VtimeError } from '../errors.js';

/** An object that does what a native policy does, and its settings. */
export interface Twin {
  /** Its file is bpf/objects/NAME.bpf.o; recording, NAME.record.bpf.o. */
  object: string;
  /** SCX_OPS_ flags beside those that the object has. */
  flags: 'ENQ_LAST'[];
  rodata: Record<string, bigint | boolean>;
  /** CPUs of each group, for the map gMap. */
  domains: number[][];
}

/** A cgroup by its path below the root, and the group its tasks belong to. */
export interface MappedCgroup {
  path: string;
  domain?: number;
}

/** 64-bit words of a group's mask of 512 CPUs. */
const MASK_WORDS = 8;
/** SCX_OPS_ENQ_LAST */
const ENQ_LAST = 2;

/** The native policy that an object of bpf/objects does. */
const NATIVE: Record<string, string> = {
  domains: 'domains or domains-as-coded',
  fifo: 'global-fifo',
  vtime: 'global-vtime',
  fivelevel: 'five-level',
  central: 'central',
};

/** The object that does what `policy` does on a machine of `cpus` CPUs; undefined if there is none. */
export function twinOf(policy: ResolvedConfig['policy'], cpus: number): Twin | undefined {
  const plain = { flags: [], domains: [] };
  switch (policy.name) {
    case 'domains':
    case 'domains-as-coded':
      return domainsTwin(policy, cpus);
    case 'global-fifo':
      return {
        ...plain,
        object: 'fifo',
        rodata: { slice_ns: durationNs(policy.slice), requeue_local: policy.requeue === 'local' },
      };
    case 'global-vtime':
      if (policy.preempt || policy.keep_running) return undefined;
      return {
        ...plain,
        object: 'vtime',
        rodata: { slice_ns: durationNs(policy.slice), credit_clamped: policy.credit === 'slice' },
      };
    case 'five-level':
      return {
        ...plain,
        object: 'fivelevel',
        rodata: {
          slice_ns: durationNs(policy.slice),
          strict: policy.order === 'strict',
          starvation_ns: durationNs(policy.starvation_limit),
        },
      };
    case 'central':
      return {
        ...plain,
        object: 'central',
        rodata: {
          slice_ns: durationNs(policy.slice),
          central_cpu: BigInt(policy.cpu),
          timer_ns: durationNs(policy.timer),
        },
      };
    default:
      return undefined;
  }
}

function domainsTwin(
  policy: Extract<ResolvedConfig['policy'], { name: 'domains' | 'domains-as-coded' }>,
  cpus: number,
): Twin {
  const domains = policyDomains(policy, cpus)!;
  const rodata: Twin['rodata'] = {
    nr_groups: BigInt(domains.length),
    slice_ns: durationNs(policy.slice),
    reset_every: BigInt(policy.reset_every),
  };
  if (policy.name === 'domains') {
    rodata.steal = policy.steal === 'neighbours';
    return { object: 'domains', flags: [], rodata, domains };
  }
  Object.assign(rodata, {
    as_coded: true,
    count_enqueues: policy.counts_enqueues,
    sample_at_tick: policy.sample === 'tick',
    pinned_cpus: BigInt(policy.pinned_cpus ?? Math.floor(cpus / 2)),
    pinned_slice_ns: durationNs(policy.pinned_slice),
    heartbeat_ns: durationNs(policy.heartbeat),
  });
  return { object: 'domains', flags: ['ENQ_LAST'], rodata, domains };
}

/** A mask of CPUs as the first member of gMap's values. */
function coresOf(cpus: readonly number[]): string {
  const words = Array.from({ length: MASK_WORDS }, () => 0n);
  for (const cpu of cpus) words[cpu >> 6] |= 1n << BigInt(cpu & 63);
  return words.map((word) => `u64:${word}`).join(' ');
}

/** The loader's input file, one statement a line. */
export function loaderText({ flags, rodata, domains }: Twin, cgroups: readonly MappedCgroup[]): string {
  const lines = flags.length > 0 ? [`flags ${ENQ_LAST}`] : [];
  for (const [name, value] of Object.entries(rodata)) lines.push(`rodata ${name} ${BigInt(value)}`);
  // A group's own slice is 0: that of all.
  domains.forEach((cpus, group) => {
    lines.push(`map gMap u32:${group} = ${coresOf(cpus)} u64:0`);
  });
  for (const { path, domain } of domains.length > 0 ? cgroups : []) {
    if (domain !== undefined) lines.push(`map cMap cgroup:${path} = u32:${domain}`);
  }
  return lines.map((line) => `${line}\n`).join('');
}

/**
 * The loader's input for an object and a config's policy; empty for an object that is not of bpf/objects.
 * @param object name of the object without its suffix
 * Errors: `vm_scheduler` if the policy is not what the object does.
 */
export function loaderInput(
  object: string,
  { policy }: ResolvedConfig,
  cpus: number,
  cgroups: readonly MappedCgroup[],
): string {
  if (!Object.hasOwn(NATIVE, object)) return '';
  const twin = twinOf(policy, cpus);
  if (twin?.object === object) return loaderText(twin, cgroups);
  throw new VtimeError('vm_scheduler', `${object}.bpf.o does not do what policy ${policy.name} says`, {
    path: 'policy.name',
    expected: NATIVE[object],
  });
}
