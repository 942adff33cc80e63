// Which CPUs form which domain: the paper's gMap. Policies without domains have one that holds every CPU.

import { NONE } from '../abi';
import { CPU_DOMAIN, DOMAIN_MASK } from '../core/layout';
import { maskAddress, maskTest, nrCpus } from '../kernel/mask';

export let nrDomains: u32 = 1;

/** Domains are rows of { u32 mask index, u32 reserved }; none means one domain of all CPUs. */
export function mappingLoad(rows: usize, count: u32): void {
  nrDomains = count == 0 ? 1 : count;
  for (let d: u32 = 0; d < nrDomains; d++) store<u32>(d << 2, count == 0 ? 0 : load<u32>(rows + (d << 3)), DOMAIN_MASK);
  for (let cpu: u32 = 0; cpu < nrCpus; cpu++) {
    let domain = NONE;
    for (let d: u32 = 0; d < nrDomains; d++) {
      if (maskTest(maskAddress(load<u32>(d << 2, DOMAIN_MASK)), cpu)) domain = d;
    }
    store<u32>(cpu << 2, domain, CPU_DOMAIN);
  }
}
