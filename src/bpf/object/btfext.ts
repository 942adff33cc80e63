// .BTF.ext: which BTF type a function has, where its instructions come from in the source, and its CO-RE relocations
// (the kernel's Documentation/bpf/btf.rst and llvm_reloc.rst).

import type { Btf } from './btf.js';
import type { Bytes } from './bytes.js';

const MAGIC = 0xeb9f;

export interface CoreRelocation {
  /** Byte offset of its instruction in the section. */
  offset: number;
  /** Root type. */
  type: number;
  /** Path from it: indices of members and array elements, or of an enumerator. */
  access: string;
  /** Index in CORE_KINDS. */
  kind: number;
}

/** What .BTF.ext says about one section, each list in the order of the file. */
export interface CodeInfo {
  functions: { offset: number; type: number }[];
  lines: { offset: number; text: string }[];
  relocations: CoreRelocation[];
}

/** Sections by name. */
export type BtfExt = Map<string, CodeInfo>;

export function readBtfExt(section: Bytes, btf: Btf): BtfExt {
  if (section.u16(0) !== MAGIC) section.fail('no BTF', 0);
  const header = section.u32(4);
  const sections: BtfExt = new Map();
  const infoOf = (name: string): CodeInfo => {
    let info = sections.get(name);
    if (info === undefined) {
      info = { functions: [], lines: [], relocations: [] };
      sections.set(name, info);
    }
    return info;
  };
  const each = (field: number, bytes: number, take: (info: CodeInfo, records: Bytes, at: number) => void) => {
    // Fields that a shorter header of older compilers does not have.
    if (field + 8 > header) return;
    const records = section.part(section.section, header + section.u32(field), section.u32(field + 4));
    if (records.length === 0) return;
    const size = records.u32(0);
    if (size < bytes) records.fail(`records of ${size} bytes`, 0);
    for (let at = 4; at < records.length; ) {
      const info = infoOf(btf.text(records.u32(at)));
      const count = records.u32(at + 4);
      at += 8;
      for (let i = 0; i < count; i++, at += size) take(info, records, at);
    }
  };
  each(8, 8, (info, records, at) => {
    info.functions.push({ offset: records.u32(at), type: records.u32(at + 4) });
  });
  each(16, 16, (info, records, at) => {
    const number = records.u32(at + 12) >>> 10;
    // Line 0: compilers know no line for what they add.
    if (number === 0) return;
    const file = btf.text(records.u32(at + 4)).replace(/^.*\//, '');
    const source = btf.text(records.u32(at + 8)).trim();
    const line = `${file}:${number}${source === '' ? '' : `: ${source}`}`;
    info.lines.push({ offset: records.u32(at), text: line });
  });
  each(24, 16, (info, records, at) => {
    info.relocations.push({
      offset: records.u32(at),
      type: records.u32(at + 4),
      access: btf.text(records.u32(at + 8)),
      kind: records.u32(at + 12),
    });
  });
  return sections;
}
