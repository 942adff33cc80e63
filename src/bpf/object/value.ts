// What is known about a register while looking for code that can't be reached: a constant, a pointer with a known place, or
// nothing. Merging is by equality, so every register changes at most twice in a fixpoint.

import {
  BPF_ADD,
  BPF_ALU64,
  BPF_AND,
  BPF_ARSH,
  BPF_DIV,
  BPF_JEQ,
  BPF_JGE,
  BPF_JGT,
  BPF_JLE,
  BPF_JLT,
  BPF_JMP,
  BPF_JNE,
  BPF_JSET,
  BPF_JSGE,
  BPF_JSGT,
  BPF_JSLE,
  BPF_JSLT,
  BPF_LSH,
  BPF_MOD,
  BPF_MOV,
  BPF_MUL,
  BPF_NEG,
  BPF_OR,
  BPF_RSH,
  BPF_SUB,
  BPF_XOR,
  classOf,
} from './instruction.js';

export type Value =
  | { kind: 'unknown' }
  | { kind: 'constant'; value: bigint }
  /** Into the value of a data map. */
  | { kind: 'data'; map: number; offset: number }
  /** Bytes from the frame pointer; undefined: anything, maybe an address in the frame. */
  | { kind: 'stack'; offset: number | undefined }
  /** Any other pointer that is not null: a map, a function. */
  | { kind: 'pointer' };

export const UNKNOWN: Value = { kind: 'unknown' };
export const POINTER: Value = { kind: 'pointer' };
const MAYBE_STACK: Value = { kind: 'stack', offset: undefined };

export const constant = (value: bigint): Value => ({ kind: 'constant', value: BigInt.asUintN(64, value) });

export function sameValue(a: Value, b: Value): boolean {
  if (a === b) return true;
  if (a.kind === 'constant') return b.kind === 'constant' && a.value === b.value;
  if (a.kind === 'data') return b.kind === 'data' && a.map === b.map && a.offset === b.offset;
  if (a.kind === 'stack') return b.kind === 'stack' && a.offset === b.offset;
  return a.kind === b.kind;
}

export function join(a: Value, b: Value): Value {
  if (sameValue(a, b)) return a;
  if (a.kind === 'stack' || b.kind === 'stack') return MAYBE_STACK;
  return isPointer(a) && isPointer(b) ? POINTER : UNKNOWN;
}

/** Not a number; not null either, unless it is MAYBE_STACK. */
const isPointer = (value: Value): boolean => value.kind !== 'unknown' && value.kind !== 'constant';

const signed = (value: bigint, bits: number) => BigInt.asIntN(bits, value);

/** Result of the ALU instruction `opcode` on known operands; `offset` tells signed division and moves with extension. */
export function alu(opcode: number, offset: number, dst: Value, src: Value): Value {
  const wide = classOf(opcode) === BPF_ALU64;
  const operation = opcode & 0xf0;
  if (operation === BPF_MOV && offset === 0 && wide) return src;
  if (isPointer(dst) || isPointer(src)) {
    const lost = dst.kind === 'stack' || src.kind === 'stack' ? MAYBE_STACK : UNKNOWN;
    return (wide ? moved(operation, dst, src) : undefined) ?? lost;
  }
  if (src.kind !== 'constant' || (dst.kind !== 'constant' && operation !== BPF_MOV)) return UNKNOWN;
  const bits = wide ? 64 : 32;
  const b = BigInt.asUintN(bits, src.value);
  const a = dst.kind === 'constant' ? BigInt.asUintN(bits, dst.value) : 0n;
  const result = compute(operation, offset, a, b, bits);
  return result === undefined ? UNKNOWN : constant(BigInt.asUintN(bits, result));
}

/** Pointer arithmetic with a known result. */
function moved(operation: number, dst: Value, src: Value): Value | undefined {
  const [pointer, distance] = isPointer(dst) ? [dst, src] : [src, dst];
  if (operation !== BPF_ADD && (operation !== BPF_SUB || pointer !== dst)) return undefined;
  if (distance.kind !== 'constant' || (pointer.kind !== 'data' && pointer.kind !== 'stack')) return undefined;
  if (pointer.offset === undefined) return undefined;
  const offset =
    pointer.offset + Number(signed(operation === BPF_ADD ? distance.value : -distance.value, 64));
  return Number.isSafeInteger(offset) ? { ...pointer, offset } : undefined;
}

function compute(operation: number, offset: number, a: bigint, b: bigint, bits: number): bigint | undefined {
  const shift = b & BigInt(bits - 1);
  const isSigned = offset === 1;
  switch (operation) {
    case BPF_ADD:
      return a + b;
    case BPF_SUB:
      return a - b;
    case BPF_MUL:
      return a * b;
    case BPF_DIV:
      if (b === 0n) return 0n;
      return isSigned ? signed(a, bits) / signed(b, bits) : a / b;
    case BPF_OR:
      return a | b;
    case BPF_AND:
      return a & b;
    case BPF_LSH:
      return a << shift;
    case BPF_RSH:
      return a >> shift;
    case BPF_NEG:
      return -a;
    case BPF_MOD:
      if (b === 0n) return a;
      return isSigned ? signed(a, bits) % signed(b, bits) : a % b;
    case BPF_XOR:
      return a ^ b;
    case BPF_MOV:
      // Other offsets cast between address spaces, or mean nothing.
      if (offset === 0) return b;
      return offset === 8 || offset === 16 || offset === 32 ? signed(b, offset) : undefined;
    case BPF_ARSH:
      return signed(a, bits) >> shift;
    default:
      return undefined;
  }
}

/** Whether the conditional jump `opcode` is taken; undefined if that is not known. */
export function taken(opcode: number, dst: Value, src: Value): boolean | undefined {
  const operation = opcode & 0xf0;
  const bits = classOf(opcode) === BPF_JMP ? 64 : 32;
  if (isPointer(dst) && src.kind === 'constant' && src.value === 0n && bits === 64) {
    if (sameValue(dst, MAYBE_STACK)) return undefined;
    return operation === BPF_JEQ ? false : operation === BPF_JNE ? true : undefined;
  }
  if (dst.kind !== 'constant' || src.kind !== 'constant') return undefined;
  const a = BigInt.asUintN(bits, dst.value);
  const b = BigInt.asUintN(bits, src.value);
  switch (operation) {
    case BPF_JEQ:
      return a === b;
    case BPF_JGT:
      return a > b;
    case BPF_JGE:
      return a >= b;
    case BPF_JSET:
      return (a & b) !== 0n;
    case BPF_JNE:
      return a !== b;
    case BPF_JSGT:
      return signed(a, bits) > signed(b, bits);
    case BPF_JSGE:
      return signed(a, bits) >= signed(b, bits);
    case BPF_JLT:
      return a < b;
    case BPF_JLE:
      return a <= b;
    case BPF_JSLT:
      return signed(a, bits) < signed(b, bits);
    case BPF_JSLE:
      return signed(a, bits) <= signed(b, bits);
    default:
      return undefined;
  }
}
