// Rules of kfuncs that a program can break: the detail of FAIL_BPF_RULE in its low byte (src/engine/failure.ts says them in
// words), with a DSQ id, CPU or errno in the bits above.

import { fail, FAIL_BPF_RULE } from '../core/failure';
import { nrCpus } from '../kernel/mask';
import { contextCpu } from './context';

/** The kfunc may not be called from this callback. */
export const RULE_CONTEXT: u32 = 1;
/** Flags that only the kernel may give. */
export const RULE_FLAGS: u32 = 2;
/** The task is not in the ext class. */
export const RULE_NOT_EXT: u32 = 3;
/** select_cpu() and enqueue() may insert their own task only. */
export const RULE_OTHER_TASK: u32 = 4;
/** More insertions in one dispatch() than dispatch_max_batch. */
export const RULE_BUFFER: u32 = 5;
/** There is no DSQ with this id. */
export const RULE_NO_DSQ: u32 = 6;
/** A DSQ that holds tasks cannot be destroyed. */
export const RULE_DSQ_IN_USE: u32 = 7;
/** There is no such CPU. */
export const RULE_CPU: u32 = 8;
/** Built-in idle tracking is off: update_idle() without KEEP_BUILTIN_IDLE. */
export const RULE_IDLE: u32 = 9;

/** The program broke a rule: the run ends. */
// @ts-ignore: decorator
@inline
export function refuse(rule: u32, detail: u64): void {
  fail(FAIL_BPF_RULE, 0, contextCpu, (rule as u64) | (detail << 8));
}

/** A CPU that a program named; the run ends if there is none such. */
export function validCpu(cpu: u64): bool {
  if ((cpu as u32) < nrCpus) return true;
  refuse(RULE_CPU, cpu & 0xffffffff);
  return false;
}
