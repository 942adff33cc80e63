// What a BPF program did that the kernel's verifier would have refused, in words.

import { SimulationError } from '../../errors.js';
import * as contract from '../wasm/contract.js';
import { OP_NUMBERS } from './supported.js';

export interface ViolationNumbers {
  /** VIOLATION_ of src/bpf/wasm/contract.ts, from 64 on of assembly/bpf/context.ts. */
  kind: number;
  /** Function and instruction, in words; undefined if the program was not running. */
  place: string | undefined;
  value: bigint;
  /** BPF_OP_ number of the callback. */
  op: number;
}

const address = (value: bigint) => `0x${value.toString(16)}`;

const KINDS: Record<number, { code: string; message(value: bigint): string }> = {
  [contract.VIOLATION_LOAD]: {
    code: 'load',
    message: (value) => `reads at ${address(value)}, outside of what it may read`,
  },
  [contract.VIOLATION_STORE]: {
    code: 'store',
    message: (value) => `writes at ${address(value)}, outside of what it may write`,
  },
  [contract.VIOLATION_LOOP]: {
    code: 'loop',
    message: () => 'has run through loops and calls for longer than a callback may',
  },
  [contract.VIOLATION_STACK]: { code: 'stack', message: () => 'has used up its stack' },
  [contract.VIOLATION_MISSING]: { code: 'missing', message: () => 'needs what vtime does not have' },
  [contract.VIOLATION_CALL]: {
    code: 'call',
    message: (value) => `calls ${value}, which is no function of the object`,
  },
  64: {
    code: 'pointer',
    message: (value) => `hands ${address(value)} to the kernel, which is not what it takes`,
  },
  65: { code: 'memory', message: (value) => `has used up what the runtime has: ${value}` },
  66: { code: 'nesting', message: () => 'makes callbacks call each other without end' },
  67: { code: 'lock', message: (value) => `takes or releases the lock at ${address(value)} twice` },
};

const OP_NAMES = Object.entries(OP_NUMBERS);

/** Name of a callback by its number. */
export function opName(op: number): string {
  return OP_NAMES.find(([, number]) => number === op)?.[0] ?? 'a timer';
}

export function describeViolation(
  file: string,
  { kind, place, value, op }: ViolationNumbers,
): SimulationError {
  const known = KINDS[kind] ?? { code: String(kind), message: () => 'broke a rule' };
  const where = place ?? `in ${opName(op)}()`;
  return new SimulationError(`bpf_${known.code}`, `the scheduler ${known.message(value)}: ${where}`, {
    file,
  });
}
