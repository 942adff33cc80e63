// Encodes what the worker decides: assignment to domains, order of its queue, containers' starts and keep-alive.

import type { ResolvedServerless } from '../config/schema.js';
import { durationNs, megabytes, q32 } from '../config/units.js';
import { VtimeError } from '../errors.js';
import * as abi from './abi.js';
import type { Model } from './model.js';
import type { ProgramCompiler } from './program.js';

const ASSIGNMENTS = {
  none: abi.ASSIGN_NONE,
  iatchbl: abi.ASSIGN_IATCHBL,
  'iatchbl-as-coded': abi.ASSIGN_IATCHBL_AS_CODED,
  'domain-zero': abi.ASSIGN_DOMAIN_ZERO,
  'round-robin': abi.ASSIGN_ROUND_ROBIN,
  'round-robin-sticky': abi.ASSIGN_ROUND_ROBIN_STICKY,
  'function-hash': abi.ASSIGN_FUNCTION_HASH,
  'consistent-hash': abi.ASSIGN_CONSISTENT_HASH,
  guardrails: abi.ASSIGN_GUARDRAILS,
  'least-running': abi.ASSIGN_LEAST_RUNNING,
  static: abi.ASSIGN_STATIC,
  'warm-core-maximus': abi.ASSIGN_WARM_CORE_MAXIMUS,
  'first-fit': abi.ASSIGN_FIRST_FIT,
  random: abi.ASSIGN_RANDOM,
} as const;

const REBALANCES = {
  none: abi.REBALANCE_NONE,
  iat: abi.REBALANCE_IAT,
  utilisation: abi.REBALANCE_UTILISATION,
  energy: abi.REBALANCE_ENERGY,
} as const;

const ORDERS = {
  fcfs: abi.QUEUE_FCFS,
  'shortest-expected': abi.QUEUE_SHORTEST_EXPECTED,
  'earliest-deadline': abi.QUEUE_EARLIEST_DEADLINE,
  'smallest-iat': abi.QUEUE_SMALLEST_IAT,
  'cold-last': abi.QUEUE_COLD_LAST,
  none: abi.QUEUE_NONE,
} as const;

const KEEPS = {
  forever: abi.KEEP_FOREVER,
  // Its bound is the difference.
  lru: abi.KEEP_FOREVER,
  none: abi.KEEP_NONE,
  fixed: abi.KEEP_FIXED,
  histogram: abi.KEEP_HISTOGRAM,
} as const;

/** Memory of a container whose function's memory the trace does not tell, MB. */
export const UNKNOWN_MEMORY_MB = 128;

export function encodeAssignment(model: Model, { assignment, time_scale, worker }: ResolvedServerless): void {
  model.set(abi.P_ASSIGN, ASSIGNMENTS[assignment.policy]);
  model.set(abi.P_OVERCOMMIT, q32(worker.overcommit));
  if ('bucket_size' in assignment) {
    // Buckets are in the trace's time, inter-arrival times are measured in simulated time.
    const bucket = Number(durationNs(assignment.bucket_size)) * time_scale;
    model.set(abi.P_BUCKET_NS, Math.max(1, Math.round(bucket)));
  }
  const waits =
    assignment.policy === 'iatchbl-as-coded' || ('on_full' in assignment && assignment.on_full === 'wait');
  model.set(abi.P_ON_FULL_WAIT, waits ? 1 : 0);
  if ('retry' in assignment) model.set(abi.P_ASSIGN_RETRY_NS, durationNs(assignment.retry));
  if ('rebalance' in assignment) model.set(abi.P_REBALANCE, REBALANCES[assignment.rebalance]);
  if (assignment.policy === 'guardrails') {
    model.set(abi.P_GUARD_BASE, q32(assignment.base));
    model.set(abi.P_GUARD_TIGHTNESS, q32(assignment.tightness));
  }
}

/** Domain of a function in the static map; the longest beginning of its id decides. */
export function staticDomain(function_id: string, { assignment }: ResolvedServerless): number {
  if (assignment.policy !== 'static') return abi.NONE;
  const fitting = Object.keys(assignment.map).filter((prefix) => function_id.startsWith(prefix));
  if (fitting.length === 0) return assignment.otherwise === 'unmapped' ? abi.NONE : assignment.otherwise;
  return assignment.map[fitting.reduce((a, b) => (b.length > a.length ? b : a))];
}

export function checkStaticMap(ids: readonly string[], { assignment }: ResolvedServerless): void {
  if (assignment.policy !== 'static') return;
  for (const prefix of Object.keys(assignment.map)) {
    if (ids.some((id) => id.startsWith(prefix))) continue;
    throw new VtimeError('static_map', `no function of the trace begins with "${prefix}"`, {
      path: 'workload.serverless.assignment.map',
      value: prefix,
      expected: `the beginning of an id, like "${ids[0]}"`,
    });
  }
}

export function encodeQueue(model: Model, { worker, timeout }: ResolvedServerless): void {
  model.set(abi.P_QUEUE_ORDER, ORDERS[worker.queue]);
  model.set(abi.P_QUEUE_LIMIT, worker.queue_limit ?? 0);
  if (worker.bypass !== undefined) model.set(abi.P_BYPASS_NS, durationNs(worker.bypass));
  if (timeout !== undefined) model.set(abi.P_TIMEOUT_NS, durationNs(timeout));
}

export function encodeContainers(model: Model, { cold_start, keep_alive }: ResolvedServerless): void {
  if (model.constantOf(cold_start.duration) !== 0n) {
    model.set(abi.P_COLD_START, model.distribution(cold_start.duration));
  }
  model.set(abi.P_COLD_CPU, cold_start.mode === 'cpu' ? 1 : 0);
  model.set(abi.P_COLD_FAILURE, q32(cold_start.failure));
  model.set(abi.P_KEEP, KEEPS[keep_alive.policy]);
  if (keep_alive.time !== undefined) model.set(abi.P_KEEP_NS, durationNs(keep_alive.time));
  if (keep_alive.bin !== undefined) model.set(abi.P_KEEP_BIN_NS, durationNs(keep_alive.bin));
  model.set(abi.P_KEEP_CONTAINERS, keep_alive.containers ?? 0);
  if (keep_alive.memory !== undefined) model.set(abi.P_KEEP_MEMORY_MB, megabytes(keep_alive.memory));
}

/** First instruction of a new container's worker, whose code is entered at `entry`. */
export function compileColdStart(
  compiler: ProgramCompiler,
  { cold_start }: ResolvedServerless,
  entry: number,
): number {
  if (cold_start.mode !== 'cpu') return entry;
  const cold = compiler.emit({ op: abi.OP_RECEIVE, flags: abi.FLAG_OWN });
  compiler.emit({ op: abi.OP_RUN, flags: abi.FLAG_OVERHEAD });
  compiler.emit({ op: abi.OP_CONTROL });
  compiler.emit({ op: abi.OP_JUMP, a: entry });
  return cold;
}
