// The parts of values that the kernel manages: timers, locks, pointers to kernel objects, lists and trees
// (btf_parse_fields in kernel/bpf/btf.c).

import type { Btf, BtfType } from './btf.js';
import type { SpecialField } from './program.js';

const STRUCTS = new Set([
  'bpf_timer',
  'bpf_wq',
  'bpf_task_work',
  'bpf_spin_lock',
  'bpf_res_spin_lock',
  'bpf_refcount',
  'bpf_list_head',
  'bpf_list_node',
  'bpf_rb_root',
  'bpf_rb_node',
]);
const HEADS = new Set(['bpf_list_head', 'bpf_rb_root']);
/** Tags of pointees. */
const POINTERS = new Set(['kptr', 'kptr_untrusted', 'percpu_kptr', 'uptr']);

/** Structs in structs, and fields of one value: beyond what any real object has. */
const MAX_DEPTH = 32;
const MAX_FIELDS = 4096;

interface Contained {
  type: string;
  node: string;
}

function shifted(fields: readonly SpecialField[], bytes: number): SpecialField[] {
  return fields.map((field) => ({ ...field, offset: field.offset + bytes }));
}

/** Finds special fields; one instance per object, since it indexes the object's tags. */
export class SpecialFields {
  /** By type or variable and member, −1 for none. */
  private readonly contains = new Map<string, Contained>();
  /** By id of a struct or array. */
  private readonly known = new Map<number, SpecialField[]>();

  constructor(private readonly btf: Btf) {
    for (const { kind, type, component, name } of btf.types) {
      const [word, struct, node] = name.split(':');
      if (kind === 'decl_tag' && word === 'contains' && node !== undefined) {
        this.contains.set(`${type}:${component}`, { type: struct, node });
      }
    }
  }

  /** Of a value of type `id`. */
  ofType(id: number): SpecialField[] {
    return this.visit(id, undefined, 0);
  }

  /** Of a data section whose variables lie at `offsets`. */
  ofVariables(variables: readonly { id: number; offset: number }[]): SpecialField[] {
    return variables.flatMap(({ id, offset }) =>
      shifted(this.visit(this.btf.byId(id).type, this.contains.get(`${id}:-1`), 0), offset),
    );
  }

  private visit(id: number, contained: Contained | undefined, depth: number): SpecialField[] {
    const type = this.btf.resolve(id);
    if (type.kind === 'ptr') {
      const kind = this.tagOf(type.type);
      return kind === undefined ? [] : [{ kind, offset: 0, type: this.btf.resolve(type.type).name }];
    }
    if (type.kind === 'struct' && STRUCTS.has(type.name)) {
      return [{ kind: type.name, offset: 0, ...(HEADS.has(type.name) ? contained : undefined) }];
    }
    if ((type.kind !== 'struct' && type.kind !== 'array') || depth === MAX_DEPTH) return [];
    let fields = this.known.get(type.id);
    if (fields === undefined) {
      // Until it is known: a struct that contains itself has no fields in there.
      this.known.set(type.id, []);
      fields = type.kind === 'array' ? this.ofArray(type, depth) : this.ofStruct(type, depth);
      this.known.set(type.id, fields);
    }
    return fields;
  }

  private ofStruct(type: BtfType, depth: number): SpecialField[] {
    const fields: SpecialField[] = [];
    type.members.forEach((member, i) => {
      if (member.bits > 0 || fields.length > MAX_FIELDS) return;
      const inside = this.visit(member.type, this.contains.get(`${type.id}:${i}`), depth + 1);
      fields.push(...shifted(inside, member.bit_offset >>> 3));
    });
    return fields;
  }

  private ofArray(array: BtfType, depth: number): SpecialField[] {
    const first = this.visit(array.type, undefined, depth + 1);
    if (first.length === 0) return [];
    const bytes = this.btf.sizeOf(array.type);
    const fields: SpecialField[] = [];
    for (let i = 0; i < array.count && fields.length < MAX_FIELDS; i++) {
      fields.push(...shifted(first, i * bytes));
    }
    return fields;
  }

  private tagOf(id: number): string | undefined {
    let type = this.btf.byId(id);
    for (let depth = 0; depth < 8 && type.kind === 'type_tag'; depth++) {
      if (POINTERS.has(type.name)) return type.name;
      type = this.btf.byId(type.type);
    }
    return undefined;
  }
}
