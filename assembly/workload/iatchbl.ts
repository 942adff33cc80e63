// Inter-arrival-time consistent hashing with bounded loads: functions whose inter-arrival times fall into one bucket
// share a set of domains. Twice, because the paper's Algorithm 3 and its code differ in how the set is searched, how it
// grows, and what becomes of a request that no domain can take.
//
// Index of buckets behind the domain records, open-addressed, 8192 × 16 B: u64 bucket id + 1, u32 record number.
// Record of a bucket, 1152 B at BUCKETS:
//
//     0  u64 invocations served
//     8  u32 domains in its set
//    16  64 B the set as a mask
//    80  512 × u16 the set in the order in which the domains were added

import { NONE, P_BUCKET_NS } from '../abi';
import { BUCKET_LARGEST, BUCKETS_OCCUPIED, count, counter, param, setCounter } from '../core/counters';
import { fail, FAIL_MEMORY } from '../core/failure';
import { BUCKETS, MASK_BYTES, MAX_BUCKETS, WORKER_STATE } from '../core/layout';
import { mix64 } from '../core/random';
import { maskSet, maskTest } from '../kernel/mask';
import { nrDomains } from '../policy/mapping';
import { DOMAIN_BUCKETS, DOMAIN_RECORDS, domainFits, domainRecord, domainUsed } from './capacity';
import { functionIat } from './iat';

const INDEX: usize = WORKER_STATE + DOMAIN_RECORDS;
const INDEX_BYTES: u32 = 16;
const BUCKET_BYTES: u32 = 1152;
const SERVED: usize = 0;
const SIZE: usize = 8;
const SET: usize = 16;
const ORDER: usize = SET + MASK_BYTES;

let bucketNs: u64 = 1;
/** The domain that any bucket added last. */
let lastAdded: u32 = 0;

export function iatchblInit(): void {
  bucketNs = param(P_BUCKET_NS);
  if (bucketNs == 0) bucketNs = 1;
  lastAdded = nrDomains - 1;
  memory.fill(INDEX, 0, MAX_BUCKETS * INDEX_BYTES);
}

/**
 * Algorithm 3 of the paper: the bucket's cached domains first, then all domains; the one found joins the bucket's set.
 * NONE if no domain can take `cpus` more.
 */
export function iatchbl(f: u32, cpus: u32): u32 {
  const bucket = bucketOf(functionIat(f) / bucketNs);
  if (bucket == 0) return NONE;
  for (let d: u32 = 0; d < nrDomains; d++) {
    if (maskTest(bucket + SET, d) && domainFits(d, cpus)) return serve(bucket, d);
  }
  for (let d: u32 = 0; d < nrDomains; d++) {
    if (!domainFits(d, cpus)) continue;
    add(bucket, d);
    return serve(bucket, d);
  }
  return NONE;
}

/**
 * The author's code (e521d9b): within the set the fewest CPUs in use first, then the order of the set. If none can take
 * the request the set grows by one domain, busy or not, and is searched once more.
 */
export function iatchblAsCoded(f: u32, cpus: u32): u32 {
  const bucket = bucketOf(functionIat(f) / bucketNs);
  if (bucket == 0) return NONE;
  let d = leastUsed(bucket, cpus);
  if (d == NONE && grow(bucket)) d = leastUsed(bucket, cpus);
  return d == NONE ? NONE : serve(bucket, d);
}

/** Another try may find a larger set. */
export function iatchblMayGrow(f: u32): bool {
  const bucket = bucketOf(functionIat(f) / bucketNs);
  return bucket != 0 && load<u32>(bucket, SIZE) < nrDomains;
}

function leastUsed(bucket: usize, cpus: u32): u32 {
  let best = NONE;
  for (let i: u32 = 0, n = load<u32>(bucket, SIZE); i < n; i++) {
    const d = load<u16>(bucket + ((i as usize) << 1), ORDER) as u32;
    if (domainFits(d, cpus) && (best == NONE || domainUsed(d) < domainUsed(best))) best = d;
  }
  return best;
}

/** Adds the domain that the fewest buckets share, the first such one after the last added. False if the set has all. */
function grow(bucket: usize): bool {
  let fewest = NONE;
  for (let i: u32 = 1; i <= nrDomains; i++) {
    const d = (lastAdded + i) % nrDomains;
    if (maskTest(bucket + SET, d)) continue;
    if (fewest == NONE || sharers(d) < sharers(fewest)) fewest = d;
  }
  if (fewest == NONE) return false;
  add(bucket, fewest);
  return true;
}

// @ts-ignore: decorator
@inline
function sharers(d: u32): u32 {
  return load<u32>(domainRecord(d), DOMAIN_BUCKETS);
}

/** The domain is not in the set. */
function add(bucket: usize, d: u32): void {
  const size = load<u32>(bucket, SIZE);
  store<u16>(bucket + ((size as usize) << 1), d as u16, ORDER);
  store<u32>(bucket, size + 1, SIZE);
  maskSet(bucket + SET, d);
  store<u32>(domainRecord(d), sharers(d) + 1, DOMAIN_BUCKETS);
  lastAdded = d;
}

function serve(bucket: usize, d: u32): u32 {
  const served = load<u64>(bucket, SERVED) + 1;
  store<u64>(bucket, served, SERVED);
  if (served > counter(BUCKET_LARGEST)) setCounter(BUCKET_LARGEST, served);
  return d;
}

/** Address of a bucket's record, made if new; 0 if the table is full (the run fails). */
function bucketOf(id: u64): usize {
  let i = (mix64(id) as u32) & (MAX_BUCKETS - 1);
  for (let probes: u32 = 0; probes < MAX_BUCKETS; probes++) {
    const entry = INDEX + i * INDEX_BYTES;
    const known = load<u64>(entry);
    if (known == id + 1) return BUCKETS + load<u32>(entry, 8) * BUCKET_BYTES;
    if (known == 0) {
      const number = counter(BUCKETS_OCCUPIED) as u32;
      const bucket = BUCKETS + number * BUCKET_BYTES;
      memory.fill(bucket, 0, BUCKET_BYTES);
      store<u64>(entry, id + 1);
      store<u32>(entry, number, 8);
      count(BUCKETS_OCCUPIED);
      return bucket;
    }
    i = (i + 1) & (MAX_BUCKETS - 1);
  }
  fail(FAIL_MEMORY, 0, 0, MAX_BUCKETS);
  return 0;
}
