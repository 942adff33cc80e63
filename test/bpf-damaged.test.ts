// Damaged objects from a seed: whatever bytes are changed, cut off or swapped, an object is linked or refused with an error
// that says what is wrong, and soon.

import { performance } from 'node:perf_hooks';
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { linkObject } from '../src/bpf/object/link.js';
import { VtimeError } from '../src/errors.js';
import { featuresBytes, KERNEL } from './support/bpf-kernel.js';

const SEED = 20_261_130;
/** An undamaged object takes 10 ms. */
const LIMIT_MS = 3000;
const ORIGINAL = featuresBytes();

/** True if it is refused; anything but a VtimeError is a failure. */
function refused(bytes: Uint8Array): boolean {
  const started = performance.now();
  try {
    linkObject(bytes, 'damaged.bpf.o', KERNEL, { cpus: 4 });
    return false;
  } catch (error) {
    if (!(error instanceof VtimeError)) throw error;
    assert.is(error.exitCode, 2);
    assert.match(error.message, /^damaged\.bpf\.o/);
    return true;
  } finally {
    assert.ok(performance.now() - started < LIMIT_MS);
  }
}

test('an object cut off anywhere is refused', () => {
  // The section headers are at the end, so every shorter file lacks some.
  fc.assert(
    fc.property(fc.integer({ min: 0, max: ORIGINAL.length - 1 }), (length) => {
      assert.ok(refused(ORIGINAL.subarray(0, length)));
    }),
    { seed: SEED, numRuns: 200 },
  );
});

test('flipped bits', () => {
  const flip = fc.record({ at: fc.nat(ORIGINAL.length - 1), bit: fc.nat(7) });
  fc.assert(
    fc.property(fc.array(flip, { minLength: 1, maxLength: 8 }), (flips) => {
      const bytes = ORIGINAL.slice();
      for (const { at, bit } of flips) bytes[at] ^= 1 << bit;
      refused(bytes);
    }),
    { seed: SEED, numRuns: 500 },
  );
});

test('numbers at the edges of their ranges', () => {
  const edges = [0, 1, 0x7f, 0xff, 0x7fff, 0xffff, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff];
  const change = fc.record({
    at: fc.nat(ORIGINAL.length / 4 - 1),
    value: fc.constantFrom(...edges),
    twice: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(change, { minLength: 1, maxLength: 3 }), (changes) => {
      const bytes = ORIGINAL.slice();
      const view = new DataView(bytes.buffer);
      for (const { at, value, twice } of changes) {
        view.setUint32(at * 4, value, true);
        if (twice && at * 4 + 8 <= bytes.length) view.setUint32(at * 4 + 4, value, true);
      }
      refused(bytes);
    }),
    { seed: SEED, numRuns: 500 },
  );
});

test('parts of the file swapped', () => {
  const swap = fc.record({
    from: fc.nat(ORIGINAL.length / 8 - 8),
    to: fc.nat(ORIGINAL.length / 8 - 8),
    words: fc.integer({ min: 1, max: 8 }),
  });
  fc.assert(
    fc.property(fc.array(swap, { minLength: 1, maxLength: 4 }), (swaps) => {
      const bytes = ORIGINAL.slice();
      for (const { from, to, words } of swaps) bytes.copyWithin(to * 8, from * 8, (from + words) * 8);
      refused(bytes);
    }),
    { seed: SEED, numRuns: 300 },
  );
});

test('what is no object is refused', () => {
  assert.ok(refused(new Uint8Array(0)));
  assert.ok(refused(new TextEncoder().encode('#!/bin/sh\n')));
  // A 64-bit ELF file for another machine: e_machine 62 is x86-64.
  const other = ORIGINAL.slice();
  other[18] = 62;
  assert.ok(refused(other));
});

test.run();
