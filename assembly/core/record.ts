// Clearing a record: V8 calls out for memory.fill, which costs more than storing the few cache lines of a record.

/** Zeroes `bytes` (a multiple of 64) from `at`. */
// @ts-ignore: decorator
@inline
export function clearRecord(at: usize, bytes: u32): void {
  for (const end = at + (bytes as usize); at < end; at += 64) {
    store<u64>(at, 0);
    store<u64>(at, 0, 8);
    store<u64>(at, 0, 16);
    store<u64>(at, 0, 24);
    store<u64>(at, 0, 32);
    store<u64>(at, 0, 40);
    store<u64>(at, 0, 48);
    store<u64>(at, 0, 56);
  }
}
