// BPF instructions from the text that disassemblers print (`r1 += r2`, `*(u32 *)(r10 - 4) = w1`, `if w0 s> 5 goto end`), so that
// tests can be read. One instruction a line, `name:` starts a label, `;` begins a comment.

import type { BpfFunction, BpfMap, BpfObject, Instruction, Target } from '../../src/bpf/object/program.js';

const OPERATORS: Record<string, number> = {
  '+=': 0x00,
  '-=': 0x10,
  '*=': 0x20,
  '/=': 0x30,
  's/=': 0x30,
  '|=': 0x40,
  '&=': 0x50,
  '<<=': 0x60,
  '>>=': 0x70,
  '%=': 0x90,
  's%=': 0x90,
  '^=': 0xa0,
  '=': 0xb0,
  's>>=': 0xc0,
};
const CONDITIONS: Record<string, number> = {
  '==': 0x10,
  '>': 0x20,
  '>=': 0x30,
  '&': 0x40,
  '!=': 0x50,
  's>': 0x60,
  's>=': 0x70,
  '<': 0xa0,
  '<=': 0xb0,
  's<': 0xc0,
  's<=': 0xd0,
};
const SIZES: Record<string, number> = { '8': 0x10, '16': 0x08, '32': 0x00, '64': 0x18 };
const FETCHES: Record<string, number> = { add: 0x00, or: 0x40, and: 0x50, xor: 0xa0 };
const LOCKED: Record<string, number> = { '+=': 0x00, '|=': 0x40, '&=': 0x50, '^=': 0xa0 };

/** An instruction whose jump, if it is one, still names its label. */
type Line = Omit<Instruction, 'index'> & { label?: string };

function at(opcode: number, fields: Partial<Line> = {}): Line {
  return { opcode, dst: 0, src: 0, offset: 0, imm: 0n, ...fields };
}

/** A register or number as the second operand. */
function operand(text: string): { x: number; src: number; imm: bigint } {
  const register = /^[rw](\d+)$/.exec(text);
  return register
    ? { x: 8, src: Number(register[1]), imm: 0n }
    : { x: 0, src: 0, imm: text.startsWith('-') ? -BigInt(text.slice(1)) : BigInt(text) };
}

type Rule = [RegExp, (...groups: string[]) => Line];

const REGISTER = '([rw])(\\d+)';
const PLACE = '\\(?r(\\d+) ([+-]) (\\w+)\\)?';
const offsetOf = (sign: string, offset: string): number => (sign === '-' ? -Number(offset) : Number(offset));

const RULES: Rule[] = [
  [/^exit$/, () => at(0x95)],
  [/^goto (\w+)$/, (label) => at(0x05, { label })],
  [/^gotol (\w+)$/, (label) => at(0x06, { label })],
  [/^may_goto (\w+)$/, (label) => at(0xe5, { label })],
  [/^callx r(\d+)$/, (dst) => at(0x8d, { dst: Number(dst) })],
  [/^call helper (\w+)$/, (name) => at(0x85, { target: { kind: 'helper', id: 0, name } })],
  [/^call kfunc (\w+)$/, (name) => at(0x85, { src: 2, target: { kind: 'kfunc', name } })],
  [
    /^call function (\d+)$/,
    (index) => at(0x85, { src: 1, target: { kind: 'function', function: Number(index) } }),
  ],
  [/^r(\d+) = (-?\w+) ll$/, (dst, value) => at(0x18, { dst: Number(dst), imm: operand(value).imm })],
  [/^r(\d+) = map (\d+)$/, (dst, map) => pointer(dst, { kind: 'map', map: Number(map) })],
  [
    /^r(\d+) = data (\d+) \+ (\d+)$/,
    (dst, map, offset) => pointer(dst, { kind: 'data', map: Number(map), offset: Number(offset) }),
  ],
  [/^r(\d+) = function (\d+)$/, (dst, fn) => pointer(dst, { kind: 'function', function: Number(fn) })],
  [
    /^r(\d+) = addr_space_cast\(r(\d+)\)$/,
    (dst, src) => at(0xbf, { dst: +dst, src: +src, offset: 1, imm: 1n }),
  ],
  [
    /^([rw])(\d+) = \(s(8|16|32)\)[rw](\d+)$/,
    (kind, dst, bits, src) => at(kind === 'r' ? 0xbf : 0xbc, { dst: +dst, src: +src, offset: +bits }),
  ],
  [/^([rw])(\d+) = -[rw]\d+$/, (kind, dst) => at(kind === 'r' ? 0x87 : 0x84, { dst: +dst })],
  [
    /^r(\d+) = (le|be|bswap)(16|32|64) r\d+$/,
    (dst, order, bits) => at({ le: 0xd4, be: 0xdc, bswap: 0xd7 }[order]!, { dst: +dst, imm: BigInt(bits) }),
  ],
  [
    new RegExp(`^[rw](\\d+) = atomic_fetch_(add|or|and|xor)\\(\\(u(32|64) \\*\\)${PLACE}, [rw]\\d+\\)$`),
    (src, name, bits, dst, sign, offset) =>
      at(0xc3 | SIZES[bits], {
        dst: +dst,
        src: +src,
        offset: offsetOf(sign, offset),
        imm: BigInt(FETCHES[name] | 1),
      }),
  ],
  [
    new RegExp(`^[rw](\\d+) = xchg\\(\\(u(32|64) \\*\\)${PLACE}, [rw]\\d+\\)$`),
    (src, bits, dst, sign, offset) =>
      at(0xc3 | SIZES[bits], { dst: +dst, src: +src, offset: offsetOf(sign, offset), imm: 0xe1n }),
  ],
  [
    new RegExp(`^[rw]0 = cmpxchg\\(\\(u(32|64) \\*\\)${PLACE}, [rw]0, [rw](\\d+)\\)$`),
    (bits, dst, sign, offset, src) =>
      at(0xc3 | SIZES[bits], { dst: +dst, src: +src, offset: offsetOf(sign, offset), imm: 0xf1n }),
  ],
  [
    new RegExp(`^[rw](\\d+) = load_acquire\\(\\(u(8|16|32|64) \\*\\)${PLACE}\\)$`),
    (dst, bits, src, sign, offset) =>
      at(0xc3 | SIZES[bits], { dst: +dst, src: +src, offset: offsetOf(sign, offset), imm: 0x100n }),
  ],
  [
    new RegExp(`^store_release\\(\\(u(8|16|32|64) \\*\\)${PLACE}, [rw](\\d+)\\)$`),
    (bits, dst, sign, offset, src) =>
      at(0xc3 | SIZES[bits], { dst: +dst, src: +src, offset: offsetOf(sign, offset), imm: 0x110n }),
  ],
  [
    new RegExp(`^lock \\*\\(u(32|64) \\*\\)${PLACE} ([+|&^]=) [rw](\\d+)$`),
    (bits, dst, sign, offset, operator, src) =>
      at(0xc3 | SIZES[bits], {
        dst: +dst,
        src: +src,
        offset: offsetOf(sign, offset),
        imm: BigInt(LOCKED[operator]),
      }),
  ],
  [
    new RegExp(`^[rw](\\d+) = \\*\\(([us])(8|16|32|64) \\*\\)${PLACE}$`),
    (dst, kind, bits, src, sign, offset) =>
      at((kind === 'u' ? 0x61 : 0x81) | SIZES[bits], {
        dst: +dst,
        src: +src,
        offset: offsetOf(sign, offset),
      }),
  ],
  [
    new RegExp(`^\\*\\(u(8|16|32|64) \\*\\)${PLACE} = (-?\\w+)$`),
    (bits, dst, sign, offset, value) => {
      const { x, src, imm } = operand(value);
      return at((x ? 0x63 : 0x62) | SIZES[bits], { dst: +dst, src, offset: offsetOf(sign, offset), imm });
    },
  ],
  [
    new RegExp(`^if ${REGISTER} (s?[<>]=?|==|!=|&) (-?\\w+) goto (\\w+)$`),
    (kind, dst, operator, value, label) => {
      const { x, src, imm } = operand(value);
      return at((kind === 'r' ? 0x05 : 0x06) | CONDITIONS[operator] | x, { dst: +dst, src, imm, label });
    },
  ],
  [
    new RegExp(`^${REGISTER} (s?[-+*/%|&^]=|=|<<=|s?>>=) (-?\\w+)$`),
    (kind, dst, operator, value) => {
      const { x, src, imm } = operand(value);
      const offset = operator === 's/=' || operator === 's%=' ? 1 : 0;
      return at((kind === 'r' ? 0x07 : 0x04) | OPERATORS[operator] | x, { dst: +dst, src, imm, offset });
    },
  ],
];

function pointer(dst: string, target: Target): Line {
  return at(0x18, { dst: Number(dst), target });
}

function assembleLine(text: string): Line {
  for (const [pattern, make] of RULES) {
    const match = pattern.exec(text);
    if (match) return make(...match.slice(1));
  }
  throw new Error(`no such instruction: ${text}`);
}

export function assemble(text: string): Instruction[] {
  const lines: Line[] = [];
  const labels = new Map<string, number>();
  for (const raw of text.split('\n')) {
    const line = raw.replace(/;.*/, '').trim();
    if (line === '') continue;
    const label = /^(\w+):$/.exec(line);
    if (label) labels.set(label[1], lines.length);
    else lines.push(assembleLine(line));
  }
  let index = 0;
  return lines.map(({ label, ...fields }) => {
    const instruction: Instruction = { ...fields, index };
    index += fields.opcode === 0x18 ? 2 : 1;
    if (label !== undefined) {
      const target = labels.get(label);
      if (target === undefined) throw new Error(`no label ${label}`);
      instruction.offset = target;
    }
    return instruction;
  });
}

/** An object of functions given as text or as instructions, the first one the root of what is translated. */
export function bpfObject(functions: (string | Instruction[])[], maps: Partial<BpfMap>[] = []): BpfObject {
  return {
    file: 'test.bpf.o',
    license: 'GPL',
    functions: functions.map(
      (body, i): BpfFunction => ({
        name: `f${i}`,
        section: '.text',
        instructions: typeof body === 'string' ? assemble(body) : body,
        parameters: 5,
      }),
    ),
    maps: maps.map((map, i) => ({
      name: `map${i}`,
      type: 'ARRAY',
      key_bytes: 4,
      value_bytes: 8,
      max_entries: 1,
      flags: 0,
      read_only: false,
      special: [],
      variables: [],
      ...map,
    })),
    schedulers: [],
    types: [],
  };
}
