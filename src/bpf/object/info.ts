// What an object is and needs, and what of that vtime has.

import { CoreResolver } from './core.js';
import type { Kernel } from './kernel.js';
import { linkAll, liveness, type Refusal } from './link.js';
import type { OpenObject } from './open.js';
import type { BpfMap, Variable } from './program.js';
import type { LinkSettings } from './settings.js';

/**
 * `missing`: a callback reaches it and vtime's kernel lacks it, so the object is refused. `absent`: vtime's kernel lacks it,
 * but the object only asks. `unreached`: only code that the settings and vtime's kernel rule out uses it.
 */
export type Support = 'supported' | 'missing' | 'absent' | 'unreached';

/** The strongest need of a name counts. */
const STRENGTH: Record<Support, number> = { missing: 3, supported: 2, absent: 1, unreached: 0 };

export interface Need {
  name: string;
  support: Support;
}

export interface SchedulerInfo {
  name: string;
  /** SCX_OPS_…, without the prefix; bits without a name as a number. */
  flags: string[];
  /** 0: the kernel's own 30 s. */
  timeout_ms: number;
  ops: (Need & { function: string })[];
}

export interface VariableInfo extends Variable {
  /** Data map that it is part of. */
  map: string;
  read_only: boolean;
  /** Scalars only: what it starts with, settings included. */
  value?: string;
}

export interface ObjectInfo {
  file: string;
  license: string;
  schedulers: SchedulerInfo[];
  /** Of the whole object, and what linking keeps. */
  functions: { all: number; linked: number };
  instructions: { all: number; linked: number };
  /** Programs of other types than struct_ops, which are not loaded. */
  other_programs: string[];
  maps: (Need & Pick<BpfMap, 'type' | 'key_bytes' | 'value_bytes' | 'max_entries'> & { special: string[] })[];
  variables: VariableInfo[];
  helpers: Need[];
  kfuncs: Need[];
  /** Fields, types and enumerators of the kernel that it asks about, and options of its build. */
  kernel: Need[];
  refusals: Refusal[];
}

export function objectInfo(object: OpenObject, kernel: Kernel, settings: LinkSettings): ObjectInfo {
  const { program, refusals } = linkAll(object, kernel, settings);
  const isLive = liveness(program.functions);
  const helpers = new Needs();
  const kfuncs = new Needs();
  const asked = new Needs();
  const core = new CoreResolver(object.file, object.btf);
  for (const fn of object.functions) {
    fn.instructions.forEach(({ target }, i) => {
      if (target?.kind === 'helper') helpers.add(target.name, isLive(fn, i), kernel.helpers.has(target.name));
    });
    for (const [i, { kind, name }] of fn.externs) {
      if (kind === 'kfunc') kfuncs.add(name, isLive(fn, i), kernel.kfuncs.has(name));
      else asked.add(`variable ${name}`, isLive(fn, i), false);
    }
    for (const [i, relocation] of fn.core) {
      const { kind, what } = core.question(relocation);
      // Ids of its own types ask nothing of the kernel.
      if (kind === 'type_id_local') continue;
      const answer = core.answer(relocation, kernel);
      const isQuestion = /exists|matches/.test(kind);
      asked.add(what, isLive(fn, i), isQuestion ? answer === 1n : answer !== undefined, isQuestion);
    }
  }
  for (const name of object.maps.kconfig.keys()) {
    const isSet = name === 'LINUX_KERNEL_VERSION' || Object.hasOwn(kernel.config, name);
    asked.add(name, true, isSet, true);
  }
  const linked = new Set(program.maps.map(({ name }) => name));
  const instructionsOf = (functions: readonly { instructions: unknown[] }[]) =>
    functions.reduce((sum, { instructions }) => sum + instructions.length, 0);
  return {
    file: object.file,
    license: object.license,
    schedulers: schedulersOf(object, kernel),
    functions: { all: object.functions.length, linked: program.functions.length },
    instructions: { all: instructionsOf(object.functions), linked: instructionsOf(program.functions) },
    other_programs: object.functions
      .filter(({ section }) => section.name !== '.text' && !section.name.startsWith('struct_ops'))
      .map(({ name, section }) => `${section.name}: ${name}`),
    maps: object.maps.maps
      .filter(({ data, type }) => data === undefined || type === 'ARENA')
      .map(({ name, type, key_bytes, value_bytes, max_entries, special }) => ({
        name,
        type,
        key_bytes,
        value_bytes,
        max_entries,
        special: special.map(({ kind, type }) => (type === undefined ? kind : `${kind} of ${type}`)),
        support: support(linked.has(name), kernel.map_types.has(type)),
      })),
    variables: variablesOf(object, program.maps),
    helpers: helpers.list(),
    kfuncs: kfuncs.list(),
    kernel: asked.list(),
    refusals,
  };
}

function support(reached: boolean, exists: boolean): Support {
  if (!reached) return 'unreached';
  return exists ? 'supported' : 'missing';
}

class Needs {
  private readonly needs = new Map<string, Support>();

  add(name: string, reached: boolean, exists: boolean, isQuestion = false): void {
    const need = reached && !exists && isQuestion ? 'absent' : support(reached, exists);
    const known = this.needs.get(name);
    if (known === undefined || STRENGTH[known] < STRENGTH[need]) this.needs.set(name, need);
  }

  list(): Need[] {
    const needs = [...this.needs].map(([name, support]) => ({ name, support }));
    return needs.sort((a, b) => (a.name < b.name ? -1 : 1));
  }
}

function schedulersOf(object: OpenObject, kernel: Kernel): SchedulerInfo[] {
  return object.schedulers.map(({ name, flags, timeout_ms, callbacks }) => ({
    name,
    flags: flagNames(flags, kernel),
    timeout_ms,
    ops: [...callbacks].map(([op, i]) => ({
      name: op,
      function: object.functions[i].name,
      support: support(true, kernel.ops.has(op)),
    })),
  }));
}

function flagNames(flags: bigint, kernel: Kernel): string[] {
  const names: string[] = [];
  let rest = flags;
  for (const [name, bit] of Object.entries(kernel.enums.scx_ops_flags ?? {})) {
    // Masks of several bits are no flags.
    if (bit === 0n || (bit & (bit - 1n)) !== 0n || (rest & bit) === 0n) continue;
    names.push(name.replace(/^SCX_OPS_/, ''));
    rest &= ~bit;
  }
  return rest === 0n ? names : [...names, `0x${rest.toString(16)}`];
}

function variablesOf(object: OpenObject, linked: readonly BpfMap[]): VariableInfo[] {
  return object.maps.maps.flatMap((map) => {
    const final = linked.find(({ name }) => name === map.name) ?? map;
    return final.variables.map((variable) => ({
      ...variable,
      map: map.name,
      read_only: map.read_only,
      value: scalarValue(variable, final.data),
    }));
  });
}

function scalarValue({ type, count, offset, bytes }: Variable, data?: Uint8Array): string | undefined {
  if (data === undefined || count !== 1 || !/^([iu]\d+|bool)$/.test(type) || bytes > 8) return undefined;
  let value = 0n;
  for (let i = bytes - 1; i >= 0; i--) value = (value << 8n) | BigInt(data[offset + i]);
  if (type === 'bool') return value === 0n ? 'false' : 'true';
  return `${type.startsWith('i') ? BigInt.asIntN(bytes * 8, value) : value}`;
}
