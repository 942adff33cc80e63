// ELF as far as BPF objects use it: 64-bit, little-endian, relocatable, EM_BPF (System V gABI, chapters 4 and 5).

import { Bytes, ObjectError } from './bytes.js';

const HEADER_BYTES = 64;
const SECTION_HEADER_BYTES = 64;
const SYMBOL_BYTES = 24;
const REL_BYTES = 16;
/** Of the file, and of what its .bss sections ask for. */
const MAX_BYTES = 1 << 26;

const ELFCLASS64 = 2;
const ELFDATA2LSB = 1;
const ET_REL = 1;
const EM_BPF = 247;
const SHT_SYMTAB = 2;
const SHT_STRTAB = 3;
const SHT_RELA = 4;
const SHT_NOBITS = 8;
const SHT_REL = 9;
const SHF_WRITE = 1;
const SHF_EXECINSTR = 4;
export const SHN_UNDEF = 0;
const STT_FUNC = 2;
const STB_LOCAL = 0;
const STB_WEAK = 2;

export interface Relocation {
  /** Byte offset in the section that it changes. */
  offset: number;
  /** R_BPF_…. */
  type: number;
  symbol: ElfSymbol;
}

export interface ElfSection {
  index: number;
  name: string;
  type: number;
  /** Bytes in memory; sections without bytes in the file (.bss) have an empty `data`. */
  size: number;
  data: Bytes;
  code: boolean;
  writable: boolean;
  /** Ascending by offset. */
  relocations: Relocation[];
}

export interface ElfSymbol {
  name: string;
  /** Byte offset in its section. */
  value: number;
  size: number;
  /** Index of its section; SHN_UNDEF for what the kernel has to provide. */
  section: number;
  is_function: boolean;
  local: boolean;
  weak: boolean;
}

export interface ElfFile {
  file: string;
  sections: ElfSection[];
  symbols: ElfSymbol[];
}

/** Reads an object. Errors: ObjectError, whatever the bytes are. */
export function readElf(bytes: Uint8Array, file: string): ElfFile {
  if (bytes.length > MAX_BYTES) {
    throw new ObjectError('bpf_damaged', `${bytes.length} bytes are no BPF object`, {
      file,
      expected: `at most ${MAX_BYTES} bytes`,
    });
  }
  const all = new Bytes(file, 'ELF header', bytes);
  if (bytes.length < HEADER_BYTES || all.u32(0) !== 0x464c457f) {
    throw new ObjectError('bpf_damaged', 'not an ELF file', { file, expected: 'an object built for BPF' });
  }
  if (all.u8(4) !== ELFCLASS64 || all.u8(5) !== ELFDATA2LSB) all.fail('not 64-bit little-endian', 4);
  if (all.u16(16) !== ET_REL || all.u16(18) !== EM_BPF) {
    throw new ObjectError('bpf_damaged', `ELF type ${all.u16(16)} for machine ${all.u16(18)}`, {
      file,
      expected: `a relocatable object (${ET_REL}) for BPF (${EM_BPF}), as clang -target bpf -c writes it`,
    });
  }
  const tableAt = all.size(40);
  const headerBytes = all.u16(58);
  const count = all.u16(60);
  if (headerBytes !== SECTION_HEADER_BYTES) all.fail(`section headers of ${headerBytes} bytes`, 58);
  if (count === 0) all.fail('no sections', 60);
  const headers = all.part('section headers', tableAt, count * SECTION_HEADER_BYTES);
  const sections = readSections(all, headers, count, all.u16(62));
  const symbols = readSymbols(sections, headers);
  readRelocations(sections, headers, symbols);
  return { file, sections, symbols };
}

function readSections(all: Bytes, headers: Bytes, count: number, namesIndex: number): ElfSection[] {
  if (namesIndex >= count) all.fail(`section names in section ${namesIndex} of ${count}`, 62);
  const names = contents(all, headers, namesIndex, 'section names');
  let memory = 0;
  return Array.from({ length: count }, (_, index) => {
    const at = index * SECTION_HEADER_BYTES;
    const name = index === 0 ? '' : names.string(headers.u32(at));
    const flags = headers.u64(at + 8);
    const size = headers.size(at + 32);
    memory += size;
    if (memory > 2 * MAX_BYTES) headers.fail(`sections of more than ${2 * MAX_BYTES} bytes`, at + 32);
    return {
      index,
      name,
      type: headers.u32(at + 4),
      size,
      data: contents(all, headers, index, name),
      code: (flags & BigInt(SHF_EXECINSTR)) !== 0n,
      writable: (flags & BigInt(SHF_WRITE)) !== 0n,
      relocations: [],
    };
  });
}

function contents(all: Bytes, headers: Bytes, index: number, name: string): Bytes {
  const at = index * SECTION_HEADER_BYTES;
  const type = headers.u32(at + 4);
  if (index === 0 || type === SHT_NOBITS) return all.part(name, 0, 0);
  return all.part(name, headers.size(at + 24), headers.size(at + 32));
}

function readSymbols(sections: ElfSection[], headers: Bytes): ElfSymbol[] {
  const table = sections.find(({ type }) => type === SHT_SYMTAB);
  if (table === undefined) return headers.fail('no symbol table');
  const link = headers.u32(table.index * SECTION_HEADER_BYTES + 40);
  const names = sections[link];
  if (names?.type !== SHT_STRTAB) table.data.fail(`symbol names in section ${link}, no string table`);
  return Array.from({ length: Math.floor(table.data.length / SYMBOL_BYTES) }, (_, i) => {
    const at = i * SYMBOL_BYTES;
    const info = table.data.u8(at + 4);
    return {
      name: names.data.string(table.data.u32(at)),
      value: table.data.size(at + 8),
      size: table.data.size(at + 16),
      section: table.data.u16(at + 6),
      is_function: (info & 15) === STT_FUNC,
      local: info >> 4 === STB_LOCAL,
      weak: info >> 4 === STB_WEAK,
    };
  });
}

function readRelocations(sections: ElfSection[], headers: Bytes, symbols: ElfSymbol[]): void {
  for (const { index, type, data } of sections) {
    if (type !== SHT_REL && type !== SHT_RELA) continue;
    const at = index * SECTION_HEADER_BYTES + 44;
    const target = sections[headers.u32(at)];
    if (target === undefined) headers.fail(`relocations of section ${headers.u32(at)}`, at);
    if (type === SHT_RELA) data.fail('relocations with addends, which BPF objects do not have');
    for (let at = 0; at + REL_BYTES <= data.length; at += REL_BYTES) {
      const symbol = symbols[data.u32(at + 12)];
      if (symbol === undefined) data.fail(`symbol ${data.u32(at + 12)} of ${symbols.length}`, at + 12);
      target.relocations.push({ offset: data.size(at), type: data.u32(at + 8), symbol });
    }
    target.relocations.sort((a, b) => a.offset - b.offset);
  }
}
