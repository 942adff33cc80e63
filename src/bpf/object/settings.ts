// What a loader sets before it loads an object: global variables, array lengths, sizes of maps. Names and units are those
// of the object; what example loaders always set has a default here.

import { durationNs } from '../../config/units.js';
import { nearestName, VtimeError } from '../../errors.js';
import type { Btf, BtfType } from './btf.js';
import { ObjectError } from './bytes.js';
import type { Kernel } from './kernel.js';
import { scalarName } from './mapdefs.js';
import type { OpenObject } from './open.js';
import type { BpfMap, Variable } from './program.js';

/** "3ms" for variables whose names end in their unit; arrays from their first element. */
export type SettingValue = number | bigint | boolean | string | SettingValue[];

export interface LinkSettings {
  /** CPUs of the machine: what loaders put into `nr_cpu_ids`, and the length of resized arrays. */
  cpus: number;
  /** Global variables by name; elements and members as `name[2]`, `name.member`. */
  rodata?: Readonly<Record<string, SettingValue>>;
  /** Elements of arrays that are alone in a section `.data.NAME`, `.bss.NAME` or `.rodata.NAME`. */
  arrays?: Readonly<Record<string, number>>;
  /** Maps by name. */
  maps?: Readonly<Record<string, MapSettings>>;
}

export interface MapSettings {
  max_entries?: number;
  /** Maps of maps: how many slots, from 0, get a new inner map of their own. */
  inner_maps?: number;
}

/** Read-only variables that loaders set to the number of CPUs. */
const CPU_COUNTS = new Set(['nr_cpu_ids', 'nr_cpus', 'num_possible_cpus']);

/** More elements than any machine has CPUs, cgroups and threads together. */
const MAX_ELEMENTS = 1 << 22;
const UNIT_NS: Record<string, bigint> = { ns: 1n, us: 1000n, ms: 1_000_000n, s: 1_000_000_000n };

/** The maps of `object`, copied, with their settings in place. */
export function settleMaps(object: OpenObject, kernel: Kernel, settings: LinkSettings): BpfMap[] {
  const maps = object.maps.maps.map((map) => ({ ...map, data: map.data?.slice() }));
  const settler = new Settler(object, maps);
  settler.resizeArrays(settings);
  settler.setDefaults(kernel, settings.cpus);
  for (const [path, value] of Object.entries(settings.rodata ?? {})) settler.set(path, value);
  for (const [name, value] of Object.entries(settings.maps ?? {})) settler.setMap(name, value);
  return maps;
}

class Settler {
  private readonly variables = new Map<string, { map: BpfMap; variable: Variable; type: BtfType }>();
  private readonly btf: Btf;

  constructor(
    private readonly object: OpenObject,
    private readonly maps: BpfMap[],
  ) {
    this.btf = object.btf;
    for (const map of maps) {
      for (const { type: id } of this.btf.dataSection(map.name)?.variables ?? []) {
        const { name, type } = this.btf.byId(id);
        const variable = map.variables.find((v) => v.name === name);
        if (variable !== undefined) this.variables.set(name, { map, variable, type: this.btf.byId(type) });
      }
    }
  }

  /**
   * Example loaders make arrays as long as the machine has CPUs: those that are declared with one element, alone in a
   * section of their own (RESIZABLE_ARRAY).
   */
  resizeArrays({ cpus, arrays = {} }: LinkSettings): void {
    const resizable = new Map<string, BpfMap>();
    for (const map of this.maps) {
      const [variable] = map.variables;
      if (map.variables.length !== 1 || !/^\.(data|bss|rodata)\./.test(map.name)) continue;
      resizable.set(variable.name, map);
      if (variable.count === 1 && arrays[variable.name] === undefined && this.isArray(variable.name)) {
        this.resizeArray(map, cpus);
      }
    }
    for (const [name, count] of Object.entries(arrays)) {
      const map = resizable.get(name);
      if (map === undefined) this.unknown(`array ${name}`, name, resizable.keys());
      this.resizeArray(map, this.count(`arrays.${name}`, count));
    }
  }

  private isArray(name: string): boolean {
    const { type } = this.variables.get(name)!;
    return this.btf.resolve(type.id).kind === 'array';
  }

  private resizeArray(map: BpfMap, count: number): void {
    const [variable] = map.variables;
    const bytes = (variable.bytes / variable.count) * count;
    const data = new Uint8Array(bytes);
    data.set(map.data!.subarray(0, Math.min(bytes, map.data!.length)));
    Object.assign(map, { data, value_bytes: bytes, variables: [{ ...variable, bytes, count }] });
  }

  /** `__SCX_X` holds the kernel's enumerator SCX_X; 0 if it has none, as loaders leave it. */
  setDefaults(kernel: Kernel, cpus: number): void {
    const enumerators = new Map(Object.values(kernel.enums).flatMap((values) => Object.entries(values)));
    for (const [name, { map, variable }] of this.variables) {
      if (!map.read_only || variable.count !== 1) continue;
      const value = name.startsWith('__SCX_') ? enumerators.get(name.slice(2)) : undefined;
      if (value !== undefined) this.write(map, variable.offset, variable.bytes, value);
      if (CPU_COUNTS.has(name)) this.write(map, variable.offset, variable.bytes, BigInt(cpus));
      const default_ns = enumerators.get('SCX_SLICE_DFL');
      if (name.endsWith('slice_ns') && default_ns !== undefined && this.isZero(map, variable)) {
        this.write(map, variable.offset, variable.bytes, default_ns);
      }
    }
    for (const [name, offset] of this.object.maps.kconfig) {
      const map = this.maps.find((m) => m.name === '.kconfig')!;
      const variable = map.variables.find((v) => v.name === name)!;
      const value = name === 'LINUX_KERNEL_VERSION' ? BigInt(kernel.version) : (kernel.config[name] ?? 0n);
      if (variable.bytes <= 8) this.write(map, offset, variable.bytes, value);
    }
  }

  private isZero({ data }: BpfMap, { offset, bytes }: Variable): boolean {
    return data!.subarray(offset, offset + bytes).every((byte) => byte === 0);
  }

  /** One setting; `path` is a variable with indices and members. */
  set(path: string, value: SettingValue): void {
    const [name, ...steps] = path.split(/(?=\.)|(?=\[)/);
    const found = this.variables.get(name);
    if (found === undefined) this.unknown(`variable ${name}`, name, this.variables.keys());
    let { type } = found;
    let { offset } = found.variable;
    for (const step of steps) ({ type, offset } = this.step(path, type, offset, step));
    this.setValue(path, found.map, type, offset, value);
  }

  private step(path: string, whole: BtfType, offset: number, step: string) {
    const type = this.btf.resolve(whole.id);
    const index = /^\[(\d{1,9})\]$/.exec(step)?.[1];
    if (index !== undefined && type.kind === 'array') {
      const bytes = this.btf.sizeOf(type.type);
      return { type: this.btf.byId(type.type), offset: offset + Number(index) * bytes };
    }
    const member = type.members.find((m) => `.${m.name}` === step && m.bits === 0);
    if (member === undefined) {
      const members = type.members.map((m) => `.${m.name}`).join(', ');
      return this.refuse(path, step, type.kind === 'array' ? 'an index like [0]' : members || 'no such part');
    }
    return { type: this.btf.byId(member.type), offset: offset + member.bit_offset / 8 };
  }

  private setValue(path: string, map: BpfMap, whole: BtfType, offset: number, value: SettingValue): void {
    const type = this.btf.resolve(whole.id);
    if (Array.isArray(value)) {
      if (type.kind !== 'array') this.refuse(path, value, 'one value: it is no array');
      value.forEach((element, i) => {
        this.setValue(`${path}[${i}]`, map, ...this.element(type, offset, i), element);
      });
      return;
    }
    const scalar = scalarName(type);
    if (!/^([iu]\d+|bool)$/.test(scalar)) {
      this.refuse(path, value, type.kind === 'array' ? `a list, or ${path}[0]` : `no ${scalar}`);
    }
    if (offset + type.size > map.data!.length) {
      this.refuse(path, value, `an index inside of ${map.name}, ${map.data!.length} bytes`);
    }
    this.write(map, offset, type.size, this.integer(path, type, value));
  }

  private element(array: BtfType, offset: number, i: number): [BtfType, number] {
    return [this.btf.byId(array.type), offset + i * this.btf.sizeOf(array.type)];
  }

  private integer(
    path: string,
    { size, signed, name }: BtfType,
    value: number | bigint | boolean | string,
  ): bigint {
    const isBool = name === '_Bool';
    const bits = isBool ? 1n : BigInt(size * 8);
    const low = signed ? -(1n << (bits - 1n)) : 0n;
    const high = (1n << (signed ? bits - 1n : bits)) - 1n;
    const number = this.parse(path, value);
    if (number === undefined || number < low || number > high) {
      this.refuse(
        path,
        value,
        `a whole number from ${low} to ${high}, or a time if the name ends in its unit`,
      );
    }
    return number;
  }

  private parse(path: string, value: number | bigint | boolean | string): bigint | undefined {
    if (typeof value === 'bigint') return value;
    if (typeof value === 'boolean') return value ? 1n : 0n;
    if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : undefined;
    const text = value.trim();
    if (text === 'true' || text === 'false') return text === 'true' ? 1n : 0n;
    if (/^-?\d+$/.test(text)) return BigInt(text);
    if (/^0x[0-9a-f]+$/i.test(text)) return BigInt(text);
    const unit = UNIT_NS[/_(ns|us|ms|s)(\[\d+\])*$/.exec(path)?.[1] ?? ''];
    if (unit === undefined) return undefined;
    const ns = this.duration(path, text);
    return ns % unit === 0n ? ns / unit : undefined;
  }

  private duration(path: string, text: string): bigint {
    try {
      return durationNs(text);
    } catch (error) {
      if (!(error instanceof VtimeError)) throw error;
      throw new ObjectError('bpf_setting', `${path}: ${error.what}`, { file: this.object.file, value: text });
    }
  }

  setMap(name: string, { max_entries, inner_maps }: MapSettings): void {
    const map = this.maps.find((m) => m.name === name && m.variables.length === 0);
    const names = this.maps.filter((m) => m.variables.length === 0).map((m) => m.name);
    if (map === undefined) this.unknown(`map ${name}`, name, names);
    if (max_entries !== undefined) map.max_entries = this.count(`maps.${name}.max_entries`, max_entries);
    if (inner_maps === undefined) return;
    const path = `maps.${name}.inner_maps`;
    if (map.inner === undefined) this.refuse(path, inner_maps, 'no such setting: it is no map of maps');
    map.slots = new Map(map.slots);
    for (let key = 0; key < this.count(path, inner_maps); key++) {
      map.slots.set(key, this.maps.push({ ...this.maps[map.inner], name: `${name}.${key}` }) - 1);
    }
  }

  private count(path: string, value: number): number {
    if (Number.isInteger(value) && value >= 1 && value <= MAX_ELEMENTS) return value;
    return this.refuse(path, value, `a whole number from 1 to ${MAX_ELEMENTS}`);
  }

  private write(map: BpfMap, offset: number, bytes: number, value: bigint): void {
    let rest = BigInt.asUintN(64, value);
    for (let i = 0; i < bytes; i++, rest >>= 8n) map.data![offset + i] = Number(rest & 255n);
  }

  private unknown(what: string, name: string, known: Iterable<string>): never {
    const names = [...known].filter((n) => !n.startsWith('__SCX_'));
    const near = nearestName(name, names);
    const list = names.slice(0, 20).join(', ') || 'none: the object has none';
    throw new ObjectError('bpf_setting', `there is no ${what}`, {
      file: this.object.file,
      value: name,
      expected: near === undefined ? `one of ${list}` : `perhaps ${near}`,
    });
  }

  private refuse(path: string, value: unknown, expected: string): never {
    const message = `${path} can't be ${typeof value === 'string' ? `"${value}"` : String(value)}`;
    throw new ObjectError('bpf_setting', message, { file: this.object.file, value, expected });
  }
}
