// A BPF object as the policy of a simulation: linked for the config's kernel and machine, translated once for all cells that
// want the same of it, placed in the engine's memory and given the ops table.

import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import * as abi from '../../engine/abi.js';
import type { EngineExports } from '../../engine/module.js';
import { EngineError, type SimulationError, VtimeError } from '../../errors.js';
import { ObjectError } from '../object/bytes.js';
import { link } from '../object/link.js';
import { type OpenObject, openObject } from '../object/open.js';
import type { BpfObject, StructOps } from '../object/program.js';
import type { LinkSettings } from '../object/settings.js';
import { describeSite, type Translation, translate } from '../wasm/translate.js';
import { kernelOf } from './kernel-types.js';
import { fillComms, fillRegion, layOut, type Region, withInnerMaps } from './region.js';
import { OP_NUMBERS, parametersOf } from './supported.js';
import { describeViolation } from './violation.js';

/** What decides how an object is linked. */
export interface SchedulerSettings extends LinkSettings {
  kernel: Parameters<typeof kernelOf>[0];
  /** Name of the scheduler in an object with several. */
  scheduler?: string;
}

/** An object's bytes and what is made of them once. */
export interface ObjectFile {
  path: string;
  bytes: Uint8Array;
  sha256: string;
  open: OpenObject;
}

/** Ready to be placed in an engine. */
export interface Scheduler {
  program: BpfObject;
  ops: StructOps;
  region: Region;
  translation: Translation;
  /** A WebAssembly.Module, as in engine/module.ts. */
  module: object;
}

/** By path; `mtime_ms` of those read here, so that an object that is compiled anew is read anew. */
const files = new Map<string, { file: ObjectFile; mtime_ms?: number }>();

/** Reads an object, unless this process has it already. Errors: ObjectError, and `input_unreadable`. */
export function readObject(path: string): ObjectFile {
  const known = files.get(path);
  if (known !== undefined && known.mtime_ms === undefined) return known.file;
  try {
    const { mtimeMs } = statSync(path);
    if (known?.mtime_ms === mtimeMs) return known.file;
    const file = openFile(path, readFileSync(path));
    files.set(path, { file, mtime_ms: mtimeMs });
    return file;
  } catch (error) {
    if (error instanceof VtimeError) throw error;
    throw new VtimeError('input_unreadable', `cannot read: ${(error as NodeJS.ErrnoException).code}`, {
      file: path,
      expected: 'a BPF object file',
    });
  }
}

function openFile(path: string, bytes: Uint8Array): ObjectFile {
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  return { path, bytes, sha256, open: openObject(bytes, path) };
}

/** Takes the bytes of an object that another thread has read, so that all cells of a sweep run the same. */
export function adoptObject(path: string, bytes: Uint8Array): void {
  files.set(path, { file: openFile(path, bytes) });
}

function schedulerNamed({ schedulers, file }: BpfObject, name: string | undefined): StructOps {
  const found = name === undefined ? schedulers[0] : schedulers.find((ops) => ops.name === name);
  if (found !== undefined && (name !== undefined || schedulers.length === 1)) return found;
  throw new ObjectError(
    'bpf_setting',
    name === undefined ? 'the object has several schedulers' : `there is no scheduler "${name}"`,
    { file, value: name, expected: `one of ${schedulers.map((ops) => ops.name).join(', ')}` },
  );
}

const prepared = new Map<string, Scheduler>();

function keyOf(sha256: string, settings: SchedulerSettings): string {
  const plain = (_: string, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value);
  return `${sha256} ${JSON.stringify(settings, plain)}`;
}

/**
 * Links and translates an object; the same for all cells with the same settings. Errors: UnsupportedObjectError with all
 * that vtime lacks, ObjectError for wrong settings.
 */
export function prepareScheduler(
  { sha256, open }: ObjectFile,
  { kernel, scheduler, ...settings }: SchedulerSettings,
): Scheduler {
  const key = keyOf(sha256, { kernel, scheduler, ...settings });
  const known = prepared.get(key);
  if (known !== undefined) return known;
  const made = prepareLinked(link(open, kernelOf(kernel), settings), settings.cpus, scheduler);
  prepared.set(key, made);
  return made;
}

/** Translates a linked object. */
export function prepareLinked(linked: BpfObject, cpus: number, scheduler?: string): Scheduler {
  const program = withInnerMaps(linked);
  const ops = schedulerNamed(program, scheduler);
  const region = layOut(program, cpus);
  const translation = translate(program, {
    readLow: abi.BPF_READ_LOW,
    readHigh: region.writeHigh,
    writeLow: region.writeLow,
    writeHigh: region.writeHigh,
    stackLow: region.stackLow,
    stackHigh: region.stackHigh,
    budget: abi.BPF_STATE_AT,
    callSite: abi.BPF_STATE_AT + abi.BPF_CALL_SITE,
    parameters: parametersOf,
    roots: [...ops.callbacks.values()],
  });
  return { program, ops, region, translation, module: new WebAssembly.Module(translation.wasm) };
}

/** Places a scheduler in an engine that has no model yet. `classes` name the tasks. */
export function placeScheduler(
  engine: EngineExports,
  scheduler: Scheduler,
  classes: readonly string[],
): void {
  const { program, ops, region, translation, module } = scheduler;
  const at = engine.bpfReserve(region.bytes) >>> 0;
  if (at !== abi.BPF_MAPS_AT) throw new EngineError('engine_memory', 'no memory for the BPF object');
  engine.bpfRegion(region.headersEnd, region.writeLow, region.writeHigh);
  engine.bpfHeap(region.heapLow, region.writeHigh, region.heapTables);
  fillRegion(engine.memory.buffer, program, region);
  fillComms(engine.memory.buffer, classes);

  const base = engine.table.grow(translation.table.length);
  engine.bpfFunctions(base, translation.table.length);
  const imports: Record<string, unknown> = {
    memory: engine.memory,
    table: engine.table,
    table_base: new WebAssembly.Global({ value: 'i32' }, base),
    bpf_violation: engine.bpf_violation,
    bpf_write_task: engine.bpf_write_task,
  };
  for (const i of translation.maps) {
    const { data } = program.maps[i];
    const { header, values } = region.maps[i];
    imports[`map.${i}`] = new WebAssembly.Global(
      { value: 'i64' },
      BigInt(data === undefined ? header : values),
    );
  }
  for (const name of translation.helpers) imports[`bpf_helper_${name}`] = engine[`bpf_helper_${name}`];
  for (const name of translation.kfuncs) imports[`bpf_kfunc_${name}`] = engine[`bpf_kfunc_${name}`];
  new WebAssembly.Instance(module as WebAssembly.Module, { engine: imports });
  for (const [op, index] of ops.callbacks) {
    if (Object.hasOwn(OP_NUMBERS, op)) engine.bpfOp(OP_NUMBERS[op], base + translation.table.indexOf(index));
  }
}

/** Where the object called the engine when the run failed, in words. */
export function failurePlace(engine: EngineExports, { program, translation }: Scheduler): string | undefined {
  const site = translation.sites[(engine.failurePlace() >>> 0) - 1];
  return site === undefined ? undefined : describeSite(program, site);
}

/** What the object did that ended the run by a trap; undefined if the trap is not its doing. */
export function violationError(engine: EngineExports, scheduler: Scheduler): SimulationError | undefined {
  const kind = engine.bpfViolation() >>> 0;
  if (kind === 0) return undefined;
  return describeViolation(scheduler.program.file, {
    kind,
    place: violationPlace(engine, scheduler),
    value: BigInt.asUintN(64, engine.bpfViolationValue()),
    op: engine.bpfViolationOp() >>> 0,
  });
}

function violationPlace(engine: EngineExports, scheduler: Scheduler): string | undefined {
  const site = scheduler.translation.sites[engine.bpfViolationSite() >>> 0];
  return site === undefined ? failurePlace(engine, scheduler) : describeSite(scheduler.program, site);
}

/** What the program said with scx_bpf_error() or scx_bpf_exit(). */
export function exitMessage(engine: EngineExports): string {
  const bytes = new Uint8Array(engine.memory.buffer, abi.BPF_STATE_AT + abi.BPF_MESSAGE, 1024);
  const end = bytes.indexOf(0);
  return new TextDecoder().decode(bytes.slice(0, end < 0 ? bytes.length : end));
}
