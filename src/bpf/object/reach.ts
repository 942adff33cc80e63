// Which instructions can be reached, once the read-only data has its final values: what the verifier's dead-code elimination
// decides. Features that a kernel may lack are guarded by such values, by weak symbols and by CO-RE questions; code behind
// a guard that says no must not make an object unusable.

import { isJump, isUnconditionalJump } from './code.js';
import { OP_CALL, OP_CALL_REGISTER, OP_EXIT, OP_LD_IMM64 } from './constants.js';
import { Frame } from './frame.js';
import {
  accessBytes,
  BPF_ALU,
  BPF_ALU64,
  BPF_ATOMIC,
  BPF_CMPXCHG,
  BPF_FETCH,
  BPF_JEQ,
  BPF_JMP,
  BPF_JNE,
  BPF_LD,
  BPF_LDX,
  BPF_LOAD_ACQ,
  BPF_MEM,
  BPF_MEMSX,
  BPF_ST,
  BPF_STORE_REL,
  BPF_STX,
  BPF_X,
  classOf,
} from './instruction.js';
import type { BpfFunction, BpfMap, Instruction } from './program.js';
import { alu, constant, join, POINTER, sameValue, taken, UNKNOWN, type Value } from './value.js';

const MODE = 0xe0;

/** What can happen in one function. */
export interface Reached {
  /** By instruction: 1 if some run may execute it. */
  live: Uint8Array;
  /** Conditional jumps that always go one way. */
  decided: Map<number, boolean>;
  /** Loads of read-only data that always read the same. */
  constants: Map<number, bigint>;
}

/** From the functions `roots`; null for functions that nothing calls. */
export function reach(
  functions: readonly BpfFunction[],
  maps: readonly BpfMap[],
  roots: Iterable<number>,
): (Reached | null)[] {
  const analysis = new Analysis(functions, maps);
  for (const root of roots) analysis.enter(root, [UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN]);
  analysis.run();
  return functions.map((_, i) => analysis.reached(i));
}

interface FunctionState extends Reached {
  parameters: Value[];
  /** Join of r0 at the exits; undefined while none is reached. */
  result: Value | undefined;
  callers: Set<number>;
  /** First instructions of basic blocks. */
  leaders: Uint8Array;
  frames: Map<number, Frame>;
}

class Analysis {
  private readonly states: (FunctionState | undefined)[];
  private readonly pending = new Set<number>();

  constructor(
    private readonly functions: readonly BpfFunction[],
    private readonly maps: readonly BpfMap[],
  ) {
    this.states = functions.map(() => undefined);
  }

  reached(index: number): Reached | null {
    return this.states[index] ?? null;
  }

  /** A call of a function with `parameters`. */
  enter(index: number, parameters: Value[]): FunctionState {
    let state = this.states[index];
    if (state === undefined) {
      state = this.newState(index, parameters);
      this.states[index] = state;
      this.pending.add(index);
    } else {
      const merged = state.parameters.map((value, i) => join(value, parameters[i]));
      if (merged.some((value, i) => !sameValue(value, state!.parameters[i]))) this.pending.add(index);
      state.parameters = merged;
    }
    return state;
  }

  private newState(index: number, parameters: Value[]): FunctionState {
    const { instructions } = this.functions[index];
    const leaders = new Uint8Array(instructions.length);
    leaders[0] = 1;
    instructions.forEach((instruction, i) => {
      if (!isJump(instruction)) return;
      leaders[instruction.offset] = 1;
      if (i + 1 < instructions.length) leaders[i + 1] = 1;
    });
    const live = new Uint8Array(instructions.length);
    const callers = new Set<number>();
    const frames = new Map<number, Frame>();
    return {
      parameters,
      result: undefined,
      callers,
      live,
      decided: new Map(),
      constants: new Map(),
      leaders,
      frames,
    };
  }

  run(): void {
    for (const index of this.pending) {
      this.pending.delete(index);
      this.runFunction(index, this.states[index]!);
    }
  }

  private runFunction(index: number, state: FunctionState): void {
    const entry = Frame.ofCall(state.parameters);
    const first = state.frames.get(0);
    if (first === undefined) state.frames.set(0, entry);
    else first.merge(entry);
    // Results of calls may have changed anywhere.
    const work = new Set(state.frames.keys());
    const flow = (to: number, frame: Frame) => {
      const known = state.frames.get(to);
      if (known === undefined) state.frames.set(to, frame.copy());
      if (known === undefined || known.merge(frame)) work.add(to);
    };
    for (const leader of work) {
      work.delete(leader);
      this.runBlock(index, state, leader, flow);
    }
  }

  private runBlock(
    index: number,
    state: FunctionState,
    leader: number,
    flow: (to: number, frame: Frame) => void,
  ): void {
    const { instructions } = this.functions[index];
    const frame = state.frames.get(leader)!.copy();
    let i = leader;
    // A block ends with a jump, at the exit, or where the next one begins.
    for (; i === leader || state.leaders[i] === 0; i++) {
      const instruction = instructions[i];
      state.live[i] = 1;
      if (instruction.opcode === OP_EXIT) {
        this.leave(state, frame.registers[0]);
        return;
      }
      if (isJump(instruction)) {
        this.jump(state, i, instruction, frame, flow);
        return;
      }
      if (instruction.opcode === OP_CALL || instruction.opcode === OP_CALL_REGISTER) {
        const result = this.call(index, instruction, frame);
        if (result === undefined) return;
        frame.call(result);
      } else this.step(state, i, instruction, frame);
    }
    flow(i, frame);
  }

  private leave(state: FunctionState, result: Value): void {
    const merged = state.result === undefined ? result : join(state.result, result);
    // A pointer into the callee's frame means nothing to the caller.
    const kept = merged.kind === 'stack' ? UNKNOWN : merged;
    if (state.result !== undefined && sameValue(kept, state.result)) return;
    state.result = kept;
    for (const caller of state.callers) this.pending.add(caller);
  }

  private jump(
    state: FunctionState,
    i: number,
    instruction: Instruction,
    frame: Frame,
    flow: (to: number, frame: Frame) => void,
  ): void {
    const { opcode, dst, src, imm, offset } = instruction;
    if (isUnconditionalJump(instruction)) {
      flow(offset, frame);
      return;
    }
    const right = (opcode & BPF_X) !== 0 ? frame.registers[src] : constant(imm);
    const outcome = taken(opcode, frame.registers[dst], right);
    if (outcome === undefined) state.decided.delete(i);
    else state.decided.set(i, outcome);
    // On the edge where 64 bits are equal, the register has the other side's value.
    const equal = opcode & 0xf0;
    const known =
      frame.registers[dst].kind === 'unknown' && right.kind === 'constant' && classOf(opcode) === BPF_JMP;
    const go = (to: number, isEqual: boolean) => {
      const refined = known && isEqual ? frame.copy() : frame;
      if (known && isEqual) refined.registers[dst] = right;
      flow(to, refined);
    };
    if (outcome !== false) go(offset, equal === BPF_JEQ);
    if (outcome !== true) go(i + 1, equal === BPF_JNE);
  }

  /** r0 after a call; undefined if the function it calls has not returned so far. */
  private call(caller: number, { target }: Instruction, frame: Frame): Value | undefined {
    if (target?.kind !== 'function') return UNKNOWN;
    const parameters = frame.registers
      .slice(1, 6)
      .map((value) => (value.kind === 'stack' ? { ...value, offset: undefined } : value));
    const state = this.enter(target.function, parameters);
    state.callers.add(caller);
    return state.result;
  }

  private step(state: FunctionState, i: number, instruction: Instruction, frame: Frame): void {
    const { opcode, dst, src, offset, imm } = instruction;
    const { registers } = frame;
    switch (classOf(opcode)) {
      case BPF_ALU:
      case BPF_ALU64: {
        const right = (opcode & BPF_X) !== 0 ? registers[src] : constant(imm);
        registers[dst] =
          instruction.target === undefined ? alu(opcode, offset, registers[dst], right) : UNKNOWN;
        break;
      }
      case BPF_LD:
        if (opcode === OP_LD_IMM64) registers[dst] = this.address(instruction);
        else registers[0] = UNKNOWN;
        break;
      case BPF_LDX:
        this.load(state, i, instruction, frame);
        break;
      case BPF_ST:
      case BPF_STX:
        this.store(instruction, frame);
        break;
    }
  }

  private address({ target, imm }: Instruction): Value {
    switch (target?.kind) {
      case undefined:
        return constant(imm);
      case 'value':
        return constant(target.value);
      case 'data':
        return { kind: 'data', map: target.map, offset: target.offset };
      case 'function':
        this.enter(target.function, [UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN]);
        return POINTER;
      case 'missing':
        return UNKNOWN;
      default:
        return POINTER;
    }
  }

  private load(state: FunctionState, i: number, instruction: Instruction, frame: Frame): void {
    const { opcode, dst, src, offset, target } = instruction;
    const bytes = accessBytes(opcode);
    const mode = opcode & MODE;
    const base = frame.registers[src];
    state.constants.delete(i);
    frame.registers[dst] = UNKNOWN;
    if (target !== undefined || (mode !== BPF_MEM && mode !== BPF_MEMSX)) return;
    const isData = base.kind === 'data';
    let value = isData
      ? this.loadData(base.map, base.offset + offset, bytes)
      : frame.load(base, offset, bytes);
    if (mode === BPF_MEMSX && value.kind === 'constant') {
      value = constant(BigInt.asIntN(bytes * 8, value.value));
    }
    frame.registers[dst] = value;
    if (isData && value.kind === 'constant') state.constants.set(i, value.value);
  }

  private loadData(map: number, offset: number, bytes: number): Value {
    const { read_only, data } = this.maps[map];
    if (!read_only || data === undefined || offset < 0 || offset + bytes > data.length) return UNKNOWN;
    let value = 0n;
    for (let i = bytes - 1; i >= 0; i--) value = (value << 8n) | BigInt(data[offset + i]);
    return constant(value);
  }

  private store({ opcode, dst, src, offset, imm }: Instruction, frame: Frame): void {
    const bytes = accessBytes(opcode);
    const { registers } = frame;
    const operation = Number(imm);
    const atomic = classOf(opcode) === BPF_STX && (opcode & MODE) === BPF_ATOMIC;
    if (atomic && operation === BPF_LOAD_ACQ) {
      registers[dst] = UNKNOWN;
      return;
    }
    const stored = classOf(opcode) === BPF_ST ? constant(imm) : registers[src];
    const known = !atomic || operation === BPF_STORE_REL;
    frame.store(registers[dst], offset, bytes, known ? truncated(stored, bytes) : UNKNOWN);
    if (atomic && operation === BPF_CMPXCHG) registers[0] = UNKNOWN;
    else if (atomic && operation !== BPF_STORE_REL && (operation & BPF_FETCH) !== 0) registers[src] = UNKNOWN;
  }
}

function truncated(value: Value, bytes: number): Value {
  if (bytes === 8) return value;
  return value.kind === 'constant' ? constant(BigInt.asUintN(bytes * 8, value.value)) : UNKNOWN;
}
