// Schedulers of an object: variables of type sched_ext_ops in the `.struct_ops` sections.

import { type Btf, type BtfType, essentialName } from './btf.js';
import { ObjectError } from './bytes.js';
import type { ElfFile, ElfSection } from './elf.js';
import { variablesOf } from './mapdefs.js';
import type { StructOps } from './program.js';

/** Functions by section and byte offset. */
export type FunctionAt = (section: number, offset: number) => number | undefined;

/** Settings of sched_ext_ops that StructOps has; the kernel's own defaults stand for 0. */
const NUMBERS = ['dispatch_max_batch', 'flags', 'timeout_ms', 'exit_dump_len', 'hotplug_seq'] as const;

export function readSchedulers(elf: ElfFile, btf: Btf, functionAt: FunctionAt): StructOps[] {
  const schedulers: StructOps[] = [];
  for (const section of elf.sections) {
    // "?.struct_ops…" is not loaded by default.
    if (section.name !== '.struct_ops' && section.name !== '.struct_ops.link') continue;
    for (const { name, id, offset } of variablesOf(elf, btf, section)) {
      const type = btf.resolve(btf.byId(id).type);
      if (type.kind !== 'struct' || essentialName(type.name) !== 'sched_ext_ops') continue;
      schedulers.push(readScheduler(btf, section, { variable: name, type, offset }, functionAt));
    }
  }
  return schedulers;
}

function readScheduler(
  btf: Btf,
  section: ElfSection,
  { variable, type, offset: base }: { variable: string; type: BtfType; offset: number },
  functionAt: FunctionAt,
): StructOps {
  const scheduler: StructOps = {
    variable,
    name: variable,
    flags: 0n,
    timeout_ms: 0,
    exit_dump_len: 0,
    dispatch_max_batch: 0,
    hotplug_seq: 0n,
    callbacks: new Map(),
  };
  for (const { name, type: id, bit_offset } of type.members) {
    const at = base + (bit_offset >>> 3);
    const member = btf.resolve(id);
    if (member.kind === 'array' && name === 'name') {
      const bytes = section.data.part(section.name, at, btf.sizeOf(id)).bytes;
      const end = bytes.indexOf(0);
      scheduler.name = new TextDecoder().decode(end < 0 ? bytes : bytes.subarray(0, end));
    } else if (member.kind === 'int' || member.kind === 'enum' || member.kind === 'enum64') {
      const value = member.size === 8 ? section.data.u64(at) : BigInt(section.data.u32(at));
      setNumber(scheduler, section, name, value);
    } else if (member.kind === 'ptr') {
      const relocation = section.relocations.find(({ offset }) => offset === at);
      if (relocation === undefined) continue;
      const { symbol } = relocation;
      const target = functionAt(symbol.section, symbol.value + section.data.size(at));
      if (target === undefined) {
        // `.priv` may point to data; the kernel does not follow it.
        if (btf.resolve(member.type).kind !== 'func_proto') continue;
        section.data.fail(`callback ${name} is ${symbol.name}, no function of the object`, at);
        continue;
      }
      scheduler.callbacks.set(name, target);
    }
  }
  return scheduler;
}

function setNumber(scheduler: StructOps, section: ElfSection, name: string, value: bigint): void {
  const known = NUMBERS.find((n) => n === name);
  if (known === 'flags' || known === 'hotplug_seq') scheduler[known] = value;
  else if (known !== undefined) scheduler[known] = Number(BigInt.asUintN(32, value));
  else if (value !== 0n) {
    throw new ObjectError('bpf_unsupported', `${scheduler.variable}.${name} is ${value}`, {
      file: section.data.file,
      section: section.name,
      value,
      expected: `0: vtime's kernel has no such setting of sched_ext_ops`,
    });
  }
}
