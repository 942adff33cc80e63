// Loads, stores and atomic operations of translated BPF, and the checks that keep them inside the region.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { VIOLATION_LOAD, VIOLATION_STORE } from '../src/bpf/wasm/translate.js';
import { bpfObject } from './support/bpf-assembler.js';
import { DATA, END, type MachineSettings, machine, type Outcome, READ_ONLY } from './support/bpf-machine.js';

const MAX64 = 2n ** 64n - 1n;

/** Runs `text` with r1; the interpreter has to agree on everything. */
function outcome(text: string, r1: bigint | number = 0n, settings: MachineSettings = {}): Outcome {
  const { run, interpret } = machine(bpfObject([`${text}\nexit`]), settings);
  const got = run([BigInt(r1)]);
  const expected = interpret([BigInt(r1)]);
  assert.equal(got.violation, expected.violation);
  assert.is(got.r0, expected.r0);
  assert.ok(Buffer.from(got.memory).equals(Buffer.from(expected.memory)));
  return got;
}

test('loads extend with zeros, sign-extending loads with the sign', () => {
  // Bytes 0x80 … 0x87 of the read-only memory, little-endian.
  const at = READ_ONLY + 0x80;
  assert.is(outcome('r0 = *(u8 *)(r1 + 0)', at).r0, 0x80n);
  assert.is(outcome('r0 = *(u16 *)(r1 + 0)', at).r0, 0x8180n);
  assert.is(outcome('r0 = *(u32 *)(r1 + 0)', at).r0, 0x83828180n);
  assert.is(outcome('r0 = *(u64 *)(r1 + 0)', at).r0, 0x8786858483828180n);
  assert.is(outcome('r0 = *(s8 *)(r1 + 0)', at).r0, MAX64 - 0x7fn);
  assert.is(outcome('r0 = *(s16 *)(r1 + 0)', at).r0, MAX64 - 0x7e7fn);
  assert.is(outcome('r0 = *(s32 *)(r1 + 0)', at).r0, MAX64 - 0x7c7d7e7fn);
  assert.is(outcome('r0 = *(u8 *)(r1 - 1)', at).r0, 0x7fn);
});

test('stores write their size and nothing else', () => {
  const stored = (text: string): string =>
    Buffer.from(outcome(`r2 = 0x1122334455667788 ll\n${text}`, DATA).memory.subarray(0, 12)).toString('hex');
  assert.is(stored('*(u8 *)(r1 + 1) = r2'), '008800000000000000000000');
  assert.is(stored('*(u16 *)(r1 + 1) = r2'), '008877000000000000000000');
  assert.is(stored('*(u32 *)(r1 + 1) = r2'), '008877665500000000000000');
  assert.is(stored('*(u64 *)(r1 + 1) = r2'), '008877665544332211000000');
  // An immediate is sign-extended to the size that is stored.
  assert.is(stored('*(u64 *)(r1 + 2) = -2'), '0000feffffffffffffff0000');
  assert.is(stored('*(u16 *)(r1 + 2) = -2'), '0000feff0000000000000000');
});

test('the first and last bytes of the region are inside, their neighbours are not', () => {
  assert.is(outcome('r0 = *(u64 *)(r1 + 0)', READ_ONLY).violation, undefined);
  assert.is(outcome('r0 = *(u64 *)(r1 + 0)', READ_ONLY - 1).violation?.kind, VIOLATION_LOAD);
  assert.is(outcome('r0 = *(u64 *)(r1 + 0)', END - 8).violation, undefined);
  assert.is(outcome('r0 = *(u64 *)(r1 + 0)', END - 7).violation?.kind, VIOLATION_LOAD);
  assert.is(outcome('*(u32 *)(r1 + 0) = 1', DATA).violation, undefined);
  assert.is(outcome('*(u32 *)(r1 + 0) = 1', DATA - 1).violation?.kind, VIOLATION_STORE);
  assert.is(outcome('*(u32 *)(r1 + 0) = 1', END - 4).violation, undefined);
  assert.is(outcome('*(u32 *)(r1 + 0) = 1', END - 3).violation?.kind, VIOLATION_STORE);
  // An address of more than 32 bits is not cut to its low half.
  assert.is(outcome('r0 = *(u8 *)(r1 + 0)', (1n << 32n) + BigInt(DATA)).violation?.kind, VIOLATION_LOAD);
  assert.is(outcome('*(u8 *)(r1 + 0) = 1', (1n << 32n) + BigInt(DATA)).violation?.kind, VIOLATION_STORE);
});

test('a violation names function and instruction', () => {
  const text = 'r0 = 1\nr2 = 5\nif r1 == 0 goto bad\nexit\nbad:\n*(u64 *)(r2 + 0) = 1';
  assert.equal(outcome(text).violation, { kind: VIOLATION_STORE, fn: 0, instruction: 4 });
});

test('a load through NULL yields 0 as it does in the kernel, unless that is turned off', () => {
  assert.is(outcome('r0 = *(u64 *)(r1 + 16)').r0, 0n);
  assert.is(outcome('r1 += 8\nr0 = *(u64 *)(r1 + 16)').r0, 0n);
  // The second load needs no check any more and still yields 0.
  assert.is(outcome('r2 = *(u64 *)(r1 + 0)\nr0 = *(u64 *)(r1 + 0)\nr0 += 5').r0, 5n);
  assert.is(outcome('r0 = *(u64 *)(r1 + 16)', 0, { nullLoads: 'violation' }).violation?.kind, VIOLATION_LOAD);
  assert.is(outcome('*(u64 *)(r1 + 16) = 0').violation?.kind, VIOLATION_STORE);
});

test('a store to a permitted field of a task is done by the engine', () => {
  const stores: [bigint, bigint, number][] = [];
  const settings: MachineSettings = {
    writeTask(address, value, bytes) {
      stores.push([address, value, bytes]);
      return address === BigInt(READ_ONLY) + 8n ? 1 : 0;
    },
  };
  assert.is(outcome('r0 = 3\n*(u32 *)(r1 + 8) = 20\nr0 += 1', READ_ONLY, settings).r0, 4n);
  assert.equal(stores[0], [BigInt(READ_ONLY) + 8n, 20n, 4]);
  assert.is(outcome('*(u32 *)(r1 + 12) = 20', READ_ONLY, settings).violation?.kind, VIOLATION_STORE);
});

test('variables are reached without a check, and read-only ones are constants', () => {
  const object = bpfObject(
    [
      'r1 = data 0 + 8\n*(u32 *)(r1 + 4) = 7\nr2 = data 1 + 2\nr0 = *(u16 *)(r2 + 1)\nr3 = *(u32 *)(r1 + 4)\nr0 += r3\nexit',
    ],
    [{ value_bytes: 16 }, { value_bytes: 8, read_only: true, data: Uint8Array.of(0, 1, 2, 3, 4, 5, 6, 7) }],
  );
  const maps = [BigInt(DATA) + 64n, BigInt(READ_ONLY)];
  const { run } = machine(object, { maps });
  const { r0, memory } = run();
  assert.is(r0, 0x0403n + 7n);
  assert.is(memory[64 + 12], 7);
  // Beyond the variable's map the ordinary check applies: the store leaves the writable memory.
  const beyond = bpfObject(['r1 = data 0 + 8\n*(u64 *)(r1 + 8) = 7\nexit'], [{ value_bytes: 16 }]);
  assert.is(machine(beyond, { maps: [BigInt(END) - 16n] }).run().violation?.kind, VIOLATION_STORE);
  const readOnly = bpfObject(
    ['r1 = data 0 + 0\n*(u32 *)(r1 + 0) = 7\nexit'],
    [{ value_bytes: 8, read_only: true }],
  );
  assert.is(machine(readOnly, { maps: [BigInt(READ_ONLY)] }).run().violation?.kind, VIOLATION_STORE);
});

test('atomic operations with and without the old value', () => {
  const first = (text: string): { r0?: bigint; word: bigint } => {
    const { r0, memory } = outcome(`r2 = 12\n*(u64 *)(r1 + 0) = 10\n${text}`, DATA);
    return { r0, word: Buffer.from(memory).readBigUInt64LE(0) };
  };
  assert.equal(first('r0 = 1\nlock *(u64 *)(r1 + 0) += r2'), { r0: 1n, word: 22n });
  // 10 = 0b1010, 12 = 0b1100
  assert.is(first('lock *(u64 *)(r1 + 0) |= r2').word, 0b1110n);
  assert.is(first('lock *(u64 *)(r1 + 0) &= r2').word, 0b1000n);
  assert.is(first('lock *(u64 *)(r1 + 0) ^= r2').word, 0b0110n);
  assert.equal(first('r2 = atomic_fetch_add((u64 *)(r1 + 0), r2)\nr0 = r2'), { r0: 10n, word: 22n });
  assert.equal(first('r2 = xchg((u64 *)(r1 + 0), r2)\nr0 = r2'), { r0: 10n, word: 12n });
  assert.equal(first('r0 = 10\nr0 = cmpxchg((u64 *)(r1 + 0), r0, r2)'), { r0: 10n, word: 12n });
  assert.equal(first('r0 = 11\nr0 = cmpxchg((u64 *)(r1 + 0), r0, r2)'), { r0: 10n, word: 10n });
  assert.equal(first('r0 = load_acquire((u64 *)(r1 + 0))'), { r0: 10n, word: 10n });
  assert.equal(first('r0 = 0\nstore_release((u64 *)(r1 + 0), r2)'), { r0: 0n, word: 12n });
});

test('32-bit atomic operations leave the other half of the word and zero-extend the old value', () => {
  const text = 'r2 = -1\n*(u64 *)(r1 + 0) = -1\nw2 = atomic_fetch_add((u32 *)(r1 + 0), w2)\nr0 = r2';
  const { r0, memory } = outcome(text, DATA);
  assert.is(r0, 0xffffffffn);
  assert.is(Buffer.from(memory).readBigUInt64LE(0), 0xffffffff_fffffffen);
  // Only the low half of r0 is compared.
  const compared = 'r2 = 5\n*(u32 *)(r1 + 0) = 9\nr0 = 0x700000009 ll\nw0 = cmpxchg((u32 *)(r1 + 0), w0, w2)';
  const exchanged = outcome(compared, DATA);
  assert.is(exchanged.r0, 9n);
  assert.is(exchanged.memory[0], 5);
  assert.is(outcome('r2 = 1\nlock *(u64 *)(r1 + 0) += r2', READ_ONLY).violation?.kind, VIOLATION_STORE);
});

test('each call has a stack frame of its own, eight of them at most', () => {
  // f(n) stores n in its frame, calls the next function with n + 1 and adds what it stored to the result.
  const chain = (depth: number): string[] =>
    Array.from({ length: depth }, (_, i) =>
      i === depth - 1
        ? '*(u64 *)(r10 - 8) = r1\nr0 = *(u64 *)(r10 - 8)\nexit'
        : `*(u64 *)(r10 - 8) = r1\nr1 += 1\ncall function ${i + 1}\nr1 = *(u64 *)(r10 - 8)\nr0 += r1\nexit`,
    );
  // 1 + 2 + … + 8
  assert.is(machine(bpfObject(chain(8))).run([1n]).r0, 36n);
  assert.throws(() => machine(bpfObject(chain(9))), /calls nest deeper than 8 frames/);
});

test.run();
