// Storage of tasks (TASK_STORAGE) and cgroups (CGRP_STORAGE): a table of addresses by task slot or cgroup index for each map,
// values from the heap. A value ends with its task.

import { MAP_SPECIAL, MAP_STRIDE, MAP_TABLE, MAP_TASK_STORAGE, MAP_TYPE, MAP_VALUE_BYTES } from '../abi';
import { heapAllocate, heapFree, heapKind, KIND_STORAGE } from './heap';
import { readable } from './region';
import { MAX_STORAGE_MAPS, STORAGE_MAPS } from './state';
import { timersOfValueEnd } from './timer';

const GET_CREATE: u64 = 1;

/** Address of the value of task slot or cgroup index i, 0 if it has none. */
// @ts-ignore: decorator
@inline
export function storageGet(map: usize, i: u32, value: u64, flags: u64): u64 {
  const at = load<u32>(map, MAP_TABLE) + (i << 2);
  const found = load<u32>(at);
  return found != 0 || (flags & GET_CREATE) == 0 ? (found as u64) : create(map, at, value);
}

function create(map: usize, at: usize, value: u64): u64 {
  const made = heapAllocate(load<u32>(map, MAP_STRIDE), KIND_STORAGE);
  if (made == 0) return 0;
  const bytes = load<u32>(map, MAP_VALUE_BYTES);
  if (value != 0) memory.copy(made, readable(value, bytes as u64), bytes);
  store<u32>(at, made as u32);
  return made as u64;
}

/** False if there is none. */
export function storageDelete(map: usize, i: u32): bool {
  const at = load<u32>(map, MAP_TABLE) + (i << 2);
  const found = load<u32>(at) as usize;
  if (found == 0) return false;
  if (load<u32>(map, MAP_SPECIAL) != 0) timersOfValueEnd(found, load<u32>(map, MAP_STRIDE));
  store<u32>(at, 0);
  if (heapKind(found as u64) == KIND_STORAGE) heapFree(found);
  return true;
}

/** The task in this slot is gone. */
export function storageFree(slot: u32): void {
  for (let i: u32 = 0; i < MAX_STORAGE_MAPS; i++) {
    const map = load<u32>(STORAGE_MAPS + (i << 2)) as usize;
    if (map == 0) return;
    if (load<u32>(map, MAP_TYPE) == MAP_TASK_STORAGE) storageDelete(map, slot);
  }
}
