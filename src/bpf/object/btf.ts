// BTF, the type information of BPF objects (the kernel's Documentation/bpf/btf.rst).

import type { Bytes } from './bytes.js';

const MAGIC = 0xeb9f;
/** As the kernel's own limit on typedefs and modifiers in a row (MAX_RESOLVE_DEPTH). */
const MAX_DEPTH = 32;

/** Kinds by number. */
const KINDS = [
  'void',
  'int',
  'ptr',
  'array',
  'struct',
  'union',
  'enum',
  'fwd',
  'typedef',
  'volatile',
  'const',
  'restrict',
  'func',
  'func_proto',
  'var',
  'datasec',
  'float',
  'decl_tag',
  'type_tag',
  'enum64',
] as const;

export type BtfKind = (typeof KINDS)[number];

export interface BtfMember {
  name: string;
  type: number;
  /** From the start of the struct. */
  bit_offset: number;
  /** 0 unless it is a bit field. */
  bits: number;
}

export interface BtfType {
  id: number;
  kind: BtfKind;
  /** Empty if anonymous. */
  name: string;
  /** int, float, struct, union, enum, datasec: bytes. */
  size: number;
  /** What it refers to: pointee, element, typedef's type, prototype, variable's type, tagged type. */
  type: number;
  /** Integers and enums. */
  signed: boolean;
  /** Struct and union members; parameters of a prototype have offset 0. */
  members: BtfMember[];
  /** Array: number of elements. */
  count: number;
  enumerators: { name: string; value: bigint }[];
  /** Data section: its variables. */
  variables: { type: number; offset: number; size: number }[];
  /** func: 0 static, 1 global, 2 extern. */
  linkage: number;
  /** decl_tag: which member is tagged; −1 for the type itself. */
  component: number;
}

const VOID: BtfType = {
  id: 0,
  kind: 'void',
  name: '',
  size: 0,
  type: 0,
  signed: false,
  members: [],
  count: 0,
  enumerators: [],
  variables: [],
  linkage: 0,
  component: -1,
};

const MODIFIERS: readonly BtfKind[] = ['typedef', 'volatile', 'const', 'restrict', 'type_tag'];

export class Btf {
  readonly types: BtfType[] = [VOID];
  private readonly strings: Bytes;
  private readonly texts = new Map<number, string>();

  /** Parses a .BTF section; all ids in it are checked here, so that `types[id]` exists wherever a type names one. */
  constructor(private readonly section: Bytes) {
    if (section.u16(0) !== MAGIC) section.fail('no BTF', 0);
    const header = section.u32(4);
    const at = (offset: number) => header + section.u32(offset);
    this.strings = section.part(section.section, at(16), section.u32(20));
    const types = section.part(section.section, at(8), section.u32(12));
    for (let offset = 0; offset < types.length; ) offset = this.parseType(types, offset);
    for (const type of this.types) this.checkIds(type);
  }

  text(offset: number): string {
    let text = this.texts.get(offset);
    if (text === undefined) {
      text = this.strings.string(offset);
      this.texts.set(offset, text);
    }
    return text;
  }

  private parseType(bytes: Bytes, start: number): number {
    const info = bytes.u32(start + 4);
    const kind = KINDS[(info >>> 24) & 31];
    if (kind === undefined || kind === 'void')
      bytes.fail(`type of unknown kind ${(info >>> 24) & 31}`, start);
    const flag = info >>> 31 === 1;
    const length = info & 0xffff;
    const last = bytes.u32(start + 8);
    const type: BtfType = { ...VOID, id: this.types.length, kind, name: this.text(bytes.u32(start)) };
    this.types.push(type);
    let at = start + 12;
    switch (kind) {
      case 'int':
        type.size = last;
        type.signed = ((bytes.u32(at) >>> 24) & 1) === 1;
        return at + 4;
      case 'float':
        type.size = last;
        return at;
      case 'array':
        type.type = bytes.u32(at);
        type.count = bytes.u32(at + 8);
        return at + 12;
      case 'struct':
      case 'union':
        type.size = last;
        type.members = Array.from({ length }, () => {
          const place = bytes.u32(at + 8);
          const member = {
            name: this.text(bytes.u32(at)),
            type: bytes.u32(at + 4),
            bit_offset: flag ? place & 0xffffff : place,
            bits: flag ? place >>> 24 : 0,
          };
          at += 12;
          return member;
        });
        return at;
      case 'enum':
      case 'enum64':
        type.size = last;
        type.signed = flag;
        type.enumerators = Array.from({ length }, () => {
          const name = this.text(bytes.u32(at));
          const low = flag && kind === 'enum' ? BigInt(bytes.i32(at + 4)) : BigInt(bytes.u32(at + 4));
          const value = kind === 'enum' ? low : (BigInt(bytes.u32(at + 8)) << 32n) | low;
          at += kind === 'enum' ? 8 : 12;
          return { name, value: BigInt.asUintN(64, value) };
        });
        return at;
      case 'func_proto':
        type.type = last;
        type.members = Array.from({ length }, () => {
          const parameter = {
            name: this.text(bytes.u32(at)),
            type: bytes.u32(at + 4),
            bit_offset: 0,
            bits: 0,
          };
          at += 8;
          return parameter;
        });
        return at;
      case 'datasec':
        type.size = last;
        type.variables = Array.from({ length }, () => {
          const variable = { type: bytes.u32(at), offset: bytes.u32(at + 4), size: bytes.u32(at + 8) };
          at += 12;
          return variable;
        });
        return at;
      case 'var':
        type.type = last;
        type.linkage = bytes.u32(at);
        return at + 4;
      case 'decl_tag':
        type.type = last;
        type.component = bytes.i32(at);
        return at + 4;
      case 'func':
        type.type = last;
        type.linkage = length;
        return at;
      case 'fwd':
        return at;
      default:
        type.type = last;
        return at;
    }
  }

  private checkIds(type: BtfType): void {
    const ids = [type.type, ...type.members.map((m) => m.type), ...type.variables.map((v) => v.type)];
    for (const id of ids) {
      if (id >= this.types.length) {
        this.section.fail(`type ${type.id} (${type.name}) refers to type ${id} of ${this.types.length}`);
      }
    }
  }

  /** The type behind typedefs, const, volatile, restrict and type tags. */
  resolve(id: number): BtfType {
    let type = this.byId(id);
    for (let depth = 0; MODIFIERS.includes(type.kind); depth++) {
      if (depth === MAX_DEPTH) this.section.fail(`type ${id} goes round in circles`);
      type = this.types[type.type];
    }
    return type;
  }

  byId(id: number): BtfType {
    return this.types[id] ?? this.section.fail(`type ${id} of ${this.types.length}`);
  }

  /** Bytes of a type. */
  sizeOf(id: number): number {
    let count = 1;
    let type = this.resolve(id);
    for (let depth = 0; type.kind === 'array'; depth++) {
      if (depth === MAX_DEPTH) this.section.fail(`type ${id} goes round in circles`);
      count *= type.count;
      type = this.resolve(type.type);
    }
    const size = count * (type.kind === 'ptr' ? 8 : type.size);
    if (size > 0xffff_ffff) this.section.fail(`type ${id} (${this.types[id].name}) has ${size} bytes`);
    return size;
  }

  /** The data section `name`, if the object has one. */
  dataSection(name: string): BtfType | undefined {
    return this.types.find((type) => type.kind === 'datasec' && type.name === name);
  }

  /** C's name of a type: `u64`, `struct task_struct *`, `enum cpu`. For messages. */
  describe(id: number): string {
    let suffix = '';
    let type = this.byId(id);
    for (let depth = 0; depth < MAX_DEPTH; depth++) {
      if (type.kind === 'ptr') suffix = `*${suffix}`;
      else if (type.kind === 'array') suffix += `[${type.count}]`;
      else if (!MODIFIERS.includes(type.kind) || type.kind === 'typedef') break;
      type = this.types[type.type];
    }
    const prefix = ['struct', 'union', 'enum'].includes(type.kind) ? `${type.kind} ` : '';
    return `${prefix}${type.name || type.kind}${suffix.startsWith('*') ? ' ' : ''}${suffix}`;
  }
}

/** A name without the flavour that lets one object hold several versions of a type: `task_struct___old` → `task_struct`. */
export function essentialName(name: string): string {
  return /^(.*[^_])___[^_]/.exec(name)?.[1] ?? name;
}
