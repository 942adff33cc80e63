// CPUs of each scheduling domain that invocations hold, as the control plane counts them. Every acquired CPU is
// released in every path: at the response, when a cold start fails, when the client has given up.
//
// Record of a domain, 32 B at WORKER_STATE:
//
//     0  u32 CPUs in use
//     4  u32 capacity            CPUs × overcommit, at least 1
//     8  u32 invocations running
//    12  u32 buckets that share it (workload/iatchbl.ts)
//    16  u64 load                of the last rebalancing (workload/hashing.ts)
//    24  u64 energy              of its CPUs at the last rebalancing, pJ

import { P_OVERCOMMIT } from '../abi';
import { param } from '../core/counters';
import { DOMAIN_MASK, MAX_DOMAINS, WORKER_STATE } from '../core/layout';
import { maskAddress, maskWeightAnd } from '../kernel/mask';
import { nrDomains } from '../policy/mapping';

const USED: usize = WORKER_STATE + 0;
const CAPACITY: usize = WORKER_STATE + 4;
const RUNNING: usize = WORKER_STATE + 8;
export const DOMAIN_BUCKETS: usize = WORKER_STATE + 12;
export const DOMAIN_LOAD: usize = WORKER_STATE + 16;
export const DOMAIN_ENERGY: usize = WORKER_STATE + 24;
const SHIFT: u32 = 5;
export const DOMAIN_RECORDS: usize = (MAX_DOMAINS as usize) << SHIFT;

// @ts-ignore: decorator
@inline
export function domainRecord(d: u32): usize {
  return (d as usize) << SHIFT;
}

export function capacityInit(): void {
  memory.fill(WORKER_STATE, 0, DOMAIN_RECORDS);
  const factor = param(P_OVERCOMMIT);
  for (let d: u32 = 0; d < nrDomains; d++) {
    const cpus = maskWeightAnd(maskAddress(load<u32>(d << 2, DOMAIN_MASK)), maskAddress(0)) as u64;
    const capacity = factor == 0 ? cpus : (cpus * factor) >> 32;
    store<u32>(domainRecord(d), (capacity == 0 ? 1 : capacity) as u32, CAPACITY);
  }
}

export function domainUsed(d: u32): u32 {
  return load<u32>(domainRecord(d), USED);
}

export function domainRunning(d: u32): u32 {
  return load<u32>(domainRecord(d), RUNNING);
}

export function domainFits(d: u32, cpus: u32): bool {
  const r = domainRecord(d);
  return load<u32>(r, USED) + cpus <= load<u32>(r, CAPACITY);
}

export function domainAcquire(d: u32, cpus: u32): void {
  const r = domainRecord(d);
  store<u32>(r, load<u32>(r, USED) + cpus, USED);
  store<u32>(r, load<u32>(r, RUNNING) + 1, RUNNING);
}

export function domainRelease(d: u32, cpus: u32): void {
  const r = domainRecord(d);
  store<u32>(r, load<u32>(r, USED) - cpus, USED);
  store<u32>(r, load<u32>(r, RUNNING) - 1, RUNNING);
}
