// What a program says: scx_bpf_error(), scx_bpf_exit(), bpf_printk(); and what its exit() is told.

import { fail, FAIL_BPF_EXIT } from '../core/failure';
import { contextCpu } from './context';
import { formatInto } from './format';
import { EXIT_INFO, MESSAGE, MESSAGE_BYTES, PRINTED } from './state';

// enum scx_exit_kind
export const EXIT_UNREG: u32 = 64;
export const EXIT_UNREG_BPF: u32 = 65;
export const EXIT_ERROR_BPF: u32 = 1025;
export const EXIT_ERROR_STALL: u32 = 1026;

// struct scx_exit_info as in src/bpf/runtime/kernel-types.ts.
const KIND: usize = EXIT_INFO + 0;
const CODE: usize = EXIT_INFO + 8;
const REASON: usize = EXIT_INFO + 16;
const MSG: usize = EXIT_INFO + 24;
const DUMP: usize = EXIT_INFO + 32;
const REASON_TEXT: usize = EXIT_INFO + 48;

/** The program ends itself: kind and code, with its message. The first one counts. */
export function programExits(kind: u32, code: u64, format: u64, data: u64, dataBytes: u64): void {
  if (load<u32>(KIND) != 0) return;
  formatInto(MESSAGE, MESSAGE_BYTES, format, data, dataBytes);
  store<u32>(KIND, kind);
  store<u64>(CODE, code);
  fail(FAIL_BPF_EXIT, kind, contextCpu, code);
}

/** bpf_trace_printk() and the like: the last text is kept. */
export function printed(format: u64, data: u64, dataBytes: u64): u32 {
  return formatInto(PRINTED, MESSAGE_BYTES, format, data, dataBytes);
}

export function messageReset(): void {
  memory.fill(EXIT_INFO, 0, 128);
  store<u8>(MESSAGE, 0);
  store<u8>(PRINTED, 0);
}

/** Address of a struct scx_exit_info. */
export function exitInfo(kind: u32, code: u64): u64 {
  store<u32>(KIND, kind);
  store<u64>(CODE, code);
  store<u64>(REASON_TEXT, 0);
  store<u64>(REASON, REASON_TEXT as u64);
  store<u64>(MSG, MESSAGE as u64);
  store<u64>(DUMP, REASON_TEXT as u64);
  return EXIT_INFO as u64;
}
