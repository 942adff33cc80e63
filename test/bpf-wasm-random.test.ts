// Random programs: translated code and the interpreter leave the same registers and memory, or stop at the same instruction
// for the same reason. Jumps go anywhere, so most of the graphs have loops and many are irreducible.

import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Instruction } from '../src/bpf/object/program.js';
import { bpfObject } from './support/bpf-assembler.js';
import { DATA, END, machine, READ_ONLY } from './support/bpf-machine.js';

type Fields = Omit<Instruction, 'index'>;

const at = (opcode: number, fields: Partial<Fields> = {}): Fields => ({
  opcode,
  dst: 0,
  src: 0,
  offset: 0,
  imm: 0n,
  ...fields,
});

/** r6 points to writable data, r7 to read-only data, r8 is moved around; the others hold numbers. */
const number = fc.constantFrom(0, 1, 2, 3, 4, 5, 9);
const pointer = fc.constantFrom(6, 6, 7, 8, 10, 10);
const word = fc.oneof(
  fc.constantFrom(0n, 1n, -1n, 2n, 31n, 63n, -(2n ** 31n), 2n ** 31n - 1n),
  fc.bigInt(-(2n ** 31n), 2n ** 31n - 1n),
);
const value = fc.oneof(
  fc.constantFrom(
    0n,
    1n,
    2n ** 64n - 1n,
    2n ** 63n,
    2n ** 31n,
    2n ** 32n - 1n,
    BigInt(DATA),
    BigInt(END) - 8n,
  ),
  fc.bigInt(0n, 2n ** 64n - 1n),
);
/** Mostly inside, sometimes across the borders of frame and data. */
const offset = fc.oneof(fc.integer({ min: -64, max: 64 }), fc.integer({ min: -600, max: 600 }));
const width = fc.constantFrom(0x04, 0x07);
const size = fc.constantFrom(0x00, 0x08, 0x10, 0x18);
const wordSize = fc.constantFrom(0x00, 0x18);
const plainCode = fc.constantFrom(0x00, 0x10, 0x20, 0x40, 0x50, 0x60, 0x70, 0xa0, 0xc0, 0xb0);

const instruction: fc.Arbitrary<Fields> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .tuple(width, plainCode, number, number)
      .map(([w, c, dst, src]) => at(w | c | 8, { dst, src })),
  },
  {
    weight: 6,
    arbitrary: fc.tuple(width, plainCode, number, word).map(([w, c, dst, imm]) => at(w | c, { dst, imm })),
  },
  {
    weight: 4,
    arbitrary: fc
      .tuple(width, fc.constantFrom(0x30, 0x90), number, number, fc.constantFrom(0, 1), fc.boolean(), word)
      .map(([w, c, dst, src, signed, x, imm]) =>
        at(w | c | (x ? 8 : 0), { dst, src: x ? src : 0, offset: signed, imm: x ? 0n : imm }),
      ),
  },
  { weight: 1, arbitrary: fc.tuple(width, number).map(([w, dst]) => at(w | 0x80, { dst })) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(number, number, fc.constantFrom([4, 8], [4, 16], [7, 8], [7, 16], [7, 32], [7, 1]))
      .map(([dst, src, [w, bits]]) => at(w | 0xb8, { dst, src, offset: bits })),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(number, fc.constantFrom(0xd4, 0xdc, 0xd7), fc.constantFrom(16n, 32n, 64n))
      .map(([dst, opcode, imm]) => at(opcode, { dst, imm })),
  },
  {
    weight: 6,
    arbitrary: fc
      .tuple(fc.constantFrom(0x61, 0x61, 0x81), size, number, pointer, offset)
      .map(([k, s, dst, src, o]) => at((k === 0x81 && s === 0x18 ? 0x61 : k) | s, { dst, src, offset: o })),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(size, number, offset).map(([s, src, o]) => at(0x61 | s, { dst: 9, src, offset: o })),
  },
  {
    weight: 5,
    arbitrary: fc
      .tuple(size, pointer, number, offset)
      .map(([s, dst, src, o]) => at(0x63 | s, { dst, src, offset: o })),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(size, pointer, word, offset)
      .map(([s, dst, imm, o]) => at(0x62 | s, { dst, imm, offset: o })),
  },
  {
    weight: 4,
    arbitrary: fc
      .tuple(
        wordSize,
        pointer,
        number,
        offset,
        fc.constantFrom(0x00n, 0x40n, 0x50n, 0xa0n, 0x01n, 0x41n, 0x51n, 0xa1n, 0xe1n, 0xf1n),
      )
      .map(([s, dst, src, o, imm]) => at(0xc3 | s, { dst, src, offset: o, imm })),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(size, number, pointer, offset)
      .map(([s, dst, src, o]) => at(0xc3 | s, { dst, src, offset: o, imm: 0x100n })),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(size, pointer, number, offset)
      .map(([s, dst, src, o]) => at(0xc3 | s, { dst, src, offset: o, imm: 0x110n })),
  },
  { weight: 2, arbitrary: fc.tuple(number, value).map(([dst, imm]) => at(0x18, { dst, imm })) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.constantFrom(0, 1), fc.integer({ min: 0, max: 40 }))
      .map(([map, o]) => at(0x18, { dst: 8, target: { kind: 'data', map, offset: o } })),
  },
  {
    weight: 2,
    arbitrary: fc.integer({ min: -40, max: 40 }).map((by) => at(0x07, { dst: 8, imm: BigInt(by) })),
  },
  { weight: 1, arbitrary: fc.constantFrom(6, 7, 10).map((src) => at(0xbf, { dst: 8, src })) },
  { weight: 1, arbitrary: fc.constant(at(0x18, { dst: 5, target: { kind: 'function', function: 1 } })) },
  { weight: 1, arbitrary: number.map((dst) => at(0x8d, { dst })) },
  { weight: 1, arbitrary: fc.constant(at(0x85, { target: { kind: 'helper', id: 0, name: 'mix' } })) },
);

/** Jumps of all kinds; the target is made one of the function by taking it modulo its length. */
const conditional = fc.constantFrom(0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0x70, 0xa0, 0xb0, 0xc0, 0xd0);
const jump: fc.Arbitrary<Fields> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc
      .tuple(fc.constantFrom(5, 6), conditional, number, number, fc.nat(200))
      .map(([k, c, dst, src, o]) => at(k | c | 8, { dst, src, offset: o })),
  },
  {
    weight: 5,
    arbitrary: fc
      .tuple(fc.constantFrom(5, 6), conditional, number, word, fc.nat(200))
      .map(([k, c, dst, imm, o]) => at(k | c, { dst, imm, offset: o })),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(fc.constantFrom(0x05, 0x06, 0xe5), fc.nat(200)).map(([k, o]) => at(k, { offset: o })),
  },
  { weight: 1, arbitrary: fc.constant(at(0x95)) },
);

const isJump = ({ opcode }: Fields): boolean =>
  ((opcode & 7) === 5 || (opcode & 7) === 6) && (opcode & 0xf0) !== 0x80;

/** A function that sets up its pointers, does `body` and returns. */
function completed(body: Fields[]): Instruction[] {
  const all = [
    at(0x18, { dst: 6, imm: BigInt(DATA) + 512n }),
    at(0x18, { dst: 7, imm: BigInt(READ_ONLY) + 128n }),
    at(0xbf, { dst: 8, src: 6 }),
    // Every function has a stack frame, so both sides place frames alike.
    at(0xbf, { dst: 9, src: 10 }),
    ...body,
    at(0x95),
  ];
  return all.map((entry, index) => ({
    ...entry,
    offset: isJump(entry) ? entry.offset % all.length : entry.offset,
    index,
  }));
}

const straight = fc.array(instruction, { maxLength: 12 });
const branching = fc.array(fc.oneof({ weight: 2, arbitrary: instruction }, { weight: 1, arbitrary: jump }), {
  maxLength: 40,
});

test('translated programs do what the interpreter does', () => {
  let finished = 0;
  let stopped = 0;
  fc.assert(
    fc.property(
      branching,
      straight,
      fc.array(value, { minLength: 5, maxLength: 5 }),
      fc.nat(),
      fc.constantFrom('zero' as const, 'violation' as const),
      (main, callee, parameters, seed, nullLoads) => {
        const data = Uint8Array.from({ length: 1024 }, (_, i) => (seed * (i + 1)) >>> 7);
        const called = callee.filter(({ target, opcode }) => target?.kind !== 'function' && opcode !== 0x8d);
        const object = bpfObject(
          [
            completed([...main, at(0x85, { src: 1, target: { kind: 'function', function: 1 } })]),
            completed(called),
          ],
          [
            { value_bytes: 48 },
            { value_bytes: 48, read_only: true, data: Uint8Array.from({ length: 48 }, (_, i) => i) },
          ],
        );
        const { run, interpret } = machine(object, {
          nullLoads,
          data,
          maps: [BigInt(DATA) + 256n, BigInt(READ_ONLY)],
          budget: 3000,
          helpers: { mix: (a: bigint, b: bigint) => (a ^ (b << 7n)) + 1n },
          writeTask: (address, _value, bytes) => (bytes === 4 && address < 100n ? 1 : 0),
        });
        const expected = interpret(parameters);
        const got = run(parameters);
        if (expected.endless) {
          // The budget ends it, or later rounds of its loop leave the region.
          assert.ok(got.violation);
          return;
        }
        assert.equal(got.violation, expected.violation);
        assert.is(got.r0, expected.r0);
        assert.ok(Buffer.from(got.memory).equals(Buffer.from(expected.memory)), 'memory');
        if (expected.violation) stopped++;
        else finished++;
      },
    ),
    { numRuns: 1000, seed: 20241130 },
  );
  // The generator has to produce both kinds of programs in numbers.
  assert.ok(finished > 200 && stopped > 200, `${finished} finished, ${stopped} stopped`);
});

test.run();
