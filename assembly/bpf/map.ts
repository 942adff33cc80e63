// Maps: headers as in abi/bpf.ts, out of the programs' reach; values in the region that programs write. Arrays and queues are
// here, hashes in hash.ts, storage by task and cgroup in storage.ts, ring buffers in ringbuf.ts.

import {
  MAP_ARRAY,
  MAP_ARRAY_OF_MAPS,
  MAP_COUNT,
  MAP_CPUS,
  MAP_HASH,
  MAP_HASH_OF_MAPS,
  MAP_HEADER_BYTES,
  MAP_HEAD,
  MAP_INNER,
  MAP_KEYS,
  MAP_KEY_BYTES,
  MAP_KEY_STRIDE,
  MAP_LRU_HASH,
  MAP_MAX_ENTRIES,
  MAP_PERCPU_ARRAY,
  MAP_PERCPU_HASH,
  MAP_QUEUE,
  MAP_SPECIAL,
  MAP_STACK,
  MAP_STRIDE,
  MAP_TYPE,
  MAP_VALUES,
  MAP_VALUE_BYTES,
} from '../abi';
import { BPF_MAPS } from '../core/layout';
import { callFunction, contextCpu, spend, violate, VIOLATION_POINTER } from './context';
import { hashDelete, hashFind, hashInsert, hashUsed } from './hash';
import { readable, writable } from './region';
import { KEY_SCRATCH } from './state';
import { timersOfValueEnd } from './timer';

export const E2BIG: i64 = 7;
export const ENOENT: i64 = 2;
export const EEXIST: i64 = 17;
export const EINVAL: i64 = 22;

const BPF_NOEXIST: u64 = 1;
const BPF_EXIST: u64 = 2;

/** Headers lie in [BPF_MAPS, headersEnd). */
let headersEnd: usize = BPF_MAPS;

export function mapsSet(end: usize): void {
  headersEnd = end;
}

/** Header of the map that a program names. */
// @ts-ignore: decorator
@inline
export function mapOf(pointer: u64): usize {
  if (pointer < (BPF_MAPS as u64) || pointer >= (headersEnd as u64) || (pointer & (MAP_HEADER_BYTES - 1)) != 0) violate(VIOLATION_POINTER, pointer);
  return pointer as usize;
}

/** Value of entry i, on this CPU if there is one for each. */
// @ts-ignore: decorator
@inline
export function valueAddress(map: usize, i: u32): usize {
  const copies = load<u32>(map, MAP_CPUS);
  const row = copies == 0 ? i : contextCpu * load<u32>(map, MAP_MAX_ENTRIES) + i;
  return load<u32>(map, MAP_VALUES) + row * load<u32>(map, MAP_STRIDE);
}

/** Key of entry i; an array's is written where callbacks can read it. */
export function keyAddress(map: usize, i: u32): usize {
  const keys = load<u32>(map, MAP_KEYS);
  if (keys != 0) return keys + i * load<u32>(map, MAP_KEY_STRIDE);
  store<u32>(KEY_SCRATCH, i);
  return KEY_SCRATCH;
}

/** Entry whose value holds `address`, −1 if none does. */
export function entryOf(map: usize, address: usize): i32 {
  const stride = load<u32>(map, MAP_STRIDE);
  const at = address - load<u32>(map, MAP_VALUES);
  const rows = load<u32>(map, MAP_MAX_ENTRIES) * max<u32>(load<u32>(map, MAP_CPUS), 1);
  if (stride == 0 || at >= (rows as usize) * stride) return -1;
  return ((at / stride) % load<u32>(map, MAP_MAX_ENTRIES)) as i32;
}

function isHash(type: u32): bool {
  return type == MAP_HASH || type == MAP_LRU_HASH || type == MAP_PERCPU_HASH || type == MAP_HASH_OF_MAPS;
}

function isArray(type: u32): bool {
  return type == MAP_ARRAY || type == MAP_PERCPU_ARRAY || type == MAP_ARRAY_OF_MAPS;
}

/** Entry of a key, −1 if there is none. */
// @ts-ignore: decorator
@inline
function find(map: usize, key: u64): i32 {
  const type = load<u32>(map, MAP_TYPE);
  const at = readable(key, load<u32>(map, MAP_KEY_BYTES) as u64);
  if (isArray(type)) {
    const i = load<u32>(at);
    return i < load<u32>(map, MAP_MAX_ENTRIES) ? (i as i32) : -1;
  }
  return isHash(type) ? hashFind(map, at) : -1;
}

/** bpf_map_lookup_elem(): of a map of maps, the inner map itself. */
export function mapLookup(map: usize, key: u64): u64 {
  if (load<u32>(map, MAP_TYPE) == MAP_ARRAY) {
    const i = load<u32>(readable(key, 4));
    return i < load<u32>(map, MAP_MAX_ENTRIES) ? ((load<u32>(map, MAP_VALUES) + i * load<u32>(map, MAP_STRIDE)) as u64) : 0;
  }
  const i = find(map, key);
  if (i < 0) return 0;
  const value = valueAddress(map, i as u32);
  return load<u32>(map, MAP_INNER) != 0 ? (load<u32>(value) as u64) : (value as u64);
}

/** bpf_map_lookup_percpu_elem() */
export function mapLookupOn(map: usize, key: u64, cpu: u32): u64 {
  if (cpu >= load<u32>(map, MAP_CPUS)) return 0;
  const i = find(map, key);
  if (i < 0) return 0;
  const row = cpu * load<u32>(map, MAP_MAX_ENTRIES) + (i as u32);
  return (load<u32>(map, MAP_VALUES) + row * load<u32>(map, MAP_STRIDE)) as u64;
}

export function mapUpdate(map: usize, key: u64, value: u64, flags: u64): i64 {
  const type = load<u32>(map, MAP_TYPE);
  const from = readable(value, load<u32>(map, MAP_VALUE_BYTES) as u64);
  if (load<u32>(map, MAP_INNER) != 0 || flags > BPF_EXIST) return -EINVAL;
  let i = find(map, key);
  if (i >= 0 && flags == BPF_NOEXIST) return -EEXIST;
  if (i < 0 && flags == BPF_EXIST) return -ENOENT;
  if (i < 0) {
    if (isArray(type)) return -E2BIG;
    if (!isHash(type)) return -EINVAL;
    i = hashInsert(map, key as usize);
    if (i < 0) return -E2BIG;
  }
  memory.copy(valueAddress(map, i as u32), from, load<u32>(map, MAP_VALUE_BYTES));
  return 0;
}

export function mapDelete(map: usize, key: u64): i64 {
  const type = load<u32>(map, MAP_TYPE);
  if (!isHash(type)) return -EINVAL;
  const i = find(map, key);
  if (i < 0) return -ENOENT;
  if (load<u32>(map, MAP_SPECIAL) != 0) timersOfValueEnd(valueAddress(map, i as u32), load<u32>(map, MAP_STRIDE));
  hashDelete(map, i as u32);
  return 0;
}

/** bpf_for_each_map_elem(): calls callback(map, key, value, context) until it returns 1; how many it was called for. */
export function mapForEach(map: usize, callback: u64, context: u64): i64 {
  const type = load<u32>(map, MAP_TYPE);
  const hash = isHash(type);
  if (!hash && !isArray(type)) return -EINVAL;
  let called: i64 = 0;
  for (let i: u32 = 0, n = hash ? hashUsed(map) : load<u32>(map, MAP_MAX_ENTRIES); i < n; i++) {
    if (hash && !isUsed(map, i)) continue;
    spend();
    called++;
    if (callFunction(callback, map as u64, keyAddress(map, i) as u64, valueAddress(map, i) as u64, context) != 0) break;
  }
  return called;
}

/** Whether slot i of a hash holds an entry: it is found by its own key. */
function isUsed(map: usize, i: u32): bool {
  return hashFind(map, keyAddress(map, i)) == (i as i32);
}

// ---- queues -------------------------------------------------------------------------------------------------------------

const BPF_ANY: u64 = 0;

/** bpf_map_push_elem(); BPF_EXIST takes the oldest one's place in a full queue. */
export function queuePush(map: usize, value: u64, flags: u64): i64 {
  const type = load<u32>(map, MAP_TYPE);
  if ((type != MAP_QUEUE && type != MAP_STACK) || (flags != BPF_ANY && flags != BPF_EXIST)) return -EINVAL;
  const bytes = load<u32>(map, MAP_VALUE_BYTES);
  const from = readable(value, bytes as u64);
  const capacity = load<u32>(map, MAP_MAX_ENTRIES);
  if (load<u32>(map, MAP_COUNT) == capacity) {
    if (flags != BPF_EXIST) return -E2BIG;
    dropOldest(map);
  }
  const i = (load<u32>(map, MAP_HEAD) + load<u32>(map, MAP_COUNT)) % capacity;
  memory.copy(valueAddress(map, i), from, bytes);
  store<u32>(map, load<u32>(map, MAP_COUNT) + 1, MAP_COUNT);
  return 0;
}

function dropOldest(map: usize): void {
  store<u32>(map, (load<u32>(map, MAP_HEAD) + 1) % load<u32>(map, MAP_MAX_ENTRIES), MAP_HEAD);
  store<u32>(map, load<u32>(map, MAP_COUNT) - 1, MAP_COUNT);
}

/** bpf_map_peek_elem() and, with `remove`, bpf_map_pop_elem(): -ENOENT and a zeroed value if the queue is empty. */
export function queueTake(map: usize, value: u64, remove: bool): i64 {
  const type = load<u32>(map, MAP_TYPE);
  if (type != MAP_QUEUE && type != MAP_STACK) return -EINVAL;
  const bytes = load<u32>(map, MAP_VALUE_BYTES);
  const to = writable(value, bytes as u64);
  const n = load<u32>(map, MAP_COUNT);
  if (n == 0) {
    memory.fill(to, 0, bytes);
    return -ENOENT;
  }
  const head = load<u32>(map, MAP_HEAD);
  const i = type == MAP_QUEUE ? head : (head + n - 1) % load<u32>(map, MAP_MAX_ENTRIES);
  memory.copy(to, valueAddress(map, i), bytes);
  if (!remove) return 0;
  if (type == MAP_QUEUE) dropOldest(map);
  else store<u32>(map, n - 1, MAP_COUNT);
  return 0;
}
