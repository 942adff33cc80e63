// What is known at one point of a function: its registers and the words that it has spilled to its stack.

import { R10 } from './instruction.js';
import { join, sameValue, UNKNOWN, type Value } from './value.js';

interface Spill {
  bytes: number;
  value: Value;
}

export class Frame {
  private constructor(
    readonly registers: Value[],
    /** By bytes from the frame pointer. */
    private readonly spills: Map<number, Spill>,
    /** An address in the frame is where it is not tracked: any store may hit it. */
    private escaped: boolean,
  ) {}

  static ofCall(parameters: readonly Value[]): Frame {
    const registers: Value[] = Array.from({ length: R10 + 1 }, () => UNKNOWN);
    parameters.forEach((value, i) => {
      registers[i + 1] = value;
    });
    registers[R10] = { kind: 'stack', offset: 0 };
    return new Frame(registers, new Map(), false);
  }

  copy(): Frame {
    return new Frame([...this.registers], new Map(this.spills), this.escaped);
  }

  /** Keeps what both know; true if that is less than before. */
  merge(other: Frame): boolean {
    let changed = false;
    this.registers.forEach((value, i) => {
      const merged = join(value, other.registers[i]);
      if (sameValue(merged, value)) return;
      this.registers[i] = merged;
      changed = true;
    });
    for (const [offset, spill] of this.spills) {
      const theirs = other.spills.get(offset);
      const merged = theirs?.bytes === spill.bytes ? join(spill.value, theirs.value) : undefined;
      if (merged !== undefined && sameValue(merged, spill.value)) continue;
      if (merged === undefined) this.spills.delete(offset);
      else this.spills.set(offset, { ...spill, value: merged });
      changed = true;
    }
    if (other.escaped && !this.escaped) {
      this.escaped = true;
      changed = true;
    }
    return changed;
  }

  load(base: Value, offset: number, bytes: number): Value {
    if (base.kind !== 'stack') return UNKNOWN;
    const spill = base.offset === undefined ? undefined : this.spills.get(base.offset + offset);
    if (spill?.bytes === bytes) return spill.value;
    return this.escaped ? { kind: 'stack', offset: undefined } : UNKNOWN;
  }

  /** `value` is zero-extended from `bytes`. */
  store(base: Value, offset: number, bytes: number, value: Value): void {
    if (base.kind === 'stack' && base.offset !== undefined) {
      const at = base.offset + offset;
      for (const [start, { bytes: length }] of this.spills) {
        if (start < at + bytes && at < start + length) this.spills.delete(start);
      }
      this.spills.set(at, { bytes, value });
      return;
    }
    if (value.kind === 'stack') this.escaped = true;
    if (base.kind === 'stack' || this.escaped) this.spills.clear();
  }

  /** A call that leaves `result` in r0: it may write to any address in the frame that it was given. */
  call(result: Value): void {
    if (this.registers.slice(1, 6).some(({ kind }) => kind === 'stack')) this.spills.clear();
    this.registers.fill(UNKNOWN, 0, 6);
    this.registers[0] = result;
  }
}
