// Winner tree: the pending event with the smallest key of a set of entities that have at most one each. The tree of
// n leaves (a power of two) is an array of u64 at a fixed base: leaf i at n + i, its inner nodes the minimum of their
// two children, the winner at 1. Setting a leaf is one branch-free walk to the root, so re-keying and cancelling cost
// the same as inserting.

export const NEVER: u64 = 0xffff_ffff_ffff_ffff;

// @ts-ignore: decorator
@inline
export function winnerSet(base: usize, n: u32, leaf: u32, key: u64): void {
  let i = n + leaf;
  store<u64>(base + ((i as usize) << 3), key);
  while (i > 1) {
    const other = load<u64>(base + (((i ^ 1) as usize) << 3));
    key = select<u64>(key, other, key < other);
    i >>= 1;
    store<u64>(base + ((i as usize) << 3), key);
  }
}

/** Smallest key, NEVER if nothing is pending. */
// @ts-ignore: decorator
@inline
export function winnerRoot(base: usize): u64 {
  return load<u64>(base, 8);
}

// @ts-ignore: decorator
@inline
export function winnerLeaf(base: usize, n: u32, leaf: u32): u64 {
  return load<u64>(base + (((n + leaf) as usize) << 3));
}

/** Empties a tree of n leaves. */
export function winnerReset(base: usize, n: u32): void {
  for (let i: u32 = 0; i < n << 1; i++) store<u64>(base + ((i as usize) << 3), NEVER);
}

/** Recomputes the inner nodes from the leaves. */
export function winnerRebuild(base: usize, n: u32): void {
  for (let i = n - 1; i >= 1; i--) {
    const a = load<u64>(base + ((i as usize) << 4));
    const b = load<u64>(base + ((i as usize) << 4) + 8);
    store<u64>(base + ((i as usize) << 3), a < b ? a : b);
  }
}

/** Doubles the leaves of a tree until it has at least `leaves`; returns the new n. */
export function winnerGrow(base: usize, n: u32, leaves: u32): u32 {
  let m = n;
  while (m < leaves) m <<= 1;
  if (m == n) return n;
  for (let i: u32 = n; i < m; i++) store<u64>(base + (((m + i) as usize) << 3), NEVER);
  memory.copy(base + ((m as usize) << 3), base + ((n as usize) << 3), (n as usize) << 3);
  winnerRebuild(base, m);
  return m;
}

export function ceilPowerOfTwo(n: u32): u32 {
  let m: u32 = 2;
  while (m < n) m <<= 1;
  return m;
}
