// The platform's map from cgroups to groups of CPUs, for objects that have one (the paper's cMap): a hash from cgroup ids to
// group numbers. The control plane of the simulation writes it as that of a real system would, through the map.

import { NONE } from '../abi';
import { CGROUP_DOMAIN } from '../core/layout';
import { CGROUP_NAMED, namedCgroups } from '../kernel/group';
import { nrDomains } from '../policy/mapping';
import { cgroupPointer } from './cgroup';
import { hashDelete, hashFind, hashInsert } from './hash';
import { valueAddress } from './map';
import { MAPPING_KEY } from './state';

/** Header of the map, 0 = the object has none. */
let mapping: usize = 0;

export function mappingSet(map: usize): void {
  mapping = map;
}

/** A cgroup belongs to a domain from now on, to none if that is NONE. */
export function cgroupMapped(cgroup: u32, domain: u32): void {
  if (mapping == 0) return;
  store<u64>(MAPPING_KEY, load<u64>((cgroupPointer(cgroup) as usize) + 8));
  let slot = hashFind(mapping, MAPPING_KEY);
  if (domain == NONE) {
    if (slot >= 0) hashDelete(mapping, slot as u32);
    return;
  }
  if (slot < 0) slot = hashInsert(mapping, MAPPING_KEY);
  if (slot >= 0) store<u32>(valueAddress(mapping, slot as u32), domain);
}

/** What is mapped before anything runs. */
export function cgroupsMapped(): void {
  for (let d: u32 = 0; d < nrDomains; d++) cgroupMapped(d, d);
  for (let i: u32 = 0; i < namedCgroups; i++) cgroupMapped(CGROUP_NAMED + i, load<u32>((CGROUP_NAMED + i) << 2, CGROUP_DOMAIN));
}
