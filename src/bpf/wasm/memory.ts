// Loads, stores and atomic operations. An access whose place is known (a stack slot, a variable) or already checked is one
// Wasm instruction. Any other is checked by one subtraction and one unsigned comparison, and what fails goes the slow way.

import {
  accessBytes,
  BPF_ADD,
  BPF_AND,
  BPF_ATOMIC,
  BPF_B,
  BPF_CMPXCHG,
  BPF_DW,
  BPF_FETCH,
  BPF_H,
  BPF_LDX,
  BPF_LOAD_ACQ,
  BPF_MEM,
  BPF_MEMSX,
  BPF_OR,
  BPF_ST,
  BPF_STORE_REL,
  BPF_W,
  BPF_XCHG,
  BPF_XOR,
  classOf,
  instructionName,
} from '../object/instruction.js';
import { NULL_BYTES, STACK_FRAME_BYTES, VIOLATION_LOAD, VIOLATION_STORE } from './contract.js';
import { I64 } from './encoder.js';
import { op } from './opcodes.js';
import { isLoaded } from './pointers.js';
import { ADDRESS, FRAME, type Scope, VALUE } from './scope.js';

const LOADS: Record<number, number> = {
  [BPF_B]: op.i64_load8_u,
  [BPF_H]: op.i64_load16_u,
  [BPF_W]: op.i64_load32_u,
  [BPF_DW]: op.i64_load,
};
const SIGNED_LOADS: Record<number, number> = {
  [BPF_B]: op.i64_load8_s,
  [BPF_H]: op.i64_load16_s,
  [BPF_W]: op.i64_load32_s,
};
const STORES: Record<number, number> = {
  [BPF_B]: op.i64_store8,
  [BPF_H]: op.i64_store16,
  [BPF_W]: op.i64_store32,
  [BPF_DW]: op.i64_store,
};
const ATOMICS: Record<number, number> = {
  [BPF_ADD]: op.i64_add,
  [BPF_OR]: op.i64_or,
  [BPF_AND]: op.i64_and,
  [BPF_XOR]: op.i64_xor,
};

/** An access that cannot fail: `push` puts an i32 on the stack, to which `offset` is added. */
interface Place {
  push(): void;
  offset: number;
}

function sizeOf(opcode: number): number {
  return opcode & 0x18;
}

/** The place of an access at register + offset, if that is certain to be inside. */
function knownPlace(
  scope: Scope,
  register: number,
  offset: number,
  bytes: number,
  store: boolean,
): Place | undefined {
  const pointer = scope.known[register];
  if (!pointer) return undefined;
  if (pointer.base === 'frame') {
    const at = STACK_FRAME_BYTES + pointer.offset + offset;
    if (at < 0 || at + bytes > STACK_FRAME_BYTES) return undefined;
    return { push: () => scope.code.get(FRAME), offset: at };
  }
  if (pointer.base === 'map') {
    const map = scope.module.object.maps[pointer.map];
    const at = pointer.offset + offset;
    if (at < 0 || at + bytes > map.value_bytes || (store && map.read_only)) return undefined;
    const global = scope.module.map(pointer.map);
    return { push: () => scope.code.global(global).op(op.i32_wrap_i64), offset: at };
  }
  if (store || !isLoaded(pointer, offset, bytes)) return undefined;
  return { push: () => scope.getWord(register), offset };
}

/** The bytes that a load of read-only data yields, if they are known now. */
function constantLoad(scope: Scope, register: number, offset: number, bytes: number): bigint | undefined {
  const pointer = scope.known[register];
  if (pointer?.base !== 'map') return undefined;
  const map = scope.module.object.maps[pointer.map];
  const at = pointer.offset + offset;
  if (!map.read_only || !map.data || at < 0 || at + bytes > Math.min(map.data.length, map.value_bytes))
    return undefined;
  let value = 0n;
  for (let i = bytes - 1; i >= 0; i--) value = (value << 8n) | BigInt(map.data[at + i]);
  return value;
}

/** Sets ADDRESS to register + offset − low and leaves whether the access would miss [low, high). */
function checkRange(
  scope: Scope,
  register: number,
  offset: number,
  bytes: number,
  low: number,
  high: number,
): void {
  scope.get(register);
  if (offset !== low) scope.code.i64(BigInt(offset) - BigInt(low)).op(op.i64_add);
  scope.code
    .tee(ADDRESS)
    .i64(BigInt(high - low - bytes))
    .op(op.i64_gt_u);
}

/** The address that was checked. */
function pushAddress(scope: Scope, low: number): void {
  scope.code.get(ADDRESS);
  if (low !== 0) scope.code.i64(BigInt(low)).op(op.i64_add);
}

/** Leaves the i64 at register + offset. */
function load(scope: Scope, opcode: number, register: number, offset: number, bytes: number): void {
  const { code } = scope;
  const known = knownPlace(scope, register, offset, bytes, false);
  if (known) {
    known.push();
    code.memory(opcode, known.offset);
    return;
  }
  const { readLow, readHigh, nullLoads = 'zero' } = scope.module.options;
  checkRange(scope, register, offset, bytes, readLow, readHigh);
  const outside = (): void => scope.violation(VIOLATION_LOAD, () => pushAddress(scope, readLow));
  if (nullLoads === 'zero') {
    code.op(op.if, I64);
    scope.get(register).i64(BigInt(NULL_BYTES)).op(op.i64_ge_u, op.if, 0x40);
    outside();
    code.op(op.end).i64(0n).op(op.else);
    code.get(ADDRESS).op(op.i32_wrap_i64).memory(opcode, readLow).op(op.end);
    return;
  }
  code.op(op.if, 0x40);
  outside();
  code.op(op.end).get(ADDRESS).op(op.i32_wrap_i64).memory(opcode, readLow);
}

/** Stores what `value` puts on the stack. */
function store(
  scope: Scope,
  opcode: number,
  register: number,
  offset: number,
  bytes: number,
  value: () => void,
): void {
  const { code } = scope;
  const known = knownPlace(scope, register, offset, bytes, true);
  if (known) {
    known.push();
    value();
    code.memory(opcode, known.offset);
    return;
  }
  const { writeLow, writeHigh } = scope.module.options;
  checkRange(scope, register, offset, bytes, writeLow, writeHigh);
  code.op(op.if, 0x40);
  pushAddress(scope, writeLow);
  value();
  code.i32(bytes).call(scope.module.writeTask).op(op.i32_eqz, op.if, 0x40);
  scope.violation(VIOLATION_STORE, () => pushAddress(scope, writeLow));
  code.op(op.end, op.else).get(ADDRESS).op(op.i32_wrap_i64);
  value();
  code.memory(opcode, writeLow).op(op.end);
}

/** Read, change, write: nothing runs in between, so an atomic operation is its two accesses. */
function atomic(scope: Scope): void {
  const { opcode, dst, src, offset, imm } = scope.instruction;
  const { code } = scope;
  const operation = Number(imm);
  const bytes = accessBytes(opcode);
  if (operation === BPF_LOAD_ACQ) {
    load(scope, LOADS[sizeOf(opcode)], src, offset, bytes);
    scope.set(dst);
    return;
  }
  if (operation === BPF_STORE_REL) {
    store(scope, STORES[sizeOf(opcode)], dst, offset, bytes, () => scope.get(src));
    return;
  }
  const arithmetic = ATOMICS[operation & ~BPF_FETCH];
  const exists = operation === BPF_XCHG || operation === BPF_CMPXCHG || arithmetic !== undefined;
  if (bytes < 4 || !exists) scope.refuse(`atomic operation 0x${operation.toString(16)} is not supported`);

  let place = knownPlace(scope, dst, offset, bytes, true);
  if (!place) {
    const { writeLow, writeHigh } = scope.module.options;
    checkRange(scope, dst, offset, bytes, writeLow, writeHigh);
    code.op(op.if, 0x40);
    scope.violation(VIOLATION_STORE, () => pushAddress(scope, writeLow));
    code.op(op.end);
    place = { push: () => code.get(ADDRESS).op(op.i32_wrap_i64), offset: writeLow };
  }
  const comparand = (): void => {
    scope.get(0);
    if (bytes === 4) code.op(op.i32_wrap_i64, op.i64_extend_i32_u);
  };
  place.push();
  code.memory(LOADS[sizeOf(opcode)], place.offset).set(VALUE);
  place.push();
  if (operation === BPF_CMPXCHG) {
    scope.get(src).get(VALUE).get(VALUE);
    comparand();
    code.op(op.i64_eq, op.select);
  } else if (operation === BPF_XCHG) scope.get(src);
  else {
    code.get(VALUE);
    scope.get(src).op(arithmetic);
  }
  code.memory(STORES[sizeOf(opcode)], place.offset);
  if (operation === BPF_CMPXCHG) {
    code.get(VALUE);
    scope.set(0);
  } else if (operation & BPF_FETCH) {
    code.get(VALUE);
    scope.set(src);
  }
}

/** Translates one instruction of class LDX, ST or STX. */
export function translateMemory(scope: Scope): void {
  const { opcode, dst, src, offset } = scope.instruction;
  const bytes = accessBytes(opcode);
  const mode = opcode & 0xe0;
  const kind = classOf(opcode);
  if (kind === BPF_LDX) {
    const loads = mode === BPF_MEM ? LOADS : mode === BPF_MEMSX ? SIGNED_LOADS : {};
    const opcodeOfLoad = loads[sizeOf(opcode)];
    if (opcodeOfLoad === undefined) unsupported(scope);
    const constant = constantLoad(scope, src, offset, bytes);
    if (constant === undefined) load(scope, opcodeOfLoad, src, offset, bytes);
    else scope.code.i64(mode === BPF_MEMSX ? BigInt.asIntN(bytes * 8, constant) : constant);
    scope.set(dst);
  } else if (mode === BPF_MEM) {
    const value = kind === BPF_ST ? () => scope.code.i64(scope.immediate) : () => scope.get(src);
    store(scope, STORES[sizeOf(opcode)], dst, offset, bytes, value);
  } else if (mode === BPF_ATOMIC && kind !== BPF_ST) atomic(scope);
  else unsupported(scope);
}

function unsupported(scope: Scope): never {
  scope.refuse(`instruction ${instructionName(scope.instruction)} is not supported`);
}
