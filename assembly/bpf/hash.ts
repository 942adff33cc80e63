// Hash maps: chains of slots. Slots have fixed places, so a value keeps its address as long as it exists; buckets, links and
// keys lie out of the programs' reach. A full LRU hash gives up the slot that was filled longest ago.

import { MAP_COUNT, MAP_FRESH, MAP_HEAD, MAP_KEY_BYTES, MAP_KEY_STRIDE, MAP_KEYS, MAP_LRU_HASH, MAP_MASK, MAP_MAX_ENTRIES, MAP_NEXT, MAP_TABLE, MAP_TYPE } from '../abi';
import { MAP_CPUS, MAP_STRIDE, MAP_VALUES } from '../abi';
import { mix64 } from '../core/random';

function hashOf(key: usize, bytes: u32): u32 {
  if (bytes == 8) return mix64(load<u64>(key)) as u32;
  let h: u64 = bytes;
  while (bytes >= 8) {
    h = mix64(h ^ load<u64>(key));
    key += 8;
    bytes -= 8;
  }
  let rest: u64 = 0;
  for (let i: u32 = 0; i < bytes; i++) rest |= (load<u8>(key + i) as u64) << (i << 3);
  return mix64(h ^ rest) as u32;
}

function sameKey(a: usize, b: usize, bytes: u32): bool {
  while (bytes >= 8) {
    if (load<u64>(a) != load<u64>(b)) return false;
    a += 8;
    b += 8;
    bytes -= 8;
  }
  for (let i: u32 = 0; i < bytes; i++) if (load<u8>(a + i) != load<u8>(b + i)) return false;
  return true;
}

// @ts-ignore: decorator
@inline
function keyOf(map: usize, slot: u32): usize {
  return load<u32>(map, MAP_KEYS) + slot * load<u32>(map, MAP_KEY_STRIDE);
}

// @ts-ignore: decorator
@inline
function bucketOf(map: usize, key: usize): usize {
  return load<u32>(map, MAP_TABLE) + ((hashOf(key, load<u32>(map, MAP_KEY_BYTES)) & load<u32>(map, MAP_MASK)) << 2);
}

// @ts-ignore: decorator
@inline
function nextOf(map: usize, slot: u32): usize {
  return load<u32>(map, MAP_NEXT) + (slot << 2);
}

/** Slot of a key, −1 if there is none. */
export function hashFind(map: usize, key: usize): i32 {
  const bytes = load<u32>(map, MAP_KEY_BYTES);
  let at = load<u32>(bucketOf(map, key));
  if (bytes == 8) {
    const k = load<u64>(key);
    while (at != 0 && load<u64>(keyOf(map, at - 1)) != k) at = load<u32>(nextOf(map, at - 1));
    return (at as i32) - 1;
  }
  while (at != 0) {
    if (sameKey(keyOf(map, at - 1), key, bytes)) return (at - 1) as i32;
    at = load<u32>(nextOf(map, at - 1));
  }
  return -1;
}

/** Slot for a new key, its value zeroed; −1 if the map is full. */
export function hashInsert(map: usize, key: usize): i32 {
  let slot = load<u32>(map, MAP_HEAD);
  if (slot != 0) {
    store<u32>(map, load<u32>(nextOf(map, slot - 1)), MAP_HEAD);
    slot--;
  } else if (load<u32>(map, MAP_FRESH) < load<u32>(map, MAP_MAX_ENTRIES)) {
    slot = load<u32>(map, MAP_FRESH);
    store<u32>(map, slot + 1, MAP_FRESH);
  } else if (load<u32>(map, MAP_TYPE) == MAP_LRU_HASH) {
    return hashReplace(map, key);
  } else {
    return -1;
  }
  link(map, key, slot);
  return slot as i32;
}

function link(map: usize, key: usize, slot: u32): void {
  memory.copy(keyOf(map, slot), key, load<u32>(map, MAP_KEY_BYTES));
  const bucket = bucketOf(map, key);
  store<u32>(nextOf(map, slot), load<u32>(bucket));
  store<u32>(bucket, slot + 1);
  store<u32>(map, load<u32>(map, MAP_COUNT) + 1, MAP_COUNT);
  const entries = load<u32>(map, MAP_MAX_ENTRIES);
  const stride = load<u32>(map, MAP_STRIDE);
  for (let copy: u32 = 0; copy < max<u32>(load<u32>(map, MAP_CPUS), 1); copy++) {
    memory.fill(load<u32>(map, MAP_VALUES) + (copy * entries + slot) * stride, 0, stride);
  }
}

/** A full LRU hash has used all its slots: they are given up in their order. */
function hashReplace(map: usize, key: usize): i32 {
  const entries = load<u32>(map, MAP_MAX_ENTRIES);
  const turn = load<u32>(map, MAP_FRESH);
  const slot = turn % entries;
  store<u32>(map, entries + ((slot + 1) % entries), MAP_FRESH);
  unlink(map, slot);
  link(map, key, slot);
  return slot as i32;
}

function unlink(map: usize, slot: u32): void {
  let from = bucketOf(map, keyOf(map, slot));
  while (load<u32>(from) != slot + 1) {
    if (load<u32>(from) == 0) return;
    from = nextOf(map, load<u32>(from) - 1);
  }
  store<u32>(from, load<u32>(nextOf(map, slot)));
  store<u32>(map, load<u32>(map, MAP_COUNT) - 1, MAP_COUNT);
}

export function hashDelete(map: usize, slot: u32): void {
  unlink(map, slot);
  store<u32>(nextOf(map, slot), load<u32>(map, MAP_HEAD));
  store<u32>(map, slot + 1, MAP_HEAD);
}

/** Slots that have ever been used. */
export function hashUsed(map: usize): u32 {
  return min(load<u32>(map, MAP_FRESH), load<u32>(map, MAP_MAX_ENTRIES));
}
