// What of two BPF objects has to be equal: instructions, relocations by symbol name, maps and data. Debug data, types, line
// information and the order of symbols may differ.

import { existsSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { readElf } from '../dist/src/bpf/object/elf.js';

const SHT_PROGBITS = 1;
const SHT_NOBITS = 8;
const IGNORED = /^\.(debug|BTF)/;

/** Eight bytes a line: one BPF instruction. */
function words(bytes) {
  const buffer = Buffer.from(bytes);
  return Array.from({ length: Math.ceil(buffer.length / 8) }, (_, i) =>
    buffer.toString('hex', i * 8, i * 8 + 8),
  );
}

/** What counts of an object: section name, or `relocations of` it → comparable lines. */
function content(path) {
  const { sections } = readElf(readFileSync(path), path);
  const found = new Map();
  for (const { name, type, size, data, relocations } of sections) {
    if (IGNORED.test(name)) continue;
    if (type === SHT_PROGBITS && size > 0) found.set(name, words(data.bytes));
    if (type === SHT_NOBITS) found.set(name, [`${size} bytes of zeros`]);
    const lines = relocations.map(({ offset, type: how, symbol }) => {
      const target = symbol.name === '' ? `${sections[symbol.section].name}+${symbol.value}` : symbol.name;
      return `${offset} ${how} ${target}`;
    });
    if (lines.length > 0) found.set(`relocations of ${name}`, lines);
  }
  return found;
}

/** Differences between two objects, one line each; none if they are the same program. */
export function compareObjects(before, after) {
  const name = basename(before);
  if (!existsSync(before)) return [`${name}: not committed`];
  if (!existsSync(after)) return [`${name}: has no source`];
  const [old, now] = [content(before), content(after)];
  const differences = [];
  for (const section of new Set([...old.keys(), ...now.keys()])) {
    const [a, b] = [old.get(section) ?? [], now.get(section) ?? []];
    const at = a.findIndex((line, i) => line !== b[i]);
    const first = at >= 0 ? at : b.length > a.length ? a.length : -1;
    if (first >= 0) {
      const [was, is] = [a[first] ?? 'nothing', b[first] ?? 'nothing'];
      differences.push(`${name}: ${section}: entry ${first}: committed ${was}, built ${is}`);
    }
  }
  return differences;
}
