// Arithmetic instructions: ALU works on the low halves of registers and clears the high ones, ALU64 on all 64 bits.
// Division by zero gives 0, modulo zero the dividend; shifts take their count modulo the width, as Wasm's do.

import {
  ADDR_SPACE_CAST,
  BPF_ADD,
  BPF_ALU64,
  BPF_AND,
  BPF_ARSH,
  BPF_DIV,
  BPF_END,
  BPF_LSH,
  BPF_MOD,
  BPF_MOV,
  BPF_MUL,
  BPF_NEG,
  BPF_OR,
  BPF_RSH,
  BPF_SUB,
  BPF_X,
  BPF_XOR,
  classOf,
  instructionName,
} from '../object/instruction.js';
import { I32, I64 } from './encoder.js';
import { op } from './opcodes.js';
import { type Scope, WORD } from './scope.js';

/** Wasm opcodes by BPF code: [32 bits, 64 bits]. */
const PLAIN: Record<number, [number, number]> = {
  [BPF_ADD]: [op.i32_add, op.i64_add],
  [BPF_SUB]: [op.i32_sub, op.i64_sub],
  [BPF_MUL]: [op.i32_mul, op.i64_mul],
  [BPF_OR]: [op.i32_or, op.i64_or],
  [BPF_AND]: [op.i32_and, op.i64_and],
  [BPF_XOR]: [op.i32_xor, op.i64_xor],
  [BPF_LSH]: [op.i32_shl, op.i64_shl],
  [BPF_RSH]: [op.i32_shr_u, op.i64_shr_u],
  [BPF_ARSH]: [op.i32_shr_s, op.i64_shr_s],
};

/** The operations of one width, so that each rule is written once. */
interface Width {
  type: typeof I32 | typeof I64;
  get(register: number): void;
  set(register: number): void;
  constant(value: bigint): void;
  eqz: number;
  eq: number;
  sub: number;
  divS: number;
  divU: number;
  remS: number;
  remU: number;
}

function widthOf(scope: Scope, wide: boolean): Width {
  const { code } = scope;
  if (wide) {
    return {
      type: I64,
      get: (register) => scope.get(register),
      set: (register) => scope.set(register),
      constant: (value) => code.i64(value),
      eqz: op.i64_eqz,
      eq: op.i64_eq,
      sub: op.i64_sub,
      divS: op.i64_div_s,
      divU: op.i64_div_u,
      remS: op.i64_rem_s,
      remU: op.i64_rem_u,
    };
  }
  return {
    type: I32,
    get: (register) => scope.getWord(register),
    set: (register) => scope.setWord(register),
    constant: (value) => code.i32(Number(BigInt.asIntN(32, value))),
    eqz: op.i32_eqz,
    eq: op.i32_eq,
    sub: op.i32_sub,
    divS: op.i32_div_s,
    divU: op.i32_div_u,
    remS: op.i32_rem_s,
    remU: op.i32_rem_u,
  };
}

/** Puts the result of a division on the stack. */
function divide(scope: Scope, width: Width, code: number, signed: boolean): void {
  const { opcode, dst, src } = scope.instruction;
  const out = scope.code;
  const isDivision = code === BPF_DIV;
  const negate = (): void => {
    width.constant(0n);
    width.get(dst);
    out.op(width.sub);
  };
  const whenZero = (): void => {
    if (isDivision) width.constant(0n);
    else width.get(dst);
  };
  const operation = isDivision ? (signed ? width.divS : width.divU) : signed ? width.remS : width.remU;
  if ((opcode & BPF_X) === 0) {
    const divisor = BigInt.asIntN(width.type === I64 ? 64 : 32, scope.immediate);
    if (divisor === 0n) whenZero();
    // The lowest number divided by −1 wraps around in BPF and traps in Wasm.
    else if (signed && isDivision && divisor === -1n) negate();
    else {
      width.get(dst);
      width.constant(divisor);
      out.op(operation);
    }
    return;
  }
  width.get(src);
  out.op(width.eqz, op.if, width.type);
  whenZero();
  out.op(op.else);
  if (signed && isDivision) {
    width.get(src);
    width.constant(-1n);
    out.op(width.eq, op.if, width.type);
    negate();
    out.op(op.else);
  }
  width.get(dst);
  width.get(src);
  out.op(operation, op.end);
  if (signed && isDivision) out.op(op.end);
}

/** Swaps the four bytes of the i32 on the stack. */
function swapWord(scope: Scope): void {
  scope.code
    .tee(WORD)
    .i32(8)
    .op(op.i32_rotl)
    .i32(0x00ff00ff)
    .op(op.i32_and)
    .get(WORD)
    .i32(24)
    .op(op.i32_rotl)
    .i32(0xff00ff00)
    .op(op.i32_and, op.i32_or);
}

function byteSwap(scope: Scope): void {
  const { opcode, dst, imm } = scope.instruction;
  const { code } = scope;
  const bits = Number(imm);
  const swaps = classOf(opcode) === BPF_ALU64 || (opcode & BPF_X) !== 0;
  if (classOf(opcode) === BPF_ALU64 && (opcode & BPF_X) !== 0) unsupported(scope);
  if (bits !== 16 && bits !== 32 && bits !== 64)
    scope.refuse(`byte swap of ${bits} bits; expected 16, 32 or 64`);
  if (!swaps) {
    // Numbers are little-endian already: what remains is to clear the higher bytes.
    if (bits === 64) return;
    scope
      .get(dst)
      .i64(bits === 16 ? 0xffffn : 0xffffffffn)
      .op(op.i64_and);
    scope.set(dst);
    return;
  }
  if (bits === 64) {
    scope.getWord(dst);
    swapWord(scope);
    code.op(op.i64_extend_i32_u).i64(32n).op(op.i64_shl);
    scope.get(dst).i64(32n).op(op.i64_shr_u, op.i32_wrap_i64);
    swapWord(scope);
    code.op(op.i64_extend_i32_u, op.i64_or);
    scope.set(dst);
    return;
  }
  scope.getWord(dst);
  swapWord(scope);
  if (bits === 16) code.i32(16).op(op.i32_shr_u);
  scope.setWord(dst);
}

function move(scope: Scope, wide: boolean): void {
  const { opcode, dst, src, offset } = scope.instruction;
  const { code } = scope;
  if ((opcode & BPF_X) === 0) {
    const value = scope.immediate;
    code.i64(wide ? value : BigInt.asUintN(32, value));
    scope.set(dst);
    return;
  }
  switch (offset) {
    case 0:
      scope.get(src);
      if (!wide) code.op(op.i32_wrap_i64, op.i64_extend_i32_u);
      break;
    case ADDR_SPACE_CAST:
      // Arenas lie in the engine's memory: both address spaces are that one, and NULL stays NULL.
      if (!wide) unsupported(scope);
      scope.getWord(src).op(op.i64_extend_i32_u);
      break;
    case 8:
      if (wide) scope.get(src).op(op.i64_extend8_s);
      else scope.getWord(src).op(op.i32_extend8_s, op.i64_extend_i32_u);
      break;
    case 16:
      if (wide) scope.get(src).op(op.i64_extend16_s);
      else scope.getWord(src).op(op.i32_extend16_s, op.i64_extend_i32_u);
      break;
    case 32:
      if (!wide) unsupported(scope);
      scope.get(src).op(op.i64_extend32_s);
      break;
    default:
      scope.refuse(`MOV with offset ${offset} is not supported`);
  }
  scope.set(dst);
}

function unsupported(scope: Scope): never {
  scope.refuse(`instruction ${instructionName(scope.instruction)} is not supported`);
}

/** Translates one instruction of class ALU or ALU64. */
export function translateArithmetic(scope: Scope): void {
  const { opcode, dst, src, offset } = scope.instruction;
  const wide = classOf(opcode) === BPF_ALU64;
  const code = opcode & 0xf0;
  if (code === BPF_MOV) {
    move(scope, wide);
    return;
  }
  if (code === BPF_END) {
    byteSwap(scope);
    return;
  }
  const width = widthOf(scope, wide);
  if (code === BPF_DIV || code === BPF_MOD) {
    if (offset !== 0 && offset !== 1) scope.refuse(`division with offset ${offset} is not supported`);
    divide(scope, width, code, offset === 1);
    width.set(dst);
    return;
  }
  if (offset !== 0)
    scope.refuse(`${instructionName(scope.instruction)} with offset ${offset} is not supported`);
  if (code === BPF_NEG) {
    if (opcode & BPF_X) unsupported(scope);
    width.constant(0n);
    width.get(dst);
    scope.code.op(width.sub);
    width.set(dst);
    return;
  }
  const plain = PLAIN[code];
  if (!plain) unsupported(scope);
  width.get(dst);
  if (opcode & BPF_X) width.get(src);
  else width.constant(scope.immediate);
  scope.code.op(plain[wide ? 1 : 0]);
  width.set(dst);
}
