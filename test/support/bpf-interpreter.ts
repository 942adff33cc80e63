// An interpreter of BPF, one instruction at a time in BigInt arithmetic: the reference that translated code is compared with.
// It shares no code with the translator; numbers of opcodes are those of Documentation/bpf/standardization/instruction-set.rst.

import type { BpfObject, Instruction } from '../../src/bpf/object/program.js';

export interface MachineOptions {
  readLow: number;
  readHigh: number;
  writeLow: number;
  writeHigh: number;
  stackLow: number;
  stackHigh: number;
  nullLoads: 'zero' | 'violation';
  /** Values of `map.<i>`. */
  maps: bigint[];
  /** First table slot of the functions. */
  tableBase: number;
  /** Functions in the order of their table slots. */
  table: number[];
  helpers: Record<string, (...parameters: bigint[]) => bigint>;
  writeTask(address: bigint, value: bigint, bytes: number): number;
}

export class Violation extends Error {
  constructor(
    readonly kind: number,
    readonly fn: number,
    readonly instruction: number,
  ) {
    super(`violation ${kind} in function ${fn}, instruction ${instruction}`);
  }
}

const u64 = (value: bigint): bigint => BigInt.asUintN(64, value);

/** Arithmetic on operands already cut to `bits`; the result is cut by the caller. */
function arithmetic(code: number, signedDivision: boolean, bits: number, a: bigint, b: bigint): bigint {
  const signed = (value: bigint): bigint => BigInt.asIntN(bits, value);
  const shift = b % BigInt(bits);
  switch (code) {
    case 0x0:
      return a + b;
    case 0x1:
      return a - b;
    case 0x2:
      return a * b;
    case 0x3:
      if (b === 0n) return 0n;
      return signedDivision ? signed(a) / signed(b) : a / b;
    case 0x4:
      return a | b;
    case 0x5:
      return a & b;
    case 0x6:
      return a << shift;
    case 0x7:
      return a >> shift;
    case 0x8:
      return -a;
    case 0x9:
      if (b === 0n) return a;
      return signedDivision ? signed(a) % signed(b) : a % b;
    case 0xa:
      return a ^ b;
    case 0xc:
      return signed(a) >> shift;
    default:
      throw new Error(`arithmetic code ${code}`);
  }
}

function compare(code: number, bits: number, a: bigint, b: bigint): boolean {
  const signed = (value: bigint): bigint => BigInt.asIntN(bits, value);
  switch (code) {
    case 0x1:
      return a === b;
    case 0x2:
      return a > b;
    case 0x3:
      return a >= b;
    case 0x4:
      return (a & b) !== 0n;
    case 0x5:
      return a !== b;
    case 0x6:
      return signed(a) > signed(b);
    case 0x7:
      return signed(a) >= signed(b);
    case 0xa:
      return a < b;
    case 0xb:
      return a <= b;
    case 0xc:
      return signed(a) < signed(b);
    case 0xd:
      return signed(a) <= signed(b);
    default:
      throw new Error(`jump code ${code}`);
  }
}

function reversed(value: bigint, bits: number): bigint {
  let result = 0n;
  for (let i = 0; i < bits; i += 8) result = (result << 8n) | ((value >> BigInt(i)) & 0xffn);
  return result;
}

/** The program ran longer than the interpreter was asked to follow it. */
export class Endless extends Error {}

export class Interpreter {
  /** Calls through pointers that are still allowed. */
  budget = 0;
  steps = 3000;
  private stackTop: number;

  constructor(
    readonly object: BpfObject,
    readonly memory: Uint8Array,
    readonly options: MachineOptions,
  ) {
    this.stackTop = options.stackHigh;
  }

  private read(address: number, bytes: number): bigint {
    let value = 0n;
    for (let i = bytes - 1; i >= 0; i--) value = (value << 8n) | BigInt(this.memory[address + i]);
    return value;
  }

  private write(address: number, bytes: number, value: bigint): void {
    for (let i = 0; i < bytes; i++) this.memory[address + i] = Number((value >> BigInt(8 * i)) & 0xffn);
  }

  /** Runs function `fn` until it returns r0; throws Violation. */
  run(fn: number, parameters: bigint[]): bigint {
    const { instructions } = this.object.functions[fn];
    const { options } = this;
    const r: bigint[] = new Array(11).fill(0n);
    parameters.forEach((value, i) => {
      r[1 + i] = u64(value);
    });
    const usesFrame = instructions.some(({ dst, src }) => dst === 10 || src === 10);
    const top = this.stackTop;
    if (usesFrame) {
      if (top < options.stackLow + 512) throw new Violation(4, fn, 0);
      r[10] = BigInt(top);
      this.stackTop -= 512;
    }
    let loops = 8 * 1024 * 1024;
    for (let at = 0; ; ) {
      const instruction = instructions[at];
      const { opcode, dst, src, offset, imm } = instruction;
      const kind = opcode & 7;
      const fail = (code: number): never => {
        throw new Violation(code, fn, at);
      };
      let next = at + 1;
      if (this.steps-- === 0) throw new Endless();
      if (kind === 4 || kind === 7) r[dst] = this.alu(instruction, r);
      else if (kind === 0) r[dst] = this.immediate(instruction);
      else if (kind === 1) {
        const value = this.load(r[src], offset, instruction, fail);
        const bits = 8 * bytesOf(opcode);
        r[dst] = (opcode & 0xe0) === 0x80 ? u64(BigInt.asIntN(bits, value)) : value;
      } else if (kind === 2 || kind === 3) this.store(instruction, r, fail);
      else if (opcode === 0x95) {
        this.stackTop = top;
        return r[0];
      } else if (opcode === 0x85) r[0] = this.call(instruction, r);
      else if (opcode === 0x8d) {
        this.takeBudget(fail);
        const slot = u64(r[dst] - BigInt(options.tableBase));
        if (slot >= BigInt(options.table.length)) fail(6);
        r[0] = this.run(options.table[Number(slot)], r.slice(1, 6));
      } else if (opcode === 0x05 || opcode === 0x06) next = offset;
      else if (opcode === 0xe5) {
        if (loops === 0) next = offset;
        else loops--;
      } else {
        const bits = kind === 5 ? 64 : 32;
        const second = opcode & 8 ? r[src] : imm;
        if (compare(opcode >> 4, bits, BigInt.asUintN(bits, r[dst]), BigInt.asUintN(bits, second)))
          next = offset;
      }
      at = next;
    }
  }

  private takeBudget(fail: (code: number) => never): void {
    if (this.budget === 0) fail(3);
    this.budget--;
  }

  private alu({ opcode, dst, src, offset, imm }: Instruction, r: bigint[]): bigint {
    const wide = (opcode & 7) === 7;
    const bits = wide ? 64 : 32;
    const code = opcode >> 4;
    const second = opcode & 8 ? r[src] : imm;
    if (code === 0xd) {
      const width = Number(imm);
      const value = BigInt.asUintN(width, r[dst]);
      return wide || opcode & 8 ? reversed(value, width) : value;
    }
    if (code === 0xb) {
      if (offset === 1) return BigInt.asUintN(32, r[src]);
      if (offset > 1) return BigInt.asUintN(bits, BigInt.asIntN(offset, r[src]));
      return BigInt.asUintN(bits, second);
    }
    const a = BigInt.asUintN(bits, r[dst]);
    return BigInt.asUintN(bits, arithmetic(code, offset === 1, bits, a, BigInt.asUintN(bits, second)));
  }

  private immediate({ imm, target }: Instruction): bigint {
    switch (target?.kind) {
      case undefined:
        return u64(imm);
      case 'value':
        return u64(target.value);
      case 'map':
        return this.options.maps[target.map];
      case 'data':
        return this.options.maps[target.map] + BigInt(target.offset);
      case 'function':
        return BigInt(this.options.tableBase + this.options.table.indexOf(target.function));
      default:
        throw new Error('immediate');
    }
  }

  private load(
    base: bigint,
    offset: number,
    instruction: Instruction,
    fail: (code: number) => never,
  ): bigint {
    const bytes = bytesOf(instruction.opcode);
    const { readLow, readHigh, nullLoads } = this.options;
    const address = u64(base + BigInt(offset));
    if (address >= BigInt(readLow) && address + BigInt(bytes) <= BigInt(readHigh)) {
      return this.read(Number(address), bytes);
    }
    if (nullLoads === 'zero' && base < 2048n) return 0n;
    return fail(1);
  }

  private store(
    { opcode, dst, src, offset, imm }: Instruction,
    r: bigint[],
    fail: (code: number) => never,
  ): void {
    const bytes = bytesOf(opcode);
    const { writeLow, writeHigh } = this.options;
    const isAtomic = (opcode & 0xe0) === 0xc0;
    if (isAtomic && imm === 0x100n) {
      r[dst] = this.load(r[src], offset, { opcode } as Instruction, fail);
      return;
    }
    const address = u64(r[dst] + BigInt(offset));
    const inside = address >= BigInt(writeLow) && address + BigInt(bytes) <= BigInt(writeHigh);
    if (!isAtomic || imm === 0x110n) {
      const value = (opcode & 7) === 2 ? u64(imm) : r[src];
      if (inside) this.write(Number(address), bytes, value);
      else if (!this.options.writeTask(address, value, bytes)) fail(2);
      return;
    }
    if (!inside) fail(2);
    const before = this.read(Number(address), bytes);
    const operation = Number(imm) & 0xf0;
    if (operation === 0xf0) {
      if (before === BigInt.asUintN(bytes * 8, r[0])) this.write(Number(address), bytes, r[src]);
      r[0] = before;
      return;
    }
    const after = operation === 0xe0 ? r[src] : arithmetic(operation >> 4, false, bytes * 8, before, r[src]);
    this.write(Number(address), bytes, u64(after));
    if (imm & 1n) r[src] = before;
  }

  private call({ target }: Instruction, r: bigint[]): bigint {
    if (target?.kind === 'function') return this.run(target.function, r.slice(1, 6));
    if (target?.kind !== 'helper' && target?.kind !== 'kfunc') throw new Error('call');
    const helper = this.options.helpers[target.name];
    return u64(helper(...r.slice(1, 1 + helper.length)));
  }
}

function bytesOf(opcode: number): number {
  return [4, 2, 1, 8][(opcode >> 3) & 3];
}
