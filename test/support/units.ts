// Builds and loads the AssemblyScript modules that unit tests drive directly: test/assembly/<part>.ts → build/<part>.wasm.

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { instantiateSync } from '@assemblyscript/loader';

const ASC = 'node_modules/assemblyscript/bin/asc.js';
/** Layout and runtime as in asconfig.json; the module begins with no more memory than its static layout. */
const FLAGS =
  '-O3 --runtime stub --noAssert --memoryBase 268435456 --initialMemory 4112 --maximumMemory 65536 --use abort=';

function newestSource(folder: string): number {
  let newest = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    newest = Math.max(newest, entry.isDirectory() ? newestSource(path) : statSync(path).mtimeMs);
  }
  return newest;
}

/** Compiles test/assembly/<part>.ts unless its module is newer than every AssemblyScript source. */
function buildUnits(part: string): string {
  const output = `build/${part}.wasm`;
  const entry = `test/assembly/${part}.ts`;
  const sources = Math.max(newestSource('assembly'), statSync(entry).mtimeMs);
  if (existsSync(output) && statSync(output).mtimeMs > sources) return output;
  mkdirSync('build', { recursive: true });
  // Test files run side by side: each compiles to a name of its own and moves the result into place.
  const temporary = `build/${part}.${process.pid}.wasm`;
  const config = ['--config', 'test/assembly/asconfig.json'];
  const args = [ASC, entry, ...FLAGS.split(' '), ...config, '-o', temporary];
  const { status, stderr, error } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`asc ${entry} failed: ${error?.message ?? stderr}`);
  renameSync(temporary, output);
  return output;
}

/** Exported functions called by name; their integer results, which cross the boundary as signed, read as unsigned. */
export interface Units {
  /** `buffer` is a new one each time memory has grown. */
  memory: { readonly buffer: ArrayBuffer };
  call(name: string, ...args: (number | bigint)[]): number;
  call64(name: string, ...args: (number | bigint)[]): bigint;
}

export function loadUnits(part: string): Units {
  const exports = instantiateSync(readFileSync(buildUnits(part))).instance.exports as Record<string, unknown>;
  const invoke = (name: string, args: (number | bigint)[]): unknown => {
    const target = exports[name];
    if (typeof target !== 'function') throw new Error(`build/${part}.wasm has no function ${name}`);
    return target(...args);
  };
  return {
    memory: exports.memory as Units['memory'],
    call: (name, ...args) => Number(invoke(name, args)) >>> 0,
    call64: (name, ...args) => BigInt.asUintN(64, invoke(name, args) as bigint),
  };
}
