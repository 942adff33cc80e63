// Memory for what programs allocate: storage of tasks and cgroups, objects of bpf_obj_new(), cpumasks. Blocks are powers of
// two from 16 B; each chunk of 64 KiB holds blocks of one size. What the allocator knows of a block lies where programs
// cannot write, so a wild store can break the program's own data only:
//
//   table + (block − low) / 16     u8 0 = free, else KIND_…
//   classes + chunk                u8 size class of the chunk
//
// The link of a free block is in the block; it is checked before it is used.

import { violate, VIOLATION_POINTER } from './context';
import { HEAP_FREE } from './state';

const CHUNK_SHIFT: u32 = 16;
const SMALLEST_SHIFT: u32 = 4;
const CLASSES: u32 = 13;

export const KIND_STORAGE: u8 = 1;
export const KIND_CPUMASK: u8 = 2;
/** Objects of the type with this index and up (state.ts, TYPES). */
export const KIND_TYPE: u8 = 16;

let low: usize = 0;
let high: usize = 0;
let table: usize = 0;
let classes: usize = 0;
let nextChunk: usize = 0;

/** Blocks come from [from, to); `tables` has a byte per 16 B of it and one per 64 KiB, zeroed. */
export function heapSet(from: usize, to: usize, tables: usize): void {
  low = from;
  high = to;
  table = tables;
  classes = tables + ((to - from) >> SMALLEST_SHIFT);
  nextChunk = from;
  memory.fill(HEAP_FREE, 0, CLASSES << 2);
}

/** Address of `bytes` zeroed bytes, 0 if there is no room. */
export function heapAllocate(bytes: u32, kind: u8): usize {
  if (bytes > 1 << CHUNK_SHIFT) return 0;
  const size = bytes <= 16 ? 0 : 32 - clz(bytes - 1) - SMALLEST_SHIFT;
  let block = load<u32>(HEAP_FREE + (size << 2)) as usize;
  if (block == 0) {
    if (nextChunk + (1 << CHUNK_SHIFT) > high) return 0;
    block = nextChunk;
    nextChunk += 1 << CHUNK_SHIFT;
    store<u8>(classes + ((block - low) >> CHUNK_SHIFT), size as u8);
    // The chunk's other blocks are linked one behind the other.
    const step = (1 as usize) << (size + SMALLEST_SHIFT);
    for (let b = block; b < nextChunk; b += step) store<u32>(b, b + step < nextChunk ? ((b + step) as u32) : 0);
  }
  const next = load<u32>(block) as usize;
  if (next != 0 && !isFree(next, size)) violate(VIOLATION_POINTER, next as u64);
  store<u32>(HEAP_FREE + (size << 2), next as u32);
  store<u8>(table + ((block - low) >> SMALLEST_SHIFT), kind);
  memory.fill(block, 0, (1 as usize) << (size + SMALLEST_SHIFT));
  return block;
}

function isFree(block: usize, size: u32): bool {
  if (block < low || block >= nextChunk || load<u8>(classes + ((block - low) >> CHUNK_SHIFT)) != size) return false;
  return ((block - low) & (((1 as usize) << (size + SMALLEST_SHIFT)) - 1)) == 0 && load<u8>(table + ((block - low) >> SMALLEST_SHIFT)) == 0;
}

/** KIND_… of the block that begins at `pointer`, 0 if none in use does. */
// @ts-ignore: decorator
@inline
export function heapKind(pointer: u64): u8 {
  const at = pointer - (low as u64);
  if (at >= ((nextChunk - low) as u64) || (at & 15) != 0) return 0;
  return load<u8>(table + ((at as usize) >> SMALLEST_SHIFT));
}

/** Gives a block back that heapKind() knows. */
export function heapFree(block: usize): void {
  const size = load<u8>(classes + ((block - low) >> CHUNK_SHIFT)) as u32;
  store<u8>(table + ((block - low) >> SMALLEST_SHIFT), 0);
  store<u32>(block, load<u32>(HEAP_FREE + (size << 2)));
  store<u32>(HEAP_FREE + (size << 2), block as u32);
}
