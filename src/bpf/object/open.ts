// An object before any kernel is known: sections, types, functions, maps and schedulers, and which instruction refers
// to what. `link.ts` makes a BpfObject of it.

import { Btf, essentialName } from './btf.js';
import { type BtfExt, type CoreRelocation, readBtfExt } from './btfext.js';
import { type Bytes, ObjectError } from './bytes.js';
import { type CodeFunction, readCode } from './code.js';
import { HELPERS, INSTRUCTION_BYTES, OP_CALL, OP_LD_IMM64, PSEUDO_CALL, PSEUDO_FUNC } from './constants.js';
import { type ElfFile, type Relocation, readElf, SHN_UNDEF } from './elf.js';
import { KCONFIG, type ObjectMaps, readMaps } from './mapdefs.js';
import type { Instruction, StructOps, Target } from './program.js';
import { SpecialFields } from './special.js';
import { readSchedulers } from './structops.js';

/** What the kernel has to provide: whether it does is found out when linking. */
export interface Extern {
  kind: 'kfunc' | 'variable';
  name: string;
  /** May be missing: its address is 0 then. */
  weak: boolean;
}

export interface OpenFunction extends CodeFunction {
  /** By index in `instructions`. */
  externs: Map<number, Extern>;
  core: Map<number, CoreRelocation>;
}

export interface OpenObject {
  file: string;
  license: string;
  btf: Btf;
  special: SpecialFields;
  functions: OpenFunction[];
  maps: ObjectMaps;
  schedulers: StructOps[];
}

/** Reads an object. Errors: ObjectError, whatever the bytes are. */
export function openObject(bytes: Uint8Array, file: string): OpenObject {
  const elf = readElf(bytes, file);
  const btf = new Btf(sectionBytes(elf, '.BTF'));
  const ext: BtfExt = elf.sections.some(({ name }) => name === '.BTF.ext')
    ? readBtfExt(sectionBytes(elf, '.BTF.ext'), btf)
    : new Map();
  const special = new SpecialFields(btf);
  const maps = readMaps(elf, btf, special);
  const functions = readCode(elf, btf, ext).map((code) => ({
    ...code,
    externs: new Map<number, Extern>(),
    core: new Map<number, CoreRelocation>(),
  }));
  const opener = new Opener(elf, btf, ext, functions, maps);
  for (const opened of functions) opener.resolve(opened);
  const schedulers = readSchedulers(elf, btf, opener.functionAt);
  const license = elf.sections.find(({ name }) => name === 'license');
  return {
    file,
    license: license === undefined || license.data.length === 0 ? '' : license.data.string(0),
    btf,
    special,
    functions,
    maps,
    schedulers,
  };
}

function sectionBytes(elf: ElfFile, name: string): Bytes {
  const section = elf.sections.find((s) => s.name === name);
  if (section !== undefined) return section.data;
  throw new ObjectError('bpf_damaged', `no ${name} section`, {
    file: elf.file,
    expected: 'an object with type information, as clang -g writes it',
  });
}

/** Finds what each relocated instruction refers to. */
class Opener {
  private readonly places = new Map<string, number>();
  private readonly externs = new Map<string, Extern>();

  constructor(
    private readonly elf: ElfFile,
    btf: Btf,
    private readonly ext: BtfExt,
    functions: readonly OpenFunction[],
    private readonly maps: ObjectMaps,
  ) {
    functions.forEach(({ section, start }, i) => {
      this.places.set(`${section.index}:${start}`, i);
    });
    for (const { type: id } of btf.dataSection('.ksyms')?.variables ?? []) {
      const { kind, name } = btf.byId(id);
      this.externs.set(name, { kind: kind === 'func' ? 'kfunc' : 'variable', name, weak: false });
    }
  }

  readonly functionAt = (section: number, offset: number): number | undefined =>
    this.places.get(`${section}:${offset}`);

  resolve(opened: OpenFunction): void {
    const { section, start, end, instructions } = opened;
    const byIndex = new Map(instructions.map((instruction, i) => [instruction.index, i]));
    const at = (offset: number): number => {
      const found = offset % INSTRUCTION_BYTES === 0 ? byIndex.get(offset / INSTRUCTION_BYTES) : undefined;
      return found ?? section.data.fail('relocation of no instruction', offset);
    };
    const inside = ({ offset }: { offset: number }) => offset >= start && offset < end;
    for (const relocation of section.relocations.filter(inside)) {
      this.relocate(opened, at(relocation.offset), relocation);
    }
    for (const relocation of (this.ext.get(section.name)?.relocations ?? []).filter(inside)) {
      opened.core.set(at(relocation.offset), relocation);
    }
    instructions.forEach((instruction, i) => {
      if (instruction.target === undefined && !opened.externs.has(i)) this.direct(opened, instruction);
    });
  }

  private relocate(opened: OpenFunction, i: number, { offset, symbol }: Relocation): void {
    const instruction = opened.instructions[i];
    const { data } = opened.section;
    const isCall = instruction.opcode === OP_CALL;
    if (!isCall && instruction.opcode !== OP_LD_IMM64) {
      data.fail(`relocation of an instruction with opcode 0x${instruction.opcode.toString(16)}`, offset);
    }
    if (symbol.section === SHN_UNDEF) {
      const variable = isCall ? undefined : this.maps.kconfig.get(symbol.name);
      if (variable !== undefined) {
        const map = this.maps.maps.findIndex(({ name }) => name === KCONFIG);
        instruction.target = { kind: 'data', map, offset: variable };
        return;
      }
      const known = this.externs.get(symbol.name);
      if (known === undefined) data.fail(`unknown external symbol ${symbol.name}`, offset);
      const extern = { ...known!, name: essentialName(symbol.name), weak: symbol.weak };
      opened.externs.set(i, extern);
      return;
    }
    const target = isCall
      ? this.calledFunction(symbol.section, symbol.value + (Number(instruction.imm) + 1) * INSTRUCTION_BYTES)
      : this.addressTarget(symbol.section, symbol.value, Number(BigInt.asIntN(32, instruction.imm)));
    if (target === undefined) data.fail(`relocation against ${symbol.name || 'nothing'}`, offset);
    instruction.target = target;
  }

  private calledFunction(section: number, offset: number): Target | undefined {
    const found = this.functionAt(section, offset);
    return found === undefined ? undefined : { kind: 'function', function: found };
  }

  private addressTarget(sectionIndex: number, value: number, addend: number): Target | undefined {
    const section = this.elf.sections[sectionIndex];
    if (section === undefined) return undefined;
    if (section.code) return this.calledFunction(sectionIndex, value + addend);
    if (sectionIndex === this.maps.section) {
      const map = this.maps.defined.get(value + addend);
      return map === undefined ? undefined : { kind: 'map', map };
    }
    const data = this.maps.data.get(sectionIndex);
    const offset = value + addend;
    // One past the end is an address too.
    if (data === undefined || offset < 0 || offset > section.size) return undefined;
    return { kind: 'data', map: data.map, offset: data.offset + offset };
  }

  /** Calls and addresses that need no relocation. */
  private direct(opened: OpenFunction, instruction: Instruction): void {
    const { opcode, src, imm, index } = instruction;
    const { section } = opened;
    const near = () => {
      const target = this.calledFunction(section.index, (index + 1 + Number(imm)) * INSTRUCTION_BYTES);
      return target ?? section.data.fail(`instruction ${index} calls no function`, index * INSTRUCTION_BYTES);
    };
    if (opcode === OP_LD_IMM64 && src === PSEUDO_FUNC) instruction.target = near();
    else if (opcode === OP_CALL && src === PSEUDO_CALL) instruction.target = near();
    else if (opcode === OP_CALL && src === 0) {
      const name = HELPERS[Number(imm)] ?? `${imm}`;
      instruction.target = { kind: 'helper', id: Number(imm), name };
    } else if ((opcode === OP_CALL || opcode === OP_LD_IMM64) && src !== 0) {
      section.data.fail(`instruction ${index} refers to what no relocation names`, index * INSTRUCTION_BYTES);
    }
  }
}
