// Consistent hashing of functions to domains, by highest random weight: a domain more or less moves only the functions
// that it gains or loses. Every 2 × domains requests it may be rebalanced: one function moves from the domain with the
// highest load to the one with the lowest, the largest that leaves the order of the two.
//
// Load of a function since the last rebalancing: its arrival rate (REBALANCE_IAT), the CPU time of its finished
// invocations (REBALANCE_UTILISATION), or its share by CPU time of the energy of its domain's CPUs (REBALANCE_ENERGY).

import { FN_HASH, FN_STRIDE, P_REBALANCE, REBALANCE_ENERGY, REBALANCE_IAT, REBALANCE_NONE } from '../abi';
import { count, param, REBALANCED } from '../core/counters';
import { DOMAIN_MASK, FUNCTIONS, FUNCTION_SHIFT } from '../core/layout';
import { mix64 } from '../core/random';
import { now } from '../kernel/events';
import { maskAddress, maskTest, nrCpus } from '../kernel/mask';
import { energyCpu } from '../machine/energy';
import { nrDomains } from '../policy/mapping';
import { DOMAIN_ENERGY, DOMAIN_LOAD, domainRecord } from './capacity';
import { functionIat } from './iat';

/** u32 domain that the function is mapped to; u64 CPU time since the last rebalancing, ns. */
const MAPPED: usize = FUNCTIONS + FN_STRIDE + 20;
const CPU_TIME: usize = FUNCTIONS + FN_STRIDE + 32;

let metric: u32 = REBALANCE_NONE;
let functions: u32 = 0;
let requests: u32 = 0;

export function hashingInit(nrFunctions: u32): void {
  metric = param(P_REBALANCE) as u32;
  functions = nrFunctions;
  requests = 0;
  for (let f: u32 = 0; f < functions; f++) {
    const r = f << FUNCTION_SHIFT;
    store<u32>(r, highestWeight(load<u64>(r, FUNCTIONS + FN_HASH)), MAPPED);
    store<u64>(r, 0, CPU_TIME);
  }
}

function highestWeight(hash: u64): u32 {
  let best: u32 = 0;
  let weight: u64 = 0;
  for (let d: u32 = 0; d < nrDomains; d++) {
    const w = mix64(hash ^ mix64((d as u64) + 1));
    if (w > weight) {
      weight = w;
      best = d;
    }
  }
  return best;
}

export function consistentHash(f: u32): u32 {
  if (metric != REBALANCE_NONE && ++requests == 2 * nrDomains) {
    requests = 0;
    rebalance();
  }
  return load<u32>(f << FUNCTION_SHIFT, MAPPED);
}

/** An invocation of f has used `cpuNs` of CPU time. */
export function noteCpuTime(f: u32, cpuNs: u64): void {
  const r = f << FUNCTION_SHIFT;
  store<u64>(r, load<u64>(r, CPU_TIME) + cpuNs, CPU_TIME);
}

/** Arrivals per 10^6 s, or CPU time. */
function contribution(f: u32): u64 {
  if (metric != REBALANCE_IAT) return load<u64>(f << FUNCTION_SHIFT, CPU_TIME);
  const iat = functionIat(f);
  return iat == 0 ? 0 : 1000000000000000 / iat;
}

function rebalance(): void {
  for (let d: u32 = 0; d < nrDomains; d++) store<u64>(domainRecord(d), 0, DOMAIN_LOAD);
  for (let f: u32 = 0; f < functions; f++) {
    const r = domainRecord(load<u32>(f << FUNCTION_SHIFT, MAPPED));
    store<u64>(r, load<u64>(r, DOMAIN_LOAD) + contribution(f), DOMAIN_LOAD);
  }
  let highest: u32 = 0;
  let lowest: u32 = 0;
  let most: u64 = 0;
  let least: u64 = u64.MAX_VALUE;
  // What one unit of CPU time on the highest domain stands for: 1, or its energy.
  let perUnit = 1.0;
  for (let d: u32 = 0; d < nrDomains; d++) {
    const ofFunctions = load<u64>(domainRecord(d), DOMAIN_LOAD);
    const load_ = metric == REBALANCE_ENERGY ? energySince(d) : ofFunctions;
    if (load_ > most) {
      most = load_;
      highest = d;
      if (metric == REBALANCE_ENERGY && ofFunctions != 0) perUnit = (load_ as f64) / (ofFunctions as f64);
    }
    if (load_ < least) {
      least = load_;
      lowest = d;
    }
  }
  const difference = (most - least) as f64;
  let chosen = u32.MAX_VALUE;
  let largest: u64 = 0;
  if (most > least) {
    for (let f: u32 = 0; f < functions; f++) {
      if (load<u32>(f << FUNCTION_SHIFT, MAPPED) != highest) continue;
      const c = contribution(f);
      if (c > largest && 2.0 * (c as f64) * perUnit <= difference) {
        largest = c;
        chosen = f;
      }
    }
  }
  if (chosen != u32.MAX_VALUE) {
    store<u32>(chosen << FUNCTION_SHIFT, lowest, MAPPED);
    count(REBALANCED);
  }
  for (let f: u32 = 0; f < functions; f++) store<u64>(f << FUNCTION_SHIFT, 0, CPU_TIME);
}

/** Energy of a domain's CPUs since it was asked for last, pJ. */
function energySince(d: u32): u64 {
  const mask = maskAddress(load<u32>(d << 2, DOMAIN_MASK));
  let energy: u64 = 0;
  for (let cpu: u32 = 0; cpu < nrCpus; cpu++) if (maskTest(mask, cpu)) energy += energyCpu(cpu, now);
  const r = domainRecord(d);
  const since = energy - load<u64>(r, DOMAIN_ENERGY);
  store<u64>(r, energy, DOMAIN_ENERGY);
  return since;
}
