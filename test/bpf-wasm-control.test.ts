// Loops, calls and jump graphs of translated BPF; what is refused before anything runs.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Instruction } from '../src/bpf/object/program.js';
import { analyse, structure, type Terminator } from '../src/bpf/wasm/controlflow.js';
import {
  VIOLATION_CALL,
  VIOLATION_LOOP,
  VIOLATION_MISSING,
  VIOLATION_STACK,
} from '../src/bpf/wasm/translate.js';
import { assemble, bpfObject } from './support/bpf-assembler.js';
import { type MachineSettings, machine } from './support/bpf-machine.js';

test('nested loops', () => {
  // Σ over i = 1…r1 of Σ over j = 1…i of j = r1 (r1 + 1) (r1 + 2) / 6: 220 for 10.
  const text = `
    r0 = 0
    outer:
    if r1 == 0 goto end
    r2 = r1
    inner:
    r0 += r2
    r2 -= 1
    if r2 != 0 goto inner
    r1 -= 1
    goto outer
    end:
    exit`;
  assert.is(machine(bpfObject([text])).run([10n]).r0, 220n);
});

test('a loop entered in its middle: irreducible, run by a dispatch loop', () => {
  // Starting at b (r2 != 0) skips the first addition of 100.
  const text = `
    r0 = 0
    if r2 != 0 goto b
    a:
    r0 += 100
    b:
    r0 += 1
    r1 -= 1
    if r1 s> 0 goto a
    exit`;
  const { run } = machine(bpfObject([text]));
  assert.is(run([3n, 0n]).r0, 303n);
  assert.is(run([3n, 1n]).r0, 203n);
});

test('graphs: dominators and reducibility', () => {
  const jump = (target: number): Terminator => ({ kind: 'jump', target });
  const branch = (taken: number, otherwise: number): Terminator => ({ kind: 'branch', taken, otherwise });
  const exit: Terminator = { kind: 'exit' };
  // A diamond with a loop back to its top: 0 → {1, 2} → 3 → 0 or exit.
  const loop = analyse([branch(1, 2), jump(3), jump(3), branch(0, 4), exit]);
  assert.equal([...loop.dominator], [0, 0, 0, 0, 3]);
  assert.is(loop.reducible, true);
  // Two blocks that jump to each other, both entered from outside.
  assert.is(analyse([branch(1, 2), branch(2, 3), branch(1, 3), exit]).reducible, false);
});

test('every edge of a graph of ten thousand blocks nests without recursion', () => {
  const blocks = 10000;
  const ends: Terminator[] = Array.from({ length: blocks }, (_, i) =>
    i === blocks - 1 ? { kind: 'exit' } : { kind: 'branch', taken: blocks - 1, otherwise: i + 1 },
  );
  let bodies = 0;
  const nothing = (): void => {};
  structure(ends, {
    body: () => bodies++,
    open: nothing,
    otherwise: nothing,
    close: nothing,
    br: nothing,
    brIf: nothing,
    unreachable: nothing,
    backEdge: nothing,
    choose: nothing,
    dispatch: nothing,
  });
  assert.is(bodies, blocks);
});

test('an endless loop ends when the budget is used up', () => {
  const { run } = machine(bpfObject(['a:\nr1 += 1\ngoto a']), { budget: 1000 });
  assert.equal(run().violation, { kind: VIOLATION_LOOP, fn: 0, instruction: 1 });
  // 10 rounds have 9 back edges.
  const counted = machine(bpfObject(['r1 = 10\na:\nr1 -= 1\nif r1 != 0 goto a\nr0 = 0\nexit']), {
    budget: 9,
  });
  assert.is(counted.run().violation, undefined);
  assert.is(counted.run().budget, 0);
});

test('calls that multiply are bounded like loops', () => {
  // Seven levels of ten calls each: ten million calls of the last function, without any loop.
  const level = (next: number): string => `${`call function ${next}\n`.repeat(10)}exit`;
  const functions = [1, 2, 3, 4, 5, 6, 7].map(level);
  const { run } = machine(bpfObject([...functions, 'r0 = 0\nexit']), { budget: 5000 });
  assert.is(run().violation?.kind, VIOLATION_LOOP);
});

test('may_goto leaves its loop after 2^23 rounds', () => {
  const text = 'r0 = 0\na:\nmay_goto end\nr0 += 1\ngoto a\nend:\nexit';
  assert.is(machine(bpfObject([text]), { budget: 1 << 24 }).run().r0, 1n << 23n);
});

test('calls pass r1 to r5 and return r0; r6 to r9 are the caller’s own', () => {
  const main = 'r6 = 7\nr1 = 1\nr2 = 2\nr3 = 3\nr4 = 4\nr5 = 5\ncall function 1\nr0 += r6\nexit';
  // 1 + 2·2 + 3·3 + 4·4 + 5·5 = 55; r6 is 0 in the callee.
  const callee =
    'r0 = r1\nr2 *= 2\nr0 += r2\nr3 *= 3\nr0 += r3\nr4 *= 4\nr0 += r4\nr5 *= 5\nr0 += r5\nr0 += r6\nr6 = 1000\nexit';
  assert.is(machine(bpfObject([main, callee])).run().r0, 62n);
});

test('helpers and kfuncs take as many parameters as they have', () => {
  const seen: bigint[][] = [];
  const helpers: MachineSettings['helpers'] = {
    two: (a: bigint, b: bigint) => {
      seen.push([a, b]);
      return a - b;
    },
    none: () => 5n,
  };
  const text = 'r1 = 3\nr2 = 4\ncall helper two\nr6 = r0\ncall kfunc none\nr0 += r6\nexit';
  const { run, translation } = machine(bpfObject([text]), { helpers });
  assert.is(run().r0, 4n);
  assert.equal(seen, [[3n, 4n]]);
  assert.equal([translation.helpers, translation.kfuncs], [['two'], ['none']]);
});

test('the place of the last call of a helper is known', () => {
  const helpers = { one: () => 1n };
  const { run } = machine(
    bpfObject([
      'r0 = 0\nif r1 == 0 goto end\ncall helper one\ncall function 1\nend:\nexit',
      'call helper one\nexit',
    ]),
    { helpers },
  );
  assert.is(run([0n]).called, undefined);
  assert.equal(run([1n]).called, { fn: 1, instruction: 0 });
});

test('function pointers are table slots, and only the object’s own can be called', () => {
  const main = 'r2 = function 1\nif r1 == 0 goto call\nr2 += r1\ncall:\nr1 = 20\ncallx r2\nexit';
  const { run } = machine(bpfObject([main, 'r0 = r1\nr0 += 2\nexit']));
  assert.is(run([0n]).r0, 22n);
  for (const distance of [1n, 2n ** 64n - 5n, 2n ** 32n])
    assert.is(run([distance]).violation?.kind, VIOLATION_CALL);
});

test('recursion through a pointer ends with the stack', () => {
  const { run } = machine(bpfObject(['r2 = function 0\ncallx r2\nexit']));
  assert.is(run().violation?.kind, VIOLATION_STACK);
});

test('what linking found missing only matters if it is reached', () => {
  const instructions = assemble('r0 = 1\nif r1 == 0 goto end\nr0 = *(u64 *)(r2 + 0)\nend:\nexit');
  instructions[2].target = { kind: 'missing', what: 'task_struct.nonsense' };
  const { run } = machine(bpfObject([instructions]));
  assert.is(run([0n]).r0, 1n);
  assert.equal(run([1n]).violation, { kind: VIOLATION_MISSING, fn: 0, instruction: 2 });
});

test('a value that linking has decided replaces the immediate', () => {
  const instructions = assemble('r0 = 1\nif r0 == 0 goto end\nr0 += 5\nend:\nexit');
  instructions[2].target = { kind: 'value', value: 40n };
  assert.is(machine(bpfObject([instructions])).run().r0, 41n);
});

test('functions of impossible shape are refused, with function and instruction', () => {
  const refused = (body: string | Instruction[], expected: RegExp): void => {
    assert.throws(() => machine(bpfObject([body])), expected);
  };
  const changed = (text: string, index: number, fields: Partial<Instruction>): Instruction[] => {
    const instructions = assemble(text);
    Object.assign(instructions[index], fields);
    return instructions;
  };
  refused('r0 = 0', /function f0, instruction 0: runs past the end/);
  refused(
    changed('r0 = 0\na:\nif r0 == 0 goto a\nexit', 1, { offset: 77 }),
    /instruction 1: jumps out of the function, to 77/,
  );
  refused(changed('r0 = 0\na:\ngoto a', 1, { offset: -1 }), /jumps out/);
  refused('r10 = 0\nexit', /frame pointer r10 is read only/);
  refused('r10 = *(u64 *)(r1 + 0)\nexit', /frame pointer r10 is read only/);
  refused(changed('r0 = 0\nexit', 0, { dst: 12 }), /register 12 does not exist/);
  refused(changed('r0 = 0\nexit', 0, { opcode: 0x20 }), /\{ABS, W, LD\} is not supported/);
  refused(changed('r0 = 0\nexit', 0, { opcode: 0xe7 }), /\{code 14, K, ALU64\} is not supported/);
  refused(changed('r0 = 0\nexit', 0, { opcode: 0xf5 }), /\{code 15, K, JMP\} is not supported/);
  refused(changed('r0 = 0\nexit', 0, { opcode: 0xdf }), /\{END, X, ALU64\} is not supported/);
  refused(changed('r1 = 0\nexit', 0, { opcode: 0xdb, imm: 0x20n }), /atomic operation 0x20 is not supported/);
  refused('call helper nonsense\nexit', /helper nonsense is not supported/);
  refused('call function 3\nexit', /function 3, which does not exist/);
  refused('call function 0\nexit', /recursion: f0/);
  refused([], /has no instructions/);
});

test.run();
