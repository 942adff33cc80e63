// Entry of the module under test in test/control-*.test.ts (built by test/support/units.ts): the assignment of
// invocations to domains without the machine around it.

import {
  FN_DOMAIN,
  FN_EXPECTED,
  FN_HASH,
  FN_IAT,
  P_ASSIGN,
  P_ASSIGN_RETRY_NS,
  P_BUCKET_NS,
  P_GUARD_BASE,
  P_GUARD_TIGHTNESS,
  P_OVERCOMMIT,
  P_REBALANCE,
} from '../../assembly/abi';
import { COUNTERS_USED, counter } from '../../assembly/core/counters';
import { COUNTERS, DOMAIN_MASK, FUNCTION_SHIFT, FUNCTIONS, MASKS, PARAMS } from '../../assembly/core/layout';
import { mix64 } from '../../assembly/core/random';
import { maskInit, maskSet } from '../../assembly/kernel/mask';
import { mappingLoad } from '../../assembly/policy/mapping';
import { assignDomain, assignmentInit, noteServed, retryAfter } from '../../assembly/workload/assignment';
import { domainRelease, domainRunning, domainUsed } from '../../assembly/workload/capacity';
import { iatInit } from '../../assembly/workload/iat';

function set(param: u32, value: u64): void {
  store<u64>(PARAMS + (param << 3), value);
}

/** `domains` domains of `cores` CPUs each, `functions` functions, numbers 0, 1, … hashed. */
export function setUp(policy: u32, domains: u32, cores: u32, functions: u32, bucketNs: u64): void {
  memory.fill(COUNTERS, 0, COUNTERS_USED * 8);
  maskInit(domains * cores);
  memory.fill(MASKS, 0, 64 * (domains + 1));
  for (let cpu: u32 = 0; cpu < domains * cores; cpu++) {
    maskSet(MASKS, cpu);
    maskSet(MASKS + 64 * (1 + cpu / cores), cpu);
  }
  mappingLoad(0, 1);
  set(P_ASSIGN, policy);
  set(P_BUCKET_NS, bucketNs);
  set(P_ASSIGN_RETRY_NS, 200000000);
  set(P_OVERCOMMIT, 0);
  set(P_REBALANCE, 0);
  // The masks of the domains are 1, 2, …
  const rows: usize = 0x0ff0_0000;
  for (let d: u32 = 0; d < domains; d++) store<u32>(rows + (d << 3), d + 1);
  mappingLoad(rows, domains);
  memory.fill(FUNCTIONS, 0, functions << FUNCTION_SHIFT);
  for (let f: u32 = 0; f < functions; f++) store<u64>(f << FUNCTION_SHIFT, mix64(f + 1), FUNCTIONS + FN_HASH);
  begin(functions);
}

/** Parameters and functions are set: the policy starts. */
export function begin(functions: u32): void {
  assignmentInit(functions);
  iatInit(functions);
}

export function overcommit(q32: u64): void {
  set(P_OVERCOMMIT, q32);
}

export function rebalanceBy(metric: u32): void {
  set(P_REBALANCE, metric);
}

export function guard(base: u64, tightness: u64): void {
  set(P_GUARD_BASE, base);
  set(P_GUARD_TIGHTNESS, tightness);
}

export function setFunction(f: u32, iat: u64, expected: u64, domain: u32): void {
  store<u64>(f << FUNCTION_SHIFT, iat, FUNCTIONS + FN_IAT);
  store<u64>(f << FUNCTION_SHIFT, expected, FUNCTIONS + FN_EXPECTED);
  store<u32>(f << FUNCTION_SHIFT, domain, FUNCTIONS + FN_DOMAIN);
}

export function assign(f: u32, cpus: u32, key: u64): u32 {
  return assignDomain(f, cpus, key);
}

export function release(d: u32, cpus: u32): void {
  domainRelease(d, cpus);
}

export { counter, domainRunning, domainUsed, noteServed, retryAfter };
