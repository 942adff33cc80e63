// Fields of BPF instructions and their names (RFC 9669; Documentation/bpf/standardization/instruction-set.rst and, for what
// came later, include/uapi/linux/bpf.h).

import type { Instruction } from './program.js';

// Class: the three lowest bits of the opcode.
export const BPF_LD = 0x00;
export const BPF_LDX = 0x01;
export const BPF_ST = 0x02;
export const BPF_STX = 0x03;
export const BPF_ALU = 0x04;
export const BPF_JMP = 0x05;
export const BPF_JMP32 = 0x06;
export const BPF_ALU64 = 0x07;

/** Second operand of arithmetic and jumps: the register `src` instead of the immediate. */
export const BPF_X = 0x08;

// Size of a load or store.
export const BPF_W = 0x00;
export const BPF_H = 0x08;
export const BPF_B = 0x10;
export const BPF_DW = 0x18;

// Mode of a load or store.
export const BPF_IMM = 0x00;
export const BPF_MEM = 0x60;
export const BPF_MEMSX = 0x80;
export const BPF_ATOMIC = 0xc0;

// Arithmetic.
export const BPF_ADD = 0x00;
export const BPF_SUB = 0x10;
export const BPF_MUL = 0x20;
export const BPF_DIV = 0x30;
export const BPF_OR = 0x40;
export const BPF_AND = 0x50;
export const BPF_LSH = 0x60;
export const BPF_RSH = 0x70;
export const BPF_NEG = 0x80;
export const BPF_MOD = 0x90;
export const BPF_XOR = 0xa0;
export const BPF_MOV = 0xb0;
export const BPF_ARSH = 0xc0;
export const BPF_END = 0xd0;

/** Offset of a MOV that casts a pointer between address spaces. */
export const ADDR_SPACE_CAST = 1;

// Jumps.
export const BPF_JA = 0x00;
export const BPF_JEQ = 0x10;
export const BPF_JGT = 0x20;
export const BPF_JGE = 0x30;
export const BPF_JSET = 0x40;
export const BPF_JNE = 0x50;
export const BPF_JSGT = 0x60;
export const BPF_JSGE = 0x70;
export const BPF_CALL = 0x80;
export const BPF_EXIT = 0x90;
export const BPF_JLT = 0xa0;
export const BPF_JLE = 0xb0;
export const BPF_JSLT = 0xc0;
export const BPF_JSLE = 0xd0;
/** may_goto */
export const BPF_JCOND = 0xe0;

// Atomic operations: the immediate. Arithmetic codes stand for themselves.
export const BPF_FETCH = 0x01;
export const BPF_XCHG = 0xe1;
export const BPF_CMPXCHG = 0xf1;
export const BPF_LOAD_ACQ = 0x100;
export const BPF_STORE_REL = 0x110;

/** How often one may_goto lets its loop run (BPF_MAX_LOOPS). */
export const MAY_GOTO_LOOPS = 8 * 1024 * 1024;

/** The frame pointer. */
export const R10 = 10;

const ALU_NAMES = 'ADD SUB MUL DIV OR AND LSH RSH NEG MOD XOR MOV ARSH END'.split(' ');
const JUMP_NAMES = 'JA JEQ JGT JGE JSET JNE JSGT JSGE CALL EXIT JLT JLE JSLT JSLE JCOND'.split(' ');
const CLASS_NAMES = 'LD LDX ST STX ALU JMP JMP32 ALU64'.split(' ');
const MODE_NAMES = 'IMM ABS IND MEM MEMSX mode5 ATOMIC mode7'.split(' ');
const SIZE_NAMES: Record<number, string> = { [BPF_W]: 'W', [BPF_H]: 'H', [BPF_B]: 'B', [BPF_DW]: 'DW' };

export function classOf(opcode: number): number {
  return opcode & 7;
}

/** Bytes that a load or store moves. */
export function accessBytes(opcode: number): 1 | 2 | 4 | 8 {
  switch (opcode & 0x18) {
    case BPF_B:
      return 1;
    case BPF_H:
      return 2;
    case BPF_W:
      return 4;
    default:
      return 8;
  }
}

/** Name of an instruction in the manner of the standard, e.g. `{ADD, X, ALU64}` or `{ABS, W, LD}`. */
export function instructionName({ opcode }: Pick<Instruction, 'opcode'>): string {
  const name = CLASS_NAMES[classOf(opcode)];
  const code = opcode >> 4;
  const source = opcode & BPF_X ? 'X' : 'K';
  if (classOf(opcode) < BPF_ALU) return `{${MODE_NAMES[opcode >> 5]}, ${SIZE_NAMES[opcode & 0x18]}, ${name}}`;
  const isJump = classOf(opcode) === BPF_JMP || classOf(opcode) === BPF_JMP32;
  return `{${(isJump ? JUMP_NAMES : ALU_NAMES)[code] ?? `code ${code}`}, ${source}, ${name}}`;
}
