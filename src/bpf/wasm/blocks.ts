// Basic blocks of a BPF function, and what the kernel's verifier would say about its shape: no jump out of the function, no
// falling off its end, no unknown register, no write to the frame pointer. Only what can be reached is looked at.

import { VtimeError } from '../../errors.js';
import {
  BPF_ALU,
  BPF_ALU64,
  BPF_ATOMIC,
  BPF_CALL,
  BPF_CMPXCHG,
  BPF_EXIT,
  BPF_FETCH,
  BPF_JA,
  BPF_JCOND,
  BPF_JMP,
  BPF_JMP32,
  BPF_LD,
  BPF_LDX,
  BPF_LOAD_ACQ,
  BPF_STX,
  classOf,
  instructionName,
  R10,
} from '../object/instruction.js';
import type { BpfFunction, Instruction } from '../object/program.js';
import type { Terminator } from './controlflow.js';

export interface Block {
  /** Instructions [first, end) without the jump that ends the block; `jump` is its index, if there is one. */
  first: number;
  end: number;
  jump: number | undefined;
}

export interface Blocks {
  blocks: Block[];
  ends: Terminator[];
}

/** Where an instruction is, in words: function, position as a disassembler shows it, source line. */
export function placeOf(fn: BpfFunction, at: number): string {
  const { index, line } = fn.instructions[at] ?? { index: at };
  return `function ${fn.name}, instruction ${index}${line ? ` (${line})` : ''}`;
}

export function refuse(fn: BpfFunction, at: number, message: string): never {
  throw new VtimeError('bpf_instruction', `${placeOf(fn, at)}: ${message}`);
}

function isJump(opcode: number): boolean {
  const kind = classOf(opcode);
  return (kind === BPF_JMP || kind === BPF_JMP32) && (opcode & 0xf0) !== BPF_CALL;
}

function isUnconditional(opcode: number): boolean {
  return (opcode & 0xf0) === BPF_JA || (opcode & 0xf0) === BPF_EXIT;
}

/** The register that the instruction sets, calls aside. */
export function written({ opcode, dst, src, imm }: Instruction): number | undefined {
  const kind = classOf(opcode);
  if (kind === BPF_ALU || kind === BPF_ALU64 || kind === BPF_LDX || kind === BPF_LD) return dst;
  if (kind !== BPF_STX || (opcode & 0xe0) !== BPF_ATOMIC) return undefined;
  if (imm === BigInt(BPF_LOAD_ACQ)) return dst;
  if (imm === BigInt(BPF_CMPXCHG)) return 0;
  return Number(imm) & BPF_FETCH ? src : undefined;
}

/** Indices of the instructions that may follow the one at `at`. */
function following(fn: BpfFunction, at: number): number[] {
  const { opcode, offset } = fn.instructions[at];
  if (!isJump(opcode)) return [at + 1];
  if ((opcode & 0xf0) === BPF_EXIT) return [];
  return isUnconditional(opcode) ? [offset] : [offset, at + 1];
}

function checkRegisters(fn: BpfFunction, at: number): void {
  const instruction = fn.instructions[at];
  const { dst, src } = instruction;
  if (dst > R10 || src > R10 || dst < 0 || src < 0)
    refuse(fn, at, `register ${Math.max(dst, src)} does not exist`);
  if (written(instruction) === R10) refuse(fn, at, 'the frame pointer r10 is read only');
}

/** Splits a function. Throws `bpf_instruction` for a function of a shape that no kernel would load. */
export function readBlocks(fn: BpfFunction): Blocks {
  const count = fn.instructions.length;
  const leaders = new Set([0]);
  const seen = new Uint8Array(count);
  const work = [0];
  if (count === 0) throw new VtimeError('bpf_instruction', `function ${fn.name} has no instructions`);
  for (let at = work.pop(); at !== undefined; at = work.pop()) {
    if (seen[at]) continue;
    seen[at] = 1;
    checkRegisters(fn, at);
    const { opcode } = fn.instructions[at];
    const targets = following(fn, at);
    for (const target of targets) {
      if (!Number.isInteger(target) || target < 0 || target >= count) {
        const fallsOff = target === at + 1;
        refuse(
          fn,
          at,
          fallsOff ? 'runs past the end of the function' : `jumps out of the function, to ${target}`,
        );
      }
      if (isJump(opcode)) leaders.add(target);
      work.push(target);
    }
  }
  const firsts = [...leaders].sort((a, b) => a - b);
  const number = new Map(firsts.map((first, i) => [first, i]));
  const blocks: Block[] = [];
  const ends: Terminator[] = [];
  for (const first of firsts) {
    let at = first;
    while (!isJump(fn.instructions[at].opcode) && !leaders.has(at + 1)) at++;
    const { opcode, offset } = fn.instructions[at];
    if (!isJump(opcode)) {
      blocks.push({ first, end: at + 1, jump: undefined });
      ends.push({ kind: 'jump', target: number.get(at + 1)! });
      continue;
    }
    blocks.push({ first, end: at, jump: at });
    if ((opcode & 0xf0) === BPF_EXIT) ends.push({ kind: 'exit' });
    else if (isUnconditional(opcode)) ends.push({ kind: 'jump', target: number.get(offset)! });
    else ends.push({ kind: 'branch', taken: number.get(offset)!, otherwise: number.get(at + 1)! });
  }
  for (const { jump } of blocks) if (jump !== undefined) checkJump(fn, jump);
  return { blocks, ends };
}

/** Refuses codes of the jump classes that do not exist. */
function checkJump(fn: BpfFunction, at: number): void {
  const instruction = fn.instructions[at];
  const { opcode, src } = instruction;
  const code = opcode & 0xf0;
  const wide = classOf(opcode) === BPF_JMP;
  const usesRegister = (opcode & 0x08) !== 0;
  const exists =
    code === BPF_JA
      ? !usesRegister
      : code === BPF_EXIT
        ? wide && !usesRegister
        : code === BPF_JCOND
          ? wide && !usesRegister && src === 0
          : code < BPF_JCOND;
  if (!exists) refuse(fn, at, `instruction ${instructionName(instruction)} is not supported`);
}
