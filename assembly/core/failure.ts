// How a run ends early: the first failure wins, and the run loop returns it after the current event.

/** A capacity of layout.ts is used up; detail = the capacity. */
export const FAIL_TASKS: u32 = 1;
export const FAIL_JOBS: u32 = 2;
export const FAIL_MEMORY: u32 = 3;
export const FAIL_CONTAINERS: u32 = 4;
export const FAIL_WHEEL: u32 = 5;
export const FAIL_GROUPS: u32 = 6;
export const FAIL_BARRIERS: u32 = 7;
export const FAIL_CALLS: u32 = 8;
export const FAIL_REQUESTS: u32 = 9;
export const FAIL_QUEUES: u32 = 10;
/** The policy broke a rule of the kernel. */
export const FAIL_LOCAL_AFFINITY: u32 = 20;
export const FAIL_VTIME_INTO_BUILTIN: u32 = 21;
export const FAIL_MIXED_DSQ: u32 = 22;
export const FAIL_INVALID_CPU: u32 = 23;
export const FAIL_DOUBLE_INSERT: u32 = 24;
/** A BPF policy called scx_bpf_error() or scx_bpf_exit(); its message is in the BPF state; detail = exit code. */
export const FAIL_BPF_EXIT: u32 = 25;
/** A BPF program did what the kernel's verifier would have refused; detail = kind of violation. */
export const FAIL_BPF_VIOLATION: u32 = 26;
/** A kfunc was called where it may not be, or with something it does not take; detail = which rule (bpf/rules.ts). */
export const FAIL_BPF_RULE: u32 = 27;
/** A callback that may fail did; detail = its errno. */
export const FAIL_BPF_CALLBACK: u32 = 28;
/** The engine contradicts itself. */
export const FAIL_CONSERVATION: u32 = 40;
export const FAIL_LITTLE: u32 = 41;
export const FAIL_CPU_TIME: u32 = 42;
export const FAIL_STATE_SUM: u32 = 43;
export const FAIL_PROGRAM: u32 = 44;
/** An event lies before the clock. */
export const FAIL_CLOCK: u32 = 45;
/** No progress at one instant within the bound. */
/** No time passes any more; the number is that of the arrival source seen last, from 1 on. */
export const FAIL_LIVELOCK: u32 = 60;
/** A runnable ext task has not run for the watchdog's timeout. */
export const FAIL_WATCHDOG: u32 = 61;
export const FAIL_DEADLOCK: u32 = 62;

export let failure: u32 = 0;
/** Task slot, CPU and further number that belong to the failure. */
export let failureTask: u32 = 0;
export let failureCpu: u32 = 0;
export let failureDetail: u64 = 0;
/** Where a starved task waits: DSQ index, NONE = in no DSQ; and slot of the task that runs on its CPU, 0 = none. */
export let failureDsq: u32 = 0xffffffff;
export let failureOther: u32 = 0;

/** Where a BPF policy called the engine when it failed: 1 + a site of its translation, 0 = unknown. */
export let failureSite: u32 = 0;
/** Address of the word that says where a BPF policy is calling the engine, 0 = the policy is native. */
let callSite: usize = 0;

/** Says where to look for the place of a failure. */
export function failureCallSite(address: usize): void {
  callSite = address;
}

export function failureReset(): void {
  failureSite = 0;
  failure = 0;
  failureTask = 0;
  failureCpu = 0;
  failureDetail = 0;
  failureDsq = 0xffffffff;
  failureOther = 0;
}

/** Says where the task of the failure waits and who is served instead. */
export function failureChain(dsq: u32, other: u32): void {
  failureDsq = dsq;
  failureOther = other;
}

export function fail(code: u32, task: u32, cpu: u32, detail: u64): void {
  if (failure != 0) return;
  failure = code;
  failureTask = task;
  failureCpu = cpu;
  failureDetail = detail;
  if (callSite != 0) failureSite = load<u32>(callSite);
}
