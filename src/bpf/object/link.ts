// An object and a kernel → a program that can be translated: settings put in, externs and CO-RE resolved, dead code and
// what only it uses left out. What is alive and needs what the kernel lacks is refused, all of it in one error.

import { ObjectError } from './bytes.js';
import { isJump } from './code.js';
import { OP_CALL, OP_JA, OP_LD_IMM64 } from './constants.js';
import { CoreResolver } from './core.js';
import { CORE_KINDS } from './corefield.js';
import type { Kernel } from './kernel.js';
import { type Extern, type OpenFunction, type OpenObject, openObject } from './open.js';
import type { BpfFunction, BpfMap, BpfObject, BpfType, Instruction, StructOps, Target } from './program.js';
import { type Reached, reach } from './reach.js';
import { type LinkSettings, settleMaps } from './settings.js';

/** Something that a program needs and the kernel does not have. */
export interface Refusal {
  /** `field task_struct.foo`, `kfunc scx_bpf_foo`, `helper probe_read_user`, `map type LPM_TRIE`, `op cgroup_init`. */
  what: string;
  /** Where: none for maps and ops. */
  function?: string;
  /** As a disassembler counts: 8-byte slots from the start of the section. */
  instruction?: number;
  line?: string;
}

/** An object that needs what vtime lacks (exit code 2). */
export class UnsupportedObjectError extends ObjectError {
  constructor(
    file: string,
    readonly refusals: readonly Refusal[],
  ) {
    super('bpf_unsupported', `needs what vtime does not have:\n  ${refusalLines(refusals).join('\n  ')}`, {
      file,
    });
  }
}

/** One line for each thing that is missing, with the first of its places. */
export function refusalLines(refusals: readonly Refusal[]): string[] {
  const places = new Map<string, Refusal[]>();
  for (const refusal of refusals) places.set(refusal.what, [...(places.get(refusal.what) ?? []), refusal]);
  return [...places].map(([what, [{ function: name, instruction, line }, ...more]]) => {
    if (name === undefined) return what;
    const source = line === undefined ? '' : ` (${line})`;
    const others = more.length === 0 ? '' : `, and in ${more.length} more place${more.length > 1 ? 's' : ''}`;
    return `${what}, in ${name} at instruction ${instruction}${source}${others}`;
  });
}

export function linkObject(
  bytes: Uint8Array,
  file: string,
  kernel: Kernel,
  settings: LinkSettings,
): BpfObject {
  return link(openObject(bytes, file), kernel, settings);
}

/** Errors: UnsupportedObjectError with all that is missing, ObjectError for wrong settings. */
export function link(object: OpenObject, kernel: Kernel, settings: LinkSettings): BpfObject {
  const linked = linkAll(object, kernel, settings);
  if (linked.refusals.length > 0) throw new UnsupportedObjectError(object.file, linked.refusals);
  return linked.program;
}

/** As `link`, but says what is missing instead of throwing; the program may then hold `missing` targets. */
export function linkAll(
  object: OpenObject,
  kernel: Kernel,
  settings: LinkSettings,
): { program: BpfObject; refusals: Refusal[] } {
  if (object.schedulers.length === 0) {
    throw new ObjectError('bpf_unsupported', 'defines no scheduler', {
      file: object.file,
      expected: 'a struct sched_ext_ops in .struct_ops.link',
    });
  }
  const maps = settleMaps(object, kernel, settings);
  const functions = resolveFunctions(object, kernel);
  const roots = new Set(object.schedulers.flatMap(({ callbacks }) => [...callbacks.values()]));
  const reached = reach(functions, maps, roots);
  const alive = functions.map((fn, i) => withoutDeadCode(fn, reached[i]));
  const refusals = [
    ...object.schedulers.flatMap((scheduler) => opsRefusals(scheduler, kernel)),
    ...alive.flatMap((fn) => (fn === undefined ? [] : functionRefusals(fn, kernel))),
  ];
  const program = compact(object, alive, maps);
  for (const { name, type } of program.maps) {
    if (!kernel.map_types.has(type)) refusals.push({ what: `map type ${type} of ${name}` });
  }
  return { program, refusals };
}

function resolveFunctions(object: OpenObject, kernel: Kernel): BpfFunction[] {
  const core = new CoreResolver(object.file, object.btf);
  return object.functions.map(({ name, section, parameters, instructions, externs, core: relocations }) => {
    const resolved = instructions.map((instruction) => ({ ...instruction }));
    for (const [i, extern] of externs) resolved[i].target = externTarget(resolved[i], extern, kernel);
    for (const [i, relocation] of relocations) core.apply(resolved[i], relocation, kernel);
    return { name, section: section.name, parameters, instructions: resolved };
  });
}

function externTarget({ opcode }: Instruction, { kind, name, weak }: Extern, kernel: Kernel): Target {
  const exists = kind === 'kfunc' && kernel.kfuncs.has(name);
  if (opcode === OP_CALL)
    return exists ? { kind: 'kfunc', name } : { kind: 'missing', what: `kfunc ${name}` };
  // An address is only asked whether it is null.
  if (exists || weak) return { kind: 'value', value: exists ? 1n : 0n };
  return { kind: 'missing', what: `kernel ${kind === 'kfunc' ? 'function' : 'variable'} ${name}` };
}

/** Reached instructions only; jumps that always go one way become unconditional or go, loads of constants the constants. */
function withoutDeadCode(fn: BpfFunction, reached: Reached | null): BpfFunction | undefined {
  if (reached === null) return undefined;
  const { live, decided, constants } = reached;
  const position = new Int32Array(fn.instructions.length);
  let kept = 0;
  fn.instructions.forEach((_, i) => {
    position[i] = kept;
    if (live[i] === 1 && decided.get(i) !== false) kept++;
  });
  const instructions = fn.instructions.flatMap((instruction, i) => {
    if (live[i] === 0 || decided.get(i) === false) return [];
    const value = constants.get(i);
    if (value !== undefined) return [loadOfConstant(instruction, value)];
    if (!isJump(instruction)) return [instruction];
    const offset = position[instruction.offset];
    if (decided.get(i) === undefined) return [{ ...instruction, offset }];
    return [{ ...instruction, opcode: OP_JA, dst: 0, src: 0, imm: 0n, offset }];
  });
  return { ...fn, instructions };
}

/** Read-only data does not change any more, so its loads can be decided here. */
function loadOfConstant({ dst, index, line }: Instruction, value: bigint): Instruction {
  const target: Target = { kind: 'value', value };
  return { opcode: OP_LD_IMM64, dst, src: 0, offset: 0, imm: BigInt.asIntN(64, value), target, index, line };
}

function opsRefusals({ callbacks }: StructOps, kernel: Kernel): Refusal[] {
  const missing = [...callbacks.keys()].filter((name) => !kernel.ops.has(name));
  return missing.map((name) => ({ what: `op ${name}` }));
}

function functionRefusals({ name, instructions }: BpfFunction, kernel: Kernel): Refusal[] {
  return instructions.flatMap(({ target, index, line }) => {
    const what = missingPart(target, kernel);
    return what === undefined ? [] : [{ what, function: name, instruction: index, line }];
  });
}

function missingPart(target: Target | undefined, kernel: Kernel): string | undefined {
  if (target?.kind === 'missing') return target.what;
  if (target?.kind === 'helper' && !kernel.helpers.has(target.name)) return `helper ${target.name}`;
  return undefined;
}

/** Numbers functions and maps anew, without those that nothing uses. */
function compact(object: OpenObject, alive: (BpfFunction | undefined)[], maps: BpfMap[]): BpfObject {
  const functionIndex = new Map<number, number>();
  alive.forEach((fn, i) => {
    if (fn !== undefined) functionIndex.set(i, functionIndex.size);
  });
  const kept = alive.filter((fn) => fn !== undefined);
  const mapIndex = usedMaps(kept, maps);
  const retarget = (target: Target): Target => {
    if (target.kind === 'function')
      return { kind: 'function', function: functionIndex.get(target.function)! };
    return 'map' in target ? { ...target, map: mapIndex.get(target.map)! } : target;
  };
  for (const { instructions } of kept) {
    for (const instruction of instructions) {
      if (instruction.target !== undefined) instruction.target = retarget(instruction.target);
    }
  }
  const renumbered = ([i, _]: [number, number]): BpfMap => {
    const { inner, slots, ...map } = maps[i];
    if (inner !== undefined) Object.assign(map, { inner: mapIndex.get(inner) });
    if (slots !== undefined) {
      Object.assign(map, { slots: new Map([...slots].map(([key, slot]) => [key, mapIndex.get(slot)!])) });
    }
    return map;
  };
  return {
    file: object.file,
    license: object.license,
    functions: kept,
    maps: [...mapIndex].sort(([, a], [, b]) => a - b).map(renumbered),
    schedulers: object.schedulers.map((scheduler) => ({
      ...scheduler,
      callbacks: new Map([...scheduler.callbacks].map(([op, i]) => [op, functionIndex.get(i)!])),
    })),
    types: allocatedTypes(object, kept),
  };
}

/** Maps that instructions refer to, and what those contain; old index → new, in the order of the object. */
function usedMaps(functions: readonly BpfFunction[], maps: readonly BpfMap[]): Map<number, number> {
  const used = new Set<number>();
  for (const { instructions } of functions) {
    for (const { target } of instructions) {
      if (target !== undefined && 'map' in target) used.add(target.map);
    }
  }
  for (const i of used) {
    const { inner, slots } = maps[i];
    if (inner !== undefined) used.add(inner);
    for (const slot of slots?.values() ?? []) used.add(slot);
  }
  return new Map([...used].sort((a, b) => a - b).map((old, i) => [old, i]));
}

/** Whether linking has kept an instruction of an object. */
export function liveness(kept: readonly BpfFunction[]): (fn: OpenFunction, instruction: number) => boolean {
  const live = new Map(
    kept.map(({ name, section, instructions }) => [
      `${section}:${name}`,
      new Set(instructions.map(({ index }) => index)),
    ]),
  );
  return ({ name, section, instructions }, i) =>
    live.get(`${section.name}:${name}`)?.has(instructions[i].index) ?? false;
}

/** The object's own types whose ids the program passes on: those it allocates. */
function allocatedTypes(object: OpenObject, kept: readonly BpfFunction[]): BpfType[] {
  const ids = new Set<number>();
  const isLive = liveness(kept);
  for (const fn of object.functions) {
    for (const [i, { kind, type }] of fn.core) {
      if (CORE_KINDS[kind] === 'type_id_local' && isLive(fn, i)) ids.add(type);
    }
  }
  return [...ids].map((id) => ({
    id,
    name: object.btf.resolve(id).name,
    bytes: object.btf.sizeOf(id),
    special: object.special.ofType(id),
  }));
}
