// Which scheduling domain serves an invocation: the policies of the control plane, the small ones here.
// A domain that is chosen is also acquired; it is released at the response, or when there will be none.

import {
  ASSIGN_CONSISTENT_HASH,
  ASSIGN_DOMAIN_ZERO,
  ASSIGN_FIRST_FIT,
  ASSIGN_FUNCTION_HASH,
  ASSIGN_GUARDRAILS,
  ASSIGN_IATCHBL,
  ASSIGN_IATCHBL_AS_CODED,
  ASSIGN_LEAST_RUNNING,
  ASSIGN_NONE,
  ASSIGN_RANDOM,
  ASSIGN_ROUND_ROBIN,
  ASSIGN_ROUND_ROBIN_STICKY,
  ASSIGN_STATIC,
  ASSIGN_WARM_CORE_MAXIMUS,
  FN_DOMAIN,
  FN_HASH,
  FN_STRIDE,
  NONE,
  P_ASSIGN,
  P_ASSIGN_RETRY_NS,
} from '../abi';
import { param } from '../core/counters';
import { FUNCTIONS, FUNCTION_SHIFT } from '../core/layout';
import { draw64, mix64, mulHigh } from '../core/random';
import { nrDomains } from '../policy/mapping';
import { capacityInit, domainAcquire, domainFits, domainRunning, domainUsed } from './capacity';
import { guardrails, guardrailsInit } from './guardrails';
import { consistentHash, hashingInit, noteCpuTime } from './hashing';
import { iatchbl, iatchblAsCoded, iatchblInit, iatchblMayGrow } from './iatchbl';

/** u32 domain of a function's first invocation + 1 (round robin, sticky). */
const STICKY: usize = FUNCTIONS + FN_STRIDE + 20;
/** Index of the draw among those of a job's key. */
const DRAW_DOMAIN: u64 = 0xffffffff;

let policy: u32 = 0;
let rotation: u32 = 0;

export function assignmentInit(functions: u32): void {
  policy = param(P_ASSIGN) as u32;
  rotation = 0;
  capacityInit();
  for (let f: u32 = 0; f < functions; f++) store<u32>(f << FUNCTION_SHIFT, 0, STICKY);
  if (policy == ASSIGN_IATCHBL || policy == ASSIGN_IATCHBL_AS_CODED) iatchblInit();
  else if (policy == ASSIGN_CONSISTENT_HASH) hashingInit(functions);
  else if (policy == ASSIGN_GUARDRAILS) guardrailsInit();
}

export function assigns(): bool {
  return policy != ASSIGN_NONE;
}

/** Domain for an invocation of function f that asks for `cpus`, NONE if no domain can take it; `key` is that of its draws. */
export function assignDomain(f: u32, cpus: u32, key: u64): u32 {
  const d = choose(f, cpus, key);
  if (d != NONE) domainAcquire(d, cpus);
  return d;
}

/** How long a request that found no domain waits before it tries again without a release, ns; 0 = it does not. */
export function retryAfter(f: u32): u64 {
  return policy == ASSIGN_IATCHBL_AS_CODED && iatchblMayGrow(f) ? param(P_ASSIGN_RETRY_NS) : 0;
}

/** An invocation of f has ended after `cpuNs` of CPU time. */
export function noteServed(f: u32, cpuNs: u64): void {
  if (policy == ASSIGN_CONSISTENT_HASH) noteCpuTime(f, cpuNs);
}

function choose(f: u32, cpus: u32, key: u64): u32 {
  switch (policy) {
    case ASSIGN_IATCHBL:
      return iatchbl(f, cpus);
    case ASSIGN_IATCHBL_AS_CODED:
      return iatchblAsCoded(f, cpus);
    case ASSIGN_ROUND_ROBIN:
      return rotation++ % nrDomains;
    case ASSIGN_ROUND_ROBIN_STICKY:
      return sticky(f << FUNCTION_SHIFT);
    case ASSIGN_FUNCTION_HASH:
      return (mix64(load<u64>(f << FUNCTION_SHIFT, FUNCTIONS + FN_HASH)) % (nrDomains as u64)) as u32;
    case ASSIGN_CONSISTENT_HASH:
      return consistentHash(f);
    case ASSIGN_GUARDRAILS:
      return guardrails(f);
    case ASSIGN_LEAST_RUNNING:
      return leastRunning();
    case ASSIGN_STATIC:
      return load<u32>(f << FUNCTION_SHIFT, FUNCTIONS + FN_DOMAIN);
    case ASSIGN_WARM_CORE_MAXIMUS:
      return mostUsed(cpus);
    case ASSIGN_FIRST_FIT:
      return firstFit(cpus);
    case ASSIGN_RANDOM:
      return mulHigh(draw64(key, DRAW_DOMAIN), nrDomains) as u32;
    case ASSIGN_DOMAIN_ZERO:
      return 0;
  }
  return NONE;
}

/** The function keeps the domain that was next when it was invoked first. */
function sticky(fn: u32): u32 {
  const known = load<u32>(fn, STICKY);
  if (known != 0) return known - 1;
  const d = rotation++ % nrDomains;
  store<u32>(fn, d + 1, STICKY);
  return d;
}

function leastRunning(): u32 {
  let best: u32 = 0;
  for (let d: u32 = 1; d < nrDomains; d++) if (domainRunning(d) < domainRunning(best)) best = d;
  return best;
}

/** Keeps the warm cores busy and lets the others sleep: the fullest domain that has room. */
function mostUsed(cpus: u32): u32 {
  let best = NONE;
  for (let d: u32 = 0; d < nrDomains; d++) {
    if (domainFits(d, cpus) && (best == NONE || domainUsed(d) > domainUsed(best))) best = d;
  }
  return best;
}

function firstFit(cpus: u32): u32 {
  for (let d: u32 = 0; d < nrDomains; d++) if (domainFits(d, cpus)) return d;
  return NONE;
}
