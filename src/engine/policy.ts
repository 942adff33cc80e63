// A policy's parameters in the model image.

import { type BpfPolicy, policyParameters } from '../bpf/runtime/policy.js';
import { policyDomains } from '../config/placement.js';
import type { ResolvedConfig } from '../config/schema.js';
import { durationNs } from '../config/units.js';
import * as abi from './abi.js';
import type { Model } from './model.js';

const POLICIES = {
  eevdf: abi.POLICY_NONE,
  domains: abi.POLICY_DOMAINS,
  'global-fifo': abi.POLICY_GLOBAL_FIFO,
  'global-vtime': abi.POLICY_GLOBAL_VTIME,
  'percpu-fifo': abi.POLICY_PERCPU_FIFO,
  'weighted-vtime': abi.POLICY_WEIGHTED_VTIME,
  'domains-as-coded': abi.POLICY_DOMAINS_AS_CODED,
  central: abi.POLICY_CENTRAL,
  'five-level': abi.POLICY_FIVE_LEVEL,
  nest: abi.POLICY_NEST,
  'shortest-remaining': abi.POLICY_SHORTEST_REMAINING,
  sfs: abi.POLICY_SFS,
  'service-order': abi.POLICY_SERVICE_ORDER,
  'processor-sharing': abi.POLICY_PROCESSOR_SHARING,
  bpf: abi.POLICY_BPF,
} as const;
const STEALS = {
  none: abi.STEAL_NONE,
  neighbours: abi.STEAL_NEIGHBOURS,
  longest: abi.STEAL_LONGEST,
} as const;

const PLACES = {
  idle: abi.PLACE_IDLE,
  previous: abi.PLACE_PREVIOUS,
  'round-robin': abi.PLACE_ROUND_ROBIN,
} as const;

const ORDERS = {
  remaining: abi.ORDER_REMAINING,
  size: abi.ORDER_SIZE,
  attained: abi.ORDER_ATTAINED,
  weight: abi.ORDER_WEIGHT,
} as const;

export function encodePolicy(model: Model, { policy }: ResolvedConfig): void {
  model.set(abi.P_POLICY, POLICIES[policy.name]);
  if ('slice' in policy) model.set(abi.P_SLICE_NS, durationNs(policy.slice));
  if ('steal' in policy) model.set(abi.P_STEAL, STEALS[policy.steal]);
  model.set(abi.P_RESET_EVERY, 'reset_every' in policy ? policy.reset_every : 1);
  if ('credit' in policy) {
    model.set(abi.P_CREDIT_CLAMPED, policy.credit === 'slice' ? 1 : 0);
    model.set(abi.P_PREEMPT, policy.preempt ? 1 : 0);
    model.set(abi.P_KEEP_RUNNING, policy.keep_running ? 1 : 0);
  }
  encodePolicyOptions(model, policy);
  const domains = model.section(abi.SECTION_DOMAINS);
  for (const cpus of policyDomains(policy, model.cpus) ?? []) domains.u32(domains.add(), 0, model.mask(cpus));
}

/** The object's own timeout holds if it is shorter than the config's. */
export function encodeBpf(model: Model, { kernel }: ResolvedConfig, policy: BpfPolicy): void {
  for (const [param, value] of policyParameters(policy)) model.set(param, value);
  const timeout_ns = BigInt(policy.scheduler.ops.timeout_ms) * 1_000_000n;
  const configured_ns = durationNs(kernel.watchdog_timeout);
  if (timeout_ns > 0n && (configured_ns === 0n || timeout_ns < configured_ns)) {
    model.set(abi.P_WATCHDOG_NS, timeout_ns);
  }
}

/** What only one policy has. */
function encodePolicyOptions(model: Model, policy: ResolvedConfig['policy']): void {
  switch (policy.name) {
    case 'domains-as-coded':
      model.set(abi.P_ENQ_LAST, 1);
      model.set(abi.P_PINNED_CPUS, policy.pinned_cpus ?? 0);
      model.set(abi.P_PINNED_SLICE_NS, durationNs(policy.pinned_slice));
      model.set(abi.P_SAMPLE, policy.sample === 'tick' ? abi.SAMPLE_TICK : abi.SAMPLE_STOPPING);
      model.set(abi.P_COUNT_ENQUEUES, policy.counts_enqueues ? 1 : 0);
      model.set(abi.P_TIMER_NS, durationNs(policy.heartbeat));
      break;
    case 'global-fifo':
      model.set(abi.P_REQUEUE_LOCAL, policy.requeue === 'local' ? 1 : 0);
      break;
    case 'percpu-fifo':
      model.set(abi.P_PLACE, PLACES[policy.place]);
      break;
    case 'central':
      model.set(abi.P_ENQ_LAST, 1);
      model.set(abi.P_CENTRAL_CPU, policy.cpu);
      model.set(abi.P_TIMER_NS, durationNs(policy.timer));
      break;
    case 'five-level':
      model.set(abi.P_STRICT, policy.order === 'strict' ? 1 : 0);
      model.set(abi.P_STARVATION_NS, durationNs(policy.starvation_limit));
      break;
    case 'nest':
      model.set(abi.P_NEST_REMOVE_NS, durationNs(policy.remove_after));
      model.set(abi.P_NEST_RESERVE, policy.reserve);
      model.set(abi.P_NEST_IMPATIENT, policy.impatient_after);
      break;
    case 'service-order':
      model.set(abi.P_ORDER, ORDERS[policy.by]);
      model.set(abi.P_PREEMPT, policy.preempt ? 1 : 0);
      break;
    case 'processor-sharing':
      // A task that is not on a CPU is served all the same.
      model.set(abi.P_WATCHDOG_NS, 0);
      break;
    case 'sfs':
      model.set(abi.P_FIRST_SLICE_NS, durationNs(policy.filter_slice));
      model.set(abi.P_WINDOW, policy.window);
      model.set(abi.P_OVERLOAD, policy.overload);
      break;
  }
}
