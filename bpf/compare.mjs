// What of two BPF objects has to be equal: instructions, relocations by symbol name, maps, data, and types. Debug data,
// line information and the order of symbols may differ.

import { existsSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';

const SHT_PROGBITS = 1;
const SHT_REL = 9;
const SHT_NOBITS = 8;

/** Sections of an ELF64 little-endian file: name → { type, bytes, link, info }. */
function readSections(path) {
  const file = readFileSync(path);
  const table = Number(file.readBigUInt64LE(40));
  const count = file.readUInt16LE(60);
  const headers = Array.from({ length: count }, (_, i) => {
    const at = table + i * file.readUInt16LE(58);
    const offset = Number(file.readBigUInt64LE(at + 24));
    const size = Number(file.readBigUInt64LE(at + 32));
    const type = file.readUInt32LE(at + 4);
    return {
      nameAt: file.readUInt32LE(at),
      type,
      link: file.readUInt32LE(at + 40),
      info: file.readUInt32LE(at + 44),
      size,
      bytes: type === SHT_NOBITS ? Buffer.alloc(0) : file.subarray(offset, offset + size),
    };
  });
  const names = headers[file.readUInt16LE(62)].bytes;
  for (const header of headers) header.name = text(names, header.nameAt);
  return headers;
}

function text(strings, at) {
  return strings.toString('utf8', at, strings.indexOf(0, at));
}

/** `offset type symbol` of every relocation of a section; symbols without a name are their section's. */
function relocations(sections, section) {
  const symbols = sections[section.link].bytes;
  const strings = sections[sections[section.link].link].bytes;
  const lines = [];
  for (let at = 0; at < section.bytes.length; at += 16) {
    const info = section.bytes.readBigUInt64LE(at + 8);
    const symbol = Number(info >> 32n) * 24;
    const name = text(strings, symbols.readUInt32LE(symbol));
    const home = symbols.readUInt16LE(symbol + 6);
    const value = symbols.readBigUInt64LE(symbol + 8);
    const target = name === '' || name.startsWith('.L') ? `${sections[home]?.name}+${value}` : name;
    lines.push(`${section.bytes.readBigUInt64LE(at)} ${info & 0xffffffffn} ${target}`);
  }
  return lines;
}

/** What counts of an object: section name → comparable lines. */
function content(path) {
  const sections = readSections(path);
  const found = new Map();
  for (const section of sections) {
    if (
      section.name.startsWith('.debug') ||
      section.name.startsWith('.BTF') ||
      section.name.startsWith('.rel.BTF')
    )
      continue;
    if (section.name.startsWith('.rel.debug')) continue;
    if (section.type === SHT_PROGBITS && section.size > 0) found.set(section.name, words(section.bytes));
    if (section.type === SHT_NOBITS) found.set(section.name, [`${section.size} bytes of zeros`]);
    if (section.type === SHT_REL) found.set(section.name, relocations(sections, section));
  }
  return found;
}

/** Eight bytes a line: one BPF instruction. */
function words(bytes) {
  return Array.from({ length: Math.ceil(bytes.length / 8) }, (_, i) =>
    bytes.toString('hex', i * 8, i * 8 + 8),
  );
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
