// What the engine exports for BPF objects: to the host that places one, and to the translated module. The host calls
//
//   bpfReserve(bytes)              makes room before any model; the address is BPF_MAPS
//   bpfRegion(…), bpfHeap(…)       says what the object may write and where its heap is
//   bpfMapping(map)                a map from cgroup ids to domains, kept by the engine
//   bpfFunctions(low, count)       its functions in the table
//   bpfOp(op, slot)                function `slot` of the table is the callback
//   bpfState()                     address of what bpf/state.ts lays out
//
// and asks bpfViolation…() why a module has trapped.

import { arenaAllocate, arenaReset, arenaTop } from '../core/arena';
import { failureCallSite } from '../core/failure';
import { ARENA, BPF_MAPS, BPF_STATE } from '../core/layout';
import { contextOp, contextReset, functionsSet, violationKind, violationSite, violationValue } from './context';
import { heapSet } from './heap';
import { mapsSet } from './map';
import { mappingSet } from './mapping';
import { messageReset } from './message';
import { regionSet } from './region';
import { CALL_SITE, OPS_SLOTS } from './state';

export * from './cpumask';
export * from './cpus';
export * from './dsqiter';
export * from './helpers';
export * from './kfuncs';
export * from './list';
export * from './objects';
export * from './rbtree';

/** Where the model's part of the arena begins: behind what the object uses. */
export let modelBase: usize = ARENA;

/** Makes room for an object that needs `bytes` of maps, stack and heap; address of these, 0 if there is none. */
export function bpfReserve(bytes: u32): usize {
  arenaReset(ARENA);
  const at = arenaAllocate(BPF_MAPS - ARENA + bytes);
  if (at == 0) return 0;
  modelBase = arenaTop();
  store<u32>(CALL_SITE, 0);
  failureCallSite(CALL_SITE);
  contextReset();
  messageReset();
  return BPF_MAPS;
}

/** Headers of maps end at `maps`; programs write [low, high). */
export function bpfRegion(maps: usize, low: usize, high: usize): void {
  mapsSet(maps);
  regionSet(low, high);
}

export function bpfHeap(low: usize, high: usize, tables: usize): void {
  heapSet(low, high, tables);
}

/** The header of the platform's map from cgroups to domains. */
export function bpfMapping(map: usize): void {
  mappingSet(map);
}

export function bpfOp(op: u32, slot: u32): void {
  store<u32>(OPS_SLOTS + (op << 2), slot);
}

/** The object's functions are the table's slots [low, low + count). */
export function bpfFunctions(low: u32, count: u32): void {
  functionsSet(low, count);
}

export function bpfState(): usize {
  return BPF_STATE;
}

/** What the object did that the verifier would have refused; 0 = nothing. */
export function bpfViolation(): u32 {
  return violationKind;
}

export function bpfViolationSite(): u32 {
  return violationSite;
}

export function bpfViolationValue(): u64 {
  return violationValue;
}

/** Callback in which it happened. */
export function bpfViolationOp(): u32 {
  return contextOp;
}
