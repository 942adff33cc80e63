// Bytes of an object file, read with every offset checked: objects come from anywhere.

import { VtimeError } from '../../errors.js';

/** A damaged or unusable object (exit code 2): the message names file, section and byte offset. */
export class ObjectError extends VtimeError {
  constructor(
    code: 'bpf_damaged' | 'bpf_unsupported' | 'bpf_setting',
    message: string,
    place: { file: string; section?: string; offset?: number; value?: unknown; expected?: string },
  ) {
    const { file, section, offset, value, expected } = place;
    const at = offset === undefined ? '' : `+0x${offset.toString(16)}`;
    super(code, message, { file, path: section === undefined ? undefined : section + at, value, expected });
  }
}

const UTF8 = new TextDecoder();

/** A range of the file. Offsets are bytes from its start; reading past its end is an ObjectError. */
export class Bytes {
  private readonly view: DataView;

  constructor(
    readonly file: string,
    readonly section: string,
    readonly bytes: Uint8Array,
  ) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get length(): number {
    return this.bytes.length;
  }

  fail(message: string, offset?: number): never {
    throw new ObjectError('bpf_damaged', message, { file: this.file, section: this.section, offset });
  }

  private check(at: number, bytes: number): void {
    if (!Number.isSafeInteger(at) || at < 0 || bytes > this.length - at) {
      this.fail(`ends before byte ${at + bytes}; it has ${this.length}`, Math.max(0, at));
    }
  }

  u8(at: number): number {
    this.check(at, 1);
    return this.view.getUint8(at);
  }

  u16(at: number): number {
    this.check(at, 2);
    return this.view.getUint16(at, true);
  }

  i16(at: number): number {
    this.check(at, 2);
    return this.view.getInt16(at, true);
  }

  u32(at: number): number {
    this.check(at, 4);
    return this.view.getUint32(at, true);
  }

  i32(at: number): number {
    this.check(at, 4);
    return this.view.getInt32(at, true);
  }

  u64(at: number): bigint {
    this.check(at, 8);
    return this.view.getBigUint64(at, true);
  }

  /** A u64 that is a size or an offset: no object is anywhere near 2^53 bytes. */
  size(at: number): number {
    const value = this.u64(at);
    if (value > BigInt(Number.MAX_SAFE_INTEGER)) this.fail(`${value} is no size or offset`, at);
    return Number(value);
  }

  part(section: string, at: number, bytes: number): Bytes {
    this.check(at, bytes);
    return new Bytes(this.file, section, this.bytes.subarray(at, at + bytes));
  }

  /** The string that ends at the next NUL. */
  string(at: number): string {
    this.check(at, 1);
    const end = this.bytes.indexOf(0, at);
    if (end < 0) this.fail('string without end', at);
    return UTF8.decode(this.bytes.subarray(at, end));
  }
}
