// Guardrails (Grosof, Scully, Harchol-Balter 2019): whatever the balancer prefers, no domain may have been sent much more
// work of one rank than another. rank = log_c(expected time / 1 ms), at least 0; domain d is safe for a request of time x
// if G(d, rank) + x ≤ min over domains of G(·, rank) + g · c^(rank + 1), where G sums what has been sent.
// Among the safe domains the one with the fewest CPUs in use takes it.
//
// State in the control plane's megabyte: 65 × u64 c^rank in ns, then 64 × u64 sums per domain.

import { P_GUARD_BASE, P_GUARD_TIGHTNESS } from '../abi';
import { param } from '../core/counters';
import { MAX_BUCKETS, MAX_DOMAINS, WORKER_STATE } from '../core/layout';
import { nrDomains } from '../policy/mapping';
import { DOMAIN_RECORDS, domainUsed } from './capacity';
import { functionExpected } from './iat';

const RANKS: u32 = 64;
const BOUNDS: usize = WORKER_STATE + DOMAIN_RECORDS + (MAX_BUCKETS as usize) * 16;
const SENT: usize = BOUNDS + 65 * 8;
const MILLISECOND: f64 = 1000000.0;
const LARGEST: f64 = 4.0e18;

let tightness: f64 = 1.0;

export function guardrailsInit(): void {
  const base = (param(P_GUARD_BASE) as f64) / 4294967296.0;
  tightness = (param(P_GUARD_TIGHTNESS) as f64) / 4294967296.0;
  let bound = MILLISECOND;
  for (let r: u32 = 0; r <= RANKS; r++) {
    store<u64>(r << 3, min(bound, LARGEST) as u64, BOUNDS);
    bound = min(bound * base, LARGEST);
  }
  memory.fill(SENT, 0, MAX_DOMAINS * RANKS * 8);
}

// @ts-ignore: decorator
@inline
function sumAt(d: u32, rank: u32): usize {
  return SENT + (((d * RANKS + rank) as usize) << 3);
}

export function guardrails(f: u32): u32 {
  const x = functionExpected(f);
  let rank: u32 = 0;
  while (rank + 1 < RANKS && load<u64>((rank + 1) << 3, BOUNDS) <= x) rank++;
  let least: u64 = u64.MAX_VALUE;
  let leastSent: u32 = 0;
  for (let d: u32 = 0; d < nrDomains; d++) {
    const sent = load<u64>(sumAt(d, rank));
    if (sent < least) {
      least = sent;
      leastSent = d;
    }
  }
  const slack = min(tightness * (load<u64>((rank + 1) << 3, BOUNDS) as f64), LARGEST) as u64;
  // The one with the least is safe unless g c^(rank + 1) < x, which a tightness below 1 allows.
  let best = leastSent;
  for (let d: u32 = 0; d < nrDomains; d++) {
    if (load<u64>(sumAt(d, rank)) + x > least + slack) continue;
    if (domainUsed(d) < domainUsed(best)) best = d;
  }
  store<u64>(sumAt(best, rank), load<u64>(sumAt(best, rank)) + x);
  return best;
}
