// Maps of an object: those that `.maps` defines by BTF, and one for each section of global variables.

import { type Btf, type BtfMember, type BtfType, essentialName } from './btf.js';
import { ObjectError } from './bytes.js';
import { MAP_TYPES } from './constants.js';
import type { ElfFile, ElfSection, ElfSymbol } from './elf.js';
import type { BpfMap, Variable } from './program.js';
import type { SpecialFields } from './special.js';

export const KCONFIG = '.kconfig';
/** Global variables in an arena (address space 1). */
const ARENA_DATA = '.addr_space.1';
const POINTER_BYTES = 8;
/** Generous: a variable for each of the kernel's options. */
const MAX_KCONFIG_BYTES = 1 << 20;

export interface ObjectMaps {
  maps: BpfMap[];
  /** Index of the map that `.maps` defines at a byte offset. */
  defined: Map<number, number>;
  /** Index of the `.maps` section; −1 if there is none. */
  section: number;
  /** Section of variables → index of its map, and where in the map's value the section begins. */
  data: Map<number, { map: number; offset: number }>;
  /** Variable of .kconfig → its offset. */
  kconfig: Map<string, number>;
}

export function readMaps(elf: ElfFile, btf: Btf, special: SpecialFields): ObjectMaps {
  const result: ObjectMaps = {
    maps: [],
    defined: new Map(),
    section: elf.sections.findIndex(({ name }) => name === '.maps'),
    data: new Map(),
    kconfig: new Map(),
  };
  if (result.section >= 0) readDefined(elf, btf, special, result);
  for (const section of elf.sections) {
    const [, kind] = /^\.(data|rodata|bss)(?:\.|$)/.exec(section.name) ?? [];
    if (kind === undefined || section.size === 0) continue;
    result.data.set(section.index, { map: result.maps.length, offset: 0 });
    result.maps.push(dataMap(elf, btf, special, section, kind === 'rodata'));
  }
  addArenaData(elf, btf, special, result);
  addKconfig(btf, elf.file, result);
  return result;
}

/** Variables of a data section. Compilers leave their offsets to the symbols. */
export function variablesOf(
  elf: ElfFile,
  btf: Btf,
  section: ElfSection,
): { name: string; id: number; offset: number; bytes: number }[] {
  const symbols = new Map<string, ElfSymbol>();
  for (const symbol of elf.symbols) {
    if (symbol.section === section.index && symbol.name !== '') symbols.set(symbol.name, symbol);
  }
  return (btf.dataSection(section.name)?.variables ?? []).flatMap((variable) => {
    const { name, kind, type } = btf.byId(variable.type);
    if (kind !== 'var') return [];
    const offset = symbols.get(name)?.value ?? variable.offset;
    // A flexible array at the end counts only in the data section's entry.
    const bytes = Math.max(btf.sizeOf(type), variable.size);
    if (offset + bytes > section.size) {
      section.data.fail(`variable ${name} of ${bytes} bytes ends outside of its section`, offset);
    }
    return [{ name, id: variable.type, offset, bytes }];
  });
}

function readDefined(elf: ElfFile, btf: Btf, special: SpecialFields, result: ObjectMaps): void {
  const section = elf.sections[result.section];
  const variables = variablesOf(elf, btf, section);
  if (variables.length === 0 && section.size > 0) section.data.fail('maps without type information');
  const places: { offset: number; bytes: number; map: number; slots: number }[] = [];
  for (const { name, id, offset, bytes } of variables) {
    const type = btf.resolve(btf.byId(id).type);
    if (type.kind !== 'struct') section.data.fail(`map ${name} is no struct`, offset);
    const { map, inner } = define(btf, special, section, name, type);
    const index = result.maps.push(map) - 1;
    if (inner !== undefined) {
      const { map: template } = define(btf, special, section, `${name}.inner`, inner);
      map.inner = result.maps.push(template) - 1;
    }
    result.defined.set(offset, index);
    const values = type.members.find((member) => member.name === 'values');
    places.push({ offset, bytes, map: index, slots: values === undefined ? bytes : values.bit_offset >>> 3 });
  }
  for (const { offset, symbol } of section.relocations) {
    const place = places.find((p) => offset >= p.offset && offset + POINTER_BYTES <= p.offset + p.bytes);
    const target = symbol.section === section.index ? result.defined.get(symbol.value) : undefined;
    if (place === undefined || target === undefined) {
      section.data.fail(`initial value ${symbol.name} of a map is no map`, offset);
      continue;
    }
    const slot = (offset - place.offset - place.slots) / POINTER_BYTES;
    if (!Number.isInteger(slot) || slot < 0) section.data.fail('initial value between two slots', offset);
    const map = result.maps[place.map];
    map.slots ??= new Map();
    map.slots.set(slot, target);
  }
}

/** A definition is a struct whose members encode numbers as lengths of arrays and types as pointers to them. */
function define(btf: Btf, special: SpecialFields, section: ElfSection, name: string, type: BtfType) {
  const map: BpfMap = {
    name,
    type: '',
    key_bytes: 0,
    value_bytes: 0,
    max_entries: 0,
    flags: 0,
    read_only: false,
    special: [],
    variables: [],
  };
  let inner: BtfType | undefined;
  const pointee = ({ name: member, type: id }: BtfMember): number => {
    const pointer = btf.resolve(id);
    return pointer.kind === 'ptr' ? pointer.type : section.data.fail(`map ${name}: ${member} is no pointer`);
  };
  const number = (member: BtfMember): number => {
    const array = btf.resolve(pointee(member));
    return array.kind === 'array'
      ? array.count
      : section.data.fail(`map ${name}: ${member.name} is no number`);
  };
  for (const member of type.members) {
    switch (member.name) {
      case 'type':
        map.type = MAP_TYPES[number(member)] ?? `type ${number(member)}`;
        break;
      case 'max_entries':
        map.max_entries = number(member);
        break;
      case 'map_flags':
        map.flags = number(member);
        break;
      case 'key_size':
        map.key_bytes = number(member);
        break;
      case 'value_size':
        map.value_bytes = number(member);
        break;
      case 'key':
        map.key_bytes = btf.sizeOf(pointee(member));
        break;
      case 'value':
        map.value_bytes = btf.sizeOf(pointee(member));
        map.special = special.ofType(pointee(member));
        break;
      case 'values': {
        const array = btf.resolve(member.type);
        const element = btf.resolve(array.kind === 'array' ? array.type : 0);
        const struct = btf.resolve(element.kind === 'ptr' ? element.type : 0);
        if (struct.kind !== 'struct' || name.endsWith('.inner')) {
          throw new ObjectError('bpf_unsupported', `map ${name}: initial values that are no maps`, {
            file: section.data.file,
            section: section.name,
          });
        }
        map.value_bytes = 4;
        inner = struct;
        break;
      }
      case 'numa_node':
      case 'pinning':
      case 'map_extra':
        break;
      default:
        section.data.fail(`map ${name} has the unknown attribute ${member.name}`);
    }
  }
  if (map.type === '') section.data.fail(`map ${name} has no type`);
  return { map, inner };
}

function dataMap(
  elf: ElfFile,
  btf: Btf,
  special: SpecialFields,
  section: ElfSection,
  readOnly: boolean,
): BpfMap {
  const variables = variablesOf(elf, btf, section);
  const data = new Uint8Array(section.size);
  data.set(section.data.bytes);
  return {
    name: section.name,
    type: 'ARRAY',
    key_bytes: 4,
    value_bytes: section.size,
    max_entries: 1,
    flags: 0,
    data,
    read_only: readOnly,
    special: special.ofVariables(variables),
    variables: variables.map((variable) => describeVariable(btf, variable)),
  };
}

export function describeVariable(
  btf: Btf,
  { name, id, offset, bytes }: { name: string; id: number; offset: number; bytes: number },
): Variable {
  let type = btf.resolve(btf.byId(id).type);
  let count = 1;
  for (let depth = 0; depth < 8 && type.kind === 'array'; depth++) {
    count *= type.count;
    type = btf.resolve(type.type);
  }
  return { name, offset, bytes, type: scalarName(type), count };
}

/** `u32`, `i64`, `bool`, `ptr`, or the name of the struct or union. */
export function scalarName({ kind, name, size, signed }: BtfType): string {
  if (kind === 'int' && name === '_Bool') return 'bool';
  if (kind === 'int' || kind === 'enum' || kind === 'enum64') return `${signed ? 'i' : 'u'}${size * 8}`;
  return kind === 'ptr' ? 'ptr' : essentialName(name) || kind;
}

/** Global variables of an arena are the first pages of the arena map's memory. */
function addArenaData(elf: ElfFile, btf: Btf, special: SpecialFields, result: ObjectMaps): void {
  const section = elf.sections.find(({ name }) => name === ARENA_DATA);
  if (section === undefined || section.size === 0) return;
  const index = result.maps.findIndex(({ type }) => type === 'ARENA');
  if (index < 0) section.data.fail('variables of an arena, but no arena map');
  const { data, variables } = dataMap(elf, btf, special, section, false);
  Object.assign(result.maps[index], { data, variables });
  result.data.set(section.index, { map: index, offset: 0 });
}

/** `extern … __kconfig` variables; values are put in when the kernel is known. */
function addKconfig(btf: Btf, file: string, result: ObjectMaps): void {
  const section = btf.dataSection(KCONFIG);
  if (section === undefined) return;
  const variables: Variable[] = [];
  let end = 0;
  for (const { type: id } of section.variables) {
    const { name, type } = btf.byId(id);
    const bytes = btf.sizeOf(type);
    // Eight-byte slots suit every type; only their places differ from libbpf's, which nothing can see.
    const offset = end;
    end += Math.ceil(bytes / 8) * 8;
    if (end > MAX_KCONFIG_BYTES) {
      throw new ObjectError('bpf_damaged', `${name} has ${bytes} bytes`, { file, section: KCONFIG });
    }
    result.kconfig.set(name, offset);
    variables.push(describeVariable(btf, { name, id, offset, bytes }));
  }
  result.maps.push({
    name: KCONFIG,
    type: 'ARRAY',
    key_bytes: 4,
    value_bytes: end,
    max_entries: 1,
    flags: 0,
    data: new Uint8Array(end),
    read_only: true,
    special: [],
    variables,
  });
}
