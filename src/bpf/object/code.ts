// Machine code of an object: sections with executable bytes → functions with decoded instructions
// (the kernel's Documentation/bpf/standardization/instruction-set.rst).

import type { Btf } from './btf.js';
import type { BtfExt } from './btfext.js';
import type { Bytes } from './bytes.js';
import {
  INSTRUCTION_BYTES,
  OP_CALL,
  OP_CALL_REGISTER,
  OP_EXIT,
  OP_JA,
  OP_JA_LONG,
  OP_LD_IMM64,
} from './constants.js';
import type { ElfFile, ElfSection } from './elf.js';
import { BPF_JMP, BPF_JMP32, classOf, R10 } from './instruction.js';
import type { Instruction } from './program.js';

/** The kernel's own limit for one program (BPF_COMPLEXITY_LIMIT_INSNS); here for a whole object. */
const MAX_INSTRUCTIONS = 1_000_000;

export interface CodeFunction {
  name: string;
  section: ElfSection;
  /** Byte range in the section. */
  start: number;
  end: number;
  parameters: number;
  instructions: Instruction[];
}

/** True for instructions that go on somewhere else: their `offset` is the index of another instruction. */
export function isJump({ opcode }: Instruction): boolean {
  const jumps = classOf(opcode) === BPF_JMP || classOf(opcode) === BPF_JMP32;
  return jumps && opcode !== OP_CALL && opcode !== OP_CALL_REGISTER && opcode !== OP_EXIT;
}

export const isUnconditionalJump = ({ opcode }: Instruction): boolean =>
  opcode === OP_JA || opcode === OP_JA_LONG;

/** All functions in the order of sections and offsets. */
export function readCode(elf: ElfFile, btf: Btf, ext: BtfExt): CodeFunction[] {
  const functions: CodeFunction[] = [];
  const starts = new Set<string>();
  let total = 0;
  for (const symbol of elf.symbols) {
    const section = elf.sections[symbol.section];
    if (!symbol.is_function || symbol.section === 0 || section === undefined || !section.code) continue;
    const { value: start, size, name } = symbol;
    if (size === 0 || start % INSTRUCTION_BYTES !== 0 || size % INSTRUCTION_BYTES !== 0) {
      section.data.fail(`function ${name} has ${size} bytes`, start);
    }
    // Two names for one function: relocations go by place, so the first name will do.
    const place = `${section.index}:${start}`;
    if (starts.has(place)) continue;
    starts.add(place);
    const bytes = section.data.part(section.name, start, size);
    total += size / INSTRUCTION_BYTES;
    if (total > MAX_INSTRUCTIONS) section.data.fail(`more than ${MAX_INSTRUCTIONS} instructions`);
    const parameters = parametersOf(btf, ext, section.name, start);
    functions.push({
      name,
      section,
      start,
      end: start + size,
      parameters,
      instructions: decode(bytes, start),
    });
  }
  functions.sort((a, b) => a.section.index - b.section.index || a.start - b.start);
  functions.forEach((next, i) => {
    const before = functions[i - 1];
    if (before?.section === next.section && before.end > next.start) {
      next.section.data.fail(`functions ${before.name} and ${next.name} overlap`, next.start);
    }
    addLines(next, ext);
  });
  return functions;
}

function parametersOf(btf: Btf, ext: BtfExt, section: string, start: number): number {
  const info = ext.get(section)?.functions.find(({ offset }) => offset === start);
  if (info === undefined) return 5;
  const type = btf.byId(info.type);
  const prototype = type.kind === 'func' ? btf.byId(type.type) : type;
  return prototype.kind === 'func_proto' ? prototype.members.length : 5;
}

/** Instructions of one function; `index` counts from the start of its section. */
function decode(bytes: Bytes, start: number): Instruction[] {
  const instructions: Instruction[] = [];
  const slots = bytes.length / INSTRUCTION_BYTES;
  /** Slot → instruction; −1 for the second half of LD_IMM64. */
  const indexOf = new Int32Array(slots).fill(-1);
  for (let slot = 0; slot < slots; slot++) {
    const at = slot * INSTRUCTION_BYTES;
    const opcode = bytes.u8(at);
    const registers = bytes.u8(at + 1);
    const dst = registers & 15;
    const src = registers >> 4;
    let imm = BigInt(bytes.i32(at + 4));
    indexOf[slot] = instructions.length;
    const index = start / INSTRUCTION_BYTES + slot;
    if (dst > R10 || src > R10) {
      bytes.fail(`instruction ${index} has no register ${Math.max(dst, src)}`, start + at);
    }
    if (opcode === OP_LD_IMM64) {
      if (slot + 1 === slots || bytes.u8(at + 8) !== 0) {
        bytes.fail(`instruction ${index} (LD_IMM64) lacks its second half`, start + at);
      }
      imm = (BigInt(bytes.i32(at + 12)) << 32n) | BigInt(bytes.u32(at + 4));
      slot++;
    }
    instructions.push({ opcode, dst, src, offset: bytes.i16(at + 2), imm, index });
  }
  for (const instruction of instructions) {
    if (!isJump(instruction)) continue;
    const distance = instruction.opcode === OP_JA_LONG ? Number(instruction.imm) : instruction.offset;
    const slot = instruction.index - start / INSTRUCTION_BYTES + 1 + distance;
    const target = slot >= 0 && slot < slots ? indexOf[slot] : -1;
    if (target < 0) {
      bytes.fail(`instruction ${instruction.index} jumps to no instruction of its function`, start);
    }
    instruction.offset = target;
  }
  const last = instructions[instructions.length - 1];
  if (last.opcode !== OP_EXIT && !isUnconditionalJump(last)) {
    bytes.fail(`function goes on after its last instruction ${last.index}`, start);
  }
  return instructions;
}

/** Line information holds from its instruction to the next one that has any. */
function addLines({ section, start, end, instructions }: CodeFunction, ext: BtfExt): void {
  const lines = (ext.get(section.name)?.lines ?? []).filter(
    ({ offset }) => offset >= start && offset < end && offset % INSTRUCTION_BYTES === 0,
  );
  const byIndex = new Map(lines.map(({ offset, text }) => [offset / INSTRUCTION_BYTES, text]));
  let line: string | undefined;
  for (const instruction of instructions) {
    line = byIndex.get(instruction.index) ?? line;
    if (line !== undefined) instruction.line = line;
  }
}
