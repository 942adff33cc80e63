// Where the parts of a linked object lie in the engine's memory. From BPF_MAPS_AT upwards:
//
//   headers of maps | read-only values | keys, links and tables of maps | the heap's own tables      programs read
//   stack | values of maps | heap                                                                    programs write
//
// What programs cannot write is what the engine relies on: a wild store breaks the program's own data only.

import * as abi from '../../engine/abi.js';
import { ObjectError } from '../object/bytes.js';
import type { BpfMap, BpfObject } from '../object/program.js';
import { STACK_FRAME_BYTES, STACK_FRAMES } from '../wasm/contract.js';
import { MAP_TYPE_NUMBERS } from './supported.js';

/** Callbacks can nest, each with a full stack of frames. */
const STACK_BYTES = 32 * STACK_FRAMES * STACK_FRAME_BYTES;
const HEAP_BYTES = 64 << 20;
/** A byte per 16 B, and one per chunk of 64 KiB (assembly/bpf/heap.ts). */
const HEAP_TABLE_BYTES = HEAP_BYTES / 16 + HEAP_BYTES / 65536;
const MAX_BYTES = 1 << 30;
const MAX_TASKS = 262_144;
const MAX_CGROUPS = 131_072;

/** A map's places, engine addresses; 0 = it has none. */
export interface PlacedMap {
  header: number;
  values: number;
  stride: number;
  /** Copies of each value, 0 = one. */
  cpus: number;
  table: number;
  mask: number;
  next: number;
  keys: number;
  key_stride: number;
}

export interface Region {
  /** Bytes from BPF_MAPS_AT on. */
  bytes: number;
  headersEnd: number;
  writeLow: number;
  writeHigh: number;
  stackLow: number;
  stackHigh: number;
  heapTables: number;
  heapLow: number;
  maps: PlacedMap[];
}

const align = (value: number, to: number) => Math.ceil(value / to) * to;

/** Hands out addresses, aligned to 8. */
class Cursor {
  constructor(public at: number) {}

  take(bytes: number, alignment = 8): number {
    const start = align(this.at, alignment);
    this.at = start + bytes;
    return start;
  }
}

const isHash = ({ type }: BpfMap) => /^(LRU_|PERCPU_)?HASH$|^HASH_OF_MAPS$/.test(type);
const isStorage = ({ type }: BpfMap) => type === 'TASK_STORAGE' || type === 'CGRP_STORAGE';
const holdsMaps = ({ type }: BpfMap) => type.endsWith('_OF_MAPS');

/** Values that programs may not write: constants, and the addresses in maps of maps. */
const isReadOnly = (map: BpfMap) => map.read_only || holdsMaps(map);

function valueBytes(map: BpfMap, stride: number, cpus: number): number {
  if (map.type === 'RINGBUF') return map.max_entries;
  return isStorage(map) ? 0 : map.max_entries * stride * Math.max(1, cpus);
}

/** Maps of maps that a loader fills with new maps before it starts: arrays of which no slot is given. */
const isUnfilled = ({ type, inner, slots }: BpfMap) =>
  type === 'ARRAY_OF_MAPS' && inner !== undefined && (slots === undefined || slots.size === 0);

/** The object with a map like its template in each slot of such an array. */
export function withInnerMaps(object: BpfObject): BpfObject {
  const maps = object.maps.map((map) => ({ ...map }));
  for (const map of object.maps.filter(isUnfilled)) {
    const first = maps.length;
    const slots = new Map(Array.from({ length: map.max_entries }, (_, key) => [key, first + key]));
    const template = object.maps[map.inner!];
    for (let i = 0; i < map.max_entries; i++) maps.push({ ...template, name: `${map.name}[${i}]` });
    Object.assign(maps[object.maps.indexOf(map)], { slots });
  }
  return { ...object, maps };
}

/** Lays a linked object out for a machine of `cpus` CPUs. Error: `bpf_memory` if its maps need more than 1 GiB. */
export function layOut(object: BpfObject, cpus: number): Region {
  const low = new Cursor(abi.BPF_MAPS_AT);
  const maps = object.maps.map((map): PlacedMap => {
    const hash = isHash(map);
    const buckets = hash ? 2 ** Math.ceil(Math.log2(Math.max(2, map.max_entries))) : 0;
    return {
      header: low.take(abi.MAP_HEADER_BYTES, abi.MAP_HEADER_BYTES),
      values: 0,
      stride: holdsMaps(map) ? 8 : align(map.value_bytes, 8),
      cpus: map.type.includes('PERCPU') ? cpus : 0,
      table: 0,
      mask: hash ? buckets - 1 : 0,
      next: 0,
      keys: 0,
      key_stride: hash ? align(map.key_bytes, 8) : 0,
    };
  });
  const headersEnd = low.at;
  object.maps.forEach((map, i) => {
    const placed = maps[i];
    if (isReadOnly(map)) placed.values = low.take(valueBytes(map, placed.stride, 0));
    if (isStorage(map)) placed.table = low.take(4 * (map.type === 'TASK_STORAGE' ? MAX_TASKS : MAX_CGROUPS));
    if (!isHash(map)) return;
    placed.table = low.take(4 * (placed.mask + 1));
    placed.next = low.take(4 * map.max_entries);
    placed.keys = low.take(placed.key_stride * map.max_entries);
  });
  const heapTables = low.take(HEAP_TABLE_BYTES);

  const high = new Cursor(align(low.at, 4096));
  const stackLow = high.take(STACK_BYTES);
  object.maps.forEach((map, i) => {
    const placed = maps[i];
    if (!isReadOnly(map)) placed.values = high.take(valueBytes(map, placed.stride, placed.cpus));
  });
  const heapLow = high.take(HEAP_BYTES, 65536);
  if (high.at - abi.BPF_MAPS_AT > MAX_BYTES) {
    throw new ObjectError(
      'bpf_setting',
      `the maps need ${Math.ceil((high.at - abi.BPF_MAPS_AT) / 2 ** 20)} MiB`,
      {
        file: object.file,
        expected: `at most ${MAX_BYTES >> 20} MiB; policy.maps sets their capacities`,
      },
    );
  }
  return {
    bytes: high.at - abi.BPF_MAPS_AT,
    headersEnd,
    writeLow: stackLow,
    writeHigh: high.at,
    stackLow,
    stackHigh: stackLow + STACK_BYTES,
    heapTables,
    heapLow,
    maps,
  };
}

/** Writes headers and initial values; memory is the engine's, zeroed there. */
export function fillRegion(memory: ArrayBuffer, object: BpfObject, region: Region): void {
  const view = new DataView(memory);
  object.maps.forEach((map, i) => {
    const placed = region.maps[i];
    const set = (field: number, value: number) => view.setUint32(placed.header + field, value, true);
    set(abi.MAP_TYPE, MAP_TYPE_NUMBERS[map.type]);
    set(abi.MAP_KEY_BYTES, map.key_bytes);
    set(abi.MAP_VALUE_BYTES, map.value_bytes);
    set(abi.MAP_MAX_ENTRIES, map.max_entries);
    set(abi.MAP_VALUES, placed.values);
    set(abi.MAP_STRIDE, placed.stride);
    set(abi.MAP_FLAGS, map.flags);
    set(abi.MAP_TABLE, placed.table);
    set(abi.MAP_MASK, placed.mask);
    set(abi.MAP_NEXT, placed.next);
    set(abi.MAP_KEYS, placed.keys);
    set(abi.MAP_KEY_STRIDE, placed.key_stride);
    set(abi.MAP_CPUS, placed.cpus);
    set(abi.MAP_INNER, holdsMaps(map) ? region.maps[map.inner ?? i].header : 0);
    set(abi.MAP_SPECIAL, map.special.some(({ kind }) => kind === 'bpf_timer') ? 1 : 0);
    if (map.data !== undefined) new Uint8Array(memory).set(map.data, placed.values);
    for (const [key, slot] of map.slots ?? []) {
      view.setUint32(placed.values + key * placed.stride, region.maps[slot].header, true);
    }
  });
  const storage = object.maps.flatMap((map, i) => (isStorage(map) ? [region.maps[i].header] : []));
  if (storage.length >= abi.BPF_MAX_STORAGE_MAPS || object.types.length >= abi.BPF_MAX_TYPES) {
    throw new ObjectError('bpf_setting', 'too many maps of storage, or types that it allocates', {
      file: object.file,
      expected: `fewer than ${abi.BPF_MAX_STORAGE_MAPS}, and ${abi.BPF_MAX_TYPES} types`,
    });
  }
  storage.forEach((header, i) => {
    view.setUint32(abi.BPF_STATE_AT + abi.BPF_STORAGE_MAPS + 4 * i, header, true);
  });
  object.types.forEach(({ id, bytes, special }, i) => {
    const at = abi.BPF_STATE_AT + abi.BPF_TYPES + 16 * i;
    view.setUint32(at, id, true);
    view.setUint32(at + 4, bytes, true);
    const count = special.find(({ kind }) => kind === 'bpf_refcount');
    view.setUint32(at + 8, count === undefined ? 0 : count.offset + 1, true);
  });
}

/** Bytes of a task's comm, the closing NUL included. */
const COMM_BYTES = 16;

/** comm of tasks: the name of their statistics class, cut to what fits. */
export function fillComms(memory: ArrayBuffer, names: readonly string[]): void {
  const encoder = new TextEncoder();
  names.forEach((name, i) => {
    const bytes = encoder.encode(name).subarray(0, COMM_BYTES - 1);
    new Uint8Array(memory).set(bytes, abi.BPF_STATE_AT + abi.BPF_COMMS + COMM_BYTES * i);
  });
}
