// Which scheduling domain serves an invocation. IATCHBL as in the paper's Algorithm 3, round robin, function hash.
//
// State at WORKER_STATE: 512 × { u32 CPUs in use, u32 CPUs } per domain, then IATCHBL's buckets as an open-addressed
// table of 8192 × 96 B: u64 bucket id + 1, u64 invocations served, 64 B set of domains, 16 B reserved.

import {
  ASSIGN_FUNCTION_HASH,
  ASSIGN_IATCHBL,
  ASSIGN_NONE,
  ASSIGN_ROUND_ROBIN,
  FN_HASH,
  NONE,
  P_ASSIGN,
  P_BUCKET_NS,
} from '../abi';
import { BUCKETS_OCCUPIED, BUCKET_LARGEST, count, counter, param, setCounter } from '../core/counters';
import { fail, FAIL_MEMORY } from '../core/failure';
import { DOMAIN_MASK, FUNCTIONS, FUNCTION_SHIFT, MAX_DOMAINS, WORKER_STATE } from '../core/layout';
import { mix64 } from '../core/random';
import { maskAddress, maskSet, maskTest, maskWeightAnd } from '../kernel/mask';
import { nrDomains } from '../policy/mapping';
import { functionIat } from './iat';

const DOMAIN_USED: usize = WORKER_STATE + 0;
const DOMAIN_CORES: usize = WORKER_STATE + 4;
const BUCKETS: usize = WORKER_STATE + MAX_DOMAINS * 8;
const MAX_BUCKETS: u32 = 8192;
const BUCKET_BYTES: u32 = 96;
const BUCKET_SERVED: usize = 8;
const BUCKET_DOMAINS: usize = 16;

let policy: u32 = 0;
let bucketNs: u64 = 1;
let rotation: u32 = 0;

export function assignmentInit(): void {
  policy = param(P_ASSIGN) as u32;
  bucketNs = param(P_BUCKET_NS);
  rotation = 0;
  memory.fill(WORKER_STATE, 0, MAX_DOMAINS * 8 + MAX_BUCKETS * BUCKET_BYTES);
  for (let d: u32 = 0; d < nrDomains; d++) {
    const mask = maskAddress(load<u32>(d << 2, DOMAIN_MASK));
    store<u32>(d << 3, maskWeightAnd(mask, maskAddress(0)), DOMAIN_CORES);
  }
}

export function assigns(): bool {
  return policy != ASSIGN_NONE;
}

/** Domain for an invocation of function f that asks for `cpus`, NONE if no domain can take it. Release it at completion. */
export function assignDomain(f: u32, cpus: u32): u32 {
  if (policy == ASSIGN_IATCHBL) return assignByIat(f, cpus);
  let d: u32 = NONE;
  if (policy == ASSIGN_ROUND_ROBIN) d = rotation++ % nrDomains;
  else if (policy == ASSIGN_FUNCTION_HASH) d = (mix64(load<u64>(f << FUNCTION_SHIFT, FUNCTIONS + FN_HASH)) % (nrDomains as u64)) as u32;
  if (d != NONE) store<u32>(d << 3, load<u32>(d << 3, DOMAIN_USED) + cpus, DOMAIN_USED);
  return d;
}

/** Returns the CPUs of a finished invocation. */
export function releaseDomain(d: u32, cpus: u32): void {
  store<u32>(d << 3, load<u32>(d << 3, DOMAIN_USED) - cpus, DOMAIN_USED);
}

/** CPUs of domain d that invocations hold. */
export function domainUsed(d: u32): u32 {
  return load<u32>(d << 3, DOMAIN_USED);
}

// Algorithm 3: the bucket of the function's inter-arrival time; the bucket's cached domains first, then all domains;
// the one found joins the bucket's set.
function assignByIat(f: u32, cpus: u32): u32 {
  const bucket = bucketOf(functionIat(f) / bucketNs);
  if (bucket == 0) return NONE;
  const preferred = bucket + BUCKET_DOMAINS;
  let d = pickAvailableDomain(preferred, cpus);
  if (d == NONE) d = pickAvailableDomain(0, cpus);
  if (d == NONE) return NONE;
  maskSet(preferred, d);
  const served = load<u64>(bucket, BUCKET_SERVED) + 1;
  store<u64>(bucket, served, BUCKET_SERVED);
  if (served > counter(BUCKET_LARGEST)) setCounter(BUCKET_LARGEST, served);
  return d;
}

/** First domain of a set (0: of all) that can take `cpus` more, acquired; NONE if there is none. */
function pickAvailableDomain(set: usize, cpus: u32): u32 {
  for (let d: u32 = 0; d < nrDomains; d++) {
    if (set != 0 && !maskTest(set, d)) continue;
    const used = load<u32>(d << 3, DOMAIN_USED);
    if (used + cpus <= load<u32>(d << 3, DOMAIN_CORES)) {
      store<u32>(d << 3, used + cpus, DOMAIN_USED);
      return d;
    }
  }
  return NONE;
}

/** Address of a bucket's record, made if new; 0 if the table is full (the run fails). */
function bucketOf(id: u64): usize {
  let i = (mix64(id) as u32) & (MAX_BUCKETS - 1);
  for (let probes: u32 = 0; probes < MAX_BUCKETS; probes++) {
    const r = BUCKETS + i * BUCKET_BYTES;
    const known = load<u64>(r);
    if (known == id + 1) return r;
    if (known == 0) {
      store<u64>(r, id + 1);
      count(BUCKETS_OCCUPIED);
      return r;
    }
    i = (i + 1) & (MAX_BUCKETS - 1);
  }
  fail(FAIL_MEMORY, 0, 0, MAX_BUCKETS);
  return 0;
}
