// CO-RE: instructions that depend on the kernel's types, rewritten for the engine's own. The rules are libbpf's
// (relo_core.c): types are found by name without flavour, members by name through anonymous structs.

import { type Btf, type BtfType, essentialName } from './btf.js';
import type { CoreRelocation } from './btfext.js';
import { ObjectError } from './bytes.js';
import { OP_LD_IMM64 } from './constants.js';
import { CORE_KINDS, type CoreKind, fieldValue, type Place } from './corefield.js';
import {
  accessBytes,
  BPF_ALU,
  BPF_ALU64,
  BPF_B,
  BPF_DW,
  BPF_H,
  BPF_LDX,
  BPF_ST,
  BPF_STX,
  BPF_W,
  BPF_X,
  classOf,
} from './instruction.js';
import type { Kernel, KernelField } from './kernel.js';
import type { Instruction } from './program.js';

/** Deepest path of members and elements (BPF_CORE_SPEC_MAX_LEN). */
const MAX_PATH = 64;

/** What a relocation asks about, in words: `task_struct.scx.slice`. */
export interface CoreQuestion {
  kind: CoreKind;
  what: string;
}

interface Step {
  /** Undefined: an element of an array. */
  name?: string;
  index: number;
}

interface Path {
  root: BtfType;
  /** Which element of an array of root types. */
  first: number;
  steps: Step[];
  local: Place;
}

const SIZES: Record<number, number> = { 1: BPF_B, 2: BPF_H, 4: BPF_W, 8: BPF_DW };

/** Answers an object's CO-RE relocations for one kernel. */
export class CoreResolver {
  constructor(
    private readonly file: string,
    private readonly btf: Btf,
  ) {}

  /** What the relocation is about. */
  question(relocation: CoreRelocation): CoreQuestion {
    const kind = CORE_KINDS[relocation.kind];
    if (kind === undefined) return this.fail(relocation, `kind ${relocation.kind}`);
    const name = this.rootName(relocation);
    if (kind.startsWith('field')) {
      const steps = this.path(relocation).steps.map((step) =>
        step.name === undefined ? `[${step.index}]` : `.${step.name}`,
      );
      return { kind, what: name + steps.join('') };
    }
    if (kind.startsWith('enumval')) {
      return { kind, what: `enumerator ${this.enumerator(relocation)} of enum ${name}` };
    }
    return { kind, what: `type ${name}` };
  }

  /** The number it stands for in `kernel`; undefined if the kernel has no such field, type or enumerator. */
  answer(relocation: CoreRelocation, kernel: Kernel): bigint | undefined {
    const { kind } = this.question(relocation);
    const place = kind.startsWith('field') ? this.find(this.path(relocation), kernel) : undefined;
    return this.value(kind, relocation, kernel, place);
  }

  /** Changes `instruction` so that it fits `kernel`; what the kernel lacks becomes its `missing` target. */
  apply(instruction: Instruction, relocation: CoreRelocation, kernel: Kernel): void {
    const { kind, what } = this.question(relocation);
    const path = kind.startsWith('field') ? this.path(relocation) : undefined;
    const place = path === undefined ? undefined : this.find(path, kernel);
    const value = this.value(kind, relocation, kernel, place);
    if (value === undefined) {
      instruction.target = { kind: 'missing', what };
      return;
    }
    const kindOfCode = classOf(instruction.opcode);
    if (kindOfCode === BPF_ALU || kindOfCode === BPF_ALU64) {
      if ((instruction.opcode & BPF_X) !== 0) this.fail(relocation, 'at an instruction without immediate');
      instruction.imm = BigInt.asIntN(32, value);
    } else if (kindOfCode === BPF_LDX || kindOfCode === BPF_ST || kindOfCode === BPF_STX) {
      instruction.offset = Number(BigInt.asIntN(32, value));
      if (path !== undefined && place !== undefined && kind === 'field_byte_offset') {
        this.resize(instruction, relocation, path.local, place, what);
      }
    } else if (instruction.opcode === OP_LD_IMM64) {
      instruction.imm = value;
      instruction.target = { kind: 'value', value };
    } else {
      this.fail(relocation, `at an instruction with opcode 0x${instruction.opcode.toString(16)}`);
    }
  }

  /** A load or store of a field that has another size here: right for unsigned integers and pointers only. */
  private resize(
    instruction: Instruction,
    relocation: CoreRelocation,
    local: Place,
    place: Place,
    what: string,
  ): void {
    if (local.bit_field || place.bit_field || local.element_bytes === place.element_bytes) return;
    const bits = SIZES[place.element_bytes];
    if (!local.scalar || local.signed || place.signed || bits === undefined) {
      const bytes = `${local.element_bytes} bytes there, ${place.element_bytes} here`;
      instruction.target = { kind: 'missing', what: `${what} with the object's size (${bytes})` };
      return;
    }
    if (accessBytes(instruction.opcode) !== local.element_bytes)
      this.fail(relocation, 'at an access of another size');
    instruction.opcode = (instruction.opcode & ~BPF_DW) | bits;
  }

  private value(
    kind: CoreKind,
    relocation: CoreRelocation,
    kernel: Kernel,
    place: Place | undefined,
  ): bigint | undefined {
    switch (kind) {
      case 'field_exists':
        return place === undefined ? 0n : 1n;
      case 'type_id_local':
        return BigInt(relocation.type);
      case 'type_id_target':
        // No ids exist on this side.
        return undefined;
      case 'type_exists':
      case 'type_matches':
        return this.typeBytes(relocation, kernel) === undefined ? 0n : 1n;
      case 'type_size': {
        const bytes = this.typeBytes(relocation, kernel);
        return bytes === undefined ? undefined : BigInt(bytes);
      }
      case 'enumval_exists':
        return this.enumValue(relocation, kernel) === undefined ? 0n : 1n;
      case 'enumval_value':
        return this.enumValue(relocation, kernel);
      default:
        return place === undefined ? undefined : fieldValue(kind, place);
    }
  }

  private typeBytes({ type }: CoreRelocation, kernel: Kernel): number | undefined {
    const resolved = this.btf.resolve(type);
    if (resolved.kind === 'int' || resolved.kind === 'ptr' || resolved.kind === 'float') {
      return this.btf.sizeOf(type);
    }
    const names = [this.btf.byId(type).name, resolved.name].map(essentialName);
    const struct = names.map((name) => own(kernel.structs, name)).find((found) => found !== undefined);
    if (struct !== undefined) return struct.bytes;
    return names.some((name) => own(kernel.enums, name) !== undefined) ? resolved.size : undefined;
  }

  private enumValue(relocation: CoreRelocation, kernel: Kernel): bigint | undefined {
    const values = own(kernel.enums, this.rootName(relocation));
    return values === undefined ? undefined : own(values, this.enumerator(relocation));
  }

  private enumerator(relocation: CoreRelocation): string {
    const index = /^\d+$/.test(relocation.access) ? Number(relocation.access) : -1;
    const found = this.btf.resolve(relocation.type).enumerators[index];
    if (found === undefined) return this.fail(relocation, `enumerator ${relocation.access}`);
    return essentialName(found.name);
  }

  private rootName({ type }: CoreRelocation): string {
    return essentialName(this.btf.resolve(type).name || this.btf.byId(type).name);
  }

  /** Follows the object's own types along the relocation's path. */
  private path(relocation: CoreRelocation): Path {
    const indices = relocation.access.split(':');
    if (indices.length > MAX_PATH || !indices.every((index) => /^\d{1,9}$/.test(index))) {
      return this.fail(relocation, `path "${relocation.access}"`);
    }
    const [first, ...rest] = indices.map(Number);
    const root = this.btf.resolve(relocation.type);
    const steps: Step[] = [];
    let id = relocation.type;
    let place = this.whole(id, first * this.btf.sizeOf(id) * 8);
    for (const index of rest) {
      const type = this.btf.resolve(id);
      if (type.kind === 'array') {
        steps.push({ index });
        id = type.type;
        place = this.whole(id, place.bit_offset + index * this.btf.sizeOf(id) * 8);
        continue;
      }
      const member = type.members[index];
      if ((type.kind !== 'struct' && type.kind !== 'union') || member === undefined) {
        return this.fail(relocation, `member ${index} of ${this.btf.describe(id)}`);
      }
      if (member.name !== '') steps.push({ name: member.name, index });
      id = member.type;
      const whole = this.whole(id, place.bit_offset + member.bit_offset);
      place = member.bits === 0 ? whole : { ...whole, bits: member.bits, bit_field: true };
    }
    return { root, first, steps, local: place };
  }

  private whole(id: number, bit_offset: number): Place {
    let type = this.btf.resolve(id);
    const bytes = this.btf.sizeOf(id);
    for (let depth = 0; depth < MAX_PATH && type.kind === 'array'; depth++) {
      type = this.btf.resolve(type.type);
    }
    const element_bytes = type.kind === 'ptr' ? 8 : type.size;
    const scalar = type.kind === 'int' || type.kind === 'ptr';
    return {
      bit_offset,
      bits: bytes * 8,
      bytes,
      element_bytes,
      signed: type.signed,
      bit_field: false,
      scalar,
    };
  }

  /** The same path in the kernel's types; undefined if the kernel has no such field. */
  private find({ root, first, steps }: Path, kernel: Kernel): Place | undefined {
    let struct = own(kernel.structs, essentialName(root.name));
    if (struct === undefined || steps.length === 0) return undefined;
    let offset = first * struct.bytes;
    let field: KernelField | undefined;
    let element = false;
    for (const { name, index } of steps) {
      if (name === undefined) {
        if (field?.count === undefined || element || index >= field.count) return undefined;
        offset += index * (field.bytes / field.count);
        element = true;
        continue;
      }
      field = struct === undefined ? undefined : own(struct.fields, name);
      if (field === undefined) return undefined;
      offset += field.offset;
      element = false;
      struct = field.type === undefined || field.pointer ? undefined : own(kernel.structs, field.type);
    }
    if (field === undefined) return undefined;
    const element_bytes = field.bytes / (field.count ?? 1);
    const bytes = element ? element_bytes : field.bytes;
    return {
      bit_offset: offset * 8 + (field.bits?.first ?? 0),
      bits: field.bits?.count ?? bytes * 8,
      bytes,
      element_bytes,
      signed: field.signed ?? false,
      bit_field: field.bits !== undefined,
      scalar: field.pointer === true || field.type === undefined,
    };
  }

  private fail({ offset, access }: CoreRelocation, what: string): never {
    const message = `CO-RE relocation "${access}": ${what}`;
    throw new ObjectError('bpf_damaged', message, { file: this.file, section: '.BTF.ext', offset });
  }
}

/** A property of the table itself, never one of Object.prototype. */
function own<T>(table: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}
