// The first file system of the guest: cpio "newc", as initramfs buffers are described in the kernel's documentation.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { cpio } from '../src/bpf/vm/cpio.js';

const text = (bytes: Uint8Array, from: number, to: number) =>
  Buffer.from(bytes.subarray(from, to)).toString('latin1');

/** The hexadecimal field number `i` of the header at `at`: 6 bytes of magic, then 13 fields of 8 digits. */
const field = (bytes: Uint8Array, at: number, i: number) =>
  Number.parseInt(text(bytes, at + 6 + 8 * i, at + 14 + 8 * i), 16);

test('a file: header, name and contents, each ending on a multiple of four', () => {
  const bytes = cpio([{ path: 'init', contents: Buffer.from('hello'), executable: true }]);
  assert.is(text(bytes, 0, 6), '070701');
  assert.is(field(bytes, 0, 1), 0o100755);
  assert.is(field(bytes, 0, 4), 1, 'links');
  assert.is(field(bytes, 0, 6), 5, 'size');
  assert.is(field(bytes, 0, 11), 5, 'name with its final 0');
  // 110 + 5 = 115, padded to 116; 116 + 5 = 121, padded to 124.
  assert.is(text(bytes, 110, 115), 'init\0');
  assert.is(text(bytes, 116, 121), 'hello');
  assert.is(text(bytes, 124, 130), '070701');
  // The trailer: 110 + 11 = 121, padded to 124.
  assert.is(text(bytes, 124 + 110, 124 + 121), 'TRAILER!!!\0');
  assert.is(bytes.length, 124 + 124);
});

test('folders, links and devices have their type in the mode', () => {
  const entries = [
    { path: 'dev', directory: true },
    { path: 'dev/console', device: [5, 1] },
    { path: 'sh', link: 'busybox' },
  ] as const;
  const bytes = cpio(entries);
  assert.is(field(bytes, 0, 1), 0o040755);
  // 110 + 4 = 114, padded to 116.
  assert.is(field(bytes, 116, 1), 0o020600);
  assert.is(field(bytes, 116, 9), 5, 'major');
  assert.is(field(bytes, 116, 10), 1, 'minor');
  // 110 + 12 = 122, padded to 124: the link is at 240, its target after 110 + 3 = 113, padded to 116.
  assert.is(field(bytes, 240, 1), 0o120777);
  assert.is(text(bytes, 240 + 116, 240 + 123), 'busybox');
});

test('equal contents give equal bytes: no times, no owners', () => {
  const entries = [{ path: 'a', contents: new Uint8Array([1, 2, 3]) }];
  assert.ok(Buffer.from(cpio(entries)).equals(cpio(entries)));
  const bytes = cpio(entries);
  for (const i of [2, 3, 5]) assert.is(field(bytes, 0, i), 0);
});

test.run();
