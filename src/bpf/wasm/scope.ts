// What translating one instruction needs to know of its function and module, and the pieces of code all of them share.

import type { BpfFunction, BpfObject, Instruction } from '../object/program.js';
import { refuse } from './blocks.js';
import type { TranslateOptions } from './contract.js';
import { Code, I32, I64, type ValueType } from './encoder.js';
import { op } from './opcodes.js';
import type { Pointers } from './pointers.js';

/** Locals of r0 … r10: r1 … r5 are the parameters. */
const REGISTERS = [5, 0, 1, 2, 3, 4, 6, 7, 8, 9, 10];
/** Address of an access, less the low end of its range where that is checked. */
export const ADDRESS = 11;
export const VALUE = 12;
/** Low end of the stack frame, an i32. */
export const FRAME = 13;
/** Loops that may_goto still allows. */
export const LOOPS = 14;
/** Next block in a dispatch loop. */
export const NEXT = 15;
export const WORD = 16;
/** Locals behind the five parameters. */
export const LOCALS: ValueType[] = [I64, I64, I64, I64, I64, I64, I64, I64, I32, I32, I32, I32];

/** Indices in the module being built. */
export interface ModuleScope {
  object: BpfObject;
  options: TranslateOptions;
  violation: number;
  writeTask: number;
  /** Global that holds the top of the BPF stack. */
  stackTop: number;
  tableBase: number;
  tableSize: number;
  /** Type (i64 × 5) → i64. */
  callbackType: number;
  map(index: number): number;
  imported(kind: 'helper' | 'kfunc', name: string): { function: number; parameters: number };
  local(fn: number): number;
  tableSlot(fn: number): number;
  site(fn: number, instruction: number): number;
}

export class Scope {
  readonly code = new Code();
  /** What is known before the current instruction. */
  known: Pointers = [];
  /** The current instruction's position. */
  at = 0;

  constructor(
    readonly module: ModuleScope,
    readonly fn: BpfFunction,
    /** The function's index in the object. */
    readonly index: number,
  ) {}

  get instruction(): Instruction {
    return this.fn.instructions[this.at];
  }

  refuse(message: string): never {
    refuse(this.fn, this.at, message);
  }

  get(register: number): Code {
    return this.code.get(REGISTERS[register]);
  }

  set(register: number): Code {
    return this.code.set(REGISTERS[register]);
  }

  /** The low half of a register. */
  getWord(register: number): Code {
    return this.get(register).op(op.i32_wrap_i64);
  }

  /** Sets a register from the i32 on the stack. */
  setWord(register: number): Code {
    this.code.op(op.i64_extend_i32_u);
    return this.set(register);
  }

  /** Ends the run: the value that the report shows is put on the stack by `value`. */
  violation(kind: number, value: () => void): void {
    this.code.i32(kind).i32(this.module.site(this.index, this.at));
    value();
    this.code.call(this.module.violation).op(op.unreachable);
  }

  /** The immediate, as linking has decided it. */
  get immediate(): bigint {
    const { imm, target } = this.instruction;
    return target?.kind === 'value' ? target.value : imm;
  }
}
