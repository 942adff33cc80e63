// Where the warm-up of a services run ends, from the run itself.

import type { LatencySeries } from '../../engine/services.js';
import { mser } from '../../statistics/mser.js';

export interface Cut {
  /** Requests that begin earlier are the warm-up, ns. */
  from_ns: number;
  /** Batches cut off. */
  batches: number;
  /** Whether the run is long enough to tell. */
  found: boolean;
}

/**
 * MSER-5 over the latencies of requests in the order in which they began. Of runs with more than 20,480 requests the batches are
 * longer, 5 × 2^k requests, so that there are at most 4096 (SECTION_SV_SERIES).
 */
export function warmupOf({ start_ns, mean_ns }: Pick<LatencySeries, 'start_ns' | 'mean_ns'>): Cut {
  const known = Array.from(mean_ns, (mean, i) => ({ mean, start: start_ns[i] })).filter(({ mean }) =>
    Number.isFinite(mean),
  );
  const truncation = mser(known.map(({ mean }) => mean));
  if (truncation === undefined) return { from_ns: 0, batches: 0, found: false };
  const { cut, settled } = truncation;
  return { from_ns: cut === 0 ? 0 : known[cut].start, batches: cut, found: settled };
}
