// A small encoder of WebAssembly modules (core specification 1.0 with sign extension, binary format, chapter 5):
// bytes in, sections out. It knows formats, not meaning: what it is given is what the module says.

import { op } from './opcodes.js';

export const I32 = 0x7f;
export const I64 = 0x7e;
export type ValueType = typeof I32 | typeof I64;

/** Block type of a block without result. */
export const NO_RESULT = 0x40;

/** A growing byte string. */
export class Bytes {
  private buffer = new Uint8Array(256);
  length = 0;

  private reserve(bytes: number): void {
    if (this.length + bytes <= this.buffer.length) return;
    const grown = new Uint8Array(Math.max(this.buffer.length * 2, this.length + bytes));
    grown.set(this.buffer.subarray(0, this.length));
    this.buffer = grown;
  }

  u8(value: number): this {
    this.reserve(1);
    this.buffer[this.length++] = value;
    return this;
  }

  /** Unsigned LEB128 of an integer below 2^32. */
  u32(value: number): this {
    let rest = value >>> 0;
    while (rest > 0x7f) {
      this.u8((rest & 0x7f) | 0x80);
      rest >>>= 7;
    }
    return this.u8(rest);
  }

  /** Signed LEB128. */
  signed(value: bigint): this {
    let rest = value;
    while (true) {
      const low = Number(rest & 0x7fn);
      rest >>= 7n;
      if ((rest === 0n && (low & 0x40) === 0) || (rest === -1n && (low & 0x40) !== 0)) return this.u8(low);
      this.u8(low | 0x80);
    }
  }

  raw(bytes: Uint8Array): this {
    this.reserve(bytes.length);
    this.buffer.set(bytes, this.length);
    this.length += bytes.length;
    return this;
  }

  /** A byte string with its length in front. */
  sized(bytes: Uint8Array): this {
    return this.u32(bytes.length).raw(bytes);
  }

  name(text: string): this {
    return this.sized(new TextEncoder().encode(text));
  }

  done(): Uint8Array {
    return this.buffer.slice(0, this.length);
  }
}

/** The body of one function: instructions in order. */
export class Code extends Bytes {
  op(...opcodes: number[]): this {
    for (const opcode of opcodes) this.u8(opcode);
    return this;
  }

  get(local: number): this {
    return this.u8(op.local_get).u32(local);
  }

  set(local: number): this {
    return this.u8(op.local_set).u32(local);
  }

  tee(local: number): this {
    return this.u8(op.local_tee).u32(local);
  }

  global(index: number): this {
    return this.u8(op.global_get).u32(index);
  }

  setGlobal(index: number): this {
    return this.u8(op.global_set).u32(index);
  }

  /** Taken modulo 2^32. */
  i32(value: number): this {
    return this.u8(op.i32_const).signed(BigInt(value | 0));
  }

  /** Taken modulo 2^64. */
  i64(value: bigint): this {
    return this.u8(op.i64_const).signed(BigInt.asIntN(64, value));
  }

  call(index: number): this {
    return this.u8(op.call).u32(index);
  }

  /** A load or store at the address on the stack + `offset`; BPF promises no alignment. */
  memory(opcode: number, offset: number): this {
    return this.u8(opcode).u32(0).u32(offset);
  }
}

export interface FunctionType {
  parameters: ValueType[];
  results: ValueType[];
}

export type Import = { module: string; name: string } & (
  | { kind: 'function'; type: number }
  | { kind: 'table'; minimum: number }
  | { kind: 'memory'; minimumPages: number }
  | { kind: 'global'; type: ValueType }
);

export interface ModuleParts {
  types: FunctionType[];
  imports: Import[];
  /** Functions in the order of their indices, behind the imported ones. */
  functions: { type: number; locals: ValueType[]; code: Uint8Array; name: string }[];
  /** Mutable globals, behind the imported ones. */
  globals: { type: ValueType; initial: bigint }[];
  exports: { name: string; function: number }[];
  /** Table slots from the value of global `offset` on. */
  elements?: { offset: number; functions: number[] };
}

function section(out: Bytes, id: number, count: number, fill: (body: Bytes) => void): void {
  if (count === 0) return;
  const body = new Bytes().u32(count);
  fill(body);
  out.u8(id).sized(body.done());
}

function writeImport(body: Bytes, entry: Import): void {
  body.name(entry.module).name(entry.name);
  switch (entry.kind) {
    case 'function':
      body.u8(0).u32(entry.type);
      break;
    case 'table':
      body.u8(1).u8(0x70).u8(0).u32(entry.minimum);
      break;
    case 'memory':
      body.u8(2).u8(0).u32(entry.minimumPages);
      break;
    case 'global':
      body.u8(3).u8(entry.type).u8(0);
  }
}

function writeBody(body: Bytes, locals: ValueType[], code: Uint8Array): void {
  const runs: [number, ValueType][] = [];
  for (const type of locals) {
    const last = runs.at(-1);
    if (last?.[1] === type) last[0]++;
    else runs.push([1, type]);
  }
  const bytes = new Bytes().u32(runs.length);
  for (const [count, type] of runs) bytes.u32(count).u8(type);
  body.sized(bytes.raw(code).u8(op.end).done());
}

/** The module as bytes. */
export function encodeModule(parts: ModuleParts): Uint8Array {
  const { types, imports, functions, globals, elements } = parts;
  const out = new Bytes().raw(Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0));
  section(out, 1, types.length, (body) => {
    for (const { parameters, results } of types) {
      body.u8(0x60).sized(Uint8Array.from(parameters)).sized(Uint8Array.from(results));
    }
  });
  section(out, 2, imports.length, (body) => {
    for (const entry of imports) writeImport(body, entry);
  });
  section(out, 3, functions.length, (body) => {
    for (const { type } of functions) body.u32(type);
  });
  section(out, 6, globals.length, (body) => {
    for (const { type, initial } of globals) {
      body
        .u8(type)
        .u8(1)
        .u8(type === I32 ? op.i32_const : op.i64_const)
        .signed(initial)
        .u8(op.end);
    }
  });
  section(out, 7, parts.exports.length, (body) => {
    for (const entry of parts.exports) body.name(entry.name).u8(0).u32(entry.function);
  });
  section(out, 9, elements ? 1 : 0, (body) => {
    if (!elements) return;
    body.u32(0).u8(op.global_get).u32(elements.offset).u8(op.end).u32(elements.functions.length);
    for (const index of elements.functions) body.u32(index);
  });
  section(out, 10, functions.length, (body) => {
    for (const { locals, code } of functions) writeBody(body, locals, code);
  });
  // Names of functions, for stack traces and profiles (appendix "Name Section").
  const imported = imports.filter((entry) => entry.kind === 'function').length;
  const names = new Bytes().u32(functions.length);
  functions.forEach((entry, i) => {
    names.u32(imported + i).name(entry.name);
  });
  out.u8(0).sized(new Bytes().name('name').u8(1).sized(names.done()).done());
  return out.done();
}
