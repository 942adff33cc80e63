// Arithmetic and jumps of BPF, with the results that the instruction set's description asks for
// (Documentation/bpf/standardization/instruction-set.rst), worked out by hand.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { bpfObject } from './support/bpf-assembler.js';
import { machine } from './support/bpf-machine.js';

const MAX64 = 2n ** 64n - 1n;
const MIN_S64 = 2n ** 63n;

/** r0 after `text`, given r1 and r2. */
function result(text: string, r1 = 0n, r2 = 0n): bigint {
  const { run, interpret } = machine(bpfObject([`${text}\nexit`]));
  const { r0 } = run([r1, r2]);
  assert.is(interpret([r1, r2]).r0, r0, `the interpreter disagrees on ${text}`);
  return r0!;
}

/** r0 after `r0 = r1; <operation>`. */
function operated(operation: string, r1: bigint, r2 = 0n): bigint {
  return result(`r0 = r1\n${operation}`, r1, r2);
}

test('64-bit operations wrap around at 2^64', () => {
  assert.is(operated('r0 += r2', MAX64, 2n), 1n);
  assert.is(operated('r0 -= r2', 1n, 2n), MAX64);
  // (2^63 + 1) · 2 = 2^64 + 2
  assert.is(operated('r0 *= r2', MIN_S64 + 1n, 2n), 2n);
  assert.is(operated('r0 = -r0', 1n), MAX64);
});

test('32-bit operations use the low halves and clear the high half', () => {
  const high = 0xdeadbeef_00000000n;
  assert.is(operated('w0 += w2', high + 0xffffffffn, high + 2n), 1n);
  assert.is(operated('w0 -= 1', high), 0xffffffffn);
  assert.is(operated('w0 ^= -1', high), 0xffffffffn);
  assert.is(operated('w0 = -w0', high + 1n), 0xffffffffn);
  assert.is(operated('w0 = w2', 0n, high + 7n), 7n);
  assert.is(result('w0 = -1'), 0xffffffffn);
  assert.is(result('r0 = -1'), MAX64);
});

test('immediates are sign-extended to 64 bits', () => {
  assert.is(operated('r0 ^= -1', 0n), MAX64);
  assert.is(operated('r0 &= -16', MAX64), MAX64 - 15n);
  // As unsigned numbers, −1 is the largest: nothing but itself reaches it.
  assert.is(operated('r0 /= -1', MAX64 - 1n), 0n);
  assert.is(operated('r0 /= -1', MAX64), 1n);
});

test('division by zero gives 0, modulo zero leaves the dividend', () => {
  for (const operator of ['/=', 's/=']) {
    assert.is(operated(`r0 ${operator} r2`, 7n, 0n), 0n);
    assert.is(operated(`w0 ${operator} w2`, 7n, 0n), 0n);
    assert.is(operated(`r0 ${operator} 0`, 7n), 0n);
  }
  const dividend = 0x1_00000007n;
  for (const operator of ['%=', 's%=']) {
    assert.is(operated(`r0 ${operator} r2`, dividend, 0n), dividend);
    // The high half of a 32-bit result is 0 here too.
    assert.is(operated(`w0 ${operator} w2`, dividend, 0n), 7n);
    assert.is(operated(`w0 ${operator} w2`, dividend, 0x5_00000000n), 7n);
  }
});

test('signed division truncates towards zero', () => {
  const minus = (value: bigint): bigint => BigInt.asUintN(64, -value);
  assert.is(operated('r0 s/= r2', minus(13n), 3n), minus(4n));
  assert.is(operated('r0 s%= r2', minus(13n), 3n), minus(1n));
  assert.is(operated('r0 s/= -3', 13n), minus(4n));
  assert.is(operated('r0 s%= -3', 13n), 1n);
  assert.is(operated('w0 s/= w2', 0xfffffff3n, 3n), 0xfffffffcn);
  // Unsigned, 2^32 − 13 divided by 3 is 1431655761 (remainder 0).
  assert.is(operated('w0 /= w2', 0xfffffff3n, 3n), 1431655761n);
});

test('the lowest number divided by −1 is itself, with remainder 0', () => {
  assert.is(operated('r0 s/= r2', MIN_S64, MAX64), MIN_S64);
  assert.is(operated('r0 s/= -1', MIN_S64), MIN_S64);
  assert.is(operated('r0 s%= r2', MIN_S64, MAX64), 0n);
  assert.is(operated('w0 s/= w2', 0x80000000n, 0xffffffffn), 0x80000000n);
  assert.is(operated('w0 s/= -1', 0x80000000n), 0x80000000n);
  assert.is(operated('w0 s%= -1', 0x80000000n), 0n);
});

test('shifts take their count modulo the width', () => {
  assert.is(operated('r0 <<= r2', 1n, 65n), 2n);
  assert.is(operated('w0 <<= w2', 1n, 33n), 2n);
  assert.is(operated('r0 >>= 63', MIN_S64), 1n);
  assert.is(operated('r0 s>>= 63', MIN_S64), MAX64);
  assert.is(operated('w0 s>>= 31', 0x80000000n), 0xffffffffn);
  assert.is(operated('w0 >>= 31', 0x80000000n), 1n);
});

test('MOVSX extends the sign of the low 8, 16 or 32 bits', () => {
  assert.is(result('r0 = (s8)r1', 0x80n), MAX64 - 0x7fn);
  assert.is(result('r0 = (s16)r1', 0x18000n), MAX64 - 0x7fffn);
  assert.is(result('r0 = (s32)r1', 0x80000000n), MAX64 - 0x7fffffffn);
  assert.is(result('w0 = (s8)w1', 0x80n), 0xffffff80n);
  assert.is(result('w0 = (s16)w1', 0x7fffn), 0x7fffn);
});

test('byte swaps', () => {
  const value = 0x1122334455667788n;
  assert.is(operated('r0 = le16 r0', value), 0x7788n);
  assert.is(operated('r0 = le32 r0', value), 0x55667788n);
  assert.is(operated('r0 = le64 r0', value), value);
  assert.is(operated('r0 = be16 r0', value), 0x8877n);
  assert.is(operated('r0 = be32 r0', value), 0x88776655n);
  assert.is(operated('r0 = be64 r0', value), 0x8877665544332211n);
  assert.is(operated('r0 = bswap16 r0', value), 0x8877n);
  assert.is(operated('r0 = bswap32 r0', value), 0x88776655n);
  assert.is(operated('r0 = bswap64 r0', value), 0x8877665544332211n);
});

test('a cast between address spaces keeps the address, and NULL', () => {
  assert.is(result('r0 = addr_space_cast(r1)', 0x7_00001234n), 0x1234n);
  assert.is(result('r0 = addr_space_cast(r1)', 0n), 0n);
});

test('conditional jumps compare 64 or 32 bits, signed or not', () => {
  const jumps = (condition: string, r1: bigint, r2: bigint): boolean =>
    result(`r0 = 1\nif ${condition} goto end\nr0 = 0\nend:`, r1, r2) === 1n;
  const minusOne = MAX64;
  // [operator, holds for (1, −1), for (−1, 1), for (1, 1)]: unsigned, −1 is the largest number.
  const table: [string, boolean, boolean, boolean][] = [
    ['==', false, false, true],
    ['!=', true, true, false],
    ['>', false, true, false],
    ['>=', false, true, true],
    ['<', true, false, false],
    ['<=', true, false, true],
    ['s>', true, false, false],
    ['s>=', true, false, true],
    ['s<', false, true, false],
    ['s<=', false, true, true],
    ['&', true, true, true],
  ];
  for (const [operator, oneMinus, minusOneOne, oneOne] of table) {
    for (const [a, b] of [
      ['r1', 'r2'],
      ['w1', 'w2'],
    ]) {
      assert.is(jumps(`${a} ${operator} ${b}`, 1n, minusOne), oneMinus, `1 ${operator} -1`);
      assert.is(jumps(`${a} ${operator} ${b}`, minusOne, 1n), minusOneOne, `-1 ${operator} 1`);
      assert.is(jumps(`${a} ${operator} ${b}`, 1n, 1n), oneOne, `1 ${operator} 1`);
      assert.is(jumps(`${a} ${operator} -1`, 1n, 0n), oneMinus, `1 ${operator} immediate -1`);
    }
  }
  assert.is(jumps('r1 == 0', 1n << 32n, 0n), false);
  assert.is(jumps('w1 == 0', 1n << 32n, 0n), true);
  assert.is(jumps('w1 != 0', 1n << 32n, 0n), false);
  assert.is(jumps('r1 & 4', 3n, 0n), false);
  // The immediate of JSET is sign-extended: −2^31 tests the upper half as well.
  assert.is(jumps('r1 & -2147483648', 1n << 40n, 0n), true);
  assert.is(jumps('w1 & -2147483648', 1n << 40n, 0n), false);
});

test.run();
