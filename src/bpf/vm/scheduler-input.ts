// What the loader tells domains.bpf.o: read-only variables and maps as the config's policy states them.

import { policyDomains } from '../../config/placement.js';
import type { ResolvedConfig } from '../../config/schema.js';
import { durationNs } from '../../config/units.js';
import { VtimeError } from '../../errors.js';
import type { GuestCgroup } from './workload.js';

/** 64-bit words of a mask of 512 CPUs. */
const MASK_WORDS = 8;
/** SCX_OPS_ENQ_LAST, which the variant as coded has. */
const ENQ_LAST = 2;

function coresOf(cpus: readonly number[]): string {
  const words = Array.from({ length: MASK_WORDS }, () => 0n);
  for (const cpu of cpus) words[cpu >> 6] |= 1n << BigInt(cpu & 63);
  return words.map((word) => `u64:${word}`).join(' ');
}

/** The input file of bpf/loader for the policies `domains` and `domains-as-coded`. */
export function domainsInput(
  { policy }: ResolvedConfig,
  cpus: number,
  cgroups: readonly GuestCgroup[],
): string {
  if (policy.name !== 'domains' && policy.name !== 'domains-as-coded') {
    throw new VtimeError('vm_scheduler', `policy ${policy.name} cannot be given to domains.bpf.o`, {
      path: 'policy.name',
      expected: 'domains or domains-as-coded',
    });
  }
  const domains = policyDomains(policy, cpus)!;
  const slice = durationNs(policy.slice);
  const lines = [
    `rodata nr_groups ${domains.length}`,
    `rodata slice_ns ${slice}`,
    `rodata reset_every ${policy.reset_every}`,
  ];
  if (policy.name === 'domains') {
    lines.push(`rodata steal ${policy.steal === 'neighbours' ? 1 : 0}`);
  } else {
    lines.push(
      `flags ${ENQ_LAST}`,
      'rodata as_coded 1',
      `rodata count_enqueues ${policy.counts_enqueues ? 1 : 0}`,
      `rodata sample_at_tick ${policy.sample === 'tick' ? 1 : 0}`,
      `rodata pinned_cpus ${policy.pinned_cpus ?? Math.floor(cpus / 2)}`,
      `rodata pinned_slice_ns ${durationNs(policy.pinned_slice)}`,
      `rodata heartbeat_ns ${durationNs(policy.heartbeat)}`,
    );
  }
  domains.forEach((members, group) => {
    lines.push(`map gMap u32:${group} = ${coresOf(members)} u64:${slice}`);
  });
  for (const { path, domain } of cgroups) {
    if (domain !== undefined) lines.push(`map cMap cgroup:${path} = u32:${domain}`);
  }
  return `${lines.join('\n')}\n`;
}
