// A small encoder of WebAssembly modules (core specification 1.0 with sign extension, binary format, chapter 5):
// bytes in, sections out. It knows formats, not meaning: what it is given is what the module says.

export const I32 = 0x7f;
export const I64 = 0x7e;
export type ValueType = typeof I32 | typeof I64;

/** Opcodes that the translator uses, by their names in the specification. */
export const op = {
  unreachable: 0x00,
  block: 0x02,
  loop: 0x03,
  if: 0x04,
  else: 0x05,
  end: 0x0b,
  br: 0x0c,
  br_if: 0x0d,
  br_table: 0x0e,
  return: 0x0f,
  call: 0x10,
  call_indirect: 0x11,
  drop: 0x1a,
  select: 0x1b,
  local_get: 0x20,
  local_set: 0x21,
  local_tee: 0x22,
  global_get: 0x23,
  global_set: 0x24,
  i32_load: 0x28,
  i64_load: 0x29,
  i64_load8_s: 0x30,
  i64_load8_u: 0x31,
  i64_load16_s: 0x32,
  i64_load16_u: 0x33,
  i64_load32_s: 0x34,
  i64_load32_u: 0x35,
  i32_store: 0x36,
  i64_store: 0x37,
  i64_store8: 0x3c,
  i64_store16: 0x3d,
  i64_store32: 0x3e,
  i32_const: 0x41,
  i64_const: 0x42,
  i32_eqz: 0x45,
  i32_eq: 0x46,
  i32_ne: 0x47,
  i32_lt_s: 0x48,
  i32_lt_u: 0x49,
  i32_gt_s: 0x4a,
  i32_gt_u: 0x4b,
  i32_le_s: 0x4c,
  i32_le_u: 0x4d,
  i32_ge_s: 0x4e,
  i32_ge_u: 0x4f,
  i64_eqz: 0x50,
  i64_eq: 0x51,
  i64_ne: 0x52,
  i64_lt_s: 0x53,
  i64_lt_u: 0x54,
  i64_gt_s: 0x55,
  i64_gt_u: 0x56,
  i64_le_s: 0x57,
  i64_le_u: 0x58,
  i64_ge_s: 0x59,
  i64_ge_u: 0x5a,
  i32_add: 0x6a,
  i32_sub: 0x6b,
  i32_mul: 0x6c,
  i32_div_s: 0x6d,
  i32_div_u: 0x6e,
  i32_rem_s: 0x6f,
  i32_rem_u: 0x70,
  i32_and: 0x71,
  i32_or: 0x72,
  i32_xor: 0x73,
  i32_shl: 0x74,
  i32_shr_s: 0x75,
  i32_shr_u: 0x76,
  i32_rotl: 0x77,
  i64_add: 0x7c,
  i64_sub: 0x7d,
  i64_mul: 0x7e,
  i64_div_s: 0x7f,
  i64_div_u: 0x80,
  i64_rem_s: 0x81,
  i64_rem_u: 0x82,
  i64_and: 0x83,
  i64_or: 0x84,
  i64_xor: 0x85,
  i64_shl: 0x86,
  i64_shr_s: 0x87,
  i64_shr_u: 0x88,
  i64_rotl: 0x89,
  i32_wrap_i64: 0xa7,
  i64_extend_i32_s: 0xac,
  i64_extend_i32_u: 0xad,
  i32_extend8_s: 0xc0,
  i32_extend16_s: 0xc1,
  i64_extend8_s: 0xc2,
  i64_extend16_s: 0xc3,
  i64_extend32_s: 0xc4,
} as const;

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
