// Memory of variable size: model image, histogram pages, row ring, result image. A bump allocator; everything is
// given back at once by arenaReset. Growing memory makes the host's views stale: it takes new ones after each call.

import { FAIL_MEMORY, fail } from './failure';

/** Memory grows by at least 16 MiB, so that a run grows it a few times at most. */
const GROW_PAGES: u32 = 256;
const PAGE_SHIFT: u32 = 16;
/** The last page stays unused: an end address must fit in 32 bits. */
const MAX_END: u64 = 0xffff0000;

let top: usize = 0;
/** Bytes from here on have never been handed out, so they still are zero. */
let dirtyEnd: usize = 0;

export function arenaReset(base: usize): void {
  top = (base + 7) & ~7;
}

/** Address of `bytes` zeroed bytes, aligned to 8; 0 after FAIL_MEMORY if there are none. */
export function arenaAllocate(bytes: usize): usize {
  const address = top;
  const end = ((address as u64) + (bytes as u64) + 7) & ~7;
  if (end > MAX_END || !reach(end as usize)) {
    fail(FAIL_MEMORY, 0, 0, bytes as u64);
    return 0;
  }
  if (address < dirtyEnd) memory.fill(address, 0, min(end as usize, dirtyEnd) - address);
  if (end as usize > dirtyEnd) dirtyEnd = end as usize;
  top = end as usize;
  return address;
}

/** First free address. */
export function arenaTop(): usize {
  return top;
}

function reach(end: usize): bool {
  const needed = (((end as u64) + 0xffff) >> PAGE_SHIFT) as u32;
  const present = memory.size() as u32;
  if (needed <= present) return true;
  const missing = needed - present;
  if (missing < GROW_PAGES && memory.grow(GROW_PAGES as i32) >= 0) return true;
  return memory.grow(missing as i32) >= 0;
}
