// The check of committed objects against a fresh build (bpf/build.mjs --check) finds what differs, and only that.

import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readElf } from '../src/bpf/object/elf.js';
import { temporaryFolder } from './support/folder.js';

const { compareObjects } = (await import(pathToFileURL('bpf/compare.mjs').href)) as {
  compareObjects(before: string, after: string): string[];
};

const FIFO = 'bpf/objects/fifo.bpf.o';

/** Where a section of fifo.bpf.o lies in the file. */
function place(section: string): { offset: number; size: number } {
  const file = new Uint8Array(readFileSync(FIFO));
  const { bytes } = readElf(file, FIFO).sections.find(({ name }) => name === section)!.data;
  return { offset: bytes.byteOffset - file.byteOffset, size: bytes.length };
}

/** What the check says about a copy of fifo.bpf.o after a change. */
function said(change: (bytes: Buffer) => void): string[] {
  const folder = temporaryFolder('objects');
  const copy = join(folder, 'fifo.bpf.o');
  copyFileSync(FIFO, copy);
  const bytes = readFileSync(copy);
  change(bytes);
  writeFileSync(copy, bytes);
  return compareObjects(FIFO, copy);
}

test('every program is committed twice: plain and recording', () => {
  const programs = readdirSync('bpf').filter((name) => name.endsWith('.bpf.c'));
  const expected = programs.flatMap((name) =>
    ['.bpf.o', '.record.bpf.o'].map((to) => name.replace('.bpf.c', to)),
  );
  assert.equal(readdirSync('bpf/objects').sort(), expected.sort());
});

test('the same object: no difference', () => {
  assert.equal(
    said(() => {}),
    [],
  );
});

test('one bit of an instruction: its section and index', () => {
  // The second instruction of fifo_dispatch.
  const { offset } = place('struct_ops/fifo_dispatch');
  const [difference, ...others] = said((bytes) => {
    bytes[offset + 8 + 4] ^= 1;
  });
  assert.match(
    difference,
    /^fifo\.bpf\.o: struct_ops\/fifo_dispatch: entry 1: committed \w{16}, built \w{16}$/,
  );
  assert.equal(others, []);
});

test('a default of a read-only variable is data that counts', () => {
  const { offset } = place('.rodata');
  assert.match(said((bytes) => (bytes[offset] ^= 1))[0], '.rodata');
});

test('debug data does not count: line information of .BTF.ext', () => {
  const { offset, size } = place('.BTF.ext');
  assert.equal(
    said((bytes) => {
      bytes[offset + size - 1] ^= 1;
    }),
    [],
  );
});

test('objects without recording have no ring buffer', () => {
  for (const name of readdirSync('bpf/objects')) {
    const records = readFileSync(join('bpf/objects', name)).includes('records_dropped');
    assert.is(records, name.endsWith('.record.bpf.o'), name);
  }
});

test.run();
