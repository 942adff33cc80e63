// Kfuncs on cpumasks. A struct cpumask has 64 B here (512 CPUs); a struct bpf_cpumask is one on the heap with its count of
// references behind it.

import { MASK_BYTES } from '../core/layout';
import { maskClear, maskFirst, maskFirstAnd, maskSet, maskTest, maskWeightAnd, nrCpus, nrWords } from '../kernel/mask';
import { maskAddress } from '../kernel/mask';
import { violate, VIOLATION_POINTER } from './context';
import { heapAllocate, heapFree, heapKind, KIND_CPUMASK } from './heap';
import { readable, writable } from './region';

const REFERENCES: usize = 64;
const OBJECT_BYTES: u32 = 72;

// @ts-ignore: decorator
@inline
function given(mask: u64): usize {
  return readable(mask, MASK_BYTES as u64);
}

// @ts-ignore: decorator
@inline
function target(mask: u64): usize {
  return writable(mask, MASK_BYTES as u64);
}

/** nr_cpu_ids stands for "none". */
// @ts-ignore: decorator
@inline
function cpuOr(cpu: i32): u64 {
  return cpu >= 0 ? (cpu as u64) : (nrCpus as u64);
}

// ---- life ---------------------------------------------------------------------------------------------------------------

export function bpf_kfunc_bpf_cpumask_create(): u64 {
  const at = heapAllocate(OBJECT_BYTES, KIND_CPUMASK);
  if (at != 0) store<u32>(at, 1, REFERENCES);
  return at as u64;
}

export function bpf_kfunc_bpf_cpumask_acquire(mask: u64): u64 {
  if (heapKind(mask) != KIND_CPUMASK) violate(VIOLATION_POINTER, mask);
  store<u32>(mask as usize, load<u32>(mask as usize, REFERENCES) + 1, REFERENCES);
  return mask;
}

export function bpf_kfunc_bpf_cpumask_release(mask: u64): u64 {
  if (heapKind(mask) != KIND_CPUMASK) violate(VIOLATION_POINTER, mask);
  const left = load<u32>(mask as usize, REFERENCES) - 1;
  store<u32>(mask as usize, left, REFERENCES);
  if (left == 0) heapFree(mask as usize);
  return 0;
}

// ---- bits ---------------------------------------------------------------------------------------------------------------

export function bpf_kfunc_bpf_cpumask_set_cpu(cpu: u64, mask: u64): u64 {
  const m = target(mask);
  if ((cpu as u32) < nrCpus) maskSet(m, cpu as u32);
  return 0;
}

export function bpf_kfunc_bpf_cpumask_clear_cpu(cpu: u64, mask: u64): u64 {
  const m = target(mask);
  if ((cpu as u32) < nrCpus) maskClear(m, cpu as u32);
  return 0;
}

export function bpf_kfunc_bpf_cpumask_test_cpu(cpu: u64, mask: u64): u64 {
  const m = given(mask);
  return (cpu as u32) < nrCpus && maskTest(m, cpu as u32) ? 1 : 0;
}

export function bpf_kfunc_bpf_cpumask_test_and_set_cpu(cpu: u64, mask: u64): u64 {
  const was = bpf_kfunc_bpf_cpumask_test_cpu(cpu, mask);
  bpf_kfunc_bpf_cpumask_set_cpu(cpu, mask);
  return was;
}

export function bpf_kfunc_bpf_cpumask_test_and_clear_cpu(cpu: u64, mask: u64): u64 {
  const was = bpf_kfunc_bpf_cpumask_test_cpu(cpu, mask);
  bpf_kfunc_bpf_cpumask_clear_cpu(cpu, mask);
  return was;
}

export function bpf_kfunc_bpf_cpumask_setall(mask: u64): u64 {
  memory.copy(target(mask), maskAddress(0), MASK_BYTES);
  return 0;
}

export function bpf_kfunc_bpf_cpumask_clear(mask: u64): u64 {
  memory.fill(target(mask), 0, MASK_BYTES);
  return 0;
}

export function bpf_kfunc_bpf_cpumask_copy(to: u64, from: u64): u64 {
  memory.copy(target(to), given(from), MASK_BYTES);
  return 0;
}

/** From `bytes` of bits; -EACCES if they are fewer than the machine has CPUs. */
export function bpf_kfunc_bpf_cpumask_populate(to: u64, from: u64, bytes: u64): u64 {
  const m = target(to);
  const source = readable(from, bytes);
  if (bytes << 3 < (nrCpus as u64)) return (-13 as i64) as u64;
  memory.fill(m, 0, MASK_BYTES);
  memory.copy(m, source, min(bytes as usize, MASK_BYTES as usize));
  return 0;
}

// ---- sets ---------------------------------------------------------------------------------------------------------------

export function bpf_kfunc_bpf_cpumask_and(to: u64, a: u64, b: u64): u64 {
  const m = target(to);
  const x = given(a);
  const y = given(b);
  let any: u64 = 0;
  for (let w: u32 = 0; w < MASK_BYTES; w += 8) {
    const bits = load<u64>(x + w) & load<u64>(y + w);
    store<u64>(m + w, bits);
    any |= bits;
  }
  return any != 0 ? 1 : 0;
}

export function bpf_kfunc_bpf_cpumask_or(to: u64, a: u64, b: u64): u64 {
  const m = target(to);
  const x = given(a);
  const y = given(b);
  for (let w: u32 = 0; w < MASK_BYTES; w += 8) store<u64>(m + w, load<u64>(x + w) | load<u64>(y + w));
  return 0;
}

export function bpf_kfunc_bpf_cpumask_xor(to: u64, a: u64, b: u64): u64 {
  const m = target(to);
  const x = given(a);
  const y = given(b);
  for (let w: u32 = 0; w < MASK_BYTES; w += 8) store<u64>(m + w, load<u64>(x + w) ^ load<u64>(y + w));
  return 0;
}

export function bpf_kfunc_bpf_cpumask_equal(a: u64, b: u64): u64 {
  const x = given(a);
  const y = given(b);
  for (let w: u32 = 0; w < nrWords; w++) if (load<u64>(x + (w << 3)) != load<u64>(y + (w << 3))) return 0;
  return 1;
}

export function bpf_kfunc_bpf_cpumask_intersects(a: u64, b: u64): u64 {
  return maskFirstAnd(given(a), given(b)) >= 0 ? 1 : 0;
}

export function bpf_kfunc_bpf_cpumask_subset(a: u64, b: u64): u64 {
  const x = given(a);
  const y = given(b);
  for (let w: u32 = 0; w < nrWords; w++) if ((load<u64>(x + (w << 3)) & ~load<u64>(y + (w << 3))) != 0) return 0;
  return 1;
}

export function bpf_kfunc_bpf_cpumask_empty(mask: u64): u64 {
  return maskFirst(given(mask)) < 0 ? 1 : 0;
}

export function bpf_kfunc_bpf_cpumask_full(mask: u64): u64 {
  return maskWeightAnd(given(mask), maskAddress(0)) == nrCpus ? 1 : 0;
}

export function bpf_kfunc_bpf_cpumask_weight(mask: u64): u64 {
  return maskWeightAnd(given(mask), maskAddress(0)) as u64;
}

// ---- searches: nr_cpu_ids if there is none ------------------------------------------------------------------------------

export function bpf_kfunc_bpf_cpumask_first(mask: u64): u64 {
  return cpuOr(maskFirst(given(mask)));
}

export function bpf_kfunc_bpf_cpumask_first_zero(mask: u64): u64 {
  const m = given(mask);
  for (let cpu: u32 = 0; cpu < nrCpus; cpu++) if (!maskTest(m, cpu)) return cpu as u64;
  return nrCpus as u64;
}

export function bpf_kfunc_bpf_cpumask_first_and(a: u64, b: u64): u64 {
  return cpuOr(maskFirstAnd(given(a), given(b)));
}

/** The kernel spreads over the mask from call to call; here the lowest. */
export function bpf_kfunc_bpf_cpumask_any_distribute(mask: u64): u64 {
  return cpuOr(maskFirst(given(mask)));
}

export function bpf_kfunc_bpf_cpumask_any_and_distribute(a: u64, b: u64): u64 {
  return cpuOr(maskFirstAnd(given(a), given(b)));
}
