// What is known about registers before an instruction, so that accesses that cannot fail are not checked again: addresses of
// global data and of the stack frame, and the bytes around a register that an earlier load has already found readable.
// A forward data-flow analysis over the blocks.

import {
  accessBytes,
  BPF_ADD,
  BPF_ALU,
  BPF_ALU64,
  BPF_CALL,
  BPF_JMP,
  BPF_LD,
  BPF_LDX,
  BPF_MOV,
  BPF_STX,
  BPF_X,
  classOf,
  R10,
} from '../object/instruction.js';
import type { BpfFunction, Instruction } from '../object/program.js';
import { type Block, written } from './blocks.js';
import { NULL_BYTES } from './contract.js';
import { type Flow, successors } from './controlflow.js';

export type Pointer =
  /** r10 + offset. */
  | { base: 'frame'; offset: number }
  /** `offset` bytes into the value of a data map. */
  | { base: 'map'; map: number; offset: number }
  /** Bytes [low, high) from the register's value on have been loaded, or the register is NULL. */
  | { base: 'loaded'; low: number; high: number };

/** By register. */
export type Pointers = (Pointer | undefined)[];

/** Passes after which registers that still change count as unknown. */
const PASSES = 4;

function same(a: Pointer | undefined, b: Pointer | undefined): boolean {
  if (a === b) return true;
  if (!a || !b || a.base !== b.base) return false;
  if (a.base === 'loaded' && b.base === 'loaded') return a.low === b.low && a.high === b.high;
  if (a.base === 'map' && b.base === 'map') return a.map === b.map && a.offset === b.offset;
  return a.base === 'frame' && b.base === 'frame' && a.offset === b.offset;
}

/** What holds on both of two paths. */
function meet(a: Pointer | undefined, b: Pointer | undefined): Pointer | undefined {
  if (a?.base === 'loaded' && b?.base === 'loaded') {
    const low = Math.max(a.low, b.low);
    const high = Math.min(a.high, b.high);
    return low < high ? { base: 'loaded', low, high } : undefined;
  }
  return same(a, b) ? a : undefined;
}

function moved(pointer: Pointer | undefined, by: bigint): Pointer | undefined {
  if (!pointer || pointer.base === 'loaded') return undefined;
  return { ...pointer, offset: pointer.offset + Number(by) };
}

/** Whether a load of `bytes` at register + `offset` needs no check, given what is known of the register. */
export function isLoaded(pointer: Pointer | undefined, offset: number, bytes: number): boolean {
  return pointer?.base === 'loaded' && pointer.low <= offset && offset + bytes <= pointer.high;
}

function afterLoad(pointer: Pointer | undefined, offset: number, bytes: number): Pointer | undefined {
  if (pointer && pointer.base !== 'loaded') return pointer;
  // Beyond this a load through NULL would leave the page of zeros.
  if (offset < 0 || offset + bytes > NULL_BYTES) return pointer;
  return {
    base: 'loaded',
    low: Math.min(pointer?.low ?? offset, offset),
    high: Math.max(pointer?.high ?? 0, offset + bytes),
  };
}

/** Changes `known` from what holds before an instruction to what holds after it. */
export function step(known: Pointers, instruction: Instruction): void {
  const { opcode, dst, src, offset, imm, target } = instruction;
  switch (classOf(opcode)) {
    case BPF_LD:
      known[dst] =
        target?.kind === 'data' ? { base: 'map', map: target.map, offset: target.offset } : undefined;
      break;
    case BPF_LDX:
      known[src] = afterLoad(known[src], offset, accessBytes(opcode));
      known[dst] = undefined;
      break;
    case BPF_STX: {
      const changed = written(instruction);
      if (changed !== undefined) known[changed] = undefined;
      break;
    }
    case BPF_ALU64:
      if (opcode === (BPF_ALU64 | BPF_MOV | BPF_X) && offset === 0) known[dst] = known[src];
      else if (opcode === (BPF_ALU64 | BPF_ADD) && !target) known[dst] = moved(known[dst], imm);
      else known[dst] = undefined;
      break;
    case BPF_ALU:
      known[dst] = undefined;
      break;
    case BPF_JMP:
      if ((opcode & 0xf0) === BPF_CALL) known[0] = undefined;
  }
  known[R10] = { base: 'frame', offset: 0 };
}

/** What is known at the start of each block, by block number. */
export function pointersAt(fn: BpfFunction, blocks: Block[], flow: Flow): Pointers[] {
  const entry: Pointers = new Array(R10 + 1).fill(undefined);
  entry[R10] = { base: 'frame', offset: 0 };
  const start: (Pointers | undefined)[] = blocks.map(() => undefined);
  start[0] = entry;
  for (let pass = 0, changed = true; changed; pass++) {
    changed = false;
    for (const block of flow.order) {
      const known = [...start[block]!];
      for (let at = blocks[block].first; at < blocks[block].end; at++) step(known, fn.instructions[at]);
      for (const next of successors(flow.ends[block])) {
        const before = start[next];
        if (!before) {
          start[next] = [...known];
          changed = true;
          continue;
        }
        known.forEach((pointer, register) => {
          const both = meet(before[register], pointer);
          if (same(both, before[register])) return;
          before[register] = pass < PASSES ? both : undefined;
          changed = true;
        });
      }
    }
  }
  return start.map((known) => known ?? entry);
}
