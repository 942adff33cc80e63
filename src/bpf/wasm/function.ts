// One BPF function as one Wasm function, (i64 × 5) → i64: registers are locals, jumps become structured control flow.

import {
  BPF_ALU,
  BPF_ALU64,
  BPF_DW,
  BPF_EXIT,
  BPF_IMM,
  BPF_JCOND,
  BPF_JEQ,
  BPF_JGE,
  BPF_JGT,
  BPF_JLE,
  BPF_JLT,
  BPF_JMP,
  BPF_JMP32,
  BPF_JNE,
  BPF_JSET,
  BPF_JSGE,
  BPF_JSGT,
  BPF_JSLE,
  BPF_JSLT,
  BPF_LD,
  BPF_X,
  classOf,
  instructionName,
  MAY_GOTO_LOOPS,
  R10,
} from '../object/instruction.js';
import { translateArithmetic } from './arithmetic.js';
import type { Block, Blocks } from './blocks.js';
import {
  STACK_FRAME_BYTES,
  VIOLATION_CALL,
  VIOLATION_LOOP,
  VIOLATION_MISSING,
  VIOLATION_STACK,
} from './contract.js';
import { analyse, type Emitter, structure, type Terminator } from './controlflow.js';
import { NO_RESULT } from './encoder.js';
import { translateMemory } from './memory.js';
import { op } from './opcodes.js';
import { pointersAt, step } from './pointers.js';
import { FRAME, LOOPS, type ModuleScope, NEXT, Scope, WORD } from './scope.js';

/** Wasm comparisons by BPF code: [32 bits, 64 bits]. */
const COMPARISONS: Record<number, [number, number]> = {
  [BPF_JEQ]: [op.i32_eq, op.i64_eq],
  [BPF_JNE]: [op.i32_ne, op.i64_ne],
  [BPF_JGT]: [op.i32_gt_u, op.i64_gt_u],
  [BPF_JGE]: [op.i32_ge_u, op.i64_ge_u],
  [BPF_JLT]: [op.i32_lt_u, op.i64_lt_u],
  [BPF_JLE]: [op.i32_le_u, op.i64_le_u],
  [BPF_JSGT]: [op.i32_gt_s, op.i64_gt_s],
  [BPF_JSGE]: [op.i32_ge_s, op.i64_ge_s],
  [BPF_JSLT]: [op.i32_lt_s, op.i64_lt_s],
  [BPF_JSLE]: [op.i32_le_s, op.i64_le_s],
};

/** What the module decided about a function before its code is written. */
export interface FunctionPlan {
  index: number;
  blocks: Blocks;
  /** It has a stack frame. */
  frame: boolean;
  /** Something it calls may need a frame, so its own has to be marked as taken. */
  calls: boolean;
  /** Callees whose calls take from the budget. */
  counted: ReadonlySet<number>;
}

/** Takes one from the budget. */
function takeBudget(scope: Scope): void {
  const { budget } = scope.module.options;
  const { code } = scope;
  code.i32(0).memory(op.i32_load, budget).tee(WORD).op(op.i32_eqz, op.if, NO_RESULT);
  scope.violation(VIOLATION_LOOP, () => code.i64(0n));
  code.op(op.end).i32(0).get(WORD).i32(1).op(op.i32_sub).memory(op.i32_store, budget);
}

/** r10 is the top of the stack, the frame lies below it; deeper calls start below the frame. */
function enter(scope: Scope, plan: FunctionPlan): void {
  const { code } = scope;
  const { stackLow } = scope.module.options;
  if (plan.frame) {
    code.global(scope.module.stackTop);
    scope.set(R10);
    scope
      .get(R10)
      .i64(BigInt(stackLow + STACK_FRAME_BYTES))
      .op(op.i64_lt_u, op.if, NO_RESULT);
    scope.violation(VIOLATION_STACK, () => scope.get(R10));
    code.op(op.end);
    scope.getWord(R10).i32(STACK_FRAME_BYTES).op(op.i32_sub).tee(FRAME);
    if (plan.calls) code.op(op.i64_extend_i32_u).setGlobal(scope.module.stackTop);
    else code.op(op.drop);
  }
  const usesMayGoto = plan.blocks.blocks.some(
    ({ jump }) => jump !== undefined && (scope.fn.instructions[jump].opcode & 0xf0) === BPF_JCOND,
  );
  if (usesMayGoto) code.i32(MAY_GOTO_LOOPS).set(LOOPS);
}

function leave(scope: Scope, plan: FunctionPlan): void {
  if (plan.frame && plan.calls) scope.get(R10).setGlobal(scope.module.stackTop);
  scope.get(0).op(op.return);
}

function loadImmediate(scope: Scope): void {
  const { opcode, dst, imm, target } = scope.instruction;
  const { code, module } = scope;
  if ((opcode & 0xe0) !== BPF_IMM || (opcode & 0x18) !== BPF_DW) {
    scope.refuse(`instruction ${instructionName(scope.instruction)} is not supported`);
  }
  switch (target?.kind) {
    case undefined:
      code.i64(imm);
      break;
    case 'value':
      code.i64(target.value);
      break;
    case 'map':
      code.global(module.map(target.map));
      break;
    case 'data':
      code.global(module.map(target.map));
      if (target.offset !== 0) code.i64(BigInt(target.offset)).op(op.i64_add);
      break;
    case 'function':
      code
        .global(module.tableBase)
        .i32(module.tableSlot(target.function))
        .op(op.i32_add, op.i64_extend_i32_u);
      break;
    default:
      scope.refuse(
        `the address of ${target?.kind} ${target?.kind === 'missing' ? target.what : target?.name} is not supported`,
      );
  }
  scope.set(dst);
}

function pushArguments(scope: Scope, count: number): void {
  for (let register = 1; register <= count; register++) scope.get(register);
}

/** Calls the function pointer in `dst`: an index of the engine's table, which also holds what is not ours to call. */
function callIndirect(scope: Scope): void {
  const { dst } = scope.instruction;
  const { code, module } = scope;
  takeBudget(scope);
  scope.get(dst).global(module.tableBase).op(op.i64_extend_i32_u, op.i64_sub).i64(BigInt(module.tableSize));
  code.op(op.i64_ge_u, op.if, NO_RESULT);
  scope.violation(VIOLATION_CALL, () => scope.get(dst));
  code.op(op.end);
  pushArguments(scope, 5);
  scope.getWord(dst).op(op.call_indirect).u32(module.callbackType).u32(0);
  scope.set(0);
}

function call(scope: Scope, plan: FunctionPlan): void {
  const { opcode, target } = scope.instruction;
  const { module } = scope;
  if (classOf(opcode) !== BPF_JMP)
    scope.refuse(`instruction ${instructionName(scope.instruction)} is not supported`);
  if (opcode & BPF_X) {
    callIndirect(scope);
    return;
  }
  switch (target?.kind) {
    case 'function':
      if (plan.counted.has(target.function)) takeBudget(scope);
      pushArguments(scope, 5);
      scope.code.call(module.local(target.function));
      break;
    case 'helper':
    case 'kfunc': {
      const imported = module.imported(target.kind, target.name);
      const { callSite } = module.options;
      if (callSite !== undefined) {
        scope.code
          .i32(0)
          .i32(1 + module.site(scope.index, scope.at))
          .memory(op.i32_store, callSite);
      }
      pushArguments(scope, imported.parameters);
      scope.code.call(imported.function);
      break;
    }
    default:
      scope.refuse('a call of nothing that vtime knows');
  }
  scope.set(0);
}

function translateInstruction(scope: Scope, plan: FunctionPlan): void {
  const { opcode, target } = scope.instruction;
  if (target?.kind === 'missing') {
    // Whether it can be reached was decided by linking; here it only must not be executed.
    scope.violation(VIOLATION_MISSING, () => scope.code.i64(0n));
    return;
  }
  switch (classOf(opcode)) {
    case BPF_LD:
      loadImmediate(scope);
      break;
    case BPF_ALU:
    case BPF_ALU64:
      translateArithmetic(scope);
      break;
    case BPF_JMP:
    case BPF_JMP32:
      call(scope, plan);
      break;
    default:
      translateMemory(scope);
  }
}

/** Leaves whether the conditional jump is taken. */
function condition(scope: Scope): void {
  const { opcode, dst, src } = scope.instruction;
  const { code } = scope;
  const kind = opcode & 0xf0;
  if (kind === BPF_JCOND) {
    code.get(LOOPS).op(op.i32_eqz);
    code.get(LOOPS).get(LOOPS).i32(0).op(op.i32_ne, op.i32_sub).set(LOOPS);
    return;
  }
  const wide = classOf(opcode) === BPF_JMP;
  if (wide) scope.get(dst);
  else scope.getWord(dst);
  const isRegister = (opcode & BPF_X) !== 0;
  const immediate = scope.immediate;
  if (!isRegister && immediate === 0n && (kind === BPF_JEQ || kind === BPF_JNE)) {
    code.op(wide ? op.i64_eqz : op.i32_eqz);
    if (kind === BPF_JNE) code.op(op.i32_eqz);
    return;
  }
  if (isRegister && wide) scope.get(src);
  else if (isRegister) scope.getWord(src);
  else if (wide) code.i64(immediate);
  else code.i32(Number(BigInt.asIntN(32, immediate)));
  if (kind === BPF_JSET) {
    if (wide) code.op(op.i64_and).i64(0n).op(op.i64_ne);
    else code.op(op.i32_and);
    return;
  }
  code.op(COMPARISONS[kind][wide ? 1 : 0]);
}

/** Emits the blocks of one function into the shape that controlflow.ts gives them. */
function emitter(scope: Scope, plan: FunctionPlan, known: ReturnType<typeof pointersAt>): Emitter {
  const { code, fn } = scope;
  const { blocks, ends } = plan.blocks;
  const constructs = { block: op.block, loop: op.loop, if: op.if } as const;
  return {
    body(number: number): void {
      const block: Block = blocks[number];
      const end: Terminator = ends[number];
      scope.known = [...known[number]];
      for (let at = block.first; at < block.end; at++) {
        scope.at = at;
        translateInstruction(scope, plan);
        step(scope.known, fn.instructions[at]);
      }
      if (block.jump === undefined) return;
      scope.at = block.jump;
      if (end.kind === 'branch') condition(scope);
      else if ((scope.instruction.opcode & 0xf0) === BPF_EXIT) leave(scope, plan);
    },
    open: (construct) => code.op(constructs[construct], NO_RESULT),
    otherwise: () => code.op(op.else),
    close: () => code.op(op.end),
    br: (depth) => code.op(op.br).u32(depth),
    brIf: (depth) => code.op(op.br_if).u32(depth),
    unreachable: () => code.op(op.unreachable),
    backEdge(from) {
      scope.at = blocks[from].jump ?? blocks[from].end - 1;
      takeBudget(scope);
    },
    choose: (block) => code.i32(block).set(NEXT),
    dispatch(depths) {
      code
        .get(NEXT)
        .op(op.br_table)
        .u32(depths.length - 1);
      for (const depth of depths) code.u32(depth);
    },
  };
}

/** The code of one function. Throws `bpf_instruction` for what cannot be translated. */
export function translateFunction(module: ModuleScope, plan: FunctionPlan): Uint8Array {
  const scope = new Scope(module, module.object.functions[plan.index], plan.index);
  const known = pointersAt(scope.fn, plan.blocks.blocks, analyse(plan.blocks.ends));
  enter(scope, plan);
  structure(plan.blocks.ends, emitter(scope, plan, known));
  return scope.code.done();
}
